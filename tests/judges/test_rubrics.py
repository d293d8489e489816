"""Rubric files: what the built-in ones say, what a user's file changes, and how its mistakes are
explained.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Request, SetupError
from ragassay.judges import LLMJudge, RubricRegistry, check
from ragassay.judges.llm.reply import parse
from ragassay.judges.llm.reply_form import schema
from ragassay.judges.template import fill
from ragassay.judges.text_rules.text_shape import shape_of
from ragassay.metrics import catalogue
from ragassay.stress.writer import WRITTEN_TEXTS

RUBRICS = RubricRegistry.default()

TEN = """---
id: {id}
version: 1
extends: {id}
scale:
  pass: 7
  points:
    0: Nothing.
    1-6: Some of it.
    7-9: Most of it.
    10: All of it.
---
"""
WHOLE = """---
id: tone
version: 3
purpose: Is the tone right?
inputs: [response]
item: response
scale:
  pass: "yes"
  points:
    "no": Rude.
    "yes": Polite.
---
## System
{{criteria}}
{{scale}}
{{reply}}
## Criteria
Polite is {{scale.highest}}.
## User
{{response}}
"""


def write(folder: Path, text: str, name: str = "mine.md") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_there_is_a_built_in_rubric_for_all_that_metrics_and_writers_ask_and_for_nothing_else() -> (
    None
):
    asked = {rubric for kind in catalogue().values() for rubric in kind.declaration.rubrics} - {
        "similarity"
    }
    # Pairs of responses are no rows of a run: `benchmark` alone asks about them.
    assert set(RUBRICS.ids()) == asked | set(WRITTEN_TEXTS.rubrics) | {"pair_preference"}
    assert RUBRICS.get("groundedness").ref == "groundedness@4"
    assert RUBRICS.custom == ()


@pytest.mark.parametrize("name", RUBRICS.ids())
def test_the_examples_of_a_built_in_rubric_are_replies_that_can_be_read(name: str) -> None:
    rubric = RUBRICS.get(name)
    assert not rubric.own
    shown = re.findall(r"^verdict: (.*)$", rubric.system_prompt("question"), re.M)
    assert len(shown) == len(rubric.examples)
    for line in shown:
        reply = json.dumps({"verdicts": [{"id": "a", "reasoning": "So.", **json.loads(line)}]})
        assert "a" in parse(reply, rubric, ["a"])


def test_metrics_find_the_ratings_they_read() -> None:
    scales = {name: RUBRICS.get(name).scale for name in RUBRICS.ids()}
    found = {
        name: [(point.rating, point.value, scale.passes(point.rating)) for point in scale.points]
        for name, scale in scales.items()
        if scale is not None
    }
    assert found["entailment"] == [
        ("contradicted", 0, False),
        ("not_stated", 0, False),
        ("stated", 1, True),
    ]
    assert found["correctness_3"] == [
        ("incorrect", 0, False),
        ("not_attempted", 0, False),
        ("correct", 1, True),
    ]
    for name in ("answer_accuracy_dual_1", "answer_accuracy_dual_2"):
        assert found[name] == [(0, 0, False), (2, 0.5, True), (4, 1, True)]
    for name in (
        "context_relevance_dual_1",
        "context_relevance_dual_2",
        "response_groundedness_dual_1",
    ):
        assert found[name] == [(0, 0, False), (1, 0.5, True), (2, 1, True)]
    for name in (
        "context_sufficiency",
        "context_sufficiency_open",
        "correctness",
        "guidelines",
        "claim_sources",
    ):
        assert found[name] == [("no", 0, False), ("yes", 1, True)]
    assert found["safety"] == [("unsafe", 0, False), ("safe", 1, True)]


def test_context_relevance_has_the_seven_examples_with_their_ratings() -> None:
    rubric = RUBRICS.get("context_relevance")
    shapes = [shape_of(str(example["question"])) for example in rubric.examples]
    assert [example["rating"] for example in rubric.examples] == [3, 3, 2, 1, 1, 1, 0]
    assert shapes == ["question", "phrase", "phrase", "phrase", "statement", "phrase", "question"]


@pytest.mark.parametrize("asked", ["otters and beavers", "The mill was rebuilt after the flood."])
def test_of_phrases_and_statements_the_same_topic_is_the_highest_rating(asked: str) -> None:
    request = Request("context_relevance", {"question": asked, "context": "Otters hunt fish."})
    call = LLMJudge("openai:m", RUBRICS).call(RUBRICS.get("context_relevance"), {"a": request})
    assert "a passage on the same topic gets the highest rating" in " ".join(
        call.messages[1].content.split()
    )


def test_answer_relevance_is_slow_to_call_an_answer_irrelevant() -> None:
    prompt = RUBRICS.get("answer_relevance").system_prompt()
    assert "Beware of calling a relevant answer irrelevant" in prompt
    assert [e["rating"] for e in RUBRICS.get("answer_relevance").examples][1] == 3


def test_answer_relevance_5_differs_only_in_its_scale_and_moves_its_examples_onto_it() -> None:
    three, five = RUBRICS.get("answer_relevance"), RUBRICS.get("answer_relevance_5")
    assert five.scale is not None
    assert five.scale.ratings == (1, 2, 3, 4, 5)
    # 3/3 -> 5, 2/3 = .667 -> 4 (.75), 1/3 -> 2 (.25), 0 -> 1
    assert [e["rating"] for e in three.examples] == [3, 3, 2, 1, 0, 0]
    assert [e["rating"] for e in five.examples] == [5, 5, 4, 2, 1, 1]
    assert "or its subject, gets 1." in " ".join(five.system_prompt().split())


def test_groundedness_asks_for_what_the_specification_names() -> None:
    prompt = RUBRICS.get("groundedness").system_prompt()
    for words in (
        "NOTHING FOUND",
        "ABSTENTION",
        "false positives",
        "indirect is not direct",
        '"reasoning"',
        '"quotes"',
    ):
        assert words in prompt


@pytest.mark.parametrize(
    "name", ["context_relevance", "groundedness", "answer_relevance", "chunk_relevance"]
)
def test_a_new_scale_rewrites_every_mention_of_ratings(name: str, tmp_path: Path) -> None:
    old, new = (
        RUBRICS.get(name),
        RUBRICS.with_files([write(tmp_path, TEN.format(id=name))]).get(name),
    )
    assert new.scale is not None
    assert new.scale.ratings == tuple(range(11))
    prompt = " ".join(new.system_prompt().split())
    assert '"rating":0...10}' in prompt
    assert " 1 to 6: Some of it." in prompt
    ratings = [int(r) for r in re.findall(r'"rating":(\d+)\}', prompt)]
    moved = {0: 0, 1: 3, 2: 7, 3: 10, "no": 0, "yes": 10}
    assert ratings == [moved[e["rating"]] for e in old.examples]
    for stale in (
        "gets 3",
        "never gets 3",
        "0|1|2|3",
        "highest rating, 3",
        "3 needs",
        '"no"',
        "is yes",
    ):
        assert stale not in prompt
    item = schema(new, ["a"])["properties"]["verdicts"]["items"]["properties"]  # type: ignore[index]
    assert item["rating"] == {"type": "integer", "enum": list(range(11))}
    assert new.scale.passes(7)
    assert not new.scale.passes(6)
    assert new.scale.value(7) == 0.7


def test_the_system_and_the_user_part_use_the_same_scale(tmp_path: Path) -> None:
    text = (
        TEN.format(id="answer_relevance")
        + "## User\n{{question}} {{response}} Rate with {{scale.words}}.\n"
    )
    rubric = RUBRICS.with_files([write(tmp_path, text)]).get("answer_relevance")
    assert '"rating":0...10}' in rubric.system_prompt()
    assert "Rate with a whole number from 0 to 10." in rubric.user_prompt(
        {"question": "q", "response": "r"}
    )


def test_a_users_file_gives_only_what_it_changes_and_its_reference_carries_a_hash(
    tmp_path: Path,
) -> None:
    text = "---\nid: groundedness\nversion: 2\nextends: groundedness\n---\n## Criteria\nBe kind.\n"
    rubric = RUBRICS.with_files([write(tmp_path, text)]).get("groundedness")
    builtin = RUBRICS.get("groundedness")
    assert rubric.criteria == "Be kind."
    assert (rubric.user, rubric.scale, rubric.examples) == (
        builtin.user,
        builtin.scale,
        builtin.examples,
    )
    assert re.fullmatch(r"groundedness@2\+[0-9a-f]{8}", rubric.ref)
    assert rubric.digest != builtin.digest
    assert RUBRICS.get("groundedness") is builtin


def test_a_whole_file_of_ones_own_is_a_rubric_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE)
    assert check(path) == []
    rubric = RUBRICS.with_files([path]).get("tone")
    assert "Polite is yes." in rubric.system_prompt()
    assert '"rating":"no"|"yes"' in rubric.system_prompt()


def test_a_later_file_can_extend_an_earlier_one(tmp_path: Path) -> None:
    second = "---\nid: tone\nversion: 4\nextends: tone\nasks_reasons: false\n---\n"
    registry = RUBRICS.with_files([write(tmp_path, WHOLE), write(tmp_path, second, "second.md")])
    assert '"reasoning"' not in registry.get("tone").system_prompt()


def test_what_changes_a_judgment_changes_the_digest_and_what_does_not_does_not(
    tmp_path: Path,
) -> None:
    first = RUBRICS.with_files([write(tmp_path, WHOLE)]).get("tone")
    purpose = RUBRICS.with_files(
        [write(tmp_path, WHOLE.replace("Is the tone right?", "Tone."))]
    ).get("tone")
    meaning = RUBRICS.with_files([write(tmp_path, WHOLE.replace("Rude.", "Very rude."))]).get(
        "tone"
    )
    assert first.digest == purpose.digest != meaning.digest


BROKEN = {
    "unknown placeholder": (
        WHOLE.replace("{{scale}}", "{{scales}}"),
        "15: section System: unknown placeholder {{scales}}. Did you mean 'scale'?",
    ),
    "data in the system part": (
        WHOLE.replace("{{scale}}", "{{scale}} {{response}}"),
        (
            "15: section System: unknown placeholder {{response}}. The texts to judge belong into"
            " the section User."
        ),
    ),
    "missing reply": (
        WHOLE.replace("{{reply}}", ""),
        "14: section System: the placeholder {{reply}} is missing",
    ),
    "missing input": (
        WHOLE.replace("{{response}}", "x"),
        "20: section User: the placeholder {{response}} is missing: response is one of the inputs",
    ),
    "stray braces": (
        WHOLE.replace("{{reply}}", "{{reply}} {{ a b }}"),
        "16: section System: double braces that are no placeholder of the form {{name}}",
    ),
    "pass off the scale": (
        WHOLE.replace('pass: "yes"', "pass: maybe"),
        (
            "8: the pass mark is 'maybe', which the scale does not offer; `pass` is one of \"no\""
            ' or "yes"'
        ),
    ),
    "bare yes": (
        WHOLE.replace('"yes": P', "yes: P"),
        (
            "11: True is not a rating: a whole number, a span such as 1-3, or a word (YAML reads a"
            ' bare yes or no as true or false: write "yes", "no")'
        ),
    ),
    "gap": (
        WHOLE.replace('"no": Rude', "0: Rude")
        .replace('"yes": P', "3: P")
        .replace('pass: "yes"', "pass: 3"),
        "9: the scale has a gap: no point says what 1, 2 means",
    ),
    "no criteria for a point": (
        WHOLE.replace("Rude.", '""'),
        "10: the point no has no criteria: say in words what it means",
    ),
    "mixed scale": (WHOLE.replace('"no": Rude', "0: Rude"), "9: the scale mixes numbers and words"),
    "wrong type": (
        WHOLE.replace("item: response", "item: response\nbatch: many"),
        "7: batch must be a whole number from 1 to 100, not 'many'",
    ),
    "batch too large": (
        WHOLE.replace("item: response", "item: response\nbatch: 500"),
        "7: batch must be a whole number from 1 to 100",
    ),
    "unknown key": (
        WHOLE.replace("purpose:", "porpose:"),
        "4: 'porpose' is not a key of a rubric. Did you mean 'purpose'?",
    ),
    "key twice": (
        WHOLE.replace("version: 3", "version: 3\nversion: 4"),
        "4: 'version' is given twice",
    ),
    "missing section": (
        WHOLE.replace("id: tone", "id: correctness").replace("## User\n{{response}}\n", ""),
        "1: the section ## User is missing",
    ),
    "forgets to extend": (
        "---\nid: groundedness\npurpose: Is it so?\nscale: yes/no\n---\nSo means: it is.\n",
        (
            "2: groundedness is a built-in rubric: write `extends: groundedness` to change parts of"
            " it, give all of it with the sections ## System, ## Criteria and ## User, or choose"
            " another id for a judge of your own"
        ),
    ),
    "unknown section": (
        WHOLE + "## Notes\nhi\n",
        "21: 'Notes' is not a section; sections are ## System, ## Criteria, ## User",
    ),
    "text before": (
        WHOLE.replace("## System", "hello\n## System"),
        "13: text before the first section; sections are ## System, ## Criteria, ## User",
    ),
    "item is no input": (
        WHOLE.replace("item: response", "item: claim"),
        "6: item must be one of the inputs (response)",
    ),
    "not YAML": (
        WHOLE.replace("version: 3", "version: [3"),
        "4: the front matter is not valid YAML: expected ',' or ']', but got ':'",
    ),
    "no front matter": (
        "## System\nx\n",
        "1: the file must begin with a front matter: a line ---, YAML, and a line ---",
    ),
    "front matter is a list": (
        "---\n- a\n---\n",
        "1: the front matter must be a mapping of names to values",
    ),
    "extends nothing": (
        "---\nid: a\nversion: 1\nextends: groundednes\n---\n",
        "4: extends: no rubric has the id 'groundednes'. Did you mean 'groundedness'?",
    ),
    "python object": (
        "---\nid: !!python/object/apply:os.system [ls]\n---\n",
        (
            "2: the front matter is not valid YAML: could not determine a constructor for the tag"
            " 'tag:yaml.org,2002:python/object/apply:os.system'"
        ),
    ),
    "no reasons": (
        "---\nid: groundedness\nversion: 1\nextends: groundedness\nasks_reasons: false\n---\n",
        "5: groundedness always asks for reasons; asks_reasons cannot be switched off",
    ),
    "more inputs than given": (
        (
            "---\nid: context_relevance\nversion: 1\nextends: context_relevance\ninputs: [question,"
            " context, reference]\n---\n"
        ),
        "5: context_relevance is given question, context and no reference",
    ),
    "example off the scale": (
        WHOLE.replace("---\n## System", "examples:\n  - {response: hi, rating: 9}\n---\n## System"),
        '13: example 1 has the rating 9, the scale offers "no" or "yes"',
    ),
    "example of nothing": (
        WHOLE.replace("---\n## System", "examples:\n  - {rating: 'no'}\n---\n## System"),
        "13: example 1 gives none of the inputs",
    ),
    "flag name": (
        WHOLE.replace("---\n## System", "flags: {rating: hi}\n---\n## System"),
        "12: 'rating' cannot be the name of a flag",
    ),
    "a pass mark that everything reaches": (
        WHOLE.replace('pass: "yes"', 'pass: "no"'),
        (
            "8: the pass mark is the worst rating, so that everything passes; points go from worst"
            " to best"
        ),
    ),
    "off the step": (
        WHOLE.replace('"no": Rude', "0: Rude")
        .replace('"yes": P', "3: P")
        .replace('pass: "yes"', "step: 2\n  pass: 3"),
        "10: the points must be 2 apart, as `step` says: 3 is not",
    ),
    "gap between steps": (
        WHOLE.replace('"no": Rude', "0: Rude")
        .replace('"yes": P', "4: P")
        .replace('pass: "yes"', "step: 2\n  pass: 4"),
        "10: the scale has a gap: no point says what 2 means",
    ),
    "a step that is none": (
        WHOLE.replace('pass: "yes"', 'step: 0\n  pass: "yes"'),
        "8: step must be a whole number from 1 to 101",
    ),
    "the item is a list": (
        WHOLE.replace("[response]", "[response, expected_facts]").replace(
            "item: response", "item: expected_facts"
        ),
        "6: item cannot be expected_facts, which is a list of texts",
    ),
    "sources without contexts": (
        WHOLE.replace("item: response", "item: response\nasks_sources: true"),
        "7: asks_sources needs contexts among the inputs",
    ),
    "quotes without contexts": (
        WHOLE.replace("item: response", "item: response\nasks_quotes: true"),
        "7: quotes need contexts or context among the inputs: that is where they are looked up",
    ),
    "writes something unknown": (
        WHOLE.replace("item: response", "item: response\nwrites: essays"),
        '7: writes must be "ratings", "claims", "quotes" or "texts"',
    ),
    "a built-in rubric writes something else": (
        "---\nid: entities\nversion: 9\nextends: entities\nwrites: claims\n---\n",
        "5: entities must write texts",
    ),
    "a flag that metrics read is gone": (
        "---\nid: questions\nversion: 9\nextends: questions\nflags: {}\n---\n",
        "5: questions must keep the flags that metrics read: noncommittal",
    ),
    "a flag fixes a rating that is not there": (
        (
            "---\nid: questions\nversion: 9\nextends: questions\nflags:\n  noncommittal: {meaning:"
            " m, rating: lowest}\n---\n"
        ),
        "6: the flag noncommittal cannot fix the rating: there is none",
    ),
    "sources that are not asked": (
        "---\nid: claim_sources\nversion: 9\nextends: claim_sources\nasks_sources: false\n---\n",
        "5: claim_sources asks for nothing but sources; asks_sources must be true",
    ),
    "sources of an example that are words": (
        (
            "---\nid: groundedness\nversion: 9\nextends: groundedness\nexamples:\n"
            "  - {claim: c, contexts: [c], reasoning: r, supported_by: [one], rating: 3}\n---\n"
        ),
        "6: example 1: supported_by must be a list of numbers of passages",
    ),
    "texts of an example that are missing": (
        "---\nid: entities\nversion: 9\nextends: entities\nexamples:\n  - {text: Ann.}\n---\n",
        "6: example 1: texts must be a list of texts",
    ),
    "falling values": (
        WHOLE.replace('"no": Rude.', '"no": {meaning: Rude., value: 1}').replace(
            '"yes": Polite.', '"yes": {meaning: Polite., value: 0}'
        ),
        "9: the values must not fall: yes has a lower value than no",
    ),
}


@pytest.mark.parametrize(("text", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_mistake_is_explained_with_its_line(text: str, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    assert f"{path}:{problem}" in check(path)
    with pytest.raises(SetupError) as caught:
        RUBRICS.with_files([path])
    assert caught.value.code == "E0204"
    assert str(path) in caught.value.where


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = (
        WHOLE.replace("purpose:", "porpose:")
        .replace("Rude.", '""')
        .replace("item: response", "item: claim")
    )
    found = check(write(tmp_path, text))
    assert len(found) == 4  # unknown key, missing purpose, item, point without criteria
    assert [int(line.split(".md:")[1].split(":")[0]) for line in found] == sorted(
        int(line.split(".md:")[1].split(":")[0]) for line in found
    )


@pytest.mark.slow
def test_files_that_cannot_be_read_are_problems_and_no_tracebacks(tmp_path: Path) -> None:
    assert "cannot be read" in check(tmp_path / "none.md")[0]
    assert "cannot be read" in check(tmp_path)[0]
    bad = tmp_path / "bad.md"
    bad.write_bytes(b"---\nid: \xff\n---\n")
    assert "not UTF-8 (byte 8)" in check(bad)[0]
    assert check(write(tmp_path, "---\n" + "[" * 50_000 + "\n---\n"))


@given(st.text(), st.text())
def test_no_text_makes_the_checker_raise(
    tmp_path_factory: pytest.TempPathFactory, front: str, body: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.md"
    path.write_bytes(f"---\n{front}\n---\n{body}".encode("utf-8", "replace"))
    assert check(path)


def test_an_unknown_rubric_is_named_with_the_nearest_one() -> None:
    with pytest.raises(SetupError, match="Did you mean 'groundedness'") as caught:
        RUBRICS.get("groundednes")
    assert caught.value.code == "E0203"


def test_placeholders_in_data_are_data() -> None:
    assert fill("{{a}} {{b}}", {"a": "{{b}}", "b": "x"}) == "{{b}} x"
    request = Request(
        "answer_relevance", {"question": "{{response}} {{criteria}}", "response": "secret"}
    )
    call = LLMJudge("m", RUBRICS).call(RUBRICS.get("answer_relevance"), {"ab": request})
    assert call.messages[1].content.count("secret") == 1
    assert "{{response}} {{criteria}}" in call.messages[1].content


@pytest.mark.slow
def test_the_files_in_the_documentation_are_valid_and_its_python_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "rubrics.md").read_text()
    files = re.findall(r"```text\n(---\n.*?)```", page, re.S)
    assert len(files) == 8
    assert [check(write(tmp_path, text)) for text in files] == [[]] * 8
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        assert (
            subprocess.run(
                [sys.executable, "-c", block], check=False, capture_output=True
            ).returncode
            == 0
        )


SHAPES = {
    "Who built it?": "question",
    "who built it": "question",
    "Explain the second law": "question",
    "wann wurde es gebaut": "question",
    "¿Dónde está?": "question",
    "Is it red? Or blue": "question",
    "Lake Titicaca": "phrase",
    "otters and beavers": "phrase",
    "": "phrase",
    "best laptop 2026": "phrase",
    "The library was rebuilt in 1926.": "statement",
    "water is wet and cold": "statement",
}


@pytest.mark.parametrize(("text", "shape"), SHAPES.items())
def test_the_shape_of_a_query_is_decided_by_rule(text: str, shape: str) -> None:
    assert shape_of(text) == shape


def test_the_wording_follows_the_shape_of_the_question() -> None:
    judge, rubric = LLMJudge("m", RUBRICS), RUBRICS.get("context_relevance")
    for question, words in (
        ("Who?", "the question's answer"),
        ("red boots", "search phrase"),
        ("It is a red boot.", "is a stat"),
    ):
        call = judge.call(
            rubric, {"ab": Request(rubric.id, {"question": question, "context": "c"})}
        )
        assert words in call.messages[1].content


def test_importing_judges_does_not_import_yaml() -> None:
    code = (
        "import sys, ragassay.judges; sys.exit(int('yaml' in sys.modules or 'numpy' in"
        " sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_yaml_aliases_are_refused_at_once_and_with_their_line(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
    )
    for front in (bomb + "purpose: *a9", bomb + "batch: *a9", bomb + "extends: *a9", "id: &a [*a]"):
        path = write(tmp_path, WHOLE.replace("version: 3\n", f"version: 3\n{front}\n"))
        start = time.process_time()
        (problem,) = check(path)
        assert time.process_time() - start < 1
        assert "aliases cannot be used here, write the value out" in problem
        assert problem.startswith(f"{path}:{4 if '&a [' in front else 5}: the alias *a")
    with pytest.raises(SetupError) as caught:
        RUBRICS.with_files([path])
    assert caught.value.code == "E0204"


def test_a_star_in_a_text_and_an_anchor_nobody_uses_are_no_aliases(tmp_path: Path) -> None:
    assert (
        check(
            write(
                tmp_path,
                WHOLE.replace("Is the tone", '&tone "*Is* the tone').replace("right?", 'right?"'),
            )
        )
        == []
    )


@pytest.mark.parametrize("key", ["version", "batch", "purpose", "extends"])
def test_a_number_of_thousands_of_digits_is_a_mistake_of_the_file(tmp_path: Path, key: str) -> None:
    text = re.sub(rf"^{key}: .*\n", "", WHOLE, flags=re.M).replace(
        "id: tone\n", f"id: tone\n{key}: 0x{'f' * 9_000}\n"
    )
    (problem,) = check(write(tmp_path, text))
    assert "the front matter is not valid YAML" in problem
