"""How does the offline model's probability become a Judgment? No language model, no key, no
network.

Requests become MatchCalls; what answers them (`models.offline` today) is not known here. The
probability is calibrated by the model; this judge only cuts it into ratings, words the figures
behind it, and applies the rules on abstention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.core import (
    Ask,
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
from ragassay.judges.offline import many_calls as several
from ragassay.judges.offline import word_overlap as lexical
from ragassay.judges.offline.pending import Case, checked, without_citations
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
# Two texts of about one length are compared at even odds: the lower cut of "support" is for whole
# responses, of which nearly every claim has to pass.
_OWN_CUTS: Mapping[str, float] = {"entailment": 0.5}
_SEVERAL = frozenset({"claim_sources", "sentence_relevance", "context_sufficiency"})
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

    @property
    def uri(self) -> str:
        """Always "offline"."""
        return "offline"

    @property
    def agreement(self) -> str:
        """Its measured agreement with people, a clause a task."""
        said = [
            f"{task}: {sentence.strip()}"
            for task, sentence in self.measured.items()
            if sentence.strip()
        ]
        return "; ".join(
            [*(said or ["unmeasured on data like yours"]), f"correctness: {lexical.AGREEMENT}"]
        )

    def _cut(self, rubric_id: str) -> float:
        return _OWN_CUTS.get(rubric_id, self.cuts.get(TASKS[rubric_id], 0.5))

    def _rubric(self, rubric_id: str) -> Rubric:
        rubric = self.rubrics.get(rubric_id)
        can = f"it answers {', '.join(TASKS)}"
        if rubric_id not in TASKS:
            raise SetupError(
                "E0203",
                f"The offline judge cannot answer the rubric {rubric_id!r}.",
                why=f"it is no language model and reads no instructions; {can}",
                fix=(
                    "use --claims sentences, or name a language model with --judge openai:MODEL"
                    if rubric_id == "claims"
                    else (
                        "name a language model with --judge openai:MODEL, or leave out what needs"
                        " this rubric"
                    )
                ),
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
        found = self._rubric(rubric)
        return digest(
            "offline", _RULES, self.model_version, TASKS[rubric], self._cut(rubric), found.ref
        )

    def batches(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """Up to 16 Requests of one rubric, in order: nothing is shared between them but the
        overhead.
        """
        by_rubric: dict[str, list[Request]] = {}
        for request in requests:
            by_rubric.setdefault(request.rubric, []).append(request)
        return [
            tuple(group[start : start + _GROUP])
            for group in by_rubric.values()
            for start in range(0, len(group), _GROUP)
        ]

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """One Ask for the whole group; what SPEC or the rules on abstention decide is not asked."""
        rubric = self._rubric(requests[0].rubric)
        fingerprint = self.fingerprint(rubric.id)
        unique = tuple({request.key: request for request in requests}.values())
        return _flow(unique, rubric, fingerprint, self._cut(rubric.id))


def _flow(requests: tuple[Request, ...], rubric: Rubric, fingerprint: str, cut: float) -> JudgeFlow:
    settled: list[Judgment] = []
    asked: list[Case] = []
    for request in requests:
        judgment = settle_without_call(request, rubric, fingerprint) or _abstains(
            request, rubric, fingerprint
        )
        if judgment is not None:
            settled.append(judgment)
            continue
        case = Case(request, rubric, fingerprint, cut, _calls(request))
        if TASKS[rubric.id] == "rule":
            settled.append(lexical.settle(case))
        elif len(case.calls) > several.MOST_CALLS:
            reason = (
                f"it would take {len(case.calls):,} comparisons, more than the"
                f" {several.MOST_CALLS:,} that are made"
            )
            settled.append(case.lost(Status.FAILED, reason))
        else:
            asked.append(case)
    calls = tuple(call for case in asked for call in case.calls)
    replies = (yield Ask(calls)) if calls else ()
    at = 0
    for case in asked:
        own = replies[at : at + len(case.calls)]
        at += len(case.calls)
        settled.append(several.settle(case, own) if rubric.id in _SEVERAL else _judgment(case, own))
    return tuple(settled)


def _calls(request: Request) -> tuple[MatchCall, ...]:
    if request.rubric in _SEVERAL:
        return several.calls_of(request)
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
    if rubric.id == "answer_relevance" and declines(request.text("response")):
        rating, flag, why = (
            0,
            "declined",
            "The response declines to answer or says that it does not know.",
        )
    elif rubric.id == "groundedness" and declines(request.text("claim")):
        rating, flag, why = 3, "abstention", "The claim only admits that something is not known."
    else:
        return None
    return Judgment(
        request.key,
        fingerprint,
        rubric.ref,
        Status.JUDGED,
        rating=rating,
        value=rating / 3,
        rationale=why,
        flags=(flag,),
        passes=rating >= 2,
    )


def _judgment(case: Case, replies: Sequence[Reply]) -> Judgment:
    """The Judgment that follows from the one reply that these rubrics take."""
    usable = case.replies(replies)
    if isinstance(usable, Judgment):
        return usable
    (reply,), (call,), cut, name = usable, case.calls, case.cut, case.rubric.id
    probability = reply.probability
    # The pass mark, 2, lies at the cut of the task; the grades above and below it are spread
    # around.
    rating: Rating = sum(probability >= bound for bound in (cut / 2, cut, max(0.75, cut)))
    if name == "chunk_relevance":
        rating = "yes" if probability >= cut else "no"
    elif name == "entailment":
        rating = (
            "stated"
            if probability >= cut
            else "contradicted"
            if _contradicted(reply)
            else "not_stated"
        )
    flags = (
        ("nothing_found",) if name == "groundedness" and rating == 0 and not reply.evidence else ()
    )
    return case.rated(
        rating,
        _rationale(name, call, reply, cut),
        probability=probability,
        evidence=(
            () if name == "entailment" else checked(reply, call)
        ),  # a text to compare with is no context
        flags=flags,
        spend=reply.spend,
    )


def _contradicted(reply: MatchReply) -> bool:
    """Whether a claim that is not supported is more likely contradicted than not mentioned."""
    return reply.features.get("contradicted", 0.0) >= 0.5


def _rationale(rubric: str, call: MatchCall, reply: MatchReply, cut: float) -> str:
    """The probability in words, and the figures that explain it best. Only keys that are there are
    worded.
    """
    what, text, where = _VERDICTS.get(rubric) or _VERDICTS[call.task]
    features = reply.features
    said = [f"Probability {what}: {reply.probability:.2f} (passes from {cut:.2f})."]
    if call.task == "support" and reply.probability < cut and "contradicted" in features:
        said.append(
            f"Rather contradicted by {where}."
            if _contradicted(reply)
            else f"Rather not mentioned in {where}."
        )
    doubtful = list(
        dict.fromkeys(f'"{shorten(call.text[start:end], 60)}"' for start, end in reply.unsupported)
    )
    if doubtful:
        more = f" and {len(doubtful) - _NAMED} more" if len(doubtful) > _NAMED else ""
        said.append(f"Words without support: {', '.join(doubtful[:_NAMED])}{more}.")
    coverage = features.get("coverage")
    if coverage is not None:
        said.append(
            f"{text} shares {max(0.0, min(1.0, coverage)):.0%} of its content words with {where}."
        )
    for key, one in (("numbers_missing", "number"), ("names_missing", "name")):
        count = round(features.get(key, 0.0))
        if count > 0:
            counted = f"1 {one} of it is" if count == 1 else f"{count} {one}s of it are"
            said.append(f"{counted} not in {where}.")
    if features.get("negation_mismatch", 0.0) >= 0.5:
        said.append("One side is negated and the other is not.")
    return " ".join(said)
