"""The options that several commands share, and those of a run as their declarations say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ragassay.cli.config import mapping_of_file, take_config
from ragassay.core.errors import SetupError
from ragassay.runs.options import OnResume, Option, declared_options

if TYPE_CHECKING:
    from ragassay.report import Detail

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
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        is_eager=True,
        callback=take_config,
        help="File of options [default: $RAGASSAY_CONFIG or ragassay.toml].",
    ),
]
RunArgument = Annotated[str, typer.Argument(help="Run id, its start, its name, or 'last'.")]
LabelsArgument = Annotated[
    str,
    typer.Argument(
        help=(
            "File of rows with a human label each, in any format of rows; or a run whose labels"
            " were imported ('last')."
        )
    ),
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
    list[str] | None,
    typer.Option(
        help=(
            "A score of at least this passes [default: the judge's own]; JUDGE=CUT for one of"
            " several. Repeatable."
        )
    ),
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
DrawsOption = Annotated[int, typer.Option(help="Bootstrap draws.")]
SeedOption = Annotated[int, typer.Option(help="Seed of everything that is drawn.")]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Marks a parameter of a command that stands for options of a run: a dict of `evaluate`'s
    arguments, declared in `runs.options`.

    on_resume: the options are changes of a run, None where they are left as they are.
    """

    names: tuple[str, ...]
    on_resume: bool = False

    def parameters(self) -> list[Parameter]:
        """A parameter of the command line for each option."""
        declared = declared_options()
        return [_parameter(declared[name], self.on_resume) for name in self.names]


EvaluateOptions = Annotated[
    dict[str, Any],
    RunOptions(tuple(name for name, option in declared_options().items() if option.flags)),
]
ResumeOptions = Annotated[
    dict[str, Any],
    RunOptions(
        tuple(
            name
            for name, option in declared_options().items()
            if option.flags and option.on_resume is not OnResume.FIXED
        ),
        on_resume=True,
    ),
]
_ROWS = ("mapping", "format")
_JUDGE = (
    "rubrics",
    "base_url",
    "api_key_env",
    "max_tokens",
    "reasoning_effort",
    "extra_body",
    "headers",
    "proxy",
    "ca",
    "force",
    "order",
    "max_calls",
    "max_cost",
    "price",
    "no_network",
)

JudgeOptions = Annotated[dict[str, Any], RunOptions(_JUDGE)]
"""By which rubrics a judge goes, how it is reached, and what it may cost."""
RowOptions = Annotated[dict[str, Any], RunOptions(_ROWS)]
"""How rows are read."""
JudgedRowOptions = Annotated[dict[str, Any], RunOptions((*_ROWS, *_JUDGE))]
"""How rows are read, and the options of the judge that is asked about them."""
LimitedJudgedRowOptions = Annotated[dict[str, Any], RunOptions((*_ROWS, "limit", *_JUDGE))]
DoctorOptions = Annotated[dict[str, Any], RunOptions((*_JUDGE, "temperature", "call_timeout"))]
FormatOptions = Annotated[dict[str, Any], RunOptions(("format",))]
ControlsOptions = Annotated[dict[str, Any], RunOptions(("controls",))]


def _parameter(declared: Option, on_resume: bool) -> Parameter:
    kind, default = _type_and_default(declared, on_resume)
    flag = typer.Option(*declared.flags, help=declared.help)
    if declared.declaration.none_counts:
        flag = typer.Option(
            *declared.flags, help=declared.help, parser=_number_or_none, metavar="<float|none>"
        )
    return Parameter(
        declared.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, flag]
    )


def _type_and_default(declared: Option, on_resume: bool) -> tuple[Any, Any]:
    """The type and default by which typer reads an option."""
    if declared.name == "metrics":
        # One text and no list: commas stand between names, and inside the parameters of a name.
        return str | None, None
    if isinstance(declared.default, tuple | Mapping):
        return list[str] | None, None
    # On by default and switched off by a flag such as --no-cache: the flag is false where it is
    # not given, and `_argument` turns it round.
    if declared.is_switched_off:
        return bool, False
    kind, default = declared.type, declared.default
    if declared.choices:
        kind = _choice_type(declared)
        default = kind(default)
    # A resume keeps what it is not told to change, so that "not given" must differ from the
    # default. An option that starts afresh has its default each time.
    if on_resume and declared.on_resume is not OnResume.AFRESH:
        return kind | None, None
    return kind, default


def _number_or_none(text: str | float) -> float | None:
    """A number; None for "none", by which nothing is sent."""
    if isinstance(text, str) and text.strip().lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor none.") from None


def _choice_type(declared: Option) -> Any:
    """The choices as an enumeration, which is how typer takes them."""
    choices = {choice: choice for choice in declared.choices}
    return StrEnum(declared.name, choices)


def _argument(declared: Option, value: Any) -> Any:
    """An option's value as `evaluate` takes it."""
    if declared.name == "metrics":
        return value
    if declared.is_switched_off:
        return not value
    if isinstance(declared.default, Mapping):
        return {**mapping_of_file(), **pairs(value or [])}
    if isinstance(declared.default, tuple):
        return value or []
    return value.value if isinstance(value, StrEnum) else value


