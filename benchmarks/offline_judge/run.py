"""How well does the offline judge agree with people, and how fast is it? One command, real figures.

    python benchmarks/offline_judge/run.py [--data ../shared/data] [--speed]

Reads the test parts of the labelled sets (cuts are chosen on dev parts, rivals fitted on train
parts) and the traps, and prints every set beside always-yes, word overlap, ten lexical figures
under two learners, the judge that was shipped before, and recorded language models. Writes
benchmarks/results/offline_judge.{json,md}, the agreement figures into the card beside the weights,
and the figures into the pages that show them. The bars that were set stand at the top of the
result, each with what was reached. Shows what training/leave_out.py and training/learning_curve.py
have stored. `--speed` measures nothing but the speed, on a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np
import onnxruntime
from benchmarks.offline_judge import pages, recorded, rivals, speed, traps
from benchmarks.offline_judge.bars import bars
from benchmarks.offline_judge.figures import (
    Draws,
    Sample,
    best_cut,
    calibration_error_by_chance,
    mean_over,
    shown,
)
from benchmarks.offline_judge.labelled import Labelled, answers, claims, passages
from benchmarks.offline_judge.markdown import markdown
from numpy.typing import NDArray

import ragassay
from ragassay.core import Verdict
from ragassay.models.offline import OfflineModel
from ragassay.scoring.calibration import fit as calibrate

CARD = ROOT / "src/ragassay/models/offline/weights/card.json"
RESULTS = ROOT / "benchmarks/results"
SHORT = 3
GAINS = ("balanced_accuracy", "auroc", "f1_hallucinated")
Floats = NDArray[np.float64]
Odds = Callable[[Sequence[Labelled]], Floats]


class Task:
    """The rows of one task, set by set, and what any judge's probabilities are worth on them."""

    def __init__(self, tests: list[Labelled], dev: list[Labelled]) -> None:
        self.tests, self.dev = tests, dev
        self.at, self.dev_at = _by_set(tests), _by_set(dev)
        self.samples = {
            name: Sample([tests[i].label for i in at], [tests[i].group for i in at])
            for name, at in self.at.items()
        }

    def cut(self, dev: Floats) -> float:
        """The one cut for all sets that is best on dev rows."""
        labels = np.array([one.label for one in self.dev])
        return best_cut([(labels[at], dev[at]) for at in self.dev_at.values()])

    def draws(self, odds: Floats, cut: float) -> dict[str, Draws]:
        """Of each set every measure, with its bootstrap draws."""
        return {name: self.samples[name].draws(odds[at], cut) for name, at in self.at.items()}

    def figures(self, odds: Floats, cut: float) -> dict[str, Any]:
        """Of each set and their mean. Figures of all rows together stand under "pooled"."""
        draws = self.draws(odds, cut)
        everything = Sample([one.label for one in self.tests], [one.group for one in self.tests])
        return {
            "cut": cut,
            "sets": {name: shown(one) for name, one in draws.items()},
            "macro": mean_over(list(draws.values())),
            "pooled": shown(everything.draws(odds, cut)),
        }

    def beside(self, own: tuple[Floats, float], other: tuple[Floats, float]) -> dict[str, Any]:
        """By how much one judge (its odds, its cut) is better than another on the same draws, set
        by set and in the mean.
        """
        mine, theirs = self.draws(*own), self.draws(*other)
        gains = {
            name: Draws({of: mine[name][of] - theirs[name][of] for of in GAINS}, mine[name].freedom)
            for name in self.at
        }
        return {
            "sets": {name: shown(one, GAINS, gain=True) for name, one in gains.items()},
            "macro": mean_over(list(gains.values()), GAINS, gain=True),
        }

    def recalibrated(self, odds: Floats, dev: Floats) -> dict[str, Any]:
        """The calibration error of each set that has dev rows, before and after a Platt map fitted
        on those; the mean of these, and that of their rows together, where too high in one set and
        too low in another cancel. Beside each what is expected of a map without any error.
        """
        labels = np.array([one.label for one in self.dev])
        result: dict[str, Any] = {}
        kept: list[tuple[list[str], NDArray[np.int64], Floats, Floats]] = []
        drawn: dict[str, list[Draws]] = {"before": [], "after": []}
        for name, at in self.dev_at.items():
            if name not in self.at:
                continue
            mapped = calibrate("platt", dev[at], labels[at] == 1)(odds[self.at[name]])
            before, after = odds[self.at[name]], np.clip(mapped, 0.0, 1.0)
            kept.append(
                ([self.tests[i].group for i in self.at[name]], self.samples[name].y, before, after)
            )
            for when, probabilities in (("before", before), ("after", after)):
                drawn[when].append(self.samples[name].draws(probabilities, 0.5))
            result[name] = {when: shown(draws[-1], ("ece",)) for when, draws in drawn.items()}
            result[name]["by_chance"] = calibration_error_by_chance(after)
        groups = [group for of_set, *_ in kept for group in of_set]
        y, before, after = (
            np.concatenate(part) for part in zip(*(one[1:] for one in kept), strict=True)
        )
        whole = Sample(y.tolist(), groups)
        by_chance = float(np.mean([one["by_chance"] for one in result.values()]))
        result["mean"] = {when: mean_over(draws, ("ece",)) for when, draws in drawn.items()}
        result["mean"]["by_chance"] = by_chance
        result["pooled"] = {
            "before": shown(whole.draws(before, 0.5), ("ece",)),
            "after": shown(whole.draws(after, 0.5), ("ece",)),
            "by_chance": calibration_error_by_chance(after),
        }
        return result


