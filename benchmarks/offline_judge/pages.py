"""Which pages show figures of the offline judge? Each has marked places, and what stands there
comes from the results.

A place is `<!-- offline judge: NAME -->` up to `<!-- end -->`. Text around it is written by hand
and holds no figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.offline_judge.markdown import (
    SUPPORT_HEADS,
    bars_table,
    number,
    reach,
    support_lines,
    table,
)

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "docs/certificates.md",
    "docs/judges.md",
    "src/ragassay/models/offline/weights/MODEL_CARD.md",
)
PLACE = re.compile(r"(<!-- offline judge: (?P<name>[a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
# Kinds of traps, in the words of a reader who wonders what the judge can tell.
KINDS = {
    "number": "a wrong number",
    "date": "a wrong date",
    "unit": "a wrong unit",
    "name": "a wrong name",
    "negation": "a lost or added 'not'",
    "quantifier": "some, all, most",
    "role_swap": "who did what to whom",
    "opposite": "a word swapped for its opposite",
    "paraphrase": "the same said in other words",
    "world_knowledge": "true in the world, but not in the passage",
    "multi_hop": "two passages needed",
    "arithmetic": "sums and dates to compute",
    "other_languages": "other languages than English",
    "injection": "passages that repeat or announce the claim",
    "middle": "evidence in the middle of a long text",
    "tiny": "empty and one-word texts",
}
WEAK = 0.8


def in_short(result: dict[str, Any]) -> list[str]:
    """One table of means: the offline judge beside what is plainer."""
    judges = result["tasks"]["support"]["judges"]
    names = {
        "offline": "offline judge, one cut for all sets, chosen on dev",
        "offline_shipped_cut": (
            f"offline judge as shipped (yes from {result['shipped_cuts']['support']})"
        ),
        "logistic": "logistic regression on ten lexical figures",
        "unigrams": "share of words found",
        "always_yes": "always yes",
    }
    figures = ("balanced_accuracy", "auroc")
    lines = [
        (words, *(reach(judges[name]["macro"], one) for one in figures))
        for name, words in names.items()
    ]
    wice = result["recorded"]["wice"]["judges"]
    where = next(name for name in wice if name.startswith("offline, whole article"))
    near = next(name for name in wice if name.startswith("offline, chunks"))

    def accuracy(judge: str) -> str:
        return reach(wice[judge], "balanced_accuracy", 2)

    return [
        *table(("groundedness, mean over nine test sets", "balanced accuracy", "AUROC"), lines),
        "",
        (
            f"On the {result['recorded']['wice']['n']} claims of wice that language models judged"
            " with the evidence before them, balanced accuracy is"
        ),
        (
            f"{accuracy('gpt-4-0613')} for GPT-4 and {accuracy('gpt-3.5-turbo-0613')} for GPT-3.5;"
            " the offline judge has"
        ),
        f"{accuracy(near)} with the evidence and {accuracy(where)} with the whole article.",
    ]


def per_set(result: dict[str, Any]) -> list[str]:
    """Groundedness, a line a set."""
    return [
        *table(SUPPORT_HEADS, support_lines(result)),
        "",
        (
            "° the network was not trained on rows of the set: wice's dev rows served to calibrate,"
            " begin's to choose, ragtruth_qa's test rows were looked at after each of the"
            " trainings."
        ),
    ]


def other_tasks(result: dict[str, Any]) -> list[str]:
    """Context relevance and answer relevance at the shipped cuts, and short answers."""
    lines = []
    for name, words in (("relevance", "context relevance"), ("answer", "answer relevance")):
        task = result["tasks"][name]
        for at, own in task["judges"]["offline_shipped_cut"]["sets"].items():
            plain = number(task["judges"]["unigrams"]["sets"][at]["auroc"])
            always = number(task["judges"]["always_yes"]["sets"][at]["f1"])
            lines.append(
                (
                    words,
                    at,
                    *(reach(own, one) for one in ("balanced_accuracy", "auroc", "f1")),
                    always,
                    plain,
                )
            )
    heads = (
        "task",
        "set",
        "balanced accuracy",
        "AUROC",
        "F1",
        "F1 of always yes",
        "word overlap: AUROC",
    )
    short = result["short_answers"]
    return [
        *table(heads, lines),
        "",
        (
            f"Right answers of hotpotqa_answer that pass: {number(short['short']['passes'], 2)} of"
            f" those with at most three words, {number(short['longer']['passes'], 2)} of the longer"
            " ones."
        ),
    ]


def weak(result: dict[str, Any]) -> list[str]:
    """What the traps say: each kind with the share of pairs in the right order, and an example of
    each that is weak.
    """
    found = {kind: own for kind, own in result["traps"].items() if kind in KINDS}
    order = sorted(found, key=lambda kind: (found[kind]["right_order"], kind))
    lines = [
        (
            KINDS[kind],
            found[kind]["pairs"],
            *(number(found[kind][one], 2) for one in ("right_order", "passes", "stopped")),
        )
        for kind in order
    ]
    heads = (
        "what tells right from wrong",
        "pairs",
        "right order",
        "supported that pass",
        "unsupported that are stopped",
    )
    cut = f"{result['shipped_cuts']['support']:g} for claims"
    out = [f"Passed and stopped: at the pass mark, {cut}.", "", *table(heads, lines), ""]
    examples = []
    for kind in order:
        worst = found[kind]["worst"]
        lost = worst["probability_supported"] <= worst["probability_unsupported"]
        if found[kind]["right_order"] < WEAK and lost and worst["passage"] != "(long)":
            examples.append(
                f'- {KINDS[kind]}: from "{worst["passage"]}" it gives "{worst["unsupported"]}"'
                f' {worst["probability_unsupported"]:.2f} and "{worst["supported"]}"'
                f" {worst['probability_supported']:.2f}."
            )
    return (
        [*out, "Its worst mistakes on the kinds where it is weak:", "", *examples]
        if examples
        else out[:-1]
    )


def marks(result: dict[str, Any]) -> list[str]:
    """From which probability the judge says yes."""
    cuts = result["shipped_cuts"]
    return [
        f"The pass mark, rating 2, starts at a probability of {cuts['support']:g} for claims,"
        f" {cuts['relevance']:g} for chunks and {cuts['answer']:g} for answers."
    ]


PLACES: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "in short": in_short,
    "per set": per_set,
    "other tasks": other_tasks,
    "weak": weak,
    "marks": marks,
    "bars": bars_table,
}


def filled(text: str, result: dict[str, Any]) -> str:
    """The text with every place filled. Raises KeyError for a place that nothing is known of."""

    def block(found: re.Match[str]) -> str:
        return "\n".join([found[1], *PLACES[found["name"]](result), "", found[3]])

    return PLACE.sub(block, text)


def rewritten(result: dict[str, Any]) -> list[Path]:
    """Fills the places of all pages; the pages that changed."""
    changed = []
    for page in PAGES:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        new = filled(text, result)
        if new != text:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed
