"""The choice of the column that is read as each field, by the names that evaluation tools use.

For each field the first of these decides: `--map field=column`; a column with the field's own name;
the name that the recognised tool uses; the only column with a known name. Two known names left over
are an error (E0311), except for the id, the error and what users said, where the first of the list
below is taken.
Names are compared without regard to case, camelCase, blanks and hyphens. A dot walks into nested
objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as of
from itertools import chain

from ragassay.core import SetupError, nearest, shorten
from ragassay.datasets.cells import unpack
from ragassay.datasets.names import ALIASES, WEAK
from ragassay.datasets.shapes import SHAPES, Shape

SUBSTANCE = (
    "question",
    "contexts",
    "response",
    "reference",
    "expected_facts",
    "relevant_ids",
    "latency",
    "cost",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "usage",
    "trace",
)
"""Fields that something can be measured on; a source with none of them is refused (E0307)."""


_USAGE = frozenset(
    {"latency", "latency_ms", "cost", "total_tokens", "input_tokens", "output_tokens"}
)
"""What the application took to answer."""

TIMES = ("start_time", "end_time")
"""Read only where a recognised tool means the run of the application by them, or where --map says
so.
"""

_ROOTS = ("inputs", "outputs", "expectations", "metadata", "reference_outputs")
"""Objects that tables flatten into dotted columns; their presence gives a shape away all the same.
"""

_FIELD_OF: dict[str, str] = {}
for _field, _aliases in ALIASES.items():
    _FIELD_OF |= dict.fromkeys((_field, *_aliases), _field)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAPS = re.compile(r"[\s\-]+")


def normal(name: str) -> str:
    """A column name as it is compared: "userInput", "User Input" and "user-input" are
    "user_input".
    """
    return _GAPS.sub("_", _CAMEL.sub("_", name.strip())).lower()


@dataclass(slots=True)
class Columns:
    """The choice. read: field -> column. slices: slice columns asked for. ignored: columns not
    read, in order.

    quiet: fields whose column no row has shown yet; marks: columns that are labels by their names;
    form: the shape; joined: the columns that contexts are put together from, where these are
    several. `adopt` adds columns that first appear later; so every reading starts from a
    copy.
    """

    shape: str
    read: dict[str, str]
    slices: tuple[str, ...]
    ignored: list[str]
    why_ignored: dict[str, str]
    fixed: frozenset[str]
    quiet: set[str] = of(default_factory=set)
    marks: tuple[str, ...] = ()
    form: Shape | None = None
    joined: tuple[str, ...] = ()

    def copy(self) -> Columns:
        return replace(
            self,
            read=dict(self.read),
            ignored=list(self.ignored),
            why_ignored=dict(self.why_ignored),
            quiet=set(self.quiet),
        )

    @property
    def says_anything(self) -> bool:
        """Whether something is read that can be measured. Without the fields that no row has shown
        yet.
        """
        return any(field in self.read and field not in self.quiet for field in SUBSTANCE)

    def adopt(self, column: str, line: int) -> bool:
        """Read a column that first appears in this line, if its field is still free. Says whether
        it is.
        """
        if column in self.slices:
            return False
        field = self._field_of(column)
        if field is None:
            self.ignored.append(column)
            return False
        # A column that --map names stands, and so does one that rows have shown already: which of
        # two is read must not depend on the order of the rows.
        is_read = field in self.read and field not in self.quiet
        if not is_read and field not in self.fixed:
            self.read[field] = column
            self.quiet.discard(field)
            return True
        source = self.read.get(field, "elsewhere")
        self.why_ignored[column] = f"first seen in line {line}; {field} is read from {source}"
        self.ignored.append(column)
        return False

    def _field_of(self, column: str) -> str | None:
        """The field that the column's name is known for, where it is read at all."""
        field = _FIELD_OF.get(normal(column))
        if field in TIMES and not (self.form and self.form.timed):
            return None
        return field

    def lines(self) -> list[str]:
        """What is told to the user: one line a column."""
        lines = [f"looks like {self.shape} rows"] if self.shape else []
        lines += self._lines_of_fields()
        for column in self.marks:
            name = shorten(column, 60)
            lines.append(f"read {name} as the label {name}")
        for column in self.slices:
            name = shorten(column, 60)
            lines.append(f"read {name} as the slice {name}")
        return [*lines, *self.lines_left_out()]

    def lines_left_out(self) -> list[str]:
        """What is told of the columns that are not read."""
        lines: list[str] = []
        for column, why in self.why_ignored.items():
            lines.append(f"ignored {shorten(column, 60)}: {why}")
        columns = [column for column in self.ignored if column not in self.why_ignored]
        names = [shorten(column, 40) or "a column without a name" for column in columns]
        if names:
            more = f" and {len(names) - 12} more" if len(names) > 12 else ""
            lines.append("ignored " + ", ".join(names[:12]) + more)
        return lines

    def _lines_of_fields(self) -> list[str]:
        """Fields with their own names in one line, the others in a line each, but those on usage in
        one.
        """
        own: list[str] = []
        renamed: list[str] = []
        usage: list[str] = []
        for field, column in self.read.items():
            # Nothing has been read as it yet, so there is nothing to say.
            if field in self.quiet:
                continue
            if column == field:
                own.append(field)
            elif field in _USAGE:
                usage.append(f"{shorten(column, 60)} as {field}")
            else:
                renamed.append(f"read {shorten(column, 60)} as {field}")
        if usage:
            renamed.append(f"read {', '.join(usage)}")
        if not own:
            return renamed
        names = "their own names" if len(own) > 1 else "its own name"
        return [f"read {', '.join(own)} by {names}", *renamed]


