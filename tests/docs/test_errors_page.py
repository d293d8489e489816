"""The page docs/errors.md, kept equal to the catalogue of error codes."""

from __future__ import annotations

from docs_pages.errors import errors_page
from ragassay.core.error_catalogue import error_catalogue


def test_the_page_lists_every_code_of_the_catalogue_as_it_is_now() -> None:
    page = errors_page()
    assert all(entry.cause and entry.remedy for entry in error_catalogue().values())
    assert all(f"| {code} | " in page for code in error_catalogue())
