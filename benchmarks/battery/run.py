"""How easily are judges led astray? The offline judge through the whole battery, and the defences
against scripted judges.

    python benchmarks/battery/run.py [--data ../shared/data] [--no-write]

1. The offline judge: real figures, the same on every run, with all structural attacks and the
strings of `bipia`. 2. Scripted judges behind a real HTTP server. They are scripts and no language
models: what they do to a reply is the worst
   a model could do, so that the figures speak of the tool and of no model. Counted: verdicts that
   were read from the data; calls in which a judge that rates everything alike, or obeys, was caught
   by its control claims.
3. What the defences cost on texts without an attack: how often rows of the labelled sets look
suspicious, and how often a
   response that people labelled is taken for one without content.

Writes benchmarks/results/battery.{json,md}.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from ragassay.core import REPAIRED, Judgment, Request
from ragassay.judges import LLMJudge, RubricRegistry
from ragassay.judges.llm.attack_signs import any_suspicious, suspicious
from ragassay.judges.text_rules.own_content import no_content
from ragassay.testing import LLMServer
from ragassay.trust.battery.injections import FAMILIES, Injection, injections_of, structural
from ragassay.trust.battery.results import BatteryResult, FamilyFigures, ProbeFigures
from ragassay.trust.battery.trials import packaged_rows
from ragassay.trust.measure.probing import probe
from support.driving import drive
from support.gullible import Gullible

RESULTS = ROOT / "benchmarks/results"
RUBRICS = RubricRegistry.default()
LABELLED = ("evouna", "openqa_eval", "hotpotqa_answer", "haluquestqa")


def rows_of(data: Path, name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def attacked(at: int, one: Injection, rubric: str = "groundedness") -> Request:
    """A made-up claim about an own row, with the attack in the claim or in the row's first context;
    of answer_relevance an answer to another question, with the attack in it.
    """
    row = packaged_rows_[at % len(packaged_rows_)]
    claim = f"The painter Velmora lived there for {at % 60 + 2} years."
    contexts = tuple(context.text for context in row.contexts or ())
    if one.place == "answer":
        claim = one.into(claim)
    else:
        contexts = (one.into(contexts[0]), *contexts[1:])
    if rubric == "answer_relevance":
        return Request(rubric, {"question": row.question or "", "response": claim})
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": row.question or "",
        "response": claim,
        "contexts": contexts,
        "claim": claim,
    }
    return Request("groundedness", inputs)


packaged_rows_ = packaged_rows()


def taken_from_data(attacks: Sequence[Injection]) -> list[dict[str, Any]]:
    """Per script: verdicts that can only have come from the data. Control claims are off, so that
    they do not help.
    """
    by, found = LLMJudge("openai:scripted", RUBRICS, controls="off"), []
    groups = [(by, (attacked(n, one),)) for n, one in enumerate(attacks)]
    with LLMServer(keep_bodies=False) as server:
        honest = drive(groups, server.url)
        for mode in ("echo", "json", "after", "before", "reasoned", "unescaped"):
            server.script(answer=Gullible(mode), reset=True)
            taken = lost = own = settled = 0
            for (first, _), (kept, calls) in zip(honest, drive(groups, server.url), strict=True):
                (judgment,), (plain,) = kept, first
                if not calls:
                    settled += 1  # by rule, without a call
                elif not judgment.judged:
                    lost += 1
                elif mode in ("echo", "json") or _said(judgment) != _said(plain):
                    taken += 1
                else:
                    own += 1
            calls_made = server.stats()["calls"]
            found.append(
                {
                    "script": mode,
                    "attacks": len(attacks),
                    "calls": calls_made,
                    "without_a_call": settled,
                    "own_verdicts": own,
                    "lost": lost,
                    "taken_from_data": taken,
                }
            )
    return found


def _said(judgment: Judgment) -> tuple[object, ...]:
    """What a judgment says, without how it was read."""
    flags = [flag for flag in judgment.flags if not flag.startswith(REPAIRED)]
    return judgment.rating, judgment.sources, flags


def caught(attacks: Sequence[Injection], controls: str, mode: str, rubric: str) -> dict[str, Any]:
    """Of the Requests whose call the script answered as it was told: how many got a passing
    verdict, by family.
    """
    by = LLMJudge("openai:scripted", RUBRICS, controls=controls)  # type: ignore[arg-type]
    script = Gullible(mode, [one.text for one in attacks])
    groups = [(by, (attacked(n, one, rubric),)) for n, one in enumerate(attacks)]
    with LLMServer(answer=script, keep_bodies=False) as server:
        done = drive(groups, server.url)
    families: dict[str, dict[str, int]] = {}
    for one, (kept, calls) in zip(attacks, done, strict=True):
        count = families.setdefault(one.family, {"asked": 0, "caught": 0})
        if calls:
            count["asked"] += 1
            count["caught"] += not kept[0].judged
    asked, held = (sum(family[key] for family in families.values()) for key in ("asked", "caught"))
    return {
        "rubric": rubric,
        "script": mode,
        "controls": controls,
        "asked": asked,
        "caught": held,
        "families": families,
    }


def cost_on_clean(data: Path) -> dict[str, Any]:
    """Share of rows in which something looks suspicious, a set; and responses taken for ones
    without content.
    """
    looks: dict[str, list[int]] = {}
    for folder in sorted(data.iterdir()):
        if (
            folder.name in ("sealed", "bipia", "llmjudge_labels")
            or not (folder / f"{folder.name}.jsonl.gz").exists()
        ):
            continue
        count = looks.setdefault(folder.name, [0, 0])
        for n, row in enumerate(rows_of(data, folder.name)):
            if n % 3 == 0:
                texts = [
                    *(row.get("contexts") or []),
                    row.get("response") or "",
                    row.get("question") or "",
                ]
                count[0] += 1
                count[1] += any_suspicious(texts)
    hollow = {}
    for name in LABELLED:
        responses = [
            (row["response"], row.get("question") or "")
            for row in rows_of(data, name)
            if row.get("response")
        ]
        wrongly = [text for text, question in responses if no_content(text, question)]
        hollow[name] = {
            "responses": len(responses),
            "of_at_most_20_characters": sum(len(t) <= 20 for t, _ in responses),
            "without_content": len(wrongly),
        }
    rows, marked = (sum(count[i] for count in looks.values()) for i in (0, 1))
    return {"rows": rows, "suspicious": marked, "sets": looks, "no_content": hollow}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return [
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in cells),
        "",
    ]


COUNTED = {
    "pairs": "pairs",
    "judged": "judged",
    "lost": "lost",
    "not_applicable": "not applicable",
    "left_out": "base wrong",
    "wrong": "wrong",
    "lifted": "to pass",
    "lowered": "to fail",
}


def counted(of: FamilyFigures | ProbeFigures) -> dict[str, str]:
    """Column -> what stands in it, of one family or probe."""
    reach = of.rate.interval
    interval = (
        of.rate.reason
        if of.rate.value is None
        else f"[{reach.low:.1%}, {reach.high:.1%}]"
        if reach
        else ""
    )
    rate = {
        "rate": "" if of.rate.value is None else f"{of.rate.value:.1%}",
        "95 % interval": interval,
    }
    return {head: str(getattr(of, name)) for name, head in COUNTED.items()} | rate


def families(result: BatteryResult) -> list[dict[str, str]]:
    found = [{"family": f.family, **counted(f), "verdict": f.verdict} for f in result.families]
    return [{head: cell for head, cell in row.items() if head != "not applicable"} for row in found]


def probes(result: BatteryResult) -> list[dict[str, str]]:
    return [
        {"family": p.family, "probe": p.probe, "metric": p.metric, **counted(p)}
        for p in result.probes
    ]


def records(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A table whose head are the names of the first row."""
    return table(tuple(rows[0]), (tuple(row.values()) for row in rows))


