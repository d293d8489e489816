"""How the network is fitted: one loss for each head, and a stage that can be taken up again.

A pair that people only called unsupported is told so: the loss is that of contradicted and not
mentioned together.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from training.draws import Recipe, padded
from training.keeper import Keeper, State
from training.measure import support_odds
from training.network import LAYERS, Network
from training.pairs import PAD, Pair

Pool = Literal["lowest", "mean"]

# Seconds between two lines of progress, two looks at development rows at least; looks take a tenth
# of the time at most.
TOLD, LOOKED, LOOKS = 60.0, 900.0, 0.1


@cache
def halves(device: str) -> bool:
    """Whether the device multiplies numbers of 16 bits faster than those of 32."""
    if device != "cpu":
        return True
    about = Path("/proc/cpuinfo")
    return about.exists() and "bf16" in about.read_text(encoding="utf-8")


class Batch:
    """Pairs of one task as padded tensors. asked: how many tokens the heads read; all of the text's
    where parts of it are told or `spans` are asked for, else [CLS] alone.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        device: torch.device,
        *,
        spans: bool = False,
    ) -> None:
        # bf16 kernels are made anew for each shape, fp32 ones are not
        longest = padded(max(len(p.ids) for p in pairs), 32 if halves(device.type) else 8)
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
        told = spans or any(p.faults is not None for p in pairs)
        self.asked = 1 + (max(p.text for p in pairs) if told else 0)


def ran(network: Network, batch: Batch) -> dict[str, Tensor]:
    """The logits of a batch."""
    kind = batch.ids.device.type
    with torch.autocast(kind, torch.bfloat16, enabled=halves(kind)):
        out: dict[str, Tensor] = network(batch.ids, batch.types, batch.mask, batch.asked)
    return out


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
    faults = batch.faults[:, : batch.asked]
    asked = faults >= 0
    if recipe.span and asked.any():
        odds = out["span"].float()
        each = (
            functional.binary_cross_entropy_with_logits(odds, faults.clamp_min(0), reduction="none")
            * asked
        )
        rows = asked.any(1)
        total = (
            total
            + recipe.span * (each.sum(1)[rows] / asked.sum(1)[rows]).mean() * rows.float().mean()
        )
    return total


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


class Fitting:
    """A network on its way through a stage: what a step changes, and can be written down."""

    def __init__(self, network: Network, recipe: Recipe) -> None:
        torch.manual_seed(recipe.seed)
        # so that a stage gives the same whether the one before it ran in this process or not
        network.dropout.renew()
        self.network, self.recipe, self.step = network, recipe, 0
        self._optimiser = torch.optim.AdamW(
            groups(network, recipe), lr=recipe.rate, betas=(0.9, 0.98), eps=1e-6, foreach=True
        )
        self._average: dict[str, Tensor] = {}
        self._kept = 0
        self._device = next(network.parameters()).device

    def _fitted(self) -> Iterator[tuple[str, Tensor]]:
        return ((n, v) for n, v in self.network.named_parameters() if v.requires_grad)

    def learn(self, chosen: Sequence[Pair]) -> tuple[str, float]:
        """One step; the task of its batch, and the loss."""
        recipe, done = self.recipe, self.step / self.recipe.steps
        share = (
            min(1.0, done / recipe.warmup)
            if done < recipe.warmup
            else 0.5 + 0.5 * math.cos(math.pi * (done - recipe.warmup) / (1 - recipe.warmup))
        )
        for group in self._optimiser.param_groups:
            group["lr"] = group["top"] * max(share, 0.02)
        self.network.train()
        batch = Batch(chosen, self._device)
        out = ran(self.network, batch)
        loss = loss_of(out, batch, recipe)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(
            [p for p in self.network.parameters() if p.grad is not None], 1.0
        )
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        if done >= 1 - recipe.average:
            self._kept += 1
            for name, value in self._fitted():
                self._average.setdefault(name, torch.zeros_like(value)).add_(value.detach())
        self.step += 1
        return batch.task, float(loss.detach())

    def state(self) -> State:
        """All of it, as `take_up` reads it."""
        return {
            "recipe": repr(self.recipe),
            "step": self.step,
            "network": {name: value.detach() for name, value in self._fitted()},
            "optimiser": self._optimiser.state_dict(),
            "average": self._average,
            "kept": self._kept,
            "chance": torch.get_rng_state(),
        }

    def take_up(self, state: State) -> None:
        """Go on from a state of the same recipe."""
        if state["recipe"] != repr(self.recipe):
            raise ValueError(f"the state is of another recipe: {state['recipe']}")
        self.step, self._kept = state["step"], state["kept"]
        self._average = {n: value.to(self._device) for n, value in state["average"].items()}
        with torch.no_grad():
            for name, value in self._fitted():
                value.copy_(state["network"][name])
        self._optimiser.load_state_dict(state["optimiser"])
        kind = self._device.type
        # the table is drawn from the seed, as it was; then chance goes on where it stood
        with torch.autocast(kind, torch.bfloat16, enabled=halves(kind)):
            self.network.dropout.fill(self._device)
        torch.set_rng_state(state["chance"])

    def finish(self) -> None:
        """Give the network the average of the last steps' weights."""
        with torch.no_grad():
            for name, value in self._fitted():
                if name in self._average:
                    value.copy_(self._average[name] / self._kept)
        self.network.eval()


