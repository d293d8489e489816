"""From a run to a sheet, to people, and back to a corrected figure: the whole way, with the offline
judge's own verdicts.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

import ragassay
from ragassay.core import DataError, NothingToDo, SetupError, Verdict
from ragassay.report.tables import Table
from ragassay.testing import LLMServer, answer_by_words
from ragassay.trust.label_reports import people_report
from ragassay.trust.measure import estimate, import_labels, next_rows, people_agreement
from ragassay.trust.measure.run_table import labels_of_named_run

FACTS = (
    "The harbour opened in {}.",
    "The bridge carries {} cars a day.",
    "The museum holds {} paintings.",
)
N = 160
Says = Callable[[int], float | None]


def rows(n: int, offset: int = 0) -> list[dict[str, Any]]:
    """Answers that stand in their context (even rows), and ones about something else (odd)."""
    found = []
    for i in range(offset, offset + n):
        fact = FACTS[i % 3].format(1800 + i)
        other = f"Judgments are mailed to lawyer {i} in Geneva every night."
        found.append(
            {
                "id": f"r{i}",
                "question": "What is known?",
                "contexts": [f"{fact} It is open all year."],
                "response": other if i % 2 else fact,
                "slices": {"half": "low" if i < N // 2 else "high"},
            }
        )
    return found


def person(i: int) -> float:
    """What people say: as the rows were made, but for one row in seven."""
    return float((i % 2 == 0) != (i % 7 == 0))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """A store with one run, and the run's verdicts."""
    store = tmp_path_factory.mktemp("run") / "s.db"
    with ragassay.evaluate(rows(N), "groundedness", store=store) as run:
        said = {row.id: float(row.score("groundedness").verdict is Verdict.PASS) for row in run}  # type: ignore[union-attr]
    assert 0.3 < sum(said.values()) / N < 0.7
    return store, said


@pytest.fixture
def store(whole: tuple[Path, dict[str, float]], tmp_path: Path) -> Path:
    return Path(shutil.copy(whole[0], tmp_path / "s.db"))


def read(sheet: Path) -> list[dict[str, Any]]:
    with sheet.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def fill(sheet: Path, says: Says = person, who: str = "") -> list[dict[str, Any]]:
    """Fill the sheet in as a person does with a spreadsheet; None leaves a row empty."""
    found = read(sheet)
    for row in found:
        value = says(int(row["id"][1:]))
        row["label"], row["annotator"] = "" if value is None else f"{value:g}", who
    with sheet.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(found[0]))
        table.writeheader()
        table.writerows(found)
    return found


def write(path: Path, ids: range, says: Says = person, **others: Any) -> Path:
    lines = [{"id": f"r{i}", "label": says(i), **others} for i in ids]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_sheet_is_filled_in_imported_and_corrects_the_run(
    store: Path, tmp_path: Path, whole: tuple[Path, dict[str, float]]
) -> None:
    said, sheet = whole[1], tmp_path / "sheet.csv"
    chosen = next_rows("last", 80, output=sheet, method="uniform", store=store)
    blank = read(sheet)
    assert [row["id"] for row in blank] == [row.id for row in chosen.rows]
    assert not any(row["label"] for row in blank)
    assert "judge" not in blank[0]
    assert {round(float(row["inclusion_probability"]), 12) for row in blank} == {0.5}  # 80 of 160
    labels = {row["id"]: float(row["label"]) for row in fill(sheet)}
    kept = import_labels("last", sheet, store=store)
    assert (kept.kept, kept.metrics) == (80, ("groundedness",))
    assert import_labels("last", sheet, store=store).kept == 0  # nothing is new
    found = estimate("last", store=store)
    assert (found.rows, found.lost, found.labels, found.used, found.weighted) == (
        N,
        0,
        80,
        80,
        True,
    )
    one = found.estimate
    everywhere = sum(said.values()) / N
    mean = sum(labels.values()) / 80
    among = sum(said[row] for row in labels) / 80
    assert one.judge == pytest.approx(everywhere)
    assert one.labels_only == pytest.approx(mean)
    assert one.method == "judge's verdict, beta"
    assert 0 < one.weight <= 1.05
    # The difference estimator: the labels' mean, moved by what the judge says of all rows and of
    # these. The weight is fitted once a fold and printed as their mean, which is what the tolerance
    # is for.
    assert one.value == pytest.approx(mean + one.weight * (everywhere - among), abs=0.01)
    assert one.value is not None
    assert one.interval is not None
    assert one.labels_only_interval is not None
    assert (
        one.interval.high - one.interval.low
        < one.labels_only_interval.high - one.labels_only_interval.low
    )
    assert one.effective_labels is not None
    assert one.effective_labels > 80
    assert found.saved == pytest.approx(one.effective_labels - 80)
    assert found.bias == pytest.approx(everywhere - one.value)
    assert one.interval.low <= sum(map(person, range(N))) / N <= one.interval.high


