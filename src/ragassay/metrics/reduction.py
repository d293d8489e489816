"""Judgments as parts of a Score, and the Score whose judgments were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ragassay.core import Counts, Judgment, Part, Score, Status, Verdict
from ragassay.judges.text_rules.own_content import nothing_seen

GRADE_MARK = 2 / 3
"""A rating passes from here: 2 on the scale 0-3, 4 on the scale 1-5, yes on yes/no."""

PARTIAL = "partial"
ABSTENTION = "abstention"
EMPTY = "empty_response"


def part_of(
    judgment: Judgment,
    kind: str,
    *,
    mark: float = GRADE_MARK,
    text: str = "",
    start: int | None = None,
    end: int | None = None,
    context: int | None = None,
    evidence: bool = True,
) -> Part:
    """The Judgment as a part of a Score. A judged one without a value from 0 to 1 counts as
    unparsed.
    """
    status, reason, value = judgment.status, judgment.reason, judgment.value
    rating, probability = judgment.rating, judgment.probability
    passed: bool | None = None
    if status is Status.JUDGED and (value is None or not 0 <= value <= 1):  # true of NaN as well
        status, reason = Status.UNPARSED, "the judgment carries no value from 0 to 1"
    if status is not Status.JUDGED or value is None:
        rating = value = probability = None
    else:
        passed = _passes(judgment, value, mark)
    # By position: this is where most of the time goes that scoring takes. `weight` is None.
    return Part(
        kind,
        status,
        text,
        start,
        end,
        context,
        rating,
        value,
        passed,
        probability,
        None,
        judgment.rationale,
        judgment.evidence if evidence else (),
        judgment.flags,
        reason,
        judgment.key,
        judgment.sources,
    )


def _passes(judgment: Judgment, value: float, mark: float) -> bool:
    # At the metric's default the rubric's own pass mark holds, which a user's scale may set
    # elsewhere than at 2/3; a mark that was asked for outranks it.
    if judgment.passes is not None and mark == GRADE_MARK:
        return judgment.passes
    return value >= mark


def part_by_rule(
    kind: str,
    *,
    rationale: str,
    text: str = "",
    start: int | None = None,
    end: int | None = None,
    context: int | None = None,
    value: float = 0.0,
    flags: tuple[str, ...] = (),
    sources: tuple[int, ...] | None = None,
) -> Part:
    """A part that a rule settles without a judge, such as an empty chunk."""
    return Part(
        kind=kind,
        status=Status.JUDGED,
        text=text,
        start=start,
        end=end,
        context=context,
        value=value,
        passed=value >= GRADE_MARK,
        rationale=rationale,
        flags=flags,
        sources=sources,
    )


def judged(parts: Iterable[Part]) -> list[Part]:
    """The parts that have a value."""
    return [part for part in parts if part.status is Status.JUDGED]


def lost(parts: Iterable[Part]) -> list[Part]:
    """The parts that were asked about and have no value."""
    # "Lost" is the word of all metrics for an answer that was due: refused, unparsed, failed ...
    return [part for part in parts if part.status not in (Status.JUDGED, Status.NOT_APPLICABLE)]


def counts_of(parts: Iterable[Part]) -> Counts:
    """Asked, judged and lost parts; dropped ones (not applicable) were never asked about."""
    return Counts.of(part.status for part in parts)


def partial(parts: Sequence[Part]) -> tuple[str, ...]:
    """The flag for a value that rests on less than everything that was asked."""
    return (PARTIAL,) if lost(parts) else ()


def abstained(parts: Sequence[Part]) -> tuple[str, ...]:
    """The flag for a response that is nothing but admissions of not knowing."""
    with_value = judged(parts)
    # A lost part could have been a claim, so that the response did say something.
    if not with_value or lost(parts):
        return ()
    if all(ABSTENTION in part.flags for part in with_value):
        return (ABSTENTION,)
    return ()


def all_lost(
    metric: str, parts: Sequence[Part], *, pass_mark: float | None, verdict: bool = True
) -> Score:
    """The Score when nothing that was asked has a value: its status is the most frequent loss, the
    first on a tie.

    Not applicable where nothing is lost: the judge found nothing to judge, such as facts without a
    word.
    """
    lost_parts = lost(parts)
    if not lost_parts:
        reason = next((part.reason for part in parts if part.reason), "there is nothing to judge")
        return Score(metric=metric, status=Status.NOT_APPLICABLE, reason=reason, parts=tuple(parts))
    # `most_common` keeps the order of equal counts, so that the first wins a tie.
    status = Counter(part.status for part in lost_parts).most_common(1)[0][0]
    reasons_given = [part.reason for part in lost_parts if part.status is status and part.reason]
    reasons = Counter(reasons_given).most_common(1)
    return Score(
        metric=metric,
        status=status,
        reason=reasons[0][0] if reasons else "no verdict arrived",
        parts=tuple(parts),
        verdict=Verdict.UNDECIDED if verdict else None,
        pass_mark=pass_mark,
        counts=counts_of(parts),
    )


def at_most(bad: int, unknown: int, total: int, mark: float) -> Verdict:
    """The verdict under "at most `mark` of `total` are bad" (total > 0), when `unknown` of them
    have no verdict.

    PASS when it holds although every unknown one should be bad; FAIL when it does not although none
    should be; else UNDECIDED.
    """
    if bad / total > mark:
        return Verdict.FAIL
    return Verdict.PASS if (bad + unknown) / total <= mark else Verdict.UNDECIDED


def at_least_one(passed: int, unknown: int) -> Verdict:
    """PASS when one passed, whatever the unknown ones are; UNDECIDED when one of these might; else
    FAIL.
    """
    if passed:
        return Verdict.PASS
    return Verdict.UNDECIDED if unknown else Verdict.FAIL


def blank(text: str | None) -> bool:
    """Whether there is nothing to read: no text, or none that is seen."""
    return text is None or nothing_seen(text)
