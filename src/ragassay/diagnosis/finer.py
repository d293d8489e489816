"""The finer causes: what lies behind the root cause, as far as the row and its scores tell.

Facts about the row are collected first, each with its proof. Then each finer cause that the root
cause may have is proven by facts, ruled out by facts, or neither. What is proven is the answer;
where nothing is, what is not ruled out is: one cause when the others fall away, several when they
cannot be told apart, none when nothing fell away (then the facts say no more than the root cause)
or more than three remain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragassay.core import Cause, Score, shorten
from ragassay.diagnosis.causes import FINER
from ragassay.diagnosis.evidence import QUOTE
from ragassay.diagnosis.facts import facts_of
from ragassay.diagnosis.row import Row

MOST = 3
"""More candidates than this tell the reader nothing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A finer cause of these root causes. proven: any of these sets of facts shows it. against: any
    of these facts rules it out. Only a candidate (open) is named without being proven, and only
    where the facts `needs` hold: without them it stays possible, and is not spoken of.
    """

    cause: str
    roots: frozenset[str]
    proven: tuple[tuple[str, ...], ...]
    against: tuple[str, ...] = ()
    open: bool = True
    needs: tuple[str, ...] = ()


_SEARCH = frozenset(
    {"nothing_retrieved", "retrieval_irrelevant", "document_missed", "insufficient_context"}
)
_DILUTED = frozenset({"context_diluted"})
_DECLINED = frozenset({"declined"})
_REFUSED = frozenset({"over_refusal"})
_UNGROUNDED = frozenset({"ungrounded"})
_WRONG = frozenset({"incorrect"})
_MISLED = frozenset({"misled"})
_BESIDE = frozenset({"answer_irrelevant"})

RULES: tuple[Rule, ...] = (
    Rule("corpus_gap", _SEARCH | _DECLINED, (("no_answer_here",),), ("answerable",)),
    Rule(
        "retrieval_miss",
        _SEARCH | _DECLINED,
        (("relevant_missed",),),
        ("no_answer_here", "relevant_retrieved"),
    ),
    Rule(
        "ranking_cutoff",
        _SEARCH - {"nothing_retrieved"},
        (("relevant_in_part",), ("relevant_last",)),
        ("no_answer_here", "relevant_missed", "relevant_first"),
    ),
    Rule(
        "ranking_cutoff",
        _DILUTED,
        (("irrelevant_first",), ("relevant_in_part",)),
        ("no_answer_here",),
        open=False,
    ),
    Rule("ranking_cutoff", _DECLINED | _WRONG, (("relevant_last",), ("misled_first",)), open=False),
    Rule("ranking_cutoff", _UNGROUNDED | _MISLED, (("misled_first",),), open=False),
    Rule("ranking_cutoff", _REFUSED, (("relevant_last",),), open=False),
    Rule("over_refusal", _REFUSED, (("evidence_there",),), open=False),
    Rule("over_refusal", _DECLINED, (), ("no_answer_here", "relevant_missed")),
    Rule("failed_abstention", frozenset({"failed_abstention"}), ((),)),
    Rule(
        "failed_abstention",
        _SEARCH | _UNGROUNDED | _WRONG | _MISLED | _BESIDE,
        (("no_answer_here", "answered"),),
        open=False,
    ),
    Rule("hallucination", _UNGROUNDED, (("claims_invented",),), ("answer_right", "none_invented")),
    Rule("hallucination", _WRONG, (("claims_invented",),), ("grounded", "none_invented")),
    Rule("noise_distraction", _UNGROUNDED | _MISLED, (("claims_from_chunks",),), open=False),
    Rule(
        "noise_distraction",
        _WRONG,
        (("claims_from_chunks",),),
        ("no_claims_from_chunks",),
        needs=("claims_on_chunks",),
    ),
    Rule("incomplete", _WRONG, (("statements_missing",),), ("statements_covered", "claims_false")),
    Rule(
        "incomplete", _BESIDE, (("statements_missing",),), ("answer_beside", "statements_covered")
    ),
    Rule("wrong_focus", _WRONG, (("answer_beside",),), ("answer_relevant",)),
    Rule("wrong_focus", _BESIDE, (("answer_beside",),), ("statements_missing", "answer_right")),
    Rule(
        "right_without_evidence",
        _UNGROUNDED,
        (("claims_from_memory",),),
        ("answer_wrong", "none_from_memory", "right_though_denied"),
    ),
    Rule(
        "doubtful_reference",
        _WRONG,
        (("reference_contradicted",),),
        ("reference_supported", "claims_invented"),
    ),
    Rule(
        "doubtful_reference",
        frozenset({"insufficient_context"}),
        (),
        ("relevant_missed", "relevant_in_part"),
        needs=("relevant_all",),
    ),
)
"""In causal order."""


def finer_causes(root: str, row: Row) -> tuple[Cause, ...]:
    """The finer causes of the row's root cause, each with the facts that speak for it as its
    detail; () for none.

    The order of the scores changes nothing.
    """
    rules = [rule for rule in RULES if root in rule.roots]
    if not rules:
        return ()  # facts are costly to collect, and most rows need none
    # Of two proofs of one fact the first is kept, so the scores need an order of their own.
    facts = facts_of(replace(row, scores=sorted(row.scores, key=_metric)))
    proven = _proven(rules, facts)
    if proven:
        return tuple(_with_detail(cause, detail) for cause, detail in proven.items())
    return _not_ruled_out(rules, facts)


def _proven(rules: Sequence[Rule], facts: Mapping[str, str]) -> dict[str, str]:
    """The causes that facts prove, each with the proofs of these facts."""
    proven: dict[str, str] = {}
    for rule in rules:
        for required in rule.proven:
            if _all_known(required, facts):
                proofs = [facts[fact] for fact in required if facts[fact]]
                proven.setdefault(rule.cause, "; ".join(proofs))
    return proven


def _all_known(names: Sequence[str], facts: Mapping[str, str]) -> bool:
    return all(name in facts for name in names)


def _not_ruled_out(rules: Sequence[Rule], facts: Mapping[str, str]) -> tuple[Cause, ...]:
    """The candidates that no fact rules out, with the proofs of what rules out the others; () where
    nothing is ruled out, or too many are left.
    """
    candidates: list[Rule] = []
    possible = 0
    ruled_out = False
    proofs: list[str] = []
    for rule in rules:
        if not rule.open:
            continue
        against = [facts[fact] for fact in rule.against if fact in facts]
        possible += not against
        if not _all_known(rule.needs, facts):
            continue
        if against:
            ruled_out = True
        else:
            candidates.append(rule)
        for proof in against:
            # One fact may rule out several candidates, and need be told once. Some facts have no
            # proof in words.
            if proof and proof not in proofs:
                proofs.append(proof)
    # Where nothing is ruled out, the candidates say no more than the root cause does.
    if not ruled_out or possible > MOST:
        return ()
    why = "; ".join(proofs)
    return tuple(_with_detail(rule.cause, why) for rule in candidates)


def _with_detail(cause: str, detail: str) -> Cause:
    return replace(FINER[cause], detail=shorten(detail, 2 * QUOTE))


def _metric(score: Score) -> str:
    return score.metric
