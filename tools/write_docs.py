"""Writes the pages of docs/ that come from the code: `python tools/write_docs.py`."""

from __future__ import annotations

from pathlib import Path

from docs_pages import PAGES

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """Write each page, and name those that changed."""
    for name, page in PAGES.items():
        path = DOCS / name
        text = page()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        path.write_text(text, encoding="utf-8")
        print(f"written: docs/{name}")


if __name__ == "__main__":
    main()
