"""The offline writer makes questions of plain sentences, and passes over the others."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragassay
from ragassay.core import Incomplete
from ragassay.testsets.corpus import read_corpus
from ragassay.testsets.offline.abbreviations import spelled_out
from ragassay.testsets.offline.unanswerable import is_known, is_told
from ragassay.testsets.offline.wording import asked as wording
from ragassay.testsets.offline.wording import direct
from ragassay.testsets.offline.writer import every_fact
from ragassay.testsets.values import TYPES, Passage
from support.small_town import PAGES


def asked(text: str, title: str = "") -> dict[str, str]:
    """Question -> answer, of a passage."""
    passage = Passage(0, "d", text, title)
    found = {}
    for fact in every_fact(passage):
        found[direct(wording(fact, reword=False))] = fact.answer
    return found


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        (
            "The Harbour Museum was founded in 1912.",
            "When was the Harbour Museum founded",
            "1912",
        ),
        (
            "In 1904, Lena Ortiz designed the Ferry Hall.",
            "When did Lena Ortiz design the Ferry Hall",
            "1904",
        ),
        (
            "The Harbour Museum was designed by Lena Ortiz.",
            "Who designed the Harbour Museum",
            "Lena Ortiz",
        ),
        (
            "The Ferry Hall is located in Port Ellis.",
            "Where is the Ferry Hall",
            "Port Ellis",
        ),
        (
            "The Harbour Museum has 14 galleries.",
            "How many galleries does the Harbour Museum have",
            "14",
        ),
        (
            "Lena Ortiz was an architect from Port Ellis.",
            "Who was Lena Ortiz",
            "an architect from Port Ellis",
        ),
        (
            "The Harbour Museum was named after Admiral Ellis.",
            "What was the Harbour Museum named after",
            "Admiral Ellis",
        ),
    ],
)
def test_a_sentence_gives_a_question_and_its_answer(sentence, question, answer) -> None:
    assert asked(sentence)[question] == answer


@pytest.mark.parametrize(
    ("text", "title", "question", "answer"),
    [
        (
            "The accounting rate of return (ARR) is a financial ratio used in budgeting.",
            "Accounting rate of return",
            "What does ARR stand for",
            "accounting rate of return",
        ),
        (
            "Mount Logan is the highest mountain in Canada and the second-highest peak of all.",
            "Mount Logan",
            "What is the highest mountain in Canada",
            "Mount Logan",
        ),
        (
            "Frida is a 2002 American drama film directed by Julie Taymor.",
            "Frida (2002 film)",
            "Who directed the 2002 film Frida",
            "Julie Taymor",
        ),
        (
            "Sam Levene (August 28, 1905 – December 28, 1980) was an American film actor.",
            "Sam Levene",
            "When did Sam Levene die",
            "December 28, 1980",
        ),
        (
            "The main purpose of a myelin sheath is to increase the speed of impulses.",
            "Myelin",
            "What is the main purpose of a myelin sheath",
            "to increase the speed of impulses",
        ),
        (
            "`ragassay gate` compares a run with the baseline of the branch.",
            "",
            "What does ragassay gate do",
            "compares a run with the baseline of the branch",
        ),
        (
            "# Account\n\n## Resetting your password\n\nOpen Settings and click Reset password.",
            "Account",
            "How do I reset my password",
            "Open Settings and click Reset password.",
        ),
        (
            "## Can I get a refund?\n\nYes, within 14 days of the order.",
            "",
            "Can I get a refund",
            "Yes, within 14 days of the order.",
        ),
    ],
)
def test_what_people_ask_of_definitions_and_help_pages(text, title, question, answer) -> None:
    assert asked(text, title)[question] == answer


def test_a_heading_that_names_a_thing_asks_for_no_way_to_do_it() -> None:
    below = "\n\nWe charge 4.90 euros for orders below 60 euros."
    assert not asked(f"## Shipping costs{below}", "Policy")
    assert "How do I ship my order" in asked(f"## Shipping your order{below}", "Policy")


@pytest.mark.parametrize(
    ("before", "short", "full"),
    [
        ("in the Federal Open Market Committee", "FOMC", "Federal Open Market Committee"),
        ("of role-based access control", "RBAC", "role-based access control"),
        ("the Office of Information Management", "OIMA", ""),
        ("a group of rules", "XYZ", ""),
    ],
)
def test_an_abbreviation_is_spelled_out_letter_by_letter(before, short, full) -> None:
    assert spelled_out(before, short) == full


def test_a_set_of_a_technical_page_is_better_than_none_and_says_in_whose_words() -> None:
    pages = [
        {"id": f"p{n}", "text": f"`tool step{n}` compares file {n} with the copy of {n} days ago."}
        for n in range(24)
    ]
    made = ragassay.make_testset(pages, size=24, types=["simple"])
    assert len(made.questions) > 20
    assert any("in the words of their sources" in note for note in made.notes)


def test_a_pronoun_stands_for_the_title_that_the_sentence_before_was_about() -> None:
    text = "The Harbour Museum is a museum of ships. It was renovated in 1987."
    assert asked(text, "Harbour Museum")["When was the Harbour Museum renovated"] == "1987"


@pytest.mark.parametrize(
    "sentence",
    [
        "It was founded in 1912.",
        "The song was first recorded in 1971.",
        "More than half of all visitors were counted in Nevada.",
        "Although the Harbour Museum was founded in 1912, few came.",
        "The Harbour Museum was not founded in 1912.",
        "The 1912 plan by the city was adopted.",
        "The Ferry Hall was used in 1904-1906.",
        "The University station was demolished in 1997.",
        "Scenes set north of the Wall were filmed in November 2011.",
        "Approximately 77% of Port Ellis Residents were born in Vigo.",
        "FINDINGS We identified eight trials in 1997.",
    ],
)
def test_a_sentence_that_makes_no_question_which_stands_alone_is_passed_over(sentence) -> None:
    assert asked(sentence) == {}


def test_questions_of_all_types_rest_on_their_documents() -> None:
    documents = [
        {"id": name, "title": text.split("\n")[0][2:], "text": text} for name, text in PAGES.items()
    ]
    made = ragassay.make_testset(documents, size=24)
    assert str(made).startswith(f"{len(made.questions)} of 24 questions: test set, version 1")
    types = {question.type for question in made.questions}
    assert types == set(TYPES)
    for question in made.questions:
        assert all(verdict.passed is not False for verdict in question.verdicts)
        assert question.evidence or not question.answerable
    computed = next(q for q in made.questions if q.type == "counterfactual")
    assert computed.steps[-1].endswith(f"= {computed.reference}")


def test_the_same_seed_writes_the_same_bytes_and_another_one_others(tmp_path: Path) -> None:
    documents = [{"id": name, "text": text} for name, text in PAGES.items()]

    def written(seed: int) -> bytes:
        out = tmp_path / "set.jsonl"
        ragassay.make_testset(documents, size=6, types=["simple"], seed=seed, out=out)
        return out.read_bytes()

    assert written(3) == written(3)
    assert written(3) != written(4)


def test_an_unanswerable_name_is_one_that_the_corpus_does_not_have() -> None:
    corpus = read_corpus([{"id": name, "text": text} for name, text in PAGES.items()])
    assert is_known(corpus, "Harbour Museum")
    assert not is_known(corpus, "Harbour Theatre")
    # The fire is told of in a document about the hall, and its height nowhere.
    assert is_told(corpus, "the Ferry Hall", ["fire"])
    assert not is_told(corpus, "the Ferry Hall", ["height", "tall"])


def test_documents_in_another_language_are_named() -> None:
    german = (
        "Das Museum wurde im Jahr 1912 von den Bürgern der Stadt gegründet und zeigt bis heute"
        " Schiffe aus vielen Ländern, die in der Halle am alten Hafen zu sehen sind."
    )
    made = ragassay.make_testset([*PAGES.values(), german], size=4)
    assert any("passes over 1 document (document-4)" in note for note in made.notes)
    with pytest.raises(Incomplete, match="E0807") as caught:
        ragassay.make_testset([german], size=4)
    assert caught.value.why.startswith("the offline writer reads English alone")


def test_a_limit_is_no_answer_to_what_something_does() -> None:
    text = "# Limits\n\nThe Ferry API allows 100 requests per minute per key."
    with pytest.raises(Incomplete, match="E0807"):
        ragassay.make_testset([text], size=2, types=["simple"])


def test_the_headings_of_a_page_of_html_are_questions_like_those_of_markdown(
    tmp_path: Path,
) -> None:
    answer = "You can change it free of charge up to 24 hours before departure."
    (tmp_path / "page.html").write_text(
        f"<h1>Tickets</h1><h2>How do I change my booking?</h2><p>{answer}</p>"
        "<details><summary>How long is a season ticket valid?</summary>"
        "It holds from May to September.</details>"
    )
    made = ragassay.make_testset(tmp_path, size=4, types=["simple"])
    found = {question.question.lower(): question.reference for question in made.questions}
    assert answer in found.values()
    assert "It holds from May to September." in found.values()
