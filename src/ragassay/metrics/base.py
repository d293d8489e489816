"""A metric: a declaration, a flow that asks, and a reduction to a Score."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable
from dataclasses import fields
from functools import lru_cache
from typing import ClassVar, Protocol, runtime_checkable

from ragassay.core import Judgment, Request, Role, Sample, Score, Status
from ragassay.metrics.declaration import Declaration

MetricFlow = Generator[tuple[Request, ...], tuple[Judgment, ...], Score]


@runtime_checkable
class Metric(Protocol):
    """A frozen value: parameters in, `flow(sample)` out. `str(metric)` reads back through
    `metrics.parse`.
    """

    @property
    def declaration(self) -> Declaration: ...

    def flow(self, sample: Sample) -> MetricFlow: ...


def roles_of(metrics: Iterable[Metric]) -> dict[str, Role]:
    """Metric, by its name without parameters -> its role in the diagnosis."""
    return {metric.declaration.name: metric.declaration.role for metric in metrics}


class MetricBase:
    """Base of the catalogue's frozen dataclasses: the printed name, and 'not applicable' said one
    way.
    """

    declaration: ClassVar[Declaration]

    def __str__(self) -> str:
        return _printed(self)

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that these parameters need, as in the declaration."""
        return self.declaration.needs

    def applies_to(self, fields: Container[str]) -> bool:
        """Whether the metric may apply to rows of which none holds more than these fields."""
        lacking = []
        for need in self.needs:
            if not any(name in fields for name in need.split("|")):
                lacking.append(need)
        return not lacking

    def missing(self, sample: Sample) -> Score | None:
        """The not-applicable Score that names the first needed field that is absent, else None."""
        for need in self.needs:
            # The plain field first, as nearly every need is one: this runs for every row and
            # metric.
            if getattr(sample, need, None) is None and all(
                getattr(sample, name) is None for name in need.split("|")
            ):
                if need == "response" and sample.error is not None:
                    return self.not_applicable(
                        "the application failed on this row, so there is no response"
                    )
                return self.not_applicable(f"the row has no {need.replace('|', ' or ')}")
        return None

    def not_applicable(self, reason: str) -> Score:
        """A Score that is absent because the metric does not apply, with the reason."""
        return Score(metric=str(self), status=Status.NOT_APPLICABLE, reason=reason)


@lru_cache(maxsize=256)
def _printed(metric: MetricBase) -> str:
    """The name with the parameters that are not at their defaults, and k."""
    # Cached, because every Score of a run carries it.
    shown = [
        f"{f.name}={getattr(metric, f.name)}"
        for f in fields(metric)  # type: ignore[arg-type]
        # k is always shown: a precision without its k says nothing.
        if getattr(metric, f.name) != f.default or f.name == "k"
    ]
    return metric.declaration.name + (f"({', '.join(shown)})" if shown else "")
