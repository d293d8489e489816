"""TextGrad (Yuksekgonul et al. 2024, the package `textgrad`) as the engine.

A loop of loss, gradient and step over the criteria as a variable. It never takes a step back, so
the best of its texts on the rows to choose on is the finalist. On import the package fetches a
table of prices and makes a folder for logs: both are kept from it.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from ragassay.tuning.edits import Refused
from ragassay.tuning.engines.base import Engine
from ragassay.tuning.engines.texts import Texts
from ragassay.tuning.purchases import NoRoom
from ragassay.tuning.search import SearchResult, SearchTask, Watch
from ragassay.tuning.values import IntArray, JudgeBench, Proposer

_BATCH, _EVERY = 6, 3
_MOST_STEPS = 500
_MOST_IDLE = 40


class _NoNetworkError(OSError):
    """A connection that was not allowed."""


@contextmanager
def _no_network() -> Iterator[None]:
    """Nothing in this process reaches a network; a package that tries goes on without."""

    def refuse(*arguments: object, **named: object) -> None:
        raise _NoNetworkError("no network while a package is imported")

    # The table of prices that the package has with it does as well.
    settings = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "TEXTGRAD_LOG_DIR": tempfile.gettempdir()}
    with (
        patch.dict(os.environ, settings),
        patch.object(socket.socket, "connect", refuse),
        patch.object(socket, "getaddrinfo", refuse),
    ):
        yield


def _imported() -> Any:
    with _no_network():
        import textgrad
    # It logs every prompt into a file.
    for handler in list(textgrad.logger.handlers):
        textgrad.logger.removeHandler(handler)
        handler.close()
    return textgrad


class TextGradEngine:
    """Searches by TextGrad's loop."""

    def search(
        self,
        task: SearchTask,
        bench: JudgeBench,
        proposer: Proposer,
        watch: Watch | None = None,
    ) -> SearchResult:
        """The finalists for the rows of the task, within its calls."""
        textgrad = _imported()
        texts = Texts(task, bench, proposer, watch)
        scores: dict[str, float] = {}
        ended = "the engine has ended"
        try:
            self._descend(textgrad, texts, scores)
        except NoRoom:
            ended = "the calls are spent"
        best = sorted(scores, key=lambda text: -scores[text])
        return texts.result(best[:1], ended)

    def _descend(self, textgrad: Any, texts: Texts, scores: dict[str, float]) -> None:
        task = texts.task
        random = np.random.default_rng([task.seed, 2])
        model = _model(textgrad, texts)
        variable = textgrad.Variable(
            texts.original, requires_grad=True, role_description="criteria of a judge"
        )
        optimizer = textgrad.TextualGradientDescent(parameters=[variable], engine=model)
        loss_of = textgrad.TextLoss("Say where these criteria fail.", engine=model)
        # First, so that its verdicts are there when the calls are spent.
        self._judge(texts, scores, texts.original, 0)
        idle = 0
        for step in range(_MOST_STEPS):
            before = variable.value
            rows = random.choice(task.train, min(_BATCH, len(task.train)), replace=False)
            model.rows, model.text = rows, before
            optimizer.zero_grad()
            loss_of(variable).backward(model)
            optimizer.step()
            idle = idle + 1 if variable.value == before else 0
            if idle >= _MOST_IDLE:
                return
            self._judge(texts, scores, variable.value, step)

    def _judge(self, texts: Texts, scores: dict[str, float], text: str, step: int) -> None:
        """Every few steps, what the text is worth on the rows to choose on."""
        if step % _EVERY or text in scores:
            return
        try:
            texts.rubric(text)
        except Refused:
            return
        scores[text] = float(texts.right(text, texts.task.validation).mean())
        if scores[text] == max(scores.values()):
            texts.best_so_far(text)


def _model(textgrad: Any, texts: Texts) -> Any:
    """The language model that TextGrad calls: our proposer where it asks for a new text. Loss and
    gradient need no model, as the disagreements themselves are shown to the proposer.
    """

    class Model(textgrad.EngineLM):  # type: ignore[misc]
        model_string = "proposer"
        rows: IntArray
        text: str

        def generate(self, prompt: Any, system_prompt: str | None = None, **named: Any) -> str:
            return self(prompt, system_prompt)

        def __call__(self, prompt: Any, system_prompt: str | None = None, **named: Any) -> str:
            if "<IMPROVED_VARIABLE>" not in (system_prompt or ""):
                return "The judge and people disagree on some of the rows."
            new = texts.proposed(self.text, self.rows)
            return f"<IMPROVED_VARIABLE>{new}</IMPROVED_VARIABLE>"

    return Model()


def make() -> Engine:
    """The engine, its package imported."""
    _imported()
    return TextGradEngine()
