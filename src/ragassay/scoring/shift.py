"""Are two sets of rows alike, so that what was measured on the one may be said of the other?

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
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ragassay.core import Profile, Sample, Shift
from ragassay.scoring.clusters import codes as clusters_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
TERMS = 4096
PERMUTATIONS = 399
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
    found: dict[str, float] = {}
    question, response = sample.question, sample.response
    asked = _words(question) if question is not None else frozenset()
    if question is not None:
        found["question_words"] = _log(len(question.split()))
        found["question_mark"] = float(question.rstrip().endswith("?"))
        first = question.split(None, 1)[:1]
        found["question_asks"] = float(bool(first) and first[0].lower().rstrip(",'s") in _ASKING)
        found["question_capitals"], found["question_digits"], _, _ = _characters(question)
    given: frozenset[str] | None = None
    if sample.contexts is not None:
        text = "\n".join(context.text for context in sample.contexts)
        given = _words(text)
        found["contexts"] = _log(len(sample.contexts))
        if text:
            found["context_words"] = _log(len(text.split()))
            _, found["context_digits"], found["context_marks"], found["context_foreign"] = (
                _characters(text)
            )
    if response is not None:
        words = response.split()
        said = _words(response)
        found["response_words"] = _log(len(words))
        found["response_sentences"] = _log(sum(word[-1] in ".!?" for word in words))
        capitals, digits, marks, foreign = _characters(response)
        found["response_capitals"], found["response_digits"] = capitals, digits
        found["response_marks"], found["response_foreign"] = marks, foreign
        if words:
            found["response_word_length"] = min(50.0, sum(map(len, words)) / len(words))
        if said and given:
            found["response_in_contexts"] = len(said & given) / len(said)
        if said and asked:
            found["response_in_question"] = len(said & asked) / len(said)
    if sample.reference is not None:
        found["reference_words"] = _log(len(sample.reference.split()))
    return found


def terms(sample: Sample) -> tuple[int, ...]:
    """Which words a row uses, as hashes in [0, 4096), by field; for `two_sets`, never kept in a
    profile.

    Of each field's first 4,000 characters: lower-cased words and the first word's place.
    """
    fields = [("q", sample.question or ""), ("r", sample.response or "")]
    fields.append(("c", "\n".join(context.text[:4000] for context in (sample.contexts or ())[:8])))
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
    seen: dict[str, list[float]] = {}
    n = 0
    for row in rows:
        n += 1
        for name, value in row.items():
            seen.setdefault(name, []).append(value)
    steps = np.arange(STEPS + 1) / STEPS
    quantiles = {
        name: tuple(
            float(q)
            for q in np.quantile(np.asarray(values, dtype=float), steps, method="inverted_cdf")
        )
        for name, values in sorted(seen.items())
    }
    return Profile(n, quantiles, {name: len(values) / n for name, values in sorted(seen.items())})


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
    seen = list(rows)
    if not seen or not profile.n:
        return Shift(True, why="no rows to compare")
    codes = None if clusters is None else clusters_of(clusters)
    names = [
        name for name in FEATURES if name in profile.quantiles or any(name in row for row in seen)
    ]
    tests = 0
    worst: tuple[float, float, str, str] | None = None
    for name in names:
        has = np.array([name in row for row in seen])
        values = np.array([row[name] for row in seen if name in row])
        share = profile.present.get(name, 0.0)
        gaps = [
            (abs(float(has.mean()) - share), has.astype(float), len(seen), float(profile.n), "")
        ]
        known = profile.quantiles.get(name)
        if known is not None and len(values):
            gap, at = _gap_to_quantiles(np.asarray(known), values)
            below = (values <= at).astype(float)
            gaps.append(
                (
                    gap,
                    below,
                    len(values),
                    max(1.0, profile.n * share),
                    _median_words(name, known, values),
                )
            )
        for gap, indicator, n, m, words in gaps:
            own = codes if codes is None or len(indicator) == len(seen) else codes[has]
            effect = _design_effect(indicator, own)
            tests += 1
            p = kolmogorov(gap, n / effect, m / effect)
            if worst is None or (gap >= SMALLEST_GAP, -p, gap) > (
                worst[1] >= SMALLEST_GAP,
                -worst[0],
                worst[1],
            ):
                worst = p, gap, name, words or _presence(name, float(has.mean()), share)
    if worst is None:
        return Shift(True, why="nothing that both sides know to compare")
    p, gap, name, words = worst
    p = min(1.0, p * tests)
    if p < LEVEL and gap >= SMALLEST_GAP:
        return Shift(False, name, words, p, gap)
    units = (
        len(seen) if codes is None else len(np.unique(codes))
    )  # rows of one document may all be alike
    least = _detectable(units, profile.n, tests)
    what = f"{units} rows" if units == len(seen) else f"{len(seen)} rows of {units} clusters"
    why = f"{what} would only show a gap of {least:.2f} or more" if least > 0.5 else ""
    return Shift(True, name, why, p, gap)


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
    keep = np.concatenate([_some(units[: len(a)], rng), len(a) + _some(units[len(a) :], rng)])
    side = (keep < len(a)).astype(float)
    rows = [a[i] if i < len(a) else b[i - len(a)] for i in keep]
    unit = np.unique(units[keep], return_inverse=True)[1]
    folds = rng.permutation(np.arange(unit.max() + 1) % 5)[unit]
    numbers, names = _ranks(rows)
    kernels = [numbers @ numbers.T / max(1, numbers.shape[1])] if numbers.size else []
    if terms is not None:
        bags = [terms[0][i] if i < len(a) else terms[1][i - len(a)] for i in keep]
        kernels.append(_word_kernel(bags))
        if len(kernels) == 2:
            kernels.append(kernels[0] + kernels[1])
    sides = np.column_stack([side, *(_permuted(side, unit, rng) for _ in range(PERMUTATIONS))])
    spoken: list[Floats] = [
        _auc_gaps(_cross_fitted(kernel, folds, sides), sides) for kernel in kernels
    ]
    if names:
        spoken.append(_largest_gaps(numbers[:, : len(names)], sides))
    if not spoken:
        return Shift(True, why="nothing that the rows have can be compared")
    table = np.array(spoken)  # statistics x (real, permuted ...)
    ranks = np.array([(line[None, :] >= line[:, None] - 1e-12).mean(axis=1) for line in table])
    best = ranks.min(axis=0)
    p = float((best <= best[0] + 1e-12).mean())
    chosen = int(np.lexsort((-table[:, 0], ranks[:, 0]))[0])
    size = float(max(0.0, table[chosen, 0]))
    feature, why = _most_different(rows, side)
    if p < LEVEL and size >= SMALLEST_SIZE:
        if chosen < len(kernels):
            why = f"a classifier tells them apart with an AUC of {(1 + size) / 2:.2f}" + (
                f"; {why}" if why else ""
            )
        return Shift(False, feature, why, p, min(1.0, size))
    few = min(len(np.unique(unit[side == 1])), len(np.unique(unit[side == 0])))
    why = f"{few} rows or clusters on a side are too few to tell" if few < 30 else ""
    return Shift(True, feature, why, p, min(1.0, size))


def kolmogorov(gap: float, n: float, m: float) -> float:
    """P(two samples of n and m from one continuous distribution show at least this gap),
    Kolmogorov's limit.

    With Stephens' correction for small samples; conservative where values tie.
    """
    root = math.sqrt(n * m / (n + m))
    x = gap * (root + 0.12 + 0.11 / root)
    if x < 0.2:
        return 1.0
    total = 2 * math.fsum(
        (1 if k % 2 else -1) * math.exp(-2 * k * k * x * x) for k in range(1, 101)
    )
    return min(1.0, max(0.0, total))


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


def _characters(text: str) -> tuple[float, float, float, float]:
    """Shares of capitals, digits, punctuation and non-ASCII among the first 20,000 characters; 0
    for no text.
    """
    text = text[:_MOST_CHARACTERS]
    if not text:
        return 0.0, 0.0, 0.0, 0.0
    n, capitals, digits, marks, foreign = len(text), 0, 0, 0, 0
    for character in text:
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
    return capitals / n, digits / n, marks / n, foreign / n


def _gap_to_quantiles(known: Floats, values: Floats) -> tuple[float, float]:
    """(largest gap that the quantiles prove, the value where it is)."""
    knots = np.unique(known)
    values = np.sort(values)
    at = np.searchsorted(values, knots, side="right") / len(
        values
    )  # F of the rows at the knot and just below it
    under = np.searchsorted(values, knots, side="left") / len(values)
    least = (
        np.searchsorted(known, knots, side="right") - 1
    ) / STEPS  # F of the profile is at least, and below at most
    most = np.searchsorted(known, knots, side="left") / STEPS
    gaps = np.maximum(least - at, under - most)
    best = int(np.argmax(gaps))
    return max(0.0, float(gaps[best])), float(knots[best])


def _design_effect(indicator: Floats, codes: Ints | None) -> float:
    """How many times wider than for independent rows the variance of a share is, at least 1."""
    n = len(indicator)
    if codes is None or n < 2:
        return 1.0
    rate = float(indicator.mean())
    units = np.unique(codes, return_inverse=True)[1]
    if not 0 < rate < 1 or units.max() < 1:
        sizes = np.bincount(units)
        return float((sizes**2).sum() / n)
    totals = np.bincount(units, indicator - rate)
    groups = len(totals)
    return max(1.0, float(groups / (groups - 1) * (totals**2).sum() / (n * rate * (1 - rate))))


def _units(
    clusters: tuple[Sequence[str | None], Sequence[str | None]] | None, n: int, m: int
) -> Ints:
    if clusters is None:
        return np.arange(n + m)
    if len(clusters[0]) != n or len(clusters[1]) != m:
        raise ValueError("one cluster (or None) for every row")
    units = clusters_of([*clusters[0], *clusters[1]])
    first, second = set(units[:n].tolist()), set(units[n:].tolist())
    if len(first & second) >= 0.1 * min(len(first), len(second)):
        return np.arange(
            n + m
        )  # rows were picked one by one: whole clusters are not what fell to a side
    return units


def _some(units: Ints, rng: np.random.Generator) -> Ints:
    """Places of at most 1,000 rows: whole clusters drawn at random."""
    if len(units) <= MOST_ROWS:
        return np.arange(len(units))
    codes = np.unique(units, return_inverse=True)[1]
    order = rng.permutation(codes.max() + 1)
    return np.argsort(order[codes], kind="stable")[:MOST_ROWS]


def _permuted(side: Floats, unit: Ints, rng: np.random.Generator) -> Floats:
    """The sides dealt anew to whole units; a unit on both sides counts for the side most of it is
    on.
    """
    share = np.bincount(unit, side) / np.bincount(unit)
    return rng.permutation((share >= 0.5).astype(float))[unit]


def _ranks(rows: Sequence[Row]) -> tuple[Floats, list[str]]:
    """Per feature its rank in [-1, 1] (absent: 0), then the squares of the ranks and who has it;
    the names of the first.
    """
    names = [name for name in FEATURES if any(name in row for row in rows)]
    names += sorted({name for row in rows for name in row} - set(names))
    first, rest, kept = [], [], []
    for name in names:
        has = np.array([name in row for row in rows])
        values = np.array([row[name] for row in rows if name in row])
        column = np.zeros(len(rows))
        column[has] = _mid_ranks(values)
        if np.ptp(column[has]) > 0:
            kept.append(name)
            first.append(column * math.sqrt(3))
            square = np.zeros(len(rows))
            square[has] = column[has] ** 2 - (column[has] ** 2).mean()
            rest.append(square * math.sqrt(45 / 4))
        if not has.all():
            spread = has - has.mean()
            rest.append(spread / spread.std())
    columns = first + rest
    return (np.column_stack(columns) if columns else np.zeros((len(rows), 0))), kept


def _mid_ranks(values: Floats) -> Floats:
    """Ranks spread over [-1, 1], ties in the middle of theirs."""
    ordered = np.sort(values)
    low, high = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((low + high) / len(values) - 1.0)


def _word_kernel(bags: Sequence[Sequence[int]]) -> Floats:
    """Cosine of rarity-weighted word sets."""
    table = np.zeros((len(bags), TERMS), dtype=np.float32)
    for i, bag in enumerate(bags):
        table[i, list(bag)] = 1.0
    seen = table.sum(axis=0)
    table *= np.where(seen > 0, np.log((1 + len(bags)) / (1 + seen)), 0.0).astype(np.float32)
    length = np.sqrt((table**2).sum(axis=1, keepdims=True))
    table /= np.where(length > 0, length, 1.0)
    table -= table.mean(axis=0)
    return np.asarray(table @ table.T, dtype=float)


def _cross_fitted(kernel: Floats, folds: Ints, sides: Floats) -> Floats:
    """Scores of every row by kernel ridge fits that did not see its fold; one column per assignment
    of sides.
    """
    scores = np.zeros_like(sides)
    penalty = 0.1 * float(np.trace(kernel)) / math.sqrt(len(kernel)) + 1e-9
    for fold in np.unique(folds):
        test, train = folds == fold, folds != fold
        if not train.any():
            continue
        aims = sides[train] - sides[train].mean(axis=0)
        fitted = np.linalg.solve(
            kernel[np.ix_(train, train)] + penalty * np.eye(int(train.sum())), aims
        )
        scores[test] = kernel[np.ix_(test, train)] @ fitted
    return scores


def _auc_gaps(scores: Floats, sides: Floats) -> Floats:
    """2 AUC - 1 of every column: ranks, ties by order (scores of a fit hardly tie)."""
    ranks = np.empty_like(scores)
    np.put_along_axis(
        ranks,
        np.argsort(scores, axis=0, kind="stable"),
        np.arange(1.0, len(scores) + 1)[:, None],
        axis=0,
    )
    ones = sides.sum(axis=0)
    zeros = len(sides) - ones
    with np.errstate(invalid="ignore", divide="ignore"):
        auc = ((ranks * sides).sum(axis=0) - ones * (ones + 1) / 2) / (ones * zeros)
    return np.asarray(np.nan_to_num(2 * auc - 1))


def _largest_gaps(columns: Floats, sides: Floats) -> Floats:
    """The largest gap of distribution functions over the features, for every assignment of sides."""
    ones = np.maximum(sides.sum(axis=0), 1)
    zeros = np.maximum((1 - sides).sum(axis=0), 1)
    weights = sides / ones - (1 - sides) / zeros
    largest = np.zeros(sides.shape[1])
    for column in columns.T:
        order = np.argsort(column, kind="stable")
        last = np.append(np.diff(column[order]) > 0, True)
        walks = np.cumsum(weights[order], axis=0)[last]
        largest = np.maximum(largest, np.abs(walks).max(axis=0))
    return largest


def _most_different(rows: Sequence[Row], side: Floats) -> tuple[str, str]:
    """The feature with the largest gap, and the gap in words."""
    best: tuple[float, str, str] = (0.0, "", "")
    for name in sorted({name for row in rows for name in row}):
        has = np.array([name in row for row in rows])
        values = np.array([row.get(name, 0.0) for row in rows])
        first, second = values[has & (side == 1)], values[has & (side == 0)]
        presence = float(has[side == 1].mean()), float(has[side == 0].mean())
        if abs(presence[0] - presence[1]) > best[0]:
            best = abs(presence[0] - presence[1]), name, _presence(name, presence[1], presence[0])
        if len(first) and len(second):
            knots = np.unique(np.concatenate([first, second]))
            gap = np.abs(
                np.searchsorted(np.sort(first), knots, "right") / len(first)
                - np.searchsorted(np.sort(second), knots, "right") / len(second)
            ).max()
            if gap > best[0]:
                best = float(gap), name, _median_words(name, first, second)
    return best[1], best[2]


def _presence(name: str, here: float, there: float) -> str:
    field = "contexts" if name.startswith("context") else name.split("_")[0]
    return f"{here:.0%} of the rows here have what '{field}' needs, {there:.0%} of those measured"


def _median_words(name: str, there: Sequence[float] | Floats, here: Floats) -> str:
    """The gap in words a reader can check: medians on both sides."""
    first, second = float(np.median(np.asarray(there))), float(np.median(here))
    title = FEATURES.get(name, name)
    if name in _LENGTHS or name in _COUNTS:
        before, now = math.expm1(first), math.expm1(second)
        unit = " words" if name in _LENGTHS else ""
        if name in _LENGTHS and before >= 1 and now >= 1 and not 0.8 < now / before < 1.25:
            times = now / before
            size = f"{times:.1f} times as long" if times > 1 else f"{1 / times:.1f} times shorter"
            return (
                f"{title} here are {size} (median {now:.0f} words, {before:.0f} in those measured)"
            )
        return f"{title} here: median {now:.0f}{unit}, {before:.0f} in those measured"
    mean_there, mean_here = float(np.mean(np.asarray(there))), float(np.mean(here))
    return f"{title}: mean {mean_here:.2f} here, {mean_there:.2f} in those measured"
