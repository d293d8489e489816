"""A run as one self-contained web page.

The page asks for nothing from anywhere, works without its script, and holds no data inside a
script: everything judged passes Jinja's escaping. A content security policy with the hashes of our
own style and script stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
from ragassay.report.pages import FOLDER, environment, hash_of, write_whole
from ragassay.report.proof import badness, located, place, worst_score
from ragassay.report.summary import summarise
from ragassay.report.text import one_line
from ragassay.report.worst import worst_rows

if TYPE_CHECKING:
    from ragassay.store import Store

_LONGEST = 20_000  # characters shown of one text; the store has the rest
_SIGNS = {"supported": "✓", "admits not knowing": "✓", "not supported": "✗", "not judged": "?"}
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
    style, script = (
        (FOLDER / name).read_text(encoding="utf-8") for name in ("report.css", "report.js")
    )
    shown = min(
        max_rows,
        summary.scored + summary.bad + sum(1 for line in store.row_lines(run_id) if not line.done),
    )
    policy = (
        f"default-src 'none'; style-src '{hash_of(style)}'; script-src '{hash_of(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    stream = (
        _environment()
        .get_template("report.html.j2")
        .generate(
            s=summary,
            m=summary.manifest,
            style=Markup(style),
            script=Markup(script),
            policy=policy,
            ratios=[x for x in summary.metrics if not x.unit and x.mean is not None],
            others=[x for x in summary.metrics if x.unit or x.mean is None],
            distributions=_distributions(store, run_id, summary),
            titles={share.cause.name: share.cause.title for share in summary.causes},
            app=say.app_words(summary),
            ledger=say.ledger_words(summary),
            shown=shown,
            rows=(
                _row(row, i, summary.manifest)
                for i, row in enumerate(
                    worst_rows(store, run_id, summary.manifest, summary.metrics, max_rows)
                )
            ),
        )
    )
    write_whole(path, stream)


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
class _Distribution:
    """How the rows spread over the range of one metric."""

    metric: str
    text: str
    bars: tuple[_Bar, ...]


def _distributions(store: Store, run_id: str, summary: Summary) -> list[_Distribution]:
    """Ten equal bins of [0, 1] for every metric that is a ratio; each but the last without its
    upper end.
    """
    bins = {m.metric: ([0] * 10, [0] * 10) for m in summary.metrics if not m.unit and m.n}
    for line in store.score_lines(run_id):
        if line.value is not None and line.metric in bins:
            rows, failed = bins[line.metric]
            place = min(9, max(0, int(line.value * 10 + 1e-9)))
            rows[place] += 1
            failed[place] += line.verdict is Verdict.FAIL
    return [_distribution(m, *bins[m.metric]) for m in summary.metrics if m.metric in bins]


def _distribution(m: MetricSummary, rows: list[int], failed: list[int]) -> _Distribution:
    highest = max(rows)
    bars = tuple(
        _Bar(i / 10, (i + 1) / 10, n, bad, n / highest, bad / highest)
        for i, (n, bad) in enumerate(zip(rows, failed, strict=True))
    )
    top = rows.index(highest)
    text = f"{highest:,} of {say.count(m.n, 'row')} between {top / 10:.1f} and {(top + 1) / 10:.1f}"
    fail = f"; {sum(failed):,} fail" if m.passed + m.failed else ""
    return _Distribution(m.metric, f"{text}; {sum(rows[:5]):,} below 0.5{fail}", bars)


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
class _RowView:
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


class _Evidence:
    """The places in the contexts that claims and chunks of one row rest on, each once."""

    def __init__(self, anchor: str) -> None:
        self._anchor = anchor
        self.numbers: dict[tuple[int, int, int], int] = {}  # (context, start, end) -> number from 1
        self.claims: dict[int, list[int]] = {}  # place number -> claim numbers

    def add(self, context: int, start: int, end: int) -> int:
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
        return [
            Span(start, end, n)
            for (where, start, end), n in self.numbers.items()
            if where == context
        ]


def _row(row: RowResult, number: int, manifest: Manifest) -> _RowView:
    """One row as the template shows it. number: its place on the page, from 0."""
    view = _row_line(row, f"r{number + 1}", manifest)
    sample = row.sample
    if sample is None:
        return view
    evidence = _Evidence(view.anchor)
    parts = claims_of(row)
    weights = say.weights(row)
    for i, part in enumerate(parts, 1):
        weight = say.weight(weights.get(say.claim_place(part)))
        view.claims.append(_claim(part, i, sample, evidence, weight))
    chunks = _chunk_parts(row)
    for _, part in chunks:
        for quote in part.evidence:
            if _shown(quote.end) and located(quote, place(part, quote), sample):
                evidence.add(place(part, quote), quote.start, quote.end)
    view.response = list(_response(view.anchor, sample, parts, view.claims))
    view.response_cut = max(0, len(sample.response or "") - _LONGEST)
    for index in range(len(sample.contexts or ())):
        rated = [(score, part) for score, part in chunks if part.context == index]
        view.contexts.append(_context(view.anchor, index, sample, rated, evidence))
    view.scores = [(score, _why(score)) for score in row.scores]
    view.sections = list(_sections(row))
    return view


def _row_line(row: RowResult, anchor: str, manifest: Manifest) -> _RowView:
    """The row's line, closed: its verdict, its cause and the value that the page sorts by."""
    diagnosis = row.diagnosis
    worst = worst_score(row, manifest)
    if worst is None:
        marked = [s for s in row.scores if s.value is not None and s.pass_mark is not None]
        worst = max(marked, key=lambda score: badness(score, manifest), default=None)
    verdict = "unreadable" if row.bad is not None else say.VERDICT_WORDS[diagnosis.verdict]
    values = {score.metric: score.value for score in row.scores}
    return _RowView(
        row=row,
        anchor=anchor,
        verdict=verdict,
        cause=diagnosis.cause.name if diagnosis.cause is not None else "",
        value=worst.value if worst is not None else None,
        metrics=" ".join(_short_value(values.get(name)) for name in manifest.metrics),
    )


