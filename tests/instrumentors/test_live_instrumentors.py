"""Instrumentors of real libraries, live: applications that note what they were asked, retrieved and
answered send their spans to the receiver, and the rows say the same.

They run where the libraries are installed (`make test-instrumentors`), and are skipped elsewhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from instrumentors.scenarios import BROKEN, SCENARIOS, reply
from ragassay.core import Sample
from ragassay.datasets import open_rows
from ragassay.store import Store
from ragassay.tracing.received import snapshot
from support.receiver import Receiver
from support.rows import samples
from support.scripted_model import ScriptedModel

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / "build" / "instrumentors"
PYTHON = ENVIRONMENT / "bin" / "python"
REQUIREMENTS = Path(__file__).parent / "requirements.txt"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ENVIRONMENT / ".ready").exists(), reason="make test-instrumentors installs them"
    ),
]


class Instrumentor(NamedTuple):
    """application: its module. name: what that calls the instrumentor. is_joined: the texts of a
    retrieval are one, as they stood in the prompt, because its spans hold ids without texts.
    """

    application: str
    name: str
    is_joined: bool = False


INSTRUMENTORS: dict[str, Instrumentor] = {
    "LangChain by OpenInference": Instrumentor("langchain_app", "openinference"),
    "LangChain by OpenLLMetry": Instrumentor("langchain_app", "openllmetry"),
    "LangChain by GenAI": Instrumentor("langchain_app", "genai", is_joined=True),
    "LangChain by GenAI, texts in log records": Instrumentor(
        "langchain_app", "genai-events", is_joined=True
    ),
    "LlamaIndex by OpenInference": Instrumentor("llamaindex_app", "openinference"),
    "Haystack by OpenInference": Instrumentor("haystack_app", "openinference"),
    "Pydantic AI by itself": Instrumentor("pydantic_ai_app", "itself"),
    "openai by OpenInference": Instrumentor("openai_app", "openinference", is_joined=True),
    "openai by GenAI": Instrumentor("openai_app", "genai", is_joined=True),
}


FIELDS = frozenset({"question", "response", "contexts"})


class NotSent(NamedTuple):
    """What no span of a scenario holds. fields: all of them where there is no row."""

    fields: frozenset[str]
    reason: str


ALL_SENT = NotSent(frozenset(), "the spans hold everything")
_NO_RETRIEVER = NotSent(
    frozenset({"contexts"}),
    "the application searches without a span, and puts what it found into the system's message",
)
_NO_CALL = NotSent(
    FIELDS, "only the call for an embedding has a span: it says no more than one of indexing"
)
NOT_SENT: dict[tuple[str, str], NotSent] = {
    ("LangChain by GenAI, texts in log records", "error in retrieval"): NotSent(
        frozenset({"question"}), "log records are of calls of a model, and none was called"
    ),
    **{
        (f"openai by {name}", scenario): _NO_RETRIEVER
        for name in ("OpenInference", "GenAI")
        for scenario in ("plain", "stream", "turns", "error")
    },
    ("openai by OpenInference", "error in retrieval"): _NO_CALL,
    ("openai by GenAI", "error in retrieval"): _NO_CALL,
}


class Expected(NamedTuple):
    """A turn as the application noted it, without what its spans do not hold."""

    question: str | None
    response: str | None
    contexts: tuple[str, ...] | None
    failed: bool


@dataclass(frozen=True)
class Row:
    """A row as a user gets it. missing: the fields that are said to be."""

    sample: Sample
    missing: frozenset[str]

    def said(self) -> Expected:
        contexts = self.sample.contexts
        texts = None if contexts is None else tuple(str(context.text) for context in contexts)
        failed = self.sample.error is not None
        return Expected(self.sample.question, self.sample.response, texts, failed)


@dataclass(frozen=True)
class Live:
    """What one application noted, by scenario, and the rows of its spans."""

    name: str
    records: Mapping[str, Sequence[Mapping[str, Any]]]
    rows: Sequence[Row]


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(reply, BROKEN) as started:
        yield started


@pytest.fixture(scope="module")
def live(
    request: pytest.FixtureRequest, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> Live:
    name: str = request.param
    folder = tmp_path_factory.mktemp("receiver")
    with Receiver(folder, "--quiet", "0.2") as receiver:
        records = run(INSTRUMENTORS[name], model.url, receiver.exported)
        return Live(name, records, rows_in(folder / ".ragassay" / "store.db"))


def run(
    instrumentor: Instrumentor, url: str, exported: Mapping[str, str]
) -> dict[str, list[dict[str, Any]]]:
    """What the application noted, by scenario. It ends when all its spans are acknowledged."""
    module = f"instrumentors.apps.{instrumentor.application}"
    settings = {
        "PYTHONPATH": str(ROOT / "tests"),
        "OPENAI_API_KEY": "none",
        # They would like to report home.
        "HAYSTACK_TELEMETRY_ENABLED": "false",
        "LANGSMITH_TRACING": "false",
        "TRACELOOP_TELEMETRY": "false",
    }
    done = subprocess.run(
        [str(PYTHON), "-m", module, instrumentor.name, url, *SCENARIOS],
        capture_output=True,
        encoding="utf-8",
        timeout=500,
        env={**os.environ, **settings, **exported},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    noted: dict[str, list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return noted


def rows_in(path: Path) -> list[Row]:
    """The rows of all received traces, when none waits any more: read as `ragassay evaluate
    traces:all` reads them.
    """
    until = time.monotonic() + 120
    with Store.open(path) as store:
        while store.span_records.waiting()[0]:
            assert time.monotonic() < until, "traces wait to be put together"
            time.sleep(0.1)
        stored = [orjson.loads(row.payload) for row in store.span_records.rows(0, 2**60)]
        missing = {said["row"]["id"]: frozenset(said["missing"]) for said in stored}
        received = samples(open_rows(str(snapshot(store, "traces:all").path)))
    return [Row(sample, missing[sample.id]) for sample in received]


def expected(live: Live, scenario: str) -> list[Expected]:
    """The turns of a scenario as its application noted them, without what its spans do not hold."""
    left_out = NOT_SENT.get((live.name, scenario), ALL_SENT).fields
    if left_out == FIELDS:
        return []
    is_joined = INSTRUMENTORS[live.name].is_joined
    return [_expected(record, left_out, is_joined) for record in live.records[scenario]]


def _expected(record: Mapping[str, Any], left_out: frozenset[str], is_joined: bool) -> Expected:
    retrievals: list[list[str]] = record["retrievals"]
    if is_joined:
        texts = ["\n\n".join(found) for found in retrievals]
    else:
        texts = list(dict.fromkeys(text for found in retrievals for text in found))
    has_contexts = bool(retrievals) and "contexts" not in left_out
    return Expected(
        None if "question" in left_out else record["question"],
        None if "response" in left_out else record["response"],
        tuple(texts) if has_contexts else None,
        record["error"] is not None,
    )


of_each_instrumentor = pytest.mark.parametrize(
    "live",
    [
        pytest.param(name, id=name, marks=pytest.mark.xdist_group(f"live: {name}"))
        for name in INSTRUMENTORS
    ],
    indirect=True,
)


@of_each_instrumentor
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_rows_of_a_live_application_say_what_it_was_asked_retrieved_and_answered(
    live: Live, scenario: str
) -> None:
    rows = [row for row in live.rows if row.sample.cluster == scenario]
    assert sorted(map(Row.said, rows), key=str) == sorted(expected(live, scenario), key=str)
    not_sent = NOT_SENT.get((live.name, scenario), ALL_SENT)
    for row in rows:
        if row.sample.error is None:
            assert row.missing == not_sent.fields, not_sent.reason
        else:
            # It may have failed before anything was retrieved: that is nothing to be set.
            assert row.missing == not_sent.fields - {"contexts"}, not_sent.reason
            assert "the model is away" in row.sample.error


@of_each_instrumentor
def test_a_live_application_makes_no_row_beside_those_of_its_scenarios(live: Live) -> None:
    # Its index and its embeddings are in the store, too.
    assert {row.sample.cluster for row in live.rows} <= set(SCENARIOS)


def test_the_pinned_versions_are_those_that_are_installed() -> None:
    pinned = dict(line.split("==") for line in REQUIREMENTS.read_text().split())
    names = [name.partition("[")[0] for name in pinned]
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    done = subprocess.run(
        [str(PYTHON), "-c", code, *names], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.split() == list(pinned.values())
