"""The sample of what arrives: which rows are judged, each with a known chance.

Every session has a number in [0, 1), a hash of it and the seed; a row is in the sample where its
chance is above that number. So rows of one session with the same chance are in the sample together
or not at all, the same rows are chosen whenever they are looked at again, and the chance of every
row is known. Suspicious rows have a larger chance, and are weighted down by it in every rate.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragassay.core import Context
from ragassay.store.watches import LONE, NAMED

_SPAN = float(1 << 64)
_FEW_SHARED = 0.2
"""A response shares so few of its words with the passages that it may not be grounded in them."""
_LEAST_WORDS = 5
_MOST_CHARACTERS = 20_000
_WORD = re.compile(r"\w+")


def session_key(session: object, trace: bytes, number: int) -> bytes:
    """The hash by which a session is known; of a row that names none its own."""
    if session is None or session == "":
        named, told = LONE, trace + number.to_bytes(8, "big")
    else:
        named, told = NAMED, str(session).encode("utf-8", "replace")
    return named + hashlib.blake2b(told, digest_size=12).digest()


def place(session: bytes, seed: int, purpose: str) -> float:
    """The number in [0, 1) of a session for a purpose; independent between purposes."""
    told = b"%d/%s/" % (seed, purpose.encode()) + session
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "big") / _SPAN


def chance_of(sample: float, factor: float, suspicious: bool) -> float:
    """The chance of a row of being in the sample."""
    return min(1.0, sample * factor) if suspicious else sample


def suspicion(
    row: Mapping[str, Any], contexts: Sequence[Context] | None, rated_bad: bool = False
) -> str:
    """Why a row is suspicious without a judge, "" where it is not. contexts: what was retrieved for
    it, None where that is not known. rated_bad: a user said so.
    """
    if row.get("error"):
        return "error"
    response = row.get("response")
    if not isinstance(response, str) or not response.strip():
        return "no response"
    if rated_bad:
        return "rated bad"
    if contexts is None:
        return ""
    if not contexts:
        return "nothing retrieved"
    words = _words(response)
    if len(words) < _LEAST_WORDS:
        return ""
    retrieved: set[str] = set()
    for context in contexts:
        retrieved |= _words(context.text)
    return "shares few words" if len(words & retrieved) < _FEW_SHARED * len(words) else ""


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text[:_MOST_CHARACTERS].lower()))
