"""Inputs that nobody wrote down, a few thousand a commit: a seed that ever failed stays here as a
case of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import Request
from ragassay.judges.llm.entries import Verdict
from ragassay.judges.llm.reply import parse
from ragassay.judges.template import fill
from support import fuzzing
from support.examples import examples
from support.pace import times_slower

SEEDS = st.integers(0, 2**32)
REGRESSIONS: dict[str, tuple[int, ...]] = {
    "reply": (174_824_218,),
    "reader": (),
    "template": (),
    "rubric": (),
    "command": (),
    "relations": (),
}
"""Seeds on which a check failed once."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


def some(name: str, count: int) -> tuple[int, ...]:
    return (*range(count), *REGRESSIONS[name])


@given(SEEDS)
@settings(max_examples=examples(300), deadline=None)
def test_a_reply_never_raises_nor_invents_a_verdict_and_what_is_rendered_is_read(seed: int) -> None:
    fuzzing.check_reply(seed)


def test_replies_of_every_commit() -> None:
    for seed in some("reply", 1500):
        fuzzing.check_reply(seed)


@pytest.mark.timing
def test_a_hostile_reply_of_100_kb_is_read_in_5_ms_of_a_usual_machine() -> None:
    slow: dict[int, float] = {}
    for seed in range(30):
        # The fastest of a few: whatever else the machine does takes time too.
        fastest = min(fuzzing.reply_time(seed) for _ in range(3))
        if fastest > 5 and fastest > 5 * times_slower():
            slow[seed] = fastest
    assert slow == {}


def test_files_that_are_nearly_rows_give_rows_or_typed_errors_with_their_place(
    folder: Path,
) -> None:
    for seed in some("reader", 500):
        fuzzing.check_reader(seed, folder)


@given(SEEDS)
@settings(max_examples=examples(200), deadline=None)
def test_templates_are_filled_once(seed: int) -> None:
    fuzzing.check_template(seed)


def test_files_that_are_nearly_rubrics_are_rubrics_or_lists_of_mistakes(folder: Path) -> None:
    for seed in some("rubric", 120):
        fuzzing.check_rubric_file(seed, folder)


def test_any_words_on_the_command_line_end_in_a_documented_exit_code(folder: Path) -> None:
    for seed in some("command", 40):
        fuzzing.check_command(seed, folder)


@given(SEEDS)
@settings(max_examples=examples(400), deadline=None)
def test_no_metric_shows_the_id_of_a_row_nor_the_order_of_chunks_that_may_not_matter(
    seed: int,
) -> None:
    fuzzing.check_relations(seed)


def test_names_in_a_saved_folder_of_rows_that_climb_out_of_it_are_refused(tmp_path: Path) -> None:
    from ragassay.core import DataError
    from ragassay.datasets import open_rows

    secret = tmp_path / "secret.arrow"
    secret.write_bytes(fuzzing.FORMATS["rows.arrow"]([{"question": "q"}]))
    folder = tmp_path / "saved"
    folder.mkdir()
    for name in ("../secret.arrow", str(secret), "nowhere.arrow", "..", "", "x\0"):
        (folder / "state.json").write_text(
            f'{{"_data_files": [{{"filename": {name!r}}}]}}'.replace("'", '"').replace(
                "\\x00", "\\u0000"
            )
        )
        with pytest.raises(DataError) as caught:
            open_rows(folder)
        assert caught.value.code == "E0310"


# -- the checks themselves can fail


def _generous(text: str, *given: Any, **more: Any) -> dict[str, Verdict]:
    found = parse(text, *given, **more)
    return {n: replace(v, rating=3) if v.rating == 0 else v for n, v in found.items()}


def fails(check: Callable[[int], None], seed: int) -> str:
    try:
        check(seed)
    except AssertionError as error:
        return str(error) or "it fails"
    return ""


def test_a_generous_parser_and_a_template_that_is_filled_twice_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once = fill
    for name, broken, check in (
        ("parse", _generous, fuzzing.check_reply),
        (
            "fill",
            lambda template, values: once(once(template, values), dict.fromkeys(values, "again")),
            fuzzing.check_template,
        ),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(fuzzing, name, broken)
            assert any(fails(check, seed) for seed in range(400))


def test_a_judge_that_goes_by_the_first_chunk_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fair = fuzzing.fair

    def first(seed: int) -> Callable[[Request], Any]:
        judge = fair(seed)

        def answer(request: Request) -> Any:
            texts = request.texts("contexts") if "contexts" in request.inputs else ()
            return fair(seed + hash(texts[0]) % 1000)(request) if texts else judge(request)

        return answer

    monkeypatch.setattr(fuzzing, "fair", first)
    assert any("order of the chunks" in fails(fuzzing.check_relations, seed) for seed in range(500))
