"""Runs on a disk that is full, read-only, forbidden or gone."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragassay.testing import ServerProcess
from support.faults import (
    Clock,
    Victim,
    command,
    dice,
    make_rows,
    settled,
    wait_for_a_call,
    write_rows,
)
from support.invariants import (
    canonical,
    check_exit,
    check_ledger,
    check_run,
    check_unlocked,
    ledger_of,
)

LIMIT = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))
"""
"""No file may grow beyond so many bytes, as with a quota."""

SENDING = """
import os
from ragassay.models.http_client import HttpClient
from ragassay.core import errors
_book = os.open({book!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
_fd = os.memfd_create("book")
_send, _init = HttpClient.send, errors.EnvironmentFailure.__init__
async def _noted(self, method, url, body, *rest):
    os.write(_fd, b"s")
    return await _send(self, method, url, body, *rest)
def _failed(self, code, *a, **k):
    os.write(_fd, b"F")
    _init(self, code, *a, **k)
HttpClient.send, errors.EnvironmentFailure.__init__ = _noted, _failed
import ragassay.cli as _cli
_main = _cli.main
def main():
    try:
        _main()
    finally:
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.lseek(_fd, 0, 0)
        os.write(_book, os.read(_fd, 1 << 24))
_cli.main = main
"""
"""Notes, in memory, each call that is sent (s) and each failed write (F); written down at the end.
"""

NO_PRIVILEGES = """
import ctypes
_head, _none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None).capset(_head, _none) == 0
"""
"""Lets permissions count for root as well."""


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Callable[[str], None] | None]:
    """A file system of this size at the folder, and a function that changes its size; None where
    none may be mounted.
    """
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        yield None
        return

    def resize(new: str) -> None:
        subprocess.run(
            ["mount", "-o", f"remount,size={new}", str(folder)], check=True, capture_output=True
        )

    try:
        yield resize
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)


def full_disk(
    folder: Path, *, times: int, seed: int = 0, rows: int = 150, in_flight: int = 8
) -> dict[str, Any]:
    """A disk that is full at a random point, half the times by a small file system, half by a limit
    on files.
    """
    chance, most, before_any, mounted = dice(seed), 0, 0, 0
    source = write_rows(folder / "rows.jsonl", make_rows(rows))
    with ServerProcess(latency=0.01) as server:
        victim = Victim(*command(source, server, folder / "clean.db", concurrency=in_flight))
        check_exit(victim.wait(), 0)
        expected, size = canonical(folder / "clean.db"), (folder / "clean.db").stat().st_size
        clock, done = Clock(), 0
        for number in range(times):
            if clock.over:
                break
            done += 1
            server.script(reset=True)
            book = folder / f"book-{number}"
            room = int(chance.uniform(0.03, 1.2) * size) // 4096 * 4096
            with small_disk(
                folder / f"disk-{number}", str(max(room, 4096)) if number % 2 else "100m"
            ) as resize:
                store = folder / f"disk-{number}" / "s.db"
                limited = resize is None or number % 2 == 0
                mounted += not limited
                prelude = SENDING.format(book=str(book)) + (
                    LIMIT.format(size=room) if limited else ""
                )
                victim = Victim(
                    *command(source, server, store, concurrency=in_flight), prelude=prelude
                )
                code = victim.wait()
                books = settled(server)
                if code == 0:
                    continue  # there was room enough
                check_exit(code, 5)
                noted = book.read_text()
                assert "E0506" in victim.err, victim.err
                assert "bytes free" in victim.err, victim.err
                assert str(store.parent) in victim.err, victim.err
                first = noted.find("F")
                assert first >= 0
                most = max(most, noted[first:].count("s"))
                before_any += books["calls"] == 0
                if resize is not None:
                    resize("200m")
                if store.exists() and store.stat().st_size and books["calls"]:
                    check_run(store, finished=False)
                    victim = Victim("resume", "--store", store)
                else:
                    victim = Victim(*command(source, server, store, concurrency=in_flight))
                check_exit(victim.wait(), 0)
                check_run(store)
                assert canonical(store) == expected
                check_ledger(ledger_of(store), settled(server))
                check_unlocked(store)
    return {
        "times": done,
        "sent_after_failure": most,
        "before_any_call": before_any,
        "file_systems": mounted,
    }


def full_before_the_first_call(folder: Path) -> dict[str, Any]:
    """There is no room for a store: an error before a call is paid for."""
    source = write_rows(folder / "rows.jsonl", make_rows(5))
    calls = 0
    with ServerProcess() as server:
        for room in (4096, 16384, 65536):
            store = folder / f"full-{room}" / "s.db"
            victim = Victim(*command(source, server, store), prelude=LIMIT.format(size=room))
            check_exit(victim.wait(), 5)
            assert "E0506" in victim.err, victim.err
            calls += server.stats()["calls"]
    return {"calls": calls}


