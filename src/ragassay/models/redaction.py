"""The removal of an API key from what a server says, before anything of it is shown or stored."""

from __future__ import annotations

import math
import re

# Placeholders such as "EMPTY" or "ollama" are words, not secrets.
_LEAST_KEY = 8
# Any number of backslashes (JSON inside JSON doubles them), read once: linear in runs of them.
_ESCAPE = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|/)")


def _decoded(escape: re.Match[str]) -> str:
    code = int(escape[1], 16) if escape[1] else ord("/")
    return chr(code) if 32 <= code < 0xD800 else escape[0]


def _without_key(text: str, key: str) -> str:
    """`text` with "[key]" for the key and for what is left of one cut short, in any case of
    letters.
    """
    least = min(len(key), max(12, math.ceil(len(key) / 2)))
    start = re.compile(re.escape(key[:least]), re.I)
    if start.search(text) is None:
        return text
    text = re.sub(re.escape(key), "[key]", text, flags=re.I)
    parts: list[str] = []
    at = 0
    for match in start.finditer(text):
        end = match.end()
        rest = text[end : match.start() + len(key)]
        for char, key_char in zip(rest, key[least:], strict=False):
            if char.casefold() != key_char.casefold():
                break
            end += 1
        parts += [text[at : match.start()], "[key]"]
        at = end
    return "".join([*parts, text[at:]])


def redact(text: str, key: str | None) -> str:
    """`text` without the key. To be called before anything is cut off: half a key is not
    recognised as one.

    In any case of letters, behind JSON escapes, which whoever reads the text next would decode,
    and cut short by the server to at least 12 characters and half the key.
    """
    if not key or len(key) < _LEAST_KEY:
        return text
    text = _without_key(text, key)
    if "\\" not in text:
        return text
    decoded = _ESCAPE.sub(_decoded, text)
    cleaned = _without_key(decoded, key)
    # Without a key behind the escapes the text is shown as it is written.
    return text if cleaned == decoded else cleaned
