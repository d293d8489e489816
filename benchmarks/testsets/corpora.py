"""The documents of the benchmark: passages of clapnq and mtrag_un, abstracts of SciFact.

Rules and word lists were written while looking at the first 100 passages of clapnq (`seen`); what
is reported as `unseen` is the rest of clapnq and all of mtrag_un.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

SEEN = 100


def rows(data: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a set."""
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def clapnq(data: Path) -> list[dict[str, str]]:
    """The passages of clapnq, each once, with their titles."""
    documents: dict[str, dict[str, str]] = {}
    for row in rows(data, "clapnq"):
        text = row["contexts"][0]
        title, _, body = text.partition("\n")
        documents.setdefault(text, {"id": row["id"], "title": title, "text": body})
    return list(documents.values())


def mtrag(data: Path) -> list[dict[str, str]]:
    """The passages of mtrag_un, each once."""
    texts: dict[str, None] = {}
    for row in rows(data, "mtrag_un"):
        texts.update(dict.fromkeys(text.strip() for text in row["contexts"]))
    found = []
    for number, text in enumerate(texts):
        title, _, body = text.partition("\n")
        is_title = len(title) < 80 and body.strip() and not title.endswith((".", "?", "!"))
        document = {"id": f"mtrag-{number}", "title": "", "text": text}
        if is_title:
            document |= {"title": title, "text": body.strip()}
        found.append(document)
    return found


def scifact(data: Path, count: int) -> list[dict[str, str]]:
    """The first abstracts of SciFact."""
    found = []
    with gzip.open(data / "scifact_retrieval/corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            found.append({"id": str(row["id"]), "title": row["title"], "text": row["text"]})
            if len(found) == count:
                break
    return found


def real_questions(data: Path) -> dict[str, str]:
    """Question -> the passage that answers it, of clapnq's answerable rows."""
    return {row["question"]: row["contexts"][0] for row in rows(data, "clapnq") if row["label"]}


def hotpot(data: Path, split: str = "test", count: int = 900) -> list[dict[str, str]]:
    """Paragraphs of hotpotqa_context, each once: a corpus that no rule was written on."""
    documents: dict[str, dict[str, str]] = {}
    for row in rows(data, "hotpotqa_context"):
        if row["split"] != split:
            continue
        for text in row["contexts"]:
            title, _, body = text.partition("\n")
            known = {"id": f"hotpot-{len(documents)}", "title": title, "text": body.strip()}
            documents.setdefault(title, known)
    return list(documents.values())[:count]
