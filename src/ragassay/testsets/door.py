"""Make and check test sets, from the arguments of a caller."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from ragassay.core import (
    DataError,
    Incomplete,
    Ledger,
    NothingToDo,
    RagAssayError,
    Sample,
    SetupError,
)
from ragassay.testsets.check import check_questions, corpus_of
from ragassay.testsets.chunks import WORDS
from ragassay.testsets.corpus import Corpus, read_corpus
from ragassay.testsets.difference import with_documents
from ragassay.testsets.duplicates import Duplicates
from ragassay.testsets.filling import Watch, fill
from ragassay.testsets.llm.models import Models, connected
from ragassay.testsets.made import MadeSet
from ragassay.testsets.measures import set_figures
from ragassay.testsets.offline.writer import OFFLINE
from ragassay.testsets.offline_run import NOTHING_READ
from ragassay.testsets.plan import Plan, make_plan, read_types
from ragassay.testsets.purchases import Caps
from ragassay.testsets.real_queries import draw, read_real
from ragassay.testsets.results import Forecast, Prepared, SetCheck, TestSet
from ragassay.testsets.set_files import read_set, write_set
from ragassay.testsets.spot_check import blank_note, read_labels, with_labels, write_sheet
from ragassay.testsets.values import Gap, SetInfo


def make_testset(  # plain: it is the signature, and what each argument means
    docs: object,
    *,
    size: int = 100,
    real: str | os.PathLike[str] | Sequence[str] | None = None,
    real_share: float = 0.3,
    writer: str = OFFLINE,
    judge: str = OFFLINE,
    out: str | os.PathLike[str] | None = None,
    types: Sequence[str] | Mapping[str, float] | None = None,
    words: int = WORDS,
    seed: int = 0,
    max_calls: int | None = None,
    max_cost: float | None = None,
    concurrency: int = 16,
    store: str | os.PathLike[str] | None = None,
    confirm: Callable[[Prepared], bool] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> TestSet:
    """Make a test set from documents, and return it.

    docs: a folder or file (Markdown, text, HTML, PDF, JSONL, CSV, a folder of BEIR), or a list of
    texts or of objects with `id` and `text`. size: questions. real: queries that users asked, of
    which a real_share of the set is made: without personal data and secrets, each once, drawn as
    often as they were asked. writer: who writes, "offline" (rules,
    no key) or "PROVIDER:MODEL"; judge: who checks, likewise. out: where the set is written, as rows
    that `evaluate` reads. types: of questions, by name or with shares; None = all, in the usual
    shares. words: of a passage, about; records of JSONL, CSV and BEIR are left as they are. seed:
    of everything that is drawn. max_calls, max_cost (US dollars): caps of writer and checker
    together, over all attempts at the same set. store: where what is bought is kept. confirm: asked
    with the plan before anything is paid. watch: told of progress. concurrency: calls at
    once. options: how models are reached (base_url, api_key_env, price, no_network).

    The same call again after a stop or a kill goes on where it was, and buys nothing twice. Raises
    DataError E0801, NothingToDo E0802 (no document with text), E0806 (declined), Incomplete E0807
    (nothing could be delivered), E0808 (out is a set that people have looked at), SetupError
    E0803, BudgetExhausted E0604.
    """
    check_numbers(size=size, words=words, concurrency=concurrency, max_calls=max_calls)
    check_numbers(max_cost=max_cost)
    _check_labels_stay(out)
    corpus = read_corpus(docs, words=words, seed=seed)
    queries = None if real is None else read_real(real)
    mixed = [] if queries is None else draw(queries.questions, _real_size(size, real_share), seed)
    plan = make_plan(corpus, size - len(mixed), read_types(types), seed)
    source = str(docs) if isinstance(docs, str | os.PathLike) else ""
    info = with_documents(SetInfo(source, words, seed, writer, judge, size), corpus)
    models = connected(writer, judge, concurrency=concurrency, **options)
    prepared = prepared_plan(corpus, plan, info, models)
    if confirm is not None and not confirm(prepared):
        raise NothingToDo("E0806", "The plan was declined, and nothing was asked.")
    made = MadeSet(corpus, plan, Duplicates(seed=seed))
    if queries is not None:
        made.real = mixed
        made.notes.append(queries.words())
    caps = Caps(max_calls, max_cost, concurrency)
    ledger = fill(made, info, models, caps, store, watch)
    return _finished(made, info, prepared, ledger, out)


_RANGES = {
    "size": (1, 100_000),
    "words": (20, 100_000),
    "concurrency": (1, 10_000),
    "max_calls": (0, math.inf),
    "max_cost": (0, math.inf),
}


def check_numbers(**given: float | None) -> None:
    """Raise SetupError E0803 for a number that is out of its range; None is none."""
    for name, value in given.items():
        least, most = _RANGES[name]
        if value is None or least <= value <= most:
            continue
        upto = f" to {most:,}" if most < math.inf else " on"
        raise SetupError(
            "E0803",
            f"This is from {least:,}{upto}.",
            where=f"--{name.replace('_', '-')}",
            why=str(value),
        )


def _check_labels_stay(out: str | os.PathLike[str] | None) -> None:
    """Raise DataError E0808 where a set that people have looked at would be written anew."""
    if out is None or not Path(out).is_file():
        return
    try:
        info, questions = read_set(out)
    except RagAssayError:
        return
    seen = sum(question.accepted is not None for question in questions)
    if seen or info.spot_check is not None:
        raise DataError(
            "E0808",
            "The set holds labels of people, which would be lost.",
            where=str(out),
            why=f"people have looked at {seen} of its questions",
            fix=f"ragassay testset refresh {quote(str(out))}, which keeps them; or name another"
            " file with --out",
        )


def _real_size(size: int, share: float) -> int:
    """How many real queries a set takes. Raises SetupError E0803 for a share that is none."""
    if not 0 <= share < 1:
        raise SetupError(
            "E0803",
            "The share of real queries is from 0 to below 1.",
            where="--real-share",
            why=str(share),
        )
    return min(size - 1, round(size * share))


def prepared_plan(corpus: Corpus, plan: Plan, info: SetInfo, models: Models | None) -> Prepared:
    sizes = sorted(corpus.sizes())
    return Prepared(
        plan=plan,
        documents=len(corpus.documents),
        passages=len(corpus.passages),
        sizes=(sizes[0], sizes[len(sizes) // 2], sizes[-1]),
        skipped=tuple(corpus.skipped),
        writer=info.writer,
        judge=info.judge,
        forecast=Forecast() if models is None else models.forecast(plan, corpus),
        warnings=() if models is None else models.warnings(),
        repeated=corpus.repeated,
    )


def _finished(
    made: MadeSet,
    info: SetInfo,
    prepared: Prepared,
    ledger: Ledger,
    out: str | os.PathLike[str] | None,
) -> TestSet:
    questions = [*made.questions(), *made.real]
    gaps = made.gaps(NOTHING_READ if info.writer == OFFLINE else "the writer gave none")
    if not questions:
        raise Incomplete(
            "E0807",
            "No question of the plan could be delivered.",
            why="; ".join([*made.notes[:1], *_reasons(gaps)]),
            fix=_NOTHING_MADE if info.writer == OFFLINE else _NOTHING_WRITTEN,
        )
    if out is not None:
        write_set(out, info, questions)
    return TestSet(
        info=info,
        questions=tuple(questions),
        gaps=tuple(gaps),
        figures=set_figures(questions, made.corpus),
        prepared=prepared,
        rejected=dict(made.rejected),
        examples=dict(made.examples),
        notes=tuple(made.notes),
        ledger=ledger,
        path="" if out is None else str(out),
    )


_NOTHING_MADE = "ask for other --types, give more documents, or name a model with --writer"
_NOTHING_WRITTEN = (
    "ask for other --types, give more documents, or name another --writer; replies are in the"
    " store, and not bought again"
)


def _reasons(gaps: Sequence[Gap]) -> list[str]:
    """Why there are gaps, each reason once with its types."""
    types: dict[str, list[str]] = {}
    for gap in gaps:
        types.setdefault(gap.reason, []).append(gap.type)
    return [f"{', '.join(names)}: {reason}" for reason, names in types.items()][:3]


async def amake_testset(docs: object, **options: Any) -> TestSet:
    """`make_testset` for callers inside an event loop: it works in a thread of its own."""
    return await asyncio.to_thread(make_testset, docs, **options)


def check_testset(
    path: str | os.PathLike[str],
    *,
    docs: object = None,
    real: str | os.PathLike[str] | Sequence[str] | None = None,
    sheet: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> SetCheck:
    """Check a test set: its gates once more, near duplicates, coverage, likeness to real queries.

    path: a file that `make_testset` wrote. docs: its documents, where they are not at the place
    that the set names. real: queries that users asked, a file of rows or a list of texts. sheet:
    where a sheet for a spot check by people is written. labels: such a sheet filled in; the error
    rate that it gives is written into the set, and shown wherever the set is used. seed: of the
    sheet's sample. Raises DataError E0804 (no test set), E0805 (no sheet), and as `evaluate` for
    the real queries.
    """
    info, questions = read_set(path)
    notes = []
    if labels is not None:
        info, questions = with_labels(info, questions, read_labels(Path(labels), questions))
        write_set(path, info, questions)
        notes.append(blank_note(Path(labels)))
    if sheet is not None:
        write_sheet(Path(sheet), questions, seed)
    corpus, note = corpus_of(info, docs)
    found = check_questions(info, questions, corpus, _real(real), note)
    return replace(found, notes=(*found.notes, *filter(None, notes)))


async def acheck_testset(path: str | os.PathLike[str], **options: Any) -> SetCheck:
    """`check_testset` for callers inside an event loop."""
    return await asyncio.to_thread(check_testset, path, **options)


def _real(real: str | os.PathLike[str] | Sequence[str] | None) -> list[str]:
    """The texts of real queries."""
    if real is None:
        return []
    if not isinstance(real, str | os.PathLike):
        return [text for text in real if text.strip()]
    from ragassay.datasets import open_rows

    questions = []
    for sample in open_rows(str(real), make_ids=True):
        if isinstance(sample, Sample) and sample.question:
            questions.append(sample.question)
    return questions
