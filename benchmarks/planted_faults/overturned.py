"""Claims that people called supported, and that the judge fails for what its reader of facts found.

Overturned is a claim that the network alone would let pass. Each is wrong, since the whole response
was called supported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.planted_faults.by_rules import supported

from ragassay.core import FactFinding, MatchCall
from ragassay.metrics.graph.claims import split_claims
from ragassay.models import offline
from ragassay.models.offline import OfflineModel
from ragassay.models.offline.engine import Engine
from ragassay.scoring import clustered_rate_interval

MARK = 0.02
WEIGHTS = Path(offline.__file__).parent / "weights"


def measured(data: Path) -> dict[str, Any]:
    """Of the claims of supported dev rows: how many there are, how many fail, and how many fail for
    what the reader of facts found, over all rules and by rule.
    """
    model = OfflineModel()
    calls, groups = _claims(data)
    replies = model.score(calls)
    cut = model.cuts["support"]
    engine = Engine.load(WEIGHTS)
    engine.reads_facts = False
    by_rule: Counter[str] = Counter()
    clusters: defaultdict[str, list[bool]] = defaultdict(list)
    for call, group, reply in zip(calls, groups, replies, strict=True):
        fails = bool(reply.findings) and reply.probability < cut
        is_overturned = fails and engine.answer(call).probability >= cut
        if is_overturned:
            by_rule.update(rules_of(reply.findings))
        clusters[group].append(is_overturned)
    interval = clustered_rate_interval([(sum(hits), len(hits)) for hits in clusters.values()])
    wrong = sum(sum(hits) for hits in clusters.values())
    return {
        "claims": len(calls),
        "fail": sum(reply.probability < cut for reply in replies),
        "overturned": wrong,
        "rate": wrong / len(calls),
        "interval": None if interval is None else [interval.low, interval.high],
        "by_rule": dict(by_rule.most_common()),
        "reached": wrong / len(calls) <= MARK,
    }


def _claims(data: Path) -> tuple[list[MatchCall], list[str]]:
    """Each claim of a supported dev row, as the metric asks for it, and its document."""
    calls: list[MatchCall] = []
    groups: list[str] = []
    for row in supported(data, "dev"):
        for piece in split_claims(row["response"]):
            calls.append(
                MatchCall("support", piece.text, tuple(row["contexts"]), row.get("question"))
            )
            groups.append(f"{row['dataset']}:{row['group']}")
    return calls, groups


def rules_of(findings: Sequence[FactFinding]) -> list[str]:
    """The rules that found something, each once; apart those that found a fact nowhere."""
    named = (each.rule if each.found else f"{each.rule}, stands nowhere" for each in findings)
    return list(dict.fromkeys(named))
