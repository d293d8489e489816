"""The files of a local model: which are read, which are refused, and what each fault says."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ragassay.core import CallError, EnvironmentFailure, MatchCall, RagAssayError, SetupError
from ragassay.models.local import LocalModel
from ragassay.models.local.folder import find_weights
from support.local_models import classifier, counting_graph, write_config, write_tokenizer

CALL = MatchCall("support", "The tower is old.", ("The tower is in Paris.",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return classifier(tmp_path / "model")


def refused(name: str | Path, code: str = "E0413", **options: Any) -> RagAssayError:
    """What the planning of a run says, before any weight is loaded."""
    with pytest.raises((SetupError, EnvironmentFailure)) as caught:
        _ = LocalModel(str(name), **options).version
    assert caught.value.code == code
    return caught.value


def fails(folder: Path) -> EnvironmentFailure:
    """What the first call says of a folder that passes the planning."""
    model = LocalModel(str(folder))
    assert model.version
    with pytest.raises(EnvironmentFailure) as caught:
        asyncio.run(model.call(CALL))
    assert caught.value.code == "E0413"
    assert str(folder) in caught.value.where
    return caught.value


# -- which files


def test_a_graph_in_the_folder_of_the_hubs_exports_is_found(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    (folder / "onnx" / "model_quantized.onnx").write_bytes(b"another precision")
    assert LocalModel(str(folder)).score([CALL])[0].probability == 0.9526


def test_the_only_graph_of_another_name_is_found_and_several_are_not(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "small.onnx")
    assert find_weights(folder, None).files == (folder / "small.onnx",)
    shutil.copy(folder / "small.onnx", folder / "large.onnx")
    error = refused(folder)
    assert "large.onnx, small.onnx" in error.why
    assert "file" in error.fix
    assert LocalModel(f"{folder}?file=small.onnx").score([CALL])[0].probability == 0.9526


def test_onnx_is_taken_before_safetensors(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")
    assert find_weights(folder, None).format == "onnx"
    assert find_weights(folder, "model.safetensors").format == "safetensors"


def test_weights_in_parts_are_all_found(tmp_path: Path) -> None:
    index = {
        "weight_map": {
            "a": "model-2.safetensors",
            "b": "model-1.safetensors",
            "c": "model-1.safetensors",
        }
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "model-1.safetensors").write_bytes(b"1")
    with pytest.raises(EnvironmentFailure, match=r"model-2\.safetensors"):
        find_weights(tmp_path, None)
    (tmp_path / "model-2.safetensors").write_bytes(b"2")
    names = [path.name for path in find_weights(tmp_path, None).files]
    assert names == ["model.safetensors.index.json", "model-1.safetensors", "model-2.safetensors"]


@pytest.mark.parametrize("name", ["../other.safetensors", "weights.bin"])
def test_a_list_of_parts_cannot_lead_out_of_the_folder_or_to_another_format(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / name).write_bytes(b"")
    index = {"weight_map": {"a": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(EnvironmentFailure, match="E0413"):
        find_weights(folder, None)


def test_weights_beside_the_graph_are_read_and_are_part_of_the_version(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m")
    version = LocalModel(str(folder)).version
    graph = counting_graph(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    onnx.save_model(
        graph,
        str(folder / "model.onnx"),
        save_as_external_data=True,
        location="model.onnx_data",
        size_threshold=512,
    )
    files = find_weights(folder, None).files
    assert [path.name for path in files] == ["model.onnx", "model.onnx_data"]
    model = LocalModel(str(folder))
    assert model.score([CALL])[0].probability == 0.9526
    assert model.version != version


# -- formats that are refused


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "tf_model.h5", "model.ckpt"])
def test_formats_whose_reading_may_run_code_are_refused(folder: Path, name: str) -> None:
    (folder / "model.onnx").rename(folder / name)
    error = refused(folder)
    assert name in error.why
    assert "may run code" in error.why
    assert "safetensors" in error.fix
    assert refused(f"{folder}?file={name}").code == "E0413"


@pytest.mark.parametrize("name", ["../model.onnx", "/etc/model.onnx", "missing.onnx"])
def test_a_file_outside_of_the_folder_or_not_there_is_refused(folder: Path, name: str) -> None:
    refused(f"{folder}?file={name}")


# -- what is missing or damaged


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("config.json", "E0413", "it has no config.json"),
        ("tokenizer.json", "E0413", "it has no tokenizer.json"),
        ("model.onnx", "E0413", "neither model.onnx nor model.safetensors"),
    ],
)
def test_a_missing_file_is_named(folder: Path, name: str, code: str, says: str) -> None:
    (folder / name).unlink()
    assert says in refused(folder, code).why


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"\xff\xfe\x00", b'{"a": ' + b"[" * 100_000]
)
def test_a_damaged_file_is_named_before_the_first_call(
    folder: Path, name: str, content: bytes
) -> None:
    (folder / name).write_bytes(content)
    assert name in refused(folder).why


@pytest.mark.parametrize("cut", [0, 100, -10])
def test_a_damaged_graph_is_an_error_of_the_model_and_not_of_a_row(folder: Path, cut: int) -> None:
    content = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(content[:cut] if cut else b"no graph at all")
    assert "model.onnx cannot be loaded" in fails(folder).why


def test_a_tokenizer_with_more_tokens_than_the_model_is_of_another_model(folder: Path) -> None:
    write_config(folder, ("supported", "unsupported"), vocab_size=20)
    why = refused(folder).why
    assert "the model knows 20" in why


def test_a_tokenizer_without_its_vocabulary_is_refused(folder: Path) -> None:
    write_tokenizer(folder, words=["the"])
    assert "the tokenizer has 5 tokens" in refused(folder).why


def test_outputs_of_another_number_than_the_labels_are_an_error(folder: Path) -> None:
    write_config(folder, ("entailment", "neutral", "contradiction"))
    why = fails(folder).why
    assert "shape (2,)" in why
    assert "3 labels" in why


def test_outputs_of_each_token_where_one_is_expected_are_an_error(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", tokens=True)
    write_config(folder, ("supported", "hallucinated"))
    assert "shape" in fails(folder).why


def test_a_graph_with_other_inputs_is_an_error(folder: Path) -> None:
    graph = counting_graph(((1, 0, 0), (0, 1, 0)), inputs=("input_ids", "pixel_values"))
    (folder / "model.onnx").write_bytes(graph.SerializeToString())
    assert "pixel_values" in fails(folder).why


def test_outputs_that_are_no_numbers_are_an_error(tmp_path: Path) -> None:
    # Already the model's trial finds it, where every output is NaN.
    folder = classifier(tmp_path / "m", ((float("nan"), 0, 0), (0, 1, 0)))
    assert "no finite number" in fails(folder).why


def test_one_row_whose_outputs_are_no_numbers_loses_that_row_alone(tmp_path: Path) -> None:
    # 3e38 * shared is beyond the numbers of 32 bit from the second shared word on
    folder = classifier(tmp_path / "m", ((3e38, 0, 0), (0, 1, 0)))
    model = LocalModel(str(folder))
    one, two = (
        MatchCall("support", "tower", ("the tower",)),
        MatchCall("support", "the tower", ("the tower",)),
    )

    async def both() -> tuple[float, str]:
        first = await model.call(one)
        with pytest.raises(CallError) as caught:
            await model.call(two)
        return first.probability, caught.value.kind

    with np.errstate(all="ignore"):
        assert asyncio.run(both()) == (1.0, "bad_reply")


def test_a_tokenizer_without_marks_between_two_texts_is_refused(folder: Path) -> None:
    write_tokenizer(folder, pair=False)
    error = refused(folder)
    assert "no mark between two texts" in error.why
    assert "{eos}" in error.fix
    # As one text with its mark in between it can be read.
    written = "input={context}{eos}{claim}"
    assert LocalModel(f"{folder}?{written}").score([CALL])[0].probability == 0.9526


def test_a_mark_that_the_tokenizer_does_not_have_is_refused(folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()
    error = refused(f"{folder}?input={{context}}{{eos}}{{claim}}", "E0414")
    assert "no eos token" in error.why


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{context}", "{claim} must stand in it once"),
        ("{claim} {claim} {context}", "{claim} must stand in it once"),
        ("{context} {claim} {answer}", "{answer} is none of"),
    ],
)
def test_an_input_must_have_the_fields_of_its_task(folder: Path, text: str, says: str) -> None:
    assert says in refused(f"{folder}?input={text}", "E0414").why


def test_a_classifier_of_tokens_judges_support_only(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", labels=("a", "b"), tokens=True)
    refused(f"{folder}?task=relevance&positive=a", "E0414")


# -- names


@pytest.mark.parametrize(
    "name", ["./nowhere", "/nowhere", "~nobody/m", "nowhere", "a/b/c", "", " "]
)
def test_what_is_neither_a_folder_nor_a_name_of_the_hub_is_refused(name: str) -> None:
    assert refused(name, "E0414", no_network=True).exit_code == 2


def test_a_file_is_no_folder(folder: Path) -> None:
    assert "name the folder" in refused(folder / "model.onnx", "E0414").why


# -- libraries


def test_safetensors_without_pytorch_say_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "model.onnx").rename(folder / "model.safetensors")
    monkeypatch.setattr("ragassay.models.local.parts.find_spec", lambda _: None)
    error = refused(folder, "E0105")
    assert "torch and transformers" in error.what
    assert "pip install 'ragassay[local]'" in error.fix


def test_without_the_tokenizers_library_the_error_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    assert "ragassay[local-onnx]" in refused(folder, "E0105").fix


# -- the version


def test_the_same_files_in_another_place_are_the_same_model(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert LocalModel(str(tmp_path / "elsewhere")).version == LocalModel(str(folder)).version


@pytest.mark.parametrize(
    "query",
    [
        "task=support&positive=1",
        "window=20",
        "max_tokens=40",
        "activation=sigmoid",
        "passage={number} {text}",
    ],
)
def test_how_it_is_asked_is_part_of_the_version(folder: Path, query: str) -> None:
    assert LocalModel(f"{folder}?{query}").version != LocalModel(str(folder)).version


@pytest.mark.parametrize(
    "query", ["task=support", "positive=supported&task=support", "cut=0.3", "spans=max"]
)
def test_what_changes_no_probability_is_not(folder: Path, query: str) -> None:
    assert LocalModel(f"{folder}?{query}").version == LocalModel(str(folder)).version


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_each_file_is_part_of_the_version(folder: Path, name: str) -> None:
    before = LocalModel(str(folder)).version
    content = (folder / name).read_bytes()
    if name == "model.onnx":
        changed = counting_graph(((1, 0, 0), (0, 1, 0.5))).SerializeToString()
    else:
        changed = content.replace(b'"', b' "', 1)
    (folder / name).write_bytes(changed)
    assert LocalModel(str(folder)).version != before
