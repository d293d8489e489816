"""An application of its own making, with OpenAI's client and nothing else."""

from __future__ import annotations

from typing import Any

from examples.frameworks.handbook import search
from openai import OpenAI


def answer(question: str) -> dict[str, Any]:
    """Response, contexts with their ids and scores, and what the model used."""
    passages = search(question)
    prompt = "\n".join(["Answer from the passages.", *(text for _, text, _ in passages), question])
    completion = OpenAI().chat.completions.create(
        model="mock", messages=[{"role": "user", "content": prompt}], temperature=0
    )
    contexts = [{"id": name, "text": text, "score": score} for name, text, score in passages]
    return {"response": completion, "contexts": contexts, "usage": completion.usage}
