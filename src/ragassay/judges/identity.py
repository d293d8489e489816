"""The identity of a judge: what determines its judgments, whichever server answers.

A fingerprint names the server too, since one name on two servers may be two models: a judgment is
only reused where the very same server gave it. What was measured of a judge holds for rubric text,
model and parameters, and a server that moves to another port is no other judge. So certificates and
comparisons go by the identity, which is the fingerprint without the server's address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from ragassay.judges.base import Judge
from ragassay.judges.llm.judge import LLMJudge

SERVER = "base_url"
"""The parameter of a judge that says which server answers."""


def identities(judge: Judge, rubrics: Iterable[str]) -> dict[str, str]:
    """Rubric id -> the identity of the judge with that rubric."""
    anywhere = cast("Judge", _without_server(judge))
    return {rubric: anywhere.fingerprint(rubric) for rubric in rubrics}


def _without_server(value: Any) -> Any:
    """A judge, and the judges that it is made of, as if their servers had no address."""
    if isinstance(value, LLMJudge):
        others = {name: each for name, each in value.parameters.items() if name != SERVER}
        return replace(value, parameters=others)
    if isinstance(value, tuple):
        return tuple(_without_server(each) for each in value)
    if isinstance(value, Mapping):
        return {name: _without_server(each) for name, each in value.items()}
    if not is_dataclass(value) or not hasattr(value, "fingerprint"):
        return value
    # A judge made of others, which holds them in its fields.
    parts = {part.name: getattr(value, part.name) for part in fields(value) if part.init}
    changed = {}
    for name, part in parts.items():
        if isinstance(part, tuple | dict) or _is_judge(part):
            changed[name] = _without_server(part)
    return replace(cast("Any", value), **changed)


def _is_judge(value: object) -> bool:
    return hasattr(value, "fingerprint") and hasattr(value, "groups")
