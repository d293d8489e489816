"""The way from a rubric file to a rubric, or to the list of everything that is wrong in the file.

A file is YAML front matter and Markdown sections; the form is described in docs/rubrics.md.
"""

from __future__ import annotations

from pathlib import Path

from ragassay.core import nearest, shorten
from ragassay.judges.rubric import Rubric
from ragassay.judges.rubric_file.draft import Draft, ReadingContext
from ragassay.judges.rubric_file.fields import read_fields
from ragassay.judges.rubric_file.front_matter import (
    parse_front_matter,
    read_file,
    split_front_matter,
)
from ragassay.judges.rubric_file.mistakes import Mistakes
from ragassay.judges.rubric_file.requirements import check_requirements
from ragassay.judges.rubric_file.sections import read_sections
from ragassay.judges.rubric_file.text_fields import check_placeholders


def read_rubric(path: Path, context: ReadingContext) -> tuple[Rubric | None, list[str]]:
    """The rubric in a file, and every mistake in it as "file:line: text".

    The rubric is None where there is a mistake. Raises nothing for whatever a file holds.
    """
    mistakes = Mistakes(path)
    draft = _read_draft(path, context, mistakes)
    if draft is None or _forgets_to_extend(draft):
        return None, mistakes.messages
    draft.base = _base(draft)
    fields = read_fields(draft)
    if len(mistakes):
        return None, mistakes.messages
    # These look at the whole rubric, so they come after it can be made.
    rubric = Rubric(**fields)
    check_placeholders(draft, rubric)
    check_requirements(draft, rubric)
    if len(mistakes):
        return None, mistakes.messages
    return rubric, []


def _read_draft(path: Path, context: ReadingContext, mistakes: Mistakes) -> Draft | None:
    """The file, split into values and sections; None where it cannot be split."""
    text = read_file(path, mistakes)
    if text is None:
        return None
    split = split_front_matter(text, mistakes)
    if split is None:
        return None
    front, end = split
    values = parse_front_matter(front, mistakes)
    if values is None:
        return None
    draft = Draft(context, mistakes, values)
    draft.sections = read_sections(text, end, mistakes, custom=draft.custom)
    return draft


def _forgets_to_extend(draft: Draft) -> bool:
    """Whether the file has the id of a built-in rubric and is neither a change of it nor a whole
    one.
    """
    if draft.replaced is None:
        return False
    if "extends" in draft.values or {"system", "user"} & set(draft.sections):
        return False
    name = draft.replaced.id
    draft.mistake(
        f"{name} is a built-in rubric: write `extends: {name}` to change parts of it, give all of"
        " it with the sections ## System, ## Criteria and ## User, or choose another id for a"
        " judge of your own",
        "id",
    )
    return True


def _base(draft: Draft) -> Rubric | None:
    """The rubric that the file extends."""
    name = draft.values.get("extends")
    if name is None:
        return None
    rubrics = draft.context.rubrics
    if not isinstance(name, str) or name not in rubrics:
        hint = nearest(str(name), sorted(rubrics))
        draft.mistake(f"extends: no rubric has the id {shorten(name)!r}.{hint}", "extends")
        return None
    return rubrics[name]
