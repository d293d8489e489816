"""The words that a token classifier doubts, with the tokenizers that such models have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from ragassay.core import MatchCall
from ragassay.models.local import LocalModel
from ragassay.models.local.engine import LocalEngine
from ragassay.models.local.network import Outputs
from ragassay.models.spans import joined
from support.examples import examples
from support.local_models import classifier

MARKS = ["<pad>", "<unk>", "<s>", "</s>"]
TEXTS = ["The café in Paris is old and 1,000 guests came.", "naïve 😀 dogs bark", "cats sleep"]


def byte_level() -> Tokenizer:
    """As RoBERTa and ModernBERT have it: a blank belongs to the word behind it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=MARKS, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 5, trainer)
    return tokenizer


def sentence_pieces() -> Tokenizer:
    """As T5 and XLM-RoBERTa have it: a blank is a part of the word, and text is normalised."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=80, special_tokens=MARKS, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 5, trainer)
    return tokenizer


@pytest.fixture(params=[byte_level, sentence_pieces])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    tokenizer = request.param()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(mark, MARKS.index(mark)) for mark in ("<s>", "</s>")],
    )
    folder = classifier(
        tmp_path / "m",
        labels=("supported", "hallucinated"),
        tokens=True,
        vocab_size=tokenizer.get_vocab_size(),
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))
    return folder


class Doubting:
    """A network that doubts the tokens in whose places one of these words stands."""

    def __init__(self, folder: Path, claim: str, words: Sequence[str]) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        encoded = self._tokenizer.encode("cats sleep", claim)
        self._doubted = np.zeros(len(encoded.ids), np.float32)
        for word in words:
            start = claim.index(word)
            for number, (first, last) in enumerate(encoded.offsets):
                of_claim = encoded.sequence_ids[number] == 1
                if of_claim and first < start + len(word) and last > start:
                    self._doubted[number] = 1

    def run(self, ids: Sequence[int], types: Sequence[int]) -> Outputs:
        outputs: Outputs = np.stack([1 - self._doubted, self._doubted], axis=1) * 4
        return outputs


def doubted(folder: Path, claim: str, *words: str) -> list[str]:
    """The stretches of the claim that the judge shows, where the model doubts these words."""
    parts = LocalModel(str(folder)).parts
    network = Doubting(folder, claim, words)
    engine = LocalEngine(network, parts.encoder(), parts.meaning, parts.reading)
    reply = engine.answer(MatchCall("support", claim, ("cats sleep",)))
    # a token in doubt: 1 / (1 + e^4)
    assert reply.probability == (0.018 if words else 0.982)
    return [claim[start:end] for start, end in reply.unsupported]


@pytest.mark.parametrize("word", ["café", "Paris", "1,000", "came", "The"])
def test_a_word_is_quoted_whole_and_without_the_blanks_around_it(folder: Path, word: str) -> None:
    claim = "The café in Paris is old and 1,000 guests came."
    assert doubted(folder, claim, word)[0].strip(".") == word


def test_words_next_to_each_other_are_one_stretch_and_others_are_not(folder: Path) -> None:
    claim = "The café in Paris is old"
    assert doubted(folder, claim, "café", "in", "old") == ["café in", "old"]


def test_characters_of_many_bytes_are_quoted_whole(folder: Path) -> None:
    assert doubted(folder, "dogs 😀 bark", "😀") == ["😀"]
    assert doubted(folder, "a naïve dog", "naïve") == ["naïve"]


def test_a_supported_claim_has_no_stretch(folder: Path) -> None:
    assert doubted(folder, "The café in Paris") == []


@pytest.mark.parametrize(
    ("text", "places", "spans"),
    [
        ("a b c", [], ()),
        ("one two", [(0, 3), (4, 7)], ((0, 7),)),
        ("well-known fact", [(0, 4), (5, 10)], ((0, 10),)),
        ("one and two", [(0, 3), (8, 11)], ((0, 3), (8, 11))),
        ("piece", [(0, 5), (0, 5)], ((0, 5),)),
    ],
)
def test_places_beside_each_other_are_joined(
    text: str, places: list[tuple[int, int]], spans: tuple[tuple[int, int], ...]
) -> None:
    assert joined(text, places) == spans


# Any characters, and the words and marks that the models know.
PARTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["tower ", "the ", " is old. ", "[SEP]", "[CLS]", "{claim}", "\n", "\ud800"]),
)
ANY_TEXT = st.lists(PARTS, max_size=15).map("".join)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalModel, LocalModel]:
    """A classifier of texts and one of tokens, with small windows."""
    folder = tmp_path_factory.mktemp("both")
    texts = classifier(folder / "texts", settings={"window": 10, "max_tokens": 400})
    doubts = ((2.0, 0.0, 0.0), (0.0, 2.0, 0.0))
    labels = ("supported", "hallucinated")
    tokens = classifier(
        folder / "tokens", doubts, labels, tokens=True, settings={"window": 10, "max_tokens": 400}
    )
    return LocalModel(str(texts)), LocalModel(str(tokens))


@given(claim=ANY_TEXT, passages=st.lists(ANY_TEXT, max_size=4))
@settings(max_examples=examples(150), deadline=None)
def test_any_text_is_read_and_every_place_is_right(
    both: tuple[LocalModel, LocalModel], claim: str, passages: list[str]
) -> None:
    call = MatchCall("support", claim, tuple(passages))
    for model in both:
        (reply,) = model.score([call])
        assert 0 <= reply.probability <= 1
        assert (reply.probability == 0) or (claim.strip() and any(map(str.strip, passages)))
        for evidence in reply.evidence:
            passage = passages[evidence.context]
            assert passage[evidence.start : evidence.end] == evidence.quote
        ends = [0]
        for start, end in reply.unsupported:
            assert ends[-1] <= start < end <= len(claim)
            ends.append(end)
