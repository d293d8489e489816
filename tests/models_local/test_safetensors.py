"""Local models in safetensors, against what transformers itself computes with the same weights.

They need the extra `local` (PyTorch and transformers, over a gigabyte), which the environment of
the other tests does not have: `make test-local` sets up one that does and runs them there.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from ragassay.core import EnvironmentFailure, MatchCall
from ragassay.models.local import LocalModel
from support.local_models import NLI, vocabulary, write_tokenizer

REASON = "the extra 'local' is not installed (PyTorch); make test-local runs these"
torch = pytest.importorskip("torch", reason=REASON)
transformers = pytest.importorskip("transformers", reason=REASON)

PASSAGES = ("The tower is in Paris.", "Cats sleep all day.")
CALL = MatchCall("support", "The tower is old.", PASSAGES)
BERT = {
    "vocab_size": len(vocabulary()),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 66,
    "pad_token_id": 0,
}
T5 = {
    "vocab_size": len(vocabulary()),
    "d_model": 16,
    "d_kv": 8,
    "d_ff": 32,
    "num_layers": 2,
    "num_heads": 2,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
}


def save(folder: Path, architecture: str, config: Any, *, scale: float = 1) -> Any:
    """A model with random weights and a tokenizer in a folder. scale: of its matrices. The
    model.
    """
    torch.manual_seed(1)
    model = getattr(transformers, architecture)(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(scale if weight.ndim > 1 else 1)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return model


def bert(
    folder: Path, *labels: str, family: str = "Bert", head: str = "Sequence", **more: Any
) -> Any:
    """A saved classifier of the BERT kind with these labels."""
    config = getattr(transformers, f"{family}Config")(
        **{**BERT, **more},
        id2label=dict(enumerate(labels)),
        label2id={label: at for at, label in enumerate(labels)},
    )
    # As they are made, the weights are so small that every output is nearly the same.
    return save(folder, f"{family}For{head}Classification", config, scale=8)


def encode(folder: Path, first: str, second: str | None = None) -> dict[str, Any]:
    """What the tokenizer makes of one text or two, as tensors."""
    encoded = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(first, second)
    return {
        "input_ids": torch.tensor([encoded.ids]),
        "attention_mask": torch.ones(1, len(encoded.ids), dtype=torch.long),
        "token_type_ids": torch.tensor([encoded.type_ids]),
    }


def shares(model: Any, **inputs: Any) -> Any:
    """The model's probabilities."""
    with torch.inference_mode():
        return torch.softmax(model(**inputs).logits[0], dim=-1)


def probability(name: object, call: MatchCall = CALL) -> float:
    return LocalModel(str(name)).score([call])[0].probability


JOINED = "\n".join(PASSAGES)


def test_a_pair_has_the_segments_of_its_tokenizer(tmp_path: Path) -> None:
    model = bert(tmp_path, *NLI)
    expected = shares(model, **encode(tmp_path, JOINED, CALL.text))
    assert probability(tmp_path) == pytest.approx(float(expected[0]), abs=1e-4)
    without = encode(tmp_path, JOINED, CALL.text)
    without["token_type_ids"].zero_()
    assert abs(float(shares(model, **without)[0]) - float(expected[0])) > 0.001


@pytest.mark.parametrize("family", ["Roberta", "DebertaV2", "ModernBert", "DistilBert", "Electra"])
def test_other_families_are_read_as_transformers_reads_them(tmp_path: Path, family: str) -> None:
    more: dict[str, Any] = {}
    if family == "Roberta":
        more = {"type_vocab_size": 1}
    if family == "ModernBert":
        more = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    if family == "DistilBert":
        more = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
    model = bert(tmp_path, "unsupported", "supported", family=family, **more)
    inputs = encode(tmp_path, JOINED, CALL.text)
    if family in ("Roberta", "ModernBert", "DistilBert", "DebertaV2"):
        del inputs["token_type_ids"]
    expected = float(shares(model, **inputs)[1])
    assert 0.001 < expected < 0.999
    assert probability(tmp_path) == pytest.approx(expected, abs=1e-4)


def test_the_words_of_a_token_classifier_are_those_that_transformers_finds(tmp_path: Path) -> None:
    model = bert(tmp_path, "supported", "hallucinated", head="Token")
    inputs = encode(tmp_path, JOINED, CALL.text)
    table = shares(model, **inputs)[:, 1]
    claim = [float(p) for p in table[-6:-1]]  # "the tower is old ." before the last mark
    reply = LocalModel(str(tmp_path)).score([CALL])[0]
    assert reply.probability == pytest.approx(1 - max(claim), abs=1e-4)
    words = ["The", "tower", "is", "old", "."]
    doubtful = {word for word, p in zip(words, claim, strict=True) if p > 0.5}
    quoted = " ".join(CALL.text[start:end] for start, end in reply.unsupported)
    assert {word for word in words if word in quoted} == doubtful


