"""The model behind a URI: "offline", or "SCHEME:MODEL" with one module for each scheme."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from ragassay.core import SetupError, nearest, shorten
from ragassay.models import providers
from ragassay.models.base import Model
from ragassay.models.base_url import checked_url
from ragassay.models.prices import Rate
from ragassay.models.provider import Provider
from ragassay.models.settings import ModelSettings

OFFLINE, LOCAL = "offline", "local"


def connect(
    uri: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    price: str | Rate | None = None,
    concurrency: int = 32,
    no_network: bool = False,
    batch: bool = False,
    replay: bool = False,
    settings: ModelSettings | None = None,
) -> Model:
    """The model behind `uri`. Opens no connection and sends nothing.

    base_url: the server's address ("http://127.0.0.1:8000/v1"). api_key_env: the name of the
    environment variable that holds the key. price: US dollars per million input and output tokens,
    "IN,OUT" or a Rate. concurrency: connections. batch: through the provider's batch API. replay:
    for recorded judgments, a model that sends nothing. settings: what else is sent with each call,
    and by which way. Raises SetupError E0401 (no such URI), E0407 (`no_network`), E0101 (a value
    that cannot be), E0402 (no key), E0104 (`batch` for a judge that has no batch API), E0416 (a
    package that the provider needs is not installed).
    """
    scheme, _, name = uri.strip().partition(":")
    scheme, name = scheme.lower(), name.strip()
    # First, so that --batch with the offline judge is an error and not ignored.
    if batch:
        _check_batches(uri, scheme)
    if scheme == OFFLINE and not name:
        offline = import_module("ragassay.models.offline").OfflineModel()
        offline.replaying = replay
        return cast("Model", offline)
    if scheme not in schemes() or not name:
        raise _unknown(uri, scheme, name)
    # A model that runs here sends nothing; it is only looked for without the network.
    if scheme == LOCAL:
        local = import_module("ragassay.models.local").LocalModel(name, no_network=no_network)
        local.replaying = replay
        return cast("Model", local)
    if replay:
        return _replayed(uri, scheme, name, base_url)
    _check_call(uri, no_network, concurrency)
    rate = Rate.parse(price) if isinstance(price, str) else price
    return _open(
        provider_of(scheme),
        name,
        base_url=base_url,
        api_key_env=api_key_env,
        rate=rate,
        concurrency=concurrency,
        batch=batch,
        settings=settings or ModelSettings(),
    )


def _replayed(uri: str, scheme: str, name: str, base_url: str | None) -> Model:
    """A model that stands for the one that was asked when the judgments were recorded."""
    from ragassay.models.adapting import adapted
    from ragassay.models.replay_model import ReplayModel

    provider = adapted(provider_of(scheme), base_url)
    return ReplayModel(uri.strip(), checked_url(_address(provider, name, base_url)))


def _check_call(uri: str, no_network: bool, concurrency: int) -> None:
    """Raise SetupError where no call may or can be made."""
    # Here and not in the providers: one added later cannot forget it.
    if no_network:
        raise SetupError(
            "E0407",
            f"The judge {uri} is reached over the network, and --no-network forbids that.",
            where="--judge",
            fix="use --judge offline, or leave --no-network out",
        )
    if concurrency < 1:
        raise SetupError(
            "E0101",
            "At least one call at a time is needed.",
            where="--concurrency",
            why=str(concurrency),
        )


def _open(
    provider: Provider,
    name: str,
    *,
    base_url: str | None,
    api_key_env: str | None,
    rate: Rate | None,
    concurrency: int,
    batch: bool,
    settings: ModelSettings,
) -> Model:
    from ragassay.models.adapting import adapted

    provider = adapted(provider, base_url)
    url = checked_url(_address(provider, name, base_url))
    provider, key = _key(provider, name, url, api_key_env, has_base_url=base_url is not None)
    details = {
        "base_url": url,
        "key": key,
        "provider": provider,
        "rate": rate,
        "concurrency": concurrency,
        "settings": settings,
    }
    if batch:
        from ragassay.models.batch import BatchModel

        return BatchModel(name, **details)
    from ragassay.models.chat_model import ChatModel

    return ChatModel(name, **details)  # type: ignore[arg-type]


def _address(provider: Provider, name: str, base_url: str | None) -> str:
    """The base URL: the user's own, that of the environment, or the provider's."""
    if provider.address is not None:
        return provider.address(name, base_url)
    if base_url is not None:
        return base_url
    named = (os.environ.get(variable, "").strip() for variable in provider.address_env)
    return next((url for url in named if url), provider.base_url or "")


def _key(
    provider: Provider, name: str, url: str, api_key_env: str | None, *, has_base_url: bool
) -> tuple[Provider, str | None]:
    """The provider, which a token in place of a key changes, and the key from the environment.

    It must be set where a variable was named, or where the provider's own service is used; other
    servers may need none. Raises SetupError E0402 (no key) or E0101 (no key at all by its form).
    """
    from dataclasses import replace

    variables = (api_key_env,) if api_key_env else provider.keys
    variable = next((v for v in variables if os.environ.get(v, "").strip()), variables[0])
    key = os.environ.get(variable, "").strip()
    token = os.environ.get(provider.token_env, "").strip() if provider.token_env else ""
    if not key and token and not api_key_env:
        provider, variable, key = replace(provider, auth="bearer"), provider.token_env, token
    is_own_service = provider.base_url is None or url == provider.base_url
    if not key and (api_key_env or (provider.key_needed and is_own_service)):
        elsewhere = "" if has_base_url else "give --base-url for a server of your own, or "
        raise SetupError(
            "E0402",
            f"The judge {provider.scheme}:{name} needs an API key, and {variable} is not set.",
            where=variable,
            fix=f"export {variable}=..., or {elsewhere}use --judge offline",
        )
    if not key and provider.auth == "aws":
        from ragassay.models.aws import credentials

        credentials()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise SetupError(
            "E0101",
            f"The value of {variable} holds characters that no API key has.",
            where=variable,
            fix="copy the key again, without quotes, spaces or line breaks",
        )
    return provider, key or None


@cache
def schemes() -> tuple[str, ...]:
    """The schemes of URIs that name a model, sorted: the modules of `models.providers`, and that of
    models that run here.
    """
    hosted = [module.name for module in iter_modules(providers.__path__)]
    return tuple(sorted([*hosted, LOCAL]))


def all_providers() -> list[Provider]:
    """All providers whose models are behind servers."""
    return [provider_of(scheme) for scheme in schemes() if scheme != LOCAL]


@cache
def provider_of(scheme: str) -> Provider:
    """The provider whose models have URIs of this scheme."""
    provider: Provider = import_module(f"{providers.__name__}.{scheme}").PROVIDER
    return provider


def _check_batches(uri: str, scheme: str) -> None:
    """Raise SetupError E0104 for a judge whose provider has no batch API."""
    with_batches = [f"{p.scheme}:MODEL" for p in all_providers() if p.batch]
    if scheme not in (OFFLINE, LOCAL) and (
        scheme not in schemes() or f"{scheme}:MODEL" in with_batches
    ):
        return
    raise SetupError(
        "E0104",
        f"The judge {shorten(uri)} has no batch API that RagAssay knows.",
        where="--batch",
        fix=f"use --batch with {', '.join(with_batches)}, or leave it out",
    )


def _unknown(uri: str, scheme: str, name: str) -> SetupError:
    uris = [OFFLINE]
    uris += [f"{name}:MODEL" for name in schemes()]
    return SetupError(
        "E0401",
        f"No judge has the URI {uri!r}.{_hint(uri.strip(), scheme, name)}",
        where="--judge",
        why=uri,
        fix=(
            f"use one of: {', '.join(uris)}; or several of them: panel:A+B, 'cascade:A>B',"
            " 'checked:A>B'"
        ),
    )


def _hint(uri: str, scheme: str, name: str) -> str:
    if scheme in schemes():
        return " The model's name is missing."
    if scheme == OFFLINE:
        return " The offline judge takes no model name."
    if name:
        return nearest(scheme, [OFFLINE, *schemes()])
    # A bare model name is the usual slip.
    return nearest(scheme, [OFFLINE]) or f" Did you mean {'openai:' + uri!r}?"
