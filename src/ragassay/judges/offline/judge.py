"""The judge over an offline model: no language model, no key, no network.

Requests become MatchCalls; what answers them (`models.offline` today) is not known here. The
probability is calibrated by the model; this judge only cuts it into ratings, words the figures
behind it, and applies the rules on abstention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragassay.core import (
    Ask,
    Evidence,
    JudgeFlow,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    SetupError,
    Status,
    digest,
    shorten,
)
from ragassay.judges.input_rules import settle_without_call
from ragassay.judges.offline import many_calls, word_overlap
from ragassay.judges.offline.open_request import OpenRequest, verified_evidence, without_citations
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Rating
from ragassay.judges.similarity import SIMILARITY
from ragassay.judges.text_rules.abstention import declines

# Rubric -> the task of the model that answers it; "rule" where no model is asked.
TASKS: Mapping[str, str] = {
    "context_relevance": "relevance",
    "chunk_relevance": "relevance",
    "groundedness": "support",
    "answer_relevance": "answer",
    "entailment": "support",
    "claim_sources": "support",
    "sentence_relevance": "relevance",
    "context_sufficiency": "support",
    "correctness": "rule",
    "correctness_3": "rule",
}
# Rubric -> the version that this judge's answers to it carry. It reads no wording, so that a rubric
# which is only worded anew keeps its stored judgments and certificates; a number is raised when the
# rubric's inputs, scale or flags change.
_VERSIONS: Mapping[str, str] = {
    "context_relevance": "1",
    "chunk_relevance": "1",
    "groundedness": "2",
    "answer_relevance": "1",
    "entailment": "1",
    "claim_sources": "1",
    "sentence_relevance": "1",
    "context_sufficiency": "1",
    "correctness": "1",
    "correctness_3": "1",
}
# Two texts of about one length are compared at even odds: the lower cut of "support" is for whole
# responses, of which nearly every claim has to pass.
_RUBRIC_CUTS: Mapping[str, float] = {"entailment": 0.5}
_MANY_CALLS = frozenset({"claim_sources", "sentence_relevance", "context_sufficiency"})
# Raised when the rules below change: judgments made under the old ones are then not reused.
_RULES = 5
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


def answers_offline(rubric_id: str) -> bool:
    """Whether this rubric can be answered without a language model (by the offline judge, or as a
    similarity).
    """
    return rubric_id in TASKS or rubric_id == SIMILARITY


@dataclass(frozen=True, slots=True)
class OfflineJudge:
    """A judge over an offline model.

    model_version: what identifies the model and its weights. measured: task ("support",
    "relevance", "answer") -> one sentence on its measured agreement with people. cuts: task -> the
    probability from which it says yes (0.5 where the model names none): which of the two mistakes
    weighs more is the judge's choice, not part of the probability.
    """

    model_version: str
    measured: Mapping[str, str]
    rubrics: RubricRegistry
    cuts: Mapping[str, float] = field(default_factory=dict)
    # The rubrics as it knows them, made once.
    _known: dict[str, Rubric] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def uri(self) -> str:
        """Always "offline"."""
        return "offline"

    @property
    def agreement(self) -> str:
        """Its measured agreement with people, a clause a task."""
        clauses: list[str] = []
        for task, sentence in self.measured.items():
            if sentence.strip():
                clauses.append(f"{task}: {sentence.strip()}")
        if not clauses:
            clauses.append("unmeasured on data like yours")
        clauses.append(f"correctness: {word_overlap.AGREEMENT}")
        return "; ".join(clauses)

    def _cut(self, rubric_id: str) -> float:
        return _RUBRIC_CUTS.get(rubric_id, self.cuts.get(TASKS[rubric_id], 0.5))

    def _rubric(self, rubric_id: str) -> Rubric:
        """The rubric under the version that this judge's answers to it have."""
        rubric = self._known.get(rubric_id)
        if rubric is None:
            own = self._answerable(rubric_id)
            rubric = self._known[rubric_id] = replace(own, version=_VERSIONS[rubric_id])
        return rubric

    def _answerable(self, rubric_id: str) -> Rubric:
        rubric = self.rubrics.get(rubric_id)
        if rubric_id not in TASKS:
            fix = (
                "name a language model with --judge openai:MODEL, or leave out what needs this"
                " rubric"
            )
            if rubric_id == "claims":
                fix = "use --claims sentences, or name a language model with --judge openai:MODEL"
            raise SetupError(
                "E0203",
                f"The offline judge cannot answer the rubric {rubric_id!r}.",
                why=(
                    "it is no language model and reads no instructions; it answers"
                    f" {', '.join(TASKS)}"
                ),
                fix=fix,
            )
        if rubric.own:
            raise SetupError(
                "E0203",
                f"The offline judge cannot follow your own file for the rubric {rubric_id!r}.",
                why="it is no language model and reads no instructions",
                fix=(
                    "name a language model with --judge openai:MODEL, or leave out --rubric for"
                    " this rubric"
                ),
            )
        return rubric

    def rubric_version(self, rubric: str) -> str:
        """ "id@version". Raises SetupError E0203 for a rubric that it cannot answer."""
        return self._rubric(rubric).ref

    def fingerprint(self, rubric: str) -> str:
        """Hash of the model's version, the task and the rules here. Raises as `rubric_version`."""
        ref = self._rubric(rubric).ref
        return digest("offline", _RULES, self.model_version, TASKS[rubric], self._cut(rubric), ref)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """Up to 16 Requests of one rubric, in order: nothing is shared between them but the
        overhead.
        """
        by_rubric: dict[str, list[Request]] = {}
        for request in requests:
            by_rubric.setdefault(request.rubric, []).append(request)
        groups: list[tuple[Request, ...]] = []
        for same_rubric in by_rubric.values():
            for start in range(0, len(same_rubric), _GROUP):
                groups.append(tuple(same_rubric[start : start + _GROUP]))
        return groups

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """One Ask for the whole group; what the inputs decide is not asked."""
        rubric = self._rubric(requests[0].rubric)
        fingerprint = self.fingerprint(rubric.id)
        unique = tuple({request.key: request for request in requests}.values())
        return _flow(unique, rubric, fingerprint, self._cut(rubric.id))