def choose(
    columns: Sequence[str],
    nested: Sequence[str],
    mapping: Mapping[str, str],
    slices: Sequence[str],
    name: str,
) -> Columns:
    """Decide what is read. nested: dotted paths inside objects; name: the source's.

    Raises SetupError: E0308 a name in `mapping` or `slices` that does not exist, E0311 two columns
    for one field.
    """
    everything = list(dict.fromkeys([*columns, *nested]))
    joined = _several(mapping.get("contexts", ""), everything)
    _check_mapping(mapping, joined, slices, everything, name)
    present = _present(columns, everything)
    shape = next((shape for shape in SHAPES if shape.fits(present)), _NO_SHAPE)
    prefer, skips = dict(shape.reads), dict(shape.skips)
    if shape.adapt is not None:
        shape.adapt(present, prefer, skips)
    by_name = _by_normal_name(everything, {*mapping.values(), *joined, *slices})
    through = {field: path for field, path in shape.lists.items() if path in nested}
    read = {**through, **mapping}
    ambiguous: dict[str, list[str]] = {}
    for field in ALIASES:
        if field in read or (field in TIMES and not shape.timed):
            continue
        names = _names(field, by_name, prefer, skips)
        candidates = _candidates(field, names, by_name, prefer.get(field))
        if len(candidates) > 1:
            ambiguous[field] = candidates
        elif candidates:
            read[field] = candidates[0]
    if ambiguous:
        raise _ambiguous_error(ambiguous, name)
    if "contexts" not in read:
        joined = _numbered_contexts(columns, {*read.values(), *slices})
        if joined:
            read["contexts"] = ",".join(joined)
    # After all fields, since a label column may also be one that a field is read from.
    used = {*read.values(), *joined, *slices}
    marks = _marks(shape, columns, used)
    draws = {column for column in columns if normal(column) in shape.draws}
    ignored = _unread(columns, {*used, *marks, *draws})
    quiet = _quiet(shape, everything, read)
    read |= quiet
    # In the order of the fields, whatever --map named first: messages list them so.
    in_order = {field: read[field] for field in ALIASES if field in read}
    return Columns(
        shape.name,
        in_order,
        tuple(slices),
        ignored,
        {column: skips[normal(column)] for column in ignored if normal(column) in skips},
        frozenset(mapping),
        set(quiet),
        marks,
        None if shape is _NO_SHAPE else shape,
        joined,
    )


_NO_SHAPE = Shape("", (), (), {}, {})


def _present(columns: Sequence[str], everything: Sequence[str]) -> set[str]:
    """The names by which a shape is recognised: of all columns, and of the objects that a table
    flattened into some.
    """
    roots = {column.partition(".")[0] for column in columns}
    return {normal(column) for column in everything} | (roots & set(_ROOTS))


def _several(columns: str, everything: Sequence[str]) -> tuple[str, ...]:
    """The columns that `--map contexts=a,b` names; none where it names a single one."""
    names = tuple(name.strip() for name in columns.split(","))
    return names if len(names) > 1 and columns not in everything else ()


