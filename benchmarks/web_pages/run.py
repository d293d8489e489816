"""The pages of a run of many rows: how long each takes to come, and to what size.

    python benchmarks/web_pages/run.py --rows 1000000 [--store FILE] [--no-browser]
        [--index-only | --label-only]

Rows are made up (seeded) and put into a store as a finished run; a server in this process answers
over HTTP on the same machine, and each kind of page is asked for again and again with other
filters: by the clock, and in processor time of server and client together, which holds on a machine
that others use as well. First paints and what a key takes are measured in Chromium where it is
there; then the table of 100 runs. First of all, what a label takes until the next row is there.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from ragassay.core import (
    Cause,
    Context,
    Counts,
    Diagnosis,
    JudgeInfo,
    Ledger,
    Manifest,
    Part,
    RowResult,
    RowToLabel,
    RunState,
    Sample,
    Score,
    Status,
    Verdict,
)
from ragassay.store import Store
from ragassay.store.row_index import RowIndex, RowQuery
from ragassay.web import WebSettings, start_server

METRICS = ("groundedness", "answer_relevance", "context_relevance")
CAUSES = ("ungrounded", "answer_irrelevant", "retrieval_irrelevant")
WORDS = [f"word{n}" for n in range(20_000)]
RUN = "bench"
BATCH = 1000


def rows(count: int, seed: int) -> Iterator[RowResult]:
    """Made-up rows: one in four fails; words fall off as in a language (Zipf)."""
    rng = random.Random(seed)

    def text(length: int) -> str:
        return " ".join(WORDS[int(len(WORDS) * rng.random() ** 3)] for _ in range(length))

    for index in range(count):
        failing = rng.randrange(len(METRICS)) if rng.random() < 0.25 else None
        scores = []
        for place, metric in enumerate(METRICS):
            fails = place == failing
            value = rng.random() * 0.6 if fails else 0.7 + 0.3 * rng.random()
            part = Part("statement", Status.JUDGED, value=value, passed=not fails)
            verdict = Verdict.FAIL if fails else Verdict.PASS
            scores.append(
                Score(
                    metric,
                    Status.JUDGED,
                    value,
                    "",
                    verdict,
                    0.65,
                    Counts.of([Status.JUDGED]),
                    (part,),
                )
            )
        cause = Cause(CAUSES[failing], CAUSES[failing], "") if failing is not None else None
        verdict = Verdict.FAIL if failing is not None else Verdict.PASS
        sample = Sample(
            f"row-{index:07}",
            text(10),
            (Context(text(40), f"d{index}"),),
            text(30),
            slices={"system": f"v{rng.randrange(8)}", "topic": f"t{rng.randrange(40)}"},
            cluster=f"c{index // 4}",
            line=index + 1,
        )
        yield RowResult(index, sample, tuple(scores), Diagnosis(verdict, cause))


def fill(store: Store, count: int, seed: int, run_id: str = RUN) -> None:
    """Put the rows into the store as a finished run."""
    judge = JudgeInfo("offline", {}, {}, "unmeasured")
    manifest = Manifest(
        run_id, "2026-01-01T00:00:00+00:00", "0", "memory", "h", count, {}, METRICS, judge
    )
    store.create_run(manifest)
    store.acquire(run_id)
    batch: list[RowResult] = []
    for row in rows(count, seed):
        batch.append(row)
        if len(batch) == BATCH:
            store.put_rows(run_id, batch)
            batch = []
    store.put_rows(run_id, batch)
    store.update_run(run_id, state=RunState.FINISHED, stop_reason="", ledger=Ledger(), seconds=1.0)
    store.release(run_id)


class Client:
    """Asks for pages with the server's token."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token

    def get(self, path: str) -> tuple[float, bytes]:
        """Seconds and body of a page."""
        request = urllib.request.Request(self._address + path)
        request.add_header("Authorization", f"Bearer {self._token}")
        start = time.perf_counter()
        with urllib.request.urlopen(request, timeout=600) as answer:
            body = answer.read()
        return time.perf_counter() - start, body


