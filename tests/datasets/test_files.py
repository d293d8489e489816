"""Files: every format, and every way in which a file or one of its rows can be broken."""

import codecs
import csv
import gzip
import json
import subprocess
import time
import tracemalloc

import pytest

from ragassay.core import BadRow, Context, DataError, NothingToDo, RagAssayError, Sample, SetupError
from ragassay.datasets import open_rows
from support.rows import samples

GOOD = b'{"id": "a", "question": "Q", "contexts": ["c"], "response": "A"}\n'


def read(tmp_path, data, name="rows.jsonl", **options):
    path = tmp_path / name
    path.write_bytes(data)
    return list(open_rows(path, **options))


BROKEN_LINES = {
    "half a line": (b'{"question": "Q", "resp', "E0301", "breaks off"),
    "a list": (b'["a"]', "E0302", "the row is a list"),
    "a number": (b"42", "E0302", "the row is a number"),
    "NaN": (b'{"question": "Q", "cost": NaN}', "E0304", "NaN"),
    "minus Infinity": (b'{"question": "Q", "cost": -Infinity}', "E0304", "infinite"),
    "10^400": (b'{"question": "Q", "cost": 1e400}', "E0304", "beyond the range"),
    "400 digits": (b'{"question": "Q", "cost": ' + b"9" * 400 + b"}", "E0304", "beyond the range"),
    "a lone surrogate": (b'{"question": "\\ud800"}', "E0305", "unpaired surrogate"),
    "Latin-1": (b'{"question": "caf\xe9"}', "E0305", "the byte 0xe9 at byte 82 is not valid UTF-8"),
    "a raw NUL": (b'{"question": "a\0b"}', "E0301", "not valid JSON"),
    "depth 100,000": (b'{"question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "E0301", "depth"),
    "the same key twice": (
        b'{"question": "a", "question": "b"}',
        "E0301",
        "'question' stands twice",
    ),
    "the same key twice inside": (
        b'{"question": "a", "labels": {"x" :1, "x":2}}',
        "E0301",
        "'x' stands twice",
    ),
    "a trailing comma": (b'{"question": "a",}', "E0301", "not valid JSON"),
    "single quotes": (b"{'question': 'a'}", "E0301", "not valid JSON"),
    "prose": (b"Dear Sir or Madam", "E0301", "not valid JSON"),
}


@pytest.mark.parametrize("name", BROKEN_LINES)
def test_a_broken_line_is_a_bad_row_and_the_rest_is_read(tmp_path, name):
    line, code, says = BROKEN_LINES[name]
    first, bad, last = read(tmp_path, GOOD + line + b"\n\n   \n" + GOOD.replace(b'"a"', b'"b"'))
    assert (first.id, last.id, last.line) == ("a", "b", 5)
    assert isinstance(bad, BadRow)
    assert (bad.id, bad.line, bad.code) == ("line-2", 2, code)
    assert bad.what.startswith("rows.jsonl:2: ")
    assert says in bad.what
    assert bad.fix


GOOD_LINES = {
    "a key-like text": (
        b'{"question": "say \\"a\\": 1 and \\"a\\": 2", "response": "x\\": y"}',
        'say "a": 1 and "a": 2',
    ),
    "an escaped NUL": (b'{"question": "a\\u0000b"}', "a\0b"),
    "a pair of surrogates": (b'{"question": "\\ud83d\\ude00"}', "\U0001f600"),
    "line separators": ('{"question": "a\u2028b\x85c"}'.encode(), "a\u2028b\x85c"),
    "right to left and joiners": (
        '{"question": "\u202eab\u200d\u0301"}'.encode(),
        "\u202eab\u200d\u0301",
    ),
    "carriage return line end": (b'{"question": "a"}\r', "a"),
    "2^64": (b'{"question": "a", "judges": 18446744073709551616}', "a"),
}


@pytest.mark.parametrize("name", GOOD_LINES)
def test_strange_but_valid_lines_keep_their_text(tmp_path, name):
    line, text = GOOD_LINES[name]
    (sample,) = read(tmp_path, line)
    assert sample.question == text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rows.jsonl", codecs.BOM_UTF8 + GOOD),
        ("rows.ndjson", GOOD.rstrip()),
        ("rows.jsonl.gz", gzip.compress(GOOD, mtime=0)),
        ("rows.json", b"\n [" + GOOD + b"]\n"),
        ("rows.json", GOOD),
        ("rows.json", json.dumps(json.loads(GOOD), indent=2).encode()),
        ("rows.json", b'{"version": 1, "results": [' + GOOD + b"]}"),
        ("rows.json", GOOD * 1),
        ("rows.json.gz", gzip.compress(b"[" + GOOD + b"]", mtime=0)),
        ("rows.csv", b"id,question,contexts,response\na,Q,\"['c']\",A\n"),
        ("rows.csv", codecs.BOM_UTF8 + b'id;question;contexts;response\r\na;Q;"[""c""]";A\r\n'),
        ("rows.tsv", b"id\tquestion\tcontexts\tresponse\na\tQ\tc\tA"),
        ("rows.csv.gz", gzip.compress(b"id,question,contexts,response\na,Q,c,A\n", mtime=0)),
    ],
    ids=[
        "jsonl with a byte order mark",
        "ndjson without a last line end",
        "jsonl.gz",
        "json array",
        "json that is lines",
        "json object over lines",
        "json results",
        "json of one line",
        "json.gz",
        "csv",
        "csv with semicolons",
        "tsv",
        "csv.gz",
    ],
)
def test_one_row_reads_the_same_from_every_text_format(tmp_path, name, data):
    (sample,) = read(tmp_path, data, name)
    assert (sample.id, sample.question, sample.contexts, sample.response) == (
        "a",
        "Q",
        (Context("c"),),
        "A",
    )


