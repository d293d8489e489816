"""What a run would ask and cost, before anything is sent: the real flows, fed with stand-in
answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from ragassay.core import (
    Ask,
    BadRow,
    CallFailed,
    ChatCall,
    Judgment,
    RagAssayError,
    Recall,
    Reply,
    Request,
    Sample,
    Score,
    Status,
)
from ragassay.dispatch import worst_case_tokens
from ragassay.judges import Judge
from ragassay.metrics import Metric, MetricFlow, is_users_own
from ragassay.models import Model
from ragassay.runs.journal import JournalStore, Pair
from ragassay.runs.metric_steps import next_step
from ragassay.runs.user_code import UserCode, UserCodeTimeout

CHARS_PER_TOKEN = 4.2
"""English prose under the byte-pair vocabularies in use; other languages need more tokens, which
the bound covers.
"""

OUTPUT_TOKENS_PER_ITEM = 70
"""A verdict with two sentences of reasons and a quote."""

OUTPUT_TOKENS_PER_CALL = 15

SECONDS_PER_CALL = 1.5
"""Assumed where nothing is known of the server: a small hosted model answering a batched call."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Estimates of a run: rows, requests (distinct), of which `cached` are known already, calls to
    the model, tokens, US dollars (None = price unknown), seconds. `bound` is an upper bound of the
    cost without retries: every reply as long as it may be, and everything asked again once.
    """

    rows: int
    bad: int
    requests: int
    cached: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    bound: float | None
    seconds: float


def forecast(
    rows: Iterable[Sample | BadRow],
    *,
    metrics: Sequence[Metric],
    judge: Judge,
    model: Model,
    store: JournalStore | None,
    concurrency: int,
    metric_timeout: float = 120.0,
) -> Forecast:
    """Run every flow with stand-in answers and count what the judge would ask. Nothing is sent. A
    metric of the user's own that fails or takes longer than metric_timeout asks nothing more of
    that row.
    """
    n = bad = requests = cached = calls = tokens_in = tokens_out = worst_in = worst_out = 0
    seen: set[Pair] = set()
    own = UserCode()
    for row in rows:
        n += 1
        if isinstance(row, BadRow):
            bad += 1
            continue
        for wave in _waves(row, metrics, own, metric_timeout):
            fresh: dict[Pair, Request] = {}
            for request in wave:
                pair = (judge.fingerprint(request.rubric), request.key)
                if pair not in seen:
                    seen.add(pair)
                    fresh[pair] = request
            requests += len(fresh)
            known = store.get_judgments(list(fresh)) if store is not None and fresh else {}
            cached += len(known)
            for group in judge.batches([r for pair, r in fresh.items() if pair not in known]):
                for call in _calls(judge, group, store):
                    if not isinstance(call, ChatCall):
                        continue
                    calls += 1
                    tokens_in += round(sum(len(m.content) for m in call.messages) / CHARS_PER_TOKEN)
                    tokens_out += OUTPUT_TOKENS_PER_CALL + OUTPUT_TOKENS_PER_ITEM * len(group)
                    bound_in, bound_out = worst_case_tokens(call)
                    worst_in, worst_out = worst_in + 2 * bound_in, worst_out + 2 * bound_out
    own.close()
    return Forecast(
        rows=n,
        bad=bad,
        requests=requests,
        cached=cached,
        calls=calls,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cost=model.price(tokens_in, tokens_out) if calls else 0.0,
        bound=model.price(worst_in, worst_out) if calls else 0.0,
        seconds=calls * SECONDS_PER_CALL / max(1, concurrency),
    )


def _waves(
    sample: Sample, metrics: Sequence[Metric], own: UserCode, timeout: float
) -> Iterable[tuple[Request, ...]]:
    for metric in metrics:
        flow: MetricFlow | None = None
        answers: tuple[Judgment, ...] = ()
        while True:
            step = partial(next_step, metric, sample, flow, answers)
            try:
                found = own.wait(step, timeout) if is_users_own(metric) else step()
            except UserCodeTimeout:
                break
            except RagAssayError:
                if is_users_own(metric):
                    break
                raise
            if isinstance(found, Score):
                break
            flow, asked = found
            yield asked
            answers = tuple(_stand_in(request) for request in asked)


def _stand_in(request: Request) -> Judgment:
    # A decomposition is guessed as one claim a sentence; a rating stands for "judged", its value is
    # never used, nor which context it names as the source.
    texts = (
        tuple(t for t in request.text("response").split(". ") if t.strip())
        if request.rubric == "claims"
        else ()
    )
    return Judgment(
        request.key,
        "",
        request.rubric,
        Status.JUDGED,
        rating=1,
        value=1.0,
        texts=texts,
        passes=True,
        sources=(0,),
    )


def _calls(judge: Judge, group: tuple[Request, ...], store: JournalStore | None) -> list[object]:
    """Every call for this group if each of them failed: nothing is asked twice then, and a judge
    that asks others of its members only where the first ones do not suffice asks them all.
    """
    flow, asked = judge.answer(group), list[object]()
    try:
        step = next(flow)
        while True:
            replies: tuple[Reply, ...] = ()
            if isinstance(step, Ask):
                asked += step.calls
                replies = tuple(CallFailed("forecast", "nothing is sent") for _ in step.calls)
            elif isinstance(step, Recall) and store is not None:
                replies = cast(tuple[Reply, ...], tuple(store.get_judgments(step.pairs).values()))
            step = flow.send(replies)
    except StopIteration:
        return asked
