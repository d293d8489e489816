"""How the network is fitted: batches of about equal length, sets in balance, one loss for each
head.

A pair that people only called unsupported is told so: the loss is that of contradicted and not
mentioned together.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from training.measure import support_odds
from training.network import LAYERS, Network
from training.pairs import PAD, Pair

Floats = NDArray[np.float64]
# Tokens in a batch, padding included; a step on two cores takes about a second.
TOKENS = 6144
# Pairs of a task in a batch at most: short ones would otherwise get few steps. Answers are short
# and cheap.
MOST = {"support": 48, "relevance": 32, "answer": 96}


@dataclass(frozen=True)
class Recipe:
    """steps: how long. rate: the highest learning rate; decay: what a layer has of the rate of the
    one above it.

    average: share of the steps at the end whose weights are averaged. power: a set of n pairs is
    drawn n^power often among the sets of its task; made: share of a task's draws that are made
    examples; shares: of the tasks. span: weight of the span head's loss. smooth: label smoothing.
    general: only texts and rows of sets that groundedness is not measured on, so that every
    leave-one-set-out run can begin from the same weights.
    """

    steps: int
    rate: float = 5e-5
    warmup: float = 0.1
    decay: float = 0.9
    weight_decay: float = 0.01
    average: float = 0.3
    power: float = 0.5
    made: float = 0.3
    shares: tuple[tuple[str, float], ...] = (
        ("support", 0.6),
        ("relevance", 0.15),
        ("answer", 0.25),
    )
    span: float = 0.5
    smooth: float = 0.05
    seed: int = 20261121
    tokens: int = TOKENS
    general: bool = False


def padded(length: int) -> int:
    """The length that a batch is padded to. Few different shapes: the CPU's kernels are made anew
    for each.
    """
    return -(-length // 32) * 32


class Batch:
    """Pairs of one task as padded tensors."""

    def __init__(self, pairs: Sequence[Pair], device: torch.device) -> None:
        longest = padded(max(len(p.ids) for p in pairs))
        ids = np.full((len(pairs), longest), PAD, np.int64)
        types = np.zeros((len(pairs), longest), np.int64)
        mask = np.zeros((len(pairs), longest), np.bool_)
        faults = np.full((len(pairs), longest), -1, np.float32)
        for row, p in enumerate(pairs):
            ids[row, : len(p.ids)] = p.ids
            types[row, p.text + 2 : len(p.ids)] = 1
            mask[row, : len(p.ids)] = True
            if p.faults is not None:
                faults[row, 1 : 1 + p.text] = p.faults
        self.ids, self.types, self.mask = (
            torch.from_numpy(a).to(device) for a in (ids, types, mask)
        )
        self.faults = torch.from_numpy(faults).to(device)
        self.label = torch.tensor([p.label for p in pairs], dtype=torch.float32, device=device)
        self.kind = torch.tensor([p.kind for p in pairs], device=device)
        self.task = pairs[0].task


def loss_of(out: Mapping[str, Tensor], batch: Batch, recipe: Recipe) -> Tensor:
    """The mean loss of a batch."""
    if batch.task != "support":
        target = batch.label * (1 - recipe.smooth) + recipe.smooth / 2
        return functional.binary_cross_entropy_with_logits(out[batch.task][:, 0].float(), target)
    logits = out["support"].float()
    told = functional.log_softmax(logits, -1)
    yes = told[:, 0]
    no = torch.logsumexp(told[:, 1:], -1)
    # Smoothed over supported or not; which kind of not is asked on top, where it is known.
    s = recipe.smooth / 2
    loss = -torch.where(batch.label > 0.5, (1 - s) * yes + s * no, (1 - s) * no + s * yes)
    known = batch.kind > 0
    if known.any():
        which = -(told[known].gather(1, batch.kind[known, None])[:, 0] - no[known])
        loss = loss.index_add(0, known.nonzero()[:, 0], 0.5 * which)
    total = loss.mean()
    asked = batch.faults >= 0
    if recipe.span and asked.any():
        odds = out["span"].float()
        each = (
            functional.binary_cross_entropy_with_logits(
                odds, batch.faults.clamp_min(0), reduction="none"
            )
            * asked
        )
        rows = asked.any(1)
        total = (
            total
            + recipe.span * (each.sum(1)[rows] / asked.sum(1)[rows]).mean() * rows.float().mean()
        )
    return total


def odds_of_sets(sizes: Mapping[tuple[str, str], int], recipe: Recipe) -> Floats:
    """How often each (task, set) is drawn, in the order of the keys."""
    odds = np.array([size**recipe.power for size in sizes.values()])
    made = np.array([source.startswith("made:") for _, source in sizes])
    result = np.zeros(len(odds))
    for task, share in recipe.shares:
        of_task = np.array([t == task for t, _ in sizes])
        parts = [(of_task & made, recipe.made), (of_task & ~made, 1 - recipe.made)]
        parts = [(at, part) for at, part in parts if at.any() and part]
        for at, part in parts:
            result[at] = share * part / sum(p for _, p in parts) * odds[at] / odds[at].sum()
    return np.asarray(result / result.sum(), np.float64)


def draw(
    pairs: Sequence[Pair], recipe: Recipe, generator: np.random.Generator
) -> Iterable[list[Pair]]:
    """Batches without end, the classes of a set alike; a batch holds one task and about equal
    lengths.
    """
    members: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, p in enumerate(pairs):
        members[p.task, p.source][p.label].append(index)
    keys = sorted(members)
    odds = odds_of_sets({k: sum(map(len, members[k].values())) for k in keys}, recipe)
    queues: dict[tuple[tuple[str, str], int], list[int]] = {}

    def one() -> int:
        key = keys[int(generator.choice(len(keys), p=odds))]
        labels = sorted(members[key])
        label = labels[int(generator.integers(len(labels)))]
        queue = queues.setdefault((key, label), [])
        if not queue:
            queue.extend(generator.permutation(members[key][label]).tolist())
        return queue.pop()

    while True:
        # A stock of pairs is drawn, sorted by length and cut into batches, which go out in random
        # order.
        stock = [one() for _ in range(1024)]
        batches: list[list[Pair]] = []
        for task in ("support", "relevance", "answer"):
            of_task = sorted(
                (i for i in stock if pairs[i].task == task), key=lambda i: len(pairs[i].ids)
            )
            held: list[Pair] = []
            for i in of_task:
                if (held and (len(held) + 1) * padded(len(pairs[i].ids)) > recipe.tokens) or len(
                    held
                ) == MOST[task]:
                    batches.append(held)
                    held = []
                held.append(pairs[i])
            if held:
                batches.append(held)
        for at in generator.permutation(len(batches)):
            yield batches[at]


def groups(network: Network, recipe: Recipe) -> list[dict[str, object]]:
    """Parameters with their learning rates: lower layers learn slower; no decay on biases and
    norms.
    """
    result: list[dict[str, object]] = []
    for name, value in network.named_parameters():
        if not value.requires_grad:
            continue
        depth = LAYERS + 1
        if name.startswith("blocks."):
            depth = int(name.split(".")[1]) + 1
        elif not name.startswith("heads."):
            depth = 0
        plain = value.ndim < 2
        rate = recipe.rate * recipe.decay ** (LAYERS + 1 - depth)
        if name.startswith("heads."):
            rate = max(recipe.rate * 5, rate)
        result.append(
            {
                "params": [value],
                "lr": rate,
                "top": rate,
                "weight_decay": 0 if plain else recipe.weight_decay,
            }
        )
    return result


def train(
    network: Network,
    pairs: Sequence[Pair],
    recipe: Recipe,
    every: int = 0,
) -> None:
    """Fit the network in place; at the end it holds the average of the last steps' weights. every:
    steps between two lines of progress.
    """
    torch.manual_seed(recipe.seed)
    # so that a stage gives the same whether the one before it ran in this process or not
    network.dropout.renew()
    generator = np.random.default_rng(recipe.seed)
    optimiser = torch.optim.AdamW(
        groups(network, recipe), lr=recipe.rate, betas=(0.9, 0.98), eps=1e-6, foreach=True
    )
    average: dict[str, Tensor] = {}
    kept = 0
    started = time.monotonic()
    losses: dict[str, list[float]] = defaultdict(list)
    network.train()
    device = next(network.parameters()).device
    for step, chosen in enumerate(draw(pairs, recipe, generator)):
        if step == recipe.steps:
            break
        done = step / recipe.steps
        share = (
            min(1.0, done / recipe.warmup)
            if done < recipe.warmup
            else 0.5 + 0.5 * math.cos(math.pi * (done - recipe.warmup) / (1 - recipe.warmup))
        )
        for group in optimiser.param_groups:
            group["lr"] = group["top"] * max(share, 0.02)
        batch = Batch(chosen, device)
        with torch.autocast(device.type, torch.bfloat16):
            out = network(batch.ids, batch.types, batch.mask)
        loss = loss_of(out, batch, recipe)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in network.parameters() if p.grad is not None], 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        losses[batch.task].append(float(loss.detach()))
        if done >= 1 - recipe.average:
            kept += 1
            for name, value in network.named_parameters():
                if value.requires_grad:
                    average.setdefault(name, torch.zeros_like(value)).add_(value.detach())
        if every and (step + 1) % every == 0:
            means = {
                task: round(float(np.mean(found[-every:])), 3) for task, found in losses.items()
            }
            print(
                f"  step {step + 1}/{recipe.steps} {time.monotonic() - started:.0f} s {means}",
                flush=True,
            )
    with torch.no_grad():
        for name, value in network.named_parameters():
            if name in average:
                value.copy_(average[name] / kept)
    network.eval()


@torch.no_grad()
def predict(network: Network, pairs: Sequence[Pair], tokens: int = 16384) -> NDArray[np.float32]:
    """[n, 6] logits: the three of support, or that of the task and two zeros; then the span head's
    highest, second highest and mean logit over the text's tokens. Of a text with sentences those of
    the least supported one, and the spans over all of them.
    """
    network.eval()
    if any(p.sentences for p in pairs):
        owners = [(i, p) for i, whole in enumerate(pairs) for p in (whole.sentences or (whole,))]
        each = predict(network, [p._replace(sentences=()) for _, p in owners], tokens)
        odds, lengths = support_odds(each), np.array([p.text for _, p in owners])
        joined = np.zeros((len(pairs), 6), np.float32)
        mine: dict[int, list[int]] = defaultdict(list)
        for at, (i, _) in enumerate(owners):
            mine[i].append(at)
        for i, ats in mine.items():
            joined[i, :3] = each[min(ats, key=lambda at: odds[at]), :3]
            joined[i, 3:5] = each[ats, 3:5].max(0)
            joined[i, 5] = np.average(each[ats, 5], weights=lengths[ats])
        return joined
    device = next(network.parameters()).device
    result = np.zeros((len(pairs), 6), np.float32)
    order = sorted(range(len(pairs)), key=lambda i: (pairs[i].task, len(pairs[i].ids)))
    at = 0
    while at < len(order):
        stop = at + 1
        while (
            stop < len(order)
            and pairs[order[stop]].task == pairs[order[at]].task
            and (stop - at + 1) * len(pairs[order[stop]].ids) <= tokens
        ):
            stop += 1
        chosen = [pairs[i] for i in order[at:stop]]
        batch = Batch(chosen, device)
        with torch.autocast(device.type, torch.bfloat16):
            out = network(batch.ids, batch.types, batch.mask)
        odds = out[batch.task].float().cpu().numpy()
        spans = out["span"].float().cpu().numpy()
        for row, i in enumerate(order[at:stop]):
            result[i, : odds.shape[1]] = odds[row]
            if batch.task == "support":
                of_text = np.sort(spans[row, 1 : 1 + pairs[i].text])[::-1]
                result[i, 3:] = of_text[0], of_text[min(1, len(of_text) - 1)], of_text.mean()
        at = stop
    return result