def test_json_tables_of_columns_are_rows(tmp_path):
    by_list = {"question": ["a", "b"], "answer": ["c", "d"]}
    by_index = {"question": {"0": "a", "1": "b"}, "answer": {"0": "c", "1": "d"}}
    for table in (by_list, by_index):
        items = read(tmp_path, json.dumps(table).encode(), "t.json")
        assert [(s.question, s.response) for s in items] == [("a", "c"), ("b", "d")]


@pytest.mark.parametrize(
    ("keys", "ids", "questions"),
    [
        (("a", "b"), ["a", "b"], [None, None]),
        (("0", "1"), ["row-1", "row-2"], [None, None]),
        (("Why?", "How?"), ["row-1", "row-2"], ["Why?", "How?"]),
    ],
    ids=["ids", "DataFrame.to_json(orient='index')", "questions"],
)
def test_an_object_of_rows_is_rows_and_its_keys_are_their_ids_or_questions(
    tmp_path, keys, ids, questions
):
    table = {key: {"answer": f"A {key}", "contexts": ["c"]} for key in keys}
    rows = read(tmp_path, json.dumps(table).encode(), "rows.json")
    assert [row.id for row in rows] == ids
    assert [row.question for row in rows] == questions
    assert [row.response for row in rows] == [f"A {key}" for key in keys]


def test_one_row_whose_fields_are_objects_of_the_same_names_stays_one(tmp_path):
    row = {"inputs": {"question": "Q"}, "outputs": {"question": "Q", "answer": "A"}}
    (read_row,) = read(tmp_path, json.dumps(row).encode(), "rows.json")
    assert (read_row.question, read_row.response) == ("Q", "A")


def test_a_table_whose_names_and_lines_stand_apart_is_rows(tmp_path):
    """What DataFrame.to_json(orient="split") and MLflow write; also under "data", as columns."""
    split = {"columns": ["question", "contexts"], "data": [["Q", ["c"]], ["R", ["d"]]]}
    nested = {"data": {"question": ["Q", "R"], "contexts": [["c"], ["d"]]}}
    for table in (split, split | {"index": [0, 1]}, nested):
        rows = read(tmp_path, json.dumps(table).encode(), "table.json")
        assert [(row.question, row.contexts[0].text) for row in rows] == [("Q", "c"), ("R", "d")]