class Progress:
    """Lines of progress: losses, tokens a second, when the stage ends."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._took: deque[float] = deque(maxlen=200)
        self._clear()

    def _clear(self) -> None:
        self._since, self._tokens = time.monotonic(), 0
        self._losses: dict[str, list[float]] = defaultdict(list)

    def note(self, step: int, chosen: Sequence[Pair], task: str, loss: float, took: float) -> None:
        """Count a step, and print a line when one is due."""
        self._tokens += sum(len(p.ids) for p in chosen)
        self._losses[task].append(loss)
        self._took.append(took)
        passed = time.monotonic() - self._since
        if passed < TOLD and step != self._steps:
            return
        means = {task: round(float(np.mean(found)), 3) for task, found in self._losses.items()}
        left = float(np.mean(self._took)) * (self._steps - step)
        end = time.strftime("%d %H:%M", time.localtime(time.time() + left))
        print(
            f"  step {step}/{self._steps} {means} {self._tokens / passed:.0f} tokens/s,"
            f" {left / 60:.0f} min left, end {end}",
            flush=True,
        )
        self._clear()


class Looks:
    """When figures are printed, and how long that took."""

    def __init__(self, look: Callable[[Network], str] | None) -> None:
        self._look, self._last, self._wait = look, time.monotonic(), LOOKED

    def due(self) -> bool:
        """Whether it is time again."""
        return self._look is not None and time.monotonic() - self._last > self._wait

    def look(self, network: Network, when: str) -> None:
        """Print them."""
        if self._look is None:
            return
        started = time.monotonic()
        found = self._look(network)
        self._last = time.monotonic()
        took = self._last - started
        self._wait = max(LOOKED, took * (1 / LOOKS - 1))
        print(f"  {when}: {found} ({took:.0f} s)", flush=True)


def train(
    network: Network,
    chosen: Iterable[list[Pair]],
    recipe: Recipe,
    *,
    keeper: Keeper | None = None,
    look: Callable[[Network], str] | None = None,
) -> None:
    """Fit the network in place on batches; at the end it holds the average of the last steps'
    weights. keeper: where the stage is written down, and taken up when it is there; look: figures
    that are printed at the beginning, now and then, and at the end.
    """
    fitting, progress = Fitting(network, recipe), Progress(recipe.steps)
    state = keeper.read() if keeper else None
    if state:
        fitting.take_up(state)
        print(f"  goes on at step {fitting.step}", flush=True)
    looks = Looks(look)
    if not fitting.step:
        looks.look(network, "before")
    for batch in islice(chosen, fitting.step, recipe.steps):
        started = time.monotonic()
        task, loss = fitting.learn(batch)
        progress.note(fitting.step, batch, task, loss, time.monotonic() - started)
        if keeper:
            keeper.mind(fitting.state)
        if looks.due() and fitting.step < recipe.steps:
            if keeper:
                keeper.write(fitting.state())
            looks.look(network, f"step {fitting.step}")
    fitting.finish()
    looks.look(network, "after")


def apart(pairs: Sequence[Pair]) -> list[Pair]:
    """The sentences of texts that have several, and the other texts as they are."""
    return [part._replace(sentences=()) for p in pairs for part in (p.sentences or (p,))]


def joined(
    pairs: Sequence[Pair], each: NDArray[np.float32], pool: Pool = "lowest"
) -> NDArray[np.float32]:
    """Logits of texts from `each`, those of their sentences: of the least supported one, or their
    mean, and the spans over all of them.
    """
    odds, parts = support_odds(each), [p.sentences or (p,) for p in pairs]
    result = np.zeros((len(pairs), 6), np.float32)
    at = 0
    for i, mine in enumerate(parts):
        ats = range(at, at + len(mine))
        lowest = min(ats, key=lambda n: odds[n])
        result[i, :3] = each[lowest, :3] if pool == "lowest" else each[ats, :3].mean(0)
        result[i, 3:5] = each[ats, 3:5].max(0)
        result[i, 5] = np.average(each[ats, 5], weights=[p.text for p in mine])
        at += len(mine)
    return result


@torch.no_grad()
def predict(
    network: Network,
    pairs: Sequence[Pair],
    tokens: int = 16384,
) -> NDArray[np.float32]:
    """[n, 6] logits: the three of support, or that of the task and two zeros; then the span head's
    highest, second highest and mean logit over the text's tokens. Of a text with sentences those of
    the least supported one.
    """
    network.eval()
    if any(p.sentences for p in pairs):
        return joined(pairs, predict(network, apart(pairs), tokens))
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
        batch = Batch(chosen, device, spans=chosen[0].task == "support")
        out = ran(network, batch)
        odds = out[batch.task].float().cpu().numpy()
        spans = out["span"].float().cpu().numpy()
        for row, i in enumerate(order[at:stop]):
            result[i, : odds.shape[1]] = odds[row]
            if batch.task == "support":
                of_text = np.sort(spans[row, 1 : 1 + pairs[i].text])[::-1]
                result[i, 3:] = of_text[0], of_text[min(1, len(of_text) - 1)], of_text.mean()
        at = stop
    return result
