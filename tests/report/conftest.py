"""A stored run of hand-made rows (three good ones, one for each way to fail, one unreadable), and a
browser that opens reports.
"""

from __future__ import annotations

import re
import shutil

import pytest
from playwright.sync_api import sync_playwright

from ragassay.core import (
    AppUsage,
    BadRow,
    Cause,
    Context,
    Counts,
    Diagnosis,
    Evidence,
    JudgeInfo,
    Ledger,
    Manifest,
    Part,
    RowResult,
    RunState,
    Sample,
    Score,
    Spend,
    Status,
    Verdict,
)
from ragassay.store import Store

METRICS = ("chunk_relevance", "groundedness", "answer_relevance", "latency")
GRADES = {0: 0.0, 1: 1 / 3, 2: 2 / 3, 3: 1.0}


class Maker:
    """Makes rows from what matters: which claims and chunks got which grade (None: no verdict)."""

    def score(self, metric, parts, mark, *, status=Status.JUDGED, reason=""):
        values = [part.value for part in parts if part.value is not None]
        counts = Counts.of(part.status for part in parts)
        value = sum(v >= 2 / 3 - 1e-9 for v in values) / len(values) if values else None
        if value is None and status is Status.JUDGED:
            status, reason = Status.UNPARSED, "the reply held no verdict"
        verdict = (
            Verdict.UNDECIDED
            if value is None
            else Verdict.PASS
            if value >= mark - 1e-9
            else Verdict.FAIL
        )
        return Score(metric, status, value, reason, verdict, mark, counts, tuple(parts))

    def part(self, kind, grade, **more):
        if grade is None:
            return Part(kind, Status.UNPARSED, reason="the reply held no verdict, twice", **more)
        return Part(
            kind,
            Status.JUDGED,
            rating=grade,
            value=GRADES[grade],
            passed=grade >= 2,
            probability=0.9,
            **more,
        )

    def row(
        self,
        index,
        id=None,
        *,
        question="What is the limit?",
        contexts=("The limit is 20 requests a minute.",),
        sentences=(("The limit is 20 requests a minute.", 3),),
        chunks=(3,),
        answer=3,
        slices=None,
        cluster=None,
        cause=None,
        latency=1.5,
        done=True,
        quote=None,
    ):
        response = " ".join(text for text, _ in sentences)
        claims, place = [], 0
        for i, (text, grade) in enumerate(sentences):
            evidence: tuple[Evidence, ...] = ()
            where = quote if quote is not None else text
            if contexts and where in contexts[0]:
                start = contexts[0].index(where)
                evidence = (Evidence(0, start, start + len(where), where),)
            why = (
                f"Context 1 {'says so' if grade and grade >= 2 else 'says nothing of the kind'}"
                f" (claim {i + 1})."
            )
            claims.append(
                self.part(
                    "claim",
                    grade,
                    start=place,
                    end=place + len(text),
                    rationale=why,
                    evidence=evidence,
                )
            )
            place += len(text) + 1
        scores = (
            self.score(
                "chunk_relevance",
                [
                    self.part("chunk", g, context=i, rationale=f"Chunk {i + 1} was read.")
                    for i, g in enumerate(chunks)
                ],
                0.01,
            ),
            self.score("groundedness", claims, 0.9),
            (
                self.score(
                    "answer_relevance", [self.part("statement", answer, text="the answer")], 2 / 3
                )
                if answer != "n/a"
                else Score(
                    "answer_relevance", Status.NOT_APPLICABLE, reason="the row has no response"
                )
            ),
            Score("latency", Status.JUDGED, latency),
        )
        failing = [s for s in scores if s.verdict is Verdict.FAIL]
        undecided = [s for s in scores if s.verdict is Verdict.UNDECIDED]
        verdict = Verdict.FAIL if failing else Verdict.UNDECIDED if undecided else Verdict.PASS
        name = cause or ("ungrounded" if failing else None)
        root_cause = (
            Cause(name, name.replace("_", " "), "tighten the prompt", "a proof")
            if name and failing
            else None
        )
        return RowResult(
            index,
            Sample(
                id or f"row-{index + 1}",
                question,
                tuple(Context(t, f"doc-{i + 1}") for i, t in enumerate(contexts)),
                response,
                slices=slices or {},
                cluster=cluster,
                line=index + 1,
                usage=AppUsage(100, 20, 120, 0.001, latency),
            ),
            scores,
            Diagnosis(verdict, root_cause),
            done=done,
        )

    def bad(self, index):
        return RowResult(
            index,
            None,
            bad=BadRow(
                f"line-{index + 1}",
                index + 1,
                "E0301",
                "The line is not valid JSON.",
                "'{\"id\": '",
                "close the brace",
            ),
        )

    def manifest(self, run_id, rows, **more):
        judge = JudgeInfo(
            uri="offline",
            rubrics={"groundedness": "groundedness@1", "answer_relevance": "answer_relevance@1"},
            fingerprints={"groundedness": "ab" * 16, "answer_relevance": "cd" * 16},
            agreement=(
                "Balanced accuracy 0.78 [0.75, 0.81] against people on claims of four public sets."
            ),
        )
        base = {
            "run_id": run_id,
            "created": "2026-11-20T09:00:00Z",
            "version": "0.1.0",
            "source": "rows.jsonl",
            "source_hash": "ef" * 16,
            "rows": rows,
            "mapping": {"user_input": "question"},
            "metrics": METRICS,
            "judge": judge,
        }
        return Manifest(**(base | more))