@pytest.mark.parametrize(
    "table",
    [
        {"columns": ["question", "contexts"], "data": [["Q"]]},
        {"columns": ["question", "question"], "data": [["Q", "R"]]},
        {"columns": ["question", 3], "data": [["Q", "R"]]},
    ],
)
def test_a_table_whose_lines_do_not_fit_its_names_is_not_guessed_at(tmp_path, table):
    with pytest.raises(SetupError) as caught:
        read(tmp_path, json.dumps(table).encode(), "table.json")
    assert caught.value.code == "E0307"


def test_a_spreadsheet_is_refused_with_what_to_save_it_as(tmp_path):
    with pytest.raises(DataError) as caught:
        read(tmp_path, b"PK", "rows.xlsx")
    assert caught.value.fix == "save the sheet as CSV UTF-8, and give that file"


def test_an_array_is_streamed_with_places_and_bad_elements_apart(tmp_path):
    text = (
        b'[\n{"question": "a]}[{\\"", "contexts": ["x", ["y"]]},\n{"question":'
        b' nope},\n\n{"question": "d"}, 7\n]'
    )
    bad, worse, good, number = read(tmp_path, text, "rows.json")
    assert [r.line for r in (bad, worse, good, number)] == [1, 2, 3, 4]
    places = [r.what.partition(": ")[0] for r in (bad, worse, number)]
    assert places == ["rows.json:2 (row 1)", "rows.json:3 (row 2)", "rows.json:5 (row 4)"]
    assert [r.code for r in (bad, worse, number)] == ["E0303", "E0301", "E0302"]
    assert good.question == "d"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'[{"question": "a"},]', "a comma with no row after it"),
        (b'[{"question": "a"}', "ends before its array is closed"),
        (b'[{"question": "a"}, {"ques', "ends before its array is closed"),
        (b'[{"question": "a"}] {"x": 1}', "text follows the end of the array"),
        (b'[{"question": "a"}, }', "closes nothing"),
    ],
)
def test_a_broken_array_keeps_the_rows_before_the_break(tmp_path, text, says):
    items = read(tmp_path, text, "rows.json")
    assert items[0].question == "a"
    assert len(items) == 2
    assert says in items[-1].what


@pytest.mark.slow
def test_array_elements_across_read_blocks_are_whole(tmp_path):
    rows = [{"question": f"{n} " + '\\"[{' * (n * 997 % 3000)} for n in range(300)]
    items = read(tmp_path, json.dumps(rows).encode(), "rows.json")
    assert [s.question for s in items] == [r["question"] for r in rows]


BROKEN_CSV = {
    "too few cells": (b"a,b\n", "E0302", "has 2 cells and the header has 3"),
    "too many cells": (b"a,b,c,d\n", "E0302", "has 4 cells"),
    "a broken quote": (b'a,"b"x,c\n', "E0302", "not valid CSV"),
    "Latin-1": (b"a,caf\xe9,c\n", "E0305", "the byte 0xe9 at byte 32"),
}


@pytest.mark.parametrize("name", BROKEN_CSV)
def test_a_broken_csv_row_is_a_bad_row_and_the_rest_is_read(tmp_path, name):
    line, code, says = BROKEN_CSV[name]
    first, bad, last = read(
        tmp_path, b"id,question,response\n1,Q,A\n" + line + b'3,"two\nlines",A\n', "rows.csv"
    )
    assert (first.line, bad.line, last.line, last.question) == (2, 3, 4, "two\nlines")
    assert bad.code == code
    assert says in bad.what


def test_a_quote_that_is_never_closed_costs_one_row(tmp_path):
    first, bad, last = read(tmp_path, b'id,question\n1,a\n2,"b\n3,c\n', "rows.csv")
    assert (first.id, last.id, last.question, last.line) == ("1", "3", "c", 4)
    assert bad.line == 3
    assert "never closed" in bad.what


@pytest.mark.parametrize("closing", [b'4,"d"\n', b'4,"d\n"', b"4,d,e\n"])
def test_lines_that_an_open_quote_swallowed_are_read_on_their_own(tmp_path, closing):
    items = read(tmp_path, b'id,question\n1,a\n2,"b\n3,c\n' + closing, "rows.csv")
    assert [item.line for item in items] == [2, 3, 4, 5]
    assert [isinstance(item, BadRow) for item in items[:3]] == [False, True, False]


