"""The models of writer and checker, behind one door, with what they may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragassay.core import SetupError
from ragassay.models import JoinedModel, Model, connect
from ragassay.models.families import family_of
from ragassay.models.offline import OfflineModel
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.llm.run import ROUNDS
from ragassay.testsets.plan import Plan
from ragassay.testsets.results import Forecast
from ragassay.testsets.values import BRIDGE, COMPARE

_OFFLINE = "offline"
_CHECKS = 4
"""Calls of the checker for a question: from the evidence, closed book, from others, the rating."""

_TRIED = 1.4
"""Proposals for a question that is kept, about."""

_PROMPT_TOKENS, _REPLY_TOKENS, _TOKENS_A_WORD = 500, 150, 1.4


@dataclass(frozen=True)
class Models:
    """Writer and checker. Their URIs are "" where no model does it."""

    joined: Model
    writer: str
    judge: str

    def forecast(self, plan: Plan, corpus: Corpus) -> Forecast:
        """What the plan may cost, by the length of its passages."""
        slots = len(plan.slots)
        several = sum(slot.type in (BRIDGE, COMPARE) for slot in plan.slots)
        written = slots if self.writer else 0
        checked = (_CHECKS * slots + 2 * several) if self.judge else 0
        calls = round(_TRIED * (written + checked))
        sizes = corpus.sizes()
        words = sum(sizes) / max(1, len(sizes))
        tokens = round(calls * (_PROMPT_TOKENS + _TOKENS_A_WORD * 2 * words))
        cost = self.joined.price(tokens, calls * _REPLY_TOKENS)
        return Forecast(calls, ROUNDS * (written + checked), cost)

    def warnings(self) -> tuple[str, ...]:
        """What speaks against this choice of models."""
        if not self.writer or not self.judge:
            who = "checker" if self.writer else "writer"
            return (f"no language model is the {who}: rules alone do its work",)
        if self.writer == self.judge:
            return ("writer and checker are one model: it agrees with its own mistakes",)
        if family_of(self.writer) and family_of(self.writer) == family_of(self.judge):
            return ("writer and checker are of one family: they may share mistakes",)
        return ()


def connected(
    writer: str,
    judge: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    price: str | None = None,
    no_network: bool = False,
    concurrency: int = 16,
) -> Models | None:
    """The models of writer and checker; None where both are offline. Raises SetupError as
    `connect`.
    """
    uris = [uri for uri in dict.fromkeys((writer, judge)) if uri.strip() != _OFFLINE]
    if not uris:
        return None
    reached: Mapping[str, Any] = {
        "base_url": base_url,
        "api_key_env": api_key_env,
        "price": price,
        "no_network": no_network,
        "concurrency": concurrency,
    }
    models = {
        uri: _reached(uri, "--writer" if uri == writer else "--judge", reached) for uri in uris
    }
    first, *others = models.values()
    by_uri = {model.uri: model for model in others}
    joined = JoinedModel(first, OfflineModel(), by_uri)
    uri_of = {uri: model.uri for uri, model in models.items()}
    return Models(joined, uri_of.get(writer, ""), uri_of.get(judge, ""))


def _reached(uri: str, option: str, reached: Mapping[str, Any]) -> Model:
    """The model of an option, by whose name an error goes."""
    try:
        return connect(uri, **reached)
    except SetupError as error:
        if error.where == "--judge":
            error.where = option
        raise
