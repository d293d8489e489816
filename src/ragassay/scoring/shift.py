"""Tests of whether two sets of rows are alike, so that what was measured on one may be said of the
other.

Three ways to look, by what is at hand. A certificate keeps only quantiles of cheap features:
`against` compares them feature by feature (largest gap of the distribution functions,
Kolmogorov-Smirnov). With both sets at hand, `two_sets` also asks a classifier to tell them apart
(Lopez-Paz & Oquab 2017): ridge regression on the ranks of the features and on hashed words, each
row scored by a fit that never saw it or its cluster, p by permutation of whole clusters.

"Not alike" takes both significance and size: many rows do not make a trifle a shift, and few rows
say so when they could not have shown one. No test of inputs can see that people would judge the
same rows differently.
"""

from __future__ import annotations

import math
import string
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ragassay.core import Profile, Sample, Shift
from ragassay.scoring.arrays import FloatArray, IntArray, numbered
from ragassay.scoring.clusters import codes as clusters_of

Row = Mapping[str, float]

LEVEL = 0.02
"""Error level of either test, corrected for the features looked at."""
SMALLEST_GAP = 0.2
"""`against`: a smaller gap between two distribution functions is no shift that matters to a
certificate.
"""
SMALLEST_SIZE = 0.1
"""`two_sets`: a smaller size (2 AUC - 1, or gap) does not matter even when it is significant."""
STEPS = 32
"""Steps of a profile's quantiles."""
TERMS = 4096
"""Numbers that words are hashed to."""
PERMUTATIONS = 399
"""With the real sides 400 in all, so that p can be as small as 1/400, well below `LEVEL`."""
MOST_ROWS = 1000
"""`two_sets` looks at no more rows of either set than this, drawn at random."""

FEATURES: Mapping[str, str] = {
    "question_words": "questions",
    "response_words": "responses",
    "context_words": "contexts together",
    "reference_words": "references",
    "contexts": "number of contexts",
    "question_mark": "share of questions that end in a question mark",
    "question_asks": "share of questions that open with a question word",
    "question_capitals": "capitals in the questions",
    "question_digits": "digits in the questions",
    "response_sentences": "number of sentences in the responses",
    "response_digits": "digits in the responses",
    "response_capitals": "capitals in the responses",
    "response_marks": "punctuation in the responses",
    "response_foreign": "characters outside ASCII in the responses",
    "response_word_length": "length of the responses' words",
    "response_in_contexts": "share of the responses' words that the contexts hold",
    "response_in_question": "share of the responses' words that the question holds",
    "context_digits": "digits in the contexts",
    "context_foreign": "characters outside ASCII in the contexts",
    "context_marks": "punctuation in the contexts",
    "judge": "the judge's scores",
}
"""Feature -> what it is. *_words and `contexts` are log(1 + count); the rest are shares, or as
named.
"""
_LENGTHS = ("question_words", "response_words", "context_words", "reference_words")
_COUNTS = ("contexts", "response_sentences")
_ASKING = frozenset(
    {
        "what",
        "who",
        "whom",
        "whose",
        "which",
        "when",
        "where",
        "why",
        "how",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "can",
        "could",
        "will",
        "would",
        "should",
        "has",
        "have",
        "had",
    }
)
_MARKS = frozenset(string.punctuation)
_MOST_CHARACTERS = 20_000
_ENDS = str.maketrans("", "", string.punctuation)


def features(sample: Sample) -> dict[str, float]:
    """What a row is like in cheap numbers, all finite; a field that the row lacks leaves its
    features out.

    Linear in the text; shares of characters are taken over a field's first 20,000.
    """
    question_words = frozenset[str]()
    context_words = frozenset[str]()
    out: dict[str, float] = {}
    if sample.question is not None:
        question_words = _words(sample.question)
        out.update(_question_features(sample.question))
    if sample.contexts is not None:
        text = "\n".join(context.text for context in sample.contexts)
        context_words = _words(text)
        out["contexts"] = _log(len(sample.contexts))
        if text:
            out["context_words"] = _log(len(text.split()))
            characters = _characters(text)
            out["context_digits"] = characters.digits
            out["context_marks"] = characters.marks
            out["context_foreign"] = characters.foreign
    if sample.response is not None:
        out.update(_response_features(sample.response, context_words, question_words))
    if sample.reference is not None:
        out["reference_words"] = _log(len(sample.reference.split()))
    return out