def test_a_csv_cell_may_be_longer_than_the_modules_own_limit(tmp_path):
    text = "x" * 1_000_000
    (sample,) = read(tmp_path, f"question,contexts\nQ,{text}\n".encode(), "rows.csv")
    assert sample.contexts == (Context(text),)


def test_an_empty_csv_cell_is_absent_but_says_something_as_response_and_contexts(
    tmp_path,
):
    path = tmp_path / "rows.csv"
    path.write_text("id,question,contexts,response,reference,label\n,Q,,,,3\n")
    data = open_rows(path)
    (sample,) = data
    assert sample == Sample("row-2", "Q", contexts=(), response="", labels={"label": 3.0}, line=2)
    assert data.scan().notes == (
        "1 empty cell was read as an empty response",
        "1 empty cell was read as nothing retrieved",
    )


@pytest.mark.parametrize(
    "header",
    [
        b"question,answer,answer\na,b,c\n",
        b"\nquestion\na\n",
        b'"question\na',
    ],
)
def test_a_broken_csv_header_is_refused(tmp_path, header):
    with pytest.raises(DataError) as caught:
        read(tmp_path, header, "rows.csv")
    assert caught.value.code == "E0310"


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.json", "a.csv", "a.parquet", "a.arrow", "a.jsonl.gz"]
)
def test_an_empty_file_holds_nothing_to_do(tmp_path, name):
    with pytest.raises(NothingToDo) as caught:
        read(tmp_path, b"", name)
    assert caught.value.code == "E0309"


@pytest.mark.parametrize(
    ("name", "data"), [("a.jsonl", b"\n\n"), ("a.json", b"[ ]"), ("a.csv", b"question,answer\n")]
)
def test_a_file_without_rows_holds_nothing_to_do(tmp_path, name, data):
    with pytest.raises(NothingToDo):
        read(tmp_path, data, name)


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.jsonl", GOOD.decode().encode("utf-16"), "E0310"),
        ("a.csv", "question,answer\na,b".encode("utf-16-le"), "E0310"),
        ("a.xlsx", b"PK", "E0310"),
        ("a.parquet.gz", b"x", "E0310"),
        ("a.parquet", b"not parquet", "E0310"),
        ("a.arrow", b"not arrow at all", "E0310"),
        ("a.jsonl.gz", b"not gzip", "E0310"),
        ("a.json", b'{"rows": [', "E0301"),
        ("a.jsonl", b"no\njson\nhere\n", "E0301"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_is_a_data_error(tmp_path, name, data, code):
    with pytest.raises(DataError) as caught:
        read(tmp_path, data, name)
    assert caught.value.code == code
    assert name in str(caught.value)


def test_a_missing_file_names_its_neighbour_and_a_folder_is_no_file(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(GOOD)
    with pytest.raises(DataError, match=r"Did you mean 'rows\.jsonl'") as caught:
        open_rows(tmp_path / "row.jsonl")
    assert caught.value.code == "E0102"
    with pytest.raises(DataError, match="is a folder"):
        open_rows(tmp_path)
    with pytest.raises(DataError):
        open_rows("a\0b.jsonl")


def test_a_format_can_be_named_and_a_wrong_one_is_refused(tmp_path):
    assert read(tmp_path, GOOD, "rows.txt", format="jsonl")[0].id == "a"
    with pytest.raises(SetupError, match="Did you mean 'jsonl'"):
        read(tmp_path, GOOD, "rows.txt", format="jsonlines")


@pytest.mark.slow
def test_a_cut_gzip_file_keeps_the_rows_before_the_cut(tmp_path):
    rows = b"".join(GOOD.replace(b'"a"', b'"%d"' % n) for n in range(20_000))
    items = read(tmp_path, gzip.compress(rows, mtime=0)[:-2_000], "rows.jsonl.gz")
    assert items[0].id == "0"
    assert items[-1].code == "E0310"
    assert "breaks off" in items[-1].what


def test_duplicate_ids_are_refused_with_both_lines_unless_ids_are_made(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD + b"\n" + GOOD.replace(b'"a"', b'"b"') + GOOD)
    with pytest.raises(DataError) as caught:
        open_rows(path).scan()
    assert caught.value.code == "E0306"
    assert caught.value.why == "'a' in lines 1 and 4"
    assert "--make-ids" in caught.value.fix
    data = open_rows(path, make_ids=True)
    assert [s.id for s in data] == ["row-1", "row-3", "row-4"]
    assert "numbered all rows row-<line>" in data.scan().lines


@pytest.mark.parametrize("indent", [None, 1], ids=["on one line", "indented"])
def test_rows_of_an_array_are_numbered_by_their_position(tmp_path, indent):
    rows = [{"question": f"Q{n}", "contexts": ["c"], "response": "A"} for n in range(3)]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows, indent=indent))
    data = open_rows(path)
    assert [s.id for s in data] == ["row-1", "row-2", "row-3"]
    assert data.scan().lines[-1] == "numbered the rows row-<position> (no id column)"
    # The same rows as lines, and the list that they were written from, have the same ids.
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert list(open_rows(tmp_path / "rows.jsonl")) == list(data) == list(open_rows(rows))


