"""What the offline judge cannot see: code, numbers of a table that it cannot place, and sums that
it does not do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.finding import CONFLICT, Finding
from ragassay.models.offline.facts.quantities import Quantity
from ragassay.models.offline.facts.same_quantity import same_quantity, says_little
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.reading import STOP_WORDS, stem

CODE, TABLE, SUM = "unread_code", "unread_table", "unread_sum"
"""Names of the figures by which a reply says so."""

_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_CODE_LINE = re.compile(
    r"^\s*(?:(?:def|class) \w+[(:]|(?:public|private|static|const|let|var|func|fn) \w+.*[({=;]"
    r"|import \w[\w.]*;?$|from \w[\w.]* import \b|#include\b|(?:if|for|while) ?\(.*\) ?\{"
    r"|SELECT\b.+\bFROM\b|INSERT INTO\b|return\b.*;$"
    r"|[\w.\[\]]+\s*(?:=|\+=|:=)\s*[\w.\[\]\"'({].*;?$"
    r"|[})\]]+[;,]?$)"
)
_HALF = 0.5

_SUMS = re.compile(
    r"\b(?:in total|total(?:s|led|ling)?|together|altogether|in all|combined|"
    r"sums? (?:of (?:the|all|both|these)|to)|"
    r"on average|average[sd]?|mean|adds? up|all told|overall)\b",
    re.IGNORECASE,
)
_MEAN = re.compile(r"average|mean", re.IGNORECASE)
NUMBER = "number"
_LEAST_STATED = 2

_ROW = re.compile(r"^[ \t]*\|?(?:[^|\n]*\|){2,}[^|\n]*$|^[^\t\n]*(?:\t[^\t\n]*){2,}$", re.MULTILINE)
_RULE = re.compile(r"[\s|:+=-]+")
_CELL = re.compile(r"[|\t]")
_WORD = re.compile(r"[^\W\d_]+")


def unreadable(
    claim: TextFacts,
    question: TextFacts,
    passages: Sequence[TextFacts],
    findings: Sequence[Finding],
) -> str:
    """CODE, TABLE or SUM where a claim takes what is not done here; "" where it can be judged, and
    where the passages deny something else of it.
    """
    conflicts = [finding for finding in findings if finding.status == CONFLICT]
    if _needs_sum(claim, passages, findings) and all(each.rule == NUMBER for each in conflicts):
        return SUM
    if conflicts:
        return ""
    if is_code(claim.reading.text):
        return CODE
    return TABLE if _is_lost_in_a_table(claim, question, passages) else ""


def is_code(text: str) -> bool:
    """Whether a text is code: a fenced block, or lines of which half are statements."""
    if _FENCE.search(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    found = sum(_CODE_LINE.match(line) is not None for line in lines)
    return bool(found) and found >= _HALF * len(lines)


def _needs_sum(
    claim: TextFacts, passages: Sequence[TextFacts], findings: Sequence[Finding]
) -> bool:
    """Whether a number of the claim that stands nowhere is told to be made of several, and may be:
    a total is more than each, and a mean lies between them.
    """
    sums = _SUMS.search(claim.reading.text)
    if sums is None or any(_SUMS.search(passage.reading.text) for passage in passages):
        return False  # the passages may give the sum themselves
    is_mean = _MEAN.search(sums.group()) is not None
    places = {(each.start, each.end) for each in findings if each.rule == NUMBER}
    for mine in claim.quantities:
        if (mine.start, mine.end) not in places:
            continue
        alike: list[float] = []
        for passage in passages:
            alike += [other.low for other in passage.quantities if other.measure == mine.measure]
        if len(alike) < _LEAST_STATED:
            continue
        if min(alike) < mine.low < max(alike) if is_mean else mine.low > max(alike):
            return True
    return False


class _Cell(NamedTuple):
    """A cell of a table: where it stands, the words of its row's and of its column's name, and
    start and end of its line.
    """

    start: int
    end: int
    row: frozenset[str]
    column: frozenset[str]
    line: tuple[int, int]


def _is_lost_in_a_table(
    claim: TextFacts, question: TextFacts, passages: Sequence[TextFacts]
) -> bool:
    """Whether a number of the claim stands in a table alone, and in no cell of which the claim or
    the question names the row and the column.
    """
    tables = [passage.once(_table) for passage in passages]
    if not any(tables):
        return False
    words = _stems(f"{claim.reading.text} {question.reading.text}")
    for mine in claim.quantities:
        if not says_little(mine) and _is_unplaced(mine, passages, tables, words):
            return True
    return False


def _is_unplaced(
    mine: Quantity,
    passages: Sequence[TextFacts],
    tables: Sequence[Sequence[_Cell]],
    words: frozenset[str],
) -> bool:
    is_in_table = False
    for passage, cells in zip(passages, tables, strict=True):
        for other in passage.quantities:
            if not same_quantity(mine, other):
                continue
            cell = next((c for c in cells if c.start <= other.start < c.end), None)
            if cell is None:
                return False
            # Of "200 GB" and "$9" in one row, the unit says which column is meant.
            is_told_by_unit = _alike(other, passage, cell.line) == 1
            has_column = is_told_by_unit or not words.isdisjoint(cell.column)
            if has_column and not words.isdisjoint(cell.row):
                return False
            is_in_table = True
    return is_in_table


def _alike(mine: Quantity, passage: TextFacts, line: tuple[int, int]) -> int:
    """How many numbers of a line measure what one of it does."""
    start, end = line
    inside = (other for other in passage.quantities if start <= other.start < end)
    return sum(other.measure == mine.measure for other in inside)


def _table(text: TextFacts) -> Sequence[_Cell]:
    return tuple(_cells(text.reading.text))


def _cells(text: str) -> Iterator[_Cell]:
    """The cells of the tables of a text, without their heads."""
    head: list[str] = []
    last = -2
    for match in _ROW.finditer(text):
        line = text.count("\n", 0, match.start())
        row = match.group()
        if _RULE.fullmatch(row):
            last = line
            continue
        parts = _CELL.split(row)
        if line != last + 1:
            head, last = parts, line
            continue
        last = line
        name = next((part for part in parts if part.strip()), "")
        at = match.start()
        for column, part in enumerate(parts):
            of_column = _stems(head[column]) if column < len(head) else frozenset()
            yield _Cell(at, at + len(part) + 1, _stems(name), of_column, match.span())
            at += len(part) + 1


def _stems(text: str) -> frozenset[str]:
    lower = (word.lower() for word in _WORD.findall(text))
    return frozenset(stem(word) for word in lower if word not in STOP_WORDS)
