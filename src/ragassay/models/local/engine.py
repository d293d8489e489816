"""A local model at work: from a match call to windows, inputs, outputs and a probability."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragassay.core import CallError, Evidence, MatchCall, MatchReply, Spend, is_fault, shorten
from ragassay.models.local.folder import unusable
from ragassay.models.local.labels import Meaning
from ragassay.models.local.network import Network, Outputs, open_network
from ragassay.models.local.parts import Parts, Reading
from ragassay.models.local.tokens import Encoded, TextEncoder
from ragassay.models.local.windows import Piece, fitting, pieces_of, windows_of
from ragassay.models.offline.cache import SharedCache
from ragassay.models.spans import joined

MOST_WINDOWS = 64
"""Windows that are read for one call; passages that take more are an error."""
_LEAST_ROOM = 8
# Tokens squared of the passes that run at the same time: two of 2,048 tokens or 32 of 512. What a
# network needs beside its weights grows with them.
_ROOM_FOR_PASSES = 2 * 2048**2
# Passages whose sentences are kept: those of a row are asked about for every claim.
_CACHED_PASSAGES, _LONGEST_CACHED = 64, 200_000


class _Input(NamedTuple):
    """One input of the network. claim: (text, start, end) of the claim in it, where it has one."""

    encoded: Encoded
    window: Sequence[Piece]
    claim: tuple[int, int, int] | None


class LocalEngine:
    """A model without threads: `answer` may be called from several at once."""

    def __init__(
        self, network: Network, encoder: TextEncoder, meaning: Meaning, reading: Reading
    ) -> None:
        self._network, self._encoder = network, encoder
        self._meaning, self._reading = meaning, reading
        self._passes = _PassRoom(_ROOM_FOR_PASSES)
        self._pieces = SharedCache(self._cut_into_pieces, _CACHED_PASSAGES)

    def answer(self, call: MatchCall) -> MatchReply:
        """The reply to one call; the same call gives the same reply, whatever was asked before or
        beside it.

        Nothing to read (no text, or none in all passages) is probability 0. Raises CallError
        ("too_long" for a claim or passages beyond what is read, "bad_reply" for outputs that are no
        numbers).
        """
        started = time.perf_counter()
        reply = MatchReply(0.0)
        if call.text.strip() and any(passage.strip() for passage in call.passages):
            reply = self._read(call)
        spend = Spend(calls=1, cost=0.0, seconds=time.perf_counter() - started)
        return MatchReply(
            reply.probability, reply.evidence, reply.features, spend, reply.unsupported
        )

    def check(self) -> None:
        """Run the network once. Raises ValueError for outputs of another form than the labels', and
        the errors of the network.
        """
        self._run(self._encoder.encode(["a"] * len(self._reading.input)))

    def _read(self, call: MatchCall) -> MatchReply:
        passages = tuple(self._encoder.plain(passage) for passage in call.passages)
        inputs = self._inputs(call, passages)
        outputs = [self._run(each.encoded) for each in inputs]
        if self._meaning.kind == "tokens":
            return self._by_tokens(call, inputs, outputs)
        return self._by_windows(call, inputs, outputs)

    # -- inputs

    def _inputs(self, call: MatchCall, passages: tuple[str, ...]) -> list[_Input]:
        """The inputs of a call, one for each window of its passages."""
        most = self._reading.most_tokens
        bare = self._input(call, passages, ())
        room = min(self._reading.window, most - len(bare.encoded.ids))
        if room < _LEAST_ROOM:
            raise CallError(
                "too_long",
                f"the text takes {len(bare.encoded.ids):,} of the {most:,} tokens that the model"
                " reads, which leaves no room for the passages",
            )
        # Written together, the pieces may have some tokens more than each by itself.
        for _ in range(4):
            inputs = [
                self._input(call, passages, window) for window in self._windows(passages, room)
            ]
            excess = max(len(each.encoded.ids) for each in inputs) - most
            if excess <= 0:
                return inputs
            room = max(_LEAST_ROOM, room - excess)
        raise CallError("too_long", f"no window of the passages fits into {most:,} tokens")

    def _windows(self, passages: tuple[str, ...], room: int) -> list[list[Piece]]:
        if sum(map(len, passages)) <= _LONGEST_CACHED:
            pieces = self._pieces.of(passages)
        else:
            pieces = self._cut_into_pieces(passages)
        windows = windows_of(fitting(passages, pieces, room, self._encoder.count), room)
        if len(windows) > MOST_WINDOWS:
            raise CallError(
                "too_long",
                f"the passages take {len(windows):,} windows of {room:,} tokens, more than the"
                f" {MOST_WINDOWS} that are read",
            )
        return windows

    def _cut_into_pieces(self, passages: tuple[str, ...]) -> list[Piece]:
        return pieces_of(passages, self._encoder.count)

    def _input(self, call: MatchCall, passages: Sequence[str], window: Sequence[Piece]) -> _Input:
        templates = self._reading.input
        if call.task == "support" and not (call.question or "").strip():
            templates = self._reading.input_without_question
        values = self._values(call, passages, window)
        written = [self._encoder.write(template, values) for template in templates]
        claim = None
        for number, text in enumerate(written):
            if "claim" in text.places:
                claim = (number, *text.places["claim"])
        encoded = self._encoder.encode([text.text for text in written])
        return _Input(encoded, window, claim)

    def _values(
        self, call: MatchCall, passages: Sequence[str], window: Sequence[Piece]
    ) -> Mapping[str, str]:
        """What the fields of the templates stand for."""
        parts: list[str] = []
        for piece in window:
            text = passages[piece.passage][piece.start : piece.end]
            values = {"text": text, "number": str(piece.passage + 1)}
            parts.append(self._encoder.write(self._reading.passage, values).text)
        read = "\n".join(parts)
        text = self._encoder.plain(call.text)
        count = str(len(passages))
        if call.task == "support":
            question = self._encoder.plain(call.question or "")
            return {"claim": text, "context": read, "question": question, "count": count}
        if call.task == "relevance":
            return {"question": text, "context": read, "count": count}
        return {"question": text, "response": read}

    # -- outputs

    def _run(self, encoded: Encoded) -> NDArray[np.float64]:
        """Probabilities: [labels], of a token classifier [tokens, labels]."""
        with self._passes.taken(len(encoded.ids) ** 2):
            outputs = self._network.run(encoded.ids, encoded.types)
        outputs = self._of_labels(outputs, len(encoded.ids))
        if not np.isfinite(outputs).all():
            raise CallError("bad_reply", "the model's output is no finite number")
        return _probabilities(outputs.astype(np.float64), self._meaning.activation)

    def _of_labels(self, outputs: Outputs, tokens: int) -> Outputs:
        """The outputs of the labels. Raises ValueError for outputs of another form."""
        meaning = self._meaning
        if meaning.kind == "seq2seq":
            assert meaning.negative is not None
            if outputs.ndim != 1 or max(meaning.positive, meaning.negative) >= len(outputs):
                raise ValueError(f"the output has the shape {outputs.shape}")
            return outputs[[meaning.negative, meaning.positive]]
        expected: tuple[int, ...] = (meaning.outputs,)
        if meaning.kind != "sequence":
            expected = (tokens, meaning.outputs)
        if outputs.shape != expected:
            raise ValueError(
                f"the output of {tokens} tokens has the shape {outputs.shape}, and config.json"
                f" names {meaning.outputs} labels"
            )
        first: Outputs = outputs[0] if meaning.kind == "first_token" else outputs
        return first

    def _by_windows(
        self,
        call: MatchCall,
        inputs: Sequence[_Input],
        probabilities: Sequence[NDArray[np.float64]],
    ) -> MatchReply:
        """The reply of a classifier of texts: the window that says yes most."""
        positive = 1 if self._meaning.kind == "seq2seq" else self._meaning.positive
        yes = [float(each[positive]) for each in probabilities]
        best = int(np.argmax(yes))
        features = {"windows": float(len(inputs))}
        contradicted = self._meaning.contradicted
        if contradicted is not None:
            most = max(probabilities, key=lambda each: float(each[contradicted]))
            other = max(1.0 - float(most[positive]), 1e-9)
            features["contradicted"] = round(min(1.0, float(most[contradicted]) / other), 4)
        evidence: tuple[Evidence, ...] = ()
        # One window is all that there is, which tells a reader nothing.
        if len(inputs) > 1 and yes[best] >= 0.5:
            evidence = tuple(_quote(call, piece) for piece in inputs[best].window)
        return MatchReply(_rounded(yes[best]), evidence, features)

    def _by_tokens(
        self,
        call: MatchCall,
        inputs: Sequence[_Input],
        probabilities: Sequence[NDArray[np.float64]],
    ) -> MatchReply:
        """The reply of a classifier of tokens: a token of the claim is supported as far as the
        window says that supports it most.
        """
        supported: dict[tuple[int, int], float] = {}
        for each, table in zip(inputs, probabilities, strict=True):
            for token, place in _tokens_of_claim(each):
                yes = float(table[token, self._meaning.positive])
                supported[place] = max(supported.get(place, 0.0), yes)
        if not supported:
            return MatchReply(0.0)
        values = list(supported.values())
        whole = float(np.mean(values)) if self._reading.spans == "mean" else min(values)
        doubtful = [_stripped(call.text, place) for place, yes in supported.items() if yes < 0.5]
        features = {"windows": float(len(inputs))}
        spans = joined(call.text, sorted(place for place in doubtful if place[0] < place[1]))
        return MatchReply(_rounded(whole), (), features, unsupported=spans)


def load(parts: Parts) -> LocalEngine:
    """The model of these parts; its weights are read now, and tried on one input.

    Raises EnvironmentFailure E0413 for weights that cannot be loaded or are not those of
    config.json.
    """
    encoder = parts.encoder()
    engine = LocalEngine(open_network(parts), encoder, parts.meaning, parts.reading)
    try:
        engine.check()
    except BaseException as error:
        if not is_fault(error):
            raise
        why = f"it does not run: {type(error).__name__}: {shorten(str(error), 300)}"
        fix = "see that weights, config.json and tokenizer are of one model, and save it again"
        raise unusable(str(parts.folder), why, fix) from error
    return engine


class _PassRoom:
    """How much of the machine the passes that run at the same time may take together. One that is
    larger than all runs alone.
    """

    def __init__(self, room: int) -> None:
        self._room, self._used = room, 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Wait until there is room for so much."""
        with self._changed:
            self._changed.wait_for(lambda: not self._used or self._used + size <= self._room)
            self._used += size
        try:
            yield
        finally:
            with self._changed:
                self._used -= size
                self._changed.notify_all()


