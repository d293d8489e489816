"""The forms in which a wrapped retriever gives the passages of a level."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from ragassay.core import Context
from ragassay.stress.retriever import _Form

CONTEXTS = (Context("one", "d1"), Context("two", "d2"))


class Hit(NamedTuple):
    text: str
    score: float


@dataclass(frozen=True)
class Frozen:
    content: str
    score: float = 0.5


class Scored:
    """As LlamaIndex's NodeWithScore: the text is that of a node."""

    def __init__(self, text: str) -> None:
        self.node = SimpleNamespace(text=text)

    @property
    def text(self) -> str:
        return str(self.node.text)


def test_one_text_is_given_as_one_text() -> None:
    assert _Form("all passages in one").of(CONTEXTS) == "one\n\ntwo"


def test_named_tuples_and_frozen_data_classes_are_given_as_such() -> None:
    assert _Form([Hit("x", 0.5)]).of(CONTEXTS) == [Hit("one", 0.5), Hit("two", 0.5)]
    assert _Form([Frozen("x")]).of(CONTEXTS) == [Frozen("one"), Frozen("two")]


def test_pairs_of_passage_and_score_stay_pairs() -> None:
    assert _Form([("x", 0.9)]).of(CONTEXTS) == [("one", 1.0), ("two", 0.5)]


def test_a_node_within_gets_the_text_and_the_example_keeps_its_own() -> None:
    example = Scored("x")
    assert [item.text for item in _Form([example]).of(CONTEXTS)] == ["one", "two"]
    assert example.text == "x"


def test_an_iterator_is_read_as_a_list() -> None:
    assert _Form(iter(["x"])).of(CONTEXTS) == ["one", "two"]


@pytest.mark.parametrize("empty", [[], (), None])
def test_a_form_is_learnt_from_a_result_that_holds_something(empty: Any) -> None:
    assert not _Form(empty).is_learnt
    assert list(_Form(empty).of(CONTEXTS)) == ["one", "two"]
    assert _Form(["x"]).is_learnt


@pytest.mark.parametrize("result", [{"documents": [["x"]]}, 7, object()])
def test_what_is_no_list_of_passages_is_an_error_that_says_so(result: Any) -> None:
    with pytest.raises(TypeError, match="expected a list of passages"):
        _Form(result)
