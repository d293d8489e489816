"""Settings of a watch, checked before anything is judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragassay.core import SetupError
from ragassay.scoring.evidence import Guarantee
from ragassay.watch.budgets import Budget, read_budget
from ragassay.watch.marks import Mark, read_mark
from ragassay.watch.targets import Target, is_address, read_targets

PRESET = "production"
"""What is measured where nothing else is asked for."""
SAMPLE = 0.1
FACTOR = 5.0
ALPHA = 0.05
WINDOW_S = 86_400.0
SESSION_QUIET_S = 600.0
PATIENCE_S = 6 * 3_600.0
KEEP_DAYS = 90.0
BATCH_ROWS = 500
EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What a watch does. Arguments as of `watch_traffic`; `judging`: those of `evaluate` for the
    judge, metrics and preset among them.
    """

    name: str
    sample: float
    factor: float
    seed: int
    budgets: tuple[Budget, ...]
    marks: tuple[Mark, ...]
    guarantee: Guarantee
    level: float
    targets: tuple[Target, ...]
    allow_private: bool
    label_share: float
    window_s: float
    session_quiet_s: float
    patience_s: float
    keep_days: float
    collector: str
    metrics: tuple[str, ...]
    judging: Mapping[str, Any] = field(default_factory=dict)

    @property
    def free(self) -> bool:
        """Whether the judge costs nothing, so that no budget of dollars binds."""
        uri = str(self.judging.get("judge", "offline"))
        return uri.partition(":")[0] in ("offline", "local")

    @property
    def back_level(self) -> float:
        """Chance of saying that a mark holds again while it does not."""
        return self.level if self.guarantee == "ever" else ALPHA

    @property
    def level_of_mark(self) -> float:
        """The level of one mark, so that all of them together keep the stated one."""
        count = max(1, len(self.marks))
        return self.level / count if self.guarantee == "ever" else self.level * count


def make_settings(
    *,
    name: str,
    sample: float,
    factor: float,
    seed: int,
    budget: Sequence[str],
    marks: Sequence[str],
    false_alarms: str | float,
    alert_to: Sequence[str],
    allow_private: bool,
    label_share: float,
    window_s: float,
    session_quiet_s: float,
    patience_s: float,
    keep_days: float,
    collector: str,
    judging: Mapping[str, Any],
) -> Settings:
    """Raises SetupError E0101, E1301, E1302 or E1303 for what cannot be done, and as `evaluate` for
    metrics and judges.
    """
    from ragassay.runs.plan import metric_names

    _check_name(name)
    _check("--sample", sample, 0, 1, "a share of the sessions, as in 0.1")
    _check(
        "--suspicious", factor, 1, 1_000, "1 for no more of suspicious rows, as 5 for five times"
    )
    _check("--label-share", label_share, 0, 1, "a share of what is judged, as in 0.05")
    _check("--window", window_s, 1, 366 * 86_400, "seconds, as in 24h")
    _check("--session-quiet", session_quiet_s, 0, 86_400, "seconds without a new row")
    _check("--patience", patience_s, 0, 366 * 86_400, "seconds that a row waits to be judged")
    _check("--keep-days", keep_days, 0.01, 36_500, "days")
    options = dict(judging)
    if options.get("metrics") is None and options.get("preset") is None:
        options["preset"] = PRESET
    rubrics = options.get("rubrics") or ()
    metrics = tuple(metric_names(options.get("metrics"), options.get("preset"), rubrics))
    guarantee, level = read_false_alarms(false_alarms)
    return Settings(
        name=name,
        sample=sample,
        factor=factor,
        seed=seed,
        budgets=tuple(map(read_budget, budget)),
        marks=tuple(dict.fromkeys(read_mark(text, metrics) for text in marks)),
        guarantee=guarantee,
        level=level,
        targets=read_targets(alert_to),
        allow_private=allow_private,
        label_share=label_share,
        window_s=window_s,
        session_quiet_s=session_quiet_s,
        patience_s=patience_s,
        keep_days=keep_days,
        collector=_checked_collector(collector),
        metrics=metrics,
        judging=options,
    )


def read_false_alarms(given: str | float) -> tuple[Guarantee, float]:
    """What is promised of false alarms: a chance of ever raising one ("0.05"), or one in so many
    sessions on average ("1/10000"). Raises SetupError E0101.
    """
    text = str(given).strip()
    one, slash, many = text.partition("/")
    try:
        value = float(many if slash else one)
    except ValueError:
        value = math.nan
    if slash and one.strip() == "1" and value >= 2 and math.isfinite(value):
        return "between", value
    if not slash and 0 < value < 1:
        return "ever", value
    raise SetupError(
        "E0101",
        "This promises nothing of false alarms.",
        where="--false-alarms",
        why=text[:40],
        fix="0.05 for the chance of ever raising one, or 1/10000 for one in so many sessions",
    )


def _checked_collector(address: str) -> str:
    """Raises SetupError E0101 for what is no address of HTTP."""
    if not address or is_address(address):
        return address
    raise SetupError(
        "E0101",
        "Results cannot be sent to that collector.",
        where="--collector",
        why="it is no address of HTTP",
        fix="give http://HOST:PORT, where OTLP over HTTP is taken (as a rule at port 4318)",
    )


def _check_name(name: str) -> None:
    if not name or len(name) > 60 or not all(each.isalnum() or each in "-_." for each in name):
        raise SetupError(
            "E0101",
            "A watch is named by letters, digits, '-', '_' and '.'.",
            where="--name",
            why=name[:80],
            fix="for example --name shop",
        )


def _check(option: str, value: float, low: float, high: float, what: str) -> None:
    if not low <= value <= high:
        raise SetupError(
            "E0101",
            f"{option} lies between {low:g} and {high:g}.",
            where=option,
            why=f"{value:g}",
            fix=what,
        )
