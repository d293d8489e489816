"""What the offline judge and word overlap say of both answers of every pair."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from benchmarks.offline_judge.rivals import unigrams
from benchmarks.planted_faults.figures import Judged
from benchmarks.planted_faults.pairs import Pair

import ragassay
from ragassay.core import MatchCall, Status, Verdict

_ANSWERS = (Status.JUDGED, Status.ABSTAINED, Status.NOT_APPLICABLE)
Answer = tuple[str | None, tuple[str, ...], str]


def judged(pairs: Sequence[Pair]) -> list[Judged]:
    """Every pair with the verdicts of the metric groundedness, each answer judged once."""
    said = _said(
        {one for pair in pairs for one in (_answer(pair, pair.good), _answer(pair, pair.bad))}
    )
    return [
        Judged(
            pair,
            good=said[_answer(pair, pair.good)],
            bad=said[_answer(pair, pair.bad)],
            overlap_good=unigrams(MatchCall("support", pair.good, pair.contexts)),
            overlap_bad=unigrams(MatchCall("support", pair.bad, pair.contexts)),
        )
        for pair in pairs
    ]


def _answer(pair: Pair, text: str) -> Answer:
    return pair.question, pair.contexts, text


def _said(answers: set[Answer]) -> dict[Answer, str]:
    """ "pass", "fail" or "undecided" for each answer. Raises RuntimeError where one could not be
    judged: that is no verdict, and no figure is made of it.
    """
    ordered = sorted(answers, key=lambda one: (one[0] or "", one[1], one[2]))
    rows = [
        {"id": str(at), "contexts": list(contexts), "response": text}
        | ({"question": question} if question else {})
        for at, (question, contexts, text) in enumerate(ordered)
    ]
    said = dict.fromkeys(ordered, "undecided")
    with (
        tempfile.TemporaryDirectory() as folder,
        ragassay.evaluate(rows, "groundedness", store=f"{folder}/rows.db", no_network=True) as run,
    ):
        for line in run:
            score = line.score("groundedness")
            if score is None or score.status not in _ANSWERS:
                raise RuntimeError(f"row {line.id} was not judged: {score and score.reason}")
            if score.verdict in (Verdict.PASS, Verdict.FAIL):
                said[ordered[int(line.id)]] = score.verdict.value
    return said
