"""The offline judge beside language models whose verdicts were recorded on the very same rows.

wice: GPT-4 and GPT-3.5 on some of the test claims; they read only the chunks that hold the
evidence. So the offline judge is shown twice: with the whole article, and with those chunks (the
best of them counts, as for the language models). mtrag_human: two judges of whole answers, in few
conversations. summac_val: judges saw inconsistent summaries only, so all that can be said is which
share of these they find.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.offline_judge.figures import Sample, shown
from benchmarks.offline_judge.labelled import Labelled, rows
from numpy.typing import NDArray

from ragassay.core import MatchCall
from ragassay.models.offline import OfflineModel

Floats = NDArray[np.float64]
WICE = {"gpt-4-0613": 1.0, "gpt-3.5-turbo-0613": 1.0}
"""Judge -> the value from which it calls a claim supported (0.5: partially)."""
MTRAG = ("rl_f", "rb_llm")


def wice(tests: Sequence[Labelled], odds: Floats, cuts: Mapping[str, float]) -> dict[str, Any]:
    """Balanced accuracy, AUROC and kappa on the claims that both language models judged."""
    held = [
        at
        for at, one in enumerate(tests)
        if one.source == "wice"
        and one.row["slice"] == "claim"
        and set(WICE) <= set(one.row["judges"])
    ]
    chunks: dict[str, float] = {}
    for at, one in enumerate(tests):
        if one.source == "wice" and one.row["slice"] == "claim_oracle":
            name = one.row["claim_id"]
            chunks[name] = max(chunks.get(name, 0.0), float(odds[at]))
    ids = [tests[at].row["claim_id"] for at in held]
    sample = Sample([tests[at].label for at in held], [tests[at].group for at in held])
    only = ("balanced_accuracy", "auroc", "kappa")
    judges: dict[str, Any] = {}
    for name, cut in cuts.items():
        judges[f"offline, whole article, {name}"] = shown(sample.draws(odds[held], cut), only)
        near = np.array([chunks[one] for one in ids])
        judges[f"offline, chunks with the evidence, {name}"] = shown(sample.draws(near, cut), only)
    for name, cut in WICE.items():
        values = np.array([tests[at].row["judges"][name] for at in held], np.float64)
        judges[name] = shown(sample.draws(values, cut), only)
    return {
        "n": len(held),
        "positives": int(sample.y.sum()),
        "clusters": sample.clusters,
        "judges": judges,
    }


def summac(tests: Sequence[Labelled], odds: Floats, cuts: Mapping[str, float]) -> dict[str, Any]:
    """The share of the inconsistent summaries that each judge finds, on the rows that it gave a
    verdict for.
    """
    held = [
        at
        for at, one in enumerate(tests)
        if one.source == "summac_val" and one.label == 0 and one.row["judges"]
    ]
    judges: dict[str, Any] = {}
    for name in sorted({name for at in held for name in tests[at].row["judges"]}):
        own = [at for at in held if tests[at].row["judges"].get(name) is not None]
        found = [tests[at].row["judges"][name] == 0 for at in own]
        judges[name] = {
            "n": len(own),
            "found": float(np.mean(found)),
            **{f"offline, {cut}": float(np.mean(odds[own] < value)) for cut, value in cuts.items()},
        }
    return judges


def mtrag(data: Path, model: OfflineModel) -> dict[str, Any]:
    """AUROC of human faithfulness of at least 3 of 4, on test rows that have contexts."""
    held = [
        row
        for row in rows(data, "mtrag_human")
        if row["split"] == "test" and row["contexts"] and row["label"] is not None
    ]
    replies = model.score(
        [
            MatchCall("support", row["response"], tuple(row["contexts"]), row.get("question"))
            for row in held
        ]
    )
    sample = Sample([int(row["label"] >= 3) for row in held], [row["group"] for row in held])
    values = {"offline": [reply.probability for reply in replies]}
    values |= {name: [float(row["judges"][name]) for row in held] for name in MTRAG}
    judges = {
        name: shown(sample.draws(np.array(value), 0.5), ("auroc",))
        for name, value in values.items()
    }
    return {
        "n": len(held),
        "positives": int(sample.y.sum()),
        "clusters": sample.clusters,
        "judges": judges,
    }
