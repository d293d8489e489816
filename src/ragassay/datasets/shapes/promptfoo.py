"""promptfoo's results: the elements of results.results in the JSON of `promptfoo eval --output`,
and the lines of its JSONL.

`vars` are the variables of the test, with the question and often the context and the expected
answer; `response` is what the provider gave.
"""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

_VARS = {
    "question": ("question", "query", "user_input", "user_query", "input", "message", "prompt"),
    "contexts": ("contexts", "context", "documents", "retrieved_contexts", "docs", "chunks"),
    "reference": (
        *("reference", "expected", "expected_answer", "expected_output", "ground_truth"),
        *("reference_answer", "gold_answer", "ideal"),
    ),
}
_CONTEXTS_OF_RESPONSE = ("context", "contexts", "documents", "retrieved_contexts")


def _adapt(columns: set[str], reads: dict[str, str], skips: dict[str, str]) -> None:
    for field, names in _VARS.items():
        found = [f"vars.{name}" for name in names if f"vars.{name}" in columns]
        if found:
            reads[field] = found[0]
    # What the application retrieved says more than what the test was given.
    for name in _CONTEXTS_OF_RESPONSE:
        for place in ("response.metadata", "response.output", "metadata"):
            if f"{place}.{name}" in columns:
                reads["contexts"] = f"{place}.{name}"
                return


SHAPES = (
    Shape(
        "promptfoo",
        ("vars", "response"),
        ("test_idx", "prompt_idx", "provider", "test_case", "grading_result", "prompt"),
        {
            "question": "prompt.raw",
            "response": "response.output",
            "total_tokens": "response.token_usage.total",
            "input_tokens": "response.token_usage.prompt",
            "output_tokens": "response.token_usage.completion",
        },
        {},
        adapt=_adapt,
        order=15,
    ),
)
