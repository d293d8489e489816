"""ragassay.toml: what `init` writes for the user's file, and what commands take from it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from support.commands import run_in_process

ROWS = [
    {
        "question": f"How long is bridge {name}?",
        "bot_reply": f"Bridge {name} is {length} metres long.",
        "passages": [f"Bridge {name} is {length} metres long."],
        "topic": "bridges",
    }
    for name, length in (("A", 120), ("B", 300), ("C", 45))
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.json").write_text(json.dumps(ROWS))
    return tmp_path


def ragassay(
    folder: Path, *arguments: str, code: int = 0, **environment: str
) -> CompletedProcess[str]:
    done = run_in_process(folder, *arguments, environment={"COLUMNS": "100", **environment})
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def rows_of(done: CompletedProcess[str]) -> int:
    count: int = json.loads(done.stdout)["rows"]
    return count


def test_init_shows_the_mapping_and_writes_what_evaluate_then_needs_no_argument_for(folder):
    done = ragassay(folder, "init", "rows.json")
    assert done.stdout.splitlines() == [
        "  question   read as question: How long is bridge A?",
        "  bot_reply  read as response (a guess: check it): Bridge A is 120 metres long.",
        "  passages   read as contexts: Bridge A is 120 metres long.",
        "  topic      not read: bridges",
    ]
    assert done.stderr.splitlines()[-1] == "next: ragassay evaluate"
    written = tomllib.loads((folder / "ragassay.toml").read_text())
    assert written == {"rows": "rows.json", "judge": "offline", "map": {"response": "bot_reply"}}
    assert rows_of(ragassay(folder, "evaluate", "--json")) == 3


def test_init_does_not_write_over_a_file_without_force(folder):
    (folder / "ragassay.toml").write_text("limit = 1\n")
    done = ragassay(folder, "init", "rows.json", code=2)
    assert "E0107" in done.stderr
    assert "--force" in done.stderr
    assert (folder / "ragassay.toml").read_text() == "limit = 1\n"
    ragassay(folder, "init", "rows.json", "--force", "--judge", "ollama:qwen3")
    assert tomllib.loads((folder / "ragassay.toml").read_text())["judge"] == "ollama:qwen3"


def test_init_without_a_file_writes_one_to_fill_in(folder):
    done = ragassay(folder, "init")
    assert "name your rows in ragassay.toml" in done.stderr
    assert tomllib.loads((folder / "ragassay.toml").read_text()) == {"judge": "offline", "map": {}}


def test_where_several_columns_may_be_meant_init_says_so_and_guesses_none(folder):
    rows = [{**row, "final_reply": row["bot_reply"]} for row in ROWS]
    (folder / "rows.json").write_text(json.dumps(rows))
    done = ragassay(folder, "init", "rows.json")
    assert "response could be bot_reply, final_reply: write it under [map]" in done.stderr
    assert tomllib.loads((folder / "ragassay.toml").read_text())["map"] == {}


def test_flags_go_before_the_file_and_map_is_joined_field_by_field(folder):
    text = """
        rows = "rows.json"
        limit = 1
        metrics = ["answer_relevance", "groundedness"]
        store = "kept/store.db"
        slice = "topic"
        cache = false
        [map]
        response = "bot_reply"
        contexts = "passages"
    """
    (folder / "ragassay.toml").write_text(text)
    first = json.loads(ragassay(folder, "evaluate", "--json").stdout)
    assert first["rows"] == 1
    assert [metric["metric"] for metric in first["metrics"]] == ["answer_relevance", "groundedness"]
    assert (folder / "kept/store.db").is_file()
    flags = ("--limit", "2", "--metrics", "answer_relevance", "--map", "response=topic")
    second = ragassay(folder, "evaluate", "--json", *flags)
    assert rows_of(second) == 2
    assert "read topic as response" in second.stderr
    assert "read passages as contexts" in second.stderr


def test_a_gate_of_the_file_decides_the_exit_code(folder):
    text = 'rows = "rows.json"\nyes = true\ngate = "answer_relevance>=1.01"\n'
    (folder / "ragassay.toml").write_text(text)
    ragassay(folder, "evaluate", code=1)


def test_another_file_is_named_by_config_or_by_the_environment(folder):
    (folder / "ragassay.toml").write_text('rows = "rows.json"\nlimit = 1\nyes = true\n')
    (folder / "other.toml").write_text('rows = "rows.json"\nlimit = 2\nyes = true\n')
    assert rows_of(ragassay(folder, "evaluate", "--json", "--config", "other.toml")) == 2
    other = str(folder / "other.toml")
    assert rows_of(ragassay(folder, "evaluate", "--json", RAGASSAY_CONFIG=other)) == 2
    done = ragassay(folder, "evaluate", "--config", "missing.toml", code=2)
    assert "E0102" in done.stderr


def test_commands_that_judge_nothing_take_the_store_and_leave_the_rows_alone(folder):
    text = 'rows = "rows.json"\nlimit = 1\nyes = true\nstore = "kept.db"\nhtml = "mine.html"\n'
    (folder / "ragassay.toml").write_text(text)
    before = (folder / "rows.json").read_bytes()
    ragassay(folder, "evaluate")
    ragassay(folder, "evaluate", "--no-cache")
    assert len(json.loads(ragassay(folder, "runs", "--json").stdout)["runs"]) == 2
    report = (folder / "mine.html").read_bytes()
    ragassay(folder, "demo", "--json")
    assert (folder / "rows.json").read_bytes() == before
    assert (folder / "mine.html").read_bytes() == report


MISTAKES = {
    "an unknown key": ("max_costs = 1", "called 'max_costs'. Did you mean 'max_cost'?"),
    "a section": ("[judge_options]\nx = 1", "No option is called 'judge_options'."),
    "a key": ('api_key = "sk-1234567890"', "api_key_env = 'OPENAI_API_KEY'"),
    "a wrong type": ('limit = "many"', "limit takes a whole number."),
    "true as a number": ("max_cost = true", "max_cost takes a number."),
    "a choice that is none": ('order = "random"', "order is one of shuffled, given, both."),
    "a secret header": ('header = ["Authorization: Bearer abcdef1234567890"]', "holds a secret"),
    "a password in an address": ('base_url = "https://me:secret@host/v1"', "holds a secret"),
    "no TOML": ("limit = = 1", "not valid TOML"),
    "a column under a wrong field": ('[map]\nresponce = "bot_reply"', "Did you mean 'response'?"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_file_is_named_before_anything_is_asked(name, folder):
    text, said = MISTAKES[name]
    (folder / "ragassay.toml").write_text(text)
    done = ragassay(folder, "evaluate", "rows.json", code=2)
    assert said in done.stderr
    assert "1234567890" not in done.stderr
    assert not (folder / ".ragassay").exists()


def test_the_options_that_are_told_are_those_of_the_file_that_is_taken(folder):
    (folder / "ragassay.toml").write_text('rows = "rows.json"\nlimit = 1\nyes = true\n')
    (folder / "other.toml").write_text('rows = "rows.json"\nmake_ids = true\nyes = true\n')
    by_default = ragassay(folder, "evaluate", "--json")
    assert "ragassay.toml: limit, rows, yes\n" in by_default.stderr
    other = ragassay(folder, "evaluate", "--json", "--config", "other.toml")
    assert "options of other.toml: make_ids, rows, yes\n" in other.stderr
    assert "ragassay.toml" not in other.stderr


def test_init_writes_a_file_to_fill_in_where_no_column_is_known(folder):
    (folder / "odd.csv").write_text("Spalte A;Spalte B\nWie lang?;Lang.\n")
    done = ragassay(folder, "init", "odd.csv")
    assert "Spalte A  not read: Wie lang?" in done.stdout
    last = done.stderr.splitlines()[-1]
    assert last == "next: name the columns under [map] in ragassay.toml, then: ragassay evaluate"
    with (folder / "ragassay.toml").open("a") as file:
        file.write('question = "Spalte A"\nresponse = "Spalte B"\n')
    assert rows_of(ragassay(folder, "evaluate", "--json")) == 1


def test_init_shows_each_column_that_contexts_are_put_together_from(folder):
    (folder / "rows.csv").write_text(
        "question,KB Snippet 1,KB Snippet 2,response\nHow long?,Bridge A is long.,It is 9 m.,9 m\n"
    )
    done = ragassay(folder, "init", "rows.csv")
    assert done.stdout.splitlines() == [
        "  question      read as question: How long?",
        "  KB Snippet 1  read as contexts: Bridge A is long.",
        "  KB Snippet 2  read as contexts: It is 9 m.",
        "  response      read as response: 9 m",
    ]


def test_init_shows_every_field_of_a_column_and_no_parent_of_one_that_is_read(folder):
    answer = {"query": "How long?", "data": "9 m", "documents": [{"id": "1", "content": "9 m."}]}
    (folder / "rows.jsonl").write_text(json.dumps({"answer_builder": {"answers": [answer]}}))
    done = ragassay(folder, "init", "rows.jsonl")
    shown = sorted(line.partition(":")[0] for line in done.stdout.splitlines())
    assert shown == [
        "  answer_builder.answers  read as question",
        "  answer_builder.answers  read as response",
    ]
    assert "also read, from inside these columns: contexts" in done.stderr
