"""Is the judge led astray by texts that look alike, or by texts that do not? A corpus of our own,
written by hand.

traps.jsonl: one pair a line. `passages` support the one claim and not the other; `kind` names what
tells them apart. `pad`: so many sentences of filler stand before and after. `other`: the passages
of the unsupported claim, where they are others. The kinds of OVERLAP are contradictions made of the
passage's own words, and half of their supported claims say it in other words: whoever counts words
prefers the wrong ones. In PARAPHRASE that is so in every pair.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragassay.core import MatchCall
from ragassay.models.offline import OfflineModel

TRAPS = Path(__file__).with_name("traps.jsonl")
OVERLAP = ("number", "date", "unit", "name", "negation", "quantifier", "role_swap", "opposite")
PARAPHRASE = "paraphrase"
FILLER = (
    "The parish kept its records in a chest of oak.",
    "Swallows nested under the eaves every summer.",
    "A lane led past the smithy to the common.",
    "Nobody could say who had planted the limes.",
    "The floor of the passage was laid with grey slate.",
    "In the evenings the lamps were lit by a boy from the inn.",
    "Wool was carted to the town after the shearing.",
    "The windows looked out on a yard with a pump.",
    "A stone wall kept the cattle off the vegetables.",
    "Letters came twice a week with the carrier.",
    "The stairs creaked, and the attic smelt of apples.",
    "Moss grew on the north side of the roof.",
    "The bell was heard as far as the ford.",
    "Travellers were given soup and a bed of straw.",
    "The meadow by the stream was mown late.",
)


class Pair(NamedTuple):
    """Two calls: of the first the answer is yes, of the second no."""

    kind: str
    supported: MatchCall
    unsupported: MatchCall


def pairs() -> list[Pair]:
    """All pairs, in the order of the file."""
    made = []
    for line in TRAPS.read_text(encoding="utf-8").splitlines():
        one: dict[str, Any] = json.loads(line)
        passages = tuple(one["passages"])
        if "pad" in one:
            before, after = one["pad"]
            passages = (" ".join([*_filler(before), *passages, *_filler(after)]),)
        made.append(
            Pair(
                one["kind"],
                MatchCall("support", one["supported"], passages),
                MatchCall("support", one["unsupported"], tuple(one.get("other", passages))),
            )
        )
    return made


def _filler(count: int) -> list[str]:
    return [FILLER[at % len(FILLER)] for at in range(count)]


def judged(model: OfflineModel) -> list[tuple[Pair, float, float]]:
    """Every pair with the probabilities of its supported and of its unsupported claim."""
    found = pairs()
    replies = model.score([call for pair in found for call in (pair.supported, pair.unsupported)])
    odds = [reply.probability for reply in replies]
    return [(pair, odds[2 * at], odds[2 * at + 1]) for at, pair in enumerate(found)]


def won(scored: Sequence[tuple[Pair, float, float]], kinds: Sequence[str]) -> tuple[float, int]:
    """(pairs of these kinds in which the supported claim has the higher probability, a tie being
    half; all of them).
    """
    margins = [good - bad for pair, good, bad in scored if pair.kind in kinds]
    return sum(1.0 if margin > 0 else 0.5 if margin == 0 else 0.0 for margin in margins), len(
        margins
    )


def table(scored: Sequence[tuple[Pair, float, float]], cut: float) -> dict[str, Any]:
    """Figures of each kind, and of the contradictions with high overlap together.

    right_order: share of pairs in which the supported claim is the more probable one. passes,
    stopped: shares of the supported claims that reach the cut, and of the unsupported ones that do
    not. worst: the pair that is furthest wrong.
    """
    kinds = list(dict.fromkeys(pair.kind for pair, _, _ in scored))
    return {
        kind: _figures([one for one in scored if one[0].kind in members], cut)
        for kind, members in {
            **{kind: (kind,) for kind in kinds},
            "all contradictions": OVERLAP,
        }.items()
    }


def _figures(scored: Sequence[tuple[Pair, float, float]], cut: float) -> dict[str, Any]:
    kinds = list({pair.kind for pair, _, _ in scored})
    share, count = won(scored, kinds)
    worst = min(scored, key=lambda one: one[1] - one[2])
    above = sum((good > bad) + (good == bad) / 2 for _, good, _ in scored for _, _, bad in scored)
    return {
        "pairs": count,
        "right_order": share / count,
        "auroc": above / count**2,
        "passes": sum(good >= cut for _, good, _ in scored) / count,
        "stopped": sum(bad < cut for _, _, bad in scored) / count,
        "worst": {
            "supported": worst[0].supported.text,
            "probability_supported": worst[1],
            "unsupported": worst[0].unsupported.text,
            "probability_unsupported": worst[2],
            "passage": " / ".join(worst[0].supported.passages)
            if worst[0].kind != "middle"
            else "(long)",
        },
    }
