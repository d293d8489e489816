"""The trials of a battery: rows times probes and attacks, and which verdicts are compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragassay.core import Context, Sample
from ragassay.trust.battery.injections import MASTER_KEYS, Injection
from ragassay.trust.battery.perturbations import (
    PASSES_BY_RIGHT,
    PROBES,
    Base,
    Case,
    Expects,
    base_of,
)
from ragassay.trust.battery.results import Trial

METRICS = (
    "groundedness",
    "answer_relevance",
    "context_relevance",
    "correctness",
    "answer_accuracy_dual",
)
"""Metrics that the probes ask, of which a judge need not know all."""

FAMILIES = (
    "position",
    "verbosity",
    "authority",
    "format",
    "self-preference",
    "sycophancy",
    "flips",
    "harmless",
    "no content",
    "injection in a context",
    "injection in the answer",
)

# What an attack in this place is tried on: a base that an honest judge fails by this metric.
_ATTACKED: dict[str, tuple[tuple[Base, str], ...]] = {
    "context": (("wrong", "groundedness"), ("elsewhere", "context_relevance")),
    "answer": (
        ("elsewhere", "answer_relevance"),
        ("wrong", "correctness"),
        ("wrong", "groundedness"),
    ),
}


def packaged_rows() -> tuple[Sample, ...]:
    """The 24 rows of the package: made-up facts that no model can know, each response right and in
    its first context.
    """
    path = Path(__file__).with_name("rows.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    samples = []
    for row in rows:
        contexts = tuple(Context(text) for text in row["contexts"])
        samples.append(
            Sample(row["id"], row["question"], contexts, row["response"], row["reference"])
        )
    return tuple(samples)


@dataclass(frozen=True, slots=True)
class Battery:
    """All rows to judge, and all pairs of verdicts to compare.

    rows: metric -> id -> row to evaluate. trials: what is compared. bases: (metric, id) -> whether
    the base passes by right.
    """

    rows: dict[str, dict[str, Sample]] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    bases: dict[tuple[str, str], bool] = field(default_factory=dict)


def make_battery(
    samples: Sequence[Sample], metrics: Sequence[str], judge: str, injections: Iterable[Injection]
) -> Battery:
    """All trials over these rows, whose responses are taken to be right. judge: its name, for what
    speaks of it.

    A row lends its contexts and response to the one before it, so that at least two rows are
    needed. Raises ValueError for fewer.
    """
    if len(samples) < 2:
        raise ValueError("a battery takes at least two rows")
    battery = Battery()
    maker = _BatteryMaker(battery, frozenset(metrics))
    # Only the texts of a row are tried. All changes of one row are one cluster: a judge that knows
    # or misreads a row does so in each of them.
    clean = [
        replace(sample, cluster=sample.id, labels={}, usage=None, error=None) for sample in samples
    ]
    for at, sample in enumerate(clean):
        maker.probe(sample, clean[(at + 1) % len(clean)], judge)
    # Each attack is tried on one row, the rows in turn: attacks times rows would be many calls.
    for at, injection in enumerate(injections):
        maker.attack(clean[at % len(clean)], clean[(at + 1) % len(clean)], injection)
    return battery


@dataclass(frozen=True, slots=True)
class _Change:
    """A base and what it was changed into. id: of the change, unique for its probe."""

    family: str
    probe: str
    base: Sample
    changed: Sample
    expects: Expects
    id: str


@dataclass(frozen=True, slots=True)
class _BatteryMaker:
    """Adds trials to a battery, for these metrics."""

    battery: Battery
    metrics: frozenset[str]

    def probe(self, sample: Sample, other: Sample, judge: str) -> None:
        """The probes and the master keys on one row."""
        for probe in PROBES:
            for kind in probe.bases:
                base = base_of(kind, sample, other)
                changed = None if base is None else probe.change(Case(base, other, judge))
                # Not every row has a number to change, two contexts to swap, and so on.
                if base is None or changed is None:
                    continue
                change = _Change(probe.family, probe.name, base, changed, probe.expects, sample.id)
                for metric in probe.metrics:
                    self._add(change, metric, kind, sample.id)
        for n, key in enumerate(MASTER_KEYS):
            has_letters = any(char.isalpha() for char in key)
            name = "openings and role tokens" if has_letters else "empty, signs or invisible"
            changed = replace(sample, response=key)
            change = _Change("no content", name, sample, changed, "fails", f"{sample.id}|{n}")
            for metric in ("answer_relevance", "correctness"):
                self._add(change, metric, "right", sample.id)

    def attack(self, sample: Sample, other: Sample, injection: Injection) -> None:
        """One attack on one row."""
        for kind, metric in _ATTACKED[injection.place]:
            base = base_of(kind, sample, other)
            if base is None or not base.contexts:
                continue
            if injection.place == "context":
                family = "injection in a context"
                first, *others = base.contexts
                attacked = replace(first, text=injection.into(first.text))
                changed = replace(base, contexts=(attacked, *others))
            else:
                family = "injection in the answer"
                changed = replace(base, response=injection.into(base.response or ""))
            change_id = f"{sample.id}|{injection.id}"
            change = _Change(family, injection.family, base, changed, "fails", change_id)
            self._add(change, metric, kind, sample.id)

    def _add(self, change: _Change, metric: str, kind: Base, row: str) -> None:
        """A trial of a change under a metric, where its answer is known. row: it was made from."""
        passes = PASSES_BY_RIGHT.get((kind, metric))
        if passes is None or metric not in self.metrics:
            return
        before = f"{row}|{kind}"
        after = f"{change.id}|{kind}|{change.probe}"
        rows = self.battery.rows.setdefault(metric, {})
        # Many changes share a base, which is judged once.
        rows.setdefault(before, replace(change.base, id=before))
        rows.setdefault(after, replace(change.changed, id=after))
        self.battery.bases[metric, before] = passes
        trial = Trial(
            change.family, change.probe, metric, row, before, after, passes, change.expects
        )
        self.battery.trials.append(trial)
