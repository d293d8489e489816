"""The offline model's engine: its weights, read once and checked, and the way from call to reply.

`Engine` is the interface to the rest: whatever replaces the model keeps `load`, `answer` and the
files' hashes in card.json.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragassay.core import (
    CallError,
    EnvironmentFailure,
    Evidence,
    FactFinding,
    MatchCall,
    MatchReply,
    Spend,
)
from ragassay.models.offline.closeness import FIGURES
from ragassay.models.offline.closeness import figures as closeness
from ragassay.models.offline.combiner import (
    TREES,
    Combiner,
    Joined,
    inputs,
    lowest,
    sigmoid,
    support_odds,
    unpack,
    with_odds,
)
from ragassay.models.offline.encoder import Encoder
from ragassay.models.offline.facts.checker import FactChecker
from ragassay.models.offline.facts.finding import CONFLICT, Finding
from ragassay.models.offline.facts.retold import Retold
from ragassay.models.offline.features import TASKS, Rarity, TextFigures
from ragassay.models.offline.heads import Head
from ragassay.models.offline.heads import unpack as unpack_trees
from ragassay.models.offline.network import Network, Vectors, Words
from ragassay.models.offline.reader import NetworkOutput, Reader
from ragassay.models.offline.reading import PassageIndex, PassageIndexes, has_words
from ragassay.models.offline.windows import (
    LONGEST_TEXT,
    MOST_READ,
    NetworkInput,
    network_input,
    parts,
)
from ragassay.models.offline.wordpiece import WordPiece
from ragassay.models.onnx_session import Arrays
from ragassay.models.spans import joined

ENCODER, JUDGE, WEIGHTS = "encoder.onnx", "judge.onnx", "weights.npz"
VOCABULARY, RARITY, COMBINER, HEADS = "vocab.txt", "rarity.npz", "combiner.json", "heads.npz"
FILES = (ENCODER, JUDGE, WEIGHTS, VOCABULARY, RARITY, COMBINER, HEADS)

DENIED = 0.2
"""Of a claim that the passages deny, all of whose words they have; with fewer words less. Chosen on
dev rows: mean AUROC of seven sets 0.857, against 0.850 with one probability for all that is denied
and 0.858 with the network's, which need not be run so. People call 11 % of 262 such claims
supported.
"""

ABSENT_PROBABILITY = 0.2
"""At most, of a claim with a number, date or name that the passages do not hold; unless the network
is as sure as SURE that it is a paraphrase.
"""

SURE = 0.5
"""Chosen on train and dev rows. Of 24 claims with an absent fact that the network gives more than
this, people called 19 supported; of 304 that it gives less, 40.
"""

LONG, DOUBTED = 3, -0.7
"""Of a claim of so many sentences a conflict does not decide: it makes the claim so much less
probable in log-odds. Of train and dev rows with one, people call 39 % of 98 supported and 56 % of
1,022 without; of shorter claims 13 % and 34 %.
"""

AGREEING = 0.4
"""Log-odds by which a claim is more probable all of whose amounts and dates the passages have.
Fitted on dev rows beside the network's probability: 0.6 to 0.75 for such claims, 0.35 to 0.4 for
others with amounts; the difference and a little more is taken.
"""

ALIKE = 0.75
"""Log-odds by which a claim is more probable that denies what the passages deny, or compares as
their amounts do. Fitted on dev rows beside the network's probability.
"""

TOLD = {"support": 0.8, "relevance": 0.7}
AS_TOLD = {"support": 1.0, "relevance": 1.2}
"""From which share of a text's words on, that stand in one sentence of the passages in whatever
form, it is so much more probable in log-odds. Chosen on dev rows and on the everyday pairs that the
rules were built on.
"""

# The figures that explain a reply to a reader, by task.
_EXPLAIN = {
    "support": (
        "coverage",
        "coverage_near",
        "missing_words",
        "numbers_missing",
        "names_missing",
        "negation_mismatch",
    ),
    "relevance": ("coverage", "coverage_near", "missing_words", "names_missing"),
    "answer": ("coverage", "yes_fits", "number_fits", "name_fits"),
}


def damaged(folder: Path, why: str) -> EnvironmentFailure:
    """E0505 for the weights in a folder."""
    return EnvironmentFailure(
        "E0505",
        "The offline model cannot be loaded.",
        where=str(folder),
        why=why,
        fix="install ragassay again (pip install --force-reinstall --no-deps ragassay)",
    )


class Engine:
    """The offline model without threads: `answer` may be called from several at once."""

    def __init__(
        self,
        encoder: Encoder,
        reader: Reader,
        tokenizer: WordPiece,
        rarity: Rarity,
        judges: Mapping[str, Combiner | Joined | Head],
        pieces: NDArray[np.float64],
    ) -> None:
        """judges: task -> what gives its probability. pieces [vocabulary]: how rare each word piece
        is. `reads_facts` may be set to False where the network alone is measured.
        """
        self.encoder, self.reader, self.tokenizer = encoder, reader, tokenizer
        self.rarity, self._judges, self._pieces = rarity, judges, pieces
        self._passage_indexes = PassageIndexes()
        self._facts = FactChecker(rarity)
        self.reads_facts = True

    @classmethod
    def shared(cls, folder: Path) -> Engine:
        """The engine of these weights, the one of this process where it was read already and no
        file has changed since. Raises as `load`.
        """
        try:
            stats = [(folder / name).stat() for name in ("card.json", *FILES)]
            versions = tuple((stat.st_size, stat.st_mtime_ns) for stat in stats)
        except OSError as error:
            raise damaged(folder, f"{type(error).__name__}: {error}") from error
        return _shared(folder, versions)

    @classmethod
    def load(cls, folder: Path) -> Engine:
        """Read the weights. Raises EnvironmentFailure E0505 when a file is missing or not the one
        of card.json.
        """
        try:
            hashes = json.loads((folder / "card.json").read_text(encoding="utf-8"))["files"]
            contents = {name: (folder / name).read_bytes() for name in FILES}
            for name, content in contents.items():
                if hashlib.sha256(content).hexdigest() != hashes[name]:
                    raise damaged(folder, f"{name} is not the file that card.json names")
            combiners = json.loads(contents[COMBINER])
            trees = _arrays(contents[HEADS])
            rarity_arrays = _arrays(contents[RARITY])
            tokenizer = WordPiece(contents[VOCABULARY].decode("utf-8").split("\n"))
            encoder, reader = networks(
                contents[ENCODER], contents[JUDGE], _arrays(contents[WEIGHTS]), tokenizer
            )
            judges = {task: _judge(task, combiners, trees) for task in TASKS}
            pieces = rarity_arrays["pieces"].astype(np.float64)
            return cls(encoder, reader, tokenizer, rarity(rarity_arrays), judges, pieces)
        except EnvironmentFailure:
            raise
        except Exception as error:  # onnxruntime and numpy raise their own kinds for a broken file
            raise damaged(folder, f"{type(error).__name__}: {error}") from error

    def passage_index(self, call: MatchCall) -> PassageIndex:
        """The passages of a call, read."""
        return self._passage_indexes.read(
            call.passages if call.task in ("support", "facts") else call.passages[:1]
        )

    def answer(self, call: MatchCall) -> MatchReply:
        """The reply to one call; the same call gives the same reply, whatever was asked before or
        beside it.

        Nothing to read (no word in the text, or in all passages) is probability 0: nothing can be
        supported by, relevant in, answered by or similar to nothing.
        """
        started = time.perf_counter()
        if call.task == "similarity":
            reply = MatchReply(self._similarity(call))
        elif call.task == "facts":
            reply = self._read_facts(call)
        else:
            reply = self._read(call)
        spend = Spend(calls=1, cost=0.0, seconds=time.perf_counter() - started)
        return replace(reply, spend=spend)

    def _read_facts(self, call: MatchCall) -> MatchReply:
        """What the reader of facts alone finds, with no network."""
        findings = self._facts.findings(call, self.passage_index(call))
        denied = any(finding.status == CONFLICT for finding in findings)
        return MatchReply(0.0 if denied else 1.0, findings=_told(findings))

    def _read(self, call: MatchCall) -> MatchReply:
        passage_index = self.passage_index(call)
        told = Retold(call.text, ())
        reads_facts = call.task == "support" and self.reads_facts
        if reads_facts:
            told = self._facts.retold(call, passage_index)
        lexical = TASKS[call.task](told.text, passage_index, self.rarity)
        explained = {name: round(lexical.figures[name], 4) for name in _EXPLAIN[call.task]}
        read = self._inputs(call.task, told.text, passage_index)
        if not read or not passage_index.keys.any() or not has_words(call.text):
            return MatchReply(0.0, features=explained)
        findings: list[Finding] = []
        if reads_facts:
            findings = self._facts.findings(call, passage_index)
            unread = self._facts.unreadable(call, passage_index, findings)
            explained |= {unread: 1.0} if unread else {}
            denied = findings and findings[0].status == CONFLICT and not unread
            if denied and self._facts.sentences(call.text) < LONG:
                # What is denied is not supported, whatever else it shares with the passages: the
                # network need not read it.
                return _denied(call, findings, explained, DENIED * lexical.figures["coverage"])
        judge = self._judges[call.task]
        judge_inputs = dict(lexical.figures)
        unsupported: tuple[tuple[int, int], ...] = ()
        # The network takes most of a call's time, so it is run only for a judge that takes more
        # than lexical figures and closeness.
        if not set(judge.names) <= judge_inputs.keys() | FIGURES:
            outputs = [self.reader.read(part) for _, _, part in read]
            judge_inputs |= inputs(call.task, lowest(outputs))
            if call.task == "support":
                explained["contradicted"] = round(sigmoid(judge_inputs["contradicted"]), 4)
                spans = self._unsupported_in_parts(told.text, read, outputs)
                unsupported = tuple(told.in_claim(start, end) for start, end in spans)
        if not FIGURES.isdisjoint(judge.names):
            judge_inputs |= self._closeness(call, passage_index, lexical)
        probability = judge.probability(judge_inputs)
        probability = round(self._with_facts(call, passage_index, findings, probability), 4)
        told_of = findings if probability <= ABSENT_PROBABILITY else []
        if told_of:
            unsupported = _places(told_of)
        evidence = _evidence(passage_index, lexical, probability)
        return MatchReply(
            probability,
            evidence,
            explained,
            unsupported=unsupported,
            findings=_told(told_of),
        )

    def _with_facts(
        self,
        call: MatchCall,
        passage_index: PassageIndex,
        findings: Sequence[Finding],
        probability: float,
    ) -> float:
        """The network's probability beside what the reader of facts found or did not find."""
        if not findings:
            is_support = call.task == "support" and self.reads_facts
            if is_support and self._facts.agree(call, passage_index):
                probability = with_odds(probability, AGREEING)
            if is_support and self._facts.says_alike(call, passage_index):
                probability = with_odds(probability, ALIKE)
            if self._is_told(call, passage_index):
                probability = with_odds(probability, AS_TOLD[call.task])
            return probability
        decides = findings
        if self._facts.sentences(call.text) >= LONG:
            decides = [finding for finding in findings if finding.status != CONFLICT]
            if len(decides) < len(findings):
                probability = with_odds(probability, DOUBTED)
        if decides and probability < SURE:
            return min(probability, ABSENT_PROBABILITY)
        return probability

    def _is_told(self, call: MatchCall, passage_index: PassageIndex) -> bool:
        """Whether a sentence of the passages has nearly all that the text says."""
        least = TOLD.get(call.task)
        if least is None or not self.reads_facts:
            return False
        return self._facts.told(call, passage_index) >= least

    def _inputs(
        self, task: str, text: str, passage_index: PassageIndex
    ) -> list[tuple[int, int, NetworkInput]]:
        """What the network reads: each part of the text, with its place and its window."""
        places = parts(text, self._length) if task == "support" else [(0, len(text))]
        if len(places) > MOST_READ:
            raise CallError(
                "too_long",
                f"the claim has more than the {MOST_READ * LONGEST_TEXT:,} tokens that are read",
            )
        read: list[tuple[int, int, NetworkInput]] = []
        for start, end in places:
            part = network_input(text[start:end], passage_index, self.rarity, self.tokenizer)
            if part is not None:
                read.append((start, end, part))
        return read

    def _unsupported_in_parts(
        self,
        claim: str,
        read: Sequence[tuple[int, int, NetworkInput]],
        outputs: Sequence[NetworkOutput],
    ) -> tuple[tuple[int, int], ...]:
        """Start and end in the claim of what is not supported, from the parts that were read."""
        unsupported: list[tuple[int, int]] = []
        for (start, end, _), output in zip(read, outputs, strict=True):
            spans = self._unsupported(claim[start:end], output.unsupported)
            # A sentence may be unsupported although no word of it is wrong by itself.
            if not spans and len(read) > 1 and support_odds(output) < 0:
                spans = ((0, end - start),)
            unsupported += [(start + first, start + last) for first, last in spans]
        return tuple(unsupported)

    def _length(self, text: str) -> int:
        """Tokens of a text, counted as far as it matters."""
        return len(self.tokenizer.ids(text, LONGEST_TEXT + 1))

    def figures(self, call: MatchCall) -> dict[str, float]:
        """All figures of a call but those of the judge's network, to fit trees on."""
        passage_index = self.passage_index(call)
        lexical = TASKS[call.task](call.text, passage_index, self.rarity)
        return lexical.figures | self._closeness(call, passage_index, lexical)

    def _closeness(
        self, call: MatchCall, passage_index: PassageIndex, lexical: TextFigures
    ) -> dict[str, float]:
        sentences = [passage_index.text(unit) for unit in lexical.listed]
        return closeness(call.text, sentences, self._pieces, self.encoder.sentence)

    def _unsupported(self, text: str, odds: NDArray[np.float32]) -> tuple[tuple[int, int], ...]:
        """The stretches of the text of which every word has a part that is more likely unsupported
        than not.
        """
        if not (odds > 0).any():
            return ()
        places = self.tokenizer.places(text, LONGEST_TEXT)
        return joined(text, [place for place, odd in zip(places, odds, strict=False) if odd > 0])

    def _similarity(self, call: MatchCall) -> float:
        """Mean over the passages of the cosine of their vector and the text's, negative ones as 0;
        0 without passages.
        """
        text = self.encoder.whole(call.text)
        others = [self.encoder.whole(passage) for passage in call.passages]
        if text is None or not others:
            return 0.0
        cosines: list[float] = []
        for other in others:
            cosine = 0.0 if other is None else float(text @ other)
            cosines.append(min(1.0, max(0.0, cosine)))
        return round(math.fsum(cosines) / len(cosines), 4)


