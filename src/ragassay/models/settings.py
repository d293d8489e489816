"""The user's own settings of a chat model: what is sent with each call, and by which way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.core import SetupError, shorten
from ragassay.models.extra_body import digested_body, parse_extra_body, secrets_in_body
from ragassay.models.headers import checked_headers, filled, is_secret, secrets_in
from ragassay.models.proxy import FIX, is_socks, proxy_url
from ragassay.models.secret_values import shown_address

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings. max_tokens: of a reply, thinking included; None: learnt. extra_body: fields of
    the request. headers: (name, value); "$NAME" in a value is that variable's. proxy: the address
    of a proxy, None: as the environment says. ca: a file of certificates to trust.
    """

    max_tokens: int | None = None
    reasoning_effort: str | None = None
    # They may hold secrets, which no text about the settings is to repeat.
    extra_body: Mapping[str, object] = field(default_factory=dict, repr=False)
    headers: tuple[str, ...] = field(default=(), repr=False)
    proxy: str | None = field(default=None, repr=False)
    ca: str | None = None

    def parameters(self) -> dict[str, object]:
        """Those that may change an answer, for the judge's fingerprint; none that has its default,
        so that a judge without settings is who it was. Secrets of the fields are digests.
        """
        chosen: dict[str, object] = {
            "max_tokens": self.max_tokens,
            "reasoning_effort": self.reasoning_effort,
            "extra_body": digested_body(self.extra_body),
            "headers": [header for header in self.headers if not is_secret(header)],
        }
        return {name: value for name, value in chosen.items() if value not in (None, {}, [])}

    def header_values(self) -> dict[str, str]:
        """The headers as they are sent. Raises SetupError E0101 for a variable that is not set."""
        return dict(map(filled, self.headers))

    def secrets(self) -> tuple[str, ...]:
        """What is sent and is to be shown nowhere. Raises as `header_values`."""
        found = list(secrets_in_body(self.extra_body))
        for header in self.headers:
            found += secrets_in(header)
        return tuple(found)


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
        headers=checked_headers(headers),
        proxy=None if proxy is None else check_proxy(proxy),
        ca=None if ca is None else check_ca(ca),
    )


def check_proxy(text: str) -> str:
    """The address of a proxy. Raises SetupError E0101."""
    if proxy_url(text) is None:
        raise SetupError(
            "E0101",
            "That is no address of an HTTP proxy.",
            where="--proxy",
            why="SOCKS is not supported" if is_socks(text) else shown_address(text),
            fix=FIX,
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