def test_equal_ids_in_an_array_are_named_by_position_and_numbered_instead(tmp_path):
    rows = [{"id": "a", "question": "Q"}, {"id": "b", "question": "R"}] * 2
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(DataError) as caught:
        open_rows(path).scan()
    assert caught.value.why == "'a' in positions 1 and 3; 'b' in positions 2 and 4"
    assert caught.value.fix == "make the ids unique, or number the rows by position: --make-ids"
    made = open_rows(path, make_ids=True)
    assert made.scan().rows == 4
    assert [s.id for s in made] == ["row-1", "row-2", "row-3", "row-4"]


def test_the_number_of_rows_that_were_given_an_id_is_reported(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"question": "Q"}\n' + GOOD + b'{"question": "R"}\n')
    assert (
        open_rows(path).scan().lines[-1] == "numbered 2 of 3 rows row-<line>, since they have no id"
    )


def test_only_ten_duplicates_are_listed_and_all_are_counted(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD * 15)
    with pytest.raises(DataError) as caught:
        open_rows(path).scan()
    assert caught.value.what.startswith("14 rows")
    assert caught.value.why.count(" and ") == 10


def test_scan_counts_and_keeps_bad_rows_and_says_how_rows_are_read(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"user_input": "Q", "x": 1}\n' + b"{\n" * 30)
    scan = open_rows(path).scan()
    assert (scan.rows, scan.bad, len(scan.bad_rows), scan.source) == (31, 30, 20, str(path))
    assert (scan.columns, scan.mapping, scan.ignored) == (
        ("user_input", "x"),
        {"user_input": "question"},
        ("x",),
    )
    assert scan.lines == (
        "looks like Ragas rows",
        "read user_input as question",
        "ignored x",
        "numbered the rows row-<line> (no id column)",
    )


def test_all_rows_bad_is_a_data_error_with_the_first_ones(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"question": 1}\n{"question": [2]}\n')
    with pytest.raises(DataError, match="None of the 2 rows can be read") as caught:
        open_rows(path).scan()
    assert "rows.jsonl:1: question is a number" in caught.value.why


def test_the_hash_follows_the_bytes_of_the_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD)
    first = open_rows(path).scan().source_hash
    assert open_rows(path).scan().source_hash == first
    path.write_bytes(GOOD.replace(b"Q", b"R"))
    assert open_rows(path).scan().source_hash != first


@pytest.mark.timing
@pytest.mark.slow
def test_a_row_with_a_10_mb_context_is_read_within_a_second(tmp_path):
    row = json.dumps({"question": "Q", "contexts": ['word: \\ " é' * 1_000_000]}).encode()
    start = time.process_time()
    (sample,) = read(tmp_path, row)
    assert len(sample.contexts[0].text) == 11_000_000
    assert time.process_time() - start < 3  # both passes, on a busy machine