def _denied(
    call: MatchCall,
    findings: Sequence[Finding],
    explained: Mapping[str, float],
    probability: float,
) -> MatchReply:
    """The reply for a claim that the passages deny."""
    conflicts = [finding for finding in findings if finding.status == CONFLICT]
    evidence: dict[Evidence, None] = {}
    for finding in conflicts:
        assert finding.place is not None
        passage, start, end = finding.place
        evidence[Evidence(passage, start, end, call.passages[passage][start:end])] = None
    return MatchReply(
        round(probability, 4),
        tuple(evidence),
        {**explained, "contradicted": 1.0},
        unsupported=_places(conflicts),
        findings=_told(findings),
    )


def _places(findings: Iterable[Finding]) -> tuple[tuple[int, int], ...]:
    """Where the findings stand in the claim, each place once."""
    return tuple(sorted({(finding.start, finding.end) for finding in findings}))


def _told(findings: Iterable[Finding]) -> tuple[FactFinding, ...]:
    told = [FactFinding(finding.rule, finding.said, finding.found) for finding in findings]
    return tuple(dict.fromkeys(told))


def _evidence(
    passage_index: PassageIndex, lexical: TextFigures, probability: float
) -> tuple[Evidence, ...]:
    """The sentences that share enough words with the text; of a text that passes without them, the
    one that shares most.
    """
    units: Sequence[int] = lexical.units or (lexical.listed[:1] if probability >= 0.5 else ())
    evidence = []
    for unit in units:
        passage, start, end = (int(v) for v in passage_index.places[unit])
        evidence.append(Evidence(passage, start, end, passage_index.passages[passage][start:end]))
    return tuple(evidence)


