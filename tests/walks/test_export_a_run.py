"""A run taken elsewhere: as lines for a program, a table, a page, and a test report."""

import csv
import json
import xml.etree.ElementTree as ET

from support.shell import Shell

ROWS = """\
{"id": "founded", "question": "When was the library founded?", \
"contexts": ["The city library was founded in 1911."], \
"response": "The city library was founded in 1911."}
{"id": "books", "question": "How long may a book be kept?", \
"contexts": ["Books may be kept for four weeks."], \
"response": "You can keep a book for six weeks."}
"""


def test_a_run_is_exported_as_jsonl_csv_html_and_junit(shell: Shell) -> None:
    shell.write("rows.jsonl", ROWS)
    shell("ragassay evaluate rows.jsonl --metrics groundedness,answer_relevance")

    lines = shell("ragassay export last").lines
    records = [json.loads(line) for line in lines]
    assert [(r["id"], r["metric"], r["verdict"], r["cause"]) for r in records] == [
        ("founded", "groundedness", "pass", ""),
        ("founded", "answer_relevance", "pass", ""),
        ("books", "groundedness", "fail", "ungrounded"),
        ("books", "answer_relevance", "pass", "ungrounded"),
    ]
    (evidence,) = records[0]["evidence"]
    assert evidence["context"] == 0
    assert evidence["quote"] == "The city library was founded in 1911."

    assert shell("ragassay export last --format csv --output scores.csv").messages == [
        "wrote scores.csv"
    ]
    table = list(csv.DictReader(shell.read("scores.csv").splitlines()))
    assert [(r["id"], r["metric"], r["value"], r["status"]) for r in table] == [
        (r["id"], r["metric"], str(r["value"]), "judged") for r in records
    ]

    shell("ragassay export last --format html --output report.html")
    page = shell.read("report.html")
    assert "<title>1 of 2 rows pass, 1 fail, 0 undecided – RagAssay</title>" in page
    assert "You can keep a book for six weeks." in page
    assert "src=" not in page
    assert "<link" not in page

    shell("ragassay export last --format junit --output junit.xml")
    suites = ET.fromstring(shell.read("junit.xml"))
    assert [(s.get("name"), s.get("tests"), s.get("failures")) for s in suites] == [
        ("groundedness", "2", "1"),
        ("answer_relevance", "2", "0"),
    ]
