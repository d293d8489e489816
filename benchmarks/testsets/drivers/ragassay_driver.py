"""RagAssay's own `make_testset`, with a model as writer, and rules or a model as checker."""

from __future__ import annotations

from pathlib import Path

from benchmarks.testsets.drivers.sealed import Row, Task, run

from ragassay import make_testset


def make(task: Task) -> tuple[list[Row], list[str]]:
    """The questions of a test set, and its gaps."""
    made = make_testset(
        task["folder"],
        size=task["size"],
        types=task["types"],
        writer="openai:mock",
        judge=task["judge"],
        base_url=task["url"],
        store=Path(task["folder"]).with_name("store.db"),
    )
    rows = []
    for question in made.questions:
        rows.append(
            {
                "question": question.question,
                "answer": question.reference,
                "contexts": [evidence.quote for evidence in question.evidence],
                "documents": list(question.documents),
                "type": question.type,
            }
        )
    gaps = [f"{gap.type}: {gap.delivered} of {gap.asked}, {gap.reason}" for gap in made.gaps]
    return rows, gaps


if __name__ == "__main__":
    run("ragassay", make)
