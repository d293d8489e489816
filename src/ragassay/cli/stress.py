"""The command that stress-tests the user's system."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.output import (
    display,
    note,
    print_json,
    print_lines,
    print_result,
    store_file,
)
from ragassay.cli.parameters import (
    HtmlOption,
    JsonOption,
    JudgedRowOptions,
    SeedOption,
    StoreOption,
    grouped,
)
from ragassay.core.errors import SetupError

if TYPE_CHECKING:
    from ragassay.stress.door import Prepared
    from ragassay.stress.result import StressResult

_APP = "module:function of (question, contexts), or the http:// address of an endpoint."
_ONE = "Only this test, with others that are named [default: all four]."


@grouped
def stress(  # plain: a parameter is an option with its help
    *,
    rows: Annotated[
        str, typer.Option(help="A test set, or rows with question, reference and contexts.")
    ],
    app: Annotated[str | None, typer.Option(help=_APP)] = None,
    recorded: Annotated[
        str | None, typer.Option(help="Answers of an earlier run, or of a file by --out, instead.")
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(help="module:function by which an app of the question gets its passages."),
    ] = None,
    noise: Annotated[bool, typer.Option("--noise", help=_ONE)] = False,
    rejection: Annotated[bool, typer.Option("--rejection", help=_ONE)] = False,
    counterfactual: Annotated[bool, typer.Option("--counterfactual", help=_ONE)] = False,
    integration: Annotated[bool, typer.Option("--integration", help=_ONE)] = False,
    corpus: Annotated[
        str | None,
        typer.Option(help="More passages for distractors: rows, a folder, or .txt by line."),
    ] = None,
    numbers: Annotated[str, typer.Option(help="Numbers of distractors.")] = "1,3,5,8",
    kinds: Annotated[
        str, typer.Option(help="Kinds of distractors.")
    ] = "random,same-topic,changed-fact,injected",
    positions: Annotated[str, typer.Option(help="Where they stand.")] = "first,middle,last",
    arms: Annotated[
        str, typer.Option(help="Added, or in place of filler of one length.")
    ] = "added,matched",
    policy: Annotated[
        str, typer.Option(help="What is fine where passages are false: follow, flag, resist.")
    ] = "follow",
    metric: Annotated[
        str | None, typer.Option(help="By whose verdict a response is right [default: see docs].")
    ] = None,
    judge: Annotated[str, typer.Option(help="As of `ragassay evaluate`.")] = "offline",
    writer: Annotated[
        str | None, typer.Option(help="Model that writes distractors [default: rules alone].")
    ] = None,
    writer_base_url: Annotated[
        str | None, typer.Option(help="Address of the writer [default: the judge's].")
    ] = None,
    writer_api_key_env: Annotated[
        str | None, typer.Option(help="Variable with the writer's key [default: the judge's].")
    ] = None,
    writer_price: Annotated[
        str | None, typer.Option(help="IN,OUT in US dollars per million tokens.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Share of rows up to which a weakness is let pass.")
    ] = 0.1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N rows.")] = None,
    app_timeout: Annotated[
        float, typer.Option(min=0.001, help="Seconds the application may take for a row.")
    ] = 120.0,
    app_concurrency: Annotated[
        int, typer.Option(min=1, help="Rows the application is run on at once.")
    ] = 8,
    max_app_calls: Annotated[
        int | None,
        typer.Option(min=1, help="Ask the application this often at most, by fewer questions."),
    ] = None,
    app_header: Annotated[
        list[str] | None, typer.Option(help="'Name: value' for an endpoint. Repeatable.")
    ] = None,
    label_sheet: Annotated[
        Path | None,
        typer.Option(help="Write a sheet (CSV) of responses: which decline, in people's eyes?"),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Such a sheet filled in: it corrects the rejection.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write every planned row with its response here (JSONL).")
    ] = None,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Say what is asked and what it can show, and stop.")
    ] = False,
    seed: SeedOption = 0,
    judging: JudgedRowOptions,
    html: HtmlOption = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Put each question to your system with distractors, without evidence, with false passages and
    with missing sources, and say what it does not stand.
    """
    from ragassay.core import NothingToDo
    from ragassay.report import check_output_file
    from ragassay.report.blocks_html import write_blocks_html
    from ragassay.stress.door import stress_test
    from ragassay.stress.power import plan_lines
    from ragassay.stress.reports import stress_report

    check_output_file(html, rows, store_file(store))
    check_output_file(out, rows, store_file(store))
    check_output_file(label_sheet, rows, out, labels, store_file(store))
    wanted = {
        "noise": noise,
        "rejection": rejection,
        "counterfactual": counterfactual,
        "integration": integration,
    }

    def confirm(ready: Prepared) -> bool:
        if forecast and json_:
            print_json(_forecast_json(ready))
            return False
        lines = [*plan_lines(ready.plan), _judge_line(ready)]
        if ready.writer:
            lines.append(
                f"distractors by {ready.writer}: up to {ready.writer_calls:,} calls before"
            )
        if forecast:
            print_lines(*lines)
            return False
        for line in lines:
            note(line)
        return True

    if forecast and app is None and recorded is None:
        app = "forecast:only"
    try:
        with display(judging["max_cost"]) as watch:
            result = stress_test(
                app,
                rows,
                tests=[name for name, chosen in wanted.items() if chosen],
                retriever=retriever,
                recorded=recorded,
                corpus=corpus,
                numbers=_numbers(numbers),
                kinds=_names(kinds),
                positions=_names(positions),
                arms=_names(arms),
                policy=policy,
                metric=metric,
                judge=judge,
                writer=writer,
                writer_base_url=writer_base_url,
                writer_api_key_env=writer_api_key_env,
                writer_price=writer_price,
                tolerance=tolerance,
                limit=limit,
                app_timeout=app_timeout,
                app_concurrency=app_concurrency,
                app_headers=app_header or [],
                max_app_calls=max_app_calls,
                labels=labels,
                label_sheet=label_sheet,
                out=out,
                seed=seed,
                store=store,
                confirm=confirm,
                watch=None if forecast else watch,
                tell=note if sys.stderr.isatty() else None,
                **judging,
            )
    except NothingToDo as declined:
        if forecast and declined.code == "E0707":
            return
        raise
    print_result("stress", result, json_, stress_report)
    if html is not None:
        write_blocks_html("Stress test", stress_report(result, details=True), html)
        note(f"wrote {html}")
    _tell_files(result, out, label_sheet)
    if result.failed.of == len(result.failed.rows):
        # Nothing was tested: a build must not be green on a system that is down.
        raise typer.Exit(3)


