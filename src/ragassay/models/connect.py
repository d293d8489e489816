"""The model behind a URI: "offline", or "SCHEME:MODEL" with one module for each scheme."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from ragassay.core import SetupError, nearest, shorten
from ragassay.models import providers
from ragassay.models.base import Model
from ragassay.models.prices import Rate

OFFLINE = "offline"


def connect(
    uri: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    price: str | Rate | None = None,
    concurrency: int = 32,
    no_network: bool = False,
    batch: bool = False,
) -> Model:
    """The model behind `uri`. Opens no connection and sends nothing.

    base_url: the server's address ("http://127.0.0.1:8000/v1"). api_key_env: the name of the
    environment variable that holds the key. price: US dollars per million input and output tokens,
    "IN,OUT" or a Rate. concurrency: connections. batch: through the provider's batch API. Raises
    SetupError E0401 (no such URI), E0407 (`no_network`), E0101 (a value that cannot be), E0402 (no
    key), E0104 (`batch` for a judge that has no batch API).
    """
    scheme, _, name = uri.strip().partition(":")
    scheme, name = scheme.lower(), name.strip()
    # First, so that --batch with the offline judge is an error and not ignored.
    if batch:
        _check_batches(uri, scheme)
    if scheme == OFFLINE and not name:
        offline: Model = import_module("ragassay.models.offline").OfflineModel()
        return offline
    if scheme not in schemes() or not name:
        raise _unknown(uri, scheme, name)
    provider = _provider(scheme)
    # A model that runs here sends nothing; it is only looked for without the network.
    if hasattr(provider, "open_local_model"):
        local: Model = provider.open_local_model(name, no_network=no_network)
        return local
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
    rate = Rate.parse(price) if isinstance(price, str) else price
    open_model = provider.open_batch_model if batch else provider.open_model
    opened: Model = open_model(
        name, base_url=base_url, api_key_env=api_key_env, rate=rate, concurrency=concurrency
    )
    return opened


@cache
def schemes() -> tuple[str, ...]:
    """The schemes of hosted models, sorted: the modules of `models.providers`."""
    return tuple(sorted(module.name for module in iter_modules(providers.__path__)))


def _provider(scheme: str) -> ModuleType:
    return import_module(f"{providers.__name__}.{scheme}")


def _has_batches(scheme: str) -> bool:
    return hasattr(_provider(scheme), "open_batch_model")


def _check_batches(uri: str, scheme: str) -> None:
    """Raise SetupError E0104 for a judge whose provider has no batch API."""
    if scheme != OFFLINE and (scheme not in schemes() or _has_batches(scheme)):
        return
    with_batches = [f"{other}:MODEL" for other in schemes() if _has_batches(other)]
    raise SetupError(
        "E0104",
        f"The judge {shorten(uri)} has no batch API.",
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
