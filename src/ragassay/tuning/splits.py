"""The split of labelled rows into train, validation and sealed rows, by whole clusters.

A judge that is changed until it agrees on some rows says nothing on them any more. So rows are
searched on (train), candidates are chosen on others (validation), and a certificate comes from rows
that nothing has seen: the sealed part, which is opened once. Rows of one cluster (a document, a
question) are alike and stay together; equal rows in two clusters join these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ragassay.core import DataError, SetupError, shorten
from ragassay.core.counting import count
from ragassay.scoring.arrays import numbered
from ragassay.tuning.values import FloatArray, IntArray, LabelledRows, Part, SearchCaps

SHARES = (0.4, 0.3, 0.3)
FEWEST_ROWS, FEWEST_CLUSTERS = 30, 10
PARTS = (Part.TRAIN, Part.VALIDATION, Part.SEALED)
_PART_NAMES: Mapping[str, Part] = {
    "train": Part.TRAIN,
    "training": Part.TRAIN,
    "validation": Part.VALIDATION,
    "valid": Part.VALIDATION,
    "val": Part.VALIDATION,
    "dev": Part.VALIDATION,
    "sealed": Part.SEALED,
    "test": Part.SEALED,
    "holdout": Part.SEALED,
}
COMMON = 0.05
"""Values of columns with at least this share of the rows are balanced over the parts."""
_OF_A_PAIR = ("first", "second")
"""The texts of a row that is a pair of responses."""
MOST_VALUES = 20
"""Values of one column that are balanced at most; a column with more names rows, not slices."""


class OpeningLog(Protocol):
    """Where openings of sealed parts are written down, for good."""

    def opened(self, marks: Collection[str], purpose: str) -> str | None:
        """When one of these rows was opened for another purpose, None where none ever was. A run
        that was killed after the opening has the same purpose again.
        """

    def log_opening(self, marks: Sequence[str], purpose: str, caps: SearchCaps) -> None:
        """Write down that these rows are opened now, by a search with these caps. Must be durable
        before it returns.
        """


class SealedPart:
    """The sealed rows. They are handed out once, after the opening was logged.

    marks: of each row, see `marks_of`; plain: see `plain_marks_of`.
    """

    def __init__(self, rows: IntArray, marks: Sequence[str], plain: Sequence[str] = ()) -> None:
        self._rows = rows
        self._marks = tuple(marks)
        self._plain = tuple(plain)
        self._is_open = False

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def digest(self) -> str:
        """Of the rows, whatever their order."""
        return hashlib.sha256("\n".join(sorted(self._marks)).encode()).hexdigest()

    @property
    def marks(self) -> frozenset[str]:
        """What the rows are known by, whichever file they come from."""
        return frozenset((*self._marks, *self._plain))

    def open(self, log: OpeningLog, purpose: str, caps: SearchCaps) -> IntArray:
        """The indices of the rows. purpose: which candidates they are opened for; it counts for
        these rows alone, for the same candidates on other rows are another test. caps: of the
        search. Raises SetupError E0704 where one of them was handed out before, by whichever
        search.
        """
        of_these = f"{purpose}:{self.digest[:16]}"
        before = log.opened(self.marks, of_these)
        if before is not None or self._is_open:
            raise self.opened_before(before or "in this process")
        log.log_opening((*self._marks, *self._plain), of_these, caps)
        self._is_open = True
        return self._rows

    def opened_before(self, when: str) -> SetupError:
        """The error for rows that were opened before."""
        return SetupError(
            "E0704",
            "Sealed rows were opened before: another search was tested on them.",
            where=f"some of the {len(self)} rows, digest {self.digest[:12]}",
            why=f"opened {when}; a second test on the same rows would certify chance",
            fix=(
                "label new rows, and give --split-by COLUMN with 'sealed' for these and 'train' or"
                " 'validation' for the old ones"
            ),
        )


@dataclass(frozen=True, slots=True)
class Split:
    """Which rows may be searched on and chosen on, and the sealed rest.

    rows: the labelled rows, with clusters joined where rows are equal. joined: clusters that were
    joined to another. notes: what a reader should know, in words.
    """

    rows: LabelledRows
    train: IntArray
    validation: IntArray
    sealed: SealedPart
    joined: int = 0
    notes: tuple[str, ...] = ()

    def clusters(self, part: Part) -> int:
        """Clusters of a part."""
        return len(np.unique(self.rows.cluster[self._rows(part)]))

    def clusters_of(self, part: Part) -> IntArray:
        """The cluster of each row of a part, which tells nothing of the rows."""
        return np.asarray(self.rows.cluster[self._rows(part)])

    def share_passed(self, part: Part) -> float:
        """Share of a part's rows that people pass. Of the sealed part it says no more than this."""
        return float(self.rows.truth[self._rows(part)].mean())

    def _rows(self, part: Part) -> IntArray:
        of_part = {Part.TRAIN: self.train, Part.VALIDATION: self.validation}
        return of_part.get(part, self.sealed._rows)


