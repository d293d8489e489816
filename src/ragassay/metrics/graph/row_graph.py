"""The claim graph of a row: its claims, statements and chunks, and which of them support which.

Claims of the response, statements of the truth (the expected facts, or the claims of the
reference), chunks; a metric says which edges it needs, and they are asked in one wave once the
claims are known. What several metrics need is the same Request, so that the whole family costs what
its largest set of edges does:

    edge                   rubric         question to the judge
    claim x contexts       groundedness   does any of the contexts support the claim?
    statement x contexts   groundedness   does any of the contexts support the statement?
    claim x truth          entailment     does the truth state the claim?
    statement x response   entailment     does the response state the statement?

Which contexts support a claim is part of the judgment on it; a judge that passed a claim and named
none is asked for them once more (rubric claim_sources).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragassay.core import Counts, Part, Sample, Score, Status, Verdict
from ragassay.metrics.base import MetricBase
from ragassay.metrics.citations import without_marks
from ragassay.metrics.graph.admissions import (
    ADMISSION,
    admits,
    states_nothing,
    without_admission,
    without_admitted,
)
from ragassay.metrics.graph.claims import (
    MAX_CLAIMS,
    Piece,
    split_claims,
    under_headings,
    without_bare_answers,
)
from ragassay.metrics.graph.listing import Lists, drop_trivial, list_claims
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
    judge_entailment,
    judge_support,
    part_left_out,
    together,
)
from ragassay.metrics.reduction import ABSTENTION, EMPTY, blank

CLAIMS = ("sentences", "filtered", "llm")
"""How texts are cut into claims: by a splitter, without a call; the same, with the sentences of the
response that state nothing left out by the judge's model, one call a row; or by the judge's model,
one call a text.
"""


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges that a metric needs.

    claims: one of CLAIMS. sources: also which contexts support each. admissions: admissions of not
    knowing are claims too, else they are left out. silent: the metric has a value for a response
    that states nothing.
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
    def of_contexts(self) -> bool:
        """Whether anything is looked for in the contexts."""
        return self.claim_contexts or self.statement_contexts

    @property
    def of_truth(self) -> bool:
        """Whether the row must say what is true."""
        return self.claim_truth or self.of_statements

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields of a row that these edges join."""
        needs = []
        if self.of_claims or self.statement_response:
            needs.append("response")
        if self.of_contexts:
            needs.append("contexts")
        if self.of_truth:
            needs.append(NEEDS_TRUTH)
        return tuple(needs)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """Every rubric that may be asked: answer_relevance only where nothing was retrieved, to see
        whether the response admits it; claim_sources only where the judge of support named no
        source.
        """
        rubrics = []
        if self.of_contexts:
            rubrics.append("groundedness")
        if self.claim_contexts:
            rubrics.append("answer_relevance")
        if self.of_contexts and self.sources:
            rubrics.append("claim_sources")
        if self.claim_truth or self.statement_response:
            rubrics.append("entailment")
        if self.claims == "llm" and (self.of_claims or self.of_statements):
            rubrics.append("claims")
        if self.claims == "filtered" and self.of_claims:
            rubrics.append("trivial")
        return tuple(rubrics)


