"""Which options do several commands share?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        help=(
            "SQLite file or postgresql:// URL of the store [default: $RAGASSAY_STORE or"
            " .ragassay/store.db]"
        ),
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")
]
HtmlOption = Annotated[Path | None, typer.Option(help="Write the HTML report here.")]
JunitOption = Annotated[Path | None, typer.Option(help="Write JUnit XML here.")]
GateOption = Annotated[
    list[str] | None, typer.Option(help="'groundedness>=0.8'; exit 1 when not met. Repeatable.")
]
RunArgument = Annotated[str, typer.Argument(help="Run id, its start, its name, or 'last'.")]
LabelsArgument = Annotated[
    str, typer.Argument(help="File of rows with a human label each, in any format of rows.")
]
LabelOption = Annotated[
    str, typer.Option(help="Field with the human label; labels/NAME for one of several.")
]
ColumnOption = Annotated[str, typer.Option(help="Column with the label.")]
CutOption = Annotated[
    float | None,
    typer.Option(help="A label of at least this passes [default: 1 of 0/1, 2 of 0-3]."),
]
JudgeCutOption = Annotated[
    float | None, typer.Option(help="A score of at least this passes [default: the judge's own].")
]
ClusterOption = Annotated[
    str | None, typer.Option(help="Field of the query or document that rows share.")
]
WhereOption = Annotated[
    list[str] | None, typer.Option(help="FIELD=VALUE, such as split=test. Repeatable.")
]
MetricOption = Annotated[
    str | None, typer.Option("--metric", "-m", help="Metric [default: what the rows' task says].")
]
RubricOption = Annotated[list[Path] | None, typer.Option(help="Your own rubric file. Repeatable.")]
LimitOption = Annotated[int | None, typer.Option(help="Only the first N rows.")]
DrawsOption = Annotated[int, typer.Option(help="Bootstrap draws.")]
SeedOption = Annotated[int, typer.Option(help="Seed of everything that is drawn.")]
MapOption = Annotated[list[str] | None, typer.Option("--map", help="field=column. Repeatable.")]
FormatOption = Annotated[str | None, typer.Option("--format", help="Format of the file.")]
KeyOption = Annotated[
    str | None, typer.Option(help="Variable that holds the key [default: OPENAI_API_KEY].")
]
CapOption = Annotated[int | None, typer.Option(help="Hard cap on calls, retries included.")]
CostOption = Annotated[float | None, typer.Option(help="Hard cap in US dollars.")]
PriceOption = Annotated[str | None, typer.Option(help="IN,OUT in US dollars per million tokens.")]
WorkersOption = Annotated[
    int | None, typer.Option(help="Processes of --engine ray [default: the CPUs there are].")
]
NoNetworkOption = Annotated[
    bool, typer.Option("--no-network", help="Make any network call an error.")
]


class Controls(StrEnum):
    """When claims with a known answer are planted among those that an LLM judge is asked about."""

    auto = "auto"
    always = "always"
    off = "off"


class EngineName(StrEnum):
    """What drives a run."""

    local = "local"
    ray = "ray"


ENGINE_HELP = (
    "ray: several processes, or the machines of the Ray cluster in RAY_ADDRESS (extra 'ray')."
)

ControlsOption = Annotated[
    Controls,
    typer.Option(
        help=(
            "Plant claims with a known answer; a reply that gets one wrong is void. auto: where"
            " texts look like an attack."
        )
    ),
]


@dataclass(frozen=True, slots=True)
class Reach:
    """How a judge is reached and what it may cost, named as `evaluate` takes it."""

    base_url: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server.")
    ] = None
    api_key_env: KeyOption = None
    max_calls: CapOption = None
    max_cost: CostOption = None
    price: PriceOption = None
    no_network: NoNetworkOption = False


@dataclass(frozen=True, slots=True)
class Compared:
    """Which labelled rows a judge is set beside, and what passes."""

    cut: CutOption = None
    judge_cut: JudgeCutOption = None
    cluster: ClusterOption = None
    where: WhereOption = None
    rubric: RubricOption = None

    def options(self) -> dict[str, Any]:
        """Named as `benchmark` takes them."""
        return {
            "cut": self.cut,
            "judge_cut": self.judge_cut,
            "cluster": self.cluster,
            "where": self.where or [],
            "rubrics": self.rubric or [],
        }


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer is to see it: a parameter that is a dataclass stands for its fields, an
    option each.
    """
    groups: dict[str, type] = {}
    seen: list[Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            of = get_type_hints(kind, include_extras=True)
            seen += [
                Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=of[f.name])
                for f in fields(kind)
            ]
        else:
            seen.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    @wraps(command)
    def call(**given: Any) -> None:
        made = {
            name: kind(**{f.name: given.pop(f.name) for f in fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **made)

    call.__signature__ = Signature(seen)  # type: ignore[attr-defined]
    return call
