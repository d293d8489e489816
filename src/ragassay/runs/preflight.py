"""The preflight: a model that was never asked here is asked about the known example first.

From its one call follows what the server accepts and how much room the model needs to think, and
whether it can judge at all, before the rows cost money. What is learnt is kept in the store, and is
not asked again.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from ragassay.core import (
    Ask,
    Call,
    CallFailed,
    ChatReply,
    Judgment,
    Keep,
    KnownModel,
    Ledger,
    ProviderError,
    digest,
)
from ragassay.dispatch import (
    CallPolicy,
    Dispatcher,
    LocalBudget,
    output_limit_of,
    run_errors,
    spent_since,
)
from ragassay.judges.llm import known_example
from ragassay.judges.llm.known_example import Outcome
from ragassay.runs.commands import store_option
from ragassay.runs.logged_model import LoggedModel
from ragassay.runs.options import declared_options

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

PROBLEM_KEPT_FOR = timedelta(minutes=10)
"""How long it counts that a model did not judge: somebody may have repaired the server."""

ATTEMPTS = 3
"""How often the known example is asked of a server that fails."""

STARTING_LIMIT = 60.0
"""Seconds that a server is waited for which says that it is still loading its model."""

_FORMS = 4  # in which a reply is asked for, until one can be read
_STARTING = re.compile(r"\bloading\b|still starting|warming up|initiali[sz]ing", re.I)
_LONGEST_SHOWN = 300  # characters of a reply
_OPTIONS_OF_DOCTOR = (
    "base_url",
    "api_key_env",
    "temperature",
    "max_tokens",
    "reasoning_effort",
    "extra_body",
    "headers",
    "proxy",
    "ca",
    "call_timeout",
    "price",
)

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

        Raises ProviderError for a model that cannot judge the known example (E0419, unless the
        options say to go on), for one that does not answer it, and what a dispatcher raises for a
        set-up that cannot work.
        """
        for model in models:
            stored = self._store.known_model(key_of(model))
            if stored is not None and _is_fresh(stored):
                model.remember(stored.capabilities)
                self._check(model, stored)
            elif calls >= LEAST_CALLS:
                await self._ask(model)
            elif stored is not None and not stored.checked:
                # What a run of few calls has learnt of the server need not be refused again.
                model.remember(stored.capabilities)
        return self.ledger()

    async def _ask(self, model: ChatModel) -> None:
        options = self._options
        budget = LocalBudget(
            model.price,
            max_calls=options.max_calls,
            max_cost=options.max_cost,
            base=self._spent(),
            output_limit=output_limit_of(model),
            costs=None if self._log is None else self._log.costs,
        )
        self._spent = budget.ledger
        answers = await ask_known_example(
            model,
            budget,
            temperature=options.temperature,
            timeout=options.call_timeout,
            log=self._log,
            tell=self._tell,
        )
        if answers.outcome is None:
            self._check_failure(model, answers)
            return
        known = known_after(model, answers.outcome)
        if answers.was_cut and known.problem:
            # What was cut off shows nothing of the model, and is not kept.
            self._check_cut(model)
            return
        self._store.put_known_model(known)
        if self._tell is not None:
            for line in lines(known):
                self._tell(line)
        self._check(model, known)

    def _check(self, model: ChatModel, known: KnownModel) -> None:
        if known.problem and not self._options.force:
            asked_at = known.checked[:16].replace("T", " ")
            raise ProviderError(
                "E0419",
                "The model does not judge the known example.",
                where=model.uri,
                why=f"{known.problem} (asked {asked_at} UTC)",
                fix=(
                    f"{run_errors.NEW_RUN} with another model; --force goes on all the same, and"
                    f" `{doctor_command(self._options, model.uri, self._store)}` asks it again and"
                    " shows what it answers"
                ),
            )

    def _check_failure(self, model: ChatModel, answers: Answers) -> None:
        """Nothing was answered: that is no fault of the model, so that nothing is kept of it."""
        failure = answers.failure
        if failure is None or failure.kind == "over_budget" or self._options.force:
            return  # a cap that leaves no room for the preflight stops the run itself
        raise run_errors.no_answer_at_first(model.uri, failure, bool(self._options.extra_body))

    def _check_cut(self, model: ChatModel) -> None:
        if self._options.force:
            return
        limit = self._options.max_tokens
        fix = (
            f"{run_errors.NEW_RUN} with a model that thinks less, or a server that lets its replies"
            " be longer"
        )
        if limit is not None:
            fix = (
                f"{run_errors.NEW_RUN} and raise --max-tokens (it is {limit:,}, thinking included),"
                " or leave it out"
            )
        raise ProviderError(
            "E0419",
            "The model's reply to the known example is cut off.",
            where=model.uri,
            why="it was cut off at its length limit before its answer was complete",
            fix=fix,
        )


