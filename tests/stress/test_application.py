"""The user's system in every shape, and what becomes of one that misbehaves."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ragassay
from ragassay.core import SetupError
from ragassay.stress.result import StressResult

PLACES = ("Halden", "Brook", "Corvin", "Dunmore", "Elster", "Farrow", "Gresham", "Holt")
ROWS = [
    {
        "id": place,
        "question": f"When was the {place} bridge opened?",
        "reference": str(1850 + 3 * number),
        "contexts": [f"The {place} bridge was opened in {1850 + 3 * number}."],
        "cluster": place,
    }
    for number, place in enumerate(PLACES)
]
TINY: dict[str, Any] = {"tests": ["noise"], "numbers": [1], "kinds": ["same-topic"]}
TINY |= {"positions": ["last"], "arms": ["added"]}


def read(question: str, contexts: list[str]) -> str:
    """A sound system: the year of the passage about the place that is asked for."""
    place = question.split()[3]
    for context in contexts:
        if f"{place} bridge" in context:
            return context.split()[-1]
    return "I do not know."


def stressed(app: Any, tmp_path: Path, **options: Any) -> StressResult:
    """A small test of noise: four askings a question."""
    given = {**TINY, **options}
    return ragassay.stress_test(app, ROWS, store=tmp_path / "s.db", **given)


def clean(result: StressResult) -> float | None:
    """The share right with clean passages."""
    assert result.noise is not None
    return result.noise.floor.right


def test_a_function_of_question_and_contexts(tmp_path: Path) -> None:
    result = stressed(read, tmp_path)
    assert result.askings == 32
    assert clean(result) == 1.0
    assert result.findings == ()


def test_an_asynchronous_function(tmp_path: Path) -> None:
    async def answer(question: str, contexts: list[str]) -> str:
        await asyncio.sleep(0)
        return read(question, contexts)

    assert clean(stressed(answer, tmp_path)) == 1.0


def test_an_object_that_is_called_and_returns_its_passages_as_well(tmp_path: Path) -> None:
    class Chain:
        async def __call__(self, question: str, contexts: list[str]) -> dict[str, Any]:
            return {"answer": read(question, contexts), "contexts": ["something else"]}

    result = stressed(Chain(), tmp_path)
    assert clean(result) == 1.0
    # What it was given is what stands in the store, whatever it says that it used.
    with ragassay.open_run(result.run, store=tmp_path / "s.db") as run:
        sample = run["Halden|clean/1"].sample
    assert sample is not None
    assert [context.text for context in sample.contexts or ()] == ROWS[0]["contexts"]


def test_a_function_of_the_whole_row(tmp_path: Path) -> None:
    def answer(row: Any) -> str:
        return read(row.question, [context.text for context in row.contexts])

    assert clean(stressed(answer, tmp_path)) == 1.0


@pytest.fixture
def my_app(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A module of the user's with this source, importable as my_app."""
    import sys

    def make(source: str) -> ModuleType:
        module = ModuleType("my_app")
        exec(source, module.__dict__)  # as a file of the user's would be
        monkeypatch.setitem(sys.modules, "my_app", module)
        return module

    return make


FORMS = {
    "texts": "['one', 'two']",
    "mappings": "[{'text': 'one', 'id': 1}]",
    "documents": "[Document('one')]",
    "scored documents": "[(Document('one'), 0.5)]",
    "nothing": "[]",
}
APP = """
class Document:
    def __init__(self, text): self.page_content = text

def text_of(found):
    found = found[0] if isinstance(found, tuple) else found
    if isinstance(found, str): return found
    return found["text"] if isinstance(found, dict) else found.page_content

def retrieve(question):
    return RESULT

def answer(question):
    return read(question, [text_of(each) for each in retrieve(question)])
"""


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_wrapped_retriever_gives_passages_in_its_own_form(
    tmp_path: Path, my_app: Callable[[str], ModuleType], form: str
) -> None:
    module = my_app(APP.replace("RESULT", form))
    module.__dict__["read"] = read
    own = module.__dict__["retrieve"]
    result = stressed("my_app:answer", tmp_path, retriever="my_app:retrieve")
    assert clean(result) == 1.0
    # The module is as it was.
    assert module.__dict__["retrieve"] is own


def test_a_retriever_that_is_never_called_is_an_error_of_each_row(
    tmp_path: Path, my_app: Callable[[str], ModuleType]
) -> None:
    my_app("def retrieve(question): return []\ndef answer(question): return '1850'")
    result = stressed("my_app:answer", tmp_path, retriever="my_app:retrieve")
    assert result.errors == {"RuntimeError: the application did not call its retriever": 32}
    assert result.findings[0].weakness == "fails"
    assert result.failed.of == 32


class Endpoint(BaseHTTPRequestHandler):
    """Answers like `read`; a path of /broken is a 500, /silent gives no answer in its JSON, /login
    is a page, and /untyped says of no body what it is.
    """

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps({"answer": read(body["question"], body["contexts"])})
        if self.path == "/silent":
            text = json.dumps({"status": "ok"})
        if self.path == "/login":
            text = "<!DOCTYPE html><html><body>Log in</body></html>"
        self.send_response(500 if self.path == "/broken" else 200)
        if self.path not in ("/login", "/untyped"):
            self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_http_endpoint(tmp_path: Path, endpoint: str) -> None:
    result = stressed(endpoint, tmp_path, app_headers=["X-Team: search"])
    assert clean(result) == 1.0
    assert result.app == endpoint


