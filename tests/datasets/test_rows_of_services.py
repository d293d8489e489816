"""Rows as services and public sets write them, whose texts lie in lists, beside a reply, or under
names of their own.
"""

from __future__ import annotations

import json

import pytest

from ragassay.core import Context, Sample, SetupError
from ragassay.datasets import open_rows
from support.rows import samples

QUESTION, ANSWER, RIGHT = "How long is the canal?", "It is 27 km long.", "27 km"
PASSAGE, OTHER = "The canal is 27 km long.", "It was opened in 1937."


def turn(question: str, answer: str) -> dict[str, object]:
    """A turn as Amazon Bedrock's evaluation reads it, with the response of any system."""
    return {
        "prompt": {"content": [{"text": question}]},
        "referenceResponses": [{"content": [{"text": RIGHT}]}],
        "output": {
            "text": answer,
            "knowledgeBaseIdentifier": "ours",
            "retrievedPassages": {
                "retrievalResults": [{"name": "p", "content": {"text": PASSAGE}, "score": 0.5}]
            },
        },
    }


def judged(one: dict[str, object]) -> dict[str, object]:
    """The turn as a job writes it, with its results."""
    given = {name: one[name] for name in ("prompt", "referenceResponses")}
    results = [{"metricName": "Builtin.Correctness", "result": 1.0}]
    return {"inputRecord": given, "output": one["output"], "results": results}


ASKED = {"role": "user", "content": QUESTION}
REPLY = {"role": "assistant", "content": ANSWER}
CITED = {"citations": [{"id": "a.md", "content": PASSAGE}]}
ALL: dict[str, object] = {"question": QUESTION, "response": ANSWER, "contexts": (Context(PASSAGE),)}
CASES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "Bedrock": (
        {"conversationTurns": [turn(QUESTION, ANSWER)]},
        {**ALL, "reference": RIGHT, "contexts": (Context(PASSAGE, None, 0.5),)},
    ),
    "Bedrock, the last of two turns": (
        {"conversationTurns": [turn("Where is it?", "In the north."), turn(QUESTION, ANSWER)]},
        {"question": QUESTION, "response": ANSWER},
    ),
    "Bedrock, what a job writes": (
        {"conversation": {"conversationTurns": [judged(turn(QUESTION, ANSWER))]}},
        {"question": QUESTION, "response": ANSWER, "reference": RIGHT},
    ),
    "Azure, a conversation": (
        {"conversation": {"messages": [ASKED, {**REPLY, "context": PASSAGE}]}},
        ALL,
    ),
    "Azure, citations": (
        {"messages": [ASKED, {**REPLY, "context": CITED}]},
        {**ALL, "contexts": (Context(PASSAGE, "a.md"),)},
    ),
    "Azure, citations as JSON": (
        {"messages": [ASKED, {**REPLY, "context": json.dumps(CITED)}]},
        {**ALL, "contexts": (Context(PASSAGE, "a.md"),)},
    ),
    "Azure, a reply of its API": (
        {"query": QUESTION, "response": {"choices": [{"message": {**REPLY, "context": CITED}}]}},
        {**ALL, "contexts": (Context(PASSAGE, "a.md"),)},
    ),
    "a reply of an earlier turn has its own passages": (
        {"messages": [ASKED, {**REPLY, "context": PASSAGE}, {"role": "user", "content": "Why?"}]},
        {"question": "Why?", "response": None, "contexts": None},
    ),
    "links are no passages": (
        {"messages": [ASKED, {**REPLY, "citations": ["https://a.example", "https://b.example"]}]},
        {"response": ANSWER, "contexts": None},
    ),
    "citations without texts are no passages": (
        {"messages": [ASKED, {**REPLY, "citations": [{"url": "https://a.example"}]}]},
        {"response": ANSWER, "contexts": None},
    ),
    "Open WebUI": (
        {
            "title": "Canal",
            "chat": {
                "messages": [
                    ASKED,
                    {**REPLY, "sources": [{"document": [PASSAGE, OTHER], "metadata": [{}, {}]}]},
                ]
            },
        },
        {**ALL, "contexts": (Context(PASSAGE), Context(OTHER))},
    ),
    "Dify, its history": (
        {
            "query": QUESTION,
            "answer": ANSWER,
            "retriever_resources": [{"content": PASSAGE, "document_id": "d", "score": 0.3}],
        },
        {**ALL, "contexts": (Context(PASSAGE, "d", 0.3),)},
    ),
    "Dify, its reply": (
        {
            "query": QUESTION,
            "answer": ANSWER,
            "metadata": {"retriever_resources": [{"content": PASSAGE}], "usage": {}},
        },
        ALL,
    ),
    "Flowise": (
        {"question": QUESTION, "text": ANSWER, "sourceDocuments": [{"pageContent": PASSAGE}]},
        ALL,
    ),
    "Vectara": (
        {"query": QUESTION, "summary": ANSWER, "search_results": [{"text": PASSAGE}]},
        ALL,
    ),
    "OpenAI's evals": (
        {
            "item": {"question": QUESTION, "reference": RIGHT, "context": PASSAGE},
            "sample": {"output_text": ANSWER},
        },
        {**ALL, "reference": RIGHT},
    ),
    "Patronus": (
        {
            "evaluated_model_input": QUESTION,
            "evaluated_model_output": ANSWER,
            "evaluated_model_retrieved_context": [PASSAGE],
            "evaluated_model_gold_answer": RIGHT,
        },
        {**ALL, "reference": RIGHT},
    ),
    "Braintrust": (
        {
            "input": QUESTION,
            "output": ANSWER,
            "expected": RIGHT,
            "metadata": {"contexts": [PASSAGE]},
        },
        {**ALL, "reference": RIGHT},
    ),
    "free metadata counts only where nothing else does": (
        {
            "query": QUESTION,
            "answer": ANSWER,
            "retrieved_contexts": [PASSAGE],
            "metadata": {"contexts": ["chat"]},
            "expected": "yes",
            "ground_truth": RIGHT,
        },
        {**ALL, "reference": RIGHT},
    ),
    "MS MARCO, whose passages are an object of lists": (
        {
            "query": QUESTION,
            "passages": {
                "passage_text": [PASSAGE, OTHER],
                "is_selected": [1, 0],
                "url": ["u", "v"],
            },
            "response": ANSWER,
        },
        {**ALL, "contexts": (Context(PASSAGE, "u"), Context(OTHER, "v"))},
    ),
    "OpenAI, items of a response": (
        {
            "input": QUESTION,
            "output": [
                {"type": "file_search_call", "results": [{"text": PASSAGE, "score": 0.3}]},
                {**REPLY, "type": "message", "content": [{"type": "output_text", "text": ANSWER}]},
            ],
        },
        {**ALL, "contexts": (Context(PASSAGE, None, 0.3),)},
    ),
    "RAGFlow": (
        {
            "question": QUESTION,
            "answer": ANSWER,
            "reference": {"chunks": [{"id": "c", "content": PASSAGE}], "doc_aggs": []},
        },
        {**ALL, "contexts": (Context(PASSAGE, "c"),), "reference": None},
    ),
    "ShareGPT": (
        {
            "conversations": [
                {"from": "human", "value": QUESTION},
                {"from": "gpt", "value": ANSWER},
            ],
            "context": PASSAGE,
        },
        ALL,
    ),
    "AutoRAG": (
        {
            "query": QUESTION,
            "retrieved_contents": [PASSAGE],
            "generated_texts": ANSWER,
            "generation_gt": [RIGHT],
        },
        {**ALL, "reference": RIGHT},
    ),
    "SQuAD": (
        {
            "question": QUESTION,
            "context": PASSAGE,
            "answers": {"text": [RIGHT], "answer_start": [3]},
        },
        {"question": QUESTION, "contexts": (Context(PASSAGE),), "reference": RIGHT},
    ),
    "HotpotQA": (
        {"question": QUESTION, "context": [["Canal", [PASSAGE, " " + OTHER]]], "answer": ANSWER},
        {**ALL, "contexts": (Context(f"{PASSAGE} {OTHER}", "Canal"),)},
    ),
    "Alpaca, whose input may be a passage or a question": (
        {"instruction": QUESTION, "input": PASSAGE, "output": ANSWER},
        {"question": QUESTION, "response": ANSWER, "contexts": None},
    ),
    "HaluBench": ({"passage": PASSAGE, "question": QUESTION, "answer": ANSWER}, ALL),
}