@dataclass(slots=True)
class Answers:
    """What came of the known example. outcome: None where no reply came, and failure says why
    (None: there was no room for a call); text: the last reply's; was_cut: whether that was cut off
    at its length limit.
    """

    outcome: Outcome | None = None
    failure: CallFailed | None = None
    text: str = ""
    was_cut: bool = False

    def add(self, reply: Reply) -> None:
        """Take a reply in."""
        if isinstance(reply, CallFailed):
            self.failure = reply
        elif isinstance(reply, ChatReply):
            self.text = reply.text.strip()[:_LONGEST_SHOWN]
            self.was_cut = reply.finish == "length"
            self.failure = None


async def ask_known_example(
    model: ChatModel,
    budget: LocalBudget,
    *,
    temperature: float | None,
    timeout: float,
    log: ReplyLog | None = None,
    tell: Tell | None = None,
) -> Answers:
    """How the model does on the known example, asked in simpler forms where no reply can be read.
    Raises as a dispatcher does.
    """
    answers = Answers()
    logged = model if log is None else LoggedModel(model, log, budget)
    for _ in range(_FORMS):
        room = model.known.room
        judgments = await _judgments(logged, budget, temperature, timeout, answers, tell)
        if answers.failure is not None:
            answers.outcome = None
            break
        answers.outcome = known_example.outcome(judgments)
        # A reply that was cut off says nothing of the form in which it was asked for.
        is_cut_by_user = answers.was_cut and model.settings.max_tokens is not None
        if answers.outcome.judged or is_cut_by_user:
            break
        has_more_room = answers.was_cut and model.known.room > room
        if not has_more_room and not model.simplify_format():
            break
    return answers


async def _judgments(
    model: Model,
    budget: LocalBudget,
    temperature: float | None,
    timeout: float,
    answers: Answers,
    tell: Tell | None,
) -> list[Judgment]:
    from ragassay.judges import LLMJudge, RubricRegistry

    judge = LLMJudge(model.uri, RubricRegistry.default(), temperature=temperature, controls="off")
    policy = CallPolicy(timeout=timeout, attempts=ATTEMPTS, first_answer_limit=2.0)
    judgments: list[Judgment] = []
    ask = partial(_reply_once_started, model, budget, policy, tell)
    flow = judge.answer(known_example.requests())
    replies: tuple[Reply, ...] = ()
    try:
        step = next(flow)
        while True:
            if isinstance(step, Keep):
                judgments += step.judgments
                replies = ()
            elif isinstance(step, Ask):
                replies = tuple([await ask(call) for call in step.calls])
                for reply in replies:
                    answers.add(reply)
            step = flow.send(replies)
    except StopIteration as end:
        return [*judgments, *end.value]


async def _reply_once_started(
    model: Model, budget: LocalBudget, policy: CallPolicy, tell: Tell | None, call: Call
) -> Reply:
    """The reply; a server that says that it is loading its model is waited for."""
    now = asyncio.get_running_loop().time
    until = now() + STARTING_LIMIT
    while True:
        dispatcher = Dispatcher(model, budget, policy, 1, on_budget=_nothing)
        try:
            return await dispatcher.call(call)
        except ProviderError as error:
            if error.code != "E0411" or not _STARTING.search(error.why) or now() > until:
                raise
        finally:
            dispatcher.close()
        if tell is not None:
            tell(f"{model.uri}: the server is loading its model; waiting for it")
            tell = None
        await asyncio.sleep(1.0)


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
    kept_for = PROBLEM_KEPT_FOR if known.problem else KEPT_FOR
    return datetime.now(UTC) - datetime.fromisoformat(known.checked) < kept_for


def doctor_command(options: Options, uri: str, store: Store) -> str:
    """The command that asks this judge about the known example, with the options of the run."""
    words = ["ragassay", "doctor", "--judge", uri]
    given = options.to_json()
    for name in _OPTIONS_OF_DOCTOR:
        declared = declared_options()[name]
        value = given[name]
        if value is None or value == _plain(declared.default):
            continue
        for each in value if isinstance(value, list) else [value]:
            words += [declared.flags[0], str(each)]
    return shlex.join(words) + store_option(store.location)


def _plain(default: object) -> object:
    """A default as the options are stored."""
    return list(default) if isinstance(default, tuple) else default


def lines(known: KnownModel) -> list[str]:
    """What the user should know of a model, each a line."""
    told = [f"{known.uri}: {part}" for part in known.dropped]
    if known.problem or known.right < known.asked:
        told.append(
            f"{known.uri}: {known.right} of {known.asked} verdicts on a known example are right"
        )
    return told
