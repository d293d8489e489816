"""What exactly a local model is given to read, token by token."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from ragassay.core import CallError, MatchCall
from ragassay.models.local import LocalModel
from ragassay.models.local.engine import MOST_WINDOWS, LocalEngine
from ragassay.models.local.network import Outputs
from ragassay.models.local.parts import Parts
from ragassay.models.local.tokens import most_tokens
from support.local_models import classifier, write_config

PASSAGES = ("The tower is in Paris.", "Cats sleep.")
CLAIM = MatchCall("support", "The tower is old.", PASSAGES, "What is old?")


class Recorder:
    """A network that keeps what it is given, and finds every label as probable."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tokenizer = Tokenizer.from_file(str(parts.tokenizer / "tokenizer.json"))
        self.read: list[str] = []
        self.types: list[Sequence[int]] = []

    def run(self, ids: Sequence[int], types: Sequence[int]) -> Outputs:
        self.read.append(" ".join(str(self._tokenizer.id_to_token(token)) for token in ids))
        self.types.append(types)
        outputs = self._parts.meaning.outputs
        shape = (outputs,) if self._parts.meaning.kind == "sequence" else (len(ids), outputs)
        if self._parts.meaning.kind == "seq2seq":
            shape = (300,)
        return np.zeros(shape, np.float32)


def read_by(name: str, call: MatchCall = CLAIM) -> Recorder:
    """What the model of this name is given for a call."""
    parts = LocalModel(name).parts
    recorder = Recorder(parts)
    LocalEngine(recorder, parts.encoder(), parts.meaning, parts.reading).answer(call)
    return recorder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return classifier(tmp_path / "m", labels=None, max_position_embeddings=512)


def test_a_pair_is_the_passages_and_the_claim(folder: Path) -> None:
    recorder = read_by(f"{folder}?task=support&positive=1")
    assert recorder.read == [
        "[CLS] the tower is in paris . cats sleep . [SEP] the tower is old . [SEP]"
    ]
    assert recorder.types == [[0] * 11 + [1] * 6]


def test_minicheck_reads_one_text_with_an_end_mark_between(folder: Path) -> None:
    recorder = read_by(f"{folder}?like=minicheck")
    assert recorder.read == [
        "[CLS] the tower is in paris . cats sleep . [SEP] the tower is old . [SEP]"
    ]
    assert recorder.types == [[0] * 17]  # one text


def test_minicheck_reads_parts_of_400_tokens(folder: Path) -> None:
    passage = " ".join(["Cats sleep all day."] * 150)  # 5 tokens each: 80 of them are 400
    recorder = read_by(f"{folder}?like=minicheck", MatchCall("support", "Cats", (passage,)))
    assert [text.count("cats") - 1 for text in recorder.read] == [80, 70]


