"""Which verdicts are both sides given? Seeded random rows, and hand-picked edge cases with a name
each.

A row is what a judge would have said about one sample, so that only the arithmetic after it can
differ:

- `claim_in_context[i][c]`: does chunk c support claim i of the response; None instead of the list:
  the judge gave no verdict.
- `claim_in_reference[i]`, `statement_in_context[j][c]`, `statement_in_response[j]`: the other edges
  of the claim graph.
- `chunk_useful[c]`: is chunk c relevant to the question. `sentence_relevant[c][s]`: and each
  sentence of it.
- `dual`: the ratings of the two templates of the light metrics. `reverse`: the questions read off
  the response.
- `entities`: of the reference and of the contexts. `vectors`: the embedding of every text that is
  compared.
"""

from __future__ import annotations

import random
from typing import TypedDict

SEED = 20261121
RANDOM_ROWS = 200
K = 3
"""Where the rankings are cut."""
NO_CLAIM = "Sure!"
"""A text that makes no claim: a splitter or a model lists nothing."""


CASES = {
    "one_verdict_of_four_yes": "four claims; the judge answers for the first alone, and says yes",
    "one_verdict_of_four_wrong_claim": (
        "four claims, the first two supported; against the reference the judge answers for the "
        "first alone, and says no"
    ),
    "one_statement_verdict_of_four": (
        "four statements in the reference; the judge answers for the first alone, and says yes"
    ),
    "one_chunk_verdict_of_three": (
        "three chunks; the judge answers for the first alone, and says relevant"
    ),
    "no_verdicts": "four claims, two statements, three chunks; no verdict at all arrives",
    "first_template_lost": (
        "two templates; the rating of the first is off the scale, however often it is asked"
    ),
    "second_template_lost": (
        "two templates; the rating of the second is off the scale, however often it is asked"
    ),
    "no_claims": f"the response is {NO_CLAIM!r}: it claims nothing",
    "empty_response": "the response is empty",
    "no_statements": f"the reference is {NO_CLAIM!r}: it states nothing",
    "no_contexts": "nothing was retrieved; two of four claims are in the reference",
    "only_irrelevant_chunks": (
        "no chunk supports a statement of the reference, all support the claims; one claim is not"
        " in the reference"
    ),
    "all_wrong": "nothing supports anything",
    "all_right": "everything supports everything",
    "duplicate_claims": (
        "the response makes the same unsupported claim twice, beside two supported ones"
    ),
    "nothing_relevant_known": "the row names no relevant document",
    "fewer_retrieved_than_k": "one document retrieved, of three relevant ones; k = 3",
    "repeated_ids": "d0, d0, d1 retrieved; d0, d1 and a third are relevant",
    "repeated_entities": (
        "the entities of the reference are listed as Name1, Name1, Name2; the contexts name Name1"
    ),
    "entity_written_otherwise": "Café Roma in the reference, CAFE ROMA in the contexts",
    "negative_cosine": "embeddings that point in opposite directions",
    "some_noncommittal": "one of three generated questions is marked noncommittal",
}
"""What each edge case is."""


class Row(TypedDict):
    """One row of verdicts; see the module. `edge` is "" for a random row, else the name of the edge
    case.
    """

    id: str
    edge: str
    question: str
    response: str
    reference: str
    claims: list[str]
    statements: list[str]
    chunks: list[list[str]]
    claim_in_context: list[list[bool] | None]
    claim_in_reference: list[bool | None]
    statement_in_context: list[list[bool] | None]
    statement_in_response: list[bool | None]
    chunk_useful: list[bool | None]
    sentence_relevant: list[list[bool]]
    ids: list[str]
    relevant_ids: list[str]
    dual: dict[str, list[int | None]]
    questions: list[str]
    noncommittal: list[bool]
    entities: dict[str, list[str]]
    vectors: dict[str, list[float]]


def contexts(row: Row) -> list[str]:
    """The chunks as texts."""
    return [" ".join(sentences) for sentences in row["chunks"]]


def any_chunk(edges: list[list[bool] | None]) -> list[bool | None]:
    """Is each claim supported by at least one chunk; None where there is no verdict."""
    return [None if edge is None else any(edge) for edge in edges]


def chunk_supports(edges: list[list[bool] | None], chunks: int) -> list[bool]:
    """Does each chunk support at least one claim, by the verdicts there are."""
    return [any(edge[c] for edge in edges if edge is not None) for c in range(chunks)]


def one_to_one(row: Row) -> bool:
    """As many claims state the reference as statements of the reference are stated."""
    return row["claim_in_reference"].count(True) == row["statement_in_response"].count(True)


def all_rows() -> list[Row]:
    """The random rows, then the edge cases."""
    chosen = random.Random(SEED)
    rows = [_random_row(chosen, i) for i in range(RANDOM_ROWS)] + _edge_cases()
    for row in rows:
        _write_entities(row)
    return rows


