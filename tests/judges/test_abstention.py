"""Texts that decline as a whole, and texts that merely contain a hedge."""

from __future__ import annotations

import re._constants as kinds
import re._parser as parser
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.judges import declines
from ragassay.judges.text_rules.abstention import _FORMS, _MARKS, refuses_the_task

DECLINES = {
    "plain": "I don't know.",
    "curly apostrophe": "I don’t know.",
    "capitals": "I DO NOT KNOW",
    "bare": "Don't know",
    "no idea": "No idea.",
    "sorry": "I'm sorry, but I cannot answer this question based on the information that I have.",
    "sorry apart": "I am sorry. I can't answer that.",
    "unable": "I am unable to answer this question.",
    "not able": "I'm not able to help with that request.",
    "afraid": "I'm afraid I can't say.",
    "no information": "I do not have enough information to answer that.",
    "no access": "I don't have access to that information.",
    "not sure": "I'm not sure.",
    "we": "We cannot determine the answer from these documents.",
    "documents": "The documents I was given do not say who wrote it.",
    "passages": "The passages talk about privacy and reports, but they do not mention coverage.",
    "context lacks": "The provided context does not contain the answer to your question.",
    "there is no": "There is no information about the warranty in the manual.",
    "no mention": "There is no mention of the price.",
    "not mentioned": "The launch date is not mentioned in the provided documents.",
    "not possible": "Based on the given passages, it is not possible to determine the year.",
    "not determinable": "This cannot be determined from the text.",
    "question": "The question cannot be answered.",
    "unclear": "It is unclear from the passages when this happened.",
    "with offer": (
        "I don't know the answer to that. Please contact our support, who are glad to help you."
    ),
    "with thanks": (
        "Thank you for your question! Unfortunately, I could not find anything on it. Please ask"
        " again."
    ),
    "apology": "I apologize for the inconvenience, but I cannot provide that.",
    "policy": "I won't answer that, since it is against my guidelines.",
    "language model": "As an AI language model, I cannot give medical advice.",
    "markup": "**I don't know.**",
    "with praise": "Great question! I don't know.",
    "referred elsewhere": (
        "As an AI language model, I do not have access to real-time data. However, you can check"
        " the official website."
    ),
    "asked back": "I'm not aware of such a club. Can you please specify which one you mean?",
    "a number inside": "I'm sorry, but I couldn't find any information about a 1993 film.",
    "an abbreviation": "I couldn't find any information about the B.D.A. in the U.K. register.",
    "no specific": "I do not have the specific list of these regions.",
    "that": "I'm sorry, but I can't do that.",
    "advise": "Sorry, but I can not advise you about that.",
    "unanswerable": "Unanswerable",
    "insufficient": "Insufficient information.",
    "German": "Das weiß ich leider nicht. Ich kann diese Frage nicht beantworten.",
    "German documents": "Die Dokumente enthalten dazu keine Angaben.",
    "German sorry": "Es tut mir leid, aber ich weiß es nicht.",
    "German hervor": "Aus dem Text geht das nicht hervor.",
    "French": "Je ne sais pas.",
    "French sorry": "Désolé, je ne peux pas répondre à cette question.",
    "French documents": "Les documents ne mentionnent pas cette date.",
    "Spanish": "No lo sé.",
    "Spanish sorry": "Lo siento, no puedo responder a esa pregunta.",
    "Spanish documents": "El contexto no menciona el precio.",
}

ANSWERS = {
    "empty": "",
    "blank": "  \n ",
    "plain answer": "It was opened in 1932.",
    "yes": "Yes.",
    "no": "No.",
    "no with more": "No, the resume is refused with E0106.",
    "hedge first": "I'm not sure, but it was most likely built in 1931 by the city's own workshop.",
    "hedge inside": (
        "The tower has 201 steps and is open from May to October. I don't know whether there is a"
        " lift. Tickets cost four euros for adults and two for children, and school classes get in"
        " free."
    ),
    "partial answer": (
        "The warranty lasts two years and covers the battery and the display. The manual does not"
        " say how to claim it."
    ),
    "answer, then but": "The museum opened in 1931, but the documents do not say who paid for it.",
    "two short sentences": "It was built in 1931. I don't know by whom.",
    "about not knowing": "Many people do not know that tomatoes are fruits.",
    "company policy": "We do not provide refunds for opened software.",
    "unknown cause": "Scientists were unable to find a cure until 1922.",
    "no evidence": "There is no evidence that vitamin C prevents colds.",
    "negation": "The device does not store any data.",
    "cannot": "Penguins cannot fly.",
    "help": "You can help by donating old tools to the museum.",
    "sorry in a title": "Sorry Seems to Be the Hardest Word was released in 1976 by Elton John.",
    "quoted refusal": (
        "When asked about it in 1974, the minister said that he did not know, and the newspapers"
        " printed this answer on their front pages for a week."
    ),
    "long": "I don't know. " + "The bridge was built in 1932 by Voss. " * 30,
    "German answer": "Der Turm wurde 1931 gebaut.",
    "French answer": "La tour a été construite en 1931.",
    "Spanish answer": "La torre no fue construida en 1930 sino en 1931.",
    "unknown to most": "The soldier's name is unknown.",
}

