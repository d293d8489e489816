"""Certificates and labels are kept as they were given, and a store of the first version gets their
tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import (
    Certificate,
    DataError,
    EnvironmentFailure,
    Figure,
    HumanLabel,
    Interval,
    JudgeInfo,
    Manifest,
    Profile,
    SetUp,
    SetupError,
)
from ragassay.store import Store, codec, migrate, schema
from support.examples import examples
from support.store_faults import NEXT, next_version


def manifest(run_id: str = "run-1") -> Manifest:
    judge = JudgeInfo(
        "offline", {"groundedness": "groundedness@1"}, {"groundedness": "f"}, "unmeasured"
    )
    return Manifest(
        run_id, "2026-11-20T00:00:00Z", "0.1", "memory", "h", 2, {}, ("groundedness",), judge
    )


def certificate(
    id: str = "c1", metric: str = "groundedness", created: str = "2026-11-21T00:00:00Z"
) -> Certificate:
    figures = (
        Figure("kappa", 0.5, Interval(0.4, 0.6, 0.95, "clustered percentile bootstrap"), 200),
        Figure("auc", None, None, 200, "one class only"),
    )
    return Certificate(
        id,
        created,
        "0.1.0",
        "offline",
        metric,
        {"groundedness": "groundedness@1"},
        {"groundedness": "ff"},
        "begin.jsonl",
        "hash",
        SetUp("label", (0.0, 1.0), 1.0, metric, where=("split = test",)),
        200,
        40,
        figures,
        figures[:1],
        Profile(200, {"response_words": (0.1, 1.0)}, {"response_words": 1.0}),
        {"not judged": 3},
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        opened.create_run(manifest())
        yield opened


def test_a_certificate_comes_back_the_same_and_once(store: Store) -> None:
    store.put_certificate(certificate())
    store.put_certificate(certificate())
    store.put_certificate(certificate("c2", "answer_relevance", "2026-11-22T00:00:00Z"))
    assert [c.id for c in store.certificates()] == ["c2", "c1"]
    assert store.certificates("groundedness") == (certificate(),)
    assert store.certificates("nothing") == ()
    assert store.check() == ()


def test_a_number_that_is_not_finite_is_never_stored(store: Store) -> None:
    bad = replace(certificate(), pooled=(Figure("kappa", float("nan")),))
    with pytest.raises(ValueError, match="cannot be stored"):
        store.put_certificate(bad)
    with pytest.raises(ValueError, match="cannot be stored"):
        store.put_labels(
            "run-1",
            [HumanLabel("a", "label", "ann", 1.0), HumanLabel("b", "label", "ann", float("inf"))],
        )
    assert store.certificates() == ()
    assert store.labels("run-1") == ()


def test_a_changed_byte_in_a_certificate_is_noticed(store: Store, path: Path) -> None:
    store.put_certificate(certificate())
    with sqlite3.connect(path) as connection:
        payload = connection.execute("SELECT payload FROM certificates").fetchone()[0]
        forged = payload.replace(b'"value":0.5', b'"value":0.9')
        assert forged != payload
        connection.execute("UPDATE certificates SET payload = ?", (forged,))
    connection.close()
    with pytest.raises(EnvironmentFailure, match="E0503"):
        store.certificates()
    assert any("certificate c1" in problem for problem in store.check())


def test_two_people_label_one_row_and_each_label_is_kept_in_order(store: Store) -> None:
    labels = [
        HumanLabel(
            "row-1", "groundedness", "ann", 1.0, "says so", "audit", 0.25, 2, "2026-11-21T10:00:00Z"
        ),
        HumanLabel("row-1", "groundedness", "ben", 0.0),
        HumanLabel("row-1", "quality", "ann", 3.0),
    ]
    assert store.put_labels("run-1", labels) == 3
    assert store.labels("run-1") == tuple(labels)
    assert store.labels("run-1", "groundedness") == tuple(labels[:2])
    assert store.put_labels("", labels[:1], source_hash="abc") == 1  # labels of no run are apart
    assert store.labels("", source_hash="abc") == tuple(labels[:1])
    assert store.labels("", source_hash="other") == ()
    assert store.check() == ()


def test_the_same_label_again_is_skipped_another_one_is_refused_unless_it_shall_replace(
    store: Store,
) -> None:
    first = HumanLabel("row-1", "groundedness", "ann", 1.0)
    store.put_labels("run-1", [first])
    assert store.put_labels("run-1", [first]) == 0
    changed = [HumanLabel("row-2", "groundedness", "ann", 0.0), replace(first, value=0.0)]
    with pytest.raises(DataError, match="E0314") as error:
        store.put_labels("run-1", changed)
    assert "row-1" in str(error.value)
    assert "ann has groundedness = 1 already, and now 0" in str(error.value)
    assert store.labels("run-1") == (first,)  # nothing of a refused batch
    assert store.put_labels("run-1", changed, replace=True) == 2
    assert {label.row_id: label.value for label in store.labels("run-1")} == {
        "row-1": 0.0,
        "row-2": 0.0,
    }


def test_two_labels_of_one_batch_that_differ_are_refused(store: Store) -> None:
    with pytest.raises(DataError, match="E0314"):
        store.put_labels(
            "run-1", [HumanLabel("a", "n", "ann", 1.0), HumanLabel("a", "n", "ann", 0.0)]
        )


def test_labels_of_a_run_that_is_not_there_are_refused(store: Store) -> None:
    with pytest.raises(SetupError, match="E0103"):
        store.put_labels("nowhere", [HumanLabel("a", "n", "ann", 1.0)])


def test_odd_names_come_back_as_they_were(store: Store) -> None:
    label = HumanLabel("a\0\\b\ud800", "n'; DROP TABLE labels", "Ånn", -1.5, "\ud800 why", round=3)
    store.put_labels("run-1", [label])
    assert store.labels("run-1") == (label,)
    assert store.put_labels("run-1", [label]) == 0


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=20), NUMBERS, st.none() | NUMBERS, st.text(max_size=20)),
        max_size=5,
    )
)
def test_any_certificate_survives_being_written(
    items: list[tuple[str, float, float | None, str]],
) -> None:
    figures = tuple(Figure(name, value, None, 1, why) for name, _, value, why in items)
    quantiles = {name: (low, low) for name, low, _, _ in items}
    given_ = replace(certificate(), pooled=figures, macro=(), profile=Profile(3, quantiles, {}))
    assert codec.decode(Certificate, codec.encode(given_)) == given_


def test_certificates_and_labels_stay_through_a_migration(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = schema.HEAD
    label = HumanLabel("a", "n", "ann", 1.0)
    with Store.open(path) as store:
        store.create_run(manifest())
        store.put_certificate(certificate())
        store.put_labels("run-1", [label])
    monkeypatch.setattr(migrate, "MIGRATIONS", next_version(tmp_path / "migrations"))
    monkeypatch.setattr(schema, "HEAD", NEXT)
    with Store.open(path) as migrated:
        assert migrated.backup == path.with_name(f"store.db.{released}.backup")
        assert migrated.run("run-1").manifest == manifest()
        assert migrated.certificates() == (certificate(),)
        assert migrated.put_labels("run-1", [label]) == 0
        assert migrated.check() == ()
    monkeypatch.setattr(schema, "HEAD", released)
    with Store.open(path.with_name(f"store.db.{released}.backup")) as backup:
        assert backup.certificates() == (certificate(),)
        assert len(backup.labels("run-1")) == 1