def quantile(values: list[float], share: float) -> float:
    """The value that so large a share does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def questions(rng: random.Random) -> dict[str, list[str]]:
    """Kinds of pages, each with addresses that differ."""

    def many(make: object, times: int = 40) -> list[str]:
        return [make() for _ in range(times)]  # type: ignore[operator]

    def at(**query: object) -> str:
        return f"/runs/{RUN}/rows?{urllib.parse.urlencode(query)}"

    def rare() -> str:
        return WORDS[rng.randrange(len(WORDS) // 2, len(WORDS))]

    def common() -> str:
        return WORDS[rng.randrange(50)]

    return {
        "rows, the worst first": many(lambda: at()),
        "filter by verdict": many(lambda: at(verdict=rng.choice(("fail", "pass")))),
        "filter by cause": many(lambda: at(cause=rng.choice(CAUSES))),
        "filter by slice": many(lambda: at(slice=f"topic=t{rng.randrange(40)}")),
        "slice, cause and verdict": many(
            lambda: at(
                slice=f"topic=t{rng.randrange(40)}", cause=rng.choice(CAUSES), verdict="fail"
            )
        ),
        "sort by a metric": many(
            lambda: at(metric=rng.choice(METRICS), sort="value", down=rng.choice(("", "1")))
        ),
        "metric fails, by value": many(
            lambda: at(metric=rng.choice(METRICS), outcome="fail", sort="value")
        ),
        "search, a rare word": many(lambda: at(q=rare())),
        "search, a common word": many(lambda: at(q=common())),
        "search, two words": many(lambda: at(q=f"{common()} {common()}")),
        "one row": many(lambda: f"/runs/{RUN}/rows/{rng.randrange(1000)}?verdict=fail"),
        "overview": many(lambda: f"/runs/{RUN}", 20),
        "causes": many(lambda: f"/runs/{RUN}/causes", 20),
        "runs": many(lambda: "/", 20),
    }


def queries(rng: random.Random) -> dict[str, Callable[[], RowQuery]]:
    """Kinds of queries of the rows' index."""

    def topic() -> tuple[str, str]:
        return "topic", f"t{rng.randrange(40)}"

    def metric() -> str:
        return rng.choice(METRICS)

    def common() -> str:
        return rng.choice(WORDS[:50])

    return {
        "worst first": RowQuery,
        "by verdict": lambda: RowQuery(verdict="fail"),
        "by cause": lambda: RowQuery(cause=rng.choice(CAUSES)),
        "by slice": lambda: RowQuery(slice=topic()),
        "by slice, cause and verdict": lambda: RowQuery(
            slice=topic(), cause=rng.choice(CAUSES), verdict="fail"
        ),
        "by a metric's value": lambda: RowQuery(metric=metric(), sort="value"),
        "a metric fails, by value": lambda: RowQuery(metric=metric(), outcome="fail", sort="value"),
        "by slice and value": lambda: RowQuery(metric=metric(), sort="value", slice=topic()),
        "search, a rare word": lambda: RowQuery(text=rng.choice(WORDS[10_000:])),
        "search, a common word": lambda: RowQuery(text=common()),
        "search, two common words": lambda: RowQuery(text=f"{common()} {common()}"),
        "search in failing rows": lambda: RowQuery(text=common(), verdict="fail"),
    }


def measure_index(path: Path) -> None:
    """Processor time of the first page and of the count of each kind of query: it holds on a
    machine that others use as well.
    """
    index = RowIndex(path)
    print("\n| query of the index | first page, ms of CPU | count, ms of CPU |\n|---|---|---|")
    for name, make in queries(random.Random(1)).items():
        pages, counts = [], []
        for _ in range(20):
            query = make()
            start = time.process_time()
            index.page(query, 101)
            pages.append(1000 * (time.process_time() - start))
            start = time.process_time()
            index.count(query)
            counts.append(1000 * (time.process_time() - start))
        print(
            f"| {name} | {quantile(pages, 0.95):.0f} | {quantile(counts, 0.95):.0f} |", flush=True
        )


PAINTED = {"overview": f"/runs/{RUN}", "rows": f"/runs/{RUN}/rows", "list of runs": "/"}
# From a key to the next frame in which its effect is painted.
A_KEY = """() => new Promise((done) => {
  const start = performance.now();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
})"""


def in_the_browser(server: object) -> None:
    """Print the seconds from a request to the first paint of a page, ten times each, and the
    milliseconds from the key j to the next line, fifty times.
    """
    from support.browsing import chromium

    with chromium() as browser:
        page = browser.new_page()
        page.goto(server.link(f"/runs/{RUN}"))  # type: ignore[attr-defined]
        page.wait_for_timeout(1000)
        for name, path in PAINTED.items():
            times = []
            for _ in range(10):
                page.goto(server.address + path)  # type: ignore[attr-defined]
                page.wait_for_timeout(300)
                found = page.evaluate("performance.getEntriesByName('first-contentful-paint')")
                times += [entry["startTime"] / 1000 for entry in found]
            print(f"first paint, {name}: {quantile(times, 0.5):.3f} s, at most {max(times):.3f} s")
        page.goto(f"{server.address}/runs/{RUN}/rows")  # type: ignore[attr-defined]
        keys = [page.evaluate(A_KEY) for _ in range(50)]
        print(f"the key j: {quantile(keys, 0.5):.0f} ms, 95 %: {quantile(keys, 0.95):.0f} ms")


def hundred_runs(folder: Path, seed: int) -> None:
    """Print what the table of 100 runs of 50 rows takes, first and then."""
    with Store.open(folder / "hundred.db") as store:
        for number in range(0 if store.newest() else 100):
            fill(store, 50, seed + number, f"run{number:03}")
        server = start_server(store, WebSettings(rate=100_000.0))
        server.start()
        client = Client(server.address, server.settings.token)
        for name in ("first", "then", "then"):
            start = time.process_time()
            seconds, body = client.get("/compare")
            busy = time.process_time() - start
            print(f"100 runs by metric, {name}: {seconds:.3f} s, {busy:.3f} s of CPU,"
                  f" {body.count(b'being counted')} notes of runs still being counted")  # fmt: skip
            time.sleep(3)
        server.stop()


