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
    "BASE_WEIGHT", "WEIGHT_RULES", "MeanAccumulator", "MeanResult", "PairedResult", "WeightRule", "all_supported",
    "average_precision", "claim_weight", "clustered_rate_interval", "decide", "document_recall", "gap_to_rest",
    "hit_rate", "holm", "mean", "ndcg_at_k", "normal_quantile", "paired_difference", "precision_at_k", "r_precision",
    "rank_by_score", "rate_interval", "recall_at_k", "reciprocal_rank", "supported_share", "t_p_value", "t_quantile",
    "weighted_share",
]  # fmt: skip
