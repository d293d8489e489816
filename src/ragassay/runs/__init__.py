"""A run from its options to its end. The modules in the order in which a run needs them:

- `options`: the options of a run, declared once and checked.
- `plan`: rows, metrics, judge and model made ready; `resume` makes an earlier run's again.
- `session`: one run from its start to its end: caps, progress, signals, and what is written last.
- `engine`: the rows in work; `row_scorer` takes one block of them to scores, `judgment_lookup`
  finds the judgments they ask for, and `judge_runner` asks the judge for those not found.
- `journal`: judgments and rows on disk before they are used, in commits that many share;
  `reply_log`: replies on disk before they are judged, for the resume after a kill.
- `run`: what is left at the end, read from the store.

The door is light: each name is imported from its module when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.runs.engine import Engine, EngineSettings, Outcome, RunContext
    from ragassay.runs.forecast import Forecast
    from ragassay.runs.journal import Journal
    from ragassay.runs.logged_model import LoggedModel
    from ragassay.runs.progress import Progress, Stall
    from ragassay.runs.reply_log import Replies, ReplyLog, boot_id, cannot_write
    from ragassay.runs.row_scorer import Measurement
    from ragassay.runs.watchdog import Watchdog

__all__ = [
    "Engine",
    "EngineSettings",
    "Forecast",
    "Journal",
    "LoggedModel",
    "Measurement",
    "Outcome",
    "Progress",
    "Replies",
    "ReplyLog",
    "RunContext",
    "Stall",
    "Watchdog",
    "boot_id",
    "cannot_write",
]

__getattr__ = lazy_names(
    __name__,
    {
        "engine": ("Engine", "EngineSettings", "Outcome", "RunContext"),
        "forecast": ("Forecast",),
        "journal": ("Journal",),
        "logged_model": ("LoggedModel",),
        "progress": ("Progress", "Stall"),
        "reply_log": ("Replies", "ReplyLog", "boot_id", "cannot_write"),
        "row_scorer": ("Measurement",),
        "watchdog": ("Watchdog",),
    },
)
