"""The catalogue of metrics, the default set, and the metric that a printed name means."""

from __future__ import annotations

import math
import os
import pkgutil
import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from ragassay.core import SetupError, nearest, shorten
from ragassay.metrics.base import Metric, MetricBase
from ragassay.metrics.declaration import Declaration
from ragassay.metrics.parameters import refuse

# "ndcg@5", as ir_measures and trec_eval write it -> the metric that takes k.
_AT = {
    "ndcg": "ndcg_at_k",
    "precision": "precision_at_k",
    "p": "precision_at_k",
    "recall": "recall_at_k",
    "r": "recall_at_k",
    "hit": "hit_rate",
    "hit_rate": "hit_rate",
    "success": "hit_rate",
}
NO_METRICS: Mapping[str, Metric] = MappingProxyType({})
_CODE = re.compile(r"\s*[A-Za-z_][\w.]*:[A-Za-z_]\w*\s*")
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\)|@\s*(\d{1,9}))?\s*", re.DOTALL)


_PACKAGE = f"{__name__.rpartition('.')[0]}.catalogue"
_FOLDER = Path(__file__).parent / "catalogue"


@cache
def catalogue() -> Mapping[str, type[MetricBase]]:
    """Name -> class of every metric: the default ones first, in their order, then by name."""
    kinds = [_kind(module.name) for module in pkgutil.iter_modules([str(_FOLDER)])]
    kinds.sort(key=_place_in_catalogue)
    return MappingProxyType({kind.declaration.name: kind for kind in kinds})


def _kind(name: str) -> type[MetricBase]:
    """The metric in the catalogue's file of that name."""
    # A file also holds the metrics and bases that it imports: the name tells its own from theirs.
    for value in vars(import_module(f"{_PACKAGE}.{name}")).values():
        if (
            isinstance(value, type)
            and issubclass(value, MetricBase)
            and "declaration" in vars(value)
            and value.declaration.name == name
        ):
            return value
    raise LookupError(f"metrics/catalogue/{name}.py holds no metric of that name")


def _place_in_catalogue(kind: type[MetricBase]) -> tuple[float, str]:
    place = kind.declaration.default
    return (math.inf if place is None else place), kind.declaration.name


@cache
def default_metrics() -> tuple[str, ...]:
    """The names of the metrics measured when nothing is asked for, in order. A run leaves those out
    that no row has the fields for.
    """
    return tuple(name for name, kind in catalogue().items() if kind.declaration.default is not None)


@cache
def declaration_of(metric: str) -> Declaration | None:
    """The declaration of the catalogue's metric with that printed name, with or without parameters;
    None for any other name. Imports that one metric's file, and not the whole catalogue.
    """
    name = metric.partition("(")[0]
    if not name.isidentifier() or not (_FOLDER / f"{name}.py").is_file() or name == "__init__":
        return None
    return _kind(name).declaration


def parse(text: str, custom: Mapping[str, Metric] = NO_METRICS) -> Metric:
    """The metric of a printed name: "groundedness", "groundedness(pass_mark=0.8, claims=llm)",
    "ndcg@5".

    custom: further metrics by name, such as those of the user's rubric files. "module:name" is the
    user's own metric in an importable module. `str(metric)` reads back: parse(str(m)) == m. Raises
    SetupError E0201 for a name that no metric has, E0202 for a parameter that it does not take.
    """
    if text.strip() in custom:
        return custom[text.strip()]
    if _CODE.fullmatch(text):
        return _imported(text.strip())
    match = _NAME.fullmatch(text)
    if match is None:
        raise _unknown(text, custom)
    name, inside, at = match.groups()
    name = name.lower()
    if at is not None:
        name = _AT.get(name, name)
        inside = f"k={at}"
    kind = catalogue().get(name)
    # The name is a custom metric's, but the text is not its name alone: brackets or @k follow.
    if kind is None and name in custom:
        raise _takes_none(text, name)
    if kind is None:
        raise _unknown(name, custom)
    metric = kind(**_parameters(text, kind, inside or ""))
    if not isinstance(metric, Metric):
        raise TypeError(f"{kind.__name__} has no flow")
    return metric