@lru_cache(maxsize=1)
def _shared(folder: Path, _versions: tuple[tuple[int, int], ...]) -> Engine:
    return Engine.load(folder)


def _judge(
    task: str, combiners: Mapping[str, Any], trees: Mapping[str, NDArray[Any]]
) -> Combiner | Joined | Head:
    """The model that gives a task's probability: a combiner over the network's output, one with
    boosted trees among its inputs, or trees alone.
    """
    if task not in combiners:
        return unpack_trees(task, trees)
    combiner = unpack(combiners[task])
    if TREES in combiner.names:
        return Joined(combiner, unpack_trees(task, trees))
    return combiner


def networks(
    encoder: bytes, judge: bytes, arrays: dict[str, NDArray[Any]], tokenizer: WordPiece
) -> tuple[Encoder, Reader]:
    """The sentence encoder and the judge from their graphs: one table of words, and the weights of
    each.

    The judge's integers are stored as their difference to what is expected of them.
    """

    def named(prefix: str) -> dict[str, NDArray[Any]]:
        return {
            name.removeprefix(prefix): value
            for name, value in arrays.items()
            if name.startswith(prefix)
        }

    # Stored in 16 bits, computed with in 32.
    scales, *positions = (
        arrays[name].astype(np.float32)
        for name in ("words.scale", "encoder.positions", "judge.positions")
    )
    words = Words(arrays["words"], scales)
    encoder_arrays = named("encoder/")
    stored = named("judge/")
    judge_arrays: dict[str, NDArray[Any]] = {}
    for name, value in stored.items():
        # The file holds integers as differences, most of which are small and compress well.
        if value.dtype == np.int8:
            value = value + expected(encoder_arrays, stored, name)
        judge_arrays[name] = value
    encoder_network = Network(encoder, encoder_arrays, words, positions[0])
    judge_network = Network(judge, judge_arrays, words, positions[1])
    return Encoder(encoder_network, tokenizer), Reader(judge_network, named("head/"))


def expected(encoder: Arrays, judge: Arrays, name: str) -> NDArray[np.int8]:
    """The integers of a matrix of the judge, had training not moved it: the encoder's, brought to
    the judge's scales.

    Only operations that IEEE 754 rounds alike on every machine.
    """
    matrix: Vectors = encoder[name].astype(np.float32)
    name = name.removesuffix(".weight")
    if f"{name}.calm" in judge:
        calm: Vectors = judge[f"{name}.calm"]
        matrix = matrix / calm[:, None]
    return np.clip(
        np.rint(matrix * (encoder[f"{name}.scale"] / judge[f"{name}.scale"])), -128, 127
    ).astype(np.int8)


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def rarity(arrays: dict[str, NDArray[Any]]) -> Rarity:
    """The idf table of rarity.npz. Raises KeyError when a part is missing."""
    keys, values = arrays["keys"], arrays["idf"].astype(np.float64)
    return Rarity(dict(zip(keys.tolist(), values.tolist(), strict=True)), float(arrays["unseen"]))
