"""The model: one awaitable that turns a Call into a Reply, a single attempt, no retries."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from ragassay.core import Call, ChatCall, Reply

NOT_SENT = "the call had not left"
"""What a CancelledError says where the cancelled call costs nothing."""

ABOUT_TO_SEND: ContextVar[Callable[[], None] | None] = ContextVar("about_to_send", default=None)
"""Called by a model that `announces_sending` when it has a connection and is about to write a
request to it: a call of which it was not called cannot be billed. It may raise; then nothing must
be written.
"""


MAY_SEND_MORE: ContextVar[Callable[[], bool] | None] = ContextVar("may_send_more", default=None)
"""Asked by a model before each request of a call beyond the first one (to learn what the server
refuses takes several): whether a cap on calls leaves room for it.
"""


class Model(Protocol):
    """A model behind a URI. Retries, deadlines, limits and budget are the runner's work.

    `concurrency`: how many calls at once do good (None = as many as the user allows).
    """

    @property
    def uri(self) -> str: ...

    @property
    def concurrency(self) -> int | None: ...

    async def call(self, call: Call) -> Reply:
        """One attempt. Raises CallError when it fails; a refusal or a cut reply is a ChatReply with
        that finish.
        """
        ...

    def lane(self, call: ChatCall) -> str:
        """What stands for the provider and the key that answer this call: calls of one lane share
        its limits, also with other processes of the machine; "" = shared with nobody. Never the key
        itself.
        """
        ...

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars for so many tokens; None when the price is not known; 0.0 for local models."""
        ...

    async def close(self) -> None:
        """Let go of connections and threads."""
        ...