def _question_features(question: str) -> dict[str, float]:
    first = question.split(None, 1)[:1]
    asks = bool(first) and first[0].lower().rstrip(",'s") in _ASKING
    characters = _characters(question)
    return {
        "question_words": _log(len(question.split())),
        "question_mark": float(question.rstrip().endswith("?")),
        "question_asks": float(asks),
        "question_capitals": characters.capitals,
        "question_digits": characters.digits,
    }


def _response_features(
    response: str, contexts: frozenset[str], question: frozenset[str]
) -> dict[str, float]:
    """contexts, question: the distinct words of those fields, none where the row lacks them."""
    words = response.split()
    distinct = _words(response)
    characters = _characters(response)
    out = {
        "response_words": _log(len(words)),
        "response_sentences": _log(sum(word[-1] in ".!?" for word in words)),
        "response_capitals": characters.capitals,
        "response_digits": characters.digits,
        "response_marks": characters.marks,
        "response_foreign": characters.foreign,
    }
    if words:
        out["response_word_length"] = min(50.0, sum(map(len, words)) / len(words))
    if distinct and contexts:
        out["response_in_contexts"] = len(distinct & contexts) / len(distinct)
    if distinct and question:
        out["response_in_question"] = len(distinct & question) / len(distinct)
    return out


def terms(sample: Sample) -> tuple[int, ...]:
    """Which words a row uses, as hashes in [0, 4096), by field; for `two_sets`, never kept in a
    profile.

    Of each field's first 4,000 characters: lower-cased words and the first word's place.
    """
    contexts = "\n".join(context.text[:4000] for context in (sample.contexts or ())[:8])
    fields = (("q", sample.question or ""), ("r", sample.response or ""), ("c", contexts))
    seen = set()
    for name, text in fields:
        words = text[:4000].lower().split()
        if words:
            seen.add(_hash(f"{name}^{words[0]}"))
        for word in words:
            seen.add(_hash(f"{name}:{word.translate(_ENDS)}"))
            if name != "c":
                seen.add(_hash(f"{name}${word[-1]}"))
    return tuple(sorted(seen))


def profile(rows: Iterable[Row]) -> Profile:
    """Quantiles of every feature at 0, 1/32 ... 1 (the smallest value with at least that share at
    or below it).
    """
    values: dict[str, list[float]] = {}
    n = 0
    for row in rows:
        n += 1
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    steps = np.arange(STEPS + 1) / STEPS
    quantiles = {}
    present = {}
    for name in sorted(values):
        column = np.asarray(values[name], dtype=float)
        quantiles[name] = tuple(np.quantile(column, steps, method="inverted_cdf").tolist())
        present[name] = len(column) / n
    return Profile(n, quantiles, present)


def against(
    profile: Profile, rows: Iterable[Row], *, clusters: Sequence[str | None] | None = None
) -> Shift:
    """Are these rows like those that a profile was made of?

    Per feature: the largest gap of the distribution functions (a lower bound of it, from the
    profile's quantiles), and the gap of the shares of rows that have the feature. p: Kolmogorov's,
    Bonferroni over the features; rows of one cluster count as the spread between clusters says. Not
    alike: p < 0.02 and gap >= 0.2. No row: alike, and says that nothing was there to compare. Only
    features that either side knows are compared.
    """
    here = list(rows)
    if not here or not profile.n:
        return Shift(True, why="no rows to compare")
    codes = None if clusters is None else clusters_of(clusters)
    # In the order of FEATURES: of equally large gaps the first is reported.
    gaps: list[_Gap] = []
    for name in FEATURES:
        if name in profile.quantiles or any(name in row for row in here):
            gaps += _gaps(name, profile, here, codes)
    if not gaps:
        return Shift(True, why="nothing that both sides know to compare")
    worst = max(gaps, key=_Gap.weight)
    p = min(1.0, worst.p * len(gaps))
    if p < LEVEL and worst.size >= SMALLEST_GAP:
        return Shift(False, worst.feature, worst.words, p, worst.size)
    # Rows of one document may all be alike, so that clusters are what is counted.
    units = len(here) if codes is None else len(np.unique(codes))
    least = _detectable(units, profile.n, len(gaps))
    rows_seen = f"{units} rows" if units == len(here) else f"{len(here)} rows of {units} clusters"
    why = f"{rows_seen} would only show a gap of {least:.2f} or more" if least > 0.5 else ""
    return Shift(True, worst.feature, why, p, worst.size)


