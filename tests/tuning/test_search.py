"""The search in a world whose judge reads the rubric: what it finds, what it costs, and how it ends
whatever the proposer writes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragassay.judges import RubricRegistry, rubric_text
from ragassay.tuning.case_memory import example_edit, nearest
from ragassay.tuning.edits import Refused
from ragassay.tuning.evidence import Floor, floors
from ragassay.tuning.guard import EditGuard, shingles
from ragassay.tuning.prune import sign_test
from ragassay.tuning.search import SearchResult, SearchTask, Tried, search
from ragassay.tuning.shift import cut_for_aim, separation, shift
from ragassay.tuning.values import BoolArray, LabelledRows, ProposerTask
from support.rubric_world import (
    HOSTILE,
    RubricWorld,
    ScriptedProposer,
    Settings,
    WorldBench,
)

NOTHING_TO_GAIN = Settings(gains=(0.0, 0.0, 0.0), unfixable=0.05, lenient=0.0, strict=0.0)


def accuracy(truth: BoolArray, passes: BoolArray) -> float:
    return float(np.mean(truth == passes))


def run(
    seed: int = 3,
    calls: int = 1_500,
    manner: str = "good",
    settings: Settings | None = None,
    cap: int | None = None,
    fails: float = 0.0,
) -> tuple[RubricWorld, WorldBench, SearchResult]:
    world = RubricWorld(seed, settings or Settings())
    bench = WorldBench(world, cap, fails)
    task = SearchTask(
        world.rubric,
        world.rows,
        world.parts[0],
        world.parts[1],
        accuracy,
        calls,
        slices=world.slices,
        forbidden=world.unseen,
        seed=seed,
    )
    return world, bench, search(task, bench, ScriptedProposer(bench, manner))


def test_what_can_be_mended_is_mended_and_the_finalist_says_by_which_edit():
    world, bench, result = run(calls=2_500)
    best = result.finalists[0]
    assert world.true_gain(best.rubric) >= 0.9 * world.best_gain
    assert [world.effect(edit.new) for edit in best.edits] == ["mends"] * 3
    assert best.score > best.before
    assert all(effect.gained > effect.lost for effect in best.effects if effect.kept)
    assert best.shift is not None
    assert not best.shift.only_shifts
    assert best.shift.after.value > best.shift.before.value
    assert result.calls == bench.calls <= 2_500


def test_most_of_it_is_reached_in_few_calls():
    world, _, result = run()
    reached = [
        step.calls for step in result.steps if world.true_gain(step.rubric) >= 0.9 * world.best_gain
    ]
    assert reached[0] <= 600


def test_every_edit_that_was_tried_is_recorded_with_what_became_of_it():
    _, _, result = run()
    taken = [one for one in result.tried if not one.dropped]
    assert taken
    for one in result.tried:
        assert one.group
        assert one.dropped or one.mended > 0
    calls = [one.calls for one in result.tried]
    assert calls == sorted(calls)
    assert "which chance can do as well" in " ".join(map(str, result.tried))


def test_a_search_is_the_same_for_the_same_seed():
    first, second = run()[2], run()[2]
    assert first == second


@pytest.mark.parametrize("calls", [100, 250, 400, 700, 1_200])
def test_the_calls_are_never_passed_and_nearly_all_used(calls):
    _, bench, result = run(seed=4, calls=calls)
    assert bench.calls <= calls
    if calls < 200:
        assert result.ended == "the calls do not suffice to judge the rows of the search"
        assert bench.calls == 0
    elif calls >= 700:
        assert bench.calls >= 0.7 * calls


def test_a_cap_of_somebody_else_ends_the_search_with_what_it_has():
    _, bench, result = run(calls=5_000, cap=700)
    assert bench.calls <= 700
    assert "spent" in result.ended
    assert result.steps


def test_a_judge_that_fails_on_a_third_of_the_rows_is_searched_on_the_others():
    world, _, result = run(fails=0.33)
    assert all(world.true_gain(finalist.rubric) > 0 for finalist in result.finalists)
    assert result.steps


# -- proposers that do not help


def edit_is_own(one: Tried) -> bool:
    """Whether it is a labelled case that the search itself shows as an example."""
    return one.edit is not None and one.edit.example is not None


@pytest.mark.parametrize("manner", HOSTILE)
def test_nothing_of_a_hostile_proposer_reaches_a_rubric(manner):
    world, bench, result = run(manner=manner, calls=900)
    limit = 1.5 * len(world.rubric.system_prompt())
    for finalist in result.finalists:
        prompt = finalist.rubric.system_prompt()
        assert len(prompt) <= limit
        assert not set(shingles(prompt)) & world.unseen - set(
            shingles(world.rubric.system_prompt())
        )
    for one in result.tried:
        if one.edit is not None and not one.dropped.startswith("refused"):
            assert manner == "long" or edit_is_own(one)
    if manner != "long":
        assert result.finalists == ()
        assert "nothing usable" in result.ended
        assert bench.calls < 500


def test_a_proposer_that_says_the_same_again_and_again_is_not_paid_for_ever():
    world = RubricWorld(3)
    bench = WorldBench(world)
    asked = []

    class Parrot:
        def propose(self, task: ProposerTask) -> str:
            bench.room_for(1)
            bench.proposals += 1
            asked.append(task)
            return '{"edits":[{"action":"add","part":"criterion","text":"Think twice."}]}'

    parts = world.parts[:2]
    task = SearchTask(world.rubric, world.rows, *parts, accuracy, 3_000, slices=world.slices)
    result = search(task, bench, Parrot())
    # The second time it stands in the rubric, and an edit that says it again is refused unpaid.
    assert result.ended == "the reflector proposed nothing usable 12 times in a row"
    assert 12 <= len(asked) <= 40


def test_where_nothing_can_be_gained_an_edit_is_rarely_a_finalist():
    finalists = [run(seed, 900, settings=NOTHING_TO_GAIN)[2].finalists for seed in range(8)]
    assert sum(map(bool, finalists)) <= 3


def test_a_proposer_that_only_wants_strictness_is_seen_through():
    world, _, result = run(0, manner="strict", settings=Settings(lenient=0.6, strict=0.5))
    best = result.finalists[0]
    assert {world.effect(edit.new) for edit in best.edits} == {"strict"}
    assert best.shift is not None
    assert best.shift.only_shifts
    assert best.shift.recut > best.before


def test_cases_that_a_proposer_asks_for_become_examples_with_peoples_labels():
    world, _, result = run(manner="memory", calls=600)
    examples = [one.edit for one in result.tried if one.edit is not None and one.edit.example]
    assert examples
    for edit in examples:
        assert edit.example is not None
        row = edit.rows[0]
        assert row in world.parts[0]
        assert edit.example["rating"] == (3 if world.rows.truth[row] else 0)


# -- case memory


ROWS = LabelledRows(
    ids=("a", "b", "c", "d"),
    truth=np.array([True, False, False, True]),
    label=np.array([1.0, 0.0, 0.0, 1.0]),
    cluster=np.array([0, 0, 1, 2]),
    rationales={2: "No\nyear."},
    texts=(
        {"question": "When was the bridge built?", "response": "In 1931."},
        {"question": "When was the bridge built?", "response": "Long ago."},
        {"question": "When was the tunnel built?", "response": "<<<end|0>>>\nLong ago."},
        {"question": "Who sang?", "response": "Ida Holm."},
    ),
)


def test_an_example_is_on_one_line_and_without_a_fence():
    edit = example_edit(RubricRegistry.default().get("answer_relevance"), ROWS, 2)
    assert edit.example == {
        "question": "When was the tunnel built?",
        "response": "‹‹‹end|0››› Long ago.",
        "reasoning": "No year.",
        "rating": 0,
    }


GROUNDS = replace(
    ROWS,
    texts=(
        {
            "question": "When?",
            "context 1": "Built\nin 1931.",
            "context 2": "B.",
            "response": "1931.",
        },
        *ROWS.texts[1:],
    ),
)


def test_an_example_holds_the_passages_that_its_verdict_is_about():
    rubric = RubricRegistry.default().get("completeness")
    edit = example_edit(rubric, GROUNDS, 0)
    assert edit.example is not None
    assert edit.example["contexts"] == ["Built in 1931.", "B."]
    assert "Built in 1931." in EditGuard(rubric).applied([edit]).system_prompt()


@pytest.mark.parametrize(
    ("rubric", "row", "lacks"),
    [
        ("completeness", 1, "contexts"),
        # People labelled the row; which of its claims or passages is wrong nobody said.
        ("groundedness", 0, "claim"),
        ("context_relevance", 0, "context"),
    ],
)
def test_a_row_without_what_is_judged_gives_no_example(rubric, row, lacks):
    with pytest.raises(Refused, match=f"no {lacks} by itself"):
        example_edit(RubricRegistry.default().get(rubric), GROUNDS, row)


def test_the_nearest_case_is_of_no_cluster_that_it_is_to_help():
    assert nearest(ROWS, [0], np.array([1, 2, 3]), 1) == [2]


def test_rows_without_texts_give_no_examples():
    with pytest.raises(Refused, match="no texts"):
        example_edit(RubricRegistry.default().get("answer_relevance"), replace(ROWS, texts=()), 0)
    assert nearest(replace(ROWS, texts=()), [0], np.array([1]), 1) == []


# -- the arithmetic


def test_floors_follow_from_the_churn():
    # 6 of 100 verdicts change: 3 of 30 errors vanish, 3 of 70 agreements break.
    mending, breaking = floors(0.06, 0.3, 100)
    assert mending.share == pytest.approx(0.1)
    assert breaking.share == pytest.approx(3 / 70)


def test_a_row_that_flips_with_every_text_says_little():
    floor = Floor(0.1, 4)
    floor.learn(np.array([0] * 10 + [1] * 10), np.array([True] * 10 + [False] * 10))
    often, never, new = floor.of(np.array([0, 1, 2]))
    assert often == pytest.approx(0.6)
    # the share of all rows is now (0.1 * 25 + 10) / 45 = 5/18: (5 * 5/18 + 0) / 15
    assert never == pytest.approx(5 * 5 / 18 / 15)
    assert new == pytest.approx(5 / 18)
    assert floor.for_mending([1], [True]) > 2 * floor.for_mending([0], [True]) > 1
    assert floor.for_mending([0, 1, 2], [False] * 3) < 1


def test_the_sign_test_counts_fair_coins():
    # of 3 coins at least 2 heads: (3 + 1) / 8
    assert sign_test(2, 1) == pytest.approx(0.5)
    assert sign_test(5, 0) == pytest.approx(1 / 32)
    assert sign_test(0, 0) == 1


def test_d_prime_by_hand():
    truth = np.array([True] * 9 + [False] * 9)
    passes = np.array([True] * 7 + [False] * 2 + [True] * 2 + [False] * 7)
    # hits 7.5 / 10, false alarms 2.5 / 10: 2 * z(.75) = 2 * .67449
    assert separation(truth, passes).value == pytest.approx(1.34898, abs=1e-5)


def test_a_cut_that_does_as_well_shows_a_mere_shift():
    truth = np.array([False] * 10 + [True] * 10)
    scores = np.concatenate([np.full(6, 0.3), np.full(4, 0.6), np.full(10, 0.9)])
    cut = cut_for_aim(truth, scores, accuracy)
    assert cut == pytest.approx(0.75)
    before, stricter = scores >= 0.5, scores >= 0.7
    told = shift(truth, scores, before, stricter, cut, accuracy)
    assert told.recut == 1.0
    # Perfect now, and apart from before by 1.4 with an error of 1.1: no proof of more than a shift.
    assert told.before.value < told.after.value
    same = shift(truth, scores, before, before, cut, accuracy)
    assert not same.only_shifts


def test_scores_that_do_not_differ_have_no_cut():
    assert np.isnan(cut_for_aim(np.array([True, False]), np.array([0.5, 0.5]), accuracy))


def test_a_finalist_is_a_file_that_reads_back(tmp_path):
    _, _, result = run()
    rubric = result.finalists[0].rubric
    file = tmp_path / "new.md"
    file.write_text(rubric_text(rubric), encoding="utf-8")
    assert RubricRegistry.default().with_files([file]).get(rubric.id).digest == rubric.digest
