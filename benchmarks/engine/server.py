"""Which server do all clients of this benchmark talk to? The common mock endpoint, with one more
caller known to it: ours.

    python server.py BENCH_FOLDER [--record FILE] [options of mock_llm.py]

The endpoint answers a JSON schema with an instance of it, chosen by a hash: of our schema that
would be random ids, some twice and some never, where a model gives each id once, and quotes that
stand nowhere. Here such a schema is answered as a model would: one verdict an id, a reason of 28
words, a quote from a passage of the prompt. Everything else, the answers to the other callers
included, is what mock_llm.py does. --record writes the body of each chat request as a line of a
file.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

PASSAGE = re.compile(r"<<<passage \d+\|([0-9a-f]+)>>>\n([^.]*\.)")


def ids_asked(schema: dict[str, Any]) -> list[str]:
    """The ids that a schema of ours wants a verdict for; [] for any other schema."""
    found: Any = schema
    for step in ("properties", "verdicts", "items", "properties", "id", "enum"):
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []


def verdict(
    mock: Any, name: str, fields: dict[str, Any], passages: list[str], h: int
) -> dict[str, Any]:
    """One entry of a reply."""
    said: dict[str, Any] = {"id": name}
    at = h % max(1, len(passages))
    for field, form in fields.items():
        if field == "quotes":
            said[field] = [{"passage": at + 1, "text": passages[at]}] if passages else []
        elif field == "supported_by":
            said[field] = [at + 1] if passages else []
        elif form.get("type") == "boolean":
            said[field] = False
        elif field != "id":
            said[field] = mock.instance(form, form, field, h * 31 + len(field), 1)
    return said


def main() -> None:
    """Teach the endpoint, and serve."""
    folder, arguments = sys.argv[1], sys.argv[2:]
    sys.path.insert(0, folder)
    mock: Any = importlib.import_module("mock_llm")
    record = (
        Path(arguments.pop(arguments.index("--record") + 1)) if "--record" in arguments else None
    )
    sys.argv[1:] = [argument for argument in arguments if argument != "--record"]
    build, instance, asked = mock.build, mock.instance, b""

    def recorded(path: str, body: bytes) -> Any:
        nonlocal asked
        asked = body
        if record is not None and path.endswith("/chat/completions"):
            with record.open("ab") as out:
                out.write(body + b"\n")
        return build(path, body)

    def answered(schema: Any, root: Any, name: str, h: int, depth: int = 0) -> Any:
        ids = ids_asked(schema) if depth == 0 else []
        if not ids:
            return instance(schema, root, name, h, depth)
        prompt = mock.orjson.loads(asked)["messages"][-1]["content"]
        passages = [match[2].strip() for match in PASSAGE.finditer(prompt)]
        fields = schema["properties"]["verdicts"]["items"]["properties"]
        return {
            "verdicts": [
                verdict(mock, n, fields, passages, h * 13 + i * 101) for i, n in enumerate(ids)
            ]
        }

    mock.build, mock.instance = recorded, answered
    mock.main()


if __name__ == "__main__":
    main()
