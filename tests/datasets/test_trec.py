"""qrels, runs and BEIR folders: read and ranked as trec_eval does, every fault named by file and
line.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import BadRow, Context, DataError, NothingToDo, RagAssayError, Sample
from ragassay.datasets import (
    beir_samples,
    count_topics,
    open_rows,
    read_qrels,
    read_run,
    retrieval_rows,
    write_qrels,
    write_run,
)
from ragassay.metrics import parse
from ragassay.scoring import rank_by_score
from support.examples import examples
from support.present import present
from support.rows import samples


def run_to_score(metric, sample):
    """The score of a metric that asks no judge."""
    flow = metric.flow(sample)
    with pytest.raises(StopIteration) as ended:
        next(flow)
    return ended.value.value


DATA = Path(os.environ.get("RAGASSAY_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_reference = pytest.mark.skipif(
    not (DATA / "ir_reference").is_dir(),
    reason=(
        f"trec_eval's reference output is not at {DATA} (set RAGASSAY_DATA); hand-worked"
        " numbers ran"
    ),
)


def test_qrels_of_trec_are_read_with_comments_blanks_and_tabs(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("# a comment\n301 0 d1 2\n\n301\t0\td2\t0\n 302  Q0  d1   -1\r\n")
    assert read_qrels(path) == {"301": {"d1": 2.0, "d2": 0.0}, "302": {"d1": -1.0}}


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n"])
def test_qrels_of_beir_are_a_table_with_or_without_its_header(tmp_path, header):
    path = tmp_path / "test.tsv.gz"
    path.write_bytes(gzip.compress(f"{header}1\ta doc\t1\n1\tb\t2\n".encode()))
    assert read_qrels(path) == {"1": {"a doc": 1.0, "b": 2.0}}


def test_a_run_is_ranked_by_score_and_ties_by_id_descending_whatever_its_rank_column_says(tmp_path):
    path = tmp_path / "run.txt"
    # 1.00000001 and 1.0 are one number in single precision, so b (the greater id) comes first.
    path.write_text(
        "q Q0 a 1 1.00000001 t\nq Q0 b 2 1.0 t\nq Q0 c 3 7e0 t extra field\np Q0 z 1 -0.5 t\n"
    )
    assert read_run(path) == {"q": (("c", 7.0), ("b", 1.0), ("a", 1.00000001)), "p": (("z", -0.5),)}


scored = st.dictionaries(
    st.text("abcxyz", min_size=1, max_size=3), st.floats(-1e300, 1e300), min_size=1, max_size=8
)


@given(scored)
@settings(max_examples=examples(60), deadline=None)
def test_the_order_of_a_run_is_the_one_that_scoring_gives(tmp_path_factory, ranked):
    path = tmp_path_factory.mktemp("run") / "r.txt"
    path.write_text("".join(f"q Q0 {doc} 0 {score!r} t\n" for doc, score in ranked.items()))
    assert tuple(doc for doc, _ in read_run(path)["q"]) == rank_by_score(ranked.items())


BROKEN = {
    "too few fields in qrels": (read_qrels, "q 0 d 1\nq 0 d\n", "E0312", "f.txt:2 has 3 fields"),
    "a grade in words": (
        read_qrels,
        "q 0 d relevant\n",
        "E0312",
        "f.txt:1 has the grade 'relevant'",
    ),
    "a grade that is no number": (
        read_qrels,
        "q 0 d nan\n",
        "E0312",
        "f.txt:1 has the grade 'nan'",
    ),
    "a document judged twice": (
        read_qrels,
        "q 0 d 1\n\nq 0 d 0\n",
        "E0312",
        "f.txt:3 judges 'd' a second time",
    ),
    "an empty id in BEIR's table": (
        read_qrels,
        "q\t\t1\n",
        "E0312",
        "f.txt:1 lacks the topic or the document",
    ),
    "too few fields in a run": (read_run, "q Q0 d 1 2.5\n", "E0312", "f.txt:1 has 5 fields"),
    "an infinite score": (read_run, "q Q0 d 1 inf t\n", "E0312", "f.txt:1 has the score 'inf'"),
    "a score beyond a double": (
        read_run,
        "q Q0 d 1 1e999 t\n",
        "E0312",
        "f.txt:1 has the score '1e999'",
    ),
    "a document retrieved twice": (
        read_run,
        "q Q0 d 1 2 t\nq Q0 d 2 1 t\n",
        "E0312",
        "f.txt:2 retrieves 'd'",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_malformed_line_is_an_error_that_names_file_and_line(tmp_path, name):
    read, text, code, says = BROKEN[name]
    path = tmp_path / "f.txt"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.code == code
    assert says in caught.value.what
    assert caught.value.fix


def test_bytes_that_are_not_utf8_and_files_without_a_line_are_named(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes(b"q 0 d 1\nq 0 caf\xe9 1\n")
    with pytest.raises(DataError, match=r"f.txt:2 is not valid UTF-8") as caught:
        read_qrels(path)
    assert caught.value.code == "E0305"
    for empty in (b"", b"# nothing\n\n"):
        path.write_bytes(empty)
        for read in (read_qrels, read_run):
            with pytest.raises(NothingToDo):
                read(path)


def test_a_cut_file_and_a_line_without_an_end_are_errors(tmp_path, monkeypatch):
    path = tmp_path / "run.txt.gz"
    path.write_bytes(
        gzip.compress("".join(f"q Q0 d{n} 1 {n} t\n" for n in range(9_999)).encode())[:-9_000]
    )
    with pytest.raises(DataError, match=r"run.txt.gz cannot be read") as caught:
        read_run(path)
    assert caught.value.code == "E0310"
    plain = tmp_path / "run.txt"
    plain.write_bytes(b"q Q0 d 1 1 t\n" + b"x" * 2_000)
    monkeypatch.setattr("ragassay.datasets.trec.line_limit", lambda path: 1_000)
    with pytest.raises(DataError, match=r"run.txt:2 is longer"):
        read_run(plain)


@given(st.binary(max_size=80))
@settings(max_examples=examples(100), deadline=None)
def test_any_bytes_give_judgements_or_one_of_our_errors(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "f.txt"
    path.write_bytes(data)
    for read in (read_qrels, read_run):
        with contextlib.suppress(RagAssayError):  # anything else fails the test
            assert read(path)


def test_every_topic_of_the_qrels_is_a_row_and_topics_of_one_file_only_are_counted():
    run = {"a": (("d2", 2.0), ("d1", 1.0)), "extra": (("d1", 1.0),)}
    qrels = {"a": {"d1": 1.0, "d2": 0.0}, "b": {"d1": 2.0}}
    rows = list(retrieval_rows(run, qrels))
    assert rows == [
        Sample(
            "a",
            contexts=(Context("", "d2", 2.0), Context("", "d1", 1.0)),
            relevant_ids=qrels["a"],
            line=1,
        ),
        Sample("b", contexts=(), relevant_ids={"d1": 2.0}, line=2),
    ]
    assert count_topics(run, qrels) == (1, 1, 1)
    assert count_topics(run, qrels).lines == (
        "topics in both the run and the qrels: 1",
        "topics of the qrels only, for which nothing was retrieved: 1",
        "topics of the run only, which are not measured: 1",
    )
    assert run_to_score(parse("mrr"), rows[0]).value == 1 / 2  # d1 at rank 2
    assert (
        run_to_score(parse("mrr"), rows[1]).value == 0.0
    )  # nothing retrieved is measured, as trec_eval -c does


NAMES = {
    "map": "map",
    "recip_rank": "mrr",
    "ndcg": "ndcg_at_k(k=100000)",
    "P": "precision_at_k",
    "recall": "recall_at_k",
    "ndcg_cut": "ndcg_at_k",
    "success": "hit_rate",
}


@needs_reference
@pytest.mark.parametrize(
    ("expected", "run", "figures"),
    # Topics and the mean x (map, recip_rank, ndcg, and P, recall, ndcg_cut at 9 cuts, success at
    # 3).
    [("out.test.aq", "results.test", 4 * 33), ("out.test.aqc", "results.trunc", None)],
)
def test_metrics_over_a_read_run_equal_trec_evals_output_to_four_decimals(expected, run, figures):
    folder = DATA / "ir_reference" / "trec_eval"
    qrels, ranked = read_qrels(folder / "qrels.test"), read_run(folder / run)
    rows = {row.id: row for row in retrieval_rows(ranked, qrels)}
    compared = 0
    values = {}
    for line in (folder / expected).read_text().splitlines():
        measure, topic, text = line.split()
        name, _, cut = measure.rpartition("_")
        known = NAMES.get(measure) or (
            name in NAMES and name != "map" and f"{NAMES[name]}(k={cut})"
        )
        if not known or (name == "ndcg" and not cut.isdigit()):
            continue
        if topic == "all":
            scores = [run_to_score(parse(known), row).value for row in rows.values()]
            assert None not in scores
            value = sum(scores) / len(scores)
        else:
            value = run_to_score(parse(known), rows[topic]).value
        values[measure, topic] = value
        assert f"{value:.4f}" == text, (measure, topic)
        compared += 1
    assert compared == (figures or compared)
    assert compared >= 4 * 33


@needs_reference
def test_the_cacm_run_reads_back_as_it_was_written(tmp_path):
    folder = DATA / "ir_reference" / "cacm"
    qrels, run = read_qrels(folder / "qrels.cacm.txt"), read_run(folder / "cacm-bm25.run.txt")
    rows = list(retrieval_rows(run, qrels))
    assert write_run(rows, tmp_path / "run.txt").lost == {}
    write_qrels(rows, tmp_path / "qrels.tsv")
    assert read_run(tmp_path / "run.txt") == {topic: run[topic] for topic in qrels if topic in run}
    assert read_qrels(tmp_path / "qrels.tsv") == qrels
    values = [run_to_score(parse("precision_at_k(k=30)"), row).value for row in rows]
    assert (
        f"{sum(values) / len(values):.4f}" == "0.1942"
    )  # the figure that the run's source documents


ids = st.text("abcdef-_é", min_size=1, max_size=4)


@given(
    st.lists(
        st.builds(
            Sample,
            id=ids,
            contexts=st.none()
            | st.lists(
                st.builds(
                    Context, st.just(""), st.none() | ids, st.none() | st.floats(-1e30, 1e30)
                ),
                max_size=5,
            ).map(tuple),
            relevant_ids=st.none() | st.dictionaries(ids, st.floats(-4, 4), max_size=4),
        ),
        max_size=4,
        unique_by=lambda sample: sample.id,
    )
)
@settings(max_examples=examples(80), deadline=None)
def test_what_is_written_as_run_and_qrels_reads_back_in_the_same_order(tmp_path_factory, samples):
    folder = tmp_path_factory.mktemp("trec")
    write_run(samples, folder / "run.txt")
    ranked: dict[str, tuple[str, ...]] = {}
    for sample in samples:
        ids = [context.id for context in sample.contexts or () if context.id is not None]
        if ids:
            ranked[sample.id] = tuple(dict.fromkeys(ids))
    if ranked:
        read_back: dict[str, tuple[str, ...]] = {}
        for topic, ranking in read_run(folder / "run.txt").items():
            read_back[topic] = tuple(document for document, _ in ranking)
        assert read_back == ranked
    judged = {s.id: s.relevant_ids for s in samples if s.relevant_ids}
    for name in ("qrels.txt", "qrels.tsv.gz"):
        report = write_qrels(samples, folder / name)
        assert report.rows == len(judged)
        if judged:
            assert read_qrels(folder / name) == judged


def test_scores_that_give_another_order_are_replaced_and_reported(tmp_path):
    rows: list[Sample | BadRow] = [
        Sample(
            "a", contexts=(Context("", "d1", 0.1), Context("", "d2", 0.9), Context("", "d1", 0.05))
        ),
        Sample("b", contexts=(Context("", "d1"), Context("x"))),
        Sample("c", contexts=()),
        BadRow("line-4", 4, "E0301", "broken"),
    ]
    report = write_run(rows, tmp_path / "run.txt", tag="bm25")
    assert (
        tmp_path / "run.txt"
    ).read_text() == "a Q0 d1 1 2.0 bm25\na Q0 d2 2 1.0 bm25\nb Q0 d1 1 1.0 bm25\n"
    assert (report.rows, report.bad) == (2, 1)
    assert report.lost == {
        "contexts.score (written by rank)": 1,
        "a chunk without an id": 1,
        "a row without chunks": 1,
    }


def test_an_id_that_the_format_cannot_hold_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(DataError, match="cannot stand") as caught:
        write_qrels([Sample("two words", relevant_ids={"d": 1.0})], tmp_path / "qrels.txt")
    assert caught.value.code == "E0312"
    assert list(tmp_path.iterdir()) == []
    write_qrels([Sample("two words", relevant_ids={"d": 1.0})], tmp_path / "qrels.tsv")
    assert read_qrels(tmp_path / "qrels.tsv") == {"two words": {"d": 1.0}}


@pytest.fixture
def beir(tmp_path):
    folder = tmp_path / "toy"
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "Why?"}\n{"_id": "q2", "text": "Who?"}\n{"_id": "q9", "text":'
        ' "unjudged"}\n'
    )
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "T", "text": "one"}\n{"_id": "d2", "title": "", "text": "two"}\n'
    )
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\nq3\td2\t1\n"
    )
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td1\t1\n")
    return folder


def test_a_beir_folder_opens_as_rows_without_contexts(beir):
    data = open_rows(beir)
    assert list(data) == [
        Sample("q1", "Why?", relevant_ids={"d1": 2.0}, line=1),
        Sample("q2", "Who?", relevant_ids={"d2": 1.0}, line=2),
        Sample("q3", relevant_ids={"d2": 1.0}, line=4),
    ]
    assert data.scan().lines == (
        "read id, question, relevant_ids by their own names",
        "a BEIR folder: judgements of qrels/test.tsv",
        "queries without judgements, left out: 1",
        "judged topics without a query in queries.jsonl, so without a question: 1",
    )
    assert data.scan().source_hash == open_rows(str(beir)).scan().source_hash


def test_with_a_run_the_rows_of_a_beir_folder_have_their_texts_from_the_corpus(beir):
    run = {"q1": (("d2", 3.0), ("d1", 1.0))}
    first, second, third = beir_samples(beir, run)
    assert first == Sample(
        "q1",
        "Why?",
        (Context("two", "d2", 3.0), Context("T\none", "d1", 1.0)),
        relevant_ids={"d1": 2.0},
        line=1,
    )
    assert (second.contexts, third.contexts) == ((), ())
    assert [s.contexts for s in beir_samples(beir)] == [None] * 3
    assert [s.id for s in beir_samples(beir, split="dev")] == ["q2"]


def test_what_a_beir_folder_lacks_is_named(beir):
    with pytest.raises(DataError, match=r"no qrels for the split 'tset'. Did you mean 'test'\?"):
        list(beir_samples(beir, split="tset"))
    with pytest.raises(DataError, match=r"1 documents of the run are not in corpus.jsonl"):
        list(beir_samples(beir, {"q1": (("d7", 1.0),)}))
    (beir / "queries.jsonl").write_text(
        '{"text": "no id"}\n{"_id": "q1", "text": ["Why?"]}\n{"_id"\n'
    )
    bad = [row.what for row in open_rows(beir) if isinstance(row, BadRow)]
    assert bad[0] == "queries.jsonl:1: the query has no _id"
    assert bad[1] == "queries.jsonl:2: question is a list, expected a text"
    assert bad[2].startswith("queries.jsonl:3: not valid JSON")
    with pytest.raises(DataError, match=r"queries.jsonl:1"):
        list(beir_samples(beir))
    (beir / "corpus.jsonl").unlink()
    with pytest.raises(DataError, match=r"no corpus.jsonl"):
        list(beir_samples(beir, {"q1": (("d1", 1.0),)}))
    (beir / "qrels" / "test.tsv").unlink()
    assert [row.id for row in open_rows(beir)][-1] == "q2"  # dev is the only split left


def test_a_folder_that_is_not_a_beir_folder_is_refused(tmp_path):
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "Why?"}))
    with pytest.raises(DataError, match="is a folder, not a file of rows"):
        open_rows(tmp_path)


@pytest.mark.skipif(
    not (DATA / "scifact_retrieval").is_dir(), reason=f"no {DATA}/scifact_retrieval (RAGASSAY_DATA)"
)
def test_the_small_scifact_collection_opens_as_a_folder():
    data = open_rows(DATA / "scifact_retrieval")
    scan = data.scan()
    assert (scan.rows, scan.bad) == (217, 0)
    assert sum(len(present(row.relevant_ids)) for row in samples(data)) == 251