def bad_places(folder: Path) -> dict[str, str]:
    """Stores where none can be, or in odd places; name of the case -> what came of it."""
    source, found = write_rows(folder / "rows.jsonl", make_rows(4)), dict[str, str]()
    with ServerProcess() as server:

        def refused(name: str, store: Path, code: str, prelude: str = NO_PRIVILEGES) -> None:
            before = server.stats()["calls"]
            victim = Victim(*command(source, server, store), prelude=prelude)
            check_exit(victim.wait(), 5, 2)
            assert f"error[{code}]" in victim.err, f"{name}: {victim.err}"
            assert server.stats()["calls"] == before, f"{name}: a call was paid for"
            found[name] = f"refused with {code} before the first call"

        def served(name: str, store: Path, also: Path | None = None) -> None:
            before = server.stats()["calls"]
            victim = Victim(*command(source, server, store))
            check_exit(victim.wait(), 0)
            check_run(also or store)
            assert server.stats()["calls"] - before == 12
            check_unlocked(also or store)
            found[name] = "works"

        locked = folder / "read-only folder"
        locked.mkdir()
        locked.chmod(0o555)
        refused("folder that may not be written", locked / "s.db", "E0501")
        refused("folder that may not be made", locked / "a" / "s.db", "E0501")
        locked.chmod(0o755)
        served("the same folder, permitted", locked / "s.db")
        (locked / "s.db").chmod(0o444)
        refused("file that may not be written", locked / "s.db", "E0501")
        (locked / "s.db").chmod(0o000)
        refused("file that may not be read", locked / "s.db", "E0501")
        (folder / "a file").write_text("x")
        refused("a file where the folder should be", folder / "a file" / "s.db", "E0501")
        refused("a folder where the file should be", folder, "E0101")
        (folder / "text.db").write_text(
            "this is no database, though it is long enough for one" * 100
        )
        refused("a text file", folder / "text.db", "E0503")
        refused("a name of 256 characters", folder / ("n" * 253 + ".db"), "E0501")
        refused("a name that SQLite cannot add -wal to", folder / ("n" * 250 + ".db"), "E0501")
        (folder / "loop.db").symlink_to(folder / "loop.db")
        refused("a link to itself", folder / "loop.db", "E0101")
        (folder / "elsewhere").mkdir()
        (folder / "link.db").symlink_to(folder / "elsewhere" / "real.db")
        served(
            "a link to a file that is made", folder / "link.db", folder / "elsewhere" / "real.db"
        )
        (folder / "linked").symlink_to(folder / "elsewhere")
        served("a linked folder", folder / "linked" / "s.db")
        served(
            "spaces, Unicode, %, # and ?", folder / "a b ü 漢字 %20 #1 ?x=y & 'q'" / "s t o r e.db"
        )
        refused(
            "a path of 1,000 characters, which SQLite cannot open",
            folder.joinpath(*["d" * 190] * 5) / "s.db",
            "E0501",
        )
        served("a path of 400 characters", folder.joinpath("d" * 150, "e" * 150) / "s.db")
        served("a name of 240 characters", folder / ("n" * 237 + ".db"))
        served("a name of 80 Chinese characters", folder / ("漢" * 78 + ".db"))
        found |= _lost_on_the_way(folder, server)
    return found


def _lost_on_the_way(folder: Path, server: ServerProcess) -> dict[str, str]:
    """The folder goes away, or may no longer be written, while the run works."""
    found = {}
    source = write_rows(folder / "more.jsonl", make_rows(150))
    server.script(latency=0.03)
    for name in ("moved away", "deleted"):
        home = folder / f"to be {name}"
        sent = server.stats()["calls"]
        victim = Victim(*command(source, server, home / "s.db"))
        assert wait_for_a_call(server, sent + 20, victim)
        if name == "moved away":
            home.rename(folder / "gone")
        else:
            for path in home.iterdir():
                path.unlink()
            home.rmdir()
        gone = time.monotonic()
        check_exit(victim.wait(), 5)
        assert time.monotonic() - gone < 6
        assert "E0501" in victim.err, victim.err
        assert str(home) in victim.err, victim.err
        assert settled(server)["calls"] - sent < 400
        found[f"folder {name} during the run"] = "stops with E0501"
    home = folder / "gone"
    home.rename(folder / "to be moved away")
    victim = Victim("resume", "--store", folder / "to be moved away" / "s.db")
    check_exit(victim.wait(), 0)
    check_run(folder / "to be moved away" / "s.db")
    found["folder put back"] = "resumes"
    return found
