"""The offline set: how many questions, how far from their sources, beside cloze and real ones."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.testsets.corpora import SEEN, clapnq, hotpot, mtrag, real_questions

from ragassay.testsets.corpus import Corpus, read_corpus
from ragassay.testsets.door import make_testset
from ragassay.testsets.offline.clauses import clauses
from ragassay.testsets.values import Passage
from ragassay.testsets.words import overlap

TITLE = "The offline set"
DISTRACTORS = 3000


def measure(options: Any) -> dict[str, Any]:
    """Counts, overlap with the source and BM25's first hit."""
    every = clapnq(options.data)
    others = hotpot(options.data, "test", 10**6) + hotpot(options.data, "train", 10**6)
    known: dict[str, dict[str, str]] = {}
    for document in others:
        known[document["title"]] = {**document, "id": f"other-{document['title']}"}
    far = list(known.values())[:DISTRACTORS]
    wide = read_corpus([*every, *far])
    figures: dict[str, Any] = {"distractors": len(far)}
    parts = {
        "seen: 100 passages of clapnq": (every[:SEEN], 100),
        "clapnq, the others": (every[SEEN:], 250),
        "mtrag_un": (mtrag(options.data), 150),
    }
    for name, (documents, size) in parts.items():
        made = make_testset(documents, size=size)
        pairs = [
            (question.question, list(question.documents))
            for question in made.questions
            if question.documents and not question.history
        ]
        figures[name] = {
            "passages": len(documents),
            "asked": size,
            "delivered": len(made.questions),
            "gaps named": sum(gap.asked - gap.delivered for gap in made.gaps),
            "near duplicates": made.figures[0].value,
            "documents covered": made.figures[4].reason,
            **_of(pairs, wide if "clapnq" in name else read_corpus(documents)),
        }
    by_text = {f"{document['title']}\n{document['text']}": document["id"] for document in every}
    real = [(asked, [by_text[text]]) for asked, text in real_questions(options.data).items()]
    figures["real questions of clapnq"] = _of(real, wide)
    figures["raw cloze of clapnq"] = _of(_cloze(every), wide)
    return figures


def _of(pairs: list[tuple[str, list[str]]], corpus: Corpus) -> dict[str, Any]:
    """Overlap, first hit and words of questions with their documents."""
    shares, hits = [], []
    for question, documents in pairs:
        texts = []
        for document in documents:
            for passage in corpus.of_document(corpus.numbers[document]):
                texts.append(f"{passage.title} {passage.text}")
        share = overlap(question, texts)
        if share is not None:
            shares.append(share)
        best = corpus.search.best(question, 1)
        hits.append(bool(best) and corpus.passages[best[0]].document in documents)
    return {
        "questions": len(pairs),
        "overlap": sum(shares) / len(shares),
        "hit@1": sum(hits) / len(hits),
        "words": sum(len(question.split()) for question, _ in pairs) / len(pairs),
    }


def _cloze(documents: list[dict[str, str]]) -> list[tuple[str, list[str]]]:
    """A sentence with a word left out, of each passage that has a plain one."""
    dice = random.Random(0)
    pairs = []
    for number, document in enumerate(documents):
        found = clauses(Passage(number, document["id"], document["text"], document["title"]))
        if found:
            words = dice.choice(found).sentence.split()
            words[dice.randrange(len(words))] = "____"
            pairs.append((" ".join(words), [document["id"]]))
    return pairs


def page(figures: dict[str, Any]) -> list[str]:
    """The part of the page."""
    lines = [
        f"BM25 searches all passages of clapnq and {figures['distractors']:,} paragraphs of other"
        " articles (mtrag_un: its own passages). Asked: overlap at most .65, hit@1 at most .92, at"
        " least 40 questions from 100 passages. Rules were written while looking at the first 100"
        " passages of clapnq, and mended once after a look at the others; no figure was tuned.",
        "",
        "| set | passages | asked | delivered | named gaps | questions with a source | overlap |"
        " hit@1 | words | near duplicates |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, row in figures.items():
        if not isinstance(row, dict):
            continue
        cells = [str(row.get(key, "")) for key in ("passages", "asked", "delivered", "gaps named")]
        duplicates = row.get("near duplicates")
        last = "" if duplicates is None else f"{duplicates:.1%}"
        lines.append(
            f"| {name} | {' | '.join(cells)} | {row['questions']} | {row['overlap']:.3f}"
            f" | {row['hit@1']:.3f} | {row['words']:.1f} | {last} |"
        )
    return lines
