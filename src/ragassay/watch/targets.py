"""Targets of alerts: a webhook, one in the form of Slack, or a command.

The address of a webhook may hold a secret: of it only the host is ever shown. Its name is resolved
once for each attempt, and that address is connected to. A redirect (307, 308) is followed to a
public address only, unless private ones are allowed: what a foreign server names must not reach
into the network that the watch runs in. Every attempt ends in time, and attempts are few.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import os
import shlex
import socket
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from ragassay.core import SetupError
from ragassay.runs.event_loops import block_on
from ragassay.runs.threads import in_daemon_thread

ATTEMPT_S = 10.0
"""Seconds that one attempt may take."""
ATTEMPTS = 3
"""Attempts of one step."""
MOST_STEPS = 10
"""Steps in which an alert is tried, before it is given up."""
_PAUSES_S = (0.5, 2.0)
_REDIRECTS = 3
_MOST_ANSWER = 1_000
_HOW = (
    "an address (https://...), slack:https://..., env:NAME of a variable with one, or command:..."
)


class NotSent(Exception):
    """An attempt that failed, and whether another one may help."""

    def __init__(self, why: str, *, again: bool) -> None:
        super().__init__(why)
        self.again = again


@dataclass(frozen=True, slots=True)
class Target:
    """Where alerts go. shown: how it is named, without what may be secret."""

    kind: Literal["webhook", "slack", "command"]
    address: str
    shown: str

    def __repr__(self) -> str:
        return f"Target({self.shown!r})"


def read_targets(texts: Sequence[str]) -> tuple[Target, ...]:
    """The targets, each once. Those that would be shown alike, such as two channels of one host,
    are told apart by the beginning of a hash of their addresses. Raises SetupError E1303.
    """
    targets = list(dict.fromkeys(map(read_target, texts)))
    alike = Counter(target.shown for target in targets)
    return tuple(target if alike[target.shown] == 1 else _tagged(target) for target in targets)


def _tagged(target: Target) -> Target:
    tag = hashlib.sha256(target.address.encode()).hexdigest()[:6]
    return replace(target, shown=f"{target.shown} ({tag})")


def read_target(text: str) -> Target:
    """A target of "https://...", "slack:https://...", "env:NAME" or "command:notify.sh --now".
    Raises SetupError E1303.
    """
    given = text.strip()
    kind: Literal["webhook", "slack"] = "webhook"
    if given.startswith("slack:"):
        kind, given = "slack", given.removeprefix("slack:")
    if given.startswith("env:"):
        variable = given.removeprefix("env:")
        given = os.environ.get(variable, "").strip()
        if not given:
            raise _wrong("The variable with the address of the target is not set.", variable)
        if given.startswith("slack:"):
            kind, given = "slack", given.removeprefix("slack:")
    if given.startswith("command:"):
        return _command(given.removeprefix("command:"))
    url = _url(given)
    if url is None:
        # Not shown: it may be an address with a secret and a slip in it.
        kind_named, colon, _ = text.partition(":")
        shown = f"{kind_named[:20]}:..." if colon else "it is no address"
        raise _wrong("Alerts cannot be sent there.", text if kind_named == "env" else shown)
    port = "" if url.explicit_port is None else f":{url.explicit_port}"
    return Target(kind, given, f"{kind} {url.host}{port}")


def _command(line: str) -> Target:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise _wrong("The command cannot be read.", str(error)) from None
    if not words:
        raise _wrong("No command is named.", "command:")
    return Target("command", line, f"command {os.path.basename(words[0])}")


def _url(text: str) -> Any:
    """The address as yarl reads it, None where it is none of HTTP."""
    from yarl import URL

    try:
        url = URL(text)
    except ValueError:
        return None
    return url if url.scheme in ("http", "https") and url.host else None


def is_address(text: str) -> bool:
    """Whether a text is an address of HTTP."""
    return _url(text) is not None


def _wrong(what: str, why: str) -> SetupError:
    return SetupError("E1303", what, where="--alert-to", why=why[:60], fix=f"give {_HOW}")


def send(target: Target, alert: Mapping[str, Any], *, allow_private: bool = False) -> str:
    """Send an alert; "" where it arrived, else why not. Never raises."""
    why = "not tried"
    for attempt in range(ATTEMPTS):
        if attempt:
            _pause(_PAUSES_S[attempt - 1])
        try:
            if target.kind == "command":
                _run(target, alert)
            else:
                _post(target, alert, allow_private)
            return ""
        except NotSent as failed:
            why = str(failed)
            if not failed.again:
                break
    return why


def _pause(seconds: float) -> None:
    import time

    time.sleep(seconds)


def _run(target: Target, alert: Mapping[str, Any]) -> None:
    """Run a command with the alert as JSON on its standard input. Raises NotSent."""
    try:
        done = subprocess.run(
            shlex.split(target.address),
            input=orjson.dumps(alert),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=ATTEMPT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotSent(f"it did not end within {ATTEMPT_S:g} s", again=False) from None
    except OSError as error:
        raise NotSent(error.strerror or "it cannot be started", again=False) from None
    if done.returncode:
        raise NotSent(f"it left with {done.returncode}", again=True)


def _post(target: Target, alert: Mapping[str, Any], allow_private: bool) -> None:
    body = dict(alert) if target.kind == "webhook" else slack_form(alert)
    content = orjson.dumps(body)
    kind = {"content-type": "application/json"}
    post(target.address, content, kind, allow_private=allow_private)


def slack_form(alert: Mapping[str, Any]) -> dict[str, Any]:
    """An alert as an incoming webhook of Slack takes it."""
    text = str(alert.get("text", "")).translate(_SLACK)
    return {"text": text}


_SLACK = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Slack reads these three as its own marks: links and mentions begin with them."""


