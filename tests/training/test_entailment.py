"""The entailment pack: what is left out, what is learned beside each other, what stands around."""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from training.entailment import (
    MOST,
    SETS,
    Others,
    bundles,
    example,
    learned,
    taken,
)
from training.offline_data import (
    ASKED,
    CONTRADICTED,
    HELD,
    NOT_MENTIONED,
    SUPPORTED,
    UNTOLD,
    held,
)
from training.synthetic import ASIDE

MILL = "The old mill stands at the river Aare near Bern and was built in the year 1832 by Steiner."
CRANES = "Farmers in Brandenburg put out maize for the cranes that rest in the fields each autumn."
BRIDGE = "The bridge over the Elbe was closed for two months after the flood had damaged a pillar."
ALSO = ("hotpotqa_answer", "halueval_general", "ragchecker_meta", "llmbar", "evalbiasbench")


def a_row(name: str, number: int, **fields: Any) -> dict[str, Any]:
    row = {
        "id": f"{name}-{number}",
        "dataset": name,
        "split": "train",
        "task": "groundedness",
        "group": f"g{number}",
        "contexts": [MILL],
        "response": f"Claim number {number} is of the mill.",
        "label": 1,
        "label_raw": "entailment",
    }
    return {**row, **fields}


def a_folder(
    path: Path, pack: dict[str, list[dict[str, Any]]], data: dict[str, list[dict[str, Any]]]
) -> Path:
    for below, names, found in (
        (path, {*ASIDE, *ASKED, *ALSO}, data),
        (path / "nli", set(SETS), pack),
    ):
        for name in names:
            (below / name).mkdir(parents=True)
            with gzip.open(below / name / f"{name}.jsonl.gz", "wt", encoding="utf-8") as target:
                target.writelines(json.dumps(row) + "\n" for row in found.get(name, []))
    return path


def ids(found: dict[str, list[dict[str, Any]]], name: str) -> set[str]:
    return {row["id"] for row in found[name]}


def test_rows_with_texts_or_questions_that_are_measured_are_left_out(tmp_path: Path) -> None:
    kept = next(g for g in map(str, range(100)) if held(HELD[0], f"{HELD[0]}:{g}"))
    path = a_folder(
        tmp_path,
        {
            "snli": [
                a_row("snli", 1),
                a_row("snli", 2, contexts=[CRANES]),
                a_row("snli", 3, contexts=[BRIDGE]),
                a_row("snli", 4, contexts=["A dog runs."], response="Water boils at 100 degrees."),
                a_row("snli", 5, contexts=["A dog runs."], response="An animal runs."),
            ],
            "qnli": [
                a_row("qnli", n, task="context_relevance", question=q, contexts=["A dog runs."])
                for n, q in enumerate(("Who built it?", "Who runs?"))
            ],
        },
        {
            "wice": [a_row("wice", 1, split="test")],
            HELD[0]: [a_row(HELD[0], 1, group=kept, contexts=[CRANES])],
            "begin": [a_row("begin", 1, split="dev", response="Water boils at 100 degrees.")],
            "clapnq": [a_row("clapnq", 1, split="dev", contexts=[], question="Who built it")],
        },
    )
    found = taken(path / "nli", path, lambda _: None)
    assert ids(found, "snli") == {"snli-3", "snli-5"}
    assert ids(found, "qnli") == {"qnli-1"}


def test_articles_of_covid_qa_without_a_licence_are_left_out(tmp_path: Path) -> None:
    told = "Title\nLicense: cc-by\n\nThe virus was found in bats."
    other = "Title\nLicense: cc-by-nc\n\nThe virus was found in cats."
    path = a_folder(
        tmp_path,
        {
            "covid_qa": [
                a_row("covid_qa", 1, group="a", contexts=[told]),
                a_row("covid_qa", 2, group="a", contexts=["A part without a head of its own."]),
                a_row("covid_qa", 3, group="b", contexts=[other]),
                a_row("covid_qa", 4, group="c", contexts=["No head at all is to be seen here."]),
            ]
        },
        {},
    )
    assert ids(taken(path / "nli", path, lambda _: None), "covid_qa") == {
        "covid_qa-1",
        "covid_qa-2",
    }


