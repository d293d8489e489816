"""What a server says to the first call is told as it is, and not kept as the model's fault."""

from __future__ import annotations

import shlex
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import KnownModel, ProviderError, RunState
from ragassay.runs import preflight
from ragassay.store import Store
from ragassay.testing import Body, LLMServer
from support.odd_server import Answer, OddServer

ROWS = [
    {
        "id": f"row-{n}",
        "question": f"When was library {n} founded?",
        "contexts": [f"Library {n} was founded in 19{n:02}."],
        "response": f"Library {n} was founded in 19{n:02}.",
    }
    for n in range(10, 22)
]
PAGE = "<!DOCTYPE html><html><title>Sign in</title><body>Please sign in.</body></html>"


def evaluate(server: LLMServer, folder: Path, rows: object = ROWS, **options: Any) -> Any:
    settings = {"judge": "openai:mock", "base_url": server.url, "store": folder / "s.db", **options}
    return ragassay.evaluate(rows, "groundedness", **settings)


def error_of(server: LLMServer, folder: Path, rows: object = ROWS, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        evaluate(server, folder, rows, **options)
    return caught.value


def known(folder: Path) -> tuple[KnownModel, ...]:
    with Store.open(folder / "s.db") as opened:
        return opened.known_models()


@pytest.mark.parametrize(
    ("status", "words"), [(405, "Method Not Allowed"), (400, "daily maintenance window")]
)
def test_a_refusal_of_the_first_call_is_no_judgment_of_the_model(
    status: int, words: str, tmp_path: Path
) -> None:
    with OddServer(lambda body: Answer(status, words)) as server:
        error = error_of(server, tmp_path)
        assert error.code == "E0408"
        assert words in error.why
        assert "another model" not in error.fix
        assert server.requests == 1
        assert known(tmp_path) == ()
        server.refuse = lambda body: None  # repaired
        with evaluate(server, tmp_path) as run:
            assert run.state is RunState.FINISHED
            assert run.summary.metrics[0].judged == len(ROWS)


def test_a_model_that_did_not_judge_is_asked_again_after_ten_minutes(tmp_path: Path) -> None:
    with LLMServer(answer=lambda body: "I like cats.", known_example=False) as server:
        first = error_of(server, tmp_path)
        assert first.code == "E0419"
        assert f"(asked {datetime.now(UTC):%Y-%m-%d} " in first.why
        server.answer = None
        calls = server.calls
        assert error_of(server, tmp_path).code == "E0419"
        assert server.calls == calls
        with Store.open(tmp_path / "s.db") as store:
            (model,) = store.known_models()
            earlier = datetime.now(UTC) - preflight.PROBLEM_KEPT_FOR - timedelta(seconds=1)
            values = {name: getattr(model, name) for name in model.__dataclass_fields__}
            store.put_known_model(KnownModel(**{**values, "checked": earlier.isoformat()}))
        with evaluate(server, tmp_path) as run:
            assert run.state is RunState.FINISHED
    (model,) = known(tmp_path)
    assert (model.right, model.problem) == (4, "")


@pytest.mark.timing
@pytest.mark.parametrize("rows", [ROWS, ROWS[:4]])
def test_a_web_page_in_place_of_an_api_is_told_after_two_requests(
    rows: list[Any], tmp_path: Path
) -> None:
    with OddServer(lambda body: Answer(200, PAGE)) as server:
        begun = time.monotonic()
        error = error_of(server, tmp_path, rows)
        assert time.monotonic() - begun < 8  # 3 on a machine with nothing else to do
        assert server.requests == 2
    assert error.code == "E0408"
    assert error.what == "This address answers with a web page, not with an API."
    assert server.url in error.why
    assert "Sign in" in error.why
    assert "--base-url" in error.fix


@pytest.mark.timing
@pytest.mark.slow
@pytest.mark.parametrize("rows", [ROWS, ROWS[:4]])
def test_a_server_that_is_down_from_the_beginning_is_told_after_a_few_attempts(
    rows: list[Any], tmp_path: Path
) -> None:
    with OddServer(lambda body: Answer(502, "<html><h1>502 Bad Gateway</h1></html>")) as server:
        begun = time.monotonic()
        error = error_of(server, tmp_path, rows)
        assert time.monotonic() - begun < 20
        assert server.requests <= 5
        assert error.code == "E0411"
        assert "502" in error.why
        assert "ragassay resume" in error.fix
        server.refuse = lambda body: None
        with ragassay.resume(store=tmp_path / "s.db", rows=rows) as run:
            assert run.state is RunState.FINISHED
    assert known(tmp_path)[0].problem == ""


@pytest.mark.slow
def test_a_server_that_is_loading_its_model_is_waited_for(tmp_path: Path) -> None:
    begun = time.monotonic()

    def still_loading(body: Body) -> Answer | None:
        return Answer(503, "Loading model") if time.monotonic() - begun < 4 else None

    told: list[str] = []
    with (
        OddServer(still_loading) as server,
        evaluate(server, tmp_path, tell=told.append) as run,
    ):
        assert run.state is RunState.FINISHED
    assert any("loading its model" in line for line in told)


def test_a_field_of_extra_body_that_is_refused_is_named(tmp_path: Path) -> None:
    def refuse(body: Body) -> Answer | None:
        return Answer(400, "Unknown parameter: 'top_k'") if "top_k" in body else None

    with OddServer(refuse) as server:
        error = error_of(server, tmp_path, extra_body='{"top_k": 5}')
        assert (error.code, server.requests) == ("E0408", 1)
    assert "top_k" in error.why
    assert "--extra-body" in error.what + error.fix
    assert known(tmp_path) == ()


def test_where_only_a_new_run_helps_a_resume_is_not_the_next_step(tmp_path: Path) -> None:
    with OddServer(lambda body: Answer(200, PAGE)) as server:
        fix = error_of(server, tmp_path).fix
    assert fix.startswith("begin a new run with the right --base-url")
    assert "; then go on" not in fix
    assert "; where the server is mended instead, go on with: ragassay resume " in fix


def test_where_a_resume_helps_it_is_the_next_step(tmp_path: Path) -> None:
    with OddServer(lambda body: Answer(400, "daily maintenance window")) as server:
        assert "; then go on with: ragassay resume " in error_of(server, tmp_path).fix


def test_replies_cut_off_by_max_tokens_are_told_as_that(tmp_path: Path) -> None:
    with LLMServer(thinks=2000) as server:
        error = error_of(server, tmp_path, max_tokens=300)
        assert server.preflights <= 2, "no other form is tried"
    assert error.code == "E0419"
    assert "cut off" in error.why
    assert "raise --max-tokens (it is 300" in error.fix
    assert "another model" not in error.fix
    assert known(tmp_path) == ()


def test_the_command_that_asks_again_has_all_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY KEY", "k")
    with LLMServer(answer=lambda body: "I like cats.", known_example=False) as server:
        error = error_of(
            server, tmp_path, api_key_env="MY KEY", extra_body='{"top_k": 5}', price="1,2"
        )
    words = shlex.split(error.fix.split("`")[1])
    assert words[:4] == ["ragassay", "doctor", "--judge", "openai:mock"]
    given = dict(zip(words[2::2], words[3::2], strict=True))
    assert given["--base-url"] == server.url
    assert given["--api-key-env"] == "MY KEY"
    assert given["--extra-body"] == '{"top_k": 5}'
    assert given["--price"] == "1,2"
    assert Path(given["--store"]).name == "s.db"
