"""Verdicts that follow from the inputs of a Request alone, so that no model is asked.

Which they are stands in the rubric's front matter (`input_rules`). Empty answers, and answers that
hold nothing of their own, are among them: language models are known to rate these highly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ragassay.core import Judgment, Request, Status
from ragassay.judges.rubric import InputRule, Rubric
from ragassay.judges.text_rules.abstention import declines
from ragassay.judges.text_rules.own_content import no_content, nothing_seen

RULES = 4
"""Raised when a rule of a built-in rubric, or a condition below, changes: judgments made under the
old rules are then not reused.
"""

NO_CONTENT = "no_content"
"""Flag of an answer that holds nothing of its own."""


def settle_without_call(request: Request, rubric: Rubric, fingerprint: str) -> Judgment | None:
    """The Judgment that follows from the inputs alone, or None when a model has to be asked."""
    for rule in rubric.input_rules:
        if all(CONDITIONS[condition](request, name) for condition, name in rule.conditions):
            return _judgment(rule, request, rubric, fingerprint)
    return None


def _judgment(
    rule: InputRule, request: Request, rubric: Rubric, fingerprint: str
) -> Judgment | None:
    if rule.not_applicable:
        return Judgment(
            request.key,
            fingerprint,
            rubric.ref,
            Status.NOT_APPLICABLE,
            reason=rule.not_applicable,
        )
    if rule.rating is None:  # the rubric writes texts, and there is nothing to write
        return Judgment(request.key, fingerprint, rubric.ref, Status.JUDGED, flags=rule.flags)
    # A rating without a scale to place it on settles nothing; the model is asked.
    if rubric.scale is None:
        return None
    rating = rule.rating
    if rating == "highest":
        rating = rubric.scale.highest
    elif rating not in rubric.scale.ratings:  # "lowest", or a rating that a user's scale has not
        rating = rubric.scale.lowest
    return Judgment(
        request.key,
        fingerprint,
        rubric.ref,
        Status.JUDGED,
        rating=rating,
        value=rubric.scale.value(rating),
        rationale=rule.reasoning,
        flags=rule.flags,
        passes=rubric.scale.passes(rating),
        sources=() if rule.nothing_supports else None,
    )


# -- conditions on one input; what a Request is not given meets none but "content"


def _is_blank(request: Request, name: str) -> bool:
    """Whether the input holds nothing but white space."""
    return name in request.inputs and not any(text.strip() for text in request.texts(name))


def _is_invisible(request: Request, name: str) -> bool:
    """Whether the input holds no character that a reader sees."""
    return name in request.inputs and all(map(nothing_seen, request.texts(name)))


def _has_no_content(request: Request, name: str) -> bool:
    """Whether the input has text, but none of its own."""
    if name not in request.inputs or _is_blank(request, name):
        return False
    question = request.inputs.get("question", "")
    if not isinstance(question, str):
        question = ""
    statements = request.texts("statements") if "statements" in request.inputs else ()
    return no_content(request.text(name), question, statements)


def _has_content(request: Request, name: str) -> bool:
    return not _has_no_content(request, name)


def _declines(request: Request, name: str) -> bool:
    """Whether the input only declines to answer or admits not knowing."""
    return name in request.inputs and declines(request.text(name))


CONDITIONS: Mapping[str, Callable[[Request, str], bool]] = {
    "blank": _is_blank,
    "invisible": _is_invisible,
    "no_content": _has_no_content,
    "content": _has_content,
    "declines": _declines,
}
"""Name in the front matter -> whether it holds for the input of a Request."""

SINGLE_TEXT_CONDITIONS = frozenset({"no_content", "content", "declines"})
"""Conditions that a list of texts cannot meet."""