@pytest.mark.parametrize("name", CASES)
def test_a_row_is_read_as_it_is_meant(name, tmp_path):
    row, expected = CASES[name]
    for file, text in (("rows.jsonl", json.dumps(row)), ("rows.json", json.dumps([row, row]))):
        (tmp_path / file).write_text(text)
        sample = samples(open_rows(tmp_path / file))[0]
        assert {field: getattr(sample, field) for field in expected} == expected
    (in_memory,) = open_rows([row])
    assert isinstance(in_memory, Sample), in_memory


def test_turns_that_only_some_rows_have_are_read_where_they_are(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [{"conversationTurns": []}, {"conversationTurns": [turn(QUESTION, ANSWER)]}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert [sample.response for sample in samples(open_rows(path))] == [None, ANSWER]


def test_map_takes_the_last_place_of_a_list():
    row = {"question": QUESTION, "steps": [{"output": "draft"}, {"output": ANSWER}]}
    (sample,) = samples(open_rows([row], mapping={"response": "steps.-1.output"}))
    assert sample.response == ANSWER


@pytest.mark.parametrize(
    "names",
    [
        ("问题", "上下文", "回答"),
        ("用户问题", "检索文档", "模型答案"),
        ("質問", "文脈", "回答"),
        ("질문", "문맥", "답변"),
        ("вопрос", "контекст", "ответ"),
        ("vraag", "context_tekst", "antwoord"),
    ],
)
def test_columns_named_in_other_languages_are_named_in_the_option(names, tmp_path):
    texts = ("运河有多长？", "这条运河全长二十七公里，于一九三七年开通。", "运河全长二十七公里。")
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([dict(zip(names, texts, strict=True))] * 2))
    with pytest.raises(SetupError, match="E0307") as caught:
        open_rows(path)
    fields = ("question", "contexts", "response")
    options = [f"--map {field}={name}" for field, name in zip(fields, names, strict=True)]
    assert str(caught.value.fix).endswith(" ".join(options))


def test_a_right_answer_is_not_taken_for_the_response(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"问题": "运河有多长？", "参考答案": "运河全长二十七公里。"}]))
    with pytest.raises(SetupError, match="E0307") as caught:
        open_rows(path)
    assert "--map response=COLUMN" in str(caught.value.fix)
