"""The guards that the docs put around LangChain and LlamaIndex, run with the real libraries.

They run where the libraries are installed (`make test-frameworks`), and are skipped elsewhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ragassay

PAGE = (Path(__file__).parents[2] / "docs" / "guards.md").read_text(encoding="utf-8")
TRUE, FALSE = "The harbour bridge opened in 1932.", "The harbour bridge opened in 1857."
OTHER = "Tomato soup is best with basil and a spoon of cream."
QUESTION = "When did the harbour bridge open?"

pytestmark = pytest.mark.filterwarnings("ignore")


def run_block(heading: str, given: dict[str, Any]) -> dict[str, Any]:
    """What the block of code under a heading leaves, with deadlines that a busy machine keeps."""
    found = re.search(rf"^## {heading}$.*?^```py\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    code = re.sub(r"deadline_ms=\d+", "deadline_ms=60_000", found[1])
    namespace: dict[str, Any] = {"__name__": "example", **given}
    exec(compile(code, "guards.md", "exec"), namespace)
    return namespace


@pytest.mark.parametrize(("said", "is_blocked"), [(TRUE, False), (FALSE, True)])
def test_a_chain_of_langchain_is_guarded(said: str, is_blocked: bool) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda

    seen: list[list[str]] = []

    def reply(inputs: dict[str, Any]) -> str:
        seen.append([document.page_content for document in inputs["context"]])
        return said

    documents = [Document(page_content=text) for text in (OTHER, TRUE)]
    given = {"retriever": RunnableLambda(lambda _: documents), "chain": RunnableLambda(reply)}
    guarded = run_block("LangChain", given)["guarded"]
    if is_blocked:
        with pytest.raises(ragassay.guard.Blocked):
            guarded.invoke(QUESTION)
    else:
        assert guarded.invoke(QUESTION) == said
    assert seen == [[TRUE]], "what is not about the question never reached the chain"


@pytest.mark.parametrize(("said", "is_blocked"), [(TRUE, False), (FALSE, True)])
def test_a_query_engine_of_llamaindex_is_guarded(said: str, is_blocked: bool) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core import Response
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in (OTHER, TRUE)]

    class Engine(CustomQueryEngine):  # type: ignore[misc]  # the library is not installed here
        processors: list[Any]

        def custom_query(self, query_str: str) -> Response:
            left = nodes
            for each in self.processors:
                left = each.postprocess_nodes(left, query_bundle=QueryBundle(query_str))
            return Response(response=said, source_nodes=left)

    class Index:
        def as_query_engine(self, node_postprocessors: list[Any]) -> Engine:
            return Engine(processors=node_postprocessors)

    answer = run_block("LlamaIndex", {"index": Index()})["answer"]
    if is_blocked:
        with pytest.raises(ragassay.guard.Blocked):
            answer(QUESTION)
        return
    found = answer(QUESTION)
    assert str(found) == said
    assert [node.node.text for node in found.source_nodes] == [TRUE]
