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

A reply in this form is read as it stands. Only where that leaves an item without a verdict is the
answer read a second time, with repairs of its form (`second_reading`), which each verdict names.
The reader works in linear time and never raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ragassay.judges.llm.entries import StatedVerdicts, Verdict
from ragassay.judges.llm.objects import DECODER, objects
from ragassay.judges.llm.second_reading import SecondReading
from ragassay.judges.llm.thinking import answer_of
from ragassay.judges.rubric import Rubric

_MOST_TEXT = 4_000_000
_MOST_CUT_ENTRIES = 1_000
_LIST = re.compile(r'"verdicts"\s*+:\s*+\[')
_SPACE_OR_COMMA = re.compile(r"[\s,]*+")


def parse(
    text: str,
    rubric: Rubric,
    ids: Sequence[str],
    *,
    cut: bool = False,
    data: Iterable[str] = (),
) -> dict[str, Verdict]:
    """The usable verdicts by id, in the reply's order; an id that is not in the result is missing.

    ids: what was asked, in the order of the prompt. cut: the reply was cut off, so that the entries
    before the cut count if no object is complete. data: the texts of the prompt, which a judge
    might repeat; iterated only for a reply without ids. An id with two different verdicts anywhere
    in the answer is missing. Never raises.
    """
    answer = answer_of(text[:_MOST_TEXT], is_cut=cut)
    stated = StatedVerdicts(rubric, frozenset(ids))
    first = _read_as_it_stands(answer, stated, cut)
    if len(first) == len(stated.asked):
        return first
    second = SecondReading(rubric, ids, data)
    second.read(answer, is_cut=cut)
    verdicts: dict[str, Verdict] = {}
    for name, verdict in (second.taken | first).items():
        # What the second reading did not come across is uncontradicted.
        agreed = second.stated.agreed.get(name, verdict)
        if agreed is not None and stated.same(agreed, verdict):
            verdicts[name] = verdict
    return verdicts


def _read_as_it_stands(answer: str, stated: StatedVerdicts, cut: bool) -> dict[str, Verdict]:
    """The verdicts of an answer in the form that was asked for."""
    last: dict[str, Verdict] = {}
    for value in objects(answer):
        entries = value.get("verdicts")
        if isinstance(entries, list):
            last = stated.read(entries) or last
        else:
            # An entry by itself, as a broken object leaves behind: no verdict, but it can
            # contradict one.
            stated.read([value])
    if cut:
        before = stated.read(list(_entries_before_the_cut(answer)))
        last = last or before
    return {name: verdict for name, verdict in last.items() if stated.agreed[name] is not None}


def _entries_before_the_cut(text: str) -> Iterator[object]:
    lists = list(_LIST.finditer(text))
    if not lists:
        return
    at = lists[-1].end()
    for _ in range(_MOST_CUT_ENTRIES):
        space = _SPACE_OR_COMMA.match(text, at)
        at = space.end() if space is not None else at
        try:
            value, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value
