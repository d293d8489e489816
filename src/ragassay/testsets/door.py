"""Make and check test sets, from the arguments of a caller."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragassay.api import open_store
from ragassay.core import (
    BudgetExhausted,
    Incomplete,
    Ledger,
    NothingToDo,
    RunState,
    Sample,
    SetupError,
    digest,
)
from ragassay.report.jsonable import as_json
from ragassay.runs.event_loops import block_on
from ragassay.testsets.check import check_questions, corpus_of
from ragassay.testsets.chunks import WORDS
from ragassay.testsets.corpus import Corpus, read_corpus
from ragassay.testsets.duplicates import Duplicates
from ragassay.testsets.llm.checker import Checker
from ragassay.testsets.llm.models import Models, connected
from ragassay.testsets.llm.run import ModelFilling, checked_offline
from ragassay.testsets.made import MadeSet
from ragassay.testsets.measures import set_figures
from ragassay.testsets.offline.writer import OFFLINE, OfflineWriter
from ragassay.testsets.offline_run import NOTHING_READ, OfflineFilling
from ragassay.testsets.plan import Plan, make_plan, read_types
from ragassay.testsets.purchases import Caps, Purchases
from ragassay.testsets.real_queries import draw, read_real
from ragassay.testsets.results import Forecast, Prepared, SetCheck, TestSet
from ragassay.testsets.set_files import read_set, write_set
from ragassay.testsets.spot_check import read_labels, with_labels, write_sheet
from ragassay.testsets.values import SetInfo

Watch = Callable[[str, int, int], None]
"""Told of progress: the phase, questions accepted so far, calls bought so far."""


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
    (nothing could be delivered), SetupError E0803, BudgetExhausted E0604.
    """
    corpus = read_corpus(docs, words=words, seed=seed)
    queries = None if real is None else read_real(real)
    mixed = [] if queries is None else draw(queries.questions, _real_size(size, real_share), seed)
    plan = make_plan(corpus, size - len(mixed), read_types(types), seed)
    source = str(docs) if isinstance(docs, str | os.PathLike) else ""
    info = SetInfo(source, words, seed, writer, judge, size)
    models = connected(writer, judge, concurrency=concurrency, **options)
    prepared = _prepared(corpus, plan, info, models)
    if confirm is not None and not confirm(prepared):
        raise NothingToDo("E0806", "The plan was declined, and nothing was asked.")
    made = MadeSet(corpus, plan, Duplicates(seed=seed))
    if queries is not None:
        made.real = mixed
        made.notes.append(queries.words())
    if models is None:
        told = None if watch is None else lambda done: watch("writing", done, 0)
        OfflineFilling(made, OfflineWriter(corpus, seed), told).run()
        return _finished(made, info, prepared, Ledger(), out)
    caps = Caps(max_calls, max_cost, concurrency)
    ledger = _bought(made, info, models, caps, store, watch)
    return _finished(made, info, prepared, ledger, out)


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


def _bought(
    made: MadeSet,
    info: SetInfo,
    models: Models,
    caps: Caps,
    store: str | os.PathLike[str] | None,
    watch: Watch | None,
) -> Ledger:
    """Fill the slots with models; what they cost."""
    key = digest("testset", as_json(info), _content(made))

    async def work() -> Ledger:
        with open_store(store) as opened:
            purchases = Purchases(opened, models.joined, key, caps)
            state, why = RunState.INTERRUPTED, "it was stopped"
            try:
                await _filling(made, info, models, purchases, watch)
                state, why = RunState.FINISHED, ""
            except BudgetExhausted as capped:
                state, why = RunState.BUDGET, capped.why
                raise
            finally:
                purchases.close(state, why)
                await models.joined.close()
            return purchases.ledger

    return block_on(work)


async def _filling(
    made: MadeSet, info: SetInfo, models: Models, purchases: Purchases, watch: Watch | None
) -> None:
    checker = None
    if models.judge:
        checker = Checker(models.judge, made.corpus, purchases)
    if models.writer:
        told = None if watch is None else lambda done, calls: watch("writing", done, calls)
        filling = ModelFilling(made, models.writer, purchases, checker, info.seed, told)
        await filling.run()
        return
    assert checker is not None
    await checked_offline(made, OfflineWriter(made.corpus, info.seed), checker)


def _content(made: MadeSet) -> list[object]:
    """What the set is made of, as its record knows it."""
    slots = [(slot.type, slot.topic, slot.style, slot.persona) for slot in made.plan.slots]
    texts = digest([passage.text for passage in made.corpus.passages])
    return [slots, texts]


def _prepared(corpus: Corpus, plan: Plan, info: SetInfo, models: Models | None) -> Prepared:
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
            why="; ".join(f"{gap.type}: {gap.reason}" for gap in gaps[:3]),
            fix="ask for other --types, give more documents, or name a model with --writer",
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
    if labels is not None:
        info = with_labels(info, read_labels(Path(labels), questions))
        write_set(path, info, questions)
    if sheet is not None:
        write_sheet(Path(sheet), questions, seed)
    corpus, note = corpus_of(info, docs)
    return check_questions(info, questions, corpus, _real(real), note)


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
