"""What lies behind the root cause, as far as the row and its scores tell? (D4)

Facts about the row are collected first, each with its proof. Then each finer cause that the root
cause may have is proven by facts, ruled out by facts, or neither. What is proven is the answer;
where nothing is, what is not ruled out is: one cause when the others fall away, several when they
cannot be told apart, none when nothing fell away (then the facts say no more than the root cause)
or more than three remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragassay.core import Cause, Part, Sample, Score, Status, Verdict, shorten
from ragassay.diagnosis.causes import FINER
from ragassay.diagnosis.evidence import QUOTE, base, part_text, quoted
from ragassay.diagnosis.patterns import HIGH, LOW

MOST = 3
"""More candidates than this tell the reader nothing."""

Claim = tuple[int | None, int | None, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A finer cause of these root causes. proven: any of these sets of facts shows it. against: any
    of these facts rules it out. Only a candidate (open) is named without being proven, and only
    where the facts `needs` hold.
    """

    cause: str
    roots: frozenset[str]
    proven: tuple[tuple[str, ...], ...]
    against: tuple[str, ...] = ()
    open: bool = True
    needs: tuple[str, ...] = ()


_SEARCH = frozenset(
    {"nothing_retrieved", "retrieval_irrelevant", "document_missed", "insufficient_context"}
)
_DILUTED = frozenset({"context_diluted"})
_DECLINED = frozenset({"declined"})
_UNGROUNDED = frozenset({"ungrounded"})
_WRONG = frozenset({"incorrect"})
_MISLED = frozenset({"misled"})
_BESIDE = frozenset({"answer_irrelevant"})

RULES: tuple[Rule, ...] = (
    Rule("corpus_gap", _SEARCH | _DECLINED, (("no_answer_here",),), ("answerable",)),
    Rule(
        "retrieval_miss",
        _SEARCH | _DECLINED,
        (("relevant_missed",),),
        ("no_answer_here", "relevant_retrieved"),
    ),
    Rule(
        "ranking_cutoff",
        _SEARCH - {"nothing_retrieved"},
        (("relevant_in_part",), ("relevant_last",)),
        ("no_answer_here", "relevant_missed", "relevant_first"),
    ),
    Rule(
        "ranking_cutoff",
        _DILUTED,
        (("irrelevant_first",), ("relevant_in_part",)),
        ("no_answer_here",),
        open=False,
    ),
    Rule("ranking_cutoff", _DECLINED | _WRONG, (("relevant_last",), ("misled_first",)), open=False),
    Rule("ranking_cutoff", _UNGROUNDED | _MISLED, (("misled_first",),), open=False),
    Rule("over_refusal", _DECLINED, (("evidence_there",),), ("no_answer_here", "relevant_missed")),
    Rule("failed_abstention", frozenset({"failed_abstention"}), ((),)),
    Rule(
        "failed_abstention",
        _SEARCH | _UNGROUNDED | _WRONG | _MISLED | _BESIDE,
        (("no_answer_here", "answered"),),
        open=False,
    ),
    Rule("hallucination", _UNGROUNDED, (("claims_invented",),), ("answer_right", "none_invented")),
    Rule("hallucination", _WRONG, (("claims_invented",),), ("grounded", "none_invented")),
    Rule("noise_distraction", _UNGROUNDED | _MISLED, (("claims_from_chunks",),), open=False),
    Rule(
        "noise_distraction",
        _WRONG,
        (("claims_from_chunks",),),
        ("no_claims_from_chunks",),
        needs=("chunks_there",),
    ),
    Rule("incomplete", _WRONG, (("statements_missing",),), ("statements_held", "claims_false")),
    Rule("incomplete", _BESIDE, (("statements_missing",),), ("answer_beside", "statements_held")),
    Rule("wrong_focus", _WRONG, (("answer_beside",),), ("answer_relevant",)),
    Rule("wrong_focus", _BESIDE, (("answer_beside",),), ("statements_missing", "answer_right")),
    Rule(
        "right_without_evidence", _UNGROUNDED, (("claims_known",),), ("answer_wrong", "none_known")
    ),
    Rule(
        "doubtful_reference",
        _WRONG,
        (("reference_contradicted",),),
        ("reference_supported", "claims_invented"),
    ),
    Rule(
        "doubtful_reference",
        frozenset({"insufficient_context"}),
        (),
        ("relevant_missed", "relevant_in_part"),
        needs=("relevant_all",),
    ),
)
"""In causal order."""