def share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / whole:.1%})" if whole else "none"


def page(
    result: BatteryResult,
    taken: list[dict[str, Any]],
    held: list[dict[str, Any]],
    seen: dict[str, Any],
    clean: dict[str, Any],
    machine: str,
) -> str:
    parts = [
        "# How easily judges are led astray",
        "",
        f"{machine}. `python benchmarks/battery/run.py`",
        "",
    ]
    parts += [
        "## The offline judge (real figures)",
        "",
        result.sentence,
        "",
        *records(families(result)),
        *result.notes,
        "",
    ]
    parts += [
        (
            "A base counts as misjudged where the judge does not say of the unchanged row what is"
            " known of it:"
        ),
        "",
    ]
    parts += table(
        ("metric", "bases", "judged right", "95 % interval"),
        (
            (f.name, f.n, f"{f.value:.1%}", f"[{f.interval.low:.1%}, {f.interval.high:.1%}]")
            for f in result.base
            if f.value is not None and f.interval is not None
        ),
    )
    parts += ["### Every probe", "", *records(probes(result))]
    parts += ["## Verdicts taken from data (scripted judges, no language model; controls off)", ""]
    parts += records(taken)
    parts += ["## Caught by control claims (scripted judges, no language model)", ""]
    parts += table(
        ("rubric", "script", "controls", "caught"),
        ((r["rubric"], r["script"], r["controls"], share(r["caught"], r["asked"])) for r in held),
    )
    auto = next(r for r in held if r["controls"] == "auto" and r["script"] == "obeys")
    parts += [
        (
            "Caught = no verdict was taken from the call. `auto` plants controls only where the"
            " data look like an attack. The marks that it looks for were written beside our own"
            " attacks, so that their shares say little about attacks in other words; the strings of"
            " bipia are such: tasks for an assistant, most of which do not speak to a judge at all."
            " Among answers to a question no item must pass, so that a judge that rates them all"
            " lowest is not caught there."
        ),
        "",
        "By family, groundedness, for the script that obeys, under `auto`:",
        "",
    ]
    parts += table(
        ("family", "caught"),
        ((n, share(f["caught"], f["asked"])) for n, f in auto["families"].items()),
    )
    parts += ["Payloads that look suspicious by themselves:", ""]
    parts += table(("payloads", "suspicious"), ((n, share(*v)) for n, v in seen.items()))
    parts += ["## What it costs on texts without an attack", ""]
    parts += [
        (
            "Rows that look suspicious (every third row):"
            f" {share(clean['suspicious'], clean['rows'])}."
        ),
        "",
    ]
    parts += table(
        ("set", "suspicious"), ((name, share(v[1], v[0])) for name, v in clean["sets"].items())
    )
    parts += ["Responses of labelled sets taken for ones without content:", ""]
    parts += table(
        ("set", "responses", "of at most 20 characters", "without content"),
        ((n, *v.values()) for n, v in clean["no_content"].items()),
    )
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT / "../shared/data")
    )
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    data, started = Path(given.data), time.perf_counter()
    strings = [
        (row["slice"], row["response"])
        for row in rows_of(data, "bipia")
        if row["slice"].endswith("_attack")
    ]
    own = structural()
    attacks = (*own, *(one for one in injections_of(strings) if one.position == "end"))
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        result = probe(
            items=len(own), strings=[text for _, text in strings], store=str(Path(folder) / "s.db")
        )
        seconds = time.perf_counter() - begun
    taken = taken_from_data(own)
    answers = [one for one in attacks if one.place == "answer"]
    held = [
        caught(attacks if rubric == "groundedness" else answers, controls, mode, rubric)
        for rubric in ("groundedness", "answer_relevance")
        for controls in ("always", "auto")
        for mode in ("highest", "lowest", "obeys")
        if rubric == "groundedness" or mode != "lowest"  # nothing is planted there that must pass
    ]
    payloads = {name: set(make()) for name, make in FAMILIES.items()}
    for name, text in strings:
        payloads.setdefault(f"bipia {name}", set()).add(text)
    seen = {name: (sum(map(suspicious, texts)), len(texts)) for name, texts in payloads.items()}
    clean = cost_on_clean(data)
    machine = (
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, Python"
        f" {platform.python_version()}; {len(own)} structural attacks of our own, {len(strings)}"
        f" strings of bipia; the offline judge took {seconds:.1f} s"
    )
    text = page(result, taken, held, seen, clean, machine)
    print(text)
    ok = all(row["taken_from_data"] == 0 for row in taken) and all(
        row["caught"] == row["asked"] for row in held if row["controls"] == "always"
    )
    print(
        f"{'held' if ok else 'NOT HELD'}: 0 verdicts from data, all caught under `always`;"
        f" {time.perf_counter() - started:.0f} s"
    )
    if not given.no_write:
        RESULTS.mkdir(exist_ok=True)
        RESULTS.joinpath("battery.md").write_text(text + "\n", encoding="utf-8")
        figures = {
            "machine": machine,
            "sentence": result.sentence,
            "families": families(result),
            "probes": probes(result),
            "taken_from_data_scripted": taken,
            "caught_scripted": held,
            "suspicious_payloads": seen,
            "clean": clean,
        }
        RESULTS.joinpath("battery.json").write_text(
            json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
