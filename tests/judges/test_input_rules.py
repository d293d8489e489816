"""Rules on inputs: what a rubric's front matter settles without asking a judge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragassay.core import Judgment, Request, Status
from ragassay.judges import RubricRegistry, check
from ragassay.judges.input_rules import settle_without_call

RUBRICS = RubricRegistry.default()
PAGE = Path(__file__).parents[2] / "docs" / "rubrics.md"
HEADER = """---
id: {id}
purpose: Is it polite?
scale: yes/no
{rules}---
Thanks are polite.
"""


def write(folder: Path, rules: str, name: str = "polite") -> Path:
    path = folder / f"{name}.md"
    path.write_text(HEADER.format(id=name, rules=rules), encoding="utf-8")
    return path


def settled(path: Path, response: str, name: str = "polite") -> Judgment | None:
    rubric = RUBRICS.with_files([path]).get(name)
    request = Request(name, {"question": "Why?", "response": response})
    return settle_without_call(request, rubric, "f")


def test_the_rules_of_the_documentation_are_valid_and_settle_what_they_say(tmp_path: Path) -> None:
    text = next(
        block
        for block in re.findall(r"```text\n(.*?)```", PAGE.read_text("utf-8"), re.S)
        if "input_rules:" in block
    )
    path = tmp_path / "mine.md"
    path.write_text(text, encoding="utf-8")
    assert check(path) == []
    empty = settled(path, " \n", "answers_in_full")
    assert empty is not None
    assert (empty.rating, empty.passes, empty.rationale) == ("no", False, "The response is empty.")
    declined = settled(path, "I do not know.", "answers_in_full")
    assert declined is not None
    assert declined.status is Status.NOT_APPLICABLE
    assert declined.reason == "the response declines to answer"
    assert settled(path, "It rained.", "answers_in_full") is None


def test_a_judge_of_ones_own_without_rules_is_not_applicable_to_an_empty_response(
    tmp_path: Path,
) -> None:
    judgment = settled(write(tmp_path, ""), "  ")
    assert judgment is not None
    assert (judgment.status, judgment.reason) == (
        Status.NOT_APPLICABLE,
        "the response holds no text",
    )


def test_all_conditions_of_a_rule_hold_and_the_first_rule_that_fits_counts(tmp_path: Path) -> None:
    rules = """input_rules:
  - {when: {blank: question, declines: response}, rating: highest, flags: [first]}
  - {when: {declines: response}, rating: lowest, flags: [second]}
"""
    judgment = settled(write(tmp_path, rules), "I do not know.")
    assert judgment is not None
    assert (judgment.rating, judgment.flags) == ("no", ("second",))


def test_rules_of_a_users_file_are_part_of_its_digest_and_of_what_extends_it(
    tmp_path: Path,
) -> None:
    rule = "input_rules:\n  - {when: {blank: response}, rating: lowest}\n"
    without = RUBRICS.with_files([write(tmp_path, "")]).get("polite")
    path = write(tmp_path, rule)
    given = RUBRICS.with_files([path]).get("polite")
    assert given.digest != without.digest
    other = tmp_path / "other.md"
    other.write_text("---\nid: kinder\nextends: polite\n---\nSo are wishes.\n", encoding="utf-8")
    assert RUBRICS.with_files([path, other]).get("kinder").input_rules == given.input_rules


def test_a_file_that_replaces_a_built_in_rubric_keeps_its_rules_and_its_digest_leaves_them_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.md"
    path.write_text("---\nid: safety\nversion: 1\nextends: safety\n---\n", encoding="utf-8")
    mine = RUBRICS.with_files([path]).get("safety")
    assert mine.input_rules == RUBRICS.get("safety").input_rules != ()
    assert mine.digest == RUBRICS.get("safety").digest


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("input_rules: 3\n", "input_rules must be a list"),
        ("input_rules:\n  - 3\n", "rule 1 must be a mapping"),
        ("input_rules:\n  - {rating: lowest}\n", "when must be a mapping of conditions"),
        ("input_rules:\n  - {when: {empty: response}, rating: no}\n", "'empty' is no condition"),
        ("input_rules:\n  - {when: {blank: answer}, rating: lowest}\n", "'answer' is none of the"),
        ("input_rules:\n  - {when: {blank: response}, rating: 7}\n", "has the rating 7"),
        ("input_rules:\n  - {when: {blank: response}}\n", "has the rating None"),
        (
            "input_rules:\n  - {when: {blank: response}, not_applicable: x, rating: lowest}\n",
            "what is not applicable has no rating",
        ),
        (
            "input_rules:\n  - {when: {blank: response}, rating: lowest, reason: x}\n",
            "'reason' is no key of a rule",
        ),
        (
            "input_rules:\n  - {when: {blank: response}, rating: lowest, flags: x}\n",
            "flags must be a list of names",
        ),
        (
            "input_rules:\n  - {when: {blank: response}, rating: lowest, supported_by: [1]}\n",
            "supported_by can only be []",
        ),
        (
            "input_rules:\n  - {when: {blank: response}, rating: lowest, reasoning: 3}\n",
            "reasoning must be a text",
        ),
    ],
)
def test_a_mistake_in_a_rule_is_named_with_its_line(
    tmp_path: Path, rules: str, message: str
) -> None:
    found = check(write(tmp_path, rules))
    assert any(message in text for text in found), found
    for text in found:
        assert re.search(r"polite\.md:[56]: ", text)
