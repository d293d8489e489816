"""The commands that exchange rows, rankings and results with other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragassay.cli.output import display, finish, note, store_file
from ragassay.cli.parameters import (
    HtmlOption,
    JsonOption,
    RowOptions,
    RunArgument,
    StoreOption,
    grouped,
)

# The metrics that compare a ranking with relevance judgements and need nothing else.
RANKING = "document_recall,precision_at_k,recall_at_k,hit_rate,mrr,map,ndcg_at_k"


@grouped
def convert(
    rows: Annotated[str, typer.Argument(help="File or folder of rows, in any shape that is read.")],
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help=(
                "ragassay, ragas, deepeval, mlflow, trulens, ragchecker, ares, phoenix, langsmith,"
                " inspect; "
                "qrels or run for TREC files."
            ),
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write; its ending says the format.")
    ],
    reading: RowOptions,
) -> None:
    """Write rows in the shape of another tool, and say what that shape cannot hold."""
    from ragassay.datasets import open_rows, write_qrels, write_rows, write_run
    from ragassay.report import check_output_file

    check_output_file(output, rows)
    dataset = open_rows(rows, **reading)
    # How the columns are read, before the file is written: what is wrong shows here.
    for line in dataset.scan().lines:
        note(line)
    if to == "qrels":
        report = write_qrels(dataset, output)
    elif to == "run":
        report = write_run(dataset, output)
    else:
        report = write_rows(dataset, output, to)
    for line in report.lines:
        note(line)


def retrieval(
    run: Annotated[
        Path, typer.Option("--run", help="TREC run file: topic Q0 document rank score tag.")
    ],
    qrels: Annotated[Path, typer.Option("--qrels", help="TREC qrels, or BEIR's TSV.")],
    metrics: Annotated[
        str, typer.Option("--metrics", "-m", help="Ranking metrics, such as 'ndcg@10,map'.")
    ] = RANKING,
    gate: Annotated[
        list[str] | None, typer.Option(help="'map>=0.3'; exit 1 when not met. Repeatable.")
    ] = None,
    html: HtmlOption = None,
    name: Annotated[str, typer.Option(help="A name for the run.")] = "",
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure a ranking against relevance judgements, with the numbers of trec_eval -c: topics that
    are not in the run count as retrieving nothing; topics without a relevant document are left out.
    """
    from ragassay import api
    from ragassay.datasets import count_topics, read_qrels, read_run, retrieval_rows
    from ragassay.report import Detail, FinalSteps
    from ragassay.runs.plan import metric_names

    steps = FinalSteps.from_options(gate, None, html, None)
    names = metric_names(metrics, None, []) if gate else []
    steps.check(names, run, qrels, store_file(store))
    ranking = read_run(run)
    judgements = read_qrels(qrels)
    for line in count_topics(ranking, judgements).lines:
        note(line)
    with display(None) as watch:
        measured = api.evaluate(
            # A list, since a run reads its rows more than once.
            list(retrieval_rows(ranking, judgements)),
            metrics,
            name=name or run.name,
            store=store,
            watch=watch,
            tell=note,
        )
    with measured:
        finish(measured, steps, json_, Detail(metrics_table=True))


def mlflow(
    run: RunArgument = "last",
    tracking_uri: Annotated[
        str | None,
        typer.Option(help="MLflow's address [default: MLFLOW_TRACKING_URI, or MLflow's own]."),
    ] = None,
    experiment: Annotated[
        str, typer.Option(help="The MLflow experiment; made where there is none.")
    ] = "ragassay",
    into: Annotated[
        str | None, typer.Option(help="Id of an MLflow run to write into, instead of a new one.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write a run's figures and rows into an MLflow run (needs the extra 'mlflow')."""
    from ragassay import api

    with api.open_run(run, store=store) as opened:
        written = opened.to_mlflow(tracking_uri=tracking_uri, experiment=experiment, into=into)
        note(f"wrote run {opened.id} into the MLflow run {written}")
