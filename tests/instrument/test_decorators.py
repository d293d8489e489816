"""The decorators: what they write, what they leave alone, and that they never get in the way."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import gc
import inspect
import json
import logging
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import SetupError
from ragassay.datasets import open_rows
from ragassay.instrument import flush, lost_spans, note_usage, traces_file
from ragassay.instrument import sink as sink_module

DOCUMENTS = [
    {"text": "The bridge opened in 1932.", "id": "d1", "score": 0.9},
    {"text": "It is made of steel.", "id": "d2", "score": 0.25},
]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RAGASSAY_STORE", str(tmp_path / "store.db"))
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    yield
    gc.collect()
    flush(10)


def written() -> list[dict[str, Any]]:
    """The spans in the file, in the order in which they ended, with their attributes by name."""
    assert flush(10)
    spans: list[dict[str, Any]] = []
    if not traces_file().exists():
        return spans
    for line in traces_file().read_text(encoding="utf-8").splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                spans += scope["spans"]
    for span in spans:
        values = {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}
        span["attributes"] = values
    return spans


def rows() -> list[Any]:
    return list(open_rows(str(traces_file())))


@ragassay.retriever
def retrieve(question: str) -> list[dict[str, Any]]:
    return DOCUMENTS


@ragassay.generator
def generate(question: str, contexts: list[dict[str, Any]]) -> str:
    return "It opened in 1932."


@ragassay.trace
def answer(question: str) -> str:
    return generate(question, retrieve(question))


def test_a_turn_is_one_row_with_texts_ids_and_scores() -> None:
    with ragassay.turn(session="s-1"):
        assert answer("When did it open?") == "It opened in 1932."
    with ragassay.turn(session="s-1"):
        answer("When was it opened?")
    flush(10)
    first, second = rows()
    assert (first.question, first.response) == ("When did it open?", "It opened in 1932.")
    assert [(c.text, c.id, c.score) for c in first.contexts] == [
        ("The bridge opened in 1932.", "d1", 0.9),
        ("It is made of steel.", "d2", 0.25),
    ]
    assert second.question == "When was it opened?"


class Completion:
    """What openai's client returns, as far as it matters."""

    def __init__(self, prompt: int, completion: int) -> None:
        self.model = "gpt-x"
        self.choices = [{"message": {"role": "assistant", "content": "In 1932."}}]
        self.usage = {"prompt_tokens": prompt, "completion_tokens": completion}


def deltas() -> list[dict[str, Any]]:
    """Its stream, with the tokens in a last piece without text."""
    pieces = [{"choices": [{"delta": {"content": text}}]} for text in ("In ", "1932.")]
    return [*pieces, {"choices": [], "model": "gpt-x", "usage": Completion(40, 7).usage}]


def test_tokens_are_read_from_what_a_models_client_returns_or_yields() -> None:
    @ragassay.generator
    def complete(question: str) -> Completion:
        return Completion(40, 7)

    @ragassay.generator
    def stream(question: str) -> Iterator[dict[str, Any]]:
        yield from deltas()

    @ragassay.generator
    def chat(question: str) -> dict[str, Any]:
        # A message of LangChain.
        usage = {"input_tokens": 40, "output_tokens": 7, "total_tokens": 47}
        return {"content": "In 1932.", "usage_metadata": usage}

    complete("When?")
    assert len(list(stream("When?"))) == 3
    chat("When?")
    for span in written():
        attributes = span["attributes"]
        assert attributes["output.value"] == "In 1932."
        assert int(attributes["llm.token_count.prompt"]) == 40
        assert int(attributes["llm.token_count.completion"]) == 7
    assert [row.usage.total_tokens for row in rows()] == [47, 47, 47]


