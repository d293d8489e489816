"""The verbs that questions are made with, in their forms."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("verbs.txt")
_VOWELS = "aeiou"
# Of two or more syllables with the last one stressed, or of one: the last letter is doubled.
_DOUBLED = frozenset({"stop", "plan", "drop", "ship", "ban", "star", "permit", "span", "transmit"})


class Verb(NamedTuple):
    """A verb's base, past and past participle ("write", "wrote", "written")."""

    base: str
    past: str
    participle: str


@cache
def _verbs() -> tuple[Verb, ...]:
    verbs: dict[str, Verb] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        forms = line.split()
        if not forms or line.startswith("#") or forms[0] in verbs:
            continue
        if len(forms) == 3:
            verbs[forms[0]] = Verb(*forms)
        else:
            past = regular_past(forms[0])
            verbs[forms[0]] = Verb(forms[0], past, past)
    return tuple(verbs.values())


def regular_past(base: str) -> str:
    """The past of a regular verb ("open" -> "opened")."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return base + (base[-1] if base in _DOUBLED else "") + "ed"


def third_person(base: str) -> str:
    """The form behind he, she or it ("carry" -> "carries")."""
    if base == "go":
        return "goes"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


@cache
def by_past() -> dict[str, Verb]:
    """Past -> verb. Of two with one past the first of the list is meant ("found" of find has a
    past participle alone).
    """
    return {verb.past: verb for verb in reversed(_verbs())}


@cache
def by_participle() -> dict[str, Verb]:
    """Participle -> verb."""
    return {verb.participle: verb for verb in reversed(_verbs())}


@cache
def by_base() -> dict[str, Verb]:
    """Base -> verb: the present of a plural."""
    return {verb.base: verb for verb in reversed(_verbs())}


@cache
def by_present() -> dict[str, Verb]:
    """Third person of the present -> verb."""
    return {third_person(verb.base): verb for verb in reversed(_verbs())}
