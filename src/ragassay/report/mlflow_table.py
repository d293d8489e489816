"""The rows of a run as MLflow's Agent Evaluation names them: a row a request, yes or no a judge.

A judge of the response is `response/llm_judged/{name}/rating`, `/rationale` and `/error_message`;
one of each retrieved chunk is `retrieval/llm_judged/{name}/ratings`, `/rationales`,
`/error_messages` and `/precision`. Judges of the user's own stand under their own names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.core import Manifest, RowResult, Sample, Score, SetupError, Status, Verdict
from ragassay.report.proof import proof
from ragassay.report.text import unicode
from ragassay.report.wording import STATUS_WORDS, cause_words, declared_as, with_reason

if TYPE_CHECKING:
    import pandas as pd

    from ragassay.store import Store

NAMES: Mapping[str, str] = {
    "answer_relevance": "relevance_to_query",
    "guidelines": "guideline_adherence",
}
"""Metric -> the judge's name there, where it is another one."""

_RETRIEVAL = "retrieval"
_RESPONSE = "response"
_MEASURED: Mapping[str, str] = {"document_recall": "retrieval/ground_truth/document_recall"}
_REQUEST = (
    "request_id",
    "request",
    "response",
    "expected_response",
    "retrieved_context",
    "expected_retrieved_context",
)
_AGENT = (
    "agent/total_token_count",
    "agent/total_input_token_count",
    "agent/total_output_token_count",
    "agent/input_token_count",
    "agent/output_token_count",
    "agent/latency_seconds",
)
_NUMBERS = frozenset({*_AGENT, *_MEASURED.values()})
_OVERALL = ("response/overall_assessment/rating", "response/overall_assessment/rationale")


@dataclass(frozen=True, slots=True)
class JudgeName:
    """Where a metric stands. stem: "response/llm_judged/groundedness"; by_chunk: whether each chunk
    has a rating of its own.
    """

    metric: str
    stem: str
    by_chunk: bool


def judge_names(metrics: Sequence[str], chunked: Iterable[str] = ()) -> dict[str, JudgeName]:
    """Metric -> its place, for all of these, which a judge rated and which have a verdict.

    chunked: those of the user's own that rate chunks. A metric with parameters keeps the plain name
    where it is the only one of that name in the run; of several, each has its parameters in it.
    """
    same = Counter(metric.partition("(")[0] for metric in metrics)
    by_chunk = set(chunked)
    found = {}
    for metric in metrics:
        base = metric.partition("(")[0]
        name = NAMES.get(base, base)
        if same[base] > 1:
            name += metric[len(base) :]
        side, chunks = _side(metric, base, by_chunk)
        found[metric] = JudgeName(metric, f"{side}/llm_judged/{name}", chunks)
    return found


def _side(metric: str, base: str, chunked: set[str]) -> tuple[str, bool]:
    declared = declared_as(metric)
    if base == "chunk_relevance" or (declared is None and metric in chunked):
        return _RETRIEVAL, True
    # Of the catalogue, what is asked of the contexts alone.
    if declared is not None and "response" not in declared.needs and "contexts" in declared.needs:
        return _RETRIEVAL, False
    return _RESPONSE, False


def judged_metrics(rows: Iterable[RowResult], metrics: Sequence[str]) -> dict[str, JudgeName]:
    """The places of the metrics that a judge rated in these rows."""
    judged: dict[str, None] = {}
    chunked: set[str] = set()
    for row in rows:
        for score in row.scores:
            if score.counts.asked and score.verdict is not None:
                judged[score.metric] = None
            if score.parts and all(part.kind == "chunk" for part in score.parts):
                chunked.add(score.metric)
    return judge_names([metric for metric in metrics if metric in judged], chunked)


