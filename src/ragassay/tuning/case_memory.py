"""Labelled cases as examples of a rubric: made of rows to search on, never of what they judge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ragassay.core import shorten
from ragassay.judges import Rubric
from ragassay.judges.fence import neutral
from ragassay.judges.rubric import LISTS
from ragassay.judges.scale import Rating
from ragassay.tuning.edits import Action, Edit, Refused
from ragassay.tuning.parts import Kind
from ragassay.tuning.values import IntArray, LabelledRows

_WORD = re.compile(r"\w{3,}")
_PASSAGE = re.compile(r"context \d+")
_MOST_CHARS, _MOST_REASON = 300, 200


def example_edit(rubric: Rubric, rows: LabelledRows, row: int) -> Edit:
    """The edit that adds this row, with people's label, as an example.

    Raises Refused where the texts of the row are not to be shown, where it lacks one that the judge
    is asked about, or where the rubric gives no ratings.
    """
    texts = rows.texts[row] if row < len(rows.texts) else {}
    if not texts or rubric.scale is None:
        raise Refused("the rows have no texts that could be shown")
    example: dict[str, object] = {}
    for name in rubric.inputs:
        shown = _shown(texts, name)
        if shown:
            example[name] = shown
        elif name != "question":
            # A verdict beside half of what it is about would teach the judge to guess.
            raise Refused(f"a labelled row holds no {name} by itself to show as an example")
    if rubric.asks_reasons and rows.rationales.get(row, "").strip():
        example["reasoning"] = _short(rows.rationales[row], _MOST_REASON)
    example["rating"] = _rating(rubric, rows, row)
    return Edit(Action.ADD, Kind.EXAMPLE, example=example, rows=(row,))


def _shown(texts: Mapping[str, str], name: str) -> str | list[str]:
    """What an example shows for an input of the rubric; empty where the row has no such text.

    Passages are shown whole: cut off, they may lose what the verdict rests on. The label of a row
    with several passages is of no single one of them.
    """
    passages = [text for title, text in texts.items() if _PASSAGE.fullmatch(title)]
    if name == "contexts":
        return [_line(text) for text in passages]
    if name == "context":
        return _line(passages[0]) if len(passages) == 1 else ""
    if name in LISTS or name not in texts:
        return ""
    return _short(texts[name], _MOST_CHARS)


def _line(text: str) -> str:
    return " ".join(neutral(text).split())


def _short(text: str, most: int) -> str:
    """The text on one line without anything like a fence: in an example a new line could pass for
    a part of the form.
    """
    return shorten(_line(text), most)


def _rating(rubric: Rubric, rows: LabelledRows, row: int) -> Rating:
    """The rating that people gave, else the end of the scale that their verdict is."""
    scale = rubric.scale
    assert scale is not None
    label = rows.label[row]
    for rating in scale.ratings:
        if isinstance(rating, int) and rating == label and scale.passes(rating) == rows.truth[row]:
            return rating
    if not rows.truth[row]:
        return next(rating for rating in scale.ratings if not scale.passes(rating))
    return next(rating for rating in reversed(scale.ratings) if scale.passes(rating))


def nearest(rows: LabelledRows, wanted: Sequence[int], pool: IntArray, count: int) -> list[int]:
    """The rows of the pool whose words are most like those of the wanted rows; no row of a cluster
    that a wanted row is of.
    """
    if not rows.texts:
        return []
    own = set(rows.cluster[list(wanted)].tolist())
    aims = [_words(rows, row) for row in wanted]
    ranked: list[tuple[float, int]] = []
    for row in pool.tolist():
        if int(rows.cluster[row]) in own:
            continue
        words = _words(rows, row)
        ranked.append((-float(np.mean([_likeness(words, aim) for aim in aims])), row))
    return [row for _, row in sorted(ranked)[:count]]


def _words(rows: LabelledRows, row: int) -> frozenset[str]:
    text = " ".join(rows.texts[row].values())
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)
