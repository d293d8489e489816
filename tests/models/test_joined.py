"""Two models behind one door: chat calls to the main one, match calls to the one that runs here."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from ragassay.core import (
    Call,
    CallError,
    ChatCall,
    ChatReply,
    MatchCall,
    MatchReply,
    Message,
    Reply,
)
from ragassay.models import JoinedModel
from ragassay.models.local import LocalModel
from ragassay.models.offline import OfflineModel

CHAT, MATCH = ChatCall((Message("user", "hi"),)), MatchCall("similarity", "a", ("b",))


class Fake:
    """A model that answers one kind of call and remembers what it was asked."""

    def __init__(self, name: str, reply: Reply, error: Exception | None = None) -> None:
        self.uri, self.reply, self.error, self.asked, self.closed = (
            name,
            reply,
            error,
            list[Call](),
            0,
        )
        self.concurrency, self.base_url, self.replies_without_usage = 7, f"http://{name}", 3

    async def call(self, call: Call) -> Reply:
        self.asked.append(call)
        if self.error is not None:
            raise self.error
        return self.reply

    def lane(self, call: ChatCall) -> str:
        return ""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return input_tokens * 2.0

    async def close(self) -> None:
        self.closed += 1
        if self.error is not None:
            raise self.error


def test_each_kind_of_call_goes_to_its_model() -> None:
    main, match = Fake("main", ChatReply("x")), Fake("match", MatchReply(0.5))
    joined = JoinedModel(main, match)

    async def ask() -> tuple[Reply, Reply]:
        return await joined.call(CHAT), await joined.call(MATCH)

    assert asyncio.run(ask()) == (ChatReply("x"), MatchReply(0.5))
    assert (main.asked, match.asked) == ([CHAT], [MATCH])


def test_what_a_run_shows_and_counts_is_the_main_models() -> None:
    joined = JoinedModel(Fake("main", ChatReply("x")), OfflineModel())
    assert (joined.uri, joined.concurrency, joined.base_url) == ("main", 7, "http://main")
    assert (joined.replies_without_usage, joined.price(10, 0)) == (3, 20.0)


def test_a_main_model_without_an_address_has_none_and_lacks_no_usage() -> None:
    joined = JoinedModel(OfflineModel(), OfflineModel())
    assert (joined.base_url, joined.replies_without_usage, joined.price(1, 1)) == ("", 0, 0.0)


def test_an_error_of_one_model_passes_and_is_not_the_others() -> None:
    main, match = (
        Fake("main", ChatReply("x"), CallError("server", "down")),
        Fake("match", MatchReply(0.5)),
    )
    joined = JoinedModel(main, match)
    with pytest.raises(CallError, match="down"):
        asyncio.run(joined.call(CHAT))
    assert asyncio.run(joined.call(MATCH)) == MatchReply(0.5)


def test_both_are_closed_also_when_closing_the_first_fails() -> None:
    main, match = Fake("main", ChatReply("x"), OSError("gone")), Fake("match", MatchReply(0.5))
    with pytest.raises(OSError, match="gone"):
        asyncio.run(JoinedModel(main, match).close())
    assert (main.closed, match.closed) == (1, 1)


def test_joining_with_the_offline_model_loads_nothing_before_the_first_match_call() -> None:
    code = (
        "import sys; from ragassay.models import JoinedModel; from ragassay.models.offline import"
        " OfflineModel; JoinedModel(OfflineModel(), OfflineModel()); print([n for n in ('numpy',"
        " 'onnxruntime', 'aiohttp') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_call_goes_to_the_chat_model_it_names_and_an_unknown_name_is_no_default() -> None:
    main, other, match = (
        Fake("main", ChatReply("x")),
        Fake("other", ChatReply("y")),
        Fake("match", MatchReply(0.5)),
    )
    joined = JoinedModel(main, match, {"other": other})
    named = [ChatCall((Message("user", "hi"),), model=name) for name in ("", "main", "other")]

    async def ask() -> list[Reply]:
        return [await joined.call(call) for call in named]

    assert asyncio.run(ask()) == [ChatReply("x"), ChatReply("x"), ChatReply("y")]
    with pytest.raises(KeyError):
        asyncio.run(joined.call(ChatCall((Message("user", "hi"),), model="nobody")))


def test_a_match_call_that_names_a_model_is_for_that_one() -> None:
    main, match = Fake("local:a", MatchReply(0.1)), Fake("match", MatchReply(0.5))
    joined = JoinedModel(main, match, {"local:b": Fake("local:b", MatchReply(0.2))})

    async def ask() -> list[Reply]:
        names = ("local:a", "local:b", "")
        return [await joined.call(MatchCall("support", "a", ("b",), model=n)) for n in names]

    assert asyncio.run(ask()) == [MatchReply(0.1), MatchReply(0.2), MatchReply(0.5)]
    assert joined.members == (main, joined.member("local:b"))


def test_the_pace_is_that_of_the_hosted_models_where_there_are_some() -> None:
    here, hosted = LocalModel("models/m", threads=1), Fake("hosted", ChatReply("x"))
    assert here.concurrency == 8
    assert JoinedModel(here, OfflineModel(), {"hosted": hosted}).concurrency == 7
    hosted.concurrency = 32
    assert JoinedModel(here, OfflineModel(), {"hosted": hosted}).concurrency == 32
    assert JoinedModel(here, OfflineModel()).concurrency == 8


def test_of_several_chat_models_the_dearest_sets_the_price_and_the_slowest_the_pace() -> None:
    class Dear(Fake):
        def lane(self, call: ChatCall) -> str:
            return ""

        def price(self, input_tokens: int, output_tokens: int) -> float | None:
            return input_tokens * 5.0

    class Unknown(Fake):
        def lane(self, call: ChatCall) -> str:
            return ""

        def price(self, input_tokens: int, output_tokens: int) -> float | None:
            return None

    main, dear, match = (
        Fake("main", ChatReply("x")),
        Dear("dear", ChatReply("y")),
        Fake("match", MatchReply(0.5)),
    )
    dear.concurrency = 3
    joined = JoinedModel(main, match, {"dear": dear})
    assert (joined.uri, joined.price(10, 0), joined.concurrency) == ("main+dear", 50.0, 3)
    assert (joined.base_url, joined.replies_without_usage) == ("http://main, http://dear", 6)
    assert JoinedModel(main, match, {"u": Unknown("u", ChatReply("y"))}).price(10, 0) is None
    asyncio.run(joined.close())
    assert (main.closed, dear.closed, match.closed) == (1, 1, 1)
