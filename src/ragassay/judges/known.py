"""Which Requests need no model, because SPEC decides them: nothing to judge by, or nothing that is judged?

- a claim when nothing was retrieved: the lowest rating, "nothing_found"; the highest if it only admits not knowing;
- an empty passage: the lowest rating; an empty response: the lowest answer relevance, and no claims;
- an empty claim: not applicable.
"""

from __future__ import annotations

from ragassay.core import Judgment, Request, Status
from ragassay.judges.abstention import declines
from ragassay.judges.rubric import Rubric


def settled_without_a_call(request: Request, rubric: Rubric, fingerprint: str) -> Judgment | None:
    """The Judgment that follows from the inputs alone, or None when a model has to be asked."""

    def rated(end: str, rationale: str, *flags: str) -> Judgment:
        assert rubric.scale is not None
        rating = rubric.scale.highest if end == "highest" else rubric.scale.lowest
        return Judgment(
            request.key, fingerprint, rubric.ref, Status.JUDGED, rating=rating, value=rubric.scale.value(rating),
            rationale=rationale, flags=flags, passes=rubric.scale.passes(rating),
        )  # fmt: skip

    if rubric.id in ("context_relevance", "chunk_relevance") and not request.text("context").strip():
        return rated("lowest", "The passage holds no text.")
    if rubric.id == "groundedness":
        claim = request.text("claim")
        if not claim.strip():
            reason = "the claim holds no text"
            return Judgment(request.key, fingerprint, rubric.ref, Status.NOT_APPLICABLE, reason=reason)
        if not any(text.strip() for text in request.texts("contexts")):
            if declines(claim):
                return rated("highest", "The claim only admits that something is not known.", "abstention")
            return rated("lowest", "No passage was retrieved, so nothing supports the claim.", "nothing_found")
    if rubric.id in ("answer_relevance", "answer_relevance_5") and not request.text("response").strip():
        return rated("lowest", "The response is empty.")
    if rubric.id == "claims" and not request.text("response").strip():
        return Judgment(request.key, fingerprint, rubric.ref, Status.JUDGED)
    return None
