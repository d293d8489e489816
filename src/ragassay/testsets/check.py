"""The check of a test set: its gates once more, duplicates, coverage, likeness to real queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ragassay.core import RagAssayError
from ragassay.testsets.corpus import Corpus, read_corpus
from ragassay.testsets.gates.form import form_gate, stands_alone_gate
from ragassay.testsets.gates.run import failed, rule_verdicts
from ragassay.testsets.gates.source import answer_gate, hops_gate
from ragassay.testsets.likeness import likeness
from ragassay.testsets.measures import set_figures
from ragassay.testsets.results import SetCheck
from ragassay.testsets.values import REAL, GateVerdict, Question, SetInfo


def corpus_of(info: SetInfo, docs: object = None) -> tuple[Corpus | None, str]:
    """The documents of a set, and a note where they are not at hand. docs: in place of those that
    the set names. Raises DataError where documents that were named cannot be read.
    """
    source = docs or info.source
    is_there = docs is not None or (info.source and Path(info.source).exists())
    if not is_there:
        return None, f"the documents are not at {info.source or '(memory)'}: name them with --docs"
    try:
        return read_corpus(source, words=info.words, seed=info.seed), ""
    except RagAssayError:
        if docs is not None:
            raise
        return None, f"the documents at {info.source} cannot be read"


def check_questions(
    info: SetInfo,
    questions: Sequence[Question],
    corpus: Corpus | None,
    real: Sequence[str] = (),
    note: str = "",
) -> SetCheck:
    """The check of a set. corpus: None where its documents are not at hand; then the gates that
    need them are not asked.
    """
    failing: dict[str, list[tuple[str, str]]] = {}
    for question in questions:
        bad = failed(_verdicts(question, corpus))
        if bad is not None:
            failing.setdefault(bad.gate, []).append((question.id, bad.rationale))
    return SetCheck(
        info=info,
        questions=len(questions),
        types=dict(Counter(question.type for question in questions)),
        failed={gate: tuple(found) for gate, found in failing.items()},
        figures=set_figures(questions, corpus),
        likeness=likeness([question.question for question in questions], real) if real else None,
        notes=(note,) if note else (),
    )


def _verdicts(question: Question, corpus: Corpus | None) -> tuple[GateVerdict, ...]:
    if question.type == REAL:
        # What users asked stays as they asked it.
        return ()
    if corpus is not None:
        return rule_verdicts(question, corpus)
    gates = (form_gate, stands_alone_gate, answer_gate, hops_gate)
    return tuple(gate(question) for gate in gates)
