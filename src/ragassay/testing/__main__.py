"""`python -m ragassay.testing`: the local LLM server on the command line."""

from ragassay.testing.process import main

main()