class _Gap(NamedTuple):
    """How far a feature lies from a profile's. p: of one test; words: the gap as a reader can check
    it.
    """

    feature: str
    size: float
    p: float
    words: str

    def weight(self) -> tuple[bool, float, float]:
        """Its place among others: those large enough to matter first, then the least likely."""
        return self.size >= SMALLEST_GAP, -self.p, self.size


def _gaps(
    name: str, profile: Profile, rows: Sequence[Row], codes: IntArray | None
) -> Iterator[_Gap]:
    """Of one feature the gap of the shares of rows that have it, and that of its values."""
    has = np.array([name in row for row in rows])
    share_here = float(has.mean())
    share = profile.present.get(name, 0.0)
    gap = abs(share_here - share)
    effect = _design_effect(has.astype(float), codes)
    p = kolmogorov(gap, len(rows) / effect, float(profile.n) / effect)
    yield _Gap(name, gap, p, _presence(name, share_here, share))
    quantiles = profile.quantiles.get(name)
    values = np.array([row[name] for row in rows if name in row])
    if quantiles is None or not len(values):
        return
    gap, at = _gap_to_quantiles(np.asarray(quantiles), values)
    # The design effect of a share: here of the rows at or below the value where the gap is.
    below = (values <= at).astype(float)
    effect = _design_effect(below, None if codes is None else codes[has])
    p = kolmogorov(gap, len(values) / effect, max(1.0, profile.n * share) / effect)
    yield _Gap(name, gap, p, _median_words(name, quantiles, values))


def two_sets(
    a: Sequence[Row],
    b: Sequence[Row],
    *,
    clusters: tuple[Sequence[str | None], Sequence[str | None]] | None = None,
    terms: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]] | None = None,
    seed: int = 0,
) -> Shift:
    """Could these two sets of rows be from one population?

    Statistics: the area under the curve of a cross-fitted ridge classifier on the features, on the
    words (`terms`), on both, and the largest gap of a single feature. p: of the most striking of
    them, by 399 permutations, so that nothing is paid twice for looking four times. Clusters (None
    = a row of its own) keep together: in one fold and in every permutation, but where a tenth of
    them or more lie on both sides, as rows picked one by one do; then rows are permuted. size: 2
    AUC - 1 or the gap, of that statistic. Not alike: p < 0.02 and size >= 0.1. Of more than 1,000
    rows on a side, 1,000 are looked at.
    """
    if len(a) < 2 or len(b) < 2:
        return Shift(True, why="fewer than two rows on a side: nothing can be told")
    rng = np.random.default_rng(seed)
    units = _units(clusters, len(a), len(b))
    of_a, of_b = _drawn_rows(units[: len(a)], rng), _drawn_rows(units[len(a) :], rng)
    chosen = np.concatenate([of_a, len(a) + of_b])
    side = (chosen < len(a)).astype(float)
    rows = [a[i] if i < len(a) else b[i - len(a)] for i in chosen]
    unit = numbered(units[chosen])
    folds = rng.permutation(np.arange(unit.max() + 1) % 5)[unit]
    numbers, names = _ranks(rows)
    kernels = [numbers @ numbers.T / max(1, numbers.shape[1])] if numbers.size else []
    if terms is not None:
        bags = [terms[0][i] if i < len(a) else terms[1][i - len(a)] for i in chosen]
        kernels.append(_word_kernel(bags))
        if len(kernels) == 2:
            kernels.append(kernels[0] + kernels[1])
    permuted = [_permuted(side, unit, rng) for _ in range(PERMUTATIONS)]
    sides = np.column_stack([side, *permuted])
    statistics = [_auc_gaps(_cross_fitted(kernel, folds, sides), sides) for kernel in kernels]
    if names:
        statistics.append(_largest_gaps(numbers[:, : len(names)], sides))
    if not statistics:
        return Shift(True, why="nothing that the rows have can be compared")
    striking, size, p = _most_striking(np.array(statistics))
    feature, words = _most_different(rows, side)
    if p < LEVEL and size >= SMALLEST_SIZE:
        why = words
        if striking < len(kernels):
            why = f"a classifier tells them apart with an AUC of {(1 + size) / 2:.2f}"
            why += f"; {words}" if words else ""
        return Shift(False, feature, why, p, min(1.0, size))
    fewer = min(len(np.unique(unit[side == 1])), len(np.unique(unit[side == 0])))
    why = f"{fewer} rows or clusters on a side are too few to tell" if fewer < 30 else ""
    return Shift(True, feature, why, p, min(1.0, size))


