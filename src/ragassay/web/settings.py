"""The settings of a server: where it listens, by which names it may be called, and its token."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragassay.core import SetupError
from ragassay.web.sessions import Role

LEAST_TOKEN = 22
"""Characters of a token: 22 of base64 are 128 bits."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def new_token() -> str:
    """A token of 256 bits."""
    return secrets.token_urlsafe(32)


def is_loopback(host: str) -> bool:
    """Whether a server that listens there can be reached from this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


TOKEN = "RAGASSAY_WEB_TOKEN"
TOKENS = {
    Role.LABELLER: "RAGASSAY_WEB_LABELLER_TOKEN",
    Role.READER: "RAGASSAY_WEB_READER_TOKEN",
}
"""The variables with the tokens: of the admin, and of lesser roles."""


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """How a server receives traces. token: what senders show, "" = the server's own token. quiet_s:
    seconds without a new span until a trace is a row. keep_days: days after which spans and rows
    are deleted, None to keep them. grpc_port: port for OTLP over gRPC beside HTTP, 0 = any that is
    free, None = no gRPC.
    """

    token: str = field(default="", repr=False)
    quiet_s: float = 30.0
    keep_days: float | None = None
    grpc_port: int | None = None


@dataclass(frozen=True, slots=True)
class WebSettings:
    """host: address to listen on; port: 0 = any that is free. token: "" = one is made. names:
    further names under which the server may be called, such as that of a proxy, with their port
    where it is not the usual one. roles: tokens of readers and labellers. traces: None = none are
    received. rate: requests a second that one caller may make for long, ten times as many at once.
    judges: those that requests to the HTTP API may name, beside the offline one.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default="", repr=False)
    names: tuple[str, ...] = ()
    roles: Mapping[Role, str] = field(default_factory=dict, repr=False)
    traces: TraceSettings | None = None
    rate: float = 50.0
    judges: tuple[str, ...] = ()

    def checked(self) -> WebSettings:
        """These settings with a token. Raises SetupError E0902 for an address that others can
        reach without one, for one that is too short to be safe and for one of two roles, E0101 for
        a port that is none.
        """
        if not 0 <= self.port <= 65535:
            raise SetupError(
                "E0101",
                "A port lies between 0 and 65535.",
                where="--port",
                why=str(self.port),
                fix="leave it out, or name another one",
            )
        for role, token in self.roles.items():
            _check_token(token, TOKENS[role])
        if self.token:
            _check_token(self.token, TOKEN)
        elif not is_loopback(self.host):
            raise SetupError(
                "E0902",
                "Others can reach this address, and no token is set.",
                where=f"--host {self.host}",
                fix=_make(TOKEN),
            )
        settings = self if self.token else replace(self, token=new_token())
        settings._check_different()
        return settings

    def _check_different(self) -> None:
        tokens = [self.token, *self.roles.values()]
        if self.traces is not None and self.traces.token:
            tokens.append(self.traces.token)
        if len(set(tokens)) < len(tokens):
            raise SetupError(
                "E0902",
                "Two roles have the same token.",
                where=", ".join([TOKEN, *TOKENS.values(), "RAGASSAY_TRACES_TOKEN"]),
                why="who has one of them would have both",
                fix="set each to one of its own",
            )


def _check_token(token: str, name: str) -> None:
    if len(token) < LEAST_TOKEN or not token.isascii():
        raise SetupError(
            "E0902",
            "The token is too short to be safe.",
            where=name,
            why=f"{len(token)} characters; {LEAST_TOKEN} hold 128 bits",
            fix=_make(name),
        )


def _make(name: str) -> str:
    return (
        f"set {name} to one, such as: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
    )
