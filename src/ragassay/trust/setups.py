"""The three standard set-ups of the RAG-triad benchmark, built from a user's copies of the sets.

The sets may not be passed on with this package, so each user fetches them: TREC Deep Learning
passages for context relevance, LLM-AggreFact for groundedness, HotpotQA for answer relevance. They
are read in the forms in which they are published, and each set-up labels its rows by the rule of
that benchmark (`benchmark_sets`). A file that is not there is told with its source and its form.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from ragassay.core import DataError, SetupError, nearest, shorten
from ragassay.core.counting import count
from ragassay.datasets import open_records, read_qrels
from ragassay.trust.benchmark_sets import (
    BENCHMARK_SETS,
    BenchmarkSet,
    make_answer_negatives,
    trec_rows,
)

Rows = list[dict[str, object]]

_TABLES = (".parquet", ".jsonl", ".ndjson", ".json", ".csv", ".arrow", ".feather")
_BUNDLE = re.compile(r"(msmarco_(?:v2\.1_)?(?:passage|doc(?:_segmented)?)_\d+)_(\d+)")
"""A passage id of MS MARCO's second version: its file, and the byte where its line begins there."""


@dataclass(frozen=True, slots=True)
class SetUpSource:
    """A set-up, and the files that it is built from.

    name: as the command takes it. standard: task, metric, scale and cut. source: where the files
    come from. shape: which files, and what stands in them.
    """

    name: str
    standard: BenchmarkSet
    source: str
    shape: str


@dataclass(frozen=True, slots=True)
class BuiltSetUp:
    """Labelled rows of a set-up. source: the path that it was built from, and the set-up's name.
    content_hash: of the rows. files: names of those that were read. notes: what was left out.
    """

    name: str
    standard: BenchmarkSet
    rows: Rows
    source: str
    content_hash: str
    files: tuple[str, ...]
    notes: tuple[str, ...]


_ALL = (
    SetUpSource(
        "triad-context",
        BENCHMARK_SETS["context_relevance"],
        "the TREC Deep Learning passage tasks: qrels and queries at"
        " https://microsoft.github.io/msmarco/TREC-Deep-Learning, passages of MS MARCO",
        "a folder with qrels (a name with qrel: QUERY 0 PASSAGE GRADE), queries (quer or topic:"
        " QUERY, a tab, TEXT) and passages (collection.tsv, a .jsonl with an id and a text, or the"
        " folder msmarco_v2_passage); .gz is read too",
    ),
    SetUpSource(
        "triad-groundedness",
        BENCHMARK_SETS["groundedness"],
        "LLM-AggreFact: https://huggingface.co/datasets/lytang/LLM-AggreFact (after its terms are"
        " accepted there)",
        "its test file, Parquet, CSV or JSONL, or the folder that holds it; columns: dataset, doc,"
        " claim, label (1 = supported)",
    ),
    SetUpSource(
        "triad-answer",
        BENCHMARK_SETS["answer_relevance"],
        "HotpotQA: hotpot_dev_distractor_v1.json at https://hotpotqa.github.io, or the dataset"
        " hotpotqa/hotpot_qa at Hugging Face",
        "that file, or a folder that holds it: JSON, JSONL or Parquet with question and answer",
    ),
)
SETUPS: Mapping[str, SetUpSource] = {setup.name: setup for setup in _ALL}
"""Name -> the set-up."""


