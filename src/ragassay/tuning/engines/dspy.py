"""DSPy (Khattab et al. 2023, the package `dspy`) as the engine: its optimiser `dspy.GEPA`.

The judge is a DSPy program with one predictor, whose instructions are the criteria. The predictor
asks our bench instead of a language model, and new instructions come from our proposer.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from typing import Any

import numpy as np

from ragassay.tuning.engines.base import Engine
from ragassay.tuning.engines.texts import Texts
from ragassay.tuning.purchases import NoRoom
from ragassay.tuning.search import SearchResult, SearchTask, Watch
from ragassay.tuning.values import JudgeBench, Proposer


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """The package writes neither its log, which holds every prompt, nor bars of progress."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(before)


class DspyEngine:
    """Searches by `dspy.GEPA`."""

    def search(
        self,
        task: SearchTask,
        bench: JudgeBench,
        proposer: Proposer,
        watch: Watch | None = None,
    ) -> SearchResult:
        """The finalists for the rows of the task, within its calls."""
        import dspy

        judge = _Judge(Texts(task, bench, proposer, watch))
        optimizer = dspy.GEPA(
            metric=_is_right,
            max_metric_calls=task.max_calls,
            instruction_proposer=judge.propose,
            num_threads=1,
            seed=task.seed,
            use_merge=False,
            gepa_kwargs={"stop_callbacks": [judge.is_spent]},
        )
        with _quiet("dspy"):
            optimizer.compile(
                judge.program(dspy),
                trainset=_examples(dspy, task.train.tolist()),
                valset=_examples(dspy, task.validation.tolist()),
            )
        best = judge.best()
        if best:
            judge.texts.best_so_far(best[0])
        ended = "the calls are spent" if judge.spent else "the engine has ended"
        return judge.texts.result(best, ended)


def _examples(dspy: Any, rows: Sequence[int]) -> list[Any]:
    return [dspy.Example(row=str(row), verdict="right").with_inputs("row") for row in rows]


def _is_right(
    example: Any, prediction: Any, trace: Any = None, name: Any = None, name_trace: Any = None
) -> float:
    """What an optimiser of DSPy maximises: whether the judge says what people say."""
    return float(prediction.verdict == example.verdict)


class _Judge:
    """The judge as a program of DSPy."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.spent = False

    def program(self, dspy: Any) -> Any:
        """The program with its one predictor."""
        ask = self._ask

        class Asks(dspy.Predict):  # type: ignore[misc]
            def forward(self, **named: Any) -> Any:
                verdict = ask(self.signature.instructions, int(named["row"]))
                return self._forward_postprocess([{"verdict": verdict}], self.signature, **named)

        class Program(dspy.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.judge = Asks(signature)

            def forward(self, row: str) -> Any:
                return self.judge(row=row)

        signature = dspy.Signature("row -> verdict", self.texts.original)
        return Program()

    def _ask(self, text: str, row: int) -> str:
        """Whether the judge is right about a row. Where no calls are left it counts as wrong, as an
        error would end nothing here, and the optimiser is stopped at its next step.
        """
        try:
            right = bool(self.texts.right(text, np.array([row]))[0])
        except NoRoom:
            self.spent = True
            return "wrong"
        return "right" if right else "wrong"

    def is_spent(self, state: Any) -> bool:
        """Whether the optimiser is to stop."""
        return self.spent or self.texts.purchases.left < 1

    def propose(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """New instructions from our proposer."""
        changed: dict[str, str] = {}
        for name in components_to_update:
            entries = reflective_dataset[name]
            rows = np.array([int(entry["Inputs"]["row"]) for entry in entries], np.int64)
            try:
                changed[name] = self.texts.proposed(candidate[name], rows)
            except NoRoom:
                self.spent = True
                changed[name] = candidate[name]
        return changed

    def best(self) -> list[str]:
        """The text that is best on the rows to choose on, of those that were asked about all."""
        texts, rows = self.texts, self.texts.task.validation
        scores: dict[str, float] = {}
        for text in texts.edits:
            rubric = texts.rubric(text)
            if not len(texts.purchases.missing(rubric, rows)):
                scores[text] = float(texts.right(text, rows).mean())
        return sorted(scores, key=lambda text: -scores[text])[:1]


def make() -> Engine:
    """The engine."""
    return DspyEngine()
