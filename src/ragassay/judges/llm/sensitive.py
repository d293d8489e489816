"""Secrets and personal data in a text: where they stand, by patterns and checksums alone.

Keys and tokens are found by the patterns of detect-secrets, phone numbers by phonenumbers; both
open no connection. What needs a model to be seen is not found: names of people and postal
addresses.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import ip_address
from types import ModuleType
from typing import Any

from ragassay.core import SetupError

VERSION = 1
"""Raised when other values are found: judgments made under the old ones are then not reused."""

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_SSN = re.compile(r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])")
# Looks ahead, since the words behind one look like a part of it.
_IBAN = re.compile(r"(?<!\w)(?=([A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,30}))")
_WORD_END = re.compile(r"(?<=[A-Za-z0-9])(?![A-Za-z0-9])")
_IBAN_CHARS = range(15, 35)
_CARD = re.compile(r"(?<![\w.,-])\d(?:[ -]?\d){12,18}(?![\w-]|[.,]\d)")
_CARD_BEGINNING = re.compile(r"4|5[1-5]|2[2-7]|3[4-9]|30|6011|65|62")
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_VERSION_BEFORE = re.compile(r"(?:\bv|version|release|section|§)\s?$", re.I)
_LABELLED_PHONE = re.compile(
    r"(?:\b(?:phone|tel|telephone|telefon|fax|mobile|mobil|handy|cell|whatsapp)\b|☎)"
    r"(?:\s?(?:number|nummer|no\.|nr\.|is|:|\.|-)){0,3}\s?(\(?\d(?:[ ()/.-]{0,2}\d){6,14})",
    re.I,
)
# Half of a number in an amount or a date has neither.
_FORMATTED = re.compile(r"[ ().+/-]")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]{0,20000}-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"|[A-Za-z0-9+/=\s]{0,20000})"
)
# A line of one, which a claim or a passage may hold alone.
_KEY_LINE = re.compile(r"(?<![\w+/.:-])[A-Za-z0-9+/]{60,4000}={0,2}(?![\w+/])")
# Those that detect-secrets 1.5 does not know.
_TOKENS = re.compile(
    r"(?<![\w-])(?:sk-[A-Za-z0-9_-]{20,200}|AIza[\w-]{35}|hf_[A-Za-z0-9]{30,50}|gsk_[A-Za-z0-9]{40,60}"
    r"|xai-[A-Za-z0-9]{40,90}|github_pat_\w{40,100}|eyJ[\w-]{10,5000}\.[\w-]{10,5000}\.[\w-]{10,1000})"
)


_ASSIGNED = re.compile(
    r"(?:password|passwd|pwd|passwort|api[_-]?key|access[_-]?key|secret|token)[\"']?\s?[=:]\s?[\"']?"
    r"((?=[^\s\"',;]{0,200}[0-9])(?=[^\s\"',;]{0,200}[A-Za-z])[^\s\"',;]{6,200})",
    re.I,
)
# Some patterns take the square of the text's length; no token is as long as the overlap.
_WINDOW, _OVERLAP = 20_000, 4_000


@dataclass(frozen=True, slots=True)
class Found:
    """A value in a text. start, end: offsets in characters, end exclusive. kind: in capitals, as
    its placeholder shows it.
    """

    start: int
    end: int
    kind: str


@lru_cache(maxsize=512)
def find(text: str) -> tuple[Found, ...]:
    """What is secret or personal in the text, in order, without overlaps; where two overlap, the
    one that begins first stands, and of these the longer one.
    """
    found = sorted(_all(text), key=lambda each: (each.start, -each.end))
    kept: list[Found] = []
    for each in found:
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return tuple(kept)


def check_installed() -> None:
    """Raise SetupError E0416 where the packages of the extra are not installed."""
    _secret_patterns()
    _phones()


def _all(text: str) -> Iterator[Found]:
    for kind, pattern, is_real in _KINDS:
        for match in pattern.finditer(text):
            if is_real(match):
                yield Found(*match.span(), kind)
    yield from _ibans(text)
    for match in _ASSIGNED.finditer(text):
        yield Found(*match.span(1), "SECRET")
    for at in range(0, len(text), _WINDOW - _OVERLAP):
        yield from _secrets(text, at, min(len(text), at + _WINDOW))
    if any(map(str.isdigit, text)):
        yield from _phone_numbers(text)


def _secrets(text: str, start: int, end: int) -> Iterator[Found]:
    for pattern in (_TOKENS, *_secret_patterns()):
        for match in pattern.finditer(text, start, end):
            yield Found(*_stripped(match), "SECRET")


def _stripped(match: re.Match[str]) -> tuple[int, int]:
    """The span without the space or quote that a pattern asks for around a token."""
    value = match[0]
    start = match.start() + len(value) - len(value.lstrip(" \t\r\n\"'=:"))
    return start, match.end() - (len(value) - len(value.rstrip(" \t\r\n\"'")))


def _phone_numbers(text: str) -> Iterator[Found]:
    for match in _LABELLED_PHONE.finditer(text):
        yield Found(*match.span(1), "PHONE")
    matcher = _phones().PhoneNumberMatcher
    # National forms are those of North America; elsewhere they look like any other number.
    for match in matcher(text, "US"):
        if _FORMATTED.search(match.raw_string):
            yield Found(match.start, match.end, "PHONE")


def _ibans(text: str) -> Iterator[Found]:
    for match in _IBAN.finditer(text):
        start, most = match.span(1)
        ends = [at.start() for at in _WORD_END.finditer(text, start, most + 1)]
        real = [end for end in ends if end <= most and _is_iban(text[start:end])]
        if real:
            yield Found(start, real[-1], "IBAN")


def _is_iban(value: str) -> bool:
    """Whether the value has the length and the checksum of one (ISO 13616, mod 97)."""
    chars = value.replace(" ", "").upper()
    if len(chars) not in _IBAN_CHARS:
        return False
    number = "".join(str(int(char, 36)) for char in chars[4:] + chars[:4])
    return int(number) % 97 == 1


def _is_card(match: re.Match[str]) -> bool:
    """Whether the digits begin as a card's do and have its checksum (ISO/IEC 7812-1, Luhn)."""
    digits = [int(char) for char in match[0] if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    is_sum_right = (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
    return is_sum_right and _CARD_BEGINNING.match("".join(map(str, digits))) is not None


def _is_address(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 12) : match.start()]
    if _VERSION_BEFORE.search(before):
        return False
    try:
        ip_address(match[0])
    except ValueError:
        return False
    return any(map(str.isdigit, match[0]))


def _is_mixed(match: re.Match[str]) -> bool:
    """Whether capitals, small letters and digits stand in it: not in a hash or a sequence."""
    signs = (str.isupper, str.islower, str.isdigit)
    return all(any(map(sign, match[0])) for sign in signs)


def _always(match: re.Match[str]) -> bool:
    return True


_KINDS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], bool]], ...] = (
    ("EMAIL", _EMAIL, _always),
    ("SSN", _SSN, _always),
    ("CARD", _CARD, _is_card),
    ("IP", _IPV4, _is_address),
    ("IP", _IPV6, _is_address),
    ("SECRET", _PRIVATE_KEY, _always),
    ("SECRET", _KEY_LINE, _is_mixed),
)


@cache
def _secret_patterns() -> tuple[re.Pattern[str], ...]:
    """The patterns of detect-secrets that say by themselves what a secret looks like. Not those
    that measure the randomness of a word or look for a keyword: in prose these hit plain words.
    """
    plugins = _imported("detect_secrets.plugins")
    base: Any = _imported("detect_secrets.plugins.base").RegexBasedDetector
    patterns: dict[re.Pattern[str], None] = {}
    for module in pkgutil.iter_modules(plugins.__path__):
        if module.name in ("base", "keyword", "high_entropy_strings", "ip_public"):
            continue
        for value in vars(_imported(f"{plugins.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, base) and value is not base:
                plugin: Any = value
                patterns |= dict.fromkeys(plugin.denylist)
    return tuple(patterns)


@cache
def _phones() -> ModuleType:
    return _imported("phonenumbers")


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SetupError(
            "E0416",
            "--redact finds secrets and personal data with packages that are not installed.",
            where="--redact",
            why=str(error),
            fix="pip install 'ragassay[redact]', or leave --redact out",
        ) from None
