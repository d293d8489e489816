"""Certified false gains over HTTP: worlds where nothing can be gained, through the whole command.

The verdicts of the judge and of three finalists are drawn as for the part `false_gains`. A server
speaks for them: it reads in the rubric that it is sent which of the four is asked, and in the
response which row is meant. `ragassay.optimise` does the rest as for a user: labels, plan, division
of the rows, baseline and noise, the sealed rows opened once, the certificate, the file that is
written. Only the search is by a script, which ends with three rubrics whatever they reach on the
rows to choose on; a real one would drop most of them, and the sealed rows would stay closed.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from benchmarks.optimise.false_gains import certified
from benchmarks.optimise.worlds import World, draw

import ragassay
from ragassay.judges import Rubric
from ragassay.scoring.arrays import BoolArray, numbered
from ragassay.scoring.intervals import rate_interval
from ragassay.testing import Body, LLMServer
from ragassay.tuning import optimise as stages
from ragassay.tuning.aim_words import read_aim
from ragassay.tuning.certify import LEVEL
from ragassay.tuning.search import Finalist, SearchResult, SearchTask
from ragassay.tuning.values import JudgeBench, Proposer

TITLE = "Certified false gains over HTTP"
SEED, WORLDS = 20261203, 200
OPEN = World(48, 16, 0.2)
"""Rows to search and to choose on, half of them each."""
SHAPES = (
    (120, 120, "equal"),
    (120, 24, "equal"),
    (120, 24, "unequal"),
    (120, 12, "unequal"),
)
CHURN = (0.06, 0.2, 0.5)
AIMS = ("accuracy", "a false pass is three times as bad", "f1", "kappa")
RUBRIC = """---
id: checked
purpose: Is the response in order?
inputs: [question, response]
scale: yes/no
---
- A response is in order when it says what was asked.
"""
_VARIANT = re.compile(r"By reading (\d)\.")
_ROW = re.compile(r"\brow(\d+)x\b")
_TAG = re.compile(r"<<<response\|(\w+)>>>")


@dataclass(frozen=True)
class Drawn:
    """One world: its labelled rows, and the verdicts of the judge and of three finalists on them.

    verdicts: (4, rows), of the judge as it is first.
    """

    rows: tuple[dict[str, Any], ...]
    verdicts: BoolArray

    def answer(self, body: Body) -> dict[str, Any] | None:
        """The reply of the judge under the rubric that stands in the prompt."""
        system, user = (str(message["content"]) for message in body["messages"])
        row, tag = _ROW.search(user), _TAG.search(user)
        if row is None or tag is None:
            return None
        variant = _VARIANT.search(system)
        passes = self.verdicts[int(variant[1]) if variant else 0, int(row[1])]
        rating = "yes" if passes else "no"
        return {"verdicts": [{"id": tag[1], "reasoning": "It reads so.", "rating": rating}]}


def drawn(world: World, rng: np.random.Generator) -> Drawn:
    """Rows to search and choose on, and sealed ones of this world. Drawn again until each part has
    rows of both classes, without which nothing is optimised.
    """
    while True:
        sealed = draw(world, rng)
        opened = draw(replace(OPEN, churn=world.churn), rng)
        half = OPEN.rows // 2
        parts = (opened[0][:half], opened[0][half:], sealed[0])
        if all(part.any() and not part.all() for part in parts):
            break
    truth = np.concatenate([opened[0], sealed[0]])
    cluster = np.concatenate([opened[1], OPEN.clusters + sealed[1]])
    judges = [[opened[2], sealed[2]]]
    judges += [list(both) for both in zip(opened[3], sealed[3], strict=True)]
    rows = []
    for n, (passes, code) in enumerate(zip(truth.tolist(), cluster.tolist(), strict=True)):
        part = "train" if n < half else "validation"
        if n >= OPEN.rows:
            part = "sealed"
        rows.append(
            {
                "id": f"row{n}",
                "question": f"Which text is it, of document {code}?",
                "response": f"It is row{n}x.",
                "label": int(passes),
                "cluster": str(code),
                "part": part,
            }
        )
    return Drawn(tuple(rows), np.stack([np.concatenate(judge) for judge in judges]))


class ThreeRubrics:
    """An engine that finds three other rubrics, the best on the rows to choose on first."""

    def search(
        self,
        task: SearchTask,
        bench: JudgeBench,
        proposer: Proposer,
        watch: Callable[[str, int, float], None] | None = None,
    ) -> SearchResult:
        truth = task.rows.truth[task.validation]
        before = task.score(truth, bench.judge(task.rubric, task.validation).passes)
        found = []
        for number in (1, 2, 3):
            rubric = _variant(task.rubric, number)
            score = task.score(truth, bench.judge(rubric, task.validation).passes)
            found.append(Finalist(rubric, (), score, before))
        found.sort(key=lambda one: -one.score)
        return SearchResult(tuple(found), (), (), bench.calls, "the script is over")


def _variant(rubric: Rubric, number: int) -> Rubric:
    criteria = f"{rubric.criteria.rstrip()}\n- By reading {number}."
    return replace(rubric, criteria=criteria, version="2")


def run_of(world: Drawn, aim: str, server: LLMServer, folder: Path) -> dict[str, Any]:
    """What the command says of one world."""
    server.answer = world.answer
    # One question about a known example comes before the first row, and counts as a call.
    before = server.calls + server.preflights
    (folder / "checked.md").write_text(RUBRIC, encoding="utf-8")
    with mock.patch.object(stages, "engine", return_value=ThreeRubrics()):
        found = ragassay.optimise(
            "checked",
            list(world.rows),
            judge="openai:judge",
            reflector="openai:reflector",
            base_url=server.url,
            rubrics=[folder / "checked.md"],
            aim=aim,
            split_by="part",
            out=folder / "new.md",
            store=folder / "store.db",
        )
    tested = () if found.certificate is None else found.certificate.finalists
    return {
        "tested": len(tested),
        "certified": found.certified,
        "printed": 0.0 if found.certificate is None else found.certificate.gain,
        "calls": server.calls + server.preflights - before,
        "counted": found.calls,
    }


def alone(world: Drawn, text: str) -> tuple[bool, float]:
    """Whether the same finalists are certified in this process, and the gain that is printed."""
    aim = read_aim(text)
    truth = np.array([row["label"] == 1 for row in world.rows])
    cluster = np.array([int(row["cluster"]) for row in world.rows])
    chosen_on = np.array([row["part"] == "validation" for row in world.rows])
    sealed = np.array([row["part"] == "sealed" for row in world.rows])

    def score(verdicts: BoolArray) -> float:
        return aim.score(truth[chosen_on], verdicts[chosen_on])

    finalists = sorted(world.verdicts[1:], key=score, reverse=True)
    passed, gain, _ = certified(
        aim,
        truth[sealed],
        numbered(cluster[sealed]),
        world.verdicts[0][sealed],
        [one[sealed] for one in finalists],
    )
    return any(passed), gain


def measure(options: argparse.Namespace) -> dict[str, Any]:
    cells = list(product(SHAPES, CHURN, AIMS))
    # In an order of its own, so that a few worlds are of many kinds.
    order = np.random.default_rng(SEED).permutation(len(cells))
    worlds = 5 if options.quick else WORLDS
    rows: list[dict[str, Any]] = []
    with LLMServer(models=["judge", "reflector"], keep_bodies=False) as server:
        # Sealed rows that can certify nothing stay closed: such worlds do not count.
        while len(_opened(rows)) < worlds:
            number = len(rows)
            (sealed, clusters, sizes), churn, aim = cells[order[number % len(cells)]]
            world = World(sealed, clusters, churn, sizes=sizes)
            one = drawn(world, np.random.default_rng([SEED, number]))
            with tempfile.TemporaryDirectory() as folder:
                found = run_of(one, aim, server, Path(folder))
            found["alone"] = alone(one, aim) if found["tested"] else None
            rows.append({**asdict(world), "aim": aim, **found})
    return {"level": LEVEL, "worlds": rows}


def _opened(worlds: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worlds whose sealed rows were opened."""
    return [one for one in worlds if one["tested"]]


