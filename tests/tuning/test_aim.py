"""Aims in words and in numbers, and what they say of a table of verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.core import SetupError
from ragassay.tuning.aim import Aim, Kept, Mark
from ragassay.tuning.aim_words import FORMS, read_aim

TABLE = np.array([30.0, 20.0, 10.0, 40.0])  # precision .6, recall .75, F1 2/3, accuracy .7


@pytest.mark.parametrize(
    ("words", "aim"),
    [
        ("f1", Aim("f1")),
        ("maximise balanced accuracy", Aim("balanced_accuracy")),
        ("improve the kappa of the judge, please", Aim("kappa")),
        ("F1 where precision ≥ 85 %", Aim("f1", mark=Mark("precision", 0.85))),
        ("at least 90% precision", Aim("f1", mark=Mark("precision", 0.9))),
        ("precision at least .85, then recall", Aim("recall", mark=Mark("precision", 0.85))),
        (
            "best recall; false positive rate at most 10%",
            Aim("recall", mark=Mark("specificity", 0.9)),
        ),
        ("be cautious of false passes", Aim("cost", false_pass=2)),
        ("a false pass is three times as bad", Aim("cost", false_pass=3)),
        ("False positives cost twice as much as false negatives", Aim("cost", false_pass=2)),
        ("cost: false pass 3, false fail 1", Aim("cost", false_pass=3)),
        ("cost 3:1", Aim("cost", false_pass=3)),
        ("weigh false fails double", Aim("cost", false_fail=2)),
        ("accuracy, false fails are twice as bad", Aim("cost", false_fail=2)),
        ("f1, but be strict", Aim("f1", false_pass=2)),
        ("kappa without losing recall", Aim("kappa", kept=(Kept("recall", 0.05),))),
        (
            "f1 without losing more than 3 points of recall",
            Aim("f1", kept=(Kept("recall", 0.03),)),
        ),
        (
            "raise precision, recall must not drop by more than 0.02",
            Aim("precision", kept=(Kept("recall", 0.02),)),
        ),
    ],
)
def test_an_aim_is_understood_in_words_and_in_numbers(words, aim):
    read = read_aim(words)
    assert read.words == words
    assert (read.figure, read.false_pass, read.false_fail, read.mark, read.kept) == (
        aim.figure,
        aim.false_pass,
        aim.false_fail,
        aim.mark,
        aim.kept,
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("", "no figure"),
        ("make it nice", "'nice' was not understood"),
        ("f1 and kappa", "2 figures: f1, kappa"),
        ("f1 where f1 >= .8", "both the mark and what is improved"),
        ("f1 where precision >= 850", "a mark is a figure from 0 to 1"),
        ("kappa, a false pass is twice as bad", "costs of errors go with f1"),
        ("f1 where precision >= .8 and recall >= .8", "only one figure can have a mark"),
        ("a false pass costs 0", "a cost of 0 cannot be"),
        ("a false pass is twice as bad as a false pass", "compares an error with itself"),
        ("false pass 2, false pass 3", "two costs are given for a false pass"),
        ("f1; __import__('os').system('id')", "was not understood"),
    ],
)
def test_an_aim_that_is_not_understood_is_refused_with_forms_that_are(words, why):
    with pytest.raises(SetupError) as caught:
        read_aim(words)
    assert caught.value.code == "E0701"
    assert why in caught.value.why
    assert "f1 where precision >= 0.85" in caught.value.fix


def test_every_form_that_an_error_lists_is_understood():
    assert [read_aim(form).words for form in FORMS] == list(FORMS)


def test_what_was_understood_is_one_plain_line_with_the_costs():
    assert read_aim("f1 where precision >= 0.85").sentence() == (
        "raise F1, with precision of at least 0.85; a false pass costs 1, a false fail 1"
    )
    aim = read_aim("a false pass is three times as bad, without losing recall")
    assert aim.sentence() == (
        "lower the cost of a row, with recall falling by less than 0.05;"
        " a false pass costs 3, a false fail 1"
    )
    assert aim.cost_matrix()["fail", "pass"] == 3
    assert aim.cost_matrix()["pass", "fail"] == 1


def test_a_proposer_is_told_which_error_matters_and_how_much():
    assert "3 times as bad" in read_aim("a false pass is three times as bad").guidance()
    assert "What the judge passes must be right." in (
        read_aim("f1 where precision >= 0.85").guidance()
    )


def test_the_value_of_a_table_is_the_figure():
    # F1 = 60 / (60 + 20 + 10)
    assert Aim("f1").value(TABLE) == pytest.approx(2 / 3)
    # (3 * 20 + 10) / 100, and more is better
    assert Aim("cost", false_pass=3).value(TABLE) == pytest.approx(-0.7)
    # beta^2 = 1 / 2: 1.5 * 30 / (1.5 * 30 + 20 + 0.5 * 10)
    assert Aim("f1", false_pass=2).value(TABLE) == pytest.approx(45 / 70)


def test_what_is_missing_to_a_mark_is_taken_off_twice():
    # precision .6 is .25 below the mark
    aim = Aim("recall", mark=Mark("precision", 0.85))
    assert aim.value(TABLE) == pytest.approx(0.75 - 0.5)
    assert aim.figure_of(TABLE) == pytest.approx(0.75)
    assert Aim("recall", mark=Mark("precision", 0.6)).value(TABLE) == pytest.approx(0.75)


def test_a_judge_that_passes_nothing_has_no_precision_to_show():
    assert Aim("precision").value(np.array([0.0, 0.0, 5.0, 5.0])) == 0
    assert Aim("kappa").value(np.array([0.0, 0.0, 5.0, 5.0])) == 0


def test_values_of_many_tables_come_at_once():
    tables = np.stack([TABLE, np.array([50.0, 0.0, 0.0, 50.0])])
    assert Aim("kappa").value(tables) == pytest.approx([0.4, 1.0])


def test_precision_alone_brings_a_mark_on_recall_from_the_baseline():
    truth = np.array([True] * 4 + [False] * 4)
    passes = np.array([True, True, True, False, True, False, False, False])
    aim = Aim("precision").with_baseline(truth, passes)
    assert aim.mark == Mark("recall", 0.7)  # .75 now, less .05
    assert Aim("f1").with_baseline(truth, passes) == Aim("f1")
    kept = Aim("precision", kept=(Kept("recall"),))
    assert kept.with_baseline(truth, passes) == kept


def test_the_loss_of_rows_is_their_cost_and_adds_up_to_the_value():
    truth = np.array([True, True, False, False])
    passes = np.array([True, False, True, False])
    aim = Aim("cost", false_pass=3)
    assert aim.row_loss(truth, passes) == pytest.approx([0, 1, 3, 0])
    assert -aim.row_loss(truth, passes).mean() == pytest.approx(aim.score(truth, passes))


def test_an_error_weighs_what_one_more_of_it_takes_off_the_figure():
    # F1 = 2 tp / (tp + fp + P): one more false pass costs 60 / 90^2 of it, one more false fail
    # 2 / 90 - 60 / 90^2, each times 100 rows.
    false_pass, false_fail = Aim("f1").weights(TABLE)
    assert false_pass == pytest.approx(100 * 60 / 90**2, rel=0.03)
    assert false_fail == pytest.approx(100 * (2 / 90 - 60 / 90**2), rel=0.03)
    # Below a mark on precision false passes weigh more than that.
    marked, _ = Aim("f1", mark=Mark("precision", 0.85)).weights(TABLE)
    assert marked > 2 * false_pass
