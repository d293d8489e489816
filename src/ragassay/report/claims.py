"""Which claims does a row's response make, each once, although several metrics carry them?"""

from __future__ import annotations

from ragassay.core import Part, RowResult

# Whose word on a claim is that the contexts support it; other metrics ask other things of the same
# claims.
_SUPPORT = ("groundedness", "faithfulness", "hallucination(against=contexts)")


def claims_of(row: RowResult) -> tuple[Part, ...]:
    """The claims of the scores that say whether the contexts support them, in reading order
    (located ones first); the first metric's word counts.
    """
    seen: dict[tuple[int | None, int | None, str], Part] = {}
    for score in row.scores:
        for part in score.parts if score.metric.startswith(_SUPPORT) else ():
            if part.kind == "claim":
                # A claim that is located in the response is the same one whether or not its text is
                # repeated.
                seen.setdefault(
                    (part.start, part.end, part.text if part.start is None else ""), part
                )
    return tuple(
        sorted(seen.values(), key=lambda part: (part.start is None, part.start or 0, part.end or 0))
    )
