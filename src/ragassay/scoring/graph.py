"""Shares of a row's claim graph: claims that are right, that are supported, and by which chunks.

The graph of a row: claims of the response, statements of the reference, chunks; an edge says that
one supports another. A claim is *right* when the reference states it, *supported* when a chunk
does. Every judged claim is one of four:

    right                                   counts for precision (supported or not)
    not right, from a relevant chunk        noise, "relevant"
    not right, from irrelevant chunks only  noise, "irrelevant"
    not right, from no chunk                hallucination

and their shares sum to 1. Results lie in [0, 1] and are None when nothing was judged. An edge that
is None has no verdict; a claim that lacks a needed one is left out, of every share alike.

RAGChecker: Ru et al. 2024, arXiv:2408.08067. Ragas: Es et al. 2024, arXiv:2309.15217.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

NoiseMode = Literal["relevant", "irrelevant"]


class Unsupported(NamedTuple):
    """Shares of the judged claims that no chunk supports: wrong ones (lower is better) and right
    ones (neither).
    """

    hallucination: float | None
    self_knowledge: float | None


def precision_of_ranking(relevance: Sequence[bool | None]) -> float | None:
    """Average precision of judged chunks: sum over relevant ranks k of precision@k / number of
    relevant ones.

    relevance: of each retrieved chunk, best rank first; one without a verdict is left out and later
    ones close up. Higher is better; 0 when none is relevant, None when none was judged. Unlike
    `average_precision` it divides by the relevant chunks that were *retrieved*: what was not
    retrieved is unknown here, so it says how well the chunks are ordered and nothing about what is
    missing. "Context precision" of Ragas.

    >>> precision_of_ranking([True, False, True]) == (1 / 1 + 2 / 3) / 2
    True
    """
    judged = [relevant for relevant in relevance if relevant is not None]
    if not judged:
        return None
    hits, total = 0, 0.0
    for rank, relevant in enumerate(judged, 1):
        if relevant:
            hits += 1
            total += hits / rank
    return total / hits if hits else 0.0


def f_beta(precision: float | None, recall: float | None, beta: float = 1.0) -> float | None:
    """(1 + beta^2) * P * R / (beta^2 * P + R): recall counts beta times as much as precision.

    None when either is None, 0 when both are 0. Raises ValueError unless both lie in [0, 1] and
    beta is positive and finite. van Rijsbergen 1979.
    """
    if not (math.isfinite(beta) and beta > 0):
        raise ValueError("beta must be positive and finite")
    if precision is None or recall is None:
        return None
    if not (0 <= precision <= 1 and 0 <= recall <= 1):
        raise ValueError("precision and recall must lie in [0, 1]")
    high, low = max(precision, recall), min(precision, recall)
    if low == 0:
        return 0.0
    # Divided through by P * R, which cannot overflow for a huge beta nor leave the range by
    # rounding.
    weight = 1 / (1 + beta * beta)
    return min(high, max(low, 1 / (weight / precision + (1 - weight) / recall)))


def noise(
    right: Sequence[bool | None],
    sources: Sequence[Collection[int] | None],
    relevant: Collection[int],
    mode: NoiseMode,
) -> float | None:
    """Claims that are not right and were taken from a chunk / judged claims. Lower is better.

    right: of each claim. sources: the chunks that support it, () for none, None when not judged.
    relevant: the chunks that support a statement of the reference. mode "relevant": at least one of
    the claim's sources is relevant; "irrelevant": it has sources and none is. Raises ValueError
    when the lengths differ or the mode is neither. RAGChecker's noise sensitivity in relevant and
    irrelevant chunks; Ragas' noise sensitivity.

    >>> noise([True, False, False, False], [(0,), (0, 1), (1,), ()], {0}, "irrelevant")
    0.25
    """
    if mode not in ("relevant", "irrelevant"):
        raise ValueError(f"mode must be relevant or irrelevant, not {mode!r}")
    from_relevant = mode == "relevant"
    judged = noisy = 0
    for is_right, chunks in zip(right, sources, strict=True):
        if is_right is None or chunks is None:
            continue
        judged += 1
        if not is_right and chunks:
            noisy += any(chunk in relevant for chunk in chunks) is from_relevant
    return noisy / judged if judged else None


def unsupported_shares(
    right: Sequence[bool | None], supported: Sequence[bool | None]
) -> Unsupported:
    """hallucination: claims neither right nor supported / judged claims. self_knowledge: right and
    not supported.

    With the share of supported claims the two sum to 1. Raises ValueError when the lengths differ.
    RAGChecker.

    >>> unsupported_shares([True, True, False, False], [True, False, True, False])
    Unsupported(hallucination=0.25, self_knowledge=0.25)
    """
    judged = self_knowledge = hallucinated = 0
    for is_right, is_supported in zip(right, supported, strict=True):
        if is_right is None or is_supported is None:
            continue
        judged += 1
        if not is_supported:
            self_knowledge += is_right
            hallucinated += not is_right
    if not judged:
        return Unsupported(None, None)
    return Unsupported(hallucinated / judged, self_knowledge / judged)


def utilization(
    in_contexts: Sequence[bool | None], in_response: Sequence[bool | None]
) -> float | None:
    """Of the reference's statements that the contexts hold, the share that the response states.
    Higher is better.

    One entry a statement. None when no judged statement is in the contexts: there was nothing to
    use. Raises ValueError when the lengths differ. RAGChecker's context utilization, which is 0
    there.

    >>> utilization([True, True, False], [True, False, True])
    0.5
    """
    available = used = 0
    for in_context, stated in zip(in_contexts, in_response, strict=True):
        if in_context and stated is not None:
            available += 1
            used += stated
    return used / available if available else None
