"""Sub-facts: where they stand, and what a response makes of them."""

from __future__ import annotations

import pytest

from ragassay.core import Context
from ragassay.stress.subfacts import Told, sub_facts, told

QUESTION = "When were Anna Weiss and Bert Blum born?"
FACTS = ("Anna Weiss was born in 1950.", "Bert Blum was born in 1960.")
CONTEXTS = (Context(f"Life. {FACTS[1]}"), Context("Cows eat grass."), Context(FACTS[0]))


def test_each_fact_has_the_passages_that_hold_it() -> None:
    facts, why_not = sub_facts(QUESTION, FACTS, CONTEXTS)
    assert why_not == ""
    assert [fact.sources for fact in facts] == [(2,), (0,)]


RESPONSES = {
    "Anna was born in 1950, and Bert in 1960.": (Told.FOUND, Told.FOUND),
    "Anna Weiss was born in 1950.": (Told.FOUND, Told.OMITTED),
    "1950 and 1960.": (Told.FOUND, Told.FOUND),
    "Anna was born in 1960, and Bert in 1950.": (Told.MERGED, Told.MERGED),
    "Bert Blum was born in 1950.": (Told.MERGED, Told.OMITTED),
    # A value that stands with its own subject somewhere is told.
    "Bert was born in 1950? No. Anna was born in 1950.": (Told.FOUND, Told.OMITTED),
    "I do not know.": (Told.OMITTED, Told.OMITTED),
    "": (Told.OMITTED, Told.OMITTED),
}


@pytest.mark.parametrize(("response", "expected"), RESPONSES.items())
def test_a_fact_is_told_omitted_or_joined_with_the_subject_of_another(
    response: str, expected: tuple[Told, Told]
) -> None:
    facts, _ = sub_facts(QUESTION, FACTS, CONTEXTS)
    assert tuple(told(fact, facts, response) for fact in facts) == expected


@pytest.mark.parametrize(
    ("facts", "contexts", "reason"),
    [
        (FACTS[:1], CONTEXTS, "it has fewer than two expected_facts"),
        (FACTS, CONTEXTS[:2], "no passage of it holds fact 1"),
        (FACTS, (Context(" ".join(FACTS)),), "one passage alone holds all its facts"),
        (
            ("It is so.", "It is so."),
            CONTEXTS,
            "its fact 1 says nothing that the others do not say",
        ),
    ],
)
def test_facts_that_cannot_be_traced_are_refused_with_the_reason(
    facts: tuple[str, ...], contexts: tuple[Context, ...], reason: str
) -> None:
    assert sub_facts(QUESTION, facts, contexts) == ((), reason)
