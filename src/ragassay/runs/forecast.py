"""The forecast of a run: what it would ask and cost, before anything is sent.

The real flows are run, with stand-in answers.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

from ragassay.core import (
    Ask,
    BadRow,
    CallFailed,
    ChatCall,
    Judgment,
    JudgmentAddress,
    RagAssayError,
    Recall,
    Reply,
    Request,
    Sample,
    Score,
    Status,
)
from ragassay.core.counting import count
from ragassay.dispatch import (
    TOKENS_PER_BYTE,
    OutputLimit,
    output_limit_of,
    worst_case_tokens,
)
from ragassay.judges import Judge
from ragassay.metrics import Metric, MetricFlow, is_users_own
from ragassay.models import Model
from ragassay.models.prices import packaged_on
from ragassay.runs.chat_models import chat_models, hosted_models
from ragassay.runs.journal import JournalStore
from ragassay.runs.metric_steps import next_step
from ragassay.runs.user_code import UserCode, UserCodeTimeout

if TYPE_CHECKING:
    from ragassay.runs.options import Options
    from ragassay.runs.plan import Plan
    from ragassay.store import Store

OUTPUT_TOKENS_PER_ITEM = 70
"""A verdict with two sentences of reasons and a quote."""

OUTPUT_TOKENS_PER_CALL = 15
"""The brackets and names around the verdicts."""

SECONDS_PER_CALL = 1.5
"""Assumed where nothing is known of the server: a small hosted model answering a batched call."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Estimates of a run: rows, requests (distinct), of which `cached` are known already, calls to
    the model, tokens, US dollars (None = price unknown), seconds. `bound` is an upper bound of the
    cost without retries: every reply as long as it may be, with the room that the model has to
    think, and everything asked again once. thinking: tokens a call that the model thinks, or writes
    more than is usual, by what its replies took before; they are part of output_tokens. None for a
    model that was never asked here; for such a one `bound` holds only if it thinks no more than
    models of its name do. by_room: that `thinking` is half of the room that was found to be enough,
    which may be far more than the model thinks.
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
    thinking: int | None = None
    by_room: bool = False


class RepliesSeen(NamedTuple):
    """Output tokens of a judge's replies, as means a call. thinking: of these, those to think.
    by_room: they are half of the room to think, and were not counted.
    """

    output: float
    thinking: float
    by_room: bool = False


RUNS_SEARCHED = 50
"""The last runs of a store, among which one by the same judge is looked for."""

_SAME = ("judge", "reasoning_effort", "max_tokens", "extra_body")
"""Options that decide how long replies are."""


def replies_seen(options: Options, model: Model, store: Store) -> RepliesSeen | None:
    """How long the replies were that the store knows of this judge: those of its last run, else as
    much as the room to think says that was learnt for it. None for a model behind a server that
    was never asked. The models are told what is known of them.
    """
    from ragassay.runs.preflight import key_of

    models = chat_models(model)
    if not hosted_models(model):
        return RepliesSeen(0.0, 0.0)
    known = [(each, store.known_model(key_of(each))) for each in models]
    for each, stored in known:
        if stored is not None:
            each.remember(stored.capabilities)
    settings = options.to_json()
    wanted = {name: settings[name] for name in _SAME}
    base_url = str(getattr(model, "base_url", ""))
    for run in store.runs(RUNS_SEARCHED):
        spend = run.ledger.confirmed
        same = {name: run.manifest.options.get(name) for name in _SAME} == wanted
        if same and run.manifest.judge.base_url == base_url and spend.output_tokens:
            return RepliesSeen(
                spend.output_tokens / spend.calls, spend.reasoning_tokens / spend.calls
            )
    if not known or any(stored is None for _, stored in known):
        return None
    # Room is about twice what was thought, or the least that a model is given that thinks.
    return RepliesSeen(0.0, max(each.known.room for each in models) / 2, by_room=True)


def forecast(
    rows: Iterable[Sample | BadRow],
    *,
    metrics: Sequence[Metric],
    judge: Judge,
    model: Model,
    store: JournalStore | None,
    concurrency: int,
    metric_timeout: float = 120.0,
    seen: RepliesSeen | None = None,
) -> Forecast:
    """Run every flow with stand-in answers and count what the judge would ask. Nothing is sent. A
    metric of the user's own that fails or takes longer than metric_timeout asks nothing more of
    that row. seen: how long the model's replies were before.
    """
    count = _Count(judge, store, output_limit_of(model))
    user_code = UserCode()
    for row in rows:
        count.rows += 1
        if isinstance(row, BadRow):
            count.bad += 1
            continue
        for requests in _request_rounds(row, metrics, user_code, metric_timeout):
            count.add(requests)
    user_code.close()
    thinking = None if seen is None else _thinking(seen, count)
    count.output_tokens += count.calls * (thinking or 0)
    return Forecast(
        rows=count.rows,
        bad=count.bad,
        requests=count.requests,
        cached=count.cached,
        calls=count.calls,
        input_tokens=count.input_tokens,
        output_tokens=count.output_tokens,
        cost=model.price(count.input_tokens, count.output_tokens) if count.calls else 0.0,
        bound=model.price(count.most_input, count.most_output) if count.calls else 0.0,
        seconds=count.calls * SECONDS_PER_CALL / max(1, concurrency),
        thinking=thinking,
        by_room=seen is not None and seen.by_room,
    )


