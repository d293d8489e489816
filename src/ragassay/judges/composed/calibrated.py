"""A calibrated judge: another judge, whose scores of one metric are read as probabilities.

It asks what its base asks and gives the same ratings, which are kept and reused under the base's
own name. What differs is the row: its score is mapped to the probability that people pass it
(`metrics.calibrated`). A judgment that is to count for such rows carries a fingerprint of its own,
which holds the map: another map is another judge, with another certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.core import (
    JudgeFlow,
    Judgment,
    Request,
    ScoreMap,
    SetupError,
    Spend,
    Status,
    digest,
    shorten,
)
from ragassay.judges.base import Judge
from ragassay.judges.composed.members import ask_members

SCHEME = "calibrated:"
_RULES = 1


def calibrated_name(uri: str) -> str | None:
    """The name of "calibrated:NAME"; None for any other judge's URI. Raises SetupError E0410 for a
    name that is empty.
    """
    stripped = uri.strip()
    if not stripped.lower().startswith(SCHEME):
        return None
    name = stripped[len(SCHEME) :].strip()
    if not name:
        raise SetupError(
            "E0410",
            f"The calibrated judge {shorten(uri, 60)!r} has no name.",
            where="--judge",
            fix="write calibrated:NAME, as `ragassay calibrate --save NAME` stored it",
        )
    return name


def calibrated_fingerprint(score_map: ScoreMap, base: str) -> str:
    """The fingerprint of a judge under a map. base: the fingerprint of the judge itself."""
    parts = (score_map.metric, score_map.kind, score_map.parameters, score_map.at, score_map.cut)
    return digest("calibrated", _RULES, parts, base)


@dataclass(frozen=True, slots=True)
class CalibratedJudge:
    """A judge that passes on what `base` says, under a fingerprint that holds the map."""

    uri: str
    base: Judge
    score_map: ScoreMap

    @property
    def agreement(self) -> str:
        """What is known of its agreement with people."""
        return self.base.agreement

    def rubric_version(self, rubric: str) -> str:
        """As the base. Raises as that one does."""
        return self.base.rubric_version(rubric)

    def fingerprint(self, rubric: str) -> str:
        """Hash of the map and the base's fingerprint. Raises as that one does."""
        return calibrated_fingerprint(self.score_map, self.base.fingerprint(rubric))

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The base's groups."""
        return self.base.groups(requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The base's Judgments as this judge's: free, since the base's own have the cost."""
        unique = tuple({request.key: request for request in requests}.values())
        (answers,) = yield from ask_members((self.base,), unique)
        return tuple(self._signed(request, answers.get(request.key)) for request in unique)

    def _signed(self, request: Request, judgment: Judgment | None) -> Judgment:
        fingerprint = self.fingerprint(request.rubric)
        ref = self.rubric_version(request.rubric)
        if judgment is None:
            reason = f"{self.base.uri} gave no verdict"
            return Judgment(request.key, fingerprint, ref, Status.FAILED, reason=reason)
        return replace(judgment, judge=fingerprint, rubric=ref, spend=Spend())
