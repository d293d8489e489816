"""Which rows of the entailment pack are learned from, and how a premise becomes a passage.

The pack (`nli` in the data's folder: entailment, verification and sufficiency, mostly of official
dev and test files) is for training alone; nothing is reported on it. Its rows stand in bundles:
claims of one premise, premises of one claim, or passages of one question, so that words in common
tell nothing about the label. Around short premises stand sentences of other premises of the set.

Left out: scitail, whose statements are partly questions of SciQ (CC BY-NC 3.0); of covid_qa the
articles whose licence is not told in the rows; rows that share half of the eight-word runs of
premise or claim with a text that is measured or chosen on, and questions that are asked there.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from training.offline_data import (
    ASKED,
    CONTRADICTED,
    NOT_MENTIONED,
    SUPPORTED,
    UNTOLD,
    Example,
    Row,
    asked_elsewhere,
    changed,
    crossing,
    held,
    question_key,
    rows,
)
from training.synthetic import ASIDE, Aside

from ragassay.core import MatchCall
from ragassay.models.offline.reading import CONTENT, tokens, units

# Shares of the tokens. Evidence reads as what is judged; captions and logic are short and made.
SHARES = {"evidence": 0.6, "captions": 0.15, "logic": 0.1, "relevance": 0.15}


class Taken(NamedTuple):
    """How a set takes part. bundled: rows with the same premise, claim or group are learned beside
    each other; "row": each alone. around: how often sentences of other premises stand around its
    own. most: so many rows at most.
    """

    part: str
    bundled: str
    around: float = 0.0
    most: int | None = None


SETS = {
    "fever_nli": Taken("evidence", "premise", around=0.5),
    "fever_symmetric": Taken("evidence", "claim", around=0.5),
    "mnli": Taken("evidence", "premise", around=0.5),
    "citation_integrity": Taken("evidence", "row"),
    "squad2_claims": Taken("evidence", "premise"),
    "snli": Taken("captions", "premise", around=0.3),
    "cad_nli": Taken("captions", "group", around=0.3),
    "breaking_nli": Taken("captions", "premise", around=0.3),
    "conjnli": Taken("logic", "premise", around=0.3, most=4000),
    "med": Taken("logic", "group", around=0.3),
    "help": Taken("logic", "group", around=0.3, most=2000),
    "folio": Taken("logic", "premise"),
    "entailment_bank": Taken("logic", "group"),
    # Few words: sentences of the set itself would tell what its claims say.
    "megaveridicality": Taken("logic", "row", most=1500),
    "squad2": Taken("relevance", "premise"),
    "qnli": Taken("relevance", "claim", around=0.5),
    "selqa": Taken("relevance", "claim", around=0.5),
    "covid_qa": Taken("relevance", "claim"),
}
# In these sets one word of the premise was replaced, so it is known which part is not supported.
REPLACED = ("breaking_nli",)
# Rows of a bundle at most.
MOST = 4
# For one row that is supported, so many that are not at most: five of six in breaking_nli are not.
NOS = 2
# Words around a premise, least and most.
AROUND = (20, 110)
# A sentence that holds so much of a claim's content words does not stand around its premise: it
# might support it.
TELLS = 0.34
_LICENCE = re.compile(r"License:\s*cc-by\s", re.I)
_KINDS = {
    "contradiction": CONTRADICTED,
    "REFUTES": CONTRADICTED,
    "False": CONTRADICTED,
    "neutral": NOT_MENTIONED,
    "Unknown": NOT_MENTIONED,
    "Uncertain": NOT_MENTIONED,
    "none": NOT_MENTIONED,
}
# Sets with dev, test or kept rows besides those of `synthetic.ASIDE`.
_ALSO = ("hotpotqa_answer", "halueval_general", "ragchecker_meta", "llmbar", "evalbiasbench")


class Apart(Aside):
    """All texts that are measured or chosen on: passages, claims and answers of rows that are not
    `train`, and of train rows that serve as development rows.
    """

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        for name in sorted({*ASIDE, *ASKED, *_ALSO}):
            shared = crossing(data, name)
            for split in ("train", "dev", "test", "official_test"):
                for row in rows(data, name, split):
                    if (
                        split != "train"
                        or row["group"] in shared
                        or held(name, f"{name}:{row['group']}")
                    ):
                        self.add(*row["contexts"])
                        self.add(*(row[f] for f in ("response", "response_2") if row.get(f)))


def _premise(row: Row) -> str:
    text: str = row["contexts"][0]
    return text


def _group(row: Row) -> str:
    return str(row["group"])


def claim_of(row: Row) -> str:
    """What is asked of the premise: a claim, or a question."""
    text: str = row["question" if row["task"] == "context_relevance" else "response"]
    return text


def _read(pack: Path, name: str) -> Iterator[Row]:
    with gzip.open(pack / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _licensed(found: Sequence[Row]) -> list[Row]:
    """Of covid_qa the rows of articles with a part that says that the article is CC BY."""
    told = {r["group"] for r in found if _LICENCE.search(_premise(r))}
    return [r for r in found if r["group"] in told]


def _fewer(found: list[Row], most: int | None) -> list[Row]:
    """Whole groups, at most so many rows; those that people labelled first."""
    if most is None or len(found) <= most:
        return found
    by_rule = {r["group"] for r in found if (r.get("meta") or {}).get("constructed")}
    sizes = Counter(r["group"] for r in found)
    kept: set[str] = set()
    count = 0
    for group in sorted(sizes, key=lambda g: (g in by_rule, zlib.crc32(g.encode()))):
        if count + sizes[group] <= most:
            kept.add(group)
            count += sizes[group]
    return [r for r in found if r["group"] in kept]


def _balanced(found: list[Row], chance: random.Random) -> list[Row]:
    """At most NOS rows that are not supported for one that is; those beside a supported one
    first.
    """
    yes = sum(r["label"] == 1 for r in found)
    beside = {_premise(r) for r in found if r["label"] == 1}
    no = [r for r in found if r["label"] != 1]
    chance.shuffle(no)
    no.sort(key=lambda r: _premise(r) not in beside)
    kept = {r["id"] for r in no[: NOS * yes]}
    return [r for r in found if r["label"] == 1 or r["id"] in kept]


def taken(pack: Path, data: Path, tell: Callable[[str], None] = print) -> dict[str, list[Row]]:
    """The rows of each set that may be learned from, in all splits of the pack."""
    apart, asked = Apart(data), asked_elsewhere(data)
    result: dict[str, list[Row]] = {}
    for name, how in SETS.items():
        whole = list(_read(pack, name))
        found = _licensed(whole) if name == "covid_qa" else whole
        licensed = len(found)
        found = [
            r
            for r in found
            if not apart.shares(_premise(r))
            and not apart.shares(claim_of(r))
            and question_key(r.get("question")) not in asked
        ]
        unlike = len(found)
        found = _fewer(_balanced(found, random.Random(name)), how.most)
        tell(
            f"  {name:20} {len(whole):6} rows, licence not told {len(whole) - licensed}, texts that"
            f" are measured {licensed - unlike}, too many {unlike - len(found)}: {len(found)}"
        )
        result[name] = found
    return result


def bundles(found: Sequence[Row], by: str, chance: random.Random) -> list[list[Row]]:
    """Rows in bundles of at most MOST, in each as many that are supported as can be."""
    if by == "row":
        return [[r] for r in found]
    together: dict[str, list[Row]] = defaultdict(list)
    key = {"premise": _premise, "claim": claim_of, "group": _group}[by]
    for r in found:
        together[key(r)].append(r)
    result = []
    for same in together.values():
        chance.shuffle(same)
        same.sort(key=lambda r: r["label"] != 1)
        count = -(-len(same) // MOST)
        result += [same[at::count] for at in range(count)]
    return result


def _words(text: str) -> set[int]:
    return {t.key for t in tokens(text) if t.kind & CONTENT}


def _ended(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", '"', "”")) else f"{text}."


class Others:
    """Sentences of a set's premises, to stand around others."""

    def __init__(self, found: Iterable[Row]) -> None:
        once = {_premise(r): r["group"] for r in found}
        self._sentences = [
            (group, _ended(text[a:b]))
            for text, group in once.items()
            for a, b in units(text)
            if b - a >= 20
        ]

    def around(self, bundle: Sequence[Row], chance: random.Random) -> tuple[list[str], list[str]]:
        """Some in front and some behind; the same for all rows of the bundle."""
        claims = [words for words in (_words(claim_of(r)) for r in bundle) if words]
        groups = {r["group"] for r in bundle}
        room = chance.randint(*AROUND)
        before: list[str] = []
        after: list[str] = []
        for _ in range(30):
            group, sentence = chance.choice(self._sentences)
            own = _words(sentence)
            told = any(len(own & words) >= TELLS * len(words) for words in claims)
            if group in groups or told:
                continue
            room -= len(sentence.split())
            if room < 0:
                break
            (before if chance.random() < 0.5 else after).append(sentence)
        return before, after


