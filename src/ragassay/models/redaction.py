"""The removal of keys and passwords from what a server says, before any of it is shown or kept."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

# Placeholders such as "EMPTY" or "ollama" are words, not secrets.
_LEAST_KEY = 8
_LEAST_MIXED = 6  # with a digit among other signs, as in a short password
# Any number of backslashes (JSON inside JSON doubles them), read once: linear in runs of them.
_ESCAPE = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|/)")


def _decoded(escape: re.Match[str]) -> str:
    code = int(escape[1], 16) if escape[1] else ord("/")
    return chr(code) if 32 <= code < 0xD800 else escape[0]


def _without(text: str, secrets: Sequence[str]) -> str:
    """`text` with "[key]" for the secrets and for what is left of one cut short, in any case of
    letters.
    """
    present = [secret for secret in secrets if _beginning(secret).search(text)]
    # All whole ones first: where two begin alike, the rest of one would stay behind the other.
    for secret in present:
        text = re.sub(re.escape(secret), "[key]", text, flags=re.I)
    for secret in present:
        text = _without_cut(text, secret)
    return text


def _least(secret: str) -> int:
    """How much of a secret is recognised as one."""
    return min(len(secret), max(12, math.ceil(len(secret) / 2)))


def _beginning(secret: str) -> re.Pattern[str]:
    return re.compile(re.escape(secret[: _least(secret)]), re.I)


def _without_cut(text: str, key: str) -> str:
    """`text` with "[key]" for each beginning of the key."""
    parts: list[str] = []
    at = 0
    for match in _beginning(key).finditer(text):
        end = match.end()
        rest = text[end : match.start() + len(key)]
        for char, key_char in zip(rest, key[_least(key) :], strict=False):
            if char.casefold() != key_char.casefold():
                break
            end += 1
        parts += [text[at : match.start()], "[key]"]
        at = end
    return "".join([*parts, text[at:]])


def hidden(secrets: Iterable[str]) -> tuple[str, ...]:
    """The secrets that `redact` looks for, the longest first, also as they stand in an address and
    in JSON. Left out are short ones that may well be words.
    """
    found: set[str] = set()
    for secret in secrets:
        mixed = len(secret) >= _LEAST_MIXED and re.search(r"\d", secret) and not secret.isdecimal()
        if len(secret) >= _LEAST_KEY or mixed:
            found |= {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}
    return tuple(sorted(found, key=lambda secret: (-len(secret), secret)))


def redact(text: str, secrets: Sequence[str]) -> str:
    """`text` without these secrets; see `hidden`. To be called before anything is cut off: half a
    key is not recognised as one.

    In any case of letters, behind JSON escapes, which whoever reads the text next would decode,
    and cut short by the server to at least 12 characters and half the key.
    """
    text = _without(text, secrets)
    if "\\" not in text:
        return text
    decoded = _ESCAPE.sub(_decoded, text)
    cleaned = _without(decoded, secrets)
    # Without a key behind the escapes the text is shown as it is written.
    return text if cleaned == decoded else cleaned