def test_tokens_can_be_said_and_several_calls_add_up() -> None:
    @ragassay.generator
    def generate(question: str) -> Completion:
        note_usage(input_tokens=30, output_tokens=2, model="small")
        note_usage(input_tokens=10, output_tokens=5)
        note_usage(input_tokens=-1, output_tokens="many", model=7)  # type: ignore[arg-type]
        return Completion(1, 1)

    @ragassay.generator
    async def stream(question: str) -> AsyncIterator[str]:
        yield "In "
        note_usage(input_tokens=40, output_tokens=7)
        yield "1932."

    async def read() -> None:
        assert [piece async for piece in stream("When?")] == ["In ", "1932."]

    generate("When?")
    asyncio.run(read())
    note_usage(input_tokens=1_000)  # no function runs
    plain, streamed = (span["attributes"] for span in written())
    assert plain["llm.model_name"] == "small"
    for attributes in (plain, streamed):
        assert int(attributes["llm.token_count.prompt"]) == 40
        assert int(attributes["llm.token_count.completion"]) == 7


def test_an_object_that_fails_when_it_is_asked_for_tokens_costs_no_text() -> None:
    class Odd(dict[str, Any]):
        @property
        def usage(self) -> int:
            raise RuntimeError("no")

        def get(self, name: str, default: Any = None) -> Any:
            if name == "usage":
                raise RuntimeError("no")
            return super().get(name, default)

    @ragassay.generator
    def generate(question: str) -> Odd:
        return Odd(content="In 1932.")

    generate("When?")
    (span,) = written()
    assert span["attributes"]["output.value"] == "In 1932."


TEXTS = {"d1": "The bridge opened in 1932.", 2: "It is made of steel."}


@pytest.mark.parametrize(
    "returned",
    [["d1", 2], [("d1", 0.9), (2, 0.25)], [{"id": "d1", "score": 0.9}, {"id": 2, "text": ""}]],
)
def test_ids_alone_become_documents_by_a_function_of_the_application(returned) -> None:
    @ragassay.retriever(text_of=TEXTS.__getitem__)
    def search(question: str) -> list[Any]:
        return returned

    assert search("When?") is returned
    (span,) = written()
    attributes = span["attributes"]
    texts = [attributes[f"retrieval.documents.{n}.document.content"] for n in (0, 1)]
    assert texts == list(TEXTS.values())
    assert attributes["retrieval.documents.1.document.id"] == "2"
    if returned[0] != "d1":
        assert attributes["retrieval.documents.0.document.score"] == 0.9


@pytest.mark.parametrize("text_of", [TEXTS.__getitem__, TEXTS.get])
def test_where_one_text_is_not_to_be_had_the_contexts_are_unknown_and_not_fewer(text_of) -> None:
    @ragassay.retriever(text_of=text_of)
    def search(question: str) -> list[str]:
        return ["d1", "gone"]

    @ragassay.trace
    def ask(question: str) -> str:
        search(question)
        return "It opened in 1932."

    assert ask("When?") == "It opened in 1932."
    assert flush(10)
    (row,) = rows()
    assert row.contexts is None


def test_a_document_without_a_text_keeps_its_place_and_leaves_the_contexts_unknown() -> None:
    @ragassay.retriever
    def search(question: str) -> list[Any]:
        return [{"text": "It opened in 1932.", "id": "d1"}, {"id": "d2"}, Hostile()]

    @ragassay.trace
    def ask(question: str) -> str:
        search(question)
        return "In 1932."

    ask("When?")
    attributes = written()[0]["attributes"]
    ids = [attributes[f"retrieval.documents.{place}.document.id"] for place in range(3)]
    assert ids == ["d1", "d2", ""]
    assert attributes["retrieval.documents.0.document.content"] == "It opened in 1932."
    assert "retrieval.documents.1.document.content" not in attributes
    # As of every other reader: judged by a part, the answer would be blamed for the rest.
    assert [row.contexts for row in rows()] == [None]


