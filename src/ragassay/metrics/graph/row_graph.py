"""Which claims, statements and chunks does a row have, and which of them support which? The one
claim graph of a row.

Claims of the response, statements of the truth (the expected facts, or the claims of the
reference), chunks; a metric says which edges it wants, and they are asked in one wave once the
claims are known. What several metrics need is the same Request, so that the whole family costs what
its largest set of edges does:

    claim x contexts         rubric groundedness    does any of the contexts support the claim, and
    which statement x contexts     rubric groundedness    does any of the contexts support the
    statement, and which claim x truth            rubric entailment      does the truth state the
    claim statement x response     rubric entailment      does the response state the statement

Which contexts support a claim is part of the judgment on it; a judge that passed a claim and named
none is asked for them once more (rubric claim_sources).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragassay.core import Counts, Judgment, Part, Request, Sample, Score, Status, Verdict
from ragassay.metrics.base import MetricBase
from ragassay.metrics.citations import without_marks
from ragassay.metrics.graph.claims import MAX_CLAIMS, Piece, split_claims
from ragassay.metrics.graph.row_cache import cached_for_row
from ragassay.metrics.graph.statements import (
    NEEDS_TRUTH,
    facts_of,
    no_truth,
    statements_of,
    truth_of,
)
from ragassay.metrics.graph.support import (
    Flow,
    admits,
    entailed,
    left_out,
    states_nothing,
    supported,
    together,
)
from ragassay.metrics.reduction import ABSTENTION, EMPTY, blank

CLAIMS = ("sentences", "llm")
"""How texts are cut into claims: by a splitter, without a call, or by the judge's model, one call a
text.
"""


@dataclass(frozen=True, slots=True)
class Wants:
    """Which edges a metric needs.

    sources: also which contexts support each. admissions: admissions of not knowing are claims too,
    else they are left out. silent: the metric has a value for a response that states nothing.
    claims: one of CLAIMS.
    """

    claims: str = "sentences"
    claim_contexts: bool = False
    claim_truth: bool = False
    statement_contexts: bool = False
    statement_response: bool = False
    sources: bool = False
    admissions: bool = False
    silent: bool = False

    @property
    def of_claims(self) -> bool:
        """Whether the response is cut into claims."""
        return self.claim_contexts or self.claim_truth

    @property
    def of_statements(self) -> bool:
        """Whether the truth is cut into statements."""
        return self.statement_contexts or self.statement_response

    @property
    def of_truth(self) -> bool:
        """Whether the row must say what is true."""
        return self.claim_truth or self.of_statements

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields of a row that these edges join."""
        return (
            *(("response",) if self.of_claims or self.statement_response else ()),
            *(("contexts",) if self.claim_contexts or self.statement_contexts else ()),
            *((NEEDS_TRUTH,) if self.of_truth else ()),
        )

    @property
    def rubrics(self) -> tuple[str, ...]:
        """Every rubric that may be asked: answer_relevance only where nothing was retrieved, to see
        whether the response admits it; claim_sources only where the judge of support named no
        source.
        """
        support = self.claim_contexts or self.statement_contexts
        return (
            *(("groundedness",) if support else ()),
            *(("answer_relevance",) if self.claim_contexts else ()),
            *(("claim_sources",) if support and self.sources else ()),
            *(("entailment",) if self.claim_truth or self.statement_response else ()),
            *(
                ("claims",)
                if self.claims == "llm" and (self.of_claims or self.of_statements)
                else ()
            ),
        )


class GraphMetric(MetricBase):
    """A metric over the claim graph: it says what it `wants`, and reduces the Graph it is given."""

    @property
    def wants(self) -> Wants:
        """The edges that these parameters need."""
        raise NotImplementedError

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that these parameters ask."""
        return self.wants.rubrics

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that these parameters need."""
        return self.wants.needs


@dataclass(frozen=True, slots=True)
class Graph:
    """The edges that were asked for, as parts; () for the others.

    claims: claim x contexts, truth: claim x truth, one part per piece of the response; pieces that
    make no claim are not applicable. statements: statement x contexts, response: statement x
    response. flags: "abstention" or "empty_response" where the response states nothing.
    """

    claims: tuple[Part, ...] = ()
    truth: tuple[Part, ...] = ()
    statements: tuple[Part, ...] = ()
    response: tuple[Part, ...] = ()
    flags: tuple[str, ...] = ()


