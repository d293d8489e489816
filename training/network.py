"""The network that is trained: the BERT encoder of all-MiniLM-L6-v2 as a cross-encoder with four
heads, in PyTorch.

Word embeddings stay as they are (they are shared with the sentence encoder of the package). Texts
are padded inside a batch of about equal lengths; `mask` says where. The heads read the first token;
the span head reads every token.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

LAYERS, HEADS, WIDTH, POSITIONS, EPSILON = 6, 12, 384, 512, 1e-12


class Dropout(nn.Module):
    """Dropout that takes its noise from one long table at a random place.

    Drawing fresh random numbers for every value is an eighth of a training step on a CPU.
    """

    ROOM = 1 << 24

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self._noise: Tensor | None = None

    def renew(self) -> None:
        """Draw the table anew with the next batch."""
        self._noise = None

    def fill(self, device: torch.device) -> None:
        """Draw the table, where there is none."""
        if self._noise is None:
            half = torch.is_autocast_enabled(device.type)
            self._noise = (torch.rand(self.ROOM, device=device) >= self.rate).to(
                torch.bfloat16 if half else torch.float32
            ) / (1 - self.rate)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate or x.numel() >= self.ROOM:
            return x
        self.fill(x.device)
        assert self._noise is not None
        at = int(torch.randint(self.ROOM - x.numel(), ()))
        return x * self._noise[at : at + x.numel()].view_as(x).to(x.dtype)


class Block(nn.Module):
    """One transformer layer; dropout on the outputs of attention and of the feed-forward part."""

    def __init__(self, dropout: Dropout) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.projected = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.dropout = dropout

    def forward(self, x: Tensor, hidden: Tensor, asked: int | None = None) -> Tensor:
        """The states of the first `asked` tokens, or of all."""
        batch, length, _ = x.shape
        if asked is None:
            q, k, v = self.qkv(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        else:
            weight, bias = self.qkv.weight, self.qkv.bias
            seen = functional.linear(x, weight[WIDTH:], bias[WIDTH:])
            k, v = seen.view(batch, length, 2, HEADS, -1).permute(2, 0, 3, 1, 4)
            x = x[:, :asked]
            length = x.shape[1]
            q = functional.linear(x, weight[:WIDTH], bias[:WIDTH])
            q = q.view(batch, length, HEADS, -1).transpose(1, 2)
        # Written out: on a CPU the backward pass of torch's fused attention takes longer than all
        # the rest together.
        odds = (q * (WIDTH // HEADS) ** -0.5) @ k.transpose(-1, -2) + hidden
        attended = torch.softmax(odds, -1, dtype=odds.dtype) @ v
        attended = self.projected(attended.transpose(1, 2).reshape(batch, length, WIDTH))
        x = self.norm1(x + self.dropout(attended))
        return self.norm2(x + self.dropout(self.narrow(functional.gelu(self.wide(x)))))


class Network(nn.Module):
    """Token ids [batch, length], token types and a padding mask to the logits of every head."""

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, WIDTH)
        self.words.weight.requires_grad_(False)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.dropout = Dropout(dropout)
        self.blocks = nn.ModuleList(Block(self.dropout) for _ in range(LAYERS))
        self.heads = nn.ModuleDict(
            {
                "support": nn.Linear(WIDTH, 3),
                "span": nn.Linear(WIDTH, 1),
                "relevance": nn.Linear(WIDTH, 1),
                "answer": nn.Linear(WIDTH, 1),
            }
        )
        for head in self.heads.values():
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def states(self, ids: Tensor, types: Tensor, mask: Tensor, asked: int | None = None) -> Tensor:
        """Last hidden states [batch, length, WIDTH], of the first `asked` tokens where that is
        given. mask [batch, length]: True where there is a token.
        """
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.positions(places) + self.types(types))
        kind = x.device.type
        x = self.dropout(x).to(
            torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype
        )
        hidden = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill_(~mask, -1e4)[
            :, None, None, :
        ]
        for block in self.blocks[:-1]:
            x = block(x, hidden)
        # Only [CLS] and the tokens of the text are read; the last layer leaves the others out, a
        # seventh of a step.
        last: Tensor = self.blocks[-1](x, hidden, asked)
        return last

    def forward(
        self, ids: Tensor, types: Tensor, mask: Tensor, asked: int | None = None
    ) -> dict[str, Tensor]:
        """asked: how many tokens the span head reads; all of them where it is not given."""
        x = self.states(ids, types, mask, asked)
        first = self.dropout(x[:, 0])
        out = {name: self.heads[name](first) for name in ("support", "relevance", "answer")}
        out["span"] = self.heads["span"](x)[..., 0]
        return out


_NAMES = {
    "words.weight": "embeddings.word_embeddings.weight",
    "positions.weight": "embeddings.position_embeddings.weight",
    "types.weight": "embeddings.token_type_embeddings.weight",
    "norm.weight": "embeddings.LayerNorm.weight",
    "norm.bias": "embeddings.LayerNorm.bias",
}
_PARTS = {
    "projected": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "norm2": "output.LayerNorm",
}


def from_bert(weights: dict[str, Tensor], network: Network) -> None:
    """Put weights with BERT's names into the network; heads that are among them too, as
    `support.weight` and so on.
    """
    state = {ours: weights[theirs] for ours, theirs in _NAMES.items()}
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for kind in ("weight", "bias"):
            parts = [
                weights[f"{at}attention.self.{name}.{kind}"] for name in ("query", "key", "value")
            ]
            state[f"blocks.{layer}.qkv.{kind}"] = torch.cat(parts)
            for ours, theirs in _PARTS.items():
                state[f"blocks.{layer}.{ours}.{kind}"] = weights[f"{at}{theirs}.{kind}"]
    for name in network.heads:
        for kind in ("weight", "bias"):
            if f"{name}.{kind}" in weights:
                state[f"heads.{name}.{kind}"] = weights[f"{name}.{kind}"]
    missing, unexpected = network.load_state_dict(state, strict=False)
    if unexpected or any(not name.startswith("heads.") for name in missing):
        raise ValueError(f"weights do not fit: missing {missing}, unexpected {unexpected}")


def to_bert(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A network's state under BERT's names, heads as `support.weight` and so on."""
    result = {theirs: state[ours] for ours, theirs in _NAMES.items()}
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for kind in ("weight", "bias"):
            thirds = state[f"blocks.{layer}.qkv.{kind}"].chunk(3)
            for name, third in zip(("query", "key", "value"), thirds, strict=True):
                result[f"{at}attention.self.{name}.{kind}"] = third.contiguous()
            for ours, theirs in _PARTS.items():
                result[f"{at}{theirs}.{kind}"] = state[f"blocks.{layer}.{ours}.{kind}"]
    for name, value in state.items():
        if name.startswith("heads."):
            result[name.removeprefix("heads.")] = value
    return result


def load(path: Path, dropout: float = 0.1) -> Network:
    """The network from a file of weights with BERT's names."""
    network = Network(dropout)
    from_bert(load_file(path), network)
    return network
