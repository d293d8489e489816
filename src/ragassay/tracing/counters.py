"""What an endpoint counts: each record that it took is stored, rejected or a duplicate."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Counts:
    """Records since the process began. received is always stored + duplicate + rejected: a record
    counts when the commit of its request has happened, so one that was refused and is sent again
    counts once.
    """

    received: int
    stored: int
    duplicate: int
    rejected: int


@dataclass(slots=True)
class Counters:
    """The counts of one endpoint. Thread-safe."""

    _stored: int = 0
    _duplicate: int = 0
    _rejected: Counter[str] = field(default_factory=Counter)
    _requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def committed(self, stored: int, duplicate: int, rejected: Counter[str]) -> None:
        """One commit has happened."""
        with self._lock:
            self._stored += stored
            self._duplicate += duplicate
            self._rejected.update(rejected)

    def answered(self, path: str, status: int) -> None:
        """A request was answered."""
        with self._lock:
            self._requests[path, status] += 1

    @property
    def counts(self) -> Counts:
        """The counts of one moment."""
        with self._lock:
            rejected = sum(self._rejected.values())
            received = self._stored + self._duplicate + rejected
            return Counts(received, self._stored, self._duplicate, rejected)

    @property
    def reasons(self) -> dict[str, int]:
        """Why records were rejected -> how many."""
        with self._lock:
            return dict(self._rejected)

    def lines(self) -> list[str]:
        """The counts as Prometheus reads them."""
        with self._lock:
            rejected = dict(self._rejected)
            requests = dict(self._requests)
            stored, duplicate = self._stored, self._duplicate
        total = stored + duplicate + sum(rejected.values())
        lines = ["# TYPE ragassay_records_received_total counter"]
        lines.append(f"ragassay_records_received_total {total}")
        lines.append("# TYPE ragassay_records_stored_total counter")
        lines.append(f"ragassay_records_stored_total {stored}")
        lines.append("# TYPE ragassay_records_duplicate_total counter")
        lines.append(f"ragassay_records_duplicate_total {duplicate}")
        lines.append("# TYPE ragassay_records_rejected_total counter")
        lines.append(f"ragassay_records_rejected_total {sum(rejected.values())}")
        lines.append("# TYPE ragassay_records_rejected_by_reason_total counter")
        for reason, count in sorted(rejected.items()):
            label = f'reason="{reason}"'
            lines.append(f"ragassay_records_rejected_by_reason_total{{{label}}} {count}")
        lines.append("# TYPE ragassay_requests_total counter")
        for (path, status), count in sorted(requests.items()):
            label = f'path="{path}",status="{status}"'
            lines.append(f"ragassay_requests_total{{{label}}} {count}")
        return lines