def _most_striking(table: FloatArray) -> tuple[int, float, float]:
    """The statistic that the permutations reach least often: its index, its size, and the p of the
    least of all.

    table: (statistics, 1 + permutations), the real sides first.
    """
    # Each statistic's p under every assignment of sides, and the least of them under each. That of
    # the real sides is held against the least of the others: looking at several is paid for once.
    ranks = np.array([(line[None, :] >= line[:, None] - 1e-12).mean(axis=1) for line in table])
    best = ranks.min(axis=0)
    p = float((best <= best[0] + 1e-12).mean())
    striking = int(np.lexsort((-table[:, 0], ranks[:, 0]))[0])
    return striking, float(max(0.0, table[striking, 0])), p


def kolmogorov(gap: float, n: float, m: float) -> float:
    """P(two samples of n and m from one continuous distribution show at least this gap),
    Kolmogorov's limit.

    With Stephens' correction for small samples; conservative where values tie.
    """
    root = math.sqrt(n * m / (n + m))
    x = gap * (root + 0.12 + 0.11 / root)
    if x < 0.2:  # the series converges ever more slowly, and p is 1 to twelve digits
        return 1.0
    terms = []
    for k in range(1, 101):
        sign = 1 if k % 2 else -1
        terms.append(sign * math.exp(-2 * k * k * x * x))
    return min(1.0, max(0.0, 2 * math.fsum(terms)))


def _detectable(n: float, m: float, tests: int) -> float:
    """The gap at which one of so many tests becomes significant: the first term of Kolmogorov's
    series.
    """
    return math.sqrt(math.log(2 * tests / LEVEL) / 2 * (n + m) / (n * m))


def _log(count: int) -> float:
    return math.log1p(count)


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % TERMS


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in text.lower().translate(_ENDS).split() if word)


class _Characters(NamedTuple):
    """Shares of the characters of a text, each in [0, 1]."""

    capitals: float
    digits: float
    marks: float
    foreign: float


def _characters(text: str) -> _Characters:
    """Shares of capitals, digits, punctuation and non-ASCII among the first 20,000 characters; 0
    for no text.
    """
    text = text[:_MOST_CHARACTERS]
    if not text:
        return _Characters(0.0, 0.0, 0.0, 0.0)
    capitals = digits = marks = foreign = 0
    for character in text:
        # Most characters are these, and are none of the four.
        if "a" <= character <= "z" or character == " ":
            continue
        if character > "\x7f":
            foreign += 1
            capitals += unicodedata.category(character) == "Lu"
        elif "A" <= character <= "Z":
            capitals += 1
        elif "0" <= character <= "9":
            digits += 1
        elif character in _MARKS:
            marks += 1
    n = len(text)
    return _Characters(capitals / n, digits / n, marks / n, foreign / n)


def _gap_to_quantiles(quantiles: FloatArray, values: FloatArray) -> tuple[float, float]:
    """(largest gap that the quantiles prove, the value where it is)."""
    knots = np.unique(quantiles)
    values = np.sort(values)
    # The rows' distribution function at each knot and just below it.
    at = np.searchsorted(values, knots, side="right") / len(values)
    under = np.searchsorted(values, knots, side="left") / len(values)
    # The profile's is at least this at the knot, and at most that just below it.
    least = (np.searchsorted(quantiles, knots, side="right") - 1) / STEPS
    most = np.searchsorted(quantiles, knots, side="left") / STEPS
    gaps = np.maximum(least - at, under - most)
    best = int(np.argmax(gaps))
    return max(0.0, float(gaps[best])), float(knots[best])


def _design_effect(indicator: FloatArray, codes: IntArray | None) -> float:
    """How many times wider than for independent rows the variance of a share is, at least 1."""
    n = len(indicator)
    if codes is None or n < 2:
        return 1.0
    rate = float(indicator.mean())
    units = numbered(codes)
    if not 0 < rate < 1 or units.max() < 1:
        # No variance to estimate from: what it would be if the rows of a cluster were all alike.
        sizes = np.bincount(units)
        return float((sizes**2).sum() / n)
    totals = np.bincount(units, indicator - rate)
    groups = len(totals)
    squares = groups / (groups - 1) * (totals**2).sum()
    return max(1.0, float(squares / (n * rate * (1 - rate))))


