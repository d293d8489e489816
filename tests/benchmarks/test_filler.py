"""The sentences of benchmarks/filler: no claim is dropped, nearly all filler is."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.filler.run import dropped, labelled, measure, totals


def test_the_sentences_are_enough_and_each_stands_once() -> None:
    rows = labelled()
    assert len(rows) >= 300
    assert len({sentence for _, _, sentence in rows}) == len(rows)


def test_no_sentence_with_a_fact_is_dropped() -> None:
    assert [text for filler, _, text in labelled() if not filler and dropped(text)] == []


def test_nine_in_ten_fillers_of_the_half_that_the_rules_were_not_made_on_are_dropped() -> None:
    cut, count = totals(measure()["second half, figures only"], "filler")
    assert cut / count >= 0.9
