"""Which examples are made from texts of train rows? Claims true by their making, and typed edits
that make them false.

True claims: sentences of passages, claims and answers that people called supported, titles of
abstracts, questions with their right answer. Each is said in other words by rules (edits.KEEPING),
and made false by one or two typed edits, whose spans teach the span head. Sources are named
"made:...". No claim or passage comes from dev or test rows, from train rows that are kept for
development, or from a train passage that shares half of its eight-word runs with a dev or test
text; of questions with several answers (evouna, openqa_eval), whose texts are in no other set, the
splits alone decide.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from training.edits import ADDING, CONTRADICTING, KEEPING, Said, Source
from training.offline_data import (
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
    support_train,
)

from ragassay.core import MatchCall
from ragassay.models.offline.reading import units

# Sets whose train passages lend sentences; all have licences that allow it (see the model card).
PASSAGES = (
    "factcheck_gpt",
    "summedits",
    "faithdial_audit",
    "q2_wow",
    "scifact",
    "summac_val",
    "mtrag_human",
    "mtrag_un",
    "clapnq",
    "hotpotqa_context",
    "factcc_rationales",
)
CLAIMS = (
    "factcheck_gpt",
    "summedits",
    "faithdial_audit",
    "q2_wow",
    "scifact",
    "summac_val",
    "clapnq",
)
ASIDE = (*PASSAGES, "wice", "begin", "ragtruth_qa")
_RUN = 8
_WORD = re.compile(r"\w+")


class Truth(NamedTuple):
    """A claim that its passage supports."""

    source: str
    group: str
    claim: str
    passage: str


def runs(text: str) -> set[int]:
    """Hashes of the eight-word runs of a text; of a shorter text the whole."""
    words = [w.lower() for w in _WORD.findall(text)]
    return {
        zlib.crc32(" ".join(words[at : at + _RUN]).encode("utf-8", "replace"))
        for at in range(max(1, len(words) - _RUN + 1))
    }


class Aside:
    """The texts of dev and test rows, so that train texts that share much with them can be left
    out.
    """

    def __init__(self, data: Path) -> None:
        self._runs: set[int] = set()
        for name in ASIDE:
            for split in ("dev", "test", "official_test"):
                for row in rows(data, name, split):
                    self.add(*row["contexts"])

    def add(self, *texts: str) -> None:
        """Put texts aside."""
        for text in texts:
            self._runs |= runs(text)

    def shares(self, text: str) -> bool:
        """Whether half of the text's runs stand in a dev or test text."""
        mine = runs(text)
        return 2 * len(mine & self._runs) >= len(mine)


def cut(passage: str, start: int, end: int, chance: random.Random, most: int = 1500) -> str:
    """Some sentences of the passage round [start, end), at most `most` characters."""
    found = list(units(passage))
    inside = [i for i, (a, b) in enumerate(found) if a < end and start < b]
    if not inside:
        return passage[:most]
    low, high = inside[0], inside[-1]
    room = chance.randint(200, most) - (found[high][1] - found[low][0])
    while room > 0 and (low > 0 or high < len(found) - 1):
        back = low > 0 and (high == len(found) - 1 or chance.random() < 0.5)
        low, high = (low - 1, high) if back else (low, high + 1)
        a, b = found[low if back else high]
        room -= b - a
    return passage[found[low][0] : found[high][1]]


class Pool(NamedTuple):
    """(group, passage) of the train rows, each passage once."""

    passages: list[tuple[str, str]]

    @classmethod
    def read(cls, data: Path, aside: Aside) -> Pool:
        """From the data's folder."""
        found: dict[str, str] = {}
        for name in PASSAGES:
            shared = crossing(data, name)
            for row in rows(data, name, "train"):
                group = f"{name}:{row['group']}"
                if row["group"] in shared or held(name, group):
                    continue
                for context in row["contexts"]:
                    if context not in found and not aside.shares(context):
                        found[context] = group
        return cls([(group, passage) for passage, group in found.items()])


