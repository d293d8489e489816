"""Labelling as several people do it: rows handed out twice, verdicts revealed, sheets taken in,
ties decided; and what the labels then say.
"""

from __future__ import annotations

import json
import re
from html import unescape

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from ragassay.core import HumanLabel, LabelAnswer, RowToLabel
from ragassay.runs.decisions import DECIDED, independent
from ragassay.store import Store
from ragassay.trust.measure import people_agreement
from ragassay.trust.measure.label_rounds import REPEAT_EVERY, label_progress, repeat_due
from ragassay.web import WebSettings
from ragassay.web.sessions import Role
from web.conftest import INVENTED, Client, save, serving

METRIC = "groundedness"


def queue(store: Store, rows: int, wanted: int = 1, metric: str = METRIC) -> None:
    chosen = [RowToLabel(f"row-{n + 1}", n, wanted, (0.0, 1.0)) for n in range(rows)]
    store.add_to_label("run1", metric, chosen)


class Labeller:
    """A person with a browser that keeps their name and their wishes, and no script."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.cookies = {f"ragassay-person-{client.server.port}": name}
        self.path = f"/runs/run1/label?metric={METRIC}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

    def page(self, path: str = "") -> str:
        return self.client.ask(path or self.path, headers=self.headers).text

    def row(self, page: str) -> str:
        found = re.search(r'name="row" value="([^"]*)"', page)
        return unescape(found[1]) if found else ""

    def give(self, row: str, value: str, **more: str):
        form = {"metric": METRIC, "row": row, "value": value, **more}
        reply = self.client.ask("/runs/run1/label", "POST", form, headers=self.headers)
        for cookie in reply.cookies:
            name, _, rest = cookie.partition("=")
            self.cookies[name] = rest.partition(";")[0].strip('"')
        return reply


def test_a_row_comes_back_unannounced_and_its_second_answer_is_no_label(store, make) -> None:
    save(store, [make.row(n) for n in range(12)])
    queue(store, 12)
    with serving(store) as client:
        ann = Labeller(client, "Ann")
        given, pages = [], []
        while row := ann.row(page := ann.page()):
            given.append(row)
            pages.append(page)
            # She passes every row, but fails what she sees for the second time.
            ann.give(row, "0" if row in given[:-1] else "1")
        assert len(given) == 13
        assert len(set(given)) == 12
        repeats = [n for n, row in enumerate(given) if row in given[:n]]
        assert repeats == [10]
        assert all(n - given.index(given[n]) > 5 for n in repeats)
        # Nothing on the page of a repeat says that it is one.
        shape = re.compile(r"row-\d+|Question \d+|nonce=\"[^\"]*\"|\d+")
        assert shape.sub("", pages[10]) == shape.sub("", pages[9])
        labels = {label.row_id: label.value for label in store.labels("run1", METRIC)}
        assert labels == {f"row-{n + 1}": 1.0 for n in range(12)}
        progress = label_progress(store, "run1", METRIC)
        assert progress.repeated == 1
        accuracy = next(f for f in progress.with_themselves if f.name == "accuracy")
        assert accuracy.value == 0.0
        assert "their own earlier labels" in client.ask("/runs/run1/labels").text


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_what_others_said_of_a_row_is_not_listed_while_it_waits_for_oneself(store, make) -> None:
    save(store, [make.row(n) for n in range(3)])
    queue(store, 3, wanted=2)
    with serving(store) as client:
        ann, bob = Labeller(client, "Ann"), Labeller(client, "Bob")
        for person, value in ((ann, "0"), (bob, "0")):
            person.give("row-1", value)
        ann.give("row-2", "0")
        listed = ann.page("/runs/run1/labels").partition("Where judge and people differ")[2]
        # The judge passes both. Bob is yet to label the second one, and so is everybody else.
        assert ">row-1</a>" in listed
        for person in (bob, Labeller(client, "Eve")):
            listed = person.page("/runs/run1/labels").partition("Where judge and people differ")[2]
            assert ">row-2</a>" not in listed
        assert ">row-2</a>" in ann.page("/runs/run1/labels")


def test_the_page_says_where_rows_were_drawn_with_different_chances(store, make) -> None:
    save(store, [make.row(n) for n in range(20)])
    for rate, row_id in ((0.5, "row-1"), (0.5, "row-2"), (0.1, "row-3")):
        label = HumanLabel(row_id, METRIC, "Ann", 1.0, inclusion_probability=rate, round=1)
        store.put_labels("run1", [label])
    with serving(store) as client:
        page = client.ask("/runs/run1/labels").text
        assert "figures below are of the labelled rows alone" in words(page)
        # What is drawn unless something else is chosen.
        assert re.search(r'<select name="method"><option>uniform</option>', page)


def test_the_count_of_answers_never_exceeds_what_there_is_to_answer(store, make) -> None:
    save(store, [make.row(n) for n in range(10)])
    queue(store, 10)
    with serving(store) as client:
        ann = Labeller(client, "Ann")
        counts = []
        while row := ann.row(page := ann.page()):
            counts.append(re.findall(r"Ann: (\d+) of at most (\d+) answers", page)[0])
            ann.give(row, "1")
        # Ten rows, of which the first comes back: eleven answers.
        assert counts == [(str(n), "11") for n in range(11)]
        assert "Ann: 11 of at most 11 answers" in ann.page()
        assert "<h1>10 rows labelled</h1>" in client.ask("/runs/run1/labels").text


def test_a_row_labelled_for_two_metrics_is_one_labelled_row(store, make) -> None:
    save(store, [make.row(0)])
    for metric in (METRIC, "answer_relevance"):
        store.put_labels("run1", [HumanLabel("row-1", metric, "Ann", 1.0)])
    with serving(store) as client:
        assert "<h1>1 row labelled</h1>" in client.ask("/runs/run1/labels").text


def test_rows_are_offered_to_label_only_where_some_are_left_for_this_person(store, make) -> None:
    save(store, [make.row(n) for n in range(2)])
    queue(store, 2, wanted=2)
    with serving(store) as client:
        ann = Labeller(client, "Ann")
        for row in ("row-1", "row-2"):
            assert ">Label rows</a>" in ann.page("/runs/run1/labels")
            ann.page()
            ann.give(row, "1")
        done = ann.page("/runs/run1/labels")
        assert ">Label rows</a>" not in done
        assert "Nothing is left for Ann: the others are for somebody else." in done
        # Looking at the page has reserved nothing, and another person labels.
        bob = Labeller(client, "Bob")
        assert ">Label rows</a>" in bob.page("/runs/run1/labels")
        for row in ("row-1", "row-2"):
            bob.give(row, "1")
        page = bob.page("/runs/run1/labels")
        assert "2 of 2 chosen rows are done." in page
        assert "Nothing is left" not in page


def test_the_form_offers_the_metric_that_fails_most_and_no_more_rows_than_are_left(
    store, make
) -> None:
    # Of six rows groundedness fails three, one of which is labelled; answer_relevance fails one and
    # does not apply to another; chunk_relevance fails none.
    rows = [make.row(n, sentences=INVENTED) for n in range(3)]
    rows += [make.row(3, answer=0), make.row(4, answer="n/a"), make.row(5)]
    save(store, rows)
    store.put_labels("run1", [HumanLabel("row-1", METRIC, "Ann", 0.0)])
    path = "/runs/run1/labels"
    with serving(store) as client:
        page = client.ask(path).text
        section = page.partition('id="h-choose"')[2].partition("</section>")[0]
        assert re.findall(r"<option value=\"(\w+)\"[^>]*>([^<]*)<", section) == [
            (METRIC, "groundedness: 3 rows fail, 5 to choose from"),
            ("answer_relevance", "answer_relevance: 1 row fails, 5 to choose from"),
            ("chunk_relevance", "chunk_relevance: 0 rows fail, 6 to choose from"),
        ]
        assert re.findall(r'value="(\w+)" selected', section) == [METRIC]
        assert 'name="n" value="5" min="1" max="6"' in section
        named = client.ask(f"{path}?metric=answer_relevance").text
        assert 'value="answer_relevance" selected' in named
        # A pass rate within 3 points takes more labels than the run has rows.
        needed = words(page).partition("With 6 labels ")[2]
        assert "That is 5 more. The run has no more rows: within 0.03 takes one of" in needed
        for metric in (METRIC, "answer_relevance", "chunk_relevance"):
            client.ask(f"{path}/choose", "POST", {"metric": metric, "n": "6"})
        done = client.ask(path).text
        assert "No row is left to choose." in done
        assert 'name="n"' not in done


def test_the_labels_of_a_row_are_on_its_page_for_those_who_need_not_label_it_any_more(
    store, make
) -> None:
    save(store, [make.row(n) for n in range(2)])
    queue(store, 1, wanted=2)
    store.put_labels("run1", [HumanLabel("row-2", METRIC, "Eve", 0.0, "It says 90.")])
    reader = WebSettings(rate=100_000.0, roles={Role.READER: "r" * 43})
    with serving(store, reader) as client:
        bob, ann = Labeller(client, "Bob"), Labeller(client, "Ann")
        bob.give("row-1", "1", rationale="As context 1 says.")
        path = "/runs/run1/rows/0"
        # Ann is yet to label it: neither the label nor whether there is one.
        blind = words(ann.page(path))
        assert "groundedness: the row waits to be labelled." in blind
        for secret in ("Bob", "As context 1 says."):
            assert secret not in blind
            assert secret in words(bob.page(path))
            assert secret in words(client.ask(path, token="r" * 43).text)
        # Nor to somebody who has not said who they are.
        assert "As context 1 says." not in client.ask(path).text
        ann.give("row-1", "1")
        assert "Bob 1 As context 1 says. Ann 1" in words(ann.page(path))
        # A row that nobody waits for: an imported label.
        other = ann.page("/runs/run1/rows/1")
        assert "Eve 0 It says 90." in words(other)
        assert 'href="/runs/run1/labels#h-choose"' in other


def test_nothing_is_repeated_before_ten_rows_nor_what_was_revealed() -> None:
    answers = [LabelAnswer(f"r{n}", "Ann", 1.0) for n in range(REPEAT_EVERY)]
    assert repeat_due(answers[:-1]) is None
    assert repeat_due(answers) == "r0"
    seen = [LabelAnswer("r0", "Ann", 1.0, revealed=True), *answers[1:]]
    assert repeat_due(seen) == "r1"
    assert repeat_due([*answers, LabelAnswer("r0", "Ann", 0.0, repeat=True)]) is None


def test_the_judge_is_shown_after_the_label_is_in_and_the_label_is_then_final(store, make) -> None:
    save(store, [make.row(0, sentences=INVENTED), make.row(1)])
    queue(store, 2)
    with serving(store) as client:
        ann = Labeller(client, "Ann")
        blind = ann.page()
        assert "you said" not in blind
        sent = ann.give("row-1", "1", reveal="1")
        shown = ann.page(sent.headers["location"])
        assert "row-1: you said" in shown
        assert re.search(r"the judge\s+says <b class=n>✗ fail", shown)
        assert "checked" in shown  # the wish is kept
        # Of the row that is next, nothing.
        assert ann.row(shown) == "row-2"
        # By nobody else, and not for a row that was not revealed.
        assert "the judge" not in Labeller(client, "Bob").page(sent.headers["location"])
        (answer,) = store.label_answers("run1", METRIC)
        assert answer.revealed
        refused = ann.give("row-1", "0", again="1")
        assert refused.status == 404
        assert "stays" in refused.text
        assert ann.row(ann.page(f"{ann.path}&row=row-1")) == ""
        ann.give("row-2", "1")
        assert "you said" not in ann.page(f"{ann.path}&after=row-2")
        assert [label.value for label in store.labels("run1", METRIC)] == [1.0, 1.0]


def test_a_label_without_a_name_is_kept_once_the_name_is_given(store, make) -> None:
    save(store, [make.row(n) for n in range(3)])
    queue(store, 3)
    with serving(store) as client:
        nobody = Labeller(client, "")
        asked = nobody.give("row-2", "0", rationale="No <context> says so.", reveal="1")
        assert asked.status == 200
        assert "Your label of row-2 is not kept yet" in asked.text
        assert store.labels("run1", METRIC) == ()
        form = {
            name: unescape(value)
            for name, value in re.findall(
                r'<input type="hidden" name="(\w+)" value="([^"]*)"', asked.text
            )
        }
        sent = client.ask("/runs/run1/label", "POST", {**form, "person": "Ann"})
        assert sent.status == 303
        (label,) = store.labels("run1", METRIC)
        assert (label.row_id, label.annotator, label.value) == ("row-2", "Ann", 0.0)
        assert label.rationale == "No <context> says so."
        # The wish to see the judge's verdict came with it, and the name stays for another week.
        assert sent.headers["location"].endswith("after=row-2")
        name = f"ragassay-person-{client.server.port}=Ann;"
        week = f"Max-Age={7 * 24 * 3600}"
        assert [week in cookie for cookie in sent.cookies if cookie.startswith(name)] == [True]
        # Each label renews it.
        again = Labeller(client, "Ann").give("row-1", "1")
        assert [week in cookie for cookie in again.cookies if cookie.startswith(name)] == [True]


def test_another_person_at_the_same_browser_is_asked_for_their_name(store, make) -> None:
    save(store, [make.row(n) for n in range(3)])
    queue(store, 3)
    with serving(store) as client:
        eve = Labeller(client, "Eve")
        eve.give("row-1", "1", reveal="1")
        page = eve.page()
        other = re.search(r'<a id="who" href="([^"]+)">Not Eve\?</a>', page)
        assert other is not None
        assert "Who is labelling?" in eve.page(unescape(other[1]))
        named = eve.give("", "", person="Frank")
        assert named.status == 303
        page = eve.page()
        assert "Frank: 0 of at most" in page
        # Eve's wish to see the judge's verdicts is not Frank's.
        assert not re.search(r'name="reveal" value="1" checked', page)
        # Who signs out takes the name along.
        out = client.ask("/sign-out", "POST", {}, headers=eve.headers)
        gone = [cookie.partition("=")[0] for cookie in out.cookies if "Max-Age=0" in cookie]
        kinds = ("session", "person", "reveal")
        assert gone == [f"ragassay-{kind}-{client.server.port}" for kind in kinds]


def test_the_page_says_what_the_metric_measures(store, make) -> None:
    save(store, [make.row(0)], metrics=("faithfulness",))
    queue(store, 1, metric="faithfulness")
    with serving(store) as client:
        page = words(Labeller(client, "Ann").page("/runs/run1/label?metric=faithfulness"))
    assert (
        "Does the row as a whole pass on faithfulness?"
        " Share of the response's claims that the contexts support."
    ) in page


def test_a_key_that_is_struck_twice_gives_one_answer(store, make) -> None:
    save(store, [make.row(n) for n in range(3)])
    queue(store, 3)
    with serving(store) as client:
        ann = Labeller(client, "Ann")
        for value in ("1", "0", "0"):
            assert ann.give("row-1", value).status == 303
        assert [answer.value for answer in store.label_answers("run1", METRIC)] == [1.0]
        ann.give("row-1", "0", again="1")
        assert [label.value for label in store.labels("run1", METRIC)] == [0.0]


def test_the_command_on_the_page_of_labels_is_one_that_answers(store, make) -> None:
    save(store, [make.row(n) for n in range(4)])
    for who in ("Ann", "Bob"):
        labels = [HumanLabel(f"row-{n + 1}", METRIC, who, float(n % 2)) for n in range(4)]
        store.put_labels("run1", labels)
    with serving(store) as client:
        page = words(client.ask("/runs/run1/labels").text)
    (command,) = re.findall(r"ragassay label agreement (\S+) --metric (\S+) says more", page)
    assert command == ("run1", METRIC)
    assert people_agreement(command[0], metric=command[1], store=store.location).people is not None


def test_a_tie_is_decided_for_a_value_that_somebody_gave_and_counts_as_no_opinion(
    store, make
) -> None:
    save(store, [make.row(n) for n in range(4)])
    labels = [HumanLabel("row-1", METRIC, who, value, "because") for who, value in
              (("Ann", 1.0), ("Bob", 0.0))]  # fmt: skip
    labels += [HumanLabel("row-2", METRIC, who, 1.0) for who in ("Ann", "Bob")]
    store.put_labels("run1", labels)
    path = f"/runs/run1/labels/decide?metric={METRIC}"
    with serving(store) as client:
        page = client.ask(path).text
        assert "1 row on which people differ" in page
        # Nothing is asked about a metric of which nobody has labelled anything.
        assert client.ask("/runs/run1/labels/decide?metric=zz").status == 404
        assert "because" in page
        form = {"metric": METRIC, "row": "row-1", "person": "Eve", "value": "0.5"}
        assert client.ask("/runs/run1/labels/decide", "POST", form).status == 400
        form["value"] = "0"
        assert client.ask("/runs/run1/labels/decide", "POST", form).status == 303
        assert "People are tied on no row" in client.ask(path).text
        # Twice is once, and a row that is not tied cannot be decided.
        assert client.ask("/runs/run1/labels/decide", "POST", form).status == 404
    stored = store.labels("run1", METRIC)
    assert [label.annotator for label in stored][-1] == f"{DECIDED}Eve"
    assert len(independent(stored)) == 4
    progress = label_progress(store, "run1", METRIC)
    assert progress.ties == ()
    assert progress.among_people is not None
    assert progress.among_people.shared == 2


def test_nobody_labels_under_the_name_of_a_decision(site: Client) -> None:
    form = {"metric": METRIC, "person": "decided by nobody"}
    assert site.ask("/runs/run1/label", "POST", form).status == 400


def upload(client: Client, body: bytes, name: str = "sheet.csv", **fields: str):
    import httpx

    return httpx.post(
        f"{client.server.address}/runs/run1/labels/upload",
        data={"metric": METRIC, "annotator": "Ann", **fields},
        files={"sheet": (name, body)},
        headers={
            "authorization": f"Bearer {client.server.settings.token}",
            "origin": client.server.address,
        },
        timeout=300,
    )


def test_a_sheet_is_taken_in_as_the_command_does(store, make) -> None:
    save(store, [make.row(n) for n in range(3)])
    with serving(store) as client:
        taken = upload(client, b"id,label\nrow-1,1\nrow-2,0\n")
        assert taken.status_code == 303
        assert "2 labels taken in." in client.ask(taken.headers["location"]).text
        lines = [{"id": "row-3", "label": 1, "annotator": "Bob"}]
        body = "\n".join(json.dumps(line) for line in lines).encode()
        assert upload(client, body, "sheet.jsonl").headers["location"].endswith("taken=1")
        people = {label.row_id: label.annotator for label in store.labels("run1", METRIC)}
        assert people == {"row-1": "Ann", "row-2": "Ann", "row-3": "Bob"}
        # Another value of the same person is no slip to pass over, but a wish to be said.
        again = upload(client, b"id,label\nrow-1,0\n")
        assert again.status_code == 400
        assert "differ" in again.text
        assert upload(client, b"id,label\nrow-1,0\n", replace="1").status_code == 303


def test_a_body_that_is_no_whole_form_with_a_file_changes_nothing(site: Client) -> None:
    before = site.store.labels("run1")  # type: ignore[attr-defined]
    path = "/runs/run1/labels/upload"
    assert site.ask(path, "POST", {"sheet": "x.csv", "metric": METRIC}).status == 400
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x", "text/csv"):
        reply = site.ask(path, "POST", {"a": "b"}, headers={"Content-Type": kind})
        assert reply.status == 400, kind
    assert site.store.labels("run1") == before  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b"", "sheet.csv"),
        (b"\x00\xff\xfe" * 50, "sheet.csv"),
        (b"id,label\nrow-1,maybe\n", "sheet.csv"),
        (b"id,label\nnobody,1\n", "sheet.csv"),
        (b"{", "sheet.jsonl"),
        (b"id,label\nrow-1,1\n", "sheet.exe"),
        (b"id,label\nrow-1,1\n", "../../etc/passwd"),
    ],
)
def test_a_sheet_that_cannot_be_read_changes_nothing_and_names_no_place(
    body: bytes, name: str, site: Client
) -> None:
    before = site.store.labels("run1")  # type: ignore[attr-defined]
    refused = upload(site, body, name)
    assert refused.status_code == 400
    assert "ragassay-upload-" not in refused.text
    assert site.store.labels("run1") == before  # type: ignore[attr-defined]


def test_a_sheet_of_more_than_100_mb_is_refused_before_it_is_read(site: Client) -> None:
    path = "/runs/run1/labels/upload"
    reply = site.ask(path, "POST", {}, headers={"Content-Length": str((100 << 20) + 1)})
    assert reply.status == 413
    assert "100 MB" in reply.text
    # And nowhere else may a body be as large.
    reply = site.ask("/runs/run1/label", "POST", {}, headers={"Content-Length": str(2 << 20)})
    assert reply.status == 413


def test_agreement_equals_an_independent_computation(store, make) -> None:
    save(store, [make.row(n) for n in range(60)])
    rng = np.random.default_rng(0)
    said = {who: rng.integers(0, 2, 60).astype(float) for who in ("Ann", "Bob")}
    for who, values in said.items():
        labels = [HumanLabel(f"row-{n + 1}", METRIC, who, value) for n, value in enumerate(values)]
        store.put_labels("run1", labels)
    among = label_progress(store, "run1", METRIC).among_people
    assert among is not None
    figures = {figure.name: figure.value for figure in among.pairs[0].figures}
    expected = cohen_kappa_score(said["Ann"], said["Bob"])
    assert figures["kappa"] == pytest.approx(expected, abs=1e-12)
    same = float(np.mean(said["Ann"] == said["Bob"]))
    assert figures["accuracy"] == pytest.approx(same, abs=1e-12)
    # And each interval is that of `ragassay label agreement`.
    command = people_agreement("run1", [], metric=METRIC, store=store.location)
    assert among.pairs[0].figures == command.people.pairs[0].figures
    assert among.figures == command.people.figures