def test_lettucedetect_reads_its_prompt_and_the_claim(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", labels=None, tokens=True)
    (read,) = read_by(f"{folder}?like=lettucedetect&max_tokens=200").read
    prompt, claim, end = read.split(" [SEP]")
    # words that the small tokenizer does not know are [UNK]
    assert "answer the [UNK] question : what is old ?" in prompt
    assert "passage [UNK] : the tower is in paris . passage [UNK] : cats sleep ." in prompt
    assert (claim, end) == (" the tower is old .", "")


def test_without_a_question_it_reads_the_prompt_of_a_summary(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", labels=None, tokens=True)
    for question in (None, " "):
        call = MatchCall("support", "The tower is old.", PASSAGES, question)
        (read,) = read_by(f"{folder}?like=lettucedetect&max_tokens=200", call).read
        assert "question" not in read
        assert "passage [UNK] : cats sleep ." in read


def test_hhem_reads_its_prompt_behind_a_padding_mark(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", labels=None, tokens=True, model_type="HHEMv2Config")
    model = LocalModel(str(folder))
    assert (model.parts.meaning.kind, model.parts.meaning.positive) == ("first_token", 1)
    (read,) = read_by(str(folder)).read
    assert read.startswith("[CLS] [PAD] [UNK] [UNK] the [UNK]")
    assert read.endswith("[UNK] : the tower is old . [SEP]")


def test_of_the_first_token_its_class_counts(tmp_path: Path) -> None:
    # Of the mark at the beginning nothing is shared or missing: the outputs are the constants.
    folder = classifier(
        tmp_path / "m",
        ((9, 9, 0), (9, 9, 1)),
        labels=None,
        tokens=True,
        settings={"kind": "first_token", "task": "support", "positive": 1},
    )
    # e^1 / (1 + e^1)
    assert LocalModel(str(folder)).score([CLAIM])[0].probability == 0.7311


def test_a_reranker_reads_the_question_and_the_passage(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", ((1, 0, 0),), labels=None, num_labels=1)
    call = MatchCall("relevance", "What is old?", ("The tower is in Paris.",))
    recorder = read_by(f"{folder}?like=reranker", call)
    assert recorder.read == ["[CLS] what is old ? [SEP] the tower is in paris . [SEP]"]


def test_the_fit_of_an_answer_is_read_beside_its_question(folder: Path) -> None:
    call = MatchCall("answer", "What is old?", ("The tower is old.",))
    recorder = read_by(f"{folder}?task=answer&positive=1", call)
    assert recorder.read == ["[CLS] what is old ? [SEP] the tower is old . [SEP]"]


def test_braces_in_a_text_are_a_part_of_it(folder: Path) -> None:
    call = MatchCall("support", "old {claim} {0}", ("tower {context} }{",))
    (read,) = read_by(f"{folder}?like=minicheck", call).read
    assert (
        read
        == "[CLS] tower [UNK] [UNK] [UNK] [UNK] [SEP] old [UNK] [UNK] [UNK] [UNK] [UNK] [UNK] [SEP]"
    )


@pytest.mark.parametrize("mark", ["[SEP]", "[CLS]", "[PAD]", "[SEP][SEP]", "[[SEP]"])
def test_a_mark_in_a_text_is_no_mark(folder: Path, mark: str) -> None:
    call = MatchCall("support", f"old {mark} tower", (f"cats {mark} dogs",), f"what {mark}?")
    (read,) = read_by(f"{folder}?like=minicheck", call).read
    assert read.count("[SEP]") == 2
    assert (read.count("[CLS]"), read.count("[PAD]")) == (1, 0)
    assert read.startswith("[CLS] cats")
    assert read.endswith("tower [SEP]")


def test_texts_that_are_no_unicode_are_read(folder: Path) -> None:
    call = MatchCall("support", "old \ud800 tower", ("cats \udfff",))
    (read,) = read_by(f"{folder}?like=minicheck", call).read
    assert read == "[CLS] cats [UNK] [SEP] old [UNK] tower [SEP]"


def test_no_input_is_longer_than_the_model_reads(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", max_position_embeddings=40)
    passages = ("The tower is in Paris. " * 30, "Cats sleep all day. " * 10)
    recorder = read_by(str(folder), MatchCall("support", "The tower is old.", passages))
    assert max(len(text.split()) for text in recorder.read) <= 40
    assert sum(text.count("paris") for text in recorder.read) == 30
    assert sum(text.count("cats") for text in recorder.read) == 10


@pytest.mark.parametrize(
    ("claim", "passage", "says"),
    [
        ("tower " * 60, "Cats sleep.", "leaves no room for the passages"),
        ("tower", "Cats sleep all day. " * 2000, f"more than the {MOST_WINDOWS} that are read"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_the_row(
    tmp_path: Path, claim: str, passage: str, says: str
) -> None:
    folder = classifier(tmp_path / "m")  # reads 64 tokens
    with pytest.raises(CallError, match=says) as caught:
        read_by(str(folder), MatchCall("support", claim, (passage,)))
    assert caught.value.kind == "too_long"
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("config", "tokenizer", "most"),
    [
        ({"max_position_embeddings": 512}, {}, 512),
        ({"max_position_embeddings": 512}, {"model_max_length": 256}, 256),
        ({"max_position_embeddings": 512}, {"model_max_length": 1e30}, 512),
        # Two of RoBERTa's positions are those before the padding's.
        ({"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}, {}, 512),
        ({"max_position_embeddings": 8192}, {}, 4096),
        ({"n_positions": 1024}, {}, 1024),
        ({}, {}, 512),
        ({"max_position_embeddings": True}, {"model_max_length": "512"}, 512),
    ],
)
def test_how_much_a_model_reads_is_the_least_that_its_files_say(
    tmp_path: Path, config: dict[str, object], tokenizer: dict[str, object], most: int
) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    assert most_tokens(config, tmp_path) == most


def test_a_longer_input_may_be_set(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m")
    write_config(folder, ("supported", "unsupported"))
    assert LocalModel(f"{folder}?max_tokens=300").parts.reading.most_tokens == 300