def sentences(pool: Pool, chance: random.Random, each: int) -> Iterator[Truth]:
    """Sentences of passages, up to `each` of one passage; sometimes two that follow each other."""
    for group, passage in pool.passages:
        found = [
            (a, b)
            for a, b in units(passage)
            if 40 <= b - a <= 300 and len(_WORD.findall(passage[a:b])) >= 6
        ]
        for at in sorted(chance.sample(range(len(found)), min(each, len(found)))):
            start, end = found[at]
            if at + 1 < len(found) and chance.random() < 0.1:
                end = found[at + 1][1]
            yield Truth(
                "made:sentence",
                group,
                passage[start:end].replace("\n", " "),
                cut(passage, start, end, chance),
            )


def abstracts(data: Path, aside: Aside) -> Iterator[Truth]:
    """Titles of abstracts that read as a statement, with their abstract."""
    with gzip.open(data / "scifact_retrieval/corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            title = row["title"].strip()
            if (
                6 <= len(title.split()) <= 30
                and not title.endswith("?")
                and not aside.shares(row["text"])
            ):
                yield Truth("made:title", f"abstract:{row['id']}", title, row["text"][:1800])


def stated(question: str, answer: str) -> str:
    """A question and an answer as one claim: as a statement where the question is simple, else side
    by side.
    """
    asked = question.strip().rstrip("?").strip()
    answer = answer.strip().rstrip(".")
    for pattern, made in _STATEMENTS:
        match = pattern.match(asked)
        if match:
            return made.format(*match.groups(), a=answer).strip() + "."
    return f"{asked}? {answer}."


_STATEMENTS = tuple(
    (re.compile(pattern, re.I), made)
    for pattern, made in (
        (r"^who (?:is|was|are|were) (the .+)$", "{a} is {0}"),
        (
            (
                r"^who (?!is |was |are |were |did |does |do"
                r" )(\w+(?:s|ed|ote|ang|on|made|gave|has|led|wrote) .+)$"
            ),
            "{a} {0}",
        ),
        (r"^what (?:is|was) (the .+)$", "{0} is {a}"),
        (
            (
                r"^where (?:is|was|are|were) (.+?)"
                r" (located|filmed|born|held|made|founded|found|based)$"
            ),
            "{0} was {1} in {a}",
        ),
        (r"^where (?:is|was) (the \w+(?: \w+)?)$", "{0} is in {a}"),
        (
            (
                r"^when (?:is|was|were) (.+?)"
                r" (born|founded|built|released|made|established|written|invented|created)$"
            ),
            "{0} was {1} in {a}",
        ),
        (r"^which (\w+) (is|was|has|won|had) (.+)$", "{a} is the {0} that {1} {2}"),
    )
)


def answered(data: Path, chance: random.Random) -> Iterator[Example]:
    """Questions whose answers people called right or wrong: one right answer is the passage,
    another the claim.

    Claims are short answers put into the question's words; the passage is a long answer to the same
    question.
    """
    found: dict[str, list[Row]] = {}
    for name in ("evouna", "openqa_eval"):
        for row in rows(data, name, "train"):
            if row["label"] is not None and row.get("response"):
                found.setdefault(f"{name}:{row['group']}", []).append(row)
    for group, given in sorted(found.items()):
        passages = [
            r["response"]
            for r in given
            if r["label"] == 1 and 8 <= len(r["response"].split()) <= 150
        ]
        if not passages:
            continue
        gold = [str(g) for g in given[0].get("reference") or () if g]
        right = sorted(
            {r["response"] for r in given if r["label"] == 1 and len(r["response"].split()) <= 6}
            | set(gold[:1])
        )
        wrong = sorted(
            {r["response"] for r in given if r["label"] == 0 and len(r["response"].split()) <= 6}
            - set(right)
        )
        passage = chance.choice(passages)
        for answer, label in (
            (chance.choice(right) if right else "", 1),
            (chance.choice(wrong) if wrong else "", 0),
        ):
            if answer:
                claim = stated(given[0]["question"], answer)
                at = claim.find(answer.strip().rstrip("."))
                spans = (
                    ()
                    if label
                    else ((at, at + len(answer.strip().rstrip("."))),)
                    if at >= 0
                    else None
                )
                call = MatchCall("support", claim, (passage,))
                yield Example(
                    "made:answer", group, call, label, SUPPORTED if label else CONTRADICTED, spans
                )


def hops(data: Path, aside: Aside, chance: random.Random) -> Iterator[Example]:
    """Questions of hotpotqa with their answer: both paragraphs support it, one of them or
    distractors do not.
    """
    found: dict[str, list[Row]] = {}
    for row in rows(data, "hotpotqa_context", "train"):
        if question_key(row["question"]) not in asked_elsewhere(data):
            found.setdefault(row["group"], []).append(row)
    answers = [str(given[0].get("reference") or "") for given in found.values()]
    for group, given in sorted(found.items()):
        needed = [r["contexts"][0] for r in given if r["label"] == 1]
        spare = [r["contexts"][0] for r in given if r["label"] == 0]
        gold = str(given[0].get("reference") or "")
        if len(needed) != 2 or len(spare) < 2 or gold.lower() in ("yes", "no", ""):
            continue
        if any(map(aside.shares, (*needed, *spare))):
            continue
        claim = stated(given[0]["question"], gold)
        other = stated(
            given[0]["question"],
            chance.choice([a for a in answers if a not in ("yes", "no", gold)]),
        )
        name = f"hotpotqa_context:{group}"
        mixed = chance.sample([*needed, chance.choice(spare)], 3)
        yield Example("made:hop", name, MatchCall("support", claim, tuple(mixed)), 1, SUPPORTED, ())
        yield Example(
            "made:hop",
            name,
            MatchCall("support", claim, tuple(chance.sample(spare, 2))),
            0,
            NOT_MENTIONED,
        )
        yield Example("made:hop", name, MatchCall("support", other, tuple(mixed)), 0, CONTRADICTED)


def told(data: Path, aside: Aside) -> Iterator[Truth]:
    """Train claims and answers that people called supported; of long answers each sentence."""
    for example in support_train(data, CLAIMS):
        if example.label == 1 and not any(map(aside.shares, example.call.passages)):
            parts = [example.call.text]
            if example.source == "clapnq":
                parts = [example.call.text[a:b] for a, b in units(example.call.text) if b - a >= 30]
            for part in parts:
                yield Truth("made:told", example.group, part, "\n\n".join(example.call.passages))
    for row in rows(data, "mtrag_un", "train"):
        passage = "\n\n".join(row["contexts"])[:6000]
        if row["label"] == 1 and passage and not aside.shares(passage):
            for a, b in units(row["response"]):
                if b - a >= 50:
                    yield Truth(
                        "made:told", f"mtrag_un:{row['group']}", row["response"][a:b], passage
                    )


def reworded(said: Said, source: Source, chance: random.Random, most: int) -> Said:
    """The claim after up to `most` edits that keep it true."""
    for _ in range(most):
        edit = KEEPING[chance.choice(sorted(KEEPING))]
        said = edit(said, source, chance) or said
    return said


def falsified(said: Said, source: Source, chance: random.Random) -> tuple[str, Said, int] | None:
    """The claim after one typed edit, or two: (name of the first, claim, class); None when none
    fits.
    """
    names = sorted(CONTRADICTING) + 2 * ["antonym", "name"] + 2 * sorted(ADDING)
    chance.shuffle(names)
    for name in dict.fromkeys(names):
        edit = CONTRADICTING.get(name) or ADDING[name]
        made = edit(said, source, chance)
        if made and made.text.lower() != said.text.lower():
            if chance.random() < 0.15:
                again = CONTRADICTING[chance.choice(sorted(CONTRADICTING))](made, source, chance)
                made = again or made
            return name, made, NOT_MENTIONED if name in ADDING else CONTRADICTED
    return None


def without(claim: str, passage: str) -> str:
    """The passage without the sentences that hold half of the claim's words; empty when nothing is
    left.
    """
    words = {w.lower() for w in _WORD.findall(claim) if len(w) > 3}
    kept = []
    for a, b in units(passage):
        held = {w.lower() for w in _WORD.findall(passage[a:b])}
        if len(words & held) < 0.5 * len(words):
            kept.append(passage[a:b])
    return " ".join(kept)


def variations(
    truths: Iterable[Truth],
    others: list[str],
    chance: random.Random,
    *,
    false: int = 2,
    gone: bool = True,
) -> Iterator[Example]:
    """Of each true claim: itself in other words, false versions, and itself against a passage that
    lacks it.
    """
    for truth in truths:
        source = Source(truth.passage, chance.sample(others, min(8, len(others))))
        said = Said(truth.claim)
        call = MatchCall(
            "support",
            reworded(said, source, chance, chance.choice((0, 1, 2, 3))).text,
            (truth.passage,),
        )
        if truth.source != "made:told" or chance.random() < 0.5:
            yield Example(truth.source, truth.group, call, 1, SUPPORTED, ())
        for _ in range(false):
            made = falsified(
                reworded(said, source, chance, chance.choice((0, 1, 2))), source, chance
            )
            if made:
                _, wrong, kind = made
                call = MatchCall("support", wrong.text, (truth.passage,))
                yield Example(truth.source, truth.group, call, 0, kind, wrong.spans)
        if gone and chance.random() < 0.4:
            rest = without(truth.claim, truth.passage)
            if len(rest) >= 100:
                claim = reworded(said, source, chance, 1).text
                yield Example(
                    truth.source,
                    truth.group,
                    MatchCall("support", claim, (rest,)),
                    0,
                    NOT_MENTIONED,
                )


def neighbours(texts: list[str]) -> list[int]:
    """For each text the other one that shares most rare words with it; -1 where none shares any."""
    holders: dict[str, list[int]] = {}
    words = [sorted({w.lower() for w in _WORD.findall(text) if len(w) > 4}) for text in texts]
    for at, mine in enumerate(words):
        for word in mine:
            holders.setdefault(word, []).append(at)
    found = []
    for at, mine in enumerate(words):
        shared: dict[int, float] = {}
        for word in mine:
            if len(holders[word]) <= 60:
                for other in holders[word]:
                    shared[other] = shared.get(other, 0.0) + 1.0 / len(holders[word])
        shared.pop(at, None)
        found.append(max(shared, key=lambda other: (shared[other], -other)) if shared else -1)
    return found


def near(truths: list[Truth]) -> Iterator[Example]:
    """Titles against the abstract of the title that shares most rare words with theirs (not
    mentioned).
    """
    for truth, other in zip(truths, neighbours([t.claim for t in truths]), strict=True):
        if other >= 0:
            call = MatchCall("support", truth.claim, (truths[other].passage,))
            yield Example("made:title", truth.group, call, 0, NOT_MENTIONED)


class Asked(NamedTuple):
    """A question and the answers that people called right or wrong."""

    group: str
    question: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]


