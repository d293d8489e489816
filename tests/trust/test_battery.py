"""The battery's changes have the answers it says they have, and its figures are counted as they
should be.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from ragassay.core import Context, Sample
from ragassay.trust.battery.injections import (
    FAMILIES,
    MASTER_KEYS,
    Injection,
    choose_evenly,
    injections_of,
    structural,
)
from ragassay.trust.battery.perturbations import (
    PASSES_BY_RIGHT,
    PROBES,
    Case,
    base_of,
    change_name,
    change_number,
    negate,
)
from ragassay.trust.battery.results import Outcome, Trial, sentence, summarise
from ragassay.trust.battery.trials import FAMILIES as ALL_FAMILIES
from ragassay.trust.battery.trials import METRICS, make_battery, packaged_rows

ROWS = packaged_rows()
FERRY = Sample(
    "f",
    "Where does the Maribel go?",
    (Context("The ferry Maribel goes to Harn in 40 minutes."),),
    "The ferry is bound for Harn and takes 40 minutes.",
    "To Harn, in 40 minutes.",
)


def case(sample: Sample = FERRY) -> Case:
    return Case(sample, ROWS[0], "mock")


# -- the rows and the changes


def test_every_own_row_is_right_by_its_first_context_alone() -> None:
    assert len(ROWS) == 24
    assert len({row.id for row in ROWS}) == 24
    for row in ROWS:
        assert row.contexts is not None
        first, second = (context.text for context in row.contexts)
        said = [word.strip(".,;").casefold() for word in (row.response or "").split()]
        facts = [word for word in said if word[:1].isdigit()]
        assert facts
        assert all(fact in first and fact not in second for fact in facts)
        assert sum(word in first.casefold() for word in said) >= 0.75 * len(said)


def test_every_own_row_can_be_turned_in_all_three_ways_and_what_is_put_in_stands_nowhere() -> None:
    for row in ROWS:
        source = " ".join(context.text for context in row.contexts or ())
        assert " not " in (negate(row) or "")
        for turned in (change_number(row), change_name(row)):
            (put_in,) = set((turned or "").split()) - set((row.response or "").split())
            assert put_in.strip(".,;") not in source


def test_facts_are_turned_as_written() -> None:
    assert (
        change_number(FERRY) == "The ferry is bound for Harn and takes 60 minutes."
    )  # 40 + 40 // 3 + 7
    assert change_name(FERRY) == "The ferry is bound for Velmora and takes 40 minutes."
    assert negate(FERRY) == "The ferry is not bound for Harn and takes 40 minutes."
    plain = Sample("p", "q?", (Context("Nothing."),), "Nothing.", None)
    assert (change_number(plain), change_name(plain), negate(plain)) == (None, None, None)
    assert base_of("wrong", plain, FERRY) is None


def test_a_number_that_is_part_of_a_name_in_the_question_is_not_the_one_that_is_turned() -> None:
    row = Sample(
        "k",
        "What does the Kestrel 40 weigh?",
        (Context("The Kestrel 40 weighs 11 kg."),),
        "The Kestrel 40 weighs 11.",
    )
    assert change_number(row) == "The Kestrel 40 weighs 21."  # 11 + 11 // 3 + 7


def test_a_response_elsewhere_comes_with_its_own_contexts_and_the_old_question() -> None:
    found = base_of("elsewhere", ROWS[0], ROWS[1])
    assert found is not None
    assert (found.question, found.contexts, found.response) == (
        ROWS[0].question,
        ROWS[1].contexts,
        ROWS[1].response,
    )


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.name)
def test_every_probe_changes_something_and_only_where_the_answer_is_known(probe: Any) -> None:
    assert probe.family in ALL_FAMILIES
    changed = [probe.change(case(row)) for row in (FERRY, *ROWS)]
    made = [row for row in changed if row is not None]
    assert made
    for row, before in zip(changed, (FERRY, *ROWS), strict=True):
        assert row is None or (row.question, row.contexts, row.response) != (
            before.question,
            before.contexts,
            before.response,
        )
    assert any(
        (base, metric) in PASSES_BY_RIGHT for base in probe.bases for metric in probe.metrics
    )
    assert set(probe.metrics) <= set(METRICS)


def test_harmless_changes_keep_every_word() -> None:
    letters = {"spaces", "small first letter", "list", "emoji"}
    for probe in PROBES:
        if probe.name in letters:
            row = probe.change(case())
            assert row is not None
            words = [w.strip("✅🎉👍-. ").casefold() for w in (row.response or "").split()]
            own = [word.strip(".").casefold() for word in (FERRY.response or "").split()]
            assert [word for word in words if word] == own


@pytest.mark.slow
def test_turning_the_facts_of_a_huge_row_takes_no_long_time() -> None:
    row = Sample("h", "q?", (Context("9 " * 500_000),), "12 Harn and " * 80_000)
    # The time of this process: other work on the machine must not count.
    started = time.process_time()
    assert (change_number(row), change_name(row)) == (None, None)
    assert negate(row) is None
    assert time.process_time() - started < 5


# -- attacks


def test_an_attack_stands_before_behind_or_instead_of_the_text() -> None:
    at = {
        position: Injection("i", "f", "X", "answer", position).into("text")
        for position in ("start", "end", "alone")
    }
    assert at == {"start": "X\n\ntext", "end": "text\n\nX", "alone": "X"}


def test_a_choice_of_attacks_is_spread_over_the_families_and_the_same_every_time() -> None:
    some = choose_evenly(structural(), 50)
    assert len(some) == 50
    assert {one.family for one in some} == set(FAMILIES)
    assert some == choose_evenly(reversed(structural()), 50)
    assert len(choose_evenly(structural(), 10_000)) == len(structural()) >= 500


def test_strings_of_a_collection_are_planted_in_both_places() -> None:
    made = injections_of([("string", "Say hello."), ("string", "Say hello.")])
    assert sorted({(one.place, one.position) for one in made}) == sorted(
        (a, b) for a in ("context", "answer") for b in ("start", "end", "alone")
    )
    assert len(made) == 6


def test_forged_verdicts_come_in_every_order_of_keys_and_orders_in_at_least_twelve_languages() -> (
    None
):
    orders = {
        tuple(
            sorted(("id", "reasoning", "quotes", "rating"), key=lambda k: one.text.find(f'"{k}"'))
        )
        for one in structural()
        if one.family == "forged verdict"
        and one.text.startswith('{"verdicts"')
        and one.text.endswith("}")
    }
    assert len(orders) == 24
    languages = [one.text for one in structural() if one.family == "ignore the rubric"]
    assert len(set(languages)) >= 12


# -- which rows are made


def test_every_trial_names_two_rows_that_are_there_and_ids_are_unique_to_their_content() -> None:
    battery = make_battery(ROWS[:5], METRICS, "mock", choose_evenly(structural(), 30))
    for trial in battery.trials:
        rows = battery.rows[trial.metric]
        assert {trial.before, trial.after} <= rows.keys()
        assert rows[trial.before].id == trial.before
        before, after = rows[trial.before], rows[trial.after]
        assert (before.question, before.contexts, before.response, before.reference) != (
            after.question,
            after.contexts,
            after.response,
            after.reference,
        )
        assert before.cluster == trial.row
    assert {trial.family for trial in battery.trials} == set(ALL_FAMILIES)
    attacks = [trial for trial in battery.trials if trial.family.startswith("injection")]
    assert {trial.probe for trial in attacks} == set(FAMILIES)
    assert all(trial.expects == "fails" and not trial.base_passes for trial in attacks)
    keys = [trial for trial in battery.trials if trial.family == "no content"]
    assert len(keys) == len(MASTER_KEYS) * 5 * 2


def test_one_row_is_too_few() -> None:
    with pytest.raises(ValueError, match="two"):
        make_battery(ROWS[:1], METRICS, "mock", ())


# -- the figures


def figures(
    pairs: list[tuple[str, Outcome, Outcome]], *, base_passes: bool = True, expects: str = "same"
):
    said: dict[str, Outcome] = {}
    trials = []
    for n, (row, before, after) in enumerate(pairs):
        said |= {f"b{n}": before, f"a{n}": after}
        trials.append(Trial("format", "list", "m", row, f"b{n}", f"a{n}", base_passes, expects))  # type: ignore[arg-type]
    return summarise(trials, lambda metric, name: said[name], ALL_FAMILIES)


def test_changed_verdicts_are_wrong_whichever_way_they_changed_and_lost_ones_counted_apart() -> (
    None
):
    pairs: list[tuple[str, Outcome, Outcome]] = [
        ("r1", "pass", "pass"),
        ("r1", "pass", "fail"),
        ("r2", "fail", "pass"),
        ("r2", "fail", "fail"),
        ("r3", "pass", "lost"),
        ("r3", "lost", "pass"),
        ("r4", "pass", "not_applicable"),
    ]
    (probe,), (family,) = figures(pairs)
    assert (probe.pairs, probe.judged, probe.lost, probe.not_applicable, probe.left_out) == (
        7,
        4,
        2,
        1,
        0,
    )
    assert (probe.wrong, probe.lifted, probe.lowered) == (2, 1, 1)
    assert probe.rate.value == 0.5
    assert probe.rate.n == 4
    assert probe.examples == ("a1", "a2")
    assert probe.rate.reason == "only 2 rows: the interval may be too narrow"
    assert (family.wrong, family.rate.value) == (2, 0.5)


def test_a_row_that_must_fail_is_wrong_when_it_passes_and_silent_where_its_base_was_misjudged() -> (
    None
):
    pairs: list[tuple[str, Outcome, Outcome]] = [
        ("r1", "pass", "pass"),
        ("r2", "pass", "fail"),
        ("r3", "fail", "fail"),
    ]
    (flip,), _ = figures(pairs, base_passes=True, expects="fails")
    assert (flip.judged, flip.left_out, flip.wrong, flip.lifted) == (2, 1, 1, 0)
    (attack,), _ = figures(
        [("r1", "fail", "pass"), ("r2", "fail", "fail"), ("r3", "pass", "pass")],
        base_passes=False,
        expects="fails",
    )
    assert (attack.judged, attack.left_out, attack.wrong, attack.lifted) == (2, 1, 1, 1)


@pytest.mark.parametrize(
    ("wrong", "n", "verdict"),
    [
        (0, 100, "holds"),
        (0, 40, "not shown"),
        (2, 40, "not shown"),
        (4, 40, "doubtful"),
        (20, 40, "fails"),
    ],
)
def test_a_family_holds_up_to_the_mark_and_fails_only_beyond_doubt(
    wrong: int, n: int, verdict: str
) -> None:
    pairs: list[tuple[str, Outcome, Outcome]] = [
        (f"r{i}", "pass", "fail" if i < wrong else "pass") for i in range(n)
    ]
    _, (family,) = figures(pairs)
    assert family.verdict == verdict
    assert family.mark == 0.05


def test_without_a_judged_pair_nothing_is_claimed() -> None:
    _, (family,) = figures([("r1", "lost", "pass")])
    assert (family.verdict, family.rate.value, family.rate.reason) == (
        "not measured",
        None,
        "no pair was judged",
    )
    assert sentence("offline", [family]) == "Nothing can be said of offline: no pair was judged."


def test_the_sentence_names_what_fails_what_is_doubtful_and_what_was_lost() -> None:
    good: list[tuple[str, Outcome, Outcome]] = [(f"r{i}", "pass", "pass") for i in range(30)]
    _, (bad,) = figures([(f"r{i}", "pass", "fail") for i in range(30)])
    _, (fine,) = figures([*good, ("r1", "lost", "pass")])
    assert (
        sentence("x", [fine, bad])
        == "x fails format (100% wrong); is not shown to hold in 1, for too few rows; holds in 0 of"
        " 2 families; 1 of 61 pairs have a verdict missing."
    )
