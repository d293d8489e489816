"""The server of llama.cpp, as a process of its own.

    python llama_server.py MODEL CONTEXT [KEY]

prints its address and serves until it is stopped. It is the server that llama.cpp ships, built into
the package `xllamacpp`.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

STARTED_WITHIN = 60.0


@contextlib.contextmanager
def llama_server(model: Path, *, context: int = 65_536, key: str = "") -> Iterator[str]:
    """The base URL of a server with this model. context: tokens of both of its slots together."""
    command = [sys.executable, __file__, str(model), str(context), *([key] if key else [])]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        # A server that does not come up must not hold the tests.
        watch = threading.Timer(STARTED_WITHIN, process.kill)
        watch.start()
        try:
            assert process.stdout is not None
            address = next((line for line in process.stdout if line.startswith("http")), "")
            watch.cancel()
            assert address, "the server of llama.cpp did not start"
            # What it prints later is read, or a full pipe would stop it.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield f"{address.strip()}/v1"
        finally:
            watch.cancel()
            process.kill()


def main(model: str, context: str, key: str = "") -> None:
    """Serve the model."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = int(context)
    params.n_parallel = 2
    params.port = 0
    params.warmup = False
    # A thread that waits for another by spinning takes the core that the tests need.
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads, threads.poll = 1, 0
    if key:
        params.api_keys = [key]
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
