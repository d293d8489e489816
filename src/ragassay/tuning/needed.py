"""How many labelled rows would certify what the sealed rows showed and did not certify."""

from __future__ import annotations

from collections.abc import Iterator

from ragassay.tuning.aim import Aim, title_of
from ragassay.tuning.certify import Certification, Finalist, KeptResult
from ragassay.tuning.plan import Needed

_TIMES = 2.8 / 1.96
"""An interval reaches 1.96 standard errors or a little more; .025 with a chance of 80 % takes 1.96
and 0.84 of them. More rows make them smaller by the square root.
"""


def what_is_needed(
    aim: Aim, certificate: Certification, plan: tuple[Needed, ...], labelled: int
) -> Iterator[str]:
    """What would certify the candidate that is shown, in sentences. plan: what gains need by the
    plan, for where the rows showed none. labelled: the rows at hand, in all.
    """
    finalist = certificate.finalists[certificate.printed]
    if finalist.gain.difference <= 0 or finalist.gain.interval is None:
        yield "On the sealed rows there was no gain to certify."
        yield from for_gains(plan)
        return
    said = [
        *_for_gain(finalist, certificate.level, labelled),
        *_for_mark(aim, finalist, labelled),
        *(_for_kept(kept, labelled) for kept in finalist.kept if not kept.holds),
    ]
    yield from said or ["The gain would do; what is objected to is said above."]
    if said:
        yield f"These are {labelled:,}. The others must be new: sealed rows are opened once."


def for_gains(plan: tuple[Needed, ...]) -> Iterator[str]:
    """What the plan says of gains; the rows at hand say nothing of a candidate without one."""
    for one in plan:
        if one.labelled is not None:
            yield f"A gain of {one.gain:g} needs about {one.labelled:,} labelled rows in all."


def _for_gain(finalist: Finalist, level: float, labelled: int) -> Iterator[str]:
    """How many rows would certify the gain that was seen, were it the true one."""
    interval = finalist.gain.interval
    if finalist.p <= level or interval is None:
        return
    gain = finalist.gain.difference
    half = (interval.high - interval.low) / 2
    rows = _rows(labelled, half, gain)
    if rows > labelled:
        yield (
            f"Were {gain:+.3f} the true gain, about {rows:,} labelled rows of this kind would"
            " certify it with a chance of 80 %."
        )


def _for_mark(aim: Aim, finalist: Finalist, labelled: int) -> Iterator[str]:
    """How many rows would tell whether a figure that fell short reaches its mark."""
    mark, value, interval = aim.mark, finalist.mark, finalist.mark_interval
    if mark is None or value is None or interval is None or value >= mark.at_least:
        return
    name, lacks = title_of(mark.figure), mark.at_least - value
    half = (interval.high - interval.low) / 2
    reach = f"{name} {value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
    rows = _rows(labelled, half, lacks)
    if interval.high < mark.at_least or rows <= labelled:
        yield (
            f"{reach} is below {mark.at_least:g} beyond chance: it takes a better rubric, not rows."
        )
        return
    yield (
        f"{reach} may be {mark.at_least:g} by these rows: about {rows:,} labelled rows of this kind"
        f" would tell {value:.3f} from {mark.at_least:g} with a chance of 80 %."
    )


def _for_kept(kept: KeptResult, labelled: int) -> str:
    """How many rows would show that a figure did not fall too far, had it changed as it seems."""
    name, change = title_of(kept.figure), kept.after - kept.before
    if change <= -kept.margin:
        return f"{name} fell by {-change:.3f}, which is too far: it takes another rubric, not rows."
    rows = _rows(labelled, change - kept.low, change + kept.margin)
    return (
        f"Were {change:+.3f} the true change of {name}, about {rows:,} labelled rows of this kind"
        f" would show that it falls by less than {kept.margin:g} with a chance of 80 %."
    )


def _rows(labelled: int, half: float, distance: float) -> int:
    """Labelled rows by which a distance is shown; half: of the interval by those at hand."""
    return int(round(labelled * (_TIMES * half / distance) ** 2, -1))