def test_a_retriever_that_finds_nothing_gives_an_empty_list_of_contexts() -> None:
    @ragassay.retriever
    def search(question: str) -> list[str]:
        return []

    @ragassay.trace
    def ask(question: str) -> str:
        return f"None of {len(search(question))}."

    ask("When?")
    assert flush(10)
    assert [row.contexts for row in rows()] == [()]


def found(question: str) -> Generator[dict[str, Any], None, None]:
    yield from DOCUMENTS


async def afound(question: str) -> AsyncGenerator[dict[str, Any], None]:
    for document in DOCUMENTS:
        yield document


def all_of(items: Any) -> list[Any]:
    async def read() -> list[Any]:
        return [item async for item in items]

    return list(items) if isinstance(items, Iterator) else asyncio.run(read())


@pytest.mark.parametrize(
    "search", [found, afound, lambda question: found(question), lambda question: afound(question)]
)
def test_the_documents_that_a_retriever_yields_pass_through_and_are_traced(search: Any) -> None:
    items = all_of(ragassay.retriever(search)("When?"))
    # The very objects, each handed on before the next is made.
    assert [item is document for item, document in zip(items, DOCUMENTS, strict=True)] == [True] * 2
    attributes = written()[0]["attributes"]
    assert [attributes[f"retrieval.documents.{n}.document.id"] for n in (0, 1)] == ["d1", "d2"]
    assert attributes["retrieval.documents.1.document.score"] == 0.25


def test_a_retriever_that_yields_is_lazy_and_traced_as_far_as_it_was_read() -> None:
    made: list[str] = []

    @ragassay.retriever
    def search(question: str) -> Generator[str, None, None]:
        for text in ("first", "second", "third"):
            made.append(text)
            yield text
            if text == "second":
                raise TimeoutError

    @ragassay.trace
    def ask(question: str) -> str:
        documents = search(question)
        assert made == []
        assert next(documents) == "first"
        if question == "Closed?":
            documents.close()
        elif question == "Failed?":
            with pytest.raises(TimeoutError):
                list(documents)
        del documents
        made.clear()
        return "An answer."

    for question in ("Closed?", "Abandoned?", "Failed?"):
        ask(question)
        gc.collect()
    assert flush(10)
    texts = [[context.text for context in row.contexts] for row in rows()]
    assert texts == [["first"], ["first"], ["first", "second"]]


def test_a_retrieval_that_failed_leaves_the_contexts_to_the_one_that_did_not() -> None:
    @ragassay.retriever
    def search(question: str) -> list[str]:
        if question == "When?":
            raise ConnectionError
        return ["It opened in 1932."]

    @ragassay.trace
    def ask(question: str) -> str:
        with pytest.raises(ConnectionError):
            search(question)
        return search("opening")[0]

    ask("When?")
    flush(10)
    (row,) = rows()
    assert [context.text for context in row.contexts] == ["It opened in 1932."]
    assert written()[0]["status"]["message"] == "ConnectionError"