@dataclass(frozen=True, slots=True)
class Shown:
    """What a summary shows beyond one screen."""

    metrics_table: Annotated[
        bool,
        typer.Option(
            "--metrics-table", help="Every metric with its denominators, pass mark and coverage."
        ),
    ] = False
    trust: Annotated[
        bool, typer.Option("--trust", help="What is known of the judge, metric by metric.")
    ] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="All causes, rows, slices, metrics and costs.")
    ] = False

    def detail(self) -> Detail:
        """As the report takes it."""
        from ragassay.report import Detail

        return Detail(self.metrics_table, self.trust, self.verbose)


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Which labelled rows a judge is set beside, and what passes."""

    cut: CutOption = None
    judge_cut: JudgeCutOption = None
    cluster: ClusterOption = None
    where: WhereOption = None

    def options(self) -> dict[str, Any]:
        """Named as `benchmark` takes them."""
        return {
            "cut": self.cut,
            **judge_cut_options(self.judge_cut),
            "cluster": self.cluster,
            "where": self.where or [],
        }


def judge_cut_options(values: list[str] | None) -> dict[str, Any]:
    """`judge_cut` for all judges and `judge_cuts` by name, of "0.5" and "recorded:b=0.7".

    Raises SetupError E0101 for a cut that is no number.
    """
    common: float | None = None
    by_name: dict[str, float] = {}
    for value in values or []:
        # The last "=": names of judges may hold one.
        name, _, number = value.rpartition("=")
        try:
            cut = float(number)
        except ValueError:
            raise SetupError(
                "E0101",
                "A cut is a number.",
                where="--judge-cut",
                why=value,
                fix="write --judge-cut 0.5, or --judge-cut recorded:b=0.7",
            ) from None
        if name:
            by_name[name.strip()] = cut
        else:
            common = cut
    return {"judge_cut": common, "judge_cuts": by_name}


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer is to see it: a parameter that is a dataclass stands for its fields, and
    one that is marked as RunOptions for these, an option each.
    """
    groups: dict[str, Callable[[dict[str, Any]], Any]] = {}
    expanded: list[Parameter] = []
    # The annotations are texts under `from __future__ import annotations`.
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in signature(command).parameters.items():
        kind = hints[name]
        options = _run_options(kind)
        if options is not None:
            groups[name] = partial(_take_options, options.names)
            expanded += options.parameters()
        elif is_dataclass(kind) and isinstance(kind, type):
            groups[name] = partial(_take_fields, kind)
            expanded += _field_parameters(kind)
        else:
            # As typer calls it, and as `call` takes it: by keyword only.
            expanded.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    expanded.append(
        Parameter("config", Parameter.KEYWORD_ONLY, default=None, annotation=ConfigOption)
    )

    @wraps(command)
    def call(**arguments: Any) -> None:
        # Its callback has given the options of the file already.
        arguments.pop("config")
        # Each group takes its options out of `arguments`; the command's own remain.
        values = {name: take(arguments) for name, take in groups.items()}
        command(**arguments, **values)

    # Typer reads the parameters from here; without it `wraps` leads back to the command's own.
    call.__signature__ = Signature(expanded)  # type: ignore[attr-defined]
    return call


def _run_options(kind: Any) -> RunOptions | None:
    """The mark by which an annotation stands for options of a run, None where it has none."""
    marks = getattr(kind, "__metadata__", ())
    return next((mark for mark in marks if isinstance(mark, RunOptions)), None)


def _field_parameters(kind: type) -> list[Parameter]:
    types = get_type_hints(kind, include_extras=True)
    return [
        Parameter(
            field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
        )
        for field in fields(kind)
    ]


def _take_options(names: tuple[str, ...], arguments: dict[str, Any]) -> dict[str, Any]:
    declared = declared_options()
    return {name: _argument(declared[name], arguments.pop(name)) for name in names}


def _take_fields(kind: type, arguments: dict[str, Any]) -> Any:
    return kind(**{field.name: arguments.pop(field.name) for field in fields(kind)})


def pairs(items: Iterable[str]) -> dict[str, str]:
    """field=column texts as a mapping. Raises SetupError E0101."""
    mapping: dict[str, str] = {}
    for item in items:
        field, sign, column = item.partition("=")
        if not sign or not field.strip() or not column.strip():
            raise SetupError(
                "E0101",
                "--map takes field=column.",
                where=f"--map {item}",
                fix="for example --map question=prompt",
            )
        if field.strip() == "contexts" and "contexts" in mapping:
            mapping["contexts"] += f",{column.strip()}"
            continue
        if field.strip() in mapping:
            raise SetupError(
                "E0101",
                f"--map says twice what is read as {field.strip()}.",
                where=f"--map {item}",
                why=f"and --map {field.strip()}={mapping[field.strip()]}",
                fix="keep one of them",
            )
        mapping[field.strip()] = column.strip()
    return mapping
