"""The verdicts of a reply: for items asked about, on the scale, uncontradicted; others are missing.

    {"verdicts": [{"id": "9c1e07ab", "reasoning": "...", "quotes": [], "nothing_found": false,
    "rating": 2}]}

The object may stand in prose, in a code fence or behind thoughts, whose drafts count for nothing
(`thinking`). Of several objects the last one that holds a usable verdict counts, but a later word
never overrules an earlier one: an id that stands in two places of an answer (two objects or two
entries) with two verdicts, or with a usable and an unusable one, is missing. Else a judge that
repeats, after its own verdict, what a text told it to say would be read as that text wishes. The
same verdict said twice is one verdict. What is written instead of a rating (claims, texts, quotes
where they are the answer) is a verdict like any other, and so are the passages a verdict names as
support.

A reply in this form is read as it stands. Where that leaves an item without a verdict, or where the
answer says anything else beside, it is read a second time with repairs of its form
(`second_reading`), which each verdict names; one that the second reading contradicts is missing.
The reader works in linear time and never raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.judges.llm.copied_fields import CopiedFields
from ragassay.judges.llm.entries import StatedVerdicts, Verdict
from ragassay.judges.llm.objects import DECODER, objects
from ragassay.judges.llm.prose_verdicts import ProseVerdicts, says_anything
from ragassay.judges.llm.second_reading import SecondReading
from ragassay.judges.llm.thinking import answer_of
from ragassay.judges.rubric import Rubric

_MOST_TEXT = 4_000_000
_MOST_CUT_ENTRIES = 1_000
_FIELD = '"verdicts"'
_LIST = re.compile(_FIELD + r"\s*+:\s*+\[")
_SPACE_OR_COMMA = re.compile(r"[\s,]*+")


def parse(
    text: str,
    rubric: Rubric,
    ids: Sequence[str],
    *,
    cut: bool = False,
    data: Iterable[str] = (),
    item_texts: Mapping[str, str] | None = None,
) -> dict[str, Verdict]:
    """The usable verdicts by id, in the reply's order; an id that is not in the result is missing.

    ids: what was asked, in the order of the prompt. cut: the reply was cut off, so that the entries
    before the cut count if no object is complete. data: the texts of the prompt, which a judge
    might repeat. item_texts: the text of each item by its id, as the prompt shows it. An id with
    two different verdicts anywhere in the answer is missing. Never raises.
    """
    answer = answer_of(text[:_MOST_TEXT], is_cut=cut)
    reading = _FirstReading(StatedVerdicts(rubric, frozenset(ids)))
    verdicts = reading.read(answer, is_cut=cut)
    data = tuple(data)
    copied = CopiedFields(rubric, ids, data)
    if copied.texts and (cut or any(copied.any_in(answer[a:b]) for a, b in reading.rated)):
        # What may be the data's is not the judge's; of a reply that was cut off, what would show it
        # may be missing.
        return {}
    spans = reading.spans
    if len(verdicts) < len(reading.stated.asked) or reading.says_more:
        second = SecondReading(rubric, ids, data, copied, item_texts)
        second.read(answer, is_cut=cut)
        if second.is_too_much and reading.says_more:
            return {}
        verdicts = _agreed(verdicts, reading.stated, second)
        spans = second.spans
    around = _around(answer, spans)
    if not verdicts or not says_anything(around):
        return verdicts
    return _undisputed(verdicts, ProseVerdicts(rubric, around))


def _agreed(
    first: dict[str, Verdict], stated: StatedVerdicts, second: SecondReading
) -> dict[str, Verdict]:
    """The verdicts of two readings in which nothing contradicts them."""
    verdicts: dict[str, Verdict] = {}
    for name, verdict in (second.taken | first).items():
        # What the second reading did not come across is uncontradicted.
        agreed = second.stated.agreed.get(name, verdict)
        if agreed is not None and stated.same(agreed, verdict):
            verdicts[name] = verdict
    return verdicts


def _undisputed(verdicts: dict[str, Verdict], prose: ProseVerdicts) -> dict[str, Verdict]:
    """The verdicts that nothing around them speaks against."""
    if prose.has_rest_of_an_entry():
        return {}
    wrong = prose.disagreeing(verdicts)
    return {name: verdict for name, verdict in verdicts.items() if name not in wrong}


def _around(answer: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The pieces of an answer before, between and behind its values."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces.append(answer[at:start])
        at = end
    pieces.append(answer[at:])
    return pieces


@dataclass(slots=True)
class _FirstReading:
    """The verdicts of an answer in the form that was asked for.

    spans: where its objects begin and end; rated: those of them that speak of what was asked.
    says_more: whether it says anything else than verdicts in that form, which may contradict them.
    """

    stated: StatedVerdicts
    spans: list[tuple[int, int]] = field(default_factory=list)
    rated: list[tuple[int, int]] = field(default_factory=list)
    says_more: bool = False

    def read(self, answer: str, *, is_cut: bool) -> dict[str, Verdict]:
        """The usable verdicts that are not contradicted."""
        stated = self.stated
        last: dict[str, Verdict] = {}
        for value, start, end in objects(answer):
            self.spans.append((start, end))
            count = stated.count
            entries = value.get("verdicts")
            if isinstance(entries, list):
                last = stated.read(entries) or last
                self.says_more = self.says_more or len(value) > 1
            else:
                # An entry by itself, as a broken object leaves behind: no verdict, but it can
                # contradict one.
                stated.read([value])
                self.says_more = True
            if stated.count > count:
                self.rated.append((start, end))
        self.says_more = self.says_more or stated.has_other_fields
        if is_cut:
            before = stated.read(list(_entries_before_the_cut(answer)))
            last = last or before
        return {name: verdict for name, verdict in last.items() if stated.agreed[name] is not None}


def _entries_before_the_cut(text: str) -> Iterator[object]:
    at = _last_list(text)
    if at is None:
        return
    for _ in range(_MOST_CUT_ENTRIES):
        space = _SPACE_OR_COMMA.match(text, at)
        at = space.end() if space is not None else at
        try:
            value, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value


def _last_list(text: str) -> int | None:
    """Where the entries of the last list of verdicts begin."""
    at = text.rfind(_FIELD)
    while at >= 0:
        begins = _LIST.match(text, at)
        if begins is not None:
            return begins.end()
        at = text.rfind(_FIELD, 0, at)
    return None
