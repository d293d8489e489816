"""Did the row pass, and if not, what broke first? (D1, D2)

Causal order: where the application failed, nothing else counts. An answer can hardly be good when
its evidence is missing, so retrieval comes before groundedness, and groundedness before what the
answer says. With ground truth, context_sufficiency and correctness decide; where one of these three
gives no verdict, its stand-ins take its place. Safety follows, then guidelines, the user's own
metrics, and whatever else failed, so that no failed row is without a cause.

A question that the row marks as not answerable has no relevant chunk to be found and no relevant
answer to be given: there the retrieval and relevance metrics say nothing about the application, and
do not count once it declines. And where a document that people marked as relevant was retrieved, a
judge that finds no chunk relevant does not count: what is known outranks what is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragassay.core import Cause, Diagnosis, Sample, Score, Verdict, shorten
from ragassay.diagnosis.causes import CAUSES
from ragassay.diagnosis.evidence import QUOTE, base, proof_of, quoted
from ragassay.diagnosis.finer import finer_causes
from ragassay.diagnosis.patterns import pattern_of

_ORDER: Mapping[str, tuple[str, ...]] = {
    "context_sufficiency": (
        "chunk_relevance",
        "context_relevance",
        "context_relevance_dual",
        "document_recall",
        "document_precision",
        "context_precision",
        "context_relevance_ratio",
        "context_recall",
        "context_entity_recall",
    ),
    "groundedness": (
        "faithfulness",
        "response_groundedness_dual",
        "hallucination",
        "citation_support",
    ),
    "correctness": (
        "noise_sensitivity",
        "answer_correctness_claims",
        "answer_accuracy_dual",
        "answer_correctness_lexical",
        "answer_relevance",
        "answer_relevance_reverse",
        "completeness",
        "abstention",
    ),
    "safety": ("toxicity", "bias", "pii"),
}
"""The metrics in causal order, each with those that take its place where it gives no verdict."""
_SAFETY = frozenset({"safety", *_ORDER["safety"]})  # no stand-ins: each says something of its own

_CAUSE = {
    "app_error": "application_error",
    "context_sufficiency": "insufficient_context",
    "chunk_relevance": "retrieval_irrelevant",
    "context_relevance": "retrieval_irrelevant",
    "context_relevance_dual": "retrieval_irrelevant",
    "document_recall": "document_missed",
    "document_precision": "context_diluted",
    "context_precision": "context_diluted",
    "context_relevance_ratio": "context_diluted",
    "context_recall": "insufficient_context",
    "context_entity_recall": "insufficient_context",
    "groundedness": "ungrounded",
    "faithfulness": "ungrounded",
    "response_groundedness_dual": "ungrounded",
    "hallucination": "ungrounded",
    "noise_sensitivity": "misled",
    "citation_support": "ungrounded",
    "correctness": "incorrect",
    "answer_correctness_claims": "incorrect",
    "answer_accuracy_dual": "incorrect",
    "answer_correctness_lexical": "incorrect",
    "answer_relevance": "answer_irrelevant",
    "answer_relevance_reverse": "answer_irrelevant",
    "completeness": "incomplete_answer",
    "abstention": "failed_abstention",
    "safety": "unsafe",
    "toxicity": "unsafe",
    "bias": "unsafe",
    "pii": "unsafe",
    "guidelines": "guideline_broken",
}

_RETRIEVAL = frozenset({"context_sufficiency", *_ORDER["context_sufficiency"]})
_ANSWER = frozenset({"correctness", *_ORDER["correctness"]})
_NEEDS_AN_ANSWER = (_RETRIEVAL | _ANSWER | {"context_utilization"}) - {"abstention"}
_REST_ON_CHUNKS = _RETRIEVAL | {"groundedness", *_ORDER["groundedness"]}
_RETRIEVAL_CAUSES = frozenset(
    {
        "nothing_retrieved",
        "retrieval_irrelevant",
        "context_diluted",
        "document_missed",
        "insufficient_context",
    }
)


def shows(cause: str) -> tuple[str, ...]:
    """The names of the metrics whose failure has this root cause or shows it, in causal order."""
    if cause == "nothing_retrieved":
        return tuple(name for name in _CAUSE if name in _REST_ON_CHUNKS)
    if cause in ("declined", "no_answer"):
        return ("answer_relevance", "abstention", *(name for name in _CAUSE if name in _ANSWER))
    if cause == "retrieval_irrelevant":
        return tuple(name for name in _CAUSE if _CAUSE[name] in (cause, "context_diluted"))
    return tuple(name for name, shown in _CAUSE.items() if shown == cause)


def diagnose(sample: Sample, scores: Sequence[Score]) -> Diagnosis:
    """The row's verdict, its root cause with quoted proof and what lies behind it, its further
    causes in causal order, and its pattern.

    Verdict: FAIL when any score fails, UNDECIDED when none fails and one is undecided, PASS when
    all that have one pass, None when none has one. Two metrics that fail for one reason
    (groundedness and faithfulness) are one cause.
    """
    counted = [
        score
        for score in scores
        if score.verdict is not None and not _excused(sample, scores, score)
    ]
    # That the application did not fail is nothing that a row could pass by.
    verdicts = {
        s.verdict for s in counted if base(s) != "app_error" or s.verdict is not Verdict.PASS
    }
    verdict = next(
        (v for v in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS) if v in verdicts), None
    )
    causes: dict[str, Cause] = {}
    for score in _in_order(sample, [s for s in counted if s.verdict is Verdict.FAIL], scores):
        name = _cause(sample, score, scores)
        if name == "declined" and not _RETRIEVAL_CAUSES.isdisjoint(causes):
            continue  # it declined rightly: there was nothing to answer from
        causes.setdefault(name, replace(CAUSES[name], detail=_detail(sample, score, name)))
    first, *others = causes.values() or (None,)
    return Diagnosis(
        verdict=verdict,
        cause=first,
        others=tuple(cause for cause in others if cause),
        pattern=pattern_of(scores),
        finer=finer_causes(first.name, sample, scores) if first is not None else (),
    )


def _declined(scores: Sequence[Score]) -> bool:
    return any(
        base(s) in ("answer_relevance", "abstention") and "abstention" in s.flags for s in scores
    )


def _excused(sample: Sample, scores: Sequence[Score], score: Score) -> bool:
    """Whether the score says nothing here: the question has no answer, and the response says so; or
    the chunks are judged although it is known that a relevant document is among them.
    """
    if sample.answerable is False and base(score) in _NEEDS_AN_ANSWER and _declined(scores):
        return True
    return base(score) in ("chunk_relevance", "context_relevance") and any(
        base(s) == "document_recall" and s.verdict is Verdict.PASS for s in scores
    )


def _in_order(sample: Sample, failed: Sequence[Score], scores: Sequence[Score]) -> list[Score]:
    """The failed scores in causal order, whatever order they come in; metrics of one rank by their
    printed names.
    """
    if not failed:
        return []
    decided = {base(s) for s in scores if s.verdict in (Verdict.PASS, Verdict.FAIL)}
    order = ["app_error"]
    if sample.answerable is False:
        order.append("abstention")  # it should have declined: no retrieval could have helped
    for name, stand_ins in _ORDER.items():
        order += [name] if name in decided and name not in _SAFETY else [name, *stand_ins]
    # Outside the order: guidelines and the user's own metrics (""), then ours that another one has
    # stood in for.
    places = list(dict.fromkeys([*order, "guidelines", "", *_CAUSE]))
    return sorted(
        failed, key=lambda s: (places.index(base(s) if base(s) in places else ""), s.metric)
    )


def _cause(sample: Sample, score: Score, scores: Sequence[Score]) -> str:
    name = base(score)
    if "nothing_retrieved" in score.flags or (name in _REST_ON_CHUNKS and sample.contexts == ()):
        return "nothing_retrieved"  # nor could anything have supported the claims
    if name in _ANSWER:
        if "empty_response" in score.flags:
            return "no_answer"
        if "abstention" in score.flags or (name != "abstention" and _declined(scores)):
            return "declined"
    cause = _CAUSE.get(name, "other")
    if cause == "context_diluted" and score.value == 0:
        return "document_missed" if name == "document_precision" else "retrieval_irrelevant"
    return cause


def _detail(sample: Sample, score: Score, cause: str) -> str:
    """The claim, chunk or document that shows it, quoted."""
    why = shorten(score.rationale or score.reason, QUOTE)
    if cause == "other":
        return f"{score.metric}: {proof_of(score, sample) or why}"
    if cause == "application_error":
        return shorten(sample.error or "", QUOTE) or why
    if cause == "nothing_retrieved":
        return f"no chunk for the question {quoted(sample.question or '')}"
    if cause == "document_missed":
        have = {chunk.id for chunk in sample.contexts or ()}
        missed = [
            id_
            for id_, grade in (sample.relevant_ids or {}).items()
            if grade >= 1 and id_ not in have
        ]
        return "not retrieved: " + shorten(
            ", ".join(missed[:5]) + (" ..." if len(missed) > 5 else ""), QUOTE
        )
    if cause in ("declined", "failed_abstention", "answer_irrelevant", "no_answer"):
        return f"asked {quoted(sample.question or '')}, answered {quoted(sample.response or '')}"
    return proof_of(score, sample) or why
