"""Context entity recall: the share of the things named in the reference that the contexts name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Counts, Judgment, Part, Request, Role, Sample, Score, Stage, Status
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.catalogue.correctness import right_statements
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.graph.claims import MAX_CLAIMS
from ragassay.metrics.graph.statements import NEEDS_TRUTH, truth_of
from ragassay.metrics.lexical import MAX_CHARS
from ragassay.metrics.parameters import check_choice
from ragassay.metrics.reduction import blank
from ragassay.scoring import entities, entities_present


@dataclass(frozen=True, slots=True)
class ContextEntityRecall(MetricBase):
    """Entities of the truth that are found in the contexts. entities: "rules" (capital letters,
    figures, dates; no call) or "llm" (the judge's model lists those of the truth).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="context_entity_recall",
        title="Share of the entities of the reference that the contexts name.",
        formula=(
            "entities of the reference (else of the expected facts) that a chunk names / entities"
            " of the reference; names, dates, amounts, titles; compared as whole words, without"
            " case and accents. No verdict."
        ),
        needs=("contexts", NEEDS_TRUTH),
        area=Area.RETRIEVAL,
        rubrics=("entities",),
        source="Ragas, context entities recall",
        edge_cases=(
            "the reference names no entity, states nothing or declines to answer: not applicable",
            (
                "an entity that the judge's model lists and that is not in the reference does not"
                " count"
            ),
            "nothing was retrieved: 0, flag nothing_retrieved",
            (
                "an entity that is written another way in the chunk (a surname alone, 5 million for"
                " 5,000,000) is not found"
            ),
        ),
        calls="none; 1 with entities=llm",
        role=Role(
            stage=Stage.RETRIEVAL,
            place=190,
            cause="insufficient_context",
            needs_answer=True,
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "ContextEntitiesRecall",
                "there the chunks' entities are listed by a model, too, and "
                "compared letter by letter; no entity in the reference is 0",
            ),
        ),
    )
    entities: str = "rules"

    def __post_init__(self) -> None:
        check_choice("context_entity_recall", "entities", self.entities, ("rules", "llm"))

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubric that these parameters ask, if any."""
        return ("entities",) if self.entities == "llm" else ()

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        statements = right_statements(self, sample)
        if isinstance(statements, Score):
            return replace(statements, verdict=None, pass_mark=None)
        truth = truth_of(sample)
        if len(truth) > MAX_CHARS:
            reason = (
                f"the reference has more than {MAX_CHARS:,} characters, the most that are compared"
            )
            return Score(metric=str(self), status=Status.FAILED, reason=reason)
        counts = Counts()
        if self.entities == "llm":
            (judgment,) = yield (Request("entities", {"text": truth}),)
            names = self._listed(judgment, truth)
            counts = Counts(asked=1, judged=1)
        else:
            names = entities(truth)
        if isinstance(names, Score):
            return names
        if len(names) > MAX_CLAIMS:
            return self._unmeasured(
                Status.FAILED,
                f"the reference names more than {MAX_CLAIMS:,} entities, the most that are looked"
                " for",
            )
        return self._share(names, [chunk.text for chunk in sample.contexts or ()], counts)

    def _listed(self, judgment: Judgment, truth: str) -> tuple[str, ...] | Score:
        """The entities that a model listed and that stand in the truth; the Score without them."""
        if not judgment.judged:
            status = judgment.status
            if status is Status.NOT_APPLICABLE:
                status = Status.FAILED
            return self._unmeasured(status, judgment.reason or "no list of entities arrived")
        texts = [text.strip() for text in judgment.texts[: 2 * MAX_CLAIMS] if not blank(text)]
        listed = tuple(dict.fromkeys(texts))
        # A model may list what it knows beside what stands there.
        in_truth = entities_present(listed, [truth])
        names = tuple(text for text, present in zip(listed, in_truth, strict=True) if present)
        if listed and not names:
            return self._unmeasured(
                Status.UNPARSED, "nothing that the judge listed stands in the reference"
            )
        return names

    def _unmeasured(self, status: Status, reason: str) -> Score:
        return Score(metric=str(self), status=status, counts=Counts.of([status]), reason=reason)

    def _share(self, names: tuple[str, ...], texts: list[str], counts: Counts) -> Score:
        """The Score of the entities that the chunks name."""
        parts = []
        for name, in_contexts in zip(names, entities_present(names, texts), strict=True):
            if in_contexts is not None:
                value = float(in_contexts)
                parts.append(
                    Part("entity", Status.JUDGED, text=name, value=value, passed=in_contexts)
                )
        if not parts:
            return self.not_applicable("the reference names no entity")
        missing = ", ".join(part.text for part in parts if not part.passed)
        retrieved = any(not blank(text) for text in texts)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=sum(bool(part.passed) for part in parts) / len(parts),
            counts=counts,
            parts=tuple(parts),
            flags=() if retrieved else ("nothing_retrieved",),
            rationale=(
                f"not in the contexts: {missing}" if missing else "the contexts name them all"
            ),
        )