def test_an_object_of_json_is_read_as_one_whatever_it_is_sent_as(
    tmp_path: Path, endpoint: str
) -> None:
    result = stressed(endpoint + "/untyped", tmp_path)
    assert clean(result) == 1.0
    assert not any("{" in (row.response or "") for row in result.rows)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/broken", "the endpoint answered 500"),
        ("/silent", "expected a text"),
        ("/login", "the endpoint sent a page of HTML"),
    ],
)
def test_an_endpoint_that_fails_is_a_class_of_its_own(
    tmp_path: Path, endpoint: str, path: str, message: str
) -> None:
    result = stressed(endpoint + path, tmp_path)
    assert clean(result) == 0.0
    assert all(message in error for error in result.errors)
    assert result.findings[0].weakness == "fails"


def raises(question: str, contexts: list[str]) -> str:
    raise LookupError("the index is empty")


def hangs(question: str, contexts: list[str]) -> str:
    time.sleep(60)
    return "too late"


def returns_nothing(question: str, contexts: list[str]) -> None:
    return None


def returns_a_number(question: str, contexts: list[str]) -> int:
    return 1850


def returns_no_text(question: str, contexts: list[str]) -> str:
    return "  "


MISBEHAVING: dict[Callable[..., Any], str] = {
    raises: "LookupError: the index is empty",
    returns_nothing: "nothing (None)",
    returns_a_number: "a int",
}


@pytest.mark.parametrize("app", MISBEHAVING, ids=lambda app: app.__name__)
def test_what_a_system_does_wrong_stays_in_the_denominator(
    tmp_path: Path, app: Callable[..., Any]
) -> None:
    result = stressed(app, tmp_path)
    assert result.failed.value == 1.0
    assert result.failed.of == 32
    assert clean(result) == 0.0
    (error,) = result.errors
    assert MISBEHAVING[app] in error
    assert result.findings[0].weakness == "fails"


def test_a_system_that_returns_no_text_has_no_answer(tmp_path: Path) -> None:
    result = stressed(returns_no_text, tmp_path)
    assert result.failed.value == 1.0
    assert {row.manner for row in result.rows} == {"returns no text"}


def test_a_system_that_hangs_is_given_up_at_its_deadline(tmp_path: Path) -> None:
    result = stressed(hangs, tmp_path, app_timeout=0.05, limit=4, app_concurrency=16, corpus=ROWS)
    assert result.errors == {"no answer in 0.05 s": 16}


def test_a_system_that_ignores_its_contexts_is_told_so(tmp_path: Path) -> None:
    def knows_everything(question: str, contexts: list[str]) -> str:
        return str(1850 + 3 * PLACES.index(question.split()[3]))

    rows = []
    for number in range(8):
        for row in ROWS:
            name = f"{row['id']}-{number}"
            rows.append({**row, "id": name, "cluster": name})
    result = ragassay.stress_test(knows_everything, rows, store=tmp_path / "s.db", **TINY)
    assert result.findings[0].weakness == "ignores its passages"


def test_a_system_that_changes_its_answer_on_the_same_input_is_flaky(tmp_path: Path) -> None:
    counter = iter(range(10_000))

    def flaky(question: str, contexts: list[str]) -> str:
        return read(question, contexts) if next(counter) % 2 else "1700"

    # One at a time: the two clean askings of a question follow each other.
    result = stressed(flaky, tmp_path, app_concurrency=1)
    assert result.noise is not None
    assert result.noise.floor.changed.value == 1.0
    assert result.findings[0].weakness == "changes its answer on the same input"


def of_the_question(question: str) -> str:
    return question


@pytest.mark.parametrize(
    ("app", "options", "code"),
    [
        (of_the_question, {}, "E1103"),
        ("not a module", {}, "E0109"),
        ("json:nothing", {}, "E0109"),
        (42, {}, "E0109"),
        (read, {"retriever": "json:nothing"}, "E1104"),
        (read, {"retriever": "loads"}, "E1104"),
        ("http://127.0.0.1:9/", {"retriever": "json:loads"}, "E0104"),
        ("http://127.0.0.1:9/", {"app_headers": ["no colon"]}, "E0101"),
        ("http://127.0.0.1:9/", {"app_headers": ["A: $NOT_SET_HERE"]}, "E0101"),
        (None, {}, "E0104"),
        (read, {"recorded": "answers.jsonl"}, "E0104"),
        (None, {"recorded": "missing.jsonl"}, "E1105"),
    ],
)
def test_a_wrong_shape_is_refused_before_anything_is_asked(
    tmp_path: Path, app: Any, options: dict[str, Any], code: str
) -> None:
    with pytest.raises(SetupError) as refused:
        stressed(app, tmp_path, **options)
    assert refused.value.code == code
    assert refused.value.fix


def test_one_name_is_a_name_and_a_limit_is_a_number_of_rows(tmp_path: Path) -> None:
    result = stressed(read, tmp_path, tests="noise", kinds="same-topic", positions="last")
    assert result.askings == 32
    with pytest.raises(SetupError, match="E0101"):
        stressed(read, tmp_path, limit=-1)