@pytest.mark.slow
def test_memory_does_not_follow_the_length_of_the_file(tmp_path):
    def peak(rows, name, line):
        path = tmp_path / name
        with path.open("wb") as file:
            head = {".json": b"[", ".csv": b"id,question\n"}
            file.write(head.get(path.suffix, b""))
            file.writelines(line(n) for n in range(rows))
            file.write(b"{}]" if name.endswith("json") else b"")
        data = open_rows(path)
        tracemalloc.start()
        count = sum(1 for _ in data)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count >= rows
        return most

    for name, line in {
        "a.jsonl": lambda n: b'{"id": %d, "question": "%s"}\n' % (n, b"x" * 500),
        "a.json": lambda n: b'{"id": %d, "question": "%s"},\n' % (n, b"x" * 500),
        "a.csv": lambda n: b"%d,%s\n" % (n, b"x" * 500),
    }.items():
        assert peak(8_000, name, line) < 1.3 * peak(2_000, name, line) + 100_000, name


LONG = b" " * 3_000_000
LONG_ROWS = {
    "a.jsonl": b'{"id": 1, "question": "a"}\n' + LONG + b'\n{"id": 2, "question": "b"}\n',
    "b.jsonl": (
        b'{"id": 1, "question": "a"}\n{"question": "' + LONG + b'"}\n{"id": 2, "question": "b"}\n'
    ),
    "lines.json": b'{"id": 1, "question": "a"}\n' + LONG + b'\n{"id": 2, "question": "b"}\n',
    "a.json": (
        b'[{"id": 1, "question": "a"},\n{"question": "' + LONG + b'"},\n{"id": 2, "question": "b"}]'
    ),
    "blank.json": b'[{"id": 1, "question": "a"},\n' + LONG + b'{},\n{"id": 2, "question": "b"}]',
    "a.csv": b"id,question\n1,a\n3," + LONG + b"\n2,b\n",
    "cell.csv": b'id,question\n1,a\n3,"' + LONG + b'"\n2,b\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_ROWS)
def test_a_row_over_the_limit_is_a_bad_row_that_is_never_held_in_memory(
    tmp_path, monkeypatch, name
):
    monkeypatch.setattr("ragassay.datasets.source.PACKED_LINE_LIMIT", 100_000)
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(LONG_ROWS[name], mtime=0))
    data = open_rows(path)
    tracemalloc.start()
    first, bad, last = data
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(last, Sample)
    line = 4 if "csv" in name else 3
    assert (first.id, last.id, last.question, last.line) == ("1", "2", "b", line)
    assert isinstance(bad, BadRow)
    assert (bad.code, "longer than" in bad.what) == ("E0301", True)
    assert most < 2_000_000  # of 3 MB
    plain = tmp_path / name
    plain.write_bytes(LONG_ROWS[name])
    items = list(open_rows(plain))
    assert (items[0].id, items[-1].id) == ("1", "2")
    assert not any("longer than" in getattr(row, "what", "") for row in items)


def test_an_open_quote_before_a_line_over_the_limit_loses_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr("ragassay.datasets.source.LINE_LIMIT", 1_000)
    items = read(tmp_path, b'id,question\n1,"a\n2,b\n3,' + b"x" * 5_000 + b"\n4,d\n", "rows.csv")
    assert [row.line for row in items] == [2, 3, 4, 5]
    assert [isinstance(row, BadRow) for row in items] == [True, False, True, False]


def test_many_cells_that_an_open_quote_holds_together_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("ragassay.datasets.source.LINE_LIMIT", 1_000)
    items = read(tmp_path, b'id,question\n0,z\n1,"' + b'a\n","' * 500 + b"\n", "rows.csv")
    assert items[0].id == "0"
    assert "longer than" in items[1].what


def test_one_object_over_the_limit_is_a_data_error(tmp_path, monkeypatch):
    monkeypatch.setattr("ragassay.datasets.source.LINE_LIMIT", 1_000)
    with pytest.raises(DataError, match="longer than"):
        read(tmp_path, b'{"rows": [\n' + b",\n".join([GOOD] * 100) + b"]}", "rows.json")


def test_reading_again_and_twice_at_once_gives_the_same_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(GOOD.replace(b'"a"', b'"%d"' % n) for n in range(50)))
    data = open_rows(path)
    assert [a == b for a, b in zip(data, data, strict=True)] == [True] * 50


