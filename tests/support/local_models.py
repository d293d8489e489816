"""Small classifiers in folders, as a user would have them: made by the tests, with known outputs.

The network counts words. Its input is `[CLS] first text [SEP] second text [SEP]`, and of each word
of the second text it sees whether the first one has it:

    shared   how many words of the second text stand in the first
    missing  how many do not

A sequence classifier's output for a label is w[0] * shared + w[1] * missing + w[2]; a token
classifier's for a token is the same with the token's own 1 or 0 for shared and missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
SEP = MARKS.index("[SEP]")
WORDS = tuple(
    re.findall(
        r"\S+",
        "the a is was were in on of and not that who what to paris berlin rome capital france"
        " germany italy tower bridge river built 1889 1999 tall old cats dogs sleep bark all day"
        " . , ? ! : < > / predict passage answer question",
    )
)
NLI = ("entailment", "neutral", "contradiction")
# A logit for each word that is shared, against one for each that is missing.
TWO = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def vocabulary(words: Sequence[str] = WORDS) -> dict[str, int]:
    """Token -> id."""
    return {token: at for at, token in enumerate([*MARKS, *dict.fromkeys(words)])}


def write_tokenizer(folder: Path, words: Sequence[str] = WORDS, *, pair: bool = True) -> None:
    """A tokenizer of whole words in small letters, with BERT's marks around one text or two."""
    from tokenizers import normalizers

    tokens = vocabulary(words)
    tokenizer = Tokenizer(models.WordLevel(tokens, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(MARKS))
    if pair:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(mark, tokens[mark]) for mark in ("[CLS]", "[SEP]")],
        )
    tokenizer.save(str(folder / "tokenizer.json"))
    marks = {
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "eos_token": {"content": "[SEP]", "lstrip": False},
        "model_max_length": 10**30,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(marks))


def write_config(folder: Path, labels: Sequence[str] | None, **more: Any) -> None:
    """config.json of a sequence classifier with these labels; None = without names."""
    config: dict[str, Any] = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "vocab_size": len(vocabulary()),
        "max_position_embeddings": 64,
        "pad_token_id": 0,
    }
    if labels is not None:
        config["id2label"] = {str(at): label for at, label in enumerate(labels)}
        config["label2id"] = {label: at for at, label in enumerate(labels)}
    config.update(more)
    (folder / "config.json").write_text(json.dumps(config))


def counting_graph(
    weights: Sequence[Sequence[float]],
    *,
    tokens: bool = False,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    size: int | None = None,
) -> onnx.ModelProto:
    """The network above in ONNX. weights [labels][shared, missing, constant]."""
    count = size or len(vocabulary())
    is_word = np.ones((1, 1, count), np.float32)
    is_word[..., : len(MARKS)] = 0
    constants: dict[str, Any] = {
        "identity": np.eye(count, dtype=np.float32),
        "is_word": is_word,
        "sep": np.array(SEP, np.int64),
        "one": np.array(1.0, np.float32),
        "axis_tokens": np.array([1], np.int64),
        "axis_words": np.array([2], np.int64),
        "axis": np.array(1, np.int64),
        "weights": np.array(weights, np.float32).T,
    }
    nodes = [
        helper.make_node("Gather", ["identity", "input_ids"], ["hot"]),  # [1, n, words]
        helper.make_node("Mul", ["hot", "is_word"], ["words"]),
        helper.make_node("Equal", ["input_ids", "sep"], ["is_sep"]),
        helper.make_node("Cast", ["is_sep"], ["seps"], to=TensorProto.FLOAT),
        helper.make_node("CumSum", ["seps", "axis"], ["behind"]),
        helper.make_node("Min", ["behind", "one"], ["second"]),  # [1, n]: 1 in the second text
        helper.make_node("Unsqueeze", ["second", "axis_words"], ["in_second"]),
        helper.make_node("Sub", ["one", "in_second"], ["in_first"]),
        helper.make_node("Mul", ["words", "in_first"], ["first_words"]),
        helper.make_node("ReduceMax", ["first_words"], ["seen"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["words", "in_second"], ["second_words"]),
        helper.make_node("Mul", ["second_words", "seen"], ["found"]),
        helper.make_node("ReduceSum", ["found", "axis_words"], ["shared"], keepdims=1),
        helper.make_node("ReduceSum", ["second_words", "axis_words"], ["asked"], keepdims=1),
        helper.make_node("Sub", ["asked", "shared"], ["missing"]),
        helper.make_node("Sub", ["one", "missing"], ["rest"]),
        helper.make_node("Add", ["rest", "missing"], ["constant"]),
        helper.make_node("Concat", ["shared", "missing", "constant"], ["figures"], axis=2),
    ]
    if tokens:
        nodes.append(helper.make_node("MatMul", ["figures", "weights"], ["logits"]))
        shape: list[int | str] = [1, "n", len(weights)]
    else:
        nodes += [
            helper.make_node("ReduceSum", ["shared", "axis_tokens"], ["all_shared"], keepdims=0),
            helper.make_node("ReduceSum", ["missing", "axis_tokens"], ["all_missing"], keepdims=0),
            helper.make_node("ReduceMax", ["constant"], ["all_constant"], axes=[1], keepdims=0),
            helper.make_node(
                "Concat", ["all_shared", "all_missing", "all_constant"], ["sums"], axis=1
            ),
            helper.make_node("MatMul", ["sums", "weights"], ["logits"]),
        ]
        shape = [1, len(weights)]
    graph = helper.make_graph(
        nodes,
        "counting",
        [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "n"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def classifier(
    folder: Path,
    weights: Sequence[Sequence[float]] = TWO,
    labels: Sequence[str] | None = ("supported", "unsupported"),
    *,
    tokens: bool = False,
    words: Sequence[str] = WORDS,
    settings: Mapping[str, Any] | None = None,
    **config: Any,
) -> Path:
    """A folder with a counting classifier in ONNX, its tokenizer and config.json. words: that it
    knows. The folder.
    """
    size = len(vocabulary(words))
    config = {"vocab_size": size, **config}
    folder.mkdir(parents=True, exist_ok=True)
    if tokens:
        config = {"architectures": ["ModernBertForTokenClassification"], **config}
    write_config(folder, labels, **config)
    write_tokenizer(folder, words)
    graph = counting_graph(weights, tokens=tokens, size=size)
    (folder / "model.onnx").write_bytes(graph.SerializeToString())
    if settings is not None:
        (folder / "ragassay.json").write_text(json.dumps(settings))
    return folder
