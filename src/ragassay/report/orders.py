"""The agreement of a judge with itself, where a run asked it in two opposite orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragassay.core import ORDER_FLAGS, Manifest, OrderAgreement

if TYPE_CHECKING:
    from ragassay.store import Store


def order_agreement(store: Store, run_id: str, manifest: Manifest) -> OrderAgreement | None:
    """Counted over the parts of the run's scores; None where nothing was asked in two orders.

    Reads every row whole, which only runs with two orders pay for.
    """
    if manifest.options.get("order") != "both":
        return None
    every: Counter[str] = Counter()
    metrics = {name: Counter[str]() for name in manifest.metrics}
    for row in store.rows(run_id):
        flag_of_key: dict[str, str] = {}
        for score in row.scores:
            for part in score.parts:
                flag = next((flag for flag in part.flags if flag in ORDER_FLAGS), "")
                if flag and score.metric in metrics:
                    metrics[score.metric][flag] += 1
                    flag_of_key[part.key] = flag
        every.update(flag_of_key.values())
    if not every:
        return None
    by_metric = {name: _agreement(flags) for name, flags in metrics.items() if flags}
    total = _agreement(every)
    return OrderAgreement(
        total.items, total.other_rating, total.other_verdict, total.one_order, by_metric
    )


def _agreement(flags: Mapping[str, int]) -> OrderAgreement:
    same, other_rating, other_verdict, one_order = (flags.get(flag, 0) for flag in ORDER_FLAGS)
    different = other_rating + other_verdict
    return OrderAgreement(same + different, different, other_verdict, one_order)
