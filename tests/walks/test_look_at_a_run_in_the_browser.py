"""From the last run to the failing row and the evidence of its claim, in the browser: with the
mouse in at most four clicks, and with the keyboard alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect

from support.browsing import Tab, chromium
from support.shell import Shell, normalised

GROUNDED = {
    "contexts": ["The warranty covers the battery for two years. It does not cover the screen."],
    "question": "How long does the warranty cover the battery?",
    "response": "The warranty covers the battery for two years.",
}
# The planted fault: a number that the context contradicts.
WRONG = {
    **GROUNDED,
    "response": "The warranty covers the battery for nine years.",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def judged(shell: Shell) -> Shell:
    rows = [{"id": f"good-{n}", **GROUNDED} for n in range(3)] + [{"id": "planted", **WRONG}]
    shell.write("rows.jsonl", "\n".join(json.dumps(row) for row in rows))
    shell("ragassay evaluate rows.jsonl --metrics groundedness")
    return shell


@contextmanager
def viewing(shell: Shell, line: str) -> Iterator[list[str]]:
    """The lines that the command prints when it serves; it is stopped as a user would."""
    words = line.split()
    assert words[0] == "ragassay"
    process = subprocess.Popen(
        [sys.executable, "-m", "ragassay", *words[1:]],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80"},
    )
    try:
        assert process.stdout is not None
        yield [process.stdout.readline().rstrip() for _ in range(3)]
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (out, err)
    assert normalised(err)[-1] == "stopped; what was labelled is in the store"


def test_four_clicks_lead_from_the_last_run_to_the_evidence(
    judged: Shell, browser: Browser
) -> None:
    with viewing(judged, "ragassay view --port 0") as lines:
        link = lines[0]
        assert link.startswith("http://127.0.0.1:")
        assert "#token=" in link
        assert lines[1:] == [
            "The link holds the key to these pages: keep it.",
            "Ctrl-C stops the server.",
        ]
        tab = Tab(browser, link.partition("/runs")[0])
        page = tab.page
        page.goto(link)
        # The last run, its verdict first, and no token left in the address.
        expect(page.locator("h1")).to_contain_text("3 of 4 rows pass")
        assert "token" not in page.url
        page.get_by_role("link", name="The response claims what the chunks do not support").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_role("link", name="planted").click()
        expect(page.locator("h1")).to_contain_text("planted")
        expect(page.locator("mark.n")).to_contain_text("nine years")
        page.get_by_role("link", name="context 1").first.click()
        shown = page.locator(":target")
        expect(shown).to_contain_text("The warranty covers the battery for two years.")
        page.get_by_role("link", name="What the judge was asked").click()
        expect(page.locator("main")).to_contain_text("offline")
        assert tab.seen == []
        assert tab.ran() == []
        tab.close()


def test_the_keyboard_alone_leads_there_too(judged: Shell, browser: Browser) -> None:
    with viewing(judged, "ragassay view --port 0") as lines:
        tab = Tab(browser, lines[0].partition("/runs")[0])
        page = tab.page
        page.goto(lines[0])
        expect(page.locator("h1")).to_contain_text("3 of 4 rows pass")
        for key in ("j", "o"):  # the first cause
            page.keyboard.press(key)
        expect(page.locator("h1")).to_contain_text("claims what the chunks do not support")
        for key in ("j", "o"):  # its first row
            page.keyboard.press(key)
        expect(page.locator("h1")).to_contain_text("planted")
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "context 1":
                break
        page.keyboard.press("Enter")
        expect(page.locator(":target")).to_contain_text("for two years.")
        page.keyboard.press("u")
        expect(page.locator("tbody tr")).to_have_count(1)
        assert tab.seen == []
        tab.close()


def test_a_server_that_others_can_reach_does_not_start_without_a_token(judged: Shell) -> None:
    refused = judged("ragassay serve --host 0.0.0.0", code=2)
    assert refused.messages[0] == (
        "error[E0902]: Others can reach this address, and no token is set."
    )
    assert refused.out == ""
