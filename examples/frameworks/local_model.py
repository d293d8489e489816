"""A model for the examples without a key: it answers with the first passage of its prompt."""

from __future__ import annotations

import time
from typing import Any

from examples.frameworks.handbook import PASSAGES

from ragassay.testing import LLMServer

PORT = 8123


def first_passage(body: dict[str, Any]) -> str | None:
    """The passage that stands first in the prompt; None, for the server's own answer, where a judge
    asks.
    """
    prompt = " ".join(str(message.get("content")) for message in body["messages"])
    if "Answer from the passages" not in prompt:
        return None
    places = [(prompt.find(text), text) for text in PASSAGES.values() if text in prompt]
    return min(places)[1] if places else "The handbook does not say."


def main() -> None:
    """Serve until interrupted."""
    with LLMServer(answer=first_passage, port=PORT) as server:
        print(f"export OPENAI_BASE_URL={server.url} OPENAI_API_KEY=none", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
