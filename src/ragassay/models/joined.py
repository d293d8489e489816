"""Several models as one: chat calls go to the one they name, match calls to one that runs here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ragassay.core import Call, ChatCall, MatchCall, Reply
from ragassay.models.base import Model

_NONE: Mapping[str, Model] = MappingProxyType({})


class JoinedModel:
    """A chat model joined with a local one (`models.offline.OfflineModel`), for a judge that asks
    both kinds of calls.

    others: further chat models by the name that calls for them carry (`ChatCall.model`); a call
    without a name, or with the main model's URI, is for the main one. The local model costs nothing
    and sends nothing. All are used as they are; a model that loads its weights with the first call
    still does.
    """

    def __init__(self, main: Model, match: Model, others: Mapping[str, Model] = _NONE) -> None:
        self._main, self._match, self._others = main, match, dict(others)
        self._chat = (main, *self._others.values())

    @property
    def uri(self) -> str:
        """The chat models', joined by "+"."""
        return "+".join(model.uri for model in self._chat)

    @property
    def concurrency(self) -> int | None:
        """The least of the chat models'. Match calls are not limited by it: the local model has
        threads of its own.
        """
        return min(
            (model.concurrency for model in self._chat if model.concurrency is not None),
            default=None,
        )

    @property
    def base_url(self) -> str:
        """The chat models' addresses, joined by ", " where they differ; "" where there is none."""
        urls = [str(getattr(model, "base_url", "")) for model in self._chat]
        return ", ".join(dict.fromkeys(url for url in urls if url))

    @property
    def replies_without_usage(self) -> int:
        """How many replies of the chat models named no tokens."""
        return sum(int(getattr(model, "replies_without_usage", 0)) for model in self._chat)

    @property
    def status(self) -> str:
        """A description of what the main model waits for; "" where it gives none."""
        return str(getattr(self._main, "status", ""))

    async def call(self, call: Call) -> Reply:
        """One attempt by the model that this call is for. Raises as that model does, and KeyError
        where the call names no model of these.
        """
        model = self._match if isinstance(call, MatchCall) else self._for(call)
        return await model.call(call)

    def lane(self, call: ChatCall) -> str:
        """The lane of the model that this call is for."""
        return self._for(call).lane(call)

    def _for(self, call: ChatCall) -> Model:
        return self._main if call.model in ("", self._main.uri) else self._others[call.model]

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars of so many tokens at the dearest chat model; None when one's price is not
        known. An upper bound: which of the models will be asked is not known here.
        """
        prices: list[float] = []
        for model in self._chat:
            price = model.price(input_tokens, output_tokens)
            if price is None:
                return None
            prices.append(price)
        return max(prices)

    async def close(self) -> None:
        """Close all models, also when closing one of them fails. Raises the first error."""
        first_error: BaseException | None = None
        for model in (*self._chat, self._match):
            try:
                await model.close()
            except BaseException as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error
