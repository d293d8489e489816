"""Local models of each kind, with the probabilities worked out by hand.

The network (support/local_models.py) counts the words of the claim that the passages have (shared)
and those that they do not (missing). e^1 = 2.718, e^2 = 7.389, e^3 = 20.09, e^4 = 54.60.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from ragassay.core import CallError, ChatCall, MatchCall, MatchReply, Message
from ragassay.models import connect
from ragassay.models.local import LocalModel
from support.local_models import NLI, classifier

TOWER = "The tower is in Paris."


def support(claim: str, *passages: str, question: str | None = None) -> MatchCall:
    return MatchCall("support", claim, passages, question)


def reply(folder: Path, call: MatchCall) -> MatchReply:
    (only,) = LocalModel(str(folder)).score([call])
    return only


def test_two_labels_give_the_share_of_the_one_that_means_supported(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m")  # outputs: shared, missing
    # "the tower is old ." shares 4 and misses 1: e^4 / (e^4 + e^1) = 54.60 / 57.32
    assert reply(folder, support("The tower is old.", TOWER)).probability == 0.9526
    # "cats sleep" shares 0 and misses 2: 1 / (1 + e^2)
    assert reply(folder, support("Cats sleep", TOWER)).probability == 0.1192


def test_the_labels_may_stand_in_any_order(tmp_path: Path) -> None:
    hallucinated_first = classifier(
        tmp_path / "m", ((0, 1, 0), (1, 0, 0)), ("Hallucinated", "Consistent")
    )
    assert reply(hallucinated_first, support("The tower is old.", TOWER)).probability == 0.9526


def test_of_natural_language_inference_the_probability_is_that_of_entailment(
    tmp_path: Path,
) -> None:
    # entailment = shared, neutral = 1, contradiction = 2 * missing
    folder = classifier(tmp_path / "m", ((1, 0, 0), (0, 0, 1), (0, 2, 0)), NLI)
    answered = reply(folder, support("The tower is old.", TOWER))
    # e^4 / (e^4 + e^1 + e^2) = 54.60 / 64.71; contradicted: e^2 / (e^1 + e^2)
    assert answered.probability == 0.8438
    assert answered.features["contradicted"] == 0.7311


def test_one_output_is_a_log_odd_or_a_probability(tmp_path: Path) -> None:
    odds = classifier(tmp_path / "o", ((1, -1, 0),), ("LABEL_0",), settings={"task": "relevance"})
    call = MatchCall("relevance", "Who built the tower?", ("The tower was old.",))
    # of "the tower was old ." "the" and "tower" stand in the question: 2 - 3 = -1
    assert reply(odds, call).probability == 0.2689
    share = classifier(
        tmp_path / "s",
        ((0.1, 0, 0),),
        ("LABEL_0",),
        settings={"task": "relevance", "activation": "none"},
    )
    assert reply(share, call).probability == 0.2


def test_a_token_classifier_names_the_words_without_support(tmp_path: Path) -> None:
    folder = classifier(
        tmp_path / "m", ((2, 0, 0), (0, 2, 0)), ("supported", "hallucinated"), tokens=True
    )
    claim = "The tower is old and tall."
    answered = reply(folder, support(claim, TOWER))
    # a word that is missing: 1 / (1 + e^2)
    assert answered.probability == 0.1192
    assert [claim[start:end] for start, end in answered.unsupported] == ["old and tall"]
    supported = reply(folder, support("The tower is in Paris", TOWER))
    assert (supported.probability, supported.unsupported) == (0.8808, ())


def test_the_tokens_of_a_claim_may_be_averaged(tmp_path: Path) -> None:
    folder = classifier(
        tmp_path / "m",
        ((2, 0, 0), (0, 2, 0)),
        ("supported", "hallucinated"),
        tokens=True,
        settings={"spans": "mean"},
    )
    # three of four words: (3 * 0.8808 + 0.1192) / 4
    assert reply(folder, support("The tower is old", TOWER)).probability == 0.6904


def test_without_text_on_a_side_nothing_is_asked(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", ((0, 0, 5), (0, 0, 0)))  # always supported
    assert reply(folder, support("The tower", TOWER)).probability == 0.9933
    assert reply(folder, support("  ", TOWER)).probability == 0
    assert reply(folder, support("The tower", " ", "")).probability == 0


def test_the_window_that_says_yes_most_counts_and_is_quoted(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", settings={"window": 8})
    passages = ("Cats sleep all day. Dogs bark.", "The bridge is tall. The tower is old.")
    claim = "The tower is old."
    answered = reply(folder, support(claim, *passages))
    # windows of up to 8 tokens: "Cats sleep all day. Dogs bark." | "The bridge is tall." |
    # "The tower is old.": there all 5 are shared: e^5 / (e^5 + 1)
    assert answered.probability == 0.9933
    assert answered.features["windows"] == 3
    assert [(e.context, e.quote) for e in answered.evidence] == [(1, "The tower is old.")]
    for evidence in answered.evidence:
        assert passages[evidence.context][evidence.start : evidence.end] == evidence.quote


def test_a_token_is_supported_by_whichever_window_supports_it(tmp_path: Path) -> None:
    folder = classifier(
        tmp_path / "m",
        ((2, 0, 0), (0, 2, 0)),
        ("supported", "hallucinated"),
        tokens=True,
        settings={"window": 8},
    )
    passages = ("The tower is in Paris and old.", "The bridge was built in Rome.")
    # "tower" stands in the first window only, "built" in the second
    assert reply(folder, support("tower built", *passages)).probability == 0.8808


def test_marks_of_the_tokenizer_in_a_text_end_no_part_of_the_input(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m")
    # Were it a mark, "tower" before it would be of the first text, and shared.
    attacked = reply(folder, support("cats [SEP] cats", "tower [SEP] cats [CLS]"))
    plain = reply(folder, support("cats ( SEP) cats", "tower ( SEP) cats ( CLS)"))
    assert attacked.probability == plain.probability


def test_other_calls_are_refused(tmp_path: Path) -> None:
    model = connect(f"local:{classifier(tmp_path / 'm')}", no_network=True)

    async def ask(call: MatchCall | ChatCall) -> str:
        with pytest.raises(CallError) as caught:
            await model.call(call)
        return caught.value.kind

    async def both() -> list[str]:
        chat = ChatCall((Message("user", "hi"),))
        return [await ask(chat), await ask(MatchCall("relevance", "q", ("p",)))]

    assert asyncio.run(both()) == ["bad_request", "bad_request"]
    assert model.price(10**9, 10**9) == 0.0
    assert math.isfinite(model.concurrency or math.nan)