def asked(data: Path) -> list[Asked]:
    """The train questions of evouna, which several systems answered."""
    found: dict[str, list[Row]] = {}
    for row in rows(data, "evouna", "train"):
        if row["label"] is not None and row.get("response"):
            found.setdefault(f"evouna:{row['group']}", []).append(row)
    return [
        Asked(
            group,
            given[0]["question"],
            *(
                tuple(
                    dict.fromkeys(
                        " ".join(r["response"].split()) for r in given if r["label"] == label
                    )
                )
                for label in (1, 0)
            ),
        )
        for group, given in sorted(found.items())
    ]


def _long(answers: Iterable[str], least: int = 10) -> list[str]:
    return [a for a in answers if least <= len(a.split()) <= 150]


def _opening(answer: str, chance: random.Random) -> str:
    """The first sentence of an answer, sometimes the second too."""
    found = list(units(answer))[: 1 + (chance.random() < 0.2)]
    return answer[found[0][0] : found[-1][1]] if found else answer


def retold(data: Path, chance: random.Random) -> Iterator[Example]:
    """What several systems answered to one question: right answers say the same in other words and
    support each other, wrong ones contradict them, in both directions; those of the most similar
    question do not mention it.
    """
    given = asked(data)
    beside = neighbours([a.question for a in given])
    for one, other in zip(given, beside, strict=True):
        spare = _long(given[other].right) if other >= 0 else []

        def example(
            claim: str,
            passages: list[str],
            label: int,
            kind: int,
            spare: list[str] = spare,
            one: Asked = one,
        ) -> Example:
            if spare and chance.random() < 0.35:
                passages = chance.sample([*passages, chance.choice(spare)], len(passages) + 1)
            if len(claim.split()) <= 6:
                claim = stated(one.question, claim)
            return Example(
                "made:retold", one.group, MatchCall("support", claim, tuple(passages)), label, kind
            )

        passages = _long(one.right)
        for claim in chance.sample(one.right, min(3, len(one.right))):
            rest = [p for p in passages if p != claim]
            if rest:
                yield example(
                    _opening(claim, chance),
                    chance.sample(rest, min(len(rest), chance.choice((1, 1, 2)))),
                    1,
                    SUPPORTED,
                )
        for claim in one.wrong[:3]:
            if passages:
                yield example(
                    _opening(claim, chance),
                    chance.sample(passages, min(len(passages), chance.choice((1, 1, 2)))),
                    0,
                    CONTRADICTED,
                )
        for passage in _long(one.wrong)[:2]:
            if one.right:
                yield example(
                    _opening(chance.choice(one.right), chance), [passage], 0, CONTRADICTED
                )
        if spare and one.right and chance.random() < 0.5:
            claim = _opening(chance.choice(one.right), chance)
            yield example(claim, [chance.choice(spare)], 0, NOT_MENTIONED, [])