# From a key until another row's page has been painted: a message that is sent in the frame in which
# it is drawn comes after the frame.
SINCE_THE_KEY = """
let pressed = 0;
window.took = [];
const row = () => (document.querySelector("input[name=row]") || {}).value;
addEventListener("keydown", () => { pressed = performance.now(); window.was = row(); }, true);
new MutationObserver(() => {
  if (!pressed || !row() || row() === window.was) return;
  const begun = pressed;
  pressed = 0;
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => window.took.push(performance.now() - begun);
    channel.port2.postMessage(0);
  });
}).observe(document, { childList: true, subtree: true });"""


def next_items(folder: Path, seed: int, labels: int = 100) -> None:
    """Print the milliseconds from a key that labels a row until the next row is painted, in a run
    of 10,000 rows that are all to be labelled.
    """
    from support.browsing import chromium

    with Store.open(folder / "label.db") as store, chromium() as browser:
        fill(store, 10_000, seed)
        chosen = [RowToLabel(f"row-{n:07}", n, 1, (0.0, 1.0)) for n in range(10_000)]
        store.add_to_label(RUN, METRICS[0], chosen)
        server = start_server(store, WebSettings(rate=100_000.0))
        server.start()
        page = browser.new_page()
        page.add_init_script(SINCE_THE_KEY)
        page.goto(server.link(f"/runs/{RUN}/label?metric={METRICS[0]}"))
        page.get_by_label("Your name").fill("Ann")
        page.get_by_role("button", name="Begin").click()
        shown = set()
        for n in range(labels):
            page.wait_for_selector("input[name=row]", state="attached")
            shown.add(page.get_attribute("input[name=row]", "value"))
            page.keyboard.press(str(n % 2))
            page.wait_for_function(f"() => window.took.length > {n}")
        times = page.evaluate("window.took")
        given = len(store.label_answers(RUN, METRICS[0]))
        print(
            f"from a label to the next row: {quantile(times, 0.5):.0f} ms, 95 %:"
            f" {quantile(times, 0.95):.0f} ms, at most {max(times):.0f} ms; {len(shown)} rows,"
            f" {given} labels"
        )
        server.stop()


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--store", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--index-only", action="store_true")
    parser.add_argument("--label-only", action="store_true")
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="web-pages-")
    if not given.no_browser and not given.index_only:
        next_items(Path(folder), given.seed)
    if given.label_only:
        return
    place = given.store or str(Path(folder) / "store.db")
    given.folder = Path(place).parent
    with Store.open(place) as store:
        if not store.newest():
            start = time.perf_counter()
            fill(store, given.rows, given.seed)
            print(f"rows stored in {time.perf_counter() - start:.0f} s", flush=True)
        server = start_server(store, WebSettings(rate=100_000.0))
        server.start()
        client = Client(server.address, server.settings.token)
        measure(server, client, given)
        server.stop()


def measure(server: object, client: Client, given: argparse.Namespace) -> None:
    """Wait for the index and the figures, then ask for each kind of page."""
    seconds, _ = client.get(f"/runs/{RUN}/rows")
    print(f"first list of rows, before there is an index: {seconds:.3f} s", flush=True)
    start = time.perf_counter()
    while b"being indexed" in client.get(f"/runs/{RUN}/rows")[1]:
        time.sleep(1)
    print(f"index made in {time.perf_counter() - start:.0f} s", flush=True)
    measure_index(given.folder / "row-indices" / f"{RUN}.rows")
    if given.index_only:
        return
    start = time.perf_counter()
    while b"Counting" in client.get(f"/runs/{RUN}")[1]:
        time.sleep(0.5)
    print(f"figures counted in {time.perf_counter() - start:.0f} s more", flush=True)
    heads = "page | median, ms | 95 %, ms | CPU: median, ms | CPU: 95 %, ms | KB"
    print(f"\n| {heads} |\n|---|---|---|---|---|---|")
    for name, addresses in questions(random.Random(1)).items():
        times, busy, size = [], [], 0
        for address in addresses:
            start = time.process_time()
            seconds, body = client.get(address)
            busy.append(1000 * (time.process_time() - start))
            times.append(1000 * seconds)
            size = max(size, len(body))
        cells = [quantile(values, share) for values in (times, busy) for share in (0.5, 0.95)]
        words = " | ".join(f"{cell:.0f}" for cell in cells)
        print(f"| {name} | {words} | {size / 1000:.0f} |", flush=True)
    static = server.application.site.static  # type: ignore[attr-defined]
    for name, (content, _) in static.items():
        print(f"\n{name}: {len(gzip.compress(content)) / 1000:.1f} KB compressed", end="")
    print()
    if not given.no_browser:
        in_the_browser(server)
    hundred_runs(given.folder, given.seed)


if __name__ == "__main__":
    main()
