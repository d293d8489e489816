"""Raw rows made into Samples, or into BadRows that name everything wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ragassay.core import AppUsage, BadRow, Context, Sample, shorten
from ragassay.datasets import cells
from ragassay.datasets.cells import Problem, Problems
from ragassay.datasets.columns import Columns
from ragassay.datasets.feedback import FEEDBACK_CELLS, read_feedback
from ragassay.datasets.outputs import (
    contexts_in,
    last_reply,
    messages_in,
    retrieved_in,
    tokens_in,
    tool_results,
)
from ragassay.datasets.paths import walk
from ragassay.datasets.python_words import in_python
from ragassay.datasets.source import Reader, Row, Trouble, show
from ragassay.datasets.spreadsheet_guard import without_guard
from ragassay.datasets.traces import SPAN_PREFIX, columns_of_trace, said_by_spans
from ragassay.datasets.usage import USAGE_CELLS, read_usage

_MOST_PROBLEMS = 12
_EMPTY_CELLS = {"contexts": "nothing retrieved", "response": "an empty response"}
"""What an empty cell of a text file says where the column is there; in others it is a gap."""


_SOURCES = {
    "slices": frozenset({"slices", "slice"}),
    "labels": frozenset({"labels", "label"}),
    "contexts": frozenset({"contexts", "context_ids"}),
    "usage": USAGE_CELLS,
    "feedback": FEEDBACK_CELLS,
}
"""Field -> the cells that say it, where these are others than the field's own."""


class _RawRow(NamedTuple):
    """A row as it is read. cells: field -> value; problems: grows by what is wrong."""

    row: Row
    cells: dict[str, object]
    problems: Problems


_NamedValue = tuple[str, object, str]
"""The name of a slice or label, its value, and the place in the row, for messages."""


def _named_values(raw: _RawRow, plural: str, singular: str) -> Iterator[_NamedValue]:
    """The values of a cell that holds an object of them, then that of the cell of a single one."""
    if plural in raw.cells:
        for name, value in cells.pairs(raw.cells[plural], plural, raw.problems):
            yield name, value, f"{plural}[{shorten(name, 40)!r}]"
    if singular in raw.cells:
        yield singular, raw.cells[singular], singular


_Parser = Callable[[_RawRow, str], object]
"""From a row that says a field, and the field's name, to its value."""


def _cell(parse: Callable[[object, str, Problems], object]) -> _Parser:
    """The parser of a field that one cell says."""

    def parse_field(raw: _RawRow, field: str) -> object:
        return parse(raw.cells[field], field, raw.problems)

    return parse_field


