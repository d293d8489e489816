"""The application: each route of the table answers through one endpoint, which lets nobody in that
the table does not.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import shutil
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, cast
from urllib.parse import parse_qsl, quote

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.requests import ClientDisconnect
from starlette.routing import compile_path

from ragassay.core import RagAssayError
from ragassay.web.api.application import Api
from ragassay.web.guard import MOST_BYTES, App, Guard, RateLimit, Scope, TooLarge
from ragassay.web.messages import Answer, Ask, Data, File, NotThere, Page, Redirect
from ragassay.web.routes import ROUTES, Route
from ragassay.web.sessions import LASTS_S, Role, TooManyTries
from ragassay.web.site import Site

if TYPE_CHECKING:
    from ragassay.store import Store
    from ragassay.web.settings import WebSettings

_THEMES = ("dark", "light")
_MOST_FIELDS = 200
FORM_S, UPLOAD_S = 30.0, 600.0
"""Seconds in which a form has to arrive, and one with a file."""


class Application:
    """The ASGI application of one store, with what it holds. `close` ends it; the store stays."""

    def __init__(self, store: Store, settings: WebSettings) -> None:
        self.site = Site(store, settings)
        app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        for route in ROUTES:
            methods = [route.method, *(["HEAD"] if route.method == "GET" else [])]
            app.add_route(route.path, _endpoint(self.site, route), methods=methods)
        app.add_exception_handler(HTTPException, _unknown(self.site))
        app.add_exception_handler(404, _unknown(self.site))
        app.add_exception_handler(405, _unknown(self.site))
        self.fastapi = app
        pages = Guard(
            app,
            settings.names,
            limit=RateLimit(settings.rate),
            caller=_caller(self.site),
            mounted=_mounted(self.site),
            most_bytes=_most_bytes,
        )
        self.api = Api(self.site, pages)
        self.asgi: App = self.api

    def close(self) -> None:
        """End what runs in the background."""
        self.api.close()
        self.site.close()


def make_application(store: Store, settings: WebSettings) -> Application:
    """The application over an open store. Raises SetupError E0902 where no token protects it."""
    return Application(store, settings.checked())


def cookie_name(request: Request, what: str) -> str:
    """A cookie's name: browsers keep those of all ports of a machine together."""
    server = request.scope.get("server") or ("", 0)
    return f"ragassay-{what}-{server[1]}"


def _mounted(site: Site) -> dict[str, App]:
    """Path -> what answers there behind the guard's Host check, by rules of its own."""
    if site.ingest is None:
        return {}
    from ragassay.tracing.endpoint import PATHS

    return dict.fromkeys(PATHS, cast("App", site.ingest))


_LARGER = tuple(
    (route.method, compile_path(route.path)[0], route.most_bytes)
    for route in ROUTES
    if route.most_bytes != MOST_BYTES
)


def _most_bytes(scope: Scope) -> int:
    """How large a request's body may be."""
    for method, pattern, most in _LARGER:
        if scope["method"] == method and pattern.match(scope["path"]):
            return most
    return MOST_BYTES


def _caller(site: Site) -> Callable[[Scope], str]:
    """Whom a request counts for: its session, else its address, so that nobody is counted anew by
    making a cookie up.
    """

    def caller(scope: Scope) -> str:
        request = Request(scope)
        session = request.cookies.get(cookie_name(request, "session"), "")
        if site.sessions.known(session) is not None:
            return f"session {session}"
        return f"address {request.client.host if request.client else ''}"

    return caller