def _write_entities(row: Row) -> None:
    """The entities stand in the texts that name them, too: a metric may look for them instead of
    asking.
    """
    if row["chunks"] and row["entities"]["contexts"]:
        row["chunks"][0].append(f"Named here: {', '.join(row['entities']['contexts'])}.")
        row["sentence_relevant"][0].append(row["sentence_relevant"][0][-1])
    if row["statements"]:
        row["statements"][0] = (
            f"{row['statements'][0][:-1]} for {' and '.join(row['entities']['reference'])}."
        )
        reference = " ".join(row["statements"])
        row["vectors"][reference] = row["vectors"].pop(row["reference"])
        row["reference"] = reference


def _random_row(chosen: random.Random, number: int) -> Row:
    claims, statements, chunks = chosen.randint(1, 6), chosen.randint(1, 5), chosen.randint(1, 5)
    row = _row(f"random-{number}", claims, statements, chunks, chosen)
    rate = chosen.choice([0.15, 0.5, 0.85])

    def flags(count: int) -> list[bool]:
        return [chosen.random() < rate for _ in range(count)]

    row["claim_in_context"] = [flags(chunks) for _ in range(claims)]
    row["statement_in_context"] = [flags(chunks) for _ in range(statements)]
    if number % 2:  # every right claim states exactly one statement of the reference
        right = chosen.randint(0, min(claims, statements))
        row["claim_in_reference"] = _shuffled(chosen, right, claims)
        row["statement_in_response"] = _shuffled(chosen, right, statements)
    else:
        row["claim_in_reference"] = list(flags(claims))
        row["statement_in_response"] = list(flags(statements))
    row["chunk_useful"] = list(flags(chunks))
    row["sentence_relevant"] = [flags(len(sentences)) for sentences in row["chunks"]]
    pool = [f"d{i}" for i in range(8)]
    row["ids"] = (
        [chosen.choice(pool) for _ in range(chunks)]
        if number % 5 == 0
        else chosen.sample(pool, chunks)
    )
    row["relevant_ids"] = chosen.sample(pool, chosen.randint(1, 4))
    row["dual"] = {
        "context_relevance": [chosen.choice([0, 1, 2]) for _ in range(2)],
        "response_groundedness": [chosen.choice([0, 1, 2]) for _ in range(2)],
        "answer_accuracy": [chosen.choice([0, 2, 4]) for _ in range(2)],
    }
    row["noncommittal"] = [chosen.random() < 0.2] * 3
    names = [f"Name{i}" for i in range(6)]
    row["entities"] = {
        "reference": chosen.sample(names, chosen.randint(1, 5)),
        "contexts": chosen.sample(names, chosen.randint(0, 6)),
    }
    return row


def _shuffled(chosen: random.Random, true: int, count: int) -> list[bool | None]:
    flags: list[bool | None] = [i < true for i in range(count)]
    chosen.shuffle(flags)
    return flags


def _row(name: str, claims: int, statements: int, chunks: int, chosen: random.Random) -> Row:
    """A row of that shape in which everything is right: every edge case starts from here."""
    said = [f"Gate {i + 1} of bridge {name} is painted green." for i in range(claims)]
    stated = [f"Tower {i + 1} of bridge {name} is built of stone." for i in range(statements)]
    parts = [
        [
            f"Chapter {c + 1} page {s + 1} tells of bridge {name} at length."
            for s in range(1 + (c + chunks) % 3)
        ]
        for c in range(chunks)
    ]
    question = f"What is bridge {name} like?"
    asked = [f"Is question {i} about bridge {name}?" for i in range(3)]
    response, reference = " ".join(said), " ".join(stated)
    return {
        "id": name,
        "edge": "",
        "question": question,
        "response": response,
        "reference": reference,
        "claims": said,
        "statements": stated,
        "chunks": parts,
        "claim_in_context": [[True] * chunks for _ in said],
        "claim_in_reference": [True] * claims,
        "statement_in_context": [[True] * chunks for _ in stated],
        "statement_in_response": [True] * statements,
        "chunk_useful": [True] * chunks,
        "sentence_relevant": [[True] * len(part) for part in parts],
        "ids": [f"d{c}" for c in range(chunks)],
        "relevant_ids": [f"d{c}" for c in range(chunks)],
        "dual": {
            "context_relevance": [2, 2],
            "response_groundedness": [2, 2],
            "answer_accuracy": [4, 4],
        },
        "questions": asked,
        "noncommittal": [False] * 3,
        "entities": {"reference": ["Name1"], "contexts": ["Name1"]},
        "vectors": {
            text: [chosen.random() + 0.01 for _ in range(4)]
            for text in (question, response, reference, *asked)
        },
    }


