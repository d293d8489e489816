"""How do the figures of the offline judge read? As tables, for the result and for the pages that
show a part of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SUPPORT_RIVALS = {
    "unigrams": "unigram coverage",
    "logistic": "logistic regression on ten lexical figures",
    "boosting": "boosted trees on ten lexical figures",
    "always_yes": "always yes",
}
UNFITTED = {
    "wice": "no train rows",
    "begin": "no train rows",
    "ragtruth_qa": "no train and no dev rows",
}
# What others printed of other rows: (what is measured, who, figure).
PUBLISHED = (
    ("F1 of 'hallucinated', RAGTruth responses, all tasks", "always 'hallucinated'", "51.7"),
    ("", "Ragas faithfulness", "52.0"),
    ("", "TruLens groundedness", "60.4"),
    ("", "GPT-4-turbo, prompted", "63.4"),
    ("", "encoders made for this, of 17M / 68M / 395M parameters", "68.5 / 75.0 / 79.2"),
    ("balanced accuracy, LLM-AggreFact", "SummaC-ZS", "67.7"),
    ("", "HHEM-2.1", "71.8"),
    ("", "encoders of 0.4B parameters", "73 - 75.6"),
    ("", "GPT-4o", "75.9"),
)


def number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def reach(figures: dict[str, Any], name: str, digits: int = 3) -> str:
    """A figure with its interval."""
    between = figures.get(f"{name}_interval")
    if figures.get(name) is None or not between:
        return number(figures.get(name), digits)
    return f"{figures[name]:.{digits}f} [{between[0]:.{digits}f}, {between[1]:.{digits}f}]"


def table(heads: Sequence[str], lines: Sequence[Sequence[object]]) -> list[str]:
    """A table of which the first column is words."""
    rule = "| --- |" + " ---: |" * (len(heads) - 1)
    return [
        "| " + " | ".join(heads) + " |",
        rule,
        *("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines),
    ]


def markdown(result: dict[str, Any]) -> str:
    """The whole result."""
    sections = [
        [
            "# Offline judge against people",
            "",
            *(f"- {name}: {value}" for name, value in result["conditions"].items()),
        ],
        ["## Bars", "", *bars_table(result), "", *_before(result)],
        _support(result),
        _metric(result),
        _recorded(result),
        _task(result, "relevance", "Context relevance"),
        _task(result, "answer", "Answer relevance"),
        _calibration(result),
        _traps(result),
        _apart(result),
        _curve(result),
        _speed(result),
        _published(),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def bars_table(result: dict[str, Any]) -> list[str]:
    """Every bar, what was reached, and whether that is enough."""
    words = {True: "reached", False: "NOT reached", None: "not measured"}
    lines = []
    for bar in result["bars"]:
        digits = 1 if bar["mark"] > 2 else 3
        figure = {"figure": bar["figure"], "figure_interval": bar["interval"]}
        aim = f" (aim {bar['aim']:.2f})" if bar["aim"] else ""
        lines.append(
            (
                bar["what"],
                f"{bar['side']} {bar['mark']:.{digits}f}{aim}",
                reach(figure, "figure", digits),
                words[bar["reached"]],
            )
        )
    return table(("bar", "mark", "measured", ""), lines)


def _before(result: dict[str, Any]) -> list[str]:
    before = result["before"]
    if before is None or before["model"] == result["conditions"]["model"]:
        return []
    own, was = result["tasks"], before["tasks"]
    lines = [
        (
            name,
            *(
                number(tasks[name]["judges"]["offline"]["macro"][figure])
                for figure in ("balanced_accuracy", "auroc")
                for tasks in (was, own)
            ),
        )
        for name in own
    ]
    support, was_support = (side["support"]["judges"]["offline"]["sets"] for side in (own, was))
    sets = [
        (
            name,
            *(
                number(side[name][figure])
                for figure in ("balanced_accuracy", "auroc")
                for side in (was_support, support)
            ),
        )
        for name in support
    ]
    heads = ("balanced accuracy before", "now", "AUROC before", "now")
    return [
        (
            f"Before: {before['what']} Each at its own cut from dev; what changed from one trained"
            " judge to the next is in"
        ),
        "docs/decisions/0011-training-the-judge.md.",
        "",
        *table(("mean over the sets of the task", *heads), lines),
        "",
        *table(("groundedness", *heads), sets),
    ]


def support_lines(result: dict[str, Any]) -> list[tuple[object, ...]]:
    """A line a set: rows, balanced accuracy at the headline cut, AUROC, F1 of 'hallucinated', plain
    rivals.
    """
    task = result["tasks"]["support"]
    judges = task["judges"]
    lines: list[tuple[object, ...]] = []
    for name, count in task["counts"].items():
        own = judges["offline"]["sets"][name]
        mark = "°" if name in UNFITTED else ""
        lines.append(
            (
                f"{name}{mark}",
                f"{count['n']:,}",
                reach(own, "balanced_accuracy"),
                reach(own, "auroc"),
                reach(own, "f1_hallucinated"),
                number(judges["always_no"]["sets"][name]["f1_hallucinated"]),
                *(
                    number(judges[rival]["sets"][name]["balanced_accuracy"])
                    for rival in ("unigrams", "logistic")
                ),
            )
        )
    macro = {name: judge["macro"] for name, judge in judges.items()}
    lines.append(
        (
            "mean over the sets",
            f"{sum(one['n'] for one in task['counts'].values()):,}",
            *(
                reach(macro["offline"], figure)
                for figure in ("balanced_accuracy", "auroc", "f1_hallucinated")
            ),
            number(macro["always_no"]["f1_hallucinated"]),
            *(number(macro[rival]["balanced_accuracy"]) for rival in ("unigrams", "logistic")),
        )
    )
    return lines


SUPPORT_HEADS = (
    "set",
    "rows",
    "balanced accuracy",
    "AUROC",
    "F1 of 'hallucinated'",
    "F1 of always 'hallucinated'",
    "word overlap: balanced accuracy",
    "ten lexical figures: balanced accuracy",
)


def _support(result: dict[str, Any]) -> list[str]:
    task, cuts = result["tasks"]["support"], result["shipped_cuts"]
    judges = task["judges"]
    out = [
        "## Groundedness",
        "",
        (
            "Each response is one claim. The headline is the balanced accuracy at ONE cut for all"
            f" sets, {judges['offline']['cut']:.3f},"
        ),
        (
            "the one that is best on dev parts (scifact and ragtruth_qa have none); word overlap"
            " and the lexical learners get their cut by"
        ),
        (
            f"the same rule. The judge as shipped says yes from {cuts['support']}, which is chosen"
            " for whole responses of several claims (docs/decisions)."
        ),
        (
            "Intervals: 95 %, bootstrap t over whole groups (source documents, questions,"
            " conversations), means over sets drawn inside each set."
        ),
        f"° {'; '.join(f'{name}: {why}' for name, why in UNFITTED.items())} served to fit.",
        "",
        *table(SUPPORT_HEADS, support_lines(result)),
        "",
        "Other cuts and other rivals:",
        "",
    ]
    names = {
        "offline": f"offline, one cut from dev ({judges['offline']['cut']:.3f})",
        "offline_shipped_cut": f"offline, as shipped ({cuts['support']})",
        "offline_even_odds": "offline, even odds (0.5)",
        **SUPPORT_RIVALS,
        "always_no": "always 'hallucinated'",
    }
    macro = [
        (
            words,
            *(
                reach(judges[name]["macro"], figure)
                for figure in ("balanced_accuracy", "auroc", "kappa", "f1_hallucinated")
            ),
            number(judges[name]["pooled"]["balanced_accuracy"]),
        )
        for name, words in names.items()
    ]
    heads = (
        "mean over the sets",
        "balanced accuracy",
        "AUROC",
        "kappa",
        "F1 of 'hallucinated'",
        "balanced accuracy, all rows pooled",
    )
    out += [*table(heads, macro), "", "Per set, every judge:", ""]
    lines = []
    for name in task["counts"]:
        for judge, words in names.items():
            own = judges[judge]["sets"][name]
            figures = ("balanced_accuracy", "auroc", "f1_hallucinated", "ece")
            lines.append(
                (
                    name if judge == "offline" else "",
                    words,
                    *(reach(own, figure) for figure in figures),
                )
            )
    counted = [
        (name, f"{one['n']:,}", f"{one['positives']:,}", f"{one['clusters']:,}")
        for name, one in task["counts"].items()
    ]
    out += [
        *table(
            ("set", "judge", "balanced accuracy", "AUROC", "F1 of 'hallucinated'", "ECE"), lines
        ),
        "",
        *table(("set", "rows", "supported", "groups"), counted),
    ]
    return out


def _metric(result: dict[str, Any]) -> list[str]:
    found = result["through_the_metric"]
    lines = []
    for name, own in {**found["sets"], "mean over the sets": found["macro"]}.items():
        lines.append(
            (
                name,
                *(
                    reach(own, figure)
                    for figure in (
                        "balanced_accuracy",
                        "auroc",
                        "auroc_lowest_claim",
                        "f1_hallucinated",
                    )
                ),
                found["no_claim"].get(name, ""),
            )
        )
    heads = (
        "set",
        "balanced accuracy",
        "AUROC of the score",
        "AUROC of the lowest claim",
        "F1 of 'hallucinated'",
        "rows without a claim",
    )
    return [
        "### The same rows through the metric",
        "",
        (
            "As `ragassay evaluate` judges them: the response is cut into claims, each is judged at"
            " the shipped cut, and the row passes when"
        ),
        "at least 0.9 of its claims pass. The score is the share of claims that pass.",
        "",
        *table(heads, lines),
    ]


def _recorded(result: dict[str, Any]) -> list[str]:
    wice, summac, mtrag = (
        result["recorded"][name] for name in ("wice", "summac_val", "mtrag_human")
    )
    wice_lines = [
        (name, *(reach(own, figure) for figure in ("balanced_accuracy", "auroc", "kappa")))
        for name, own in wice["judges"].items()
    ]
    chosen = [name for name in next(iter(summac.values())) if name.startswith("offline")]
    summac_lines = [
        (name, own["n"], number(own["found"]), *(number(own[one]) for one in chosen))
        for name, own in summac.items()
    ]
    mtrag_lines = [(name, number(own["auroc"])) for name, own in mtrag["judges"].items()]
    return [
        "## Beside recorded language models, on the same rows",
        "",
        (
            f"wice: the {wice['n']} test claims ({wice['positives']} supported) that GPT-4 and"
            " GPT-3.5 judged. They read the chunks that hold"
        ),
        "the evidence; with the whole article the task is harder.",
        "",
        *table(("judge", "balanced accuracy", "AUROC", "kappa"), wice_lines),
        "",
        (
            "summac_val: judges saw inconsistent summaries only; the share of them that is found"
            " (no balanced accuracy can be given)."
        ),
        "",
        *table(
            ("judge", "rows", "found by the judge", *(f"found by {one}" for one in chosen)),
            summac_lines,
        ),
        "",
        (
            f"mtrag_human: AUROC of a median human faithfulness of 3 of 4 or better, {mtrag['n']}"
            f" answers ({mtrag['positives']} faithful) in only"
        ),
        (
            f"{mtrag['clusters']} conversations: too few for intervals. rl_f: faithfulness by an"
            " LLM; rb_llm: an LLM with the reference answer."
        ),
        "",
        *table(("judge", "AUROC"), mtrag_lines),
    ]


def _task(result: dict[str, Any], name: str, title: str) -> list[str]:
    task = result["tasks"][name]
    judges = task["judges"]
    words = {
        "offline_shipped_cut": f"offline, as shipped ({result['shipped_cuts'][name]})",
        "offline": f"offline, one cut from dev ({judges['offline']['cut']:.3f})",
        "unigrams": "unigram coverage",
        "always_yes": "always yes",
    }
    lines = []
    for judge, said in words.items():
        for at, figures in {
            **judges[judge]["sets"],
            "mean over the sets": judges[judge]["macro"],
        }.items():
            count = f"{task['counts'][at]['n']:,}" if at in task["counts"] else ""
            lines.append(
                (
                    said,
                    at,
                    count,
                    *(reach(figures, one) for one in ("balanced_accuracy", "auroc", "f1", "ece")),
                )
            )
    out = [
        f"## {title}",
        "",
        *table(("judge", "set", "rows", "balanced accuracy", "AUROC", "F1", "ECE"), lines),
    ]
    if name == "relevance":
        out += ["", "The negatives of hotpotqa_context were retrieved, nobody judged them."]
    else:
        short = result["short_answers"]
        out += [
            "",
            (
                "hotpotqa_answer pairs questions with their gold answers and with those of other"
                " questions: constructed labels. Of its right"
            ),
            (
                f"answers with at most three words {number(short['short']['passes'])} of"
                f" {short['short']['n']} pass, of the longer ones"
                f" {number(short['longer']['passes'])} of {short['longer']['n']}."
            ),
        ]
    return out


def _calibration(result: dict[str, Any]) -> list[str]:
    lines = [
        (
            task,
            name,
            reach(one["before"], "ece"),
            reach(one["after"], "ece"),
            number(one["by_chance"]),
        )
        for task, figures in result["tasks"].items()
        for name, one in figures["calibration"].items()
    ]
    return [
        "## Calibration error",
        "",
        (
            "Ten bins of equal width. Shipped: the model's probability as it is. After: a Platt map"
            " fitted on the dev rows of the same set,"
        ),
        (
            "which is what `ragassay calibrate` shows with labels of yours; a run's scores stay the"
            " judge's own. The figure is never quite 0: by"
        ),
        (
            "chance is what probabilities without any error would show on so few rows. Mean: of the"
            " sets. Pooled: of their rows together, where"
        ),
        "too high and too low cancel.",
        "",
        *table(("task", "set", "shipped", "after", "by chance"), lines),
    ]


def _traps(result: dict[str, Any]) -> list[str]:
    before = result["before"]["traps"] if result["before"] else {}
    lines = []
    for kind, own in result["traps"].items():
        was = before.get(kind)
        lines.append(
            (
                kind.replace("_", " "),
                own["pairs"],
                number(own["right_order"], 2),
                number(was["right_order"], 2) if was else "–",
                number(own["auroc"], 2),
                number(own["passes"], 2),
                number(own["stopped"], 2),
            )
        )
    heads = (
        "kind",
        "pairs",
        "right order",
        "right order before",
        "AUROC",
        "supported that pass",
        "unsupported that are stopped",
    )
    return [
        "## Traps",
        "",
        (
            "Pairs written by hand for this benchmark: one claim that the passage supports, one"
            " that it does not. Right order: the"
        ),
        (
            "share of pairs in which the supported one is the more probable (0.5 is a coin). All"
            " contradictions: number to opposite, where the"
        ),
        (
            "wrong claim is made of the passage's own words, so that the share of words found"
            " prefers it. So it does in every pair of paraphrase."
        ),
        f"Passed and stopped: at the shipped cut, {result['shipped_cuts']['support']}.",
        "",
        *table(heads, lines),
    ]


def _apart(result: dict[str, Any]) -> list[str]:
    apart = result["leave_one_set_out"]
    if apart is None:
        return []
    lines = [
        (name, *(reach(own, figure) for figure in ("balanced_accuracy", "auroc")))
        for name, own in {**apart["sets"], "mean over the sets": apart["macro"]}.items()
    ]
    return [
        "## Each set left out in turn",
        "",
        str(
            apart.get(
                "note",
                "Weights that were trained without any row of the set on which they are measured.",
            )
        ),
        "",
        *table(("set left out", "balanced accuracy", "AUROC"), lines),
    ]


def _curve(result: dict[str, Any]) -> list[str]:
    curve = result.get("learning_curve")
    if curve is None:
        return []
    lines = [
        (
            f"{point['share']:.0%}",
            f"{point['rows']:,}",
            *(
                number(point[name])
                for name in ("network_best_cut", "network_auroc", "line", "line_auroc")
            ),
        )
        for point in curve["points"]
    ]
    heads = (
        "share",
        "rows",
        "network, best cut of each set",
        "AUROC",
        "with the figures, one cut",
        "AUROC",
    )
    return [
        "## Would more labelled rows help?",
        "",
        (
            "Groundedness on development rows after training on a share of the rows that people"
            f" labelled. {curve['note']}"
        ),
        "",
        *table(heads, lines),
    ]


def _speed(result: dict[str, Any]) -> list[str]:
    own = result["speed"]
    lines = [
        (
            "rows a second (4 contexts of 100 words, 4 claims, question, response)",
            number(own["rows_per_second"], 1),
        ),
        ("ms CPU a row", number(own["cpu_ms_per_row"], 1)),
        (
            "ms an input of 384 tokens, the longest that is read at once",
            number(own["ms_per_window"], 2),
        ),
        ("ms CPU an input of 384 tokens", number(own["cpu_ms_per_window"], 2)),
        (
            "ms a claim as it is judged (24 tokens, of a passage of 357)",
            number(own["ms_per_claim"], 2),
        ),
        ("ms CPU a claim as it is judged", number(own["cpu_ms_per_claim"], 2)),
        *((f"MB {name}", number(size / 1e6, 2)) for name, size in own["bytes"].items()),
    ]
    return [
        "## Speed and size",
        "",
        (
            f"One process on {result['conditions']['cores']} cores, weights loaded, no text twice;"
            f" load of the machine before: {own.get('load', 'not stored')}."
        ),
        "",
        *table(("", "measured"), lines),
    ]


def _published() -> list[str]:
    return [
        "## Published figures",
        "",
        (
            "Printed by others, of other rows and splits than those here (RAGTruth: all three"
            " tasks; LLM-AggreFact: eleven sets, some of which"
        ),
        "are here in part). For orientation, not for comparison to the decimal.",
        "",
        *table(("measure", "judge", "published"), PUBLISHED),
    ]
