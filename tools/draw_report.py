"""Draws docs/images/report.png: the top of the report of `ragassay demo`, as a browser shows it.

    python tools/draw_report.py

The browser's fonts decide how it looks, so no test compares the bytes; a test asks that the picture
is there and small.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import ragassay
from ragassay.datasets.examples import rows_path

TARGET = Path(__file__).parents[1] / "docs" / "images" / "report.png"
SIZE = {"width": 1100, "height": 720}


def main() -> None:
    """Evaluate the bundled rows, open the report, and take the picture."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        with ragassay.evaluate(
            str(rows_path()), store=Path(folder) / "runs.db", name="demo"
        ) as run:
            run.html(report)
        with sync_playwright() as playwright:
            path = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
            page.goto(report.as_uri())
            page.wait_for_timeout(500)
            TARGET.parent.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(TARGET))
            browser.close()
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