def edited(data: Path, aside: Aside) -> Iterator[Example]:
    """Summaries of summedits against the summary they were edited from: does the edit still say the
    same?
    """
    kept = {(e.call.text, e.call.passages) for e in support_train(data, ("summedits",))}
    for row in rows(data, "summedits", "train"):
        seed = row["meta"]["seed_summary"]
        if (
            row["label"] is None
            or (row["response"], tuple(row["contexts"])) not in kept
            or seed == row["response"]
        ):
            continue
        if aside.shares(seed):
            continue
        label = int(row["label"] >= 0.5)
        spans = () if label else changed(seed, row["response"])
        call = MatchCall("support", row["response"], (seed,))
        group = f"summedits:{row['group']}"
        yield Example("made:edit", group, call, label, SUPPORTED if label else UNTOLD, spans)
        if label:
            yield Example(
                "made:edit", group, MatchCall("support", seed, (row["response"],)), 1, SUPPORTED, ()
            )


def sought(data: Path, aside: Aside, chance: random.Random) -> Iterator[Example]:
    """Questions and titles against the text that answers them (relevant), and that of the most
    similar one (not).
    """
    given = asked(data)
    for one, other in zip(given, neighbours([a.question for a in given]), strict=True):
        passages = _long(one.right, 15)
        if passages:
            call = MatchCall("relevance", one.question, (chance.choice(passages),))
            yield Example("made:sought", one.group, call, 1)
        spare = _long(given[other].right, 15) if other >= 0 else []
        if spare:
            yield Example(
                "made:sought",
                one.group,
                MatchCall("relevance", one.question, (chance.choice(spare),)),
                0,
            )
    titles = list(abstracts(data, aside))
    for truth, other in zip(titles, neighbours([t.claim for t in titles]), strict=True):
        yield Example(
            "made:found", truth.group, MatchCall("relevance", truth.claim, (truth.passage,)), 1
        )
        if other >= 0:
            yield Example(
                "made:found",
                truth.group,
                MatchCall("relevance", truth.claim, (titles[other].passage,)),
                0,
            )


