"""Neither how many calls overlap nor in which order they come back shows in a result; and nothing
of them stays behind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support import leaks, orders


def test_results_summary_page_and_exports_are_the_same_bytes_in_every_order_of_completion(
    tmp_path: Path,
) -> None:
    with orders.server() as server:
        found = [
            orders.prints(server, 16, concurrency, seed, tmp_path)
            for seed, concurrency in enumerate((1, 8, 64, 256, 64))
        ]
    for other in found[1:]:
        assert other == found[0]
    assert set(found[0]) == {"rows", "summary", "page", "jsonl", "csv", "calls", "text"}


def test_other_answers_make_other_results(tmp_path: Path) -> None:
    with orders.server() as server:
        first = orders.prints(server, 4, 8, 0, tmp_path)
        server.answer = lambda body: {"verdicts": []}
        other = orders.prints(server, 4, 8, 1, tmp_path)
    assert all(
        first[name] != other[name] for name in ("rows", "summary", "page", "jsonl", "csv", "text")
    )


@pytest.mark.parametrize("kind", ["good", "failing", "cancelled"])
def test_calls_leave_no_descriptor_thread_or_task_behind(kind: leaks.Kind, tmp_path: Path) -> None:
    found = leaks.hunt(kind, 2, 64, tmp_path)
    assert found.calls >= 64
    assert max(abs(found.descriptors), abs(found.threads), abs(found.tasks)) <= 2
