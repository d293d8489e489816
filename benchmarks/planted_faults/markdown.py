"""The page that the benchmark writes."""

from __future__ import annotations

from typing import Any

from benchmarks.planted_faults.figures import MARKS
from benchmarks.planted_faults.overturned import MARK

HEAD = (
    "| kind | pairs | bad rows that fail | pass | undecided | good twins that pass | fail"
    " | undecided | marks reached | word overlap: bad fail / good pass |"
)
ABOUT = {
    "by hand, reworded": (
        "Everyday texts, written for this. Most good twins say it in other words, sums and"
        " conversions included; the fault is often a word that the passages have."
    ),
    "by hand, close to the passage": (
        "The same texts; the good twins nearly repeat a sentence of the passage."
    ),
    "everyday, built on": (
        "Short texts on products, policies, travel, health, money, science and law; most good twins"
        " are reworded. Rules of the reader of facts were built on these."
    ),
    "everyday, held back": (
        "Other texts of the same kinds, written at the same time and not looked at while the rules"
        " were built."
    ),
    "paraphrased, built on": (
        "Everyday texts whose good twins say it as a language model would. Rules of the reader of"
        " facts were built on these."
    ),
    "paraphrased, held back": (
        "Other texts of the same kind, written before those rules and measured once they stood."
    ),
    "other domains, built on": (
        "Texts on sport, school, animals, stage and home, a question with each, written before the"
        " rules on parallel clauses, exceptions, places and amounts compared, which were built on"
        " these."
    ),
    "other domains, held back": (
        "The other half of those texts, told apart by a hash of their names before any was judged."
        " No row of it was looked at; its totals were, three times: before the rules, between them"
        " and here."
    ),
    "further texts, built on": (
        "Texts on hotels, banking, software, medicine, transport, work, museums, sport, cooking,"
        " tools, insurance and more, written before any rule was looked at; one half of them, for"
        " rules to be built on."
    ),
    "further texts, held back": (
        "The other half of those texts, in the order of a hash of their names, set apart before"
        " any was judged. No row of it was looked at; its totals for the reader of facts alone"
        " were, three times, beside rules that were then not taken."
    ),
    "rules, dev rows": (
        "Good twins are dev rows that people called supported; rules planted the fault."
    ),
    "rules, train rows": (
        "To fill up where dev rows are few. The judge was fitted on train rows of most of these"
        " sets, so the good twins are not new to it."
    ),
}
NAMES = {"bad_fail": "fail", "good_pass": "pass", "undecided": "undecided"}


def markdown(result: dict[str, Any]) -> str:
    """The result as a page."""
    conditions = result["conditions"]
    lines = [
        "# Planted faults",
        "",
        (
            f"{conditions['date']}; offline judge {conditions['model']}; Python"
            f" {conditions['python']}; `{conditions['command']}`; {conditions['seconds']} s. An"
            " answer that its passages support and the same answer with one fault, under the metric"
            " groundedness as it is by default. Intervals: 95 %, over documents."
        ),
        "",
        (
            f"Marks: at least {MARKS['bad_fail']:.0%} of the bad rows fail, at least"
            f" {MARKS['good_pass']:.0%} of their good twins pass, at most"
            f" {MARKS['undecided']:.0%} are undecided. Word overlap has the cut that is best for it"
            " on these very pairs."
        ),
    ]
    for source, kinds in result["sources"].items():
        lines += ["", f"## {source.capitalize()}", ""]
        lines += [ABOUT[source], ""] if source in ABOUT else []
        lines += [HEAD, "|---" + "|---:" * 9 + "|"]
        lines += [_line(kind, of) for kind, of in kinds.items()]
    if "overturned" in result:
        lines += ["", *_overturned(result["overturned"])]
    return "\n".join(lines)


def _line(kind: str, of: dict[str, Any]) -> str:
    reached = [NAMES[name] for name, yes in of["reached"].items() if yes]
    cells = [
        kind,
        str(of["pairs"]),
        _rate(of["bad_fail"]),
        str(of["bad"]["pass"]),
        str(of["bad"]["undecided"]),
        _rate(of["good_pass"]),
        str(of["good"]["fail"]),
        str(of["good"]["undecided"]),
        ", ".join(reached) or "none",
        f"{of['overlap']['bad_fail']:.2f} / {of['overlap']['good_pass']:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def _rate(of: dict[str, Any]) -> str:
    low_high = of["interval"]
    span = f" [{low_high[0]:.2f}, {low_high[1]:.2f}]" if low_high else ""
    return f"{of['rate']:.2f}{span}"


def _overturned(found: dict[str, Any]) -> list[str]:
    """The table of rules; a sentence where none overturned a claim."""
    lines = [
        "## Supported claims that a rule overturned",
        "",
        (
            f"{found['claims']} claims of dev rows that people called supported; {found['fail']} of"
            f" them fail, {found['overturned']} of these only for what the reader of facts found:"
            f" {_rate(found)}, mark at most {MARK:.0%}."
        ),
    ]
    if not found["by_rule"]:
        return [*lines, "", "No rule overturned one."]
    lines += ["", "| rule | claims overturned | share |", "|---|---:|---:|"]
    for rule, count in found["by_rule"].items():
        lines.append(f"| {rule} | {count} | {count / found['claims']:.2%} |")
    return lines
