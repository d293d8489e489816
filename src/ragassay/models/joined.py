"""Several models as one: a call goes to the model it names; match calls without a name to the
offline model.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ragassay.core import Call, ChatCall, MatchCall, Reply
from ragassay.models.base import Model
from ragassay.models.threaded import ThreadedModel

_NONE: Mapping[str, Model] = MappingProxyType({})


class JoinedModel:
    """A main model joined with the offline one (`models.offline.OfflineModel`) and others, for a
    judge that asks several.

    others: further models by the name that calls for them carry (`ChatCall.model`,
    `MatchCall.model`). A call with the main model's URI is for the main one, and so is a chat call
    without a name; a match call without one is for the offline model, which costs nothing and sends
    nothing. All are used as they are; a model that loads its weights with the first call still
    does.
    """

    def __init__(self, main: Model, match: Model, others: Mapping[str, Model] = _NONE) -> None:
        self._main, self._match, self._others = main, match, dict(others)
        self._named = (main, *self._others.values())

    @property
    def uri(self) -> str:
        """Those of all but the offline model, joined by "+"."""
        return "+".join(model.uri for model in self._named)

    @property
    def concurrency(self) -> int | None:
        """The least of the hosted models', where there is one. Match calls are not limited by it: a
        model that runs here has threads of its own.
        """
        hosted = [model for model in self._named if not isinstance(model, ThreadedModel)]
        limits = [model.concurrency for model in hosted or self._named]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def base_url(self) -> str:
        """The named models' addresses, joined by ", " where they differ; "" where there is none."""
        urls = [str(getattr(model, "base_url", "")) for model in self._named]
        return ", ".join(dict.fromkeys(url for url in urls if url))

    @property
    def chat_models(self) -> tuple[Model, ...]:
        """The models by their names, the main one first."""
        return tuple(self._named)

    @property
    def announces_sending(self) -> bool:
        """Whether all named models that send anything call `ABOUT_TO_SEND`."""
        senders = [model for model in self._named if not isinstance(model, ThreadedModel)]
        return all(getattr(model, "announces_sending", False) for model in senders)

    @property
    def replies_without_usage(self) -> int:
        """How many replies of the named models told no tokens."""
        return sum(int(getattr(model, "replies_without_usage", 0)) for model in self._named)

    @property
    def status(self) -> str:
        """A description of what the first model waits for that gives one; "" where none does."""
        texts = (str(getattr(model, "status", "")) for model in self._named)
        return next(filter(None, texts), "")

    async def call(self, call: Call) -> Reply:
        """One attempt by the model that this call is for. Raises as that model does, and KeyError
        where the call names no model of these.
        """
        return await self._for(call).call(call)

    @property
    def members(self) -> tuple[Model, ...]:
        """All but the offline model."""
        return self._named

    def member(self, uri: str) -> Model:
        """The model with this URI. Raises KeyError where it is none of these."""
        return self._main if uri == self._main.uri else self._others[uri]

    def lane(self, call: ChatCall) -> str:
        """The lane of the model that this call is for."""
        return self._for(call).lane(call)

    def output_limit(self, call: ChatCall) -> int:
        """The most tokens of a reply by the model that this call is for."""
        limit = getattr(self._for(call), "output_limit", None)
        return call.max_tokens if limit is None else int(limit(call))

    def _for(self, call: Call) -> Model:
        if call.model:
            return self.member(call.model)
        return self._match if isinstance(call, MatchCall) else self._main

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars of so many tokens at the dearest model; None when one's price is not
        known. An upper bound: which of the models will be asked is not known here.
        """
        prices: list[float] = []
        for model in self._named:
            price = model.price(input_tokens, output_tokens)
            if price is None:
                return None
            prices.append(price)
        return max(prices)

    async def close(self) -> None:
        """Close all models, also when closing one of them fails. Raises the first error."""
        first_error: BaseException | None = None
        for model in (*self._named, self._match):
            try:
                await model.close()
            except BaseException as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error
