"""Which rubrics are there? Reads rubric files (YAML front matter, Markdown sections) and names all that is wrong.

A file of the user's replaces the rubric with its id, and with `extends: ID` gives only what it changes. The form of a
file is described in docs/rubrics.md. Nothing in a file is executed, and YAML aliases are refused: a few lines of them stand for
gigabytes.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import SetupError, nearest, shorten
from ragassay.judges.rubric import Flag, Point, Rating, Rubric, Scale
from ragassay.judges.template import placeholders, stray_braces

if TYPE_CHECKING:
    import yaml

# What the metrics hand to a rubric of this id; a file that replaces it cannot ask for more.
INPUTS: Mapping[str, tuple[str, ...]] = {
    "context_relevance": ("question", "context"),
    "chunk_relevance": ("question", "context"),
    "groundedness": ("question", "response", "contexts", "claim"),
    "answer_relevance": ("question", "response"),
    "answer_relevance_5": ("question", "response"),
    "claims": ("question", "response"),
}
REASONS_ARE_MANDATORY = frozenset({"groundedness"})
SHAPES = ("question", "phrase", "statement")
SECTIONS = ("system", "criteria", "user")

_KEYS = (
    "id", "version", "extends", "purpose", "source", "inputs", "item", "batch", "asks_reasons", "asks_quotes", "writes",
    "flags", "scale", "wordings", "examples",
)  # fmt: skip
_SCALE_WORDS = ("scale", "scale.lowest", "scale.highest", "scale.pass", "scale.words")
_PARTS = ("criteria", "wording", "examples", "reply")
_RESERVED = frozenset({"id", "reasoning", "quotes", "rating", "claims", "verdicts"})
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,39}")
_SPAN = re.compile(r"(-?\d{1,4})\s*(?:-|–|to|\.\.)\s*(-?\d{1,4})")
_HEADING = re.compile(r"^##[ \t]+(.*?)[ \t]*$", re.M)
_MOST_BYTES, _MOST_POINTS, _MOST_BATCH = 1_000_000, 101, 100

_FIX = "see docs/rubrics.md; `ragassay rubric check FILE` lists every mistake of a file"
_MISSING = object()


class RubricBook:
    """The rubrics of a run: the built-in ones, or a user's where a file replaces them. A value: never changed."""

    def __init__(self, rubrics: Mapping[str, Rubric]) -> None:
        self._rubrics = dict(rubrics)

    @classmethod
    def default(cls) -> RubricBook:
        """The rubrics that come with the package."""
        global _default
        if _default is None:
            book = cls({})
            folder = Path(__file__).parent / "rubrics"
            # What extends another one comes after it: answer_relevance before answer_relevance_5.
            for path in sorted(folder.glob("*.md"), key=lambda p: p.stem):
                book = book._with(path, own=False)
            _default = book
        return _default

    def with_files(self, paths: Iterable[str | os.PathLike[str]]) -> RubricBook:
        """A book in which these files replace the rubrics with their ids; a later file can extend an earlier one.

        Raises SetupError E0204 that names every mistake with file and line.
        """
        book = self
        for path in paths:
            book = book._with(Path(path), own=True)
        return book

    def _with(self, path: Path, *, own: bool) -> RubricBook:
        reading = _Reading(path, self, own)
        rubric = reading.rubric()
        if reading.problems or rubric is None:
            problems = reading.found
            raise SetupError(
                "E0204",
                f"The rubric file has {len(problems)} mistake{'s' if len(problems) > 1 else ''}.",
                where=problems[0].partition(": ")[0],
                why="\n       ".join(problems),
                fix=_FIX,
            )
        return RubricBook({**self._rubrics, rubric.id: rubric})

    def ids(self) -> tuple[str, ...]:
        """The ids of all rubrics, sorted."""
        return tuple(sorted(self._rubrics))

    def get(self, rubric_id: str) -> Rubric:
        """The rubric with this id (without version). Raises SetupError E0203 when there is none."""
        if rubric_id not in self._rubrics:
            raise SetupError(
                "E0203",
                f"No rubric has the id {shorten(rubric_id)!r}.{nearest(rubric_id, self._rubrics)}",
                fix=f"rubrics: {', '.join(self.ids())}; or give a file with that id by --rubric FILE",
            )
        return self._rubrics[rubric_id]

    def __contains__(self, rubric_id: object) -> bool:
        return rubric_id in self._rubrics


