"""Values that no row should hold: each is a typed row error or has its documented meaning, and a
wrong set-up costs nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import DataError, RagAssayError, Status
from ragassay.judges import check
from ragassay.testing import LLMServer
from support.invariants import check_run, snapshot

OFFLINE = (
    "groundedness, answer_relevance, exact_match, token_f1, ndcg_at_k(k=5), document_recall,"
    " app_cost, app_tokens, app_error"
)
FIELDS = (
    "id",
    "question",
    "contexts",
    "response",
    "reference",
    "expected_facts",
    "relevant_ids",
    "guidelines",
    "answerable",
    "slices",
    "cluster",
    "labels",
    "usage",
    "error",
    "cost",
    "latency",
    "context_ids",
    "total_tokens",
)
VALUES = {
    "an empty text": '""',
    "blanks": '" \\t "',
    "null": "null",
    "a number": "3",
    "a fraction": "0.5",
    "NaN": "NaN",
    "Infinity": "-Infinity",
    "true": "true",
    "an empty list": "[]",
    "a list of null": "[null]",
    "a list of an empty text": '[""]',
    "an object": "{}",
    "an object of null": '{"a": null}',
    "lists in lists": '[["a"]]',
    "10^400": "1e400",
    "400 digits": "9" * 400,
    "2^63": str(2**63),
    "2^64": str(2**64),
    "-2^63-1": str(-(2**63) - 1),
    "-0.0": "-0.0",
    "the smallest": "5e-324",
    "the largest": "1.7976931348623157e308",
    "the lowest": "-1.7e308",
    "depth 1,000": "[" * 1000 + "]" * 1000,
    "depth 100,000": "[" * 100_000 + "]" * 100_000,
    "objects of depth 100,000": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a key twice": '{"a": 1, "a": 2}',
    "a trailing comma": "[1,]",
    "a comment": "1 // one",
    "nothing": "",
    "2,000 texts": json.dumps(["x"] * 2000),
    "a huge grade": '{"a": 1e308, "b": 1.7e308}',
}
"""Name -> JSON, or what tries to be."""


@pytest.mark.filterwarnings("ignore::ragassay.core.RowsWarning")
@pytest.mark.parametrize("field", FIELDS)
def test_any_value_in_any_field_is_a_row_error_with_a_code_or_a_row_that_is_scored(
    field: str, tmp_path: Path
) -> None:
    row = {
        "question": "What?",
        "response": "It is so.",
        "contexts": [{"text": "It is so.", "id": "a"}, {"text": "No.", "id": "b"}],
    }
    lines = [json.dumps({"id": "good", field: row.get(field), **row})]
    for name, value in VALUES.items():
        rest = {key: given for key, given in {"id": name, **row}.items() if key != field}
        lines.append(f'{json.dumps(rest)[:-1]}, "{field}": {value}}}')
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    ragassay.evaluate(
        [{"response": "a", "contexts": ["c"]}], "groundedness", store=tmp_path / "s.db"
    ).close()  # the model opens
    before = snapshot(tmp_path)
    with ragassay.evaluate(path, OFFLINE, store=tmp_path / "s.db") as run:
        rows = list(run)
        run.html(tmp_path / "r.html")
        run.export(tmp_path / "r.csv")
        assert run.summary.rows == len(lines)
    assert len(rows) == len(lines)
    for result in rows:
        assert result.bad is None or (
            result.bad.code.startswith("E03") and f"rows.jsonl:{result.bad.line}" in result.bad.what
        )
    # What no field can hold is an error in each of them.
    bad = {list(VALUES)[row.bad.line - 2]: row.bad.code for row in rows if row.bad is not None}
    never = {
        "NaN": "E0304",
        "Infinity": "E0304",
        "10^400": "E0304",
        "400 digits": "E0304",
        "a key twice": "E0301",
        "depth 100,000": "E0301",
        "objects of depth 100,000": "E0301",
        "a trailing comma": "E0301",
        "a comment": "E0301",
        "nothing": "E0301",
    }
    assert {name: bad.get(name) for name in never} == never
    check_run(tmp_path / "s.db")
    before.check(keep=("s.db-wal", "s.db-shm"))


EMPTY: dict[str, tuple[dict[str, Any], str, Status, str]] = {
    "no question": (
        {"response": "a", "contexts": ["c"]},
        "answer_relevance",
        Status.NOT_APPLICABLE,
        "the row has no question",
    ),
    "question None": (
        {"question": None, "response": "a"},
        "answer_relevance",
        Status.NOT_APPLICABLE,
        "the row has no question",
    ),
    "no response": (
        {"question": "q", "contexts": ["c"]},
        "groundedness",
        Status.NOT_APPLICABLE,
        "the row has no response",
    ),
    "an empty response": (
        {"question": "q", "contexts": ["c"], "response": ""},
        "groundedness",
        Status.NOT_APPLICABLE,
        "",
    ),
    "no contexts": (
        {"question": "q", "response": "a"},
        "groundedness",
        Status.NOT_APPLICABLE,
        "the row has no contexts",
    ),
    "nothing retrieved": (
        {"question": "q", "response": "a b.", "contexts": []},
        "groundedness",
        Status.JUDGED,
        "",
    ),
    "no reference": (
        {"response": "a"},
        "exact_match",
        Status.NOT_APPLICABLE,
        "the row has no reference",
    ),
}


@pytest.mark.parametrize("name", EMPTY)
def test_what_is_absent_or_empty_has_its_documented_meaning(name: str, tmp_path: Path) -> None:
    row, metric, status, reason = EMPTY[name]
    with ragassay.evaluate([row], metric, store=tmp_path / "s.db") as run:
        ((score,),) = (found.scores for found in run)
    assert score.status is status
    assert reason in score.reason
    assert score.value is None or status is Status.JUDGED


def test_numbers_that_would_overflow_a_mean_are_no_measurements(tmp_path: Path) -> None:
    @ragassay.metric(low=-1e308, high=None)
    def number(response: str) -> float:
        return float(response)

    given = ["1.7e308", "-1e101", "1e100", "-1e100", "5e-324", "-0.0"]
    rows = [{"id": text, "response": text, "cost": 1e99} for text in given]
    with ragassay.evaluate(
        [*rows, {"id": "x", "response": "1", "cost": 1e300}],
        [number, "app_cost"],
        store=tmp_path / "s.db",
    ) as run:
        status = {row.id: row.scores[0].status.value for row in run if row.bad is None}
        first, cost = run.summary.metrics
        run.html(tmp_path / "r.html")
    assert status == {
        "1.7e308": "failed",
        "-1e101": "failed",
        "1e100": "judged",
        "-1e100": "judged",
        "5e-324": "judged",
        "-0.0": "judged",
    }
    assert (first.mean, cost.n) == (0.0, 6)
    check_run(tmp_path / "s.db")


def test_the_interval_of_a_metric_that_goes_below_zero_holds_its_mean(tmp_path: Path) -> None:
    @ragassay.metric(low=-1, high=1)
    def tone(response: str) -> float:
        return float(response)

    values = (-1.0, -0.5, -0.7, 0.1, 0.2, -0.9)
    rows = [
        {"id": str(n), "response": str(value), "slices": {"half": str(n % 2)}}
        for n, value in enumerate(values)
    ]
    with ragassay.evaluate(rows, [tone], store=tmp_path / "s.db") as run:
        (found,) = run.summary.metrics
        (again,) = ragassay.compare(run, run).metrics
    assert found.interval is not None
    assert found.mean == pytest.approx(sum(values) / 6)
    assert found.mean is not None
    assert found.interval.low < found.mean < found.interval.high
    assert again.result.difference == 0.0


def test_ids_that_a_number_cannot_hold_are_refused_and_not_rounded_into_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        f'{{"id": {2**64}, "question": "a"}}\n{{"id": {2**64 + 1}, "question": "b"}}\n{{"id": "c",'
        ' "question": "c"}\n'
    )
    with ragassay.evaluate(path, "app_error", store=tmp_path / "s.db") as run:
        assert [row.bad.code if row.bad else row.id for row in run] == ["E0303", "E0303", "c"]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "memory"])
def test_equal_ids_are_refused_with_both_lines_before_anything_is_sent(
    kind: str, tmp_path: Path
) -> None:
    rows: Any = [
        {"id": n, "question": f"q{n}", "response": "a", "contexts": ["c"]}
        for n in ("a", "b", "c", "b")
    ]
    if kind != "memory":
        path = tmp_path / f"rows.{kind}"
        lines = (
            [json.dumps(r) for r in rows]
            if kind == "jsonl"
            else ["id,question", *(f"{r['id']},{r['question']}" for r in rows)]
        )
        path.write_text("\n".join(lines))
        rows = path
    with LLMServer() as server, pytest.raises(DataError) as caught:
        ragassay.evaluate(
            rows, "groundedness", judge="openai:mock", base_url=server.url, store=tmp_path / "s.db"
        )
    assert caught.value.code == "E0306"
    places = {"jsonl": "lines 2 and 4", "csv": "lines 3 and 5", "memory": "positions 2 and 4"}
    assert places[kind] in str(caught.value)
    assert server.calls == 0


BAD_SETUPS: dict[str, dict[str, Any]] = {
    "a metric that is none": {"metrics": "groundednes"},
    "a parameter that is none": {"metrics": "groundedness(k=3)"},
    "a judge that is none": {"judge": "opnai:x"},
    "no such file": {"rows": "nowhere.jsonl"},
    "no such format": {"format": "xml"},
    "a mapping to no column": {"mapping": {"question": "nope"}},
    "a slice of no column": {"slices": ["nope"]},
    "no such rubric": {"rubrics": ["nope.md"]},
    "a cap without a price": {"max_cost": 1.0},
    "calls at once": {"concurrency": 0},
    "a deadline": {"call_timeout": -1},
    "NaN": {"call_timeout": float("nan")},
    "a price": {"price": "1"},
    "an app": {"app": "nowhere:nothing"},
    "a preset": {"preset": "nope"},
    "a folder": {"rows": "."},
}


@pytest.mark.parametrize("name", BAD_SETUPS)
def test_a_wrong_set_up_ends_before_the_first_call(name: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "rows": [{"question": "q", "response": "a", "contexts": ["c"]}],
        "judge": "openai:mock",
    }
    with LLMServer() as server:
        given |= {"base_url": server.url, "store": tmp_path / "s.db", **BAD_SETUPS[name]}
        with pytest.raises(RagAssayError) as caught:
            ragassay.evaluate(given.pop("rows"), **given)
        assert server.calls == 0
    assert caught.value.exit_code == 2
    assert caught.value.fix


BOMBS = {
    "a billion laughs": (
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n"
            for i in range(9)
        )
    ),
    "an alias of itself": "a: &a [*a]\n",
    "a merge": "a: &a {x: 1}\n<<: *a",
    "deep lists": "x: " + "[" * 90_000 + "]" * 90_000,
    "deep objects": "{" * 50_000,
    "code": "x: !!python/object/apply:os.system ['true']",
    "10,000 digits": "version: " + "9" * 10_000,
    "NUL": "id: \0",
    "a key twice": "id: a\nid: b",
    "a list": "- a",
    "50 MB": "x: " + "a" * 50_000_000,
    "a document more": "id: a\n...\nid: b",
    "NaN": "version: .nan",
    "a key that is a list": "[a]: b",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_in_a_rubric_file_is_a_list_of_mistakes_with_their_lines(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.md"
    path.write_text(f"---\n{BOMBS[name]}\n---\n## Criteria\n\nLook.\n")
    problems = check(path, frozenset())
    assert problems
    assert all(problem.startswith(f"{path}:") for problem in problems)
    assert sum(map(len, problems)) < 50_000
    if name == "a key twice":
        assert any("'id' is given twice" in problem for problem in problems)
