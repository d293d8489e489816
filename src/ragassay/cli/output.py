"""What do commands share: checks before a run, what is shown at its end, and where things are
printed?
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ragassay.core.errors import RagAssayError, SetupError

if TYPE_CHECKING:
    from rich.console import Console

    from ragassay.api import Run
    from ragassay.core import Figure, Summary
    from ragassay.runs import Forecast


@dataclass(frozen=True, slots=True)
class Ending:
    """What a command checks and writes at the end of a run. It is kept with the run, so that a
    resume does it too.

    gates: as given; min_coverage: 0 to 1, where CI is set and there are gates 1 by itself; html,
    junit: files to write.
    """

    gates: tuple[str, ...] = ()
    min_coverage: float | None = None
    html: Path | None = None
    junit: Path | None = None

    @staticmethod
    def of(
        gate: Sequence[str] | None,
        min_coverage: float | None,
        html: Path | None,
        junit: Path | None,
    ) -> Ending:
        """As the options say."""
        if min_coverage is None and gate and os.environ.get("CI"):
            min_coverage = 1.0
        return Ending(tuple(gate or ()), min_coverage, html, junit)

    @staticmethod
    def as_begun(kept: Mapping[str, object]) -> Ending:
        """What is kept with the run: `kept` is its manifest's. Nothing, where no command began it."""
        was = kept.get("command")
        if not isinstance(was, dict):
            return Ending()
        try:
            html, junit = (Path(was[name]) if name in was else None for name in ("html", "junit"))
            floor, gates = was.get("min_coverage"), was.get("gates", [])
            texts = tuple(map(str, gates)) if isinstance(gates, list) else ()
            return Ending(texts, None if floor is None else float(floor), html, junit)
        except (TypeError, ValueError):  # a program may keep something of its own under that name
            return Ending()

    def beyond(self, given: Ending) -> Ending:
        """What of this the given one does not say."""
        return Ending(
            () if given.gates else self.gates,
            self.min_coverage if given.min_coverage is None else None,
            None if given.html else self.html,
            None if given.junit else self.junit,
        )

    def filled(self, taken: Ending) -> Ending:
        """This one, with what another says beyond it."""
        floor = taken.min_coverage if self.min_coverage is None else self.min_coverage
        return Ending.of(
            self.gates or taken.gates, floor, self.html or taken.html, self.junit or taken.junit
        )

    def plain(self) -> dict[str, object]:
        """As the manifest keeps it: {} where there is nothing to check or write."""
        files = {
            name: str(path.absolute())
            for name, path in (("html", self.html), ("junit", self.junit))
            if path
        }
        floor = {} if self.min_coverage is None else {"min_coverage": self.min_coverage}
        found = {**({"gates": list(self.gates)} if self.gates else {}), **floor, **files}
        return {"command": found} if found else {}

    def words(self) -> str:
        """As options of the command."""
        found = [f"--gate {shlex.quote(gate)}" for gate in self.gates]
        found += [] if self.min_coverage is None else [f"--min-coverage {self.min_coverage:.15g}"]
        found += [
            f"--{name} {shlex.quote(str(path))}"
            for name, path in (("html", self.html), ("junit", self.junit))
            if path
        ]
        return " ".join(found)

    def writable(self, *others: str | Path | None) -> Ending:
        """Without the files that cannot be written any more, which is told."""
        kept: dict[str, Path | None] = {"html": self.html, "junit": self.junit}
        for name, path in kept.items():
            try:
                check_target(path, *others)
            except SetupError as error:
                note(
                    f"--{name} {error.where}, which is kept with the run, cannot be written now and"
                    f" is left out: {error.why}"
                )
                kept[name] = None
        return Ending(self.gates, self.min_coverage, kept["html"], kept["junit"])

    def check(self, names: Sequence[str], *others: str | Path | None) -> None:
        """Refuse, before anything is judged, what could not be checked or written at the end.

        names: the metrics that gates may name, where they are known; others: files that must not be
        written over.
        """
        check_gates(self.gates, self.min_coverage, names)
        check_target(self.html, self.junit, *others)
        check_target(self.junit, *others)