class GraphMetric(MetricBase):
    """A metric over the claim graph: it says which `edges` it needs, and reduces the Graph."""

    @property
    def edges(self) -> Edges:
        """The edges that these parameters need."""
        raise NotImplementedError

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that these parameters ask."""
        return self.edges.rubrics

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that these parameters need."""
        return self.edges.needs


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


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of a row that the graph is made of. pieces: the response, cut; of them `claims` are
    judged. statements: what the truth states. truth is "" where no edge needs it.
    """

    question: str
    response: str
    truth: str
    contexts: tuple[str, ...]
    statements: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()
    claims: tuple[Piece, ...] = ()


def judge_graph(metric: GraphMetric, sample: Sample) -> Flow[Graph | Score]:
    """The edges that the metric needs; or its Score, where that is already settled."""
    absent = metric.missing(sample)
    if absent is not None:
        return absent
    texts = _texts_of(metric, sample)
    if isinstance(texts, Score):
        return texts
    texts = yield from _cut(metric, sample, texts)
    if isinstance(texts, Score):
        return texts
    return (yield from _judge_edges(metric, texts))


# -- the texts of a row


def _texts_of(metric: GraphMetric, sample: Sample) -> _Texts | Score:
    """The texts of the row as they are; a Score where the truth or the response holds nothing."""
    edges = metric.edges
    truth = ""
    statements: tuple[str, ...] = ()
    if edges.of_truth:
        statements = statements_of(sample)
        if len(statements) > MAX_CLAIMS:
            return _too_many_statements(metric, statements)
        if not statements:
            return metric.not_applicable(no_truth(sample))
        if all(admits(text) for text in statements):
            return metric.not_applicable(_TRUTH_DECLINES)
        truth = truth_of(sample)
    response = sample.response or ""
    # Settled before a model is asked to list claims: of no text there are none.
    if edges.of_claims and not edges.silent and blank(response):
        return _claimless(metric, "the response is empty", (), EMPTY)
    contexts = tuple(chunk.text for chunk in sample.contexts or ())
    return _Texts(sample.question or "", response, truth, contexts, statements)


def _cut(metric: GraphMetric, sample: Sample, texts: _Texts) -> Flow[_Texts | Score]:
    """The texts with the response cut into pieces and claims, by rules or by a model; a Score where
    nothing can be judged.
    """
    edges = metric.edges
    if edges.claims == "llm":
        texts_or_score = yield from _list(metric, sample, texts)
        if isinstance(texts_or_score, Score):
            return texts_or_score
        texts = texts_or_score
    elif edges.of_claims:
        texts = replace(texts, pieces=split_claims(texts.response))
    count = sum(not piece.dropped for piece in texts.pieces)
    if count > MAX_CLAIMS:
        return _too_many(metric, "response", "claims", count)
    if edges.claims == "filtered" and edges.of_claims:
        lists = yield from drop_trivial(texts.question, texts.response, texts.pieces)
        if lists.lost is not None:
            return _lost(metric, lists)
        texts = replace(texts, pieces=lists.pieces)
        count = sum(not piece.dropped for piece in texts.pieces)
    if len(texts.statements) > MAX_CLAIMS:
        return _too_many_statements(metric, texts.statements)
    # Twice: pieces that make no claim at all, and claims that only admit not knowing, are two
    # reasons, and the second has a flag.
    claims_needed = edges.of_claims and not edges.silent
    if claims_needed and not count:
        return _claimless(metric, "the response makes no claim", _dropped_parts(texts.pieces))
    texts = _with_claims(edges, texts)
    if claims_needed and not texts.claims:
        return _claimless(metric, _ONLY_ADMITS, _dropped_parts(texts.pieces), ABSTENTION)
    return texts


def _list(metric: GraphMetric, sample: Sample, texts: _Texts) -> Flow[_Texts | Score]:
    """The texts with the claims and statements that a model lists. Expected facts are never cut."""
    edges = metric.edges
    response = texts.response if edges.of_claims and not blank(texts.response) else None
    truth = texts.truth if edges.of_statements and not facts_of(sample) else None
    lists = yield from list_claims(texts.question, response, truth)
    if lists.lost is not None:
        return _lost(metric, lists)
    return replace(texts, pieces=lists.pieces, statements=lists.statements or texts.statements)


def _lost(metric: GraphMetric, lists: Lists) -> Score:
    """No value: a list as a whole is what was asked and lost; it is no claim of the response."""
    assert lists.lost is not None
    mark = _pass_mark(metric)
    return Score(
        metric=str(metric),
        status=lists.lost,
        counts=lists.counts,
        reason=lists.reason,
        pass_mark=mark,
        verdict=None if mark is None else Verdict.UNDECIDED,
    )


def _with_claims(edges: Edges, texts: _Texts) -> _Texts:
    """The texts with the claims among the pieces as the judge is to read them."""
    chunks = len(texts.contexts)
    if edges.claims == "llm" or (edges.claims == "filtered" and edges.of_claims):
        pieces, claims = _to_judge(texts.response, texts.pieces, chunks, edges.admissions)
    elif edges.of_claims:
        pieces, claims = _sentences_to_judge(texts.response, chunks, edges.admissions)
    else:
        return texts
    return replace(texts, pieces=pieces, claims=claims)


def _to_judge(
    response: str, pieces: tuple[Piece, ...], chunks: int, admissions: bool
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """The pieces, mere admissions dropped unless they count; and the claims among them as the judge
    is to read them.
    """
    if not admissions:
        pieces = tuple(without_admission(piece) for piece in pieces)
    pieces = without_bare_answers(pieces)
    headings = under_headings(response, pieces)
    claims = []
    for piece in pieces:
        if not piece.dropped:
            # A mark such as [2] is judged by citation_support; to a judge of the claim it is a
            # number without support.
            text = without_marks(piece.text, chunks)
            heading = headings.get(piece.start)
            text = f"{heading} {text}" if heading else text
            claims.append(Piece(piece.start, piece.end, text))
    return pieces, tuple(claims)


# The whole graph family of a row cuts the same response; `_to_judge` alone could not be cached for
# pieces that a model listed.
@cached_for_row
def _sentences_to_judge(
    response: str, chunks: int, admissions: bool
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    return _to_judge(response, split_claims(response), chunks, admissions)


# -- the edges between them


def _judge_edges(metric: GraphMetric, texts: _Texts) -> Flow[Graph | Score]:
    """Ask for all edges in one wave; a Score where the judge finds only admissions."""
    edges = metric.edges
    # A statement has no place in the response: -1.
    statements: list[Piece] = []
    if edges.of_statements:
        statements = [Piece(-1, -1, text) for text in texts.statements if not admits(text)]
    question, response, truth = texts.question, texts.response, texts.truth
    claims_in_contexts, claims_in_truth, statements_in_contexts, in_response = yield from together(
        judge_support(
            "claim",
            texts.claims if edges.claim_contexts else (),
            question,
            response,
            texts.contexts,
            sources=edges.sources,
        ),
        judge_entailment("claim", texts.claims if edges.claim_truth else (), question, truth),
        judge_support(
            "statement",
            statements if edges.statement_contexts else (),
            question,
            truth,
            texts.contexts,
            sources=edges.sources,
        ),
        judge_entailment(
            "statement", statements if edges.statement_response else (), question, response
        ),
    )
    # The judge may find an admission that the rules on words did not.
    if not edges.admissions:
        claims_in_contexts = tuple(without_admitted(part) for part in claims_in_contexts)
    flags: tuple[str, ...] = ()
    if edges.silent or edges.statement_response:
        flags = _flags_of(response)
    graph = Graph(
        claims=_among(texts.pieces, claims_in_contexts) if edges.claim_contexts else (),
        truth=_among(texts.pieces, claims_in_truth) if edges.claim_truth else (),
        statements=tuple(without_admitted(part) for part in statements_in_contexts),
        response=in_response,
        flags=flags,
    )
    return _settled_by_admissions(metric, graph, claims_in_contexts) or graph


def _among(pieces: tuple[Piece, ...], parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of the claims, with the pieces that make none at their places."""
    of_claims = iter(parts)
    return tuple(_dropped_part(piece) if piece.dropped else next(of_claims) for piece in pieces)


