"""How do two models stand behind one door? Chat calls go to the main model, match calls to one that runs here."""

from __future__ import annotations

from ragassay.core import Call, MatchCall, Reply
from ragassay.models.base import Model


class JoinedModel:
    """A chat model joined with a local one (`models.offline.OfflineModel`), for a judge that asks both kinds of calls.

    What a run shows and counts (URI, price, address, how many calls at once) is the main model's: the local one costs
    nothing and sends nothing. Both are used as they are; a model that loads its weights with the first call still does.
    """

    def __init__(self, main: Model, match: Model) -> None:
        self._main, self._match = main, match

    @property
    def uri(self) -> str:
        """The main model's."""
        return self._main.uri

    @property
    def concurrency(self) -> int | None:
        """The main model's. Match calls are not limited by it: the local model has threads of its own."""
        return self._main.concurrency

    @property
    def base_url(self) -> str:
        """The main model's address, "" for a model that has none."""
        return str(getattr(self._main, "base_url", ""))

    @property
    def replies_without_usage(self) -> int:
        """How many replies of the main model named no tokens."""
        return int(getattr(self._main, "replies_without_usage", 0))

    async def call(self, call: Call) -> Reply:
        """One attempt by the model that this kind of call is for. Raises as that model does."""
        return await (self._match if isinstance(call, MatchCall) else self._main).call(call)

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars of so many tokens at the main model; None when its price is not known."""
        return self._main.price(input_tokens, output_tokens)

    async def close(self) -> None:
        """Close both, the second also when closing the first fails."""
        try:
            await self._main.close()
        finally:
            await self._match.close()
