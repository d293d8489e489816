"""The rules for a row's verdict and its root cause, which is what broke first.

Causal order: where the application failed, nothing else counts. An answer can hardly be good when
its evidence is missing, so retrieval comes before the support of the claims, and that before what
the answer says. One metric decides each of these three stages (context_sufficiency, groundedness,
correctness); where it gives no verdict, the others of the stage stand in. Safety follows, then
guidelines, the user's own metrics, each a cause by its own name, and whatever else failed, so that
no failed row is without a cause. Each metric declares its stage, its place and its cause
(`core.Role`).

A question that the row marks as not answerable has no relevant chunk to be found and no relevant
answer to be given: there the retrieval and relevance metrics say nothing about the application, and
do not count once it declines. And where a document that people marked as relevant was retrieved, or
a chunk supports the reference or the answer, a judge that finds no chunk relevant does not count:
what people know, and what is seen in the text, outranks an opinion. For the same reason a response
that declines although the answer was retrieved has a cause of its own, which comes before the
retrieval.

An answer beside the question comes before one that is wrong, for no answer to another question can
be right; and one that says what the reference says is an answer to the question. One that lacks a
part of the reference, and contradicts none of it, is incomplete and not wrong.

Where a metric that comes before the root cause was asked and gave no verdict, the cause is marked
uncertain: the metric might have failed.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from ragassay.core import (
    PARTS_OPEN,
    Cause,
    Diagnosis,
    Role,
    Sample,
    Score,
    Shown,
    Stage,
    Status,
    Verdict,
    error_words,
    shorten,
)
from ragassay.diagnosis.causes import cause_named, is_own, own_cause
from ragassay.diagnosis.chunks import deny_the_response, evidence_chunks
from ragassay.diagnosis.evidence import QUOTE, listed, metric_name, proof_of, quoted, worst_part
from ragassay.diagnosis.facts import facts_of, misses_the_question, supports_reference
from ragassay.diagnosis.finer import finer_causes
from ragassay.diagnosis.partial import states_a_part
from ragassay.diagnosis.patterns import pattern_of
from ragassay.diagnosis.row import ABSTENTION, Roles, Row

_STAGES = (Stage.RETRIEVAL, Stage.SUPPORT, Stage.ANSWER, Stage.SAFETY)
"""The stages in causal order, between the application as a whole and its guidelines."""

_APPLICATION_ERROR = "application_error"

_REST_ON_CHUNKS = (Stage.RETRIEVAL, Stage.SUPPORT)

_DECIDED = (Verdict.PASS, Verdict.FAIL)

_RETRIEVAL_CAUSES = frozenset(
    {
        "nothing_retrieved",
        "retrieval_irrelevant",
        "context_diluted",
        "document_missed",
        "insufficient_context",
    }
)


def diagnose(sample: Sample, scores: Sequence[Score], roles: Roles) -> Diagnosis:
    """The row's verdict, its root cause with quoted proof and what lies behind it, its further
    causes in causal order, and its pattern.

    roles: those of the metrics, by their names without parameters. Verdict: FAIL when any score
    fails or the application failed on the row, UNDECIDED when none fails and one is undecided, PASS
    when all that have one pass, None when none has one. Two metrics that fail for one reason
    (groundedness and faithfulness) are one cause.
    """
    row = Row(sample, scores, roles)
    decisive = [score for score in scores if score.verdict is not None and not _excused(row, score)]
    failed = [score for score in decisive if score.verdict is Verdict.FAIL]
    causes = _causes_of(row, failed)
    root = causes[0] if causes else None
    if root is not None:
        root = replace(root, uncertain=_doubt(row, root, decisive))
    return Diagnosis(
        verdict=_verdict(row, decisive),
        cause=root,
        others=tuple(causes[1:]),
        pattern=pattern_of(row),
        finer=finer_causes(root.name, row) if root is not None else (),
    )


def _verdict(row: Row, decisive: Sequence[Score]) -> Verdict | None:
    if row.sample.error is not None:
        return Verdict.FAIL  # whichever metrics were measured
    verdicts = set()
    for score in decisive:
        # That the application did not fail is nothing that a row could pass by.
        of_application = row.role(score).stage is Stage.APPLICATION
        if not (of_application and score.verdict is Verdict.PASS):
            verdicts.add(score.verdict)
    for verdict in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS):
        if verdict in verdicts:
            return verdict
    return None


def _causes_of(row: Row, failed: Sequence[Score]) -> list[Cause]:
    """The causes of the failed scores in causal order, each once."""
    causes: dict[str, Cause] = {}
    if row.sample.error is not None:
        why = error_words(row.sample.error, QUOTE)
        causes[_APPLICATION_ERROR] = replace(cause_named(_APPLICATION_ERROR), detail=why)
    for score in _in_causal_order(row, failed):
        name = _cause(row, score)
        cause = cause_named(name)
        if name == "other":
            cause = own_cause(metric_name(score))
            name = cause.name
        if name == "declined" and not _RETRIEVAL_CAUSES.isdisjoint(causes):
            continue  # it declined rightly: there was nothing to answer from
        if name not in causes:
            causes[name] = replace(cause, detail=_detail(row, score, name))
    # The answer was there: whatever else may be said of the chunks, it is not what broke first.
    return sorted(causes.values(), key=_after_refusal)


def _after_refusal(cause: Cause) -> int:
    """Sort key: an error of the application, a refusal despite the answer, the rest as it is."""
    return {_APPLICATION_ERROR: 0, "over_refusal": 1}.get(cause.name, 2)


def _doubt(row: Row, root: Cause, decisive: Sequence[Score]) -> str:
    """Why the root cause is uncertain, "" where it is not: the first metric before it in causal
    order that was asked and gave no verdict.
    """
    if root.name == "over_refusal":
        return ""  # known by the evidence, whatever was not judged besides
    open_ones = [score for score in decisive if score.verdict is not Verdict.PASS]
    for score in _in_causal_order(row, open_ones):
        name = _cause(row, score)
        # Of judges of the user's own none comes before another.
        if name == root.name or (name == "other" and is_own(root)):
            break
        if score.verdict is Verdict.UNDECIDED:
            return f"{score.metric} gave no verdict ({_loss(score)})"
    return ""


def _loss(score: Score) -> str:
    """Why the score, or the first of its parts that lacks one, has no verdict."""
    lost: list[tuple[Status, str]] = [(score.status, score.reason)]
    lost += [(part.status, part.reason) for part in score.parts]
    for status, reason in lost:
        if status not in (Status.JUDGED, Status.NOT_APPLICABLE):
            words = status.value.replace("_", " ")
            return shorten(f"{words}: {reason}" if reason else words, QUOTE)
    return "too little of it was judged"


def _excused(row: Row, score: Score) -> bool:
    """Whether the score says nothing here: the question has no answer, and the response says so; or
    the chunks are judged although a relevant document, or evidence, is known to be among them.
    """
    role = row.role(score)
    # Declining is what was right there; whoever answers all the same is held to the metrics.
    if role.needs_answer and row.sample.answerable is False and row.declined:
        return True
    for other in row.scores:
        if other.verdict is Verdict.PASS and metric_name(other) in role.yields_to:
            return True
    if _is_beside(row, score) and _is_right(row):
        return True  # what says what the reference says on the question does not miss it
    if role.cause == "insufficient_context" and _right_from_the_chunks(row):
        return True
    finds_none = role.cause == "retrieval_irrelevant" or (
        role.cause_at_zero == "retrieval_irrelevant" and score.value == 0
    )
    return finds_none and score.verdict is not Verdict.PASS and _holds_evidence(row)


def _is_beside(row: Row, score: Score) -> bool:
    """Whether the score says that the response answers nothing of the question."""
    return Shown.ANSWER_RELEVANT in row.shown_by(score) and misses_the_question(score)


def _is_right(row: Row) -> bool:
    """Whether the metric that decides on the answer says that it is right."""
    return any(score.verdict is Verdict.PASS for score in row.deciding(Stage.ANSWER))


def _right_from_the_chunks(row: Row) -> bool:
    """Whether the answer is right and rests on the chunks: then they held what it needed."""
    facts = facts_of(row)
    return "answer_right" in facts and "grounded" in facts and bool(evidence_chunks(row))


def _holds_evidence(row: Row) -> bool:
    """Whether the chunks are seen to support the reference, or the answer, or to deny it."""
    if evidence_chunks(row) or supports_reference(row):
        return True
    return row.sample.answerable is not False and deny_the_response(row)


def _in_causal_order(row: Row, scores: Sequence[Score]) -> list[Score]:
    """The scores that do not pass, in causal order, whatever order they come in."""
    if not scores:
        return []
    # Of all scores, not the failed ones alone: a deciding metric that passes outranks its stage,
    # too.
    decided = set()
    for score in row.scores:
        role = row.role(score)
        if role.decides and score.verdict in _DECIDED:
            decided.add(role.stage)
    unanswerable = row.sample.answerable is False

    def causal_order(score: Score) -> tuple[tuple[int, int, int], str]:
        if _is_beside(row, score):
            # No answer to another question can be right: that it is wrong only follows.
            return (2, _STAGES.index(Stage.ANSWER), -2), score.metric
        return _causal_rank(row.role(score), decided, unanswerable), score.metric

    return sorted(scores, key=causal_order)


def _causal_rank(role: Role, decided: Set[Stage], unanswerable: bool) -> tuple[int, int, int]:
    """What the failed scores are sorted by, the first cause first. decided: the stages whose
    deciding metric gave a verdict.
    """
    if role.stage is Stage.APPLICATION:
        return 0, 0, role.place
    if unanswerable and role.cause == "failed_abstention":
        return 1, 0, role.place  # it should have declined: no retrieval could have helped
    if role.stage in _STAGES:
        if role.decides:
            return 2, _STAGES.index(role.stage), -1
        if role.stage not in decided:
            return 2, _STAGES.index(role.stage), role.place
        return 5, 0, role.place  # the deciding metric of its stage said otherwise
    if role.stage is Stage.GUIDELINES:
        return 3, 0, role.place
    return 4, 0, 0  # the user's own metrics


def _cause(row: Row, score: Score) -> str:
    """The name of the root cause that a failed score shows."""
    role = row.role(score)
    no_contexts = role.stage in _REST_ON_CHUNKS and row.sample.contexts == ()
    if no_contexts or "nothing_retrieved" in score.flags:
        return "nothing_retrieved"  # nor could anything have supported the claims
    if role.stage is Stage.ANSWER:
        if "empty_response" in score.flags:
            return "no_answer"
        should_decline = role.cause == "failed_abstention"
        if ABSTENTION in score.flags or (row.declined and not should_decline):
            return "over_refusal" if _answer_retrieved(row) else "declined"
    if role.cause == "answer_irrelevant" and any(PARTS_OPEN in p.flags for p in score.parts):
        return "incomplete_answer"
    if role.cause_at_zero and score.value == 0:
        return role.cause_at_zero
    if role.cause == "incorrect" and states_a_part(row):
        return "incomplete_answer"  # what it says is right
    return role.cause


def _answer_retrieved(row: Row) -> bool:
    """Whether the contexts are known to hold the answer: by the documents that people know, else by
    the reference, else by a judge that was asked just this.

    A chunk that is relevant shows nothing of the kind: one on the top speed of a car is, to a
    question for its price.
    """
    facts = facts_of(row)
    if "no_answer_here" in facts or "relevant_missed" in facts:
        return False
    if "relevant_all" in facts:
        return True
    supported = supports_reference(row)
    if supported is not None:
        return supported
    if "relevant_best" in facts:
        return True
    return any(score.verdict is Verdict.PASS for score in row.showing(Shown.EVIDENCE_PRESENT))


def shows(cause: str, roles: Roles) -> tuple[str, ...]:
    """The metrics, of those with a role, whose failure has this root cause or shows it, in causal
    order.
    """
    placed = [(role.place, name) for name, role in roles.items() if role.stage is not Stage.OTHER]
    names = [name for _, name in sorted(placed)]
    if cause == "nothing_retrieved":
        return tuple(name for name in names if roles[name].stage in _REST_ON_CHUNKS)
    if cause in ("declined", "over_refusal", "no_answer"):
        looking = [name for name in names if _looks_for_declining(roles[name])]
        of_answer = [name for name in names if roles[name].stage is Stage.ANSWER]
        return tuple(dict.fromkeys([*looking, *of_answer]))
    root_causes = {cause}
    if cause == "retrieval_irrelevant":
        root_causes.add("context_diluted")  # what that comes to where no chunk is relevant
    return tuple(name for name in names if roles[name].cause in root_causes)


def _looks_for_declining(role: Role) -> bool:
    return any(showing.shown is Shown.DECLINED for showing in role.shows)


def _detail(row: Row, score: Score, cause: str) -> str:
    """The claim, chunk or document that shows it, quoted."""
    sample = row.sample
    why = shorten(score.rationale or score.reason, QUOTE)
    if row.role(score).cause == "other":
        return _why(score, sample)
    if cause == "nothing_retrieved":
        return f"no chunk for the question {quoted(sample.question or '')}"
    if cause == "document_missed":
        return "not retrieved: " + shorten(listed(_missed(sample)), QUOTE)
    if cause in ("declined", "failed_abstention", "answer_irrelevant", "no_answer"):
        return _asked_and_answered(sample)
    if cause == "over_refusal":
        there = facts_of(row).get("evidence_there", "")
        return f"{_asked_and_answered(sample)}; the evidence was there: {there}"
    if cause == "incomplete_answer":
        part = states_a_part(row)
        if part:
            return f"answered {quoted(sample.response or '')}; {part}"
    return proof_of(score, sample) or why


def _asked_and_answered(sample: Sample) -> str:
    return f"asked {quoted(sample.question or '')}, answered {quoted(sample.response or '')}"


def _why(score: Score, sample: Sample) -> str:
    """Why a judge without a place in the causal order fails the row: its reason, behind the chunk
    or guideline that it gives it for.
    """
    worst = worst_part(score)
    part = worst[1] if worst is not None else None
    reason = score.rationale or score.reason
    quote = ""
    if part is not None and part.kind != "statement":  # which is the response as a whole
        reason = part.rationale or reason
        quote = proof_of(score, sample)
    return shorten(": ".join(text for text in (quote, reason) if text), 2 * QUOTE)


def _missed(sample: Sample) -> list[str]:
    """The documents known to be relevant that were not retrieved."""
    retrieved = {chunk.id for chunk in sample.contexts or ()}
    missed = []
    for document, grade in (sample.relevant_ids or {}).items():
        if grade >= 1 and document not in retrieved:
            missed.append(document)
    return missed
