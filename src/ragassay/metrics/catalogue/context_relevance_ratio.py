"""Context relevance ratio: the share of the retrieved sentences that help with the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Evidence, Judgment, Part, Role, Sample, Score, Stage, Status
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.catalogue.context_relevance import chunk_requests
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.graph.claims import sentence_spans
from ragassay.metrics.reduction import all_lost, blank, counts_of, judged, partial


@dataclass(frozen=True, slots=True)
class ContextRelevanceRatio(MetricBase):
    """Relevant sentences / sentences, over all chunks; a sentence is relevant when the judge quotes
    most of it.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="context_relevance_ratio",
        title="Share of the retrieved sentences that help with the question.",
        formula=(
            "relevant sentences / sentences, pooled over the judged chunks; relevant = more than"
            " half of its characters stand in quotes that the judge gives and that are found in the"
            " chunk. extra: relevant, sentences. No verdict: the right share depends on the size of"
            " the chunks."
        ),
        needs=("question", "contexts"),
        area=Area.RETRIEVAL,
        level="chunk",
        rubrics=("sentence_relevance",),
        source="Ragas, first version (Es et al. 2024, arXiv:2309.15217)",
        edge_cases=(
            (
                "a quote that is not in the chunk counts for nothing; where none of a chunk's"
                " quotes is, the verdict is asked once more, and then lost"
            ),
            "a chunk without text has no sentence and is not asked",
            "the question is empty, or nothing was retrieved: not applicable",
            "a chunk's verdict is lost: its sentences do not count, flagged partial",
        ),
        calls="1 for up to 8 chunks",
        role=Role(
            stage=Stage.RETRIEVAL,
            place=170,
            cause="context_diluted",
            cause_at_zero="retrieval_irrelevant",
            needs_answer=True,
        ),
        elsewhere=(
            Elsewhere(
                "Ragas 0.1",
                "context_relevancy",
                "there the number of sentences quoted, found in the chunk or not",
            ),
            Elsewhere(
                "DeepEval",
                "ContextualRelevancyMetric",
                "there statements drawn from the chunks by a model",
            ),
        ),
    )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if blank(sample.question):
            return self.not_applicable("the question is empty")
        if all(blank(chunk.text) for chunk in sample.contexts or ()):
            return self.not_applicable("nothing was retrieved")
        # Chunks without text were not asked about, so the answers run behind the chunks.
        answers = iter((yield chunk_requests(sample, "sentence_relevance")))
        parts, relevant, sentences = [], 0, 0
        for i, chunk in enumerate(sample.contexts or ()):
            if blank(chunk.text):
                parts.append(
                    Part(
                        "chunk", Status.NOT_APPLICABLE, context=i, reason="the chunk holds no text"
                    )
                )
                continue
            part, quoted, total = _share(next(answers), chunk.text, i)
            parts.append(part)
            relevant, sentences = relevant + quoted, sentences + total
        if not judged(parts):
            if all(part.status is Status.NOT_APPLICABLE for part in parts):
                return replace(
                    self.not_applicable("the chunks hold no sentence"), parts=tuple(parts)
                )
            return all_lost(str(self), parts, pass_mark=None, verdict=False)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=relevant / sentences,
            counts=counts_of(parts),
            parts=tuple(parts),
            flags=partial(parts),
            extra={"relevant": relevant, "sentences": sentences},
            rationale=f"{relevant} of {sentences} sentences help with the question",
        )


def _share(answer: Judgment, text: str, context: int) -> tuple[Part, int, int]:
    """The chunk as a part, and how many of its sentences are quoted, of how many; (part, 0, 0) for
    a lost verdict.
    """
    # More than half of a sentence is enough, so that a quote need not be exact to the last word.
    status, reason, value, quoted = answer.status, answer.reason, None, 0
    spans = sentence_spans(text) if answer.judged else []
    if spans:
        covered = _covered(answer.evidence, text)
        quoted = sum(
            not covered[start:end].isspace()
            and 2 * _length(covered[start:end]) > _length(text[start:end])
            for start, end in spans
        )
        value = quoted / len(spans)
    elif answer.judged:
        status, reason = Status.NOT_APPLICABLE, "the chunk holds no sentence"
    part = Part(
        "chunk",
        status,
        context=context,
        value=value,
        rationale=answer.rationale,
        evidence=answer.evidence if spans else (),
        flags=answer.flags,
        reason=reason,
        key=answer.key,
    )
    return part, quoted, len(spans)


def _covered(quotes: Sequence[Evidence], text: str) -> str:
    """The text with blanks wherever no quote stands, so that overlapping quotes count once."""
    out, at = [], 0
    for start, end in sorted((max(0, quote.start), min(len(text), quote.end)) for quote in quotes):
        if end > max(start, at):
            start = max(start, at)
            out += [" " * (start - at), text[start:end]]
            at = end
    return "".join(out) + " " * (len(text) - at)


def _length(text: str) -> int:
    """Characters of a text, white space left out."""
    return len("".join(text.split()))