def post(address: str, content: bytes, headers: Mapping[str, str], *, allow_private: bool) -> None:
    """Post to an address that the user named. Raises NotSent."""
    try:
        block_on(
            lambda: asyncio.wait_for(_follow(address, content, headers, allow_private), ATTEMPT_S)
        )
    except TimeoutError:
        raise NotSent(f"no answer within {ATTEMPT_S:g} s", again=True) from None


async def _follow(
    address: str, content: bytes, headers: Mapping[str, str], allow_private: bool
) -> None:
    url = _url(address)
    for hop in range(_REDIRECTS + 1):
        # The user's own first address may be private: a server beside this one takes alerts, too.
        status, location = await _once(url, content, headers, hop == 0 or allow_private)
        if status in (307, 308) and location:
            following = _url(str(url.join(_joined(location))))
            if following is None or (url.scheme == "https" and following.scheme != "https"):
                raise NotSent("it redirects to an address that is not followed", again=False)
            # What was meant for one host is not shown to another.
            headers = headers if following.host == url.host else _harmless(headers)
            url = following
            continue
        if 200 <= status < 300:
            return
        raise NotSent(f"it answered {status}", again=status == 429 or status >= 500)
    raise NotSent("it redirects again and again", again=False)


def _joined(location: str) -> Any:
    from yarl import URL

    try:
        return URL(location)
    except ValueError:
        raise NotSent("it redirects to what is no address", again=False) from None


def _harmless(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name == "content-type"}


async def _once(
    url: Any, content: bytes, headers: Mapping[str, str], private: bool
) -> tuple[int, str]:
    """(status, where it redirects to) of one request. Raises NotSent."""
    import aiohttp

    addresses = await _resolved(url.host, url.port, private)
    resolver: Any = _Pinned(addresses)
    connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False)
    timeout = aiohttp.ClientTimeout(total=ATTEMPT_S)
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            session.post(url, data=content, headers=dict(headers), allow_redirects=False) as answer,
        ):
            await answer.content.read(_MOST_ANSWER)
            return answer.status, answer.headers.get("location", "")
    except TimeoutError:
        raise
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # The words of the library may hold the address, and with it a secret.
        raise NotSent(f"it cannot be reached ({type(error).__name__})", again=True) from None


async def _resolved(host: str, port: int, private: bool) -> list[Any]:
    """The addresses of a host. Raises NotSent where it has none, or one that is private and must
    not be.
    """
    # Not by the loop's own threads: its end waits for them, however long a name server is silent.
    looked_up, _ = in_daemon_thread(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    try:
        found = await looked_up
    except OSError:
        raise NotSent("its name is not known", again=True) from None
    if not private and not all(_is_public(str(each[4][0])) for each in found):
        raise NotSent("it redirects to a private address", again=False)
    return found


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.is_site_local or any(ip in network for network in _TRANSLATED):
            return False  # an address of IPv4 may be inside, which a translator would reach
        if ip.ipv4_mapped is not None:
            return ip.ipv4_mapped.is_global and not ip.ipv4_mapped.is_multicast
    return ip.is_global and not ip.is_multicast


_TRANSLATED = tuple(
    map(
        ipaddress.IPv6Network,
        ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
    )
)
"""Networks of IPv6 whose addresses hold one of IPv4: compatible ones, SIIT, NAT64, 6to4, Teredo."""


class _Pinned:
    """A resolver that knows the addresses that were checked, and no other."""

    def __init__(self, found: list[Any]) -> None:
        self._found = found

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        return [
            {
                "hostname": host,
                "host": each[4][0],
                "port": port,
                "family": each[0],
                "proto": 0,
                "flags": socket.AI_NUMERICHOST,
            }
            for each in self._found
        ]

    async def close(self) -> None:
        """Nothing is held."""