def _tell_files(result: StressResult, out: Path | None, label_sheet: Path | None) -> None:
    if out is not None:
        note(f"wrote {out}")
    if label_sheet is not None:
        note(f"wrote {label_sheet}; fill in `declines`, then repeat this with --recorded RUN and")
        note(f"  --labels {quote(str(label_sheet))} (RUN: {result.run})")


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    """Numbers of "1,3,5". Raises SetupError E0101 for anything else."""
    try:
        return [int(part) for part in _names(text)]
    except ValueError:
        raise SetupError(
            "E0101",
            "These are no numbers of distractors.",
            where="--numbers",
            why=text,
            fix="for example --numbers 1,3,5,8",
        ) from None


def _judge_line(ready: Prepared) -> str:
    if not ready.judge_calls:
        return f"right by {ready.metric}, without a call to a model"
    return f"right by {ready.metric}: about {ready.judge_calls:,} calls to {ready.judge}"


def _forecast_json(ready: Prepared) -> dict[str, object]:
    """The plan in figures, for --forecast --json."""
    from ragassay.report import as_json
    from ragassay.stress.power import askings, power_of

    plan = ready.plan
    return {
        "schema": 1,
        "kind": "stress_forecast",
        "questions": len(plan.rows),
        "askings": askings(plan),
        "judge_calls": ready.judge_calls,
        "writer_calls": ready.writer_calls,
        "metric": ready.metric,
        "power": as_json(power_of(plan)),
        "left_out": as_json(plan.left_out),
        "rejected_distractors": plan.rejected,
        "undelivered": plan.undelivered,
    }
