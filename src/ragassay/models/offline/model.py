"""The model behind the URI "offline": it answers MatchCalls, with no key and no network.

It is no language model. A small network that was trained on labels of people reads a text beside a
window of the passages. Its output and figures on words, numbers, names and negations give a
calibrated probability. Each call is answered on its own by one of a few threads, and no forward
pass holds two texts, so the same call has the same reply whatever runs beside it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import digest
from ragassay.models.threaded import ThreadedModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.offline.engine import Engine

# Raised by hand whenever the code that makes figures out of texts changes what it gives.
FEATURES_VERSION = 12
_WEIGHTS = Path(__file__).parent / "weights"

_TASKS = ("support", "relevance", "answer", "facts", "similarity")


class OfflineModel(ThreadedModel["Engine"]):
    """The offline model. Cheap to make: weights are read and threads started by the first call.

    threads: how many calls are worked on at once (default: the cores this process may use, at most
    8). weights: the folder of weights, for another model of the same form.
    """

    def __init__(self, threads: int | None = None, weights: Path | None = None) -> None:
        super().__init__("the offline model", _TASKS, threads)
        self._folder = weights or _WEIGHTS

    @property
    def uri(self) -> str:
        """ "offline"."""
        return "offline"

    def _load(self) -> Engine:
        from ragassay.models.offline.engine import Engine

        # A second run in this process does not read the weights again.
        return Engine.shared(self._folder)

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

    def is_foreign(self, texts: Sequence[str]) -> bool:
        """Whether one of these texts is in another language than English, which is all that this
        model reads.

        Raises EnvironmentFailure E0505 when its vocabulary is missing.
        """
        from ragassay.models.offline.language import LanguageCheck

        try:
            return LanguageCheck.of_file(self._folder / "vocab.txt").any_foreign(texts)
        except OSError as error:
            from ragassay.models.offline.engine import damaged

            raise damaged(self._folder, f"vocab.txt: {type(error).__name__}") from error

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The sentence vectors of texts, each of length 1 (zeros for a text without words).

        Raises EnvironmentFailure E0505 when the weights are missing or damaged.
        """
        import numpy as np

        encoder = self._load().encoder
        vectors = []
        for text in texts:
            vector = encoder.whole(text)
            vectors.append(np.zeros(384, np.float32) if vector is None else vector)
        return np.stack(vectors).astype(np.float32)

    @property
    def cuts(self) -> dict[str, float]:
        """Task -> the probability from which the judge says yes, chosen with the weights on train
        and dev rows.
        """
        return dict(self._card["cuts"])

    @property
    def near(self) -> dict[str, float]:
        """Task -> the probability below which a yes is too near the cut to be told, chosen on dev
        rows.
        """
        return dict(self._card["near"])


def _checked(card: dict[str, Any]) -> dict[str, Any]:
    """What a card says, with every figure that is used. Raises KeyError, TypeError, ValueError or
    AttributeError.
    """
    files = {str(name): str(value) for name, value in card["files"].items()}
    cuts = {task: float(card["cuts"][task]) for task in _TASKS[:3]}
    if not all(0 < cut < 1 for cut in cuts.values()):
        raise ValueError(f"cuts are probabilities, not {cuts}")
    # Other weights may come without bands: every yes counts then.
    near = {**cuts, **{str(task): float(end) for task, end in card.get("near", {}).items()}}
    if not all(cuts[task] <= end < 1 for task, end in near.items()):
        raise ValueError(f"bands begin at the cuts, and do not end at {near}")
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
    return {"files": files, "cuts": cuts, "near": near, "agreement": agreement}
