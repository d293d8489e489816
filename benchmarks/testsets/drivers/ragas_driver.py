"""Ragas' `TestsetGenerator` with its defaults, as its first steps show it."""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"
from __future__ import annotations

import re

import numpy as np
from benchmarks.testsets.drivers.sealed import Row, Task, documents, local_tokens, run
from langchain_core.documents import Document
from openai import AsyncOpenAI, OpenAI
from ragas.embeddings import OpenAIEmbeddings
from ragas.llms import llm_factory
from ragas.testset import TestsetGenerator

_HOP = re.compile(r"^<\d+-hop>\s*")


def make(task: Task) -> tuple[list[Row], list[str]]:
    """The samples of a test set. What is missing is told nowhere."""
    np.random.seed(0)
    kind = AsyncOpenAI if task["is_async"] else OpenAI
    client = kind(base_url=task["url"], api_key="none")
    llm = llm_factory("gpt-4o-mini", client=client)
    generator = TestsetGenerator(llm, OpenAIEmbeddings(client=client))
    texts = {path.read_text(encoding="utf-8"): path.name for path in documents(task)}
    given = [
        Document(page_content=path.read_text(encoding="utf-8"), metadata={"source": path.name})
        for path in documents(task)
    ]
    made = generator.generate_with_langchain_docs(given, testset_size=task["size"])
    rows = []
    for sample in made.samples:
        contexts = [_HOP.sub("", text) for text in sample.eval_sample.reference_contexts]
        rows.append(
            {
                "question": sample.eval_sample.user_input,
                "answer": sample.eval_sample.reference,
                "contexts": contexts,
                "documents": [texts[text] for text in contexts if text in texts],
                "type": sample.synthesizer_name,
            }
        )
    return rows, []


if __name__ == "__main__":
    local_tokens()
    run("ragas", make)
