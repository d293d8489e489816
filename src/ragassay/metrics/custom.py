"""A user's own rubric file as a metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ragassay.core import Judgment, Part, Request, Sample, Score, SetupError, Status, Verdict
from ragassay.judges import Rubric
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.catalogue.guidelines import guidelines_score
from ragassay.metrics.declaration import Declaration
from ragassay.metrics.rating import score_of_rating
from ragassay.metrics.reduction import (
    EMPTY,
    GRADE_MARK,
    all_lost,
    at_least_one,
    blank,
    counts_of,
    judged,
    lost,
    part_by_rule,
    part_of,
    partial,
)
from ragassay.metrics.registry import catalogue
from ragassay.scoring import decide, supported_share

_FIELDS = ("question", "response", "contexts", "reference", "expected_facts", "guidelines")


# No slots: the declaration is written from the rubric, so it is the instance's and not the class's.
@dataclass(frozen=True)
class CustomMetric(MetricBase):
    """A judge of the user's own, as a metric under the rubric's id. Made by `custom_metric`."""

    declaration: Declaration  # type: ignore[misc]
    rubric: Rubric = field(hash=False)

    def __str__(self) -> str:
        return self.declaration.name

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The one rubric that it asks."""
        return (self.rubric.id,)

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self._absent(sample)
        if absent is not None:
            return absent
        shared = {name: _input(sample, name) for name in self.rubric.inputs if name in _FIELDS}
        if self.rubric.level == "retrieval":
            texts = [chunk.text for chunk in sample.contexts or ()]
            answers = yield tuple(
                Request(self.rubric.id, {**shared, "context": text})
                for text in texts
                if not blank(text)
            )
            return self._over_chunks(texts, answers)
        if self.rubric.guidelines:
            answers = yield tuple(
                Request(self.rubric.id, {**shared, "guideline": text})
                for text in self.rubric.guidelines
            )
            return guidelines_score(str(self), self.rubric.guidelines, answers)
        (answer,) = yield (Request(self.rubric.id, shared),)
        if "response" in self.rubric.inputs:
            part = part_of(answer, "statement", start=0, end=len(sample.response or ""))
        else:
            part = part_of(answer, "statement", text=sample.question or "")
        scale = self.rubric.scale
        # A part's value lies on [0, 1], and so must the mark that it is shown beside.
        mark = None if scale is None or scale.pass_mark is None else scale.value(scale.pass_mark)
        return score_of_rating(str(self), part, pass_mark=mark)

    def _absent(self, sample: Sample) -> Score | None:
        """The Score of a row that lacks an input, or holds nothing in it."""
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if self.rubric.level == "retrieval" and not sample.contexts:
            score = self.not_applicable("nothing was retrieved")
            # "At least one passes" is false of no chunk; "all pass" says nothing about none.
            if self.rubric.row == "any":
                return replace(score, verdict=Verdict.FAIL, flags=("nothing_retrieved",))
            return score
        for name in self.rubric.inputs:
            if name not in _FIELDS or not all(blank(text) for text in _texts(sample, name)):
                continue
            if name == "guidelines":
                return self.not_applicable("the row has no guidelines")
            if name == "contexts":
                return self.not_applicable("nothing was retrieved")
            verb = "are" if name == "expected_facts" else "is"
            score = self.not_applicable(f"the {name} {verb} empty")
            if name == "response":
                return replace(score, flags=(EMPTY,))
            return score
        return None

    def _over_chunks(self, texts: Iterable[str], answers: Iterable[Judgment]) -> Score:
        # Chunks without text were not asked about, so the answers run behind the chunks.
        remaining = iter(answers)  # taken from by `_chunk`
        parts = tuple(_chunk(text, i, remaining) for i, text in enumerate(texts))
        passed = [bool(part.passed) for part in judged(parts)]
        if not passed:
            return all_lost(str(self), parts, pass_mark=None)
        good = sum(passed)
        unknown = len(lost(parts))
        if self.rubric.row == "any":
            verdict = at_least_one(good, unknown)
        else:
            verdict = decide(good, unknown, len(parts), 1.0)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=supported_share(passed),
            verdict=verdict,
            counts=counts_of(parts),
            parts=parts,
            flags=partial(parts),
            rationale=f"{good} of {len(passed)} judged chunks pass; {self.rubric.row} of them must",
        )


def custom_metric(rubric: Rubric) -> CustomMetric:
    """The metric of a custom judge's rubric.

    level "answer": one rating of the row, its value on the rubric's scale, its verdict by the
    rubric's pass mark; with a list of guidelines the share that is kept, all of which must be.
    level "retrieval": passing / judged chunks; the row passes when any or all of them do
    (`rubric.row`). Raises SetupError E0204 for an id that a metric of the catalogue has.
    """
    name = rubric.id
    if name in catalogue():
        raise SetupError(
            "E0204",
            f"A rubric of yours is called {name}, like a metric of RagAssay.",
            where=f"rubric {name}, id",
            why="scores of the two could not be told apart",
            fix=f"give it another id, such as my_{name}",
        )
    chunks = rubric.level == "retrieval"
    formula = "the rating's value on the rubric's scale; the row passes when the rating does."
    if chunks:
        formula = (
            f"passing chunks / judged chunks; the row passes when {rubric.row} of its chunks does."
        )
    elif rubric.guidelines:
        formula = "guidelines kept / judged guidelines; the row passes when all are kept."
    # A rubric that judges one chunk, or one guideline, at a time takes it from the row's list.
    needs: dict[str, None] = {}
    for name_of_input in rubric.inputs:
        if name_of_input == "context":
            needs["contexts"] = None
        elif name_of_input != "guideline":
            needs[name_of_input] = None
    declaration = Declaration(
        name=name,
        title=" ".join(rubric.purpose.split()),
        formula=formula,
        needs=tuple(needs),
        level="chunk" if chunks else "row",
        rubrics=(name,),
        source=rubric.source or "your rubric file",
        edge_cases=("an input is empty: not applicable",),
        calls=f"1 for up to {rubric.batch} chunks" if chunks else "1",
        mark_words=_mark_words(rubric) if not chunks and not rubric.guidelines else (),
    )
    return CustomMetric(declaration, rubric)


def _mark_words(rubric: Rubric) -> tuple[tuple[float, str], ...]:
    """The pass mark in the words of the scale: "yes", "fair or better"; () where its ratings are
    numbers, or categories without an order.
    """
    scale = rubric.scale
    if scale is None or not isinstance(scale.pass_mark, str):
        return ()
    words = scale.pass_mark
    if words != scale.ratings[-1]:
        words += " or better"
    return ((scale.value(scale.pass_mark), words),)


def _texts(sample: Sample, name: str) -> tuple[str, ...]:
    value = getattr(sample, name) or ()
    if name == "contexts":
        return tuple(chunk.text for chunk in sample.contexts or ())
    return (value,) if isinstance(value, str) else tuple(value)


def _input(sample: Sample, name: str) -> str | tuple[str, ...]:
    texts = _texts(sample, name)
    return texts if name in ("contexts", "expected_facts", "guidelines") else "".join(texts)


def _chunk(text: str, place: int, answers: Iterable[Judgment]) -> Part:
    """The chunk as a part: its answer, the next one there is; a chunk without text was not asked
    and does not pass.
    """
    if blank(text):
        part = part_by_rule("chunk", context=place, rationale="The chunk holds no text.")
        return replace(part, passed=False)
    return part_of(next(iter(answers)), "chunk", mark=GRADE_MARK, context=place)
