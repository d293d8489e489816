"""The site: what all requests to one server share."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, Environment, FileSystemLoader

from ragassay.core import RunState, Spend, Verdict
from ragassay.report import wording as say
from ragassay.report.pages import FOLDER as REPORT_FOLDER
from ragassay.report.pages import environment
from ragassay.web.figures import Figures
from ragassay.web.sessions import Role, Sessions

if TYPE_CHECKING:
    from ragassay.store import Store, StoredRun
    from ragassay.tracing.endpoint import TraceEndpoint
    from ragassay.web.settings import WebSettings

HERE = Path(__file__).parent


class Site:
    """One server's store, figures, sessions, templates and static files."""

    def __init__(self, store: Store, settings: WebSettings) -> None:
        self.store = store
        self.settings = settings
        self.figures = Figures(store)
        self.sessions = Sessions(settings.token, others=settings.roles)
        self.ingest = _ingest(store, settings)
        self.static = _static_files()
        self.templates = _templates(self.static)

    def close(self) -> None:
        """End what runs in the background; the store is the caller's."""
        if self.ingest is not None:
            self.ingest.stop()
        self.figures.close()


def _ingest(store: Store, settings: WebSettings) -> TraceEndpoint | None:
    """What receives traces; None where none are to be, or the store may only be read. Raises
    SetupError E0105 without its library.
    """
    if settings.traces is None or store.database.read_only:
        return None
    from ragassay.tracing.endpoint import TraceEndpoint
    from ragassay.tracing.job import AssemblyJob, Patience

    patience = Patience(quiet_s=settings.traces.quiet_s, keep_days=settings.traces.keep_days)
    job = AssemblyJob(store.span_records, patience)
    endpoint = TraceEndpoint(store, settings.traces.token or settings.token, job)
    endpoint.start()
    return endpoint


def _static_files() -> dict[str, tuple[bytes, str]]:
    """Name in the URL, with a hash of the content -> content and type."""
    script = (HERE / "static" / "app.js").read_bytes()
    sheets = [
        REPORT_FOLDER / "report.css",
        REPORT_FOLDER / "curves.css",
        HERE / "static" / "app.css",
    ]
    style = b"".join(sheet.read_bytes() for sheet in sheets)
    icon = (HERE / "static" / "icon.svg").read_bytes()
    files = {}
    for stem, ending, content, kind in (
        ("app", "js", script, "text/javascript; charset=utf-8"),
        ("app", "css", style, "text/css; charset=utf-8"),
        ("icon", "svg", icon, "image/svg+xml"),
    ):
        digest = hashlib.sha256(content).hexdigest()[:12]
        files[f"{stem}-{digest}.{ending}"] = (content, kind)
    return files


def _templates(static: Mapping[str, tuple[bytes, str]]) -> Environment:
    templates = environment()
    folders = [FileSystemLoader(HERE / "templates"), FileSystemLoader(REPORT_FOLDER)]
    templates.loader = ChoiceLoader(folders)
    by_ending = {name.rpartition(".")[2]: f"/static/{name}" for name in static}
    templates.globals.update(
        Role=Role,
        Verdict=Verdict,
        signed=say.signed,
        headline=say.headline,
        stopped=_stopped,
        paid=_paid,
        shell_word=shlex.quote,
        script_url=by_ending["js"],
        style_url=by_ending["css"],
        icon_url=by_ending["svg"],
        url=url,
    )
    return templates


def known_cost(spend: Spend) -> float | None:
    """What calls cost in US dollars: nothing where there was none, None where the price of one is
    not known.
    """
    return spend.cost if spend.calls else 0.0


def _paid(spend: Spend) -> str:
    return say.money(known_cost(spend))


def _stopped(stored: StoredRun) -> str:
    """How a run came to an end before it was finished, where nobody works on it any more."""
    if stored.state is RunState.RUNNING:
        return "its process is gone"
    return say.STATE_WORDS[stored.state]


def url(path: str, *parts: object, **query: Any) -> str:
    """An address on this server: `{}` in the path stands for the parts in turn; values of the query
    that are None or "" are left out.
    """
    quoted = [quote(str(part), safe="", errors="surrogatepass") for part in parts]
    address = path.format(*quoted)
    given = {}
    for name, value in query.items():
        if value not in (None, "", False):
            given[name.rstrip("_")] = value
    words = urlencode(given, errors="surrogatepass")
    return f"{address}?{words}" if words else address
