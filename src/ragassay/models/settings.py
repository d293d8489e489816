"""The user's own settings of a chat model: what is sent with each call, and by which way."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson
from yarl import URL

from ragassay.core import SetupError, shorten

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

_OURS = frozenset({"model", "messages", "contents", "stream", "n", "system", "prompt", "input"})
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SECRET = re.compile(r"auth|key|token|secret|cookie|password|credential|signature", re.I)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
NOT_STORED = "(not stored)"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings. max_tokens: of a reply, thinking included; None: learnt. extra_body: fields of
    the request. headers: (name, value); "$NAME" in a value is that variable's. proxy: the address
    of a proxy, None: as the environment says. ca: a file of certificates to trust.
    """

    max_tokens: int | None = None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    proxy: str | None = None
    ca: str | None = None

    def parameters(self) -> dict[str, object]:
        """Those that may change an answer, for the judge's fingerprint; none that has its default,
        so that a judge without settings is who it was.
        """
        chosen: dict[str, object] = {
            "max_tokens": self.max_tokens,
            "reasoning_effort": self.reasoning_effort,
            "extra_body": dict(self.extra_body),
            "headers": [header for header in self.headers if not is_secret(header)],
        }
        return {name: value for name, value in chosen.items() if value not in (None, {}, [])}

    def header_values(self) -> dict[str, str]:
        """The headers as they are sent. Raises SetupError E0101 for a variable that is not set."""
        return dict(map(_filled, self.headers))


def checked_settings(
    *,
    max_tokens: int | None,
    reasoning_effort: str | None,
    extra_body: str | None,
    headers: Sequence[str],
    proxy: str | None,
    ca: str | None,
) -> ModelSettings:
    """The settings of these options. Raises SetupError E0101."""
    if reasoning_effort is not None and reasoning_effort not in EFFORTS:
        raise SetupError(
            "E0101",
            f"No reasoning effort is called {shorten(reasoning_effort, 40)!r}.",
            where="--reasoning-effort",
            fix=f"give one of {', '.join(EFFORTS)}; what a model has no word for it refuses",
        )
    return ModelSettings(
        max_tokens=max_tokens,
        reasoning_effort=reasoning_effort,
        extra_body={} if extra_body is None else parse_extra_body(extra_body),
        headers=tuple(map(check_header, headers)),
        proxy=None if proxy is None else check_proxy(proxy),
        ca=None if ca is None else check_ca(ca),
    )


def parse_extra_body(text: str | Mapping[str, object]) -> dict[str, object]:
    """The fields of `--extra-body`, a JSON object. Raises SetupError E0101."""
    where = "--extra-body"
    if isinstance(text, str):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise SetupError(
                "E0101",
                "The extra fields of the request are no JSON.",
                where=where,
                why=f"{error.msg} at character {error.pos}: {shorten(text, 80)}",
                fix="""give an object, such as --extra-body '{"top_p": 0.9}'""",
            ) from None
    else:
        value = dict(text)
    if not isinstance(value, dict):
        raise SetupError(
            "E0101",
            "The extra fields of the request are no JSON object.",
            where=where,
            why=shorten(str(text), 80),
            fix="""give an object, such as --extra-body '{"top_p": 0.9}'""",
        )
    for name in value:
        if name in _OURS:
            raise SetupError(
                "E0101",
                f"The field {name!r} of the request is RagAssay's own.",
                where=where,
                fix="leave it out; --judge names the model",
            )
    return value


def check_header(header: str) -> str:
    """The header "Name: value", if it is one. Raises SetupError E0101."""
    name, colon, value = header.partition(":")
    is_text = value.isprintable() and value.isascii()
    if not (colon and _NAME.fullmatch(name.strip()) and is_text and value.strip()):
        shown = name.strip() if colon else shorten(header, 40)
        raise SetupError(
            "E0101",
            "That is no header of a request.",
            where="--header",
            why=shown,
            fix="give a name and a value, such as --header 'X-Team: search'",
        )
    return f"{name.strip()}: {value.strip()}"


def is_secret(header: str) -> bool:
    """Whether a header's value is a secret by its name, and stands there itself."""
    name, _, value = header.partition(":")
    return _SECRET.search(name) is not None and _VARIABLE.search(value) is None


def storable(header: str) -> str:
    """The header as a run's manifest keeps it: a secret value is left out."""
    return f"{header.partition(':')[0]}: {NOT_STORED}" if is_secret(header) else header


def without_password(proxy: str) -> str:
    """The address of a proxy as a run's manifest keeps it."""
    try:
        return str(URL(proxy).with_user(None))
    except ValueError:
        return ""


def _filled(header: str) -> tuple[str, str]:
    """(name, value) with the variables of the environment in place."""
    name, _, value = header.partition(": ")
    if value == NOT_STORED:
        raise SetupError(
            "E0101",
            f"The value of the header {name} is not stored with the run.",
            where="--header",
            fix=f"give it again: --header '{name}: ...'; or '{name}: $VARIABLE', which is stored",
        )

    def variable(match: re.Match[str]) -> str:
        variable_name = match[1] or match[2]
        text = os.environ.get(variable_name, "")
        if not text:
            raise SetupError(
                "E0101",
                f"The header {name} takes its value from {variable_name}, which is not set.",
                where="--header",
                fix=f"export {variable_name}=...",
            )
        return text

    return name, _VARIABLE.sub(variable, value)


def check_proxy(text: str) -> str:
    """The address of a proxy. Raises SetupError E0101."""
    try:
        url = URL(text.strip())
        is_proxy = url.scheme in ("http", "https") and bool(url.host)
    except ValueError:
        is_proxy = False
    if not is_proxy:
        socks = text.strip().lower().startswith("socks")
        why = "SOCKS is not spoken" if socks else shorten(text, 60)
        raise SetupError(
            "E0101",
            "That is no address of an HTTP proxy.",
            where="--proxy",
            why=why,
            fix="give it as http://HOST:PORT",
        )
    return text.strip()


def check_ca(path: str) -> str:
    """The file of certificates to trust. Raises SetupError E0101."""
    import ssl

    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        reason = "it holds no certificate in PEM form" if isinstance(error, ssl.SSLError) else error
        raise SetupError(
            "E0101",
            "The certificates to trust cannot be read.",
            where="--ca",
            why=f"{path}: {reason}",
            fix="give a file in PEM form, as the administrator of the server or proxy has it",
        ) from None
    return path
