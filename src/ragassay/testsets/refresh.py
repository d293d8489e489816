"""The refresh of a test set after its documents changed: what is stale goes, new questions come."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

from ragassay.core import Ledger, NothingToDo, SetupError
from ragassay.testsets.corpus import Corpus, read_corpus
from ragassay.testsets.difference import (
    Difference,
    DocumentChanges,
    difference,
    document_changes,
    with_documents,
)
from ragassay.testsets.door import prepared_plan
from ragassay.testsets.duplicates import Duplicates
from ragassay.testsets.filling import Watch, fill
from ragassay.testsets.llm.models import connected
from ragassay.testsets.made import MadeSet
from ragassay.testsets.measures import set_figures
from ragassay.testsets.offline.writer import OFFLINE
from ragassay.testsets.offline_run import NOTHING_READ
from ragassay.testsets.plan import Plan, Slot, make_plan, read_types
from ragassay.testsets.purchases import Caps
from ragassay.testsets.real_queries import draw, read_real
from ragassay.testsets.results import Prepared, Refreshed
from ragassay.testsets.set_files import digest_of, read_set, write_set
from ragassay.testsets.spot_check import after_refresh
from ragassay.testsets.values import REAL, Question, SetInfo


def refresh_testset(  # plain: it is the signature, and what each argument means
    path: str | os.PathLike[str],
    docs: object = None,
    *,
    out: str | os.PathLike[str] | None = None,
    size: int | None = None,
    real: str | os.PathLike[str] | Sequence[str] | None = None,
    writer: str = OFFLINE,
    judge: str = OFFLINE,
    max_calls: int | None = None,
    max_cost: float | None = None,
    concurrency: int = 16,
    store: str | os.PathLike[str] | None = None,
    confirm: Callable[[Prepared], bool] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Refreshed:
    """Set a test set beside the documents of today, and make its next version.

    path: a file that `make_testset` wrote. docs: the documents of today [default: at the place that
    the set names]. out: where the next version is written, which may be the same file; None: the
    difference is shown, and no question is made. size: questions of the next version [default: as
    many as it has]. New ones are of new and changed documents first. real: a log of queries, of
    which as many are drawn anew as the set has; those that were drawn before stay where the log
    still has them. writer, judge, max_calls, max_cost, concurrency, store, confirm, watch, options:
    as of `make_testset`.

    Where nothing is stale and nothing is wanted, the version stays as it is. The same set and
    documents give the same bytes. Raises as `make_testset`, DataError E0804 for a file that is no
    set, and SetupError E0803 for a size below what is kept.
    """
    info, questions = read_set(path)
    source = info.source if docs is None else docs
    corpus = read_corpus(source, words=info.words, seed=info.seed)
    changes = document_changes(info.documents, corpus)
    found = difference(questions, corpus)
    found = found if real is None else _with_queries(found, real, info.seed)
    kept = list(found.kept)
    slots = _slots(found, corpus, changes, _missing(size, kept, len(questions)), info)
    if out is None:
        return Refreshed(before=info, info=info, changes=changes, difference=found)
    if not slots and not found.moved and not found.stale and real is None:
        write_set(out, info, questions)
        figures = set_figures(questions, corpus)
        return Refreshed(info, info, changes, found, figures=figures, path=str(out))
    name = str(docs) if isinstance(docs, str | os.PathLike) else info.source
    next_info = replace(
        with_documents(info, corpus),
        source=name,
        version=info.version + 1,
        came_from=digest_of(info, questions),
        asked=len(kept) + len(slots),
        writer=writer if writer != OFFLINE else info.writer,
        judge=judge if judge != OFFLINE else info.judge,
    )
    models = connected(writer, judge, concurrency=concurrency, **options)
    plan = Plan(tuple(slots), tuple(dict.fromkeys(slot.topic for slot in slots)))
    prepared = prepared_plan(corpus, plan, replace(next_info, writer=writer, judge=judge), models)
    if confirm is not None and slots and not confirm(prepared):
        raise NothingToDo("E0806", "The plan was declined, and nothing was asked.")
    made = _begun(corpus, plan, kept, changes, info.seed)
    caps = Caps(max_calls, max_cost, concurrency)
    ledger = fill(made, next_info, models, caps, store, watch) if slots else Ledger()
    added = made.questions()
    next_info = replace(next_info, spot_check=after_refresh(kept, len(added)))
    every = [*kept, *added]
    write_set(out, next_info, every)
    return Refreshed(
        before=info,
        info=next_info,
        changes=changes,
        difference=found,
        added=tuple(added),
        gaps=tuple(made.gaps(NOTHING_READ if writer == OFFLINE else "the writer gave none")),
        figures=set_figures(every, corpus),
        notes=tuple(made.notes),
        ledger=ledger,
        path=str(out),
    )


async def arefresh_testset(
    path: str | os.PathLike[str], docs: object = None, **options: Any
) -> Refreshed:
    """`refresh_testset` for callers inside an event loop: it works in a thread of its own."""
    return await asyncio.to_thread(refresh_testset, path, docs, **options)


def _missing(size: int | None, kept: Sequence[Question], before: int) -> int:
    """How many questions are to be made. Raises SetupError E0803 for a size below what is kept."""
    wanted = before if size is None else size
    if wanted < len(kept) and size is not None:
        raise SetupError(
            "E0803",
            "A refresh takes out only what is stale.",
            where="--size",
            why=f"{len(kept)} questions are kept, and {size} are asked for",
            fix=f"ask for at least {len(kept)}",
        )
    return max(0, wanted - len(kept))


def _with_queries(found: Difference, real: object, seed: int) -> Difference:
    """The difference with real queries drawn anew: as many as there were."""
    count = sum(question.type == REAL for question in found.kept)
    known = {question.id: question for question in found.kept}
    drawn = []
    for query in draw(read_real(real).questions, count, seed):
        label = known[query.id].accepted if query.id in known else None
        drawn.append(replace(query, accepted=label))
    others = [question for question in found.kept if question.type != REAL]
    return replace(found, kept=(*others, *drawn))


def _slots(
    found: Difference, corpus: Corpus, changes: DocumentChanges, count: int, info: SetInfo
) -> list[Slot]:
    """What is asked for: first a question like each that is stale, then others in the usual
    shares; on the topics of new and changed documents, where there are such.
    """
    fresh = [corpus.topic(name) for name in (*changes.new, *changes.changed)]
    slots: list[Slot] = []
    for stale in found.stale[:count]:
        question = stale.question
        place = (question.type, question.topic, question.style, question.persona)
        slots.append(Slot(len(slots), *place, question.difficulty))
    if len(slots) < count:
        more = make_plan(corpus, count - len(slots), read_types(None), info.seed)
        slots += [replace(slot, number=len(slots) + slot.number) for slot in more.slots]
    topics = cycle(fresh or [""])
    known = {corpus.topic(name) for name in corpus.documents}
    placed = []
    for slot, topic in zip(slots, topics, strict=False):
        fallback = slot.topic if slot.topic in known else min(known)
        placed.append(replace(slot, topic=topic or fallback))
    return placed


def _begun(
    corpus: Corpus,
    plan: Plan,
    kept: Sequence[Question],
    changes: DocumentChanges,
    seed: int,
) -> MadeSet:
    """A set with what is kept in it, so that nothing new repeats that."""
    made = MadeSet(corpus, plan, Duplicates(seed=seed))
    for question in kept:
        made.duplicates.take(question)
        made.uses.update(question.documents or (question.cluster,))
    if changes.is_known:
        # New and changed documents come first: the others count as asked about once more.
        fresh = {*changes.new, *changes.changed}
        made.uses.update(Counter(name for name in corpus.documents if name not in fresh))
    return made
