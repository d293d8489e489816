"""The judge over a local model: a classifier of the user's own, which reads no instructions.

Requests become MatchCalls (`judges.matching`). A model has one task, and the judge answers the
rubrics of that task; any other rubric is an error before the first row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragassay.core import JudgeFlow, Judgment, Request, SetupError, Status, digest
from ragassay.judges.matching import flow
from ragassay.judges.matching.open_request import OpenRequest
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.rubric import Rubric
from ragassay.judges.similarity import SIMILARITY

# Raised when the rules of `judges.matching` change: judgments made under the old ones are then not
# reused.
_RULES = 1
# Task -> metrics that such a model can judge by itself, for the advice.
_METRICS = {
    "support": "groundedness",
    "relevance": "context_relevance",
    "answer": "answer_relevance",
}
# Asked beside groundedness, where nothing was retrieved, to see whether the response declines: a
# rule about words settles that, and no model is needed for it.
_BY_RULE = "answer_relevance"


def answers_task(task: str, rubrics: Sequence[str]) -> bool:
    """Whether a model of this task can judge a metric that asks these rubrics."""
    own = [rubric for rubric in rubrics if flow.TASKS.get(rubric) == task]
    rest = {*rubrics} - {*own, _BY_RULE, SIMILARITY}
    return not rest and (bool(own) or {*rubrics} <= {SIMILARITY})


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """A judge over a local model.

    uri: of the model. model_version: what identifies its files and how it is asked. task: of its
    match calls, "support", "relevance" or "answer". cut: the probability from which it says yes.
    """

    uri: str
    model_version: str
    task: str
    rubrics: RubricRegistry
    cut: float = 0.5
    # The rubrics as it knows them, made once.
    _known: dict[str, Rubric] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def agreement(self) -> str:
        """Nobody has measured it before a benchmark on the user's own labels."""
        return "unmeasured on data like yours"

    def _rubric(self, rubric_id: str) -> Rubric:
        """The rubric under the version that this judge's answers to it have."""
        rubric = self._known.get(rubric_id)
        if rubric is None:
            own = self._answerable(rubric_id)
            rubric = self._known[rubric_id] = replace(own, version=flow.VERSIONS[rubric_id])
        return rubric

    def _answerable(self, rubric_id: str) -> Rubric:
        rubric = self.rubrics.get(rubric_id)
        own = [name for name, task in flow.TASKS.items() if task == self.task]
        if rubric_id not in (*own, _BY_RULE):
            raise SetupError(
                "E0203",
                f"The judge {self.uri} cannot answer the rubric {rubric_id!r}.",
                why=f"it is a classifier for {self.task}; it answers {', '.join(own)}",
                fix=(
                    f"leave out what needs this rubric (--metrics {_METRICS[self.task]}), or name"
                    " another judge"
                ),
            )
        if rubric.own:
            raise SetupError(
                "E0203",
                f"The judge {self.uri} cannot follow your own file for the rubric {rubric_id!r}.",
                why="it is no language model and reads no instructions",
                fix="name a language model with --judge openai:MODEL, or leave out --rubric",
            )
        return rubric

    def rubric_version(self, rubric: str) -> str:
        """ "id@version". Raises SetupError E0203 for a rubric that it cannot answer."""
        return self._rubric(rubric).ref

    def fingerprint(self, rubric: str) -> str:
        """Hash of the model's version, the cut and the rules; the model's name and place are not
        part of it. Raises as `rubric_version`.
        """
        ref = self._rubric(rubric).ref
        return digest("local", _RULES, self.model_version, self.task, self.cut, ref)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """As `flow.groups_of`."""
        return flow.groups_of(requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The flow of `flow.answer`."""
        rubric = self._rubric(requests[0].rubric)
        rule = None if flow.TASKS[rubric.id] == self.task else self._lost
        asking = flow.Asking(
            rubric, self.fingerprint(rubric.id), self.cut, self.uri, rule, quotes=False
        )
        return flow.answer(requests, asking)

    def _lost(self, open_request: OpenRequest) -> Judgment:
        """No rating for what neither a rule nor the model settles."""
        reason = f"the judge is a classifier for {self.task} and cannot answer this"
        return open_request.lost(Status.NOT_APPLICABLE, reason)
