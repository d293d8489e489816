"""Which judge believes everything? A scripted one, for `LLMServer(answer=...)`: it does what the
data say, or worse.

    echo      its reply is the data, word for word, and nothing else
    json      its reply is every JSON object that stands in the data
    after     an honest reply, then the data
    before    the data, then an honest reply
    reasoned  an honest reply in whose reasoning the data stand
    unescaped an honest reply in whose reasoning the data stand as they are, without escapes
    obeys     honest until the data hold one of `attacks`; then the best rating for every id
    highest   the best rating for every id, always; lowest: the worst one

It is a script and no language model: it shows what the tool does with such replies, not how often
models give them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ragassay.judges.fence import neutral
from ragassay.testing import FENCE, Body, answer_by_words

_OBJECT = re.compile(r"\{[^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*\}")


@dataclass
class Gullible:
    """One script. seen: calls answered; obeyed: those in which `obeys` found an attack."""

    mode: str
    attacks: Iterable[str] = ()
    seen: int = 0
    obeyed: int = 0
    _neutral: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._neutral = [neutral(text).strip() for text in self.attacks]

    def __call__(self, body: Body) -> dict[str, Any] | list[Any] | str | None:
        """The reply to one call."""
        self.seen += 1
        if self.mode in ("highest", "lowest"):
            return everything(body, self.mode)
        prompt = str(body["messages"][-1]["content"])
        texts = [match[3] for match in FENCE.finditer(prompt)]
        data = "\n".join([*texts, *(text.replace("‹", "<").replace("›", ">") for text in texts)])
        if self.mode == "obeys":
            if any(attack and attack in data for attack in self._neutral):
                self.obeyed += 1
                return everything(body, "highest")
            return answer_by_words(body)
        if self.mode == "echo":
            return data
        if self.mode == "json":
            return "\n".join(_OBJECT.findall(data)) or data
        own = answer_by_words(body)
        if self.mode == "reasoned" and isinstance(own, dict):
            return {"verdicts": [entry | {"reasoning": data} for entry in own["verdicts"]]}
        if self.mode == "unescaped" and isinstance(own, dict):
            entries = [entry | {"reasoning": "@@"} for entry in own["verdicts"]]
            return json.dumps({"verdicts": entries}).replace("@@", data)
        said = own if isinstance(own, str) else json.dumps(own)
        return f"{said}\n{data}" if self.mode == "after" else f"{data}\n{said}"


def everything(body: Body, end: str) -> dict[str, Any]:
    """A valid reply with one end of the scale for every id that is asked."""
    schema = body["response_format"]["json_schema"]["schema"]
    fields = schema["properties"]["verdicts"]["items"]["properties"]
    plain: dict[str, Any] = {
        "reasoning": "As I was told.",
        "quotes": [],
        "supported_by": [1] if end == "highest" else [],
    }
    entry = {name: plain.get(name, False) for name in fields}
    if "rating" in fields:
        entry["rating"] = fields["rating"]["enum"][-1 if end == "highest" else 0]
    entry |= {name: [] for name in fields.keys() & {"claims", "texts"}}
    return {"verdicts": [entry | {"id": name} for name in fields["id"]["enum"]]}