def _edge_cases() -> list[Row]:
    chosen = random.Random(SEED + 1)
    rows: list[Row] = []

    def edge(name: str, claims: int = 4, statements: int = 2, chunks: int = 3) -> Row:
        row = _row(name.replace("_", "-"), claims, statements, chunks, chosen)
        row["edge"] = name
        assert name in CASES, name
        rows.append(row)
        return row

    edge("all_right")

    row = edge("all_wrong")
    row["claim_in_context"], row["claim_in_reference"] = [[False] * 3] * 4, [False] * 4
    row["statement_in_context"], row["statement_in_response"] = [[False] * 3] * 2, [False] * 2
    row["chunk_useful"], row["sentence_relevant"] = (
        [False] * 3,
        [[False] * len(s) for s in row["chunks"]],
    )
    row["relevant_ids"] = ["elsewhere"]
    row["dual"] = {
        "context_relevance": [0, 0],
        "response_groundedness": [0, 0],
        "answer_accuracy": [0, 0],
    }
    row["noncommittal"], row["entities"]["contexts"] = [True] * 3, []

    row = edge("one_verdict_of_four_yes")
    row["claim_in_context"], row["claim_in_reference"] = (
        [[True] * 3, None, None, None],
        [True, None, None, None],
    )

    row = edge("one_verdict_of_four_wrong_claim")
    row["claim_in_context"] = [[True] * 3, [True] * 3, [False] * 3, [False] * 3]
    row["claim_in_reference"] = [False, None, None, None]

    row = edge("one_statement_verdict_of_four", statements=4)
    row["statement_in_context"], row["statement_in_response"] = (
        [[True] * 3, None, None, None],
        [True, None, None, None],
    )

    row = edge("no_verdicts")
    row["claim_in_context"], row["claim_in_reference"] = [None] * 4, [None] * 4
    row["statement_in_context"], row["statement_in_response"] = [None] * 2, [None] * 2
    row["chunk_useful"] = [None] * 3
    row["dual"] = {
        "context_relevance": [None] * 2,
        "response_groundedness": [None] * 2,
        "answer_accuracy": [None] * 2,
    }
    row["questions"], row["noncommittal"] = [], []

    row = edge("one_chunk_verdict_of_three")
    row["chunk_useful"] = [True, None, None]

    row = edge("first_template_lost")
    row["dual"] = {
        "context_relevance": [None, 1],
        "response_groundedness": [None, 1],
        "answer_accuracy": [None, 2],
    }

    row = edge("second_template_lost")
    row["dual"] = {
        "context_relevance": [1, None],
        "response_groundedness": [1, None],
        "answer_accuracy": [2, None],
    }

    row = edge("no_claims", claims=0)
    row["response"] = NO_CLAIM
    row["vectors"][NO_CLAIM] = [1.0, 0.0, 0.0, 0.0]
    row["statement_in_response"] = [False, False]

    row = edge("no_statements", statements=0)
    row["reference"] = NO_CLAIM
    row["vectors"][NO_CLAIM] = [1.0, 0.0, 0.0, 0.0]
    row["claim_in_reference"] = [False] * 4
    row["entities"]["reference"] = []

    row = edge("empty_response", claims=0)
    row["response"] = ""
    row["vectors"][""] = [1.0, 0.0, 0.0, 0.0]
    row["statement_in_response"] = [False, False]

    row = edge("no_contexts", chunks=0)
    row["claim_in_reference"] = [False, False, True, True]
    row["relevant_ids"], row["entities"]["contexts"] = ["d0"], []

    row = edge("duplicate_claims")
    row["claims"] = [row["claims"][0], row["claims"][0], *row["claims"][2:]]
    row["response"] = " ".join(row["claims"])
    row["vectors"][row["response"]] = [1.0, 0.0, 0.0, 0.0]
    row["claim_in_context"] = [[False] * 3, [False] * 3, [True] * 3, [True] * 3]
    row["claim_in_reference"] = [False, False, True, True]

    row = edge("only_irrelevant_chunks")
    row["statement_in_context"], row["chunk_useful"] = [[False] * 3] * 2, [False] * 3
    row["claim_in_reference"] = [False, True, True, True]

    row = edge("nothing_relevant_known")
    row["relevant_ids"] = []

    row = edge("fewer_retrieved_than_k", chunks=1)
    row["relevant_ids"] = ["d0", "x", "y"]

    row = edge("repeated_ids")
    row["ids"], row["relevant_ids"] = ["d0", "d0", "d1"], ["d0", "d1", "x"]

    row = edge("repeated_entities")
    row["entities"] = {"reference": ["Name1", "Name1", "Name2"], "contexts": ["Name1"]}

    row = edge("entity_written_otherwise")
    row["entities"] = {"reference": ["Café Roma"], "contexts": ["CAFE ROMA"]}

    row = edge("negative_cosine")
    row["vectors"] = {text: [-1.0, 0.0, 0.0, 0.0] for text in row["vectors"]}
    row["vectors"][row["question"]] = row["vectors"][row["response"]] = [1.0, 0.0, 0.0, 0.0]

    row = edge("some_noncommittal")
    row["noncommittal"] = [True, False, False]
    return rows
