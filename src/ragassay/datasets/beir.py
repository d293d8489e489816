"""The reader of BEIR folders: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, as one row a judged
query.

Also read are .gz files, `id` for `_id`, and one qrels.tsv or qrels.txt (BEIR's or TREC's form)
beside the queries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path

from ragassay.core import Context, DataError, Sample, nearest, shorten
from ragassay.datasets.formats.json_files import JsonLines
from ragassay.datasets.source import Counted, Row, Trouble, hash_file
from ragassay.datasets.trec import Run, read_qrels

_QRELS = ("qrels.tsv", "qrels.txt", "qrels.tsv.gz", "qrels.txt.gz")


def is_beir(folder: Path) -> bool:
    """Whether the folder holds queries and their judgements as BEIR lays them out."""
    return _find(folder, "queries.jsonl") is not None and bool(_splits(folder))


def _find(folder: Path, name: str) -> Path | None:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    return None


def _splits(folder: Path) -> dict[str, Path]:
    """Split -> its qrels. A single file beside the queries is the split ""."""
    splits: dict[str, Path] = {}
    if (folder / "qrels").is_dir():
        for path in sorted((folder / "qrels").iterdir()):
            name = path.name.removesuffix(".gz")
            if path.is_file() and name.endswith(".tsv"):
                splits[name.removesuffix(".tsv")] = path
    if splits:
        return splits
    for name in _QRELS:
        path = folder / name
        if path.is_file():
            return {"": path}
    return {}


class BeirFolder:
    """The judged queries of one split as rows: id, question, relevant_ids. Queries are read one at
    a time.

    Queries without judgements are left out; judged topics without a query follow at the end,
    without a question. Raises DataError (E0102) when the folder has no such split or no queries,
    and as `read_qrels`.
    """

    textual = False
    columns: tuple[str, ...] | None = ("id", "question", "relevant_ids")
    counted_by: Counted = "line"

    def __init__(self, folder: Path, split: str | None = None) -> None:
        self.source = str(folder)
        splits = _splits(folder)
        if split is None:
            split = _default_split(splits)
        elif "" in splits and len(splits) == 1:
            split = ""
        queries = _find(folder, "queries.jsonl")
        if queries is None:
            raise _incomplete(folder, "no queries.jsonl", split, splits)
        if split not in splits:
            raise _incomplete(folder, f"no qrels for the split {split or '?'!r}", split, splits)
        self.qrels_file = splits[split]
        self.queries = JsonLines(queries)
        self.qrels = read_qrels(self.qrels_file)
        self.notes: tuple[str, ...] = (
            f"a BEIR folder: judgements of {self.qrels_file.relative_to(folder)}",
        )

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        topics_with_query: set[str] = set()
        last = unjudged = 0
        for line, row in self.queries.rows():
            last = line
            if isinstance(row, Trouble):
                yield line, row
                continue
            query = _id(row)
            if query is None:
                yield (
                    line,
                    Trouble(
                        "E0303",
                        "the query has no _id",
                        shorten(repr(row)),
                        'write {"_id": ..., "text": ...}',
                    ),
                )
            elif query in self.qrels:
                topics_with_query.add(query)
                question = row.get("text")
                yield (
                    line,
                    {
                        "id": query,
                        "question": question,
                        "relevant_ids": self.qrels[query],
                    },
                )
            else:
                unjudged += 1
        self._note_gaps(unjudged, len(self.qrels.keys() - topics_with_query))
        # They count as topics for which nothing was retrieved, as in trec_eval -c.
        for topic, grades in self.qrels.items():
            if topic not in topics_with_query:
                last += 1
                yield last, {"id": topic, "question": None, "relevant_ids": grades}

    def _note_gaps(self, unjudged: int, lacking: int) -> None:
        """Note the queries without judgements and the topics without a query, in place of what an
        earlier reading noted of them.
        """
        notes = [self.notes[0]]
        if unjudged:
            notes.append(f"queries without judgements, left out: {unjudged:,}")
        if lacking:
            notes.append(
                f"judged topics without a query in {self.queries.path.name}, so without a question:"
                f" {lacking:,}"
            )
        self.notes = tuple(notes)

    def where(self, line: int) -> str:
        return self.queries.where(line)

    def content_hash(self) -> str:
        """Hash of the queries and the judgements, as stored."""
        hashes = hash_file(self.queries.path) + hash_file(self.qrels_file)
        return hashlib.blake2b(hashes.encode(), digest_size=16).hexdigest()


def _incomplete(folder: Path, what: str, split: str, splits: Mapping[str, Path]) -> DataError:
    fix = "put BEIR's files there: queries.jsonl, qrels/test.tsv"
    if splits:
        fix = "name a split that is there"
    return DataError(
        "E0102",
        f"{folder.name} has {what}.{nearest(split, splits)}",
        where=str(folder),
        why="splits: " + (shorten(", ".join(splits)) or "none"),
        fix=fix,
    )


def _default_split(splits: Iterable[str]) -> str:
    """The split that is meant where none is named: test, or the only one. "" for none."""
    names = list(splits)
    if "test" in names:
        return "test"
    return names[0] if len(names) == 1 else ""


def _id(row: Mapping[str, object]) -> str | None:
    value = row.get("_id", row.get("id"))
    # Some collections number their documents; qrels name them by the digits.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def beir_samples(
    folder: str | PathLike[str], run: Run | None = None, split: str = "test"
) -> Iterator[Sample]:
    """The judged queries of a split of a BEIR folder as Samples: question, relevant_ids and, with a
    run, contexts.

    run: as `read_run` gives it; its documents get their texts (title, a line break, text) from the
    corpus, which is read once and of which only they are kept. A query that the run does not have
    retrieved nothing; without a run the contexts are absent. Raises DataError: E0102 for a folder
    without the split, a run without a corpus; E0312 for a document of the run that the corpus does
    not have; the row's own code for a line of a file that cannot be read.
    """
    path = Path(folder).absolute()
    reader = BeirFolder(path, split)
    texts = None if run is None else _texts(path, _documents(run, reader.qrels))
    for line, row in reader.rows():
        if isinstance(row, Trouble):
            raise _unreadable(reader.where(line), row)
        question = row["question"]
        if not (question is None or isinstance(question, str)):
            raise _unreadable(
                reader.where(line), Trouble("E0303", "the text of the query is no text")
            )
        topic = str(row["id"])
        contexts = None
        if run is not None and texts is not None:
            ranking = run.get(topic, ())
            contexts = tuple(
                Context(texts[document], document, score) for document, score in ranking
            )
        yield Sample(
            topic,
            question=question,
            contexts=contexts,
            relevant_ids=dict(reader.qrels[topic]),
            line=line,
        )


def _documents(run: Run, topics: Iterable[str]) -> set[str]:
    """The documents that a run has for these topics."""
    documents: set[str] = set()
    for topic in topics:
        documents.update(document for document, _ in run.get(topic, ()))
    return documents


def _texts(folder: Path, documents: set[str]) -> dict[str, str]:
    """Document id -> title and text, of these documents only: a corpus may not fit into memory."""
    corpus = _find(folder, "corpus.jsonl")
    if corpus is None:
        raise DataError(
            "E0102",
            f"{folder.name} has no corpus.jsonl to take the texts of the run's documents from.",
            where=str(folder),
            fix=(
                "put the corpus there, or measure the ranking alone: ragassay retrieval --run RUN"
                " --qrels QRELS"
            ),
        )
    reader = JsonLines(corpus)
    texts: dict[str, str] = {}
    for line, row in reader.rows():
        if isinstance(row, Trouble):
            raise _unreadable(reader.where(line), row)
        document = _id(row)
        if document in documents:
            title = row.get("title")
            body = row.get("text")
            if not isinstance(body, str):
                raise _unreadable(
                    reader.where(line), Trouble("E0303", "the text of the document is no text")
                )
            has_title = isinstance(title, str) and title
            texts[str(document)] = f"{title}\n{body}" if has_title else body
    absent = sorted(documents - texts.keys())
    if absent:
        raise DataError(
            "E0312",
            f"{len(absent):,} documents of the run are not in {corpus.name}.",
            where=str(corpus),
            why=shorten(", ".join(absent[:5])),
            fix="take the run of this corpus",
        )
    return texts


def _unreadable(where: str, trouble: Trouble) -> DataError:
    return DataError(
        trouble.code, f"{where}: {trouble.what}", where=where, why=trouble.why, fix=trouble.fix
    )
