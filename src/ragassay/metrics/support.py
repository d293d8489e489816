"""Is each claim of a response supported by the retrieved contexts? What groundedness and faithfulness share."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from ragassay.core import Counts, Judgment, Part, Request, Sample, Score, Status, Verdict
from ragassay.judges import declines
from ragassay.metrics.base import MetricBase
from ragassay.metrics.claims import MAX_CLAIMS, Piece, split_claims
from ragassay.metrics.reduction import ABSTENTION, EMPTY, all_lost, blank, judged, lost, part_of, ruled

ClaimFlow = Generator[tuple[Request, ...], tuple[Judgment, ...], tuple[Part, ...] | Score]
CLAIMS = ("sentences", "llm")


def claim_rubrics(claims: str) -> tuple[str, ...]:
    """The rubrics this flow may ask: answer_relevance only where nothing was retrieved, to see whether the response
    admits it."""
    return ("groundedness", "answer_relevance", *(("claims",) if claims == "llm" else ()))


def judge_claims(metric: MetricBase, sample: Sample, claims: str, pass_mark: float) -> ClaimFlow:
    """One part per piece of the response, dropped ones as not applicable; or the Score, where that is already settled.

    Nothing retrieved supports nothing: every claim is 0 without asking, unless it, or the response as a whole, declines to
    answer, which is an admission and needs no support.
    """
    absent = metric.missing(sample)
    if absent is not None:
        return absent
    response = sample.response or ""
    if blank(response):
        return Score(metric=str(metric), status=Status.NOT_APPLICABLE, reason="the response is empty", flags=(EMPTY,))
    if claims == "llm":
        (listed,) = yield (Request("claims", {"question": sample.question or "", "response": response}),)
        if not listed.judged:
            # The list as a whole is what was asked and lost; it is no claim of the response.
            status = Status.FAILED if listed.status is Status.NOT_APPLICABLE else listed.status
            return Score(
                metric=str(metric), status=status, reason=listed.reason or "no list of claims arrived",
                verdict=Verdict.UNDECIDED, pass_mark=pass_mark, counts=Counts.of([status]),
            )  # fmt: skip
        pieces = tuple(_listed(listed, response))
    else:
        pieces = split_claims(response)
    kept = [piece for piece in pieces if not piece.dropped]
    if not kept:
        return Score(
            metric=str(metric), status=Status.NOT_APPLICABLE, reason="the response makes no claim",
            parts=tuple(_dropped(piece) for piece in pieces),
        )  # fmt: skip
    if len(kept) > MAX_CLAIMS:
        return Score(
            metric=str(metric), status=Status.FAILED, verdict=Verdict.UNDECIDED, pass_mark=pass_mark,
            reason=f"the response makes more than {MAX_CLAIMS:,} claims, the most that are judged",
            counts=Counts.of([Status.FAILED] * len(kept)),
        )  # fmt: skip
    contexts = tuple(chunk.text for chunk in sample.contexts or ())
    question = sample.question or ""
    if all(blank(text) for text in contexts):
        declined = False
        if not blank(question):
            (answer,) = yield (Request("answer_relevance", {"question": question, "response": response}),)
            declined = answer.judged and "declined" in answer.flags
        done = [_without_contexts(piece, declined or declines(piece.text)) for piece in kept]
    else:
        answers = yield tuple(
            Request(
                "groundedness",
                {"question": question, "response": response, "contexts": contexts, "claim": piece.text},
            )
            for piece in kept
        )
        done = [
            part_of(answer, "claim", text=_text(piece), start=_start(piece), end=_end(piece))
            for piece, answer in zip(kept, answers, strict=True)
        ]
    known = iter(done)
    parts = tuple(_dropped(piece) if piece.dropped else next(known) for piece in pieces)
    return parts if judged(parts) else all_lost(str(metric), parts, pass_mark=pass_mark)


def abstained(parts: tuple[Part, ...]) -> tuple[str, ...]:
    """The flag for a response that is nothing but admissions of not knowing."""
    found = judged(parts)
    return (ABSTENTION,) if found and not lost(parts) and all(ABSTENTION in part.flags for part in found) else ()


def _listed(judgment: Judgment, response: str) -> Iterator[Piece]:
    """The claims a model wrote; those it took over word for word get their place."""
    at = 0
    for i, text in enumerate(judgment.texts):
        text = text.strip()
        if not text:
            continue
        found = response.find(text, at)
        found = found if found >= 0 else response.find(text)
        drop = "trivial" if f"trivial:{i}" in judgment.flags else ""
        if found >= 0:
            at = found + len(text)
            yield Piece(found, at, text, drop)
        else:
            yield Piece(-1, -1, text, drop)


def _text(piece: Piece) -> str:
    return piece.text if piece.start < 0 else ""


def _start(piece: Piece) -> int | None:
    return piece.start if piece.start >= 0 else None


def _end(piece: Piece) -> int | None:
    return piece.end if piece.start >= 0 else None


def _dropped(piece: Piece) -> Part:
    return Part(
        kind="claim", status=Status.NOT_APPLICABLE, text=_text(piece), start=_start(piece), end=_end(piece),
        reason=f"no claim: {piece.dropped}", flags=("trivial",),
    )  # fmt: skip


def _without_contexts(piece: Piece, declined: bool) -> Part:
    return ruled(
        "claim", text=_text(piece), start=_start(piece), end=_end(piece), value=1.0 if declined else 0.0,
        rationale="The response declines to answer; an admission needs no support." if declined
        else "Nothing was retrieved that could support it.",
        flags=(ABSTENTION,) if declined else ("nothing_found",),
    )  # fmt: skip
