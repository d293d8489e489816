"""Splits of labelled rows, and the sealed part that is opened once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragassay.core import DataError, SetupError
from ragassay.tuning.splits import SealedPart, marks_of, split
from ragassay.tuning.values import LabelledRows, Part, SearchCaps

CAPS = SearchCaps(600)


def labelled(truth, cluster=None, columns=None, texts=()):
    n = len(truth)
    return LabelledRows(
        ids=tuple(f"r{i}" for i in range(n)),
        truth=np.array(truth, dtype=bool),
        label=np.array(truth, dtype=float),
        cluster=np.arange(n) if cluster is None else np.array(cluster),
        columns=columns or {},
        texts=tuple(texts),
    )


class Log:
    """A log of openings in memory."""

    def __init__(self):
        self.entries = {}

    def opened(self, marks, purpose):
        for mark in sorted(marks):
            when, known = self.entries.get(mark, (None, purpose))
            if known != purpose:
                return when
        return None

    def log_opening(self, marks, purpose, caps):
        self.entries.update(dict.fromkeys(marks, ("2026-11-21", purpose)))


def rows_of(found):
    return {
        Part.TRAIN: found.train,
        Part.VALIDATION: found.validation,
        Part.SEALED: found.sealed.open(Log(), "a", CAPS),
    }


def test_rows_are_split_40_30_30_by_whole_clusters_with_the_same_share_of_passes():
    cluster = np.repeat(np.arange(100), 5)
    truth = np.random.default_rng(1).random(500) < 0.3
    found = split(labelled(truth, cluster))
    parts = rows_of(found)
    assert [len(rows) for rows in parts.values()] == [200, 150, 150]
    of_parts = [set(cluster[rows].tolist()) for rows in parts.values()]
    assert not of_parts[0] & of_parts[1]
    assert not of_parts[1] & of_parts[2]
    assert not of_parts[0] & of_parts[2]
    for rows in parts.values():
        assert truth[rows].mean() == pytest.approx(truth.mean(), abs=0.02)


def test_values_of_columns_are_shared_out_as_well():
    rng = np.random.default_rng(2)
    topic = rng.choice(["law", "sport", "health"], 60, p=[0.1, 0.3, 0.6])
    cluster = np.repeat(np.arange(60), 4)
    values = tuple(np.repeat(topic, 4).tolist())
    found = split(labelled(rng.random(240) < 0.5, cluster, {"topic": values}))
    for rows in rows_of(found).values():
        share = np.mean([values[i] == "law" for i in rows])
        assert share == pytest.approx(np.mean(topic == "law"), abs=0.04)


def test_clusters_of_very_unequal_sizes_still_give_the_shares():
    sizes = [60, 30, 20, *[5] * 30]
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    truth = np.arange(len(cluster)) % 2 == 0
    lengths = [len(rows) for rows in rows_of(split(labelled(truth, cluster))).values()]
    assert np.array(lengths) / len(cluster) == pytest.approx([0.4, 0.3, 0.3], abs=0.03)


def test_the_same_seed_gives_the_same_parts_and_another_gives_others():
    rows = labelled(np.arange(80) % 3 == 0)
    assert split(rows, seed=4).train.tolist() == split(rows, seed=4).train.tolist()
    assert split(rows, seed=4).train.tolist() != split(rows, seed=5).train.tolist()


def test_equal_rows_in_two_clusters_stay_together():
    texts = [{"response": f"answer {i % 39}"} for i in range(40)]  # rows 0 and 39 are equal
    found = split(labelled(np.arange(40) % 2 == 0, texts=texts))
    assert found.joined == 1
    assert found.rows.cluster[0] == found.rows.cluster[39]
    assert found.notes == (
        "equal rows lay in several clusters: 1 cluster was joined to others",
        "1 sets of equal rows have different labels",
    )
    for rows in rows_of(found).values():
        assert (0 in rows) == (39 in rows)


def test_a_column_may_say_which_part_a_row_is_in():
    names = ["train"] * 20 + ["dev"] * 10 + ["test"] * 10
    found = split(labelled(np.arange(40) % 2 == 0, columns={"part": tuple(names)}), column="part")
    assert found.train.tolist() == list(range(20))
    assert found.validation.tolist() == list(range(20, 30))
    assert rows_of(found)[Part.SEALED].tolist() == list(range(30, 40))


@pytest.mark.parametrize(
    ("rows", "code", "text"),
    [
        (labelled([True, False] * 14), "E0702", "28 labelled rows"),
        (labelled([True] * 40), "E0702", "people pass all 40 rows"),
        (labelled([True, False] * 20, [0] * 20 + [1] * 20), "E0702", "40 rows in 2 clusters"),
        (labelled([True] + [False] * 39), "E0702", "only rows that people fail"),
    ],
)
def test_too_few_rows_clusters_or_classes_are_refused(rows, code, text):
    with pytest.raises(DataError) as caught:
        split(rows)
    assert caught.value.code == code
    assert text in caught.value.why


def column_of_parts(change):
    names = ["train"] * 20 + ["validation"] * 10 + ["sealed"] * 10
    return {"part": tuple(change.get(i, name) for i, name in enumerate(names))}


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (
            labelled([True, False] * 20, [0, *range(39)], column_of_parts({0: "sealed"})),
            "Rows of one cluster lie in two parts.",
        ),
        (
            labelled(
                [True, False] * 20,
                columns=column_of_parts({}),
                texts=[{"response": str(i % 39)} for i in range(40)],
            ),
            "Rows with the same texts lie in two parts.",
        ),
        (
            labelled([True, False] * 20, columns=column_of_parts({3: "maybe"})),
            "The column of the parts has a value that names none.",
        ),
    ],
)
def test_a_column_that_would_leak_rows_or_names_no_part_is_refused(rows, what):
    with pytest.raises(DataError) as caught:
        split(rows, column="part")
    assert caught.value.code == "E0703"
    assert caught.value.what == what


def test_shares_and_columns_that_cannot_be_are_refused():
    rows = labelled([True, False] * 20)
    with pytest.raises(SetupError, match="must add up to 1"):
        split(rows, shares=(0.5, 0.5, 0.5))
    with pytest.raises(SetupError, match="no column of that name"):
        split(rows, column="part")


def test_the_sealed_part_is_handed_out_once_and_the_opening_is_logged():
    found = split(labelled([True, False] * 20))
    log = Log()
    assert len(found.sealed.open(log, "a", CAPS)) == len(found.sealed) == 12
    assert len(log.entries) == 12
    with pytest.raises(SetupError) as caught:
        found.sealed.open(log, "a", CAPS)
    assert caught.value.code == "E0704"


def test_another_process_finds_the_opening_in_the_log():
    rows = labelled([True, False] * 20)
    log = Log()
    split(rows).sealed.open(log, "a", CAPS)
    with pytest.raises(SetupError, match="opened 2026-11-21"):
        split(rows).sealed.open(log, "other candidates", CAPS)
    # A run that was killed after the opening goes on.
    assert len(split(rows).sealed.open(log, "a", CAPS)) == 12


def test_an_opening_that_cannot_be_logged_hands_out_nothing():
    class FullDisk(Log):
        def log_opening(self, marks, purpose, caps):
            raise OSError("no space left")

    sealed = SealedPart(np.arange(3), ["a", "b", "c"])
    with pytest.raises(OSError, match="no space"):
        sealed.open(FullDisk(), "a", CAPS)
    assert len(sealed.open(Log(), "a", CAPS)) == 3


def test_one_row_that_was_opened_before_is_enough_to_refuse():
    """Another seed, or a file with more labels, makes another sealed part with the same rows."""
    rows = labelled([True, False] * 20)
    log = Log()
    split(rows).sealed.open(log, "a", CAPS)
    with pytest.raises(SetupError, match="opened 2026-11-21"):
        split(rows, seed=1).sealed.open(log, "b", CAPS)


def test_the_same_candidates_on_other_sealed_rows_are_another_test():
    """Else one would look with seed after seed until chance certifies a candidate."""
    rows = labelled([True, False] * 20)
    log = Log()
    split(rows).sealed.open(log, "a", CAPS)
    with pytest.raises(SetupError, match="opened 2026-11-21"):
        split(rows, seed=1).sealed.open(log, "a", CAPS)


def test_a_row_is_known_by_its_texts_whatever_its_id_and_label_are():
    texts = [{"response": each} for each in "abc"]
    rows = labelled([True, False, True], texts=texts)
    other = replace(labelled([False, False, True], texts=texts), ids=("x", "y", "z"))
    every = np.arange(3)
    assert len(set(marks_of(rows, every))) == 3
    assert marks_of(rows, every) == marks_of(other, every)


def test_a_blank_or_a_capital_makes_no_other_row():
    """Equal rows but for these stay together, and one that was opened is known again."""
    truth = [True, False] * 30
    texts = [{"response": f"Answer {i}."} for i in range(60)]
    texts[59] = {"response": " ANSWER  8.\n"}
    rows = labelled(truth, texts=texts)
    found = split(rows)
    assert found.joined == 1
    assert found.rows.cluster[59] == found.rows.cluster[8]
    log = Log()
    found.sealed.open(log, "a", CAPS)
    spaced = [{"response": each["response"].upper() + " "} for each in texts]
    again = split(replace(rows, texts=tuple(spaced)))
    assert log.opened(again.sealed.marks, "another") is not None


def test_openings_of_before_that_rule_are_still_known():
    texts = [{"response": f"Answer {i}."} for i in range(60)]
    rows = labelled([True, False] * 30, texts=texts)
    sealed = split(rows).sealed
    log = Log()
    log.log_opening(marks_of(rows, np.arange(60)), "before", CAPS)
    with pytest.raises(SetupError) as refused:
        sealed.open(log, "a", CAPS)
    assert refused.value.code == "E0704"
