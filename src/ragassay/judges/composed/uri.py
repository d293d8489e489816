"""The URIs of judges that are composed of others.

"panel:A+B+C", "cascade:CHEAP>EXPENSIVE@CONFIDENCE" or "checked:MAIN>CHECK@CONFIDENCE".
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import Literal

from ragassay.core import SetupError, shorten

CONFIDENCE = "0.9"
"""Of a cascade or checked judge that names none: of calibrated probabilities, nine of ten such
verdicts are right.
"""
_FORMS = (
    "panel:offline+openai:MODEL+openai:OTHER, 'cascade:offline>openai:MODEL@0.85' or"
    " 'checked:openai:MODEL>offline@0.9' (in quotes)"
)


@dataclass(frozen=True, slots=True)
class Composition:
    """A rule and the URIs of its members, in the order given. threshold: in (0, 1]; of a panel
    None.
    """

    rule: Literal["panel", "cascade", "checked"]
    members: tuple[str, ...]
    threshold: float | None = None


def composition(uri: str) -> Composition | None:
    """What a composed judge's URI says; None for the URI of a single judge. Raises SetupError
    E0410.

    Members are single judges and differ from each other. A panel has two of them or more. The
    others have exactly two, with ">" or a comma between them, and after the last "@" a confidence
    (left out: CONFIDENCE): from which the first one's verdict is taken (cascade), or from which the
    second one's disputes it (checked).
    """
    rule, _, rest = uri.strip().partition(":")
    match rule.lower():
        case "panel":
            composed = Composition("panel", _members(uri, rest.split("+")))
        case "cascade" | "checked" as kind:
            pair, written = rest.rsplit("@", 1) if "@" in rest else (rest, CONFIDENCE)
            threshold = _number(written)
            if not 0 < threshold <= 1:  # false for NaN as well
                raise _unreadable(
                    uri, f"after the @ of a {kind} judge stands a confidence above 0, at most 1"
                )
            composed = Composition(
                kind, _members(uri, pair.split(">" if ">" in pair else ",")), threshold
            )
            if len(composed.members) != 2:
                raise _unreadable(uri, f"a {kind} judge has two members, one > the other")
        case _:
            return None
    return composed


def with_absolute_folders(uri: str) -> str:
    """The judge's URI with the folders of local models as absolute paths, so that a resume in
    another folder and a worker on another machine find them.

    A name that is no folder here stays, and a URI that cannot be read. A path stays relative where
    its full form would hold a mark of composed URIs.
    """
    rule, colon, rest = uri.partition(":")
    if rule.strip().lower() == "local":
        return f"local:{_absolute(rest.strip())}"
    if rule.strip().lower() not in ("panel", "cascade", "checked"):
        return uri
    parts = re.split(r"([+>,])", rest)
    for place, part in enumerate(parts):
        scheme, mark, name = part.partition(":")
        if mark and scheme.strip().lower() == "local":
            parts[place] = f"local:{_absolute(name)}"
    return rule + colon + "".join(parts)


def _absolute(name: str) -> str:
    """A local model's folder as an absolute path, where it is one; settings behind it stay."""
    folder, mark, rest = name.partition("?")
    path = os.path.expanduser(folder.strip())
    if not os.path.isdir(path):
        # The confidence of a cascade or a revision of the hub.
        folder, at, behind = folder.rpartition("@")
        if not at or not os.path.isdir(os.path.expanduser(folder.strip())):
            return name
        path, rest, mark = os.path.expanduser(folder.strip()), f"{at}{behind}{mark}{rest}", ""
    full = os.path.abspath(path)
    return name if set(full) & set("+>,") else full + mark + rest


def _members(uri: str, written: list[str]) -> tuple[str, ...]:
    parts = [member.partition(":") for member in written]
    members = tuple(scheme.strip().lower() + colon + name.strip() for scheme, colon, name in parts)
    if len(members) < 2 or not all(members):
        raise _unreadable(uri, "at least two members are needed, and none may be empty")
    if len(set(members)) < len(members):
        raise _unreadable(
            uri, "a member stands in it twice; its second vote would be a copy of the first"
        )
    for member in members:
        if member.startswith(("panel:", "cascade:", "checked:", "recorded:")):
            raise _unreadable(uri, f"{shorten(member, 60)} is no single live judge")
    return members


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return math.nan


def _unreadable(uri: str, why: str) -> SetupError:
    return SetupError(
        "E0410",
        f"The composed judge {shorten(uri, 200)!r} cannot be read.",
        where="--judge",
        why=why,
        fix=f"write {_FORMS}",
    )
