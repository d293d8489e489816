"""The difference between a test set and the documents of today: what is kept, moved or stale."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragassay.core import digest
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.gates.run import failed, rule_verdicts
from ragassay.testsets.values import REAL, Evidence, GateVerdict, Question, SetInfo

_NEAREST = 5
"""Passages that are looked through for a quote whose document is gone."""

MOST_LISTED = 20_000
"""Documents that a set lists with their hashes; of more it keeps one hash of all."""


def with_documents(info: SetInfo, corpus: Corpus) -> SetInfo:
    """The set's information with what its documents were."""
    listed = corpus.digests if len(corpus.documents) <= MOST_LISTED else {}
    return replace(info, corpus=digest(corpus.digests), documents=listed)


@dataclass(frozen=True, slots=True)
class DocumentChanges:
    """Ids of documents. is_known: whether the set lists the documents that it was made of; without
    that list nothing is new, changed or gone.
    """

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    same: int = 0
    is_known: bool = False


@dataclass(frozen=True, slots=True)
class Stale:
    """A question that the documents no longer carry. gate: that it fails; why: its rationale."""

    question: Question
    gate: str
    why: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of each question. kept: as they were, or with new places of their quotes; moved:
    ids of the latter.
    """

    kept: tuple[Question, ...]
    moved: tuple[str, ...]
    stale: tuple[Stale, ...]


def document_changes(before: Mapping[str, str], corpus: Corpus) -> DocumentChanges:
    """How the documents differ. before: id -> hash of those that the set was made of."""
    if not before:
        return DocumentChanges()
    now = corpus.digests
    shared = [name for name in now if name in before]
    changed = tuple(name for name in shared if now[name] != before[name])
    return DocumentChanges(
        new=tuple(name for name in now if name not in before),
        changed=changed,
        gone=tuple(name for name in before if name not in now),
        same=len(shared) - len(changed),
        is_known=True,
    )


def difference(questions: Sequence[Question], corpus: Corpus) -> Difference:
    """What the documents of today make of each question: its quotes are looked for, and all gates
    that need no model are asked once more. Queries of users are kept.
    """
    kept: list[Question] = []
    moved: list[str] = []
    stale: list[Stale] = []
    for question in questions:
        if question.type == REAL:
            kept.append(question)
            continue
        found = _found(question, corpus)
        if isinstance(found, Stale):
            stale.append(found)
            continue
        verdicts = rule_verdicts(found, corpus)
        bad = failed(verdicts)
        if bad is not None:
            stale.append(Stale(question, bad.gate, bad.rationale))
            continue
        if found.evidence != question.evidence:
            moved.append(question.id)
        kept.append(replace(found, verdicts=_renewed(question.verdicts, verdicts)))
    return Difference(tuple(kept), tuple(moved), tuple(stale))


def _found(question: Question, corpus: Corpus) -> Question | Stale:
    """The question with its quotes where they stand today."""
    places = []
    for evidence in question.evidence:
        place = _place(evidence, corpus)
        if place is None:
            is_gone = evidence.document not in corpus.numbers
            why = "is gone" if is_gone else "was changed where it is quoted"
            return Stale(question, "quote in the source", f"{evidence.document} {why}")
        places.append(place)
    if not places or tuple(places) == question.evidence:
        return question
    cluster = question.cluster
    if cluster == question.evidence[0].document:
        cluster = places[0].document
    topic = corpus.topic(places[0].document)
    return replace(question, evidence=tuple(places), cluster=cluster, topic=topic)


def _place(evidence: Evidence, corpus: Corpus) -> Evidence | None:
    """A quote where it stands today: at its place, elsewhere in its document, or in another one
    that it was moved to. White space does not count, so that a text may be wrapped anew.
    """
    if evidence.document in corpus.numbers:
        text = corpus.text_of(evidence.document)
        if text[evidence.start : evidence.end] == evidence.quote:
            return evidence
        inside = _in_text(evidence, evidence.document, text)
        if inside is not None:
            return inside
    for place in corpus.search.best(evidence.quote, _NEAREST):
        other = corpus.passages[place].document
        found = _in_text(evidence, other, corpus.text_of(other))
        if found is not None:
            return found
    return None


def _in_text(evidence: Evidence, document: str, text: str) -> Evidence | None:
    """The quote in a text, at the occurrence that is nearest to its former place."""
    pattern = r"\s+".join(map(re.escape, evidence.quote.split()))
    found = list(re.finditer(pattern, text)) if pattern else []
    if not found:
        return None
    nearest = min(found, key=lambda match: abs(match.start() - evidence.start))
    return Evidence(document, nearest.start(), nearest.end(), nearest[0])


def _renewed(before: Sequence[GateVerdict], now: Sequence[GateVerdict]) -> tuple[GateVerdict, ...]:
    """The verdicts of today, and those before of gates that were not asked again: by models."""
    asked = {verdict.gate for verdict in now}
    return (*now, *(verdict for verdict in before if verdict.gate not in asked))
