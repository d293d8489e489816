"""A run as one self-contained web page.

The page asks for nothing from anywhere and holds no data inside a script: everything judged passes
Jinja's escaping. Without its script it shows each row with its verdict, cause and response, and of
a few rows everything. Of many rows the rest is packed (see `packed_rows`). A content security
policy with the hashes of our own style and script stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from ragassay.core import (
    Manifest,
    MetricSummary,
    MetricTrust,
    Part,
    RowResult,
    Sample,
    Score,
    Status,
    Summary,
    Verdict,
)
from ragassay.diagnosis import part_text
from ragassay.report import wording as say
from ragassay.report.claims import claims_of
from ragassay.report.marks import Segment, Span, segments
from ragassay.report.packed_rows import PackedRows
from ragassay.report.pages import FOLDER, environment, hash_of, write_whole
from ragassay.report.proof import badness, located, overruled, place, worst_score
from ragassay.report.summary import summarise
from ragassay.report.text import one_line
from ragassay.report.worst import worst_rows

if TYPE_CHECKING:
    from ragassay.store import Store

_LONGEST = 20_000  # characters shown of one text; the store has the rest
BINS = 10  # of the distribution of a metric
MOST_WHOLE = 20
"""Rows up to which the page holds each whole. Of more rows what opens is packed, or a thousand of
them would be a page of seven megabytes.
"""
_SIGNS = {"supported": "✓", "admits not knowing": "✓", "not supported": "✗", "not judged": "?"}
# The class of each sign in the style sheet: supported, not supported, unknown, other.
_KINDS = {"✓": "s", "✗": "n", "?": "u", "–": "o"}


def write_html(
    store: Store,
    run_id: str,
    path: str | Path,
    *,
    max_rows: int = 1000,
    trust: Sequence[MetricTrust] = (),
) -> None:
    """Write the run as one HTML file. The same stored run and certificates give the same bytes.

    trust: what is known of the judge on rows like these (`Summary.trust`).

    Rows are shown worst first; beyond `max_rows` they are left out, and the page says so.
    Raises EnvironmentFailure E0107 when the file cannot be written, SetupError E0103 for an unknown
    run.
    """
    summary = summarise(store, run_id, trust=trust)
    style = (FOLDER / "report.css").read_text(encoding="utf-8")
    script = (FOLDER / "report.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{hash_of(style)}'; script-src '{hash_of(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    shown = min(max_rows, _shown_rows(store, run_id, summary))
    template = _environment().get_template("report.html.j2")
    # Generated piece by piece, and rows as they are read: memory does not follow their number.
    stream = template.generate(
        s=summary,
        m=summary.manifest,
        style=Markup(style),
        script=Markup(script),
        policy=policy,
        ratios=[x for x in summary.metrics if _has_axis(x)],
        others=[x for x in summary.metrics if not _has_axis(x) and say.says_something(x)],
        distributions=distributions_of(store, run_id, summary),
        titles={share.cause.name: share.cause.title for share in summary.causes},
        app=say.app_words(summary),
        ledger=say.ledger_words(summary),
        shown=shown,
        whole=shown <= MOST_WHOLE,
        packed=PackedRows(),
        rows=_rows(store, run_id, summary, max_rows),
    )
    write_whole(path, stream)


def _has_axis(metric: MetricSummary) -> bool:
    """Whether the metric's mean can be drawn between 0 and 1."""
    return not metric.unit and metric.mean is not None


def _shown_rows(store: Store, run_id: str, summary: Summary) -> int:
    """How many rows the store has something of: those that a stop left half judged too."""
    unfinished = sum(not line.done for line in store.row_lines(run_id))
    return summary.scored + summary.bad + unfinished


def _rows(store: Store, run_id: str, summary: Summary, max_rows: int) -> Iterator[RowView]:
    manifest = summary.manifest
    rows = worst_rows(store, run_id, manifest, summary.metrics, max_rows)
    for number, row in enumerate(rows):
        yield row_view(row, number, manifest)


def _environment() -> Environment:
    templates = environment()
    templates.globals.update(signed=say.signed, headline=say.headline, Verdict=Verdict)
    return templates


