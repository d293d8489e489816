"""Whole runs against servers that answer in other forms than the one asked for, over HTTP: no
verdict that a reply states is lost, and none is paid for twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.testing import Body, LLMServer, answer_by_words

# Six rows with two claims, three chunks and an answer each: 36 verdicts.
VERDICTS = 36
CHUNKS = (
    "The city library was founded in 1911 by a teacher.",
    "Books may be kept for four weeks and renewed once.",
    "The cafe beside the library opens at nine.",
)


def rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"row-{n}",
            "question": f"When was library number {n} founded, and how long may a book be kept?",
            "contexts": [f"{chunk} This is branch {n}." for chunk in CHUNKS],
            "response": f"Library number {n} was founded in 1911. Books may be kept for six weeks.",
        }
        for n in range(6)
    ]


Entries = list[dict[str, Any]]
Form = Callable[[Entries], Any]


def each(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Form:
    """The right form with each entry changed."""
    return lambda entries: {"verdicts": [change(entry) for entry in entries]}


def spelt(rating: object) -> object:
    """The rating as a text: a number in quotes, a name in capitals."""
    return str(rating).upper()


def decimal(rating: object) -> object:
    return float(rating) if isinstance(rating, int) else rating


def without(*names: str) -> Form:
    return each(lambda entry: {key: entry[key] for key in entry if key not in names})


def as_json(entries: Entries) -> str:
    return json.dumps({"verdicts": entries})


def single(entries: Entries) -> Any:
    return entries[0] if len(entries) == 1 else {"verdicts": entries}


def single_without_id(entries: Entries) -> Any:
    entry = {key: entries[0][key] for key in entries[0] if key != "id"}
    return entry if len(entries) == 1 else {"verdicts": entries}


def other(entries: Entries) -> Entries:
    """A draft: each rating is another one than in the answer."""
    drafts: Entries = []
    for entry in entries:
        rating = entry["rating"]
        differs = 3 - rating if isinstance(rating, int) else {"yes": "no"}.get(rating, "yes")
        drafts.append({**entry, "rating": differs})
    return drafts


def null_flags(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value is False else value for key, value in entry.items()}


def plain_quotes(entry: dict[str, Any]) -> dict[str, Any]:
    if "quotes" not in entry:
        return entry
    return {**entry, "quotes": [quote["text"] for quote in entry["quotes"]] + ["said so"]}


def plain_sources(entry: dict[str, Any]) -> dict[str, Any]:
    if "supported_by" not in entry:
        return entry
    return {**entry, "supported_by": [str(number) for number in entry["supported_by"]]}


def call(entries: Entries) -> str:
    arguments = json.dumps({"verdicts": entries})
    return f'<tool_call>\n{{"name": "verdict", "arguments": {arguments}}}\n</tool_call>'


FORMS: dict[str, Form] = {
    "as asked": lambda entries: {"verdicts": entries},
    "rating as text": each(lambda entry: {**entry, "rating": spelt(entry["rating"])}),
    "rating as decimal": each(lambda entry: {**entry, "rating": decimal(entry["rating"])}),
    "bare list": list,
    "single object": single,
    "single object without id": single_without_id,
    "object by id": lambda entries: {entry["id"]: entry for entry in entries},
    "object by id in verdicts": lambda entries: {
        "verdicts": {entry["id"]: {**entry, "id": entry["id"].upper()} for entry in entries}
    },
    "wrapper": lambda entries: {"result": {"verdicts": entries}},
    "other name": lambda entries: {"judgments": entries},
    "no ids": without("id"),
    "ids in capitals": each(lambda entry: {**entry, "id": entry["id"].upper()}),
    "trailing comma": lambda entries: as_json(entries).replace("]}", ",],}").replace("[,]", "[]"),
    "Python literal": lambda entries: str({"verdicts": entries}),
    "single quotes": lambda entries: as_json(entries).replace("'", "’").replace('"', "'"),
    "escaped apostrophes": lambda entries: as_json(
        [{**entry, "reasoning": "It's so."} for entry in entries]
    ).replace("'", "\\'"),
    "raw control characters": lambda entries: as_json(
        [{**entry, "reasoning": "One.#Two."} for entry in entries]
    ).replace("#", "\n\t\x01"),
    "comments": lambda entries: "// verdicts\n" + as_json(entries).replace("[", "[ /* all */", 1),
    "fence": lambda entries: f"```json\n{as_json(entries)}\n```",
    "byte order mark": lambda entries: "\ufeff" + as_json(entries),
    "null flags": each(null_flags),
    "quotes as text": each(plain_quotes),
    "sources as text": each(plain_sources),
    "thinking": lambda entries: (
        f"<think>Perhaps {as_json(other(entries))}.</think>" + as_json(entries)
    ),
    "thinking without an opening": lambda entries: (
        f"{as_json(other(entries))}\n</think>\n" + as_json(entries)
    ),
    "thinking in brackets": lambda entries: (
        f"[THINK]{as_json(other(entries))}[/THINK]" + as_json(entries)
    ),
    "channels": lambda entries: (
        f"<|channel|>analysis<|message|>{as_json(other(entries))}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{as_json(entries)}"
    ),
    "a quoted mark": each(lambda entry: {**entry, "reasoning": "It says </think> <think>."}),
    "tool call": call,
    "tool call with text": lambda entries: {"name": "f", "parameters": as_json(entries)},
}


def answering(form: Form) -> Callable[[Body], Any]:
    def answer(body: Body) -> Any:
        said = answer_by_words(body)
        assert isinstance(said, dict)
        made = form(said["verdicts"])
        return made if isinstance(made, str) else json.dumps(made)

    return answer


def evaluate(server: LLMServer, store: Path) -> ragassay.Run:
    return ragassay.evaluate(
        rows(),
        "groundedness,context_relevance,answer_relevance",
        judge="openai:mock",
        base_url=server.url,
        store=store,
    )


def judged(form: Form, store: Path) -> tuple[ragassay.Run, dict[tuple[str, str], list[Any]], int]:
    """The run, its ratings by row and metric, and the calls that it took."""
    with LLMServer(answer=answering(form)) as server:
        run = evaluate(server, store)
        ratings: dict[tuple[str, str], list[Any]] = {}
        for row in run.rows():
            for score in row.scores:
                ratings[row.id, score.metric] = [part.rating for part in score.parts]
        return run, ratings, server.stats()["calls"]


@pytest.fixture(scope="module")
def well_behaved(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[tuple[str, str], list[Any]], int]:
    _, ratings, calls = judged(FORMS["as asked"], tmp_path_factory.mktemp("asked") / "s.db")
    given = [rating for parts in ratings.values() for rating in parts if rating is not None]
    assert len(given) == VERDICTS
    assert len(Counter(given)) > 1  # not one verdict for all
    return ratings, calls


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_the_verdicts_that_it_states_for_no_more_calls(
    name: str, well_behaved: tuple[dict[tuple[str, str], list[Any]], int], tmp_path: Path
) -> None:
    expected, calls_expected = well_behaved
    _, ratings, calls = judged(FORMS[name], tmp_path / "s.db")
    same = 0
    for key, parts in ratings.items():
        for rating, right in zip(parts, expected[key], strict=True):
            assert rating in (None, right)
            same += rating == right
    assert same >= 34
    assert calls <= 1.1 * calls_expected


def test_a_missing_rationale_is_asked_once_more_where_it_must_be_shown_and_the_rating_stands(
    well_behaved: tuple[dict[tuple[str, str], list[Any]], int], tmp_path: Path
) -> None:
    expected, calls_expected = well_behaved
    run, ratings, calls = judged(without("reasoning"), tmp_path / "s.db")
    assert ratings == expected
    # The two claims of a row are one call, and asked once more; so is the known example, where the
    # model is tried on it first.
    assert calls - calls_expected in (6, 7)
    summary = run.summary
    assert summary.reading == {"no_rationale": VERDICTS}
    assert "36 verdicts without a rationale: the judge gave none" in summary.notes


def test_what_was_repaired_is_in_the_summary_in_the_report_and_in_the_judgments(
    tmp_path: Path,
) -> None:
    def form(entries: Entries) -> str:
        texts = [{**entry, "rating": spelt(entry["rating"])} for entry in entries]
        return as_json(texts).replace("]}", ",]}").replace("[,]", "[]")

    with LLMServer(answer=answering(form)) as server:
        run = evaluate(server, tmp_path / "s.db")
        calls = server.stats()["calls"]
        again = evaluate(server, tmp_path / "s.db")
        assert server.stats()["calls"] == calls
    # A judgment that is taken from the store was read as it was.
    assert again.summary.reading == run.summary.reading
    words = (
        "36 verdicts read after the form of the judge's reply was repaired: rating as text 36,"
        " trailing comma 36"
    )
    assert run.summary.reading["repaired"] == VERDICTS
    assert words in run.summary.notes
    page = run.html(tmp_path / "r.html").read_text(encoding="utf-8")
    assert words.replace("'", "&#39;") in page
    for row in run.rows():
        for score in row.scores:
            assert all("repaired:trailing_comma" in part.flags for part in score.parts)
            assert score.flags == ()
