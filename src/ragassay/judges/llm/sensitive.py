"""Secrets and personal data in a text: where they stand, by patterns and checksums alone.

Keys and tokens are found by the patterns of detect-secrets, phone numbers by phonenumbers; both
open no connection. What needs a model to be seen is not found: names of people and postal
addresses.
"""

from __future__ import annotations

import base64
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

VERSION = 2
"""Raised when other values are found: judgments made under the old ones are then not reused."""

# Signs that nobody sees, by which an address is cut in two for a pattern.
_UNSEEN = "\u00ad\u200b-\u200d\u2060\ufeff"
_DOMAIN = (
    rf"(?:[\w{_UNSEEN}-]{{1,63}}(?:[.\uff0e]|\s?[(\[{{]\s?dot\s?[)\]}}]\s?)){{1,8}}"
    r"(?:[^\W\d_]{2,24}|xn--[A-Za-z0-9-]{2,59})(?![\w-])"
)
_EMAIL = re.compile(
    rf"(?:(?<![\w.+%{_UNSEEN}-])[\w.+%-](?:[\w.+%&'{_UNSEEN}-]{{0,62}}[\w.+%{_UNSEEN}-])?"
    r"|\"[\w.+-][\w.+ -]{0,62}\")"
    rf"(?:[@\uff20\ufe6b]|\s?[(\[{{]\s?at\s?[)\]}}]\s?)[{_UNSEEN}]{{0,3}}{_DOMAIN}",
    re.I,
)
_SSN = re.compile(r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])")
_LABELLED_SSN = re.compile(
    r"\b(?:ssn|social security (?:number|no\.?))\b(?:\s?(?:is|:|=|#|-)){0,2}\s?"
    r"((?!000|666|9)\d{3}[ -]?(?!00)\d{2}[ -]?(?!0000)\d{4})(?!\d)",
    re.I,
)
_SPACES = " \u00a0\u2007\u2009\u202f"
# Looks ahead, since the words behind one look like a part of it.
_IBAN = re.compile(rf"(?<!\w)(?=([A-Za-z]{{2}}\d{{2}}(?:[{_SPACES}.-]?[A-Za-z0-9]){{11,30}}))")
_WORD_END = re.compile(r"(?<=[A-Za-z0-9])(?![A-Za-z0-9])")
_CARD = re.compile(rf"(?<![\w.,-])\d(?:[{_SPACES}-]?\d){{12,18}}(?![\w-]|[.,]\d)")
# Dots stand in amounts too; groups of four digits do not.
_DOTTED_CARD = re.compile(
    r"(?<![\w.,-])\d{4}\.(?:\d{4}\.\d{4}\.\d{1,7}|\d{6}\.\d{4,5})(?![\w-]|[.,]\d)"
)
_CARD_BEGINNING = re.compile(r"4|5[1-5]|2[2-7]|3[4-9]|30|6011|65|62")
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_VERSION_BEFORE = re.compile(r"(?:\bv|version|release|section|§)\s?$", re.I)
_LABELLED_PHONE = re.compile(
    r"(?:\b(?:phone|tel|telephone|telefon|fax|mobile|mobil|handy|cell|whatsapp)\b|☎"
    r"|\b(?:call|ring|text|reach) (?:me|us|him|her|them) (?:at|on|under)\b"
    r"|\bruf(?:en sie)? (?:mich|uns) an\b)"
    r"(?:\s?(?:number|nummer|no\.|nr\.|is|:|\.|-)){0,3}\s?(\(?\d(?:[ ()/.-]{0,2}\d){6,14})",
    re.I,
)
_PHONE_00 = re.compile(r"(?<![\w.,/+-])00(?=[1-9])((?:[ \u00a0()/.-]{0,2}\d){8,15})(?!\w|[.,]\d)")
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