def finish(run: Run, ending: Ending, json_: bool) -> None:
    """Print the summary, write the files, and leave with the exit code."""
    from ragassay.api import resume_command, store_option
    from ragassay.core import BudgetExhausted, GateFailed, Incomplete, RunState
    from ragassay.report import check_gates, parse_gate, render_gates, render_summary, summary_json

    summary = run.summary
    result = check_gates(summary, [parse_gate(g) for g in ending.gates], ending.min_coverage)
    if json_:
        print_json({**summary_json(summary), "gates": result.to_json()})
    else:
        render_summary(summary, console(), store=store_option(run.store_location))
        if ending.gates or ending.min_coverage is not None:
            render_gates(result, console())
    unwritten = 0
    for target, kind in ((ending.html, "html"), (ending.junit, "junit")):
        if target is not None:
            try:
                run.export(target, kind)
                note(f"wrote {target}")
            except (
                RagAssayError
            ) as error:  # neither the other file nor the verdict of the gates is lost with it
                if error.code == "E0107":
                    store = store_option(run.store_location)
                    error.fix = (
                        f"ragassay export {run.id}{store} --format {kind} --output FILE writes it"
                        " to another place"
                    )
                show_error(error)
                unwritten = error.exit_code
    state = run.state
    go_on = resume_command(run.id, run.store_location)
    if state is RunState.BUDGET:
        nothing = (
            ""
            if any(m.judged for m in summary.metrics)
            else f"; nothing was answered: {_first_loss(summary)}"
        )
        show_error(
            BudgetExhausted(
                "E0604",
                "A cap was reached before all rows were judged.",
                where=f"run {run.id}",
                why=summary.stop_reason + nothing,
                fix=f"{go_on} with a higher --max-calls or --max-cost (they count the whole run)",
            )
        )
        raise typer.Exit(BudgetExhausted.exit_code)
    if state is not RunState.FINISHED:
        note(f"{summary.stop_reason[:1].upper()}{summary.stop_reason[1:]}. To go on: {go_on}")
        raise typer.Exit(130 if state is RunState.INTERRUPTED else 5)
    asked = sum(m.asked for m in summary.metrics)
    judged = sum(m.judged for m in summary.metrics)
    again = f"{go_on} --retry-failed"
    if asked and not judged:
        show_error(
            Incomplete(
                "E0603",
                "Nothing could be judged.",
                where=f"run {run.id}",
                why=_first_loss(summary),
                fix=again,
            )
        )
        raise typer.Exit(Incomplete.exit_code)
    measured = [m for m in summary.metrics if m.metric != "app_error"] or summary.metrics
    if summary.scored and not any(m.n or m.passed or m.failed for m in measured):
        why = next(
            (max(m.reasons, key=lambda r: m.reasons[r]) for m in summary.metrics if m.reasons), ""
        )
        fix = (
            "give the rows what the metrics need, or name other metrics (`ragassay metrics` lists"
            " what each needs)"
        )
        if any(m.metric == "app_error" and m.mean == 1.0 for m in summary.metrics):
            fix = (
                "the application failed on every row: see ragassay show"
                f" {run.id}{store_option(run.store_location)}"
            )
        show_error(
            Incomplete(
                "E0603", "Nothing could be measured.", where=f"run {run.id}", why=why, fix=fix
            )
        )
        raise typer.Exit(Incomplete.exit_code)
    if judged < asked:
        note(
            f"{asked - judged:,} of {asked:,} verdicts were lost ({_first_loss(summary)}). To ask"
            f" for them again: {again}"
        )
    if result.exit_code == GateFailed.exit_code:
        missed = "; ".join(o.message for o in result.outcomes if o.passed is False)
        worst = f"ragassay show {run.id}{store_option(run.store_location)}"
        show_error(
            GateFailed(
                "E0602",
                "A gate's threshold was not met.",
                where=f"run {run.id}",
                why=missed,
                fix=f"see the worst rows: {worst}",
            )
        )
    elif result.exit_code == Incomplete.exit_code:
        fix = (
            again
            if judged < asked
            else "give the rows what the metric needs, or gate on another metric"
        )
        show_error(
            Incomplete(
                "E0603",
                "Too little was judged to decide.",
                where=f"run {run.id}",
                why="; ".join(result.incomplete),
                fix=fix,
            )
        )
    raise typer.Exit(result.exit_code or unwritten)


def _first_loss(summary: Summary) -> str:
    """Why most verdicts of the first metric that lost some are missing."""
    for metric in summary.metrics:
        if metric.judged < metric.asked and metric.reasons:
            return max(metric.reasons.items(), key=lambda item: item[1])[0][:200]
    for line in summary.notes:  # why scores are missing, the most frequent reason first
        if " has no value in " in line and "applies: " in line:
            return line.partition("applies: ")[2][:200]
    return "see the rows' statuses"


def display(cap: float | None) -> Any:
    from ragassay.cli.progress import Display

    return Display(console(stderr=True), cap=cap)


