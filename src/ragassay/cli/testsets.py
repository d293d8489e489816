"""The commands on test sets."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragassay.cli.output import note, print_blocks, print_result, store_file
from ragassay.cli.parameters import HtmlOption, JsonOption, SeedOption, StoreOption, grouped
from ragassay.core.errors import EnvironmentFailure, NothingToDo, SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ragassay.report.tables import Block
    from ragassay.runs.report_items import ReportItem
    from ragassay.testsets.results import Prepared

testset_app = typer.Typer(
    help="Make test sets from documents, check and refresh them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True, slots=True)
class Writing:
    """Who writes and who checks, how they are reached, and what they may cost."""

    writer: Annotated[
        str, typer.Option(help="Who writes: 'offline' (rules) or 'PROVIDER:MODEL'.")
    ] = "offline"
    judge: Annotated[str, typer.Option(help="Who checks, likewise.")] = "offline"
    base_url: Annotated[str | None, typer.Option(help="Address of the models' server.")] = None
    api_key_env: Annotated[str | None, typer.Option(help="Variable with their key.")] = None
    price: Annotated[str | None, typer.Option(help="IN,OUT in US dollars per million tokens.")] = (
        None
    )
    max_calls: Annotated[int | None, typer.Option(help="Cap on calls, of both together.")] = None
    max_cost: Annotated[float | None, typer.Option(help="Cap in US dollars, likewise.")] = None
    concurrency: Annotated[int, typer.Option(help="Calls at once.")] = 16
    no_network: Annotated[
        bool, typer.Option("--no-network", help="Any model behind a server is an error.")
    ] = False

    def options(self) -> dict[str, Any]:
        """Named as `make_testset` takes them."""
        return asdict(self)


@testset_app.command()
@grouped
def make(  # plain: a parameter is an option with its help
    docs: Annotated[
        str, typer.Argument(help="Folder or file: Markdown, text, HTML, PDF, JSONL, CSV, BEIR.")
    ],
    *,
    out: Annotated[Path, typer.Option(help="File of the test set, JSON Lines.")],
    size: Annotated[int, typer.Option(help="Questions.")] = 100,
    real: Annotated[
        str | None, typer.Option(help="File of queries that users asked, to be mixed in.")
    ] = None,
    real_share: Annotated[float, typer.Option(help="Share of them in the set.")] = 0.3,
    types: Annotated[
        list[str] | None,
        typer.Option(help="Types of questions, as simple=0.7,unanswerable=0.3. Repeatable."),
    ] = None,
    words: Annotated[int, typer.Option(help="Words of a passage, about.")] = 200,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Show the plan and what it may cost, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    seed: SeedOption = 0,
    writing: Writing,
    html: HtmlOption = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Make a test set from documents: questions, references, evidence, each checked."""
    from ragassay.report import check_output_file
    from ragassay.report.blocks_html import write_blocks_html
    from ragassay.testsets.door import make_testset
    from ragassay.testsets.report_items import question_items
    from ragassay.testsets.reports import question_table, set_report

    check_output_file(out, docs, store_file(store))
    check_output_file(html, docs, out, store_file(store))

    try:
        made = make_testset(
            docs,
            size=size,
            real=real,
            real_share=real_share,
            out=out,
            types=types,
            words=words,
            seed=seed,
            store=store,
            confirm=_confirm(forecast, yes),
            **writing.options(),
        )
    except NothingToDo as declined:
        if forecast and declined.code == "E0806":
            return
        raise
    print_result("testset", made, json_, set_report)
    _keep(store, str(out or docs), set_report(made), question_items(made.questions))
    if html is not None:
        write_blocks_html("Test set", [*set_report(made), *question_table(made.questions)], html)
        note(f"wrote {html}")