_NUMBERED = re.compile(r"(.+?)_*(\d+)")
_DOCUMENT_STEMS = frozenset({"document", "retrieved_document", "retrieved_doc"})
_CHUNK_WORDS = frozenset({"context", "chunk", "passage", "snippet", "excerpt"})
_NOT_RETRIEVED = frozenset(
    {
        *("expected", "gold", "golden", "reference", "relevant", "supporting", "correct", "true"),
        *("ideal", "target", "truth", "id", "score"),
    }
)


def _numbered_contexts(columns: Sequence[str], taken: set[str]) -> tuple[str, ...]:
    """The free columns that hold a context each by their names ("Chunk 1", "Chunk 2"), in the order
    of their numbers.
    """
    numbered: dict[str, list[tuple[int, str]]] = {}
    for column in columns:
        match = _NUMBERED.fullmatch(normal(column))
        if match and _is_of_chunks(match[1]) and column not in taken:
            numbered.setdefault(match[1], []).append((int(match[2]), column))
    # Of two kinds of them nothing says which are meant.
    if len(numbered) != 1:
        return ()
    ((_, found),) = numbered.items()
    return tuple(column for _, column in sorted(found)) if len(found) > 1 else ()


def _is_of_chunks(stem: str) -> bool:
    """Whether a column's name before its number says that it holds a retrieved text: "chunk", "KB
    Snippet".
    """
    words = stem.split("_")
    of_chunks = words[-1] in _CHUNK_WORDS and _NOT_RETRIEVED.isdisjoint(words)
    return of_chunks or stem in _DOCUMENT_STEMS


def _by_normal_name(columns: Sequence[str], taken: set[str]) -> dict[str, list[str]]:
    """Normal name -> the columns of that name that are not taken."""
    by_name: dict[str, list[str]] = {}
    for column in columns:
        if column not in taken:
            by_name.setdefault(normal(column), []).append(column)
    return by_name


def _names(
    field: str,
    by_name: Mapping[str, list[str]],
    prefer: Mapping[str, str],
    skips: Mapping[str, str],
) -> list[str]:
    """The names of columns that may be read as a field, the field's own first."""
    preferred = prefer.get(field, "")
    names = []
    for name in dict.fromkeys((field, preferred, *ALIASES[field])):
        # A column without a name, such as a table's row numbers, is no field.
        if name and name in by_name and (name == preferred or name not in skips):
            names.append(name)
    # Phoenix calls the retrieved texts "reference".
    if field == "reference" and prefer.get("contexts") == "reference":
        return [name for name in names if name != "reference"]
    return names


def _marks(shape: Shape, columns: Sequence[str], used: set[str]) -> tuple[str, ...]:
    """The columns that are labels by their names."""
    if not shape.marks:
        return ()
    free = [column for column in columns if column not in used]
    return tuple(column for column in free if normal(column).endswith(shape.marks))


def _unread(columns: Sequence[str], used: set[str]) -> list[str]:
    """The columns of which nothing is read, in order."""
    partly = set()
    for path in used:
        while "." in path:
            path = path.rpartition(".")[0]
            partly.add(path)
    return [column for column in columns if column not in used and column not in partly]


def _quiet(shape: Shape, columns: Sequence[str], read: Mapping[str, str]) -> dict[str, str]:
    """Columns that no row has shown yet, of the fields that nothing else is read as."""
    roots = {column.partition(".")[0] for column in columns}
    free = {field: column for field, column in shape.also.items() if field not in read}
    return {field: column for field, column in free.items() if column.partition(".")[0] in roots}


def listed(columns: Sequence[str]) -> str:
    """The first 20 names."""
    names = ", ".join(shorten(column, 40) for column in columns[:20])
    return f"{names} ..." if len(columns) > 20 else names


def _candidates(
    field: str,
    names: list[str],
    by_name: Mapping[str, list[str]],
    preferred: str | None,
) -> list[str]:
    """The columns that may be the field; of several, which one is meant cannot be told."""
    for name in names:
        exact = [column for column in by_name[name] if column == name]
        columns = exact or by_name[name]
        if name in (field, preferred) and len(columns) == 1:
            return columns
    candidates = outermost(list(chain.from_iterable(by_name[name] for name in names)))
    # Several ids are usual (of the row, the trace, the span), and the first of the list is best; a
    # second rating by users is no reason to stop.
    if field in ("id", "error", "feedback", "stars"):
        return candidates[:1]
    strong = [column for column in candidates if normal(column) not in WEAK]
    return strong or candidates


