"""The way from Requests to Judgments of a judge whose model answers match calls.

Whose model it is, is not known here. It gives a calibrated or raw probability; here that is cut
into ratings, the figures behind it are worded, and the rules on abstention are applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragassay.core import (
    PARTS_OPEN,
    SAYS_OTHERWISE,
    Ask,
    Evidence,
    FactFinding,
    JudgeFlow,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    Status,
    shorten,
)
from ragassay.judges.input_rules import settle_without_call
from ragassay.judges.matching import many_calls
from ragassay.judges.matching.open_request import (
    OpenRequest,
    spent,
    verified_evidence,
    without_citations,
)
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Rating
from ragassay.judges.text_rules.abstention import declines
from ragassay.judges.text_rules.question_parts import question_parts

# Rubric -> the task of the model that answers it.
TASKS: Mapping[str, str] = {
    "context_relevance": "relevance",
    "chunk_relevance": "relevance",
    "groundedness": "support",
    "answer_relevance": "answer",
    "entailment": "support",
    "claim_sources": "support",
    "sentence_relevance": "relevance",
    "context_sufficiency": "support",
}
# Rubric -> the version that answers to it carry. No judge here reads its wording, so that a rubric
# which is only worded anew keeps its stored judgments and certificates; a number is raised when the
# rubric's inputs, scale or flags change, or a rule that settles it without a model.
VERSIONS: Mapping[str, str] = {
    "context_relevance": "1",
    "chunk_relevance": "1",
    "groundedness": "3",
    "answer_relevance": "2",
    "entailment": "1",
    "claim_sources": "2",
    "sentence_relevance": "1",
    "context_sufficiency": "1",
    "correctness": "3",
    "correctness_3": "3",
}
_MANY_CALLS = frozenset({"claim_sources", "sentence_relevance", "context_sufficiency"})
_GROUP = 16
# Stretches of a claim that are named as unsupported.
_NAMED = 5
# Rubric or task -> what the probability is of, whose words were looked for, and where.
_VERDICTS: Mapping[str, tuple[str, str, str]] = {
    "entailment": ("that the text states the claim", "The claim", "the text"),
    "support": ("that the passages support the claim", "The claim", "the passages"),
    "relevance": ("that the passage helps with the question", "The question", "the passage"),
    "answer": ("that the response answers the question", "The question", "the response"),
}


@dataclass(frozen=True, slots=True)
class Asking:
    """How the Requests of one rubric are asked and rated.

    cut: the probability from which the model says yes. model: the URI of the model that is asked,
    "" = the offline model. rule: what settles a Request without asking, or gives None where the
    model is to be asked after all; None = the model is asked. calls, settle: what a rule asks then,
    and what it makes of the replies. quotes: whether the model always quotes what it rests on, so
    that no quote means that nothing was found. unread: why a Request cannot be read, "" where it
    can. near: below it, a yes is too near the cut to be told (0 = every yes counts).
    """

    rubric: Rubric
    fingerprint: str
    cut: float
    model: str = ""
    rule: Callable[[OpenRequest], Judgment | None] | None = None
    calls: Callable[[Request], tuple[MatchCall, ...]] | None = None
    settle: Callable[[OpenRequest, Sequence[Reply]], Judgment] | None = None
    quotes: bool = True
    unread: Callable[[Request], str] | None = None
    near: float = 0.0


def groups_of(requests: Sequence[Request]) -> list[tuple[Request, ...]]:
    """Up to 16 Requests of one rubric, in order: they share nothing but the overhead."""
    by_rubric: dict[str, list[Request]] = {}
    for request in requests:
        by_rubric.setdefault(request.rubric, []).append(request)
    groups: list[tuple[Request, ...]] = []
    for same_rubric in by_rubric.values():
        for start in range(0, len(same_rubric), _GROUP):
            groups.append(tuple(same_rubric[start : start + _GROUP]))
    return groups


def answer(requests: Sequence[Request], asking: Asking) -> JudgeFlow:
    """The flow for one group: one Ask for all of it; what the inputs decide is not asked."""
    settled: list[Judgment] = []
    open_requests: list[OpenRequest] = []
    for request in {request.key: request for request in requests}.values():
        judgment = settle_without_call(request, asking.rubric, asking.fingerprint)
        if judgment is None:
            judgment = _abstains(request, asking.rubric, asking.fingerprint)
        if judgment is not None:
            settled.append(judgment)
            continue
        open_request = OpenRequest(
            request, asking.rubric, asking.fingerprint, asking.cut, near=asking.near
        )
        why = "" if asking.unread is None else asking.unread(request)
        if why:
            settled.append(open_request.lost(Status.ABSTAINED, why))
            continue
        judgment = None if asking.rule is None else asking.rule(open_request)
        if judgment is not None:
            settled.append(judgment)
            continue
        calls = _calls(request, asking.model) if asking.calls is None else asking.calls(request)
        open_request = replace(open_request, calls=calls)
        if len(calls) > many_calls.MOST_CALLS:
            reason = (
                f"it would take {len(calls):,} comparisons, more than the"
                f" {many_calls.MOST_CALLS:,} that are made"
            )
            settled.append(open_request.lost(Status.FAILED, reason))
        else:
            open_requests.append(open_request)
    all_calls: list[MatchCall] = []
    # One Ask for the whole group, so that the model's threads work at the same time.
    for open_request in open_requests:
        all_calls += open_request.calls
    replies = (yield Ask(tuple(all_calls))) if all_calls else ()
    at = 0
    for open_request in open_requests:
        end = at + len(open_request.calls)
        settled.append(_settle(open_request, replies[at:end], asking))
        at = end
    return tuple(settled)


def _calls(request: Request, model: str) -> tuple[MatchCall, ...]:
    if request.rubric in _MANY_CALLS:
        return many_calls.calls_of(request, model)
    question = request.text("question")
    match TASKS[request.rubric]:
        case "relevance":
            return (MatchCall("relevance", question, (request.text("context"),), model=model),)
        case "support":
            passages = request.texts("text" if request.rubric == "entailment" else "contexts")
            claim = without_citations(request.text("claim"))
            return (MatchCall("support", claim, passages, question or None, model),)
        case _:
            parts = question_parts(question)
            asked = (question, *parts) if len(parts) > 1 else (question,)
            response = (request.text("response"),)
            return tuple(MatchCall("answer", each, response, model=model) for each in asked)


def _abstains(request: Request, rubric: Rubric, fingerprint: str) -> Judgment | None:
    """The Judgment of an answer or claim that only admits not knowing."""
    if rubric.id == "answer_relevance" and declines(request.text("response")):
        rating, flag = 0, "declined"
        reason = "The response declines to answer or says that it does not know."
    elif rubric.id == "groundedness" and declines(request.text("claim")):
        rating, flag = 3, "abstention"
        reason = "The claim only admits that something is not known."
    else:
        return None
    return Judgment(
        request.key,
        fingerprint,
        rubric.ref,
        Status.JUDGED,
        rating=rating,
        value=rating / 3,
        rationale=reason,
        flags=(flag,),
        passes=rating >= 2,
    )


def _settle(open_request: OpenRequest, replies: Sequence[Reply], asking: Asking) -> Judgment:
    if asking.settle is not None:
        return asking.settle(open_request, replies)
    if open_request.rubric.id in _MANY_CALLS:
        return many_calls.settle(open_request, replies)
    return _judgment(open_request, replies, asking.quotes)


def _judgment(open_request: OpenRequest, replies: Sequence[Reply], quotes: bool) -> Judgment:
    """The Judgment that follows from the reply that these rubrics take; those to the parts of a
    question count beside the one to all of it.
    """
    usable = open_request.replies(replies)
    if isinstance(usable, Judgment):
        return usable
    reply, call = usable[0], open_request.calls[0]
    name = open_request.rubric.id
    rating = _rating(name, reply, open_request.cut)
    rationale = _rationale(name, call, reply, open_request.cut)
    unanswered = _unanswered(open_request, usable)
    if unanswered:
        parts = len(usable) - 1
        rating = min(int(rating), _most(parts - len(unanswered), parts))
        named = ", ".join(f'"{shorten(part, 100)}"' for part in unanswered)
        rationale = f"Of the {parts} parts of the question, {named} is not answered. {rationale}"
    if open_request.is_near_cut(reply.probability) and open_request.passes(rating):
        return open_request.near_cut(reply.probability, replies)
    flags: tuple[str, ...] = ()
    if name == "answer_relevance" and unanswered and len(unanswered) < len(usable) - 1:
        flags = (PARTS_OPEN,)
    elif _denied(reply):
        flags = (SAYS_OTHERWISE,)
    elif quotes and name == "groundedness" and rating == 0 and not reply.evidence:
        flags = ("nothing_found",)
    evidence: tuple[Evidence, ...] = ()
    if name != "entailment":  # a text to compare with is no context
        evidence = verified_evidence(reply, call)
    return open_request.rated(
        rating,
        rationale,
        probability=reply.probability,
        evidence=evidence,
        flags=flags,
        spend=spent(replies),
    )


def _most(answered: int, parts: int) -> int:
    """The highest rating of an answer that leaves parts of its question open: it passes when it
    answers more than half of them.
    """
    if 2 * answered > parts:
        return 2
    return 1 if answered else 0


def _unanswered(open_request: OpenRequest, replies: Sequence[MatchReply]) -> list[str]:
    """The parts of a question that the response leaves open. A part stands without what the others
    say, so that it takes less to count as answered than a whole question.
    """
    calls = open_request.calls[1:]
    return [
        call.text
        for call, reply in zip(calls, replies[1:], strict=True)
        if reply.probability < open_request.cut / 2
    ]


def _rating(rubric: str, reply: MatchReply, cut: float) -> Rating:
    probability = reply.probability
    if rubric == "chunk_relevance":
        return "yes" if probability >= cut else "no"
    if rubric == "entailment":
        if probability >= cut:
            return "stated"
        return "contradicted" if _contradicted(reply) else "not_stated"
    if probability < cut and _denied(reply):
        return 0
    # The pass mark, 2, lies at the cut of the task; the grades above and below it are spread
    # around.
    bounds = (cut / 2, cut, max(0.75, cut))
    return sum(probability >= bound for bound in bounds)


def _denied(reply: MatchReply) -> bool:
    """Whether the passages say otherwise: a fact of theirs is set beside one of the claim."""
    return any(finding.found for finding in reply.findings)


def _contradicted(reply: MatchReply) -> bool:
    """Whether a claim that is not supported is more likely contradicted than not mentioned."""
    return reply.features.get("contradicted", 0.0) >= 0.5


def _beside(probability: float, cut: float) -> tuple[str, str]:
    """Both with as many digits as show on which side of the cut the probability is."""
    for digits in range(2, 9):
        shown, passes_from = f"{probability:.{digits}f}", f"{cut:.{digits}f}"
        if (float(shown) >= float(passes_from)) == (probability >= cut):
            break
    return shown, passes_from


def _rationale(rubric: str, call: MatchCall, reply: MatchReply, cut: float) -> str:
    """What decides first, the probability in words, and the figures that explain it best. Only keys
    that are there are worded.
    """
    what, text, where = _VERDICTS.get(rubric) or _VERDICTS[call.task]
    features = dict(reply.features)
    sentences = [worded(finding, where) for finding in reply.findings[:_NAMED]]
    shown, passes_from = _beside(reply.probability, cut)
    sentences.append(f"Probability {what}: {shown} (passes from {passes_from}).")
    if reply.findings:
        # What the findings say need not be said in figures.
        for name in ("contradicted", "numbers_missing", "names_missing", "negation_mismatch"):
            features.pop(name, None)
    if call.task == "support" and reply.probability < cut and "contradicted" in features:
        how = "contradicted by" if _contradicted(reply) else "not mentioned in"
        sentences.append(f"Rather {how} {where}.")
    if not reply.findings:
        sentences += _doubts(call, reply)
    coverage = features.get("coverage")
    if coverage is not None:
        share = max(0.0, min(1.0, coverage))
        sentences.append(f"{text} shares {share:.0%} of its content words with {where}.")
    for key, noun in (("numbers_missing", "number"), ("names_missing", "name")):
        count = round(features.get(key, 0.0))
        if count > 0:
            counted = f"1 {noun} of it is" if count == 1 else f"{count} {noun}s of it are"
            sentences.append(f"{counted} not in {where}.")
    if features.get("negation_mismatch", 0.0) >= 0.5:
        sentences.append("One side is negated and the other is not.")
    windows = round(features.get("windows", 1.0))
    if windows > 1:
        sentences.append(f"Read in {windows} parts, of which the best counts.")
    return " ".join(sentences)


def _doubts(call: MatchCall, reply: MatchReply) -> list[str]:
    """The words that the model finds no support for, in a sentence; none where there are none."""
    quotes = [
        f'"{shorten(_whole_words(call.text, start, end), 60)}"' for start, end in reply.unsupported
    ]
    doubtful = list(dict.fromkeys(quotes))
    if not doubtful:
        return []
    more = f" and {len(doubtful) - _NAMED} more" if len(doubtful) > _NAMED else ""
    return [f"Words without support: {', '.join(doubtful[:_NAMED])}{more}."]


def _whole_words(text: str, start: int, end: int) -> str:
    """A stretch with the rest of the words that it cuts: the model reads "shouldn't" in pieces."""
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end].strip('.,;:!?()[]*"“”')


def worded(finding: FactFinding, where: str, what: str = "the claim") -> str:
    """What a reader of facts found in `what` beside the passages, in a sentence."""
    said, found = shorten(finding.said, 60), shorten(finding.found, 60)
    if not found:
        return f'"{said}" stands nowhere in {where}.'
    say = "say" if where == "the passages" else "says"
    if said.lower() == found.lower():
        return f'Of {what} and {where}, one negates "{said}" and the other does not.'
    return f'{what[0].upper()}{what[1:]} says "{said}"; {where} {say} "{found}".'
