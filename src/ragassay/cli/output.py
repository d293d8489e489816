"""What commands print: notes and errors on stderr, results on stdout."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from ragassay.core.counting import count
from ragassay.core.errors import RagAssayError

if TYPE_CHECKING:
    from rich.console import Console

    from ragassay.report import Detail, FinalSteps, GateResult
    from ragassay.report.tables import Block
    from ragassay.report.tables import Table as TableContent
    from ragassay.runs import Forecast
    from ragassay.runs.run import Run

T = TypeVar("T")


def finish(
    run: Run, steps: FinalSteps, json_: bool, detail: Detail, notes: Notes | None = None
) -> NoReturn:
    """Print the summary, take the final steps of the run, and leave with the exit code.

    notes: those that the command printed before, with which the summary shares the screen.
    """
    from ragassay.cli.github import announce
    from ragassay.report import conclude, render_gates, render_summary, summary_json
    from ragassay.runs.commands import resume_command, store_option

    summary, store = run.summary, store_option(run.store_location)
    gates = steps.check_gates(summary)
    # The commands that the end names are for the reader's shell: with the store of this run.
    resume = resume_command(run.id, run.store_location)
    end = conclude(summary, gates, resume=resume, store=store)
    if json_:
        print_json({**summary_json(summary), "gates": gates.to_json()})
    else:
        held = gates if steps.gates or steps.min_coverage is not None else None
        told = 0
        if notes is not None:
            told = notes.lines + bool(steps.html) + sum(height(each) for each in end.messages)
            told += 0 if held is None else height_of_gates(held)
        render_summary(summary, console(), store=store, detail=replace(detail, told=told))
        if held is not None:
            render_gates(held, console())
    # A file that could not be written does not end the run: the others are still written, and its
    # exit code counts only where the run itself ended well.
    unwritten = 0
    for message in steps.write_files(run.export, run.id, store):
        show(message)
        if isinstance(message, RagAssayError):
            unwritten = message.exit_code
    for message in end.messages:
        show(message)
    announce(run, summary, gates)
    raise typer.Exit(end.exit_code or unwritten)


def height(message: str | RagAssayError) -> int:
    """The lines that `show` prints."""
    if isinstance(message, RagAssayError):
        return len(_lines_of_error(message))
    return len(_lines_of(message))


def height_of_gates(gates: GateResult) -> int:
    """The lines that the gates take."""
    from rich.console import Console

    from ragassay.report import render_gates

    trial = Console(file=io.StringIO(), width=console().width)
    with trial.capture() as printed:
        render_gates(gates, trial)
    return printed.get().count("\n")


def show(message: str | RagAssayError) -> None:
    """Print a note, or an error with what to do, on stderr."""
    if isinstance(message, RagAssayError):
        show_error(message)
    else:
        note(message)


def display(cap: float | None) -> Any:
    """The live display of a run, to be entered as a context and passed as `watch`.

    cap: the most that the run may cost in US dollars, shown beside what it has cost so far.
    """
    from ragassay.cli.progress import Display

    return Display(console(stderr=True), cap=cap)


def print_forecast(
    forecast: Forecast, cap: float | None, json_: bool, *, batch: bool = False
) -> None:
    """The calls, tokens, cost and time that a run would take. cap: the most it may cost."""
    if json_:
        from dataclasses import asdict

        print_json({"schema": 1, "forecast": asdict(forecast)})
        return
    # No price is guessed: a figure that is wrong would be believed.
    if forecast.cost is None:
        money = "price unknown (give --price IN,OUT)"
    else:
        money = f"≈ ${forecast.cost:.4f}, at most ${forecast.bound:.4f}"
        if forecast.thinking is None and forecast.calls:
            money += " if it does not think longer than most"
    if cap is not None:
        money += f", cap ${cap:.2f}"
    if batch:
        time = "in batches: minutes to 24 hours for each step, of which most rows take one or two"
    else:
        time = f"≈ {forecast.seconds:.0f} s at 1.5 s a call"
    thinking = ""
    if forecast.thinking is None and forecast.calls:
        thinking = " (what the model thinks is not in it: it was not asked here before)"
    elif forecast.thinking and forecast.by_room:
        thinking = (
            f" (up to {forecast.thinking:,} of them a call to think: half of its room for it)"
        )
    elif forecast.thinking:
        thinking = f" ({forecast.thinking:,} of them a call to think, as its replies took before)"
    console().print(
        f"{count(forecast.rows, 'row')}, {count(forecast.requests, 'judgment')} to make,"
        f" {forecast.cached} of them"
        f" known already\n≈ {count(forecast.calls, 'call')}, ≈ {forecast.input_tokens:,} input and"
        f" {forecast.output_tokens:,} output tokens{thinking}, {money}\n{time}. Nothing was sent.",
        markup=False,
        highlight=False,
    )


def store_file(store: str | None) -> str:
    """The location of the store: the one of the option, else the usual one."""
    from ragassay.store import default_location

    return store or default_location()


def show_error(error: RagAssayError) -> None:
    """The parts that the error has, a line each, and where its code is explained."""
    _tell(_lines_of_error(error))


def _lines_of_error(error: RagAssayError) -> list[str]:
    """The error as it is printed."""
    from ragassay.report import plain

    lines = [f"error[{error.code}]: {error.what}"]
    lines += [
        f"  {name}: {text}" for name in ("where", "why", "fix") if (text := getattr(error, name))
    ]
    lines.append(f"  more: ragassay explain {error.code}")
    return plain("\n".join(lines)).splitlines()


def console(*, stderr: bool = False) -> Console:
    """A console that highlights nothing: ids and numbers of the data are printed as they are."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def note(text: str) -> None:
    """A note on stderr, wrapped to the terminal, without the control characters that texts of the
    data may hold.
    """
    _tell(_lines_of(text))


