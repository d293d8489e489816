"""In which order are pairs learned from? Batches of one task and about equal lengths, sets in
balance.

Pairs that only tell something beside each other (a premise with what follows from it and what does
not) are drawn as one bundle, and a bundle is never parted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from training.pairs import Pair

Floats = NDArray[np.float64]
Bundle = Sequence[Pair]
# Tokens in a batch, padding included; a step on two cores takes about a second.
TOKENS = 6144
# Pairs of a task in a batch at most: short ones would otherwise get few steps. Answers are short
# and cheap.
MOST = {"support": 48, "relevance": 32, "answer": 96}
# So many draws are sorted by length together.
_STOCK = 1024


@dataclass(frozen=True)
class Recipe:
    """steps: how long. rate: the highest learning rate; decay: what a layer has of the rate of the
    one above it.

    average: share of the steps at the end whose weights are averaged. power: a set of n pairs is
    drawn n^power often among the sets of its task; made: share of a task's draws that are made
    examples; shares: of the tasks. span: weight of the span head's loss. smooth: label smoothing.
    general: only texts and rows of sets that groundedness is not measured on, so that every
    leave-one-set-out run can begin from the same weights. bundled: share of the tokens that are
    drawn from the entailment pack.
    """

    steps: int
    rate: float = 5e-5
    warmup: float = 0.1
    decay: float = 0.9
    weight_decay: float = 0.01
    average: float = 0.3
    power: float = 0.5
    made: float = 0.3
    shares: tuple[tuple[str, float], ...] = (
        ("support", 0.6),
        ("relevance", 0.15),
        ("answer", 0.25),
    )
    span: float = 0.5
    smooth: float = 0.05
    seed: int = 20261121
    tokens: int = TOKENS
    general: bool = False
    bundled: float = 0.0


def padded(length: int, multiple: int = 32) -> int:
    """The length that a batch is padded to."""
    return -(-length // multiple) * multiple


def odds_of_sets(sizes: Mapping[tuple[str, str], int], recipe: Recipe) -> Floats:
    """How often each (task, set) is drawn, in the order of the keys."""
    odds = np.array([size**recipe.power for size in sizes.values()])
    made = np.array([source.startswith("made:") for _, source in sizes])
    result = np.zeros(len(odds))
    for task, share in recipe.shares:
        of_task = np.array([t == task for t, _ in sizes])
        parts = [(of_task & made, recipe.made), (of_task & ~made, 1 - recipe.made)]
        parts = [(at, part) for at, part in parts if at.any() and part]
        for at, part in parts:
            result[at] = share * part / sum(p for _, p in parts) * odds[at] / odds[at].sum()
    return np.asarray(result / result.sum(), np.float64)


def _tokens(bundle: Bundle) -> int:
    return sum(len(p.ids) for p in bundle)


class Rows:
    """Pairs one by one, the classes of a set alike."""

    def __init__(
        self, pairs: Sequence[Pair], recipe: Recipe, generator: np.random.Generator
    ) -> None:
        self._pairs, self._generator = pairs, generator
        members: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for index, p in enumerate(pairs):
            members[p.task, p.source][p.label].append(index)
        self._members = members
        self._keys = sorted(members)
        self._odds = odds_of_sets(
            {k: sum(map(len, members[k].values())) for k in self._keys}, recipe
        )
        self._queues: dict[tuple[tuple[str, str], int], list[int]] = {}

    def tokens(self) -> float:
        """Tokens of a draw on average."""
        means = [
            np.mean(
                [np.mean([len(self._pairs[i].ids) for i in found]) for found in of_set.values()]
            )
            for of_set in (self._members[key] for key in self._keys)
        ]
        return float(np.dot(self._odds, means))

    def __call__(self) -> Bundle:
        key = self._keys[int(self._generator.choice(len(self._keys), p=self._odds))]
        labels = sorted(self._members[key])
        label = labels[int(self._generator.integers(len(labels)))]
        queue = self._queues.setdefault((key, label), [])
        if not queue:
            queue.extend(self._generator.permutation(self._members[key][label]).tolist())
        return (self._pairs[queue.pop()],)


class Bundles:
    """Bundles whole, all of a set before any of them comes again.

    parts: which part a set belongs to; shares: of the tokens, by part. The sets of a part come in
    proportion to what they hold.
    """

    def __init__(
        self,
        bundles: Sequence[Bundle],
        parts: Mapping[str, str],
        shares: Mapping[str, float],
        generator: np.random.Generator,
    ) -> None:
        self._generator = generator
        self._members: dict[str, list[Bundle]] = defaultdict(list)
        for bundle in bundles:
            self._members[bundle[0].source].append(bundle)
        self._names = sorted(self._members)
        held: dict[str, int] = defaultdict(int)
        for name in self._names:
            held[parts[name]] += sum(map(_tokens, self._members[name]))
        odds = np.array(
            [
                shares[parts[name]] * len(self._members[name]) / held[parts[name]]
                for name in self._names
            ]
        )
        self._odds = odds / odds.sum()
        self._queues: dict[str, list[int]] = {name: [] for name in self._names}

    def tokens(self) -> float:
        """Tokens of a draw on average."""
        means = [np.mean([_tokens(b) for b in self._members[name]]) for name in self._names]
        return float(np.dot(self._odds, means))

    def __call__(self) -> Bundle:
        name = self._names[int(self._generator.choice(len(self._names), p=self._odds))]
        queue = self._queues[name]
        if not queue:
            queue.extend(self._generator.permutation(len(self._members[name])).tolist())
        return self._members[name][queue.pop()]


def mixed(
    rows: Rows, bundles: Bundles, share: float, generator: np.random.Generator
) -> Callable[[], Bundle]:
    """Rows, and bundles with a share of the tokens."""
    one, other = (1 - share) / rows.tokens(), share / bundles.tokens()
    chance = other / (one + other)
    return lambda: bundles() if generator.random() < chance else rows()


def batches(
    draw: Callable[[], Bundle], recipe: Recipe, generator: np.random.Generator
) -> Iterator[list[Pair]]:
    """Batches without end. A stock is drawn, sorted by length and cut into batches, which go out in
    random order.
    """

    def length(bundle: Bundle) -> int:
        return max(len(p.ids) for p in bundle)

    while True:
        stock = [draw() for _ in range(_STOCK)]
        found: list[list[Pair]] = []
        for task, most in MOST.items():
            held: list[Pair] = []
            for bundle in sorted((b for b in stock if b[0].task == task), key=length):
                many = len(held) + len(bundle)
                if held and (many * padded(length(bundle)) > recipe.tokens or many > most):
                    found.append(held)
                    held = []
                held.extend(bundle)
            if held:
                found.append(held)
        for at in generator.permutation(len(found)):
            yield found[at]
