"""The arguments of MLflow's judges, as fields of a row and options.

Its judges are functions of one row: `is_safe(content=...)`, `meets_guidelines(guidelines=...,
context={"response": ...})`, and Agent Evaluation's `guideline_adherence(request=...,
guidelines=..., guidelines_context={...})`. The names of columns (`request`, `retrieved_context`)
are in `names`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ragassay.core import SetupError
from ragassay.datasets.names import ALIASES

_RENAMED = {"extra_headers": "headers", "model": "judge"}
_RENAMED_OF = {"safety": {"content": "response"}}
"""Metric -> what its judge alone calls otherwise."""
_TITLES = ("name", "assessment_name")


class JudgeArguments(NamedTuple):
    """arguments: under our names. title: what the caller calls the result, "" for nothing."""

    arguments: dict[str, Any]
    title: str


def read_arguments(given: Mapping[str, Any], *, metric: str) -> JudgeArguments:
    """The arguments of a judge of MLflow; those of ours stay as they are.

    metric: its name without parameters. The context of guidelines is a mapping of whatever they are
    about. Raises SetupError E0101 where two arguments say the same.
    """
    arguments = {name: value for name, value in given.items() if name not in _TITLES}
    titles = [given[name] for name in _TITLES if given.get(name)]
    for theirs, ours in (_RENAMED | _RENAMED_OF.get(metric, {})).items():
        if theirs not in arguments:
            continue
        value = arguments.pop(theirs)
        if value is None:
            continue
        if arguments.get(ours) is not None:
            raise SetupError(
                "E0101",
                f"{theirs} and {ours} say the same.",
                where="ragassay.judge",
                fix="leave one of them out",
            )
        arguments[ours] = _judge_uri(value) if theirs == "model" else value
    if metric == "guidelines":
        arguments = _with_context(arguments)
    return JudgeArguments(arguments, str(titles[0]) if titles else "")


def _judge_uri(model: object) -> object:
    """ "openai:/gpt-4.1-mini" as "openai:gpt-4.1-mini"."""
    return model.replace(":/", ":", 1) if isinstance(model, str) else model


def _with_context(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with what guidelines are about in the question and the response, which is where
    their judge looks: entries of the context that are neither stand below the question. Without a
    response they are what is judged.
    """
    found = dict(arguments)
    context = found.pop("guidelines_context", None)
    if isinstance(found.get("context"), Mapping):
        context = {**found.pop("context"), **(context or {})}
    guidelines = found.get("guidelines")
    if isinstance(guidelines, str):
        found["guidelines"] = [guidelines]
    elif isinstance(guidelines, Mapping):
        # Named ones, each with its list: the parts of the score are the single guidelines.
        found["guidelines"] = list(_flat(guidelines.values()))
    if not isinstance(context, Mapping):
        return found
    others = dict(context)
    for field in ("question", "response"):
        for name in (field, *ALIASES[field]):
            if name in others:
                found.setdefault(field, _text(others.pop(name)))
                break
    told = "\n".join(f"{name}: {_text(value)}" for name, value in others.items())
    if not told:
        return found
    asked = _asked(found)
    if found.get("response") is None:
        found["response"] = told
    else:
        question = _text(found.pop(asked)) if asked else ""
        found["question"] = f"{question}\n\n{told}".strip()
    return found


def _asked(arguments: Mapping[str, Any]) -> str:
    """The name under which the question is given, "" where it is not."""
    names = ("question", *ALIASES["question"])
    return next((name for name in names if arguments.get(name) is not None), "")


def _flat(values: Iterable[object]) -> Iterable[object]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
