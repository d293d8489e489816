"""Which commands there are, and what each calls."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ragassay.core.errors import RagAssayError, SetupError, nearest

if TYPE_CHECKING:
    from rich.console import Console

    from ragassay.api import Run
    from ragassay.core import Summary
    from ragassay.runner import Forecast

app = typer.Typer(
    name="ragassay",
    help="Assay a RAG application: measure rows, say what broke, and say how sure every number is.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
rubric_app = typer.Typer(help="Look at rubrics and check your own.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(rubric_app, name="rubric")


class Format(StrEnum):
    """What `export` writes."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    html = "html"
    junit = "junit"


class Claims(StrEnum):
    """How a response is cut into claims."""

    sentences = "sentences"
    llm = "llm"


StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="SQLite file of runs and judgments [default: $RAGASSAY_STORE or .ragassay/store.db]"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]


@app.command()
def evaluate(
    rows: Annotated[str, typer.Argument(help="File of rows: JSONL, JSON, CSV, TSV, Parquet or Arrow.")],
    judge: Annotated[str, typer.Option(help="'offline' (no key, no network) or 'openai:MODEL'.")] = "offline",
    base_url: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server, such as http://localhost:8000/v1.")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Variable that holds the key [default: OPENAI_API_KEY].")
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", "-m", help="Comma-separated, with parameters: 'groundedness,ndcg_at_k(k=5)'."),
    ] = None,
    map_: Annotated[
        list[str] | None, typer.Option("--map", help="field=column, where a column's name is not known. Repeatable.")
    ] = None,
    slice_: Annotated[list[str] | None, typer.Option("--slice", help="Column to slice results by. Repeatable.")] = None,
    rubric: Annotated[list[Path] | None, typer.Option(help="Your own rubric file. Repeatable.")] = None,
    claims: Annotated[
        Claims, typer.Option(help="Cut responses into claims by sentence, or ask the LLM.")
    ] = Claims.sentences,
    single_calls: Annotated[
        bool, typer.Option("--single-calls", help="One call per claim and chunk instead of batches.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Only the first N rows.")] = None,
    concurrency: Annotated[int, typer.Option(help="Calls in flight at once.")] = 32,
    call_timeout: Annotated[float, typer.Option(help="Seconds one call may take.")] = 120.0,
    max_calls: Annotated[int | None, typer.Option(help="Hard cap on calls, retries included.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="Hard cap in US dollars.")] = None,
    price: Annotated[str | None, typer.Option(help="IN,OUT in US dollars per million tokens.")] = None,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Say calls, tokens and cost, send nothing, stop.")
    ] = False,
    gate: Annotated[
        list[str] | None, typer.Option(help="'groundedness>=0.8'; exit 1 when not met. Repeatable.")
    ] = None,
    min_coverage: Annotated[
        float | None, typer.Option(help="Least judged/asked share, 0 to 1; exit 3 below [default: 1 where CI is set].")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the HTML report here.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    name: Annotated[str, typer.Option(help="A name for the run.")] = "",
    format_: Annotated[
        str | None, typer.Option("--format", help="Format of the file, where its ending does not say.")
    ] = None,
    make_ids: Annotated[
        bool, typer.Option("--make-ids", help="Number the rows by line instead of reading ids.")
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not reuse judgments of earlier runs.")] = False,
    no_network: Annotated[bool, typer.Option("--no-network", help="Make any network call an error.")] = False,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Evaluate a file of rows and say what broke."""
    from ragassay import api

    options: dict[str, Any] = {
        "judge": judge,
        "base_url": base_url,
        "api_key_env": api_key_env,
        "mapping": _pairs(map_ or []),
        "slices": slice_ or [],
        "rubrics": rubric or [],
        "claims": claims.value,
        "single_calls": single_calls,
        "limit": limit,
        "concurrency": concurrency,
        "call_timeout": call_timeout,
        "max_calls": max_calls,
        "max_cost": max_cost,
        "price": price,
        "cache": not no_cache,
        "no_network": no_network,
        "format": format_,
        "make_ids": make_ids,
    }
    _check_gates(gate or [], min_coverage, metrics)
    _check_target(html, rows, _store_file(store), junit, *(rubric or []))
    _check_target(junit, rows, _store_file(store), *(rubric or []))
    if forecast:
        _print_forecast(api.forecast(rows, metrics, store=store, tell=_note, **options), max_cost, json_)
        return
    with _display(max_cost) as display:
        run = api.evaluate(rows, metrics, store=store, name=name, watch=display, tell=_note, **options)
    with run:
        _finish(run, gate or [], min_coverage, html, junit, store, json_)


@app.command()
def resume(
    run: Annotated[str, typer.Argument(help="Run id, its start, its name, or 'last'.")] = "last",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also do rows again whose judgments failed.")
    ] = False,
    concurrency: Annotated[int | None, typer.Option(help="Calls in flight at once.")] = None,
    call_timeout: Annotated[float | None, typer.Option(help="Seconds one call may take.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="New cap on calls of the whole run.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="New cap in US dollars of the whole run.")] = None,
    gate: Annotated[
        list[str] | None, typer.Option(help="'groundedness>=0.8'; exit 1 when not met. Repeatable.")
    ] = None,
    min_coverage: Annotated[float | None, typer.Option(help="Least judged/asked share, 0 to 1; exit 3 below.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the HTML report here.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Go on with a run that was stopped or killed. Nothing that was judged is asked again."""
    from ragassay import api

    _check_gates(gate or [], min_coverage, known=False)
    _check_target(html, _store_file(store), junit)
    _check_target(junit, _store_file(store))
    with _display(max_cost) as display:
        resumed = api.resume(
            run,
            store=store,
            retry_failed=retry_failed,
            watch=display,
            tell=_note,
            concurrency=concurrency,
            call_timeout=call_timeout,
            max_calls=max_calls,
            max_cost=max_cost,
        )
    with resumed:
        _finish(resumed, gate or [], min_coverage, html, junit, store, json_)


@app.command()
def demo(
    html: Annotated[Path, typer.Option(help="Where the HTML report goes.")] = Path("report.html"),
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Evaluate the bundled example rows offline: no key, no network."""
    from ragassay import api
    from ragassay.examples import rows_path

    _check_target(html, _store_file(store))
    with _display(None) as display:
        run = api.evaluate(str(rows_path()), store=store, name="demo", watch=display, tell=_note)
    with run:
        # The rows carry labels made by hand, so the demo can say how far its own verdicts are right.
        verdicts = causes = rows = fine = 0
        for row in run:
            labels = row.sample.labels if row.sample is not None else {}
            cause = row.diagnosis.cause.name if row.diagnosis.cause is not None else "none"
            rows += 1
            fine += labels.get("verdict") == "pass"
            verdicts += row.diagnosis.verdict == labels.get("verdict")
            causes += cause == labels.get("cause")
        _note(
            f"Beside the labels that people gave these rows: the verdict is right in {verdicts} of {rows} rows, the root "
            f"cause in {causes} (calling every row fine would be right in {fine}).\n"
            "The offline judge is a small model: good for a first look; see docs/judges.md for its limits."
        )
        _finish(run, [], None, html, None, store, json_)


@app.command(name="runs")
def list_runs(
    limit: Annotated[int, typer.Option(help="How many, newest first.")] = 20,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """List the runs in the store."""
    from ragassay import api
    from ragassay.report import render_runs, run_json

    found = api.runs(store=store, limit=limit)
    if json_:
        _print_json({"schema": 1, "runs": [run_json(r) for r in found]})
    else:
        render_runs(found, _console())


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="Run id, its start, its name, or 'last'.")] = "last",
    row: Annotated[str | None, typer.Option(help="Show this row with its claims, evidence and cause.")] = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Show a run's summary, or one of its rows."""
    from ragassay import api
    from ragassay.report import render_row, render_summary, row_json, summary_json

    with api.open_run(run, store=store) as opened:
        if row is None:
            if json_:
                _print_json(summary_json(opened.summary))
            else:
                render_summary(opened.summary, _console(), store=api.store_option(opened.store_path))
            return
        try:
            result = opened[row]
        except KeyError:
            known = [r.id for r, _ in zip(opened.rows(), range(2000), strict=False)]
            raise SetupError(
                "E0108",
                f"The row is not in the run.{nearest(row, known)}",
                where=f"--row {row}",
                fix=f"list the rows with: ragassay export {opened.id} --format jsonl{api.store_option(opened.store_path)}",
            ) from None
        if json_:
            _print_json(row_json(result))
        else:
            render_row(result, _console())


@app.command()
def export(
    run: Annotated[str, typer.Argument(help="Run id, its start, its name, or 'last'.")] = "last",
    format_: Annotated[Format, typer.Option("--format", "-f", help="What to write.")] = Format.jsonl,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File [default: stdout for jsonl and csv, else RUN.ENDING].")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write a run's scores (one record a row and metric), its report, or JUnit XML."""
    from ragassay import api
    from ragassay.report import export as write

    with api.open_run(run, store=store) as opened:
        if output is None and format_ in (Format.jsonl, Format.csv):
            write(opened._store, opened.id, format_.value, sys.stdout)
            return
        target = output or Path(f"{opened.id}.{'xml' if format_ is Format.junit else format_.value}")
        _check_target(target, opened.store_path, opened.manifest.source)
        _note(f"wrote {opened.export(target, format_.value)}")


@app.command()
def compare(
    a: Annotated[str, typer.Argument(help="The run to compare with: id, start of an id, name.")],
    b: Annotated[str, typer.Argument(help="The run that may be better.")] = "last",
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Compare two runs row by row: paired differences with intervals and corrected p-values."""
    from ragassay import api
    from ragassay.report import comparison_json, render_comparison

    result = api.compare(a, b, store=store)
    if json_:
        _print_json(comparison_json(result))
    else:
        render_comparison(result, _console())


@app.command()
def metrics(json_: JsonOption = False) -> None:
    """List the metrics: what each needs, and what it is called elsewhere."""
    from ragassay.metrics import DEFAULT_METRICS, catalogue

    found = {name: kind.declaration for name, kind in catalogue().items()}
    if json_:
        from dataclasses import asdict

        _print_json({"schema": 1, "metrics": [asdict(d) for d in found.values()]})
        return
    from rich.table import Table

    table = Table("metric", "what it says", "needs", "also called", box=None, header_style="bold", pad_edge=False)
    for name, declared in found.items():
        mark = "*" if name in DEFAULT_METRICS else ""
        table.add_row(name + mark, declared.title, ", ".join(declared.needs), ", ".join(declared.aka))
    _console().print(table)
    _console().print(
        "* in the default set. Parameters: 'groundedness(pass_mark=0.8)'. Formulas: docs/metrics.md", markup=False
    )


@app.command()
def explain(code: Annotated[str, typer.Argument(help="An error code, such as E0301.")]) -> None:
    """Explain an error code."""
    from ragassay.core.catalogue import CATALOGUE

    wanted = code.upper()
    if wanted not in CATALOGUE:
        raise SetupError(
            "E0101", f"No error has that code.{nearest(wanted, CATALOGUE)}", where=code, fix="codes look like E0301"
        )
    _console().print(f"{wanted}: {CATALOGUE[wanted]}", markup=False, highlight=False)


@rubric_app.command(name="list")
def list_rubrics() -> None:
    """List the rubrics and their versions."""
    from ragassay.judges import RubricBook

    book = RubricBook.default()
    for rubric_id in book.ids():
        found = book.get(rubric_id)
        _console().print(f"{found.ref:<28} {found.purpose}", markup=False, highlight=False)


@rubric_app.command(name="check")
def check_rubric(file: Annotated[Path, typer.Argument(help="A rubric file.")]) -> None:
    """Check a rubric file and explain every mistake in it."""
    from ragassay.judges import check

    problems = check(file)
    if problems:
        raise SetupError(
            "E0204",
            f"The rubric file has {len(problems)} mistake{'s' if len(problems) > 1 else ''}.",
            where=str(file),
            why="\n       ".join(problems),
            fix="see docs/rubrics.md for the form of the file",
        )
    _console().print(f"{file}: a valid rubric", markup=False, highlight=False)


def _version(value: bool) -> None:
    if value:
        from ragassay import __version__

        typer.echo(f"ragassay {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


def run() -> NoReturn:
    """Run the command line; every RagAssayError becomes its message and exit code, never a traceback."""
    try:
        code = app(standalone_mode=False)  # typer hands typer.Exit's code back instead of raising it
    except RagAssayError as error:
        _show_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except SystemExit as left:
        # The reader of our output has gone: click pacifies stdout and leaves with 1, which here means a failed gate. Like
        # any tool that a closed pipe ends, we leave with 128 + SIGPIPE.
        sys.exit(141 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else left.code)
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # click's own usage errors
            usage = getattr(getattr(error, "ctx", None), "command_path", "ragassay")
            _note(f"error: {error.format_message()}\n  fix: {usage} --help")
            sys.exit(2)
        if type(error).__name__ == "Abort":
            sys.exit(130)
        if os.environ.get("RAGASSAY_DEBUG"):
            raise
        _note(
            f"error: {type(error).__name__}: {str(error)[:500]}\n"
            "  this is a fault of RagAssay, not yours; what was judged is kept (ragassay runs)\n"
            "  fix: set RAGASSAY_DEBUG=1 and run again to see where, and report it"
        )
        sys.exit(70)
    try:
        sys.stdout.flush()  # at the interpreter's end a closed pipe would be a warning and exit code 120
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


# ---------------------------------------------------------------------------------------------------------------------


def _finish(
    run: Run,
    gates: list[str],
    min_coverage: float | None,
    html: Path | None,
    junit: Path | None,
    store: str | None,
    json_: bool,
) -> None:
    """Print the summary, write the files, and leave with the exit code."""
    from ragassay.api import resume_command, store_option
    from ragassay.core import BudgetExhausted, GateFailed, Incomplete, RunState
    from ragassay.report import check_gates, parse_gate, render_gates, render_summary, summary_json

    summary = run.summary
    if min_coverage is None and os.environ.get("CI") and gates:
        min_coverage = 1.0
    result = check_gates(summary, [parse_gate(g) for g in gates], min_coverage)
    if json_:
        _print_json({**summary_json(summary), "gates": result.to_json()})
    else:
        render_summary(summary, _console(), store=store_option(run.store_path))
        if gates or min_coverage is not None:
            render_gates(result, _console())
    for target, kind in ((html, "html"), (junit, "junit")):
        if target is not None:
            run.export(target, kind)
            _note(f"wrote {target}")
    state = run.state
    go_on = resume_command(run.id, run.store_path)
    if state is RunState.BUDGET:
        _show_error(
            BudgetExhausted(
                "E0604",
                "A cap was reached before all rows were judged.",
                where=f"run {run.id}",
                why=summary.stop_reason,
                fix=f"{go_on} with a higher --max-calls or --max-cost (they count the whole run)",
            )
        )
        raise typer.Exit(BudgetExhausted.exit_code)
    if state is not RunState.FINISHED:
        _note(f"{summary.stop_reason[:1].upper()}{summary.stop_reason[1:]}. To go on: {go_on}")
        raise typer.Exit(130 if state is RunState.INTERRUPTED else 5)
    asked = sum(m.asked for m in summary.metrics)
    judged = sum(m.judged for m in summary.metrics)
    again = f"{go_on} --retry-failed"
    if asked and not judged:
        _show_error(
            Incomplete("E0603", "Nothing could be judged.", where=f"run {run.id}", why=_first_loss(summary), fix=again)
        )
        raise typer.Exit(Incomplete.exit_code)
    if judged < asked:
        _note(
            f"{asked - judged:,} of {asked:,} verdicts were lost ({_first_loss(summary)}). To ask for them again: {again}"
        )
    if result.exit_code == GateFailed.exit_code:
        missed = "; ".join(o.message for o in result.outcomes if o.passed is False)
        worst = f"ragassay show {run.id}{store_option(run.store_path)}"
        _show_error(
            GateFailed(
                "E0602",
                "A gate's threshold was not met.",
                where=f"run {run.id}",
                why=missed,
                fix=f"see the worst rows: {worst}",
            )
        )
    elif result.exit_code == Incomplete.exit_code:
        fix = again if judged < asked else "give the rows what the metric needs, or gate on another metric"
        _show_error(
            Incomplete(
                "E0603",
                "Too little was judged to decide.",
                where=f"run {run.id}",
                why="; ".join(result.incomplete),
                fix=fix,
            )
        )
    raise typer.Exit(result.exit_code)


def _first_loss(summary: Summary) -> str:
    """Why most verdicts of the first metric that lost some are missing."""
    for metric in summary.metrics:
        if metric.judged < metric.asked and metric.reasons:
            return max(metric.reasons.items(), key=lambda item: item[1])[0][:200]
    return "see the rows' statuses"


def _display(cap: float | None) -> Any:
    from ragassay.cli.progress import Display

    return Display(_console(stderr=True), cap=cap)


def _print_forecast(found: Forecast, cap: float | None, json_: bool) -> None:
    if json_:
        from dataclasses import asdict

        _print_json({"schema": 1, "forecast": asdict(found)})
        return
    money = (
        "price unknown (give --price IN,OUT)"
        if found.cost is None
        else f"≈ ${found.cost:.4f}, at most ${found.bound:.4f}"
    )
    _console().print(
        f"{found.rows} rows, {found.requests} judgments to make, {found.cached} of them known already\n"
        f"≈ {found.calls} calls, ≈ {found.input_tokens:,} input and {found.output_tokens:,} output tokens, {money}"
        f"{f', cap ${cap:.2f}' if cap is not None else ''}\n"
        f"≈ {found.seconds:.0f} s at 1.5 s a call. Nothing was sent.",
        markup=False,
        highlight=False,
    )


def _pairs(items: list[str]) -> dict[str, str]:
    found = {}
    for item in items:
        name, sign, column = item.partition("=")
        if not sign or not name.strip() or not column.strip():
            raise SetupError(
                "E0101", "--map takes field=column.", where=f"--map {item}", fix="for example --map question=prompt"
            )
        found[name.strip()] = column.strip()
    return found


def _check_gates(
    gates: list[str], min_coverage: float | None, metrics: str | None = None, *, known: bool = True
) -> None:
    """Refuse a malformed gate, or one on a metric that is not asked for, before anything is judged."""
    if min_coverage is not None and not 0 <= min_coverage <= 1:
        raise SetupError(
            "E0101",
            "The floor of coverage is a share from 0 to 1.",
            where="--min-coverage",
            why=str(min_coverage),
            fix="for example --min-coverage 0.95",
        )
    if gates:
        from ragassay.metrics import DEFAULT_METRICS, parse, parse_list
        from ragassay.report import parse_gate

        names = [str(m) for m in (parse_list(metrics) if metrics else map(parse, DEFAULT_METRICS))] if known else []
        for text in gates:
            parse_gate(text, names)


def _check_target(target: Path | None, *others: str | Path | None) -> None:
    """Refuse an output path that cannot be written, or that is one of `others`, before anything is paid for."""
    if target is None:
        return
    taken = [
        Path(f"{other}{ending}") for other in others if other is not None for ending in ("", "-wal", "-shm")
    ]  # a store is three files
    if target.is_dir() or not target.absolute().parent.is_dir() or not os.access(target.absolute().parent, os.W_OK):
        why = ""
    elif target.exists() and not target.is_file():
        why = "it is a device or a pipe, not a file"
    elif any(target.absolute() == other.absolute() or _same(target, other) for other in taken):
        why = "it is the store, the rows, a rubric or another output of this command"
    else:
        return
    raise SetupError(
        "E0107",
        "The output file cannot be written.",
        where=str(target),
        why=why,
        fix="name a file of its own in a folder that exists and that you may write to",
    )


def _same(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b)
    except OSError:
        return False


def _store_file(store: str | None) -> str:
    from ragassay.store import default_location

    return store or default_location()


def _show_error(error: RagAssayError) -> None:
    lines = [f"error[{error.code}]: {error.what}"]
    lines += [f"  {name}: {text}" for name in ("where", "why", "fix") if (text := getattr(error, name))]
    lines.append(f"  more: ragassay explain {error.code}")
    _note("\n".join(lines))


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def _note(text: str) -> None:
    from ragassay.report import plain

    print(plain(text), file=sys.stderr)


def _print_json(value: object) -> None:
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")
