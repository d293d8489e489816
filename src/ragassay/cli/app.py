"""The commands, and what each calls."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ragassay.cli import doctor, interop, judging, stress, tracing, trust, tuning, watch, web
from ragassay.cli.config import take_default_config
from ragassay.cli.gate import gate as gate_command
from ragassay.cli.github import announce_error, guard_output
from ragassay.cli.init import init
from ragassay.cli.output import (
    Notes,
    console,
    display,
    finish,
    note,
    print_forecast,
    print_json,
    print_lines,
    show_error,
    store_file,
)
from ragassay.cli.parameters import (
    EvaluateOptions,
    GateOption,
    HtmlOption,
    JsonOption,
    JunitOption,
    ResumeOptions,
    RunArgument,
    Shown,
    StoreOption,
    grouped,
)
from ragassay.cli.store import store_app
from ragassay.cli.testsets import testset_app
from ragassay.core.errors import Interrupted, RagAssayError, SetupError, memory_failure, nearest


class _Stopped(Exception):
    """A Ctrl-C that no run took: before it began, or after its end."""


_EVALUATE = frozenset({"run", "eval", "score", "judge", "measure"})
"""What other tools call the command that judges rows."""


class _Commands(TyperGroup):
    """The commands. A Ctrl-C among them is told: typer leaves with 130 and says nothing."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As typer does; of a name that other tools have it says which command is meant."""
        if args and args[0] in _EVALUATE:
            ctx.fail(f"No such command '{args[0]}'. Did you mean 'evaluate'?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Stopped from error


app = typer.Typer(
    cls=_Commands,
    name="ragassay",
    help="Assay a RAG application: measure rows, say what broke, and say how sure every number is.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
rubric_app = typer.Typer(
    help="Look at rubrics and check your own.", no_args_is_help=True, rich_markup_mode=None
)


class Format(StrEnum):
    """What `export` writes."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    html = "html"
    junit = "junit"


@app.command()
@grouped
def evaluate(
    rows: Annotated[
        str,
        typer.Argument(
            help="File of rows (JSONL, JSON, CSV, TSV, Parquet, Arrow), or traces:last-24h."
        ),
    ],
    *,
    options: EvaluateOptions,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Say calls, tokens and cost, send nothing, stop.")
    ] = False,
    gate: GateOption = None,
    min_coverage: Annotated[
        float | None,
        typer.Option(
            help="Least judged/asked share, 0 to 1; exit 3 below [default: 1 with --gate in CI]."
        ),
    ] = None,
    html: HtmlOption = None,
    junit: JunitOption = None,
    name: Annotated[str, typer.Option(help="A name for the run.")] = "",
    shown: Shown,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Evaluate a file of rows and say what broke."""
    from ragassay import api
    from ragassay.report import FinalSteps
    from ragassay.runs.plan import metric_names

    metrics, preset, rubrics = (options[key] for key in ("metrics", "preset", "rubrics"))
    if preset is not None and metrics is not None:
        raise SetupError(
            "E0104",
            "Both --preset and --metrics say what to measure.",
            where=f"--preset {preset}",
            why=f"--metrics {metrics}",
            fix="give one of them; `ragassay metrics` lists what a preset holds",
        )
    steps = FinalSteps.from_options(gate, min_coverage, html, junit)
    # Before anything is asked: a gate on a metric that is not measured, or a file that cannot be
    # written, would be found after the money is spent.
    names = metric_names(metrics, preset, rubrics) if gate else []
    steps.check(names, rows, store_file(store), *rubrics)
    cap = options["max_cost"]
    rows = tracing.rows_of(rows, store)
    if forecast:
        estimate = api.forecast(rows, store=store, tell=note, **options)
        print_forecast(estimate, cap, json_, batch=options["batch"])
        return
    # In the manifest, so that a resumed run is held to the same gates.
    keep = steps.to_manifest()
    notes = Notes()
    with display(cap) as watch:
        run = api.evaluate(
            rows, store=store, name=name, keep=keep, watch=watch, tell=notes, **options
        )
    with run:
        finish(run, steps, json_, shown.detail(), notes)


@app.command(short_help="Go on with a run that was stopped.")
@grouped
def resume(
    run: RunArgument = "last",
    *,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also do rows again whose judgments failed.")
    ] = False,
    changes: ResumeOptions,
    gate: GateOption = None,
    min_coverage: Annotated[
        float | None, typer.Option(help="Least judged/asked share, 0 to 1; exit 3 below.")
    ] = None,
    html: HtmlOption = None,
    junit: JunitOption = None,
    shown: Shown,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Go on with a run that was stopped or killed. Nothing that was judged is asked again.

    Gates, the floor of coverage and the files to write are those that the run began with, where
    none are given.
    """
    from ragassay import api
    from ragassay.report import FinalSteps, resumed_steps

    # By id from here on: "last" may be another run by the time that this one is resumed.
    with api.open_run(run, store=store) as opened:
        run, manifest = opened.id, opened.manifest
    source = None if manifest.source == "memory" else manifest.source
    options = FinalSteps(tuple(gate or ()), min_coverage, html, junit)
    steps = resumed_steps(options, manifest.kept, store_file(store), source)
    for message in steps.messages:
        note(message)
    steps.now.check(manifest.metrics, store_file(store), source)
    keep = steps.lasting.to_manifest()
    with display(changes["max_cost"]) as watch:
        resumed = api.resume(
            run,
            store=store,
            retry_failed=retry_failed,
            keep=keep,
            watch=watch,
            tell=note,
            **changes,
        )
    with resumed:
        finish(resumed, steps.now, json_, shown.detail())


@app.command(short_help="Evaluate the bundled rows offline.")
@grouped
def demo(
    *,
    html: Annotated[Path, typer.Option(help="Where the HTML report goes.")] = Path("report.html"),
    rows: Annotated[
        Path | None, typer.Option(help="Also write the example rows to this file.")
    ] = None,
    shown: Shown,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Evaluate the bundled example rows offline: no key, no network."""
    from ragassay import api
    from ragassay.datasets.examples import agreement, rows_path
    from ragassay.report import FinalSteps, check_output_file

    # Both files before either is written: of a mistake in one, the other is not left behind.
    check_output_file(html, store_file(store))
    if rows is not None:
        check_output_file(rows, html, store_file(store))
        rows.write_bytes(rows_path().read_bytes())
        note(f"wrote {rows}")
    steps = FinalSteps(html=html)
    source = str(rows_path())
    keep = steps.to_manifest()
    notes = Notes()
    with display(None) as watch:
        run = api.evaluate(source, store=store, name="demo", keep=keep, watch=watch, tell=notes)
    with run:
        notes(agreement(run).sentence)
        finish(run, steps, json_, shown.detail(), notes)


@app.command(name="runs")
def list_runs(
    limit: Annotated[int, typer.Option(help="How many, newest first.")] = 20,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """List the runs in the store."""
    from ragassay import api
    from ragassay.report import render_runs, run_json

    newest = api.list_runs(store=store, limit=limit)
    if json_:
        print_json({"schema": 1, "runs": [run_json(run) for run in newest]})
    else:
        render_runs(newest, console())


@app.command(short_help="Show a run's summary or one row.")
@grouped
def show(
    run: RunArgument = "last",
    *,
    row: Annotated[
        str | None, typer.Option(help="Show this row with its claims, evidence and cause.")
    ] = None,
    shown: Shown,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Show a run's summary, or one of its rows; with -v also what the judge was asked about it, and
    its raw replies.
    """
    from ragassay import api
    from ragassay.report import (
        render_asked,
        render_row,
        render_summary,
        row_json,
        summary_json,
    )
    from ragassay.runs.row_lookup import find_row

    with api.open_run(run, store=store) as opened:
        if row is not None:
            result = find_row(opened, row)
            asked = opened.asked(result) if shown.verbose else None
            if json_:
                print_json(row_json(result, asked))
                return
            render_row(result, console(), opened.manifest)
            if asked is not None:
                render_asked(asked, console())
        elif json_:
            print_json(summary_json(opened.summary))
        else:
            # The commands that the summary names must find the same store.
            option = api.store_option(opened.store_location)
            render_summary(opened.summary, console(), store=option, detail=shown.detail())


@app.command(short_help="Write scores, rows or a report.")
def export(
    run: RunArgument = "last",
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="What to write.")
    ] = Format.jsonl,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File [default: stdout for jsonl and csv, else RUN.ENDING]."
        ),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write a run's scores (one record a row and metric), its report, or JUnit XML."""
    from ragassay import api
    from ragassay.report import check_output_file
    from ragassay.report import export as write

    with api.open_run(run, store=store) as opened:
        # Text by lines goes on through a pipe; the other formats are files to be opened.
        if output is None and format_ in (Format.jsonl, Format.csv):
            write(opened.store, opened.id, format_.value, sys.stdout)
            return
        ending = "xml" if format_ is Format.junit else format_.value
        target = output or Path(f"{opened.id}.{ending}")
        check_output_file(target, opened.store_location, opened.manifest.source)
        note(f"wrote {opened.export(target, format_.value)}")


@app.command(short_help="Compare two runs row by row.")
def compare(
    a: Annotated[str, typer.Argument(help="The run to compare with: id, start of an id, name.")],
    b: Annotated[str, typer.Argument(help="The run that may be better.")] = "last",
    margin: Annotated[
        float | None,
        typer.Option(help="A difference that would not matter: test whether each is smaller."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Every metric with its pairs; all changed rows.")
    ] = False,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Compare two runs row by row: paired differences with intervals and corrected p-values."""
    from ragassay import api
    from ragassay.report import Detail, comparison_json, render_comparison

    result = api.compare(a, b, margin=margin, store=store)
    if json_:
        print_json(comparison_json(result))
    else:
        render_comparison(result, console(), detail=Detail(verbose=verbose))


@app.command(short_help="List the metrics and what each needs.")
def metrics(
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="With what each needs and is called elsewhere."),
    ] = False,
    json_: JsonOption = False,
) -> None:
    """List the metrics and presets, a line each."""
    from ragassay.report.metric_list import metrics_json, render_metrics

    if json_:
        print_json(metrics_json())
    else:
        render_metrics(console(), verbose=verbose)


@app.command(short_help="Explain an error code.")
def explain(code: Annotated[str, typer.Argument(help="An error code, such as E0301.")]) -> None:
    """Explain an error code: what it means, how it comes about, what to do."""
    from ragassay.core.error_catalogue import error_catalogue

    catalogue = error_catalogue()
    name = code.upper()  # typed by hand, often in small letters
    if name not in catalogue:
        raise SetupError(
            "E0101",
            f"No error has that code.{nearest(name, catalogue)}",
            where=code,
            fix="codes look like E0301",
        )
    out = console()
    # A pipe has no width to wrap to.
    out.print(str(catalogue[name]), markup=False, highlight=False, soft_wrap=not out.is_terminal)


@rubric_app.command(name="list")
def list_rubrics() -> None:
    """List the rubrics and their versions."""
    from ragassay.judges import RubricRegistry

    registry = RubricRegistry.default()
    for rubric_id in registry.ids():
        rubric = registry.get(rubric_id)
        console().print(f"{rubric.ref:<28} {rubric.purpose}", markup=False, highlight=False)


@rubric_app.command(name="check")
def check_rubric(file: Annotated[Path, typer.Argument(help="A rubric file.")]) -> None:
    """Check a rubric file and explain every mistake in it."""
    from ragassay.judges import RubricRegistry, check
    from ragassay.metrics import catalogue

    reserved = frozenset(catalogue())
    problems = check(file, reserved)
    if problems:
        raise SetupError(
            "E0204",
            f"The rubric file has {len(problems)} mistake{'s' if len(problems) > 1 else ''}.",
            where=str(file),
            why="\n       ".join(problems),
            fix="see docs/rubrics.md for the form of the file",
        )
    # A rubric that replaces one of the package changes how its requests are judged; one with a
    # name of its own is a metric of its own as well.
    custom = RubricRegistry.default().with_files([file], reserved).custom
    kind = f"a valid judge of your own, measured as {custom[0].id}" if custom else "a valid rubric"
    print_lines(f"{file}: {kind}")


# The order in which `ragassay --help` lists them: the main job, trust in judges, other tools.
# Short, so that none is cut off.
_COMMANDS = (
    (trust.judge_trust, "trust", "Say how far a run's judge can be trusted."),
    (web.view, "view", "Look at runs in the browser."),
    (web.serve, "serve", "Serve the pages to a team."),
    (trust.benchmark, "benchmark", "Set judges beside human labels."),
    (judging.certificates, "certificates", "List what was measured of judges."),
    (trust.probe, "probe", "Try to lead a judge astray."),
    (tuning.optimise, "optimise", "Improve a judge's rubric, certified or not at all."),
    (stress.stress, "stress", "Try what your system does not stand."),
    (trust.estimate, "estimate", "Correct a run's figure by a few labels."),
    (trust.plan_labels, "plan-labels", "Say how many labels are needed."),
    (judging.calibrate, "calibrate", "Map scores to probabilities; try a cut."),
    (judging.panel, "panel", "Compare a majority of judges with the best."),
    (judging.cascade, "cascade", "Certify when a cheap judge is enough."),
    (judging.repeat, "repeat", "Ask a judge again and count changed verdicts."),
    (trust.audit_table, "audit-table", "Check whether a published table can be true."),
    (interop.retrieval, "retrieval", "Measure a ranking against qrels."),
    (interop.convert, "convert", "Write rows in another tool's shape."),
    (interop.mlflow, "mlflow", "Write a run into MLflow."),
    (tracing.receive, "receive", "Receive traces of an application (OTLP)."),
    (watch.watch, "watch", "Judge a sample of what arrives; alerts, drift."),
)
for _function, _name, _short in _COMMANDS:
    app.command(name=_name, short_help=_short)(_function)
app.command(name="gate", short_help="Hold a run to gates and to a baseline.")(gate_command)
app.command(name="init", short_help="Write a ragassay.toml for your rows.")(init)
app.command(name="doctor", short_help="Look at the set-up; ask a judge a known example.")(
    doctor.doctor
)
app.add_typer(trust.label_app, name="label", short_help="Choose rows to label; take labels in.")
app.add_typer(store_app, name="store", short_help="Copy the store into another database; check it.")
app.add_typer(
    testset_app, name="testset", short_help="Make test sets from documents; check, refresh."
)
app.add_typer(rubric_app, name="rubric", short_help="Look at rubrics and check your own.")


def _version(value: bool) -> None:
    # Asked for before the command is read, which then need not be there.
    if value:
        from ragassay.version import __version__

        typer.echo(f"ragassay {__version__}")
        raise typer.Exit


# A callback is what gives the options before the command a place.
@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""
    # `init` writes the file, also over one that cannot be read.
    if context.invoked_subcommand not in ("init", "explain"):
        take_default_config(context)


_STOPPED = "Stopped. If a run had begun, ragassay resume goes on with it."


def run() -> NoReturn:
    """Run the command line; every RagAssayError becomes its message and exit code, never a
    traceback.
    """
    guard_output()
    try:
        # Not standalone: click would print its own errors and leave with codes of its own. The code
        # of typer.Exit comes back as a value.
        code = app(standalone_mode=False)
    except RagAssayError as error:
        show_error(error)
        announce_error(_as_mark(error))
        sys.exit(error.exit_code)
    except Interrupted:  # whoever took the signal has said so already
        sys.exit(130)
    except (KeyboardInterrupt, _Stopped):
        note(_STOPPED)
        sys.exit(130)
    except SystemExit as left:
        # The reader of our output has gone: click pacifies stdout and leaves with 1, which here
        # means a failed gate. Like any tool that a closed pipe ends, we leave with 128 + SIGPIPE.
        sys.exit(141 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else left.code)
    except Exception as error:
        # A usage error of click, told by its members: typer may carry a copy of click of its own.
        if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
            _leave_with_fault(error)
        code = 2
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())  # the help
        else:
            usage = getattr(getattr(error, "ctx", None), "command_path", "ragassay")
            note(f"error: {error.format_message()}\n  fix: {usage} --help")
            announce_error(error.format_message())
    try:
        # At the interpreter's end a closed pipe would be a warning and exit code 120.
        sys.stdout.flush()
    except BrokenPipeError:
        # So that the flush at the end does not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _as_mark(error: RagAssayError) -> str:
    """The error as a mark of a job shows it: code, what, where, why and what to do."""
    details = [error.where, error.why, f"fix: {error.fix}" if error.fix else ""]
    return "\n".join([f"{error.code}: {error.what}", *filter(None, details)])


def _leave_with_fault(error: Exception) -> NoReturn:
    """Say what no error of the catalogue says, and leave; with RAGASSAY_DEBUG, its traceback."""
    # What click makes of Ctrl-C.
    if type(error).__name__ == "Abort":
        note(_STOPPED)
        sys.exit(130)
    if os.environ.get("RAGASSAY_DEBUG"):
        raise error
    if (failure := memory_failure(error)) is not None:
        show_error(failure)
        announce_error(_as_mark(failure))
        sys.exit(failure.exit_code)
    note(
        f"error: {type(error).__name__}: {str(error)[:500]}\n"
        "  this is a fault of RagAssay, not yours; what was judged is kept (ragassay runs)\n"
        "  fix: set RAGASSAY_DEBUG=1 and run again to see where, and report it"
    )
    announce_error(f"{type(error).__name__}: {str(error)[:500]}")
    sys.exit(70)