@pytest.mark.slow
def test_labels_of_a_file_give_the_same_as_labels_that_were_imported(
    store: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.jsonl"
    next_rows("last", 60, output=sheet, store=store)
    lines = [json.loads(line) for line in sheet.read_text().splitlines()]
    for line in lines:
        line["label"] = person(int(line["id"][1:]))
    sheet.write_text("".join(json.dumps(line) + "\n" for line in lines))
    from_file = estimate("last", labels=sheet, store=store)
    import_labels("last", sheet, store=store)
    assert estimate("last", store=store) == from_file


@pytest.mark.slow
def test_rounds_of_active_sampling_are_weighted_together(store: Path, tmp_path: Path) -> None:
    drawn: dict[int, list[dict[str, Any]]] = {}
    for round_, count in ((1, 40), (2, 30)):
        sheet = tmp_path / f"{round_}.csv"
        next_rows("last", count, output=sheet, method="active", store=store, seed=3)
        drawn[round_] = fill(sheet)
        assert {row["round"] for row in drawn[round_]} == {str(round_)}
        import_labels("last", sheet, store=store)
    assert not {row["id"] for row in drawn[1]} & {row["id"] for row in drawn[2]}
    found = estimate("last", store=store)
    assert (found.used, found.weighted) == (70, True)
    # Des Raj by hand: round 1 drew 40 of 160, round 2 30 of the 120 that were left; a row of round
    # 1 also stands in the total that round 2 gives, once. The weights of the rounds make equal
    # chances one simple random sample.
    w2 = N / 70 * 30 / 120
    w1 = (N / 70 - w2) * 40 / N
    top = bottom = 0.0
    for round_, own, later in ((1, w1, w2), (2, w2, 0.0)):
        for row in drawn[round_]:
            weight = own / float(row["inclusion_probability"]) + later
            top, bottom = top + weight * float(row["label"]), bottom + weight
    assert found.estimate.labels_only == pytest.approx(top / bottom)


@pytest.mark.slow
def test_a_second_person_who_agrees_leaves_the_estimate_as_it_is(
    store: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 40, method="uniform", output=sheet, store=store)
    filled = fill(sheet, who="ann")
    import_labels("last", sheet, store=store)
    alone = estimate("last", store=store).estimate
    # Somebody else looks at the rows that failed, without a sheet, and says the same of each.
    failed = [row["id"] for row in filled if float(row["label"]) == 0][:10]
    again = [{"id": row_id, "label": 0, "annotator": "zoe"} for row_id in failed]
    import_labels("last", again, store=store)
    both = estimate("last", store=store)
    assert both.estimate.value == pytest.approx(alone.value, abs=0.02)
    assert not any("not known" in line for line in both.unused)


def test_rows_of_an_excluded_sheet_are_not_chosen_again_though_nobody_labelled_them(
    store: Path, tmp_path: Path
) -> None:
    first, second, third = (tmp_path / f"{name}.csv" for name in "abc")
    next_rows("last", 100, output=first, store=store)
    chosen = next_rows("last", 100, output=second, store=store, exclude=[first])
    assert len(chosen.rows) == 60
    assert any("60 rows instead of 100" in text for text in chosen.notes)
    assert not {row["id"] for row in read(first)} & {row["id"] for row in read(second)}
    assert {row.round for row in chosen.rows} == {2}
    with pytest.raises(SetupError, match="E0206"):
        next_rows("last", 10, output=third, store=store, exclude=[first, second])
    assert not third.exists()


@pytest.mark.slow
def test_a_sheet_that_may_hold_labels_is_never_written_over(store: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 5, output=sheet, store=store)
    fill(sheet)
    before = sheet.read_bytes()
    with pytest.raises(SetupError, match="E0107"):
        next_rows("last", 5, output=sheet, store=store)
    assert sheet.read_bytes() == before


def test_fewer_than_fifty_labels_count_alone(store: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 49, output=sheet, method="uniform", store=store)
    labels = [float(row["label"]) for row in fill(sheet)]
    found = estimate("last", labels=sheet, store=store)
    assert found.estimate.value == pytest.approx(sum(labels) / 49)
    assert (found.estimate.weight, found.estimate.effective_labels) == (0, 49)
    assert found.estimate.method == "labels alone" or "Wilson" in found.estimate.method
    assert "fewer than 50" in found.estimate.reason


@pytest.mark.slow
def test_an_estimate_by_slice_uses_the_labels_of_each_slice(store: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 80, output=sheet, method="uniform", slice="half", store=store)
    labels = {row["id"]: float(row["label"]) for row in fill(sheet)}
    found = estimate("last", labels=sheet, by="half", store=store)
    assert [part.value for part in found.slices] == ["high", "low"]
    for part in found.slices:
        own = [v for row, v in labels.items() if (int(row[1:]) < N // 2) == (part.value == "low")]
        assert part.estimate.n_labelled == len(own)
        assert part.estimate.n_total == N // 2
        assert part.estimate.labels_only == pytest.approx(sum(own) / len(own))
    with pytest.raises(SetupError, match="half"):
        estimate("last", labels=sheet, by="halv", store=store)


@pytest.mark.slow
def test_labels_of_another_population_are_refused(store: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.jsonl"
    text = (
        "Patients with renal failure were given twenty milligrams of the compound, and their"
        " creatinine fell. " * 12
    )
    foreign.write_text(
        "".join(
            json.dumps(
                {
                    "id": f"x{i}",
                    "question": "And the trial?",
                    "contexts": [text] * 3,
                    "response": text,
                    "label": 1,
                }
            )
            + "\n"
            for i in range(60)
        )
    )
    told: list[str] = []
    with pytest.raises(DataError, match="E0605"):
        estimate("last", labels=foreign, store=store, tell=told.append)
    assert any("none of the labels is of run" in line for line in told)


@pytest.mark.slow
def test_labels_of_like_rows_that_are_not_of_the_run_correct_it(
    store: Path, tmp_path: Path
) -> None:
    like = tmp_path / "like.jsonl"
    like.write_text(
        "".join(
            json.dumps({**row, "id": f"x{row['id']}", "label": person(int(row["id"][1:]))}) + "\n"
            for row in rows(90, offset=40)
        )
    )
    found = estimate("last", labels=like, store=store)
    assert (found.foreign, found.used, found.rows) == (True, 90, N)
    assert found.shift is not None
    assert found.shift.alike
    assert found.estimate.value == pytest.approx(sum(map(person, range(N))) / N, abs=0.08)


def test_labels_without_rows_or_scores_are_refused(store: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="E0605"):
        estimate("last", labels=write(tmp_path / "other.jsonl", range(1000, 1060)), store=store)


@pytest.mark.slow
def test_rows_that_were_picked_by_their_looks_are_refused(store: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="E0605"):
        estimate("last", labels=write(tmp_path / "picked.jsonl", range(1, N, 2)), store=store)


def test_labels_off_the_scale_and_two_labels_of_one_person_are_errors(
    store: Path, tmp_path: Path
) -> None:
    off = write(tmp_path / "off.jsonl", range(20), lambda i: 7.0 if i == 3 else 1.0)
    for call in (
        lambda: estimate("last", labels=off, store=store),
        lambda: import_labels("last", off, store=store),
    ):
        with pytest.raises(DataError, match="E0313"):
            call()
    two = tmp_path / "two.jsonl"
    two.write_text('{"id": "r1", "label": 1}\n{"id": "r1", "label": 0}\n')
    for call in (
        lambda: estimate("last", labels=two, store=store),
        lambda: import_labels("last", two, store=store),
    ):
        with pytest.raises(DataError, match="E0314"):
            call()


@pytest.mark.slow
def test_a_label_that_was_imported_is_only_changed_where_that_is_asked(
    store: Path, tmp_path: Path
) -> None:
    first = write(tmp_path / "a.jsonl", range(4), annotator="ana")
    second = write(tmp_path / "b.jsonl", range(4), lambda i: 1 - person(i), annotator="ana")
    assert import_labels("last", first, store=store).kept == 4
    with ragassay.open_run("last", store=store) as run:
        stored = run.store.labels(run.id)
    # Each says when it came; coming again does not change that.
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", label.created) for label in stored)
    assert import_labels("last", first, store=store).kept == 0
    with ragassay.open_run("last", store=store) as run:
        assert run.store.labels(run.id) == stored
    with pytest.raises(DataError, match="E0314"):
        import_labels("last", second, store=store)
    assert import_labels("last", second, store=store, replace_old=True).kept == 4
    assert estimate("last", store=store).estimate.labels_only == pytest.approx(
        sum(1 - person(i) for i in range(4)) / 4
    )


def test_a_sheet_nobody_filled_in_is_nothing_to_do(store: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 5, output=sheet, store=store)
    with pytest.raises(NothingToDo, match="E0313"):
        import_labels("last", sheet, store=store)
    with pytest.raises(SetupError, match="E0206"):
        estimate("last", store=store)


def test_two_people_agree_as_cohen_says_and_their_ties_are_named(tmp_path: Path) -> None:
    def other(i: int) -> float:
        return person(i) if i % 5 else 1 - person(i)

    files = [write(tmp_path / "a.jsonl", range(60)), write(tmp_path / "b.jsonl", range(50), other)]
    found = people_agreement(sources=files, draws=200)
    assert (found.people.rows, found.people.shared, found.judge) == (60, 50, None)
    (pair,) = found.people.pairs
    kappa = next(figure for figure in pair.figures if figure.name == "kappa")
    assert kappa.value == pytest.approx(
        cohen_kappa_score([person(i) for i in range(50)], [other(i) for i in range(50)])
    )
    observed = found.people.figure("observed_agreement")
    assert observed is not None
    assert observed.value == pytest.approx(40 / 50)
    assert set(found.ties) == {f"r{i}" for i in range(0, 50, 5)}


def test_a_judge_that_is_as_good_as_three_people_may_stand_in_and_one_that_guesses_may_not(
    store: Path, tmp_path: Path, whole: tuple[Path, dict[str, float]]
) -> None:
    said = whole[1]

    def says(shift: int, turned: bool) -> Says:
        """The judge's verdict, but for one row in ten, or its opposite."""
        return lambda i: float((said[f"r{i}"] != 0) ^ (i % 10 == shift) ^ turned)

    for turned, answer in ((False, True), (True, False)):
        files = [
            write(tmp_path / f"{k}{turned}.jsonl", range(120), says(k, turned)) for k in (1, 2, 3)
        ]
        found = people_agreement("last", files, draws=200, store=store)
        assert found.judge is not None
        assert found.judge.may_replace is answer
        assert found.judge.winning_rate == float(answer)
        assert len(found.judge.people) == 3
        # Three pairs of people and the judge with each, all by the same pass or fail: two people
        # differ on two rows of ten, the judge and a person on one, or on all but that.
        shares = {}
        for pair in found.beside:
            agreement = next(figure for figure in pair.figures if figure.name == "accuracy")
            shares[pair.a, pair.b] = agreement.value
        assert len(shares) == 6
        with_judge = [share for names, share in shares.items() if "the judge" in names]
        assert with_judge == pytest.approx([0.1 if turned else 0.9] * 3)
        others = [share for names, share in shares.items() if "the judge" not in names]
        assert others == pytest.approx([0.8] * 3)
        told = people_report(found, 0.2)
        assert any(isinstance(block, Table) and "pass or fail" in block.head[0] for block in told)


def test_people_who_do_not_agree_beyond_chance_vouch_for_no_judge(
    store: Path, tmp_path: Path
) -> None:
    files = [
        write(tmp_path / "a.jsonl", range(80), lambda i: float(i // 2 % 2)),
        write(tmp_path / "b.jsonl", range(80), lambda i: float(i // 4 % 2)),
    ]
    found = people_agreement("last", files, draws=200, store=store)
    assert found.judge is not None
    assert found.judge.may_replace is None
    assert any("beyond chance" in text for text in found.judge.warnings)


def test_agreement_takes_two_people(store: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="E0206"):
        people_agreement(sources=[write(tmp_path / "a.jsonl", range(9))])
    with pytest.raises(SetupError, match="E0206"):
        people_agreement()
    with pytest.raises(SetupError, match="E0206"):
        people_agreement("last", store=store)


def test_several_peoples_votes_in_one_field_are_read_by_their_names(tmp_path: Path) -> None:
    votes = tmp_path / "votes.jsonl"
    votes.write_text(
        "".join(
            json.dumps(
                {"id": f"r{i}", "said": {"ana": i % 2, "bo": i % 2, "cy": None if i % 4 else 1}}
            )
            + "\n"
            for i in range(40)
        )
    )
    found = people_agreement(sources=[votes], votes="said", draws=200)
    assert found.people.people == ("ana", "bo", "cy")
    by_pair = {(pair.a, pair.b): pair for pair in found.people.pairs}
    assert by_pair["ana", "bo"].n == 40
    assert by_pair["ana", "cy"].n == 10
    kappa = next(figure for figure in by_pair["ana", "bo"].figures if figure.name == "kappa")
    assert kappa.value == 1


def test_a_run_may_be_handed_over_itself(store: Path, tmp_path: Path) -> None:
    with ragassay.open_run("last", store=store) as run:
        chosen = ragassay.next_rows(run, 5, output=tmp_path / "s.csv")
        assert chosen.run == run.id
        assert ragassay.compare(run, run).both == run.summary.rows


def nearly(body: dict[str, Any]) -> Any:
    """A server that says of each row what people say, but for one row in forty."""
    reply = answer_by_words(body)
    number = (
        int(
            re.findall(r"(?:opened in|carries|holds) (1[89]\d\d)", body["messages"][-1]["content"])[
                -1
            ]
        )
        - 1800
    )
    if isinstance(reply, dict):
        for entry in reply["verdicts"]:
            entry["rating"] = 3 * int(person(number) != (number % 40 == 0))
    return reply


@pytest.mark.slow
def test_another_judges_run_of_the_same_rows_helps_the_estimate(
    store: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 80, output=sheet, method="uniform", store=store)
    first = import_labels("last", sheet, store=store).run if fill(sheet) else ""
    alone = estimate(first, store=store).estimate
    with LLMServer(models=["m"], answer=nearly) as server:
        options: dict[str, Any] = {"judge": "openai:m", "base_url": server.url, "store": store}
        with ragassay.evaluate(rows(N), "groundedness", **options) as run:
            other = run.id
        with ragassay.evaluate(
            [{**rows(1)[0], "id": "elsewhere"}], "groundedness", **options
        ) as run:
            unlike = run.id
    both = estimate(first, beside=other, store=store).estimate
    assert alone.second is None
    assert both.second is not None
    assert both.second > 0.5
    assert both.judge == alone.judge
    assert alone.interval is not None
    assert both.interval is not None
    assert both.interval.high - both.interval.low < alone.interval.high - alone.interval.low
    with pytest.raises(SetupError, match="no score of any of these rows"):
        estimate(first, beside=unlike, store=store)
    outside = write(tmp_path / "outside.jsonl", range(N, N + 80))
    with pytest.raises((SetupError, DataError)):
        estimate(first, labels=outside, beside=other, store=store)


def test_rows_on_which_people_are_tied_are_left_out_and_named(store: Path) -> None:
    said = [{"id": f"r{i}", "label": person(i), "annotator": "Ann"} for i in range(30)]
    said += [
        {"id": f"r{i}", "label": 1 - person(i) if i < 2 else person(i), "annotator": "Bob"}
        for i in range(30)
    ]
    import_labels("last", said, metric="groundedness", store=store)
    found = labels_of_named_run("last", None, store)
    assert found is not None
    assert (len(found.rows), found.tied) == (28, 2)
    assert not {"r0", "r1"} & {row["id"] for row in found.rows}
    assert "2 rows on which people are tied left out" in found.notes[-1]


def test_a_sheet_after_labels_of_ones_own_speaks_for_the_rows_it_was_drawn_from(
    store: Path, tmp_path: Path
) -> None:
    # 40 rows that fail, then 60 of the 120 others, of which one is left empty. Of all 160 rows
    # people pass 80 or so; of the sheet alone more would pass.
    failing = [i for i in range(N) if not person(i)][:40]
    own = [{"id": f"r{i}", "label": 0} for i in failing]
    import_labels("last", own, store=store)
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 60, output=sheet, store=store)
    blank = read(sheet)
    assert {(row["pool"], row["drawn"]) for row in blank} == {("120", "60")}
    empty = int(blank[0]["id"][1:])
    fill(sheet, lambda i: None if i == empty else person(i))
    import_labels("last", sheet, store=store)
    found = estimate("last", store=store)
    assert found.used == 99
    truth = sum(map(person, range(N))) / N
    interval = found.estimate.interval
    assert interval is not None
    assert interval.low <= truth <= interval.high
    # By hand: each of the 59 stands for 120 / 59 rows, each of one's own for itself.
    passed = sum(person(int(row["id"][1:])) for row in blank[1:])
    assert found.estimate.labels_only == pytest.approx(passed * 120 / 59 / 160)
    assert any("have no label: 1" in warning for warning in found.warnings)
    # The sheet's file alone finds the earlier labels beside the run.
    alone = estimate("last", labels=sheet, store=store)
    assert alone.estimate.value == pytest.approx(found.estimate.value)


def test_labels_of_a_sheet_that_come_in_twice_learn_how_their_rows_were_drawn(
    store: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 60, output=sheet, store=store)
    filled = fill(sheet)
    own = [{"id": row["id"], "label": row["label"]} for row in filled[:30]]
    import_labels("last", own, store=store)
    # The same values, of which only the sheet knows the chances.
    assert import_labels("last", sheet, store=store).kept == 30
    found = estimate("last", store=store)
    assert (found.used, found.weighted, found.waiting.rows) == (60, True, 0)


def test_replace_counts_what_it_changes(store: Path, tmp_path: Path) -> None:
    import_labels("last", write(tmp_path / "a.jsonl", range(20)), store=store)
    changed = write(
        tmp_path / "b.jsonl", range(20), lambda i: 1 - person(i) if i < 5 else person(i)
    )
    with pytest.raises(DataError) as error:
        import_labels("last", changed, store=store)
    assert error.value.code == "E0314"
    assert import_labels("last", changed, replace_old=True, store=store).kept == 5


def test_labels_of_texts_that_the_run_did_not_judge_are_refused(
    store: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    next_rows("last", 20, output=sheet, store=store)
    filled = fill(sheet)
    row = filled[3]
    # A spreadsheet's own changes are none: blanks at line ends, other quotes.
    row["response"] = f" {row['response']}\r\n"
    assert len(import_labels("last", filled, store=store).file.labels) == 20
    row["response"] = row["response"].replace("18", "19").replace("lawyer", "judge")
    with pytest.raises(DataError, match="1 of 20 labels are of other texts") as error:
        import_labels("last", filled, store=store)
    assert error.value.code == "E1206"
    assert f"row '{row['id']}' has another response" in error.value.why
    with pytest.raises(DataError, match="1 of 20 labels are of other texts"):
        estimate("last", labels=filled, store=store)


def test_a_sheet_of_another_metric_is_refused_unless_the_metric_is_named(
    store: Path, tmp_path: Path
) -> None:
    labels = [{"id": f"r{i}", "label": person(i), "metric": "correctness"} for i in range(20)]
    with pytest.raises(SetupError, match="'correctness', which the run does not measure") as error:
        import_labels("last", labels, store=store)
    assert (error.value.code, "-m" in error.value.fix) == ("E0201", True)
    named = import_labels("last", labels, metric="groundedness", store=store)
    assert named.metrics == ("groundedness",)