@dataclass(frozen=True, slots=True)
class _Bar:
    low: float
    high: float
    rows: int
    failed: int
    height: float  # of all rows, as a share of the highest bar
    failed_height: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the rows spread over the range of one metric."""

    metric: str
    text: str
    bars: tuple[_Bar, ...]


def distributions_of(store: Store, run_id: str, summary: Summary) -> list[Distribution]:
    """Ten equal bins of [0, 1] for every metric that is a ratio; each but the last without its
    upper end.
    """
    metrics = [m for m in summary.metrics if not m.unit and m.n]
    bins = {m.metric: ([0] * BINS, [0] * BINS) for m in metrics}
    for line in store.score_lines(run_id):
        if line.value is None or line.metric not in bins:
            continue
        rows, failed = bins[line.metric]
        # 0.3 * 10 may come out just below 3, and belongs into the bin that starts there.
        place = int(line.value * BINS + 1e-9)
        place = min(BINS - 1, max(0, place))
        rows[place] += 1
        failed[place] += line.verdict is Verdict.FAIL
    return [_distribution(m, *bins[m.metric]) for m in metrics]


def _distribution(m: MetricSummary, rows: list[int], failed: list[int]) -> Distribution:
    highest = max(rows)
    bars = []
    for i, (n, bad) in enumerate(zip(rows, failed, strict=True)):
        bars.append(_Bar(i / BINS, (i + 1) / BINS, n, bad, n / highest, bad / highest))
    top = bars[rows.index(highest)]
    all_rows = say.count(m.n, "row")
    text = f"{highest:,} of {all_rows} between {top.low:.1f} and {top.high:.1f}"
    text += f"; {sum(rows[: BINS // 2]):,} below 0.5"
    # Without a pass mark no row can fail.
    if m.passed + m.failed:
        text += f"; {sum(failed):,} fail"
    return Distribution(m.metric, text, tuple(bars))


@dataclass(frozen=True, slots=True)
class _Claim:
    number: int
    sign: str
    kind: str
    word: str
    text: str
    why: str
    rationale: str
    links: tuple[tuple[str, int], ...]  # (anchor, context from 1)
    quotes: tuple[tuple[int, str], ...]  # evidence that is not highlighted: (context from 1, quote)
    located: bool
    weight: str
    sources: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of response or context: its text, how it is marked, its anchors, and the links behind
    it.
    """

    text: str
    kind: str = ""
    anchors: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()  # (anchor to go to, what is printed)


@dataclass(frozen=True, slots=True)
class _ContextView:
    number: int
    id: str
    ratings: tuple[tuple[str, str, str], ...]  # (kind, words, the metrics that say so)
    rationales: tuple[str, ...]
    pieces: tuple[_Piece, ...]
    cut: int
    long: bool


class _Item(NamedTuple):
    """A part that is listed by itself."""

    kind: str
    word: str
    text: str
    rationale: str


class _Section(NamedTuple):
    """Parts of one metric under a title of their own."""

    title: str
    metric: str
    parts: list[_Item]


@dataclass(slots=True)
class RowView:
    """One row with its claims and contexts, marked and linked."""

    row: RowResult
    anchor: str
    verdict: str
    cause: str
    value: float | None
    metrics: str
    claims: list[_Claim] = field(default_factory=list)
    response: list[_Piece] = field(default_factory=list)
    response_cut: int = 0
    contexts: list[_ContextView] = field(default_factory=list)
    sections: list[_Section] = field(default_factory=list)
    scores: list[tuple[Score, str]] = field(default_factory=list)
    # Metrics that do not apply, by the reason.
    elsewhere: dict[str, list[str]] = field(default_factory=dict)


class _Evidence:
    """The places in the contexts that claims and chunks of one row rest on, each once."""

    def __init__(self, anchor: str) -> None:
        self._anchor = anchor
        self.numbers: dict[tuple[int, int, int], int] = {}  # (context, start, end) -> number from 1
        self.claims: dict[int, list[int]] = {}  # place number -> claim numbers

    def add(self, context: int, start: int, end: int) -> int:
        """The number of the place; a new one where no claim or chunk rested on it yet."""
        return self.numbers.setdefault((context, start, end), len(self.numbers) + 1)

    def anchor(self, number: int) -> str:
        return f"{self._anchor}e{number}"

    def claims_ending(self, places: Iterable[int]) -> list[int]:
        """The claims that rest on these places, by their numbers."""
        claims: set[int] = set()
        for number in places:
            claims.update(self.claims.get(number, ()))
        return sorted(claims)

    def spans(self, context: int) -> list[Span]:
        """The places in this context, to be marked."""
        spans = []
        for (where, start, end), number in self.numbers.items():
            if where == context:
                spans.append(Span(start, end, number))
        return spans