def split(
    rows: LabelledRows,
    *,
    shares: Sequence[float] = SHARES,
    column: str | None = None,
    seed: int = 0,
) -> Split:
    """Divide the rows, by clusters at random or by the values of a column.

    shares: of train, validation and sealed rows. At random, the shares of passes and of the common
    values of columns are kept as alike as clusters allow; the same seed gives the same parts.
    Raises DataError E0702 for too few rows, clusters or classes, E0703 for a column that does not
    divide clusters and equal rows cleanly; SetupError E0703 for shares that cannot be.
    """
    _check_rows(rows)
    if column is not None:
        return _by_column(rows, column)
    _check_shares(shares)
    whole, joined, notes = _join_equal_rows(rows)
    _check_clusters(whole)
    part = _assign(whole, np.asarray(shares, dtype=np.float64), seed)
    return _parts(whole, part, joined, notes)


def marks_of(rows: LabelledRows, chosen: IntArray) -> list[str]:
    """What each of these rows is known by: a hash of its texts, or of its id where it has none.

    A row under another id, or with a corrected label, is a row that was seen.
    """
    marks = []
    for i in chosen.tolist():
        texts = sorted(rows.texts[i].items()) if rows.texts else []
        marks.append(_hash(texts or rows.ids[i]))
    return marks


def plain_marks_of(rows: LabelledRows, chosen: IntArray) -> list[str]:
    """The same of the rows' texts without what blanks and capitals make of them: a row with a blank
    more is a row that was seen. Openings hold both, as those before this rule hold the first alone.
    """
    if not rows.texts:
        return []
    return [_hash(_plain(rows.texts[i])) for i in chosen.tolist() if rows.texts[i]]


def _hash(content: object) -> str:
    return hashlib.sha256(repr(content).encode("utf-8", "replace")).hexdigest()[:16]


# ---- checks ----


def _check_rows(rows: LabelledRows) -> None:
    n, passed = len(rows), int(rows.truth.sum())
    if n < FEWEST_ROWS:
        raise _too_few(f"{n} labelled rows", f"at least {FEWEST_ROWS} rows are needed")
    if passed in (0, n):
        which = "pass" if passed else "fail"
        raise _too_few(f"people {which} all {n} rows", "rows of both classes are needed")


def _check_clusters(rows: LabelledRows) -> None:
    clusters = len(np.unique(rows.cluster))
    if clusters < FEWEST_CLUSTERS:
        by, fix = "", "label more rows, of other documents or questions"
        if rows.cluster_field:
            by = f", by the column {shorten(rows.cluster_field)}"
            fix += "; where it does not say which rows belong together: --cluster COLUMN, or ''"
        raise _too_few(
            f"{len(rows)} rows in {clusters} clusters{by}",
            f"at least {FEWEST_CLUSTERS} clusters are needed",
            fix,
        )


def _too_few(
    why: str, what: str, fix: str = "label more rows, of other documents or questions"
) -> DataError:
    return DataError(
        "E0702", f"A judge cannot be optimised on these labels: {what}.", why=why, fix=fix
    )