@testset_app.command()
@grouped
def check(
    set_file: Annotated[Path, typer.Argument(metavar="SET", help="File of a test set.")],
    *,
    docs: Annotated[
        str | None, typer.Option(help="Its documents [default: those that the set names].")
    ] = None,
    real: Annotated[
        str | None, typer.Option(help="File of queries that users asked, to compare with.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a sheet (CSV) for a spot check by people.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Such a sheet filled in: its error rate goes into the set.")
    ] = None,
    seed: SeedOption = 0,
    html: HtmlOption = None,
    json_: JsonOption = False,
) -> None:
    """Check a test set: gates, duplicates, coverage, likeness to real queries."""
    from ragassay.report import check_output_file
    from ragassay.report.blocks_html import write_blocks_html
    from ragassay.store import is_there
    from ragassay.testsets.door import check_testset
    from ragassay.testsets.report_items import question_items
    from ragassay.testsets.reports import check_report
    from ragassay.testsets.set_files import read_set

    check_output_file(sheet, set_file, labels, docs)
    check_output_file(html, set_file, sheet, labels, docs)
    found = check_testset(set_file, docs=docs, real=real, sheet=sheet, labels=labels, seed=seed)
    blocks = check_report(found, path="" if sheet else str(set_file))
    if json_:
        print_result("testset_check", found, json_, check_report)
    else:
        print_blocks(blocks)
    if is_there(store_file(None)):
        items = question_items(read_set(set_file)[1], found)
        _keep(None, str(set_file), check_report(found, path=str(set_file)), items)
    if sheet is not None:
        then = f"ragassay testset check {quote(str(set_file))} --labels {quote(str(sheet))}"
        note(f"wrote {sheet}; fill in `accept`, then: {then}")
    if html is not None:
        write_blocks_html("Check of a test set", blocks, html)
        note(f"wrote {html}")
    if found.failing:
        raise typer.Exit(1)


@testset_app.command()
@grouped
def refresh(  # plain: a parameter is an option with its help
    set_file: Annotated[Path, typer.Argument(metavar="SET", help="File of a test set.")],
    docs: Annotated[
        str | None,
        typer.Argument(help="The documents of today [default: where the set names them]."),
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the next version here, SET itself if you like [default: show]."),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Questions of the next version [default: as many].")
    ] = None,
    real: Annotated[
        str | None, typer.Option(help="Log of queries, from which real ones are drawn anew.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    writing: Writing,
    html: HtmlOption = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Set a test set beside the documents of today: what is stale goes, new questions come."""
    from ragassay.report import check_output_file
    from ragassay.report.blocks_html import write_blocks_html
    from ragassay.testsets.refresh import refresh_testset
    from ragassay.testsets.reports import refresh_report

    check_output_file(out, docs, real, store_file(store))
    check_output_file(html, docs, real, out, set_file, store_file(store))
    found = refresh_testset(
        set_file,
        docs,
        out=out,
        size=size,
        real=real,
        store=store,
        confirm=_confirm(False, yes),
        **writing.options(),
    )
    blocks = refresh_report(found, path=str(set_file))
    print_result("testset_refresh", found, json_, lambda _: blocks)
    if html is not None:
        write_blocks_html("Refresh of a test set", blocks, html)
        note(f"wrote {html}")


def _confirm(forecast: bool, yes: bool) -> Callable[[Prepared], bool]:
    """The question before anything is paid. forecast: the plan alone is wanted."""
    from ragassay.testsets.reports import plan_report

    def confirm(prepared: Prepared) -> bool:
        if forecast:
            print_blocks(plan_report(prepared))
            return False
        if not prepared.forecast.most_calls or yes:
            return True
        for line in plan_report(prepared):
            if isinstance(line, str):
                note(line)
        return _confirmed()

    return confirm


def _confirmed() -> bool:
    """Whether a person at the terminal says yes. Raises SetupError E0806 where there is none."""
    if not sys.stdin.isatty():
        raise SetupError(
            "E0806", "Nobody is there to confirm the plan.", fix="read it above, and give --yes"
        )
    return typer.confirm("Start?", err=True)


def _keep(store: str | None, title: str, blocks: list[Block], items: Iterable[ReportItem]) -> None:
    """Keep the report where `ragassay view` finds it; a store that cannot be written is no reason
    to lose a set.
    """
    from ragassay.runs.kept_reports import TEST_SET, keep_report
    from ragassay.store import Store

    try:
        with Store.open(store_file(store)) as opened:
            keep_report(opened, TEST_SET, title, blocks, items=items)
    except EnvironmentFailure as failure:
        note(f"the report is not kept for `ragassay view`: {failure.what}")
