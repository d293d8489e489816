"""The log of calls: what a kill leaves, what a resume takes from it, and what damage costs."""

import resource
import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import ChatCall, ChatReply, EnvironmentFailure, Ledger, Message, Spend
from ragassay.runner.replies import CHUNK_BYTES, HEAD, ReplyLog, key_of


def call(text="hi", **changes):
    return ChatCall((Message("user", text),), **changes)


def reply(text="yes", cost=0.25):
    return ChatReply(text, "stop", "m", Spend(1, 10, 2, 0, cost, 0.5))


def begun(folder):
    log = ReplyLog(folder / "run.replies")
    log.begin(Ledger())
    return log


def left(log):
    """As a kill leaves it: nothing is closed."""
    return ReplyLog(log._prefix)


def test_a_reply_that_arrived_is_handed_out_once_and_its_cost_is_known(tmp_path):
    log = begun(tmp_path)
    log.arrived(log.sent(Decimal("0.5")), "k", reply())
    again = left(log)
    assert again.take("k") == reply()
    assert again.take("k") is None
    assert again.ledger.confirmed.cost == 0.25
    assert again.ledger.uncertain_calls == 0


def test_a_call_without_a_reply_is_uncertain_at_its_worst_case(tmp_path):
    log = begun(tmp_path)
    log.sent(Decimal("0.5"))
    log.failed(log.sent(Decimal("0.5")), maybe_billed=False)
    assert (left(log).ledger.uncertain_calls, left(log).ledger.uncertain_cost) == (1, 0.5)


def test_it_grows_by_chunks_and_by_segments_and_keeps_every_reply(tmp_path, monkeypatch):
    monkeypatch.setattr("ragassay.runner.replies.SEGMENT_BYTES", 2 * CHUNK_BYTES)
    log = begun(tmp_path)
    for n in range(100):
        log.arrived(log.sent(None), f"k{n}", reply("x" * 50_000))
    again = left(log)
    assert len(list(tmp_path.iterdir())) > 1
    assert all(again.take(f"k{n}") is not None for n in range(100))
    assert again.ledger.confirmed.calls == 100


def test_a_finished_run_leaves_no_file(tmp_path):
    log = begun(tmp_path)
    log.sent(None)
    log.close(finished=True)
    assert list(tmp_path.iterdir()) == []


@given(data=st.data())
def test_what_a_kill_tears_or_a_disk_rots_is_never_a_reply(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("log")
    log = begun(folder)
    for n in range(5):
        log.arrived(log.sent(Decimal(1)), f"k{n}", reply(f"text {n}"))
    (path,) = folder.iterdir()
    written = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, log._size - 1))
    if data.draw(st.booleans()):
        del written[at:]
    else:
        written[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(written)
    again = left(log)
    for n in range(5):
        assert again.take(f"k{n}") in (None, reply(f"text {n}"))


def test_a_head_of_zeros_ends_the_log(tmp_path):
    log = begun(tmp_path)
    log.arrived(log.sent(None), "k", reply())
    assert log._map[log._size : log._size + HEAD.size] == bytes(HEAD.size)
    assert left(log).take("k") == reply()


def test_the_key_covers_all_that_a_reply_depends_on():
    one = call()
    others = [
        call("ho"), call(schema={"a": 1}), call(max_tokens=7), call(temperature=0.5), call(seed=1), call(model="m"),
        ChatCall((Message("system", "hi"),)), ChatCall((Message("user", "h"), Message("user", "i"))),
    ]  # fmt: skip
    assert len({key_of(each) for each in (one, *others)}) == 1 + len(others)
    assert key_of(one) == key_of(call())
    assert key_of(call("\ud800")) != key_of(call("\ud801"))


FULL = """
import resource, sys
from decimal import Decimal
from pathlib import Path
from ragassay.core import EnvironmentFailure, Ledger
from ragassay.runner.replies import ReplyLog
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
log = ReplyLog(Path(sys.argv[1]) / "run.replies")
log.begin(Ledger())
try:
    log.sent(Decimal(1))
except EnvironmentFailure as error:
    print(error.code, log._open)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no such limit here")
def test_on_a_full_disk_a_call_is_not_sent_and_no_file_is_left(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["E0506", "{}"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_an_error_with_what_to_do(tmp_path):
    log = ReplyLog(tmp_path / "gone" / "run.replies")
    log.begin(Ledger())
    with pytest.raises(EnvironmentFailure) as caught:
        log.sent(None)
    assert caught.value.code == "E0501"
