"""The second reading of a reply, where the first has no verdict on some of the items.

It reads the same verdicts in other forms: nearly JSON, in other wrappers, without ids. The form of
an answer is repaired, never its content:

- Only a value at the top level of the answer gives verdicts. Where one begins and does not end,
  nothing behind it is taken, for it may be a part of that.
- All that the answer says of an item must agree, repaired or not; else the item has no verdict.
- Ids stand in no text of the data, so that what has an id is no echo of them. Verdicts without any
  id are taken in the order asked, but only where there are as many as items, nothing else in the
  answer looks like one, and neither the data nor the rubric's examples could be their source.
- Where a string ends is told by its quotes, which a judge that quotes the data may have failed to
  escape. Unless they are those of JSON, a value is not read where the data hold what could end a
  string and name a field of the entry.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from ragassay.judges.llm.copied_fields import CopiedFields, field_names
from ragassay.judges.llm.entries import StatedVerdicts, TooMuch, Verdict, read_entry
from ragassay.judges.llm.entry_repairs import EntryRepair
from ragassay.judges.llm.item_order import ItemOrder
from ragassay.judges.llm.loose_json import SAFE_REPAIRS, LooseReader
from ragassay.judges.llm.missing_end import with_end
from ragassay.judges.llm.objects import DECODER, objects
from ragassay.judges.llm.plain_lists import plain_list
from ragassay.judges.llm.top_values import TopValue, TopValues
from ragassay.judges.llm.wrappers import (
    MOST_ENTRIES,
    Entries,
    Entry,
    Unwrapping,
    decoded,
)
from ragassay.judges.rubric import Rubric

# Far more than any honest reply holds: a hostile one is not worth the time.
_MOST_VALUES = 200
_MOST_BRACES = 3_000
_LONG_NUMBER = re.compile(r"[0-9]{400}")
_CURLY = str.maketrans({"“": '"', "”": '"'})
# Repairs that take the text of one string as a reply of its own.
_STRINGS_IN_STRINGS = frozenset({"tool_call_as_text", "reply_in_a_string", "other_wrapper"})
_NAMED_FIELD = re.compile(r"""\b(?:rating|verdict|score)\b["'`*]*+\s*+[:=]""", re.I)
# Repairs that take a rating from another field than its own.
_OTHER_RATINGS = frozenset({"rating_under_another_name", "nested_entry", "rating_in_an_object"})
_OTHER_FIELD = re.compile(
    r"""(?:rating|score|verdict|grade|judge?ment|value|label)\w*+[^\w\s:]*+(?:quot;|\#34;)?+\s*+:""",
    re.I,
)
# How a string of the data could end one of the reply.
_STRING_END = re.compile(r"""["']\s*+[,}\]/#]""")


@dataclass(frozen=True, slots=True)
class _ReadValue:
    """A value at the top level, and the lists of entries in it."""

    value: TopValue
    lists: list[Entries]

    @property
    def entries(self) -> Entries:
        return list(chain.from_iterable(self.lists))

    @property
    def is_bare_entry(self) -> bool:
        return len(self.entries) == 1 and "bare_entry" in self.entries[0].repairs