def test_of_an_encoder_decoder_the_first_token_that_it_writes_counts(tmp_path: Path) -> None:
    model = save(tmp_path, "T5ForConditionalGeneration", transformers.T5Config(**T5))
    settings = {
        "task": "support",
        "positive": 9,
        "negative": 5,
        "input": "predict: {context}{eos}{claim}",
    }
    (tmp_path / "ragassay.json").write_text(json.dumps(settings))
    inputs = encode(tmp_path, f"predict: {JOINED}[SEP]{CALL.text}")
    del inputs["token_type_ids"]
    with torch.inference_mode():
        logits = model(**inputs, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    expected = float(torch.softmax(logits[[5, 9]], dim=-1)[1])
    assert 0.001 < expected < 0.999
    assert probability(tmp_path) == pytest.approx(expected, abs=1e-4)


def test_a_vocabulary_without_tokenizer_json_is_converted(tmp_path: Path) -> None:
    words = [*vocabulary(), "[MASK]"]
    model = bert(tmp_path, *NLI, vocab_size=len(words))
    expected = shares(model, **encode(tmp_path, JOINED, CALL.text))
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    assert probability(tmp_path) == pytest.approx(float(expected[0]), abs=1e-4)
    version = LocalModel(str(tmp_path)).version
    assert version == LocalModel(str(tmp_path)).version
    words[10], words[11] = words[11], words[10]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    assert LocalModel(str(tmp_path)).version != version


def test_a_folder_with_nothing_to_convert_says_what_is_missing(tmp_path: Path) -> None:
    bert(tmp_path, *NLI)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).unlink()
    with pytest.raises(EnvironmentFailure, match=r"it has no tokenizer\.json") as caught:
        _ = LocalModel(str(tmp_path)).version
    assert caught.value.code == "E0413"


def hhem_like(folder: Path, base: Path) -> Any:
    """Weights of a T5 encoder under a prefix, with a config.json that names code of its own, and
    the network's config.json and tokenizer in another folder. The network.
    """
    from safetensors.torch import save_file

    network = save(base, "T5ForTokenClassification", transformers.T5Config(**T5, num_labels=2))
    (base / "model.safetensors").unlink()
    folder.mkdir()
    weights = {
        f"t5.{name}": value.clone()
        for name, value in network.state_dict().items()
        if "embed_tokens" not in name  # it is the same table as `shared`
    }
    save_file(weights, folder / "model.safetensors")
    (folder / "modeling_hhem_v2.py").write_text("open('ran', 'w')\nraise SystemExit('it ran')\n")
    config = {
        "architectures": ["HHEMv2ForSequenceClassification"],
        "auto_map": {"AutoModel": "modeling_hhem_v2.HHEMv2ForSequenceClassification"},
        "model_type": "HHEMv2Config",
    }
    (folder / "config.json").write_text(json.dumps(config))
    return network


def test_an_hhem_is_read_without_its_own_code(tmp_path: Path) -> None:
    network = hhem_like(tmp_path / "hhem", tmp_path / "base")
    prompt = (
        "[PAD] Determine if the hypothesis is true given the premise?\n\nPremise:"
        f" {JOINED}\n\nHypothesis: {CALL.text}"
    )
    inputs = encode(tmp_path / "base", prompt)
    del inputs["token_type_ids"]
    expected = float(shares(network, **inputs)[0, 1])
    found = probability(f"{tmp_path}/hhem?base={tmp_path}/base")
    assert found == pytest.approx(expected, abs=1e-4)


def fails(name: object) -> EnvironmentFailure:
    model = LocalModel(str(name))
    assert model.version
    with pytest.raises(EnvironmentFailure) as caught:
        asyncio.run(model.call(CALL))
    assert caught.value.code == "E0413"
    return caught.value


def test_weights_that_lack_a_layer_are_an_error_and_are_not_made_up(tmp_path: Path) -> None:
    bert(tmp_path, *NLI)
    transformers.BertModel(transformers.BertConfig(**BERT)).save_pretrained(tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").replace(tmp_path / "model.safetensors")
    assert "classifier.weight" in fails(tmp_path).why


def test_weights_of_an_hhem_that_lack_a_layer_are_an_error(tmp_path: Path) -> None:
    hhem_like(tmp_path / "hhem", tmp_path / "base")
    why = fails(f"{tmp_path}/hhem?base={tmp_path}/base&prefix=t6.").why
    assert "model.safetensors lacks transformer.shared.weight" in why


def test_weights_of_another_form_than_the_config_are_an_error(tmp_path: Path) -> None:
    bert(tmp_path, *NLI)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "intermediate_size": 48}))
    fails(tmp_path)


@pytest.mark.parametrize("cut", [0, 100, -100])
def test_damaged_weights_are_an_error(tmp_path: Path, cut: int) -> None:
    bert(tmp_path, *NLI)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    assert "cannot be loaded" in fails(tmp_path).why


def test_a_model_that_needs_code_of_its_own_is_refused_and_the_code_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bert(tmp_path, *NLI)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {
            "AutoConfig": "own.OwnConfig",
            "AutoModelForSequenceClassification": "own.Own",
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "own.py").write_text("open('ran', 'w')\n")
    fails(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_weights_in_parts_are_read(tmp_path: Path) -> None:
    model = bert(tmp_path, *NLI)
    whole = probability(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    assert probability(tmp_path) == whole


def test_nothing_is_printed_and_the_users_own_threads_are_left_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bert(tmp_path, *NLI)
    threads = torch.get_num_threads()
    capfd.readouterr()
    probability(tmp_path)
    assert capfd.readouterr() == ("", "")
    assert torch.get_num_threads() == threads
    assert transformers.utils.logging.is_progress_bar_enabled()


def test_the_same_call_has_the_same_reply_whatever_runs_beside_it(tmp_path: Path) -> None:
    bert(tmp_path, *NLI)
    calls = [MatchCall("support", f"The tower is {'old ' * n}", PASSAGES) for n in range(12)]
    alone = [probability(tmp_path, call) for call in calls]
    together = LocalModel(str(tmp_path), threads=4).score(calls * 5)
    assert [reply.probability for reply in together] == alone * 5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_gives_nearly_the_same(tmp_path: Path) -> None:
    bert(tmp_path, *NLI)
    assert probability(f"{tmp_path}?device=cuda") == pytest.approx(probability(tmp_path), abs=1e-3)
