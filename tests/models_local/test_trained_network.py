"""A trained network in the form of a user's folder: the one that the offline judge comes with.

Its words, positions and last layer are put around its graph, so that it is a natural language
inference model of 22 million parameters like others, with BERT's vocabulary. What it says as a
local model must be what it says in the package, where other code makes its input.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, compose, helper, numpy_helper
from tokenizers import BertWordPieceTokenizer

from ragassay.core import MatchCall
from ragassay.models.local import LocalModel
from ragassay.models.offline.engine import Engine
from ragassay.models.offline.windows import NetworkInput
from support.local_models import NLI

WEIGHTS = Path(__file__).parents[2] / "src/ragassay/models/offline/weights"
PASSAGE = (
    "The Eiffel Tower was built for the World's Fair of 1889. It is 330 metres tall, and about"
    " seven million people visit it every year."
)
CLAIMS = (
    "The Eiffel Tower was built for a World's Fair.",
    "About seven million people visit the tower every year.",
    "The tower is made of chocolate and stands in Antarctica.",
    "It was built in 1889.",
    "Naïve visitors (some, at least) pay 12.50 €!",
)
MARKS = {"pad_token": "[PAD]", "sep_token": "[SEP]", "unk_token": "[UNK]"}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.load(WEIGHTS)


def around(graph: onnx.ModelProto, arrays: dict[str, NDArray[Any]]) -> onnx.ModelProto:
    """The graph with what comes before and behind it: from ids to three outputs."""
    first = helper.make_graph(
        [
            helper.make_node("Gather", ["words", "input_ids"], ["of_words"]),
            helper.make_node("Gather", ["types", "token_type_ids"], ["of_types"]),
            helper.make_node("Shape", ["input_ids"], ["count"], start=1, end=2),
            helper.make_node("Slice", ["positions", "zero", "count", "zero"], ["of_positions"]),
            helper.make_node("Add", ["of_words", "of_positions"], ["placed"]),
            helper.make_node("Add", ["placed", "of_types"], ["made"]),
        ],
        "before",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, [1, "n"])
            for name in ("input_ids", "token_type_ids")
        ],
        [helper.make_tensor_value_info("made", TensorProto.FLOAT, [1, "n", 384])],
        [numpy_helper.from_array(arrays[name], name) for name in ("words", "types", "positions")]
        + [numpy_helper.from_array(np.array([0], np.int64), "zero")],
    )
    last = helper.make_graph(
        [
            helper.make_node("Squeeze", ["states", "one"], ["state"]),
            helper.make_node("MatMul", ["state", "head"], ["product"]),
            helper.make_node("Add", ["product", "bias"], ["logits"]),
        ],
        "behind",
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, [1, 1, 384])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 3])],
        [
            numpy_helper.from_array(arrays["head"], "head"),
            numpy_helper.from_array(arrays["bias"], "bias"),
            numpy_helper.from_array(np.array([1], np.int64), "one"),
        ],
    )
    opsets, version = graph.opset_import, graph.ir_version
    before, behind = (
        helper.make_model(each, opset_imports=opsets, ir_version=version) for each in (first, last)
    )
    output = graph.graph.output[0].name
    begun = compose.merge_models(before, graph, io_map=[("made", "embedded")], outputs=[output])
    return compose.merge_models(begun, behind, io_map=[(output, "states")])


@pytest.fixture(scope="module")
def folder(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network as a user would have it."""
    folder = tmp_path_factory.mktemp("nli")
    reader = engine.reader
    network = reader._network
    graph = onnx.load(str(WEIGHTS / "judge.onnx"), load_external_data=False)
    outside = [each for each in graph.graph.initializer if each.data_location]
    for each in outside:
        graph.graph.initializer.remove(each)
    for name, value in network._session._values.items():
        graph.graph.initializer.append(numpy_helper.from_array(value.numpy(), name))
    graph.graph.initializer.append(numpy_helper.from_array(np.array([0], np.int64), "keep"))
    for given in [each for each in graph.graph.input if each.name != "embedded"]:
        graph.graph.input.remove(given)
    head, bias = reader._heads["support"]
    arrays = {
        "words": network._words.of(range(len(network._words.packed))),
        "positions": network._positions,
        "types": reader._types,
        "head": np.ascontiguousarray(head),
        "bias": bias,
    }
    onnx.save(around(graph, arrays), str(folder / "model.onnx"))
    tokenizer = BertWordPieceTokenizer(str(WEIGHTS / "vocab.txt"), lowercase=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(MARKS))
    labels = {"0": NLI[0], "1": NLI[2], "2": NLI[1]}
    config = {
        "architectures": ["BertForSequenceClassification"],
        "id2label": labels,
        "max_position_embeddings": len(network._positions),
        "vocab_size": len(network._words.packed),
    }
    (folder / "config.json").write_text(json.dumps(config))
    # It was trained on the claim before the window.
    settings = {"input": ["{claim}", "{context}"]}
    (folder / "ragassay.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("claim", CLAIMS)
def test_it_says_what_it_says_in_the_package(engine: Engine, folder: Path, claim: str) -> None:
    tokenizer = engine.tokenizer
    text, passage = tokenizer.ids(claim, 160), tokenizer.ids(PASSAGE, 224)
    ids = (tokenizer.start, *text, tokenizer.end, *passage, tokenizer.end)
    logits = engine.reader.read(NetworkInput(ids, len(text))).support.astype(np.float64)
    shares = np.exp(logits) / np.exp(logits).sum()
    (reply,) = LocalModel(str(folder)).score([MatchCall("support", claim, (PASSAGE,))])
    assert reply.probability == pytest.approx(float(shares[0]), abs=2e-3)
    contradicted = float(shares[1] / (shares[1] + shares[2]))
    assert reply.features["contradicted"] == pytest.approx(contradicted, abs=2e-3)


def test_it_tells_what_the_passage_says_from_what_it_does_not(folder: Path) -> None:
    calls = [MatchCall("support", claim, (PASSAGE,)) for claim in CLAIMS[:3]]
    first, second, third = (reply.probability for reply in LocalModel(str(folder)).score(calls))
    assert min(first, second) > 0.5 > third


def test_a_long_passage_is_read_in_windows_and_the_evidence_is_found(folder: Path) -> None:
    filler = "Members may borrow up to twelve books at a time, and renew them twice. " * 60
    call = MatchCall("support", CLAIMS[0], (filler, f"{filler}{PASSAGE} {filler}"))
    (reply,) = LocalModel(f"{folder}?window=120").score([call])
    assert reply.features["windows"] > 10
    assert reply.probability > 0.5
    assert [evidence.context for evidence in reply.evidence] == [1]
    assert "Eiffel Tower" in reply.evidence[0].quote