def build_setup(
    name: str,
    path: str | PathLike[str],
    *,
    negatives: Sequence[str] = ("shuffled",),
    sample: int | None = None,
    seed: int = 0,
) -> BuiltSetUp:
    """The labelled rows of a set-up, in the order of its files.

    name: one of `SETUPS`. path: the user's copy, a file or a folder. negatives: kinds of wrong
    answers of triad-answer (`benchmark_sets.NEGATIVES`); the published set-up shuffles. sample: so
    many rows, drawn with one chance for all by `seed` (of triad-answer: half as many questions, two
    rows each); None = all.

    Raises SetupError E0205 for an unknown name, E0101 for a sample below 2; DataError E1203 where a
    file is not there, E1204 where one has not the form expected, and as the readers of `datasets`.
    """
    if name not in SETUPS:
        raise SetupError(
            "E0205",
            f"No set-up is called {shorten(name, 40)!r}.{nearest(name, SETUPS)}",
            where="--setup",
            fix="one of " + ", ".join(SETUPS),
        )
    if sample is not None and sample < 2:
        raise SetupError(
            "E0101",
            "A sample has two rows or more.",
            where="--sample",
            why=str(sample),
            fix="such as --sample 1000",
        )
    setup = SETUPS[name]
    builder = _BUILDERS[name](setup, Path(path), random.Random(seed))
    rows = builder.rows(sample, negatives, seed)
    if not rows:
        raise _shapeless(setup, Path(path), "no row could be made of them")
    return BuiltSetUp(
        name=name,
        standard=setup.standard,
        rows=rows,
        source=f"{Path(path).absolute()} ({name})",
        content_hash=_hash(rows),
        files=tuple(builder.names),
        notes=tuple(builder.notes),
    )


class _Builder:
    """What the three builders share: where files are looked for, and what is told of them."""

    def __init__(self, setup: SetUpSource, path: Path, chance: random.Random) -> None:
        self.setup = setup
        self.path = path
        self.chance = chance
        self.notes: list[str] = []
        self.names: list[str] = []

    def rows(self, sample: int | None, negatives: Sequence[str], seed: int) -> Rows:
        """The labelled rows."""
        raise NotImplementedError

    def tables(self, preferred: Sequence[str]) -> list[Path]:
        """The files to read: the path itself, or those of a folder whose names hold the first of
        the preferred words that any holds; else all of them.
        """
        if self.path.is_file():
            return [self.path]
        found = [file for file in self.files() if _suffix(file) in _TABLES]
        if not found:
            raise _missing(self.setup, self.path, ("a table of its rows",))
        for word in preferred:
            named = [file for file in found if word in file.name.lower()]
            if named:
                found = named
                break
        # The same rows may lie there in two formats.
        kind = _suffix(found[0])
        return [file for file in found if _suffix(file) == kind]

    def files(self) -> list[Path]:
        """Every file under the folder, by path. Raises DataError E1203 where there is no folder."""
        if not self.path.is_dir():
            raise _missing(self.setup, self.path, ("the path itself",))
        return sorted(file for file in self.path.rglob("*") if file.is_file())

    def records(
        self, files: Iterable[Path], columns: Sequence[str]
    ) -> Iterator[tuple[str, Mapping[str, object]]]:
        """(id, row) of every readable row. Raises DataError E1204 where the first row of a file
        lacks a column.
        """
        for file in files:
            records = open_records(file)
            first = True
            for _, row_id, row in records:
                absent = [column for column in columns if column not in row]
                if first and absent:
                    raise _shapeless(
                        self.setup, file, f"its rows have no column {' and no '.join(absent)}"
                    )
                first = False
                if not absent:
                    yield row_id, row
            self.names.append(file.name)
            for reason, bad in records.bad.items():
                self.notes.append(f"{count(bad, 'row')} of {file.name} cannot be read ({reason})")

    def drawn(self, rows: Rows, sample: int | None) -> Rows:
        """A sample of the rows, in their order."""
        if sample is None or sample >= len(rows):
            return rows
        self.notes.append(f"{sample:,} of {len(rows):,} rows, drawn at random")
        places = sorted(self.chance.sample(range(len(rows)), sample))
        return [rows[place] for place in places]


