"""What a run had sent and received when it was killed is known exactly, and no reply is bought
twice.
"""

import errno
import re
from collections import deque
from dataclasses import asdict
from decimal import Decimal
from typing import Never

import pytest

from ragassay.core import ChatCall, ChatReply, EnvironmentFailure, Ledger, Message, Spend
from ragassay.dispatch import CallSize, LocalBudget, Rate
from ragassay.runs import ReplyLog, boot_id
from ragassay.runs.logged_model import key_of
from ragassay.runs.reply_log import LoggedReply
from ragassay.runs.segments import Segment

CALL = ChatCall((Message("user", "x"),))
REPLY = ChatReply("yes", "stop", "m", Spend(1, 10, 2, cost=0.1))
LOGGED = LoggedReply(REPLY)
WORST = Decimal("0.5")


@pytest.fixture
def log(tmp_path):
    def make(base=None):
        opened = ReplyLog(tmp_path / "run.replies")
        if base is not None:
            opened.begin(base)
        return opened

    return make


def killed(log) -> None:
    """A kill closes nothing, but what was written stays."""
    log.close(finished=False)


def test_a_log_that_nothing_was_sent_through_leaves_no_file(log, tmp_path) -> None:
    first = log(Ledger())
    assert first.ledger is None
    first.close(finished=True)
    assert list(tmp_path.iterdir()) == []


def test_a_reply_that_arrived_before_the_kill_is_handed_out_once_and_is_in_the_ledger(log) -> None:
    first = log(Ledger())
    first.arrived(first.sent(WORST), "key", REPLY)
    killed(first)
    second = log()
    assert second.ledger.confirmed == REPLY.spend
    assert second.take("key") == LOGGED
    assert second.take("key") is None


def test_a_call_in_flight_counts_as_uncertain_at_its_worst(log) -> None:
    first = log(Ledger(Spend(3, cost=0.3), uncertain_calls=1, uncertain_cost=0.2))
    first.arrived(first.sent(WORST), "key", REPLY)
    first.sent(WORST)
    killed(first)
    found = log().ledger
    assert (found.confirmed.calls, found.confirmed.cost) == (4, 0.4)  # 0.3 + 0.1, to the cent
    assert (found.uncertain_calls, found.uncertain_cost) == (2, 0.7)  # 0.2 + 0.5


def test_a_failure_that_is_not_billed_costs_nothing_and_one_that_may_be_is_uncertain(log) -> None:
    first = log(Ledger())
    first.failed(first.sent(WORST), False)
    first.failed(first.sent(WORST), True)
    killed(first)
    found = log().ledger
    assert (found.uncertain_calls, found.uncertain_cost) == (1, 0.5)


def test_an_answer_without_a_bill_is_uncertain_up_to_its_worst(log) -> None:
    first = log(Ledger())
    first.arrived(first.sent(WORST), "key", ChatReply("yes", spend=Spend(1)))
    killed(first)
    found = log().ledger
    assert (found.confirmed.calls, found.unbilled_calls, found.uncertain_cost) == (1, 1, 0.5)


def test_a_second_kill_goes_on_counting_from_the_first(log) -> None:
    first = log(Ledger())
    first.arrived(first.sent(WORST), "a", REPLY)
    first.sent(WORST)
    killed(first)
    second = log()
    second.begin(second.ledger)
    second.arrived(second.sent(WORST), "b", REPLY)
    killed(second)
    third = log()
    assert (
        third.ledger.confirmed.calls,
        third.ledger.confirmed.cost,
        third.ledger.uncertain_calls,
    ) == (2, 0.2, 1)
    assert third.take("a") == LOGGED
    assert third.take("b") == LOGGED


def test_a_torn_tail_is_as_if_it_had_not_been_written(log, tmp_path) -> None:
    first = log(Ledger())
    first.arrived(first.sent(WORST), "a", REPLY)
    size = first._segment.size
    first.arrived(first.sent(WORST), "b", REPLY)
    killed(first)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for cut in range(size, size + 400, 7):
        path.write_bytes(whole[:cut])
        found = log()
        assert found.take("a") == LOGGED
        assert found.ledger.confirmed.calls + found.ledger.uncertain_calls in (1, 2)


