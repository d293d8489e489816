"""Which passages does the documentation assistant retrieve for a question?

A small retriever of the plain kind: BM25 (Robertson and Zaragoza, 2009) over the passages of
`corpus.jsonl`. It has a few settings that real systems get wrong: which pages an index holds, and
how many passages are returned.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
K1, B = 1.2, 0.75
STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from how i in is it its me my of on or that the"
        " this to what when where which who why will with you your",
    )
)


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of the documentation. id: "page#section"."""

    id: str
    title: str
    text: str

    @property
    def page(self) -> str:
        """The page the passage was cut from."""
        return self.id.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved passage with its BM25 score."""

    passage: Passage
    score: float


def load_corpus(path: Path = HERE / "corpus.jsonl") -> list[Passage]:
    """All passages, in the order of the pages."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [Passage(row["id"], row["title"], row["text"]) for row in rows]


def terms(text: str) -> list[str]:
    """Lower-case words and numbers without stop words; a plural s is cut off."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return [
        w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w
        for w in words
        if w not in STOP
    ]


class Index:
    """BM25 over some passages. An empty index finds nothing."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = list(passages)
        self.counts = [Counter(terms(f"{p.title} {p.text}")) for p in self.passages]
        self.mean_length = sum(c.total() for c in self.counts) / max(1, len(self.counts))
        self.document_frequency = Counter(term for counts in self.counts for term in counts)

    def search(self, query: str, k: int) -> list[Hit]:
        """The k best passages that share a word with the query, best first; ties by place in the
        corpus.
        """
        scores = [self._score(counts, terms(query)) for counts in self.counts]
        ranked = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
        return [Hit(self.passages[i], round(scores[i], 3)) for i in ranked[:k] if scores[i] > 0]

    def _score(self, counts: Counter[str], query: list[str]) -> float:
        total = 0.0
        for term in query:
            n, f = self.document_frequency[term], counts[term]
            idf = math.log(1 + (len(self.passages) - n + 0.5) / (n + 0.5))
            total += idf * f * (K1 + 1) / (f + K1 * (1 - B + B * counts.total() / self.mean_length))
        return total
