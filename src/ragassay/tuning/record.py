"""The record of a search in the store: what its proposer wrote, and which sealed rows were opened.

A search is known by what it was asked for. The same command after a kill finds its record, and with
it every reply that was paid for; what the judge said is found in the store like any judgment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ragassay.core import (
    MEASURING,
    JudgeInfo,
    Judgment,
    Ledger,
    Manifest,
    RunState,
    SetupError,
    Spend,
    Status,
)
from ragassay.store import Store, StoredRun
from ragassay.tuning.values import SearchCaps
from ragassay.version import __version__

_OPENED = "opened"
_SEARCH = "optimise"
_MOST_RUNS = 100_000


@dataclass(frozen=True, slots=True)
class Attempts:
    """The runs of one step. spent: by those that are over. unfinished: the id of one that was
    stopped or killed, "" where there is none; it goes on with all that it bought.
    """

    spent: Ledger = field(default_factory=Ledger)
    unfinished: str = ""

    def with_run(self, stored: StoredRun) -> Attempts:
        """These and one run more."""
        if stored.state is not RunState.FINISHED and not self.unfinished:
            return replace(self, unfinished=stored.run_id)
        return replace(self, spent=added(self.spent, stored.ledger))


class SearchRecord:
    """What the store keeps of one search.

    key: hash of everything the search was asked for.
    """

    def __init__(self, store: Store, key: str, title: str, judge: str, proposer: str) -> None:
        self._store = store
        self.key = key
        self.run_id = f"{_SEARCH}-{key[:20]}"
        self._proposer = proposer
        self._create(title, judge)

    @property
    def folder(self) -> Path:
        """Where the rubrics lie that were tried: a resume reads them again."""
        folder = self._store.beside(self.run_id)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _create(self, title: str, judge: str) -> None:
        """Create the record where it is not there yet."""
        try:
            self._store.run(self.run_id)
        except SetupError:
            info = JudgeInfo(judge, {}, {}, "")
            created = datetime.now(UTC).isoformat(timespec="seconds")
            manifest = Manifest(
                run_id=self.run_id,
                created=created,
                version=__version__,
                source="memory",
                source_hash=self.key,
                rows=0,
                mapping={},
                metrics=(),
                judge=info,
                name=MEASURING + title,
                kept={_SEARCH: self.key},
            )
            self._store.create_run(manifest)

    # -- replies of the proposer

    def reply(self, key: str) -> Judgment | None:
        """The reply to a task, where it was bought."""
        return self._store.get_judgments([(self._proposer, key)]).get((self._proposer, key))

    def keep_reply(self, key: str, text: str, spend: Spend) -> None:
        """Write a reply down; it is on disk when this returns."""
        reply = Judgment(
            key, self._proposer, "proposal@1", Status.JUDGED, texts=(text,), spend=spend
        )
        self._store.put_judgments(self.run_id, [reply])

    # -- what the steps of the search cost, over all attempts

    def keep(self, step: str) -> Mapping[str, object]:
        """What a run of the judge keeps, so that its cost is found as the cost of its step."""
        return {_SEARCH: self.key, "step": step}

    def attempts(self) -> dict[str, Attempts]:
        """Step -> the runs of the judge for it in earlier attempts."""
        attempts: dict[str, Attempts] = {}
        for stored in reversed(self._store.runs(_MOST_RUNS)):
            kept = stored.manifest.kept
            if kept.get(_SEARCH) != self.key or "step" not in kept:
                continue
            step = str(kept["step"])
            attempts[step] = attempts.get(step, Attempts()).with_run(stored)
        return attempts

    def runs(self) -> list[str]:
        """Ids of the runs of the judge, in the order in which they began."""
        found = []
        for stored in reversed(self._store.runs(_MOST_RUNS)):
            kept = stored.manifest.kept
            if kept.get(_SEARCH) == self.key and "step" in kept:
                found.append(stored.run_id)
        return found

    # -- the sealed rows

    def opened(self, marks: Collection[str], purpose: str) -> str | None:
        """When one of these sealed rows was opened for another purpose, by any search; None where
        none was.
        """
        for opening in _openings(self._store):
            if opening.get("purpose") != purpose and _holds(opening, marks):
                return str(opening.get("at"))
        return None

    def log_opening(self, marks: Sequence[str], purpose: str, caps: SearchCaps) -> None:
        """Write down that sealed rows are opened; it is on disk when this returns. caps: of the
        search whose candidates they are opened for.
        """
        manifest = self._store.run(self.run_id).manifest
        if _opening(manifest).get("purpose") == purpose:
            return
        at = datetime.now(UTC).isoformat(timespec="seconds")
        opening = {"rows": list(marks), "purpose": purpose, "at": at, "caps": asdict(caps)}
        self._store.put_manifest(replace(manifest, kept={**manifest.kept, _OPENED: opening}))

    def caps_at_opening(self) -> SearchCaps | None:
        """The caps of this search when it opened its sealed rows; None where it did not yet. With
        them it finds the same candidates again, whatever its caps are now.
        """
        caps = _opening(self._store.run(self.run_id).manifest).get("caps")
        return SearchCaps(**caps) if isinstance(caps, dict) else None

    def finish(self, ledger: Ledger, seconds: float, why: str) -> None:
        """Write down that the search has ended, and what it spent."""
        self._store.acquire(self.run_id)
        try:
            self._store.update_run(
                self.run_id,
                state=RunState.FINISHED,
                stop_reason=why,
                ledger=ledger,
                seconds=seconds,
            )
        finally:
            self._store.release(self.run_id)


def added(one: Ledger, other: Ledger) -> Ledger:
    """The calls and costs of two ledgers together."""
    return Ledger(
        confirmed=one.confirmed + other.confirmed,
        uncertain_calls=one.uncertain_calls + other.uncertain_calls,
        uncertain_cost=one.uncertain_cost + other.uncertain_cost,
        refused_calls=one.refused_calls + other.refused_calls,
    )


def calls_of(ledger: Ledger) -> int:
    """The calls that count against a cap."""
    return ledger.confirmed.calls + ledger.uncertain_calls + ledger.refused_calls


def cost_of(ledger: Ledger) -> float:
    """The US dollars that count against a cap; calls without a price add none."""
    return (ledger.confirmed.cost or 0.0) + ledger.uncertain_cost


def opened_by_another(store: Store, key: str, marks: Collection[str]) -> str | None:
    """When one of these rows was opened by another search than that of this key; None where none
    was.
    """
    for opening in _openings(store, besides=key):
        if _holds(opening, marks):
            return str(opening.get("at"))
    return None


def _openings(store: Store, besides: str | None = None) -> Iterator[Mapping[str, object]]:
    """Every opening of sealed rows that the store knows, but that of the search `besides`."""
    for stored in store.runs(_MOST_RUNS):
        opening = _opening(stored.manifest)
        if opening and stored.manifest.kept.get(_SEARCH) != besides:
            yield opening


def _opening(manifest: Manifest) -> Mapping[str, object]:
    opening = manifest.kept.get(_OPENED)
    return opening if isinstance(opening, dict) else {}


def _holds(opening: Mapping[str, object], marks: Collection[str]) -> bool:
    """Whether one of the rows was opened then."""
    rows = opening.get("rows")
    return isinstance(rows, list) and not set(marks).isdisjoint(rows)