def row_view(row: RowResult, number: int, manifest: Manifest) -> RowView:
    """One row as the macro `body` of row.html.j2 shows it. number: its place on the page."""
    view = _row_line(row, f"r{number + 1}", manifest)
    sample = row.sample
    if sample is None:
        return view
    evidence = _Evidence(view.anchor)
    claims = claims_of(row)
    weights = say.weights(row)
    for i, part in enumerate(claims, 1):
        weight = say.weight(weights.get(say.claim_place(part)))
        view.claims.append(_claim(part, i, sample, evidence, weight))
    # Claims come first, so that the evidence of claims has the low numbers.
    chunks = _chunk_parts(row)
    for _, part in chunks:
        _add_evidence(part, sample, evidence)
    view.response = list(_response(view.anchor, sample, claims, view.claims))
    view.response_cut = max(0, len(sample.response or "") - _LONGEST)
    outranked = overruled(row)
    for index in range(len(sample.contexts or ())):
        rated = [(score, part) for score, part in chunks if part.context == index]
        shown = _context(view.anchor, index, sample, rated, evidence)
        if index in outranked:
            shown = replace(shown, rationales=(outranked[index], *shown.rationales))
        view.contexts.append(shown)
    for score in row.scores:
        if score.status is Status.NOT_APPLICABLE:
            view.elsewhere.setdefault(score.reason, []).append(score.metric)
        else:
            view.scores.append((score, _why(score)))
    view.sections = list(_sections(row))
    return view


def _add_evidence(part: Part, sample: Sample, evidence: _Evidence) -> None:
    """Mark what the rating of a chunk rests on, where it does stand in the context."""
    for quote in part.evidence:
        context = place(part, quote)
        if _shown(quote.end) and located(quote, context, sample):
            evidence.add(context, quote.start, quote.end)


def _row_line(row: RowResult, anchor: str, manifest: Manifest) -> RowView:
    """The row's line, closed: its verdict, its cause and the value that the page sorts by."""
    diagnosis = row.diagnosis
    cause = ""
    if diagnosis.cause is not None:
        cause = diagnosis.cause.name
    verdict = say.VERDICT_WORDS[diagnosis.verdict]
    if row.bad is not None:
        verdict = "unreadable"
    worst = worst_score(row, manifest)
    if worst is None:
        # Of a row that passes: the score that is nearest to failing.
        marked = [s for s in row.scores if s.value is not None and s.pass_mark is not None]
        worst = max(marked, key=lambda score: badness(score, manifest), default=None)
    values = {score.metric: score.value for score in row.scores}
    return RowView(
        row=row,
        anchor=anchor,
        verdict=verdict,
        cause=cause,
        value=worst.value if worst is not None else None,
        metrics=" ".join(_short_value(values.get(name)) for name in manifest.metrics),
    )


def _short_value(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}"


def _chunk_parts(row: RowResult) -> list[tuple[Score, Part]]:
    """What every metric says of single contexts."""
    chunks = []
    for score in row.scores:
        for part in score.parts:
            if part.kind == "chunk":
                chunks.append((score, part))
    return chunks


def _sections(row: RowResult) -> Iterator[_Section]:
    """What was judged part by part beside claims and chunks: statements of the reference,
    guidelines, citations ...
    """
    for score in row.scores:
        items_by_title: dict[str, list[_Item]] = {}
        for part in score.parts:
            title, word = say.section(score.metric, part)
            if not title:
                continue
            sign = _part_sign(part)
            text = one_line(part_text(part, row.sample), 400)
            item = _Item(_KINDS[sign], f"{sign} {word}", text, part.rationale)
            items_by_title.setdefault(title, []).append(item)
        for title, items in items_by_title.items():
            yield _Section(title, score.metric, items)


def _part_sign(part: Part) -> str:
    if part.status is Status.NOT_APPLICABLE:
        return "–"
    if part.passed is not None:
        return "✓" if part.passed else "✗"
    # A value without a verdict is judged, only not held against a mark.
    return "?" if part.value is None else "–"


def _shown(end: int) -> bool:
    return end <= _LONGEST


