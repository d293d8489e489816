"""How does one raw row become a Sample, or a BadRow that names everything wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ragassay.core import AppUsage, BadRow, Context, Sample, shorten
from ragassay.datasets import cells
from ragassay.datasets.cells import Problem, Problems
from ragassay.datasets.columns import Columns
from ragassay.datasets.source import Reader, Row, Trouble, show
from ragassay.datasets.traces import seconds_between, totals

_USAGE_FIELDS = ("latency", "cost", "total_tokens", "input_tokens", "output_tokens")
_USAGE_KEYS = {
    "latency": "latency",
    "cost": "cost",
    "total_cost": "cost",
    "total_tokens": "total_tokens",
    "input_tokens": "input_tokens",
    "prompt_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "completion_tokens": "output_tokens",
}


def walk(row: Mapping[str, object], column: str) -> object:
    """The cell of a column; a dotted name that is no column walks into objects. None when there is
    none.
    """
    if column in row:
        return row[column]
    value: object = row
    for part in column.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


class RowMaker:
    """Turns rows into Samples under one choice of columns. notes counts what was read in a way
    worth saying.
    """

    def __init__(
        self, columns: Columns, reader: Reader, make_ids: bool, notes: Counter[str]
    ) -> None:
        self.columns, self.reader, self.make_ids, self.notes = columns, reader, make_ids, notes

    def make(self, line: int, row: Row | Trouble) -> Sample | BadRow:
        """The Sample of the row in this line."""
        if isinstance(row, Trouble):
            return BadRow(
                f"line-{line}",
                line,
                row.code,
                f"{self.reader.where(line)}: {row.what}",
                row.why,
                row.fix,
            )
        problems: Problems = []
        own_id = self._id(row, problems)
        sample = self._sample(own_id or f"row-{line}", line, row, problems)
        if not problems:
            return sample
        return BadRow(
            own_id or f"line-{line}",
            line,
            problems[0].code,
            f"{self.reader.where(line)}: "
            + "; ".join(self._named(p) for p in problems[:12])
            + (f"; and {len(problems) - 12} more" if len(problems) > 12 else ""),
            shorten("; ".join(p.why for p in problems), 200),
            "correct the row, or name another column: --map FIELD=COLUMN",
        )

    def _named(self, problem: Problem) -> str:
        """The problem, with the column it is about where that has another name."""
        field = problem.what.split(" ", 1)[0].split("[")[0].split(".")[0]
        column = self.columns.read.get(field)
        return (
            problem.what
            if column in (None, field)
            else f"{problem.what} (column {shorten(str(column), 40)})"
        )

    def _id(self, row: Row, problems: Problems) -> str | None:
        column = self.columns.read.get("id")
        if self.make_ids or column is None:
            return None
        value = walk(row, column)
        absent = isinstance(value, float) and value != value  # a gap in a table
        return None if absent else cells.identity(value, "id", problems)

    def _sample(self, row_id: str, line: int, row: Row, problems: Problems) -> Sample:
        read, notes, textual = self.columns.read, self.notes, self.reader.textual
        got: dict[str, object] = {}
        for field, column in read.items():
            value = row.get(column)
            if value is None and "." in column:
                value = walk(row, column)
            if value is None or (
                value != value and isinstance(value, float) and not textual
            ):  # NaN: absent in tables
                continue
            if value == "" and textual:
                if (
                    field == "contexts"
                ):  # the column is there: an empty cell says that nothing was retrieved
                    notes["empty cells were read as nothing retrieved"] += 1
                    value = ()
                elif field == "response":
                    notes["empty cells were read as an empty response"] += 1
                else:
                    continue
            got[field] = value
            if field in self.columns.quiet:
                self.columns.quiet.discard(field)
        get = got.get
        form = self.columns.form
        if (
            form
            and form.trailing
            and "response" not in got
            and (reply := cells.last_reply(get("question")))
        ):
            got["response"] = reply
        slices: dict[str, str] = {}
        if "slices" in got:
            for key, value in cells.pairs(got["slices"], "slices", problems):
                if (
                    found := cells.name(value, f"slices[{shorten(key, 40)!r}]", problems)
                ) is not None:
                    slices[key] = found
        if "slice" in got and (part := cells.name(got["slice"], "slice", problems)) is not None:
            slices["slice"] = part
        for column in self.columns.slices:
            value = walk(row, column)
            if (
                value is not None
                and value == value
                and not (textual and value == "")
                and (found := cells.name(value, f"the slice {shorten(column, 40)}", problems))
                is not None
            ):
                slices[column] = found
        labels: dict[str, float | str] = {}
        if "labels" in got:
            for key, value in cells.pairs(got["labels"], "labels", problems):
                if (
                    mark := cells.label(value, f"labels[{shorten(key, 40)!r}]", problems, textual)
                ) is not None:
                    labels[key] = mark
        if (
            "label" in got
            and (mark := cells.label(got["label"], "label", problems, textual)) is not None
        ):
            labels["label"] = mark
        for column in self.columns.marks:
            if (
                mark := cells.label(
                    row.get(column), f"label {shorten(column, 40)}", problems, textual
                )
            ) is not None:
                labels[column] = mark
        return Sample(
            id=row_id,
            question=cells.spoken(get("question"), "question", problems),
            contexts=self._contexts(got, problems),
            response=cells.spoken(get("response"), "response", problems),
            reference=cells.reference(get("reference"), "reference", problems, notes, textual)
            if "reference" in got
            else None,
            expected_facts=cells.texts(get("expected_facts"), "expected_facts", problems)
            if "expected_facts" in got
            else None,
            relevant_ids=cells.grades(get("relevant_ids"), "relevant_ids", problems)
            if "relevant_ids" in got
            else None,
            guidelines=(cells.texts(get("guidelines"), "guidelines", problems) or ())
            if "guidelines" in got
            else (),
            answerable=cells.truth(get("answerable"), "answerable", problems)
            if "answerable" in got
            else None,
            slices=slices,
            cluster=cells.name(get("cluster"), "cluster", problems) if "cluster" in got else None,
            usage=self._usage(got, problems),
            labels=labels,
            error=cells.failure(get("error"), "error", problems, notes) if "error" in got else None,
            line=line,
        )

    def _contexts(
        self, got: Mapping[str, object], problems: Problems
    ) -> tuple[Context, ...] | None:
        value, ids = got.get("contexts"), got.get("context_ids")
        form = self.columns.form
        if form and form.whole and isinstance(value, str):
            whole = cells.text(value, "contexts", problems)
            found: tuple[Context, ...] | None = None if whole is None else (Context(whole),)
        else:
            found = cells.contexts(value, "contexts", problems, self.notes)
        if ids is None:
            return found
        names = cells.unpack(ids)
        if found is None:
            if "question" in got or "response" in got or not isinstance(names, list | tuple):
                self.notes[
                    "rows have ids of retrieved documents and no texts; the ids are not read"
                ] += 1
                return None
            # Nothing but a ranking: no judge can be asked about its chunks, so their texts may be
            # empty.
            self.notes["rows are rankings of document ids without texts"] += 1
            found = (Context(""),) * len(names)
        if not isinstance(names, list | tuple) or len(names) != len(found):
            problems.append(
                Problem(
                    "E0303",
                    f"context_ids must be a list of {len(found)} ids, one for each of contexts",
                    show(names),
                )
            )
            return found
        return tuple(
            replace(c, id=cells.identity(n, f"context_ids[{i}]", problems) or c.id)
            for i, (c, n) in enumerate(zip(found, names, strict=True))
        )

    def _usage(self, got: Mapping[str, object], problems: Problems) -> AppUsage | None:
        parts: dict[str, tuple[str, object]] = {}
        if "usage" in got:
            for key, value in cells.pairs(got["usage"], "usage", problems):
                if key in _USAGE_KEYS:
                    parts[_USAGE_KEYS[key]] = (f"usage.{key}", value)
        for name in _USAGE_FIELDS:
            if name in got:
                parts[name] = (name, got[name])
        if "latency_ms" in got and "latency" not in parts:
            took = cells.amount(got["latency_ms"], "latency_ms", problems)
            parts["latency"] = ("latency_ms", None if took is None else took / 1000)
        if "start_time" in got and "end_time" in got and "latency" not in parts:
            parts["latency"] = (
                "latency",
                seconds_between(got["start_time"], got["end_time"], problems),
            )
        if "trace" in got:
            found = totals(got["trace"], self.notes)
            parts |= {
                name: (f"trace.{name}", value) for name, value in found.items() if name not in parts
            }
        if not parts and "usage" not in got:
            return None
        return AppUsage(
            **{
                name: cells.count(*_named(parts, name), problems)
                for name in ("input_tokens", "output_tokens", "total_tokens")
            },
            cost=cells.amount(*_named(parts, "cost"), problems),
            latency=cells.amount(*_named(parts, "latency"), problems),
        )


def _named(parts: Mapping[str, tuple[str, object]], name: str) -> tuple[object, str]:
    field, value = parts.get(name, (name, None))
    return value, field
