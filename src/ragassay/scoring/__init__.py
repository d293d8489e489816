"""Pure arithmetic: rankings, claim ratios, overlap, intervals and paired tests. No files, network, clock or chance."""

from ragassay.scoring.claims import (
    BASE_WEIGHT,
    WEIGHT_RULES,
    WeightRule,
    all_supported,
    claim_weight,
    decide,
    mean,
    supported_share,
    weighted_share,
)
from ragassay.scoring.entities import entities, entity_recall, found_entities
from ragassay.scoring.graph import (
    NoiseMode,
    Unsupported,
    f_beta,
    noise,
    precision_of_ranking,
    unsupported_shares,
    utilization,
)
from ragassay.scoring.intervals import (
    MeanAccumulator,
    MeanResult,
    PairedResult,
    clustered_rate_interval,
    gap_to_rest,
    holm,
    normal_quantile,
    paired_difference,
    rate_interval,
    t_p_value,
    t_quantile,
)
from ragassay.scoring.overlap import (
    best_of,
    bleu,
    chrf,
    exact_match,
    gold_token_recall,
    rouge_l,
    token_f1,
    token_precision,
    token_recall,
    tokens,
    words,
)
from ragassay.scoring.rankings import (
    average_precision,
    document_recall,
    hit_rate,
    ndcg_at_k,
    precision_at_k,
    r_precision,
    rank_by_score,
    recall_at_k,
    reciprocal_rank,
)

__all__ = [
    "BASE_WEIGHT", "WEIGHT_RULES", "MeanAccumulator", "MeanResult", "NoiseMode", "PairedResult", "Unsupported",
    "WeightRule", "all_supported", "average_precision", "best_of", "bleu", "chrf", "claim_weight",
    "clustered_rate_interval", "decide", "document_recall", "entities", "entity_recall", "exact_match", "f_beta",
    "found_entities", "gap_to_rest", "gold_token_recall", "hit_rate", "holm", "mean", "ndcg_at_k", "noise", "normal_quantile",
    "paired_difference", "precision_at_k", "precision_of_ranking", "r_precision", "rank_by_score", "rate_interval",
    "recall_at_k", "reciprocal_rank", "rouge_l", "supported_share", "t_p_value", "t_quantile", "token_f1",
    "token_precision", "token_recall", "tokens", "unsupported_shares", "utilization", "weighted_share", "words",
]  # fmt: skip
