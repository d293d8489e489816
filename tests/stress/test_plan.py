"""What is asked: the levels of each row, and that each holds what it is named after."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ragassay.core import Context, NothingToDo, SetupError
from ragassay.stress.distractors import MARK, Distractor
from ragassay.stress.levels import Arm, Grid, Kind, Position, Test
from ragassay.stress.placing import fillers, fitted, matched, placed
from ragassay.stress.plan import OVER_THE_CAP, StressPlan, Wanted, make_plan, within
from ragassay.stress.rows import read_rows
from stress.test_application import ROWS

OWN = (Context("one"), Context("two"))
NEW = (Context("a"), Context("b"), Context("c"))


def texts(contexts: Any) -> str:
    return " ".join(context.text for context in contexts)


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (Position.FIRST, "a b c one two"),
        (Position.MIDDLE, "one a b c two"),
        (Position.LAST, "one two a b c"),
    ],
)
def test_distractors_stand_where_they_were_asked_for(position: Position, expected: str) -> None:
    assert texts(placed(OWN, NEW, position) or ()) == expected


def test_around_a_single_passage_stand_half_of_them_on_either_side() -> None:
    assert texts(placed(OWN[:1], NEW, Position.MIDDLE) or ()) == "a b one c"
    # One has no middle of one: the level is not there, and not another one under its name.
    assert placed(OWN[:1], NEW[:1], Position.MIDDLE) is None


@pytest.mark.parametrize("position", list(Position))
@pytest.mark.parametrize("number", [0, 1, 3, 8])
def test_length_matched_levels_have_one_length_whatever_is_in_them(
    position: Position, number: int
) -> None:
    given = [f"distractor{n} " + fillers(29) for n in range(number)]
    contexts = matched(OWN, given, 8, position, 30)
    assert len(contexts) == 10
    assert len(texts(contexts).split()) == 8 * 30 + 2
    assert sum(text in texts(contexts) for text in given) == number


def test_a_distractor_is_cut_around_what_must_stay() -> None:
    text = " ".join(f"w{n}" for n in range(100)) + " THE FACT " + "tail " * 100
    start = text.index("THE FACT")
    cut = fitted(Distractor(text, Kind.CHANGED, (start, start + 8)), 30)
    assert len(cut.split()) == 30
    assert "THE FACT" in cut
    assert len(fitted(Distractor("short", Kind.TOPIC), 30).split()) == 30


def plan_of(rows: Any = ROWS, tests: Any = (Test.NOISE,), **grid: Any) -> StressPlan:
    return make_plan(read_rows(rows), Wanted(frozenset(tests), Grid(**grid)))


def test_every_planned_row_holds_what_its_level_asks_for_and_no_answer_beside() -> None:
    plan = plan_of(numbers=(1, 3))
    assert plan.undelivered == 0
    for planned in plan.planned:
        if not planned.key.startswith("noise"):
            continue
        _, arm, kind, number, position = planned.key.split("/")
        own = {context.text for context in planned.row.contexts}
        added = [c.text for c in planned.contexts if c.text not in own]
        distractors = [text for text in added if not text.startswith(fillers(6)[:12])]
        assert planned.asked == planned.delivered == int(number)
        assert planned.row.answer is not None
        assert not any(planned.row.answer.leaks_in(text) for text in added)
        if arm == Arm.ADDED:
            assert len(added) == int(number)
        if kind == Kind.INJECTED:
            assert sum(MARK in text for text in distractors) == int(number)
        if arm == Arm.ADDED and position == Position.FIRST:
            assert planned.contexts[-1].text in own


def test_the_same_rows_and_seed_give_the_same_plan_and_another_seed_another() -> None:
    one, two = plan_of(numbers=(3,)), plan_of(numbers=(3,))
    assert [p.sample for p in one.planned] == [p.sample for p in two.planned]
    wanted = Wanted(frozenset((Test.NOISE,)), Grid(numbers=(3,)), seed=1)
    other = make_plan(read_rows(ROWS), wanted)
    assert [p.sample for p in one.planned] != [p.sample for p in other.planned]


def test_a_row_is_at_all_levels_or_at_none_with_the_reason() -> None:
    # Seven other passages: no row can have eight on its topic.
    with pytest.raises(NothingToDo) as refused:
        plan_of(numbers=(1, 8), kinds=(Kind.TOPIC,))
    assert refused.value.code == "E1101"
    assert "holds 7 that do not give the answer away" in refused.value.why
    assert "--corpus" in refused.value.fix


def test_a_corpus_brings_more_passages() -> None:
    corpus = [
        {"id": f"c{n}", "question": "?", "contexts": [f"Passage {n} of cows."]} for n in range(9)
    ]
    read = read_rows(ROWS, corpus=corpus)
    plan = make_plan(read, Wanted(frozenset((Test.NOISE,)), Grid((8,), (Kind.TOPIC,))))
    assert len(plan.noise) == 8


LEFT_OUT = [
    ({"reference": "1937"}, "it has no contexts"),
    ({"contexts": ["It opened in 1937."]}, "it has no reference"),
    ({"reference": "1937", "contexts": ["It is a bridge."]}, "its contexts do not hold the answer"),
    ({"reference": "yes", "contexts": ["yes"]}, "passages cannot be searched for a yes or no"),
    (
        {"reference": "bridge", "contexts": ["bridge"]},
        "its question names the answer, as passages about it do",
    ),
]


@pytest.mark.parametrize(("fields", "reason"), LEFT_OUT)
def test_a_row_that_cannot_be_tested_is_left_out_by_name(
    fields: dict[str, Any], reason: str
) -> None:
    row = {"id": "x", "question": "When did the bridge open?", **fields}
    plan = plan_of([*ROWS, row], numbers=(1,), kinds=(Kind.TOPIC,))
    (left_out,) = plan.left_out
    assert (left_out.id, left_out.reason) == ("x", reason)


def test_where_nothing_can_be_tested_the_reasons_are_said() -> None:
    with pytest.raises(NothingToDo) as refused:
        plan_of([{"id": "x", "question": "When?", "reference": "1937"}])
    assert refused.value.code == "E1101"
    assert refused.value.why == "x: it has no contexts"


def test_an_empty_corpus_is_refused(tmp_path: Any) -> None:
    (tmp_path / "corpus.txt").write_text("\n\n")
    with pytest.raises(SetupError) as refused:
        read_rows(ROWS, corpus=tmp_path / "corpus.txt")
    assert refused.value.code == "E1102"


def test_false_passages_are_there_in_the_asked_share_and_say_one_false_thing() -> None:
    rows = [
        {
            **row,
            "contexts": [
                row["contexts"][0],
                f"Records of {row['id']} name {row['reference']} as well.",
            ],
        }
        for row in ROWS
    ]
    plan = plan_of(rows, (Test.COUNTERFACTUAL,))
    keys = {p.key for p in plan.planned if p.key.startswith("counterfactual")}
    assert keys == {f"counterfactual/{share}" for share in ("1-of-3", "1-of-2", "2-of-3", "1-of-1")}
    for planned in plan.planned:
        match = re.fullmatch(r"counterfactual/(\d)-of-(\d)", planned.key)
        if match is None:
            continue
        answer = planned.row.answer
        assert answer is not None
        (false,) = planned.says
        saying = [false in context.text for context in planned.contexts]
        true = [answer.is_stated_in(context.text) for context in planned.contexts]
        assert sum(saying) == planned.asked == planned.delivered
        if match[1] == match[2]:  # all of them
            assert all(saying)
            assert not any(true)
        else:
            assert sum(true) == int(match[2]) - int(match[1])


def test_unanswerable_passages_do_not_tell_the_answer() -> None:
    plan = plan_of(ROWS, (Test.REJECTION,))
    for planned in plan.planned:
        if planned.key == "negative":
            assert len(planned.contexts) == 3
            assert planned.row.answer is not None
            assert not any(planned.row.answer.leaks_in(c.text) for c in planned.contexts)


def test_a_row_that_the_corpus_cannot_answer_is_asked_with_its_own_passages() -> None:
    given = {
        "id": "u",
        "question": "Who owns it?",
        "contexts": ["Nobody says."],
        "answerable": False,
    }
    plan = plan_of([*ROWS, given], (Test.REJECTION,))
    (planned,) = [p for p in plan.planned if p.row.id == "u"]
    assert texts(planned.contexts) == "Nobody says."


@pytest.mark.parametrize("numbers", [(), (0,), (-1, 3)])
def test_levels_of_no_distractor_are_refused(numbers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Grid(numbers=numbers)


def test_a_cap_on_askings_draws_whole_questions_and_names_the_others() -> None:
    plan = plan_of(numbers=(1, 3), tests=(Test.NOISE, Test.REJECTION))
    of_one = len(plan.planned) // len(plan.rows)
    capped = within(plan, 3 * of_one + 1)
    assert len(capped.rows) == 3
    assert len(capped.planned) == 3 * of_one
    # Each that is drawn is asked at all its levels, and stands in every test that it stood in.
    assert {row.id for row in capped.noise} == {row.id for row in capped.rows}
    assert len(capped.noise) == len(capped.negatives) == 3
    dropped = [one.id for one in capped.left_out if one.reason == OVER_THE_CAP]
    assert sorted([*dropped, *(row.id for row in capped.rows)]) == sorted(
        row.id for row in plan.rows
    )
    assert within(plan, 3 * of_one + 1) == capped
    assert within(plan, None) is plan
    with pytest.raises(SetupError, match="E1107"):
        within(plan, of_one - 1)


def test_texts_are_a_corpus() -> None:
    found = read_rows(ROWS, corpus=["A passage of mine.", "Another one.", " "])
    assert {"A passage of mine.", "Another one."} <= {passage.text for passage in found.passages}


def test_what_the_corpus_cannot_answer_is_asked_with_what_a_retriever_would_find() -> None:
    unknown = {"id": "u", "question": "Who paid for the Halden bridge?", "answerable": False}
    (asked,) = [p for p in plan_of([*ROWS, unknown], [Test.REJECTION]).planned if p.row.id == "u"]
    assert len(asked.contexts) == 3
    assert asked.contexts[0].text.startswith("The Halden bridge")
    own = {**unknown, "contexts": ["A passage of its own."]}
    (given,) = [p for p in plan_of([*ROWS, own], [Test.REJECTION]).planned if p.row.id == "u"]
    assert [context.text for context in given.contexts] == ["A passage of its own."]
