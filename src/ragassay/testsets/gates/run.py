"""The gates in their order, for one question: rules first, since they cost nothing."""

from __future__ import annotations

from collections.abc import Callable

from ragassay.testsets.corpus import Corpus
from ragassay.testsets.gates.elsewhere import nowhere_gate, unique_gate
from ragassay.testsets.gates.form import form_gate, stands_alone_gate
from ragassay.testsets.gates.source import about_gate, answer_gate, hops_gate, quote_gate
from ragassay.testsets.values import GateVerdict, Question


def rule_verdicts(question: Question, corpus: Corpus) -> tuple[GateVerdict, ...]:
    """The verdicts of all gates that need no model, in order; those after the first that fails are
    not asked.
    """
    gates: tuple[Callable[[], GateVerdict], ...] = (
        lambda: form_gate(question),
        lambda: stands_alone_gate(question),
        lambda: quote_gate(question, corpus),
        lambda: answer_gate(question),
        lambda: hops_gate(question),
        lambda: about_gate(question, corpus),
        lambda: unique_gate(question, corpus),
        lambda: nowhere_gate(question, corpus),
    )
    verdicts: list[GateVerdict] = []
    for gate in gates:
        verdicts.append(gate())
        if verdicts[-1].passed is False:
            break
    return tuple(verdicts)


def failed(verdicts: tuple[GateVerdict, ...]) -> GateVerdict | None:
    """The first verdict that fails; None where all that apply pass."""
    return next((verdict for verdict in verdicts if verdict.passed is False), None)
