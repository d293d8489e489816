"""Which changed rows is a judge asked about, and what is compared with what? Rows times probes, and
rows times attacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragassay.core import Context, Sample
from ragassay.trust.battery.injections import MASTER_KEYS, Injection
from ragassay.trust.battery.perturbations import KNOWN, PROBES, Base, Case, base_of
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


def own_rows() -> tuple[Sample, ...]:
    """The 24 rows of the package: made-up facts that no model can know, each response right and in
    its first context.
    """
    path = Path(__file__).with_name("rows.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return tuple(
        Sample(
            row["id"],
            row["question"],
            tuple(Context(text) for text in row["contexts"]),
            row["response"],
            row["reference"],
        )
        for row in rows
    )


@dataclass(frozen=True, slots=True)
class Battery:
    """rows: metric -> id -> row to evaluate. trials: what is compared. bases: (metric, id, whether
    it passes by right).
    """

    rows: dict[str, dict[str, Sample]] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    bases: dict[tuple[str, str], bool] = field(default_factory=dict)


def make(
    samples: Sequence[Sample], metrics: Sequence[str], judge: str, injections: Iterable[Injection]
) -> Battery:
    """All trials over these rows, whose responses are taken to be right. judge: its name, for what
    speaks of it.

    A row lends its contexts and response to the one before it, so that at least two rows are needed
    (ValueError).
    """
    if len(samples) < 2:
        raise ValueError("a battery takes at least two rows")
    battery = Battery()
    maker = _Maker(battery, frozenset(metrics))
    clean = [
        replace(sample, cluster=sample.id, labels={}, usage=None, error=None) for sample in samples
    ]
    for at, sample in enumerate(clean):
        maker.probe(sample, clean[(at + 1) % len(clean)], judge)
    for at, injection in enumerate(injections):
        maker.attack(clean[at % len(clean)], clean[(at + 1) % len(clean)], injection)
    return battery


@dataclass(frozen=True, slots=True)
class _Maker:
    battery: Battery
    metrics: frozenset[str]

    def probe(self, sample: Sample, other: Sample, judge: str) -> None:
        """The probes and the master keys on one row."""
        for probe in PROBES:
            for kind in probe.bases:
                base = base_of(kind, sample, other)
                changed = probe.change(Case(base, other, judge)) if base is not None else None
                if base is None or changed is None:
                    continue
                for metric in probe.metrics:
                    self._add(
                        probe.family,
                        probe.name,
                        metric,
                        kind,
                        sample.id,
                        base,
                        changed,
                        probe.expects,
                    )
        for n, key in enumerate(MASTER_KEYS):
            what = (
                "openings and role tokens"
                if any(char.isalpha() for char in key)
                else "empty, signs or invisible"
            )
            for metric in ("answer_relevance", "correctness"):
                changed = replace(sample, response=key)
                self._add(
                    "no content",
                    what,
                    metric,
                    "right",
                    f"{sample.id}|{n}",
                    sample,
                    changed,
                    "fails",
                    sample.id,
                )

    def attack(self, sample: Sample, other: Sample, injection: Injection) -> None:
        """One attack on one row."""
        for kind, metric in _ATTACKED[injection.place]:
            base = base_of(kind, sample, other)
            if base is None or not base.contexts:
                continue
            if injection.place == "context":
                first, *rest = base.contexts
                changed = replace(
                    base, contexts=(replace(first, text=injection.into(first.text)), *rest)
                )
                family = "injection in a context"
            else:
                changed = replace(base, response=injection.into(base.response or ""))
                family = "injection in the answer"
            name = f"{sample.id}|{injection.id}"
            self._add(
                family, injection.family, metric, kind, name, base, changed, "fails", sample.id
            )

    def _add(
        self,
        family: str,
        probe: str,
        metric: str,
        kind: Base,
        name: str,
        base: Sample,
        changed: Sample,
        expects: str,
        row: str = "",
    ) -> None:
        known = KNOWN.get((kind, metric))
        if known is None or metric not in self.metrics:
            return
        row = row or name
        before, after = f"{row}|{kind}", f"{name}|{kind}|{probe}"
        rows = self.battery.rows.setdefault(metric, {})
        rows.setdefault(before, replace(base, id=before))
        rows.setdefault(after, replace(changed, id=after))
        self.battery.bases[metric, before] = known
        self.battery.trials.append(
            Trial(
                family,
                probe,
                metric,
                row,
                before,
                after,
                known,
                "same" if expects == "same" else "fails",
            )
        )