def _by_set(rows: Sequence[Labelled]) -> dict[str, NDArray[np.int64]]:
    return {
        name: np.array([i for i, one in enumerate(rows) if one.source == name])
        for name in dict.fromkeys(one.source for one in rows)
    }


def measure(
    task: Task, model: OfflineModel, shipped: float, others: Mapping[str, Odds]
) -> dict[str, Any]:
    """The offline model at three cuts, and every rival at the cut that its dev rows choose."""
    odds, dev = _odds(model, task.tests), _odds(model, task.dev)
    said = {
        "offline": (odds, task.cut(dev)),
        "offline_shipped_cut": (odds, shipped),
        "offline_even_odds": (odds, 0.5),
        "always_yes": (np.ones(len(task.tests)), 0.5),
        "always_no": (np.zeros(len(task.tests)), 0.5),
        **{name: (of(task.tests), task.cut(of(task.dev))) for name, of in others.items()},
    }
    judges = {name: task.figures(*one) for name, one in said.items()}
    gains = {
        name: task.beside(said["offline"], said[name])
        for name in said
        if not name.startswith("offline")
    }
    counts = {
        name: {
            "n": len(at),
            "positives": int(task.samples[name].y.sum()),
            "clusters": task.samples[name].clusters,
        }
        for name, at in task.at.items()
    }
    calibration = task.recalibrated(odds, dev)
    return {
        "counts": counts,
        "judges": judges,
        "gains": gains,
        "calibration": calibration,
        "odds": odds,
    }


def _odds(model: OfflineModel, rows: Sequence[Labelled]) -> Floats:
    return np.array([reply.probability for reply in model.score([one.call for one in rows])])


def _unigrams(rows: Sequence[Labelled]) -> Floats:
    return np.array([rivals.unigrams(one.call) for one in rows])


def through_the_metric(task: Task) -> dict[str, Any]:
    """The same rows as `ragassay evaluate` sees them: the response cut into claims, the row by the
    metric's rule.
    """
    data = [
        {
            "id": str(at),
            "contexts": one.call.passages,
            "response": one.call.text,
            "question": one.call.question,
        }
        for at, one in enumerate(task.tests)
    ]
    score, passed, lowest = (np.full(len(data), np.nan) for _ in range(3))
    with (
        tempfile.TemporaryDirectory() as folder,
        ragassay.evaluate(data, "groundedness", store=f"{folder}/rows.db", no_network=True) as run,
    ):
        for line in run:
            found = line.score("groundedness")
            if found is None or found.value is None:
                continue
            at = int(line.id)
            score[at], passed[at] = found.value, float(found.verdict is Verdict.PASS)
            claimed = [part.probability for part in found.parts if part.probability is not None]
            lowest[at] = min(claimed, default=1.0)
    sets, draws, left_out = {}, [], {}
    for name, members in task.at.items():
        kept = members[~np.isnan(score[members])]
        left_out[name] = len(members) - len(kept)
        sample = Sample([task.tests[i].label for i in kept], [task.tests[i].group for i in kept])
        by_mark, by_score, by_lowest = (
            sample.draws(one[kept], 0.5) for one in (passed, score, lowest)
        )
        draws.append(
            Draws(
                {
                    "balanced_accuracy": by_mark["balanced_accuracy"],
                    "f1_hallucinated": by_mark["f1_hallucinated"],
                    "auroc": by_score["auroc"],
                    "auroc_lowest_claim": by_lowest["auroc"],
                },
                sample.freedom,
            )
        )
        sets[name] = shown(draws[-1], tuple(draws[-1]))
    return {"sets": sets, "macro": mean_over(draws, tuple(draws[0])), "no_claim": left_out}


def short_answers(task: Task, odds: Floats, cut: float) -> dict[str, Any]:
    """Of the right answers of hotpotqa_answer the share that passes, apart for those of at most
    SHORT words.
    """
    right = [i for i in task.at["hotpotqa_answer"] if task.tests[i].label == 1]
    length = np.array([len(task.tests[i].call.passages[0].split()) for i in right])
    passes = odds[right] >= cut
    sides = {"short": length <= SHORT, "longer": length > SHORT}
    return {
        name: {"n": int(of.sum()), "passes": float(passes[of].mean()) if of.any() else None}
        for name, of in sides.items()
    }


