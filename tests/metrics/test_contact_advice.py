"""Advice to turn to somebody states nothing, where the response says that it does not know."""

from __future__ import annotations

import pytest

from ragassay.judges.text_rules.contact_advice import advises_contact
from ragassay.metrics.graph.claims import ADVICE, split_claims

ADVISES = [
    "Please contact our service team.",
    "Please get in touch with the customer support team for more information.",
    "I recommend contacting our support directly.",
    "You can call the local office for further details.",
    "For more help, please reach out to our sales department.",
    "You may want to ask your doctor.",
    "It's best to speak to a pharmacist about this.",
    "Please turn to the help desk.",
    "Please contact HR.",
    "Contact support.",
    "Please ask your manager.",
    "You will need to contact the HR department for assistance.",
    "Please reach out to HR or your team lead directly.",
    "I recommend speaking to the IT help desk about that.",
    "Please check the official website.",
    "Please refer to the employee handbook.",
    "They will be able to help you with this.",
    "Your HR team may be able to assist you further.",
]
STATES = [
    "Please contact Maria Lund in room 14.",
    "Contact our support within 30 days.",
    "The support team answers calls from 9 to 17.",
    "Call the help desk before you open the case.",
    "Please contact our support, which repairs screens for free.",
    "Broken badges are replaced by the service team.",
    "Ask the staff to unlock the gate.",
    "You must consult a doctor before each dose.",
    "Contact HR within 5 days to keep your claim.",
    "Contact HR before you travel.",
    "Please contact HR or Maria Lund.",
    "Please contact HR, who approve the leave.",
    "You have to contact HR to get a refund.",
    "HR can approve the leave.",
    "See the manual, chapter four.",
    "The website lists all fees.",
    "They will help you with the move.",
    "Ask it.",
]


@pytest.mark.parametrize("text", ADVISES)
def test_advice_beside_an_admission_is_no_claim(text: str) -> None:
    assert advises_contact(text)
    pieces = split_claims(f"I could not find any information on that. {text}")
    assert [piece.dropped for piece in pieces if piece.text == text] == [ADVICE]


@pytest.mark.parametrize("text", STATES)
def test_what_says_more_stays_a_claim(text: str) -> None:
    assert not advises_contact(text)


def test_advice_that_is_the_answer_stays_a_claim() -> None:
    (piece,) = split_claims("Please contact our service team.")
    assert not piece.dropped