def _probabilities(outputs: NDArray[np.float64], activation: str) -> NDArray[np.float64]:
    """Outputs [..., labels] as probabilities. Raises CallError for "none" with outputs that are no
    probabilities.
    """
    if activation == "softmax":
        powers = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
        shares: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
        return shares
    if activation == "sigmoid":
        odds: NDArray[np.float64] = 0.5 * (1.0 + np.tanh(outputs / 2))  # without overflow
        return odds
    if not ((outputs >= -0.001) & (outputs <= 1.001)).all():
        raise CallError(
            "bad_reply", "with activation none, the model's output is no probability in [0, 1]"
        )
    return np.clip(outputs, 0.0, 1.0)


def _tokens_of_claim(each: _Input) -> Iterator[tuple[int, tuple[int, int]]]:
    """(number of the token, its place in the claim) of the tokens of the claim."""
    if each.claim is None:
        return
    text, begin, stop = each.claim
    encoded = each.encoded
    for number, (of, (start, end)) in enumerate(zip(encoded.text, encoded.offsets, strict=True)):
        if of == text and begin < end <= stop and start < stop:
            yield number, (max(start - begin, 0), end - begin)


def _stripped(text: str, place: tuple[int, int]) -> tuple[int, int]:
    """The place without the white space that some tokenizers count to the word behind it."""
    start, end = place
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _quote(call: MatchCall, piece: Piece) -> Evidence:
    quote = call.passages[piece.passage][piece.start : piece.end]
    return Evidence(piece.passage, piece.start, piece.end, quote)


def _rounded(probability: float) -> float:
    return round(min(1.0, max(0.0, probability)), 4)
