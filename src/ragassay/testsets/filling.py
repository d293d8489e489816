"""The filling of a plan: by the offline writer, or by models within their caps."""

from __future__ import annotations

import os
from collections.abc import Callable

from ragassay.api import open_store
from ragassay.core import BudgetExhausted, Ledger, RunState, digest
from ragassay.report.jsonable import as_json
from ragassay.runs.event_loops import block_on
from ragassay.testsets.llm.checker import Checker
from ragassay.testsets.llm.models import Models
from ragassay.testsets.llm.run import ModelFilling, checked_offline
from ragassay.testsets.made import MadeSet
from ragassay.testsets.offline.writer import OfflineWriter
from ragassay.testsets.offline_run import OfflineFilling
from ragassay.testsets.purchases import Caps, Purchases
from ragassay.testsets.values import SetInfo

Watch = Callable[[str, int, int], None]
"""Told of progress: the phase, questions accepted so far, calls bought so far."""


def fill(
    made: MadeSet,
    info: SetInfo,
    models: Models | None,
    caps: Caps,
    store: str | os.PathLike[str] | None,
    watch: Watch | None,
) -> Ledger:
    """Fill the slots of a plan; what that cost. models: None where no model is asked."""
    if models is not None:
        return _bought(made, info, models, caps, store, watch)
    told = None if watch is None else lambda done: watch("writing", done, 0)
    OfflineFilling(made, OfflineWriter(made.corpus, info.seed), told).run()
    return Ledger()


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