def _endpoint(site: Site, route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        needed = route.access.role
        role = role_of(site, request)
        if needed is not None and role is not None and not role.may(needed):
            words = f"This needs the token of the {needed}; you are signed in as {role}."
            return _rendered(site, request, _problem(403, words))
        if route.uploads and role is None:
            # Nothing of a body that may be large is read for somebody whom nobody knows.
            return _rendered(site, request, _sign_in_page(_ask(site, request, {}), "POST"))
        try:
            if route.uploads:
                return await _uploaded(site, request, route)
            form = await _form(request)
        except TooLarge:
            words = f"The request is larger than {route.most_bytes >> 20} MB."
            return _rendered(site, request, _problem(413, words))
        except TimeoutError:
            return _rendered(site, request, _problem(408, "The form did not arrive in time."))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        ask = _ask(site, request, form)
        if needed is not None and ask.role is None:
            return _rendered(site, request, _sign_in_page(ask, request.method))
        answer = await run_in_threadpool(_answered, route, ask)
        # A page of megabytes must not hold up the other requests.
        return await run_in_threadpool(_rendered, site, request, answer)

    return endpoint


async def _uploaded(site: Site, request: Request, route: Route) -> Response:
    """The answer to a form with a file, which is written to disk as it comes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        return _rendered(site, request, _problem(400, "This is no form with a file."))
    with TemporaryDirectory(prefix="ragassay-upload-") as folder:
        path = Path(folder) / "upload"
        form = {}
        try:
            async with (
                asyncio.timeout(UPLOAD_S),
                request.form(max_files=1, max_fields=_MOST_FIELDS) as sent,
            ):
                for name, value in sent.items():
                    if isinstance(value, str):
                        form[name] = value
                        continue
                    form[name] = value.filename or ""
                    await run_in_threadpool(_write, value.file, path)
        except HTTPException:
            return _rendered(site, request, _problem(400, "The form did not come whole."))
        ask = replace(_ask(site, request, form), upload=path if path.exists() else None)
        answer = await run_in_threadpool(_answered, route, ask)
        return await run_in_threadpool(_rendered, site, request, answer)


def _write(source: BinaryIO, path: Path) -> None:
    with path.open("wb") as file:
        shutil.copyfileobj(source, file)


def role_of(site: Site, request: Request) -> Role | None:
    """What the caller may do, None for one who is not signed in."""
    role = site.sessions.known(request.cookies.get(cookie_name(request, "session"), ""))
    if role is not None:
        return role
    # A program sends the token itself; a page of somebody else's cannot make a browser do so.
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return site.sessions.accepts(token.strip()) if scheme.lower() == "bearer" else None


def _ask(site: Site, request: Request, form: dict[str, str]) -> Ask:
    here = request.url.path
    if request.url.query:
        here += f"?{request.url.query}"
    theme = request.cookies.get(cookie_name(request, "theme"), "")
    person = parse_qsl("p=" + request.cookies.get(cookie_name(request, "person"), ""))
    return Ask(
        site=site,
        path=dict(request.path_params),
        query=_first(request.url.query),
        form=form,
        here=here,
        nonce=request.scope["state"]["nonce"],
        theme=theme if theme in _THEMES else "",
        session=request.cookies.get(cookie_name(request, "session"), ""),
        role=role_of(site, request),
        client=request.client.host if request.client else "",
        reveal=request.cookies.get(cookie_name(request, "reveal"), "") == "1",
        host=request.headers.get("host", ""),
        person=person[0][1][:80] if person else "",
    )


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form. Other bodies than a form's have none, and change nothing."""
    if request.method != "POST":
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    async with asyncio.timeout(FORM_S):
        body = await request.body()
    if kind != "application/x-www-form-urlencoded":
        return {}
    return _first(body.decode("utf-8", "replace"))


def _first(text: str) -> dict[str, str]:
    """Name -> its first value; what has too many fields has none."""
    values: dict[str, str] = {}
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}
    for name, value in pairs:
        values.setdefault(name, value)
    return values


def _answered(route: Route, ask: Ask) -> Answer:
    """What the view says; every error becomes a page that names neither code nor place of ours."""
    try:
        return route.view(ask)
    except NotThere as absent:
        return _problem(404, str(absent))
    except TooManyTries as many:
        wait_s = math.ceil(many.wait_s)
        words = f"Too many wrong tokens. Try again in {wait_s} seconds."
        return Page("problem.html.j2", {"problem": words, "error": None}, 429, retry_s=wait_s)
    except RagAssayError as error:
        status = {"E0103": 404, "E0108": 404}.get(error.code, 400 if error.exit_code == 2 else 503)
        return Page("problem.html.j2", {"problem": error.what, "error": error}, status)
    except Exception:
        number = secrets.token_hex(4)
        # For whoever runs the server; the page has only the number by which to find it.
        print(f"error {number} in {route.path}", file=sys.stderr)
        traceback.print_exc()
        return _problem(500, f"This is a fault of RagAssay, noted in its log under {number}.")


def _problem(status: int, words: str) -> Page:
    return Page("problem.html.j2", {"problem": words, "error": None}, status)


def _sign_in_page(ask: Ask, method: str) -> Page:
    after = ask.here if method in ("GET", "HEAD") else "/"
    lost = ask.form if method == "POST" else {}
    values = {"after": after, "lost": lost, "lost_path": ask.here if lost else "", "wrong": False}
    return Page("sign_in.html.j2", values, 401)


def _unknown(site: Site) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def unknown(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 404)
        words = "There is no such page." if status == 404 else "That cannot be done here."
        answer = _problem(status, words)
        ask = _ask(site, request, {})
        if ask.role is None:
            answer = _sign_in_page(ask, "POST" if status == 405 else request.method)
        return _rendered(site, request, answer)

    return unknown


def _rendered(site: Site, request: Request, answer: Answer) -> Response:
    if isinstance(answer, Page):
        ask = _ask(site, request, {})
        shell = {"ask": ask, "signed_in": ask.role is not None}
        template = site.templates.get_template(answer.template)
        text = template.render({**shell, **answer.values})
        response: Response = HTMLResponse(text, answer.status)
        if answer.retry_s:
            response.headers["retry-after"] = str(answer.retry_s)
        _set_cookies(response, request, answer.cookies)
        return response
    if isinstance(answer, Redirect):
        response = RedirectResponse(quote(answer.to, safe="/%:?=&,+~#-._()"), 303)
        _set_cookies(response, request, answer.cookies)
        return response
    if isinstance(answer, Data):
        import orjson

        return Response(orjson.dumps(answer.value), answer.status, media_type="application/json")
    return _file(answer)


def _file(answer: File) -> Response:
    response = Response(answer.content)
    response.headers["content-type"] = answer.kind
    if answer.lasting:  # its name holds a hash of its content
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
    if answer.download:
        name = quote(answer.download)
        response.headers["content-disposition"] = f"attachment; filename*=UTF-8''{name}"
        response.headers["content-security-policy"] = "default-src 'none'; sandbox"
    return response


def _set_cookies(response: Response, request: Request, cookies: object) -> None:
    for what, value in dict(cookies).items():  # type: ignore[call-overload]
        name = cookie_name(request, what)
        if not value:
            response.delete_cookie(name, path="/", httponly=True, samesite="strict")
            continue
        response.set_cookie(
            name, value, max_age=int(LASTS_S), path="/", httponly=True, samesite="strict"
        )
