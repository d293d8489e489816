"""The command that looks at the set-up: the installation, the store, and what a judge can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.output import note, print_json, print_lines, store_file
from ragassay.cli.parameters import DoctorOptions, JsonOption, StoreOption, grouped
from ragassay.core.counting import count

if TYPE_CHECKING:
    from ragassay.runs.doctor import Installation, LocalServer, ModelReport
    from ragassay.runs.local_examination import LocalReport
    from ragassay.store import Store

JudgeToExamine = Annotated[
    str | None,
    typer.Option("--judge", help="Ask this judge about a known example: costs a call or a few."),
]


@grouped
def doctor(
    *,
    judge: JudgeToExamine = None,
    options: DoctorOptions,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Say what is installed, which servers answer on this machine, what is known of models; with
    --judge, whether that judge can judge, what its server accepts and what it refuses. Prints no
    secret. Exit code 5 where the judge cannot judge.
    """
    from ragassay.runs.doctor import examine, installation, local_servers
    from ragassay.runs.local_examination import examine_local, local_uris
    from ragassay.runs.options import make_options

    installed = installation()
    opened = _open(store)
    if judge is None:
        servers, reports, local = local_servers(), [], []
    else:
        note(f"asking {judge} about the known example")
        chosen = make_options({**options, "judge": judge})
        opened = opened or _new_store(store)
        local = [examine_local(uri, no_network=chosen.no_network) for uri in local_uris(judge)]
        # A local model alone is asked for its own task, and there is no server to ask.
        servers, reports = [], [] if judge in local_uris(judge) else examine(chosen, opened)
    if json_:
        print_json(
            {
                "schema": 1,
                "installation": asdict(installed),
                "store": None if opened is None else str(opened.location),
                "servers": [asdict(server) for server in servers],
                "models": [report.to_json() for report in reports],
                "local_models": [report.to_json() for report in local],
            }
        )
    else:
        _print(installed, opened, servers, [*local, *reports], judge)
    problems = [report.problem for report in reports] + [report.problem for report in local]
    if any(problems):
        raise typer.Exit(5)


def _open(store: str | None) -> Store | None:
    """The store; None where there is none yet."""
    from ragassay.core import RagAssayError
    from ragassay.store import Store

    try:
        return Store.open(store_file(store), make=False)
    except RagAssayError as error:
        if store is not None and error.code != "E0103":
            raise
        return None


def _new_store(store: str | None) -> Store | None:
    """The store that is named, made for what is learnt of a judge; None where none is named."""
    from ragassay.store import Store

    return None if store is None else Store.open(store)


def _print(
    installed: Installation,
    store: Store | None,
    servers: list[LocalServer],
    reports: Sequence[LocalReport | ModelReport],
    judge: str | None,
) -> None:
    from ragassay.runs.local_examination import LocalReport, report_lines

    if judge is not None:
        for report in reports:
            if isinstance(report, LocalReport):
                print_lines(*report_lines(report))
            else:
                _print_report(report)
        if not reports:
            print_lines(f"{judge} runs on this machine: there is no server to ask")
        elif store is None:
            print_lines("Nothing of this was kept: there is no store here (--store FILE makes one)")
        return
    print_lines(
        f"RagAssay {installed.version}, Python {installed.python}",
        f"extras installed: {', '.join(installed.extras) or 'none'}"
        f"; not installed: {', '.join(installed.missing_extras) or 'none'}",
        f"keys set: {', '.join(installed.keys) or 'none'}",
    )
    _print_store(store)
    if not servers:
        print_lines("servers on this machine: none answers on the usual ports")
    for server in servers:
        shown = ", ".join(server.judges[:4]) + (" ..." if len(server.judges) > 4 else "")
        print_lines(f"{server.title} answers at {server.base_url}: --judge {shown}")
    print_lines("", "Examine a judge: ragassay doctor --judge PROVIDER:MODEL")


def _print_store(store: Store | None) -> None:
    from ragassay.runs.doctor import model_lines

    if store is None:
        print_lines("store: none yet; the first run makes it")
        return
    print_lines(f"store: {store.location}, {count(len(store.runs()), 'run')}")
    lines = model_lines(store.known_models())
    if lines:
        print_lines("models known here:", *(f"  {line}" for line in lines[:8]))


def _print_report(report: ModelReport) -> None:
    from ragassay.runs.doctor import capability_lines

    if not report.asked:
        print_lines(f"{report.uri} has not answered the known example")
    else:
        verdict = "judges" if not report.problem else "does not judge"
        right = f"{report.right} of {report.asked} verdicts right"
        print_lines(f"{report.uri} {verdict} the known example: {right}")
    if report.problem:
        print_lines(f"  why: {report.problem}")
    if report.reply:
        print_lines(f"  its reply begins: {report.reply}")
    requests = "1 request" if report.calls == 1 else f"{report.calls} requests"
    cost = "price unknown" if report.cost is None else f"${report.cost:.6f}"
    print_lines(
        f"  server: {report.provider} at {report.base_url}; {requests}, {cost}",
        f"  texts go to: {', '.join(report.hosts)}",
    )
    for what, how in capability_lines(report.capabilities, report.accepted):
        print_lines(f"  {what:<17} {how}")
    for line in report.dropped:
        print_lines(f"  learnt: {line}")
    if not report.price_known:
        print_lines("  its price is not known: give --price IN,OUT for costs and --max-cost")