def _short_value(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


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
        found: dict[str, list[_Item]] = {}
        for part in score.parts:
            title, word = say.section(score.metric, part)
            if title:
                sign = _part_sign(part)
                text = one_line(part_text(part, row.sample), 400)
                found.setdefault(title, []).append(
                    _Item(_KINDS[sign], f"{sign} {word}", text, part.rationale)
                )
        for title, items in found.items():
            yield _Section(title, score.metric, items)


def _part_sign(part: Part) -> str:
    if part.status is Status.NOT_APPLICABLE:
        return "–"
    if part.passed is None:
        return "–" if part.value is not None else "?"
    return "✓" if part.passed else "✗"


def _shown(end: int) -> bool:
    return end <= _LONGEST


def _claim(part: Part, number: int, sample: Sample, evidence: _Evidence, weight: str) -> _Claim:
    word = say.claim_word(part)
    sign = _SIGNS.get(word, "–")
    links, quotes = [], []
    for found in part.evidence:
        context = place(part, found)
        if _shown(found.end) and located(found, context, sample):
            e = evidence.add(context, found.start, found.end)
            evidence.claims.setdefault(e, []).append(number)
            links.append((evidence.anchor(e), context + 1))
        else:
            quotes.append((context + 1, one_line(found.quote, 400)))
    in_place = (
        part.start is not None and part.end is not None and 0 <= part.start < part.end <= _LONGEST
    )
    unjudged = part.passed is None and part.status is not Status.NOT_APPLICABLE
    found_there = in_place and (part.end or 0) <= len(sample.response or "")
    return _Claim(
        number,
        sign,
        _KINDS[sign],
        word,
        one_line(part_text(part, sample), 90 if found_there else 400),
        say.why_unjudged(part) if unjudged else "",
        part.rationale,
        tuple(links),
        tuple(quotes),
        found_there,
        weight,
        say.sources(part),
    )


def _response(
    anchor: str, sample: Sample, parts: tuple[Part, ...], claims: list[_Claim]
) -> Iterator[_Piece]:
    spans = [
        Span(part.start or 0, part.end or 0, claim.number)
        for part, claim in zip(parts, claims, strict=True)
        if claim.located
    ]
    for piece in segments((sample.response or "")[:_LONGEST], spans):
        over = [claims[n - 1] for n in piece.over]
        kinds = {claim.kind for claim in over}
        kind = next((kind for kind in "nuso" if kind in kinds), "")
        notes = tuple((f"{anchor}c{n}", f"{claims[n - 1].sign}{n}") for n in piece.ends)
        yield _Piece(piece.text, kind, (), notes)


def _context(
    anchor: str, index: int, sample: Sample, rated: list[tuple[Score, Part]], evidence: _Evidence
) -> _ContextView:
    context = (sample.contexts or ())[index]
    ratings: dict[tuple[str, str], list[str]] = {}
    for score, part in rated:
        word = say.chunk_word(part, score.metric)
        judged = part.status is Status.JUDGED
        kind, sign = _chunk_kind(part.passed, judged)
        rating = f", rated {part.rating:g}" if isinstance(part.rating, int | float) else ""
        why = "" if judged else f" ({say.why_unjudged(part)})"
        ratings.setdefault((kind, f"{sign} {word}{rating}{why}"), []).append(score.metric)

    def piece(part: Segment) -> _Piece:
        claims = evidence.claims_ending(part.ends)
        kind = "q" if part.over else ""
        if any(n in evidence.claims for n in part.over):
            kind = "e"
        return _Piece(
            part.text,
            kind,
            tuple(evidence.anchor(n) for n in part.begins),
            tuple((f"{anchor}c{n}", str(n)) for n in claims),
        )

    return _ContextView(
        number=index + 1,
        id=context.id or "",
        ratings=tuple((kind, words, ", ".join(names)) for (kind, words), names in ratings.items()),
        rationales=tuple(dict.fromkeys(part.rationale for _, part in rated if part.rationale)),
        pieces=tuple(
            piece(part) for part in segments(context.text[:_LONGEST], evidence.spans(index))
        ),
        cut=max(0, len(context.text) - _LONGEST),
        long=len(context.text) > 1500,
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
    words = say.STATUS_WORDS[score.status]
    return f"{words}: {why}" if why else words