def judge_graph(metric: GraphMetric, sample: Sample) -> Flow[Graph | Score]:
    """The edges that the metric wants; or its Score, where that is already settled."""
    wants = metric.wants
    absent = metric.missing(sample)
    if absent is not None:
        return absent
    response, truth, question = sample.response or "", "", sample.question or ""
    texts: tuple[str, ...] = ()
    if wants.of_truth:
        texts = statements_of(sample)
        if len(texts) > MAX_CLAIMS:
            return _too_many(metric, "truth", "statements", len(texts))
        if not texts:
            return metric.not_applicable(no_truth(sample))
        if all(admits(text) for text in texts):
            return metric.not_applicable(_DECLINES)
        truth = truth_of(sample)
    if wants.of_claims and not wants.silent and blank(response):
        return _claimless(metric, "the response is empty", (), EMPTY)

    pieces: tuple[Piece, ...] = ()
    if wants.claims == "llm":
        listed = yield from _listed(metric, sample, wants)
        if isinstance(listed, Score):
            return listed
        pieces, texts = listed[0], listed[1] or texts
    elif wants.of_claims:
        pieces = split_claims(response)
    count = sum(not piece.dropped for piece in pieces)
    if count > MAX_CLAIMS:
        return _too_many(metric, "response", "claims", count)
    if len(texts) > MAX_CLAIMS:
        return _too_many(metric, "truth", "statements", len(texts))
    if wants.of_claims and not wants.silent and not count:
        return _claimless(metric, "the response makes no claim", tuple(map(_dropped, pieces)))
    contexts, sources = tuple(chunk.text for chunk in sample.contexts or ()), wants.sources
    claims: tuple[Piece, ...] = ()
    if wants.claims == "llm":
        pieces, claims = _to_judge(pieces, len(contexts), wants.admissions)
    elif wants.of_claims:
        pieces, claims = _sentences_to_judge(response, len(contexts), wants.admissions)
    if wants.of_claims and not wants.silent and not claims:
        return _claimless(metric, _ONLY_ADMITS, tuple(map(_dropped, pieces)), ABSTENTION)

    statements = (
        [Piece(-1, -1, text) for text in texts if not admits(text)] if wants.of_statements else []
    )
    held, right, there, said = yield from together(
        supported(
            "claim",
            claims if wants.claim_contexts else (),
            question,
            response,
            contexts,
            sources=sources,
        ),
        entailed("claim", claims if wants.claim_truth else (), question, truth),
        supported(
            "statement",
            statements if wants.statement_contexts else (),
            question,
            truth,
            contexts,
            sources=sources,
        ),
        entailed("statement", statements if wants.statement_response else (), question, response),
    )
    there = tuple(_without_admitted(part) for part in there)
    if there and all(part.status is Status.NOT_APPLICABLE for part in there):
        return metric.not_applicable(_DECLINES)
    if not wants.admissions:
        held = tuple(_without_admitted(part) for part in held)
    graph = Graph(
        claims=_among(pieces, held) if wants.claim_contexts else (),
        truth=_among(pieces, right) if wants.claim_truth else (),
        statements=there,
        response=said,
        flags=_stated(response) if wants.silent or wants.statement_response else (),
    )
    if held and all(part.status is Status.NOT_APPLICABLE for part in held):
        if not any(ABSTENTION in part.flags for part in held):
            return _claimless(metric, "the response states nothing", graph.claims)
        return _claimless(metric, _ONLY_ADMITS, graph.claims, ABSTENTION)
    return graph


def _stated(response: str) -> tuple[str, ...]:
    if blank(response):
        return (EMPTY,)
    return (ABSTENTION,) if states_nothing(response) else ()


# -- claims that a model lists


