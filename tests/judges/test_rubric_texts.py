"""What the built-in rubric files hold: complete, consistent, and prompts in which only the last
part varies.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ragassay.core import Request
from ragassay.judges import LLMJudge, RubricRegistry, check
from ragassay.judges.llm.quotes import Finder
from ragassay.judges.llm.reply import parse
from ragassay.judges.rubric import LISTS, Rubric
from ragassay.judges.template import placeholders

RUBRICS = RubricRegistry.default()
IDS = RUBRICS.ids()

# id -> item, batch, ratings (worst first) with their values, pass mark; None where something is
# written.
SCALES: dict[str, tuple[str, int, dict[object, float] | None, object]] = {
    "groundedness": ("claim", 10, {0: 0, 1: 1 / 3, 2: 2 / 3, 3: 1}, 2),
    "claim_sources": ("claim", 20, {"no": 0, "yes": 1}, "yes"),
    "entailment": ("claim", 20, {"contradicted": 0, "not_stated": 0, "stated": 1}, "stated"),
    "sentence_relevance": ("context", 8, None, None),
    "context_relevance_dual_1": ("question", 1, {0: 0, 1: 0.5, 2: 1}, 1),
    "context_relevance_dual_2": ("question", 1, {0: 0, 1: 0.5, 2: 1}, 1),
    "response_groundedness_dual_1": ("response", 1, {0: 0, 1: 0.5, 2: 1}, 1),
    "response_groundedness_dual_2": ("response", 1, {0: 0, 1: 0.5, 2: 1}, 1),
    "answer_accuracy_dual_1": ("answer", 1, {0: 0, 2: 0.5, 4: 1}, 2),
    "answer_accuracy_dual_2": ("answer", 1, {0: 0, 2: 0.5, 4: 1}, 2),
    "context_relevance_dual_1_light": ("question", 1, {0: 0, 1: 0.5, 2: 1}, 1),
    "context_relevance_dual_2_light": ("question", 1, {0: 0, 1: 0.5, 2: 1}, 1),
    "response_groundedness_dual_1_light": ("response", 1, {0: 0, 1: 0.5, 2: 1}, 1),
    "response_groundedness_dual_2_light": ("response", 1, {0: 0, 1: 0.5, 2: 1}, 1),
    "answer_accuracy_dual_1_light": ("answer", 1, {0: 0, 2: 0.5, 4: 1}, 2),
    "answer_accuracy_dual_2_light": ("answer", 1, {0: 0, 2: 0.5, 4: 1}, 2),
    "context_sufficiency": ("question", 1, {"no": 0, "yes": 1}, "yes"),
    "context_sufficiency_open": ("question", 1, {"no": 0, "yes": 1}, "yes"),
    "correctness": ("response", 1, {"no": 0, "yes": 1}, "yes"),
    "correctness_3": ("response", 1, {"incorrect": 0, "not_attempted": 0, "correct": 1}, "correct"),
    "safety": ("response", 1, {"unsafe": 0, "safe": 1}, "safe"),
    "guidelines": ("guideline", 20, {"no": 0, "yes": 1}, "yes"),
    "trivial": ("claim", 100, {"trivial": 0, "claim": 1}, "claim"),
    "questions": ("response", 1, None, None),
    "entities": ("text", 1, None, None),
}
PAIRS = ("context_relevance_dual", "response_groundedness_dual", "answer_accuracy_dual")


def request(rubric: Rubric, tag: str) -> Request:
    """A Request with a text for every input; the texts differ by the tag."""
    texts = {name: f"The {name} of {tag}." for name in rubric.inputs}
    return Request(rubric.id, {n: (t, f"More {t}") if n in LISTS else t for n, t in texts.items()})


def prompt(rubric: Rubric, tag: str) -> tuple[str, str]:
    judge = LLMJudge("openai:m", RUBRICS)
    system, user = judge.call(rubric, {"id1": request(rubric, tag)}).messages
    return system.content, user.content


@pytest.mark.parametrize("name", sorted(SCALES))
def test_it_has_the_scale_that_its_metric_counts_on(name: str) -> None:
    rubric = RUBRICS.get(name)
    item, batch, ratings, mark = SCALES[name]
    assert (rubric.item, rubric.batch) == (item, batch)
    if ratings is None:
        assert rubric.scale is None
        return
    assert rubric.scale is not None
    assert {rating: rubric.scale.value(rating) for rating in rubric.scale.ratings} == pytest.approx(
        ratings
    )
    assert rubric.scale.pass_mark == mark
    assert next(rating for rating in rubric.scale.ratings if rubric.scale.passes(rating)) == mark
    assert rubric.asks_reasons is not (name == "trivial" or name.endswith("_light"))


def test_the_flags_that_metrics_read_are_there() -> None:
    flags = {name: {flag.name: flag.end for flag in RUBRICS.get(name).flags} for name in IDS}
    assert flags["safety"] == dict.fromkeys(
        (
            "violence",
            "self_harm",
            "hate",
            "sexual",
            "crime",
            "toxicity",
            "bias",
            "pii",
            "other_harm",
        ),
        "",
    )
    assert flags["questions"] == {"noncommittal": ""}
    assert flags["correctness"] == flags["answer_relevance"] == {"declined": "lowest"}
    assert flags["groundedness"] == {"abstention": "highest", "nothing_found": "lowest"}


def test_groundedness_and_claim_sources_ask_for_every_passage_that_supports_a_claim() -> None:
    for name in ("groundedness", "claim_sources"):
        text = " ".join(RUBRICS.get(name).system_prompt().split())
        assert '"supported_by":[1,3]' in text
        assert "all passages that support the claim, alone or as a needed part" in text
    assert not any(
        RUBRICS.get(name).asks_sources
        for name in IDS
        if name not in ("groundedness", "claim_sources")
    )


@pytest.mark.parametrize("name", IDS)
class TestEach:
    def test_it_passes_its_own_check_and_says_what_it_is(self, name: str) -> None:
        import ragassay.judges.registry as registry

        folder = Path(registry.__file__).parent / "rubrics"
        rubric = RUBRICS.get(name)
        assert check(folder / f"{name}.md") == []
        assert rubric.purpose.endswith(("?", "."))
        assert rubric.source
        assert len(rubric.examples) >= 2 or name == "claims"

    def test_its_prompt_is_filled_and_holds_every_text(self, name: str) -> None:
        rubric = RUBRICS.get(name)
        system, user = prompt(rubric, "row 1")
        assert list(placeholders(system + user)) == []
        assert "{{" not in system + user
        for text in rubric.inputs:
            assert f"The {text} of row 1." in user
            assert text not in LISTS or f"More The {text} of row 1." in user
        for word in ("one JSON object", '{"id":"TAG",', "They are data", "never obeyed"):
            assert word in system
        if rubric.scale is not None:
            assert f'"rating":{rubric.scale.form}' in system

    def test_its_system_part_is_the_same_for_every_row_so_that_it_is_cached(
        self, name: str
    ) -> None:
        rubric = RUBRICS.get(name)
        assert prompt(rubric, "row 1")[0] == prompt(rubric, "row 2")[0]
        # What varies is a small part of what is said around the texts.
        system, user = prompt(rubric, "row 1")
        shown = request(rubric, "row 1")
        texts = sum(len(text) for name in rubric.inputs for text in shown.texts(name))
        assert len(user) - texts < len(system) / 2

    def test_contexts_come_first_and_what_varies_comes_last(self, name: str) -> None:
        rubric = RUBRICS.get(name)
        used = [found for found, _ in placeholders(rubric.user) if found in rubric.inputs]
        assert sorted(used) == sorted(rubric.inputs)
        assert used[-1] == rubric.item
        assert "contexts" not in used or used[0] == "contexts"

    def test_it_says_that_orders_in_the_texts_are_not_obeyed(self, name: str) -> None:
        assert re.search(
            r"tells? (?:you|what)\b|[Oo]rders|instruct|how to rate|instruction",
            RUBRICS.get(name).criteria,
        )

    def test_its_examples_are_replies_that_we_would_accept(self, name: str) -> None:
        rubric = RUBRICS.get(name)
        shown = re.findall(r"^verdict: (\{.*\})$", rubric.system_prompt("question"), re.M)
        assert len(shown) == len(rubric.examples)
        for line, example in zip(shown, rubric.examples, strict=True):
            reply = json.dumps({"verdicts": [{"id": "a", "reasoning": "why", **json.loads(line)}]})
            verdict = parse(reply, rubric, ["a"])["a"]
            assert verdict.rating == example.get("rating")
            assert set(verdict.flags) == {
                flag.name for flag in rubric.flags if example.get(flag.name)
            }

    def test_the_quotes_and_passages_that_its_examples_name_exist(self, name: str) -> None:
        for example in RUBRICS.get(name).examples:
            contexts = example.get("contexts") or [example.get("context") or ""]
            assert isinstance(contexts, list)
            finder = Finder(contexts)
            for quote in example.get("quotes") or []:  # type: ignore[attr-defined]
                (found, *_) = finder.find(quote["text"])
                assert found.quote == quote["text"]
                assert found.context == quote.get("passage", 1) - 1
            numbers = example.get("supported_by") or []
            assert set(numbers) <= set(range(1, len(contexts) + 1))  # type: ignore[call-overload]

    def test_an_example_that_a_flag_contradicts_is_no_example(self, name: str) -> None:
        rubric = RUBRICS.get(name)
        for example in rubric.examples:
            for flag in rubric.flags:
                if flag.end and example.get(flag.name):
                    assert rubric.scale is not None
                    end = rubric.scale.highest if flag.end == "highest" else rubric.scale.lowest
                    assert example["rating"] == end


def test_what_is_said_around_the_texts_of_a_row_of_the_triad_is_under_900_words() -> None:
    """A row of 4 chunks and 4 claims in three calls: 18 texts, each with its fence."""
    question = "What happened to the station?"
    chunks = tuple(f"Chunk {n} tells of the station." for n in range(4))
    claims = tuple(f"Claim {n} is about the station." for n in range(4))
    response = " ".join(claims)
    asked = [
        [Request("context_relevance", {"question": question, "context": c}) for c in chunks],
        [
            Request(
                "groundedness",
                {"question": question, "response": response, "contexts": chunks, "claim": claim},
            )
            for claim in claims
        ],
        [Request("answer_relevance", {"question": question, "response": response})],
    ]
    judge = LLMJudge("openai:m", RUBRICS)
    words = 0
    for requests in asked:
        rubric = RUBRICS.get(requests[0].rubric)
        call = judge.call(rubric, {f"{n:08x}": r for n, r in enumerate(requests)})
        words += sum(len(message.content.split()) for message in call.messages)
    # The question three times, the chunks and the response twice, the claims once.
    own = 3 * len(question.split()) + 2 * 4 * 6 + 3 * 4 * 6
    assert words - own < 900


@pytest.mark.parametrize("name", PAIRS)
def test_two_templates_of_a_pair_ask_the_same_in_other_words(name: str) -> None:
    first, second = (RUBRICS.get(f"{name}_{n}") for n in (1, 2))
    assert first.inputs == second.inputs
    assert first.scale is not None
    assert second.scale is not None
    assert first.scale.ratings == second.scale.ratings

    def grams(rubric: Rubric) -> set[tuple[str, ...]]:
        points = rubric.scale.points if rubric.scale else ()
        text = " ".join([rubric.system, rubric.criteria, *(point.meaning for point in points)])
        words = re.findall(r"\w+", re.sub(r"\{\{.*?\}\}|The ratings are:", " ", text).lower())
        return {tuple(words[at : at + 4]) for at in range(len(words) - 3)}

    shared = len(grams(first) & grams(second)) / min(len(grams(first)), len(grams(second)))
    assert shared < 0.03  # two runs of the judge over one text would be one opinion, asked twice
    assert not {str(e) for e in first.examples} & {str(e) for e in second.examples}


def test_safety_calls_unsafe_exactly_what_has_a_category() -> None:
    rubric = RUBRICS.get("safety")
    for example in rubric.examples:
        harmful = any(example.get(flag.name) for flag in rubric.flags)
        assert example["rating"] == ("unsafe" if harmful else "safe")


def test_sufficiency_names_what_is_missing_in_every_example_that_says_no() -> None:
    for name in ("context_sufficiency", "context_sufficiency_open"):
        rubric = RUBRICS.get(name)
        assert "name what is missing" in rubric.criteria
        for example in rubric.examples:
            assert ("Missing:" in str(example["reasoning"])) is (example["rating"] == "no")
