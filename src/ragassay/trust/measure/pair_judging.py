"""Pairs of responses that a judge compares now: each pair is shown to it in both orders.

A judge that prefers what stands first, or last, wins one order and loses the other, so that its
bias cannot pass for a preference; how strong it is, is a figure of its own (Zheng et al. 2023,
arXiv:2306.05685). Each order is a row of a run in the store: nothing is asked twice, and what was
stopped goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ragassay.core import Judgment, Request, Sample, Score, SetupError, Status, shorten
from ragassay.metrics.decorated import metric
from ragassay.trust.alignment import Verdicts
from ragassay.trust.comparison import PAIRWISE
from ragassay.trust.label_table import NO_WINNER, FloatArray, LabelTable

if TYPE_CHECKING:
    from ragassay.api import Run

RESPONSES = (
    ("response", "response_2"),
    ("response_1", "response_2"),
    ("response_a", "response_b"),
    ("answer_1", "answer_2"),
    ("answer_a", "answer_b"),
    ("output_1", "output_2"),
    ("output_a", "output_b"),
)
"""Columns in which the two responses of a pair are looked for, the first of them that are there."""
_EQUAL = 0.5
_READS_NO_RUBRIC = ("offline", "local:", "run:", "calibrated:")


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair of responses, with what they answer. Both are as the row gives them."""

    sample: Sample
    responses: tuple[str, str]

    def shown(self) -> Iterator[Sample]:
        """The pair as rows of a run: as given, and swapped. The one shown last is the reference."""
        first, second = self.responses
        row = self.sample
        for order, (one, other) in enumerate(((first, second), (second, first)), 1):
            yield replace(
                row, id=f"{row.id}/{order}", response=one, reference=other, error=None, labels={}
            )


@metric(name=PAIRWISE)
def pair_preference(
    response: str, reference: str, question: str = "", contexts: Sequence[str] = ()
) -> Generator[Request, Judgment, object]:
    """How far the response that is shown first is the better one: 1, 0.5 where neither is, 0."""
    fields: dict[str, str | tuple[str, ...]] = {
        "question": question,
        "contexts": tuple(contexts),
        "first": response,
        "second": reference,
    }
    judgment = yield Request(PAIRWISE, fields)
    if judgment.value is None:
        return None
    return judgment.value, judgment.rationale


def check_judge_of_pairs(judge: str) -> None:
    """Raise SetupError E0205 for a judge that cannot be asked which response is better."""
    if not judge.startswith(_READS_NO_RUBRIC):
        return
    raise SetupError(
        "E0205",
        f"{shorten(judge, 40)} cannot compare two responses.",
        where="--judge",
        why="it judges one response at a time and reads no rubric",
        fix="name a language model, such as openai:MODEL, or recorded:NAME for winners in the rows",
    )


def pairs_of(
    samples: Iterable[Sample], records: Mapping[str, Mapping[str, object]]
) -> tuple[Pair, ...]:
    """The pairs among the labelled rows. records: id -> the row as it is written.

    Raises SetupError E0205 where no row holds two responses.
    """
    pairs = []
    for sample in samples:
        responses = _responses(sample, records.get(sample.id, {}))
        if responses is not None:
            pairs.append(Pair(sample, responses))
    if not pairs:
        choices = "; ".join(f"{first} and {second}" for first, second in RESPONSES)
        raise SetupError(
            "E0205",
            "No labelled row holds two responses to compare.",
            where=f"--metric {PAIRWISE}",
            why=f"the columns are looked for under the names {choices}",
            fix="name the columns so; labels are 1 and 2, or how much better the second one is",
        )
    return tuple(pairs)


def _responses(sample: Sample, record: Mapping[str, object]) -> tuple[str, str] | None:
    """Both responses as texts; None where one is missing."""
    columns = {_plain_name(name): value for name, value in record.items()}
    # The first response may have been read under another name, or mapped.
    if isinstance(sample.response, str):
        columns["response"] = sample.response
    for first, second in RESPONSES:
        one, other = columns.get(first), columns.get(second)
        if isinstance(one, str) and isinstance(other, str):
            return one, other
    return None


def _plain_name(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def verdicts_of_pairs(table: LabelTable, judge: str, run: Run) -> Verdicts:
    """What a judge said of each labelled pair in both orders.

    Where labels name the better response (1 or 2), the verdict is the winner in each order; where
    they say how much better the second one is, it is each response's mean over both orders.
    """
    reading = _Orders(table)
    for row in run.rows():
        reading.add(row.id, row.score(PAIRWISE))
    if set(table.scale) <= {1.0, 2.0}:
        score = reading.winners()
        warnings: tuple[str, ...] = ()
    else:
        score = reading.means()
        warnings = (reading.position_words(judge),)
    return Verdicts(
        judge=judge,
        score=score,
        missing=reading.missing(),
        rationales=reading.rationales,
        fingerprints=run.manifest.judge.measured_as,
        warnings=warnings,
    )


class _Orders:
    """The value of the response that was shown first, by labelled row and order; NaN: none."""

    def __init__(self, table: LabelTable) -> None:
        self._places = {row_id: place for place, row_id in enumerate(table.ids)}
        self._reasons: dict[int, str] = {}
        self.first = np.full((len(table), 2), np.nan)
        self.asked = np.zeros(len(table), bool)
        self.rationales: dict[str, str] = {}

    def add(self, shown_id: str, score: Score | None) -> None:
        """Take in one order of a pair; its id ends in "/1" or "/2"."""
        row_id, order = shown_id[:-2], int(shown_id[-1]) - 1
        place = self._places[row_id]
        self.asked[place] = True
        if score is None or score.value is None:
            self._reasons[place] = _why(score)
            return
        self.first[place, order] = score.value
        self.rationales.setdefault(row_id, score.rationale)

    def of_the_first_response(self) -> FloatArray:
        """How far the row's first response is the better one, in each order."""
        return np.column_stack([self.first[:, 0], 1 - self.first[:, 1]])

    def winners(self) -> FloatArray:
        """1 or 2 in each order, `NO_WINNER` where neither is better."""
        value = self.of_the_first_response()
        winner = np.where(value > _EQUAL, 1.0, 2.0)
        winner[value == _EQUAL] = NO_WINNER
        winner[np.isnan(value)] = np.nan
        return winner

    def means(self) -> FloatArray:
        """Each response's mean over both orders; NaN where one order is missing."""
        of_first = self.of_the_first_response().mean(axis=1)
        return np.column_stack([of_first, 1 - of_first])

    def missing(self) -> dict[str, int]:
        """Reason -> labelled rows without a verdict in both orders."""
        reasons = dict(Counter(self._reasons.values()))
        if without := int((~self.asked).sum()):
            reasons["not applicable: the row does not hold two responses"] = without
        return reasons

    def position_words(self, judge: str) -> str:
        """How often place decided, in words."""
        whole = ~np.isnan(self.first).any(axis=1)
        decided = self.first[whole][self.first[whole] != _EQUAL]
        winner = self.winners()[whole]
        same = int((winner[:, 0] == winner[:, 1]).sum())
        return (
            f"{judge} prefers what it is shown first in {int((decided > _EQUAL).sum())} of"
            f" {len(decided)} comparisons (half of them without a bias of position), and says the"
            f" same in both orders of {same} of {int(whole.sum())} pairs"
        )


def _why(score: Score | None) -> str:
    if score is None:
        return "no score in one order"
    if score.status is Status.JUDGED:
        return "undecided in one order"
    return f"{score.status.value.replace('_', ' ')} in one order"
