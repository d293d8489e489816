"""Context entity recall: the share of the things named in the reference that the contexts name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Counts, Part, Request, Role, Sample, Score, Stage, Status
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.catalogue.correctness import right_statements
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.graph.claims import MAX_CLAIMS
from ragassay.metrics.graph.statements import NEEDS_TRUTH, truth_of
from ragassay.metrics.lexical import MAX_CHARS
from ragassay.metrics.parameters import check_choice
from ragassay.metrics.reduction import blank
from ragassay.scoring import entities, found_entities


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
        edges=(
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
        truth, texts = truth_of(sample), [chunk.text for chunk in sample.contexts or ()]
        if len(truth) > MAX_CHARS:
            reason = (
                f"the reference has more than {MAX_CHARS:,} characters, the most that are compared"
            )
            return Score(metric=str(self), status=Status.FAILED, reason=reason)
        counts = Counts()
        if self.entities == "llm":
            (listed,) = yield (Request("entities", {"text": truth}),)
            if not listed.judged:
                status = Status.FAILED if listed.status is Status.NOT_APPLICABLE else listed.status
                return Score(
                    metric=str(self),
                    status=status,
                    reason=listed.reason or "no list of entities arrived",
                    counts=Counts.of([status]),
                )
            counts = Counts(asked=1, judged=1)
            written = dict.fromkeys(
                text.strip() for text in listed.texts[: 2 * MAX_CLAIMS] if not blank(text)
            )
            named = tuple(
                text
                for text, is_there in zip(
                    written, found_entities(tuple(written), [truth]), strict=True
                )
                if is_there
            )
            if written and not named:
                return Score(
                    metric=str(self),
                    status=Status.UNPARSED,
                    counts=Counts.of([Status.UNPARSED]),
                    reason="nothing that the judge listed stands in the reference",
                )
        else:
            named = entities(truth)
        if len(named) > MAX_CLAIMS:
            return Score(
                metric=str(self),
                status=Status.FAILED,
                counts=Counts.of([Status.FAILED]),
                reason=(
                    f"the reference names more than {MAX_CLAIMS:,} entities, the most that are"
                    " looked for"
                ),
            )
        found = found_entities(named, texts)
        parts = tuple(
            Part("entity", Status.JUDGED, text=name, value=float(is_there), passed=is_there)
            for name, is_there in zip(named, found, strict=True)
            if is_there is not None
        )
        if not parts:
            return self.not_applicable("the reference names no entity")
        value = sum(bool(part.passed) for part in parts) / len(parts)
        missing = ", ".join(part.text for part in parts if not part.passed)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=value,
            counts=counts,
            parts=parts,
            flags=() if any(not blank(text) for text in texts) else ("nothing_retrieved",),
            rationale=(
                f"not in the contexts: {missing}" if missing else "the contexts name them all"
            ),
        )
