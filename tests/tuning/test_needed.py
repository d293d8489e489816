"""How many rows would certify what was seen, worked by hand."""

from __future__ import annotations

import numpy as np

from ragassay.tuning.aim import Aim, Kept, Mark
from ragassay.tuning.certify import certify
from ragassay.tuning.needed import what_is_needed
from ragassay.tuning.plan import Needed
from ragassay.tuning.values import Answers

PLAN = (Needed(0.05, 0.1, 1500, 1500, 5000), Needed(0.5, 0.0, None, None, None))
TRUTH = np.arange(400) % 2 == 0
PASSED, FAILED = np.flatnonzero(TRUTH), np.flatnonzero(~TRUTH)


def right_but_on(*rows: int) -> Answers:
    passes = TRUTH.copy()
    passes[list(rows)] ^= True
    return Answers(passes.astype(float), passes)


def needed(aim: Aim, before: Answers, after: Answers, labelled: int = 1000) -> list[str]:
    found = certify(aim, TRUTH, np.arange(400), before, [("b", after)])
    assert found.chosen is None
    return list(what_is_needed(aim, found, PLAN, labelled))


def test_a_gain_within_chance_names_the_rows_that_would_certify_it():
    # 14 rows mended, 8 broken: a gain of 6/400 = .015, its standard error sqrt(22)/400 = .0117.
    # 1000 * (2.8 * .0117 / .015)^2 = 4,791, a little more by Student's t.
    said = needed(Aim("accuracy"), right_but_on(*FAILED[:14]), right_but_on(*FAILED[50:58]))
    assert said == [
        "Were +0.015 the true gain, about 4,810 labelled rows of this kind would certify it with a"
        " chance of 80 %.",
        "These are 1,000. The others must be new: sealed rows are opened once.",
    ]


def test_without_a_gain_the_plan_says_what_gains_need():
    said = needed(Aim("accuracy"), right_but_on(0), right_but_on(0, 2))
    assert said == [
        "On the sealed rows there was no gain to certify.",
        "A gain of 0.05 needs about 5,000 labelled rows in all.",
    ]


def test_a_mark_that_may_be_reached_names_the_rows_that_would_tell():
    # Precision 200/240 = .833; its standard error sqrt(.833 * .167 / 240) = .0241.
    # 1000 * (2.8 * .0241 / .0167)^2 = 16,300, where the interval is of 1.966 errors and not 1.96.
    aim = Aim("f1", mark=Mark("precision", 0.85))
    (told, have) = needed(aim, right_but_on(*FAILED[:100]), right_but_on(*FAILED[:40]))
    assert told.startswith("precision 0.833 [0.786, 0.881] may be 0.85 by these rows: about 16,")
    assert told.endswith("would tell 0.833 from 0.85 with a chance of 80 %.")
    assert have.startswith("These are 1,000.")


def test_a_mark_that_is_missed_beyond_chance_takes_no_rows():
    # 200/300: .667 with a standard error of .027.
    aim = Aim("f1", mark=Mark("precision", 0.85))
    (told, *_) = needed(aim, right_but_on(*FAILED[:150]), right_but_on(*FAILED[:100]))
    assert told.startswith("precision 0.667 [0.613, 0.720] is below 0.85 beyond chance")
    assert told.endswith("it takes a better rubric, not rows.")


def test_a_figure_that_was_to_be_kept_names_the_rows_that_would_show_it():
    # Recall falls by 8/200 = .04, of which a standard error is sqrt(.04 * .96 / 200) = .0139; that
    # it falls by less than .06 takes 1000 * (2.8 * .0139 / .02)^2 = 3,770.
    before, after = right_but_on(*FAILED[:80]), right_but_on(*FAILED[:20], *PASSED[:8])
    aim = Aim("accuracy", kept=(Kept("recall", 0.06),))
    (told, _) = needed(aim, before, after)
    assert told.startswith("Were -0.040 the true change of recall, about 3,8")
    assert "it falls by less than 0.06" in told
    far = Aim("accuracy", kept=(Kept("recall", 0.03),))
    assert needed(far, before, after)[0] == (
        "recall fell by 0.040, which is too far: it takes another rubric, not rows."
    )
