"""Somebody who has never seen the pages finds the planted cause of a run and its evidence: they
follow the first link of what broke, and then the first row.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from web.conftest import save, serving
from web.test_pages_in_a_browser import open_tab

ROWS = 12
# What is planted: (the judges that fail, the row's texts), and what the pages have to say of it.
UNGROUNDED = {
    "sentences": (("The limit is 20 requests a minute.", 3), ("It was raised to 90 in May.", 0))
}
PLANTED = (
    ("ungrounded", UNGROUNDED, "mark.n", "It was raised to 90 in May."),
    (
        "retrieval_irrelevant",
        {
            "contexts": ("Cats sleep all day long.", "Dogs bark at night."),
            "chunks": (0, 0),
            "sentences": (("Cats bark.", 0),),
        },
        ".beside section b.n",
        "✗",
    ),
)
MOST_CLICKS = 4


def plant(make, number: int):
    """A run in which one kind of row broke: 2 to 5 rows, at places that differ from run to run."""
    cause, fault, marked, words = PLANTED[number % len(PLANTED)]
    broken = {(number * 5 + 3 * n) % ROWS for n in range(2 + number % 4)}
    rows = [make.row(n, **fault, cause=cause) if n in broken else make.row(n) for n in range(ROWS)]
    return rows, {f"row-{n + 1}" for n in broken}, marked, words


def by_mouse(page: Page) -> int:
    """Clicks to the row: the first cause, its first row."""
    page.locator("table.causes tbody a").first.click()
    page.locator("table.rows tbody a").first.click()
    return 2


def by_keyboard(page: Page) -> int:
    """The same with j and o."""
    for table in ("table.causes", "table.rows"):
        expect(page.locator(table)).to_be_visible()
        for key in "jo":
            page.keyboard.press(key)
    return 2


def find_all(store, browser, make, count: int) -> None:
    for number in range(count):
        save(store, plant(make, number)[0], f"run{number}", created=f"2026-01-{number + 1:02}")
    with serving(store) as client:
        tab = open_tab(browser, client, "/")
        for number in range(count):
            _, broken, marked, words = plant(make, number)
            for go in (by_mouse, by_keyboard):
                tab.page.goto(f"{client.server.address}/")
                tab.page.get_by_role("link").filter(has_text="rows.jsonl").nth(
                    count - 1 - number
                ).click()
                clicks = 1 + go(tab.page)
                expect(tab.page.locator("h1")).to_contain_text(re.compile("|".join(broken)))
                expect(tab.page.locator(".cause")).to_be_visible()
                expect(tab.page.locator(marked).first).to_contain_text(words)
                assert clicks <= MOST_CLICKS
        assert tab.seen == []
        tab.close()


def test_a_newcomer_finds_the_planted_cause_of_two_runs(store, browser, make) -> None:
    find_all(store, browser, make, 2)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_newcomer_finds_the_planted_cause_of_20_of_20_runs(store, browser, make) -> None:
    find_all(store, browser, make, 20)