_VALUE = (
    r"((?=[^\s\"']{0,200}[0-9])(?=[^\s\"']{0,200}[A-Za-z])"
    r"(?:(?![,;&]\s{0,3}\w{1,40}\s{0,3}[=:])[^\s\"']){6,200})"
)
"""A value with letters and digits, up to a space, a quote, or the name of another value."""
_PASSWORDS = r"password|passwd|pwd|passwort|kennwort|passphrase|pass[_-]?phrase"
_ASSIGNED = re.compile(
    rf"(?:{_PASSWORDS}|api[_ -]?key|access[_-]?key|secret|token)"
    rf"[\"']?(?:\s|[ \t]{{2,3}})?(?:[=:]|->|=>)(?:\s|[ \t]{{2,3}})?[\"']?{_VALUE}",
    re.I,
)
# Behind a verb stands prose as well: "the password is SHA256-hashed".
_STATED = re.compile(
    rf"\b(?:{_PASSWORDS}|api[_ -]?key)\s(?:is|was|ist|lautet|war):?\s[\"']?"
    rf"(?!\S{{0,6}}(?:sha|md5|base|aes|rsa|utf|bcrypt|argon|pbkdf|oauth|\d+-?(?:bit|char|digit)))"
    rf"{_VALUE}",
    re.I,
)
_AUTHORIZATION = re.compile(
    r"(?:\bAuthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:Bearer|Basic|Token|ApiKey)\s{1,3})?"
    r"|\bBearer\s(?=[\w.~+/=-]{0,200}[0-9]))([\w.~+/=-]{8,4000})",
    re.I,
)
_BASIC = re.compile(r"\bBasic\s([A-Za-z0-9+/]{8,400}={0,2})(?![A-Za-z0-9+/=])")
# A secret key of AWS has neither a name nor a mark.
_AWS_SECRET = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9+/]{40}(?![\w+/=])")
_TURN = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")
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
    yield from _labelled(text)
    for at in range(0, len(text), _WINDOW - _OVERLAP):
        yield from _secrets(text, at, min(len(text), at + _WINDOW))
    if any(map(str.isdigit, text)):
        yield from _phone_numbers(text)


def _labelled(text: str) -> Iterator[Found]:
    """What is known by the word before it."""
    for match in _LABELLED_SSN.finditer(text):
        yield Found(*match.span(1), "SSN")
    for pattern in (_ASSIGNED, _STATED, _AUTHORIZATION):
        for match in pattern.finditer(text):
            # The end of the sentence is none of the value.
            value = match[1].rstrip(",;.:!?)")
            yield Found(match.start(1), match.start(1) + len(value), "SECRET")
    for match in _BASIC.finditer(text):
        if _is_user_and_password(match[1]):
            yield Found(*match.span(1), "SECRET")


def _is_user_and_password(value: str) -> bool:
    """Whether it is base64 of "user:password"."""
    try:
        return ":" in base64.b64decode(value, validate=True).decode()
    except ValueError:
        return False


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
    for match in _PHONE_00.finditer(text):
        if _is_number_abroad(match[1]):
            yield Found(*match.span(), "PHONE")
    matcher = _phones().PhoneNumberMatcher
    # National forms are those of North America; elsewhere they look like any other number.
    for match in matcher(text, "US"):
        if _FORMATTED.search(match.raw_string):
            yield Found(match.start, match.end, "PHONE")


def _is_number_abroad(digits: str) -> bool:
    """Whether the digits behind a "00" are a country's code and a number that it has."""
    phones = _phones()
    try:
        return bool(phones.is_valid_number(phones.parse(f"+{digits}")))
    except phones.NumberParseException:
        return False


def _ibans(text: str) -> Iterator[Found]:
    for match in _IBAN.finditer(text):
        start, most = match.span(1)
        ends = [at.start() for at in _WORD_END.finditer(text, start, most + 1)]
        real = [end for end in ends if end <= most and _is_iban(text[start:end])]
        if real:
            yield Found(start, real[-1], "IBAN")


def _is_iban(value: str) -> bool:
    """Whether the value has its country's length and the checksum (ISO 13616, mod 97)."""
    chars = re.sub(rf"[{_SPACES}.-]", "", value).upper()
    if len(chars) != _IBAN_CHARS.get(chars[:2]):
        return False
    number = "".join(str(int(char, 36)) for char in chars[4:] + chars[:4])
    return int(number) % 97 == 1


_IBANS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 "
    "DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 "
    "HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 "
    "MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 "
    "RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 "
    "VA22 VG24 XK20 YE30 "
)
"""Countries and the length of an IBAN there."""
_IBAN_CHARS = {word[:2]: int(word[2:]) for word in _IBANS.split()}


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


def _is_random(match: re.Match[str]) -> bool:
    """Whether capitals, small letters and digits take turns as in no name or path."""
    return _is_mixed(match) and len(_TURN.findall(match[0])) >= 10


def _always(match: re.Match[str]) -> bool:
    return True


_KINDS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], bool]], ...] = (
    ("EMAIL", _EMAIL, _always),
    ("SSN", _SSN, _always),
    ("CARD", _CARD, _is_card),
    ("CARD", _DOTTED_CARD, _is_card),
    ("IP", _IPV4, _is_address),
    ("IP", _IPV6, _is_address),
    ("SECRET", _PRIVATE_KEY, _always),
    ("SECRET", _KEY_LINE, _is_mixed),
    ("SECRET", _AWS_SECRET, _is_random),
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