def finer_causes(root: str, sample: Sample, scores: Sequence[Score]) -> tuple[Cause, ...]:
    """The finer causes of the row's root cause, each with the facts that speak for it as its
    detail; () for none.

    The order of the scores changes nothing.
    """
    rules = [rule for rule in RULES if root in rule.roots]
    if not rules:
        return ()
    facts = facts_of(sample, sorted(scores, key=lambda score: score.metric))
    proven: dict[str, str] = {}
    for rule in rules:
        for wanted in rule.proven:
            if all(fact in facts for fact in wanted):
                proven.setdefault(
                    rule.cause, "; ".join(facts[fact] for fact in wanted if facts[fact])
                )
    if proven:
        return tuple(_named(name, detail) for name, detail in proven.items())
    candidates = [rule for rule in rules if rule.open and all(fact in facts for fact in rule.needs)]
    left = [rule for rule in candidates if not any(fact in facts for fact in rule.against)]
    ruled_out = [rule for rule in candidates if rule not in left]
    if not ruled_out or len(left) > MOST:
        return ()
    why = "; ".join(
        dict.fromkeys(facts[fact] for rule in ruled_out for fact in rule.against if facts.get(fact))
    )
    return tuple(_named(rule.cause, why) for rule in left)


def _named(name: str, detail: str) -> Cause:
    return replace(FINER[name], detail=shorten(detail, 2 * QUOTE))


def facts_of(sample: Sample, scores: Sequence[Score]) -> dict[str, str]:
    """What is known about the row: fact -> its proof in words."""
    facts: dict[str, str] = {}
    for look in (_answerable, _documents, _ranks, _evidence, _answer, _coverage, _claims):
        for name, proof in look(sample, scores):
            facts.setdefault(name, proof)
    return facts


Facts = Iterator[tuple[str, str]]


def _answerable(sample: Sample, scores: Sequence[Score]) -> Facts:
    known = _relevant_ids(sample)
    if sample.answerable is False:
        yield "no_answer_here", "the row says that the question has no answer here"
    elif known:
        yield "answerable", "the corpus holds " + _listed(known)
    elif sample.answerable:
        yield "answerable", "the row says that the question can be answered"
    elif known is not None:
        yield "no_answer_here", "relevant_ids names no relevant document"
    if _declines(scores):
        yield "declined", "the response declines"
    elif (sample.response or "").strip():
        yield "answered", f"it answers {quoted(sample.response or '')}"


def _documents(sample: Sample, scores: Sequence[Score]) -> Facts:
    known, ids = _relevant_ids(sample), [chunk.id for chunk in sample.contexts or ()]
    if not known or sample.contexts is None or None in ids or sample.answerable is False:
        return
    there = set(ids)
    missed, hits = (
        [id_ for id_ in known if id_ not in there],
        [id_ for id_ in known if id_ in there],
    )
    if not hits:
        yield "relevant_missed", "not retrieved: " + _listed(missed)
        return
    yield "relevant_retrieved", "retrieved: " + _listed(hits)
    yield "evidence_there", "retrieved: " + _listed(hits)
    if missed:
        yield "relevant_in_part", f"retrieved: {_listed(hits)}; not retrieved: {_listed(missed)}"
        return
    yield "relevant_all", "every document known to be relevant was retrieved: " + _listed(hits)
    if set(ids[: len(hits)]) == set(hits):
        yield "relevant_first", "and they stand first"


def _ranks(sample: Sample, scores: Sequence[Score]) -> Facts:
    relevant, chunks = _relevant_chunks(sample, scores), len(sample.contexts or ())
    if any(chunk.text.strip() for chunk in sample.contexts or ()):
        yield "chunks_there", ""
    first = min(relevant, default=0)
    if relevant and first > 0:
        words = f"the first relevant chunk is context {first + 1} of {chunks}"
        yield "irrelevant_first", words
        if first == chunks - 1 and chunks > 2:  # of two chunks, the second is no distance away
            yield "relevant_last", words


