"""The errors that a user can meet, grouped by what the reader can do about them.

    RagAssayError                 code, what, where, why, fix; exit_code
    ├── SetupError         (2)    fix the command, the options or the rubric
    ├── DataError          (2)    fix the rows: file, line, row id, field
    ├── NothingToDo        (6)    the input holds no row to evaluate
    ├── EnvironmentFailure (5)    the machine: store, disk, network, permissions
    │   └── ProviderError  (5)    the judge's server: key, model, reachability
    ├── BudgetExhausted    (4)    a cap on calls, cost or time was reached
    ├── GateFailed         (1)    a gate's threshold was not met
    └── Incomplete         (3)    coverage is below the floor that was asked for

Errors of a single model call are `CallError`s. They never leave the runner: they become a
retry, a Judgment with a status and a reason, or (when the set-up is wrong) a ProviderError.

`Interrupted` is no error of anybody: Ctrl-C or SIGTERM stopped what several runs were needed for.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable
from typing import ClassVar

LAST = {
    "E01": 11,
    "E02": 6,
    "E03": 19,
    "E04": 19,
    "E05": 10,
    "E06": 7,
    "E07": 8,
    "E08": 7,
    "E09": 2,
    "E11": 8,
    "E12": 6,
    "E13": 4,
    "E14": 13,
}
"""Range of codes -> the number of its last one. E01 command and options, E02 rubrics and metrics,
E03 rows, E04 judge and provider, E05 store and machine, E06 gates, budgets and stops, E07
optimising a judge, E08 test sets, E09 the web application, E11 stress tests, E12 labels of people,
E13 watching traffic, E14 the HTTP API.
What each code means stands in errors.yaml.
"""


def _codes() -> frozenset[str]:
    codes: set[str] = set()
    for prefix, last in LAST.items():
        codes.update(f"{prefix}{number:02}" for number in range(1, last + 1))
    return frozenset(codes)


CODES = _codes()
"""Every code. No file is read for them: memory or file handles may be what ran out."""


class RagAssayError(Exception):
    """A mistake that the user can act on.

    `code` is one of the catalogue (`ragassay explain CODE` prints its entry); `what` is one
    sentence; `where` is file:line, row id and field, or the option; `why` is the offending value,
    shortened; `fix` is a command or an edit. `exit_code` is what the command line returns.
    """

    exit_code: ClassVar[int] = 5

    def __init__(
        self, code: str, what: str, *, where: str = "", why: str = "", fix: str = ""
    ) -> None:
        if code not in CODES:
            raise KeyError(f"error code {code} is not in the catalogue")
        self.code = code
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.what}"]
        for name in ("where", "why", "fix"):
            text = getattr(self, name)
            if text:
                lines.append(f"  {name}: {text}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython and Jupyter show instead of a traceback: what to do, and no line
        of this package.
        """
        return [*str(self).splitlines(), f"  more: ragassay explain {self.code}"]

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.what, self.where, self.why, self.fix))


def _rebuild(
    kind: type[RagAssayError], code: str, what: str, where: str, why: str, fix: str
) -> RagAssayError:
    return kind(code, what, where=where, why=why, fix=fix)


class SetupError(RagAssayError):
    """The command, an option, a rubric or a metric name is wrong. Raised before any paid call."""

    exit_code = 2


class DataError(RagAssayError):
    """The rows cannot be read as asked. Says file, line, row id and field."""

    exit_code = 2


class NothingToDo(RagAssayError):
    """There is no row to evaluate."""

    exit_code = 6


class EnvironmentFailure(RagAssayError):
    """The store, the disk or the network does not do what it must."""

    exit_code = 5


class ProviderError(EnvironmentFailure):
    """The judge's server refuses the set-up: key, model, address. Ends a run; what was judged is
    kept.
    """


class BudgetExhausted(RagAssayError):
    """A cap on calls, cost or time was reached; the run can be resumed with a higher one."""

    exit_code = 4


class GateFailed(RagAssayError):
    """A gate's threshold was not met."""

    exit_code = 1


class Incomplete(RagAssayError):
    """Coverage is below the floor that was asked for."""

    exit_code = 3


class Interrupted(Exception):
    """Ctrl-C or SIGTERM stopped a run whose result cannot be given in part, such as a benchmark.

    It has no code, for nothing is to be mended: the same call goes on where it was. The message
    says so. The command line leaves with 130, as after any Ctrl-C. No KeyboardInterrupt is raised
    for it, because the run took the signal already and ended in order.
    """


class RowsWarning(UserWarning):
    """How rows were read, where something of them was left out or guessed. Given to programs; the
    command prints it.
    """


class CallError(Exception):
    """One model call failed.

    kind: "rate_limit", "timeout", "server", "network", "too_long", "bad_request", "auth",
          "refused", "no_model", "no_address", "bad_reply", "web_page" (before any
          answer), "extra_body" (a field of the user's own is refused), "over_budget" (a cap leaves
          no room for its requests).
    retryable: whether the same call may succeed later. retry_after: seconds the server asked for.
    fatal: no call can succeed with this set-up (wrong key, unknown model): the run must stop.
    maybe_billed: the server may have charged for the call although no answer arrived.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        fatal: bool = False,
        maybe_billed: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.fatal = fatal
        self.maybe_billed = maybe_billed


def message_of(error: BaseException) -> str:
    """What an error says, also one of a user's code that cannot say it."""
    try:
        return str(error)
    except BaseException:
        return "(an error that cannot be shown)"


def memory_failure(error: BaseException) -> EnvironmentFailure | None:
    """Where memory ran out, what a user can do about it; None for any other error."""
    # A thread that cannot start has no room for its stack.
    # The second is what a pool says at its end of a thread that could not be started.
    words = ("can't start new thread", "cannot join thread before it is started")
    no_thread = isinstance(error, RuntimeError) and any(each in str(error) for each in words)
    # The system refuses memory with an error of its own, say to map a file.
    refused = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if not (isinstance(error, MemoryError) or no_thread or refused):
        return None
    return EnvironmentFailure(
        "E0509",
        "Memory ran out.",
        why=message_of(error),
        fix=(
            "lower --concurrency (fewer rows are then held at once), shorten the contexts, or give"
            " the process more memory"
        ),
    )


def nearest(word: str, choices: Iterable[str]) -> str:
    """' Did you mean X?' for the choice that looks most like `word`, or '' when none does."""
    matches = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.6)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def is_fault(error: BaseException) -> bool:
    """Whether an error is a fault of the code that raised it, and no wish to end the program, a
    task or a generator. The faults of native extensions are no Exceptions (pyo3's PanicException).
    """
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def shorten(value: object, limit: int = 80) -> str:
    """`value` as one printable line of at most `limit` characters (control characters escaped)."""
    text = value if isinstance(value, str) else repr(value)
    text = text[: limit + 1]
    if not text.isprintable():
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def error_words(error: str, limit: int) -> str:
    """What an application said when it failed on a row, in at most `limit` characters."""
    return shorten(error, limit) or "the application failed and gave no message"
