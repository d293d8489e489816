"""Rows written as YAML."""

from pathlib import Path

import pytest

from ragassay.core import DataError, Sample
from ragassay.datasets import open_rows

ROW = "- question: Is it open?\n  contexts: [It is not open.]\n  response: {}\n"


def read(folder: Path, text: str, name: str = "rows.yaml") -> list[Sample]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [row for row in open_rows(path, make_ids=True) if isinstance(row, Sample)]


def responses(samples: list[Sample]) -> list[str | None]:
    return [sample.response for sample in samples]


@pytest.mark.parametrize("name", ["rows.yaml", "rows.yml", "ROWS.YAML"])
def test_a_list_of_rows_is_read(tmp_path: Path, name: str) -> None:
    assert responses(read(tmp_path, ROW.format("It is shut."), name)) == ["It is shut."]


def test_words_that_yaml_takes_for_booleans_or_dates_stay_what_was_written(tmp_path: Path) -> None:
    text = "".join(ROW.format(said) for said in ("No", "yes", "off", "1937-05-01", "2:30"))
    said = responses(read(tmp_path, text))
    assert said[:4] == ["No", "yes", "off", "1937-05-01"]


def test_each_document_of_a_file_is_a_row(tmp_path: Path) -> None:
    text = "---\nquestion: a?\nresponse: A\ncontexts: [x]\n---\nquestion: b?\nresponse: B\n"
    assert responses(read(tmp_path, text)) == ["A", "B"]


def test_rows_under_a_usual_name_are_read(tmp_path: Path) -> None:
    text = (
        "description: mine\nrows:\n- {question: a?, response: A}\n- {question: b?, response: B}\n"
    )
    assert responses(read(tmp_path, text)) == ["A", "B"]


def test_an_alias_stands_for_what_it_names(tmp_path: Path) -> None:
    text = (
        "- {question: a?, response: A, contexts: &both [one, two]}\n"
        "- {question: b?, response: B, contexts: *both}\n"
    )
    last = read(tmp_path, text)[1]
    assert [context.text for context in last.contexts or ()] == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [*a]\n", "more than 200 deep"),
        ("[" * 200_000, "more than 200 deep"),
        ("- " * 200_000 + "x", "more than 200 deep"),
        ('!!python/object/apply:os.system ["id"]\n', "python/object/apply"),
        ("rows:\n- question: a\n  question: b\n", "stands twice"),
        ("- question: [1\n", "expected ',' or ']'"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
                for before, name in zip("abcdef", "bcdefg", strict=True)
            ),
            "by its aliases",
        ),
    ],
)
def test_what_is_no_file_of_rows_is_refused_with_the_reason(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(DataError, match="E0310") as refused:
        read(tmp_path, text)
    error = refused.value
    assert said in f"{error.what} {error.why}"
    assert error.fix


def test_a_list_of_texts_has_no_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="E0302"):
        read(tmp_path, "- one\n- two\n")
