"""Which Requests need no model, because SPEC decides them: nothing to judge by, or nothing that is
judged?

- a claim when nothing was retrieved: the lowest rating, "nothing_found"; the highest if it only
  admits not knowing;
- a claim and a text without words: not stated; an empty claim: not applicable;
- an empty passage: the lowest relevance, and no sentence of it helps; no passages: not relevant,
  not sufficient;
- an empty response: the lowest answer relevance and correctness, no claims, noncommittal; whether
  it is safe, grounded
  or keeps a guideline, and what a custom judge says of it, is not applicable;
- a response that holds nothing of its own (only "Thought process:", role tokens, a lone ":"): as an
  empty one, with the
  flag "no_content"; such a claim is none. Language models are known to rate these highly, so none
  is asked.
"""

from __future__ import annotations

from ragassay.core import Judgment, Request, Status
from ragassay.judges.rubric import Rating, Rubric
from ragassay.judges.text_rules.abstention import declines
from ragassay.judges.text_rules.own_content import no_content, nothing_seen

RULES = 2
"""Raised when what is decided here changes: judgments made under the old rules are then not reused.
"""

NO_CONTENT = "no_content"
"""Flag of an answer that holds nothing of its own."""

# Rubrics -> the input without which the rating is the lowest there is, and what is then said.
_LOWEST_WITHOUT: dict[str, tuple[str, str]] = {
    "context_relevance": ("context", "The passage holds no text."),
    "chunk_relevance": ("context", "The passage holds no text."),
    "context_relevance_dual_1": ("contexts", "No passage with text was retrieved."),
    "context_relevance_dual_2": ("contexts", "No passage with text was retrieved."),
    "context_sufficiency": ("contexts", "No passage with text was retrieved."),
    "context_sufficiency_open": ("contexts", "No passage with text was retrieved."),
    "answer_relevance": ("response", "The response is empty."),
    "answer_relevance_5": ("response", "The response is empty."),
    "correctness": ("response", "The response is empty."),
    "correctness_3": ("response", "The response is empty."),
}
_NOT_APPLICABLE_WITHOUT = {
    "groundedness": "claim",
    "claim_sources": "claim",
    "entailment": "claim",
    "response_groundedness_dual_1": "response",
    "response_groundedness_dual_2": "response",
    "safety": "response",
    "guidelines": "response",
}
# Rubrics that write: what there is to write from, and the flag of having nothing.
_NOTHING_TO_WRITE = {
    "claims": ("response", ()),
    "sentence_relevance": ("context", ()),
    "questions": ("response", ("noncommittal",)),
    "entities": ("text", ()),
}
_SUPPORT = {
    "groundedness": "claim",
    "claim_sources": "claim",
    "response_groundedness_dual_1": "response",
    "response_groundedness_dual_2": "response",
}
# Rubrics -> the input that is refused without a call when it only looks like an answer.
_ANSWERS = {
    **{rubric: needed for rubric, (needed, _) in _LOWEST_WITHOUT.items() if needed == "response"},
    "claims": "response",
    "questions": "response",
    "groundedness": "claim",
    "claim_sources": "claim",
    "entailment": "claim",
    "response_groundedness_dual_1": "response",
    "response_groundedness_dual_2": "response",
}


def settle_without_call(request: Request, rubric: Rubric, fingerprint: str) -> Judgment | None:
    """The Judgment that follows from the inputs alone, or None when a model has to be asked."""

    def rated(
        rating: Rating, rationale: str, *flags: str, nothing_supports: bool = False
    ) -> Judgment:
        assert rubric.scale is not None
        return Judgment(
            request.key,
            fingerprint,
            rubric.ref,
            Status.JUDGED,
            rating=rating,
            value=rubric.scale.value(rating),
            rationale=rationale,
            flags=flags,
            passes=rubric.scale.passes(rating),
            sources=() if nothing_supports else None,
        )

    def not_applicable(name: str, why: str = "holds no text") -> Judgment:
        reason = f"the {name} {why}"
        return Judgment(request.key, fingerprint, rubric.ref, Status.NOT_APPLICABLE, reason=reason)

    def blank(name: str) -> bool:
        return name in request.inputs and not any(text.strip() for text in request.texts(name))

    def hollow(name: str) -> bool:
        """Whether the input has text, but none of its own."""
        if blank(name) or name not in request.inputs:
            return False
        question = request.inputs.get("question", "")
        right = request.texts("statements") if "statements" in request.inputs else ()
        return no_content(request.text(name), question if isinstance(question, str) else "", right)

    name, scale = rubric.id, rubric.scale
    if rubric.level:
        judged = {rubric.item, "response"} & set(rubric.inputs)
        lacking = next(
            (given for given in ("response", rubric.item) if given in judged and blank(given)), ""
        )
        return not_applicable(lacking) if lacking else None
    if name in _NOTHING_TO_WRITE:
        needed, flags = _NOTHING_TO_WRITE[name]
        if name in _ANSWERS and hollow(needed):
            flags = (*flags, NO_CONTENT)
        elif not blank(needed):
            return None
        return Judgment(request.key, fingerprint, rubric.ref, Status.JUDGED, flags=flags)
    if scale is None:
        return None
    needed = _NOT_APPLICABLE_WITHOUT.get(name, "")
    if needed in request.inputs and all(map(nothing_seen, request.texts(needed))):
        return not_applicable(needed)
    if name in _LOWEST_WITHOUT and blank(_LOWEST_WITHOUT[name][0]):
        # A response that says nothing has not tried; the lowest rating, "incorrect", would say that
        # it has.
        lowest = (
            "not_attempted"
            if name == "correctness_3" and "not_attempted" in scale.ratings
            else scale.lowest
        )
        return rated(lowest, _LOWEST_WITHOUT[name][1])
    if name in _ANSWERS and hollow(_ANSWERS[name]):
        if name in _NOT_APPLICABLE_WITHOUT:
            return not_applicable(_ANSWERS[name], "states nothing")
        lowest = (
            "not_attempted"
            if name == "correctness_3" and "not_attempted" in scale.ratings
            else scale.lowest
        )
        return rated(
            lowest, "The response holds nothing but what stands around an answer.", NO_CONTENT
        )
    if name == "entailment" and blank("text"):
        return rated(
            "not_stated" if "not_stated" in scale.ratings else scale.lowest, "The text is empty."
        )
    if name in ("answer_accuracy_dual_1", "answer_accuracy_dual_2") and (
        blank("answer") or blank("other")
    ):
        return rated(scale.lowest, "One of the two answers is empty.")
    if name in ("answer_accuracy_dual_1", "answer_accuracy_dual_2") and hollow("answer") != hollow(
        "other"
    ):
        return rated(scale.lowest, "One of the two answers holds nothing of its own.", NO_CONTENT)
    if name in _SUPPORT and blank("contexts"):
        if declines(request.text(_SUPPORT[name])):
            why = f"The {_SUPPORT[name]} only admits that something is not known."
            return rated(scale.highest, why, "abstention", nothing_supports=True)
        why = f"No passage was retrieved, so nothing supports the {_SUPPORT[name]}."
        return rated(scale.lowest, why, "nothing_found", nothing_supports=True)
    return None
