"""A watch in lines and tables: at most 40 lines at 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from ragassay.core import Interval
from ragassay.core.counting import count
from ragassay.report.tables import Block, Table
from ragassay.report.text import one_line
from ragassay.watch.drift import Shifted
from ragassay.watch.figures import Amount, Rate, Window
from ragassay.watch.map import TrafficMap
from ragassay.watch.marks import is_of_amount
from ragassay.watch.values import Traffic

_MOST_RATES, _MOST_ALERTS, _MOST_NOTES, _MOST_CLUSTERS, _WIDE = 6, 2, 2, 4, 76


def blocks(traffic: Traffic) -> Iterator[Block]:
    """The report: what arrived and what became of it, rates, marks and alerts, drift, trust."""
    yield from accounts(traffic)
    if traffic.window.rates:
        yield _rate_table(traffic.window)
    yield from _unshown(traffic)
    yield from marks(traffic)
    yield from _drift(traffic)
    yield from _clusters(traffic)
    yield from _trust(traffic)
    if not traffic.arrived:
        yield "send traces: ragassay receive"
    elif traffic.last_run and traffic.judged:
        yield f"rows that fail, and why: ragassay show '{traffic.last_run}'"
    for note in traffic.notes[-_MOST_NOTES:]:
        yield one_line(f"note: {note}", 2 * _WIDE)


def accounts(traffic: Traffic) -> Iterator[Block]:
    """What arrived, what became of it, what was spent, and what is known of every row."""
    yield _headline(traffic)
    yield _accounts(traffic)
    yield from _budget_lines(traffic)
    if traffic.window.rows:
        yield ""
        yield _traffic_line(traffic.window)


def marks(traffic: Traffic) -> Iterator[Block]:
    """What is missing in the rates, how the marks stand, and the last alerts."""
    yield from _gaps(traffic)
    yield from _marks(traffic)


def _headline(traffic: Traffic) -> str:
    window, hours = traffic.window, span_words(traffic.window_s)
    if not window.rows:
        last = f"; the last one came {traffic.last_row}" if traffic.last_row else ""
        return f"{traffic.name}: no row arrived in the last {hours}{last}. Nothing is measured."
    cut = " (the newest)" if window.cut else ""
    return (
        f"{traffic.name}: {count(window.rows, 'row')}{cut} in {count(window.sessions, 'session')}"
        f" in the last {hours}; {window.judged} judged by {traffic.judge}"
    )


def span_words(seconds: float) -> str:
    """ "24 h", "30 min", "7 days"."""
    if seconds % 86_400 == 0 and seconds > 86_400:
        return f"{seconds / 86_400:.0f} days"
    if seconds >= 3_600:
        return f"{seconds / 3_600:g} h"
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"


def _accounts(traffic: Traffic) -> str:
    dropped = sum(traffic.dropped.values())
    why = ", ".join(f"{reason} {number}" for reason, number in traffic.dropped.items())
    of_them = f" ({why})" if why else ""
    return (
        f"since the start {traffic.arrived} arrived, {traffic.sampled} sampled = {traffic.judged}"
        f" judged + {dropped} dropped{of_them} + {traffic.pending} pending"
    )


def _budget_lines(traffic: Traffic) -> Iterator[str]:
    for each in traffic.budgets:
        if each.amount == 0:
            yield f"budget {each.budget}: nothing is judged"
        elif each.unit == "dollars":
            yield f"budget {each.budget}: ${each.spent:.4f} spent"
        else:
            yield f"budget {each.budget}: {each.spent:g} used"


def _traffic_line(window: Window) -> str:
    errors = f"errors {_percent(window.error_rate)} {_band(window.error_interval)}"
    return "; ".join([errors.strip(), *map(_amount_words, window.amounts)])


def _amount_words(amount: Amount) -> str:
    if amount.unit == "s":
        return f"latency {amount.median:.2f} s, p95 {amount.p95:.2f} s"
    if amount.unit == "USD":
        return f"cost ${amount.total:.4f}"
    return f"tokens {amount.median:,.0f} a row"


def _rate_table(window: Window) -> Table:
    rows = []
    for rate in window.rates[:_MOST_RATES]:
        lost = f"{rate.lost} lost" if rate.lost else ""
        rows.append((*shown_rate(rate), str(rate.rows), lost))
    return Table(("of all rows", "rate", "95 % band", "judged", ""), tuple(rows))


def _unshown(traffic: Traffic) -> Iterator[str]:
    """What the table of rates leaves out."""
    rates = traffic.window.rates
    if len(rates) > _MOST_RATES:
        yield f"and {count(len(rates) - _MOST_RATES, 'rate')} more: --json"
    known = {rate.name for rate in rates}
    for name in traffic.metrics:
        rows, why = traffic.window.not_applicable.get(name, (0, ""))
        if rows and (name not in known or 2 * rows >= traffic.window.judged):
            of = f"{rows} of {count(traffic.window.judged, 'judged row')}"
            yield one_line(f"{name} does not apply to {of}: {why}", 2 * _WIDE)
        elif rates and name not in known:
            yield one_line(f"no value of {name}: none of these rows has one", _WIDE)


def _value(rate: Rate) -> str:
    if rate.value is None:
        return "not measured"
    return _percent(rate.value) if rate.kind == "passes" else f"{rate.value:.3f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def shown_rate(rate: Rate) -> tuple[str, str, str]:
    """(name, value, band) of a rate, as every report has them."""
    name = rate.name if rate.kind == "score" else f"{rate.name} passes"
    return name, _value(rate), _band(rate.interval)


def _band(interval: Interval | None) -> str:
    return "" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"


def _gaps(traffic: Traffic) -> Iterator[str]:
    window = traffic.window
    if window.rows and not window.judged:
        yield "nothing is judged yet: no rate is known"
    elif window.unseen:
        yield (
            f"of {window.unseen} of {count(window.rows, 'row')} none was judged when they came: the"
            f" rates are of the other {window.rows - window.unseen}"
        )


def _marks(traffic: Traffic) -> Iterator[Block]:
    if traffic.marks:
        yield ""
        rows = []
        for mark in traffic.marks:
            mean = "-" if mark.mean is None else f"{mark.mean:.3f}"
            if mark.mean is not None and is_of_amount(mark.mark):
                mean = f"{mark.mean:.1%} within"
            if mark.standing:
                mean += " since"
            share = f"{mark.evidence:.2g} of {mark.needed:.0f}"
            stands = f"ALERT since {mark.since[:16]}" if mark.standing else "armed"
            rows.append((mark.mark, mean, str(mark.sessions), share, stands))
        yield Table(("mark", "mean", "sessions", "evidence", "stands"), tuple(rows))
        yield traffic.guarantee
    for alert in traffic.alerts[:_MOST_ALERTS]:
        told = alert.get("told", {})
        where = ", ".join(f"{name}: {answer or 'told'}" for name, answer in told.items())
        word = "BACK" if alert["kind"] == "back" else "ALERT"
        yield one_line(f"{word} {str(alert['raised'])[:16]} {alert['text']}", 4 * _WIDE)
        if where:
            yield one_line(f"  {where}", _WIDE)
    if len(traffic.alerts) > _MOST_ALERTS:
        yield f"and {count(len(traffic.alerts) - _MOST_ALERTS, 'earlier alert')}: --json"


def _drift(traffic: Traffic) -> Iterator[str]:
    if traffic.drift:
        top = traffic.drift[0]
        yield ""
        yield (
            f"drift: the most evidence is of {top.name}, {top.evidence:.2g} of {top.needed:.0f}"
            f" ({count(top.sessions, 'session')}, {len(traffic.drift)} scalars)"
        )
    if traffic.shifted is not None:
        found = traffic.shifted
        yield shift_words(found)
        if found.p is not None and found.p < 0.05 and found.examples:
            yield one_line(f"  farthest: {found.examples[0]}", _WIDE)
    elif traffic.drift_note and traffic.drift:
        yield traffic.drift_note


def shift_words(found: Shifted) -> str:
    """How the questions of the last day lie to earlier ones, in a sentence."""
    p = "-" if found.p is None else f"{found.p:.3f}"
    return (
        f"questions of the last day beside earlier ones: size {found.size:.2f}, p {p} (one look,"
        f" {count(found.sessions, 'session')})"
    )


def _clusters(traffic: Traffic) -> Iterator[Block]:
    if traffic.map is None:
        return
    yield ""
    yield cluster_table(traffic.map, _MOST_CLUSTERS)


def cluster_table(drawn: TrafficMap, most: int) -> Table:
    """The clusters of a map, the largest first, with the rates of the first metrics."""
    rows = []
    for cluster in drawn.clusters[:most]:
        passes = [rate for rate in cluster.rates if rate.kind == "passes"]
        told = [f"{rate.name} {_value(rate)} {_band(rate.interval)}" for rate in passes[:1]]
        words = one_line(" ".join(cluster.words), 30)
        rows.append((str(cluster.number), words, f"{cluster.share:.0%}", "".join(told) or "-"))
    return Table(("cluster", "words", "share", "passes"), tuple(rows))


def _trust(traffic: Traffic) -> Iterator[str]:
    if traffic.certificates:
        yield ""
    for line in traffic.certificates[:2]:
        age = "" if line.days is None else f" (certificate {count(line.days, 'day')} old)"
        yield one_line(f"trust in {line.metric}{age}: {line.sentence}", 2 * _WIDE)
    for rating in traffic.ratings[:2]:
        beside = f"; on {rating.beside} judged ones the judge agrees with {rating.agree}"
        yield (
            f"{one_line(rating.name, 30)}, said by others: {rating.value:.2f}"
            f" {_band(rating.interval)} of {count(rating.traces, 'trace')}{beside}"
        )
    for label in traffic.labels[:2]:
        yield (
            f"labels for {label.metric}: {label.labelled} of {label.queued} drawn; the judge agrees"
            f" with {label.agree} of {label.compared}"
        )
        if label.runs:
            yield f"  ragassay view {label.runs[-1]}   # label them in the browser"
