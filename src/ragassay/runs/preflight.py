"""The preflight: a model that was never asked here is asked about the known example first.

From its one call follows what the server accepts and how much room the model needs to think, and
whether it can judge at all, before the rows cost money. What is learnt is kept in the store, and is
not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ragassay.core import Ask, Judgment, Keep, KnownModel, Ledger, ProviderError, Status, digest
from ragassay.dispatch import CallPolicy, Dispatcher, LocalBudget, output_limit_of, spent_since
from ragassay.judges.llm import known_example
from ragassay.judges.llm.known_example import Outcome
from ragassay.runs.logged_model import LoggedModel

if TYPE_CHECKING:
    from ragassay.core import Reply
    from ragassay.models import Model
    from ragassay.models.chat_model import ChatModel
    from ragassay.runs.options import Options
    from ragassay.runs.reply_log import ReplyLog
    from ragassay.store import Store

LEAST_CALLS = 10
"""Runs of fewer calls are not preceded by one more: there the first call shows the same."""

KEPT_FOR = timedelta(days=30)
"""How long what is known of a model counts; servers change."""

_FORMS = 4  # in which a reply is asked for, until one can be read

Tell = Callable[[str], None]


class Preflight:
    """Learns the models of a run. base: what the run has spent before; tell: called with what the
    user should know; log: the run's log of calls, so that a kill loses none of what was spent.
    """

    def __init__(
        self,
        options: Options,
        store: Store,
        base: Ledger,
        tell: Tell | None = None,
        log: ReplyLog | None = None,
    ) -> None:
        self._options = options
        self._store = store
        self._base = base
        self._tell = tell
        self._log = log
        self._spent: Callable[[], Ledger] = lambda: base

    def ledger(self) -> Ledger:
        """What the run has spent by now."""
        spent = self._spent()
        new = spent_since(self._base, spent)
        return replace(spent, preflight=self._base.preflight + new)

    async def run(self, models: Sequence[ChatModel], calls: int) -> Ledger:
        """Make the models ready for a run of about so many calls, and return the ledger with what
        that cost.

        Raises ProviderError E0419 for a model that cannot judge the known example (unless the
        options say to go on), and what a dispatcher raises for a set-up that cannot work.
        """
        for model in models:
            stored = self._store.known_model(key_of(model))
            if stored is not None and _is_fresh(stored):
                model.remember(stored.capabilities)
                self._check(model, stored)
            elif calls >= LEAST_CALLS:
                await self._ask(model)
        return self.ledger()

    async def _ask(self, model: ChatModel) -> None:
        options = self._options
        budget = LocalBudget(
            model.price,
            max_calls=options.max_calls,
            max_cost=options.max_cost,
            base=self._spent(),
            output_limit=output_limit_of(model),
        )
        self._spent = budget.ledger
        result = await ask_known_example(
            model,
            budget,
            temperature=options.temperature,
            timeout=options.call_timeout,
            log=self._log,
        )
        if result is None:
            return
        known = known_after(model, result)
        self._store.put_known_model(known)
        if self._tell is not None:
            for line in lines(known):
                self._tell(line)
        self._check(model, known)

    def _check(self, model: ChatModel, known: KnownModel) -> None:
        if known.problem and not self._options.force:
            raise ProviderError(
                "E0419",
                "The model does not judge the known example.",
                where=model.uri,
                why=known.problem,
                fix=(
                    "take another model; --force goes on all the same, and `ragassay doctor"
                    f" --judge {model.uri}` shows what it answered"
                ),
            )


async def ask_known_example(
    model: ChatModel,
    budget: LocalBudget,
    *,
    temperature: float | None,
    timeout: float,
    log: ReplyLog | None = None,
) -> Outcome | None:
    """How the model does on the known example, asked in simpler forms where no reply can be read;
    None where no reply came, for reasons that are not the model's. Raises as a dispatcher does.
    """
    result: Outcome | None = None
    logged = model if log is None else LoggedModel(model, log, budget)
    for _ in range(_FORMS):
        judgments = await _judgments(logged, budget, temperature, timeout)
        if all(j.status in (Status.FAILED, Status.OVER_BUDGET) for j in judgments):
            return _failure(judgments)
        result = known_example.outcome(judgments)
        if result.judged or not model.simplify_format():
            break
    return result


async def _judgments(
    model: Model, budget: LocalBudget, temperature: float | None, timeout: float
) -> list[Judgment]:
    from ragassay.judges import LLMJudge, RubricRegistry

    judge = LLMJudge(model.uri, RubricRegistry.default(), temperature=temperature, controls="off")
    policy = CallPolicy(timeout=timeout, attempts=3, first_answer_limit=2.0)
    dispatcher = Dispatcher(model, budget, policy, 1, on_budget=_nothing)
    judgments: list[Judgment] = []
    flow = judge.answer(known_example.requests())
    replies: tuple[Reply, ...] = ()
    try:
        step = next(flow)
        while True:
            if isinstance(step, Keep):
                judgments += step.judgments
                replies = ()
            elif isinstance(step, Ask):
                replies = tuple([await dispatcher.call(call) for call in step.calls])
            step = flow.send(replies)
    except StopIteration as end:
        return [*judgments, *end.value]
    finally:
        dispatcher.close()


def _failure(judgments: Sequence[Judgment]) -> Outcome | None:
    """What calls that failed for good say: of the model something where it rejects the call."""
    reason = next((judgment.reason for judgment in judgments if judgment.reason), "")
    if any(judgment.status is Status.OVER_BUDGET for judgment in judgments):
        return None
    if "answered 4" not in reason:
        return None
    return Outcome(len(judgments), 0, 0, f"no verdict was given: {reason}")


def _nothing() -> None:
    """A cap that leaves no room for the preflight stops the run itself."""


# -- what is kept


def save_models(store: Store, models: Sequence[ChatModel]) -> None:
    """Keep what a run has learnt of its models."""
    for model in models:
        if model.has_answered:
            store.put_known_model(known_model(model, store))


def key_of(model: ChatModel) -> str:
    """The model, its address and the settings under which it was asked."""
    parameters = model.settings.parameters()
    return digest("model", model.uri, model.base_url, parameters, known_example.VERSION)


def known_model(model: ChatModel, store: Store) -> KnownModel:
    """What is known of a model now, with what its known example came to."""
    key = key_of(model)
    before = store.known_model(key) or KnownModel(key, model.uri, model.base_url)
    return replace(before, capabilities=model.known.to_json(), dropped=model.dropped())


def known_after(model: ChatModel, result: Outcome) -> KnownModel:
    return KnownModel(
        key_of(model),
        model.uri,
        model.base_url,
        checked=datetime.now(UTC).isoformat(timespec="seconds"),
        right=result.right,
        asked=result.asked,
        problem=result.problem,
        capabilities=model.known.to_json(),
        dropped=model.dropped(),
    )


def _is_fresh(known: KnownModel) -> bool:
    if not known.checked:
        return False
    return datetime.now(UTC) - datetime.fromisoformat(known.checked) < KEPT_FOR


def lines(known: KnownModel) -> list[str]:
    """What the user should know of a model, each a line."""
    told = [f"{known.uri}: {part}" for part in known.dropped]
    if known.problem or known.right < known.asked:
        told.append(
            f"{known.uri}: {known.right} of {known.asked} verdicts on a known example are right"
        )
    return told
