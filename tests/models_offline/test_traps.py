"""What the offline judge can be trusted with on texts that are made to mislead, and what is only
measured.

The pairs are those of benchmarks/offline_judge/traps.jsonl. Promised is what a reader would take
for granted; on what it is known to be bad at (world knowledge, sums, other languages, injected
verdicts) the results only say how bad.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from benchmarks.offline_judge import traps  # noqa: E402
from benchmarks.offline_judge.rivals import unigrams  # noqa: E402

from ragassay.models.offline import OfflineModel  # noqa: E402

Scored = list[tuple[traps.Pair, float, float]]


@pytest.fixture(scope="module")
def scored() -> Scored:
    return traps.judged(OfflineModel(threads=2))


@pytest.fixture(scope="module")
def words_found() -> Scored:
    return [(pair, unigrams(pair.supported), unigrams(pair.unsupported)) for pair in traps.pairs()]


def test_the_corpus_has_pairs_of_every_kind_and_no_pair_twice() -> None:
    found = traps.pairs()
    assert len(found) >= 60
    counts = {
        kind: sum(pair.kind == kind for pair in found) for kind in {pair.kind for pair in found}
    }
    assert min(counts.values()) >= 6
    assert {*traps.OVERLAP, traps.PARAPHRASE} <= set(counts)
    assert len({(pair.supported, pair.unsupported) for pair in found}) == len(found)
    assert all(pair.supported != pair.unsupported for pair in found)


def test_counting_words_prefers_the_wrong_claims_of_the_corpus(words_found: Scored) -> None:
    for kinds in (traps.OVERLAP, (traps.PARAPHRASE,)):
        share, count = traps.won(words_found, kinds)
        assert share < count / 2


@pytest.mark.slow
def test_contradictions_in_words_of_the_passage_are_told_apart_better_than_by_counting(
    scored: Scored, words_found: Scored
) -> None:
    assert traps.won(scored, traps.OVERLAP) > traps.won(words_found, traps.OVERLAP)


@pytest.mark.slow
def test_evidence_in_the_middle_of_a_long_text_is_found(scored: Scored) -> None:
    cut = OfflineModel().cuts["support"]
    middle = [good >= cut for pair, good, _ in scored if pair.kind == "middle"]
    # Two of the six need more than finding: "not ... in the new hall" and "from the third well" are
    # other words.
    assert sum(middle) >= 4
    assert len(middle) == 6


@pytest.mark.slow
def test_nothing_supports_a_claim_and_an_empty_claim_is_supported_by_nothing(
    scored: Scored,
) -> None:
    empty = [
        bad
        for pair, _, bad in scored
        if not pair.unsupported.text.strip() or not "".join(pair.unsupported.passages).strip()
    ]
    assert len(empty) >= 2
    assert set(empty) == {0.0}


def test_the_stored_figures_are_what_the_shipped_weights_say(scored: Scored) -> None:
    result = json.loads(
        (ROOT / "benchmarks/results/offline_judge.json").read_text(encoding="utf-8")
    )
    if result["conditions"]["model"] != OfflineModel().version:
        pytest.fail("the results are of other weights: python benchmarks/offline_judge/run.py")
    now = traps.table(scored, result["tasks"]["support"]["judges"]["offline"]["cut"])
    assert set(now) == set(result["traps"])
    # Kernels differ between kinds of CPU in the last bits, which may turn a pair that is nearly a
    # tie.
    for kind, stored in result["traps"].items():
        assert now[kind]["right_order"] == pytest.approx(
            stored["right_order"], abs=1.01 / stored["pairs"] + 0.02
        ), kind
