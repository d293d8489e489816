"""The model behind the URI "offline": it answers MatchCalls, with no key and no network.

It is no language model. A small network that was trained on labels of people reads a text beside a
window of the passages. Its output and figures on words, numbers, names and negations give a
calibrated probability. Each call is answered on its own by one of a few threads, and no forward
pass holds two texts, so the same call has the same reply whatever runs beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import (
    Call,
    CallError,
    ChatCall,
    EnvironmentFailure,
    MatchCall,
    MatchReply,
    digest,
    is_fault,
)

if TYPE_CHECKING:
    from ragassay.models.offline.engine import Engine

# Raised by hand whenever the code that makes figures out of texts changes what it gives.
FEATURES_VERSION = 4
_WEIGHTS = Path(__file__).parent / "weights"
TRIM_SECONDS = 0.25
"""How often memory that was freed is given back to the system."""

_TASKS = ("support", "relevance", "answer", "similarity")


class OfflineModel:
    """The offline model. Cheap to make: weights are read and threads started by the first call.

    threads: how many calls are worked on at once (default: the cores this process may use, at most
    8). weights: the folder of weights, for another model of the same form.
    """

    def __init__(self, threads: int | None = None, weights: Path | None = None) -> None:
        cores = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
        self._threads = threads or min(8, cores)
        self._folder = weights or _WEIGHTS
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._closed = False
        self._trimmed = time.monotonic()

    @property
    def uri(self) -> str:
        """ "offline"."""
        return "offline"

    @property
    def concurrency(self) -> int | None:
        """Enough calls to keep every thread busy while others return."""
        return 8 * self._threads

    @cached_property
    def _card(self) -> dict[str, Any]:
        try:
            return _checked(json.loads((self._folder / "card.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            from ragassay.models.offline.engine import damaged

            raise damaged(self._folder, f"card.json: {type(error).__name__}: {error}") from error

    @property
    def version(self) -> str:
        """Hash of the weights and of the version of the figures: part of every fingerprint.

        Raises EnvironmentFailure E0505 when the card of the weights is missing or damaged.
        """
        return digest("offline", FEATURES_VERSION, self._card["files"])

    def agreement(self, task: str) -> str:
        """One sentence: the measured agreement with people on a task ("support", "relevance",
        "answer").

        The figures are those of the weights' card, written by benchmarks/offline_judge.
        """
        measured = self._card["agreement"].get(task)
        if measured is None:
            return "unmeasured on data like yours"
        low, high = measured["interval"]
        return (
            f"balanced accuracy {measured['balanced_accuracy']:.2f} [{low:.2f}, {high:.2f}], the"
            f" mean over {measured['sets']} test sets with {measured['labels']:,}"
            f" {measured['kind']} labels (word overlap alone {measured['unigrams']:.2f})"
        )

    @property
    def cuts(self) -> dict[str, float]:
        """Task -> the probability from which the judge says yes, chosen with the weights on train
        and dev rows.
        """
        return dict(self._card["cuts"])

    def score(self, calls: Sequence[MatchCall]) -> list[MatchReply]:
        """Replies to the calls, in order; waits for them. Raises EnvironmentFailure E0505 for
        broken weights.
        """
        pool = self._start()
        return list(pool.map(self._answer, calls))

    async def call(self, call: Call) -> MatchReply:
        """The reply to a MatchCall.

        Raises CallError ("bad_request" for another kind of call or an unknown task, "server" when
        answering it fails) and EnvironmentFailure E0505 for broken weights.
        """
        if not isinstance(call, MatchCall) or call.task not in _TASKS:
            raise CallError(
                "bad_request", "the offline model answers match calls only; it writes no text"
            )
        ready = self._pool is not None and self._process == os.getpid()
        pool = self._start() if ready else await asyncio.to_thread(self._start)
        try:
            return await asyncio.wrap_future(pool.submit(self._answer, call))
        except (CallError, EnvironmentFailure):
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            raise CallError(
                "server", f"the offline model failed: {type(error).__name__}: {error}"
            ) from error

    def lane(self, call: ChatCall) -> str:
        """Shared with nobody."""
        return ""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """0.0: it runs here."""
        return 0.0

    async def close(self) -> None:
        """End the threads when the calls under way are done. Later calls fail."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)

    def _start(self) -> ThreadPoolExecutor:
        # A fork has copied the pool without its threads, and perhaps a lock that is held.
        if self._process != os.getpid():
            self._lock, self._pool, self._process = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._closed:
                raise CallError("bad_request", "the offline model was closed")
            if self._engine is None:
                from ragassay.models.offline.engine import Engine

                # A second run in this process does not read the weights again.
                self._engine = Engine.shared(self._folder)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(
                    self._threads, thread_name_prefix="ragassay-offline"
                )
            return self._pool

    def _answer(self, call: MatchCall) -> MatchReply:
        assert self._engine is not None
        reply = self._engine.answer(call)
        # By whichever thread is first; a second one does no harm.
        if time.monotonic() - self._trimmed > TRIM_SECONDS:
            self._trimmed = time.monotonic()
            _trim()
        return reply


def _trim() -> None:
    """Give freed memory back to the system, where the C library can be told to (glibc).

    The network's buffers are of another size for each text; glibc keeps the freed gaps between them
    for each thread, which comes to hundreds of megabytes in a run. Takes milliseconds.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], object] | None:
    import ctypes  # loaded by numpy in any case, but not before the first call

    try:
        trim: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):  # a system without one C library for all
        return None
    return trim


def _checked(card: dict[str, Any]) -> dict[str, Any]:
    """What a card says, with every figure that is used. Raises KeyError, TypeError, ValueError or
    AttributeError.
    """
    files = {str(name): str(value) for name, value in card["files"].items()}
    cuts = {task: float(card["cuts"][task]) for task in _TASKS[:3]}
    if not all(0 < cut < 1 for cut in cuts.values()):
        raise ValueError(f"cuts are probabilities, not {cuts}")
    agreement: dict[str, dict[str, Any]] = {
        str(task): {
            "balanced_accuracy": float(measured["balanced_accuracy"]),
            "interval": tuple(map(float, measured["interval"])),
            "unigrams": float(measured["unigrams"]),
            "labels": int(measured["labels"]),
            "sets": int(measured["sets"]),
            "kind": str(measured["kind"]),
        }
        for task, measured in card["agreement"].items()
    }
    if any(len(measured["interval"]) != 2 for measured in agreement.values()):
        raise ValueError("an interval has two ends")
    return {"files": files, "cuts": cuts, "agreement": agreement}