def test_a_damaged_log_counts_nothing_so_that_the_stores_own_ledger_does(log, tmp_path) -> None:
    first = log(Ledger())
    first.arrived(first.sent(WORST), "a", REPLY)
    size = first._segment.size
    first.arrived(first.sent(WORST), "b", REPLY)
    killed(first)
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[size - 5] ^= 1
    path.write_bytes(data)
    assert log().ledger is None


def test_a_log_from_before_a_restart_of_the_machine_is_not_believed(log, monkeypatch) -> None:
    monkeypatch.setattr("ragassay.runs.reply_log.boot_id", lambda: "before")
    first = log(Ledger())
    first.arrived(first.sent(WORST), "a", REPLY)
    killed(first)
    monkeypatch.setattr("ragassay.runs.reply_log.boot_id", lambda: "after")
    second = log()
    assert second.ledger is None
    assert second.take("a") is None


def test_segments_turn_and_the_ledger_of_the_newest_holds_all_before(
    log, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("ragassay.runs.reply_log.SEGMENT_BYTES", 2000)
    monkeypatch.setattr("ragassay.runs.reply_log.KEEP_SECONDS", -1.0)
    first = log(Ledger())
    never = first.sent(WORST)
    for number in range(200):
        first.arrived(first.sent(WORST), f"key-{number}", REPLY)
    assert never
    killed(first)
    assert (
        len(list(tmp_path.iterdir())) == 2
    )  # the newest, and one whose judgments may still be on their way
    found = log()
    assert (found.ledger.confirmed.calls, found.ledger.confirmed.cost) == (200, 20.0)
    assert (found.ledger.uncertain_calls, found.ledger.uncertain_cost) == (1, 0.5)
    assert found.take("key-199") == LOGGED


def test_replies_of_another_log_are_kept_and_its_ledger_is_not(log, tmp_path) -> None:
    part = ReplyLog(tmp_path / "part.replies")
    part.begin(Ledger())
    part.arrived(part.sent(WORST), "a", REPLY)
    part.close(finished=False)
    first = log(Ledger(Spend(3, cost=0.3)))
    assert first.holds_no_reply
    first.keep(ReplyLog(tmp_path / "part.replies").replies)
    assert first.take("a") == LOGGED
    assert not first.holds_no_reply
    killed(first)
    second = log()
    assert second.ledger == Ledger(Spend(3, cost=0.3))
    assert second.take("a") == LOGGED


def test_replies_that_are_kept_stay_until_the_end_however_much_is_written(log, monkeypatch) -> None:
    monkeypatch.setattr("ragassay.runs.reply_log.SEGMENT_BYTES", 500)
    monkeypatch.setattr("ragassay.runs.reply_log.KEEP_SECONDS", -1.0)
    first = log(Ledger())
    first.keep({"late": deque([LOGGED])})
    for number in range(20):
        first.arrived(first.sent(WORST), f"a-{number}", REPLY)
    killed(first)
    second = log()
    second.begin(second.ledger)
    second.keep({"late": deque([LOGGED])})  # what is held is not held twice
    for number in range(20):
        second.arrived(second.sent(WORST), f"b-{number}", REPLY)
    killed(second)
    third = log()
    assert (third.take("late"), third.take("late")) == (LOGGED, None)
    assert third.take("a-10") is None  # what became a judgment goes


def test_replies_that_are_lent_are_handed_out_once_by_all_borrowers(log, tmp_path) -> None:
    lender = log(Ledger())
    lender.arrived(lender.sent(WORST), "a", REPLY)
    lender.arrived(lender.sent(WORST), "b", REPLY)
    killed(lender)
    lent = log().replies
    one, two = ReplyLog(tmp_path / "one"), ReplyLog(tmp_path / "two")
    one.borrow(lent)
    two.borrow(lent)
    assert [one.take("a"), two.take("a"), two.take("b")] == [LOGGED, None, LOGGED]
    assert one.holds_no_reply
    assert log().take("a") == LOGGED  # they are still where they were


def test_a_log_whose_ledger_is_kept_elsewhere_says_none_and_gives_its_replies(log) -> None:
    first = log(Ledger())
    first.arrived(first.sent(WORST), "a", REPLY)
    killed(first)
    second = log()
    second.begin(None, anew=True)
    killed(second)
    third = log()
    assert third.ledger is None
    assert third.take("a") == LOGGED


def test_replies_that_are_forgotten_stay_so_after_another_kill(log) -> None:
    first = log(Ledger())
    first.arrived(first.sent(WORST), "a", REPLY)
    killed(first)
    second = log()
    second.begin(second.ledger)
    second.forget()
    assert second.holds_no_reply
    second.arrived(second.sent(WORST), "b", REPLY)
    killed(second)
    third = log()
    assert (third.take("a"), third.take("b")) == (None, LOGGED)
    assert third.ledger.confirmed.calls == 2


def test_a_finished_run_leaves_no_log(log, tmp_path) -> None:
    first = log(Ledger())
    first.arrived(first.sent(WORST), "a", REPLY)
    first.close(finished=True)
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_cannot_be_written_stops_the_call_before_it_is_sent(tmp_path) -> None:
    nowhere = ReplyLog(tmp_path / "gone" / "run.replies")
    nowhere.begin(Ledger())
    with pytest.raises(EnvironmentFailure) as caught:
        nowhere.sent(WORST)
    assert caught.value.code == "E0501"


def test_a_full_disk_says_how_much_was_needed(log, monkeypatch) -> None:
    def full(*_) -> Never:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(EnvironmentFailure) as caught:
        log(Ledger()).sent(WORST)
    assert caught.value.code == "E0506"
    assert re.search(r"1,048,576 bytes were asked for, [\d,]+ bytes free", caught.value.why)


def test_a_log_is_silent_until_a_reply_arrives_and_never_again(log) -> None:
    opened = log(Ledger())
    assert opened.holds_no_reply
    ticket = opened.sent(WORST)
    opened.failed(opened.sent(WORST), maybe_billed=True)
    assert opened.holds_no_reply  # a resume has nothing to take from it
    opened.arrived(ticket, key_of(CALL), REPLY)
    assert not opened.holds_no_reply
    killed(opened)
    assert not log().holds_no_reply


def test_whatever_a_reply_depends_on_is_in_its_key() -> None:
    others = [
        ChatCall((Message("user", "y"),)),
        ChatCall((Message("system", "x"),)),
        ChatCall((Message("user", "x"),), model="openai:other"),
        ChatCall((Message("user", "x"),), temperature=None),
        ChatCall((Message("user", "x"),), seed=1),
        ChatCall((Message("user", "x"),), max_tokens=1),
        ChatCall((Message("user", "x"),), schema={"type": "object"}),
        ChatCall((Message("user", "\ud800"),)),
    ]
    assert len({key_of(call) for call in (CALL, *others)}) == 1 + len(others)


def test_a_reply_handed_in_once_more_is_counted_once() -> None:
    budget = LocalBudget(lambda a, b: 0.25, max_cost=10.0, base=Ledger(REPLY.spend))
    reserved = budget.reserve(CALL)
    budget.withdraw(REPLY.spend, None)
    assert reserved is not None
    budget.settle(CALL, reserved, REPLY.spend)
    assert budget.ledger() == Ledger(REPLY.spend)
    assert budget.sent == 1


# -- calls that a kill cuts off

SIZE = CallSize("claims", 4200, 1000, 0)
RATE = Rate(1e-6, 2e-6)


def test_calls_that_a_kill_cuts_off_count_at_what_such_calls_took(log) -> None:
    first = log()
    first.begin(Ledger(), rate=RATE)
    bill = Spend(1, 1500, 80, cost=0.00166)  # $1 and $2 a million
    for number in range(100):
        first.arrived(first.sent(WORST, SIZE), f"key-{number}", ChatReply("yes", spend=bill))
    for _ in range(8):
        first.sent(WORST, SIZE)
    killed(first)
    found = log().ledger
    assert (found.confirmed.calls, found.uncertain_calls, found.cut_off_calls) == (100, 8, 8)
    assert found.uncertain_cost == found.cut_off_cost
    assert 8 * 0.00166 < found.cut_off_cost < 1.1 * 8 * 0.00166  # their worst case is $4


def test_replies_that_came_after_a_call_was_sent_tell_of_it_too(log) -> None:
    first = log()
    first.begin(Ledger(), rate=RATE)
    open_calls = [first.sent(WORST, SIZE) for _ in range(40)]
    for ticket in open_calls[:32]:
        first.arrived(ticket, "key", ChatReply("yes", spend=Spend(1, 1500, 80, cost=0.00166)))
    killed(first)
    found = log().ledger
    assert 8 * 0.00166 < found.cut_off_cost < 1.2 * 8 * 0.00166


def test_an_estimate_never_passes_the_worst_case(log) -> None:
    first = log()
    first.begin(Ledger(), rate=RATE)
    first.sent(Decimal("0.0001"), SIZE)
    killed(first)
    found = log().ledger
    assert (found.cut_off_calls, found.cut_off_cost) == (1, 0.0001)


def test_what_calls_took_before_a_kill_is_known_after_it(log) -> None:
    first = log()
    first.begin(Ledger(), rate=RATE)
    for number in range(100):
        reply = ChatReply("yes", spend=Spend(1, 1500, 80, cost=0.00166))
        first.arrived(first.sent(WORST, SIZE), f"key-{number}", reply)
    killed(first)
    second = log()
    second.begin(second.ledger, rate=RATE)
    second.sent(WORST, SIZE)
    killed(second)
    assert 0.00166 < log().ledger.cut_off_cost < 1.1 * 0.00166


def test_calls_in_flight_are_cut_off_wherever_their_segment_ends(log, monkeypatch) -> None:
    monkeypatch.setattr("ragassay.runs.reply_log.SEGMENT_BYTES", 1000)
    first = log()
    first.begin(Ledger(), rate=RATE)
    for _ in range(3):
        first.sent(WORST, SIZE)  # never answered
    for number in range(50):
        reply = ChatReply("yes", spend=Spend(1, 1500, 80, cost=0.00166))
        first.arrived(first.sent(WORST, SIZE), f"key-{number}", reply)
    killed(first)
    found = log().ledger
    assert found.cut_off_calls == 3
    assert found.cut_off_cost < 1.1 * 3 * 0.00166


def test_without_a_price_a_call_that_was_cut_off_is_counted_and_costs_nothing_known(log) -> None:
    first = log(Ledger())
    first.sent(None, SIZE)
    killed(first)
    found = log().ledger
    assert (found.uncertain_calls, found.uncertain_cost) == (1, 0.0)


def test_a_log_of_the_version_before_counts_open_calls_at_their_worst(log, tmp_path) -> None:
    segment = Segment(tmp_path / "run.replies.000000")
    segment.write(
        {
            "is": "start",
            "boot": boot_id(),
            "owner": "a",
            "ledger": asdict(Ledger()),
            "counts": True,
            "open": {"1": "0.25"},
        }
    )
    segment.write({"is": "sent", "ticket": 2, "worst": "0.5"})
    segment.write({"is": "sent", "ticket": 3, "worst": "0.5"})
    arrived = {"key": "key", "text": "yes", "finish": "stop", "model": "m"}
    segment.write({"is": "arrived", "ticket": 2, **arrived, "spend": [1, 0, 0, 0, None, 0.5]})
    segment.close()
    found = log()
    assert (found.ledger.confirmed.calls, found.ledger.unbilled_calls) == (1, 1)
    assert (found.ledger.uncertain_calls, found.ledger.uncertain_cost) == (2, 1.25)
    assert found.take("key").most == Decimal("0.5")


def test_a_reply_without_a_bill_is_taken_back_at_what_it_was_counted_at(log) -> None:
    def price(tokens_in, tokens_out):
        return (tokens_in + 2 * tokens_out) / 1e6

    first = log()
    first.begin(Ledger())
    most = Decimal("0.000023")  # 17 bytes in (x, and 16 for the template), 3 bytes out
    first.arrived(first.sent(WORST, SIZE), "key", ChatReply("yes", spend=Spend(1)), most)
    killed(first)
    second = log()
    assert second.ledger.uncertain_cost == 0.000023
    budget = LocalBudget(price, max_cost=1.0, base=second.ledger)
    logged = second.take("key")
    reserved = budget.reserve(CALL)
    assert reserved is not None
    budget.withdraw(logged.reply.spend, logged.most)
    budget.settle(CALL, reserved, logged.reply.spend, text=logged.reply.text)
    assert budget.ledger() == second.ledger
