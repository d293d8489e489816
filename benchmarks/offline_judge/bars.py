"""Bars that were set for the offline judge, and those that it reaches.

A bar is reached where the figure itself is on its good side; the interval stands beside it. `aim`
is what was hoped for.
"""

from __future__ import annotations

from typing import Any

ABOVE, BELOW = "at least", "at most"


def bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Every bar with its mark, what was measured, and whether that reaches it (None: not measured
    here).
    """
    support, relevance, answer = (
        result["tasks"][name] for name in ("support", "relevance", "answer")
    )
    own = support["judges"]["offline"]
    ragtruth = own["sets"]["ragtruth_qa"]
    apart = result["leave_one_set_out"]
    if apart and len(apart["sets"]) < len(own["sets"]):
        apart = None  # the mark is of all sets
    speed = result["speed"]
    lowest = result["through_the_metric"]["sets"]["ragtruth_qa"]
    answered = answer["judges"]["offline_shipped_cut"]["sets"]["hotpotqa_answer"]
    return [
        _bar(
            "groundedness, mean balanced accuracy over the nine test parts, one cut from dev",
            ABOVE,
            0.73,
            own["macro"]["balanced_accuracy"],
            own["macro"]["balanced_accuracy_interval"],
            aim=0.78,
        ),
        _bar(
            "the same, each set judged by weights that never saw it",
            ABOVE,
            0.69,
            apart["macro"]["balanced_accuracy"] if apart else None,
            apart["macro"]["balanced_accuracy_interval"] if apart else None,
            aim=0.73,
        ),
        _bar(
            "ragtruth_qa, AUROC, the response as one claim",
            ABOVE,
            0.80,
            ragtruth["auroc"],
            ragtruth["auroc_interval"],
        ),
        _bar(
            "ragtruth_qa, AUROC, the lowest claim of the response",
            ABOVE,
            0.80,
            lowest["auroc_lowest_claim"],
            lowest["auroc_lowest_claim_interval"],
        ),
        *(
            _bar(
                f"ragtruth_qa, F1 of 'hallucinated': gain over {words}",
                ABOVE,
                0.0,
                gain["f1_hallucinated"],
                gain["f1_hallucinated_interval"],
            )
            for words, gain in (
                ("always 'hallucinated'", support["gains"]["always_no"]["sets"]["ragtruth_qa"]),
                ("ten lexical figures", support["gains"]["logistic"]["sets"]["ragtruth_qa"]),
                ("the share of words found", support["gains"]["unigrams"]["sets"]["ragtruth_qa"]),
            )
        ),
        _bar("hotpotqa_context, AUROC", ABOVE, 0.90, *_of(relevance, "hotpotqa_context", "auroc")),
        _bar("hotpotqa_answer, F1", ABOVE, 0.90, answered["f1"], answered["f1_interval"]),
        *(
            _bar(
                f"{name}, calibration error, calibrated on its own dev rows",
                BELOW,
                0.05,
                task["calibration"][name]["after"]["ece"],
                task["calibration"][name]["after"]["ece_interval"],
            )
            for task, name in ((relevance, "hotpotqa_context"), (answer, "hotpotqa_answer"))
        ),
        _bar(
            "groundedness, calibration error, sets with dev rows together, each calibrated on"
            " its own",
            BELOW,
            0.05,
            support["calibration"]["pooled"]["after"]["ece"],
            support["calibration"]["pooled"]["after"]["ece_interval"],
        ),
        _bar(
            "the same, mean over the sets, where errors of two sets do not cancel",
            BELOW,
            0.05,
            support["calibration"]["mean"]["after"]["ece"],
            support["calibration"]["mean"]["after"]["ece_interval"],
        ),
        _bar(
            "milliseconds for a claim and its window, 384 tokens together",
            BELOW,
            12.0,
            speed["ms_per_window"],
            None,
        ),
        _bar(
            "rows of 4 claims and 4 contexts of 100 words a second",
            ABOVE,
            15.0,
            speed["rows_per_second"],
            None,
        ),
        _bar(
            "all files of the weights together, MB",
            BELOW,
            25.0,
            sum(speed["bytes"].values()) / 1e6,
            None,
        ),
    ]


def _of(task: dict[str, Any], name: str, figure: str) -> tuple[float, list[float]]:
    found = task["judges"]["offline"]["sets"][name]
    return found[figure], found[f"{figure}_interval"]


def _bar(
    what: str,
    side: str,
    mark: float,
    figure: float | None,
    interval: list[float] | None,
    aim: float | None = None,
) -> dict[str, Any]:
    reached = None if figure is None else figure >= mark if side == ABOVE else figure <= mark
    return {
        "what": what,
        "side": side,
        "mark": mark,
        "aim": aim,
        "figure": figure,
        "interval": interval,
        "reached": reached,
    }
