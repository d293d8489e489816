"""The web application: runs, rows, comparisons and labels in a browser.

It parses, calls and shows: queries are the store's, figures those of `report` and `scoring`. The
door is light: FastAPI and uvicorn are imported when a server is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.web.application import make_application
    from ragassay.web.serving import Server, start_server
    from ragassay.web.settings import WebSettings

__all__ = ["Server", "WebSettings", "make_application", "start_server"]

__getattr__ = lazy_names(
    __name__,
    {
        "application": ("make_application",),
        "serving": ("Server", "start_server"),
        "settings": ("WebSettings",),
    },
)
