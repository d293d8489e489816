"""What is a rubric: how one kind of Request is judged, as a frozen value, with the texts that
follow from it.

The scale is said once. Everything in a prompt that speaks of ratings (the list of points, "the
highest", the examples, the form of the reply, the JSON schema) is written from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ragassay.core import digest
from ragassay.judges.fence import NOTICE
from ragassay.judges.template import fill

Rating = int | str

# Raised when the form of the reply or of the prompt around a rubric's text changes: old judgments
# are then not reused.
FORM = 2

# Inputs that are a list of texts -> what one text of the list is called in a prompt, where each has
# its number.
LISTS: Mapping[str, str] = {
    "contexts": "passage",
    "statements": "statement",
    "expected_facts": "expected fact",
    "guidelines": "guideline",
}


@dataclass(frozen=True, slots=True)
class Point:
    """One rating: what it means, and its value in [0, 1]."""

    rating: Rating
    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Scale:
    """The ratings a rubric offers: worst first; categories, which have no order, as the file lists
    them.

    pass_mark: the lowest rating that passes, None for categories. passing: the categories that
    pass, () where there is an order.
    """

    points: tuple[Point, ...]
    pass_mark: Rating | None
    passing: tuple[Rating, ...] = ()
    ratings: tuple[Rating, ...] = field(init=False, repr=False, compare=False)
    """All ratings, in the order of the points."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratings", tuple(point.rating for point in self.points))

    @property
    def lowest(self) -> Rating:
        """The worst rating; of categories the first that has the lowest value."""
        return min(self.points, key=lambda point: point.value).rating

    @property
    def highest(self) -> Rating:
        """The best rating; of categories the last that has the highest value."""
        return max(reversed(self.points), key=lambda point: point.value).rating

    def value(self, rating: Rating) -> float:
        """The rating mapped to [0, 1]. Raises ValueError for a rating the scale does not offer."""
        return self.points[self.ratings.index(rating)].value

    def passes(self, rating: Rating) -> bool:
        """Whether the rating reaches the pass mark, or is one of the categories that pass."""
        if self.pass_mark is None:
            return rating in self.passing
        return self.ratings.index(rating) >= self.ratings.index(self.pass_mark)

    def nearest(self, value: float) -> Rating:
        """The rating whose value is nearest to `value`; the lower one when two are equally near."""
        return min(self.points, key=lambda point: abs(point.value - value)).rating

    @property
    def words(self) -> str:
        """The ratings in words: "0, 1, 2 or 3", or '"no" or "yes"', or "a whole number from 0 to
        10".
        """
        low, high = self.ratings[0], self.ratings[-1]
        if (
            len(self.points) > 6
            and isinstance(low, int)
            and isinstance(high, int)
            and high - low < len(self.points)
        ):
            return f"a whole number from {low} to {high}"
        return _or([json.dumps(rating, ensure_ascii=False) for rating in self.ratings])

    @property
    def listing(self) -> str:
        """One line a point (points in a row that mean the same share a line), worst first."""
        groups: list[list[Point]] = []
        for point in self.points:
            if groups and groups[-1][-1].meaning == point.meaning:
                groups[-1].append(point)
            else:
                groups.append([point])
        return "\n".join(f"- {_span(group)}: {group[0].meaning}" for group in groups)

    @property
    def placeholders(self) -> dict[str, str]:
        """What a rubric's text may say of its scale; categories have no lowest and no highest one."""
        words = {"scale": self.listing, "scale.words": self.words}
        if self.pass_mark is None:
            return {**words, "scale.pass": _or([str(rating) for rating in self.passing])}
        ends = {"scale.lowest": str(self.lowest), "scale.highest": str(self.highest)}
        return {**words, **ends, "scale.pass": str(self.pass_mark)}