def _dropped_parts(pieces: tuple[Piece, ...]) -> tuple[Part, ...]:
    return tuple(_dropped_part(piece) for piece in pieces)


def _dropped_part(piece: Piece) -> Part:
    flag = ABSTENTION if piece.dropped == ADMISSION else "trivial"
    return part_left_out("claim", piece, piece.dropped, flag)


def _flags_of(response: str) -> tuple[str, ...]:
    """The flag of a response that states nothing."""
    if blank(response):
        return (EMPTY,)
    return (ABSTENTION,) if states_nothing(response) else ()


# -- Scores that are settled without the metric

_TRUTH_DECLINES = "the reference declines to answer"
_ONLY_ADMITS = "the response only admits that it does not know"


def _settled_by_admissions(
    metric: GraphMetric, graph: Graph, claims: tuple[Part, ...]
) -> Score | None:
    """The Score where the truth, or each of the judged claims, only admits not knowing."""
    if _none_applies(graph.statements):
        return metric.not_applicable(_TRUTH_DECLINES)
    if not _none_applies(claims):
        return None
    if any(ABSTENTION in part.flags for part in claims):
        return _claimless(metric, _ONLY_ADMITS, graph.claims, ABSTENTION)
    return _claimless(metric, "the response states nothing", graph.claims)


def _none_applies(parts: tuple[Part, ...]) -> bool:
    """Whether there are parts, and the judge found nothing to judge in any of them."""
    return bool(parts) and all(part.status is Status.NOT_APPLICABLE for part in parts)


def _pass_mark(metric: GraphMetric) -> float | None:
    # Some metrics of the graph have no pass mark, such as self_knowledge.
    mark: float | None = getattr(metric, "pass_mark", None)
    return mark


def _too_many_statements(metric: GraphMetric, statements: tuple[str, ...]) -> Score:
    return _too_many(metric, "truth", "statements", len(statements))


def _too_many(metric: GraphMetric, text: str, name: str, count: int) -> Score:
    mark = _pass_mark(metric)
    return Score(
        metric=str(metric),
        status=Status.FAILED,
        counts=Counts(asked=count, failed=count),
        pass_mark=mark,
        reason=f"the {text} makes more than {MAX_CLAIMS:,} {name}, the most that are judged",
        verdict=None if mark is None else Verdict.UNDECIDED,
    )


def _claimless(metric: GraphMetric, why: str, parts: tuple[Part, ...], flag: str = "") -> Score:
    """The Score of a response in which there is nothing to judge."""
    return Score(
        metric=str(metric),
        status=Status.NOT_APPLICABLE,
        reason=why,
        parts=parts,
        flags=(flag,) if flag else (),
    )