def test_text_survives_a_csv_round_trip(tmp_path):
    text = 'a "quoted", comma;\nline\r\nend \u2028 \U0001f600 \0'
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([["question", "response"], [text, "x"]])
    (sample,) = samples(open_rows(path))
    assert sample.question == text


def test_every_error_of_reading_rows_is_a_ragassay_error(tmp_path):
    for source in (42, None, b"x", object()):
        with pytest.raises(RagAssayError):
            open_rows(source)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_bad_row_of_an_array_is_named_by_its_position(indent, tmp_path):
    rows = [{"id": "a", "question": "q?", "response": "r"}, 7, {"id": "c", "contexts": 3}]
    (tmp_path / "rows.json").write_text(json.dumps(rows, indent=indent), encoding="utf-8")
    _, number, wrong = open_rows(tmp_path / "rows.json")
    assert isinstance(number, BadRow)
    assert isinstance(wrong, BadRow)
    assert (number.id, number.line, number.place) == ("row-2", 2, "row 2")
    assert (wrong.id, wrong.place) == ("c", "row 3")
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "question": "q"}\n7\n', encoding="utf-8")
    _, line = open_rows(tmp_path / "rows.jsonl")
    assert isinstance(line, BadRow)
    assert (line.id, line.place) == ("line-2", "line 2")


def test_a_csv_file_of_excel_is_named_as_windows_1252(tmp_path):
    data = "question,response\nWie viel?,8 € für Gäste\nWhy?,Because.\n".encode("cp1252")
    bad, _ = read(tmp_path, data, "r.csv")
    assert bad.code == "E0305"
    assert bad.why.endswith(": in Windows-1252, as Excel saves CSV, 'e viel?,8 € für Gäst'")
    assert bad.fix == "save it as UTF-8 (in Excel: CSV UTF-8), or: iconv -f WINDOWS-1252 -t UTF-8"


def test_bytes_that_are_no_text_of_windows_1252_are_not_named_so(tmp_path):
    bad, _ = read(tmp_path, b"question,response\nQ,caf\x81\xfe\nQ,A\n", "r.csv")
    assert "Excel" not in bad.why + bad.fix


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rows.csv", b"id,question,contexts,response\n1,Who?,Ana.,Ana.\n,,,\n , ,,\n,,\n\n"),
        (
            "rows.csv",
            b'id;question;contexts;response\r\n;;;\r\n1;Who?;Ana.;Ana.\r\n"";;;\r\n;;;;\r\n',
        ),
        (
            "rows.tsv",
            b"id\tquestion\tcontexts\tresponse\n\t\t\t\n1\tWho?\tAna.\tAna.\n\t\t\t\n\t\t",
        ),
    ],
    ids=["commas", "semicolons", "tabs"],
)
def test_blank_rows_of_a_spreadsheet_are_skipped_and_counted_once(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    rows = open_rows(path)
    for _ in range(2):
        scan = rows.scan()
        assert (scan.rows, scan.bad) == (1, 0)
        assert scan.lines.count("skipped 3 rows in which every cell is empty") == 1
        assert not scan.notes


def test_a_row_with_a_single_cell_is_no_blank_one(tmp_path):
    data = b"id,question,contexts,response\n1,Who?,Ana.,Ana.\n2,,,\n"
    assert [row.id for row in read(tmp_path, data, "rows.csv")] == ["1", "2"]


@pytest.mark.parametrize("name", ["rows.csv", "my rows.csv", "rows.csv.gz"])
def test_a_header_in_windows_1252_is_told_with_the_command_that_converts_it(tmp_path, name):
    text = "Nr;question;contexts;response;Prüfer\n1;Who?;Ana.;Ana.;Müller\n"
    data = text.encode("cp1252")
    if name.endswith(".gz"):
        data = gzip.compress(data)
    with pytest.raises(DataError) as caught:
        read(tmp_path, data, name)
    error = caught.value
    assert (error.code, error.what) == ("E0305", f"The header of {name} is not UTF-8 text.")
    assert "Prüfer" in error.why
    command, _, otherwise = error.fix.partition(", or ")
    assert otherwise == "save it in Excel as CSV UTF-8"
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    (row,) = samples(open_rows(tmp_path / f"utf8-{name.removesuffix('.gz')}"))
    assert row.response == "Ana."