def print_forecast(found: Forecast, cap: float | None, json_: bool, *, batch: bool = False) -> None:
    if json_:
        from dataclasses import asdict

        print_json({"schema": 1, "forecast": asdict(found)})
        return
    money = (
        "price unknown (give --price IN,OUT)"
        if found.cost is None
        else f"≈ ${found.cost:.4f}, at most ${found.bound:.4f}"
    )
    took = f"≈ {found.seconds:.0f} s at 1.5 s a call"
    if batch:
        took = "in batches: minutes to 24 hours for each step, of which most rows take one or two"
    console().print(
        f"{found.rows} rows, {found.requests} judgments to make, {found.cached} of them known"
        f" already\n≈ {found.calls} calls, ≈ {found.input_tokens:,} input and"
        f" {found.output_tokens:,} output tokens,"
        f" {money}{f', cap ${cap:.2f}' if cap is not None else ''}\n{took}. Nothing was sent.",
        markup=False,
        highlight=False,
    )


def pairs(items: list[str]) -> dict[str, str]:
    found = {}
    for item in items:
        name, sign, column = item.partition("=")
        if not sign or not name.strip() or not column.strip():
            raise SetupError(
                "E0101",
                "--map takes field=column.",
                where=f"--map {item}",
                fix="for example --map question=prompt",
            )
        found[name.strip()] = column.strip()
    return found


def check_gates(gates: Sequence[str], min_coverage: float | None, names: Sequence[str]) -> None:
    """Refuse a malformed gate, or one on a metric that is not among `names` (where these are
    known), before anything is judged.
    """
    if min_coverage is not None and not 0 <= min_coverage <= 1:
        raise SetupError(
            "E0101",
            "The floor of coverage is a share from 0 to 1.",
            where="--min-coverage",
            why=str(min_coverage),
            fix="for example --min-coverage 0.95",
        )
    if gates:
        from ragassay.report import parse_gate

        for text in gates:
            parse_gate(text, names)


def check_target(target: Path | None, *others: str | Path | None) -> None:
    """Refuse an output path that cannot be written, or that is one of `others`, before anything is
    paid for.
    """
    if target is None:
        return
    taken = [
        Path(f"{other}{ending}")
        for other in others
        if other is not None
        for ending in ("", "-wal", "-shm")
    ]  # a store is three files
    if (
        target.is_dir()
        or not target.absolute().parent.is_dir()
        or not os.access(target.absolute().parent, os.W_OK)
    ):
        why = (
            "it is a folder"
            if target.is_dir()
            else "its folder does not exist or may not be written"
        )
    elif target.exists() and not target.is_file():
        why = "it is a device or a pipe, not a file"
    elif any(target.absolute() == other.absolute() or _same(target, other) for other in taken):
        why = "it is the store, the rows, a rubric or another output of this command"
    elif any(
        other.is_dir() and target.resolve().is_relative_to(other.resolve()) for other in taken
    ):
        why = "it lies in the folder of the rows"
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


def store_file(store: str | None) -> str:
    from ragassay.store import default_location

    return store or default_location()


def show_error(error: RagAssayError) -> None:
    lines = [f"error[{error.code}]: {error.what}"]
    lines += [
        f"  {name}: {text}" for name in ("where", "why", "fix") if (text := getattr(error, name))
    ]
    lines.append(f"  more: ragassay explain {error.code}")
    note("\n".join(lines))


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def note(text: str) -> None:
    from ragassay.report import plain

    print(plain(text), file=sys.stderr)


def print_json(value: object) -> None:
    import orjson

    from ragassay.report import seen

    sys.stdout.write(seen(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()) + "\n")


def print_value(kind: str, value: object) -> None:
    """A result value as JSON, with the schema's number."""
    from ragassay.report import as_json

    found = as_json(value)
    assert isinstance(found, dict)
    print_json({"schema": 1, "kind": kind, **found})


def print_lines(*lines: str) -> None:
    """Lines on stdout, without control characters of the data and without markup."""
    from rich.text import Text

    from ragassay.report import plain

    page = console()
    for line in lines:
        page.print(
            Text(plain(line)), soft_wrap=not page.is_terminal
        )  # a file or a pipe has no width


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout: the first column as text, what looks like numbers to the right."""
    from rich.table import Table
    from rich.text import Text

    from ragassay.report import plain

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in head:
        table.add_column(Text(plain(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console().print(table)


def print_figures(figures: Iterable[Figure]) -> None:
    """Figures with their intervals, a line each; what is absent with the reason."""
    from ragassay.report import number_words

    print_table(
        ("figure", "value [95 %]", "rows", "note"),
        [
            (
                figure.name,
                number_words(figure.value, figure.interval, absent="-"),
                str(figure.n),
                figure.reason,
            )
            for figure in figures
        ],
    )


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that hold something. Raises DataError E0102 where it cannot be read."""
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
