"""Whatever requests the document allows, and many that it does not, in any order: each is answered
as the document says, and never with a fault of the server (Schemathesis).
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from ragassay.store import Store
from ragassay.web import WebSettings
from ragassay.web.application import make_application
from report.conftest import Maker
from web.conftest import mixed_rows, save

TOKEN = "t" * 30

# Requests that the document's schema allows and that name what is not there (a metric, a judge, a
# cursor) are refused with 422, as RFC 9110 has it for what is well formed and cannot be done.
UNPROCESSABLE = ["2xx", "304", "401", "403", "404", "409", "422", "429"]
REFUSED = ["400", "401", "403", "404", "405", "408", "409", "413", "415", "422", "429"]


def checked(store: Store, examples: int, phases: list[str]) -> tuple[list[str], Counter[int]]:
    """The failures of so many examples an operation, and how often each status was answered."""
    import schemathesis
    from schemathesis import engine
    from schemathesis.config import SchemathesisConfig

    application = make_application(store, WebSettings(token=TOKEN, names=("testserver",)))
    application.api.evaluations._places = 16
    config = SchemathesisConfig.from_dict(
        {
            "headers": {"Authorization": f"Bearer {TOKEN}"},
            "generation": {"max-examples": examples, "deterministic": True, "database": "none"},
            "phases": {
                name: {"enabled": name in phases}
                for name in ("examples", "coverage", "fuzzing", "stateful")
            },
            "checks": {
                "positive_data_acceptance": {"expected-statuses": UNPROCESSABLE},
                "negative_data_rejection": {"expected-statuses": REFUSED},
            },
        }
    )
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        schema = schemathesis.openapi.from_asgi(
            "/api/v1/openapi.json", application.asgi, config=config, headers=headers
        )
        failures, statuses = [], Counter[int]()
        for event in engine.from_schema(schema).execute():
            if type(event).__name__ in ("NonFatalError", "FatalError"):
                failures.append(f"error: {vars(event)}")
            recorder = getattr(event, "recorder", None)
            if recorder is None:
                continue
            for checks in recorder.checks.values():
                for check in checks:
                    if check.failure_info is not None:
                        found = check.failure_info
                        failures.append(f"{recorder.label}: {found.failure}\n{found.code_sample}")
            for interaction in recorder.interactions.values():
                if interaction.response is not None:
                    statuses[interaction.response.status_code] += 1
    finally:
        application.close()
    return failures, statuses


@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(
    importlib.util.find_spec("schemathesis") is None, reason="schemathesis is not installed"
)
@pytest.mark.parametrize(
    ("examples", "phases"),
    [
        (1, ["examples"]),
        pytest.param(
            500,
            ["examples", "coverage", "fuzzing", "stateful"],
            marks=[pytest.mark.soak, pytest.mark.timeout(7200)],
        ),
    ],
)
def test_every_request_is_answered_as_the_document_says(
    examples: int, phases: list[str], tmp_path: Path
) -> None:
    make = Maker()
    with Store.open(tmp_path / "runs.db") as store:
        save(store, mixed_rows(make), name="before")
        save(store, mixed_rows(make), "run2", name="after", created="2026-11-21T09:00:00Z")
        failures, statuses = checked(store, examples, phases)
        assert store.check() == ()
    assert not failures, "\n\n".join(failures[:5])
    assert statuses[200] > 0
    assert not [status for status in statuses if status >= 500]
