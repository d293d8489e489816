"""The chances of labelled rows over all rounds of choosing."""

import pytest

from ragassay.core import DataError, HumanLabel
from ragassay.scoring.label_rounds import drawn_label, drawn_rows, missing_rounds


def label(row: str, chance: float | None, round_: int = 1, person: str = "") -> HumanLabel:
    return HumanLabel(row, "groundedness", person, 1.0, inclusion_probability=chance, round=round_)


def test_rows_of_one_round_keep_their_chances() -> None:
    drawn = drawn_rows([label("a", 0.2), label("b", 0.5), label("b", 0.5, person="bob")], 10)
    assert drawn.chance == {"a": 0.2, "b": 0.5}
    assert not drawn.equal
    # Weights 5 and 2: (5 + 2)^2 / (25 + 4).
    assert drawn.worth == pytest.approx(49 / 29)


def test_a_second_persons_label_without_a_chance_takes_none_away() -> None:
    ann = [label(f"a{n}", 0.1, person="ann") for n in range(10)]
    zoe = [label(f"a{n}", None, 0, person="zoe") for n in range(5)]
    for labels in ([*ann, *zoe], [*zoe, *ann]):
        drawn = drawn_rows(labels, 100)
        assert (drawn.unknown, len(drawn.chance)) == (0, 10)
        assert set(drawn.chance.values()) == {0.1}
    assert drawn_label([zoe[0], ann[0]]) == ann[0]


def test_two_rounds_of_equal_chances_are_one_simple_random_sample() -> None:
    # 10 of 100, then 10 of the 90 that were left: together 20 of 100.
    first = [label(f"a{n}", 0.1) for n in range(10)]
    second = [label(f"b{n}", 10 / 90, 2) for n in range(10)]
    drawn = drawn_rows([*first, *second], 100)
    assert drawn.rounds == 2
    assert drawn.equal
    assert list(drawn.chance.values()) == pytest.approx([0.2] * 20)
    # The first round says itself that there were 100.
    assert drawn_rows([*first, *second]).chance == pytest.approx(drawn.chance)


def test_a_later_round_without_the_earlier_one_is_refused() -> None:
    second = [label("b", 0.1, 2)]
    assert missing_rounds(second)
    with pytest.raises(DataError, match="earlier round") as error:
        drawn_rows(second, 100)
    assert error.value.code == "E1201"
    assert not missing_rounds([label("a", 0.1), *second])


def test_labels_from_before_the_first_draw_stand_for_themselves() -> None:
    # 20 of 100 rows were labelled already, and 8 of the 80 others drawn: a chance of 0.1 each.
    own = [label(f"own{n}", None, 0) for n in range(20)]
    drawn = drawn_rows([*own, *(label(f"d{n}", 0.1) for n in range(8))], 100)
    assert drawn.before == 20
    assert drawn.unknown == 0
    assert drawn.chance["own3"] == 1.0
    assert drawn.chance["d3"] == pytest.approx(0.1)


def test_labels_that_may_have_been_drawn_as_well_are_left_out() -> None:
    # 10 of all 100 rows: labels of unknown chance came later, or from elsewhere.
    own = [label(f"own{n}", None, 0) for n in range(20)]
    drawn = drawn_rows([*own, *(label(f"d{n}", 0.1) for n in range(10))], 100)
    assert drawn.before == 0
    assert drawn.unknown == 20
    assert "own3" not in drawn.chance


def test_more_rows_than_there_are_were_drawn_from_another_run() -> None:
    drawn = drawn_rows([label(f"d{n}", 0.1) for n in range(10)], 5)
    assert drawn.chance == {}
    assert drawn.unknown == 10
