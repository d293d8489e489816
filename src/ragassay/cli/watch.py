"""The command that watches traffic."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragassay.cli.output import note, print_blocks, print_lines, print_value, store_file
from ragassay.cli.parameters import JsonOption, RunOptions, SeedOption, StoreOption, grouped
from ragassay.core.errors import SetupError

if TYPE_CHECKING:
    from ragassay.watch.values import Traffic

_JUDGING = (
    "metrics",
    "preset",
    "judge",
    "rubrics",
    "base_url",
    "api_key_env",
    "max_tokens",
    "reasoning_effort",
    "extra_body",
    "headers",
    "proxy",
    "ca",
    "price",
    "force",
    "redact",
    "concurrency",
    "call_timeout",
    "attempts",
    "no_network",
)
WatchedJudging = Annotated[dict[str, Any], RunOptions(_JUDGING)]
"""What is measured, by which judge, and how it is reached; what it may cost is the budget's."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@grouped
def watch(  # plain: a parameter is an option with its help
    *,
    sample: Annotated[float, typer.Option(help="Share of the sessions that is judged.")] = 0.1,
    budget: Annotated[
        list[str] | None,
        typer.Option(help="5/day (US dollars), '500 calls/hour', '100 rows/minute'. Repeatable."),
    ] = None,
    mark: Annotated[
        list[str] | None,
        typer.Option(
            help="Alert where it does not hold: groundedness>=0.8, error_rate<=0.02,"
            " p95(latency)<=3. Repeatable."
        ),
    ] = None,
    alert_to: Annotated[
        list[str] | None,
        typer.Option(
            help="https://..., slack:https://..., env:NAME of a variable with one, or"
            " 'command:notify.sh'. Repeatable."
        ),
    ] = None,
    false_alarms: Annotated[
        str,
        typer.Option(help="Chance of ever raising one, or 1/10000: one in so many sessions."),
    ] = "0.05",
    suspicious: Annotated[
        float, typer.Option(help="How many times as often suspicious rows are sampled.")
    ] = 5.0,
    label_share: Annotated[
        float, typer.Option(help="Share of the judged rows for people to label.")
    ] = 0.0,
    window: Annotated[str, typer.Option(help="Time that the rates are over: 24h, 7d.")] = "24h",
    session_quiet: Annotated[
        str, typer.Option(help="Quiet time after which a session counts for alarms.")
    ] = "10m",
    patience: Annotated[
        str, typer.Option(help="Time that a sampled row waits to be judged.")
    ] = "6h",
    quiet: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds without a new span until a trace is a row, as `receive`."
        ),
    ] = 30.0,
    keep_days: Annotated[
        float, typer.Option(help="Days that figures of rows are kept (they hold no texts).")
    ] = 90.0,
    collector: Annotated[
        str, typer.Option(help="OTLP address that is sent gen_ai.evaluation.result events.")
    ] = "",
    allow_private: Annotated[
        bool, typer.Option(help="A webhook may redirect to a private address.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write the report here as a page, with the map.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the watch.")] = "traffic",
    once: Annotated[bool, typer.Option("--once", help="One step, and end.")] = False,
    every: Annotated[str, typer.Option(help="Time between steps.")] = "60s",
    seed: SeedOption = 0,
    judging: WatchedJudging,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Judge a sample of what arrives as traces, within a budget; tell of rates, alerts and drift.

    Reads what `ragassay receive` stores. Goes on until it is stopped; a later start goes on where
    this one was.
    """
    from ragassay.report import check_output_file
    from ragassay.watch.door import watch_traffic

    check_output_file(html, store_file(store))

    def shown(traffic: Traffic) -> None:
        if not json_:
            print_blocks(traffic.blocks())

    result = watch_traffic(
        name=name,
        sample=sample,
        suspicious=suspicious,
        seed=seed,
        budget=budget or [],
        marks=mark or [],
        false_alarms=false_alarms,
        alert_to=alert_to or [],
        allow_private=allow_private,
        label_share=label_share,
        window_s=seconds_of(window, "--window"),
        session_quiet_s=seconds_of(session_quiet, "--session-quiet"),
        patience_s=seconds_of(patience, "--patience"),
        quiet_s=quiet,
        keep_days=keep_days,
        collector=collector,
        with_map=html is not None,
        every_s=None if once else seconds_of(every, "--every"),
        store=store,
        shown=shown,
        tell=note,
        **judging,
    )
    if html is not None:
        from ragassay.watch.page import write_page

        write_page(result, html)
        note(f"wrote {html}")
    if json_:
        print_value("traffic", result)
    else:
        if not once:
            print_lines("")
        print_blocks(result.blocks())
    if result.outage and once:
        raise typer.Exit(5)


def seconds_of(text: str, option: str) -> float:
    """Seconds of "90s", "10m", "24h", "7d". Raises SetupError E0101."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise SetupError(
            "E0101",
            "This is no length of time.",
            where=option,
            why=text[:40],
            fix="a number with s, m, h or d, as in 24h",
        )
    return float(match[1]) * _SECONDS[match[2]]
