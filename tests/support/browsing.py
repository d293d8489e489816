"""A real browser for tests: Debian's Chromium, started once, that reports whatever goes wrong in a
page.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

HOOK = """
window.ran = [];
for (const name of ["alert", "confirm", "prompt", "print", "open"]) {
  window[name] = (...words) => { window.ran.push(name + " " + words.join(" ")); };
}
document.addEventListener("securitypolicyviolation", (event) => {
  window.ran.push("CSP " + event.violatedDirective + " " + event.blockedURI + " " + event.sample);
});
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    assert path, "these tests need Chromium: install Debian's package chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield started
        started.close()


class Tab:
    """A tab with what it saw: messages of the console, errors, dialogs, requests to other hosts."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.seen: list[str] = []
        self.address = address
        self.context = browser.new_context(**options)
        self.context.add_init_script(HOOK)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(90_000)
        self.page.on("console", lambda message: self._say(message.text))
        self.page.on("pageerror", lambda error: self.seen.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", self._look)

    def _say(self, text: str) -> None:
        # The answer to a page without a session is 401, which the browser notes by itself.
        if "401" not in text:
            self.seen.append(text)

    def _dismiss(self, dialog: Any) -> None:
        self.seen.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _look(self, request: Any) -> None:
        if not request.url.startswith((self.address + "/", "data:", "about:", "blob:")):
            self.seen.append(f"request to {request.url}")

    def ran(self) -> list[str]:
        """What scripts that are none of ours did in the page that is open, and CSP violations."""
        return list(self.page.evaluate("window.ran || ['the page has no hook']"))

    def close(self) -> None:
        """Close the tab."""
        self.context.close()
