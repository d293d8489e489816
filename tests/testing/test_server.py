"""That the scripted server, the oracle of the tests over HTTP, keeps honest books."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import orjson
import pytest

from ragassay.core import CallError, ChatCall, ChatReply, Message
from ragassay.models.chat_model import ChatModel
from ragassay.testing import LLMServer, ServerProcess, answer_by_words, embedded_schema, overlap

SCHEMA = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "enum": ["c1", "c2", "c3"]},
                    "rationale": {"type": "string"},
                    "rating": {"type": "integer", "enum": [0, 1, 2, 3]},
                },
            },
        }
    },
}


def ask(url: str, *texts: str) -> list[str]:
    """The replies to these prompts, one after another; a failure is its kind."""

    async def main() -> list[str]:
        model, said = ChatModel("mock", base_url=url), []
        for text in texts:
            try:
                reply = await model.call(ChatCall((Message("user", text),), schema=SCHEMA))
                assert isinstance(reply, ChatReply)
                said.append(reply.text)
            except CallError as error:
                said.append(error.kind)
        await model.close()
        return said

    return asyncio.run(main())


@pytest.fixture(scope="module")
def process() -> Iterator[ServerProcess]:
    with ServerProcess() as running:
        yield running


def test_the_default_judge_answers_each_id_once_within_the_schema() -> None:
    with LLMServer() as server:
        (text,) = ask(server.url, "a")
    verdicts = orjson.loads(text)["verdicts"]
    assert [v["id"] for v in verdicts] == ["c1", "c2", "c3"]
    assert all(v["rating"] in (0, 1, 2, 3) and v["rationale"] for v in verdicts)


def test_the_same_prompt_gets_the_same_answer() -> None:
    body = {"messages": [{"content": "x"}], "response_format": {"json_schema": {"schema": SCHEMA}}}
    assert answer_by_words(body) == answer_by_words(body)


def test_a_schema_written_into_the_prompt_is_found() -> None:
    assert (
        embedded_schema(f"Follow {orjson.dumps(SCHEMA).decode()} exactly, not {{this}}.") == SCHEMA
    )
    assert embedded_schema("no schema here {") is None


def test_a_prompt_answered_again_shows_in_the_books_and_one_that_failed_does_not() -> None:
    with LLMServer(faults=[None, "500", None, "truncated", None]) as server:
        ask(server.url, "a", "b", "b", "c", "c")
        assert (server.stats()["answered_twice"], server.stats()["prompts_answered"]) == (0, 3)
        ask(server.url, "a")
        books = server.stats()
    assert (books["answered_twice"], books["calls"], books["answers"]) == (1, 6, 4)
    assert books["in_flight"] == 0


def test_half_answers_and_answers_in_prose_come_on_demand() -> None:
    with LLMServer(half=True) as server:
        assert len(orjson.loads(ask(server.url, "a")[0])["verdicts"]) == 1
        server.half, server.prose = False, True
        text = ask(server.url, "a")[0]
        assert text.startswith("Here is")
        assert orjson.loads(text.split("```json\n")[1].split("\n```")[0])


def test_faults_come_at_their_rate_and_the_dice_repeat(process: ServerProcess) -> None:
    outcomes = []
    for _ in range(2):
        process.script(reset=True, seed=3, fault_rates={"500": 0.3})
        outcomes.append(ask(process.url, *(str(n) for n in range(40))))
    process.script(fault_rates={})
    assert outcomes[0] == outcomes[1]
    assert 4 <= outcomes[0].count("server") <= 20
    assert process.stats()["injected"] == {"500": outcomes[0].count("server")}


def test_a_server_in_its_own_process_keeps_books_that_can_be_read_over_http(
    process: ServerProcess,
) -> None:
    process.script(reset=True, keep_bodies=True)
    ask(process.url, "a", "b")
    books = process.stats()
    assert (books["calls"], books["answers"], books["answered_twice"]) == (2, 2, 0)
    assert books["cost"] == pytest.approx(
        (books["input_tokens"] + 2 * books["output_tokens"]) / 1e6
    )
    assert [body["messages"][0]["content"] for body in process.bodies()] == ["a", "b"]


def test_the_default_judge_reads_the_fenced_texts_and_quotes_them_word_for_word() -> None:
    prompt = (
        "<<<passage 1|aa>>>\nBread is baked daily.\n<<<end|aa>>>\n<<<passage 2|bb>>>\nIt is long."
        " The bridge was opened in 1932.\n<<<end|bb>>>\n<<<claim|0a1b2c3d>>>\nThe bridge was opened"
        " in 1932.\n<<<end|0a1b2c3d>>>\n<<<claim|4e5f6a7b>>>\nDragons breathe fire.\n"
        "<<<end|4e5f6a7b>>>\n"
    )
    fields = {
        "id": {"enum": ["0a1b2c3d", "4e5f6a7b"]},
        "reasoning": {},
        "quotes": {},
        "nothing_found": {},
        "rating": {"enum": [0, 1, 2, 3]},
    }
    form = {"properties": {"verdicts": {"items": {"properties": fields}}}}
    body = {"messages": [{"content": prompt}], "response_format": {"json_schema": {"schema": form}}}
    reply = answer_by_words(body)
    assert isinstance(reply, dict)
    first, second = reply["verdicts"]
    assert first.keys() == fields.keys()
    assert (first["id"], first["rating"], first["nothing_found"]) == ("0a1b2c3d", 3, False)
    assert first["quotes"] == [{"passage": 2, "text": "The bridge was opened in 1932."}]
    assert (second["id"], second["rating"], second["nothing_found"], second["quotes"]) == (
        "4e5f6a7b",
        0,
        True,
        [],
    )
    told = {
        "messages": [
            {"content": f"{prompt}The schema: {orjson.dumps(form | {'type': 'object'}).decode()}"}
        ]
    }
    assert answer_by_words(told) == reply


def test_overlap_is_the_share_of_words_found() -> None:
    assert overlap("The cat sat", "a cat and the dog") == pytest.approx(2 / 3)
    assert overlap("a b", "a b") == 0.0
