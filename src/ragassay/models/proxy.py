"""The proxy on the way to a server: the user's own, else that of the environment."""

from __future__ import annotations

import base64
import os
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from ragassay.core import SetupError
from ragassay.models.secret_values import shown_address

PROXY = "the proxy"
"""How the message begins of a failure that is the proxy's."""

FIX = "give it as http://HOST:PORT, with %40, %3A and %2F for @, : and / in a user name or password"
_SOCKS_FIX = (
    "SOCKS is not supported: name an HTTP proxy, such as one in front of it (privoxy), with"
    " --proxy http://HOST:PORT; or put the judge's host into NO_PROXY"
)


class Proxy(NamedTuple):
    """A proxy. source: who named it, "--proxy" or a variable."""

    url: URL
    source: str


def proxy_url(text: str) -> URL | None:
    """The address of an HTTP proxy; None where it is none."""
    try:
        url = URL(text.strip())
        # What stands behind the host is mostly the rest of a password that holds a "/" or "#".
        is_bare = url.path in ("", "/") and not url.query_string and not url.fragment
        is_http = url.scheme in ("http", "https") and bool(url.host)
        f"{url.user or ''}{url.password or ''}".encode("latin-1")  # as it is sent
    except ValueError:
        return None
    return url if is_bare and is_http and ":" not in (url.user or "") else None


def is_socks(text: str) -> bool:
    return text.strip().lower().startswith("socks")


def without_password(text: str) -> str:
    """The address of a proxy as a run's manifest keeps it."""
    url = proxy_url(text)
    return "" if url is None else str(url.with_user(None))


def proxy_for(base: URL, given: str | None) -> Proxy | None:
    """The proxy for a server; None where there is none. Raises SetupError E0418 for one of the
    environment that cannot be used.
    """
    if given is not None:
        url = proxy_url(given)
        if url is None:
            raise _unusable(given, "--proxy")
        return Proxy(url, "--proxy")
    host = base.host or ""
    # A proxy elsewhere cannot reach what listens on this machine only.
    if _is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    name = base.scheme if proxies.get(base.scheme) else "all"
    address = (proxies.get(name) or "").strip()
    if not address:
        return None
    source = _variable(name)
    url = proxy_url(address if "://" in address else f"http://{address}")
    if url is None or is_socks(address):
        raise _unusable(address, source)
    return Proxy(url, source)


def credentials(url: URL) -> tuple[str, ...]:
    """The secrets of a proxy's address in the forms in which they may be echoed: as written, as
    meant, and in base64.
    """
    user, password = url.raw_user or "", url.raw_password or ""
    if not (user or password):
        return ()
    found: list[str] = []
    for pair in (f"{user}:{password}", f"{unquote(user)}:{unquote(password)}"):
        found.append(pair)
        found += [base64.b64encode(pair.encode(name, "replace")).decode() for name in _ENCODINGS]
    # A user name without a password is a token.
    return (*found, password or user, unquote(password or user))


_ENCODINGS = ("latin-1", "utf-8")


def _variable(name: str) -> str:
    """The variable that named the proxy."""
    names = (f"{name}_proxy", f"{name.upper()}_PROXY")
    return next((each for each in names if os.environ.get(each)), "the system's settings")


def _unusable(address: str, source: str) -> SetupError:
    fix = _SOCKS_FIX if is_socks(address) else FIX
    return SetupError(
        "E0418",
        f"The proxy of {source} cannot be used.",
        where=source,
        why=f"{shown_address(address)} is no address of an HTTP proxy",
        fix=fix,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
