"""Which number of a peer is which of ours, and why do they differ where they do? All of it as data.

Two outcomes agree when both are numbers within the pair's tolerance, or when neither side has a
number. Every other outcome must be explained here: `run.py` fails on a difference that nobody
explained, and where a reason covers many random rows, on a peer that does not compute what the
reason says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.parity import formulas
from benchmarks.parity.rows import K, Row, chunk_supports, one_to_one

EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool to compare with. requires: pinned, with its dependencies; alone: pinned, without.
    module: its driver.
    """

    name: str
    requires: tuple[str, ...]
    module: str
    alone: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """The random rows on which the two must agree, in words; on the others they differ for a stated
    reason.

    peer: the peer's number on those others by that reason, so that the reason is checked and not
    only stated.
    """

    rows: str
    holds: Callable[[Row], bool]
    otherwise: str
    peer: Callable[[Row], float]


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric of a peer and the one of ours that answers the same question.

    code: where the peer computes it. tolerance: how far two numbers may be apart, tolerance_why
    where it is more than 1e-9. edges: edge case -> why it differs, over the general reasons of
    EDGES.
    """

    peer: str
    theirs: str
    ours: str
    code: str
    where: Where | None = None
    tolerance: float = EXACT
    tolerance_why: str = ""
    edges: Mapping[str, str] = field(default_factory=dict)


PEERS = (
    Peer(
        "ragas",
        ("ragas==0.4.3", "langchain-community==0.3.31"),
        "ragas_driver",
        note=(
            "langchain-community is held below 0.4, which dropped a module that this Ragas imports"
        ),
    ),
    Peer("deepeval", ("deepeval==4.3.1",), "deepeval_driver"),
    Peer(
        "ragchecker",
        ("numpy==2.4.6", "dataclasses-json==0.6.7"),
        "ragchecker_driver",
        alone=("ragchecker==0.1.9",),
        note=(
            "its computation alone: extractors and checkers, with the deep-learning stack they ask"
            " for, are not installed and play no part once the entailments are known"
        ),
    ),
    Peer("mlflow", ("mlflow==3.17.2",), "mlflow_driver"),
)

EDGES = {
    "no_verdicts": (
        "no verdict arrived, so nothing was measured: no number, with the status of the loss"
    ),
    "no_claims": (
        "the response claims nothing, so there is nothing to take a share of: not applicable"
    ),
    "empty_response": "an empty response claims nothing: not applicable",
    "no_statements": "the reference states nothing to compare with: not applicable",
    "no_contexts": "nothing was retrieved, so there are no chunks to judge: not applicable",
    "nothing_relevant_known": (
        "no relevant document is known, so nothing can be found or missed: not applicable"
    ),
}

SAME_NUMBER = (
    "the same number, but here with its coverage: the peer does not say that verdicts are missing"
)

_UNSUPPORTED = "nothing was retrieved, so nothing supports the claims: that is a 0 and no error"
_NOTHING_RECALLED = (
    "nothing was retrieved, so nothing of the reference was: that is a 0 and no error"
)
_RECALL_UNIT = (
    "the peer's recall is right response claims / (right response claims + missing statements), two"
    " units in one fraction; ours is statements stated / statements judged, as in RAGChecker"
)
_ROUNDED = "the peer rounds to two decimals"
_CLAMPED = {"negative_cosine": "a cosine below 0 is no relevance at all: ours stays in [0, 1]"}
_EMPTY_IS_IRRELEVANT = (
    "an empty response answers nothing: 0 without asking; the peer asks its judge, or refuses"
    " the row"
)
_EMPTY_IS_WRONG = (
    "an empty answer is not the right one: 0 without asking; the peer asks its judge, or refuses"
    " the row"
)
_FIRST_LOST = {
    "first_template_lost": (
        "the peer takes max(NaN, x), which is NaN when the first rating is lost and x when the"
        " second is; ours takes the valid one both ways, and says that one of two was judged"
    )
}
_RELEVANCE_OPEN = (
    "with verdicts on the statements missing nobody knows which chunks are relevant: no value here,"
    " while the peer counts the missing ones as not supported, or stretches the one that is there"
)
_BROADCAST = {
    "one_verdict_of_four_wrong_claim": (
        "the one verdict against the reference is stretched over all four claims; ours knows "
        "that three have none"
    ),
    "one_statement_verdict_of_four": _RELEVANCE_OPEN,
}
_PADDED = (
    "a short reply is padded with Neutral, so a lost verdict counts as not supported and not"
    " stated; ours is over the claims whose outcome is known, with its coverage"
)
_PADDED_CLAIMS = {"one_verdict_of_four_yes": _PADDED, "one_verdict_of_four_wrong_claim": _PADDED}
_PADDED_STATEMENTS = {"one_statement_verdict_of_four": _PADDED}
_NOTHING_TO_USE = "no statement is in the contexts, so there was nothing to use: not applicable"
_REFERENCE_DECIDES = (
    "nothing was retrieved, so no claim is in the contexts and the reference alone decides; the"
    " peer gives 0 for every row without chunks"
)
_ALL_RIGHT = {
    "no_verdicts": (
        "a reply with no verdict at all counts as a perfect match (1, then mixed with the cosine):"
        " nothing was measured"
    ),
    "no_claims": (
        "the peer calls a response without claims fully right; ours states none of the reference:"
        " claim part 0"
    ),
    "empty_response": (
        "the peer calls an empty response fully right; ours states none of the reference: 0"
    ),
    "no_statements": (
        "the peer calls everything fully right against a reference that states nothing: not"
        " applicable"
    ),
}
_NOTHING_SAID = (
    "an empty response states none of the reference: 0; the peer asks for its embedding, or refuses"
    " the row"
)
_MISSING_UNIT = {"one_verdict_of_four_wrong_claim": _RECALL_UNIT}


def _distinct(row: Row) -> bool:
    return len(set(row["ids"])) == len(row["ids"])


def _all_or_none(row: Row) -> bool:
    return len(set(chunk_supports(row["statement_in_context"], len(row["chunks"])))) == 1


def _something_held(row: Row) -> bool:
    return any(any(edge) for edge in row["statement_in_context"] if edge)


_AS_WRONG = (
    "a chunk whose judge call failed counts as irrelevant there; ours is over the chunks that were"
    " judged, with its coverage"
)
_SAME_WORDS = {
    "entity_written_otherwise": (
        "the peer compares letter by letter; ours as words, without case and accents"
    )
}
_ONCE = (
    "the peer divides by the list with its repeats; ours, like the peer's collections, counts an"
    " entity once"
)
_EPSILON = "the peer adds 1e-8 to the denominator"
_MATCHED = "as many right claims as stated statements"
_ONE_TO_ONE = Where(_MATCHED, one_to_one, _RECALL_UNIT, formulas.mixed_f1)
_ONE_TO_ONE_RECALL = Where(_MATCHED, one_to_one, _RECALL_UNIT, formulas.mixed_recall)
_ONE_TO_ONE_COSINE = Where(_MATCHED, one_to_one, _RECALL_UNIT, formulas.mixed_with_cosine)
_ALL_OR_NONE = Where(
    "all chunks are relevant, or none",
    _all_or_none,
    "the peer's context precision is the share of relevant chunks, which knows no ranks; ours is"
    " average precision",
    formulas.share_of_chunks,
)
_SOMETHING_TO_USE = Where(
    "a statement is in the contexts", _something_held, _NOTHING_TO_USE, lambda row: 0.0
)
_FULL_RANKING = Where(
    f"{K} or more documents, no id twice",
    lambda row: len(row["ids"]) >= K and _distinct(row),
    f"the peer divides by the documents retrieved, ours by k = {K} as trec_eval does; and it counts"
    " a repeated id each time, ours once",
    formulas.hits_of_retrieved,
)
_DISTINCT = Where(
    "no id twice",
    _distinct,
    "the peer cuts at k and then drops repeats; ours drops repeats first, so k ids are k documents",
    formulas.recall_after_cut,
)
_ENOUGH = Where(
    "no id twice, and as many retrieved as the ideal ranking has",
    lambda row: _distinct(row) and len(row["ids"]) >= min(K, len(row["relevant_ids"])),
    "the peer cuts the ideal ranking at the number retrieved, so what was not retrieved costs"
    " nothing, and lets a repeated id gain again; ours is trec_eval's",
    formulas.ndcg_of_retrieved,
)

_COLLECTIONS = "ragas/metrics/collections/"
_CORRECTNESS = "answer_correctness_claims(similarity_weight=0)"

PAIRS = (
    Pair(
        "ragas",
        "Faithfulness",
        "faithfulness",
        f"{_COLLECTIONS}faithfulness/metric.py _compute_score",
        edges={"no_contexts": _UNSUPPORTED},
    ),
    Pair(
        "ragas",
        "ContextPrecisionWithReference",
        "context_precision(against=reference)",
        f"{_COLLECTIONS}context_precision/metric.py _calculate_average_precision",
    ),
    Pair(
        "ragas",
        "ContextPrecisionWithoutReference",
        "context_precision(against=response)",
        f"{_COLLECTIONS}context_precision/metric.py _calculate_average_precision",
    ),
    Pair(
        "ragas",
        "ContextRecall",
        "context_recall",
        f"{_COLLECTIONS}context_recall/metric.py ascore",
        edges={"no_contexts": _NOTHING_RECALLED},
    ),
    Pair(
        "ragas",
        "NoiseSensitivity(relevant)",
        "noise_sensitivity(mode=relevant)",
        f"{_COLLECTIONS}noise_sensitivity/metric.py _compute_score",
        edges=_BROADCAST,
    ),
    Pair(
        "ragas",
        "NoiseSensitivity(irrelevant)",
        "noise_sensitivity(mode=irrelevant)",
        f"{_COLLECTIONS}noise_sensitivity/metric.py _compute_score",
        edges=_BROADCAST,
    ),
    Pair(
        "ragas",
        "AnswerCorrectness",
        "answer_correctness_claims",
        f"{_COLLECTIONS}answer_correctness/metric.py ascore, _compute_f1_score",
        _ONE_TO_ONE_COSINE,
        edges={**_ALL_RIGHT, **_CLAMPED},
    ),
    Pair(
        "ragas",
        "AnswerCorrectness(weights=[1, 0])",
        _CORRECTNESS,
        f"{_COLLECTIONS}answer_correctness/metric.py ascore, _compute_f1_score",
        _ONE_TO_ONE,
        edges=_ALL_RIGHT,
    ),
    Pair(
        "ragas",
        "FactualCorrectness(f1)",
        _CORRECTNESS,
        f"{_COLLECTIONS}factual_correctness/metric.py ascore",
        _ONE_TO_ONE,
        0.005001,
        _ROUNDED,
        edges={"empty_response": _NOTHING_SAID},
    ),
    Pair(
        "ragas",
        "FactualCorrectness(precision)",
        "answer_correctness_claims(similarity_weight=0, part=precision)",
        f"{_COLLECTIONS}factual_correctness/metric.py ascore",
        None,
        0.005001,
        _ROUNDED,
    ),
    Pair(
        "ragas",
        "FactualCorrectness(recall)",
        "answer_correctness_claims(similarity_weight=0, part=recall)",
        f"{_COLLECTIONS}factual_correctness/metric.py ascore",
        _ONE_TO_ONE_RECALL,
        0.005001,
        _ROUNDED,
        edges={"empty_response": _NOTHING_SAID, **_MISSING_UNIT},
    ),
    Pair(
        "ragas",
        "AnswerRelevancy",
        "answer_relevance_reverse",
        f"{_COLLECTIONS}answer_relevancy/metric.py ascore",
        edges={"empty_response": _EMPTY_IS_IRRELEVANT, **_CLAMPED},
    ),
    Pair(
        "ragas",
        "ContextEntityRecall",
        "context_entity_recall(entities=llm)",
        f"{_COLLECTIONS}context_entity_recall/metric.py _compute_recall_score",
        None,
        1.1e-8,
        _EPSILON,
        edges=_SAME_WORDS,
    ),
    Pair(
        "ragas",
        "ResponseGroundedness",
        "response_groundedness_dual",
        f"{_COLLECTIONS}response_groundedness/metric.py _average_scores",
        edges={"no_contexts": _UNSUPPORTED},
    ),
    Pair(
        "ragas",
        "ContextRelevance",
        "context_relevance_dual",
        f"{_COLLECTIONS}context_relevance/metric.py _average_scores",
    ),
    Pair(
        "ragas",
        "AnswerAccuracy",
        "answer_accuracy_dual",
        f"{_COLLECTIONS}answer_accuracy/metric.py _average_scores",
        edges={"empty_response": _EMPTY_IS_WRONG},
    ),
    Pair(
        "ragas",
        "classic Faithfulness",
        "faithfulness",
        "ragas/metrics/_faithfulness.py _compute_score",
    ),
    Pair(
        "ragas",
        "classic LLMContextPrecisionWithReference",
        "context_precision(against=reference)",
        "ragas/metrics/_context_precision.py _calculate_average_precision",
    ),
    Pair(
        "ragas",
        "classic LLMContextPrecisionWithoutReference",
        "context_precision(against=response)",
        "ragas/metrics/_context_precision.py _calculate_average_precision",
    ),
    Pair(
        "ragas",
        "classic LLMContextRecall",
        "context_recall",
        "ragas/metrics/_context_recall.py _compute_score",
    ),
    Pair(
        "ragas",
        "classic NoiseSensitivity(relevant)",
        "noise_sensitivity(mode=relevant)",
        "ragas/metrics/_noise_sensitivity.py _compute_score",
        edges=_BROADCAST,
    ),
    Pair(
        "ragas",
        "classic NoiseSensitivity(irrelevant)",
        "noise_sensitivity(mode=irrelevant)",
        "ragas/metrics/_noise_sensitivity.py _compute_score",
        edges=_BROADCAST,
    ),
    Pair(
        "ragas",
        "classic AnswerCorrectness",
        "answer_correctness_claims",
        "ragas/metrics/_answer_correctness.py _ascore",
        _ONE_TO_ONE_COSINE,
        edges={"empty_response": _NOTHING_SAID, **_CLAMPED},
    ),
    Pair(
        "ragas",
        "classic ResponseRelevancy",
        "answer_relevance_reverse",
        "ragas/metrics/_answer_relevance.py _calculate_score",
        edges={"empty_response": _EMPTY_IS_IRRELEVANT, **_CLAMPED},
    ),
    Pair(
        "ragas",
        "classic ContextEntityRecall",
        "context_entity_recall(entities=llm)",
        "ragas/metrics/_context_entities_recall.py _compute_score",
        None,
        1.1e-8,
        _EPSILON,
        edges={"repeated_entities": _ONCE, **_SAME_WORDS},
    ),
    Pair(
        "ragas",
        "classic ResponseGroundedness",
        "response_groundedness_dual",
        "ragas/metrics/_nv_metrics.py average_scores",
        edges=_FIRST_LOST,
    ),
    Pair(
        "ragas",
        "classic ContextRelevance",
        "context_relevance_dual",
        "ragas/metrics/_nv_metrics.py average_scores",
        edges=_FIRST_LOST,
    ),
    Pair(
        "ragas",
        "classic AnswerAccuracy",
        "answer_accuracy_dual",
        "ragas/metrics/_nv_metrics.py average_scores",
        edges={"empty_response": _EMPTY_IS_WRONG, **_FIRST_LOST},
    ),
    Pair(
        "ragas",
        "IDBasedContextPrecision",
        "document_precision",
        "ragas/metrics/_context_precision.py IDBasedContextPrecision",
    ),
    Pair(
        "ragas",
        "IDBasedContextRecall",
        "document_recall",
        "ragas/metrics/_context_recall.py IDBasedContextRecall",
    ),
    Pair(
        "deepeval",
        "FaithfulnessMetric",
        "faithfulness",
        "deepeval/metrics/faithfulness/faithfulness.py _calculate_score;"
        " deepeval/metrics/utils/qag.py score_qag_verdicts",
    ),
    Pair(
        "deepeval",
        "ContextualPrecisionMetric",
        "context_precision(against=reference)",
        "deepeval/metrics/contextual_precision/contextual_precision.py _calculate_score",
    ),
    Pair(
        "deepeval",
        "ContextualRecallMetric",
        "context_recall",
        "deepeval/metrics/contextual_recall/contextual_recall.py _calculate_score",
    ),
    Pair(
        "deepeval",
        "ContextualRelevancyMetric",
        "context_relevance_ratio",
        "deepeval/metrics/contextual_relevancy/contextual_relevancy.py _calculate_score",
    ),
    Pair(
        "ragchecker",
        "precision",
        "answer_correctness_claims(similarity_weight=0, part=precision)",
        "ragchecker/computation.py evaluate_precision",
        edges=_PADDED_CLAIMS,
    ),
    Pair(
        "ragchecker",
        "recall",
        "answer_correctness_claims(similarity_weight=0, part=recall)",
        "ragchecker/computation.py evaluate_recall",
        edges=_PADDED_STATEMENTS,
    ),
    Pair(
        "ragchecker",
        "f1",
        _CORRECTNESS,
        "ragchecker/computation.py evaluate_f1",
        edges={**_PADDED_CLAIMS, **_PADDED_STATEMENTS},
    ),
    Pair(
        "ragchecker",
        "claim_recall",
        "context_recall",
        "ragchecker/computation.py evaluate_retrieval",
        edges=_PADDED_STATEMENTS,
    ),
    Pair(
        "ragchecker",
        "context_precision",
        "context_precision(against=reference)",
        "ragchecker/computation.py evaluate_retrieval",
        _ALL_OR_NONE,
    ),
    Pair(
        "ragchecker",
        "context_utilization",
        "context_utilization",
        "ragchecker/computation.py evaluate_context_utilization",
        _SOMETHING_TO_USE,
        edges={
            "all_wrong": _NOTHING_TO_USE,
            "only_irrelevant_chunks": _NOTHING_TO_USE,
            "no_contexts": _NOTHING_TO_USE,
            **_PADDED_STATEMENTS,
        },
    ),
    Pair(
        "ragchecker",
        "noise_sensitivity_in_relevant",
        "noise_sensitivity(mode=relevant)",
        "ragchecker/computation.py evaluate_noise_sensitivity",
        edges={**_PADDED_CLAIMS, "one_statement_verdict_of_four": _RELEVANCE_OPEN},
    ),
    Pair(
        "ragchecker",
        "noise_sensitivity_in_irrelevant",
        "noise_sensitivity(mode=irrelevant)",
        "ragchecker/computation.py evaluate_noise_sensitivity",
        edges={**_PADDED_CLAIMS, "one_statement_verdict_of_four": _RELEVANCE_OPEN},
    ),
    Pair(
        "ragchecker",
        "hallucination",
        "hallucination",
        "ragchecker/computation.py evaluate_unfaithfulness",
        edges={"no_contexts": _REFERENCE_DECIDES, **_PADDED_CLAIMS},
    ),
    Pair(
        "ragchecker",
        "self_knowledge",
        "self_knowledge",
        "ragchecker/computation.py evaluate_unfaithfulness",
        edges={"no_contexts": _REFERENCE_DECIDES, **_PADDED_CLAIMS},
    ),
    Pair(
        "ragchecker",
        "faithfulness",
        "faithfulness",
        "ragchecker/computation.py evaluate_faithfulness",
        edges=_PADDED_CLAIMS,
    ),
    Pair(
        "mlflow",
        f"precision_at_k(k={K})",
        f"precision_at_k(k={K})",
        "mlflow/metrics/metric_definitions.py _precision_at_k_eval_fn",
        _FULL_RANKING,
        edges={
            "fewer_retrieved_than_k": _FULL_RANKING.otherwise,
            "repeated_ids": _FULL_RANKING.otherwise,
        },
    ),
    Pair(
        "mlflow",
        f"recall_at_k(k={K})",
        f"recall_at_k(k={K})",
        "mlflow/metrics/metric_definitions.py _recall_at_k_eval_fn",
        _DISTINCT,
    ),
    Pair(
        "mlflow",
        f"ndcg_at_k(k={K})",
        f"ndcg_at_k(k={K})",
        "mlflow/metrics/metric_definitions.py _ndcg_at_k_eval_fn",
        _ENOUGH,
        edges={"fewer_retrieved_than_k": _ENOUGH.otherwise, "repeated_ids": _ENOUGH.otherwise},
    ),
    Pair(
        "mlflow",
        "RetrievalRelevance precision",
        "chunk_relevance",
        "mlflow/genai/scorers/builtin_scorers.py RetrievalRelevance._compute_span_relevance",
        edges={"one_chunk_verdict_of_three": _AS_WRONG},
    ),
)

NOT_COMPARED = (
    (
        "ragas",
        "ContextUtilization",
        (
            "another name of ContextPrecisionWithoutReference, which is compared; not our"
            " context_utilization"
        ),
    ),
    (
        "deepeval",
        "AnswerRelevancyMetric",
        "a share of relevant statements; our answer_relevance grades the response as a whole",
    ),
    (
        "deepeval",
        "HallucinationMetric",
        (
            "counts contexts that the response agrees with, not claims; higher is better there,"
            " after versions in which lower was"
        ),
    ),
    (
        "deepeval",
        "FaithfulnessMetric, verdict borderline or idk",
        (
            "counts as supported there, unless penalize_ambiguous_claims; on our scale 0-3 weak"
            " support is a 1, which does not pass"
        ),
    ),
    (
        "mlflow",
        (
            "Correctness, Safety, RelevanceToQuery, RetrievalSufficiency, RetrievalGroundedness,"
            " Guidelines"
        ),
        "one yes or no of the judge is handed through: there is no arithmetic to compare",
    ),
)

_ONE_CLAIM, _ONE_STATEMENT = "one_verdict_of_four_yes", "one_statement_verdict_of_four"
HEADLINE = {
    ("ragas", "Faithfulness"): _ONE_CLAIM,
    ("ragas", "ContextRecall"): _ONE_STATEMENT,
    ("ragas", "AnswerCorrectness(weights=[1, 0])"): _ONE_CLAIM,
    ("deepeval", "FaithfulnessMetric"): _ONE_CLAIM,
    ("deepeval", "ContextualRecallMetric"): _ONE_STATEMENT,
    ("ragchecker", "faithfulness"): _ONE_CLAIM,
    ("ragchecker", "claim_recall"): _ONE_STATEMENT,
    ("ragchecker", "hallucination"): _ONE_CLAIM,
    ("mlflow", "RetrievalRelevance precision"): "one_chunk_verdict_of_three",
}
"""The pairs that show best what becomes of lost verdicts, and the case of the one verdict that
arrived.
"""
