"""The settings of a server: where it listens, by which names it may be called, and its token."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field, replace

from ragassay.core import SetupError

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


@dataclass(frozen=True, slots=True)
class WebSettings:
    """host: address to listen on; port: 0 = any that is free. token: "" = one is made. names:
    further names under which the server may be called, such as that of a proxy, with their port
    where it is not the usual one. judges: those that requests to the HTTP API may name, beside the
    offline one.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default="", repr=False)
    names: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()

    def checked(self) -> WebSettings:
        """These settings with a token. Raises SetupError E0902 for an address that others can
        reach without one, or one that is too short to be safe, E0101 for a port that is none.
        """
        if not 0 <= self.port <= 65535:
            raise SetupError(
                "E0101",
                "A port lies between 0 and 65535.",
                where="--port",
                why=str(self.port),
                fix="leave it out, or name another one",
            )
        if self.token:
            if len(self.token) < LEAST_TOKEN or not self.token.isascii():
                raise SetupError(
                    "E0902",
                    "The token is too short to be safe.",
                    where="RAGASSAY_WEB_TOKEN",
                    why=f"{len(self.token)} characters; {LEAST_TOKEN} hold 128 bits",
                    fix=_MAKE,
                )
            return self
        if not is_loopback(self.host):
            raise SetupError(
                "E0902",
                "Others can reach this address, and no token is set.",
                where=f"--host {self.host}",
                fix=_MAKE,
            )
        return replace(self, token=new_token())


_MAKE = (
    "set RAGASSAY_WEB_TOKEN to one, such as: "
    "python -c 'import secrets; print(secrets.token_urlsafe(32))'"
)
