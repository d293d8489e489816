"""The commands of the web application: `view` for oneself, `serve` for a team."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.output import note, print_lines
from ragassay.cli.parameters import RunArgument, StoreOption
from ragassay.cli.tracing import TOKEN as TRACES_TOKEN
from ragassay.cli.tracing import GrpcPortOption, shown_address

if TYPE_CHECKING:
    from ragassay.web import Server, WebSettings

PortOption = Annotated[
    int | None, typer.Option(help="Port [default: 8417, or a free one; 0: a free one].")
]


def view(
    run: RunArgument = "last",
    *,
    port: PortOption = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open nothing.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Look at a run in the browser: what broke, each claim with its evidence, other runs beside
    it. Listens on this machine only; Ctrl-C ends it. No browser is opened but from a terminal.
    """
    from ragassay.api import open_run
    from ragassay.web import WebSettings
    from ragassay.web.settings import TOKEN

    with open_run(run, store=store) as opened:
        settings = WebSettings(port=port or 0, token=os.environ.get(TOKEN, ""))
        _serve(opened.store, settings, port is None, f"/runs/{opened.id}", not no_browser)


def serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0: all.")] = "127.0.0.1",
    port: PortOption = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name under which it is called, such as a proxy's; may be repeated."),
    ] = None,
    allow_judge: Annotated[
        list[str] | None,
        typer.Option(
            help="A judge that requests to the HTTP API may name, such as openai:MODEL; its key and"
            " address are those of this environment. Repeatable [default: offline alone]."
        ),
    ] = None,
    quiet: Annotated[
        float, typer.Option(min=0, help="Seconds without a new span until a trace is a row.")
    ] = 30.0,
    keep_days: Annotated[
        float | None,
        typer.Option(min=0, help="Days after which spans are deleted [default: never]."),
    ] = None,
    grpc_port: GrpcPortOption = None,
    rate: Annotated[
        float, typer.Option(min=1, help="Requests a second that one person may make for long.")
    ] = 50.0,
    store: StoreOption = None,
) -> None:
    """Serve the web application and the HTTP API to a team, and receive traces. On anything but
    this machine it starts only with a token in RAGASSAY_WEB_TOKEN. RAGASSAY_WEB_LABELLER_TOKEN and
    RAGASSAY_WEB_READER_TOKEN let people in who only label and read, RAGASSAY_TRACES_TOKEN
    applications that only send traces.
    """
    from ragassay.store import Store, default_location
    from ragassay.web import WebSettings
    from ragassay.web.settings import TOKEN, TOKENS, TraceSettings

    given = {role: os.environ.get(name, "") for role, name in TOKENS.items()}
    settings = WebSettings(
        host,
        port or 0,
        os.environ.get(TOKEN, ""),
        tuple(allow_host or ()),
        roles={role: token for role, token in given.items() if token},
        traces=TraceSettings(os.environ.get(TRACES_TOKEN, "").strip(), quiet, keep_days, grpc_port),
        rate=rate,
        judges=tuple(allow_judge or ()),
    ).checked()
    # A server that receives traces may be the first thing that a store is made for.
    with Store.open(store or default_location()) as opened:
        _serve(opened, settings, port is None, "/", False)


def _serve(store: object, settings: WebSettings, usual: bool, path: str, browser: bool) -> None:
    from ragassay.web import start_server
    from ragassay.web.serving import opens_a_browser

    server = start_server(store, settings, usual_port=usual)  # type: ignore[arg-type]
    server.on_grpc = lambda port: _announce_grpc(server.settings.host, port)
    _announce(server, path)
    if browser and opens_a_browser(server.settings, sys.stdout.isatty()):
        import webbrowser

        webbrowser.open(server.link(path))
    with suppress(KeyboardInterrupt):
        server.serve()
    note("stopped; what was labelled is in the store")


def _announce(server: Server, path: str) -> None:
    """The address, on standard output. A token that the user chose is not repeated."""
    from ragassay.web.settings import TOKEN

    if os.environ.get(TOKEN):
        print_lines(f"{server.address}{path}", f"Sign in with the token in {TOKEN}.")
    else:
        print_lines(server.link(path), "The link holds the key to these pages: keep it.")
    if server.application.site.ingest is not None:
        shown = _token_of_senders(server.settings)
        print_lines(
            f"Traces: export OTEL_EXPORTER_OTLP_ENDPOINT={server.address}",
            f"export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20{shown}",
        )
    print_lines("Ctrl-C stops the server.")
    sys.stdout.flush()


def _token_of_senders(settings: WebSettings) -> str:
    """What senders show, in a shell: the variable that the user set, or the token made for it."""
    from ragassay.web.settings import TOKEN

    for name in (TRACES_TOKEN, TOKEN):
        if os.environ.get(name, "").strip():
            return f"${name}"
    return settings.token


def _announce_grpc(host: str, port: int | None) -> None:
    if port is None:
        return
    print_lines(f"Traces over gRPC: {shown_address(host, port)}")
    sys.stdout.flush()
