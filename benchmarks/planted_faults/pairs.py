"""Pairs of answers, of which one is supported by its passages and the other has one planted fault.

A line of a file of pairs: {"id", "kind", "question", "contexts", "good", "bad"}; "question" may be
missing. rows_by_hand.jsonl and rows_close_by_hand.jsonl were written for this benchmark, and the
two everyday files, of 20 texts each, the two paraphrased ones, of 30 and 20 texts, and the two of
other domains, of 11 and 9 texts, before the rules that they measure: the rules were built on the
first of each, and the second was only measured. Of the 20 texts of other domains (sport, school,
animals, stage and home), a hash of the name says which file one is in, and so of the 24 further
texts, with eight pairs each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

KINDS = ("number", "unit", "date", "name", "negation", "reversal", "quantifier", "swap")
# Source -> file. In the first the good twins are mostly said in other words than the passage's.
BY_HAND = {
    "by hand, reworded": Path(__file__).with_name("rows_by_hand.jsonl"),
    "by hand, close to the passage": Path(__file__).with_name("rows_close_by_hand.jsonl"),
    "everyday, built on": Path(__file__).with_name("everyday_built_on.jsonl"),
    "everyday, held back": Path(__file__).with_name("everyday_held_back.jsonl"),
    "paraphrased, built on": Path(__file__).with_name("paraphrased_built_on.jsonl"),
    "paraphrased, held back": Path(__file__).with_name("paraphrased_held_back.jsonl"),
    "other domains, built on": Path(__file__).with_name("other_domains_built_on.jsonl"),
    "other domains, held back": Path(__file__).with_name("other_domains_held_back.jsonl"),
    "further texts, built on": Path(__file__).with_name("further_texts_built_on.jsonl"),
    "further texts, held back": Path(__file__).with_name("further_texts_held_back.jsonl"),
}


class Pair(NamedTuple):
    """good: the passages support it. bad: the same answer with one fault of the kind.

    source: where the pair comes from ("by hand, reworded", "rules, dev rows", a file's name).
    cluster: pairs of one cluster share their passages or their document; intervals draw clusters.
    """

    id: str
    kind: str
    question: str | None
    contexts: tuple[str, ...]
    good: str
    bad: str
    source: str
    cluster: str


def pairs_by_hand() -> list[Pair]:
    """All pairs that were written by hand."""
    return [pair for source, path in BY_HAND.items() for pair in read_pairs(path, source)]


def read_pairs(path: Path, source: str) -> list[Pair]:
    """The pairs of a file. Raises ValueError naming the line that is none."""
    found = []
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            contexts = tuple(one["contexts"])
            good, bad = one["good"], one["bad"]
            kind, name = one["kind"], str(one.get("id", at))
        except (ValueError, KeyError, TypeError) as problem:
            raise ValueError(f"{path}:{at}: not a pair: {problem!r}") from problem
        cluster = "\n".join(sorted(contexts))
        found.append(Pair(name, kind, one.get("question"), contexts, good, bad, source, cluster))
    return found
