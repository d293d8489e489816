"""What is secret among the values that a user gives: by its name, or by its form."""

from __future__ import annotations

import base64
import binascii
import re

NOT_STORED = "(not stored)"
"""What a run's manifest holds in place of a secret."""

_IN_NAME = re.compile(
    r"auth|key|token|secret|cookie|passw|passphrase|credential|signature|bearer|session|jwt|login"
    r"|csrf|xsrf",
    re.I,
)
_NAME_WORDS = frozenset(
    ["pass", "pw", "pwd", "pin", "otp", "sid", "sig", "sas", "psk", "mac", "hmac", "cred", "creds"]
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# Fields of requests that are about the tokens of a text, or name an entry of a cache.
_OF_TEXTS = re.compile(
    r"(?:stop|eos|bos|pad|special|end|start|cache|max|min|thinking|reasoning)_?(?:tokens?|key)"
    r"|tokens?_(?:ids?|limit|budget|healing)|tokeni[sz]",
    re.I,
)
SCHEME = re.compile(r"^(?:bearer|basic|digest|negotiate|token|api-?key)\s+", re.I)
"""How the value of an Authorization header begins."""
_FORMS = re.compile(
    r"^(?:bearer|basic|negotiate|token|api-?key)\s+\S{6,}$"
    r"|eyJ[\w-]{10,}"
    r"|\b(?:sk|pk|rk)[-_][\w-]{8,}|\bgh[oprsu]_\w{16,}|\bgithub_pat_\w+|\bglpat-[\w-]{16,}"
    r"|\bxox[a-z]-[\w-]{10,}|\bA[KS]IA[A-Z0-9]{16}\b|\bhf_\w{16,}|\bgsk_\w{16,}|\bAIza[\w-]{30,}"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    re.I,
)
# A password as people make one: letters, digits and a sign.
_PASSWORD = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])(?=.*[!@#%^&])[^\s/=;,]{8,200}")
_RUN = re.compile(r"[A-Za-z0-9+/_=-]{16,}")
_MIXED = re.compile(r"(?=[0-9]*[A-Za-z])(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,}")
_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")
_WORDS_ONLY = re.compile(r"[A-Za-z]+(?:[ ._-][A-Za-z]+)*")


def is_secret_name(name: str) -> bool:
    """Whether what has this name is mostly a secret."""
    rest = _OF_TEXTS.sub("", name)
    words = {word.lower() for word in _WORD.findall(rest)}
    return _IN_NAME.search(rest) is not None or not words.isdisjoint(_NAME_WORDS)


def looks_secret(value: str) -> bool:
    """Whether it has the form of a key or a token, whatever its name: that of a known kind, or that
    of long random text.
    """
    if _FORMS.search(value) or _MIXED.search(value) or _PASSWORD.fullmatch(value):
        return True
    # Letters of both cases and digits take turns in what is random, and seldom in names.
    return any(10 * len(_CHANGE.findall(run[0])) >= 3 * len(run[0]) for run in _RUN.finditer(value))


def is_plain_words(value: str) -> bool:
    """Whether it is one word or a few, without a digit or a sign."""
    return _WORDS_ONLY.fullmatch(value) is not None


def decoded_basic(value: str) -> str:
    """The user:password behind its base64; "" where it is none."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def shown_address(text: str) -> str:
    """An address that may be none, as far as it is no secret: without user name, password, query
    and fragment, and with "..." for what looks like a key.
    """
    text = text.strip()
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text)
    start = scheme[0] if scheme else ""
    rest = text[len(start) :]
    head = re.split(r"[?#]", rest, maxsplit=1)[0]
    if rest.rfind("@") > len(head):  # a password that holds a ? or a #, or a query with an @
        return start + "..."
    host = head.rpartition("@")[2]
    parts = ["..." if looks_secret(part) else part for part in host.split("/")]
    shown = start + "/".join(parts)
    return shown if len(shown) <= 80 else shown[:77] + "..."
