"""A language model of 280 kB in the format of llama.cpp, made here.

Its words are bytes, its weights are drawn. What it would say is noise; what a grammar lets it say
is JSON. `closes`: it prefers the marks that end a value, so that strings and lists stay short;
without it a string may run until the reply's limit cuts it off.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

CONTEXT = 65_536
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "assistant: "
)
_CONTROL = [b"<unk>", b"<s>", b"</s>"]
_WIDTH, _HIDDEN, _HEADS, _SEED = 64, 96, 2, 7
# From the most to the least wanted. A list gets one entry, every number is a 1.
_CLOSING = '"{]},:1023'


def write_model(path: Path, *, closes: bool = True) -> Path:
    """Write the model to `path`, which is returned."""
    writer = gguf.GGUFWriter(str(path), "llama")
    _write_shape(writer)
    _write_words(writer)
    for name, values in _weights(closes).items():
        writer.add_tensor(f"{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _write_shape(writer: gguf.GGUFWriter) -> None:
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_HIDDEN)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_layer_norm_rms_eps(1e-5)


def _write_words(writer: gguf.GGUFWriter) -> None:
    words = _CONTROL + [f"<0x{byte:02X}>".encode() for byte in range(256)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)


def _weights(closes: bool) -> dict[str, np.ndarray]:
    dice = np.random.default_rng(_SEED)

    def drawn(*shape: int) -> np.ndarray:
        return (dice.standard_normal(shape) * 0.05).astype(np.float32)

    words = len(_CONTROL) + 256
    embedding, output = drawn(words, _WIDTH), drawn(words, _WIDTH)
    # The first number of every state is the same, so that its weights are what each word starts
    # with.
    embedding[:, 0] = 4.0
    output[:, 0] = 0.0
    for place, mark in enumerate(_CLOSING if closes else ""):
        output[len(_CONTROL) + ord(mark), 0] = 2.0 - 0.1 * place
    ones = np.ones(_WIDTH, np.float32)
    weights = {"token_embd": embedding, "output": output, "output_norm": ones}
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        weights[f"blk.0.{name}"] = drawn(_WIDTH, _WIDTH)
    weights["blk.0.ffn_gate"] = drawn(_HIDDEN, _WIDTH)
    weights["blk.0.ffn_up"] = drawn(_HIDDEN, _WIDTH)
    weights["blk.0.ffn_down"] = drawn(_WIDTH, _HIDDEN)
    weights["blk.0.attn_norm"] = weights["blk.0.ffn_norm"] = ones
    return weights
