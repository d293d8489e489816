"""What is a rubric: how one kind of Request is judged, as a frozen value, with the texts that follow from it.

The scale is said once. Everything in a prompt that speaks of ratings (the list of points, "the highest", the examples,
the form of the reply, the JSON schema) is written from it.
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

# Raised when the form of the reply or of the prompt around a rubric's text changes: old judgments are then not reused.
FORM = 1


@dataclass(frozen=True, slots=True)
class Point:
    """One rating: what it means, and its value in [0, 1]."""

    rating: Rating
    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Scale:
    """The ratings a rubric offers, worst first. pass_mark: the lowest rating that passes."""

    points: tuple[Point, ...]
    pass_mark: Rating

    @property
    def ratings(self) -> tuple[Rating, ...]:
        """All ratings, worst first."""
        return tuple(point.rating for point in self.points)

    @property
    def lowest(self) -> Rating:
        """The worst rating."""
        return self.points[0].rating

    @property
    def highest(self) -> Rating:
        """The best rating."""
        return self.points[-1].rating

    def value(self, rating: Rating) -> float:
        """The rating mapped to [0, 1]. Raises ValueError for a rating the scale does not offer."""
        return self.points[self.ratings.index(rating)].value

    def passes(self, rating: Rating) -> bool:
        """Whether the rating reaches the pass mark."""
        return self.ratings.index(rating) >= self.ratings.index(self.pass_mark)

    def nearest(self, value: float) -> Rating:
        """The rating whose value is nearest to `value`; the lower one when two are equally near."""
        return min(self.points, key=lambda point: abs(point.value - value)).rating

    @property
    def words(self) -> str:
        """The ratings in words: "0, 1, 2 or 3", or '"no" or "yes"', or "a whole number from 0 to 10"."""
        names = [json.dumps(rating, ensure_ascii=False) for rating in self.ratings]
        if len(names) > 6 and isinstance(self.lowest, int):
            return f"a whole number from {self.lowest} to {self.highest}"
        return f"{', '.join(names[:-1])} or {names[-1]}"

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
        """What a rubric's text may say of its scale."""
        return {
            "scale": self.listing,
            "scale.lowest": str(self.lowest),
            "scale.highest": str(self.highest),
            "scale.pass": str(self.pass_mark),
            "scale.words": self.words,
        }


def _span(group: list[Point]) -> str:
    return str(group[0].rating) if len(group) == 1 else f"{group[0].rating} to {group[-1].rating}"


@dataclass(frozen=True, slots=True)
class Flag:
    """A yes/no field of the reply. end: "lowest" or "highest" when a true flag fixes the rating, else ""."""

    name: str
    meaning: str
    end: str = ""


@dataclass(frozen=True)
class Rubric:
    """How one kind of Request is judged.

    inputs: the names of the texts it reads; item: the one that varies in a call of up to `batch` items. writes:
    "ratings" or "claims". wordings: shape of the input `wording_by` -> text. scale is None only where claims are
    written. system, criteria, user: templates. own: from a user's file.
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
    writes: str = "ratings"
    flags: tuple[Flag, ...] = ()
    wording_by: str = ""
    wordings: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[Mapping[str, object], ...] = ()
    own: bool = False

    @cached_property
    def digest(self) -> str:
        """Hash of everything in the rubric that can change a judgment (not: purpose and source)."""
        scale = self.scale
        return digest(
            FORM,
            self.id,
            (self.inputs, self.item, self.batch, self.asks_reasons, self.asks_quotes, self.writes),
            [(flag.name, flag.meaning, flag.end) for flag in self.flags],
            scale and ([(p.rating, p.value, p.meaning) for p in scale.points], scale.pass_mark),
            (self.wording_by, dict(self.wordings), [dict(example) for example in self.examples]),
            (self.system, self.criteria, self.user),
        )

    @property
    def ref(self) -> str:
        """ "id@version", with a short hash behind it for a user's file, whose version nobody keeps."""
        return f"{self.id}@{self.version}" + (f"+{self.digest[:8]}" if self.own else "")

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
        if self.writes == "claims":
            return ["claims"]
        names = ["reasoning"] if self.asks_reasons and "reasoning" in example else []
        names += ["quotes"] if self.asks_quotes and "quotes" in example else []
        return [*names, *(flag.name for flag in self.flags), "rating"]

    def _reply(self) -> str:
        if self.writes == "claims":
            form = '"claims": [{"text": "...", "trivial": false}, ...]'
            notes = ['"claims": the claims in order, each with "trivial" true or false.']
        else:
            form, notes = self._rating_form()
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
            notes.append('"reasoning": one to three sentences, written before the rating is chosen.')
        if self.asks_quotes:
            form.append('"quotes": [{"passage": 1, "text": "..."}]')
            notes.append(
                '"quotes": word for word from the passages, with the number of the passage; [] when there is nothing '
                "to quote."
            )
        for flag in self.flags:
            form.append(f'"{flag.name}": false')
            notes.append(f'"{flag.name}": {flag.meaning.strip()}; false otherwise.')
        form.append('"rating": RATING')
        notes.append(f'"rating": {self.scale.words}, no other value.')
        return ", ".join(form), notes


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " ".join(f"[{n}] {text}" for n, text in enumerate(value, 1)) or "(none)"
    return str(value).strip()
