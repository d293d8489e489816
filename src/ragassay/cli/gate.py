"""The command that holds a stored run to its conditions, and to a baseline."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ragassay.cli.output import console, note, print_json, show
from ragassay.cli.parameters import (
    GateOption,
    JsonOption,
    JunitOption,
    RunArgument,
    StoreOption,
    grouped,
)

if TYPE_CHECKING:
    from ragassay.report import Comparison, FinalSteps, GateResult
    from ragassay.runs.run import Run


@grouped
def gate(
    run: RunArgument = "last",
    *,
    gate: GateOption = None,
    min_coverage: Annotated[
        float | None,
        typer.Option(help="Least judged/asked share, 0 to 1 [default: as the run; 1 in CI]."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Run or baseline file that no metric may be worse than, beyond chance."),
    ] = None,
    regression: Annotated[
        list[str] | None,
        typer.Option(help="Metric that is compared [default: all with a good end]. Repeatable."),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Loss that does not matter; undecided where the interval holds it."),
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(help="Write the run's figures here, to be a later baseline.")
    ] = None,
    comment: Annotated[
        Path | None,
        typer.Option(help="Write the text of a comment on a pull request (at most 60 KB)."),
    ] = None,
    junit: JunitOption = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Hold a run to gates, to a floor of coverage and to a baseline. Nothing is judged.

    Without --gate and --min-coverage, those are checked that the run was made with.
    """
    from ragassay import api
    from ragassay.report import FinalSteps, regression_outcomes, render_gates, with_outcomes

    with api.open_run(run, store=store) as opened:
        stored = FinalSteps.from_manifest(opened.manifest.kept)
        given = FinalSteps(tuple(gate or stored.gates), min_coverage, junit=junit)
        if min_coverage is None:
            given = given.and_also(FinalSteps(min_coverage=stored.min_coverage))
        _check_request(given, baseline, write_baseline)
        _check_comparison(baseline, regression, margin)
        _check_files(opened, given, baseline, write_baseline, comment)
        result = given.check_gates(opened.summary)
        comparison = None
        if baseline is not None:
            comparison = _beside(opened, baseline)
            floor = given.min_coverage
            outcomes = regression_outcomes(comparison, regression or (), margin, floor)
            result = with_outcomes(result, outcomes)
        if json_:
            print_json({"schema": 1, "kind": "gate", "run_id": opened.id, **result.to_json()})
        elif result.outcomes or result.incomplete:
            render_gates(result, console())
        _write_junit(opened, given)
        _write_files(opened, result, comparison, write_baseline, comment)
        _leave(opened, result, comparison)


def _leave(run: Run, result: GateResult, comparison: Comparison | None) -> NoReturn:
    """Say how it ended, also to GitHub, and leave with the exit code."""
    from ragassay.cli.github import announce
    from ragassay.report import conclude
    from ragassay.runs.commands import resume_command, store_option

    resume = resume_command(run.id, run.store_location)
    end = conclude(run.summary, result, resume=resume, store=store_option(run.store_location))
    for told in end.messages:
        show(told)
    announce(run, run.summary, result, comparison, again=True)
    raise typer.Exit(end.exit_code)


def _write_junit(run: Run, steps: FinalSteps) -> None:
    from ragassay.runs.commands import store_option

    for message in steps.write_files(run.export, run.id, store_option(run.store_location)):
        show(message)


def _check_request(given: FinalSteps, baseline: str | None, write_baseline: Path | None) -> None:
    """Raise SetupError E0101 where nothing is asked for: a job would be green for no reason."""
    from ragassay.core import SetupError

    asked = given.gates or given.min_coverage is not None or baseline is not None
    if asked or write_baseline is not None:
        return
    raise SetupError(
        "E0101",
        "Nothing is to be checked.",
        where="ragassay gate",
        why="no gate is given, and none is stored with the run",
        fix="add --gate 'groundedness>=0.8', --min-coverage 0.95 or --baseline RUN",
    )


def _check_files(
    run: Run,
    given: FinalSteps,
    baseline: str | None,
    write_baseline: Path | None,
    comment: Path | None,
) -> None:
    """Refuse to write over anything that is read. The baseline may be written anew, from the run
    that it was compared with.
    """
    from ragassay.report import check_output_file

    read = (run.store_location, run.manifest.source)
    given.check(run.manifest.metrics, *read, baseline)
    check_output_file(write_baseline, comment, given.junit, *read)
    check_output_file(comment, given.junit, *read, baseline)


def _check_comparison(
    baseline: str | None, regression: list[str] | None, margin: float | None
) -> None:
    """Raise SetupError E0101 for an option of the comparison that would do nothing, or that cannot
    be.
    """
    from ragassay.core import SetupError

    option = "--regression" if regression else "--margin"
    if baseline is None and (regression or margin is not None):
        raise SetupError(
            "E0101",
            "There is nothing to compare the run with.",
            where=option,
            why="no --baseline is given",
            fix="add --baseline RUN or --baseline FILE",
        )
    # Not "<= 0", which holds for no comparison with NaN.
    if margin is not None and not 0 < margin < math.inf:
        raise SetupError(
            "E0101",
            "A margin lies above 0.",
            where="--margin",
            why=str(margin),
            fix="name the loss that would not matter, such as --margin 0.03",
        )


def _beside(run: Run, baseline: str) -> Comparison:
    """The comparison with the baseline."""
    from ragassay.report import StoredSide, compare_runs, read_baseline

    this = StoredSide(run.store, run.id)
    # A file is told by its being there: names of runs are chosen freely.
    if Path(baseline).is_file():
        comparison = compare_runs(read_baseline(Path(baseline)), this)
    else:
        comparison = compare_runs(StoredSide(run.store, _stored_run(run, baseline)), this)
    for warning in comparison.warnings:
        note(warning)
    return comparison


def _stored_run(run: Run, baseline: str) -> str:
    """The id of the run that is the baseline. Raises DataError E0607 for what reads like a file
    that is not there, SetupError E0103 for any other name.
    """
    from ragassay.core import DataError, SetupError

    try:
        return run.store.resolve(baseline)
    except SetupError as error:
        path = Path(baseline)
        if not path.suffix and path.name == baseline:
            raise
        raise DataError(
            "E0607",
            "There is no baseline of this name.",
            where=f"--baseline {baseline}",
            why="no file is there, and no run in the store is called so",
            fix="write it from a run, ragassay gate RUN --write-baseline FILE, or name a run",
        ) from error


def _write_files(
    run: Run,
    result: GateResult,
    comparison: Comparison | None,
    baseline: Path | None,
    comment: Path | None,
) -> None:
    from ragassay.core import EnvironmentFailure
    from ragassay.report import COMMENT_LIMIT, MARKER, markdown_page, write_baseline

    if baseline is not None:
        write_baseline(run.store, run.id, baseline)
        note(f"wrote {baseline}")
    if comment is None:
        return
    limit = COMMENT_LIMIT - len(MARKER) - 1
    page = markdown_page(run.store, run.summary, result, comparison, limit=limit, rows=20)
    try:
        comment.write_text(f"{MARKER}\n{page}", encoding="utf-8", newline="\n")
    except OSError as error:
        raise EnvironmentFailure(
            "E0107", "The output file cannot be written.", where=str(comment), why=str(error)
        ) from error
    note(f"wrote {comment}")
