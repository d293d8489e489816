"""What the outputs of a classifier mean: which task, which of them is a yes.

It follows from the settings and from the names of the labels in config.json. Names that do not say
it, such as LABEL_1, are an error and never guessed: the judge would say the opposite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ragassay.core import SetupError, shorten
from ragassay.models.local.settings import TASKS, Settings, unreadable

# Architecture of config.json -> what it classifies.
_KINDS = {
    "ForSequenceClassification": "sequence",
    "ForTokenClassification": "tokens",
    "ForConditionalGeneration": "seq2seq",
}


@cache
def known_names() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Task -> "yes", "no" and "contradicted" -> the plain names of such labels (labels.yaml)."""
    path = Path(__file__).with_name("labels.yaml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    known: dict[str, Mapping[str, frozenset[str]]] = {}
    for task, kinds in content.items():
        known[task] = {kind: frozenset(names.split()) for kind, names in kinds.items()}
    return known


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a model's outputs mean.

    outputs: how many labels there are. positive: the index of the yes; of "seq2seq" the token's id,
    and `negative` that of the no. contradicted: the index of a contradiction, None without one.
    activation: what makes probabilities of the outputs.
    """

    task: str
    kind: str
    outputs: int
    positive: int
    negative: int | None
    contradicted: int | None
    activation: str


def meaning_of(config: Mapping[str, Any], settings: Settings, where: str) -> Meaning:
    """The meaning of a model's outputs. config: config.json. Raises SetupError E0414 where it is
    not clear or contradicts itself.
    """
    kind = settings.kind or _kind(config, where)
    if kind == "seq2seq":
        return _of_tokens(settings, where)
    labels = label_names(config, where)
    positive = None
    if settings.positive is not None:
        positive = _index(settings.positive, labels, where)
    task = settings.task
    if len(labels) == 1:
        positive = 0
    elif positive is None:
        task, positive = _by_names(labels, task, where)
    if task is None:
        raise _unclear(labels, where)
    contradicted = _contradicted(settings, labels, where) if task == "support" else None
    if contradicted == positive:
        raise unreadable(where, "the label that means yes is the one that means contradicted")
    activation = settings.activation or _activation(config, len(labels))
    if activation == "softmax" and len(labels) == 1:
        raise unreadable(where, "activation: of one output, softmax is always 1")
    return Meaning(task, kind, len(labels), positive, None, contradicted, activation)


def label_names(config: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The names of the labels of config.json, by index. Without names they are LABEL_0, LABEL_1,
    and so on.

    Raises SetupError E0414 where id2label and label2id contradict each other.
    """
    by_index = config.get("id2label")
    if by_index is None:
        count = config.get("num_labels", 2)
        return tuple(f"LABEL_{index}" for index in range(int(count)))
    try:
        names = {int(index): str(name) for index, name in dict(by_index).items()}
        labels = tuple(names[index] for index in range(len(names)))
        inverse = {str(name): int(i) for name, i in dict(config.get("label2id") or {}).items()}
    except (KeyError, TypeError, ValueError):
        raise unreadable(where, "id2label of config.json does not number the labels") from None
    for index, name in enumerate(labels):
        if inverse.get(name, index) != index:
            why = f"config.json: {name} is {index} in id2label, and {inverse[name]} in label2id"
            raise unreadable(where, why)
    return labels


def _kind(config: Mapping[str, Any], where: str) -> str:
    architectures = [str(name) for name in config.get("architectures") or ()]
    for name in architectures:
        for ending, kind in _KINDS.items():
            if name.endswith(ending):
                return kind
    named = ", ".join(architectures) or "no architecture"
    raise SetupError(
        "E0414",
        "The local model is no classifier.",
        where=where,
        why=f"config.json names {shorten(named, 80)}",
        fix=(
            "use a sequence or token classifier; a language model is served with vLLM, llama.cpp or"
            " Ollama and named as openai:MODEL with --base-url"
        ),
    )


def _of_tokens(settings: Settings, where: str) -> Meaning:
    """The meaning of a model that writes one token for yes and one for no."""
    try:
        positive = int(settings.positive if settings.positive is not None else "")
    except ValueError:
        positive = -1
    if settings.task is None or settings.negative is None or positive < 0:
        raise SetupError(
            "E0414",
            "Nothing says which tokens of the local model mean yes and no.",
            where=where,
            why="it is an encoder-decoder, which has no labels",
            fix=(
                "name task, positive and negative (ids of tokens) in ragassay.yaml beside the"
                " model, or a family: like: minicheck-flan-t5"
            ),
        )
    return Meaning(settings.task, "seq2seq", 2, positive, settings.negative, None, "softmax")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _index(label: str | int, labels: Sequence[str], where: str) -> int:
    """The index of a label that is given by its name or index."""
    same = [at for at, name in enumerate(labels) if _plain(name) == _plain(str(label))]
    if len(same) == 1:
        return same[0]
    if str(label).isdecimal() and int(label) < len(labels):
        return int(label)
    named = ", ".join(labels)
    raise unreadable(where, f"there is no label {label!r}: config.json names {shorten(named, 80)}")


def _by_names(labels: Sequence[str], task: str | None, where: str) -> tuple[str, int]:
    """Task and index of the yes, where the names of all labels say it."""
    plain = [_plain(label) for label in labels]
    for meant, known in known_names().items():
        positive = [at for at, name in enumerate(plain) if name in known["yes"]]
        understood = set(plain) <= frozenset().union(*known.values())
        if len(positive) == 1 and understood and task in (None, meant):
            return meant, positive[0]
    raise _unclear(labels, where)


def _contradicted(settings: Settings, labels: Sequence[str], where: str) -> int | None:
    if settings.contradicted is not None:
        return _index(settings.contradicted, labels, where)
    names = known_names()["support"]["contradicted"]
    named = [at for at, label in enumerate(labels) if _plain(label) in names]
    # Of two labels the other one is "not supported", whatever it is called.
    return named[0] if len(named) == 1 and len(labels) > 2 else None


def _activation(config: Mapping[str, Any], outputs: int) -> str:
    several = config.get("problem_type") == "multi_label_classification"
    return "sigmoid" if outputs == 1 or several else "softmax"


def _unclear(labels: Sequence[str], where: str) -> SetupError:
    """E0414 for labels of which nobody knows what they mean."""
    if len(labels) == 1:
        what = "Nothing says what the one output of the local model means."
        setting = f"task ({', '.join(TASKS)})"
        example = "?task=relevance for a reranker, ?task=support for a grounding model"
    else:
        what = "The labels of the local model do not say which of them means yes."
        setting = f"task ({', '.join(TASKS)}) and positive (the label that means yes)"
        example = f"?task=support&positive={labels[-1]}"
    return SetupError(
        "E0414",
        what,
        where=where,
        why=f"config.json names {shorten(', '.join(labels), 120)}",
        fix=(
            f"name {setting} behind the URI, such as '{example}', or in ragassay.yaml beside the"
            " model, as its card says; or a family: ?like=minicheck"
        ),
    )