def rewritten_card(result: dict[str, Any]) -> None:
    """Puts the agreement with people of the judge as it is shipped into the card beside the
    weights.
    """
    card = json.loads(CARD.read_text(encoding="utf-8"))
    card["agreement"] = {}
    for name, task in result["tasks"].items():
        own, plain = (
            task["judges"]["offline_shipped_cut"]["macro"],
            task["judges"]["unigrams"]["macro"],
        )
        card["agreement"][name] = {
            "balanced_accuracy": round(own["balanced_accuracy"], 4),
            "interval": [round(v, 4) for v in own["balanced_accuracy_interval"]],
            "unigrams": round(plain["balanced_accuracy"], 4),
            "auc": round(own["auroc"], 4),
            "kappa": round(own["kappa"], 4),
            "labels": sum(one["n"] for one in task["counts"].values()),
            "sets": len(task["counts"]),
            # hotpotqa_answer pairs gold and shuffled answers; the relevance negatives of HotpotQA
            # were not judged.
            "kind": "human" if name == "support" else "human and constructed",
        }
    CARD.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    parser.add_argument(
        "--speed", action="store_true", help="measure only the speed; the rest is as it was stored"
    )
    options = parser.parse_args()
    data = Path(options.data)
    load = round(os.getloadavg()[0], 1)
    held = _held(RESULTS / "offline_judge.json") if options.speed else None
    if options.speed and (held is None or held["conditions"]["model"] != OfflineModel().version):
        parser.error("the stored result is of other weights: run it without --speed")
    timed = {**speed.measured(data), "load": load}
    result = held or judged(data, load)
    result["speed"] = timed
    result["before"] = _held(Path(__file__).with_name("before.json"))
    result["leave_one_set_out"] = _held(RESULTS / "offline_loso.json")
    result["learning_curve"] = _held(RESULTS / "offline_learning_curve.json")
    result["bars"] = bars(result)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "offline_judge.json").write_text(
        json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8"
    )
    text = markdown(result)
    (RESULTS / "offline_judge.md").write_text(text, encoding="utf-8")
    print(text)
    rewritten_card(result)
    for path in pages.rewritten(result):
        print(f"figures written into {path.relative_to(ROOT)}")


def judged(data: Path, load: float) -> dict[str, Any]:
    """All that is measured on labelled rows and on the traps, with its conditions."""
    started = time.perf_counter()
    model = OfflineModel()
    cuts = model.cuts
    train = claims(data, "train")
    learned: dict[str, Odds] = {
        name: rivals.fit(train, name).probabilities for name in ("logistic", "boosting")
    }
    support = Task(claims(data, "test"), claims(data, "dev"))
    relevance = Task(passages(data, "test"), passages(data, "dev"))
    answer = Task(answers(data, "test"), answers(data, "dev"))
    tasks = {
        "support": measure(support, model, cuts["support"], {"unigrams": _unigrams, **learned}),
        "relevance": measure(relevance, model, cuts["relevance"], {"unigrams": _unigrams}),
        "answer": measure(answer, model, cuts["answer"], {"unigrams": _unigrams}),
    }
    odds = {name: task.pop("odds") for name, task in tasks.items()}
    chosen = {
        "one cut from dev": tasks["support"]["judges"]["offline"]["cut"],
        "shipped cut": cuts["support"],
    }
    trapped = traps.judged(model)
    result: dict[str, Any] = {
        "conditions": {
            "date": datetime.now(UTC).date().isoformat(),
            "model": model.version,
            "python": platform.python_version(),
            "onnxruntime": onnxruntime.__version__,
            "numpy": np.__version__,
            "cores": len(os.sched_getaffinity(0)),
            "load of the machine before the start": load,
            "command": "python benchmarks/offline_judge/run.py",
        },
        "shipped_cuts": cuts,
        "tasks": tasks,
        "through_the_metric": through_the_metric(support),
        "short_answers": short_answers(answer, odds["answer"], cuts["answer"]),
        "recorded": {
            "wice": recorded.wice(support.tests, odds["support"], chosen),
            "summac_val": recorded.summac(support.tests, odds["support"], chosen),
            "mtrag_human": recorded.mtrag(data, model),
        },
        "traps": traps.table(trapped, chosen["shipped cut"]),
    }
    result["conditions"]["seconds"] = round(time.perf_counter() - started)
    return result


def _held(path: Path) -> dict[str, Any] | None:
    """What a file of figures holds, None where it is not there."""
    if not path.exists():
        return None
    held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return held


if __name__ == "__main__":
    main()