def page(found: dict[str, Any]) -> list[str]:
    worlds = found["worlds"]
    opened = _opened(worlds)
    calls = sum(one["calls"] for one in worlds)
    differ = sum(one["calls"] != one["counted"] for one in worlds)
    alike = sum([one["certified"], one["printed"]] == list(one["alone"]) for one in opened)
    lines = [
        (
            f"{len(opened)} worlds where nothing can be gained, each through `ragassay.optimise`"
            " with a judge behind HTTP and three finalists, tested on sealed rows, that change 6 to"
            f" 50 % of the verdicts (clusters with an ICC of .3): a certificate in {_share(opened)}"
            f" (asked: at most 2.5 %); printed gain on average {_printed(opened)}. In"
            f" {alike} of them certificate and printed gain are, to the last digit, those of the"
            f" same verdicts in this process. In {len(worlds) - len(opened)} worlds more the plan"
            " said that the sealed rows can certify nothing, and they stayed closed."
            f" {calls:,} calls; in {differ} worlds the report says another number than the server."
        ),
        "",
        "| worlds | number | certified | printed gain |",
        "|---|--:|--:|--:|",
    ]
    groups: list[tuple[str, list[dict[str, Any]]]] = []
    for rows, clusters, sizes in SHAPES:
        name = f"{rows} sealed rows, {clusters} {sizes} clusters"
        if clusters == rows:
            name = f"{rows} sealed rows alone"
        of = [one for one in opened if (one["clusters"], one["sizes"]) == (clusters, sizes)]
        groups.append((name, of))
    for churn in CHURN:
        of = [one for one in opened if one["churn"] == churn]
        groups.append((f"{churn:.0%} of the verdicts change", of))
    for aim in AIMS:
        groups.append((f"aim: {aim}", [one for one in opened if one["aim"] == aim]))
    for name, of in groups:
        if of:
            certified = sum(one["certified"] for one in of)
            lines.append(f"| {name} | {len(of)} | {certified} | {_printed(of)} |")
    return lines


def _share(worlds: Sequence[dict[str, Any]]) -> str:
    """How many are certified, with the interval of their share."""
    certified = sum(one["certified"] for one in worlds)
    interval = rate_interval(certified, len(worlds))
    assert interval is not None
    share = certified / len(worlds)
    return f"{certified} = {share:.1%} (95 % interval {interval.low:.1%} to {interval.high:.1%})"


def _printed(worlds: Sequence[dict[str, Any]]) -> str:
    """The mean printed gain with its standard error."""
    gains = np.array([one["printed"] for one in worlds])
    if len(gains) < 2:
        return "-"
    return f"{gains.mean():+.4f} ± {gains.std(ddof=1) / np.sqrt(len(gains)):.4f}"
