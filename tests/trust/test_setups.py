"""The standard set-ups, built from files in the forms in which their sets are published."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ragassay.core import DataError, SetupError
from ragassay.trust.setups import build_setup


def lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


CLAIMS: list[dict[str, object]] = [
    {"dataset": "RAGTruth", "doc": "The dam is 90 m high.", "claim": "It is 90 m.", "label": 1},
    {"dataset": "RAGTruth", "doc": "The dam is 90 m high.", "claim": "It is old.", "label": 0},
    {"dataset": "Wice", "doc": "Ada lives in Rome.", "claim": "Ada lives in Rome.", "label": 1},
    {"dataset": "Wice", "doc": "Ada lives in Rome.", "claim": "Ada is ill.", "label": None},
]


def test_claims_keep_their_label_and_claims_of_one_document_are_of_one_cluster(
    tmp_path: Path,
) -> None:
    lines(tmp_path / "data/dev.jsonl", CLAIMS[:1])
    lines(tmp_path / "data/test.jsonl", CLAIMS)
    built = build_setup("triad-groundedness", tmp_path)
    assert built.files == ("test.jsonl",)  # the split that the published table is of
    assert [(row["id"], row["label"]) for row in built.rows] == [
        ("RAGTruth-1", 1),
        ("RAGTruth-2", 0),
        ("Wice-1", 1),
    ]
    assert built.rows[0]["cluster"] == built.rows[1]["cluster"] != built.rows[2]["cluster"]
    assert built.rows[0]["contexts"] == ["The dam is 90 m high."]
    assert built.notes == ("1 claim has no label of 0 or 1 and is left out",)
    assert (built.standard.metric, built.standard.cut) == ("groundedness", 1.0)


def trec_folder(folder: Path) -> Path:
    """Two queries and their graded passages, as the passage task of 2021 and 2022 is handed out:
    the id of a passage says in which file and at which byte it stands.
    """
    folder.mkdir()
    bundle = folder / "msmarco_v2_passage"
    bundle.mkdir()
    ids: list[str] = []
    packed = b""
    for text in ("Seawater freezes at -1.9 °C.", "Sea salt is white.", "Mars has two moons."):
        ids.append(f"msmarco_passage_07_{len(packed)}")
        packed += json.dumps({"pid": ids[-1], "passage": text}).encode() + b"\n"
    (bundle / "msmarco_passage_07").write_bytes(packed)
    grades = [("q1", ids[0], 3), ("q1", ids[1], 1), ("q2", ids[2], 2), ("q3", ids[2], 0)]
    qrels = "".join(f"{query} 0 {passage} {grade}\n" for query, passage, grade in grades)
    (folder / "2021.qrels.pass.final.txt").write_text(qrels)
    (folder / "2021_queries.tsv").write_text("q1\tfreezing point of seawater\nq2\tmoons of mars\n")
    return folder


def test_grades_are_joined_with_their_texts_wherever_the_passages_stand(tmp_path: Path) -> None:
    folder = trec_folder(tmp_path / "dl21")
    built = build_setup("triad-context", folder)
    assert [(row["question"], row["contexts"], row["label"]) for row in built.rows] == [
        ("freezing point of seawater", ["Seawater freezes at -1.9 °C."], 3.0),
        ("freezing point of seawater", ["Sea salt is white."], 1.0),
        ("moons of mars", ["Mars has two moons."], 2.0),
    ]
    assert built.notes == ("1 grades are of queries without a text, and are left out",)
    assert built.standard.cut == 2.0

    # The same passages packed, and as the first version's table of ids and texts.
    bundle = folder / "msmarco_v2_passage/msmarco_passage_07"
    packed = bundle.read_bytes()
    bundle.unlink()
    bundle.with_name("msmarco_passage_07.gz").write_bytes(gzip.compress(packed))
    assert build_setup("triad-context", folder).rows == built.rows
    bundle.with_name("msmarco_passage_07.gz").unlink()
    table = "".join(
        f"{row['pid']}\t{row['passage']}\n" for row in map(json.loads, packed.splitlines())
    )
    (folder / "collection.tsv").write_text(table, encoding="utf-8")
    again = build_setup("triad-context", folder)
    assert again.rows == built.rows
    assert again.content_hash == built.content_hash


def test_a_passage_whose_text_is_not_there_is_left_out_and_counted(tmp_path: Path) -> None:
    folder = trec_folder(tmp_path / "dl21")
    (folder / "msmarco_v2_passage/msmarco_passage_07").write_text("{}\n")
    lines(folder / "passages.jsonl", [{"docid": "msmarco_passage_07_0", "contents": "Ice."}])
    built = build_setup("triad-context", folder)
    assert [row["contexts"] for row in built.rows] == [["Ice."]]
    assert built.notes[-1].startswith("2 of 3 graded passages have no text in the files")


def test_answers_are_balanced_and_every_question_is_a_cluster(tmp_path: Path) -> None:
    questions = [
        {"_id": f"h{n}", "question": f"Who built tower {n}?", "answer": f"Builder {n}"}
        for n in range(10)
    ]
    file = tmp_path / "hotpot_dev_distractor_v1.json"
    file.write_text(json.dumps(questions))
    built = build_setup("triad-answer", tmp_path, negatives=["shuffled", "refusal"], sample=12)
    assert len(built.rows) == 12
    assert sum(row["label"] == 1 for row in built.rows) == 6
    assert {row["slice"] for row in built.rows} == {"gold", "shuffled", "refusal"}
    assert (
        built.rows
        == build_setup("triad-answer", file, negatives=["shuffled", "refusal"], sample=12).rows
    )
    assert all(row["label_kind"] == "constructed" for row in built.rows)


@pytest.mark.parametrize(
    ("setup", "told"),
    [
        ("triad-context", "qrels and queries and passages not found"),
        ("triad-groundedness", "huggingface.co/datasets/lytang/LLM-AggreFact"),
        ("triad-answer", "hotpot_dev_distractor_v1.json"),
    ],
)
def test_a_missing_file_is_told_with_its_source_and_its_form(
    tmp_path: Path, setup: str, told: str
) -> None:
    with pytest.raises(DataError) as raised:
        build_setup(setup, tmp_path)
    assert raised.value.code == "E1203"
    assert told in f"{raised.value.what} {raised.value.fix}"


def test_a_file_of_another_form_names_the_column_that_is_not_there(tmp_path: Path) -> None:
    file = lines(tmp_path / "test.jsonl", [{"document": "a", "claim": "b", "label": 1}])
    with pytest.raises(DataError) as raised:
        build_setup("triad-groundedness", file)
    assert raised.value.code == "E1204"
    assert "no column doc" in raised.value.why
    with pytest.raises(SetupError, match="Did you mean 'triad-answer'"):
        build_setup("triad-answers", file)
