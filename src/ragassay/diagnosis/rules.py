"""Did the row pass, and if not, what broke first? (D1, D2)

Causal order: an answer can hardly be good when its evidence is missing, so retrieval comes before groundedness, and
groundedness before what the answer says. With ground truth, context_sufficiency and correctness decide; where they
give no verdict, chunk_relevance (with document_recall) and answer_relevance take their places. Safety follows, then
every other metric that failed, so that no failed row is without a cause.

A question that the row marks as not answerable has no relevant chunk to be found and no relevant answer to be given:
there the retrieval and relevance metrics say nothing about the application, and do not count once it declines. And
where a document that people marked as relevant was retrieved, a judge that finds no chunk relevant does not count: what
is known outranks what is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragassay.core import Cause, Diagnosis, Part, Sample, Score, Verdict, shorten
from ragassay.diagnosis.causes import CAUSES
from ragassay.diagnosis.patterns import base, pattern_of

_RETRIEVAL = ("chunk_relevance", "context_relevance", "document_recall")
_TRUTH = {"context_sufficiency": _RETRIEVAL, "correctness": ("answer_relevance", "abstention")}
_NEEDS_AN_ANSWER = frozenset({*_RETRIEVAL, "context_sufficiency", "answer_relevance", "correctness"})
_CAUSE = {
    "context_sufficiency": "insufficient_context", "chunk_relevance": "retrieval_irrelevant",
    "context_relevance": "retrieval_irrelevant", "document_recall": "document_missed", "groundedness": "ungrounded",
    "faithfulness": "ungrounded", "correctness": "incorrect", "answer_relevance": "answer_irrelevant",
    "abstention": "failed_abstention", "safety": "unsafe",
}  # fmt: skip
_REST_ON_CHUNKS = frozenset({*_RETRIEVAL, "context_sufficiency", "groundedness", "faithfulness"})
_RETRIEVAL_CAUSES = frozenset({"nothing_retrieved", "retrieval_irrelevant", "document_missed", "insufficient_context"})
_QUOTE = 240


def diagnose(sample: Sample, scores: Sequence[Score]) -> Diagnosis:
    """The row's verdict, its root cause with quoted proof, its further causes in causal order, and its pattern.

    Verdict: FAIL when any score fails, UNDECIDED when none fails and one is undecided, PASS when all that have one
    pass, None when none has one. Two metrics that fail for one reason (groundedness and faithfulness) are one cause.
    """
    counted = [score for score in scores if score.verdict is not None and not _excused(sample, scores, score)]
    verdicts = {score.verdict for score in counted}
    verdict = next((v for v in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS) if v in verdicts), None)
    causes: dict[str, Cause] = {}
    for score in _in_order(sample, [s for s in counted if s.verdict is Verdict.FAIL], scores):
        name = _cause(sample, score)
        if name == "declined" and not _RETRIEVAL_CAUSES.isdisjoint(causes):
            continue  # it declined rightly: there was nothing to answer from
        causes.setdefault(name, replace(CAUSES[name], detail=_detail(sample, score, name)))
    first, *others = causes.values() or (None,)
    return Diagnosis(
        verdict=verdict, cause=first, others=tuple(cause for cause in others if cause), pattern=pattern_of(scores)
    )


def _declined(scores: Sequence[Score]) -> bool:
    return any(base(s) in ("answer_relevance", "abstention") and "abstention" in s.flags for s in scores)


def _excused(sample: Sample, scores: Sequence[Score], score: Score) -> bool:
    """Whether the score says nothing here: the question has no answer, and the response says so; or the chunks are
    judged although it is known that a relevant document is among them."""
    if sample.answerable is False and base(score) in _NEEDS_AN_ANSWER and _declined(scores):
        return True
    return base(score) in ("chunk_relevance", "context_relevance") and any(
        base(s) == "document_recall" and s.verdict is Verdict.PASS for s in scores
    )


def _in_order(sample: Sample, failed: Sequence[Score], scores: Sequence[Score]) -> Iterator[Score]:
    """The failed scores in causal order; each metric of the order first, then the rest as they come."""
    decided = {base(s) for s in scores if s.verdict in (Verdict.PASS, Verdict.FAIL)}
    order: list[str] = []
    if sample.answerable is False:
        order.append("abstention")  # it should have declined: no retrieval could have helped
    for slot in ("context_sufficiency", "groundedness", "correctness", "safety"):
        order += [slot] if slot not in _TRUTH or slot in decided else _TRUTH[slot]
    order = list(dict.fromkeys(order))
    # sorted() is stable: metrics of one name, and those outside the order, stay as the user named them.
    return iter(sorted(failed, key=lambda s: order.index(base(s)) if base(s) in order else len(order) + _late(base(s))))


def _late(name: str) -> int:
    """Outside the order: custom metrics first, then ours that another one has stood in for."""
    return 1 if name in _CAUSE else 0


def _cause(sample: Sample, score: Score) -> str:
    name = base(score)
    if "nothing_retrieved" in score.flags or (name in _REST_ON_CHUNKS and sample.contexts == ()):
        return "nothing_retrieved"  # nor could anything have supported the claims
    if name == "answer_relevance" and "empty_response" in score.flags:
        return "no_answer"
    if name in ("answer_relevance", "abstention", "correctness") and "abstention" in score.flags:
        return "declined"
    return _CAUSE.get(name, "other")


def _detail(sample: Sample, score: Score, cause: str) -> str:
    """The claim, chunk or document that shows it, quoted."""
    why = shorten(score.rationale or score.reason, _QUOTE)
    if cause == "other":
        return f"{score.metric}: {_proof(sample, score) or why}"
    if cause == "nothing_retrieved":
        return f"no chunk for the question {_quoted(sample.question or '')}"
    if cause == "document_missed":
        have = {chunk.id for chunk in sample.contexts or ()}
        missed = [id_ for id_, grade in (sample.relevant_ids or {}).items() if grade >= 1 and id_ not in have]
        return "not retrieved: " + shorten(", ".join(missed[:5]) + (" ..." if len(missed) > 5 else ""), _QUOTE)
    if cause in ("declined", "failed_abstention", "answer_irrelevant", "no_answer"):
        return f"asked {_quoted(sample.question or '')}, answered {_quoted(sample.response or '')}"
    return _proof(sample, score) or why


def _proof(sample: Sample, score: Score) -> str:
    """The failing part that says most: the least supported claim, or the best chunk where not even that is relevant."""
    failed = [part for part in score.parts if part.passed is False]
    if not failed:
        return ""
    chunks = all(part.kind == "chunk" for part in failed)
    part = (max if chunks else min)(failed, key=lambda p: p.value or 0.0)
    where = f"context {part.context + 1}: " if part.kind == "chunk" and part.context is not None else ""
    return where + _quoted(_text(sample, part))


def _text(sample: Sample, part: Part) -> str:
    if part.text:
        return part.text
    if part.context is not None and sample.contexts and 0 <= part.context < len(sample.contexts):
        return sample.contexts[part.context].text
    return (sample.response or "")[part.start or 0 : part.end or 0]


def _quoted(text: str) -> str:
    return f"“{shorten(' '.join(text[: 4 * _QUOTE].split()), _QUOTE)}”"
