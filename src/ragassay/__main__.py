"""`python -m ragassay` is the command `ragassay`."""

from ragassay.cli import main

main()
