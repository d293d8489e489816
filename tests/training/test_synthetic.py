"""Made examples: from train texts alone, with the truth they claim."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from training.offline_data import (
    ASKED,
    CONTRADICTED,
    NOT_MENTIONED,
    SUPPORT_DEV,
    SUPPORT_TEST,
    SUPPORT_UNSEEN,
    SUPPORTED,
    answer,
    asked_elsewhere,
    held,
    made_answer,
    question_key,
    relevance,
    rows,
    support,
    support_dev,
    support_train,
)
from training.synthetic import (
    ASIDE,
    CLAIMS,
    PASSAGES,
    Aside,
    Pool,
    Truth,
    curriculum,
    cut,
    edited,
    neighbours,
    retold,
    runs,
    sentences,
    sought,
    stated,
    told,
    variations,
    without,
)

DATA = Path(os.environ.get("RAGASSAY_DATA", Path(__file__).parents[3] / "shared" / "data"))
PASSAGE = (
    "The old mill stands at the river Aare near Bern. It was built in 1832 by Jakob Steiner for the"
    " town. In 1911 a fire destroyed the upper floor. Today the house holds a small museum with 240"
    " tools. Every summer about 3,000 visitors come from all over Europe to see the wheel turn."
)
OTHER = (
    "A flock of cranes crosses the valley in late October. Farmers in Brandenburg put out maize for"
    " them. Counting them has been the work of volunteers since 1975, when Ute Brandt founded the"
    " club in Linum."
)


def folder(path: Path, sets: dict[str, list[dict[str, Any]]]) -> Path:
    """A data folder in which every set has at least an empty file."""
    for name in {*ASIDE, *PASSAGES, *CLAIMS, *ASKED, *sets}:
        (path / name).mkdir()
        with gzip.open(path / name / f"{name}.jsonl.gz", "wt", encoding="utf-8") as target:
            for row in sets.get(name, []):
                target.write(
                    json.dumps({"dataset": name, "contexts": [], "label": None, **row}) + "\n"
                )
    (path / "scifact_retrieval").mkdir()
    with gzip.open(path / "scifact_retrieval/corpus.jsonl.gz", "wt", encoding="utf-8") as target:
        for at, text in enumerate((PASSAGE, OTHER)):
            row = {
                "id": str(at),
                "title": f"A statement number {at} about mills and birds",
                "text": text,
            }
            target.write(json.dumps(row) + "\n")
    return path


def test_a_train_passage_that_repeats_a_test_text_lends_nothing(tmp_path: Path) -> None:
    longer = "A first sentence that is new. " + PASSAGE
    data = folder(
        tmp_path,
        {
            "scifact": [
                {"split": "train", "group": "a", "contexts": [longer]},
                {"split": "train", "group": "b", "contexts": [OTHER]},
            ],
            "wice": [{"split": "test", "group": "c", "contexts": [PASSAGE]}],
        },
    )
    assert [passage for _, passage in Pool.read(data, Aside(data)).passages] == [OTHER]
    made = curriculum(data, 0, each=5)
    assert {e.group for e in made} == {"scifact:b", "abstract:1"}


def test_dev_and_test_rows_lend_nothing(tmp_path: Path) -> None:
    split_rows = [
        {"split": split, "group": split, "contexts": [OTHER]}
        for split in ("dev", "test", "official_test")
    ]
    data = folder(tmp_path, {"summac_val": split_rows})
    assert Pool.read(data, Aside(data)).passages == []


def test_groups_that_are_kept_for_development_lend_nothing(tmp_path: Path) -> None:
    groups = [str(n) for n in range(40)]
    kept = {group for group in groups if held("factcheck_gpt", f"factcheck_gpt:{group}")}
    assert 0 < len(kept) < 20
    given = [
        {"split": "train", "group": group, "contexts": [f"{OTHER} Group {group}."]}
        for group in groups
    ]
    pool = Pool.read(
        folder(tmp_path, {"factcheck_gpt": given, "summac_val": given}), Aside(tmp_path)
    )
    found = {group for group, _ in pool.passages}
    assert found >= {f"factcheck_gpt:{group}" for group in groups if group not in kept}
    assert not found & {f"factcheck_gpt:{group}" for group in kept}
    assert not held("summac_val", f"summac_val:{min(kept)}")


def test_a_question_that_another_split_asks_is_not_learned(tmp_path: Path) -> None:
    asked = {
        "question": "Who built the mill?",
        "contexts": [PASSAGE],
        "response": "Jakob Steiner",
        "label": 1,
    }
    other = {**asked, "question": "When did it burn?", "response": "In 1911"}
    data = folder(
        tmp_path,
        {
            "hotpotqa_answer": [
                {**asked, "split": "train", "group": "a"},
                {**other, "split": "train", "group": "b"},
            ],
            "hotpotqa_context": [
                {**asked, "question": "who built  the mill", "split": "test", "group": "c"},
                {**other, "split": "train", "group": "d"},
                {**asked, "split": "train", "group": "e"},
            ],
        },
    )
    assert {e.call.text for e in answer(data, "train")} == {"When did it burn?"}
    assert {e.call.text for e in answer(data, "test")} == set()
    assert {e.call.text for e in made_answer(data, 0, 100)} <= {"When did it burn?"}
    # In relevance the passage of the test row goes as well, which both of these have.
    assert list(relevance(data, "train")) == []
    assert len(list(relevance(data, "test"))) == 1


def test_runs_find_shared_text_and_no_other() -> None:
    assert runs(PASSAGE) & runs("He said: " + PASSAGE[30:200])
    assert not runs(PASSAGE) & runs(OTHER)
    assert len(runs("two words")) == 1


def test_a_cut_passage_holds_its_sentence_and_stays_short() -> None:
    passage = " ".join(f"Sentence number {n} speaks of thing {n * 7}." for n in range(200))
    start = passage.index("Sentence number 90 ")
    end = passage.index(" Sentence number 91 ")
    for seed in range(50):
        part = cut(passage, start, end, random.Random(seed))
        assert passage[start:end] in part
        assert part in passage
        assert len(part) <= 1600


def test_without_takes_the_evidence_out() -> None:
    claim = "It was built in 1832 by Jakob Steiner for the town."
    rest = without(claim, PASSAGE)
    assert "Steiner" not in rest
    assert "museum" in rest


def test_variations_are_labelled_as_they_were_made() -> None:
    pool = Pool([("g", PASSAGE), ("h", OTHER)])
    others = [
        "Volunteers have counted the cranes in Linum since 1975.",
        "Farmers feed them with maize in Brandenburg.",
    ] * 5
    truths = list(sentences(pool, random.Random(0), 5))
    found = list(variations(truths, others, random.Random(0)))
    assert {e.label for e in found} == {0, 1}
    for e in found:
        assert (e.kind == SUPPORTED) == (e.label == 1)
        if e.label == 1:
            assert e.spans == ()
        elif e.spans is not None:
            assert e.spans
            assert all(0 <= a < b <= len(e.call.text) for a, b in e.spans)
        else:
            assert e.kind == NOT_MENTIONED


def test_the_same_seed_makes_the_same_examples() -> None:
    truths = [
        Truth("made:sentence", "g", "It was built in 1832 by Jakob Steiner for the town.", PASSAGE)
    ]
    others = ["Volunteers have counted the cranes in Linum since 1975."] * 10
    once, twice = (list(variations(truths, others, random.Random(7))) for _ in range(2))
    assert once == twice


@pytest.mark.parametrize(
    ("question", "answer", "claim"),
    [
        ("who wrote the book of mills?", "Anna Keller", "Anna Keller wrote the book of mills."),
        ("what is the capital of France", "Paris.", "the capital of France is Paris."),
        ("where was the film held", "Rome", "where was the film held? Rome."),
        ("who is the mayor of Bern", "Jakob", "Jakob is the mayor of Bern."),
        ("how many are there?", "two", "how many are there? two."),
    ],
)
def test_a_question_and_its_answer_become_a_claim(question: str, answer: str, claim: str) -> None:
    made = stated(question, answer)
    assert made == claim or (
        question.startswith("where was") and made in {claim, "the film was held in Rome."}
    )


@pytest.mark.skipif(
    not (DATA / "scifact").is_dir(),
    reason="the folder ../shared/data (or RAGASSAY_DATA) is not there",
)
def test_no_group_and_no_passage_of_dev_or_test_rows_is_trained_on() -> None:
    train = support_train(DATA)
    measured = [
        *support(DATA, "test", (*SUPPORT_TEST, *SUPPORT_UNSEEN)),
        *support(DATA, "dev", ("scifact",)),
    ]
    assert not {e.group for e in train} & {e.group for e in measured}
    assert not {e.call.passages for e in train} & {e.call.passages for e in measured}
    chosen_on = support_dev(DATA)
    assert not {e.group for e in train} & {e.group for e in chosen_on}
    assert not {e.call.passages for e in train} & {e.call.passages for e in chosen_on}
    assert {e.source for e in chosen_on} == {*SUPPORT_DEV, "scifact"}


@pytest.mark.skipif(
    not (DATA / "scifact").is_dir(),
    reason="the folder ../shared/data (or RAGASSAY_DATA) is not there",
)
def test_what_summedits_calls_inconsistent_has_its_changed_words_as_spans() -> None:
    seen = 0
    for row in rows(DATA, "summedits", "train"):
        if row["label"] == 0 and row["meta"]["edit_types"] == ["antonym_swap"]:
            example = next(iter(support_of(row)))
            if example.spans:
                seen += 1
                told = " ".join(example.call.text[a:b] for a, b in example.spans)
                assert len(told) < len(example.call.text)
    assert seen >= 50


def support_of(row: dict[str, Any]) -> list[Any]:
    from training.offline_data import _support

    return [_support(row, int(row["label"]))]


RIGHT = (
    "The first lighthouse of the island was kept by Elmar Dahl and his two sons until the war.",
    (
        "Elmar Dahl kept the first lighthouse of the island, and his sons helped him until the war"
        " came."
    ),
)
WRONG = (
    "The first lighthouse of the island was kept by Ute Brandt, who had founded the club in Linum."
)


def answers(question: str, group: str, *given: tuple[str, int]) -> list[dict[str, Any]]:
    return [
        {
            "split": "train",
            "group": group,
            "question": question,
            "response": text,
            "label": label,
            "reference": ["x"],
        }
        for text, label in given
    ]


def test_right_answers_support_each_other_and_wrong_ones_contradict_them_both_ways(
    tmp_path: Path,
) -> None:
    data = folder(
        tmp_path,
        {"evouna": answers("who kept the lighthouse?", "q", *((r, 1) for r in RIGHT), (WRONG, 0))},
    )
    found = {
        (e.call.text, e.call.passages, e.label, e.kind) for e in retold(data, random.Random(0))
    }
    assert {(RIGHT[0], (RIGHT[1],), 1, SUPPORTED), (RIGHT[1], (RIGHT[0],), 1, SUPPORTED)} <= found
    wrong_claims = [
        passages
        for text, passages, label, kind in found
        if text == WRONG and (label, kind) == (0, CONTRADICTED)
    ]
    assert wrong_claims
    assert all(set(passages) <= set(RIGHT) for passages in wrong_claims)
    assert any(
        passages == (WRONG,) and label == 0 and text in RIGHT for text, passages, label, _ in found
    )
    assert all(
        label == 0
        for text, passages, label, _ in found
        if (text in RIGHT) != (set(passages) <= set(RIGHT))
    )


def test_a_short_answer_becomes_a_statement_of_its_question(tmp_path: Path) -> None:
    given = answers("who was the keeper of the mill?", "q", ("Elmar Dahl", 1), (RIGHT[0], 1))
    claims = {e.call.text for e in retold(folder(tmp_path, {"evouna": given}), random.Random(0))}
    assert "Elmar Dahl" not in claims
    assert any("Elmar Dahl" in claim and "keeper of the mill" in claim for claim in claims)


def test_the_most_similar_text_is_the_one_that_shares_the_rarest_words() -> None:
    texts = ["keeper lighthouse island", "keeper mill", "lighthouse island storm", "cranes"]
    assert neighbours(texts) == [2, 0, 0, -1]


def test_a_question_is_answered_by_its_text_and_not_by_that_of_the_most_similar_one(
    tmp_path: Path,
) -> None:
    other = (
        "Nobody knows who kept the second lighthouse of the island, since the books were lost in a"
        " storm."
    )
    data = folder(
        tmp_path,
        {
            "evouna": (
                answers("who kept the first lighthouse?", "a", (RIGHT[0], 1))
                + answers("who kept the second lighthouse?", "b", (other, 1))
            )
        },
    )
    found = {
        (e.call.text, e.call.passages[0], e.label)
        for e in sought(data, Aside(data), random.Random(0))
        if e.source == "made:sought"
    }
    first, second = "who kept the first lighthouse?", "who kept the second lighthouse?"
    assert found == {
        (first, RIGHT[0], 1),
        (second, other, 1),
        (first, other, 0),
        (second, RIGHT[0], 0),
    }


def test_an_edited_summary_is_judged_against_the_one_it_was_edited_from(tmp_path: Path) -> None:
    def row(text: str, label: int, group: str = "g") -> dict[str, Any]:
        return {
            "split": "train",
            "group": group,
            "contexts": [PASSAGE],
            "response": text,
            "label": label,
            "meta": {
                "seed_summary": "The mill was built in 1832.",
                "edit_types": [] if label else ["entity_modification"],
            },
        }

    data = folder(
        tmp_path,
        {
            "summedits": [
                row("In 1832 the mill was built.", 1),
                row("The mill was built in 1911.", 0),
            ]
        },
    )
    found = {(e.call.text, e.call.passages[0], e.label, e.spans) for e in edited(data, Aside(data))}
    seed = "The mill was built in 1832."
    assert found == {
        ("In 1832 the mill was built.", seed, 1, ()),
        (seed, "In 1832 the mill was built.", 1, ()),
        ("The mill was built in 1911.", seed, 0, ((22, 26),)),
    }


@pytest.mark.skipif(
    not (DATA / "scifact").is_dir(),
    reason="the folder ../shared/data (or RAGASSAY_DATA) is not there",
)
def test_no_question_of_another_split_and_no_passage_of_a_kept_row_is_learned() -> None:
    asked = asked_elsewhere(DATA)
    learned = [*answer(DATA, "train"), *made_answer(DATA, 0, 1500), *relevance(DATA, "train")]
    assert len(learned) > 1000
    assert not asked & {question_key(e.call.text) for e in learned}
    kept = {e.call.passages[0] for e in support_dev(DATA) if e.source == "factcheck_gpt"}
    assert kept
    assert not kept & {
        e.call.passages[0] for e in relevance(DATA, "train") if e.source == "factcheck_gpt"
    }


@pytest.mark.skipif(
    not (DATA / "scifact").is_dir(),
    reason="the folder ../shared/data (or RAGASSAY_DATA) is not there",
)
def test_no_claim_of_a_row_that_is_kept_for_development_lends_its_words() -> None:
    kept = {e.call.text for e in support_dev(DATA)}
    assert not kept & {
        truth.claim
        for truth in told(DATA, Aside(DATA))
        if truth.group.split(":")[0] in ("factcheck_gpt", "q2_wow")
    }