@dataclass(frozen=True, slots=True)
class Table:
    """columns by name, each row a tuple in their order."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def mlflow_table(store: Store, run_id: str) -> Table:
    """All rows of the run. Cells are texts, numbers, None, or lists of them."""
    manifest = store.run(run_id).manifest
    names = judged_metrics(store.rows(run_id), manifest.metrics)
    columns = [*_REQUEST, *_OVERALL]
    for name in names.values():
        columns += _columns(name)
    columns += [_MEASURED[metric] for metric in manifest.metrics if metric in _MEASURED]
    columns += _AGENT
    rows = []
    for row in store.rows(run_id):
        cells = _cells(row, names, manifest)
        rows.append(tuple(cells.get(column) for column in columns))
    return Table(tuple(columns), tuple(rows))


def _columns(name: JudgeName) -> tuple[str, ...]:
    kinds: tuple[str, ...] = ("rating", "rationale", "error_message")
    if name.by_chunk:
        kinds = ("ratings", "rationales", "error_messages", "precision")
    return tuple(f"{name.stem}/{kind}" for kind in kinds)


def _cells(row: RowResult, names: Mapping[str, JudgeName], manifest: Manifest) -> dict[str, Any]:
    cells: dict[str, Any] = {"request_id": unicode(row.id)}
    if row.sample is not None:
        cells |= _request(row.sample)
        cells |= _agent(row.sample)
    if row.bad is not None:
        cells[_OVERALL[1]] = unicode(f"{row.bad.code}: {row.bad.what}")
    cells |= _overall(row)
    for score in row.scores:
        if score.metric in names:
            cells |= _of_judge(score, names[score.metric], row.sample)
        elif score.metric in _MEASURED:
            cells[_MEASURED[score.metric]] = score.value
    return cells


def _request(sample: Sample) -> dict[str, Any]:
    contexts = None
    if sample.contexts is not None:
        contexts = []
        for context in sample.contexts:
            document = {"content": unicode(context.text)}
            if context.id is not None:
                document["doc_uri"] = unicode(context.id)
            contexts.append(document)
    texts = {
        "request": sample.question,
        "response": sample.response,
        "expected_response": sample.reference,
    }
    cells: dict[str, Any] = {k: None if v is None else unicode(v) for k, v in texts.items()}
    expected = None
    if sample.relevant_ids is not None:
        expected = [
            {"doc_uri": unicode(name)} for name, grade in sample.relevant_ids.items() if grade > 0
        ]
    return cells | {"retrieved_context": contexts, "expected_retrieved_context": expected}


def _agent(sample: Sample) -> dict[str, Any]:
    usage = sample.usage
    if usage is None:
        return {}
    total = usage.total_tokens
    if total is None and usage.input_tokens is not None and usage.output_tokens is not None:
        total = usage.input_tokens + usage.output_tokens
    values = (
        total,
        usage.input_tokens,
        usage.output_tokens,
        usage.input_tokens,
        usage.output_tokens,
        usage.latency,
    )
    return dict(zip(_AGENT, values, strict=True))


def _overall(row: RowResult) -> dict[str, Any]:
    cause = row.diagnosis.cause
    rationale = "" if cause is None else f"{cause_words(cause)}. Try: {cause.remedy}"
    rating = _rating(row.diagnosis.verdict)
    if rating is None:
        return {}
    return dict(zip(_OVERALL, (rating, unicode(rationale)), strict=True))


def _rating(verdict: Verdict | None) -> str | None:
    if verdict is Verdict.PASS:
        return "yes"
    return "no" if verdict is Verdict.FAIL else None


def _of_judge(score: Score, name: JudgeName, sample: Sample | None) -> dict[str, Any]:
    if score.status is Status.NOT_APPLICABLE:
        return {}
    if name.by_chunk:
        return _of_chunks(score, name)
    error = None
    if score.verdict is Verdict.UNDECIDED:
        error = unicode(with_reason(score.status, score.reason))
    shown = proof(score, sample)
    rationale = score.rationale or shown.rationale
    if score.verdict is Verdict.FAIL and shown.quote:
        rationale = f"{shown.what}: “{shown.quote}” {shown.rationale}"
    values = (_rating(score.verdict), unicode(rationale), error)
    return dict(zip(_columns(name), values, strict=True))


def _of_chunks(score: Score, name: JudgeName) -> dict[str, Any]:
    ratings: list[str | None] = []
    rationales: list[str] = []
    errors: list[str | None] = []
    for part in score.parts:
        rated = None
        if part.passed is not None:
            rated = "yes" if part.passed else "no"
        ratings.append(rated)
        rationales.append(unicode(part.rationale))
        missing = unicode(part.reason or STATUS_WORDS[part.status])
        errors.append(None if rated is not None else missing)
    judged = [rating for rating in ratings if rating is not None]
    precision = judged.count("yes") / len(judged) if judged else None
    return dict(zip(_columns(name), (ratings, rationales, errors, precision), strict=True))


def mlflow_frame(store: Store, run_id: str) -> pd.DataFrame:
    """The table as a pandas DataFrame. Raises SetupError E0105 without pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise SetupError(
            "E0105", "A DataFrame needs the library pandas.", fix="pip install pandas"
        ) from error
    table = mlflow_table(store, run_id)
    # As objects: pandas would make NaN, which is a number, of a rating that is absent.
    frame = pd.DataFrame(list(table.rows), columns=list(table.columns), dtype=object)
    numbers = [name for name in table.columns if name in _NUMBERS or name.endswith("/precision")]
    return frame.astype(dict.fromkeys(numbers, float))
