"""Pages of the documentation that are written from the code, so that they cannot fall behind it.

A page is a function that returns its Markdown; what only a person can say stands beside it in a
data file. `python tools/write_docs.py` (or `make docs`) writes them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from docs_pages.certificates import certificates_page
from docs_pages.coming_from import coming_from_page
from docs_pages.errors import errors_page
from docs_pages.metrics import metrics_page
from docs_pages.openapi import openapi_page
from docs_pages.options import options_page
from docs_pages.providers import providers_page
from docs_pages.triad_benchmark import triad_benchmark_page

PAGES: Mapping[str, Callable[[], str]] = {
    "metrics.md": metrics_page,
    "coming-from.md": coming_from_page,
    "certificates.md": certificates_page,
    "errors.md": errors_page,
    "options.md": options_page,
    "providers.md": providers_page,
    "triad-benchmark.md": triad_benchmark_page,
    "http-api/openapi.json": openapi_page,
}
"""File under docs/ -> the function that gives its text."""
