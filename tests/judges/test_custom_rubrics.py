"""Judges of the user's own: what a short file becomes, and how everything that can be wrong in it
is explained.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Ask, ChatCall, ChatReply, Judgment, Keep, Request, SetupError, Status
from ragassay.judges import LLMJudge, Rubric, RubricRegistry, check

RUBRICS = RubricRegistry.default()
EXAMPLES = Path(__file__).parents[2] / "examples" / "custom_rubric"

SHORT = """---
id: friendly
purpose: Is the response friendly?
scale: yes/no
---
A friendly response thanks for the question.
"""
CHUNKS = """---
id: validity
level: retrieval
purpose: Does the passage still hold?
scale:
  pass: [current, timeless]
  points:
    outdated: It is over.
    current: It holds today.
    timeless: It has no date.
---
Judge by the passage's own words.
"""
RULES = """---
id: house_rules
purpose: Does the response keep the rules of the house?
guidelines:
  - The response is in English.
  - The response names no competitor.
---
"""


def write(folder: Path, text: str, name: str = "mine.md") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str) -> Rubric:
    path = write(folder, text)
    assert check(path) == []
    (rubric,) = RUBRICS.with_files([path]).custom
    return rubric


def judged(
    rubric: Rubric, inputs: dict[str, str | tuple[str, ...]], *entries: dict[str, object]
) -> Judgment:
    """The Judgment of one Request when the n-th call is answered by the n-th entry."""
    request = Request(rubric.id, inputs)
    flow, kept, calls = (
        LLMJudge("m", RubricRegistry({rubric.id: rubric})).answer((request,)),
        list[Judgment](),
        0,
    )
    try:
        step = next(flow)
        while True:
            if isinstance(step, Keep):
                kept += step.judgments
                step = flow.send(())
                continue
            assert isinstance(step, Ask)
            (call,) = step.calls
            assert isinstance(call, ChatCall)
            assert call.schema is not None
            items = call.schema["properties"]["verdicts"]["items"]  # type: ignore[index]
            (name,) = items["properties"]["id"]["enum"]
            said = {"id": name, "reasoning": "So.", **entries[calls]}
            calls += 1
            step = flow.send((ChatReply(json.dumps({"verdicts": [said]})),))
    except StopIteration as end:
        kept += end.value
    assert calls == len(entries)
    (judgment,) = kept
    return judgment


# -- what a file becomes


def test_a_header_and_criteria_are_a_whole_judge(tmp_path: Path) -> None:
    rubric = read(tmp_path, SHORT)
    assert (rubric.level, rubric.inputs, rubric.item, rubric.batch) == (
        "answer",
        ("question", "response"),
        "response",
        1,
    )
    assert rubric.scale is not None
    assert [(p.rating, p.value) for p in rubric.scale.points] == [("no", 0), ("yes", 1)]
    system = rubric.system_prompt()
    for words in (
        "Is the response friendly?",
        "thanks for the question",
        "\nyes: The criteria are met.",
        '"rating":"no"|"yes"',
        "judged, never obeyed",
    ):
        assert words in system
    user = rubric.user_prompt({"question": "<Q>", "response": "<R>"})
    assert user.index("<Q>") < user.index("<R>")
    assert "{{" not in system + user
    assert re.fullmatch(r"friendly@1\+[0-9a-f]{8}", rubric.ref)


def test_its_rating_gives_its_value_and_whether_it_passes(tmp_path: Path) -> None:
    rubric = read(tmp_path, SHORT)
    judgment = judged(rubric, {"question": "q", "response": "r"}, {"rating": "yes"})
    assert (judgment.rating, judgment.value, judgment.passes) == ("yes", 1.0, True)


def test_at_the_level_retrieval_chunks_are_items_and_twenty_share_a_call(tmp_path: Path) -> None:
    rubric = read(tmp_path, CHUNKS)
    assert (rubric.level, rubric.row, rubric.inputs, rubric.item, rubric.batch) == (
        "retrieval",
        "any",
        ("question", "context"),
        "context",
        20,
    )
    requests = [Request(rubric.id, {"question": "q", "context": str(n)}) for n in range(45)]
    judge = LLMJudge("m", RubricRegistry({rubric.id: rubric}))
    assert [len(group) for group in judge.groups(requests)] == [20, 20, 5]


def test_categories_pass_by_their_list_and_have_no_order(tmp_path: Path) -> None:
    rubric = read(tmp_path, CHUNKS)
    scale = rubric.scale
    assert scale is not None
    assert [(p.rating, p.value, scale.passes(p.rating)) for p in scale.points] == [
        ("outdated", 0.0, False),
        ("current", 1.0, True),
        ("timeless", 1.0, True),
    ]
    assert '"rating":"outdated"|"current"|"timeless"' in rubric.system_prompt()
    text = CHUNKS.replace("outdated: It is over.", "outdated: {meaning: It is over., value: 0.25}")
    text = text.replace("pass: [current, timeless]", "pass: [outdated]").replace(
        "own words.", "words. Pass: {{scale.pass}}."
    )
    other = read(tmp_path, text)
    assert other.scale is not None
    assert [(p.value, other.scale.passes(p.rating)) for p in other.scale.points] == [
        (0.25, True),
        (0, False),
        (0, False),
    ]
    assert "Pass: outdated." in other.system_prompt()
    assert other.digest != rubric.digest


@given(st.permutations(["a", "b", "c", "d"]), st.sets(st.sampled_from("abcd"), min_size=1))
def test_the_order_of_categories_changes_no_verdict(order: list[str], passing: set[str]) -> None:
    text = yaml.safe_dump(
        {
            "id": "mine",
            "purpose": "p",
            "scale": {
                "pass": sorted(passing),
                "points": [{"rating": r, "meaning": r} for r in order],
            },
        }
    )
    with_files = _from_text(f"---\n{text}---\nCriteria.\n")
    scale = with_files.scale
    assert scale is not None
    assert {r: (scale.value(r), scale.passes(r)) for r in "abcd"} == {
        r: (float(r in passing), r in passing) for r in "abcd"
    }


def _from_text(text: str) -> Rubric:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return read(Path(folder), text)


def test_of_a_list_of_guidelines_each_is_an_item(tmp_path: Path) -> None:
    rubric = read(tmp_path, RULES)
    assert rubric.guidelines == ("The response is in English.", "The response names no competitor.")
    assert (rubric.inputs, rubric.item, rubric.batch) == (
        ("question", "response", "guideline"),
        "guideline",
        20,
    )
    assert "\nno: The response breaks the guideline" in rubric.system_prompt()
    assert "English" not in rubric.system_prompt()  # it comes with its Request
    judgment = judged(
        rubric,
        {"question": "q", "response": "r", "guideline": rubric.guidelines[0]},
        {"rating": "no"},
    )
    assert (judgment.value, judgment.passes) == (0.0, False)


def test_a_further_guideline_changes_the_reference_but_buys_no_judgment_again(
    tmp_path: Path,
) -> None:
    first = read(tmp_path, RULES)
    second = read(
        tmp_path,
        RULES.replace("---\n", "  - The response is polite.\n---\n", 2).replace(
            "  - The response is polite.\n", "", 1
        ),
    )
    assert len(second.guidelines) == 3
    assert first.digest == second.digest
    assert first.ref != second.ref


def test_when_a_row_passes_changes_the_reference_but_buys_no_judgment_again(tmp_path: Path) -> None:
    one, every = (
        read(tmp_path, CHUNKS),
        read(tmp_path, CHUNKS.replace("retrieval\n", "retrieval\nrow: all\n")),
    )
    assert (one.row, every.row) == ("any", "all")
    assert one.digest == every.digest
    assert one.ref != every.ref


def test_numbers_spans_words_and_values_are_scales(tmp_path: Path) -> None:
    points = {
        "1-5 with a span": (
            "pass: 4\n  points: {1-2: Bad., 3: Fair., 4-5: Good.}",
            [0, 0.25, 0.5, 0.75, 1],
        ),
        "words": ("pass: good\n  points: {bad: B., fair: F., good: G.}", [0, 0.5, 1]),
        "values": (
            "pass: good\n  points: {bad: B., fair: {meaning: F., value: 0.8}, good: G.}",
            [0, 0.8, 1],
        ),
        "steps": ("step: 2\n  pass: 2\n  points: {0: B., 2: F., 4: G.}", [0, 0.5, 1]),
        "no is better": ('pass: "no"\n  points: {"yes": It leaks., "no": It does not.}', [0, 1]),
    }
    for text, values in points.values():
        scale = read(tmp_path, SHORT.replace("scale: yes/no", f"scale:\n  {text}")).scale
        assert scale is not None
        assert [point.value for point in scale.points] == values
        assert [scale.passes(point.rating) for point in scale.points].count(True) in (1, 2)


def test_few_shot_examples_stand_in_the_prompt_with_their_verdicts(tmp_path: Path) -> None:
    examples = (
        "examples:\n  - {question: Why so, response: Thanks for asking!, reasoning: It thanks.,"
        " rating: 'yes'}\n---\nA"
    )
    prompt = read(tmp_path, SHORT.replace("---\nA", examples)).system_prompt()
    assert "response: Thanks for asking!\nverdict: " in prompt
    assert '{"reasoning":"It thanks.","rating":"yes"}' in prompt


def test_all_inputs_of_a_row_can_be_read_and_lists_come_text_by_text(tmp_path: Path) -> None:
    names = ["question", "response", "contexts", "reference", "expected_facts", "guidelines"]
    rubric = read(tmp_path, SHORT.replace("scale:", f"inputs: [{', '.join(names)}]\nscale:"))
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": "q",
        "response": "r",
        "contexts": ("c", "d"),
        "reference": "f",
        "expected_facts": ("e",),
        "guidelines": ("g", "h"),
    }
    call = LLMJudge("m", RubricRegistry({rubric.id: rubric})).call(
        rubric, {"ab": Request(rubric.id, inputs)}
    )
    fences = [name for name in re.findall(r"<<<(.+?)\|", call.messages[1].content) if name != "end"]
    assert fences == [
        "question",
        "passage 1",
        "passage 2",
        "reference",
        "expected fact 1",
        "guideline 1",
        "guideline 2",
        "response",
    ]


def test_a_judge_of_ones_own_can_extend_a_built_in_rubric_or_another_one(tmp_path: Path) -> None:
    rubric = read(
        tmp_path,
        "---\nid: strict_chunks\nextends: chunk_relevance\nlevel: retrieval\n---\nBe strict.\n",
    )
    assert (rubric.level, rubric.item, rubric.criteria) == ("retrieval", "context", "Be strict.")
    assert rubric.examples == RUBRICS.get("chunk_relevance").examples
    first = write(tmp_path, SHORT)
    second = write(
        tmp_path, "---\nid: friendlier\nextends: friendly\n---\nIt thanks twice.\n", "second.md"
    )
    registry = RUBRICS.with_files([first, second])
    assert [r.id for r in registry.custom] == ["friendly", "friendlier"]
    assert "It thanks twice." in registry.get("friendlier").system_prompt()
    third = write(
        tmp_path, "---\nid: friendlier\nextends: friendlier\ninputs: [response]\n---\n", "third.md"
    )
    assert registry.with_files([third]).get("friendlier").inputs == ("response",)


def test_a_file_that_replaces_a_built_in_rubric_is_no_judge_of_ones_own() -> None:
    files = sorted(EXAMPLES.glob("*.md"))
    assert [check(path) for path in files] == [[]] * 3
    registry = RUBRICS.with_files(files)
    assert [(r.id, r.level) for r in registry.custom] == [
        ("next_step", "answer"),
        ("validity", "retrieval"),
    ]
    assert registry.get("groundedness").own


def test_sections_of_ones_own_are_taken_as_they_are(tmp_path: Path) -> None:
    rubric = read(
        tmp_path,
        SHORT.replace("---\nA", "---\n## User\nHere: {{response}} {{question}}\n## Criteria\nA"),
    )
    assert rubric.user_prompt({"question": "q", "response": "r"}) == "Here: r q"
    assert "thanks for the question" in rubric.system_prompt()


def test_nothing_to_judge_is_not_applicable_and_costs_no_call(tmp_path: Path) -> None:
    for text, inputs in (
        (SHORT, {"question": "q", "response": " "}),
        (CHUNKS, {"question": "q", "context": ""}),
        (RULES, {"question": "q", "response": "", "guideline": "g"}),
    ):
        judgment = judged(read(tmp_path, text), dict(inputs))
        assert (judgment.status, judgment.value) == (Status.NOT_APPLICABLE, None)
        assert judgment.reason


@pytest.mark.parametrize(
    "wrong",
    [
        {"rating": 3},
        {"rating": "y"},
        {"rating": True},
        {"rating": "maybe"},
        {"id": "00000000", "rating": "yes"},
        {},
    ],
    ids=["off the scale", "short for it", "true", "in words", "for another response", "nothing"],
)
@pytest.mark.parametrize("text", [SHORT, CHUNKS, RULES], ids=["answer", "retrieval", "guidelines"])
def test_a_judge_that_answers_off_the_scale_or_for_another_item_gives_a_reason_and_no_number(
    text: str, wrong: dict[str, object], tmp_path: Path
) -> None:
    rubric = read(tmp_path, text)
    inputs: dict[str, str | tuple[str, ...]] = {name: f"the {name}" for name in rubric.inputs}
    judgment = judged(rubric, inputs, wrong, wrong)
    assert (judgment.status, judgment.rating, judgment.value, judgment.passes) == (
        Status.UNPARSED,
        None,
        None,
        None,
    )
    assert judgment.reason == "the reply held no usable verdict for it, also when asked again"


# -- mistakes

BROKEN = {
    "no criteria": (
        SHORT.replace("A friendly response thanks for the question.\n", ""),
        "1: the criteria are missing: say below the header what is judged, and by what",
    ),
    "an empty section": (
        SHORT.replace("A friendly response thanks for the question.", "## Criteria\n"),
        "8: the section Criteria is empty",
    ),
    "no purpose": (
        SHORT.replace("purpose: Is the response friendly?\n", ""),
        "1: purpose is missing (a sentence)",
    ),
    "no scale": (
        SHORT.replace("scale: yes/no\n", ""),
        "1: scale is missing, or is not a mapping with `points` and `pass` (or yes/no)",
    ),
    "no criteria for the points of a span": (
        SHORT.replace("yes/no", "1-5"),
        (
            "4: the scale '1-5' has no criteria for its points: give `points`, each with its"
            " meaning, and `pass`; only yes/no has meanings of its own"
        ),
    ),
    "no criteria for a point": (
        SHORT.replace("yes/no", "{pass: 2, points: {1: Bad., 2: }}"),
        "4: the point 2 has no criteria: say in words what it means",
    ),
    "a gap": (
        SHORT.replace("yes/no", "{pass: 4, points: {1: Bad., 2: Fair., 4: Good.}}"),
        "4: the scale has a gap: no point says what 3 means",
    ),
    "a gap in every second place": (
        SHORT.replace("yes/no", "{pass: 3, points: {1: Bad., 3: Fair., 5: Good.}}"),
        "4: the scale has a gap: no point says what 2, 4 means",
    ),
    "spans that overlap": (
        SHORT.replace("yes/no", "{pass: 4, points: {1-3: Bad., 3-5: Good.}}"),
        "4: the scale has two points for 3",
    ),
    "a pass mark off the scale": (
        SHORT.replace("yes/no", "{pass: 6, points: {1-3: Bad., 4-5: Good.}}"),
        "4: the pass mark is 6, which the scale does not offer; `pass` is one of 1, 2, 3, 4 or 5",
    ),
    "no pass mark": (
        SHORT.replace("yes/no", "{points: {1-3: Bad., 4-5: Good.}}"),
        "4: the pass mark is missing; `pass` is one of 1, 2, 3, 4 or 5",
    ),
    "a bare yes as pass mark": (
        SHORT.replace("yes/no", '{pass: yes, points: {"no": Bad., "yes": Good.}}'),
        (
            '4: the pass mark is True, which the scale does not offer; `pass` is one of "no" or'
            ' "yes" (YAML reads a bare yes or no as true or false: write "yes", "no")'
        ),
    ),
    "a category that is not there": (
        CHUNKS.replace("[current, timeless]", "[current, recent]"),
        (
            "6: the pass mark is 'recent', which the scale does not offer; `pass` is one of"
            ' "outdated", "current" or "timeless"'
        ),
    ),
    "no category passes": (
        CHUNKS.replace("[current, timeless]", "[]"),
        '6: no category passes; `pass` lists some of "outdated", "current" or "timeless"',
    ),
    "categories that are numbers": (
        SHORT.replace("yes/no", "{pass: [2], points: {1: Bad., 2: Good.}}"),
        "4: a list of passing ratings is for categories, which are words",
    ),
    "the lowest of categories": (
        CHUNKS.replace("own words", "{{scale.lowest}}"),
        (
            "12: section Criteria: unknown placeholder {{scale.lowest}}. Categories have no lowest"
            " and no highest one."
        ),
    ),
    "a flag that fixes a category": (
        CHUNKS.replace("scale:", "flags:\n  old: {meaning: m, rating: lowest}\nscale:"),
        "6: the flag old cannot fix the rating: categories have no lowest and no highest one",
    ),
    "an unknown placeholder": (
        SHORT.replace("thanks", "{{scales}}"),
        "6: section Criteria: unknown placeholder {{scales}}. Did you mean 'scale'?",
    ),
    "an input in the criteria": (
        SHORT.replace("thanks", "{{question}}"),
        (
            "6: section Criteria: unknown placeholder {{question}}. Leave it out: the inputs are"
            " put behind the criteria by themselves."
        ),
    ),
    "braces in the purpose": (
        SHORT.replace("friendly?", "{{friendly}}?"),
        "3: purpose is shown to the judge as it is and cannot hold double braces",
    ),
    "an unknown input": (
        SHORT.replace("scale:", "inputs: [question, responce]\nscale:"),
        (
            "4: responce is no input of a judge of your own; there are question, response,"
            " contexts, context, reference, expected_facts, guidelines. Did you mean 'response'?"
        ),
    ),
    "a claim": (
        "---\nid: groundednes\nextends: groundedness\n---\n",
        (
            "2: claim is no input of a judge of your own; there are question, response, contexts,"
            " context, reference, expected_facts, guidelines. Did you mean the id 'groundedness'?"
        ),
    ),
    "a chunk at the level answer": (
        SHORT.replace("scale:", "inputs: [question, context]\nscale:"),
        (
            "4: context, one chunk by itself, is given at the level retrieval; say `level:"
            " retrieval`, or read contexts"
        ),
    ),
    "no chunk at the level retrieval": (
        CHUNKS.replace("scale:", "inputs: [question, contexts]\nscale:"),
        "5: at the level retrieval each chunk is judged by itself: inputs must hold context",
    ),
    "another item at the level retrieval": (
        CHUNKS.replace("scale:", "item: question\nscale:"),
        "5: item must be context: that is what is judged, each by itself",
    ),
    "lists alone": (
        SHORT.replace("scale:", "inputs: [contexts, expected_facts]\nscale:"),
        "4: inputs must hold a single text as well: question, response or reference",
    ),
    "an unknown level": (
        CHUNKS.replace("level: retrieval", "level: retreival"),
        "3: level must be \"answer\" or \"retrieval\", not 'retreival'. Did you mean 'retrieval'?",
    ),
    "row at the level answer": (
        SHORT.replace("scale:", "row: all\nscale:"),
        "4: row says when a row of many contexts passes: it needs `level: retrieval`",
    ),
    "guidelines at the level retrieval": (
        RULES.replace("guidelines:", "level: retrieval\nguidelines:"),
        '5: guidelines are checked at the level "answer" only',
    ),
    "guidelines that are no list": (
        re.sub(r"guidelines:\n(  - .*\n)+", "guidelines: Be polite.\n", RULES),
        "4: guidelines must be a list of texts, one a guideline",
    ),
    "a guideline given twice": (
        RULES.replace("names no competitor", "is in English"),
        "6: the guideline is given twice",
    ),
    "a level for a built-in rubric": (
        "---\nid: chunk_relevance\nversion: 2\nextends: chunk_relevance\nlevel: retrieval\n---\n",
        "5: level is for a judge of your own; chunk_relevance is a built-in rubric",
    ),
    "claims instead of ratings": (
        SHORT.replace("scale:", "writes: claims\nscale:"),
        '4: a judge of your own gives a score, so it writes "ratings"',
    ),
    "an id that is no name": (
        SHORT.replace("friendly\n", "Is it friendly?\n", 1),
        "2: id must be a name in small letters, digits and _",
    ),
    "the id of a metric": (
        SHORT.replace("id: friendly", "id: faithfulness"),
        "2: faithfulness is the name of a metric or of a built-in measure; choose another id",
    ),
    "the id of a measure": (
        SHORT.replace("id: friendly", "id: similarity"),
        "2: similarity is the name of a metric or of a built-in measure; choose another id",
    ),
    "an example off the scale": (
        SHORT.replace("---\nA", "examples:\n  - {response: Hi., rating: 1}\n---\nA"),
        '6: example 1 has the rating 1, the scale offers "no" or "yes"',
    ),
    "an example of something else": (
        SHORT.replace("---\nA", "examples:\n  - {response: Hi., answer: x, rating: 'no'}\n---\nA"),
        "6: example 1: 'answer' is no input and no part of a verdict",
    ),
    "a heading in the criteria": (
        SHORT + "\n## Notes\nOn tone.\n",
        (
            "8: 'Notes' is not a section; sections are ## System, ## Criteria, ## User (a heading"
            " within the criteria begins with ###)"
        ),
    ),
}


@pytest.mark.parametrize(("text", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_mistake_of_a_judge_of_ones_own_is_explained_with_its_line(
    text: str, problem: str, tmp_path: Path
) -> None:
    path = write(tmp_path, text)
    assert check(path, reserved={"faithfulness"}) == [f"{path}:{problem}"]
    with pytest.raises(SetupError) as caught:
        RUBRICS.with_files([path], reserved={"faithfulness"})
    assert caught.value.code == "E0204"


def test_two_files_cannot_have_one_id_unless_the_later_builds_on_the_earlier(
    tmp_path: Path,
) -> None:
    first, second = write(tmp_path, SHORT), write(tmp_path, SHORT, "again.md")
    with pytest.raises(SetupError) as caught:
        RUBRICS.with_files([first, second])
    assert (
        f"{second}:2: friendly is already the id of {first}; choose another id" in caught.value.why
    )
    text = SHORT.replace("id: friendly\n", "id: friendly\nextends: friendly\n")
    assert len(RUBRICS.with_files([first, write(tmp_path, text, "again.md")]).custom) == 1


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = SHORT.replace("scale: yes/no", "level: answers\nscale: 1-5\nbatch: 0\nwirtes: x")
    assert len(check(write(tmp_path, text))) == 4


# -- hostile files

words = st.sampled_from(
    [
        "answer",
        "retrieval",
        "any",
        "all",
        "yes/no",
        "1-5",
        "context",
        "contexts",
        "question",
        "response",
        "guideline",
        "claim",
        "groundedness",
        "chunk_relevance",
        "friendly",
        "ratings",
        "quotes",
        "rating",
        "points",
        "pass",
        "meaning",
        "{{question}}",
        "{{",
        "yes",
        "",
    ]
)
scalars = (
    words | st.none() | st.booleans() | st.integers(-3, 10**30) | st.floats() | st.text(max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(scalars, inner, max_size=4),
    max_leaves=12,
)
KEYS = (
    "id",
    "version",
    "extends",
    "purpose",
    "inputs",
    "item",
    "batch",
    "asks_reasons",
    "asks_quotes",
    "asks_sources",
    "writes",
    "flags",
    "scale",
    "wordings",
    "examples",
    "level",
    "row",
    "guidelines",
)
scales = st.builds(
    lambda points, mark, step: {"points": points, "pass": mark, "step": step},
    values | st.dictionaries(st.integers(0, 4) | words, words),
    scalars | st.lists(words, max_size=3),
    st.just(1) | scalars,
)


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from(KEYS), values | scales, max_size=6),
    st.sampled_from([SHORT, CHUNKS, RULES]),
    st.sampled_from(
        [
            "",
            "Be kind.",
            "## User\n{{response}}",
            "## Criteria\n{{scale.lowest}}",
            "## System\n{{reply}}\n",
        ]
    ),
)
def test_whatever_a_header_says_it_is_a_rubric_whose_prompts_can_be_written_or_a_list_of_mistakes(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, object], base: str, body: str
) -> None:
    header = {**yaml.safe_load(base.split("---\n")[1]), **changes}
    path = tmp_path_factory.getbasetemp() / "fuzzed.md"
    path.write_text(
        f"---\n{yaml.safe_dump(header, allow_unicode=True)}---\n{body}",
        encoding="utf-8",
        errors="replace",
    )
    problems = check(path)
    if problems:
        with pytest.raises(SetupError):
            RUBRICS.with_files([path])
        return
    registry = RUBRICS.with_files([path])
    rubric = registry.custom[-1] if registry.custom else registry.get(str(header["id"]))
    assert rubric.system_prompt("question")
    request = Request(
        rubric.id,
        {n: ("t",) if n.endswith(("contexts", "facts", "s")) else "t" for n in rubric.inputs},
    )
    assert LLMJudge("m", registry).call(rubric, {"a": request}).messages
    assert rubric.scale is None or all(0 <= point.value <= 1 for point in rubric.scale.points)


HOSTILE = {
    "braces": "{{" * 200_000,
    "headings": "## x\n" * 100_000,
    "placeholders": "{{scale}}" * 50_000,
    "unknown placeholders": "{{x}} " * 100_000,
    "spaces": " " * 500_000,
    "lines": "\n" * 500_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_checked_in_time_that_grows_with_its_length(
    text: str, tmp_path: Path
) -> None:
    def seconds(body: str) -> float:
        path = write(tmp_path, SHORT + body)
        start = time.process_time()
        check(path)
        return time.process_time() - start

    half, whole = (
        min(seconds(text[: len(text) // 2]) for _ in range(3)),
        min(seconds(text) for _ in range(3)),
    )
    assert whole < max(0.5, 5 * half)
    assert whole < 2


HEADERS = {
    "keys": "".join(f"k{n}: 1\n" for n in range(4_000)),
    "points": "scale: {pass: 1, points: [" + "{rating: 1-100, meaning: m}," * 1_000 + "]}\n",
    "guidelines": "guidelines: [" + "a," * 6_000 + "]\n",
    "examples": "examples: [" + "{response: r, x: y, rating: 9}," * 800 + "]\n",
    "inputs": "inputs: [" + ",".join(f"a{n}" for n in range(5_000)) + "]\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS)
def test_of_a_header_full_of_mistakes_a_hundred_are_listed_at_most(
    text: str, tmp_path: Path
) -> None:
    path = write(tmp_path, SHORT.replace("scale: yes/no\n", text))
    problems = check(path)
    assert 1 <= len(problems) <= 101
    assert (problems[-1] == f"{path}: there may be more mistakes") == (len(problems) == 101)


def test_a_header_of_hundreds_of_kilobytes_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, SHORT.replace("scale:", f"source: {'x' * 200_000}\nscale:"))
    assert check(path) == [f"{path}:1: the front matter is longer than 200,000 characters"]
