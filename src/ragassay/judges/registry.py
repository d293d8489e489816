"""The rubrics of a run: those of the package, and the user's files.

A file of the user's replaces the rubric with its id, and with `extends: ID` gives only what it
changes; with an id of its own it is a custom judge, and a metric.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ragassay.core import SetupError, nearest, shorten
from ragassay.judges.rubric import Rubric
from ragassay.judges.rubric_file import ReadingContext, read_rubric

_FIX = "see docs/rubrics.md; `ragassay rubric check FILE` lists every mistake of a file"


class RubricRegistry:
    """The rubrics of a run: the built-in ones, or a user's where a file replaces them. A value:
    never changed.
    """

    def __init__(
        self,
        rubrics: Mapping[str, Rubric],
        files: Mapping[str, str] | None = None,
        builtin: Mapping[str, Rubric] | None = None,
    ) -> None:
        """rubrics: id -> rubric. files: id -> the user's file that it is from. builtin: those of
        the package, also where a file has replaced them.
        """
        self._rubrics, self._files = dict(rubrics), dict(files or {})
        self.builtin: Mapping[str, Rubric] = dict(builtin or {})

    @classmethod
    def default(cls) -> RubricRegistry:
        """The rubrics that come with the package."""
        # Read once in a process: it is some twenty files of YAML, and the value never changes.
        global _default
        if _default is None:
            registry = cls({})
            folder = Path(__file__).parent / "rubrics"
            # What extends another one comes after it: answer_relevance before answer_relevance_5.
            for path in sorted(folder.glob("*.md"), key=lambda p: p.stem):
                registry = registry._with(path, own=False, reserved=frozenset())
            _default = registry
        return _default

    def with_files(
        self, paths: Iterable[str | os.PathLike[str]], reserved: Collection[str] = frozenset()
    ) -> RubricRegistry:
        """A registry in which these files replace the rubrics with their ids, or add custom judges.

        A later file can extend an earlier one. reserved: names of metrics, which no custom judge
        can have. Raises SetupError E0204 that names every mistake of the first file that has one,
        with file and line.
        """
        registry = self
        for path in paths:
            registry = registry._with(Path(path), own=True, reserved=reserved)
        return registry

    def _with(self, path: Path, *, own: bool, reserved: Collection[str]) -> RubricRegistry:
        rubric, problems = read_rubric(path, self._reading_context(own=own, reserved=reserved))
        if rubric is None:
            raise SetupError(
                "E0204",
                f"The rubric file has {len(problems)} mistake{'s' if len(problems) > 1 else ''}.",
                where=problems[0].partition(": ")[0],
                why="\n       ".join(problems),
                fix=_FIX,
            )
        rubrics = {**self._rubrics, rubric.id: rubric}
        if own:
            return RubricRegistry(rubrics, {**self._files, rubric.id: str(path)}, self.builtin)
        return RubricRegistry(rubrics, self._files, {**self.builtin, rubric.id: rubric})

    def _reading_context(self, *, own: bool, reserved: Collection[str]) -> ReadingContext:
        return ReadingContext(self._rubrics, self.builtin, self._files, own, reserved)

    @property
    def custom(self) -> tuple[Rubric, ...]:
        """The custom judges: the user's rubrics whose ids are no built-in ones, in the order of
        their files.
        """
        return tuple(rubric for rubric in self._rubrics.values() if rubric.level)

    def file(self, rubric_id: str) -> str:
        """The user's file that the rubric is from, "" for a built-in one."""
        return self._files.get(rubric_id, "")

    def ids(self) -> tuple[str, ...]:
        """The ids of all rubrics, sorted."""
        return tuple(sorted(self._rubrics))

    def get(self, rubric_id: str) -> Rubric:
        """The rubric with this id (without version). Raises SetupError E0203 when there is none."""
        if rubric_id not in self._rubrics:
            raise SetupError(
                "E0203",
                f"No rubric has the id {shorten(rubric_id)!r}.{nearest(rubric_id, self._rubrics)}",
                fix=(
                    f"rubrics: {', '.join(self.ids())}; or give a file with that id by --rubric"
                    " FILE"
                ),
            )
        return self._rubrics[rubric_id]

    def __contains__(self, rubric_id: object) -> bool:
        return rubric_id in self._rubrics


_default: RubricRegistry | None = None


def check(path: str | os.PathLike[str], reserved: Collection[str] = frozenset()) -> list[str]:
    """Everything that is wrong in a rubric file, as "file:line: problem"; [] for a valid one.

    reserved: names of metrics, which no custom judge can have.
    """
    context = RubricRegistry.default()._reading_context(own=True, reserved=reserved)
    _, problems = read_rubric(Path(path), context)
    return problems