class _Groundedness(_Builder):
    """Claims with the documents that were to support them, as in LLM-AggreFact."""

    def rows(self, sample: int | None, negatives: Sequence[str], seed: int) -> Rows:
        """One row a claim: the claim is the response, its document the only context."""
        rows: Rows = []
        unlabelled = 0
        counts: dict[str, int] = {}
        for _, row in self.records(self.tables(("test",)), ("doc", "claim", "label")):
            label = str(row["label"]).strip().removesuffix(".0")
            if label not in ("0", "1"):
                unlabelled += 1
                continue
            name = str(row.get("dataset") or "all")
            counts[name] = counts.get(name, 0) + 1
            document = str(row["doc"])
            rows.append(
                {
                    "id": f"{name}-{counts[name]}",
                    "response": str(row["claim"]),
                    "contexts": [document],
                    "label": int(label),
                    "task": self.setup.standard.task,
                    "slice": name,
                    # Claims of one document are of one cluster, whatever set they stand in.
                    "cluster": hashlib.blake2b(document.encode(), digest_size=8).hexdigest(),
                }
            )
        if unlabelled:
            claims = count(unlabelled, "claim has", "claims have")
            verb = "is" if unlabelled == 1 else "are"
            self.notes.append(f"{claims} no label of 0 or 1 and {verb} left out")
        return self.drawn(rows, sample)