def _or(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _span(group: list[Point]) -> str:
    return str(group[0].rating) if len(group) == 1 else f"{group[0].rating} to {group[-1].rating}"


@dataclass(frozen=True, slots=True)
class Flag:
    """A yes/no field of the reply. end: "lowest" or "highest" when a true flag fixes the rating,
    else "".
    """

    name: str
    meaning: str
    end: str = ""


@dataclass(frozen=True)
class Rubric:
    """How one kind of Request is judged.

    inputs: the names of the texts it reads; item: the one that varies in a call of up to `batch`
    items. writes: "ratings" (on the scale, which is None for the others), "claims", "quotes" (of
    the context, or of the contexts) or "texts". asks_sources: each verdict names the contexts that
    support the item. wordings: shape of the input `wording_by` -> text. system, criteria, user:
    templates. own: from a user's file.

    level: "" for a built-in id; of a custom judge "answer" (one Request a row) or "retrieval" (one
    a context). row: at the level "retrieval", whether a row passes when "any" of its contexts does,
    or "all". guidelines: each of them is an item "guideline" of its own.
    """

    id: str
    version: str
    purpose: str
    source: str
    inputs: tuple[str, ...]
    item: str
    batch: int
    system: str
    criteria: str
    user: str
    scale: Scale | None = None
    asks_reasons: bool = True
    asks_quotes: bool = False
    asks_sources: bool = False
    writes: str = "ratings"
    flags: tuple[Flag, ...] = ()
    wording_by: str = ""
    wordings: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[Mapping[str, object], ...] = ()
    own: bool = False
    level: str = ""
    row: str = "any"
    guidelines: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Hash of everything in the rubric that can change a judgment.

        Not: purpose and source; level, row and guidelines, which only say which Requests there are
        and what becomes of their Judgments.
        """
        scale = self.scale
        return digest(
            FORM,
            self.id,
            (
                self.inputs,
                self.item,
                self.batch,
                self.asks_reasons,
                self.asks_quotes,
                self.asks_sources,
                self.writes,
            ),
            [(flag.name, flag.meaning, flag.end) for flag in self.flags],
            scale
            and (
                [(p.rating, p.value, p.meaning) for p in scale.points],
                scale.pass_mark,
                scale.passing,
            ),
            (self.wording_by, dict(self.wordings), [dict(example) for example in self.examples]),
            (self.system, self.criteria, self.user),
        )

    @property
    def ref(self) -> str:
        """ "id@version", with a short hash behind it for a user's file, whose version nobody keeps."""
        if not self.own:
            return f"{self.id}@{self.version}"
        return f"{self.id}@{self.version}+{digest(self.digest, self.level, self.row, self.guidelines)[:8]}"

    # -- the texts that follow from it

    def system_prompt(self, shape: str = "") -> str:
        """The stable part of the prompt: the same for every Request of this rubric (and shape)."""
        return fill(self.system, self._words(shape)).strip()

    def user_prompt(self, texts: Mapping[str, str], shape: str = "") -> str:
        """The part with the data. texts: input -> its fenced text(s)."""
        return fill(self.user, {**self._words(shape), **texts}).strip()

    def _words(self, shape: str) -> dict[str, str]:
        return {**self._fixed, "wording": self.wordings.get(shape, "")}

    @cached_property
    def _fixed(self) -> dict[str, str]:
        words = self.scale.placeholders if self.scale is not None else {}
        criteria = fill(self.criteria, words).strip()
        return {**words, "criteria": criteria, "examples": self._examples(), "reply": self._reply()}

    def _examples(self) -> str:
        lines = ["Examples:"] if self.examples else []
        for n, example in enumerate(self.examples, 1):
            lines.append(f"\nExample {n}")
            for name in self.inputs:
                if name in example:
                    lines.append(f"{name}: {_plain(example[name])}")
            shown = {name: example.get(name, False) for name in self._reply_fields(example)}
            lines.append(f"verdict: {json.dumps(shown, ensure_ascii=False)}")
        return "\n".join(lines)

    def _reply_fields(self, example: Mapping[str, object]) -> list[str]:
        flags = [flag.name for flag in self.flags]
        if self.writes != "ratings":
            return [self.writes, *flags]
        names = ["reasoning"] if self.asks_reasons and "reasoning" in example else []
        names += ["quotes"] if self.asks_quotes and "quotes" in example else []
        names += ["supported_by"] if self.asks_sources and "supported_by" in example else []
        return [*names, *flags, "rating"]

    def _reply(self) -> str:
        form, notes = self._rating_form() if self.writes == "ratings" else self._text_form()
        return "\n".join(
            [
                "Reply with one JSON object and nothing else:",
                f'{{"verdicts": [{{"id": "...", {form}}}, ...]}}',
                f"- One entry for each {self.item}, in the order given.",
                f'- "id": the id that stands at the {self.item}, copied exactly.',
                *(f"- {note}" for note in notes),
                "",
                NOTICE,
            ]
        )

    def _rating_form(self) -> tuple[str, list[str]]:
        assert self.scale is not None
        form, notes = [], []
        if self.asks_reasons:
            form.append('"reasoning": "..."')
            notes.append(
                '"reasoning": one to three sentences, written before the rating is chosen.'
            )
        if self.asks_quotes:
            form.append('"quotes": [{"passage": 1, "text": "..."}]')
            notes.append(
                '"quotes": word for word from the passages, with the number of the passage; [] when'
                " there is nothing to quote."
            )
        if self.asks_sources:
            form.append('"supported_by": [1]')
            notes.append(
                f'"supported_by": the numbers of all passages that support the {self.item}, each by'
                " itself or as a part that is needed; [] when none does."
            )
        flag_form, flag_notes = self._flag_form()
        form += [*flag_form, '"rating": RATING']
        notes += [*flag_notes, f'"rating": {self.scale.words}, no other value.']
        return ", ".join(form), notes

    def _text_form(self) -> tuple[str, list[str]]:
        if self.writes == "claims":
            form = '"claims": [{"text": "...", "trivial": false}, ...]'
            note = '"claims": the claims in order, each with "trivial" true or false.'
        elif self.writes == "texts":
            form = '"texts": ["...", ...]'
            note = '"texts": what is asked for, one text each; [] when there is none.'
        elif self.quotes_name_passages:
            form = '"quotes": [{"passage": 1, "text": "..."}, ...]'
            note = (
                '"quotes": word for word from the passages, each with the number of its passage; []'
                " when there is nothing to quote."
            )
        else:
            form = '"quotes": [{"text": "..."}, ...]'
            note = (
                f'"quotes": word for word from the {self.item}, in its order; [] when there is'
                " nothing to quote."
            )
        flag_form, flag_notes = self._flag_form()
        return ", ".join([form, *flag_form]), [note, *flag_notes]

    def _flag_form(self) -> tuple[list[str], list[str]]:
        form = [f'"{flag.name}": false' for flag in self.flags]
        return form, [
            f'"{flag.name}": {flag.meaning.strip()}; false otherwise.' for flag in self.flags
        ]

    @property
    def quotes_name_passages(self) -> bool:
        """Whether a quote says which passage it is from: not where quotes of one context are all
        that is written.
        """
        return self.writes != "quotes" or "contexts" in self.inputs


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " ".join(f"[{n}] {text}" for n, text in enumerate(value, 1)) or "(none)"
    return str(value).strip()