def _evidence(sample: Sample, scores: Sequence[Score]) -> Facts:
    for score in scores:
        name, against = (
            base(score),
            "question" if "against=question" in score.metric else "reference",
        )
        if score.verdict is not Verdict.PASS:
            continue
        if name in (
            "context_sufficiency",
            "context_recall",
            "chunk_relevance",
            "context_relevance",
        ):
            yield "evidence_there", _says(score)
        if name == "context_recall" or (name == "context_sufficiency" and against == "reference"):
            yield "reference_supported", _says(score)
    support = [
        s for s in scores if base(s) in ("groundedness", "faithfulness") and s.verdict is not None
    ]
    if support and all(score.verdict is Verdict.PASS for score in support):
        yield "grounded", _says(support[0])


def _answer(sample: Sample, scores: Sequence[Score]) -> Facts:
    # What decides whether the answer is right: the judge of the whole answer first, then what is
    # nearest to it.
    for name in ("correctness", "answer_correctness_claims", "answer_accuracy_dual"):
        found = [s for s in scores if base(s) == name and s.verdict in (Verdict.PASS, Verdict.FAIL)]
        if found:
            right = all(score.verdict is Verdict.PASS for score in found)
            yield "answer_right" if right else "answer_wrong", _says(found[0])
            break
    relevance = [s for s in scores if base(s) == "answer_relevance" and s.value is not None]
    if relevance and all(score.verdict is Verdict.PASS for score in relevance):
        yield "answer_relevant", _says(relevance[0])
    if any(
        score.value == 0.0 and score.verdict is Verdict.FAIL and not score.flags
        for score in relevance
    ):
        yield (
            "answer_beside",
            f"asked {quoted(sample.question or '')}, answered {quoted(sample.response or '')}",
        )


def _coverage(sample: Sample, scores: Sequence[Score]) -> Facts:
    """How much of the truth the answer states, and of the retrieved evidence it uses."""
    for score in scores:
        precision, recall = score.extra.get("precision"), score.extra.get("recall")
        if (
            base(score) == "answer_correctness_claims"
            and precision is not None
            and recall is not None
        ):
            words = f"precision {precision:.2f}, recall {recall:.2f} of its claims"
            if precision >= HIGH > recall:
                yield "statements_missing", _missing(sample, score) or words
            if recall >= HIGH:
                yield "statements_held", words
            if precision < LOW:
                yield "claims_false", words
        unused = (
            base(score) == "context_utilization" and score.value is not None and score.value < LOW
        )
        if unused and not any(_makes_false_claims(other) for other in scores):
            yield (
                "statements_missing",
                f"it uses {score.value:.0%} of the evidence that was retrieved",
            )


def _makes_false_claims(score: Score) -> bool:
    """Whether it shows claims to be false: then evidence left unused is not the answer's first
    fault.
    """
    if base(score) == "answer_correctness_claims":
        return score.extra.get("precision", 1.0) < HIGH
    return base(score) in ("hallucination", "noise_sensitivity") and bool(score.value)


def _claims(sample: Sample, scores: Sequence[Score]) -> Facts:
    """Claim by claim: does the truth state it, do the chunks support it, and which ones?"""
    truth = _parts(scores, ("answer_correctness_claims",))
    support = _parts(scores, ("groundedness", "faithfulness"))
    unsupported = {place: part for place, part in support.items() if part.passed is False}
    stated = {
        place: part for place, part in unsupported.items() if place in truth and truth[place].passed
    }
    false = {
        place: part
        for place, part in unsupported.items()
        if place in truth and truth[place].passed is False
    }
    if stated:
        yield "claims_known", f"the reference states {_first(stated.values(), sample)}"
    if false:
        yield "claims_invented", f"nothing states {_first(false.values(), sample)}"
    yield from _shares(sample, scores)
    relevant = _relevant_chunks(sample, scores)
    wrong = [
        p
        for place, p in support.items()
        if p.passed and place in truth and truth[place].passed is False
    ]
    for part in wrong:
        if not part.sources:
            continue
        text = quoted(part_text(part, sample))
        where = f"{text} stands in context {', '.join(str(i + 1) for i in part.sources)}"
        if relevant and relevant.issuperset(part.sources):
            yield (
                "reference_contradicted",
                f"{where}, which is relevant, and the reference says otherwise",
            )
        else:
            yield "claims_from_chunks", where
            if relevant and min(part.sources) < min(relevant):
                yield (
                    "misled_first",
                    f"{where}, before the first relevant one, context {min(relevant) + 1}",
                )


