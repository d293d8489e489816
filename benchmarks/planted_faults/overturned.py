"""Claims that people called supported, in which a rule of the judge named a conflict.

A rule shows itself in the features of a MatchReply: under "conflict" or "rule", or under a name
that begins so ("conflict:number"). Every such claim that fails is overturned wrongly, since the
whole response was called supported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.planted_faults.by_rules import supported

from ragassay.core import MatchCall
from ragassay.metrics.graph.claims import split_claims
from ragassay.models.offline import OfflineModel
from ragassay.scoring import clustered_rate_interval

MARK = 0.02
HOOKS = ("conflict", "rule")


def measured(data: Path) -> dict[str, Any]:
    """Of the claims of supported dev rows: how many there are, how many fail, in how many a rule
    named a conflict and they fail, over all rules and by rule.
    """
    model = OfflineModel()
    calls, groups = _claims(data)
    replies = model.score(calls)
    cut = model.cuts["support"]
    by_rule: Counter[str] = Counter()
    clusters: defaultdict[str, list[bool]] = defaultdict(list)
    for group, reply in zip(groups, replies, strict=True):
        rules = rules_of(reply.features) if reply.probability < cut else []
        by_rule.update(rules)
        clusters[group].append(bool(rules))
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


def rules_of(features: Mapping[str, object]) -> list[str]:
    """The rules that named a conflict."""
    found = []
    for key, value in features.items():
        hook = next((one for one in HOOKS if key.startswith(one)), None)
        if hook is None or not value:
            continue
        rest = key.removeprefix(hook).strip(":._ ")
        found.append(rest or (value if isinstance(value, str) else hook))
    return found
