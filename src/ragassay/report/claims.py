"""The claims of a row's response, each once, although several metrics carry them."""

from __future__ import annotations

from ragassay.core import Part, RowResult, Shown
from ragassay.report.wording import claim_place, declared_as


def claims_of(row: RowResult) -> tuple[Part, ...]:
    """The claims of the scores that say whether the contexts support them, in reading order
    (located ones first); the first metric's word counts.
    """
    claims: dict[tuple[int | None, int | None, str], Part] = {}
    for score in row.scores:
        if not _says_what_is_supported(score.metric):
            continue
        for part in score.parts:
            if part.kind == "claim":
                claims.setdefault(claim_place(part), part)
    return tuple(sorted(claims.values(), key=_reading_order))


def _says_what_is_supported(metric: str) -> bool:
    """Whether the metric's word on a claim is that the contexts support it; others ask other things
    of the same claims.
    """
    declared = declared_as(metric)
    if declared is None:
        return False
    shown = {showing.shown for showing in declared.role.shows}
    if Shown.SUPPORTED_CLAIMS in shown:
        return True
    # Against the contexts alone, an invented claim is one that they do not support.
    return Shown.INVENTED_SHARE in shown and metric.endswith("(against=contexts)")


def _reading_order(part: Part) -> tuple[bool, int, int]:
    return part.start is None, part.start or 0, part.end or 0
