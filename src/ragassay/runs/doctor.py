"""What `ragassay doctor` finds out: the installation, servers on this machine, and what a model and
its server can do. Nothing secret is among it.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragassay.core import CallError, KnownModel, SetupError
from ragassay.models.capabilities import FORMATS, Capabilities
from ragassay.models.chat_model import ChatModel
from ragassay.models.connect import all_providers, connect, provider_of
from ragassay.runs.chat_models import chat_models
from ragassay.runs.event_loops import block_on
from ragassay.version import __version__

if TYPE_CHECKING:
    from ragassay.runs.options import Options
    from ragassay.runs.preflight import Answers
    from ragassay.store import Store

LOCAL_SERVERS = ("ollama", "llamacpp", "lmstudio", "vllm", "litellm")
"""Kinds of servers that are looked for on their usual ports of this machine."""

EXTRAS = {
    "arrow": "pyarrow",
    "bedrock": "botocore",
    "local": "transformers",
    "local-onnx": "tokenizers",
    "mlflow": "mlflow",
    "postgres": "psycopg",
    "prices": "genai_prices",
    "ray": "ray",
    "redact": "detect_secrets",
}
"""Extra of the package -> the module that shows whether it is installed."""

_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answers on this machine, and the URIs of its models."""

    title: str
    base_url: str
    judges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Installation:
    """What is installed and set here. keys: variables with keys that are set, by name alone."""

    version: str
    python: str
    extras: tuple[str, ...]
    missing_extras: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What a model and its server can do. calls: requests that were sent; problem: what is wrong,
    "" where nothing is; reply: how its last reply began, where a verdict on the example is wrong;
    accepted: what of a request the server has taken; capabilities: empty where nothing was
    answered.
    """

    uri: str
    provider: str
    base_url: str
    hosts: tuple[str, ...]
    right: int = 0
    asked: int = 0
    calls: int = 0
    cost: float | None = None
    problem: str = ""
    capabilities: dict[str, object] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    price_known: bool = False
    reply: str = ""
    accepted: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The report as JSON."""
        return asdict(self)


def installation() -> Installation:
    """The installation that runs this."""
    extras = {extra: find_spec(module) is not None for extra, module in EXTRAS.items()}
    named: set[str] = set()
    for provider in all_providers():
        named.update(filter(None, (*provider.keys, provider.token_env)))
    return Installation(
        __version__,
        platform.python_version(),
        tuple(extra for extra, is_there in extras.items() if is_there),
        tuple(extra for extra, is_there in extras.items() if not is_there),
        tuple(sorted(key for key in named if os.environ.get(key, "").strip())),
    )


def local_servers(*, seconds: float = _LOOK_SECONDS) -> list[LocalServer]:
    """The servers that answer on their usual ports of this machine."""

    async def look() -> list[LocalServer]:
        answers = await asyncio.gather(*(_look(scheme, seconds) for scheme in LOCAL_SERVERS))
        return [server for server in answers if server is not None]

    return block_on(look)


async def _look(scheme: str, seconds: float) -> LocalServer | None:
    try:
        model = connect(f"{scheme}:any")
    except SetupError:  # its address, in the environment, is none
        return None
    assert isinstance(model, ChatModel)
    try:
        async with asyncio.timeout(seconds):
            names = await model.list_models()
    except (CallError, TimeoutError):
        return None
    finally:
        await model.close()
    if not names:
        return None
    judges = tuple(f"{scheme}:{name}" for name in names)
    return LocalServer(provider_of(scheme).title, model.base_url, judges)


def examine(options: Options, store: Store | None) -> list[ModelReport]:
    """Ask the models of a judge about the known example, whatever is known of them already.

    Raises SetupError for a judge that cannot be, ProviderError where no call can succeed.
    """
    from ragassay.runs.plan import make_setup

    setup = make_setup(options, "groundedness")

    async def ask() -> list[ModelReport]:
        try:
            return [await _examine(model, options, store) for model in chat_models(setup.model)]
        finally:
            await setup.close()

    return block_on(ask)


async def _examine(model: ChatModel, options: Options, store: Store | None) -> ModelReport:
    from ragassay.dispatch import LocalBudget, output_limit_of
    from ragassay.runs.preflight import ask_known_example, known_after

    budget = LocalBudget(
        model.price,
        max_calls=options.max_calls,
        max_cost=options.max_cost,
        output_limit=output_limit_of(model),
    )
    answers = await ask_known_example(
        model, budget, temperature=options.temperature, timeout=options.call_timeout
    )
    result = answers.outcome
    is_shown = result is not None and not (answers.was_cut and result.problem)
    if result is not None and is_shown and store is not None:
        store.put_known_model(known_after(model, result))
    return _report(model, answers, budget.sent, budget.ledger().confirmed.cost)


def _report(model: ChatModel, answers: Answers, requests: int, cost: float | None) -> ModelReport:
    result = answers.outcome
    has_answered = model.has_answered
    is_wrong = result is not None and result.right < result.asked
    return ModelReport(
        model.uri,
        model.provider.title,
        model.base_url,
        model.hosts,
        right=0 if result is None else result.right,
        asked=0 if result is None else result.asked,
        calls=requests,
        cost=cost,
        problem=_problem(answers),
        capabilities=model.known.to_json() if has_answered else {},
        dropped=model.dropped() if has_answered else (),
        price_known=model.price(1000, 1000) is not None,
        reply=answers.text if is_wrong else "",
        accepted=tuple(sorted(model.accepted)),
    )


def _problem(answers: Answers) -> str:
    """What is wrong, "" where nothing is."""
    if answers.outcome is None:
        failure = answers.failure
        return "no answer came" if failure is None else f"no answer came: {failure.message}"
    if answers.outcome.problem and answers.was_cut:
        return "its reply was cut off at its length limit: raise --max-tokens, or leave it out"
    return answers.outcome.problem


def capability_lines(
    capabilities: dict[str, object], accepted: Collection[str]
) -> list[tuple[str, str]]:
    """(what, how) of what a server was seen to accept or to refuse, for people; nothing where it
    has answered nothing. accepted: the parts of requests that it has answered.
    """
    if not capabilities:
        return []
    known = Capabilities.from_json(capabilities)
    limit = known.limit or "none"
    room = known.room if known.most_tokens is None else min(known.room, known.most_tokens)
    if known.most_tokens is not None:
        limit += f", at most {known.most_tokens:,}"
    lines = [
        ("form of a reply", FORMATS.get(known.format, known.format)),
        ("limit of a reply", limit),
        ("room to think", f"{room:,} tokens" if room else "none needed"),
    ]
    for name, what in _PARTS.items():
        if name in accepted:
            lines.append((what, "yes"))
        elif not getattr(known, name):
            lines.append((what, "no"))
    lines.append(("replies", "streamed" if known.stream else "in one piece"))
    if known.context is not None:
        lines.append(("context", f"{known.context:,} tokens"))
    return lines


_PARTS = {"temperature": "temperature", "seed": "seed", "system": "system message"}
"""Parts of a request that not every server takes -> how they are called."""


def model_lines(known: Sequence[KnownModel]) -> list[str]:
    """What the store knows of models, a line each."""
    lines: list[str] = []
    for model in known:
        checked = f"known example {model.right} of {model.asked} right, {model.checked[:10]}"
        state = checked if model.checked else "not asked about the known example"
        lines.append(f"{model.uri} at {model.base_url}: {state}")
    return lines