# However short, what is claimed beside an admission is an answer.
PARTIAL = {
    "a dose": "Take 500 mg. I do not know the maximum dose.",
    "a year": "In 1937. I do not know the exact day.",
    "a year, joined": "In 1937, but I do not know the exact day.",
    "a number before a bracket": "500 mg (I do not know the maximum dose).",
    "behind a semicolon": "I don't know the maximum dose; take 500 mg.",
    "only that": "I do not know the exact day, only that it was in 1937.",
    "yes": "Yes. I don't know why.",
    "a name": "Elton John. I don't know the year.",
    "an instruction": "Please take it with food. I do not know the dose.",
    "advice": "You can take it with milk. I don't know the dose.",
    "a condition": "If you have fever, take aspirin. I do not know the dose.",
    "behind an apology": "I'm sorry, it is 500 mg. I don't know the maximum.",
    "unfortunately": "Unfortunately, it is banned. I don't know why.",
    "a title that holds a refusal": 'The song "I Can\'t Help Falling in Love" is by Elvis Presley.',
    "a reason that claims": (
        "There is no definitive answer to this question, as he is believed to be a composite."
    ),
    "German": "Im Jahr 1937. Den Tag weiß ich leider nicht.",
}


@pytest.mark.parametrize("text", DECLINES.values(), ids=DECLINES)
def test_a_text_that_only_declines_is_recognised(text: str) -> None:
    assert declines(text)


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
def test_a_text_that_states_something_does_not_decline(text: str) -> None:
    assert not declines(text)


@pytest.mark.parametrize("text", PARTIAL.values(), ids=PARTIAL)
def test_a_text_that_claims_anything_beside_an_admission_does_not_decline(text: str) -> None:
    assert not declines(text)


@given(st.text())
def test_any_text_gets_the_same_answer_twice(text: str) -> None:
    assert declines(text) is declines(text)


@pytest.mark.timing
@pytest.mark.parametrize(
    "piece", ["the documents ", "i ", "there is no ", "ich weiss das ", "the text , ", "no no "]
)
def test_no_pattern_takes_long_on_repetitive_text(piece: str) -> None:
    text = (piece * 900)[:900]
    start = time.process_time()
    declines(text)
    declines(text * 2000)
    assert time.process_time() - start < 0.1


def _unmarked(tree: Iterable[tuple[object, Any]]) -> set[str]:
    """What a pattern can match, "#" for a stretch of whatever; all that certainly holds one of the
    marks is one "!".
    """
    found = {""}
    for kind, value in tree:
        if kind is kinds.LITERAL:
            then = {chr(value)}
        elif kind is kinds.SUBPATTERN:
            then = _unmarked(value[3])
        elif kind is kinds.BRANCH:
            then = set().union(*map(_unmarked, value[1]))
        elif kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
            least, most, body = value
            then = (_unmarked(body) if most == 1 else {"#"}) | ({""} if least == 0 else set())
        else:  # look-arounds match no character; the others match any
            then = {""} if kind in (kinds.AT, kinds.ASSERT, kinds.ASSERT_NOT) else {"#"}
        joined = {before + after for before in found for after in then}
        found = {"!" if "!" in text or _MARKS.search(text) else text for text in joined}
    return found


@pytest.mark.parametrize("form", _FORMS)
def test_no_form_of_declining_goes_without_the_marks_that_are_looked_for_first(form: str) -> None:
    assert _unmarked(parser.parse(form)) == {"!"}


def test_a_judges_refusal_to_work_is_told_from_a_verdict() -> None:
    assert refuses_the_task("I'm sorry, but I can't assist with that.")
    assert refuses_the_task("I must decline.")
    assert not refuses_the_task("The rating is 2.")
    assert not refuses_the_task("I can't assist. " * 100)
