"""The user's own headers of each request: what is sent, and what of it may be stored."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from ragassay.core import SetupError
from ragassay.models.secret_values import (
    NOT_STORED,
    SCHEME,
    decoded_basic,
    is_plain_words,
    is_secret_name,
    looks_secret,
)

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_OF_THE_CONNECTION = frozenset(
    [
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
# Identifiers and lists of features, which have the form of random text.
_HARMLESS = frozenset(
    [
        "anthropic-beta",
        "anthropic-version",
        "http-referer",
        "openai-beta",
        "openai-organization",
        "openai-project",
        "user-agent",
    ]
)


def checked_headers(headers: Sequence[str]) -> tuple[str, ...]:
    """The headers, each "Name: value". Raises SetupError E0101."""
    checked = tuple(map(check_header, headers))
    names: set[str] = set()
    for header in checked:
        name = name_of(header)
        if name.lower() in names:
            raise SetupError(
                "E0101",
                f"The header {name} is given twice.",
                where="--header",
                fix="give each header once; several values of one stand behind a comma",
            )
        names.add(name.lower())
    return checked


def check_header(header: str) -> str:
    """The header "Name: value", if it is one. Raises SetupError E0101."""
    name, colon, value = header.partition(":")
    name, value = name.strip(), value.strip()
    fault = ""
    if not colon:
        fault = "there is no colon between a name and a value"
    elif not _NAME.fullmatch(name):
        fault = "what stands before the colon is no name"
    elif not value:
        fault = f"{name} has no value"
    elif not (value.isprintable() and value.isascii()):
        fault = f"the value of {name} holds characters that no header has"
    if fault:  # The header itself is not shown: it may be a secret.
        raise SetupError(
            "E0101",
            "That is no header of a request.",
            where="--header",
            why=fault,
            fix="give a name and a value, such as --header 'X-Team: search'",
        )
    if name.lower() in _OF_THE_CONNECTION:
        raise SetupError(
            "E0101",
            f"The header {name} belongs to the connection and is RagAssay's own.",
            where="--header",
            fix="leave it out; --base-url names the host",
        )
    return f"{name}: {value}"


def name_of(header: str) -> str:
    return header.partition(":")[0].strip()


def is_secret(header: str) -> bool:
    """Whether a secret stands in the header itself: by its name or by the form of its value. A
    variable is none; text beside it is.
    """
    name, _, value = header.partition(":")
    literal = _literal(value.strip())
    if _VARIABLE.search(value):
        return re.search(r"\w", literal) is not None
    if is_secret_name(name):
        return True
    return name.strip().lower() not in _HARMLESS and looks_secret(value.strip())


def storable(header: str) -> str:
    """The header as a run's manifest keeps it: a secret value is left out."""
    return f"{name_of(header)}: {NOT_STORED}" if is_secret(header) else header


def filled(header: str) -> tuple[str, str]:
    """(name, value) with the variables of the environment in place. Raises SetupError E0101 for one
    that is not set, and for a value that was not stored.
    """
    name, _, value = header.partition(": ")
    if value == NOT_STORED:
        raise SetupError(
            "E0101",
            f"The value of the header {name} is not stored with the run.",
            where="--header",
            fix=f"give it again: --header '{name}: ...'; or '{name}: $VARIABLE', which is stored",
        )

    def text_of(match: re.Match[str]) -> str:
        text = os.environ.get(match[1] or match[2], "")
        if not text:
            raise _not_set(name, value, match[1] or match[2])
        if not (text.isprintable() and text.isascii()):
            raise SetupError(
                "E0101",
                f"The variable of the header {name} holds characters that no header has.",
                where="--header",
                fix="set it again, without line breaks",
            )
        return text

    return name, _VARIABLE.sub(text_of, value)


def secrets_in(header: str) -> Iterator[str]:
    """What is secret in the header as it is sent, and the parts of it that a server may echo
    singly.
    """
    name, value = filled(header)
    written = header.partition(":")[2]
    variables = [match[1] or match[2] for match in _VARIABLE.finditer(written)]
    if not (variables or is_secret(header)):
        return
    if not any(map(is_secret_name, (name, *variables))) and is_plain_words(value):
        return  # as in 'X-Team: $TEAM': judgments may well speak of search
    without_scheme = SCHEME.sub("", value, count=1)
    yield from (value, without_scheme, *(os.environ[variable] for variable in variables))
    yield _literal(written.strip())
    pair = decoded_basic(without_scheme)
    yield from (pair, pair.partition(":")[2])
    for part in re.split(r"[;,\s]+", value):
        inner = part.partition("=")[2]
        # Of "a=b; c=d" each value; not the words of a sentence.
        yield from (part, inner) if inner else ()


def _literal(value: str) -> str:
    """What is written in a value itself: neither "Bearer" nor a variable."""
    return _VARIABLE.sub("", SCHEME.sub("", value, count=1))


def _not_set(name: str, value: str, variable: str) -> SetupError:
    # With text beside it, or in small letters, it may be a part of a secret that holds a "$".
    is_variable = variable.isupper() and not re.search(r"\w", _literal(value))
    source = f"{variable}, which" if is_variable else "a variable that"
    export = (
        f"export {variable}=..."
        if is_variable
        else (
            f"export a variable with the whole value, also one that holds a $, and give --header"
            f" '{name}: $VARIABLE'"
        )
    )
    return SetupError(
        "E0101",
        f"The header {name} takes its value from {source} is not set.",
        where="--header",
        fix=export,
    )
