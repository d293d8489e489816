"""The parts of a local model, found and checked from its name before any weight is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragassay.core import SetupError, digest, shorten
from ragassay.models.local.folder import (
    CONFIG,
    TOKENIZER,
    TOKENIZER_CONFIG,
    Weights,
    file_digest,
    find_weights,
    read_json,
)
from ragassay.models.local.hub import locate
from ragassay.models.local.labels import Meaning, meaning_of
from ragassay.models.local.settings import (
    MARKS,
    PLACEHOLDERS,
    Settings,
    family_of,
    placeholders,
    read_settings,
    split_uri,
    unreadable,
)
from ragassay.models.local.tokens import TextEncoder, most_tokens

# Raised when the code between a call and its probability changes what it gives.
RULES = 1
_INPUTS: Mapping[str, tuple[str, ...]] = {
    "support": ("{context}", "{claim}"),
    "relevance": ("{question}", "{context}"),
    "answer": ("{question}", "{response}"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts become inputs.

    input, input_without_question: one text or two, with fields. passage: how a passage is written
    into {context}. most_tokens: of an input. window: tokens of the passages among them, at most.
    spans: "max" or "mean", how the tokens of a claim become one figure.
    """

    input: tuple[str, ...]
    input_without_question: tuple[str, ...]
    passage: str
    most_tokens: int
    window: int
    spans: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that a local model is made of; equal parts make equal models.

    version: the hash of the contents of all files and of how the model is asked, wherever they lie.
    folder: of the weights. base: the folder of the config.json that the network is built from.
    tokenizer: the folder of the tokenizer. vocabulary: the number of tokens by config.json. cut:
    the probability from which a judge says yes.
    """

    version: str
    folder: Path
    base: Path
    tokenizer: Path
    weights: Weights
    meaning: Meaning
    reading: Reading
    vocabulary: int | None
    cut: float
    prefix: str
    device: str

    def encoder(self) -> TextEncoder:
        """The tokenizer, checked with the inputs. Raises as `TextEncoder`."""
        encoder = TextEncoder(self.tokenizer, self.vocabulary)
        for templates in (self.reading.input, self.reading.input_without_question):
            encoder.check_templates(templates, str(self.folder))
        return encoder


def find_parts(name: str, *, no_network: bool) -> Parts:
    """The parts of the model `name`: a folder or a name of the hub, and settings behind "?".

    A name of the hub is fetched unless it is cached or `no_network` is set. Raises SetupError E0414
    where the name or a setting cannot be or the labels are not clear, E0105 for a library that is
    missing, EnvironmentFailure E0413 and E0415 for files that are missing or damaged.
    """
    model, given = split_uri(name)
    location = locate(model, no_network=no_network, file=given.file)
    folder = location.folder
    where = f"local:{shorten(model, 200)}"
    config = read_json(folder / CONFIG)
    given = given.over(read_settings(folder))
    family = family_of(given.like, location.hub_name, str(config.get("model_type", "")))
    settings = given.over(family.settings) if family is not None else given
    meaning = meaning_of(config, settings, where)
    weights = find_weights(folder, settings.file)
    _check_format(weights, meaning, where)
    base = _base(folder, weights, settings, no_network)
    tokenizer = folder if (folder / TOKENIZER).is_file() else base
    base_config = read_json(base / CONFIG)
    reading = _reading(settings, meaning, base_config, tokenizer, where)
    parts = Parts(
        version="",
        folder=folder,
        base=base,
        tokenizer=tokenizer,
        weights=weights,
        meaning=meaning,
        reading=reading,
        vocabulary=_vocabulary(base_config),
        cut=settings.cut or 0.5,
        prefix=settings.prefix or "",
        device=settings.device or "cpu",
    )
    return replace(parts, version=_version(parts, parts.encoder()))


def _check_format(weights: Weights, meaning: Meaning, where: str) -> None:
    """Raise SetupError E0105 or E0414 where weights of this format cannot be run."""
    if weights.format == "onnx":
        if meaning.kind == "seq2seq":
            raise unreadable(where, "kind: an encoder-decoder is run from safetensors, not ONNX")
        return
    missing = [module for module in ("torch", "transformers") if find_spec(module) is None]
    if missing:
        raise SetupError(
            "E0105",
            f"Weights in safetensors need {' and '.join(missing)}, which is not installed.",
            where=where,
            fix=(
                "pip install 'ragassay[local]' (1 GB; with PyTorch for GPUs 5.5 GB), or"
                " export the model to ONNX (optimum-cli export onnx)"
            ),
        )


def _base(folder: Path, weights: Weights, settings: Settings, no_network: bool) -> Path:
    """The folder of the config.json that the network is built from, and of the tokenizer where the
    model's own folder has none.
    """
    needed = weights.format == "safetensors" or not (folder / TOKENIZER).is_file()
    if settings.base is None or not needed:
        return folder
    beside = folder / settings.base
    if beside.is_dir():
        return beside
    return locate(settings.base, no_network=no_network, only_config=True).folder


def _vocabulary(config: Mapping[str, Any]) -> int | None:
    size = config.get("vocab_size")
    return size if isinstance(size, int) and size > 0 else None


def _reading(
    settings: Settings,
    meaning: Meaning,
    config: Mapping[str, Any],
    tokenizer: Path,
    where: str,
) -> Reading:
    """How texts become inputs. Raises SetupError E0414."""
    texts = settings.input or _INPUTS[meaning.task]
    without = settings.input_without_question or texts
    for each in (texts, without):
        _check_input(each, meaning, where)
    if meaning.kind == "tokens" and meaning.task != "support":
        raise unreadable(where, "task: a classifier of tokens judges the support of claims")
    most = settings.max_tokens or most_tokens(config, tokenizer)
    return Reading(
        input=texts,
        input_without_question=without,
        passage=settings.passage or "{text}",
        most_tokens=most,
        window=min(settings.window or most, most),
        spans=settings.spans or "max",
    )


def _check_input(texts: tuple[str, ...], meaning: Meaning, where: str) -> None:
    needed, allowed = PLACEHOLDERS[meaning.task]
    fields: list[str] = []
    for text in texts:
        fields += placeholders(text)
    known = {*needed, *allowed, *MARKS}
    for field in fields:
        if field not in known:
            why = f"input: {{{field}}} is none of {', '.join(sorted(known))}"
            raise unreadable(where, why)
    for field in needed:
        if fields.count(field) != 1:
            raise unreadable(where, f"input: {{{field}}} must stand in it once")


def _version(parts: Parts, encoder: TextEncoder) -> str:
    """The hash of contents; paths are not among them, and names of files only where they say which
    part a file is.
    """
    weights = [file_digest(path) for path in parts.weights.files]
    files = {
        "config": file_digest(parts.folder / CONFIG),
        "base": file_digest(parts.base / CONFIG),
    }
    tokenizer = parts.tokenizer / TOKENIZER
    # One that was converted has no file of its own.
    files["tokenizer"] = file_digest(tokenizer) if tokenizer.is_file() else digest(encoder.content)
    marks = parts.tokenizer / TOKENIZER_CONFIG
    if marks.is_file():
        files["marks"] = file_digest(marks)
    asked = (asdict(parts.meaning), asdict(parts.reading), parts.prefix)
    return digest("local", RULES, parts.weights.format, weights, files, asked)
