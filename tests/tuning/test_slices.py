"""Slices in which a judge errs, found among columns, lengths and shapes of questions."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.tuning.aim import Aim
from ragassay.tuning.slices import find_slices
from ragassay.tuning.values import Answers, LabelledRows

ACCURACY = Aim("accuracy")


def world(seed, n=240, wrong_labels=0.0, bad=("kind", "table"), rate=0.6, elsewhere=0.1):
    """Half of the rows pass; the judge passes `rate` of the failing rows where the column `bad[0]`
    has the value `bad[1]`, and `elsewhere` of the others. Columns are wrong on some rows."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.5
    columns = {
        "kind": rng.choice(["table", "prose", "list", "code"], n),
        "language": rng.choice(["en", "de", "fr"], n),
        "source": rng.choice(["web", "book"], n),
    }
    chance = np.where(columns[bad[0]] == bad[1], rate, elsewhere)
    passes = np.where(truth, rng.random(n) > elsewhere, rng.random(n) < chance)
    for name in columns:
        swapped = rng.random(n) < wrong_labels
        columns[name] = np.where(swapped, rng.permutation(columns[name]), columns[name])
    rows = LabelledRows(
        ids=tuple(map(str, range(n))),
        truth=truth,
        label=truth.astype(float),
        cluster=np.arange(n),
        columns={name: tuple(values.tolist()) for name, values in columns.items()},
    )
    return rows, Answers(passes.astype(float), passes)


def found(seed, **options):
    rows, answers = world(seed, **options)
    return find_slices(ACCURACY, rows, np.arange(len(rows)), answers)


def test_the_slice_in_which_the_judge_passes_too_much_comes_first():
    first = found(1)[0]
    assert first.conditions == (("kind", "table"),)
    assert first.direction == "false pass"
    assert first.name == "kind: table"
    assert first.p < 0.01
    assert first.rate > 2 * first.overall


def test_a_slice_names_its_rows_and_the_errors_among_them():
    rows, answers = world(1)
    first = find_slices(ACCURACY, rows, np.arange(len(rows)), answers)[0]
    for i in first.rows.tolist():
        assert rows.columns["kind"][i] == "table"
        assert not rows.truth[i]
    assert set(first.errors.tolist()) == {i for i in first.rows.tolist() if answers.passes[i]}


def test_after_the_slices_come_all_errors_of_each_direction_the_costlier_first():
    last = found(1)[-2:]
    assert [one.conditions for one in last] == [(), ()]
    assert [one.direction for one in last] == ["false pass", "false fail"]
    rows, answers = world(1)
    costly = find_slices(Aim("cost", false_fail=9), rows, np.arange(len(rows)), answers)
    assert [one.direction for one in costly[-2:]] == ["false fail", "false pass"]


def test_errors_without_a_pattern_give_hardly_any_slice():
    invented = sum(len(found(seed, rate=0.2, elsewhere=0.2)) - 2 for seed in range(30))
    assert invented <= 6  # of 30 worlds with some 170 slices each


def test_wrong_columns_hide_the_slice_and_never_give_another():
    """30 % of the values of every column belong to other rows."""
    first = [found(seed, wrong_labels=0.3)[0] for seed in range(20)]
    names = {(one.name, one.direction) for one in first}
    assert names == {("kind: table", "false pass"), ("", "false pass")}
    assert sum(one.name == "kind: table" for one in first) >= 8


def test_two_conditions_are_found_where_only_both_together_are_bad():
    rng = np.random.default_rng(2)
    n = 600
    truth = np.zeros(n, dtype=bool)
    truth[:60] = True
    kind = rng.choice(["table", "prose", "list"], n)
    language = rng.choice(["en", "de", "fr"], n)
    both = (kind == "table") & (language == "de")
    passes = truth | (rng.random(n) < np.where(both, 0.8, 0.05))
    rows = LabelledRows(
        tuple(map(str, range(n))),
        truth,
        truth.astype(float),
        np.arange(n),
        {"kind": tuple(kind.tolist()), "language": tuple(language.tolist())},
    )
    first = find_slices(ACCURACY, rows, np.arange(n), Answers(passes.astype(float), passes))[0]
    assert first.conditions == (("kind", "table"), ("language", "de"))


def test_errors_of_a_few_clusters_are_no_slice():
    """All errors of the web pages come from one page, as alike rows."""
    n = 200
    truth = np.zeros(n, dtype=bool)
    truth[:20] = True
    source = np.where(np.arange(n) % 2 == 0, "web", "book")
    passes = truth.copy()
    page = np.flatnonzero(~truth & (source == "web"))[:15]
    passes[page] = True
    cluster = np.arange(n)
    cluster[page] = page[0]

    def rows(cluster):
        return LabelledRows(
            tuple(map(str, range(n))),
            truth,
            truth.astype(float),
            cluster,
            {"source": tuple(source.tolist())},
        )

    answers = Answers(passes.astype(float), passes)
    alone = find_slices(ACCURACY, rows(np.arange(n)), np.arange(n), answers)
    assert alone[0].name == "source: web"
    assert find_slices(ACCURACY, rows(cluster), np.arange(n), answers)[0].conditions == ()


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (
            lambda i, bad: {"response": "word " * (80 if bad else 5 + i % 30)},
            "length of response: long",
        ),
        (
            lambda i, bad: {"question": "How does it work?" if bad else "Who won it?"},
            "question: how",
        ),
    ],
)
def test_lengths_and_shapes_of_questions_are_slices_too(texts, name):
    n = 150
    truth = np.arange(n) % 3 == 0
    bad = np.arange(n) % 4 == 0
    passes = truth | (~truth & bad & (np.arange(n) % 5 != 0))
    rows = LabelledRows(
        tuple(map(str, range(n))),
        truth,
        truth.astype(float),
        np.arange(n),
        texts=tuple(texts(i, bool(bad[i])) for i in range(n)),
    )
    first = find_slices(ACCURACY, rows, np.arange(n), Answers(passes.astype(float), passes))[0]
    assert first.name == name


def test_only_the_given_rows_are_looked_at_and_rows_without_a_verdict_are_left_out():
    rows, answers = world(1)
    at = np.arange(0, len(rows), 2)
    score = answers.score[at].copy()
    score[:10] = np.nan
    partly = Answers(score, answers.passes[at] & np.isfinite(score))
    for one in find_slices(ACCURACY, rows, at, partly):
        assert set(one.rows.tolist()) <= set(at[10:].tolist())


def test_the_order_is_the_same_whatever_the_order_of_the_columns():
    rows, answers = world(4, wrong_labels=0.2)
    other = LabelledRows(
        rows.ids, rows.truth, rows.label, rows.cluster, dict(reversed(rows.columns.items()))
    )
    names = [
        [one.name for one in find_slices(ACCURACY, given, np.arange(len(rows)), answers)]
        for given in (rows, other)
    ]
    assert names[0] == names[1]