def _parameters(text: str, kind: type[MetricBase], inside: str) -> dict[str, object]:
    """The parameters between the brackets of a printed name, as values. text: the whole name."""
    name = kind.declaration.name
    takes: dict[str, Field[object]] = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    parameters: dict[str, object] = {}
    if not inside.strip():
        return parameters
    for part in inside.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key in parameters:
            what = f"{name} is given {key} twice."
            why = "it is given twice"
        elif not equals or key not in takes:
            what = f"{name} has no parameter {shorten(key, 40)!r}."
            why = f"its parameters are: {', '.join(takes) or 'none'}"
        else:
            parameters[key] = _value(name, key, value, takes[key].default)
            continue
        raise SetupError(
            "E0202",
            what,
            where=f"metric {shorten(text)}",
            why=why,
            fix=f"write {name}(parameter=value), separated by commas.{nearest(key, takes)}",
        )
    return parameters


def _takes_none(text: str, name: str) -> SetupError:
    return SetupError(
        "E0202",
        f"{name} takes no parameters.",
        where=f"metric {shorten(text)}",
        why="it is a judge of your own",
        fix="write its name alone; its scale and pass mark stand in its rubric file",
    )


def parse_list(text: str, custom: Mapping[str, Metric] = NO_METRICS) -> tuple[Metric, ...]:
    """Metrics of a comma-separated list, in order, repeated ones once: "groundedness,
    ndcg_at_k(k=5)".
    """
    metrics = [parse(name, custom) for name in _split(text) if name.strip()]
    if not metrics:
        raise SetupError(
            "E0201",
            "No metric is named.",
            where="metrics",
            fix=f"name at least one of: {', '.join(catalogue())}",
        )
    # By printed name, so that "ndcg@5, ndcg_at_k(k=5)" is one metric.
    return tuple({str(metric): metric for metric in metrics}.values())


def _split(text: str) -> list[str]:
    """The names of a list: cut at the commas that stand outside brackets."""
    names = []
    depth = 0
    start = 0
    for i, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "," and depth <= 0:
            names.append(text[start:i])
            start = i + 1
    names.append(text[start:])
    return names


def _value(metric: str, name: str, text: str, default: object) -> object:
    """`text` as the type of the parameter's default."""
    if default is MISSING or isinstance(default, str):
        return text
    # No parameter of the catalogue is a truth value, which would be an int as well.
    whole = isinstance(default, int)
    try:
        return int(text) if whole else float(text)
    except ValueError:
        expected = "a whole number" if whole else "a number"
        raise refuse(metric, name, text, expected) from None


def _imported(text: str) -> Metric:
    """The metric "module:name" of the user's own code; the current folder is looked in first."""
    module, _, name = text.partition(":")
    try:
        value = load(module, name)
    except ImportError as error:
        raise SetupError(
            "E0201",
            f"The metric {text} cannot be imported.",
            where="metrics",
            why=shorten(str(error), 200),
            fix=(
                "name a module that Python finds from here, and a metric in it: --metrics"
                " my_metrics:polite"
            ),
        ) from error
    if not isinstance(value, Metric) or not isinstance(value.declaration, Declaration):
        raise SetupError(
            "E0201",
            f"{text} is no metric.",
            where="metrics",
            why=f"it is a {type(value).__name__}",
            fix="put @ragassay.metric above the function",
        )
    return value


def load(module: str, name: str) -> object:
    """What `name` is in an importable module; the current folder is looked in first. Raises
    ImportError, with the reason, whatever importing it raises.
    """
    # As for `python -m`; the installed command has its own folder there, not the current one.
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(import_module(module), name)
    except AttributeError:
        raise ImportError(
            f"{module} has no {name}.{nearest(name, vars(import_module(module)))}"
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise anything at all when it runs, and may exit
        raise ImportError(f"{type(error).__name__}: {error}") from error


def _unknown(text: str, custom: Mapping[str, Metric]) -> SetupError:
    from ragassay.metrics.other_names import called_elsewhere

    name = text.split("(")[0].split("@")[0].strip()
    ours = called_elsewhere(name)
    hint = nearest(name.lower(), (*custom, *catalogue()))
    if ours:
        hint = f" Another tool calls {' and '.join(ours)} so."
    return SetupError(
        "E0201",
        f"No metric is called {shorten(name, 40)!r}.{hint}",
        where="metrics",
        why=shorten(text),
        fix="all are listed by: ragassay metrics",
    )
