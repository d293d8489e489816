"""What does the URI of a judge that is composed of others say? "panel:A+B+C" or "cascade:CHEAP>EXPENSIVE@CONFIDENCE"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ragassay.core import SetupError, shorten

_FORMS = "panel:offline+openai:MODEL+openai:OTHER, or 'cascade:offline>openai:MODEL@0.85' (in quotes)"


@dataclass(frozen=True, slots=True)
class Composition:
    """A rule and the URIs of its members, in the order given. threshold: of a cascade, in (0, 1]; of a panel None."""

    rule: Literal["panel", "cascade"]
    members: tuple[str, ...]
    threshold: float | None = None


def composition(uri: str) -> Composition | None:
    """What a composed judge's URI says; None for the URI of a single judge. Raises SetupError E0410.

    Members are single judges and differ from each other. A panel has two of them or more, a cascade exactly two and the
    confidence from which the first one's verdict is taken, after the last "@".
    """
    rule, _, rest = uri.strip().partition(":")
    match rule.lower():
        case "panel":
            composed = Composition("panel", _members(uri, rest.split("+")))
        case "cascade":
            pair, at, written = rest.rpartition("@")
            threshold = _number(written)
            if not at or not 0 < threshold <= 1:  # false for NaN as well
                raise _unreadable(uri, "a cascade ends with @ and a confidence above 0, at most 1")
            composed = Composition("cascade", _members(uri, pair.split(">")), threshold)
            if len(composed.members) != 2:
                raise _unreadable(uri, "a cascade has two members, the cheap one > the expensive one")
        case _:
            return None
    return composed


def _members(uri: str, written: list[str]) -> tuple[str, ...]:
    parts = [member.partition(":") for member in written]
    members = tuple(scheme.strip().lower() + colon + name.strip() for scheme, colon, name in parts)
    if len(members) < 2 or not all(members):
        raise _unreadable(uri, "at least two members are needed, and none may be empty")
    if len(set(members)) < len(members):
        raise _unreadable(uri, "a member stands in it twice; its second vote would be a copy of the first")
    for member in members:
        if member.startswith(("panel:", "cascade:", "recorded:")):
            raise _unreadable(uri, f"{shorten(member, 60)} is no single live judge")
    return members


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return math.nan


def _unreadable(uri: str, why: str) -> SetupError:
    return SetupError(
        "E0410", f"The composed judge {shorten(uri, 200)!r} cannot be read.", where="--judge", why=why,
        fix=f"write {_FORMS}",
    )  # fmt: skip
