"""What is shown while a run goes on: a live line on a terminal, a plain line every half minute
elsewhere.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ragassay.core.counting import count

if TYPE_CHECKING:
    from ragassay.runs import Progress

PLAIN_EVERY = 30.0  # seconds: a log of a long run stays readable


class Display:
    """Shows rows, rate, ETA, calls, rate limits, tokens and cost so far. Writes to stderr only."""

    def __init__(self, console: Console, *, cap: float | None = None) -> None:
        self._console, self._cap = console, cap
        # Transient: the summary follows, and says more.
        self._live = (
            Live(console=console, refresh_per_second=5, transient=True)
            if console.is_terminal
            else None
        )
        self._begun = self._last = time.monotonic()
        self._first_rows: int | None = None

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show the run's state now (off a terminal: at most every 30 seconds)."""
        now = time.monotonic()
        if self._first_rows is None:  # rows done before a resume do not count for the rate
            self._first_rows = progress.rows
        if self._live is not None:
            self._live.update(Text(self.line(progress, now - self._begun), style="dim"))
        elif now - self._last >= PLAIN_EVERY:
            self._last = now
            self._console.print(
                self.line(progress, now - self._begun),
                markup=False,
                highlight=False,
                soft_wrap=True,
            )

    def line(self, progress: Progress, seconds: float) -> str:
        """One line: rows done, rate, ETA, calls, waiting reason, tokens, cost."""
        done = progress.rows - (self._first_rows or 0)
        rate = done / seconds if seconds > 0 else 0.0
        parts = [f"{progress.rows}/{progress.total} rows"]
        if rate > 0:
            parts.append(f"{rate:.1f} rows/s")
            eta = _clock((progress.total - progress.rows) / rate)
            parts.append(
                "ETA unknown while waiting" if progress.traffic.down is not None else f"ETA {eta}"
            )
        traffic, ledger = progress.traffic, progress.ledger()
        if traffic.sent:
            parts.append(f"{count(ledger.confirmed.calls, 'call')}, {traffic.in_flight} in flight")
            if traffic.retries:
                parts.append(count(traffic.retries, "retry", "retries"))
            if traffic.rate_limited:
                parts.append(count(traffic.rate_limited, "rate limit"))
            parts.append(
                count(ledger.confirmed.input_tokens + ledger.confirmed.output_tokens, "token")
            )
        if ledger.confirmed.cost is not None:
            cap = f" of at most ${self._cap:.2f}" if self._cap is not None else ""
            parts.append(f"${ledger.confirmed.cost:.4f}{cap}")
        if progress.cached:
            parts.append(f"{progress.cached} from the cache")
        if traffic.in_flight and traffic.limit < traffic.ceiling:
            parts.append(f"at most {traffic.limit} at once, for the server is slow or fails")
        if reason := traffic.waiting or progress.storage():
            parts.append(f"waiting: {reason}")
        if (stall := progress.slowest) is not None:
            parts.append(str(stall))
        return " · ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