def _shares(sample: Sample, scores: Sequence[Score]) -> Facts:
    """The same from the shares of claims that the metrics of the claim graph give."""
    for score in scores:
        name, whole = base(score), not {"partial"}.intersection(score.flags)
        if score.status is not Status.JUDGED or score.value is None:
            continue
        if name == "hallucination" and "against=contexts" not in score.metric:
            if score.value > 0:
                yield (
                    "claims_invented",
                    f"{score.value:.0%} of its claims are in neither the chunks nor the reference",
                )
            elif whole:
                yield (
                    "none_invented",
                    "none of its claims is in neither the chunks nor the reference",
                )
        if name == "self_knowledge":
            if score.value > 0:
                yield "claims_known", f"{score.value:.0%} of its claims are right and in no chunk"
            elif whole:
                yield "none_known", "none of its claims is right and in no chunk"
        if name == "noise_sensitivity" and score.value > 0:
            yield (
                "claims_from_chunks",
                f"{score.value:.0%} of its claims are wrong and come from a chunk",
            )
    noise = [s for s in scores if base(s) == "noise_sensitivity" and s.value is not None]
    if noise and all(s.value == 0 and not s.flags for s in noise):
        yield "no_claims_from_chunks", "no wrong claim comes from a chunk"


def _parts(scores: Sequence[Score], names: Iterable[str]) -> dict[Claim, Part]:
    """The claims of these metrics by their place; the first metric's word counts."""
    found: dict[Claim, Part] = {}
    for name in names:
        for score in scores:
            for part in score.parts if base(score) == name else ():
                if part.kind == "claim" and part.passed is not None:
                    place = (part.start, part.end, part.text if part.start is None else "")
                    found.setdefault(place, part)
    return found


def _relevant_chunks(sample: Sample, scores: Sequence[Score]) -> frozenset[int]:
    """The places of the chunks that are relevant: by their known ids, else as judged; what is known
    outranks it.
    """
    known, contexts = _relevant_ids(sample), sample.contexts or ()
    if known and all(chunk.id is not None for chunk in contexts):
        names = set(known)
        return frozenset(i for i, chunk in enumerate(contexts) if chunk.id in names)
    for name in ("context_precision", "chunk_relevance", "context_relevance"):
        for score in scores:
            judged = [
                p
                for p in score.parts
                if p.kind == "chunk" and p.context is not None and p.passed is not None
            ]
            if base(score) == name and len(judged) == len(contexts) > 0:
                return frozenset(
                    part.context for part in judged if part.passed and part.context is not None
                )
    return frozenset()


def _relevant_ids(sample: Sample) -> tuple[str, ...] | None:
    """The documents known to be relevant; None where the row does not say."""
    if sample.relevant_ids is None:
        return None
    return tuple(id_ for id_, grade in sample.relevant_ids.items() if grade >= 1)


def _declines(scores: Sequence[Score]) -> bool:
    return any(
        base(s) in ("answer_relevance", "abstention", "correctness") and "abstention" in s.flags
        for s in scores
    )


def _missing(sample: Sample, score: Score) -> str:
    gone = [part for part in score.parts if part.kind == "statement" and part.passed is False]
    return f"it does not state {_first(gone, sample)}" if gone else ""


def _first(parts: Iterable[Part], sample: Sample) -> str:
    """The first of the parts by place, in quotation marks."""
    return quoted(
        part_text(min(parts, key=lambda p: (p.start is None, p.start or 0, p.text)), sample)
    )


def _says(score: Score) -> str:
    value = "" if score.value is None else f" is {score.value:.2f}"
    return f"{score.metric}{value}"


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (" ..." if len(ids) > 5 else "")