def _units(
    clusters: tuple[Sequence[str | None], Sequence[str | None]] | None, n: int, m: int
) -> IntArray:
    """The unit of every row of both sides, the first side's rows first."""
    if clusters is None:
        return np.arange(n + m)
    if len(clusters[0]) != n or len(clusters[1]) != m:
        raise ValueError("one cluster (or None) for every row")
    units = clusters_of([*clusters[0], *clusters[1]])
    first, second = set(units[:n].tolist()), set(units[n:].tolist())
    if len(first & second) >= 0.1 * min(len(first), len(second)):
        # Rows were picked one by one: whole clusters are not what fell to a side.
        return np.arange(n + m)
    return units


def _drawn_rows(units: IntArray, rng: np.random.Generator) -> IntArray:
    """Places of at most 1,000 rows: whole clusters drawn at random."""
    if len(units) <= MOST_ROWS:
        return np.arange(len(units))
    codes = numbered(units)
    order = rng.permutation(codes.max() + 1)
    return np.argsort(order[codes], kind="stable")[:MOST_ROWS]


def _permuted(side: FloatArray, unit: IntArray, rng: np.random.Generator) -> FloatArray:
    """The sides dealt anew to whole units; a unit on both sides counts for the side most of it is
    on.
    """
    share = np.bincount(unit, side) / np.bincount(unit)
    return rng.permutation((share >= 0.5).astype(float))[unit]


def _ranks(rows: Sequence[Row]) -> tuple[FloatArray, list[str]]:
    """Per feature its rank in [-1, 1] (absent: 0), then the squares of the ranks and who has it;
    the names of the first.

    Features without spread are left out. Columns are scaled to a variance of one.
    """
    present = set[str]().union(*rows)
    names = [name for name in FEATURES if name in present]
    names += sorted(present - set(names))
    # sqrt(3) and sqrt(45 / 4): even ranks on [-1, 1] have the variance 1 / 3, their squares 4 / 45.
    first, rest, ranked = [], [], []
    for name in names:
        has = np.array([name in row for row in rows])
        column = np.zeros(len(rows))
        column[has] = _mid_ranks(np.array([row[name] for row in rows if name in row]))
        if np.ptp(column[has]) > 0:
            ranked.append(name)
            first.append(column * math.sqrt(3))
            square = np.zeros(len(rows))
            square[has] = column[has] ** 2 - (column[has] ** 2).mean()
            rest.append(square * math.sqrt(45 / 4))
        if not has.all():
            spread = has - has.mean()
            rest.append(spread / spread.std())
    columns = first + rest
    table = np.column_stack(columns) if columns else np.zeros((len(rows), 0))
    return table, ranked


def _mid_ranks(values: FloatArray) -> FloatArray:
    """Ranks spread over [-1, 1], ties in the middle of theirs."""
    ordered = np.sort(values)
    low = np.searchsorted(ordered, values, "left")
    high = np.searchsorted(ordered, values, "right")
    return np.asarray((low + high) / len(values) - 1.0)


def _word_kernel(bags: Sequence[Sequence[int]]) -> FloatArray:
    """Cosine of rarity-weighted word sets."""
    table = np.zeros((len(bags), TERMS), dtype=np.float32)
    for i, bag in enumerate(bags):
        table[i, list(bag)] = 1.0
    rows_with = table.sum(axis=0)
    rarity = np.where(rows_with > 0, np.log((1 + len(bags)) / (1 + rows_with)), 0.0)
    table *= rarity.astype(np.float32)
    length = np.sqrt((table**2).sum(axis=1, keepdims=True))
    table /= np.where(length > 0, length, 1.0)
    table -= table.mean(axis=0)
    return np.asarray(table @ table.T, dtype=float)


def _cross_fitted(kernel: FloatArray, folds: IntArray, sides: FloatArray) -> FloatArray:
    """Scores of every row by kernel ridge fits that did not see its fold; one column per assignment
    of sides.
    """
    scores = np.zeros_like(sides)
    penalty = 0.1 * float(np.trace(kernel)) / math.sqrt(len(kernel)) + 1e-9
    for fold in np.unique(folds):
        test, train = folds == fold, folds != fold
        if not train.any():  # one unit alone: its rows keep the score 0
            continue
        targets = sides[train] - sides[train].mean(axis=0)
        ridge = penalty * np.eye(int(train.sum()))
        # Solved once for all assignments of sides: they differ in the targets only.
        fitted = np.linalg.solve(kernel[np.ix_(train, train)] + ridge, targets)
        scores[test] = kernel[np.ix_(test, train)] @ fitted
    return scores