ROWS_COUNTED = 200
"""Rows of which the calls are counted before a run begins; of more rows as many in proportion."""


def spend_before_a_run(plan: Plan, store: Store) -> str:
    """What the run is about to ask and to cost, with its cap, in one line; "" where nothing is paid
    for, or where an application has yet to answer.

    Metrics of the user's own are not counted: their code would run once more.
    """
    if plan.application is not None or not hosted_models(plan.model):
        return ""
    first = forecast(
        islice((row for _, row in plan.rows()), ROWS_COUNTED),
        metrics=[metric for metric in plan.metrics if not is_users_own(metric)],
        judge=plan.judge,
        model=plan.model,
        store=store if plan.options.cache else None,
        concurrency=plan.options.concurrency,
        seen=replies_seen(plan.options, plan.model, store),
    )
    limit = plan.options.limit
    rows = plan.scan.rows if limit is None else min(limit, plan.scan.rows)
    times = max(1.0, rows / first.rows) if first.rows else 1.0
    calls = round(first.calls * times)
    if not calls:
        return ""
    tokens = round((first.input_tokens + first.output_tokens) * times)
    cost = "price unknown (--price IN,OUT)"
    if first.cost is not None and first.bound is not None:
        cost = f"about ${first.cost * times:.4f}, at most ${first.bound * times:.4f}"
        if plan.options.price is None and packaged_on():
            cost += f" at prices of {packaged_on()}"
    cap = plan.options.max_cost
    capped = "no cap (--max-cost)" if cap is None else f"cap ${cap:.2f}"
    return f"about {count(calls, 'call')} and {count(tokens, 'token')}, {cost}, {capped}"


def _thinking(seen: RepliesSeen, count: _Count) -> int:
    """Tokens a call beside those of the verdicts."""
    answer = count.output_tokens / max(1, count.calls)
    return round(max(seen.thinking, seen.output - answer, 0.0))


class _Count:
    """What a run would ask, as it is counted."""

    def __init__(self, judge: Judge, store: JournalStore | None, output_limit: OutputLimit) -> None:
        self._judge = judge
        self._output_limit = output_limit
        self._store = store
        self._seen: set[JudgmentAddress] = set()
        self.rows = 0
        self.bad = 0
        self.requests = 0
        self.cached = 0
        self.calls = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.most_input = 0
        self.most_output = 0

    def add(self, requests: Sequence[Request]) -> None:
        """Count what is asked together of one row."""
        new: dict[JudgmentAddress, Request] = {}
        for request in requests:
            address = (self._judge.fingerprint(request.rubric), request.key)
            if address not in self._seen:
                self._seen.add(address)
                new[address] = request
        self.requests += len(new)
        stored: Container[JudgmentAddress] = ()
        if self._store is not None and new:
            judgments = self._store.get_judgments(list(new))
            self.cached += len(judgments)
            stored = judgments
        unstored = [request for address, request in new.items() if address not in stored]
        for group in self._judge.groups(unstored):
            for call in _calls(self._judge, group, self._store):
                if isinstance(call, ChatCall):
                    self._add_call(call, len(group))

    def _add_call(self, call: ChatCall, items: int) -> None:
        self.calls += 1
        most_input, most_output = worst_case_tokens(call, self._output_limit)
        self.input_tokens += round(most_input * TOKENS_PER_BYTE)
        self.output_tokens += OUTPUT_TOKENS_PER_CALL + OUTPUT_TOKENS_PER_ITEM * items
        self.most_input += 2 * most_input  # everything asked again once
        self.most_output += 2 * most_output


def _request_rounds(
    sample: Sample, metrics: Sequence[Metric], user_code: UserCode, timeout: float
) -> Iterable[tuple[Request, ...]]:
    """What the metrics ask of a row, round by round: a flow's later requests depend on the answers
    to its first ones.
    """
    for metric in metrics:
        flow: MetricFlow | None = None
        answers: tuple[Judgment, ...] = ()
        users_own = is_users_own(metric)
        while True:
            work = partial(next_step, metric, sample, flow, answers)
            try:
                step = user_code.wait(work, timeout) if users_own else work()
            except UserCodeTimeout:
                break
            except RagAssayError:
                if users_own:
                    break
                raise
            if isinstance(step, Score):
                break
            flow, requests = step
            yield requests
            answers = tuple(_stand_in(request) for request in requests)


def _stand_in(request: Request) -> Judgment:
    # A decomposition is guessed as one claim a sentence; a rating stands for "judged", its value is
    # never used, nor which context it names as the source.
    texts: tuple[str, ...] = ()
    if request.rubric == "claims":
        texts = tuple(text for text in request.text("response").split(". ") if text.strip())
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
    """The calls that a judge makes for this group when each of them fails. Then nothing is asked
    again, and a judge whose further members are asked only where the first do not suffice (a
    cascade) asks all of them.
    """
    flow = judge.answer(group)
    asked: list[object] = []
    try:
        step = next(flow)
        while True:
            replies: tuple[Reply, ...] = ()
            if isinstance(step, Ask):
                asked += step.calls
                replies = tuple(CallFailed("forecast", "nothing is sent") for _ in step.calls)
            elif isinstance(step, Recall) and store is not None:
                replies = cast(
                    tuple[Reply, ...], tuple(store.get_judgments(step.addresses).values())
                )
            step = flow.send(replies)
    except StopIteration:
        return asked