@dataclass
class SecondReading:
    """What the second reading finds. ids: what was asked, in the order of the prompt. data: the
    texts that a judge might repeat; copied: finds fields of theirs. item_texts: the text of each
    item by its id. taken: the verdicts that it would give; stated: all that the answer says of the
    items, which may contradict them. spans: where its values begin and end. is_too_much: whether it
    holds more than any honest answer does, so that nothing is taken.
    """

    rubric: Rubric
    ids: Sequence[str]
    data: tuple[str, ...]
    copied: CopiedFields
    item_texts: Mapping[str, str] | None = None
    taken: dict[str, Verdict] = field(default_factory=dict)
    stated: StatedVerdicts = field(init=False)
    spans: list[tuple[int, int]] = field(default_factory=list)
    is_too_much: bool = False
    _unwrapping: Unwrapping = field(init=False)
    _entries_left: int = MOST_ENTRIES
    _repairs: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        asked = frozenset(self.ids)
        self.stated = StatedVerdicts(self.rubric, asked)
        self._unwrapping = Unwrapping(self.rubric, asked)

    def read(self, answer: str, *, is_cut: bool = False) -> None:
        """Read an answer, from which thoughts are removed already. Never raises."""
        try:
            self._read(answer, is_cut)
        except TooMuch:
            self.taken = {}
            self.is_too_much = True

    def _read(self, answer: str, is_cut: bool) -> None:
        if answer.count("{") > _MOST_BRACES or _LONG_NUMBER.search(answer) is not None:
            raise TooMuch
        answer, repairs = self._plain(answer)
        values, broken_at = _top_values(answer)
        if broken_at is not None and not is_cut:
            answer, values, broken_at = self._completed(answer, values, broken_at)
        repairs = self._repairs = repairs | self._repairs
        read_values: list[_ReadValue] = []
        for value in values:
            lists = self._unwrapping.entries(value.value, repairs | value.repairs)
            read_values.append(_ReadValue(value, lists))
            self.spans.append((value.start, value.end))
        if broken_at is not None:
            for inner in objects(answer[broken_at:]):
                for entries in self._unwrapping.entries(inner.value):
                    self._verdicts(entries)
        self._take_last(answer, read_values)
        if not self.taken and broken_at is None:
            self._take_by_order(answer, read_values)
            self._take_plain_list(answer, read_values)
        if not self.taken and broken_at is not None and is_cut:
            self.taken = self._verdicts(self._entries_before_the_cut(answer, broken_at))
        if broken_at is not None and is_cut:
            self.spans.append((broken_at, len(answer)))
        if not repairs <= {"missing_end"}:
            self.spans = [(0, len(answer))]

    def _completed(
        self, answer: str, values: list[TopValue], broken_at: int
    ) -> tuple[str, list[TopValue], int | None]:
        """The answer and its values with the end that its last one lacks."""
        whole = with_end(answer, broken_at)
        if whole is None:
            return answer, values, broken_at
        completed, still_broken_at = _top_values(whole)
        # Two things that are missing leave too much to guess.
        if still_broken_at is not None or any("missing_comma" in v.repairs for v in completed):
            return answer, values, broken_at
        self._repairs |= {"missing_end"}
        return whole, completed, None

    def _plain(self, answer: str) -> tuple[str, frozenset[str]]:
        """The answer as JSON would be written, and what of it as a whole was repaired."""
        quoted = decoded(answer) if answer.lstrip().startswith('"') else None
        if isinstance(quoted, str):
            return quoted, frozenset({"reply_in_a_string"})
        if '"' in answer:
            return answer, frozenset()
        if "“" in answer or "”" in answer:
            return answer.translate(_CURLY), frozenset({"curly_quotes"})
        if "&quot;" in answer or "&#34;" in answer:
            return html.unescape(answer), frozenset({"html_escapes"})
        return answer, frozenset()

    # -- with ids

    def _take_last(self, answer: str, read_values: Sequence[_ReadValue]) -> None:
        """Of several values the last one counts that holds a usable verdict. Entries that stand
        alone, one after the other, are one value.
        """
        was_bare_entry = False
        for at, read_value in enumerate(read_values):
            verdicts = self._verdicts(read_value.entries)
            if not verdicts or self._may_be_forged(answer, at, read_values):
                continue
            if read_value.is_bare_entry and was_bare_entry:
                self.taken = verdicts | self.taken
            else:
                self.taken = verdicts
            was_bare_entry = read_value.is_bare_entry

    def _may_be_forged(self, answer: str, at: int, read_values: Sequence[_ReadValue]) -> bool:
        """Whether the quotes of a repaired value may be those of the data: the rest of it stands
        behind it, or the data hold what ends a string and names a field.
        """
        value = read_values[at].value
        if self.copied.any_in(answer[value.start : value.end]):
            return True
        repairs = frozenset[str]().union(*(entry.repairs for entry in read_values[at].entries))
        if self.copied.texts and not repairs.isdisjoint(_STRINGS_IN_STRINGS):
            return True
        if value.repairs | self._repairs - {"reply_in_a_string"} <= SAFE_REPAIRS:
            return False
        stop = read_values[at + 1].value.start if at + 1 < len(read_values) else len(answer)
        behind = answer[value.end : stop]
        is_rest = "}" in behind or behind.count("]") > behind.count("[")
        return is_rest or self._holds_a_field()

    def _holds_a_field(self) -> bool:
        if self.copied.texts:
            return True
        names = {self._key, *field_names(self.rubric)}
        field_name = re.compile(rf"""(?:{"|".join(map(re.escape, names))})["']?\s*+:""", re.I)
        for text in self.data:
            has_end = _STRING_END.search(text) is not None
            # An escape can spell the name.
            if has_end and "\\" in text:
                return True
            if (has_end or "{" in text or "}" in text) and field_name.search(text):
                return True
        return False

    @property
    def _key(self) -> str:
        """The field that holds what was asked for."""
        return "rating" if self.rubric.writes == "ratings" else self.rubric.writes

    def _verdicts(self, entries: Entries) -> dict[str, Verdict]:
        """State what entries with an id say; returns the usable verdicts."""
        usable: dict[str, Verdict] = {}
        for entry in entries:
            if entry.id is None:
                continue
            verdict = self._verdict(entry.id, entry)
            # What stands beside the list of verdicts may be about the items without rating them.
            if verdict is None and entry.is_beside:
                continue
            self.stated.state(entry.id, verdict)
            if verdict is not None:
                usable.setdefault(entry.id, verdict)
        return usable

    def _verdict(self, name: str, entry: Entry) -> Verdict | None:
        self._entries_left -= 1
        if self._entries_left < 0:
            raise TooMuch
        repair = EntryRepair(self.rubric)
        fields = repair.repaired(entry.fields)
        if fields is None:
            return None
        verdict = read_entry(name, fields, self.rubric, needs_reasons=False)
        repairs = entry.repairs | repair.repairs
        if not _OTHER_RATINGS.isdisjoint(repairs) and self._hold_other_ratings:
            return None
        if verdict is None or not repairs:
            return verdict
        return replace(verdict, repairs=tuple(sorted(repairs)))

    @cached_property
    def _hold_other_ratings(self) -> bool:
        """Whether the data name what may be taken for a rating, or spell it by escapes."""
        return any(_OTHER_FIELD.search(text) or "\\" in text for text in self.data)

    # -- without ids

    def _take_by_order(self, answer: str, read_values: Sequence[_ReadValue]) -> None:
        lists = list(chain.from_iterable(read_value.lists for read_value in read_values))
        if len(lists) != 1 or len(lists[0]) != len(self.ids):
            return
        entries = lists[0]
        if any(entry.id is not None or entry.is_unclear for entry in entries):
            return
        at = next(at for at, read_value in enumerate(read_values) if read_value.lists)
        value = read_values[at].value
        around = answer[: value.start] + answer[value.end :]
        if self._may_be_forged(answer, at, read_values):
            return
        if "{" in around or "}" in around or self._may_be_repeated(entries):
            return
        order = ItemOrder(self.rubric, self.ids, self.item_texts or {})
        named_by = order.named([entry.fields for entry in entries])
        if named_by is None:
            return
        named: Entries = []
        for name, entry in zip(named_by[0], entries, strict=True):
            named.append(entry._replace(id=name, repairs=entry.repairs | {named_by[1]}))
        self.taken = self._verdicts(named)

    def _take_plain_list(self, answer: str, read_values: Sequence[_ReadValue]) -> None:
        """The verdicts of a list that is no JSON, where nothing else is in the answer."""
        has_other = any(read_value.lists for read_value in read_values)
        if self.taken or has_other or self.rubric.writes != "ratings":
            return
        # What is not in quotes at all could end anywhere.
        if any("|" in text or _NAMED_FIELD.search(text) for text in self.data):
            return
        fields, form = plain_list(answer, self.ids, self._key)
        entries = [Entry(each, str(each["id"]), False, frozenset({form})) for each in fields]
        self.taken = self._verdicts(entries)
        if entries:
            self.spans = [(0, len(answer))]

    def _may_be_repeated(self, entries: Entries) -> bool:
        """Whether the entries could be a copy of the data, or of the rubric's examples."""
        has_brace = has_key = False
        for text in self.data:
            has_brace = has_brace or "{" in text
            # An escape can spell the key.
            has_key = has_key or self._key in text.lower() or "\\" in text
        if has_brace and has_key:
            return True
        name = "reasoning" if self._key == "rating" else self._key
        shown = [example[name] for example in self.rubric.examples if name in example]
        return any(entry.fields.get(name) in shown for entry in entries)

    # -- cut off

    def _entries_before_the_cut(self, answer: str, start: int) -> Entries:
        """The whole entries of the last value, whose end is missing."""
        found: Entries = []
        form = frozenset({"bare_list"} if answer[start] == "[" else ())
        loose = LooseReader(answer)
        at = answer.find("[", start) + 1
        for _ in range(MOST_ENTRIES if at else 0):
            while answer[at : at + 1] in (" ", "\n", "\r", "\t", ","):
                at += 1
            repairs: frozenset[str] = frozenset()
            try:
                value, at = DECODER.raw_decode(answer, at)
            except (ValueError, RecursionError):
                loosely = loose.read(at)
                if loosely is None:
                    break
                value, at, repairs = loosely
                if not repairs <= SAFE_REPAIRS and self._holds_a_field():
                    break
            if not isinstance(value, dict):
                break
            found.append(self._unwrapping.entry(value, repairs | form))
        return found


def _top_values(answer: str) -> tuple[list[TopValue], int | None]:
    """The values at the top level, and where one begins that has no end: behind it nothing is."""
    finder = TopValues(answer)
    values: list[TopValue] = []
    at = 0
    for _ in range(_MOST_VALUES):
        value = finder.first(at, len(answer))
        if value is None:
            return values, None
        if value.is_broken:
            return values, value.start
        values.append(value)
        at = value.end
    return values, at