def _check_shares(shares: Sequence[float]) -> None:
    fits = len(shares) == len(PARTS) and all(0 < share < 1 for share in shares)
    if not fits or abs(sum(shares) - 1) > 1e-6:
        raise SetupError(
            "E0703",
            "The shares of train, validation and sealed rows must add up to 1.",
            why="/".join(f"{share:g}" for share in shares),
            fix="for example 0.4/0.3/0.3",
        )


def _check_classes(rows: LabelledRows, part: Part, chosen: IntArray) -> None:
    passed = int(rows.truth[chosen].sum()) if len(chosen) else 0
    if passed in (0, len(chosen)):
        which = "no rows" if not len(chosen) else f"only rows that people {_word(passed > 0)}"
        raise _too_few(f"the {part.value} part has {which}", "each part needs both classes")


def _word(passed: bool) -> str:
    return "pass" if passed else "fail"


# ---- equal rows ----


def _contents(rows: LabelledRows) -> list[tuple[tuple[str, str], ...]]:
    """What the judge reads of each row, as one comparable value; [] without texts. Blanks and
    capitals make no other row, and neither does the order of two responses.
    """
    return [_plain(texts) for texts in rows.texts]


def _plain(texts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    plain = []
    for name, text in sorted(texts.items()):
        plain.append((name, " ".join(text.split()).casefold()))
    if _is_pair(texts):
        *others, (_, first), (_, second) = sorted(plain, key=lambda one: one[0] in _OF_A_PAIR)
        plain = [*others, *zip(_OF_A_PAIR, sorted((first, second)), strict=True)]
    return tuple(plain)


def _is_pair(texts: Mapping[str, str]) -> bool:
    return all(name in texts for name in _OF_A_PAIR)


def _is_swapped(texts: Mapping[str, str]) -> bool:
    """Whether a pair stands in the other order than `_plain` gives it."""
    if not _is_pair(texts):
        return False
    first, second = (" ".join(texts[name].split()).casefold() for name in _OF_A_PAIR)
    return first > second


def _equal_rows(rows: LabelledRows) -> list[list[int]]:
    """Sets of rows with the same texts, two or more each, in the order of their first row."""
    of: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for i, content in enumerate(_contents(rows)):
        if content:
            of.setdefault(content, []).append(i)
    return [same for same in of.values() if len(same) > 1]


def _join_equal_rows(rows: LabelledRows) -> tuple[LabelledRows, int, tuple[str, ...]]:
    """The rows with one cluster where equal rows lay in several; clusters joined; notes."""
    root = {code: code for code in np.unique(rows.cluster).tolist()}

    def find(code: int) -> int:
        while root[code] != code:
            root[code] = root[root[code]]
            code = root[code]
        return code

    differing = 0
    for same in _equal_rows(rows):
        differing += len({bool(rows.truth[i]) != _is_swapped(rows.texts[i]) for i in same}) > 1
        for i in same[1:]:
            one, other = find(int(rows.cluster[same[0]])), find(int(rows.cluster[i]))
            root[max(one, other)] = min(one, other)
    codes = numbered(np.array([find(int(code)) for code in rows.cluster], dtype=np.int64))
    joined = len(root) - len(np.unique(codes))
    notes = []
    if joined:
        clusters = count(joined, "cluster was", "clusters were")
        notes.append(f"equal rows lay in several clusters: {clusters} joined to others")
    if differing:
        notes.append(f"{differing} sets of equal rows have different labels")
    return replace(rows, cluster=codes), joined, tuple(notes)


# ---- the division ----


def _assign(rows: LabelledRows, shares: FloatArray, seed: int) -> IntArray:
    """(n,) each row's part, 0 to 2: clusters from the largest down, each to the part that it brings
    nearest to its share of rows, passes and values of columns.

    Large clusters come first, while there is still room to balance them; equal sizes in random
    order.
    """
    place = numbered(rows.cluster)
    features = _features(rows)
    clusters = int(place.max()) + 1
    totals = np.zeros((clusters, features.shape[1]))
    np.add.at(totals, place, features)
    # In shares of the whole, so that a rare value weighs as much as the rows themselves.
    totals = totals / np.maximum(totals.sum(0), 1e-12)
    sizes = np.bincount(place)
    order = np.random.default_rng(seed).permutation(clusters)
    order = order[np.argsort(-sizes[order], kind="stable")]
    weight = np.ones(features.shape[1])
    weight[:2] = features.shape[1]  # rows and passes before single values
    missing = np.tile(shares[:, None], (1, features.shape[1]))
    part_of = np.zeros(clusters, dtype=np.int64)
    for cluster in order.tolist():
        add = totals[cluster]
        # The fall of the squared distance to the shares, per part.
        gain = (weight * add * (2 * missing - add)).sum(1)
        part = int(gain.argmax())
        part_of[cluster] = part
        missing[part] -= add
    return part_of[place]


def _features(rows: LabelledRows) -> FloatArray:
    """(n, features) what is balanced: rows, passes, then each common value of a column."""
    n = len(rows)
    columns = [np.ones(n), rows.truth.astype(np.float64)]
    for name in sorted(rows.columns):
        values, counts = np.unique(np.array(rows.columns[name]), return_counts=True)
        if not 2 <= len(values) <= MOST_VALUES:
            continue
        for value in values[counts >= COMMON * n]:
            columns.append((np.array(rows.columns[name]) == value).astype(np.float64))
    return np.stack(columns, 1)


def _parts(rows: LabelledRows, part: IntArray, joined: int, notes: tuple[str, ...]) -> Split:
    chosen = [np.flatnonzero(part == i) for i in range(len(PARTS))]
    for name, of_part in zip(PARTS, chosen, strict=True):
        _check_classes(rows, name, of_part)
    train, validation, sealed = chosen
    seal = SealedPart(sealed, marks_of(rows, sealed), plain_marks_of(rows, sealed))
    return Split(rows, train, validation, seal, joined, notes)


def _by_column(rows: LabelledRows, column: str) -> Split:
    """The parts that a column names."""
    if column not in rows.columns:
        raise SetupError(
            "E0703",
            "The rows have no column of that name.",
            where=f"--split-by {column}",
            why=f"columns: {', '.join(sorted(rows.columns)) or 'none'}",
            fix="name a column with the values train, validation and sealed",
        )
    part = np.empty(len(rows), dtype=np.int64)
    for i, value in enumerate(rows.columns[column]):
        known = _PART_NAMES.get(value.strip().lower())
        if known is None:
            raise DataError(
                "E0703",
                "The column of the parts has a value that names none.",
                where=f"row {shorten(rows.ids[i])}, {column}",
                why=shorten(value) or "empty",
                fix="give train, validation or sealed (or dev, test)",
            )
        part[i] = PARTS.index(known)
    _check_clusters(rows)
    _check_apart(rows, part, column)
    return _parts(rows, part, 0, ())


def _check_apart(rows: LabelledRows, part: IntArray, column: str) -> None:
    """Raise DataError E0703 where rows of one cluster, or equal rows, lie in two parts."""
    of_cluster: dict[int, int] = {}
    for i, code in enumerate(rows.cluster.tolist()):
        first = of_cluster.setdefault(code, i)
        if part[first] != part[i]:
            raise _across(rows, first, i, part, column, "of one cluster")
    for same in _equal_rows(rows):
        for i in same[1:]:
            if part[same[0]] != part[i]:
                raise _across(rows, same[0], i, part, column, "with the same texts")


def _across(
    rows: LabelledRows, one: int, other: int, part: IntArray, column: str, what: str
) -> DataError:
    names = [PARTS[int(part[i])].value for i in (one, other)]
    return DataError(
        "E0703",
        f"Rows {what} lie in two parts.",
        where=f"rows {shorten(rows.ids[one])} and {shorten(rows.ids[other])}, {column}",
        why=f"{names[0]} and {names[1]}",
        fix="put them into one part, or leave the column out: clusters are then kept together",
    )
