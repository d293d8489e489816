"""The Python door: evaluate from scripts, notebooks and running loops, and read the results."""

import asyncio
import gc
import json
import signal
import subprocess
import sys
from typing import Never

import pandas as pd
import pytest

import ragassay
from ragassay.core import RunState, SetupError, Verdict

ROWS = [
    {
        "id": f"row-{i}",
        "question": "What colour is the bridge?",
        "contexts": ["The bridge is red and was built in 1937."],
        "response": (
            "The bridge is red." if i % 2 else "The bridge is made of cheese from the moon."
        ),
    }
    for i in range(6)
]


@pytest.fixture
def store(tmp_path):
    return tmp_path / "s.db"


def test_a_run_gives_its_summary_its_scores_and_its_rows(store) -> None:
    with ragassay.evaluate(ROWS, store=store) as run:
        assert run.state is RunState.FINISHED
        assert run.summary.scored == 6
        frame = run.to_pandas()
        assert set(frame["id"]) == {f"row-{i}" for i in range(6)}
        sample = run["row-1"].sample
        assert sample is not None
        assert sample.response == "The bridge is red."
        with pytest.raises(KeyError, match=r"no row 'row-99'\. Did you mean 'row-"):
            run["row-99"]
        with pytest.raises(KeyError, match=r"no row '3'\. Did you mean 'row-3'"):
            run["3"]
        assert [r.id for r in run] == [f"row-{i}" for i in range(6)]
        assert all(r.diagnosis.verdict is Verdict.FAIL for r in run.failures())
        assert "rows pass" in str(run)


@pytest.mark.slow
def test_frames_tables_files_and_lists_give_the_same_scores(store, tmp_path) -> None:
    frame = pd.DataFrame(ROWS)
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    means = set()
    for source in (
        ROWS,
        frame,
        tmp_path / "rows.jsonl",
        tmp_path / "rows.parquet",
        tmp_path / "rows.csv",
        iter(ROWS),
    ):
        with ragassay.evaluate(source, store=store) as run:
            means.add(tuple(m.mean for m in run.summary.metrics))
    assert len(means) == 1


def test_it_works_inside_a_running_loop_and_beside_one(store) -> None:
    async def notebook():
        with ragassay.evaluate(ROWS, store=store) as run:  # what a notebook cell does
            first = run.summary.metrics[0].mean
        second = await ragassay.aevaluate(ROWS, store=store)
        with second:
            return first, second.summary.metrics[0].mean

    first, second = asyncio.run(notebook())
    assert first == second


def test_what_is_to_be_kept_is_found_again_with_the_run(store) -> None:
    kept = {
        "commit": "1f3a",
        "prompt": {"version": 3, "tags": ["a", None]},
        "path": "caf\udce9/r.html",
        "n": 2**64 - 1,
    }
    ragassay.evaluate(ROWS[:1], store=store, keep=kept).close()
    with ragassay.open_run("last", store=store) as run:
        assert run.manifest.kept == kept


@pytest.mark.parametrize(
    "kept",
    [
        {"x": float("nan")},
        {"x": object()},
        {"x": {1, 2}},
        {"x": {1: 2}},
        {1: "x"},
        [1, 2],
        "text",
        {"x": 2**70},
        5,
        json.loads("[" * 90 + "]" * 90),
    ],
)
def test_what_is_to_be_kept_has_to_be_json_and_is_looked_at_before_anything_is_judged(
    store, kept
) -> None:
    with pytest.raises(SetupError, match="not JSON") as caught:
        ragassay.evaluate(ROWS, store=store, keep=kept)
    assert (caught.value.code, caught.value.where, store.exists()) == ("E0101", "keep", False)


def test_two_runs_at_once_share_a_store(store) -> None:
    async def both():
        return await asyncio.gather(
            *(ragassay.aevaluate(ROWS, store=store, name=f"n{i}") for i in range(3))
        )

    runs = asyncio.run(both())
    assert len({run.id for run in runs}) == 3
    for run in runs:
        assert run.summary.scored == 6
        run.close()


def test_a_run_is_opened_again_by_its_name_and_compared(store) -> None:
    ragassay.evaluate(ROWS, store=store, name="a").close()
    worse = [{**r, "response": "The bridge is made of cheese from the moon."} for r in ROWS]
    ragassay.evaluate(worse, store=store, name="b").close()
    with ragassay.open_run("a", store=store) as run:
        assert run.manifest.name == "a"
    compared = ragassay.compare("a", "b", store=store)
    groundedness = next(m for m in compared.metrics if m.metric == "groundedness")
    assert groundedness.result.difference is not None
    assert groundedness.result.difference < 0


def test_rows_in_memory_are_handed_over_again_to_resume(store) -> None:
    run = ragassay.evaluate(ROWS, store=store)
    run.close()
    with pytest.raises(SetupError) as caught:
        ragassay.resume(run.id, store=store)
    assert caught.value.code == "E0106"
    with pytest.raises(SetupError) as caught:
        ragassay.resume(run.id, store=store, rows=ROWS[:3])
    assert caught.value.code == "E0106"
    with ragassay.resume(run.id, store=store, rows=ROWS) as again:
        assert again.summary.scored == 6


def test_an_unknown_option_is_a_type_error_of_the_call(store) -> None:
    with pytest.raises(TypeError):
        ragassay.evaluate(ROWS, store=store, concurency=3)  # type: ignore[call-arg]


def test_importing_opens_nothing_prints_nothing_and_loads_no_heavy_library() -> None:
    code = (
        "import sys, ragassay; heavy = {'numpy', 'onnxruntime', 'sqlalchemy', 'aiohttp', 'pyarrow',"
        " 'rich', 'typer', 'jinja2', 'pandas'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_callback_of_progress_that_raises_costs_no_run_and_is_said_once(store) -> None:
    told: list[str] = []

    def broken(progress) -> Never:
        raise RuntimeError("no screen")

    with ragassay.evaluate(ROWS, store=store, watch=broken, tell=told.append) as run:
        assert run.state is RunState.FINISHED
    assert [line for line in told if "no screen" in line] == [
        "the progress is not shown any more: watch raised RuntimeError: no screen"
    ]


def test_the_hosts_own_setting_of_the_garbage_collector_comes_back(store) -> None:
    before = gc.get_threshold()
    gc.set_threshold(800, 7, 6)
    try:
        ragassay.evaluate(ROWS, store=store)
        assert gc.get_threshold() == (800, 7, 6)
    finally:
        gc.set_threshold(*before)


def test_the_hosts_own_handlers_of_signals_come_back(store) -> None:
    def handler(number, frame) -> Never:
        raise AssertionError("not called here")

    before = signal.signal(signal.SIGTERM, handler)
    try:
        ragassay.evaluate(ROWS, store=store)
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
