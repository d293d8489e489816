"""The judge over an offline model: no language model, no key, no network.

Requests become MatchCalls (`judges.matching`); what answers them (`models.offline` today) is not
known here. The probability is calibrated by the model; this judge names the cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragassay.core import JudgeFlow, Request, SetupError, digest
from ragassay.judges.matching import flow
from ragassay.judges.offline import word_overlap
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.rubric import Rubric
from ragassay.judges.similarity import SIMILARITY

# Rubric -> the task of the model that answers it; "rule" where words and facts are compared.
TASKS: Mapping[str, str] = {**flow.TASKS, "correctness": "rule", "correctness_3": "rule"}
# Two texts of about one length are compared at even odds: the lower cut of "support" is for whole
# responses, of which nearly every claim has to pass.
_RUBRIC_CUTS: Mapping[str, float] = {"entailment": 0.5}
# Raised when the rules of `judges.matching` change: judgments made under the old ones are then not
# reused.
_RULES = 11

_NOT_ENGLISH = (
    "language: a text of it is not English, which is all that the offline judge reads; name a"
    " language model with --judge openai:MODEL, or a model in a folder with --judge local:FOLDER"
)


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
    weighs more is the judge's choice, not part of the probability. near: task -> below it, a yes is
    too near the cut, and is abstained from (none where the model names none). is_foreign: whether
    one of some texts is in a language that the model does not read; such Requests are abstained
    from.
    """

    model_version: str
    measured: Mapping[str, str]
    rubrics: RubricRegistry
    cuts: Mapping[str, float] = field(default_factory=dict)
    is_foreign: Callable[[Sequence[str]], bool] | None = None
    near: Mapping[str, float] = field(default_factory=dict)
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

    def _near(self, rubric_id: str) -> float:
        # The band was chosen at the task's own cut.
        return 0.0 if rubric_id in _RUBRIC_CUTS else self.near.get(TASKS[rubric_id], 0.0)

    def _rubric(self, rubric_id: str) -> Rubric:
        """The rubric under the version that this judge's answers to it have."""
        rubric = self._known.get(rubric_id)
        if rubric is None:
            own = self._answerable(rubric_id)
            rubric = self._known[rubric_id] = replace(own, version=flow.VERSIONS[rubric_id])
        return rubric

    def _answerable(self, rubric_id: str) -> Rubric:
        rubric = self.rubrics.get(rubric_id)
        if rubric_id not in TASKS:
            fix = (
                "name a language model with --judge openai:MODEL, or leave out what needs this"
                " rubric"
            )
            if rubric_id in ("claims", "trivial"):
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
        cuts = (self._cut(rubric), self._near(rubric))
        return digest("offline", _RULES, self.model_version, TASKS[rubric], cuts, ref)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """As `flow.groups_of`."""
        return flow.groups_of(requests)

    def _unread(self, request: Request) -> str:
        """Why a Request is not answered; "" where it can be read."""
        if self.is_foreign is None:
            return ""
        texts = ["\n".join(request.texts(name)) for name in request.inputs]
        return _NOT_ENGLISH if self.is_foreign(texts) else ""

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The flow of `flow.answer`."""
        rubric = self._rubric(requests[0].rubric)
        by_rule = TASKS[rubric.id] == "rule"
        asking = flow.Asking(
            rubric,
            self.fingerprint(rubric.id),
            self._cut(rubric.id),
            rule=word_overlap.settle_by_words if by_rule else None,
            calls=word_overlap.calls_of if by_rule else None,
            settle=word_overlap.settle_by_facts if by_rule else None,
            unread=self._unread,
            near=self._near(rubric.id),
        )
        return flow.answer(requests, asking)