def _listed(
    metric: GraphMetric, sample: Sample, wants: Wants
) -> Flow[tuple[tuple[Piece, ...], tuple[str, ...]] | Score]:
    """The claims and statements that a model lists, or the Score when a list is lost. Expected
    facts are never cut.
    """
    response, truth = sample.response or "", truth_of(sample)
    of_claims, of_truth = (
        wants.of_claims and not blank(response),
        wants.of_statements and not facts_of(sample),
    )
    texts = (*((response,) if of_claims else ()), *((truth,) if of_truth else ()))
    if not texts:
        return (), ()
    answers = yield tuple(
        Request("claims", {"question": sample.question or "", "response": text}) for text in texts
    )
    gone = [answer for answer in answers if not answer.judged]
    if gone:
        # A list as a whole is what was asked and lost; it is no claim of the response.
        states = [Status.FAILED if a.status is Status.NOT_APPLICABLE else a.status for a in answers]
        mark = _mark(metric)
        return Score(
            metric=str(metric),
            status=next(s for s in states if s is not Status.JUDGED),
            counts=Counts.of(states),
            reason=gone[0].reason or "no list of claims arrived",
            pass_mark=mark,
            verdict=None if mark is None else Verdict.UNDECIDED,
        )
    pieces = tuple(_written(answers[0], response)) if of_claims else ()
    stated = (
        [piece.text for piece in _written(answers[-1], truth) if not piece.dropped]
        if of_truth
        else []
    )
    return pieces, tuple(dict.fromkeys(stated))


def _written(judgment: Judgment, text: str) -> Iterator[Piece]:
    """The claims a model wrote, and those it calls trivial; those it took over word for word get
    their place.

    One claim more than is judged is enough to see that there are too many.
    """
    at = claims = 0
    for i, written in enumerate(judgment.texts):
        claim = written.strip()
        drop = "trivial" if f"trivial:{i}" in judgment.flags else ""
        if not claim or (drop and i > 5 * MAX_CLAIMS):
            continue
        start = text.find(claim, at)
        start = start if start >= 0 else text.find(claim)
        at = start + len(claim) if start >= 0 else at
        yield Piece(start, at if start >= 0 else -1, claim, drop)
        claims += not drop
        if claims > MAX_CLAIMS:
            return


# -- what makes no claim

_ADMISSION = "it admits not knowing"
_DECLINES = "the reference declines to answer"
_ONLY_ADMITS = "the response only admits that it does not know"


def _without_admission(piece: Piece) -> Piece:
    return (
        piece
        if piece.dropped or not admits(piece.text)
        else Piece(piece.start, piece.end, piece.text, _ADMISSION)
    )


def _without_admitted(part: Part) -> Part:
    """A claim or statement that only the judge finds to be an admission is left out as well."""
    if part.status is not Status.JUDGED or ABSTENTION not in part.flags:
        return part
    return Part(
        part.kind,
        Status.NOT_APPLICABLE,
        text=part.text,
        start=part.start,
        end=part.end,
        rationale=part.rationale,
        reason=f"no claim: {_ADMISSION}",
        flags=(ABSTENTION,),
        key=part.key,
    )


def _to_judge(
    pieces: tuple[Piece, ...], chunks: int, admissions: bool
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """The pieces, mere admissions dropped unless they count; and the claims among them as the judge
    is to read them.
    """
    if not admissions:
        pieces = tuple(_without_admission(piece) for piece in pieces)
    # A mark such as [2] is judged by citation_support; to a judge of the claim it is a number
    # without support.
    return pieces, tuple(
        Piece(piece.start, piece.end, without_marks(piece.text, chunks))
        for piece in pieces
        if not piece.dropped
    )


@cached_for_row
def _sentences_to_judge(
    response: str, chunks: int, admissions: bool
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    return _to_judge(split_claims(response), chunks, admissions)


def _dropped(piece: Piece) -> Part:
    return left_out(
        "claim", piece, piece.dropped, ABSTENTION if piece.dropped == _ADMISSION else "trivial"
    )


def _among(pieces: tuple[Piece, ...], parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of the claims, with the pieces that make none at their places."""
    known = iter(parts)
    return tuple(_dropped(piece) if piece.dropped else next(known) for piece in pieces)


# -- Scores that are settled without the metric


def _mark(metric: GraphMetric) -> float | None:
    mark: float | None = getattr(metric, "pass_mark", None)
    return mark


def _too_many(metric: GraphMetric, text: str, name: str, count: int) -> Score:
    mark = _mark(metric)
    return Score(
        metric=str(metric),
        status=Status.FAILED,
        counts=Counts(asked=count, failed=count),
        pass_mark=mark,
        reason=f"the {text} makes more than {MAX_CLAIMS:,} {name}, the most that are judged",
        verdict=None if mark is None else Verdict.UNDECIDED,
    )


def _claimless(metric: GraphMetric, why: str, parts: tuple[Part, ...], flag: str = "") -> Score:
    return Score(
        metric=str(metric),
        status=Status.NOT_APPLICABLE,
        reason=why,
        parts=parts,
        flags=(flag,) if flag else (),
    )