def test_what_is_not_supported_is_at_most_two_thirds_of_a_set(tmp_path: Path) -> None:
    made = [
        a_row("breaking_nli", n, label=int(n == 0), contexts=[MILL if n < 2 else f"{n} dogs run."])
        for n in range(10)
    ]
    path = a_folder(tmp_path, {"breaking_nli": made}, {})
    found = ids(taken(path / "nli", path, lambda _: None), "breaking_nli")
    # the one beside a supported claim is kept before others
    assert len(found) == 3
    assert {"breaking_nli-0", "breaking_nli-1"} <= found


def test_rows_by_people_come_before_constructed_ones_in_a_capped_set(tmp_path: Path) -> None:
    human = [a_row("conjnli", n) for n in range(600)]
    made = [a_row("conjnli", n, meta={"constructed": True}) for n in range(600, 9000)]
    path = a_folder(tmp_path, {"conjnli": made + human}, {})
    found = ids(taken(path / "nli", path, lambda _: None), "conjnli")
    assert len(found) == SETS["conjnli"].most
    assert {row["id"] for row in human} <= found


def test_a_bundle_has_claims_that_are_supported_and_not_as_long_as_both_last() -> None:
    same = [a_row("snli", n, label=int(n < 2)) for n in range(6)]
    other = [a_row("snli", n, label=1, contexts=[CRANES]) for n in range(6, 8)]
    found = bundles([*same, *other], "premise", random.Random(1))
    assert sorted(len(b) for b in found) == [2, 3, 3]
    assert all(len(b) <= MOST and len({r["contexts"][0] for r in b}) == 1 for b in found)
    assert sorted(sum(r["label"] for r in b) for b in found) == [1, 1, 2]


def test_no_sentence_around_a_premise_is_of_its_group_or_tells_of_its_claim() -> None:
    rows = [
        a_row("snli", 0, response="The bridge over the Elbe was closed."),
        *(a_row("snli", n, contexts=[text]) for n, text in enumerate((CRANES, BRIDGE), 1)),
    ]
    others = Others(rows)
    for seed in range(20):
        before, after = others.around(rows[:1], random.Random(seed))
        assert {*before, *after} <= {CRANES}
    made = example(rows[0], [CRANES], [CRANES])
    assert made.call.passages == (f"{CRANES} {MILL} {CRANES}",)


@pytest.mark.parametrize(
    ("name", "raw", "kind"),
    [
        ("snli", "contradiction", CONTRADICTED),
        ("snli", "neutral", NOT_MENTIONED),
        ("fever_nli", "not_entailment", UNTOLD),
        ("fever_symmetric", "REFUTES", CONTRADICTED),
        # in part right as well
        ("citation_integrity", "REFUTE", UNTOLD),
        ("citation_integrity", "none", NOT_MENTIONED),
    ],
)
def test_which_kind_of_not_supported_is_told_where_the_set_says_so(
    name: str, raw: str, kind: int
) -> None:
    assert example(a_row(name, 1, label=0, label_raw=raw)).kind == kind
    assert example(a_row(name, 1)).kind == SUPPORTED


def test_the_replaced_word_is_marked() -> None:
    wrong = a_row(
        "breaking_nli", 1, label=0, response=MILL.replace("mill", "barn"), label_raw="contradiction"
    )
    (start, end), *more = example(wrong).spans or ()
    assert (wrong["response"][start:end], more) == ("barn", [])


def test_what_is_kept_aside_has_no_premise_that_is_learned_from(tmp_path: Path) -> None:
    path = a_folder(
        tmp_path,
        {
            "snli": [
                a_row("snli", 1),
                a_row("snli", 2, split="test", contexts=[CRANES]),
                a_row("snli", 3, split="dev", contexts=[CRANES]),
                a_row("snli", 4, split="dev", contexts=[BRIDGE]),
            ]
        },
        {},
    )
    found = taken(path / "nli", path, lambda _: None)

    def groups(aside: bool) -> set[str]:
        return {e.group for bundle in learned(found, aside=aside, seed=1) for e in bundle}

    assert groups(False) == {"nli:snli:g1", "nli:snli:g2"}
    assert groups(True) == {"nli:snli:g4"}