@pytest.fixture
def make():
    return Maker()


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def save(store, make):
    """Stores rows as a finished run; returns its id."""

    def save(rows, run_id="run1", *, total=None, state=RunState.FINISHED, seconds=12.5, **more):
        store.create_run(make.manifest(run_id, len(rows) if total is None else total, **more))
        store.put_rows(run_id, rows)
        ledger = Ledger(Spend(84, 40_000, 5_000, 1_000, 0.1234, 9.0), 1, 0.002, 7, 2)
        store.update_run(
            run_id,
            state=state,
            stop_reason="" if state is RunState.FINISHED else "the cap of 84 calls",
            ledger=ledger,
            seconds=seconds,
        )
        return run_id

    return save


@pytest.fixture
def mixed(make, save):
    """Eight rows: 4 pass, 2 fail, 1 undecided, 1 unreadable."""
    invented = (("The limit is 20 requests a minute.", 3), ("It was raised to 90 in May.", 0))
    rows = [
        make.row(0, slices={"kind": "fact"}),
        make.row(1, slices={"kind": "fact"}),
        make.row(2, sentences=invented, slices={"kind": "history"}),
        make.row(3, slices={"kind": "fact"}),
        make.row(4, sentences=(("Nobody knows.", None),), slices={"kind": "history"}),
        make.row(
            5,
            chunks=(0, 1),
            contexts=("Cats sleep.", "Dogs bark."),
            slices={"kind": "history"},
            sentences=(("Cats bark.", 1),),
            cause="retrieval_irrelevant",
        ),
        make.row(6, slices={"kind": "fact"}, answer="n/a"),
        make.bad(7),
    ]
    return save(rows)


@pytest.fixture(scope="module")
def browser():
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    assert path, "these tests need Chromium: install Debian's package chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """Opens the written report; afterwards no request may have left it, no dialog opened, nothing
    been logged.
    """
    contexts = []

    def visit(path, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        seen = []

        def refuse(route):
            seen.append(route.request.url)
            route.abort()

        def dismiss(dialog):
            seen.append(dialog.message)
            dialog.dismiss()

        context.route(re.compile("^(?!file:).*"), refuse)
        tab = context.new_page()
        tab.on("console", lambda message: seen.append(message.text))
        tab.on("pageerror", lambda error: seen.append(str(error)))
        tab.on("dialog", dismiss)
        tab.on(
            "request",
            lambda request: seen.append(request.url) if request.url != path.as_uri() else None,
        )
        tab.goto(path.as_uri())
        tab.seen = seen
        return tab

    yield visit
    for context in contexts:
        context.close()