_default: RubricBook | None = None


def check(path: str | os.PathLike[str]) -> list[str]:
    """Everything that is wrong in a rubric file, as "file:line: problem"; [] for a valid one."""
    reading = _Reading(Path(path), RubricBook.default(), own=True)
    reading.rubric()
    return reading.found


@dataclass(slots=True)
class _Section:
    text: str
    line: int  # of its first line of text, in the file


@dataclass(slots=True)
class _Reading:
    """One file being read: what it gives, what it inherits, and every problem found so far."""

    path: Path
    book: RubricBook
    own: bool
    problems: list[tuple[int, str]] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    lines: dict[tuple[str, ...], int] = field(default_factory=dict)
    sections: dict[str, _Section] = field(default_factory=dict)
    base: Rubric | None = None

    @property
    def found(self) -> list[str]:
        return [f"{self.path}:{line}: {text}" for line, text in sorted(self.problems)]

    def problem(self, text: str, *key: str) -> None:
        while key and key not in self.lines:
            key = key[:-1]
        self.problems.append((self.lines.get(key, 1), text))

    # -- the file

    def rubric(self) -> Rubric | None:
        """The rubric, or None when there are problems."""
        if not self._read():
            return None
        self._extends()
        rubric = self._build()
        if rubric is not None:
            self._check_texts(rubric)
            self._check_contract(rubric)
        return None if self.problems else rubric

    def _read(self) -> bool:
        try:
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
                self.problem("the file must begin with a front matter: a line ---, YAML, and a line ---")
                return False
            return self._read_front(front[1] or "") and self._read_sections(text, front.end())
        return False

    def _read_front(self, front: str) -> bool:
        import yaml

        try:
            events = yaml.parse(front, yaml.SafeLoader) if "*" in front else ()
            alias = next((event for event in events if isinstance(event, yaml.AliasEvent)), None)
            if alias is not None:
                words = f"the alias *{shorten(alias.anchor, 40)}: aliases cannot be used here, write the value out"
                self.problems.append(((alias.start_mark.line if alias.start_mark else 0) + 2, words))
                return False
            node = yaml.compose(front, yaml.SafeLoader)
            value = yaml.safe_load(front)
            repr(value)  # raises here, for a number of 5,000 digits, what it would raise in some message below
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line if error.problem_mark else 0
            self.problems.append((line + 2, f"the front matter is not valid YAML: {error.problem}"))
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
            if key not in _KEYS:
                self.problem(f"{shorten(str(key))!r} is not a key of a rubric.{nearest(str(key), _KEYS)}", str(key))
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
                # By place as well: YAML may read a key as something else than what is written there.
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
        before = text[at : headings[0].start() if headings else len(text)]
        if before.strip():
            line = text.count("\n", 0, at + len(before) - len(before.lstrip())) + 1
            self.problems.append((line, "text before the first section; sections are ## System, ## Criteria, ## User"))
        for heading, after in zip_longest(headings, headings[1:]):
            name, line = heading[1].lower(), text.count("\n", 0, heading.start()) + 1
            if name not in SECTIONS:
                words = f"{shorten(heading[1])!r} is not a section; sections are ## System, ## Criteria, ## User"
                self.problems.append((line, words))
            elif name in self.sections:
                self.problems.append((line, f"the section {heading[1]!r} is given twice"))
            else:
                body = text[heading.end() : after.start() if after else len(text)]
                self.sections[name] = _Section(body.strip("\n"), line + len(body) - len(body.lstrip("\n")))
        return True

    def _extends(self) -> None:
        name = self.given.get("extends")
        if name is None:
            return
        if not isinstance(name, str) or name not in self.book:
            hint = nearest(str(name), self.book.ids())
            self.problem(f"extends: no rubric has the id {shorten(name)!r}.{hint}", "extends")
        else:
            self.base = self.book.get(name)

    # -- the values

    def _get(self, key: str, kind: type | tuple[type, ...], words: str, default: Any) -> Any:
        """The value given (checked), else the base's, else the default; `_MISSING` when none may be left out."""
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
        version = self._get("version", (str, int, float), "a number or a name", _MISSING)
        if version is not None and not _VERSION.fullmatch(str(version)):
            self.problem("version must be made of letters, digits, '.', '-' and '_'", "version")
        inputs = self._names("inputs")
        item = self._get("item", str, "the name of an input", _MISSING)
        if inputs and item is not None and item not in inputs:
            self.problem(f"item must be one of the inputs ({', '.join(inputs)})", "item")
        elif item == "contexts":
            self.problem("item cannot be contexts, which is a list of texts; use context", "item")
        batch = self._get("batch", int, f"a whole number from 1 to {_MOST_BATCH}", 1)
        if not 1 <= batch <= _MOST_BATCH:
            self.problem(f"batch must be a whole number from 1 to {_MOST_BATCH}", "batch")
        writes = self._get("writes", str, '"ratings" or "claims"', "ratings")
        if writes not in ("ratings", "claims"):
            self.problem('writes must be "ratings" or "claims"', "writes")
        scale = self._scale() if writes != "claims" else None
        wording_by, wordings = self._wordings(inputs)
        flags = self._flags()
        examples = self._examples(inputs, scale, flags, writes)
        texts = {part: self._section(part) for part in SECTIONS}
        asks_reasons = self._get("asks_reasons", bool, "true or false", True)
        asks_quotes = self._get("asks_quotes", bool, "true or false", False)
        purpose = self._get("purpose", str, "a sentence", _MISSING)
        source = self._get("source", str, "a text", "")
        if self.problems:
            return None
        return Rubric(
            id=name, version=str(version), purpose=purpose, source=source, inputs=inputs, item=item, batch=batch,
            scale=scale, asks_reasons=asks_reasons, asks_quotes=asks_quotes, writes=writes, flags=flags,
            wording_by=wording_by, wordings=wordings, examples=examples, own=self.own, **texts,
        )  # fmt: skip

    def _section(self, part: str) -> str:
        if part in self.sections:
            if not self.sections[part].text.strip():
                self.problems.append((self.sections[part].line, f"the section {part.capitalize()} is empty"))
            return self.sections[part].text
        if self.base is not None:
            return str(getattr(self.base, part))
        if part != "criteria":
            self.problem(f"the section ## {part.capitalize()} is missing")
        return ""

    def _names(self, key: str) -> tuple[str, ...]:
        names = self._get(key, (list, tuple), "a list of names", _MISSING) or ()
        bad = [n for n in names if not isinstance(n, str) or not _NAME.fullmatch(n)]
        if bad or len(set(map(str, names))) != len(names) or (not names and key in self.given):
            self.problem(f"{key} must be a list of different names in small letters", key)
            return ()
        return tuple(names)

    def _scale(self) -> Scale | None:
        given = self.given.get("scale")
        if given is None and self.base is not None and self.base.scale is not None and "scale" not in self.given:
            return self.base.scale
        if not isinstance(given, dict) or not isinstance(given.get("points"), (dict, list)):
            self.problem("scale is missing, or is not a mapping with `points` and `pass`", "scale")
            return None
        before = len(self.problems)
        for key in set(given) - {"points", "pass"}:
            self.problem(f"{shorten(str(key))!r} is no key of a scale; its keys are points and pass", "scale", str(key))
        raw = given["points"]
        rows = list(raw.items()) if isinstance(raw, dict) else [(None, row) for row in raw]
        points: list[tuple[Rating, Any, str]] = []
        for n, (key, row) in enumerate(rows):
            at = ("scale", "points", f"#{n}" if isinstance(raw, dict) else str(n))
            entry = row if isinstance(row, dict) else {"meaning": row}
            rating = key if isinstance(raw, dict) else entry.get("rating")
            meaning = entry.get("meaning")
            if not isinstance(meaning, str) or not meaning.strip():
                self.problem(f"the point {shorten(str(rating))} has no criteria: say in words what it means", *at)
                continue
            for extra in set(entry) - {"rating", "value", "meaning"}:
                self.problem(f"{shorten(str(extra))!r} is not a key of a point", *at)
            points += [(r, entry.get("value"), meaning.strip()) for r in self._ratings(rating, at)]
        scale = self._order(points)
        mark = given.get("pass", _MISSING)
        if scale is not None and (type(mark) not in (int, str) or mark not in scale.ratings):
            said = "missing" if mark is _MISSING else f"{shorten(repr(mark), 40)}, which the scale does not offer"
            self.problem(f"the pass mark is {said}; `pass` is one of {scale.words}", "scale", "pass")
        if scale is None or len(self.problems) > before:
            return None
        return Scale(scale.points, mark)

    def _ratings(self, rating: object, at: tuple[str, ...]) -> list[Rating]:
        if type(rating) is int:
            return [rating]
        if isinstance(rating, str) and (span := _SPAN.fullmatch(rating.strip())):
            low, high = int(span[1]), int(span[2])
            if low < high < low + _MOST_POINTS:
                return list(range(low, high + 1))
        elif isinstance(rating, str) and rating.strip() and len(rating) <= 60 and rating.isprintable():
            return [rating]
        hint = ' (YAML reads a bare yes or no as true or false: write "yes", "no")' if isinstance(rating, bool) else ""
        said = shorten(repr(rating), 40)
        self.problem(f"{said} is not a rating: a whole number, a span such as 1-3, or a word{hint}", *at)
        return []

    def _order(self, points: list[tuple[Rating, Any, str]]) -> Scale | None:
        at = ("scale", "points")
        ratings = [rating for rating, _, _ in points]
        numbers = [rating for rating in ratings if isinstance(rating, int)]
        if len(set(ratings)) != len(ratings):
            twice = sorted({str(r) for r in ratings if ratings.count(r) > 1})
            self.problem(f"the scale has two points for {', '.join(twice)}", *at)
            return None
        if numbers and len(numbers) != len(ratings):
            self.problem("the scale mixes numbers and words", *at)
            return None
        if not 2 <= len(points) <= _MOST_POINTS:
            self.problem(f"a scale has from 2 to {_MOST_POINTS} points, this one has {len(points)}", *at)
            return None
        if numbers:
            points = sorted(points, key=lambda point: int(point[0]))
            low, high = int(points[0][0]), int(points[-1][0])
            gaps = [str(n) for n in range(low, min(high, low + 2 * _MOST_POINTS)) if n not in numbers]
            if gaps:
                self.problem(f"the scale has a gap: no point says what {', '.join(gaps[:10])} means", *at)
                return None
        made: list[Point] = []
        for n, (rating, value, meaning) in enumerate(points):
            if value is None:
                value = n / (len(points) - 1)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                self.problem(f"the value of the point {rating} must be a number from 0 to 1", *at, str(rating))
                return None
            if made and (math.isnan(value) or value < made[-1].value):
                self.problem(f"the values must not fall: {rating} has a lower value than {made[-1].rating}", *at)
                return None
            made.append(Point(rating, float(value), meaning))
        return Scale(tuple(made), made[-1].rating)

    def _flags(self) -> tuple[Flag, ...]:
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
                self.problem(f"{shorten(str(name))!r} cannot be the name of a flag", "flags", str(name))
            elif not isinstance(meaning, str) or end not in ("", "lowest", "highest"):
                words = f"the flag {name} needs a meaning, and `rating`, if given, is lowest or highest"
                self.problem(words, "flags", name)
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
        elif given["by"] not in inputs or given["by"] == "contexts":
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
        answer = {"claims"} if writes == "claims" else {"rating", "reasoning", "quotes", *(flag.name for flag in flags)}
        for n, example in enumerate(given):
            at = ("examples", str(n))
            if not isinstance(example, dict):
                self.problem(f"example {n + 1} must be a mapping", *at)
                continue
            for key in set(map(str, example)) - answer - set(inputs):
                self.problem(f"example {n + 1}: {shorten(key)!r} is no input and no part of a verdict", *at, key)
            for key in set(inputs) & set(example):
                many = isinstance(example[key], list) and all(isinstance(text, str) for text in example[key])
                if not (isinstance(example[key], str) if key != "contexts" else many):
                    kind = "a list of texts" if key == "contexts" else "a text"
                    self.problem(f"example {n + 1}: {key} must be {kind}", *at, key)
            if not set(inputs) & set(example):
                self.problem(f"example {n + 1} gives none of the inputs", *at)
            rating = example.get("rating")
            if scale is not None and (type(rating) not in (int, str) or rating not in scale.ratings):
                words = f"example {n + 1} has the rating {shorten(repr(rating), 40)}, the scale offers {scale.words}"
                self.problem(words, *at, "rating")
            if not isinstance(example.get("reasoning", ""), str):
                self.problem(f"example {n + 1}: reasoning must be a text", *at, "reasoning")
            self._check_example(n, example, flags, writes)
        return tuple(given)

    def _check_example(self, n: int, example: Mapping[str, Any], flags: tuple[Flag, ...], writes: str) -> None:
        at = ("examples", str(n))
        for flag in flags:
            if type(example.get(flag.name, False)) is not bool:
                self.problem(f"example {n + 1}: {flag.name} must be true or false", *at, flag.name)
        for name, kinds in {"quotes": {"passage": int, "text": str}, "claims": {"text": str, "trivial": bool}}.items():
            entries = example.get(name, [])
            fits = isinstance(entries, list) and all(
                isinstance(e, dict) and {k: type(v) for k, v in e.items()} == kinds for e in entries
            )
            if not fits or (name == "claims" == writes and name not in example):
                self.problem(f"example {n + 1}: {name} must be a list of {' and '.join(kinds)}", *at, name)

    def _moved_examples(self, scale: Scale | None) -> tuple[Mapping[str, object], ...]:
        """The base's examples; under another scale each rating becomes the one whose value is nearest to its own."""
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
        scale = _SCALE_WORDS if rubric.scale is not None else ()
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
                hint = nearest(name, allowed[part])
                if name in rubric.inputs:
                    hint = " The texts to judge belong into the section User."
                self._text_problem(part, at, f"unknown placeholder {{{{{name}}}}}.{hint}")
            for at in stray_braces(text):
                self._text_problem(part, at, "double braces that are no placeholder of the form {{name}}")
        needed = {"reply": True, "criteria": bool(rubric.criteria.strip()), "scale": rubric.scale is not None}
        needed |= {"examples": bool(rubric.examples), "wording": bool(rubric.wordings)}
        everywhere = used["system"] | used["user"] | used["criteria"]
        for name in (name for name, is_needed in needed.items() if is_needed and name not in everywhere):
            self._text_problem("system", 0, f"the placeholder {{{{{name}}}}} is missing")
        for name in rubric.inputs:
            if name not in used["user"]:
                self._text_problem("user", 0, f"the placeholder {{{{{name}}}}} is missing: {name} is one of the inputs")

    def _text_problem(self, part: str, at: int, text: str) -> None:
        section = self.sections.get(part)
        line = section.line + section.text.count("\n", 0, at) if section is not None else 1
        self.problems.append((line, f"section {part.capitalize()}: {text}"))

    def _check_contract(self, rubric: Rubric) -> None:
        known = INPUTS.get(rubric.id)
        if known is not None and not set(rubric.inputs) <= set(known):
            extra = ", ".join(sorted(set(rubric.inputs) - set(known)))
            self.problem(f"{rubric.id} is given {', '.join(known)} and no {extra}", "inputs")
        if rubric.id in REASONS_ARE_MANDATORY and not rubric.asks_reasons:
            self.problem(f"{rubric.id} always asks for reasons; asks_reasons cannot be switched off", "asks_reasons")
        if (rubric.id == "claims") != (rubric.writes == "claims") and known is not None:
            self.problem(f"{rubric.id} must write {'claims' if rubric.id == 'claims' else 'ratings'}", "writes")
