"""A row as a list tells of it: what was answered, and why it does not pass, in the words of the
command.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ragassay.core import Manifest, RowResult, Score, Verdict
from ragassay.diagnosis import worst_part
from ragassay.report import wording as say
from ragassay.report.proof import proof, worst_score
from ragassay.report.summary import worst_row
from ragassay.report.text import one_line

if TYPE_CHECKING:
    from ragassay.store import Store

LARGEST = 128 << 10
"""Bytes of a row that a list reads: a page of larger ones would take longer than it may."""
RESPONSE = 200
QUOTE = 160
REASON = 200
"""Characters of each that a list shows."""


class Told(NamedTuple):
    """What a list says of a row. response: its beginning; lacking: why there is none to show.
    cause: the cause's title, else the metric that fails; what: the part that shows it ("claim 2 is
    not supported"), quote: the words of that part; reason: the judge's; metric: whose score all of
    this is of. All "" where there is none.
    """

    response: str = ""
    lacking: str = ""
    cause: str = ""
    what: str = ""
    quote: str = ""
    reason: str = ""
    metric: str = ""


TOO_LONG = Told(lacking="too long for a list")


def told_at(
    store: Store, run_id: str, indices: Sequence[int], manifest: Manifest
) -> dict[int, Told]:
    """What a list says of these rows, by index. Only these are read."""
    rows = store.rows_at(run_id, indices, largest=LARGEST)
    return {**dict.fromkeys(indices, TOO_LONG), **told_of(rows.values(), manifest)}


def told_of(rows: Iterable[RowResult], manifest: Manifest) -> dict[int, Told]:
    """What a list says of rows that are read already, by index."""
    return {row.index: _told(row, manifest) for row in rows}


def response_of(row: RowResult, start: int = 0) -> tuple[str, str]:
    """(the response, shortened, from this character on, why there is none)."""
    if row.sample is None:
        return "", "the row could not be read"
    if row.sample.response is None:
        return "", "no response"
    # Cut before it is put on one line: a response may have megabytes.
    shown = row.sample.response[start : start + 8 * RESPONSE]
    text = one_line(f"… {shown}" if start else shown, RESPONSE)
    return text, "" if text else "the response is empty"


def _told(row: RowResult, manifest: Manifest) -> Told:
    response, lacking = response_of(row)
    if row.bad is not None:
        return Told(lacking=lacking, reason=one_line(row.bad.fix, REASON))
    told = Told(response, lacking)
    worst = worst_row(row, manifest)
    score = worst_score(row, manifest)
    if worst is None or score is None:
        return told
    cause = row.diagnosis.cause
    if cause is not None:
        title = say.cause_words(cause)
    elif worst.verdict is Verdict.FAIL:
        title = f"{worst.metric} {say.figure(worst.value, say.unit_of(worst.metric, manifest))}"
    else:
        title = ""
    # A rating of the response as a whole quotes all of it, which stands beside it already.
    whole = row.sample is not None and worst.quote == row.sample.response
    return told._replace(
        cause=title,
        what=what_fails(score, row),
        quote="" if whole else one_line(worst.quote[: 8 * QUOTE], QUOTE),
        reason=one_line(say.reason(worst.rationale[: 8 * REASON]), REASON),
        metric=score.metric,
    )


def what_fails(score: Score, row: RowResult) -> str:
    """The part that shows the failure, and whose it is: what the reference says is not to be read
    as what the application answered.
    """
    what = proof(score, row.sample).what
    worst = worst_part(score, unjudged=True)
    # What is listed under a title of its own is not of the response.
    if worst is None or worst[1].kind not in ("statement", "entity"):
        return what
    if not say.section(score.metric, worst[1])[0]:
        return what
    part, verb, result = what.partition(" is ")
    return f"{part} of the reference{verb}{result}"
