"""Lines of runs, rows and scores, which are read without loading texts.

A row's line and the lines of its scores are kept together in one small blob beside the heavy one
(sample, parts), so that a million rows can be aggregated without reading their contexts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ragassay.core import (
    AppUsage,
    BadRow,
    Counts,
    Ledger,
    Manifest,
    RowResult,
    RunState,
    Score,
    Status,
    Verdict,
)
from ragassay.store import codec


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it stands. rows: results stored so far, of `manifest.rows`; done: those that a
    resume need not do again; bad: those that could not be read. seconds: wall-clock time spent
    running, all resumes added. updated: ISO 8601 UTC, when the run or one of its rows last changed.
    writer: the token of the store by which the ledger was last written.
    """

    manifest: Manifest
    state: RunState
    stop_reason: str
    ledger: Ledger
    seconds: float
    rows: int
    done: int
    bad: int
    updated: str
    writer: str = ""

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.manifest.run_id


class RowLine(NamedTuple):
    """One row without its texts. cause: name of the root cause, "" for none; finer: names of the
    finer ones; pattern: as in Diagnosis; reading: as in RowResult; uncertain: whether a metric
    before the root cause gave no verdict; also: the metrics without a place in the causal order
    (judges of the user's own) that fail in the row, too.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody asks of a line
    id: str
    verdict: Verdict | None
    cause: str
    pattern: str
    cluster: str | None
    slices: Mapping[str, str]
    usage: AppUsage | None
    bad: BadRow | None
    done: bool
    finer: tuple[str, ...] = ()
    reading: Mapping[str, int] = {}
    uncertain: bool = False
    also: tuple[str, ...] = ()


class ScoreLine(NamedTuple):
    """One score without its parts. probability: mean of the parts' calibrated probabilities, None
    where none has one.

    A named tuple and not a dataclass: aggregation makes millions of these, and a frozen dataclass
    takes several times as long to make.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody asks of a line
    row_id: str
    metric: str
    value: float | None
    status: Status
    reason: str
    verdict: Verdict | None
    pass_mark: float | None
    counts: Counts
    probability: float | None
    flags: tuple[str, ...]
    extra: Mapping[str, float]
    cluster: str | None
    slices: Mapping[str, str]


_STATUS = {status.value: status for status in Status}
_VERDICT: dict[str | None, Verdict | None] = {
    None: None,
    **{verdict.value: verdict for verdict in Verdict},
}


def pack(row: RowResult) -> bytes:
    """The lines of a row and of its scores, as JSON arrays by position. Raises ValueError for NaN
    and infinities.
    """
    sample, cause = row.sample, row.diagnosis.cause
    usage = sample.usage if sample is not None else None
    # By position: the names of fields would be repeated in every row.
    plain = [
        row.index,
        row.id,
        row.diagnosis.verdict,
        cause.name if cause is not None else "",
        row.diagnosis.pattern,
        sample.cluster if sample is not None else None,
        dict(sample.slices) if sample is not None else {},
        None if usage is None else codec.finite(astuple(usage)),
        None if row.bad is None else _bad(row.bad),
        row.done,
        [_pack_score(score) for score in row.scores],
    ]
    # Where there are none nothing is added: rows that an older version stored are packed like
    # theirs.
    more: list[object] = [
        [cause.name for cause in row.diagnosis.finer],
        dict(row.reading),
        int(cause is not None and cause.uncertain != ""),
        _also(row),
    ]
    while more and not more[-1]:
        more.pop()
    return codec.dump(plain + more)


def _bad(row: BadRow) -> list[object]:
    """The values of a row that could not be read, as an older version wrote them where it could."""
    values = list(astuple(row))
    return values[:-1] if row.counted_by == "line" else values


def _also(row: RowResult) -> list[str]:
    """The further causes that are named after a metric of the row."""
    others = row.diagnosis.others
    if not others:
        return []
    metrics = {score.metric.partition("(")[0] for score in row.scores}
    return [cause.name for cause in others if cause.name in metrics]


def _pack_score(score: Score) -> list[object]:
    return [
        score.metric,
        codec.finite(score.value),
        score.status,
        score.reason,
        score.verdict,
        codec.finite(score.pass_mark),
        _numbers(score.counts),
        codec.finite(score.probability),
        score.flags,
        codec.finite(score.extra) if score.extra else {},
    ]


def row_line(data: bytes) -> RowLine:
    """The row's own line out of what `pack` wrote."""
    return _row_line(codec.load(data))


def score_lines(data: bytes, metric: str | None = None) -> list[ScoreLine]:
    """The lines of the row's scores, in the order of its metrics; only those of `metric` where it
    is given.
    """
    return _score_lines(codec.load(data), metric)


def row_and_scores(data: bytes) -> tuple[RowLine, list[ScoreLine]]:
    """Both, decoded once."""
    plain = codec.load(data)
    return _row_line(plain), _score_lines(plain, None)


def _row_line(plain: Any) -> RowLine:
    # Lines end before the finer causes, or after any of these, where the rest is empty.
    index, id_, verdict, cause, pattern, cluster, slices, usage, bad, done, _, *more = plain
    return RowLine(
        index,
        id_,
        _VERDICT[verdict],
        cause,
        pattern,
        cluster,
        slices,
        None if usage is None else AppUsage(*usage),
        None if bad is None else BadRow(*bad),
        done,
        tuple(more[0]) if more else (),
        more[1] if len(more) > 1 else {},
        bool(more[2]) if len(more) > 2 else False,
        tuple(more[3]) if len(more) > 3 else (),
    )


def _score_lines(plain: Any, metric: str | None) -> list[ScoreLine]:
    index, id_, _, _, _, cluster, slices, _, _, _, scores, *_ = plain
    return [
        ScoreLine(
            index,
            id_,
            name,
            value,
            _STATUS[status],
            reason,
            _VERDICT[verdict],
            mark,
            _counts(*counts),
            probability,
            tuple(flags),
            extra,
            cluster,
            slices,
        )
        for name, value, status, reason, verdict, mark, counts, probability, flags, extra in scores
        if metric is None or name == metric
    ]


def _numbers(c: Counts) -> tuple[int, ...]:
    # Written out: dataclasses.astuple copies deeply, and this is done for every score of every row.
    return (c.asked, c.judged, c.abstained, c.unparsed, c.refused, c.failed, c.over_budget)


@lru_cache(maxsize=4096)
def _counts(*numbers: int) -> Counts:
    return Counts(*numbers)


_ORDER_OF_VERDICTS = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1}


def worst_key(row: RowResult) -> float:
    """A number that is lower the worse the row: failed, undecided, the rest; within each by the
    mean score.

    The mean is over the scores that have a value and a pass mark: those without one (tokens,
    seconds) are on other scales. Rows without any such score come last of their kind. Only for
    ordering; never shown.
    """
    verdict = row.diagnosis.verdict
    kind = 2 if verdict is None else _ORDER_OF_VERDICTS.get(verdict, 2)
    values = [
        score.value
        for score in row.scores
        if score.value is not None and score.pass_mark is not None
    ]
    mean = math.fsum(values) / len(values) if values else math.inf
    return 4.0 * kind + min(max(mean, -1.0), 2.0)
