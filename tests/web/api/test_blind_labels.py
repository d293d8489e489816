"""Who labels is told by no operation what others said of a row that may still come to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ragassay.core import HumanLabel
from ragassay.store import Store
from ragassay.web import WebSettings
from ragassay.web.api.table import OPERATIONS
from ragassay.web.sessions import Role
from web.api.conftest import Program
from web.api.test_access import address
from web.conftest import INVENTED, Client, save, serving
from web.test_labelling import METRIC, Labeller, queue

TOKENS = {Role.READER: "r" * 30, Role.LABELLER: "l" * 30, Role.ADMIN: "a" * 30}
REASON = "Context 1 names another limit."
LABELS = "/runs/run1/labels"
PROGRESS = f"{LABELS}/progress?metric={METRIC}"
JUDGE = ("with_judge", "compared", "reliability", "disputes")
"""What of the progress says something of the judge."""


@pytest.fixture
def client(store: Store, make) -> Iterator[Client]:
    """row-1, which fails by the judge, and row-2 wait for two people each; row-3 is not chosen."""
    save(store, [make.row(0, sentences=INVENTED), make.row(1), make.row(2)])
    save(store, [make.row(0), make.row(1)], "run2")
    queue(store, 2, wanted=2)
    roles = {role: TOKENS[role] for role in (Role.READER, Role.LABELLER)}
    settings = WebSettings(rate=100_000.0, token=TOKENS[Role.ADMIN], roles=roles)
    with serving(store, settings) as client:
        # The judge fails the row, and she passes it.
        assert Labeller(client, "ann").give("row-1", "1", rationale=REASON).status == 303
        yield client


def read(client: Client, path: str, role: Role = Role.LABELLER) -> Any:
    status, _, content = Program(client.server)("GET", path, token=TOKENS[role])
    assert status == 200, content
    return json.loads(content)


def rows(page: dict[str, Any]) -> list[str]:
    assert page["total"] == len(page["items"])
    return [label["row_id"] for label in page["items"]]


def test_a_row_that_waits_for_somebody_has_no_labels_for_who_labels(client, store) -> None:
    store.put_labels("run1", [HumanLabel("row-3", METRIC, "Eve", 0.0, "It says 90.")])
    for path in (LABELS, f"{LABELS}?metric={METRIC}"):
        assert rows(read(client, path)) == ["row-3"]
    for role in (Role.READER, Role.ADMIN):
        assert rows(read(client, LABELS, role)) == ["row-1", "row-3"]
    # The second person has labelled it: nobody waits for it any more.
    Labeller(client, "bob").give("row-1", "1")
    assert rows(read(client, LABELS)) == ["row-1", "row-3", "row-1"]


def test_a_row_on_which_people_are_tied_has_no_labels_for_the_third(client) -> None:
    Labeller(client, "bob").give("row-1", "0")
    assert rows(read(client, LABELS)) == []
    assert read(client, PROGRESS)["ties"] == []
    assert read(client, PROGRESS, Role.ADMIN)["ties"] == ["row-1"]
    Labeller(client, "eve").give("row-1", "0")
    assert rows(read(client, LABELS)) == ["row-1"] * 3


def test_a_label_that_is_shown_later_moves_no_page(client, store) -> None:
    labels = [HumanLabel("row-3", METRIC, name, 1.0) for name in ("Eve", "Tim")]
    store.put_labels("run1", labels)
    first = read(client, f"{LABELS}?limit=1")
    assert (first["items"], first["total"]) == ([], 2)
    Labeller(client, "bob").give("row-1", "1")
    second = read(client, f"{LABELS}?limit=1&cursor={first['next']}")
    assert [label["annotator"] for label in second["items"]] == ["Eve"]


def test_the_progress_says_neither_what_people_nor_what_the_judge_said(client) -> None:
    told = read(client, PROGRESS)
    assert (told["chosen"], told["finished"], told["labelled"]) == (2, 0, 1)
    assert [told[name] for name in JUDGE] == [[], 0, [], []]
    assert (told["among_people"], told["needed"]) == (None, "")
    for role in (Role.READER, Role.ADMIN):
        whole = read(client, PROGRESS, role)
        (dispute,) = whole["disputes"]
        assert dispute["labels"] == [["ann", 1.0, REASON]]
        assert (dispute["passes"], whole["compared"]) == (False, 1)
        assert all(whole[name] for name in JUDGE)
    Labeller(client, "bob").give("row-1", "1")
    assert read(client, PROGRESS) == read(client, PROGRESS, Role.ADMIN)


def test_no_operation_tells_who_labels_the_reason_that_another_gave(client) -> None:
    program = Program(client.server)
    told: dict[Role, set[str]] = {role: set() for role in TOKENS}
    asked = [operation for operation in OPERATIONS if operation.method == "GET"]
    for role, token in TOKENS.items():
        for operation in asked:
            content = program("GET", address(operation), token=token)[2]
            if REASON.encode() in content:
                told[role].add(operation.name)
    # The admin's shows that the walk would find it.
    assert told[Role.ADMIN] == told[Role.READER] == {"listLabels", "getLabelProgress"}
    assert told[Role.LABELLER] == set()
