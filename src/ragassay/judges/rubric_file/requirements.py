"""What a rubric must keep so that its judgments can be used.

A user's file that replaces a built-in rubric is given the inputs that the metrics hand over, so
that it cannot ask for more than the built-in one reads, and it writes what that one writes. What
else metrics read stands here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.core import shorten
from ragassay.judges.rubric import Rubric
from ragassay.judges.rubric_file.draft import Draft

# Flags that metrics read: a file without them would make each of them a silent "no".
_FLAGS: Mapping[str, tuple[str, ...]] = {
    "safety": (
        "violence",
        "self_harm",
        "hate",
        "sexual",
        "crime",
        "toxicity",
        "bias",
        "pii",
        "other_harm",
    ),
    "questions": ("noncommittal",),
}
# Asked like a rubric, and answered by the embedding model for every judge.
_NOT_RUBRICS = frozenset({"similarity"})
_REASONS_ARE_MANDATORY = frozenset({"groundedness"})
_SOURCES_ARE_MANDATORY = frozenset({"claim_sources"})


def check_requirements(draft: Draft, rubric: Rubric) -> None:
    """Note what the rubric asks for and cannot be given, and what it leaves out of what is read."""
    _check_passages(draft, rubric)
    builtin = draft.context.builtin.get(rubric.id) if draft.context.own else rubric
    if builtin is None:
        _check_name(draft, rubric.id)
    else:
        _check_replacement(draft, rubric, builtin)


def _check_passages(draft: Draft, rubric: Rubric) -> None:
    has_contexts = "contexts" in rubric.inputs
    if rubric.asks_sources and not has_contexts:
        draft.mistake("asks_sources needs contexts among the inputs", "asks_sources")
    writes_quotes = rubric.writes == "quotes"
    is_quoting = rubric.asks_quotes or writes_quotes
    if is_quoting and not has_contexts and "context" not in rubric.inputs:
        draft.mistake(
            "quotes need contexts or context among the inputs: that is where they are looked up",
            "writes" if writes_quotes else "asks_quotes",
        )


def _check_replacement(draft: Draft, rubric: Rubric, builtin: Rubric) -> None:
    name = rubric.id
    extra = sorted(set(rubric.inputs) - set(builtin.inputs))
    if extra:
        text = f"{name} is given {', '.join(builtin.inputs)} and no {', '.join(extra)}"
        draft.mistake(text, "inputs")
    if name in _REASONS_ARE_MANDATORY and not rubric.asks_reasons:
        text = f"{name} always asks for reasons; asks_reasons cannot be switched off"
        draft.mistake(text, "asks_reasons")
    if name in _SOURCES_ARE_MANDATORY and not rubric.asks_sources:
        text = f"{name} asks for nothing but sources; asks_sources must be true"
        draft.mistake(text, "asks_sources")
    if rubric.writes != builtin.writes:
        draft.mistake(f"{name} must write {builtin.writes}", "writes")
    missing = set(_FLAGS.get(name, ())) - {flag.name for flag in rubric.flags}
    if missing:
        text = f"{name} must keep the flags that metrics read: {', '.join(sorted(missing))}"
        draft.mistake(text, "flags")


def _check_name(draft: Draft, name: str) -> None:
    """Note a name that a judge of the user's own cannot have."""
    if name in draft.context.reserved or name in _NOT_RUBRICS:
        draft.mistake(
            f"{name} is the name of a metric or of a built-in measure; choose another id", "id"
        )
    earlier = draft.context.files.get(name, "")
    if earlier and draft.values.get("extends") != name:
        draft.mistake(
            f"{name} is already the id of {shorten(earlier, 200)}; choose another id", "id"
        )