class _Answers(_Builder):
    """Questions with their gold answers, and as many with answers that do not answer them."""

    def rows(self, sample: int | None, negatives: Sequence[str], seed: int) -> Rows:
        """Two rows a question: with its gold answer, and with one that does not answer it."""
        questions: Rows = []
        preferred = ("dev", "validation", "test")
        for row_id, row in self.records(self.tables(preferred), ("question", "answer")):
            own = row.get("_id") or row_id
            questions.append({"id": own, "question": row["question"], "reference": row["answer"]})
        questions = self.drawn(questions, None if sample is None else max(2, sample // 2))
        return list(make_answer_negatives(questions, negatives, seed=seed))


class _Contexts(_Builder):
    """Passages that assessors graded for a query, as in TREC Deep Learning."""

    def rows(self, sample: int | None, negatives: Sequence[str], seed: int) -> Rows:
        """One row a judged pair of query and passage; the grade is the label."""
        qrels_files, query_files, passage_files = self._found()
        queries: dict[str, str] = {}
        for file in query_files:
            queries |= dict(_texts(file, None))
            self.names.append(file.name)
        rows: Rows = []
        unasked = 0
        for file in qrels_files:
            qrels = read_qrels(file)
            self.names.append(file.name)
            unasked += sum(len(qrels[query]) for query in qrels if query not in queries)
            # The texts are put in when it is known which are needed.
            documents: set[str] = set()
            for grades in qrels.values():
                documents.update(grades)
            for row in trec_rows(qrels, queries, {document: document for document in documents}):
                rows.append({**row, "slice": file.name.removesuffix(".gz").rpartition(".")[0]})
        if unasked:
            self.notes.append(f"{unasked:,} grades are of queries without a text, and are left out")
        return self._with_texts(self.drawn(rows, sample), passage_files)

    def _with_texts(self, rows: Rows, files: Sequence[Path]) -> Rows:
        """The rows with their passages' texts; those without one are left out and counted."""
        wanted = {_contexts(row)[0] for row in rows}
        texts: dict[str, str] = {}
        for file in files:
            found = dict(_texts(file, wanted - texts.keys()))
            if found:
                self.names.append(file.name)
            texts |= found
            if wanted <= texts.keys():
                break
        complete: Rows = []
        for row in rows:
            (document,) = _contexts(row)
            if document in texts:
                complete.append({**row, "contexts": [texts[document]]})
        if len(complete) < len(rows):
            self.notes.append(
                f"{len(rows) - len(complete):,} of {len(rows):,} graded passages have no text in"
                " the files, and are left out"
            )
        return complete

    def _found(self) -> tuple[list[Path], list[Path], list[Path]]:
        """Files of grades, of queries and of passages. Raises DataError E1203 naming what lacks."""
        if self.path.is_file():
            raise _missing(self.setup, self.path, ("a folder",))
        qrels: list[Path] = []
        queries: list[Path] = []
        passages: list[Path] = []
        for file in self.files():
            name = file.name.lower()
            if "qrel" in name:
                qrels.append(file)
            elif "quer" in name or "topic" in name:
                queries.append(file)
            elif name.removesuffix(".gz").endswith((".tsv", *_TABLES)) or _is_bundle(file):
                passages.append(file)
        kinds = {"qrels": qrels, "queries": queries, "passages": passages}
        absent = [kind for kind, files in kinds.items() if not files]
        if absent:
            raise _missing(self.setup, self.path, absent)
        return qrels, queries, passages


_BUILDERS: Mapping[str, Callable[[SetUpSource, Path, random.Random], _Builder]] = {
    "triad-context": _Contexts,
    "triad-groundedness": _Groundedness,
    "triad-answer": _Answers,
}


def _contexts(row: Mapping[str, object]) -> list[str]:
    contexts = row["contexts"]
    assert isinstance(contexts, list)
    return contexts


def _suffix(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


def _is_bundle(file: Path) -> bool:
    """Whether a file is one of those into which MS MARCO's second version is cut."""
    return re.fullmatch(r"msmarco_.*_\d+(\.gz)?", file.name) is not None


def _texts(file: Path, wanted: set[str] | None) -> Iterator[tuple[str, str]]:
    """(id, text) of the wanted entries of a file of queries or passages, None for all of them."""
    if _is_bundle(file):
        bundle = file.name.removesuffix(".gz")
        inside = {document for document in wanted or () if _bundle_of(document) == bundle}
        if not inside:
            return
        if file.suffix != ".gz":
            yield from _texts_at(file, inside)
            return
        yield from _texts_of_records(file, inside, "jsonl")
    elif _suffix(file) in (".tsv", ".txt"):
        yield from _texts_of_lines(file, wanted)
    else:
        yield from _texts_of_records(file, wanted, None)


def _bundle_of(document: str) -> str:
    match = _BUNDLE.fullmatch(document)
    return match[1] if match else ""


def _texts_at(file: Path, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """The passages of an unpacked bundle, each read at the place that its id names."""
    with file.open("rb") as lines:
        for document in sorted(wanted):
            match = _BUNDLE.fullmatch(document)
            assert match is not None
            lines.seek(int(match[2]))
            try:
                row = json.loads(lines.readline())
            except ValueError:
                continue
            if isinstance(row, dict) and _entry(row) is not None:
                yield document, str(row.get("passage") or row.get("text") or "")


def _texts_of_lines(file: Path, wanted: set[str] | None) -> Iterator[tuple[str, str]]:
    """The entries of a table without a header: id, a tab, text."""
    import gzip

    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
        for line in lines:
            entry, tab, text = line.decode("utf-8", "replace").rstrip("\r\n").partition("\t")
            if tab and (wanted is None or entry in wanted):
                yield entry, text


def _texts_of_records(
    file: Path, wanted: set[str] | None, format: str | None
) -> Iterator[tuple[str, str]]:
    for _, _, row in open_records(file, format=format):
        entry = _entry(row)
        if entry is not None and (wanted is None or entry[0] in wanted):
            yield entry


_IDS = ("pid", "_id", "docid", "id", "docno", "qid", "query_id")
_TEXTS = ("passage", "text", "contents", "segment", "doc", "body", "query", "title")


def _entry(row: Mapping[str, object]) -> tuple[str, str] | None:
    """The id and the text of a passage or query, by the names that collections give them."""
    names = [name for name in _IDS if isinstance(row.get(name), str | int)]
    texts = [name for name in _TEXTS if isinstance(row.get(name), str)]
    if not names or not texts:
        return None
    return str(row[names[0]]), str(row[texts[0]])


def _hash(rows: Rows) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=True).encode())
    return digest.hexdigest()


def _missing(setup: SetUpSource, path: Path, what: Sequence[str]) -> DataError:
    return DataError(
        "E1203",
        f"{setup.name} cannot be built: " + " and ".join(what) + " not found.",
        where=str(path),
        why=f"it needs {setup.shape}",
        fix=f"get {setup.source}; see docs/triad-benchmark.md",
    )


def _shapeless(setup: SetUpSource, path: Path, why: str) -> DataError:
    return DataError(
        "E1204",
        f"{setup.name} cannot be built from this file.",
        where=str(path),
        why=f"{why}; expected: {setup.shape}",
        fix=f"get {setup.source}; see docs/triad-benchmark.md",
    )
