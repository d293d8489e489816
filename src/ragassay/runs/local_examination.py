"""What `ragassay doctor` finds out of a local model: its task, its files, and how it judges a known
example. A label mapping that is the wrong way round shows there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ragassay.core import Ask, Call, CallError, CallFailed, Judgment, Reply, Request
from ragassay.judges import LocalJudge, RubricRegistry, composition
from ragassay.judges.llm import known_example
from ragassay.models.local import LocalModel
from ragassay.models.local.folder import CONFIG, read_json
from ragassay.models.local.labels import label_names
from ragassay.models.local.parts import Parts
from ragassay.runs.event_loops import block_on

_QUESTION = "When is the Harbour Museum open?"
_RIGHT = "The Harbour Museum opens at nine in the morning and closes at five in the afternoon."
_WRONG = "Two bronze horses were sold to a collector from Toronto."


@dataclass(frozen=True, slots=True)
class LocalReport:
    """What a local model is and does. yes: what stands for a yes in its outputs. right: of `asked`
    verdicts on the known example; problem: why it cannot judge, "" where it can. seconds: of the
    example, the loading of the weights included.
    """

    uri: str
    task: str
    kind: str
    yes: str
    weights: str
    most_tokens: int
    cut: float
    right: int
    asked: int
    seconds: float
    problem: str

    def to_json(self) -> dict[str, object]:
        """The report as JSON."""
        return asdict(self)


def local_uris(judge: str) -> list[str]:
    """The local models that a judge's URI names."""
    composed = composition(judge)
    members = (judge.strip(),) if composed is None else composed.members
    return [member for member in members if member.lower().startswith("local:")]


def examine_local(uri: str, *, no_network: bool) -> LocalReport:
    """Load a local model and ask it about the known example. Raises as `LocalModel.parts`, and
    EnvironmentFailure E0413 for weights that cannot be loaded.
    """
    model = LocalModel(uri.partition(":")[2].strip(), no_network=no_network)
    parts = model.parts
    started = time.perf_counter()
    questions = _questions(parts.meaning.task)
    requests = tuple(request for request, _ in questions)
    judgments = block_on(lambda: _judgments(model, requests))
    seconds = time.perf_counter() - started
    expected = {request.key: passes for request, passes in questions}
    outcome = known_example.outcome_of(judgments, expected)
    problem = outcome.problem if not outcome.judged else ""
    if outcome.judged and outcome.right * 2 <= outcome.judged:
        problem = (
            f"{outcome.right} of its {outcome.judged} verdicts are right, not more than by chance:"
            " see which label means yes (the setting positive), or take another model"
        )
    return LocalReport(
        model.uri,
        parts.meaning.task,
        parts.meaning.kind,
        name_of_yes(parts),
        str(parts.weights.files[0]),
        parts.reading.most_tokens,
        parts.cut,
        outcome.right,
        outcome.asked,
        seconds,
        problem,
    )


def report_lines(report: LocalReport) -> list[str]:
    """The report for people."""
    verdict = "judges" if not report.problem else "does not judge"
    lines = [
        f"{report.uri} {verdict} the known example: {report.right} of {report.asked} verdicts right"
    ]
    if report.problem:
        lines.append(f"  why: {report.problem}")
    return [
        *lines,
        f"  {'task':<17} {report.task}, by a classifier of a {report.kind.replace('_', ' ')}",
        f"  {'yes is':<17} {report.yes}, from a probability of {report.cut:g}",
        f"  {'weights':<17} {report.weights}",
        f"  {'reads':<17} {report.most_tokens:,} tokens at once",
        f"  {'took':<17} {report.seconds:.1f} s; nothing left this machine",
    ]


def name_of_yes(parts: Parts) -> str:
    """What stands for a yes in the model's outputs."""
    meaning = parts.meaning
    if meaning.kind == "seq2seq":
        return f"token {meaning.positive} against {meaning.negative}"
    if meaning.outputs == 1:
        return "its one output"
    labels = label_names(read_json(parts.folder / CONFIG), str(parts.folder))
    return f"{labels[meaning.positive]} of {', '.join(labels)}"


def _questions(task: str) -> list[tuple[Request, bool]]:
    """(Request, whether it passes) of the example."""
    if task == "support":
        expected = known_example.expected()
        return [(request, expected[request.key]) for request in known_example.requests()]
    questions: list[tuple[Request, bool]] = []
    for text in (_RIGHT, _WRONG):
        if task == "relevance":
            request = Request("context_relevance", {"question": _QUESTION, "context": text})
        else:
            request = Request("answer_relevance", {"question": _QUESTION, "response": text})
        questions.append((request, text == _RIGHT))
    return questions


async def _judgments(model: LocalModel, requests: tuple[Request, ...]) -> tuple[Judgment, ...]:
    """The model's Judgments, without a run."""
    parts = model.parts
    registry = RubricRegistry.default()
    judge = LocalJudge(model.uri, parts.version, parts.meaning.task, registry, parts.cut)
    flow = judge.answer(requests)
    replies: tuple[Reply, ...] = ()
    try:
        step = next(flow)
        while True:
            if isinstance(step, Ask):
                replies = await _replies(model, step.calls)
            step = flow.send(replies)
    except StopIteration as end:
        judgments: tuple[Judgment, ...] = end.value
        return judgments
    finally:
        await model.close()


async def _replies(model: LocalModel, calls: Sequence[Call]) -> tuple[Reply, ...]:
    replies: list[Reply] = []
    for call in calls:
        try:
            replies.append(await model.call(call))
        except CallError as error:
            replies.append(CallFailed(error.kind, error.message))
    return tuple(replies)
