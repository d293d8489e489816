"""Figures that stand in the prose of the pages are those of the benchmarks' results: a page that
says an older one fails here, with what it should say.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from functools import cache
from pathlib import Path
from statistics import NormalDist, median
from typing import Any

import pytest
from typer.main import get_command

from docs import code_blocks
from ragassay.cli.app import app

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
OF_SCALE = "60 rows, 4 contexts of 100 words, 4 claims"
LARGE = "60 rows, 8 contexts of 400 words, 4 claims"


COMMAND = get_command(app)
"""Made once: that takes longer than all that is asked of it."""


@cache
def results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def row_of(name: str, first: str) -> list[str]:
    """The cells after the first one, of the table line of results that begins with it."""
    for line in (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] == first:
            return cells[1:]
    raise AssertionError(f"{name}.md has no line {first!r}")


def hundreds(value: float) -> str:
    return f"{round(value, -2):,.0f}"


def of_scale() -> list[str]:
    """What docs/scale.md says."""
    found = results("prompts")["found"]
    own = [found[OF_SCALE]["per_row"][way]["bytes by 4"] for way in found[OF_SCALE]["per_row"]]
    large = found[LARGE]["per_row"]["batched"]["bytes by 4"]
    served = found[OF_SCALE]["served"]["bytes by 4"]["batched"]["32"]["as sent"]
    at_home = found[OF_SCALE]["own_server"]["batched"]["bytes by 4"]
    calls, chunkwise, single = (round(each["calls"]) for each in own)
    tokens = own[0]["tokens"] + own[0]["schema_tokens"]
    ours = [condition["found"]["ragassay"] for condition in results("engine")["conditions"]]
    cpu = [median(each["cpu_ms_per_call"] for each in runs) for runs in ours]
    store = median(each["store_kb_a_row"] for runs in ours for each in runs)
    offline = results("offline_judge")["speed"]["cpu_ms_per_row"]
    rates = {
        (run["workload"], run["workers"]): run["rows_per_second"]
        for run in results("distributed")["runs"]
    }
    return [
        f"| calls a row | {calls} | measured, `benchmarks/results/prompts.md`; {chunkwise} with one"
        f" call a chunk, {single} with single calls |",
        f"| prompt tokens a row | {hundreds(tokens)} | counted, the same, with the schema of the"
        f" reply; {hundreds(large['tokens'] + large['schema_tokens'])} with 8 contexts",
        f"prefix cache | {served:.0%} |".replace("%", " %"),
        f"{at_home:.0%} by the cache of a server of your own".replace("%", " %"),
        f"| our own CPU a call | {min(cpu):.1f} to {max(cpu):.1f} ms |",
        f"| store a row | {store:.1f} KB |",
        f"| offline judge, CPU a row | {math.floor(offline):.0f} ms |",
        f"PROMPT, REPLY = 100_000_000, {calls}, {round(tokens, -2):_.0f}, 675",
        f"Two workers that shared the cores with the server came to {rates['server', 2]:.0f} rows a"
        f" second,\nwhere one process came to {rates['server', 0]:.0f}. With the earlier offline"
        f" judge (decision trees) it was {rates['offline', 2]:.0f} against"
        f" {rates['offline', 0]:.0f}.",
    ]


def of_judges() -> list[str]:
    """What docs/judges.md says beside its tables, which are written from the results."""
    found = results("planted_faults")["overturned"]
    card = json.loads(
        (ROOT / "src/ragassay/models/offline/weights/card.json").read_text(encoding="utf-8")
    )
    bands = [
        f"{card['cuts'][task]:.2f} to {card['near'][task]:.2f} for {what}"
        for task, what in (("support", "claims"), ("relevance", "chunks"), ("answer", "answers"))
    ]
    cuts = card["cuts"]
    return [
        f"Of {found['claims']:,} claims that people called supported, the reader of facts overturns"
        f" {100 * found['rate']:.1f} %.",
        f"The bands reach from {bands[0]}, from {bands[1]} and from {bands[2]};",
        f"starts at a probability of {cuts['support']:g} for claims, {cuts['relevance']:g} for"
        f" chunks and {cuts['answer']:g} for answers.",
    ]


def of_judges_near_the_cut() -> list[str]:
    bands = results("near_cut")["bands"]
    claims, chunks, answers = (
        f"{100 * bands[task]['agree']:.0f} %" for task in ("support", "relevance", "answer")
    )
    shares = sorted(round(100 * band["share"]) for band in bands.values())
    return [
        f"people agreed with {claims} of such yeses about claims, {chunks} about chunks and"
        f" {answers} about answers",
        f"{shares[0]} to {shares[-1]} % of the dev rows lie in each",
    ]


def of_diagnosis() -> list[str]:
    types = results("query_types")["types"]
    hotpot, nq = types["hotpotqa_answer"], types["nq_open"]
    of_hotpot, of_nq = (each["multi-hop"] / sum(each.values()) for each in (hotpot, nq))
    return [
        f"of the {sum(hotpot.values()):,} questions of `hotpotqa_answer`, which all need two"
        f" documents, they find {100 * of_hotpot:.0f} %;",
        f"of the {sum(nq.values()):,} of `nq_open`, nearly all simple, they call"
        f" {100 * of_nq:.1f} % multi-hop",
    ]


def of_concepts() -> list[str]:
    found = results("declining")["figures"]
    asked, refused = found["evouna, test"], found["mtrag_un, test"]
    return [
        f"it found {asked['both']} of {asked['decline']} refusals among {asked['rows']:,} answers"
        f" of evouna and called {asked['called'] - asked['both']} answers refusals;",
        f"of mtrag_un's responses to unanswerable questions {refused['both']} of"
        f" {refused['decline']}",
    ]


def of_testsets() -> list[str]:
    found = results("testsets")
    sets = found["offline_set"]
    first, others = sets["seen: 100 passages of clapnq"], sets["clapnq, the others"]
    of_clapnq, of_scifact = found["ranking"]["clapnq"], found["ranking"]["scifact"]
    tau, agreed = (
        [f"{each[name]:.2f}"[1:] for each in (of_clapnq, of_scifact)]
        for name in ("tau", "tau of as many real ones")
    )
    return [
        f"of {first['passages']} passages of an encyclopedia it makes {first['delivered']}"
        f" questions, of {others['passages']} others {others['delivered']},",
        f"Kendall's tau was {tau[0]} and {tau[1]} on two corpora, where as many real queries agree"
        f" with the others to {agreed[0]} and {agreed[1]}",
    ]


def of_pytest() -> list[str]:
    return [f"{results('startup')['unrelated_suite_ms']:.1f} ms more in the median pair"]


def of_rows() -> list[str]:
    row = next(
        row
        for row in results("scale")["huge"]
        if (row["judge"], row["contexts"], row["megabytes"]) == ("offline", 1, 10)
    )
    seconds = {1: "one", 2: "two", 3: "three", 4: "four"}[round(row["cpu_s"])]
    return [f"10 MB of text in one context take about {seconds} seconds."]


def of_web() -> list[str]:
    text = (RESULTS / "web_pages.md").read_text(encoding="utf-8")
    found = re.search(r"compressed: script ([\d.]+) KB, style ([\d.]+) KB", text)
    assert found is not None
    script, style = (math.ceil(float(size)) for size in found.groups())
    return [f"Scripts: {script} KB, compressed; style: {style} KB."]


def of_readme() -> list[str]:
    own = results("offline_judge")["tasks"]["support"]["judges"]["offline"]["macro"]
    accuracy, auroc = (f"{own[name]:.2f}"[1:] for name in ("balanced_accuracy", "auroc"))
    return [f"a balanced accuracy of {accuracy} and an AUROC of {auroc};"]


def of_trust() -> list[str]:
    worlds = (
        "0.78, 0.8, 0.8, 400, 100",
        "0.78, 0.8, 0.8, 400, 60",
        "0.9, 0.95, 0.7, 1000, 80",
        "0.2, 0.95, 0.9, 1000, 80",
        "0.65, 0.95, 0.4, 400, 100",
    )
    cells = [row_of("correction_peers", world)[:2] for world in worlds]
    ours, others = (
        sorted(f"{float(cell.split()[0]):.3f}"[1:] for cell in each)
        for each in zip(*cells, strict=True)
    )
    return [
        f"holds the truth {others[0]} to {others[-1]} of the time,"
        f" RagAssay {ours[0]} to {ours[-1]}.",
        *of_small_labels(),
    ]


def of_small_labels() -> list[str]:
    def short(value: float | str) -> str:
        return f"{float(value):.3f}"[1:]

    cells = results("small_labels")["cells"]
    width, coverage = (
        sum(cell[name]["ragassay"] for cell in cells) / len(cells) for name in ("width", "coverage")
    )
    page = (RESULTS / "small_labels.md").read_text(encoding="utf-8")
    least = re.search(r"Least mean width: ([\d.]+) at every truth", page)
    assert least is not None
    normal = NormalDist()
    as_wide = normal.inv_cdf(0.5 + round(coverage, 3) / 2) / normal.inv_cdf(0.97)
    of_walks = [
        short(line.split("|")[7].strip())
        for line in page.splitlines()
        if line.startswith("| 0.78, 0.8, 0.8, 400 |")
    ]
    # The variance of a rate falls as one over the labels, but for the part that the rows leave.
    passed = 0.78 * 0.8 + 0.22 * 0.2
    right = 0.78 * 0.8 / passed, 0.78 * 0.2 / (1 - passed)
    within = passed * right[0] * (1 - right[0]) + (1 - passed) * right[1] * (1 - right[1])
    between = 0.78 * 0.22 - within
    needed = within / ((0.145 / 2 / normal.inv_cdf(0.97)) ** 2 - between / 400)
    return [
        f"on average over its worlds {short(least[1])}, where RagAssay has {short(width)} at a"
        f" coverage of {short(coverage)} (at {short(coverage)} the least is"
        f" {short(float(least[1]) * as_wide)}).",
        f"it is {of_walks[0]} at 60 labels, {of_walks[1]} at 80 and {of_walks[2]} at 100: a width"
        f" of .145 needs {math.ceil(needed)} labels or more.",
    ]


def of_production() -> list[str]:
    seconds = float(row_of("watch", "cpu_seconds")[0])
    made = row_of("ingest", "rows made of traces of three spans with four documents")[0]
    rate = float(made.split()[0].replace(",", ""))
    return [
        f"put together at about {hundreds(rate)} a second and core",
        f"a short trace takes {1000 / rate:.1f} ms of one core",
        f"| map | {int(row_of('watch', 'points')[0]):,} questions in {seconds:.1f} CPU seconds and"
        f" {row_of('watch', 'peak_mb')[0]} MB |",
    ]


@pytest.mark.parametrize(
    ("page", "sentences"),
    [
        ("README.md", of_readme),
        ("docs/scale.md", of_scale),
        ("docs/judges.md", of_judges),
        ("docs/judges.md", of_judges_near_the_cut),
        ("docs/diagnosis.md", of_diagnosis),
        ("docs/concepts.md", of_concepts),
        ("docs/testsets.md", of_testsets),
        ("docs/pytest.md", of_pytest),
        ("docs/rows.md", of_rows),
        ("docs/web.md", of_web),
        ("docs/trust.md", of_trust),
        ("docs/production.md", of_production),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_page_says_the_figures_of_the_results(page: str, sentences: Any) -> None:
    text = re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
    missing = [each for each in sentences() if re.sub(r"\s+", " ", each) not in text]
    assert missing == []


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def shown_commands(text: str) -> list[list[str]]:
    """The words of each `ragassay` command in the blocks that cannot be run as they stand."""
    commands = []
    for block in code_blocks.blocks(text):
        if block.language not in ("text", "yaml", "groovy"):
            continue
        for line in block.code.replace("\\\n", " ").splitlines():
            found = re.search(r"(?:^|[\s/])ragassay ([a-z].*)$", line)
            if found is None or re.match(r"\w+\[|\s*#", line):
                continue
            commands.append(shlex.split(found[1], comments=True))
    return commands


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_command_that_is_only_shown_has_the_options_that_it_names(page: Path) -> None:
    for words in shown_commands(page.read_text(encoding="utf-8")):
        command: Any = COMMAND
        rest = list(words)
        while hasattr(command, "commands") and rest:
            command = command.commands[rest.pop(0)]
        known = {
            name for option in command.params for name in (*option.opts, *option.secondary_opts)
        }
        named = {word.partition("=")[0] for word in rest if word.startswith("--")}
        assert named <= known, words
