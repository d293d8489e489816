"""Settings of a local model: in the URI, in a file beside it, from the family."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.core import SetupError
from ragassay.models.local.settings import (
    Settings,
    families,
    family_of,
    make_settings,
    read_settings,
    split_uri,
)


def refused(content: dict[object, object]) -> str:
    with pytest.raises(SetupError) as caught:
        make_settings(content, "here")
    assert (caught.value.code, caught.value.where) == ("E0414", "here")
    return caught.value.why


def test_a_uri_holds_them_behind_a_question_mark() -> None:
    assert split_uri("models/m") == ("models/m", Settings())
    name, settings = split_uri("org/m@v1?task=support&positive=LABEL_1&cut=0.3&window=200")
    assert name == "org/m@v1"
    assert settings == Settings(task="support", positive="LABEL_1", cut=0.3, window=200)


@pytest.mark.parametrize("query", ["task", "task=support&task=support", "=x", "positive="])
def test_a_uri_that_cannot_be_read_is_refused(query: str) -> None:
    with pytest.raises(SetupError) as caught:
        split_uri(f"m?{query}")
    assert caught.value.code == "E0414"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ragassay.yaml", "task: support\npositive: 1\ninput: ['{context}', '{claim}']\n"),
        ("ragassay.json", '{"task": "support", "positive": 1, "input": ["{context}", "{claim}"]}'),
    ],
)
def test_a_file_beside_the_model_holds_them(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    expected = Settings(task="support", positive=1, input=("{context}", "{claim}"))
    assert read_settings(tmp_path) == expected


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == Settings()


@pytest.mark.parametrize("text", ["- task", "task: [", "\xff\xfe", "just text", ""])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ragassay.yaml").write_bytes(text.encode("latin-1"))
    with pytest.raises(SetupError) as caught:
        read_settings(tmp_path)
    assert (caught.value.code, caught.value.where) == ("E0414", str(tmp_path / "ragassay.yaml"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task", "grounding"),
        ("kind", "causal"),
        ("positive", True),
        ("positive", 1.0),
        ("negative", -1),
        ("activation", "relu"),
        ("input", []),
        ("input", ["a", "b", "c"]),
        ("input", "{context"),
        ("input", "{context!r} {claim}"),
        ("input", "{0}"),
        ("passage", "no field"),
        ("passage", "{text} {claim}"),
        ("max_tokens", 8),
        ("max_tokens", 12.5),
        ("max_tokens", True),
        ("window", "many"),
        ("cut", 0),
        ("cut", 1),
        ("cut", "nan"),
        ("cut", None),
        ("spans", "median"),
        ("like", "gpt"),
        ("file", ""),
        ("device", 3),
    ],
)
def test_a_value_that_cannot_be_is_named(name: str, value: object) -> None:
    assert refused({name: value}).startswith(f"{name}: ")


def test_a_setting_that_there_is_not_is_named_with_the_nearest() -> None:
    why = refused({"positve": 1})
    assert "positve" in why
    assert "Did you mean 'positive'?" in why


def test_what_is_nearer_to_the_user_counts_first() -> None:
    uri, file = Settings(cut=0.3), Settings(cut=0.4, task="support")
    assert uri.over(file) == Settings(cut=0.3, task="support")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("lytang/MiniCheck-RoBERTa-Large", "minicheck"),
        ("lytang/MiniCheck-DeBERTa-v3-Large", "minicheck"),
        ("lytang/MiniCheck-Flan-T5-Large", "minicheck-flan-t5"),
        ("vectara/hallucination_evaluation_model", "hhem"),
        ("KRLabsOrg/lettucedect-base-modernbert-en-v1", "lettucedetect"),
        ("KRLabsOrg/tinylettuce-ettin-68m-en", "lettucedetect"),
        ("cross-encoder/ms-marco-MiniLM-L6-v2", "reranker"),
        ("BAAI/bge-reranker-v2-m3", "reranker"),
    ],
)
def test_published_models_are_known_by_their_name_on_the_hub(name: str, family: str) -> None:
    found = family_of(None, name, "")
    assert found is not None
    assert found.name == family


@pytest.mark.parametrize(
    "name", ["somebody/MiniCheck-RoBERTa-Large", "cross-encoder/stsb-roberta-base", "", "org/m"]
)
def test_other_names_are_of_no_family(name: str) -> None:
    assert family_of(None, name, "roberta") is None


def test_a_family_is_named_by_hand_or_known_by_the_type_of_the_model() -> None:
    named, typed = family_of("minicheck", "", ""), family_of(None, "", "HHEMv2Config")
    assert named is not None
    assert typed is not None
    assert (named.name, typed.name) == ("minicheck", "hhem")


def test_each_family_names_its_source_and_what_it_asks() -> None:
    for family in families().values():
        assert family.source
        assert family.settings.task is not None
        assert family.settings.input is not None
