"""What does a rubric file say, and what is wrong in it? Every mistake is named with its line.

YAML front matter and Markdown sections; the form is described in docs/rubrics.md. Nothing in a file
is executed, and YAML aliases are refused: a few lines of them stand for gigabytes. Time is linear
in the length of the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import nearest, shorten
from ragassay.judges.rubric import LISTS, Flag, Point, Rating, Rubric, Scale
from ragassay.judges.rubric_file import defaults as custom
from ragassay.judges.rubric_file.requirements import (
    FLAGS,
    NOT_RUBRICS,
    REASONS_ARE_MANDATORY,
    SOURCES_ARE_MANDATORY,
)
from ragassay.judges.template import placeholders, stray_braces

if TYPE_CHECKING:
    import yaml

    from ragassay.judges.registry import RubricRegistry

SHAPES = ("question", "phrase", "statement")
SECTIONS = ("system", "criteria", "user")

_KEYS = (
    "id",
    "version",
    "extends",
    "purpose",
    "source",
    "inputs",
    "item",
    "batch",
    "asks_reasons",
    "asks_quotes",
    "asks_sources",
    "writes",
    "flags",
    "scale",
    "wordings",
    "examples",
    "level",
    "row",
    "guidelines",
)
_PARTS = ("criteria", "wording", "examples", "reply")
_RESERVED = frozenset(
    {"id", "reasoning", "quotes", "rating", "claims", "texts", "supported_by", "verdicts"}
)
_WRITES = ("ratings", "claims", "quotes", "texts")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,39}")
_SPAN = re.compile(r"(-?\d{1,4})\s*(?:-|–|to|\.\.)\s*(-?\d{1,4})")
_HEADING = re.compile(r"^##[ \t]+(.*?)[ \t]*$", re.M)
_MOST_BYTES, _MOST_FRONT, _MOST_POINTS, _MOST_BATCH = 1_000_000, 200_000, 101, 100
# More mistakes of one file are not looked for: finding the line of each takes time that grows with
# the file.
_MOST_PROBLEMS = 100

_BARE = ' (YAML reads a bare yes or no as true or false: write "yes", "no")'
_MISSING = object()


@dataclass(slots=True)
class _Section:
    text: str
    line: int  # of its first line of text, in the file


@dataclass(slots=True)
class Reading:
    """One file being read: what it gives, what it inherits, and every problem found so far."""

    path: Path
    rubrics: RubricRegistry
    own: bool
    reserved: Collection[str] = frozenset()
    problems: list[tuple[int, str]] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    lines: dict[tuple[str, ...], int] = field(default_factory=dict)
    sections: dict[str, _Section] = field(default_factory=dict)
    base: Rubric | None = None

    @property
    def found(self) -> list[str]:
        found = [f"{self.path}:{line}: {text}" for line, text in sorted(self.problems)]
        return [*found, f"{self.path}: there may be more mistakes"] if self.full else found

    @property
    def full(self) -> bool:
        """Whether so much is wrong that no more is looked for."""
        return len(self.problems) >= _MOST_PROBLEMS

    def problem(self, text: str, *key: str) -> None:
        while key and key not in self.lines:
            key = key[:-1]
        self.problem_at(self.lines.get(key, 1), text)

    def problem_at(self, line: int, text: str) -> None:
        if not self.full:
            self.problems.append((line, text))

    @property
    def custom(self) -> bool:
        """Whether the file is a judge of the user's own."""
        name = self.given.get("id")
        return self.own and not (isinstance(name, str) and name in self.rubrics.builtin)

    # -- the file

    def rubric(self) -> Rubric | None:
        """The rubric, or None when there are problems."""
        if not self._read():
            return None
        if self._forgets_to_extend():
            return None
        self._extends()
        rubric = self._build()
        if rubric is not None:
            self._check_texts(rubric)
            self._check_contract(rubric)
        return None if self.problems else rubric

    def _forgets_to_extend(self) -> bool:
        """Whether the file has the id of a built-in rubric and is neither a change of it nor a
        whole one.
        """
        name = self.given.get("id")
        built_in = self.own and isinstance(name, str) and name in self.rubrics.builtin
        if not built_in or "extends" in self.given or {"system", "user"} & set(self.sections):
            return False
        self.problem(
            f"{name} is a built-in rubric: write `extends: {name}` to change parts of it, give all"
            " of it with the sections ## System, ## Criteria and ## User, or choose another id for"
            " a judge of your own",
            "id",
        )
        return True

    def _read(self) -> bool:
        try:
            if (
                self.path.exists() and not self.path.is_file()
            ):  # a pipe would be waited for, a folder cannot be read
                raise ValueError("it is not a file")
            with self.path.open("rb") as file:
                raw = file.read(_MOST_BYTES + 1)
            if len(raw) > _MOST_BYTES:
                raise ValueError(f"the file is larger than {_MOST_BYTES:,} bytes")
            text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            self.problem(f"the file is not UTF-8 (byte {error.start})")
        except (OSError, ValueError) as error:
            self.problem(f"the file cannot be read: {getattr(error, 'strerror', None) or error}")
        else:
            front = re.match(r"---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|$)", text, re.S)
            if front is None:
                self.problem(
                    "the file must begin with a front matter: a line ---, YAML, and a line ---"
                )
                return False
            if len(front[1] or "") > _MOST_FRONT:
                self.problem(f"the front matter is longer than {_MOST_FRONT:,} characters")
                return False
            return self._read_front(front[1] or "") and self._read_sections(text, front.end())
        return False

    def _read_front(self, front: str) -> bool:
        import yaml

        try:
            events = yaml.parse(front, yaml.SafeLoader) if "*" in front else ()
            alias = next((event for event in events if isinstance(event, yaml.AliasEvent)), None)
            if alias is not None:
                words = (
                    f"the alias *{shorten(alias.anchor, 40)}: aliases cannot be used here, write"
                    " the value out"
                )
                self.problem_at((alias.start_mark.line if alias.start_mark else 0) + 2, words)
                return False
            loader = yaml.SafeLoader(front)
            node = loader.get_single_node()
            value = loader.construct_document(node) if node is not None else None
            repr(
                value
            )  # raises here, for a number of 5,000 digits, what it would raise in some message below
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line if error.problem_mark else 0
            self.problem_at(line + 2, f"the front matter is not valid YAML: {error.problem}")
            return False
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            self.problem(f"the front matter is not valid YAML: {shorten(str(error))}")
            return False
        if not isinstance(value, dict):
            self.problem("the front matter must be a mapping of names to values")
            return False
        assert node is not None
        self._note_lines(node, (), 0)
        for key in value:
            if key not in _KEYS and not self.full:
                self.problem(
                    f"{shorten(str(key))!r} is not a key of a rubric.{nearest(str(key), _KEYS)}",
                    str(key),
                )
        self.given = {str(key): item for key, item in value.items()}
        return True

    def _note_lines(self, node: yaml.Node, key: tuple[str, ...], depth: int) -> None:
        import yaml

        if depth > 3:
            return
        if isinstance(node, yaml.MappingNode):
            for n, (name, value) in enumerate(node.value):
                if not isinstance(name, yaml.ScalarNode):
                    continue
                path = (*key, name.value)
                twice = path in self.lines
                # By place as well: YAML may read a key as something else than what is written
                # there.
                self.lines[path] = self.lines[(*key, f"#{n}")] = name.start_mark.line + 2
                if twice:
                    self.problem(f"{shorten(name.value)!r} is given twice", *path)
                self._note_lines(value, path, depth + 1)
        elif isinstance(node, yaml.SequenceNode):
            for n, value in enumerate(node.value):
                self.lines[(*key, str(n))] = value.start_mark.line + 2
                self._note_lines(value, (*key, str(n)), depth + 1)

    def _read_sections(self, text: str, at: int) -> bool:
        headings = list(_HEADING.finditer(text, at))
        short = self.custom and not any(heading[1].lower() in SECTIONS for heading in headings)
        if short:
            body = text[at:]
            if body.strip():
                line = text.count("\n", 0, at) + 1 + len(body) - len(body.lstrip("\n"))
                self.sections["criteria"] = _Section(body.strip("\n"), line)
        before = text[at : headings[0].start() if headings else len(text)]
        if before.strip() and not short:
            line = text.count("\n", 0, at + len(before) - len(before.lstrip())) + 1
            self.problem_at(
                line, "text before the first section; sections are ## System, ## Criteria, ## User"
            )
        for heading, after in zip_longest(headings, headings[1:]):
            if self.full:
                break
            name, line = heading[1].lower(), text.count("\n", 0, heading.start()) + 1
            if name not in SECTIONS:
                words = (
                    f"{shorten(heading[1])!r} is not a section; sections are ## System, ##"
                    " Criteria, ## User"
                )
                hint = " (a heading within the criteria begins with ###)" if short else ""
                self.problem_at(line, f"{words}{hint}")
            elif name in self.sections:
                self.problem_at(line, f"the section {heading[1]!r} is given twice")
            else:
                body = text[heading.end() : after.start() if after else len(text)]
                self.sections[name] = _Section(
                    body.strip("\n"), line + len(body) - len(body.lstrip("\n"))
                )
        return True

    def _extends(self) -> None:
        name = self.given.get("extends")
        if name is None:
            return
        if not isinstance(name, str) or name not in self.rubrics:
            hint = nearest(str(name), self.rubrics.ids())
            self.problem(f"extends: no rubric has the id {shorten(name)!r}.{hint}", "extends")
        else:
            self.base = self.rubrics.get(name)

    # -- the values

    def _get(self, key: str, kind: type | tuple[type, ...], words: str, default: Any) -> Any:
        """The value given (checked), else the base's, else the default; `_MISSING` when none may be
        left out.
        """
        if key in self.given:
            value = self.given[key]
            if isinstance(value, kind) and (type(value) is not bool or kind is bool):
                return value
            self.problem(f"{key} must be {words}, not {shorten(repr(value), 40)}", key)
        elif self.base is not None:
            return getattr(self.base, key)
        elif default is _MISSING:
            self.problem(f"{key} is missing ({words})")
        return None if default is _MISSING else default

    def _build(self) -> Rubric | None:
        name = self._get("id", str, "a name in small letters, digits and _", _MISSING)
        if name is not None and not _NAME.fullmatch(name):
            self.problem("id must be a name in small letters, digits and _", "id")
        version = self._get(
            "version", (str, int, float), "a number or a name", "1" if self.custom else _MISSING
        )
        if version is not None and not _VERSION.fullmatch(str(version)):
            self.problem("version must be made of letters, digits, '.', '-' and '_'", "version")
        level, row, guidelines = self._level()
        inputs = self._inputs(level, guidelines)
        item = self._item(level, inputs, guidelines)
        usual = custom.default_batch(level, guidelines) if self.custom else 1
        batch = self._get("batch", int, f"a whole number from 1 to {_MOST_BATCH}", usual)
        if not 1 <= batch <= _MOST_BATCH:
            self.problem(f"batch must be a whole number from 1 to {_MOST_BATCH}", "batch")
        writes = self._get("writes", str, _or(_WRITES), "ratings")
        if writes not in _WRITES:
            self.problem(f"writes must be {_or(_WRITES)}", "writes")
        elif self.custom and writes != "ratings":
            self.problem('a judge of your own gives a score, so it writes "ratings"', "writes")
        scale = self._scale(guidelines) if writes == "ratings" else None
        asks_sources = self._get("asks_sources", bool, "true or false", False)
        wording_by, wordings = self._wordings(inputs)
        flags = self._flags(scale, writes)
        examples = self._examples(inputs, scale, flags, writes)
        asks_reasons = self._get("asks_reasons", bool, "true or false", True)
        asks_quotes = self._get("asks_quotes", bool, "true or false", False)
        purpose = self._get("purpose", str, "a sentence", _MISSING)
        source = self._get("source", str, "a text", "")
        texts = {part: self._section(part) for part in SECTIONS}
        if self.custom:
            self._fill_in(
                texts, str(purpose), inputs, item or "", guidelines, bool(wordings), bool(examples)
            )
        if self.problems:
            return None
        return Rubric(
            id=name,
            version=str(version),
            purpose=purpose,
            source=source,
            inputs=inputs,
            item=item or "",
            batch=batch,
            scale=scale,
            asks_reasons=asks_reasons,
            asks_quotes=asks_quotes,
            asks_sources=asks_sources,
            writes=writes,
            flags=flags,
            wording_by=wording_by,
            wordings=wordings,
            examples=examples,
            own=self.own,
            level=level,
            row=row,
            guidelines=guidelines,
            **texts,
        )

    # -- a judge of the user's own

    def _level(self) -> tuple[str, str, tuple[str, ...]]:
        if not self.custom:
            for key in ("level", "row", "guidelines"):
                if key in self.given:
                    name = shorten(str(self.given.get("id")), 60)
                    self.problem(
                        f"{key} is for a judge of your own; {name} is a built-in rubric", key
                    )
            return "", "any", ()
        base = self.base if self.base is not None and self.base.level else None
        choices = (
            ("level", custom.LEVELS, base.level if base else "answer"),
            ("row", custom.ROWS, base.row if base else "any"),
        )
        found = dict[str, str]()
        for key, offered, default in choices:
            value = self.given.get(key, default)
            found[key] = value if isinstance(value, str) and value in offered else default
            if found[key] != value:
                hint = nearest(value, offered) if isinstance(value, str) else ""
                self.problem(
                    f"{key} must be {_or(offered)}, not {shorten(repr(value), 40)}.{hint}", key
                )
        given = self.given.get("guidelines", list(base.guidelines) if base else [])
        fits = isinstance(given, list) and all(
            isinstance(text, str) and text.strip() for text in given
        )
        texts = [" ".join(text.split()) for text in given] if fits else []
        if not texts and "guidelines" in self.given:
            self.problem("guidelines must be a list of texts, one a guideline", "guidelines")
        seen = set[str]()
        for n, text in enumerate(texts):
            if text in seen:
                self.problem("the guideline is given twice", "guidelines", str(n))
            seen.add(text)
        level, row = found["level"], found["row"]
        if texts and level != "answer":
            self.problem('guidelines are checked at the level "answer" only', "guidelines")
        if "row" in self.given and level != "retrieval":
            self.problem(
                "row says when a row of many contexts passes: it needs `level: retrieval`", "row"
            )
        return level, row, tuple(texts)

    def _inputs(self, level: str, guidelines: tuple[str, ...]) -> tuple[str, ...]:
        if not self.custom:
            return self._names("inputs")
        given = "inputs" in self.given or self.base is not None
        inputs = self._names("inputs") if given else custom.default_inputs(level)
        if guidelines and inputs and custom.GUIDELINE not in inputs:
            inputs = (*inputs, custom.GUIDELINE)
        offered = (*custom.INPUTS, *([custom.GUIDELINE] if guidelines else []))
        for name in inputs:
            if name not in offered:
                near = (
                    nearest(str(self.given.get("id")), self.rubrics.builtin)
                    if self.base is not None
                    else ""
                )
                hint = nearest(name, offered) or near.replace("mean", "mean the id")
                words = (
                    f"{name} is no input of a judge of your own; there are"
                    f" {', '.join(custom.INPUTS)}.{hint}"
                )
                self.problem(words, "inputs" if "inputs" in self.given else "id")
        at = "inputs" if "inputs" in self.given else "level"
        if "context" in inputs and level != "retrieval":
            words = (
                "context, one chunk by itself, is given at the level retrieval; say `level:"
                " retrieval`, or read contexts"
            )
            self.problem(words, at)
        elif "context" not in inputs and level == "retrieval" and inputs:
            self.problem(
                "at the level retrieval each chunk is judged by itself: inputs must hold context",
                at,
            )
        return inputs

    def _item(self, level: str, inputs: tuple[str, ...], guidelines: tuple[str, ...]) -> str | None:
        if self.custom and "item" not in self.given:
            inherited = self.base.item if self.base is not None and self.base.item in inputs else ""
            due = custom.default_item(level, inputs, guidelines)
            item = due if guidelines or level == "retrieval" or not inherited else inherited
            if inputs and not item:
                self.problem(
                    "inputs must hold a single text as well: question, response or reference",
                    "inputs",
                )
            return item
        item = self._get("item", str, "the name of an input", _MISSING)
        if inputs and item is not None and item not in inputs:
            self.problem(f"item must be one of the inputs ({', '.join(inputs)})", "item")
        elif item in LISTS:
            self.problem(
                f"item cannot be {item}, which is a list of"
                f" texts{'; use context' * (item == 'contexts')}",
                "item",
            )
        elif self.custom and (guidelines or level == "retrieval"):
            due = custom.default_item(level, inputs, guidelines)
            if item is not None and item != due and due in inputs:
                self.problem(f"item must be {due}: that is what is judged, each by itself", "item")
        return str(item) if item is not None else None

    def _fill_in(
        self,
        texts: dict[str, str],
        purpose: str,
        inputs: tuple[str, ...],
        item: str,
        guidelines: tuple[str, ...],
        wordings: bool,
        examples: bool,
    ) -> None:
        """The sections that a custom judge's file leaves out, from what it says."""
        has_criteria = bool(texts["criteria"].strip())
        if "system" not in self.sections and self.base is None:
            said = (
                has_criteria
                or guidelines
                or "guidelines" in self.given
                or "criteria" in self.sections
            )
            if not said:
                self.problem(
                    "the criteria are missing: say below the header what is judged, and by what"
                )
            if "{{" in purpose or "}}" in purpose:
                self.problem(
                    "purpose is shown to the judge as it is and cannot hold double braces",
                    "purpose",
                )
                purpose = ""
            texts["system"] = custom.system_text(
                purpose, item, criteria=has_criteria, wordings=wordings, examples=examples
            )
        changed = "inputs" in self.given or "guidelines" in self.given
        if "user" not in self.sections and (self.base is None or changed):
            texts["user"] = custom.user_text(inputs, item)

    def _section(self, part: str) -> str:
        if part in self.sections:
            if not self.sections[part].text.strip():
                self.problem_at(
                    self.sections[part].line, f"the section {part.capitalize()} is empty"
                )
            return self.sections[part].text
        if self.base is not None:
            return str(getattr(self.base, part))
        if part != "criteria" and not self.custom:
            self.problem(f"the section ## {part.capitalize()} is missing")
        return ""

    def _names(self, key: str) -> tuple[str, ...]:
        names = self._get(key, (list, tuple), "a list of names", _MISSING) or ()
        bad = [n for n in names if not isinstance(n, str) or not _NAME.fullmatch(n)]
        if bad or len(set(map(str, names))) != len(names) or (not names and key in self.given):
            self.problem(f"{key} must be a list of different names in small letters", key)
            return ()
        return tuple(names)

    def _scale(self, guidelines: tuple[str, ...]) -> Scale | None:
        given = self.given.get("scale")
        if "scale" not in self.given:
            if self.base is not None and self.base.scale is not None:
                return self.base.scale
            if guidelines or "guidelines" in self.given:
                return custom.KEEPS_OR_BREAKS
        if isinstance(given, str):
            if given.replace(" ", "") == "yes/no":
                return custom.KEEPS_OR_BREAKS if guidelines else custom.YES_NO
            self.problem(
                f"the scale {shorten(repr(given), 40)} has no criteria for its points: give"
                " `points`, each with its meaning, and `pass`; only yes/no has meanings of"
                " its own",
                "scale",
            )
            return None
        if not isinstance(given, dict) or not isinstance(given.get("points"), (dict, list)):
            words = "scale is missing, or is not a mapping with `points` and `pass`"
            self.problem(words + (" (or yes/no)" if self.custom else ""), "scale")
            return None
        before = len(self.problems)
        for key in set(given) - {"points", "pass", "step"}:
            words = (
                f"{shorten(str(key))!r} is no key of a scale; its keys are points, pass and step"
            )
            self.problem(words, "scale", str(key))
        step = given.get("step", 1)
        if type(step) is not int or not 1 <= step <= _MOST_POINTS:
            self.problem(f"step must be a whole number from 1 to {_MOST_POINTS}", "scale", "step")
            return None
        raw = given["points"]
        rows = list(raw.items()) if isinstance(raw, dict) else [(None, row) for row in raw]
        points: list[tuple[Rating, Any, str]] = []
        for n, (key, row) in enumerate(rows):
            at = ("scale", "points", f"#{n}" if isinstance(raw, dict) else str(n))
            entry = row if isinstance(row, dict) else {"meaning": row}
            rating = key if isinstance(raw, dict) else entry.get("rating")
            meaning = entry.get("meaning")
            if not isinstance(meaning, str) or not meaning.strip():
                self.problem(
                    f"the point {shorten(str(rating))} has no criteria: say in words what it means",
                    *at,
                )
                continue
            for extra in set(entry) - {"rating", "value", "meaning"}:
                self.problem(f"{shorten(str(extra))!r} is not a key of a point", *at)
            points += [(r, entry.get("value"), meaning.strip()) for r in self._ratings(rating, at)]
        if len(self.problems) > before or not self._distinct(points):
            return None
        mark = given.get("pass", _MISSING)
        scale = (
            self._categories(points, mark)
            if isinstance(mark, list)
            else self._order(points, step, mark)
        )
        return scale if len(self.problems) == before else None

    def _check_mark(self, mark: object, scale: Scale) -> None:
        if type(mark) not in (int, str) or mark not in scale.ratings:
            said = (
                "missing"
                if mark is _MISSING
                else f"{shorten(repr(mark), 40)}, which the scale does not offer"
            )
            hint = _BARE if isinstance(mark, bool) else ""
            self.problem(
                f"the pass mark is {said}; `pass` is one of {scale.words}{hint}", "scale", "pass"
            )
        elif mark == scale.ratings[0] and not scale.passing:
            words = (
                "the pass mark is the worst rating, so that everything passes; points go from worst"
                " to best"
            )
            self.problem(words, "scale", "pass")

    def _categories(
        self, points: list[tuple[Rating, Any, str]], passing: list[Any]
    ) -> Scale | None:
        """Points without an order: 1 for those that pass and 0 for the others, where no value is
        given.
        """
        at, made = ("scale", "points"), list[Point]()
        if not all(isinstance(rating, str) for rating, _, _ in points):
            self.problem(
                "a list of passing ratings is for categories, which are words", "scale", "pass"
            )
            return None
        for rating, value, meaning in points:
            value = float(rating in passing) if value is None else value
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not 0 <= value <= 1
            ):
                self.problem(
                    f"the value of the point {rating} must be a number from 0 to 1",
                    *at,
                    str(rating),
                )
                return None
            made.append(Point(rating, float(value), meaning))
        scale = Scale(
            tuple(made), None, tuple(rating for rating, _, _ in points if rating in passing)
        )
        if not passing:
            self.problem(f"no category passes; `pass` lists some of {scale.words}", "scale", "pass")
        for mark in passing:
            self._check_mark(mark, scale)
        return scale

    def _ratings(self, rating: object, at: tuple[str, ...]) -> list[Rating]:
        if type(rating) is int:
            return [rating]
        if isinstance(rating, str) and (span := _SPAN.fullmatch(rating.strip())):
            low, high = int(span[1]), int(span[2])
            if low < high < low + _MOST_POINTS:
                return list(range(low, high + 1))
        elif (
            isinstance(rating, str)
            and rating.strip()
            and len(rating) <= 60
            and rating.isprintable()
        ):
            return [rating]
        hint = _BARE if isinstance(rating, bool) else ""
        said = shorten(repr(rating), 40)
        self.problem(
            f"{said} is not a rating: a whole number, a span such as 1-3, or a word{hint}", *at
        )
        return []

    def _distinct(self, points: list[tuple[Rating, Any, str]]) -> bool:
        """Whether the points are of one kind, each there once, and not too few or too many."""
        at = ("scale", "points")
        ratings = [rating for rating, _, _ in points]
        words = ""
        if not 2 <= len(points) <= _MOST_POINTS:
            words = f"a scale has from 2 to {_MOST_POINTS} points, this one has {len(points)}"
        elif len(set(ratings)) != len(ratings):
            twice = sorted({str(r) for r in ratings if ratings.count(r) > 1})
            words = f"the scale has two points for {', '.join(twice)}"
        elif len({type(rating) for rating in ratings}) > 1:
            words = "the scale mixes numbers and words"
        if words:
            self.problem(words, *at)
        return not words

    def _order(
        self, points: list[tuple[Rating, Any, str]], step: int, mark: object
    ) -> Scale | None:
        at = ("scale", "points")
        numbers = [rating for rating, _, _ in points if isinstance(rating, int)]
        if numbers:
            points = sorted(points, key=lambda point: int(point[0]))
            low, high = int(points[0][0]), int(points[-1][0])
            due = range(low, min(high, low + 2 * _MOST_POINTS * step), step)
            if off := [str(n) for n in numbers if (n - low) % step]:
                self.problem(
                    f"the points must be {step} apart, as `step` says: {', '.join(off[:10])}"
                    " is not",
                    *at,
                )
                return None
            if gaps := [str(n) for n in due if n not in numbers]:
                self.problem(
                    f"the scale has a gap: no point says what {', '.join(gaps[:10])} means", *at
                )
                return None
        made: list[Point] = []
        for n, (rating, value, meaning) in enumerate(points):
            if value is None:
                value = n / (len(points) - 1)
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not 0 <= value <= 1
            ):
                self.problem(
                    f"the value of the point {rating} must be a number from 0 to 1",
                    *at,
                    str(rating),
                )
                return None
            if made and (math.isnan(value) or value < made[-1].value):
                self.problem(
                    f"the values must not fall: {rating} has a lower value than {made[-1].rating}",
                    *at,
                )
                return None
            made.append(Point(rating, float(value), meaning))
        scale = Scale(tuple(made), made[-1].rating)
        self._check_mark(mark, scale)
        return Scale(scale.points, mark) if isinstance(mark, (int, str)) else None

    def _flags(self, scale: Scale | None, writes: str) -> tuple[Flag, ...]:
        if "flags" not in self.given:
            return self.base.flags if self.base is not None else ()
        given, flags = self.given["flags"] or {}, list[Flag]()
        if not isinstance(given, dict):
            self.problem("flags must be a mapping of names to meanings", "flags")
            return ()
        for name, entry in given.items():
            entry = entry if isinstance(entry, dict) else {"meaning": entry}
            meaning, end = entry.get("meaning"), entry.get("rating", "")
            if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED:
                self.problem(
                    f"{shorten(str(name))!r} cannot be the name of a flag", "flags", str(name)
                )
            elif not isinstance(meaning, str) or end not in ("", "lowest", "highest"):
                words = (
                    f"the flag {name} needs a meaning, and `rating`, if given, is lowest or highest"
                )
                self.problem(words, "flags", name)
            elif end and (writes != "ratings" or (scale is not None and scale.pass_mark is None)):
                why = (
                    "there is none"
                    if writes != "ratings"
                    else "categories have no lowest and no highest one"
                )
                self.problem(f"the flag {name} cannot fix the rating: {why}", "flags", name)
            else:
                flags.append(Flag(name, meaning.strip(), end))
        return tuple(flags)

    def _wordings(self, inputs: tuple[str, ...]) -> tuple[str, Mapping[str, str]]:
        if "wordings" not in self.given:
            return (self.base.wording_by, self.base.wordings) if self.base is not None else ("", {})
        given = self.given["wordings"] or {}
        if given == {}:
            return "", {}
        if not isinstance(given, dict) or set(given) != {"by", *SHAPES}:
            self.problem(f"wordings needs exactly the keys by, {', '.join(SHAPES)}", "wordings")
        elif given["by"] not in inputs or given["by"] in LISTS:
            self.problem("wordings.by must be the name of an input with one text", "wordings", "by")
        elif not all(isinstance(given[shape], str) and given[shape].strip() for shape in SHAPES):
            self.problem("every wording must be a text", "wordings")
        else:
            return given["by"], {shape: given[shape].strip() for shape in SHAPES}
        return "", {}

    def _examples(
        self, inputs: tuple[str, ...], scale: Scale | None, flags: tuple[Flag, ...], writes: str
    ) -> tuple[Mapping[str, object], ...]:
        if "examples" not in self.given:
            return self._moved_examples(scale)
        given = self.given["examples"] or []
        if not isinstance(given, list):
            self.problem("examples must be a list", "examples")
            return ()
        answer = (
            {"rating", "reasoning", "quotes", "supported_by"} if writes == "ratings" else {writes}
        )
        answer |= {flag.name for flag in flags}
        for n, example in enumerate(given):
            at = ("examples", str(n))
            if not isinstance(example, dict):
                self.problem(f"example {n + 1} must be a mapping", *at)
                continue
            for key in set(map(str, example)) - answer - set(inputs):
                self.problem(
                    f"example {n + 1}: {shorten(key)!r} is no input and no part of a verdict",
                    *at,
                    key,
                )
            for key in set(inputs) & set(example):
                many = isinstance(example[key], list) and all(
                    isinstance(text, str) for text in example[key]
                )
                if not (isinstance(example[key], str) if key not in LISTS else many):
                    kind = "a list of texts" if key in LISTS else "a text"
                    self.problem(f"example {n + 1}: {key} must be {kind}", *at, key)
            if not set(inputs) & set(example):
                self.problem(f"example {n + 1} gives none of the inputs", *at)
            rating = example.get("rating")
            if scale is not None and (
                type(rating) not in (int, str) or rating not in scale.ratings
            ):
                words = (
                    f"example {n + 1} has the rating {shorten(repr(rating), 40)}, the scale offers"
                    f" {scale.words}"
                )
                self.problem(words, *at, "rating")
            if not isinstance(example.get("reasoning", ""), str):
                self.problem(f"example {n + 1}: reasoning must be a text", *at, "reasoning")
            self._check_example(n, example, flags, writes, inputs)
        return tuple(given)

    def _check_example(
        self,
        n: int,
        example: Mapping[str, Any],
        flags: tuple[Flag, ...],
        writes: str,
        inputs: tuple[str, ...],
    ) -> None:
        at = ("examples", str(n))
        for flag in flags:
            if type(example.get(flag.name, False)) is not bool:
                self.problem(f"example {n + 1}: {flag.name} must be true or false", *at, flag.name)
        quote: dict[str, type] = {"passage": int, "text": str}
        if writes == "quotes" and "contexts" not in inputs:
            del quote["passage"]
        for name, kinds in {"quotes": quote, "claims": {"text": str, "trivial": bool}}.items():
            entries = example.get(name, [])
            fits = isinstance(entries, list) and all(
                isinstance(e, dict) and {k: type(v) for k, v in e.items()} == kinds for e in entries
            )
            if not fits or (name == writes and name not in example):
                self.problem(
                    f"example {n + 1}: {name} must be a list of {' and '.join(kinds)}", *at, name
                )
        for name, kind, words in (
            ("texts", str, "texts"),
            ("supported_by", int, "numbers of passages"),
        ):
            entries = example.get(name, [])
            fits = isinstance(entries, list) and all(type(e) is kind for e in entries)
            if not fits or (name == writes and name not in example):
                self.problem(f"example {n + 1}: {name} must be a list of {words}", *at, name)

    def _moved_examples(self, scale: Scale | None) -> tuple[Mapping[str, object], ...]:
        """The base's examples; under another scale each rating becomes the one whose value is
        nearest to its own.
        """
        base = self.base
        if base is None or base.scale is None or scale is None or base.scale == scale:
            return base.examples if base is not None else ()
        old = base.scale
        moved: list[Mapping[str, object]] = []
        for example in base.examples:
            rating = example["rating"]
            assert isinstance(rating, (int, str))
            moved.append({**example, "rating": scale.nearest(old.value(rating))})
        return tuple(moved)

    # -- the texts and the contract

    def _check_texts(self, rubric: Rubric) -> None:
        scale = tuple(rubric.scale.placeholders) if rubric.scale is not None else ()
        allowed = {
            "criteria": {*scale},
            "system": {*scale, *_PARTS},
            "user": {*scale, *_PARTS, *rubric.inputs},
        }
        used: dict[str, set[str]] = {}
        for part in SECTIONS:
            text = getattr(rubric, part)
            used[part] = {name for name, _ in placeholders(text)}
            for name, at in placeholders(text):
                if name in allowed[part]:
                    continue
                if self.full:
                    return
                hint = nearest(name, allowed[part])
                if name in ("scale.lowest", "scale.highest") and rubric.scale is not None:
                    hint = " Categories have no lowest and no highest one."
                elif name in rubric.inputs:
                    hint = " The texts to judge belong into the section User."
                    if self.custom and not {"system", "user"} & set(self.sections):
                        hint = (
                            " Leave it out: the inputs are put behind the criteria by themselves."
                        )
                self._text_problem(part, at, f"unknown placeholder {{{{{name}}}}}.{hint}")
            for at in stray_braces(text):
                if self.full:
                    return
                self._text_problem(
                    part, at, "double braces that are no placeholder of the form {{name}}"
                )
        needed = {
            "reply": True,
            "criteria": bool(rubric.criteria.strip()),
            "scale": rubric.scale is not None,
        }
        needed |= {"examples": bool(rubric.examples), "wording": bool(rubric.wordings)}
        everywhere = used["system"] | used["user"] | used["criteria"]
        for name in (
            name for name, is_needed in needed.items() if is_needed and name not in everywhere
        ):
            self._text_problem("system", 0, f"the placeholder {{{{{name}}}}} is missing")
        for name in rubric.inputs:
            if name not in used["user"]:
                self._text_problem(
                    "user",
                    0,
                    f"the placeholder {{{{{name}}}}} is missing: {name} is one of the inputs",
                )

    def _text_problem(self, part: str, at: int, text: str) -> None:
        section = self.sections.get(part)
        line = section.line + section.text.count("\n", 0, at) if section is not None else 1
        self.problem_at(line, f"section {part.capitalize()}: {text}")

    def _check_contract(self, rubric: Rubric) -> None:
        several = "contexts" in rubric.inputs
        if rubric.asks_sources and not several:
            self.problem("asks_sources needs contexts among the inputs", "asks_sources")
        if (
            (rubric.asks_quotes or rubric.writes == "quotes")
            and not several
            and "context" not in rubric.inputs
        ):
            self.problem(
                "quotes need contexts or context among the inputs: that is where they are"
                " looked up",
                "writes" if rubric.writes == "quotes" else "asks_quotes",
            )
        built_in = rubric if not self.own else self.rubrics.builtin.get(rubric.id)
        if built_in is None:
            self._check_name(rubric.id)
            return
        if extra := sorted(set(rubric.inputs) - set(built_in.inputs)):
            self.problem(
                f"{rubric.id} is given {', '.join(built_in.inputs)} and no {', '.join(extra)}",
                "inputs",
            )
        if rubric.id in REASONS_ARE_MANDATORY and not rubric.asks_reasons:
            self.problem(
                f"{rubric.id} always asks for reasons; asks_reasons cannot be switched off",
                "asks_reasons",
            )
        if rubric.id in SOURCES_ARE_MANDATORY and not rubric.asks_sources:
            self.problem(
                f"{rubric.id} asks for nothing but sources; asks_sources must be true",
                "asks_sources",
            )
        if rubric.writes != built_in.writes:
            self.problem(f"{rubric.id} must write {built_in.writes}", "writes")
        if missing := set(FLAGS.get(rubric.id, ())) - {flag.name for flag in rubric.flags}:
            self.problem(
                f"{rubric.id} must keep the flags that metrics read: {', '.join(sorted(missing))}",
                "flags",
            )

    def _check_name(self, name: str) -> None:
        if name in self.reserved or name in NOT_RUBRICS:
            self.problem(
                f"{name} is the name of a metric or of a built-in measure; choose another id", "id"
            )
        earlier = self.rubrics.file(name)
        if earlier and self.given.get("extends") != name:
            self.problem(
                f"{name} is already the id of {shorten(earlier, 200)}; choose another id", "id"
            )


def _or(names: Sequence[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"
