"""What all tests share: no key, no store and no network of the user's reaches a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragassay.core import JudgeInfo, Manifest
from support.postgres import Postgres


@pytest.fixture(autouse=True)
def _own_world(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "RAGASSAY_STORE",
        "PGPASSWORD",
        "PGHOST",
        "PGUSER",
        "PGDATABASE",
        "RAGASSAY_DEBUG",
        "CI",
        "FORCE_COLOR",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in (
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_manifest():
    """A manifest of a run with this id."""

    def make(run_id: str = "run-1", **changes: object) -> Manifest:
        info = JudgeInfo(
            "offline", {"groundedness": "groundedness@1"}, {"groundedness": "f" * 32}, "unmeasured"
        )
        values: dict[str, object] = {
            "run_id": run_id,
            "created": "2026-01-01T00:00:00+00:00",
            "version": "0.1.0",
            "source": "memory",
            "source_hash": "h",
            "rows": 3,
            "mapping": {"question": "question"},
            "metrics": ("groundedness",),
            "judge": info,
        }
        return Manifest(**{**values, **changes})  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server of this test run's own."""
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """The URL, with its password, of an empty database."""
    return postgres.url(postgres.database())
