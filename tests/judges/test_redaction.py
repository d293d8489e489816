"""Secrets and personal data are replaced before a call, and what is judged stays the same."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import SetupError
from ragassay.judges.llm import sensitive
from ragassay.judges.llm.redaction import Redaction
from ragassay.report import summary_json
from ragassay.testing import LLMServer

CANARIES = {
    "EMAIL": "anna.berg@example.org",
    "PHONE": "+49 30 1234567",
    "IBAN": "DE89 3704 0044 0532 0130 00",
    "CARD": "4111 1111 1111 1111",
    "SSN": "078-05-1120",
    "IP": "192.168.1.17",
    "SECRET": "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx",
}
ROWS = [
    {
        "id": kind,
        "question": f"Is the entry {value} in the file?",
        "contexts": [f"The file of 1999 holds the entry {value} twice.", "Trees grow there."],
        "response": f"The file of 1999 holds the entry {value} twice.",
    }
    for kind, value in CANARIES.items()
]


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Mail a.b@example.org, A.B@example.org.", "Mail [EMAIL_1], [EMAIL_1]."),
        ("Call (415) 555-2671 or Tel.: 030 1234567.", "Call [PHONE_1] or Tel.: [PHONE_2]."),
        ("+49 30 1234567 is +49301234567", "[PHONE_1] is [PHONE_1]"),
        ("IBAN DE89370400440532013000", "IBAN [IBAN_1]"),
        ("DE89 3704 0044 0532 0130 02 has a wrong checksum", None),
        ("4111 1111 1111 1112 has a wrong checksum", None),
        ("2001:db8::1 and 10.0.0.1:8080", "[IP_1] and [IP_2]:8080"),
        ("password = 'hunter2abc'", "password = '[SECRET_1]'"),
        ("The password is required. Token: yes.", None),
        ("AIza" + "SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "[SECRET_1]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\n-----END RSA PRIVATE KEY-----\nend",
            "[SECRET_1]\nend",
        ),
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer [SECRET_1]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [SECRET_1]"),
        ("send Bearer abcDEF123456 with it", "send Bearer [SECRET_1] with it"),
        ("send Basic dXNlcjpwYXNz with it", "send Basic [SECRET_1] with it"),  # user:pass
        ("key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "key [SECRET_1]"),
        ("passphrase: abcD1234efgh", "passphrase: [SECRET_1]"),
        ("password:  abcD1234efgh, user: x", "password:  [SECRET_1], user: x"),
        ("The password is Tr0ub4dor.", "The password is [SECRET_1]."),
        ("Das Passwort lautet: Geheim123", "Das Passwort lautet: [SECRET_1]"),
        ("password=ab,cD1234;efgh", "password=[SECRET_1]"),
        ("password=abcD1234;server=db", "password=[SECRET_1];server=db"),
        ("IBAN DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000", "IBAN [IBAN_1]"),
        ("DE89-3704-0044-0532-0130-00 is DE89370400440532013000", "[IBAN_1] is [IBAN_1]"),
        ("DE89.3704.0044.0532.0130.00", "[IBAN_1]"),
        ("4111\u00a01111\u00a01111\u00a01111", "[CARD_1]"),
        ("4111.1111.1111.1111 is 4111-1111-1111-1111", "[CARD_1] is [CARD_1]"),
        ("0049 30 901820 is +49 30 901820", "[PHONE_1] is [PHONE_1]"),
        ("call me at 0171 2345678", "call me at [PHONE_1]"),
        ("john@example.com is jo\u200bhn@example.com", "[EMAIL_1] is [EMAIL_1]"),
        ("john\uff20example.com is john@example.com", "[EMAIL_1] is [EMAIL_1]"),
        ("jo%hn@example.com and o'brien@example.com", "[EMAIL_1] and [EMAIL_2]"),
        ("john (at) example [dot] com", "[EMAIL_1]"),
        ("SSN 078 05 1120", "SSN [SSN_1]"),
        ("[EMAIL_1] is text, a@example.org is not", None),
    ],
)
def test_what_is_found_has_one_placeholder_for_each_value(text: str, redacted: str | None) -> None:
    assert Redaction(taken={"[EMAIL_1]"} if "is text" in text else set()).text(text) == (
        text.replace("a@example.org", "[EMAIL_2]") if redacted is None else redacted
    )


@pytest.mark.parametrize(
    "text",
    [
        "In 1999 revenue rose to 1,234,567 dollars, 12.5 % up; order 4500123456.",
        "Built 1887-1889, 330 m, 10,100 tonnes; 2012-12-12 12:12, 12.05.1990, 2023/24.",
        "83 200 000 people; version 1.2.3.4; v10.0.0.1; ISBN 978-3-16-148410-0; std::string.",
        "Call 2125551234 units; 1 800 000 EUR; 1.234,56; -40 to 105; 3.14159265358979.",
        "The password is SHA256-hashed; basic information, bearer bonds of 2019.",
        "4.111.111.111.111 units; 0049 pieces; 00 41 and 00 42; GB29 is a road, AT61 1904 another.",
        "src/Main/java/Example2/Reader/Writer/a1b holds " + "a1b2c3d4e5" * 4,
        'Meet me (at) noon; where="a", where=f"@ragassay.metric".',
        "The hash is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.",
    ],
)
def test_years_amounts_and_other_numbers_stay(text: str) -> None:
    assert Redaction().text(text) == text


def test_a_place_in_the_redacted_text_is_one_in_the_text() -> None:
    text = "Write to a@example.org or b@example.org soon."
    redaction = Redaction()
    new = redaction.text(text)
    assert new == "Write to [EMAIL_1] or [EMAIL_2] soon."
    assert redaction.restored(new) == text

    def back(quote: str) -> str:
        at = new.index(quote)
        start, end = redaction.span(text, at, at + len(quote))
        return text[start:end]

    assert back("Write to") == "Write to"
    assert back("[EMAIL_1]") == "a@example.org"
    assert back("to [EMAIL_1] or") == "to a@example.org or"
    assert back("MAIL_2] soon") == "b@example.org soon"  # half a placeholder is all of it
    assert back("soon.") == "soon."


@pytest.mark.parametrize(
    "part",
    [
        *("://a", "eyJ", "a.b@", "1 ", "-----BEGIN PRIVATE KEY-----", "password=a1,", "Bearer a1"),
        *("a (at) ", "x.com (dot) ", "00 1", "4111.", "DE89-", "a\u200b", "password is a1", "aB1/"),
    ],
)
def test_texts_that_hold_nothing_but_beginnings_take_no_long_time(part: str) -> None:
    sensitive.find("+49 30 1234567")  # loads the packages
    started = time.process_time()
    sensitive.find(part * (20_000 // len(part)))
    assert time.process_time() - started < 5


def evaluated(server: LLMServer, store: Path, **more: Any) -> Any:
    return ragassay.evaluate(
        ROWS,
        "groundedness, context_relevance, answer_relevance",
        judge="openai:mock",
        base_url=server.url,
        store=store,
        **more,
    )


@pytest.mark.slow
@pytest.mark.parametrize("order", ["shuffled", "both"])
def test_no_value_reaches_the_server_and_the_verdicts_are_those_without(
    tmp_path: Path, order: str
) -> None:
    with LLMServer() as plain, evaluated(plain, tmp_path / "p.db", order=order) as run:
        expected = list(run.rows())
        sent_plainly = json.dumps(plain.bodies)
    with (
        LLMServer() as server,
        evaluated(server, tmp_path / "r.db", order=order, redact=True) as run,
    ):
        rows, summary = list(run.rows()), run.summary
        sent = json.dumps(server.bodies)
    for kind, value in CANARIES.items():
        assert value in sent_plainly
        assert value not in sent
        assert f"[{kind}_1]" in sent
        assert f"[{kind}_2]" not in sent  # the same value in question, chunk, response and claim
    assert "1999" in sent
    for row, other in zip(rows, expected, strict=True):
        assert [(s.metric, s.value, s.verdict) for s in row.scores] == [
            (s.metric, s.value, s.verdict) for s in other.scores
        ]
    assert rows[0].sample.contexts[0].text == ROWS[0]["contexts"][0]
    written: Any = summary_json(summary)
    assert {name for name in written["reading"] if name.startswith("redacted:")} == {
        f"redacted:{kind.lower()}" for kind in CANARIES
    }
    assert any(note.startswith("replaced before the judge saw") for note in summary.notes)


@pytest.mark.slow
def test_evidence_is_found_in_the_row_as_it_is_stored(tmp_path: Path) -> None:
    with LLMServer() as server, evaluated(server, tmp_path / "r.db", redact=True) as run:
        evidence = [
            (row.sample.contexts[place.context].text, place)
            for row in run.rows()
            for part in row.score("groundedness").parts
            for place in part.evidence
        ]
    assert len(evidence) >= len(ROWS)
    for (text, place), value in zip(evidence, CANARIES.values(), strict=False):
        assert text[place.start : place.end] == place.quote
        assert value in place.quote


def test_redacted_judgments_are_others_than_those_without(tmp_path: Path) -> None:
    with LLMServer() as server:
        with evaluated(server, tmp_path / "s.db", limit=1) as run:
            plain = run.summary.manifest.judge.fingerprints
        before = len(server.bodies)
        with evaluated(server, tmp_path / "s.db", limit=1, redact=True) as run:
            redacted = run.summary.manifest.judge.fingerprints
        assert len(server.bodies) == 2 * before
    assert plain.keys() == redacted.keys()
    assert not set(plain.values()) & set(redacted.values())


def test_packages_that_are_not_installed_are_named_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    sensitive._phones.cache_clear()
    with LLMServer() as server:
        with pytest.raises(SetupError, match="E0416") as raised:
            evaluated(server, tmp_path / "s.db", redact=True)
        assert server.bodies == []
    assert "ragassay[redact]" in raised.value.fix
    # The offline judge sends nothing, so nothing has to be found.
    with ragassay.evaluate(ROWS, "groundedness", store=tmp_path / "o.db", redact=True) as run:
        assert run.summary.scored == len(ROWS)
