"""The pages of the documentation that are written from the code, kept equal to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs_pages import PAGES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_the_one_that_the_code_gives(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert page == PAGES[name](), f"docs/{name} is not up to date: run `make docs`"