class Notes:
    """`note`, which counts its lines: a summary has to fit on the screen under them."""

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self, text: str) -> None:
        """Print a note."""
        lines = _lines_of(text)
        _tell(lines)
        self.lines += len(lines)


def _tell(lines: list[str]) -> None:
    print("\n".join(lines), file=sys.stderr)


def _lines_of(text: str) -> list[str]:
    """The note as it is printed."""
    from ragassay.report import plain

    width = _width_of_stderr()
    lines: list[str] = []
    for line in plain(text).splitlines() or [""]:
        # A command or an option to copy stays in one piece.
        if width is None or "ragassay " in line or " --" in line:
            lines.append(line)
        else:
            lines += _wrapped(line, width)
    return lines


def _wrapped(line: str, width: int) -> list[str]:
    """The line in pieces of this width, no word broken."""
    pieces = textwrap.wrap(
        line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return pieces or [""]


def _width_of_stderr() -> int | None:
    """The columns of the terminal; None where stderr is a file or a pipe of no known width."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    if not sys.stderr.isatty():
        return None
    return shutil.get_terminal_size().columns


def print_json(value: object) -> None:
    """A value as indented JSON on stdout."""
    import orjson

    from ragassay.report import seen

    # JSON itself escapes the first 32 characters only; `seen` escapes whatever else commands a
    # terminal or hides from the reader.
    text = seen(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
    # The older form of a workflow command, which the log of GitHub Actions obeys anywhere in a
    # line; as an escape it is the same value. (The newer form begins a line, which no value does.)
    sys.stdout.write(text.replace("##[", "\\u0023#[") + "\n")


def print_value(kind: str, value: object) -> None:
    """A result value as JSON, with the schema's number."""
    from ragassay.report import as_json

    fields = as_json(value)
    assert isinstance(fields, dict)
    print_json({"schema": 1, "kind": kind, **fields})


def print_result(kind: str, result: T, json_: bool, report: Callable[[T], Iterable[Block]]) -> None:
    """A result on stdout: as JSON of this kind where that is asked for, else as its report."""
    if json_:
        print_value(kind, result)
    else:
        print_blocks(report(result))


def print_lines(*lines: str) -> None:
    """Lines on stdout, without control characters of the data and without markup."""
    from rich.text import Text

    from ragassay.report import plain

    page = console()
    for line in lines:
        # A file or a pipe has no width to wrap to.
        page.print(Text(plain(line)), soft_wrap=not page.is_terminal)


def print_blocks(blocks: Iterable[Block]) -> None:
    """The lines and tables of a report on stdout; of a chart its sentence."""
    from ragassay.report.tables import Chart

    for block in blocks:
        if isinstance(block, str):
            print_lines(block)
        elif isinstance(block, Chart):
            print_lines(block.text)
        else:
            _print_table(block)


def _print_table(content: TableContent) -> None:
    from rich.table import Table
    from rich.text import Text

    from ragassay.report import plain

    columns = zip(content.head, *content.rows, strict=True)
    # Of each column the longest word.
    widths = [max(map(len, " ".join(column).split()), default=0) for column in columns]
    page = console()
    if sum(widths) + 2 * len(widths) > page.width:
        _print_apart(content)
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name, width in zip(content.head, widths, strict=True):
        # Folded and not cut off, and never within a word: a name or a figure is all there.
        table.add_column(Text(plain(name)), overflow="fold", min_width=width)
    for row in content.rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    page.print(table)


def _print_apart(content: TableContent) -> None:
    """A table that does not fit, row by row: the first cell, and below it the others by name."""
    from rich.padding import Padding
    from rich.text import Text

    from ragassay.report import plain

    page = console()
    for first, *others in content.rows:
        page.print(Text(plain(first)))
        for name, cell in zip(content.head[1:], others, strict=True):
            if cell:
                page.print(Padding(Text(plain(f"{name}: {cell}")), (0, 0, 0, 2), expand=False))


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not blank. Raises DataError E0102 where it cannot be
    read.
    """
    from ragassay.core import DataError

    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "E0102",
            "The file cannot be read.",
            where=str(path),
            why=str(error),
            fix="name a text file in UTF-8",
        ) from None
