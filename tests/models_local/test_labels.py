"""Which output means yes: read from names that say it, from the settings, and never guessed."""

from __future__ import annotations

from typing import Any

import pytest

from ragassay.core import SetupError
from ragassay.models.local.labels import Meaning, label_names, meaning_of
from ragassay.models.local.settings import Settings


def config(*labels: str, kind: str = "SequenceClassification", **more: Any) -> dict[str, Any]:
    """config.json of a model with these labels."""
    return {
        "architectures": [f"BertFor{kind}"],
        "id2label": {str(at): label for at, label in enumerate(labels)},
        **more,
    }


def meaning(content: dict[str, Any], **settings: Any) -> Meaning:
    return meaning_of(content, Settings(**settings), "local:m")


def refused(content: dict[str, Any], **settings: Any) -> SetupError:
    with pytest.raises(SetupError) as caught:
        meaning(content, **settings)
    assert caught.value.code == "E0414"
    return caught.value


@pytest.mark.parametrize(
    ("labels", "task", "positive", "contradicted"),
    [
        (("entailment", "neutral", "contradiction"), "support", 0, 2),
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), "support", 2, 0),
        (("entailment", "not_entailment"), "support", 0, None),
        (("not-entailment", "entailment"), "support", 1, None),
        (("Unsupported", "Supported"), "support", 1, None),
        (("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), "support", 0, 1),
        (("hallucinated", "consistent"), "support", 1, None),
        (("contradiction", "entailment"), "support", 1, None),
        (("irrelevant", "relevant"), "relevance", 1, None),
        (("Relevant", "Not relevant"), "relevance", 0, None),
    ],
)
def test_names_that_say_what_they_mean_are_enough(
    labels: tuple[str, ...], task: str, positive: int, contradicted: int | None
) -> None:
    found = meaning(config(*labels))
    assert (found.task, found.positive, found.contradicted) == (task, positive, contradicted)
    assert (found.kind, found.outputs, found.activation) == ("sequence", len(labels), "softmax")


@pytest.mark.parametrize(
    "labels",
    [
        ("LABEL_0", "LABEL_1"),
        ("0", "1"),
        ("no", "yes"),
        ("negative", "positive"),
        ("entailment", "other"),  # one of them is not understood
        ("supported", "entailment"),  # two that mean yes
        ("neutral", "contradiction"),  # none that does
        ("relevant", "unsupported"),  # of two tasks
        ("LABEL_0",),
    ],
)
def test_names_that_do_not_are_an_error_that_says_how_to_give_the_mapping(
    labels: tuple[str, ...],
) -> None:
    error = refused(config(*labels))
    assert ", ".join(labels) in error.why
    assert "?task=" in error.fix
    assert "ragassay.yaml" in error.fix


def test_the_settings_say_it_by_name_or_by_index() -> None:
    unnamed = config("LABEL_0", "LABEL_1")
    for label in ("LABEL_1", "label_1", 1, "1"):
        assert meaning(unnamed, task="support", positive=label).positive == 1
    # A label that is called 1 is meant by its name, although it is the first one.
    assert meaning(config("1", "0"), task="support", positive="1").positive == 0


def test_the_label_alone_leaves_open_what_the_model_judges() -> None:
    assert "task" in refused(config("LABEL_0", "LABEL_1"), positive=1).fix


@pytest.mark.parametrize("label", ["LABEL_2", 2, "supported", "-1"])
def test_a_label_that_the_model_does_not_have_is_refused(label: str | int) -> None:
    error = refused(config("LABEL_0", "LABEL_1"), task="support", positive=label)
    assert "LABEL_0, LABEL_1" in error.why


def test_names_of_another_task_than_the_one_that_is_set_are_not_taken() -> None:
    refused(config("entailment", "not_entailment"), task="relevance")


def test_one_output_needs_its_task_alone() -> None:
    found = meaning(config("LABEL_0"), task="relevance")
    assert (found.positive, found.outputs, found.activation) == (0, 1, "sigmoid")
    assert meaning(config("LABEL_0"), task="support", activation="none").activation == "none"
    assert "softmax" in refused(config("LABEL_0"), task="support", activation="softmax").why


def test_without_names_the_labels_are_numbered() -> None:
    assert label_names({"num_labels": 3}, "m") == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert label_names({}, "m") == ("LABEL_0", "LABEL_1")


def test_names_that_contradict_themselves_are_refused() -> None:
    turned = config("entailment", "contradiction")
    turned["label2id"] = {"entailment": 1, "contradiction": 0}
    assert "entailment is 0 in id2label, and 1 in label2id" in refused(turned).why


@pytest.mark.parametrize("names", [{"1": "a", "2": "b"}, {"x": "a"}, ["a", "b"], "ab", 3])
def test_names_without_numbers_are_refused(names: object) -> None:
    refused({"architectures": ["BertForSequenceClassification"], "id2label": names})


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("DebertaV2ForSequenceClassification", "sequence"),
        ("ModernBertForTokenClassification", "tokens"),
    ],
)
def test_the_architecture_says_what_is_classified(architecture: str, kind: str) -> None:
    content = config("supported", "hallucinated", architectures=[architecture])
    assert meaning(content).kind == kind


@pytest.mark.parametrize("architecture", ["BertModel", "LlamaForCausalLM", "BertForMaskedLM"])
def test_a_model_that_is_no_classifier_is_refused(architecture: str) -> None:
    error = refused(config("supported", "unsupported", architectures=[architecture]))
    assert architecture in error.why
    assert "openai:MODEL" in error.fix


def test_an_encoder_decoder_needs_the_tokens_of_yes_and_no() -> None:
    content = {"architectures": ["T5ForConditionalGeneration"]}
    found = meaning(content, task="support", positive="209", negative=3)
    assert (found.kind, found.positive, found.negative) == ("seq2seq", 209, 3)
    for settings in ({}, {"task": "support", "positive": 209}, {"positive": "yes", "negative": 3}):
        assert "minicheck-flan-t5" in refused(content, **settings).fix


def test_yes_cannot_be_the_contradiction() -> None:
    refused(config("entailment", "neutral", "contradiction"), contradicted="entailment")


def test_outputs_that_do_not_exclude_each_other_have_a_sigmoid_each() -> None:
    several = config("supported", "unsupported", problem_type="multi_label_classification")
    assert meaning(several).activation == "sigmoid"