def example(row: Row, before: Sequence[str] = (), after: Sequence[str] = ()) -> Example:
    """A row as what is learned from, its premise between other sentences."""
    premise, label = _premise(row), int(row["label"])
    passage = " ".join((*before, _ended(premise), *after)) if before or after else premise
    relevance = row["task"] == "context_relevance"
    call = MatchCall("relevance" if relevance else "support", claim_of(row), (passage,))
    name = row["dataset"]
    kind, spans = UNTOLD, None
    if not relevance:
        kind = SUPPORTED if label else _kind(row)
        if name in REPLACED:
            spans = () if label else changed(premise, claim_of(row))
    return Example(f"nli:{name}", f"nli:{name}:{row['group']}", call, label, kind, spans)


def _kind(row: Row) -> int:
    if row["dataset"] == "entailment_bank":
        return NOT_MENTIONED
    return _KINDS.get(str(row.get("label_raw")), UNTOLD)


def part_of(source: str) -> str:
    """The part that a source ("nli:snli") belongs to."""
    return SETS[source.removeprefix("nli:")].part


def learned(found: dict[str, list[Row]], *, aside: bool, seed: int) -> Iterator[list[Example]]:
    """Bundles of examples; aside: of the pack's own dev split, none with a premise that is learned
    from.
    """
    fitted = {_premise(r) for of_set in found.values() for r in of_set if r["split"] != "dev"}
    for name, how in SETS.items():
        chance = random.Random(f"{seed} {name} {aside}")
        others = Others(r for r in found[name] if (r["split"] == "dev") == aside)
        mine = [
            r
            for r in found[name]
            if (r["split"] == "dev") == aside and not (aside and _premise(r) in fitted)
        ]
        for bundle in bundles(mine, how.bundled, chance):
            lines: tuple[list[str], list[str]] = ([], [])
            if chance.random() < how.around:
                lines = others.around(bundle, chance)
            yield [example(r, *lines) for r in bundle]