def _auc_gaps(scores: FloatArray, sides: FloatArray) -> FloatArray:
    """2 AUC - 1 of every column: ranks, ties by order (scores of a fit hardly tie)."""
    ranks = np.empty_like(scores)
    order = np.argsort(scores, axis=0, kind="stable")
    np.put_along_axis(ranks, order, np.arange(1.0, len(scores) + 1)[:, None], axis=0)
    ones = sides.sum(axis=0)
    zeros = len(sides) - ones
    with np.errstate(invalid="ignore", divide="ignore"):
        auc = ((ranks * sides).sum(axis=0) - ones * (ones + 1) / 2) / (ones * zeros)
    return np.asarray(np.nan_to_num(2 * auc - 1))


def _largest_gaps(columns: FloatArray, sides: FloatArray) -> FloatArray:
    """The largest gap of distribution functions over the features, by assignment of sides."""
    ones = np.maximum(sides.sum(axis=0), 1)
    zeros = np.maximum((1 - sides).sum(axis=0), 1)
    weights = sides / ones - (1 - sides) / zeros
    largest = np.zeros(sides.shape[1])
    for column in columns.T:
        order = np.argsort(column, kind="stable")
        # Of equal values the last: the distribution functions step there all at once.
        last = np.append(np.diff(column[order]) > 0, True)
        walks = np.cumsum(weights[order], axis=0)[last]
        largest = np.maximum(largest, np.abs(walks).max(axis=0))
    return largest


def _most_different(rows: Sequence[Row], side: FloatArray) -> tuple[str, str]:
    """The feature with the largest gap, and the gap in words."""
    largest, feature, words = 0.0, "", ""
    for name in sorted(set[str]().union(*rows)):
        has = np.array([name in row for row in rows])
        values = np.array([row.get(name, 0.0) for row in rows])
        there, here = float(has[side == 1].mean()), float(has[side == 0].mean())
        gap = abs(there - here)
        if gap > largest:
            largest, feature, words = gap, name, _presence(name, here, there)
        first, second = values[has & (side == 1)], values[has & (side == 0)]
        if len(first) and len(second):
            gap = _gap_of_values(first, second)
            if gap > largest:
                largest, feature, words = gap, name, _median_words(name, first, second)
    return feature, words


def _gap_of_values(first: FloatArray, second: FloatArray) -> float:
    """The largest gap between the distribution functions of two sets of values."""
    knots = np.unique(np.concatenate([first, second]))
    below_first = np.searchsorted(np.sort(first), knots, "right") / len(first)
    below_second = np.searchsorted(np.sort(second), knots, "right") / len(second)
    return float(np.abs(below_first - below_second).max())


def _presence(name: str, here: float, there: float) -> str:
    field = "contexts" if name.startswith("context") else name.split("_")[0]
    return f"{here:.0%} of the rows here have what '{field}' needs, {there:.0%} of those measured"


def _median_words(name: str, there: Sequence[float] | FloatArray, here: FloatArray) -> str:
    """The gap in words a reader can check: medians on both sides."""
    first, second = float(np.median(np.asarray(there))), float(np.median(here))
    title = FEATURES.get(name, name)
    if name in _LENGTHS or name in _COUNTS:
        before, now = math.expm1(first), math.expm1(second)
        is_length = name in _LENGTHS
        if is_length and before >= 1 and now >= 1 and not 0.8 < now / before < 1.25:
            times = now / before
            size = f"{times:.1f} times as long" if times > 1 else f"{1 / times:.1f} times shorter"
            medians = f"median {now:.0f} words, {before:.0f} in those measured"
            return f"{title} here are {size} ({medians})"
        unit = " words" if is_length else ""
        return f"{title} here: median {now:.0f}{unit}, {before:.0f} in those measured"
    mean_there, mean_here = float(np.mean(np.asarray(there))), float(np.mean(here))
    return f"{title}: mean {mean_here:.2f} here, {mean_there:.2f} in those measured"