def refuted(data: Path, aside: Aside) -> Iterator[Example]:
    """Claims of factcc_rationales whose judge people found right in calling them inconsistent, each
    once.
    """
    seen: set[tuple[str, str]] = set()
    for row in rows(data, "factcc_rationales", "train"):
        key = (row["contexts"][0], row["response"])
        if row["label"] == 1 and key not in seen and not aside.shares(row["contexts"][0]):
            seen.add(key)
            call = MatchCall("support", row["response"], (row["contexts"][0],))
            yield Example("made:factcc", f"factcc:{row['group']}", call, 0, CONTRADICTED)


def curriculum(data: Path, seed: int, *, each: int = 3) -> list[Example]:
    """All made examples for claims and passages, in a fixed order."""
    chance = random.Random(seed)
    aside = Aside(data)
    pool = Pool.read(data, aside)
    others = [s.claim for s in sentences(pool, random.Random(seed + 1), 1) if len(s.claim) <= 200]
    titles = list(abstracts(data, aside))
    made = list(variations(sentences(pool, chance, each), others, chance))
    made += variations(titles, others, chance, false=1, gone=False)
    made += near(titles)
    made += variations(told(data, aside), others, chance, false=2)
    made += answered(data, chance)
    made += hops(data, aside, chance)
    made += refuted(data, aside)
    made += retold(data, chance)
    made += edited(data, aside)
    made += sought(data, aside, chance)
    return made