def test_the_question_of_a_turn_is_that_of_the_call_that_begins_first() -> None:
    @ragassay.trace
    def fail(question: str) -> str:
        raise ConnectionError

    @ragassay.trace
    def outer(question: str) -> str:
        return f"So: {answer('in other words')}"

    with ragassay.turn():
        outer("What the user asked?")
    with ragassay.turn():
        with pytest.raises(ConnectionError):
            fail("What the user asked?")
        answer("asked again")
    with ragassay.turn(), pytest.raises(ConnectionError):
        fail("What the user asked?")
    assert flush(10)
    found = rows()
    assert [row.question for row in found] == ["What the user asked?"] * 3
    assert [row.response for row in found] == [
        "So: It opened in 1932.",
        "It opened in 1932.",
        None,
    ]
    assert [row.error for row in found] == [None, None, "ConnectionError"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_that_is_read_after_its_turn_belongs_to_it(asynchronous: bool) -> None:
    stream = ragassay.trace(apieces if asynchronous else pieces)
    with ragassay.turn(session="s-1"):
        first = stream("When?")
    with ragassay.turn(session="s-2"):
        all_of(first)
        answer("And where?")
    assert flush(10)
    found = {row.cluster: row for row in rows()}
    assert (found["s-1"].question, found["s-1"].response) == ("When?", "It opened in 1932.")
    assert found["s-2"].question == "And where?"
    assert len(found) == 2


def test_a_traced_generator_function_is_one_still_also_as_a_method() -> None:
    class Application:
        @ragassay.trace
        def answer(self, question: str) -> Iterator[str]:
            """Answer a question."""
            yield type(self).__name__

    assert inspect.isgeneratorfunction(Application.answer)
    assert inspect.isasyncgenfunction(ragassay.trace(apieces))
    assert inspect.signature(Application().answer).parameters.keys() == {"question"}
    assert Application.answer.__doc__ == "Answer a question."
    assert list(Application().answer("When?")) == ["Application"]
    assert copy.deepcopy(Application.answer) is Application.answer
    assert written()[0]["attributes"]["input.value"] == "When?"


def test_threads_of_a_pool_are_in_the_turn_where_they_run_in_its_context() -> None:
    @ragassay.trace
    def ask(question: str) -> str:
        with ThreadPoolExecutor() as pool:
            running = [
                pool.submit(contextvars.copy_context().run, retrieve, query)
                for query in ("opened", "made of")
            ]
            for each in running:
                each.result()
        return "In 1932."

    ask("When?")
    assert flush(10)
    (row,) = rows()
    assert [context.id for context in row.contexts] == ["d1", "d2"]


def test_a_turn_without_a_traced_function_says_itself_what_was_asked_and_answered() -> None:
    async def talk() -> None:
        async with ragassay.turn(session="s-2", user="anna", question="When?") as turn:
            contexts = retrieve("bridge opened")
            turn.response = generate("bridge opened", contexts)

    asyncio.run(talk())
    (root,) = [span for span in written() if "parentSpanId" not in span]
    assert root["attributes"]["session.id"] == "s-2"
    assert root["attributes"]["user.id"] == "anna"
    (row,) = rows()
    assert (row.question, row.response, len(row.contexts)) == ("When?", "It opened in 1932.", 2)


def test_spans_are_of_openinference_and_stand_inside_each_other() -> None:
    answer("When did it open?")
    retriever, generator, root = written()
    kinds = [s["attributes"]["openinference.span.kind"] for s in (retriever, generator, root)]
    assert kinds == ["RETRIEVER", "LLM", "CHAIN"]
    assert "parentSpanId" not in root
    assert retriever["parentSpanId"] == generator["parentSpanId"] == root["spanId"]
    assert len({span["traceId"] for span in (retriever, generator, root)}) == 1
    assert int(root["startTimeUnixNano"]) <= int(retriever["startTimeUnixNano"])
    assert int(retriever["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])


def test_coroutine_functions_of_tasks_at_once_keep_their_traces_apart() -> None:
    @ragassay.retriever
    async def aretrieve(question: str) -> list[str]:
        await asyncio.sleep(0)
        return [f"about {question}"]

    @ragassay.trace
    async def aanswer(question: str) -> str:
        (context,) = await aretrieve(question)
        return context

    async def many() -> list[str]:
        return await asyncio.gather(*[aanswer(f"question {n}") for n in range(20)])

    assert asyncio.run(many()) == [f"about question {n}" for n in range(20)]
    flush(10)
    found = rows()
    assert len(found) == 20
    for row in found:
        assert row.response == row.contexts[0].text == f"about {row.question}"


def pieces(question: str) -> Generator[str, None, None]:
    yield "It opened "
    yield "in 1932."


async def apieces(question: str) -> AsyncGenerator[str, None]:
    yield "It opened "
    yield "in 1932."


def test_a_stream_that_is_exhausted_is_an_answer() -> None:
    assert list(ragassay.trace(pieces)("q")) == ["It opened ", "in 1932."]
    (span,) = written()
    assert span["attributes"]["output.value"] == "It opened in 1932."


def test_a_stream_that_is_closed_ends_its_span_with_what_came() -> None:
    stream = ragassay.trace(pieces)("q")
    assert next(stream) == "It opened "
    assert written() == []
    stream.close()
    (span,) = written()
    assert span["attributes"]["output.value"] == "It opened "


def test_a_stream_that_is_collected_ends_its_span() -> None:
    stream = ragassay.trace(pieces)("q")
    next(stream)
    del stream
    gc.collect()
    assert len(written()) == 1


def test_a_returned_stream_that_nobody_reads_ends_its_span_when_it_is_collected() -> None:
    @ragassay.trace
    def answer(question: str) -> Iterator[str]:
        return pieces(question)

    stream = answer("q")
    assert written() == []
    del stream
    gc.collect()
    assert len(written()) == 1


def test_asynchronous_streams_end_when_exhausted_and_when_closed() -> None:
    traced = ragassay.trace(apieces)

    async def read() -> None:
        assert [piece async for piece in traced("q")] == ["It opened ", "in 1932."]
        stream = traced("q")
        assert await anext(stream) == "It opened "
        await stream.aclose()

    asyncio.run(read())
    assert [span["attributes"]["output.value"] for span in written()] == [
        "It opened in 1932.",
        "It opened ",
    ]


def test_what_the_consumer_of_a_stream_does_is_not_inside_its_span() -> None:
    for _ in ragassay.trace(pieces)("q"):
        retrieve("another")
    *others, stream = written()
    assert {span["traceId"] for span in others}.isdisjoint({stream["traceId"]})


def test_a_generator_keeps_what_is_sent_thrown_and_returned() -> None:
    @ragassay.trace
    def talk(question: str) -> Any:
        try:
            got = yield "first"
        except KeyError:
            got = "thrown"
        yield got
        return "end"

    stream = talk("q")
    next(stream)
    assert stream.send("sent") == "sent"
    with pytest.raises(StopIteration, match="end"):
        next(stream)
    stream = talk("q")
    next(stream)
    assert stream.throw(KeyError) == "thrown"
    stream.close()


def test_an_error_is_raised_as_it_was_and_noted_by_its_name_alone() -> None:
    @ragassay.trace
    def fail(question: str) -> str:
        raise ValueError("a secret")

    with pytest.raises(ValueError, match="a secret"):
        fail("q")
    (span,) = written()
    assert span["status"] == {"code": 2, "message": "ValueError"}


class Hostile:
    """An object of which nothing can be asked."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError("no")


def test_whatever_is_given_and_returned_nothing_is_raised() -> None:
    for decorate in (ragassay.trace, ragassay.retriever, ragassay.generator):
        for value in (Hostile(), [Hostile()], {"contexts": Hostile()}, object(), "\ud800", 3, [[]]):
            assert decorate(lambda question, value=value: value)(value) is value
    flush(10)
    assert len(written()) == 21


def test_a_question_that_is_named_must_be_a_parameter() -> None:
    with pytest.raises(SetupError, match="no parameter 'topic'") as raised:
        ragassay.trace(question="topic")(lambda text: text)
    assert raised.value.code == "E0101"


def test_the_file_is_put_aside_when_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_module, "LARGEST_FILE", 1000)
    for _ in range(3):
        sink_module.append(traces_file(), b"x" * 600)
    folder = traces_file().parent
    assert (folder / "traces.jsonl").stat().st_size == 601
    assert (folder / "traces.1.jsonl").stat().st_size == 601


def test_a_dead_collector_costs_one_warning_and_no_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sink_module, "_sink", None)
    monkeypatch.setattr(sink_module, "MOST_WAITING", 100 * sink_module.SPAN)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    with caplog.at_level(logging.WARNING, "ragassay.instrument"):
        for _ in range(500):
            retrieve("q")
        assert flush(20)
        retrieve("q")
        flush(20)
    assert lost_spans() == 501
    assert len(caplog.records) == 1
    assert "spans cannot be written and are dropped" in caplog.text
    assert not traces_file().exists()
    monkeypatch.setattr(sink_module, "_sink", None)


def test_what_a_collector_does_not_take_is_counted_and_costs_no_other_span(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    taken: list[int] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            spans = json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]
            if len(body) > 100_000:
                self.send_response(413)
                self.end_headers()
                return
            names = [span["name"] for span in spans]
            refused = names.count("unwanted")
            taken.append(len(spans) - refused)
            self.send_response(200)
            self.end_headers()
            if refused:
                said = {"rejectedSpans": str(refused), "errorMessage": "not wanted"}
                self.wfile.write(json.dumps({"partialSuccess": said}).encode())

        def log_message(self, *args: object) -> None:
            pass

    monkeypatch.setattr(sink_module, "_sink", None)
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        unwanted = ragassay.trace(name="unwanted")(lambda question: "no")
        large = ragassay.trace(name="large")(lambda question: "x" * 200_000)
        small = ragassay.trace(name="small")(lambda question: "yes")
        with caplog.at_level(logging.WARNING, "ragassay.instrument"):
            for _ in range(10):
                small("q")
            large("q")
            unwanted("q")
            for _ in range(10):
                small("q")
            assert flush(20)
        server.shutdown()
    assert sum(taken) == 20
    assert lost_spans() == 2
    assert len(caplog.records) == 1
    assert "the collector refused 1 spans" in caplog.text
    monkeypatch.setattr(sink_module, "_sink", None)


def test_a_burst_of_calls_is_written_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_module, "_sink", None)
    for _ in range(3_000):
        answer("When?")
    assert len(written()) == 9_000
    assert lost_spans() == 0


def test_of_calls_too_many_to_be_written_whole_traces_are_dropped_and_it_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    is_free = threading.Event()
    append = sink_module.append

    def slow_disk(file: Path, body: bytes) -> None:
        is_free.wait(20)
        append(file, body)

    monkeypatch.setattr(sink_module, "_sink", None)
    monkeypatch.setattr(sink_module, "MOST_WAITING", 100 * sink_module.SPAN)
    monkeypatch.setattr(sink_module, "append", slow_disk)
    with caplog.at_level(logging.WARNING, "ragassay.instrument"):
        for _ in range(500):
            answer("When?")
        is_free.set()
        spans = written()
        answer("And now?")
        assert len(written()) == len(spans) + 3
    traces = Counter(span["traceId"] for span in spans)
    assert 30 < len(traces) < 500
    assert set(traces.values()) == {3}  # those that are there are whole
    assert lost_spans() == 1500 - len(spans)
    (record,) = caplog.records
    assert f"{lost_spans()} were dropped so far" in record.getMessage()
    monkeypatch.setattr(sink_module, "_sink", None)


def test_texts_that_wait_are_bounded_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    is_free = threading.Event()
    monkeypatch.setattr(sink_module, "_sink", None)
    monkeypatch.setattr(sink_module, "append", lambda file, body: is_free.wait(20))
    text = "x" * 1_000_000
    long = ragassay.trace(lambda question: text)
    for _ in range(100):
        long("When?")
    # Each holds a million characters: 32 wait, and one line of them is being written.
    assert 60 <= lost_spans() <= 70
    is_free.set()
    assert flush(10)
    monkeypatch.setattr(sink_module, "_sink", None)


def test_the_end_of_the_process_waits_for_what_is_being_written(tmp_path: Path) -> None:
    code = (
        "import ragassay\n"
        "answer = ragassay.trace(lambda question: 'x' * 2000)\n"
        "for _ in range(5000): answer('When?')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(written()) == 5_000


def test_spans_go_to_the_collector_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received: list[tuple[str, str | None, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append((self.path, self.headers.get("authorization"), body))
            # Full at first: the batch is sent again.
            self.send_response(429 if len(received) == 1 else 200)
            self.send_header("retry-after", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
        answer("q")
        assert flush(20)
        server.shutdown()
    assert {(path, key) for path, key, _ in received} == {("/v1/traces", "Bearer secret")}
    spans = json.loads(received[-1][2])["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [span["name"] for span in spans] == ["retrieve", "generate", "answer"]


OF_OPENTELEMETRY = """
import ragassay
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

@ragassay.retriever
def retrieve(question):
    return [{"text": "It opened in 1932.", "id": "d1", "score": 0.5}]


@ragassay.metric
def short(response):
    return len(response) < 100

@ragassay.trace
@ragassay.guard.block_output(short, at_least=1, on_error="block", deadline_ms=60000)
def answer(question):
    return retrieve(question)[0]["text"]

with trace.get_tracer("app").start_as_current_span("request"):
    answer("When did it open?")
for span in exporter.get_finished_spans():
    parent = span.parent.span_id if span.parent else 0
    names = {each.context.span_id: each.name for each in exporter.get_finished_spans()}
    print(span.name, span.attributes.get("openinference.span.kind"), names.get(parent))
    if span.name == "block_output":
        print(span.attributes["ragassay.guard.verdict"], span.attributes["ragassay.guard.score"])
"""


def test_where_opentelemetry_is_configured_spans_go_through_it(tmp_path: Path) -> None:
    script = tmp_path / "application.py"
    script.write_text(OF_OPENTELEMETRY, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env={**os.environ}
    )
    assert done.stdout.splitlines() == [
        "retrieve RETRIEVER answer",
        "block_output GUARDRAIL answer",
        "pass 1.0",
        "answer CHAIN request",
        "request None None",
    ], done.stderr
    assert not (tmp_path / "traces.jsonl").exists()


def test_what_a_judge_runs_is_in_no_trace() -> None:
    @ragassay.metric
    def looks_up(response: str) -> bool:
        return bool(retrieve(response))

    @ragassay.trace
    @ragassay.guard.block_output(looks_up, at_least=1, on_error="block", deadline_ms=60_000)
    def answer(question: str) -> str:
        return "It opened in 1932."

    answer("q")
    names = [span["name"] for span in written()]
    assert names == ["block_output", "answer"]


def test_the_span_of_a_guard_quotes_nothing_of_the_answer_it_blocks() -> None:
    @ragassay.trace
    @ragassay.guard.block_output(
        "groundedness", at_least=0.5, on_error="block", deadline_ms=60_000, instead="blocked"
    )
    def answer(question: str, contexts: list[str]) -> str:
        return "It opened in 1957."

    assert answer("When did it open?", ["It opened in 1932."]) == "blocked"
    (span,) = [each for each in written() if each["name"] == "block_output"]
    assert "groundedness is 0.00, at least 0.5 is asked" in json.dumps(span)
    assert "19" not in json.dumps(span["attributes"]["ragassay.guard.reason"])


INSTRUMENTED = """
import asyncio, ragassay
from opentelemetry import context
from ragassay.guard import judging

@ragassay.metric
def suppressed(response):
    return context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY) is True

guard = ragassay.guard.block_output(
    suppressed, at_least=1, on_error="block", deadline_ms=60_000
)
print(guard.check(response="text").score, context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
"""


def test_instrumentations_of_opentelemetry_are_switched_off_for_the_judge_alone() -> None:
    command = [sys.executable, "-c", INSTRUMENTED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1.0 None\n"


def test_importing_the_package_and_decorating_is_light(tmp_path: Path) -> None:
    code = (
        "import sys, ragassay\n"
        "@ragassay.trace\n"
        "def answer(question): return question\n"
        "answer('q')\n"
        "heavy = ('aiohttp', 'numpy', 'sqlalchemy', 'onnxruntime', 'opentelemetry')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