def _flow(requests: tuple[Request, ...], rubric: Rubric, fingerprint: str, cut: float) -> JudgeFlow:
    settled: list[Judgment] = []
    open_requests: list[OpenRequest] = []
    for request in requests:
        judgment = settle_without_call(request, rubric, fingerprint)
        if judgment is None:
            judgment = _abstains(request, rubric, fingerprint)
        if judgment is not None:
            settled.append(judgment)
            continue
        open_request = OpenRequest(request, rubric, fingerprint, cut, _calls(request))
        if TASKS[rubric.id] == "rule":
            settled.append(word_overlap.settle(open_request))
        elif len(open_request.calls) > many_calls.MOST_CALLS:
            reason = (
                f"it would take {len(open_request.calls):,} comparisons, more than the"
                f" {many_calls.MOST_CALLS:,} that are made"
            )
            settled.append(open_request.lost(Status.FAILED, reason))
        else:
            open_requests.append(open_request)
    calls: list[MatchCall] = []
    # One Ask for the whole group, so that the model's threads work at the same time.
    for open_request in open_requests:
        calls += open_request.calls
    replies = (yield Ask(tuple(calls))) if calls else ()
    settle = many_calls.settle if rubric.id in _MANY_CALLS else _judgment
    at = 0
    for open_request in open_requests:
        end = at + len(open_request.calls)
        settled.append(settle(open_request, replies[at:end]))
        at = end
    return tuple(settled)


def _calls(request: Request) -> tuple[MatchCall, ...]:
    if request.rubric in _MANY_CALLS:
        return many_calls.calls_of(request)
    question = request.text("question")
    match TASKS[request.rubric]:
        case "relevance":
            return (MatchCall("relevance", question, (request.text("context"),)),)
        case "support":
            passages = request.texts("text" if request.rubric == "entailment" else "contexts")
            return (
                MatchCall(
                    "support", without_citations(request.text("claim")), passages, question or None
                ),
            )
        case "answer":
            return (MatchCall("answer", question, (request.text("response"),)),)
        case _:
            return ()


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


def _judgment(open_request: OpenRequest, replies: Sequence[Reply]) -> Judgment:
    """The Judgment that follows from the one reply that these rubrics take."""
    usable = open_request.replies(replies)
    if isinstance(usable, Judgment):
        return usable
    (reply,) = usable
    (call,) = open_request.calls
    name = open_request.rubric.id
    rating = _rating(name, reply, open_request.cut)
    flags: tuple[str, ...] = ()
    if name == "groundedness" and rating == 0 and not reply.evidence:
        flags = ("nothing_found",)
    evidence: tuple[Evidence, ...] = ()
    if name != "entailment":  # a text to compare with is no context
        evidence = verified_evidence(reply, call)
    return open_request.rated(
        rating,
        _rationale(name, call, reply, open_request.cut),
        probability=reply.probability,
        evidence=evidence,
        flags=flags,
        spend=reply.spend,
    )


def _rating(rubric: str, reply: MatchReply, cut: float) -> Rating:
    probability = reply.probability
    if rubric == "chunk_relevance":
        return "yes" if probability >= cut else "no"
    if rubric == "entailment":
        if probability >= cut:
            return "stated"
        return "contradicted" if _contradicted(reply) else "not_stated"
    # The pass mark, 2, lies at the cut of the task; the grades above and below it are spread
    # around.
    bounds = (cut / 2, cut, max(0.75, cut))
    return sum(probability >= bound for bound in bounds)


def _contradicted(reply: MatchReply) -> bool:
    """Whether a claim that is not supported is more likely contradicted than not mentioned."""
    return reply.features.get("contradicted", 0.0) >= 0.5


def _rationale(rubric: str, call: MatchCall, reply: MatchReply, cut: float) -> str:
    """The probability in words, and the figures that explain it best. Only keys that are there are
    worded.
    """
    what, text, where = _VERDICTS.get(rubric) or _VERDICTS[call.task]
    features = reply.features
    sentences = [f"Probability {what}: {reply.probability:.2f} (passes from {cut:.2f})."]
    if call.task == "support" and reply.probability < cut and "contradicted" in features:
        how = "contradicted by" if _contradicted(reply) else "not mentioned in"
        sentences.append(f"Rather {how} {where}.")
    quotes = [f'"{shorten(call.text[start:end], 60)}"' for start, end in reply.unsupported]
    doubtful = list(dict.fromkeys(quotes))
    if doubtful:
        more = f" and {len(doubtful) - _NAMED} more" if len(doubtful) > _NAMED else ""
        sentences.append(f"Words without support: {', '.join(doubtful[:_NAMED])}{more}.")
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
    return " ".join(sentences)
