"""The network of a local model in safetensors, by transformers and PyTorch (the extra "local").

Code of the model's own is never run (trust_remote_code), and no other format is read.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ragassay.core import EnvironmentFailure, is_fault, shorten
from ragassay.models.local.folder import SAFETENSORS, SAFETENSORS_INDEX, unusable
from ragassay.models.local.network import Outputs, not_loaded
from ragassay.models.local.parts import Parts

_CLASSES = {
    "sequence": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "first_token": "AutoModelForTokenClassification",
    "seq2seq": "AutoModelForSeq2SeqLM",
}


class TorchNetwork:
    """Safe across threads; each thread's pass has one thread of PyTorch's, as in ONNX."""

    def __init__(self, parts: Parts) -> None:
        import torch

        self._torch = torch
        self._device = parts.device
        self._decodes = parts.meaning.kind == "seq2seq"
        try:
            with _quiet():
                model = _weighted(parts) if parts.prefix else _saved(parts)
            self._model = model.eval().to(parts.device)
        except EnvironmentFailure:
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            raise not_loaded(parts.folder, parts.weights.files[0].name, error) from error
        names = inspect.signature(self._model.forward).parameters
        # A model with one segment has a table of one row, whatever the tokenizer says.
        self._takes_types = (
            "token_type_ids" in names and getattr(self._model.config, "type_vocab_size", 0) > 1
        )
        self._threads = threading.local()

    def run(self, ids: Sequence[int], types: Sequence[int]) -> Outputs:
        """As `Network.run`. Raises the errors of PyTorch."""
        torch = self._torch
        if self._device == "cpu" and not getattr(self._threads, "is_set", False):
            # Of the thread that calls; those that the user's own program runs already keep theirs.
            torch.set_num_threads(1)
            self._threads.is_set = True
        inputs: dict[str, Any] = {"input_ids": [ids], "attention_mask": [[1] * len(ids)]}
        if self._takes_types:
            inputs["token_type_ids"] = [types]
        if self._decodes:
            inputs["decoder_input_ids"] = [[self._model.config.decoder_start_token_id or 0]]
        tensors = {
            name: torch.tensor(value, dtype=torch.long, device=self._device)
            for name, value in inputs.items()
        }
        with torch.inference_mode():
            logits = self._model(**tensors).logits[0].float().cpu().numpy()
        if self._decodes:
            logits = logits[0]
        outputs: Outputs = np.asarray(logits, np.float32)
        return outputs


@contextmanager
def _quiet() -> Iterator[None]:
    """No bars and no advice of transformers while a model is loaded: what is wrong with it is an
    error here.
    """
    from transformers.utils import logging

    shows_bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shows_bars:
            logging.enable_progress_bar()


def _saved(parts: Parts) -> Any:
    """The model as transformers saved it. A part that the file lacks would be made of chance, hence
    is an error.
    """
    import torch
    import transformers

    name = parts.weights.files[0].name
    if name not in (SAFETENSORS, SAFETENSORS_INDEX):
        why = f"{name} is no name that transformers reads"
        raise unusable(str(parts.folder), why, f"rename it to {SAFETENSORS}")
    loader = getattr(transformers, _CLASSES[parts.meaning.kind])
    model, report = loader.from_pretrained(
        parts.folder,
        use_safetensors=True,
        trust_remote_code=False,
        local_files_only=True,
        dtype=torch.float32,
        output_loading_info=True,
    )
    missing = [*report["missing_keys"], *map(str, report["mismatched_keys"])]
    if missing:
        raise _lacking(parts, missing)
    return model


def _weighted(parts: Parts) -> Any:
    """The model that `base` describes, with the weights whose names begin with the prefix."""
    import transformers
    from safetensors.torch import load_file

    config = transformers.AutoConfig.from_pretrained(
        parts.base, trust_remote_code=False, local_files_only=True
    )
    config.num_labels = parts.meaning.outputs
    model = getattr(transformers, _CLASSES[parts.meaning.kind]).from_config(
        config, trust_remote_code=False
    )
    weights: dict[str, Any] = {}
    for file in parts.weights.files:
        if file.suffix == ".safetensors":
            weights.update(load_file(file))
    named = {
        name.removeprefix(parts.prefix): value
        for name, value in weights.items()
        if name.startswith(parts.prefix)
    }
    report = model.load_state_dict(named, strict=False)
    # A table that is used in two places stands in the file once.
    tied = {*(getattr(model, "all_tied_weights_keys", None) or ())}
    tied |= {*(getattr(model, "_tied_weights_keys", None) or ())}
    missing = [name for name in report.missing_keys if name not in tied]
    if missing:
        raise _lacking(parts, missing)
    return model


def _lacking(parts: Parts, names: Sequence[str]) -> EnvironmentFailure:
    why = f"{parts.weights.files[0].name} lacks {shorten(', '.join(names), 200)}"
    fix = "name a model that was trained as a classifier; this one lacks its last layer or others"
    return unusable(str(parts.folder), why, fix)
