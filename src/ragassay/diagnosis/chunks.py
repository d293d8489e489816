"""Which chunks serve as evidence, whatever a judge of relevance says of them.

That a chunk supports something is seen in its text, that it is relevant is an opinion. Where the
two disagree, the evidence counts: the retriever is not blamed for a chunk that was needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragassay.core import SAYS_OTHERWISE, Part, Score, Shown, Verdict
from ragassay.diagnosis.row import ABSTENTION, Row

ClaimPlace = tuple[int | None, int | None, str]
"""What makes a claim the same one in several scores: its place in the response, else its text."""


def claim_place(part: Part) -> ClaimPlace:
    """Where the claim stands, or its text where it has no place."""
    return part.start, part.end, part.text if part.start is None else ""


def sources_of(part: Part) -> tuple[int, ...]:
    """The contexts that support the part; () where it fails or they are not known."""
    if not part.passed or ABSTENTION in part.flags:
        return ()
    if part.sources is not None:
        return part.sources
    # Not every judge is asked for all sources; a quote says where one of them is.
    return tuple(dict.fromkeys(quote.context for quote in part.evidence))


def evidence_chunks(row: Row) -> dict[int, str]:
    """The places of the chunks that serve as evidence, each with what it supports.

    They support a statement of the reference, or a claim of a response that answers the question.
    A claim of an answer that is wrong, or beside the question, says nothing for its chunk.
    """
    contexts = row.sample.contexts or ()
    chunks: dict[int, str] = {}
    for context, words in _supporting(row):
        if 0 <= context < len(contexts):
            chunks.setdefault(context, words)
    return chunks


def denied_claims(row: Row) -> list[Part]:
    """The claims of the response of which the chunks say another thing."""
    denied = []
    for score in row.showing(Shown.SUPPORTED_CLAIMS):
        for part in score.parts:
            is_denied = part.passed is False and SAYS_OTHERWISE in part.flags
            if part.kind == "claim" and is_denied:
                denied.append(part)
    return denied


def deny_the_response(row: Row) -> bool:
    """Whether a chunk is seen to say another thing of what the response claims.

    It is about the subject of the question as much as the response is: whatever a judge of
    relevance says of it, it was not the retrieval that broke.
    """
    return any(part.evidence for part in denied_claims(row))


def _supporting(row: Row) -> Iterator[tuple[int, str]]:
    """Pairs of a context and what it supports."""
    for score in row.showing(Shown.REFERENCE_SUPPORTED):
        if "against=question" in score.metric:
            continue  # judged against the question alone, nothing is said of the reference
        for part in score.parts:
            for context in sources_of(part):
                yield context, "it supports the reference"
    truth = _true_claims(row)
    answers = not any(_denies_the_answer(row, score) for score in row.scores)
    for score in row.showing(Shown.SUPPORTED_CLAIMS):
        for part in score.parts:
            if part.kind == "claim" and truth.get(claim_place(part), answers):
                for context in sources_of(part):
                    yield context, "it supports a claim of the response"


def _true_claims(row: Row) -> dict[ClaimPlace, bool]:
    """The claims that were compared with the reference, and whether it states them."""
    claims: dict[ClaimPlace, bool] = {}
    for score in row.showing(Shown.TRUE_CLAIMS):
        for part in score.parts:
            if part.kind == "claim" and part.passed is not None:
                claims.setdefault(claim_place(part), part.passed)
    return claims


def _denies_the_answer(row: Row, score: Score) -> bool:
    """Whether the score says that the answer is wrong, or none to the question."""
    if score.verdict is not Verdict.FAIL:
        return False
    shown = row.shown_by(score)
    if Shown.ANSWER_RIGHT in shown:
        return True
    # One that is on the question in part is no answer to another one.
    return Shown.ANSWER_RELEVANT in shown and not score.value