def _claim(part: Part, number: int, sample: Sample, evidence: _Evidence, weight: str) -> _Claim:
    word = say.claim_word(part)
    sign = _SIGNS.get(word, "–")
    links: list[tuple[str, int]] = []
    quotes: list[tuple[int, str]] = []
    for quote in part.evidence:
        context = place(part, quote)
        if _shown(quote.end) and located(quote, context, sample):
            mark = evidence.add(context, quote.start, quote.end)
            evidence.claims.setdefault(mark, []).append(number)
            links.append((evidence.anchor(mark), context + 1))
        else:
            quotes.append((context + 1, one_line(quote.quote, 400)))
    why = ""
    if part.passed is None and part.status is not Status.NOT_APPLICABLE:
        why = say.why_unjudged(part)
    in_response = _stands_in_response(part, sample)
    # A claim that is marked in the response need not be repeated in full.
    text = one_line(part_text(part, sample), 90 if in_response else 400)
    return _Claim(
        number,
        sign,
        _KINDS[sign],
        word,
        text,
        why,
        part.rationale,
        tuple(links),
        tuple(quotes),
        in_response,
        weight,
        say.sources(part),
    )


def _stands_in_response(part: Part, sample: Sample) -> bool:
    """Whether the claim has a place in what is shown of the response."""
    if part.start is None or part.end is None:
        return False
    length = min(len(sample.response or ""), _LONGEST)
    return 0 <= part.start < part.end <= length


def _response(
    anchor: str, sample: Sample, parts: tuple[Part, ...], claims: list[_Claim]
) -> Iterator[_Piece]:
    spans = []
    for part, claim in zip(parts, claims, strict=True):
        if claim.located:
            spans.append(Span(part.start or 0, part.end or 0, claim.number))
    text = (sample.response or "")[:_LONGEST]
    for piece in segments(text, spans):
        kinds = {claims[n - 1].kind for n in piece.over}
        notes = []
        for n in piece.ends:
            notes.append((f"{anchor}c{n}", f"{claims[n - 1].sign}{n}"))
        yield _Piece(piece.text, _worst_kind(kinds), (), tuple(notes))


def _worst_kind(kinds: set[str]) -> str:
    """How a piece is marked that several claims share: by the worst of them."""
    for kind in ("n", "u", "s", "o"):
        if kind in kinds:
            return kind
    return ""


def _context(
    anchor: str, index: int, sample: Sample, rated: list[tuple[Score, Part]], evidence: _Evidence
) -> _ContextView:
    context = (sample.contexts or ())[index]
    text = context.text[:_LONGEST]
    pieces = []
    for segment in segments(text, evidence.spans(index)):
        pieces.append(_context_piece(anchor, segment, evidence))
    rationales = [part.rationale for _, part in rated if part.rationale]
    return _ContextView(
        number=index + 1,
        id=context.id or "",
        ratings=_context_ratings(rated),
        rationales=tuple(dict.fromkeys(rationales)),
        pieces=tuple(pieces),
        cut=max(0, len(context.text) - _LONGEST),
        # Such a text gets a scroll bar, which the keyboard has to reach.
        long=len(context.text) > 1500,
    )


def _context_ratings(rated: list[tuple[Score, Part]]) -> tuple[tuple[str, str, str], ...]:
    """(kind, words, the metrics that say so) of the context's ratings; what several metrics say
    alike is said once.
    """
    metrics: dict[tuple[str, str], list[str]] = {}
    for score, part in rated:
        judged = part.status is Status.JUDGED
        kind, sign = _chunk_kind(part.passed, judged)
        words = f"{sign} {say.chunk_word(part, score.metric)}"
        if isinstance(part.rating, int | float):
            words += f", rated {part.rating:g}"
        if not judged:
            words += f" ({say.why_unjudged(part)})"
        metrics.setdefault((kind, words), []).append(score.metric)
    return tuple((kind, words, ", ".join(names)) for (kind, words), names in metrics.items())


def _context_piece(anchor: str, segment: Segment, evidence: _Evidence) -> _Piece:
    """A piece of a context: "e" where claims rest on it, "q" where only a rating of it does."""
    kind = ""
    if segment.over:
        on_claims = any(number in evidence.claims for number in segment.over)
        kind = "e" if on_claims else "q"
    claims = evidence.claims_ending(segment.ends)
    return _Piece(
        segment.text,
        kind,
        tuple(evidence.anchor(number) for number in segment.begins),
        tuple((f"{anchor}c{number}", str(number)) for number in claims),
    )


def _chunk_kind(passed: bool | None, judged: bool) -> tuple[str, str]:
    """(kind, sign) of what is said of a chunk: supported, not, or neither."""
    if passed is None:
        return "u", "·" if judged else "?"
    return ("s", "✓") if passed else ("n", "✗")


def _why(score: Score) -> str:
    why = score.reason or score.rationale
    if score.status is Status.JUDGED:
        return why
    return say.with_reason(score.status, why)
