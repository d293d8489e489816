"""What a run says of its judge: whose answers it favours, and which hosts see the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.runs.chat_models import hosted_models

if TYPE_CHECKING:
    from ragassay.judges import RubricRegistry
    from ragassay.metrics import Metric
    from ragassay.models import Model

_FIELDS = ("question", "contexts", "response", "reference", "expected_facts", "guidelines")
"""The fields of a row that metrics may send to a judge, in the order in which they are named."""

_FIELD_OF_INPUT = {"context": "contexts", **{name: name for name in _FIELDS}}
# Measured on this machine, whoever judges the rest.
_NEVER_SENT = frozenset({"similarity"})

_STUDIES = "in published studies judges rate answers of their own family higher"


def judged_rubrics(metric: Metric) -> tuple[str, ...]:
    """The rubrics of a metric that a judge is asked for, () where it asks none."""
    if not metric.declaration.judged:
        return ()
    # A metric whose parameters decide what it asks has a property; else the declaration says it.
    by_parameters = getattr(metric, "rubrics", None)
    return metric.declaration.rubrics if by_parameters is None else tuple(by_parameters)


def sent_fields(
    metrics: Sequence[Metric], registry: RubricRegistry, model: Model
) -> dict[str, tuple[str, ...]]:
    """Host -> the fields of the rows that these metrics may send it; {} for models that run here.

    A field counts where a metric needs it or a rubric of its reads it.
    """
    named: set[str] = set()
    for metric in metrics:
        rubrics = [name for name in judged_rubrics(metric) if name not in _NEVER_SENT]
        if not rubrics:
            continue
        for need in metric.declaration.needs:
            named.update(need.split("|"))
        for rubric in rubrics:
            inputs = registry.get(rubric).inputs
            named.update(_FIELD_OF_INPUT.get(name, "") for name in inputs)
    fields = tuple(name for name in _FIELDS if name in named)
    if not fields:
        return {}
    hosts: list[str] = []
    for member in hosted_models(model):
        hosts += member.hosts
    return dict.fromkeys(sorted(set(hosts)), fields)


def self_preference(judge: str, generator: str | None) -> str:
    """One sentence where the judge, or a member of it, is the model that wrote the responses or of
    its family; "" else, and where the generator is not named.
    """
    from ragassay.judges import composition
    from ragassay.models.families import family_of, same_model

    if not generator or not generator.strip():
        return ""
    composed = composition(judge)
    members = (judge,) if composed is None else composed.members
    # A classifier that runs here writes no answers, whatever it was trained from.
    asked = [uri for uri in members if uri.partition(":")[0].lower() not in ("offline", "local")]
    family = family_of(generator)
    same = [uri for uri in asked if same_model(uri, generator)]
    related = [uri for uri in asked if family and family_of(uri) == family]
    if same:
        what = f"{same[0]} judges the answers of its own model"
    elif related:
        what = f"{related[0]} and the generator {generator} are of one family ({family})"
    else:
        return ""
    if len({family_of(uri) or uri for uri in members}) > 1:
        return f"{what}: {_STUDIES}; other members of {judge} are of other families"
    return f"{what}: {_STUDIES}; --judge panel:A+B+C with models of several families evens it out"