def _short(column: str) -> str:
    return shorten(column, 40)


def _ambiguous_error(ambiguous: Mapping[str, Sequence[str]], source: str) -> SetupError:
    """The error that names all fields that several columns may be: one answer settles it."""
    counts = [f"{len(columns)} as {field}" for field, columns in ambiguous.items()]
    listed_columns = {
        field: ", ".join(map(_short, columns[:8])) for field, columns in ambiguous.items()
    }
    if len(ambiguous) == 1:
        ((field, columns),) = ambiguous.items()
        why = listed_columns[field]
        fix = " or ".join(f"--map {field}={quote(column)}" for column in columns[:3])
    else:
        why = "; ".join(f"{field}: {columns}" for field, columns in listed_columns.items())
        firsts = [f"--map {field}={quote(columns[0])}" for field, columns in ambiguous.items()]
        fix = " ".join(firsts) + ", or others of these columns"
    return SetupError(
        "E0311",
        f"Several columns of {source} would be read as one field: {', '.join(counts)}.",
        where=source,
        why=why,
        fix=f"say which: {fix}",
    )


def outermost(columns: Sequence[str]) -> list[str]:
    """The columns without those that lie inside another of them."""
    prefixes = tuple(f"{column}." for column in columns)
    return [column for column in columns if not column.startswith(prefixes)]


def _check_mapping(
    mapping: Mapping[str, str],
    joined: Sequence[str],
    slices: Sequence[str],
    columns: Sequence[str],
    name: str,
) -> None:
    for field, column in mapping.items():
        if field not in ALIASES:
            fields = "fields: " + ", ".join(ALIASES)
            fix = fields
            # The usual mistake is to name the column first.
            if column in ALIASES and field in columns:
                fix = f"write --map {column}={quote(field)} (field=column)"
            elif column in ALIASES and column in columns:
                fix = f"leave it out: {column} is read by its own name; {fields}"
            raise SetupError(
                "E0308",
                f"There is no field {shorten(field, 40)!r} to read a column"
                f" as.{nearest(field, ALIASES)}",
                where=f"--map {shorten(field, 40)}={shorten(column, 40)}",
                fix=fix,
            )
        for each in (joined if field == "contexts" else ()) or (column,):
            _check_column(each, columns, f"--map {field}={shorten(column, 40)}", name)
    for column in slices:
        if column not in columns and f"slices.{column}" not in columns:
            _check_column(column, columns, f"--slice {shorten(column, 40)}", name)


def _check_column(column: str, columns: Sequence[str], where: str, name: str) -> None:
    if column not in columns:
        raise SetupError(
            "E0308",
            f"{name} has no column {shorten(column, 40)!r}.{nearest(column, columns)}",
            where=where,
            why=f"columns: {listed(columns)}",
            fix="take one of its columns",
        )


def quote(column: str) -> str:
    """The name as a shell takes it."""
    # In full, however long it is: the printed option has to work when it is copied.
    text = column if column.isprintable() else shorten(column, 60)
    if re.fullmatch(r"[\w.\-]+", text):
        return text
    # Inside single quotes nothing is special but the quote itself.
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def nested_paths(row: Mapping[str, object]) -> Iterable[str]:
    """Dotted paths into the objects of a row, also those written as JSON, to depth 4 and 500 paths
    at most.
    """
    open_objects: list[tuple[str, dict[str, object], int]] = []
    for column, value in row.items():
        if type(value) is str and value[:1] == "{":
            value = unpack(value)
        if type(value) is dict:
            open_objects.append((column, value, 1))
    paths: list[str] = []
    # Bounded on every side: an object whose keys are data has as many paths as there are rows.
    while open_objects and len(paths) < 500:
        prefix, fields, depth = open_objects.pop()
        for key, inner in list(fields.items())[:200]:
            path = f"{prefix}.{key}"
            paths.append(path)
            if depth < 4 and type(inner) is dict:
                open_objects.append((path, inner, depth + 1))
    return paths
