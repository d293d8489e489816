"""The command that optimises a judge."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.output import note, print_blocks, print_json, print_lines, store_file
from ragassay.cli.parameters import (
    ClusterOption,
    CutOption,
    HtmlOption,
    JsonOption,
    JudgedRowOptions,
    LabelOption,
    SeedOption,
    StoreOption,
    WhereOption,
    grouped,
)
from ragassay.core.errors import SetupError

if TYPE_CHECKING:
    from ragassay.tuning.optimise import Prepared, Progress

_AIM = "What is to become better: a figure, or words such as 'f1 where precision >= 0.85'."


@grouped
def optimise(  # plain: a parameter is an option with its help
    metric: Annotated[str, typer.Argument(help="Metric, or a judge of your own by --rubric FILE.")],
    *,
    labels: Annotated[str, typer.Option(help="File of rows with a human label each.")],
    judge: Annotated[str, typer.Option(help="'offline' (its pass mark only) or 'openai:MODEL'.")],
    reflector: Annotated[
        str | None,
        typer.Option(help="Model that proposes edits [default: none, only steps without calls]."),
    ] = None,
    aim: Annotated[str, typer.Option(help=_AIM)] = "kappa",
    engine: Annotated[str, typer.Option(help="own, gepa, dspy or textgrad.")] = "own",
    split: Annotated[
        str, typer.Option(help="Shares of train, validation and sealed rows.")
    ] = "40/30/30",
    split_by: Annotated[
        str | None, typer.Option(help="Column that says train, validation or sealed instead.")
    ] = None,
    label: LabelOption = "label",
    cut: CutOption = None,
    cluster: ClusterOption = None,
    where: WhereOption = None,
    reflector_base_url: Annotated[
        str | None, typer.Option(help="Address of the reflector [default: the judge's].")
    ] = None,
    reflector_api_key_env: Annotated[
        str | None, typer.Option(help="Variable with the reflector's key [default: the judge's].")
    ] = None,
    reflector_price: Annotated[
        str | None, typer.Option(help="IN,OUT in US dollars per million tokens.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where a certified rubric is written [default: ID-N.md].")
    ] = None,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Say what the labels can certify and cost, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    seed: SeedOption = 0,
    judging: JudgedRowOptions,
    html: HtmlOption = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Improve a judge's rubric, and change it only where the gain is certified."""
    from ragassay.core import NothingToDo
    from ragassay.report import check_output_file
    from ragassay.report.blocks_html import write_blocks_html
    from ragassay.tuning.door import optimise as run
    from ragassay.tuning.outcome_json import optimisation_json
    from ragassay.tuning.reports import optimisation_report, plan_lines

    check_output_file(html, labels, store_file(store), *judging["rubrics"])
    check_output_file(out, labels, store_file(store), *judging["rubrics"])
    shown = _Progress()

    def confirm(ready: Prepared) -> bool:
        lines = plan_lines(ready)
        # The plan is the output of --forecast, and a message of everything else.
        if forecast:
            print_lines(*lines)
            return False
        for line in lines:
            note(line)
        return yes or _confirmed()

    try:
        result = run(
            metric,
            labels,
            judge=judge,
            reflector=reflector,
            aim=aim,
            engine=engine,
            shares=_shares(split),
            split_by=split_by,
            cut=cut,
            label=label,
            cluster=cluster,
            where=where or [],
            reflector_base_url=reflector_base_url,
            reflector_api_key_env=reflector_api_key_env,
            reflector_price=reflector_price,
            out=out,
            seed=seed,
            store=store,
            confirm=confirm,
            watch=shown,
            **judging,
        )
    except NothingToDo as declined:
        if forecast and declined.code == "E0707":
            return
        raise
    if json_:
        print_json({"schema": 1, "kind": "optimisation", **optimisation_json(result)})
    else:
        print_blocks(optimisation_report(result))
    if html is not None:
        title = f"Optimisation of {result.metric}"
        write_blocks_html(title, optimisation_report(result, details=True), html)
        note(f"wrote {html}")


def _confirmed() -> bool:
    """Whether a person at the terminal says yes. Raises SetupError E0707 where there is none."""
    if not sys.stdin.isatty():
        raise SetupError(
            "E0707",
            "Nobody is there to confirm the plan.",
            fix="read it above, and give --yes",
        )
    return typer.confirm("Start?", err=True)


def _shares(text: str) -> tuple[float, ...]:
    """Shares of "40/30/30". Raises SetupError E0101 for anything else."""
    try:
        numbers = [float(part) for part in text.split("/")]
    except ValueError:
        numbers = []
    total = sum(numbers)
    if len(numbers) != 3 or total <= 0:
        raise SetupError(
            "E0101",
            "These are no shares of train, validation and sealed rows.",
            where="--split",
            why=text,
            fix="for example --split 40/30/30",
        )
    return tuple(number / total for number in numbers)


class _Progress:
    """Prints a line for each phase, and one now and then while it lasts."""

    _EVERY = 100
    _SOONEST = 20  # calls after which a rate is known

    def __init__(self) -> None:
        self._phase, self._calls = "", 0
        self._first: tuple[float, int] | None = None

    def __call__(self, told: Progress) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = (now, told.calls)
        if told.phase == self._phase and told.calls - self._calls < self._EVERY:
            return
        self._phase, self._calls = told.phase, told.calls
        words = f"{told.phase}: {told.calls:,} of at most {told.most_calls:,} calls"
        if told.cost:
            words += f", ${told.cost:.2f}"
        if told.best is not None:
            words += f", best so far {told.best:.3f}"
        note(words + self._left(told, now))

    def _left(self, told: Progress, now: float) -> str:
        """How long it takes at most at the pace so far; "" before there is one."""
        assert self._first is not None
        from ragassay.report.wording import seconds as time_words

        started, calls = self._first
        made = told.calls - calls
        if made < self._SOONEST:
            return ""
        seconds = (now - started) / made * (told.most_calls - told.calls)
        return f", at most {time_words(seconds)} to go"
