"""The other side of a metric's flow, played by hand: a judge for every rubric, and the parameters
worth trying.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import fields

from ragassay.core import Evidence, Judgment, Request, Sample, Score, Status
from ragassay.judges import Rubric, RubricRegistry
from ragassay.metrics import Metric, MetricBase, catalogue, parse

Answer = Callable[[Request], Judgment]
RUBRICS = RubricRegistry.default()
LOSSES = (Status.UNPARSED, Status.REFUSED, Status.FAILED, Status.OVER_BUDGET, Status.ABSTAINED)

PARAMETERS: dict[str, tuple[object, ...]] = {
    "pass_mark": (0.0, 0.5, 1.0),
    "k": (1, 3, 10**6),
    "claims": ("sentences", "filtered", "llm"),
    "scale": (3, 5),
    "rubric": ("context_relevance", "chunk_relevance"),
    "form": ("binary", "three"),
    "entities": ("rules", "llm"),
    "n": (1, 3, 20),
    "f1_weight": (0.0, 0.3, 1.0),
    "beta": (0.5, 1.0, 2.0),
    "similarity_weight": (0.0, 0.25, 1.0),
    "part": ("f", "precision", "recall"),
    "context_relevance_dual.form": ("reasoned", "light"),
    "response_groundedness_dual.form": ("reasoned", "light"),
    "answer_accuracy_dual.form": ("reasoned", "light"),
    "faithfulness.mode": ("ratio", "binary", "weighted"),
    "noise_sensitivity.mode": ("irrelevant", "relevant"),
    "hallucination.against": ("both", "contexts"),
    "context_precision.against": ("reference", "question", "response"),
    "context_sufficiency.against": ("reference", "question"),
}
"""Values of every parameter of the catalogue, by "metric.parameter" where metrics differ: a new one
belongs in here.
"""


def values_of(kind: type[MetricBase], parameter: str) -> tuple[object, ...]:
    """The values to try; KeyError for a parameter that nobody has listed."""
    own = f"{kind.declaration.name}.{parameter}"
    return PARAMETERS[own] if own in PARAMETERS else PARAMETERS[parameter]


def variants() -> Iterator[str]:
    """The printed names of the whole catalogue, and of each metric with each other value of one
    parameter.
    """
    for name, kind in catalogue().items():
        yield name
        for f in fields(kind):  # type: ignore[arg-type]
            for value in values_of(kind, f.name):
                if value != f.default and f.name != "pass_mark":
                    yield f"{name}({f.name}={value})"


def rubrics_of(metric: Metric) -> tuple[str, ...]:
    """The rubrics it says it may ask."""
    return tuple(getattr(metric, "rubrics", metric.declaration.rubrics))


def needs_of(metric: Metric) -> tuple[str, ...]:
    """The fields that it needs under its parameters."""
    edges = getattr(metric, "edges", None)
    return tuple(
        getattr(metric, "needs", edges.needs if edges is not None else metric.declaration.needs)
    )


def play(metric: str | Metric, sample: Sample, answer: Answer) -> tuple[Score, list[Request]]:
    """Drive the flow; the Score and everything it asked, in order."""
    flow = (parse(metric) if isinstance(metric, str) else metric).flow(sample)
    asked: list[Request] = []
    try:
        requests = next(flow)
        while True:
            asked += requests
            requests = flow.send(tuple(answer(request) for request in requests))
    except StopIteration as done:
        score: Score = done.value
        return score, asked


def never(request: Request) -> Judgment:
    raise AssertionError(f"nothing should be asked, but {request} is")


def gone(request: Request, status: Status = Status.UNPARSED, reason: str = "lost") -> Judgment:
    return Judgment(request.key, "judge", request.rubric, status, reason=reason)


def rated(request: Request, rating: int | str, *flags: str, **more: object) -> Judgment:
    """The Judgment of a rating on the rubric's own scale."""
    scale = RUBRICS.get(request.rubric).scale
    assert scale is not None
    values: dict[str, object] = {
        "value": scale.value(rating),
        "passes": scale.passes(rating),
        "rationale": "so",
    }
    return Judgment(
        request.key,
        "judge",
        request.rubric,
        Status.JUDGED,
        rating,
        flags=flags,
        **{**values, **more},  # type: ignore[arg-type]
    )


def near(request: Request, cosine: float) -> Judgment:
    return Judgment(request.key, "judge", "similarity", Status.JUDGED, value=cosine)


def wrote(request: Request, *texts: str, flags: tuple[str, ...] = ()) -> Judgment:
    return Judgment(request.key, "judge", request.rubric, Status.JUDGED, texts=texts, flags=flags)


def quoted(request: Request, *quotes: str) -> Judgment:
    text = request.text("context")
    spots = [(text.index(quote), quote) for quote in quotes]
    evidence = tuple(Evidence(0, at, at + len(quote), quote) for at, quote in spots)
    return Judgment(request.key, "judge", request.rubric, Status.JUDGED, evidence=evidence)


def at_random(seed: int, loss: float = 0.0) -> Answer:
    """A judge for every rubric that answers at random, the same Request always alike; a loss
    changes no other answer.
    """

    def answer(request: Request) -> Judgment:
        chance = random.Random(f"{seed} {request.key}")
        drop, status = chance.random(), chance.choice(LOSSES)
        if drop < loss:
            return gone(request, status)
        if request.rubric == "similarity":
            return near(request, chance.choice([0.0, 0.25, 1.0]))
        rubric = RUBRICS.get(request.rubric)
        flags = tuple(flag.name for flag in rubric.flags if chance.random() < 0.15)
        if rubric.writes == "ratings":
            return _rating(request, rubric, flags, chance)
        if rubric.writes == "quotes":
            return quoted(
                request,
                *(line for line in request.text("context").split("\n") if chance.random() < 0.5),
            )
        if rubric.id == "questions":
            return wrote(request, *("What?", "Which?", "Why?")[: chance.randint(1, 3)], flags=flags)
        source = request.text("response" if rubric.writes == "claims" else "text")
        return wrote(request, *(line for line in source.split("\n") if line.strip()))

    return answer


def _rating(
    request: Request, rubric: Rubric, flags: tuple[str, ...], chance: random.Random
) -> Judgment:
    assert rubric.scale is not None
    rating = chance.choice(rubric.scale.ratings)
    for flag in rubric.flags:
        if flag.name in flags and flag.end:
            rating = getattr(rubric.scale, flag.end)
    if rubric.id == "groundedness" and chance.random() < 0.5:
        rating = rubric.scale.highest
    sources: tuple[int, ...] | None = None
    if rubric.asks_sources:
        places = range(len(request.texts("contexts")))
        some = tuple(i for i in places if chance.random() < 0.5)
        sources = (some or None) if rubric.scale.passes(rating) else ()
    return rated(request, rating, *flags, sources=sources)
