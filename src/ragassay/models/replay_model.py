"""The model of a run that uses recorded judgments alone: whatever it is asked, it refuses."""

from __future__ import annotations

from typing import NoReturn

from ragassay.core import Call, ChatCall, EnvironmentFailure


def not_recorded(judge: str) -> EnvironmentFailure:
    """E0606, for a judgment that such a run lacks. judge: as the message calls it."""
    return EnvironmentFailure(
        "E0606",
        "A judgment that the run needs is not recorded.",
        why=f"recorded judgments are replayed, and the store holds none by {judge}",
        fix="run once without replaying, with the same store, where the judge can be asked",
    )


class ReplayModel:
    """Stands for a model behind a server, at the same address, so that the judgments recorded of
    that one are found. Has no key and opens no connection.
    """

    announces_sending = True
    """It never is about to send."""

    def __init__(self, uri: str, base_url: str) -> None:
        self.uri = uri
        self.base_url = base_url
        self.concurrency: int | None = None

    async def call(self, call: Call) -> NoReturn:
        """Raises EnvironmentFailure E0606."""
        raise not_recorded(f"{self.uri} at {self.base_url}")

    def lane(self, call: ChatCall) -> str:
        """Its own: nothing is sent."""
        return ""

    def price(self, input_tokens: int, output_tokens: int) -> float:
        """Nothing."""
        return 0.0

    async def close(self) -> None:
        """Nothing to let go of."""
