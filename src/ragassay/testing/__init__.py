"""A local LLM server for tests: real HTTP, the OpenAI protocol, a script for replies and faults.

    from ragassay.testing import LLMServer

    with LLMServer(faults=["429:0.2", None]) as server:
        run = ragassay.evaluate("rows.jsonl", judge="openai:mock", base_url=server.url)
        assert server.stats()["answered_twice"] == 0

It costs nothing and reaches nothing outside of the machine. What it says of a row is a rule over
words and no language model's opinion: it shows what a set-up does with replies, not how good a
judge is.
"""

from ragassay.testing.process import ServerProcess
from ragassay.testing.prompts import Body, embedded_schema
from ragassay.testing.server import Answer, LLMServer
from ragassay.testing.word_judge import FENCE, answer_by_words, overlap

__all__ = [
    "FENCE",
    "Answer",
    "Body",
    "LLMServer",
    "ServerProcess",
    "answer_by_words",
    "embedded_schema",
    "overlap",
]
