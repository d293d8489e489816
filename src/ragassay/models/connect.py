"""Which model stands behind a URI? "offline", or "SCHEME:MODEL" with one module for each scheme."""

from __future__ import annotations

from importlib import import_module

from ragassay.core import SetupError, nearest, shorten
from ragassay.models.base import Model
from ragassay.models.prices import Rate

OFFLINE = "offline"
# scheme -> module with `open_model(name, *, base_url, api_key_env, rate, concurrency) -> Model`,
# imported on use.
PROVIDERS = {"openai": "ragassay.models.openai"}
# scheme -> module with `open_batch_model(...)`, likewise.
BATCHES = {"openai": "ragassay.models.batch"}


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
    if batch and scheme in (OFFLINE, *PROVIDERS) and scheme not in BATCHES:
        raise SetupError(
            "E0104",
            f"The judge {shorten(uri)} has no batch API.",
            where="--batch",
            fix=f"use --batch with {', '.join(f'{s}:MODEL' for s in BATCHES)}, or leave it out",
        )
    if scheme == OFFLINE and not name:
        offline: Model = import_module("ragassay.models.offline").OfflineModel()
        return offline
    known = [OFFLINE, *(f"{s}:MODEL" for s in sorted(PROVIDERS))]
    if scheme not in PROVIDERS or not name:
        raise SetupError(
            "E0401",
            f"No judge has the URI {uri!r}.{_hint(uri.strip(), scheme, name)}",
            where="--judge",
            why=uri,
            fix=(
                f"use one of: {', '.join(known)}; or several of them: panel:A+B, 'cascade:A>B',"
                " 'checked:A>B'"
            ),
        )
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
    module = import_module((BATCHES if batch else PROVIDERS)[scheme])
    opened: Model = (module.open_batch_model if batch else module.open_model)(
        name, base_url=base_url, api_key_env=api_key_env, rate=rate, concurrency=concurrency
    )
    return opened


def _hint(uri: str, scheme: str, name: str) -> str:
    if scheme in PROVIDERS:
        return " The model's name is missing."
    if scheme == OFFLINE:
        return " The offline judge takes no model name."
    if not name:  # a bare model name, the usual slip
        return (
            f" Did you mean {'openai:' + uri!r}?"
            if not (near := nearest(scheme, [OFFLINE]))
            else near
        )
    return nearest(scheme, [OFFLINE, *PROVIDERS])
