"""A rubric: how one kind of Request is judged, as a frozen value, with the texts that follow.

The scale is given once. Everything in a prompt that speaks of ratings (the list of points, "the
highest", the examples, the form of the reply, the JSON schema) is written from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from functools import cached_property

from ragassay.core import digest
from ragassay.judges.fence import NOTICE
from ragassay.judges.scale import Rating, Scale
from ragassay.judges.template import fill

# Raised when the form of the reply or of the prompt around a rubric's text changes: old judgments
# are then not reused.
FORM = 3

# Inputs that are a list of texts -> what one text of the list is called in a prompt, where each has
# its number.
LISTS: Mapping[str, str] = {
    "contexts": "passage",
    "statements": "statement",
    "expected_facts": "expected fact",
    "guidelines": "guideline",
}


@dataclass(frozen=True, slots=True)
class Flag:
    """A yes/no field of the reply. end: "lowest" or "highest" when a true flag fixes the rating,
    else "".
    """

    name: str
    meaning: str
    end: str = ""


@dataclass(frozen=True, slots=True)
class InputRule:
    """A verdict that follows from the inputs of a Request alone.

    conditions: (condition, input) pairs that all hold, see `judges.input_rules`. not_applicable:
    the reason why nothing can be judged, "" for a verdict. rating: "lowest", "highest" or one of
    the scale, which is the lowest where the scale does not offer it; None where texts are written,
    and there are none. nothing_supports: whether it is known that no context supports the item.
    """

    conditions: tuple[tuple[str, str], ...]
    not_applicable: str = ""
    rating: Rating | None = None
    reasoning: str = ""
    flags: tuple[str, ...] = ()
    nothing_supports: bool = False


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

    input_rules: what is settled without asking a model; the first that fits counts. rules_are_own:
    a user's file gives them.
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
    input_rules: tuple[InputRule, ...] = ()
    rules_are_own: bool = False

    @cached_property
    def digest(self) -> str:
        """Hash of everything in the rubric that can change a judgment.

        Not: purpose and source; level, row and guidelines, which only say which Requests there are
        and what becomes of their Judgments; and the rules on inputs of the built-in rubrics, for
        which `judges.input_rules.RULES` stands.
        """
        parts: list[object] = [
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
            self._scale_parts(),
            (self.wording_by, dict(self.wordings), [dict(example) for example in self.examples]),
            (self.system, self.criteria, self.user),
        ]
        if self.rules_are_own:
            parts.append([astuple(rule) for rule in self.input_rules])
        return digest(*parts)

    def _scale_parts(self) -> object:
        scale = self.scale
        if scale is None:
            return None
        points = [(point.rating, point.value, point.meaning) for point in scale.points]
        return points, scale.pass_mark, scale.passing

    @property
    def ref(self) -> str:
        """ "id@version"; a user's file, whose version nobody keeps, has a short hash behind it."""
        name = f"{self.id}@{self.version}"
        if not self.own:
            return name
        content = digest(self.digest, self.level, self.row, self.guidelines)
        return f"{name}+{content[:8]}"

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
        """The examples; an input that is the same as in the example before is not shown again."""
        lines = ["Examples:"] if self.examples else []
        before: Mapping[str, object] = {}
        for example in self.examples:
            names = [name for name in self.inputs if name in example]
            new = _names_from_the_first_change(names, before, example)
            if new == names:
                lines.append("")
            lines += [f"{name}: {_plain(example[name])}" for name in new]
            shown = {name: example.get(name, False) for name in self._reply_fields(example)}
            verdict = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
            lines.append(f"verdict: {verdict}")
            before = example
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
        """The form of the reply, said once: a line that shows it, and what that does not tell."""
        form, notes = self._rating_form() if self.writes == "ratings" else self._text_form()
        entry = ",".join(['"id":"TAG"', *form])
        return "\n".join(
            [
                "Reply with one JSON object only:",
                f'{{"verdicts":[{{{entry}}}]}}',
                *notes,
                "",
                NOTICE,
            ]
        )

    def _rating_form(self) -> tuple[list[str], list[str]]:
        assert self.scale is not None
        form, notes = [], []
        if self.asks_reasons:
            form.append('"reasoning":"1-3 sentences"')
        if self.asks_quotes:
            form.append('"quotes":[{"passage":1,"text":"..."}]')
            notes.append('"quotes": word for word from the passages, short; [] if none.')
        if self.asks_sources:
            form.append('"supported_by":[1]')
            notes.append(
                f'"supported_by": all passages that support the {self.item}, alone or as a needed'
                " part; [] if none."
            )
        flag_form, flag_notes = self._flag_form()
        form += [*flag_form, f'"rating":{self.scale.form}']
        return form, [*notes, *flag_notes]

    def _text_form(self) -> tuple[list[str], list[str]]:
        if self.writes == "claims":
            form = '"claims":[{"text":"...","trivial":false}]'
            note = '"claims": in order, each with "trivial" true or false.'
        elif self.writes == "texts":
            form = '"texts":["..."]'
            note = '"texts": what is asked for, one text each; [] if there is none.'
        elif self.quotes_name_passages:
            form = '"quotes":[{"passage":1,"text":"..."}]'
            note = (
                '"quotes": word for word from the passages, each with the number of its passage; []'
                " if there is nothing to quote."
            )
        else:
            form = '"quotes":[{"text":"..."}]'
            note = (
                f'"quotes": word for word from the {self.item}, in its order; [] if there is'
                " nothing to quote."
            )
        flag_form, flag_notes = self._flag_form()
        return [form, *flag_form], [note, *flag_notes]

    def _flag_form(self) -> tuple[list[str], list[str]]:
        form = [f'"{flag.name}":false' for flag in self.flags]
        return form, [f'"{flag.name}": {flag.meaning.strip()}.' for flag in self.flags]

    @property
    def quotes_name_passages(self) -> bool:
        """Whether a quote says which passage it is from: not where quotes of one context are all
        that is written.
        """
        return self.writes != "quotes" or "contexts" in self.inputs


def _names_from_the_first_change(
    names: list[str], before: Mapping[str, object], example: Mapping[str, object]
) -> list[str]:
    """The inputs of an example without those at the beginning that the example before it shows."""
    for at, name in enumerate(names):
        if example[name] != before.get(name):
            return names[at:]
    return names


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " ".join(f"[{n}] {text}" for n, text in enumerate(value, 1)) or "(none)"
    return str(value).strip()
