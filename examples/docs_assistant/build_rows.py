"""How do the example rows come about? `python -m examples.docs_assistant.build_rows` writes them.

Every question is really searched for, with the settings of the system version that answered it; the
answers and the labels were written by hand. The same inputs give the same bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.docs_assistant.assistant import Hit, Index, load_corpus

HERE = Path(__file__).parent

TARGET = HERE.parents[1] / "src" / "ragassay" / "examples" / "rows.jsonl"
TOKENS_PER_WORD = 1.35
DOLLARS_PER_INPUT_TOKEN, DOLLARS_PER_OUTPUT_TOKEN = 0.15e-6, 0.60e-6
WRONG_PAGE = {"metrics": "privacy", "ci": "judges"}


@dataclass(frozen=True, slots=True)
class System:
    """One version of the assistant.

    k: passages returned. rewrite: searches for a shortened query instead of the question.
    index: "all" pages; "empty", built before any page was read; "one", the page a faulty router
    chose for the topic. seconds: its usual time to the first word.
    """

    k: int
    rewrite: bool
    seconds: float
    index: str = "all"


SYSTEMS = {
    "v1": System(k=4, rewrite=False, seconds=0.6),
    "v2": System(k=3, rewrite=True, seconds=0.8),
    "v3": System(k=5, rewrite=True, seconds=0.5),
    "v4": System(k=4, rewrite=True, seconds=0.9),
    "nightly": System(k=3, rewrite=True, seconds=0.3, index="empty"),
    "routed": System(k=3, rewrite=True, seconds=0.8, index="one"),
}


def read(name: str) -> list[dict[str, Any]]:
    """The records of a JSONL file beside this one."""
    found: list[dict[str, Any]] = [
        json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()
    ]
    return found


def retrieve(system: System, question: dict[str, Any]) -> list[Hit]:
    """What this version of the assistant finds for the question."""
    passages = load_corpus()
    if system.index == "empty":
        passages = []
    elif system.index == "one":
        passages = [p for p in passages if p.page == WRONG_PAGE[question["topic"]]]
    return Index(passages).search(
        question["search"] if system.rewrite else question["question"], system.k
    )


def usage(system: System, prompt: str, response: str) -> dict[str, float]:
    """Plausible figures, estimated from the length of the texts; nothing was measured."""
    tokens_in = round(TOKENS_PER_WORD * (len(prompt.split()) + 40))
    tokens_out = round(TOKENS_PER_WORD * len(response.split()))
    cost = tokens_in * DOLLARS_PER_INPUT_TOKEN + tokens_out * DOLLARS_PER_OUTPUT_TOKEN
    latency = system.seconds + 0.012 * tokens_out
    return {
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "cost": round(cost, 8),
        "latency": round(latency, 3),
    }


def build() -> str:
    """All rows as JSONL, in the order of answers.jsonl."""
    questions = {question["id"]: question for question in read("questions.jsonl")}
    lines = []
    for answer in read("answers.jsonl"):
        question, name = questions[answer["question"]], answer["system"]
        hits = retrieve(SYSTEMS[name], question)
        prompt = " ".join([question["question"], *(hit.passage.text for hit in hits)])
        row = {
            "id": f"{question['id']}-{name}",
            "question": question["question"],
            "contexts": [
                {"id": hit.passage.id, "text": hit.passage.text, "score": hit.score} for hit in hits
            ],
            "response": answer["response"],
            "slices": {"topic": question["topic"], "system": name},
            "cluster": question["id"],
            "usage": usage(SYSTEMS[name], prompt, answer["response"]),
            "labels": answer["labels"],
        }
        row |= {
            name: question[name]
            for name in ("reference", "relevant_ids", "answerable")
            if name in question
        }
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


if __name__ == "__main__":
    TARGET.write_text(build(), encoding="utf-8")
    print(f"{TARGET.name}: {len(TARGET.read_text(encoding='utf-8').splitlines())} rows")