class RowMaker:
    """Turns rows into Samples under one choice of columns. notes counts what was read in a way
    worth saying.
    """

    def __init__(
        self, columns: Columns, reader: Reader, make_ids: bool, notes: Counter[str]
    ) -> None:
        self.columns = columns
        self.reader = reader
        self.make_ids = make_ids
        self.notes = notes
        self._takes_trailing_reply = columns.form is not None and columns.form.trailing
        # The order is that in which the problems of a row are listed.
        parsers: dict[str, _Parser] = {
            "slices": self._slices,
            "labels": self._labels,
            "question": _cell(cells.spoken),
            "contexts": self._contexts,
            "response": _cell(cells.spoken),
            "reference": _cell(self._reference),
            "expected_facts": _cell(cells.texts),
            "relevant_ids": _cell(cells.grades),
            "guidelines": self._guidelines,
            "answerable": _cell(cells.truth),
            "cluster": _cell(cells.name),
            "usage": self._usage,
            "error": _cell(self._error),
            "feedback": self._feedback,
        }
        # Fields that columns named by --slice or by their endings say, whatever cells there are.
        fields_of_columns = set()
        if columns.slices:
            fields_of_columns.add("slices")
        if columns.marks:
            fields_of_columns.add("labels")
        # What asks for a field is settled here, once, and not for each row. None: always asked.
        self._parsers: list[tuple[str, frozenset[str] | None, _Parser]] = []
        for field, parse in parsers.items():
            sources = _SOURCES.get(field, frozenset((field,)))
            self._parsers.append((field, None if field in fields_of_columns else sources, parse))

    def make(self, line: int, row: Row | Trouble) -> Sample | BadRow:
        """The Sample of the row in this line."""
        if isinstance(row, Trouble):
            word = "row" if self.reader.counted_by == "position" else "line"
            return BadRow(
                f"{word}-{line}",
                line,
                row.code,
                f"{self.reader.where(line)}: {row.what}",
                row.why,
                row.fix,
                self.reader.counted_by,
            )
        shape = self.columns.form
        if shape is not None and shape.numbered and self.reader.textual:
            # A sheet for labels, whose texts were guarded when it was written.
            row = {name: without_guard(value) for name, value in row.items()}
        problems: Problems = []
        own_id = self._id(row, problems)
        self._note_test_set(row)
        raw = _RawRow(row, self._cells(row), problems)
        # Most rows say few of the fields: a parser that nothing is there for is not called, and the
        # Sample has its own value for absence.
        present = raw.cells.keys()
        values: dict[str, Any] = {}
        for field, sources, parse in self._parsers:
            if sources is None or not sources.isdisjoint(present):
                values[field] = parse(raw, field)
        if problems:
            return self._bad_row(own_id or f"line-{line}", line, problems)
        return Sample(id=own_id or f"row-{line}", line=line, **values)

    def _note_test_set(self, row: Row) -> None:
        """What to know of a test set goes with its rows, wherever they are used."""
        own = row.get("testset")
        if isinstance(own, dict) and isinstance(own.get("note"), str):
            self.notes[f"rows are of a {shorten(own['note'], 160)}"] += 1

    def _bad_row(self, row_id: str, line: int, problems: Problems) -> BadRow:
        what = "; ".join(map(self._with_column, problems[:_MOST_PROBLEMS]))
        more = len(problems) - _MOST_PROBLEMS
        if more > 0:
            what += f"; and {more} more"
        why = "; ".join(problem.why for problem in problems)
        fix = "correct the row, or name another column: --map FIELD=COLUMN"
        return BadRow(
            row_id,
            line,
            problems[0].code,
            f"{self.reader.where(line)}: {what}",
            shorten(why, 200),
            in_python(fix) if self.reader.source == "memory" else fix,
            self.reader.counted_by,
        )

    def _with_column(self, problem: Problem) -> str:
        """The problem, with the column it is about where that has another name."""
        # A problem begins with the field and its place: "contexts[2].score is ...".
        place = problem.what.partition(" ")[0]
        field = place.partition("[")[0].partition(".")[0]
        column = self.columns.read.get(field)
        if column is None or column == field:
            return problem.what
        return f"{problem.what} (column {shorten(column, 40)})"

    def _id(self, row: Row, problems: Problems) -> str | None:
        column = self.columns.read.get("id")
        if self.make_ids or column is None:
            return None
        value = walk(row, column)
        if _is_nan(value):
            return None
        return cells.identity(value, "id", problems)

    def _cells(self, row: Row) -> dict[str, object]:
        """The row's cells by field, without those that are absent."""
        # Runs for every cell of every row: local names, and no call where the cell is plain.
        present: dict[str, object] = {}
        textual = self.reader.textual
        quiet = self.columns.quiet
        of_sheet = self.columns.form is not None and self.columns.form.numbered
        for field, column in self.columns.read.items():
            value = row.get(column)
            if value is None and "." in column:
                value = walk(row, column)
            if field == "contexts" and self.columns.joined:
                value = self._joined_contexts(row)
            if value is None or (not textual and isinstance(value, float) and value != value):
                continue
            if textual and value == "":
                # A text file has no other way to write that nothing was retrieved or answered.
                # But a sheet for labels has: its empty lists are written as lists.
                if field not in _EMPTY_CELLS or (of_sheet and field == "contexts"):
                    continue
                if field == "response" and "trace" in self.columns.read:
                    continue  # the trace says whether it was empty, or the application failed
                self.notes[f"empty cells were read as {_EMPTY_CELLS[field]}"] += 1
                if field == "contexts":
                    value = ()
            present[field] = value
            if quiet:
                quiet.discard(field)
        if self.columns.form is not None and self.columns.form.is_trace:
            present["trace"] = row
        if "trace" in present:
            self._add_output_of_span(present)
            self._add_said_by_spans(present)
        self._look_inside(present)
        return present

    def _joined_contexts(self, row: Row) -> list[object] | None:
        """The contexts of several columns, in their order; None where none of them is there."""
        found = [walk(row, column) for column in self.columns.joined]
        present = [value for value in found if value is not None and not _is_nan(value)]
        if not present:
            return None
        contexts: list[object] = []
        for value in present:
            inner = cells.unpack(value)
            # A column may hold a list itself, and an empty cell holds no chunk.
            if isinstance(inner, list):
                contexts.extend(inner)
            elif value != "":
                contexts.append(value)
        return contexts

    def _look_inside(self, present: dict[str, object]) -> None:
        """Read what the question and the response hold beside their texts."""
        for field in ("question", "response", "reference"):
            self._unpack(present, field)
        if self._takes_trailing_reply:
            self._add_trailing_reply(present)
        if "contexts" not in present and type(present.get("response")) in (dict, list):
            self._add_inner_contexts(present)
        if not present.keys() & USAGE_CELLS:
            self._add_inner_usage(present)

    def _unpack(self, present: dict[str, object], field: str) -> None:
        """Look into a question or response that is written as JSON."""
        value = present.get(field)
        if not isinstance(value, str) or value[:1] not in ("{", "["):
            return
        parsed = cells.unpack(value)
        if not cells.holds_objects(parsed):
            return
        column = shorten(self.columns.read.get(field, field), 40)
        if cells.says(parsed, field):
            present[field] = parsed
            self.notes[f"rows have their {field} inside the JSON of {column}"] += 1
        else:
            self.notes[f"rows have JSON without a known {field} in {column}; read as a text"] += 1

    def _add_said_by_spans(self, present: dict[str, object]) -> None:
        """What the spans of the row's trace say of fields that no column says."""
        said = said_by_spans(present["trace"])
        # A function that answered piece by piece is kept with a list, which its trace reads as one.
        if "response" in said and _is_list_of_texts(present.get("response")):
            del present["response"]
        for field, value in said.items():
            if field not in present and not (field == "error" and "response" in present):
                present[field] = value
                self.notes[f"rows have their {field} from the spans of the trace"] += 1

    def _add_output_of_span(self, present: dict[str, object]) -> None:
        """The contexts that --map says a span of the trace gave."""
        column = self.columns.read.get("contexts", "")
        if "contexts" not in present and column.startswith(SPAN_PREFIX):
            outputs = columns_of_trace(present["trace"])
            if column in outputs:
                present["contexts"] = outputs[column]

    def _add_trailing_reply(self, present: dict[str, object]) -> None:
        """A conversation without a response column ends with the response, in some shapes, and what
        its tools gave is what was retrieved.
        """
        messages = messages_in(present.get("question"))
        if "response" not in present and (reply := last_reply(messages)):
            present["response"] = reply
        if not present.keys() & _SOURCES["contexts"] and (results := retrieved_in(messages)):
            present["contexts"] = results
            whose = "what tools gave" if tool_results(messages) else "what stands beside the reply"
            self.notes[f"rows have as contexts {whose} in the conversation"] += 1

    def _add_inner_contexts(self, present: dict[str, object]) -> None:
        """The contexts that an application returned beside its response."""
        found = contexts_in(present["response"])
        if isinstance(found, str | list | tuple):
            present["contexts"] = found
            column = shorten(self.columns.read.get("response", "response"), 40)
            self.notes[f"rows have their contexts inside {column}"] += 1

    def _add_inner_usage(self, present: dict[str, object]) -> None:
        """The tokens that the reply, or the replies of the conversation, say that they took."""
        for field in ("response", "question"):
            value = present.get(field)
            # A plain text says nothing, and most are.
            tokens = {} if isinstance(value, str) or value is None else tokens_in(value)
            if tokens:
                present["usage"] = tokens
                column = shorten(self.columns.read.get(field, field), 40)
                self.notes[f"rows have their tokens inside {column}"] += 1
                return

    def _slices(self, raw: _RawRow, _: str) -> dict[str, str]:
        slices: dict[str, str] = {}
        for name, value, place in self._slice_values(raw):
            slice_value = cells.name(value, place, raw.problems)
            if slice_value is not None:
                slices[name] = slice_value
        return slices

    def _slice_values(self, raw: _RawRow) -> Iterator[_NamedValue]:
        yield from _named_values(raw, "slices", "slice")
        # Columns that --slice names come last, so that they win over the row's own slices.
        for column in self.columns.slices:
            value = walk(raw.row, column)
            absent = value is None or value != value
            if absent or (self.reader.textual and value == ""):
                continue
            yield column, value, f"the slice {shorten(column, 40)}"

    def _labels(self, raw: _RawRow, _: str) -> dict[str, float | str]:
        labels: dict[str, float | str] = {}
        for name, value, place in self._label_values(raw):
            label = cells.label(value, place, raw.problems, self.reader.textual)
            if label is not None:
                labels[name] = label
        return labels

    def _label_values(self, raw: _RawRow) -> Iterator[_NamedValue]:
        yield from _named_values(raw, "labels", "label")
        for column in self.columns.marks:
            yield column, raw.row.get(column), f"label {shorten(column, 40)}"

    def _reference(self, value: object, field: str, problems: Problems) -> str | None:
        return cells.reference(value, field, problems, self.notes, self.reader.textual)

    def _guidelines(self, raw: _RawRow, field: str) -> tuple[str, ...]:
        return cells.texts(raw.cells[field], field, raw.problems) or ()

    def _error(self, value: object, field: str, problems: Problems) -> str | None:
        return cells.failure(value, field, problems, self.notes)

    def _usage(self, raw: _RawRow, _: str) -> AppUsage | None:
        return read_usage(raw.cells, raw.problems, self.notes)

    def _feedback(self, raw: _RawRow, _: str) -> tuple[float, ...] | None:
        return read_feedback(raw.cells, self.notes)

    def _contexts(self, raw: _RawRow, field: str) -> tuple[Context, ...] | None:
        contexts = self._texts_of_contexts(raw.cells.get(field), raw.problems)
        if "context_ids" not in raw.cells:
            return contexts
        ids = cells.unpack(raw.cells["context_ids"])
        if contexts is None:
            # With a question or a response a judge would be asked about chunks that are not there.
            asks = "question" in raw.cells or "response" in raw.cells
            if asks or not isinstance(ids, list | tuple):
                self.notes[
                    "rows have ids of retrieved documents and no texts; the ids are not read"
                ] += 1
                return None
            # Nothing but a ranking: no judge can be asked about its chunks, so their texts may be
            # empty.
            self.notes["rows are rankings of document ids without texts"] += 1
            contexts = (Context(""),) * len(ids)
        return _with_ids(contexts, ids, raw.problems)

    def _texts_of_contexts(self, value: object, problems: Problems) -> tuple[Context, ...] | None:
        shape = self.columns.form
        if shape is not None and shape.whole and isinstance(value, str):
            text = cells.text(value, "contexts", problems)
            if text is None:
                return None
            return (Context(text),)
        if shape is not None and shape.numbered and isinstance(value, str):
            value = cells.numbered_chunks(value) or value
        if shape is not None and isinstance(value, str) and shape.separator:
            chunks = _joined_chunks(value, shape.separator)
            if len(chunks) > 1:
                note = f"cells of contexts were split at {shape.separator}, as {shape.name} does"
                self.notes[note] += 1
                value = chunks
        return cells.contexts(value, "contexts", problems, self.notes)


def _joined_chunks(text: str, separator: str) -> list[str]:
    """The chunks of a text that a tool joined; none where the text is a list by itself."""
    if cells.unpack(text) is not text:
        return []
    return [chunk for chunk in text.split(separator) if chunk.strip()]


def _is_list_of_texts(value: object) -> bool:
    texts = cells.unpack(value)
    return isinstance(texts, list) and bool(texts) and all(isinstance(x, str) for x in texts)


def _is_nan(value: object) -> bool:
    """NaN is a gap in a table."""
    return isinstance(value, float) and value != value


def _with_ids(
    contexts: tuple[Context, ...], ids: object, problems: Problems
) -> tuple[Context, ...]:
    if not isinstance(ids, list | tuple) or len(ids) != len(contexts):
        problems.append(
            Problem(
                "E0303",
                f"context_ids must be a list of {len(contexts)} ids, one for each of contexts",
                show(ids),
            )
        )
        return contexts
    contexts_with_ids = []
    for place, (context, value) in enumerate(zip(contexts, ids, strict=True)):
        document_id = cells.identity(value, f"context_ids[{place}]", problems)
        contexts_with_ids.append(replace(context, id=document_id or context.id))
    return tuple(contexts_with_ids)
