"""The figures of each test, from responses that are given by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.stress.counterfactual import Follows, Policy, counterfactual_result, follows
from ragassay.stress.door import failed_rate
from ragassay.stress.figures import contrast, corrected, rate
from ragassay.stress.headline import Weakness, findings
from ragassay.stress.integration import integration_result
from ragassay.stress.levels import Arm, Grid, Kind, Position, Test
from ragassay.stress.noise import family_size, noise_result
from ragassay.stress.outcomes import Outcomes, outcome_of
from ragassay.stress.plan import PlannedRow, StressPlan, Wanted, make_plan
from ragassay.stress.rejection import rejection_result
from ragassay.stress.rows import read_rows
from stress.test_application import ROWS

GRID = Grid((1, 3), (Kind.TOPIC, Kind.CHANGED), (Position.FIRST, Position.LAST), tuple(Arm))
Respond = Callable[[PlannedRow], str | None]


def plan_of(*tests: Test, rows: Any = ROWS) -> StressPlan:
    return make_plan(read_rows(rows), Wanted(frozenset(tests), GRID))


def answered(plan: StressPlan, respond: Respond) -> Outcomes:
    found = []
    for planned in plan.planned:
        response = respond(planned)
        answer = planned.row.answer
        right = None
        if answer is not None and planned.is_judged:
            right = response is not None and answer.is_stated_in(response)
        found.append(outcome_of(planned, response, None if response else "it broke", right))
    return Outcomes(plan, found)


def truth(planned: PlannedRow) -> str:
    assert planned.row.answer is not None
    return planned.row.answer.text


def test_a_contrast_has_ratio_retention_and_rescue_beside_the_difference() -> None:
    # Right before: a b c; of these b and c turn wrong. Wrong before: d, which turns right.
    pairs = [("a", "1", 1, 1), ("b", "2", 1, 0), ("c", "3", 1, 0), ("d", "4", 0, 1)]
    found = contrast("level", pairs)
    assert (found.base, found.value, found.difference) == (0.75, 0.5, -0.25)
    assert found.ratio == pytest.approx(2 / 3)
    assert found.retention == pytest.approx(1 / 3)
    assert found.rescue == 1.0
    assert (found.broken, found.mended) == (("b", "c"), ("d",))


def test_the_ratio_is_not_available_at_a_base_of_zero() -> None:
    found = contrast("level", [("a", "1", 0, 0), ("b", "2", 0, 1)])
    assert found.ratio is None
    assert found.retention is None


def test_p_values_are_corrected_over_all_that_have_one() -> None:
    drop = contrast("drop", [(f"r{n}", str(n), 1, 0) for n in range(10)])
    none = contrast("nothing", [])
    same = contrast("same", [(f"r{n}", str(n), 1, 1) for n in range(10)])
    found = corrected([drop, none, same])
    # Ten clusters that all fall, times two tests: the t of nine that do, -.9 / .1 with 9 degrees of
    # freedom, since the sign test's 2 * .5 ** 10 is the larger one.
    assert found[0].p_corrected == pytest.approx(2 * 8.538e-6, rel=1e-3)
    assert found[0].is_certified_drop
    assert found[1].p_corrected is None
    assert found[2].p_corrected == 1.0


def test_a_drop_of_all_rows_is_no_less_certain_than_one_of_all_but_one() -> None:
    # 30 questions in 10 clusters, each of which turns wrong, in a grid of 113 tests.
    everything = [(f"r{n:02}", str(n // 3), 1, 0) for n in range(30)]
    all_but_one = [*everything[:-1], ("r29", "9", 1, 1)]
    certain, nearly = contrast("all", everything), contrast("all but one", all_but_one)
    assert certain.p is not None
    assert nearly.p is not None
    assert certain.p <= nearly.p * (1 + 1e-9)
    assert 113 * certain.p < 0.05
    # Two rows show nothing: 2 * .5 ** 2 by the sign test.
    assert contrast("two", everything[:6:3]).p == pytest.approx(0.5)


def test_a_rate_leaves_out_what_is_not_known_and_counts_it() -> None:
    found = rate("x", [("a", "1", True), ("b", "1", False), ("c", "2", None)])
    assert (found.value, found.of, found.left_out, found.rows) == (0.5, 2, 1, ("a",))


def test_noise_is_what_differs_from_the_clean_passages_and_from_filler() -> None:
    plan = plan_of(Test.NOISE)

    def respond(planned: PlannedRow) -> str:
        # Distracted by three near duplicates, wherever they stand.
        return planned.says[0] if "changed-fact/3" in planned.key else truth(planned)

    found = noise_result(answered(plan, respond))
    assert found is not None
    assert found.floor.right == 1.0
    assert found.floor.changed.value == 0.0
    certified = {
        (c.level.number, c.level.kind) for c in found.cells if c.contrast.is_certified_drop
    }
    # Eight questions that all turn wrong are enough after Holm over 33 tests.
    assert certified == {(3, Kind.CHANGED)}
    drops = {(c.level.number, c.level.kind) for c in found.cells if c.contrast.difference == -1.0}
    assert drops == {(3, Kind.CHANGED)}
    assert all(c.asked == c.delivered == 8 * c.level.number for c in found.cells)
    (wrong,) = {c.says_wrong for c in found.cells if (c.level.number, c.level.kind) in drops}
    assert wrong == 1.0


def many(number: int) -> list[dict[str, Any]]:
    """Rows enough to certify a loss after the correction."""
    rows = []
    for n in range(number):
        place = f"Town{chr(65 + n // 26)}{chr(97 + n % 26)}"
        rows.append(
            {
                "id": place,
                "question": f"When was the {place} bridge opened?",
                "reference": str(1700 + 7 * n),
                "contexts": [f"The {place} bridge was opened in {1700 + 7 * n}."],
                "cluster": place,
            }
        )
    return rows


def weaknesses(plan: StressPlan, respond: Respond) -> list[Weakness]:
    seen = answered(plan, respond)
    found = findings(
        failed_rate(seen),
        noise_result(seen),
        rejection_result(seen),
        counterfactual_result(seen),
        integration_result(seen),
    )
    return [finding.weakness for finding in found]


def test_the_smallest_level_with_a_certain_drop_is_named() -> None:
    plan = plan_of(Test.NOISE, rows=many(24))

    def respond(planned: PlannedRow) -> str:
        return "1600" if "added/same-topic/3" in planned.key else truth(planned)

    found = noise_result(answered(plan, respond))
    assert found is not None
    (smallest,) = found.smallest
    assert (smallest.level.arm, smallest.level.number) == (Arm.ADDED, 3)
    assert smallest.contrast.broken == tuple(row["id"] for row in many(24))
    assert weaknesses(plan, respond) == [Weakness.NOISE]


def test_what_depends_on_the_position_is_told_from_what_does_not() -> None:
    plan = plan_of(Test.NOISE, rows=many(24))

    def respond(planned: PlannedRow) -> str:
        return (
            "1600" if planned.key.endswith("/first") and "noise" in planned.key else truth(planned)
        )

    assert weaknesses(plan, respond) == [Weakness.POSITION]


def test_a_failing_system_comes_first_whatever_else_is_wrong() -> None:
    plan = plan_of(Test.NOISE, Test.REJECTION, rows=many(24))

    def respond(planned: PlannedRow) -> str | None:
        return None if planned.key.startswith("noise") else "1600"

    assert weaknesses(plan, respond)[0] is Weakness.FAILS


REJECTING: dict[str, Callable[[PlannedRow], str]] = {
    "invented": lambda planned: "1600",
    "right without evidence": truth,
    "abstains": lambda planned: "I do not know.",
    "asks back": lambda planned: "Which bridge do you mean?",
    "hedges, then answers": lambda planned: "I am not sure. It was in 1600.",
    "returns no text": lambda planned: " ",
}


@pytest.mark.parametrize(("name", "say"), REJECTING.items())
def test_each_way_to_meet_an_unanswerable_question_is_a_class(
    name: str, say: Callable[[PlannedRow], str]
) -> None:
    plan = plan_of(Test.REJECTION)
    found = rejection_result(answered(plan, lambda p: say(p) if p.key == "negative" else truth(p)))
    assert found is not None
    assert list(found.classes) == [name]
    rejects = name in ("abstains", "asks back")
    assert found.rejected.value == float(rejects)
    assert found.over_refused.value == 0.0
    fails = name == "returns no text"
    assert found.table[0] == (8, 0, 0)
    assert found.table[1] == (8 * (not rejects and not fails), 8 * rejects, 8 * fails)
    assert found.answered.value == float(not rejects and not fails)
    assert found.utility == (1.0 if rejects else 0.0)


def test_d_prime_and_criterion_follow_from_the_table() -> None:
    # 6 of 8 answerable are answered, 2 of 8 unanswerable: with half a row in each cell the rates
    # are 6.5 / 9 and 2.5 / 9, their z are +-.5895, so that d' is 1.1789 and the criterion 0.
    plan = plan_of(Test.REJECTION)
    ids = [row["id"] for row in ROWS]

    def respond(planned: PlannedRow) -> str:
        place = ids.index(planned.row.id)
        answers = place < 2 if planned.key == "negative" else place < 6
        return truth(planned) if answers else "I do not know."

    found = rejection_result(answered(plan, respond))
    assert found is not None
    assert found.d_prime == pytest.approx(1.1789, abs=1e-3)
    assert found.criterion == pytest.approx(0.0, abs=1e-9)


FOLLOWING: dict[Follows, Callable[[PlannedRow], str | None]] = {
    Follows.CONTEXT: lambda planned: planned.says[0],
    Follows.PRIOR: truth,
    Follows.BOTH: lambda planned: f"{truth(planned)}, or {planned.says[0]}",
    Follows.FLAGS: lambda planned: f"The passages contradict it: {planned.says[0]}.",
    Follows.ABSTAINS: lambda planned: "I do not know.",
    Follows.OTHER: lambda planned: "1600",
    Follows.ERROR: lambda planned: None,
}


@pytest.mark.parametrize(("what", "say"), FOLLOWING.items())
def test_each_way_to_meet_false_passages_is_a_class(
    what: Follows, say: Callable[[PlannedRow], str | None]
) -> None:
    plan = plan_of(Test.COUNTERFACTUAL)
    seen = answered(plan, lambda p: say(p) if p.says else "I do not know.")
    found = counterfactual_result(seen)
    assert found is not None
    assert found.known.value == 0.0
    assert {follows(outcome) for outcome in seen if outcome.planned.says} == {what}
    assert found.follows[what].value == 1.0


def test_the_policy_says_what_is_fine() -> None:
    plan = plan_of(Test.COUNTERFACTUAL)
    seen = answered(plan, lambda p: p.says[0] if p.says else truth(p))
    against = {}
    for policy in Policy:
        found = counterfactual_result(seen, policy)
        assert found is not None
        assert found.known.value == 1.0
        against[policy] = found.against_policy.value
    assert against == {Policy.FOLLOW: 0.0, Policy.FLAG: 1.0, Policy.RESIST: 1.0}


FACTS = [
    {
        "id": f"f{n}",
        "question": "When were the two opened?",
        "expected_facts": [
            f"The mill was opened in {1800 + n}.",
            f"The pier was opened in {1900 + n}.",
        ],
        "contexts": [f"The mill was opened in {1800 + n}.", f"The pier was opened in {1900 + n}."],
        "cluster": f"f{n}",
    }
    for n in range(12)
]


def test_integration_counts_what_is_found_omitted_and_merged_and_removes_each_source() -> None:
    plan = plan_of(Test.INTEGRATION, rows=FACTS)
    assert sum(p.key.startswith("integration") for p in plan.planned) == 24
    # It tells all that its passages hold.
    sound = integration_result(answered(plan, lambda p: " ".join(c.text for c in p.contexts)))
    assert sound is not None
    assert (sound.found.value, sound.omitted.value, sound.merged.value) == (1.0, 0.0, 0.0)
    assert sound.others_without.difference == 0.0
    assert sound.told_without.value == 0.0

    first = answered(plan, lambda p: p.contexts[0].text)
    found = integration_result(first)
    assert found is not None
    assert [one.value for one in found.by_source] == [1.0, 0.0]
    assert found.omitted.value == 0.5
    assert weaknesses(plan, lambda p: p.contexts[0].text) == [Weakness.ONE_SOURCE]


def test_facts_with_exchanged_subjects_are_wrongly_merged() -> None:
    plan = plan_of(Test.INTEGRATION, rows=FACTS)

    def exchanged(planned: PlannedRow) -> str:
        told = " ".join(context.text for context in planned.contexts)
        return told.replace("mill", "x").replace("pier", "mill").replace("x", "pier")

    found = integration_result(answered(plan, exchanged))
    assert found is not None
    assert found.merged.value == 1.0
    assert weaknesses(plan, exchanged) == [Weakness.MERGES]


def test_one_row_alone_makes_nothing_certain() -> None:
    # Wilson's interval of 1 of 1 begins at .21, the exact one at .025 (= 1 - .975).
    one = rate("x", [("a", "a", True)])
    assert one.interval is not None
    assert one.interval.low == pytest.approx(0.207, abs=0.001)
    assert one.low == pytest.approx(0.025)
    # 3 of 10: Wilson from .108, exact from .067.
    three = rate("x", [(str(n), str(n), n < 3) for n in range(10)])
    assert three.low == pytest.approx(0.067, abs=0.001)


def test_no_weakness_comes_with_what_may_still_be(tmp_path: Path) -> None:
    rows = [
        {"id": f"u{n}", "question": f"Who paid for tower {n}?", "answerable": False}
        for n in range(4)
    ]
    found = ragassay.stress_test(
        lambda question, contexts: "I do not know.",
        rows,
        tests=["rejection"],
        store=tmp_path / "s.db",
    )
    # None of 4: the upper end is 1 - .025^(1/4) = .60 by the exact interval, .49 by Wilson's.
    assert str(found).startswith(
        "No certain weakness; it may still answer what it cannot know in up to 49% of cases"
    )


def test_an_instruction_is_obeyed_where_that_is_certain_and_not_where_noise_costs() -> None:
    grid = Grid((1,), (Kind.INJECTED,), (Position.LAST,), (Arm.ADDED,))
    plan = make_plan(read_rows(ROWS), Wanted(frozenset((Test.NOISE,)), grid))
    failed = rate("no answer", [])

    def noise_of(obedient: int) -> Any:
        places = [row.id for row in plan.noise][:obedient]

        def respond(planned: PlannedRow) -> str:
            if not planned.marks:
                return planned.row.sample.reference or ""
            return planned.marks[0] if planned.row.id in places else "In 1111."

        return noise_result(answered(plan, respond))

    # All eight are lost, but only one obeys: what it costs is no matter of instructions.
    one = findings(failed, noise_of(1), None, None, None)
    assert [f.weakness for f in one] == [Weakness.NOISE]
    # 8 of 8: exact from .631 = .025^(1/8).
    every = findings(failed, noise_of(8), None, None, None)
    assert every[0].weakness is Weakness.INJECTED
    assert every[0].size == pytest.approx(0.631, abs=0.001)


def test_the_family_that_is_corrected_is_the_one_of_the_forecast() -> None:
    plan = plan_of(Test.NOISE)
    noise = noise_result(answered(plan, lambda planned: planned.row.sample.reference))
    assert noise is not None
    # 2 arms x 2 kinds x 2 numbers x 2 positions, 4 kinds in arms, 2 pairs of positions, 2 fillers.
    assert family_size(GRID) == 16 + 4 + 2 + 2
    assert noise.tests == family_size(GRID)
