"""What is spent never passes the cap, whatever comes back."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import ChatCall, Ledger, MatchCall, Message, Spend
from ragassay.dispatch import LocalBudget, exact, output_limit_of, worst_case_tokens

CALL = ChatCall((Message("user", "abcd"),), max_tokens=10)
# 4 bytes + 16 for the template = 20 tokens in at most; 10 out.


def price(tokens_in, tokens_out):
    return (tokens_in * 1.0 + tokens_out * 2.0) / 1e6  # $1 and $2 a million


def reserved(budget: LocalBudget) -> Decimal:
    """What the budget grants one call; it has to."""
    amount = budget.reserve(CALL)
    assert amount is not None
    return amount


def test_the_worst_case_of_a_call_is_its_bytes_and_its_reply_limit() -> None:
    assert worst_case_tokens(CALL) == (20, 10)
    assert worst_case_tokens(ChatCall((Message("user", "é"),), max_tokens=1)) == (
        18,
        1,
    )  # two bytes in UTF-8
    assert worst_case_tokens(MatchCall("support", "a", ("b",))) == (0, 0)


def test_max_calls_counts_what_was_sent_and_what_is_in_flight() -> None:
    budget = LocalBudget(price, max_calls=2)
    first, second = reserved(budget), reserved(budget)
    assert first is not None
    assert second is not None
    assert budget.reserve(CALL) is None
    budget.settle(CALL, first, None)  # failed, but it was sent
    assert budget.reserve(CALL) is None


def test_a_call_is_refused_when_its_worst_case_would_pass_the_cap() -> None:
    budget = LocalBudget(price, max_cost=0.00006)  # the worst case is $0.00004
    first = budget.reserve(CALL)
    assert first == Decimal("0.00004")
    assert budget.reserve(CALL) is None
    budget.settle(CALL, first, Spend(1, 5, 2, cost=0.000009))
    assert budget.reserve(CALL) is not None


def test_a_call_without_a_receipt_stays_counted_as_uncertain() -> None:
    budget = LocalBudget(price, max_cost=0.00006)
    budget.settle(CALL, reserved(budget), None, maybe_billed=True)
    assert budget.reserve(CALL) is None
    ledger = budget.ledger()
    assert (ledger.uncertain_calls, ledger.uncertain_cost, ledger.confirmed.calls) == (
        1,
        0.00004,
        0,
    )


def test_the_cost_is_unknown_as_soon_as_one_price_is() -> None:
    budget = LocalBudget(lambda *_: None)
    budget.settle(CALL, reserved(budget), Spend(1, 5, 2, cost=0.1))
    assert budget.ledger().confirmed.cost == 0.1
    budget.settle(CALL, reserved(budget), Spend(1, 5, 2, cost=None))
    assert budget.ledger().confirmed.cost is None


def test_a_resumed_run_goes_on_counting_from_its_ledger() -> None:
    base = Ledger(Spend(3, 30, 6, cost=0.5), uncertain_calls=1, uncertain_cost=0.1)
    budget = LocalBudget(price, max_calls=5, max_cost=1.0, base=base)
    assert budget.sent == 4
    assert budget.reserve(CALL) is not None
    assert budget.reserve(CALL) is None
    assert budget.ledger().confirmed.cost == 0.5


@given(
    st.lists(
        st.tuples(
            st.integers(0, 20), st.integers(0, 10), st.sampled_from(["answered", "lost", "failed"])
        ),
        max_size=60,
    ),
    st.integers(0, 1000),
)
def test_confirmed_and_uncertain_cost_never_pass_the_cap(events, cap_millionths) -> None:
    cap = cap_millionths / 1e6
    budget = LocalBudget(price, max_cost=cap)
    open_calls = []
    for tokens_in, tokens_out, end in events:
        reserved = budget.reserve(CALL)
        if reserved is not None:
            open_calls.append((reserved, tokens_in, tokens_out, end))
        if len(open_calls) > 3 or (reserved is None and open_calls):
            reserved, tokens_in, tokens_out, end = open_calls.pop(0)
            cost = price(tokens_in, tokens_out)
            spend = Spend(1, tokens_in, tokens_out, cost=cost) if end == "answered" else None
            budget.settle(CALL, reserved, spend, maybe_billed=end == "lost")
        ledger = budget.ledger()
        assert (ledger.confirmed.cost or 0) + ledger.uncertain_cost <= cap + 1e-15


def test_a_thousand_tenths_of_a_cent_are_exactly_a_dollar() -> None:
    budget = LocalBudget(price)
    for _ in range(1000):
        budget.settle(CALL, reserved(budget), Spend(1, 5, 2, cost=0.001))
    assert budget.ledger().confirmed.cost == 1.0  # binary sums give 1.0000000000000007


def test_an_answer_without_a_bill_hides_nothing_from_the_cap_of_a_resumed_run() -> None:
    budget = LocalBudget(price, max_cost=1.0)
    budget.settle(CALL, reserved(budget), Spend(1, 5, 2, cost=0.9999))
    budget.settle(CALL, reserved(budget), Spend(1))
    ledger = budget.ledger()
    assert (ledger.confirmed.cost, ledger.unbilled_calls, ledger.uncertain_cost) == (
        0.9999,
        1,
        0.00004,
    )
    again = LocalBudget(price, max_cost=1.0, base=ledger)
    first = again.reserve(CALL)  # 0.9999 + 0.00004 + 0.00004 fits
    assert first is not None
    assert again.reserve(CALL) is None  # a third 0.00004 does not


def test_a_price_that_is_known_only_later_counts_what_was_spent_before() -> None:
    unknown = LocalBudget(lambda *_: None)
    unknown.settle(CALL, reserved(unknown), Spend(1, 500_000, 250_000))
    later = LocalBudget(price, max_cost=1.0, base=unknown.ledger())
    assert later.reserve(CALL) is None  # 0.5 + 0.5 dollars are spent


def test_what_reused_judgments_cost_when_they_were_bought_is_saved() -> None:
    budget = LocalBudget(price)
    for cost in (0.1, 0.2, None):
        budget.save(Spend(1, cost=cost))
    assert budget.ledger().saved_cost == 0.3  # binary sums give 0.30000000000000004


def test_an_answer_that_another_asker_paid_for_is_neither_sent_nor_uncertain() -> None:
    budget = LocalBudget(price, max_calls=2, max_cost=0.00009)
    budget.settle(CALL, reserved(budget), Spend(1, 10, 5, cost=0.00002))
    budget.settle(CALL, reserved(budget), Spend(cost=0.0))
    ledger = budget.ledger()
    assert (budget.sent, ledger.confirmed.calls, ledger.confirmed.cost) == (1, 1, 0.00002)
    assert (ledger.unbilled_calls, ledger.uncertain_calls, ledger.uncertain_cost) == (0, 0, 0.0)
    assert budget.reserve(CALL) is not None  # the second of two
    budget.withdraw(Spend(cost=0.0), None)
    assert budget.sent == 1


def test_the_worst_case_of_a_model_that_thinks_has_room_for_it() -> None:
    def with_room(call):
        return call.max_tokens + 4000  # for thinking

    assert worst_case_tokens(CALL, with_room) == (20, 4010)
    thinking = LocalBudget(price, output_limit=with_room)
    assert thinking.reserve(CALL) == Decimal("0.00804")  # 20 at $1 and 4,010 at $2 a million


def test_the_output_limit_is_the_models_own_where_it_has_one() -> None:
    class Thinker:
        def output_limit(self, call):
            return call.max_tokens + 100

    assert output_limit_of(Thinker())(CALL) == 110
    assert output_limit_of(object())(CALL) == 10


# -- answers without usage, and calls that were cut off


def test_an_answer_without_usage_counts_at_most_at_what_was_sent_and_received() -> None:
    budget = LocalBudget(price, max_cost=1.0)
    budget.settle(CALL, reserved(budget), Spend(1), text="yes")
    ledger = budget.ledger()
    # 20 tokens in at most, at $1; 3 bytes are at most 3 tokens, at $2 a million.
    assert (ledger.unbilled_calls, ledger.uncertain_cost) == (1, 0.000026)


def test_thinking_that_is_not_seen_is_bounded_by_the_room_that_there_is_for_it() -> None:
    thinking = LocalBudget(price, output_limit=lambda call: call.max_tokens + 100)
    thinking.settle(CALL, reserved(thinking), Spend(1), text="yes")
    assert thinking.ledger().uncertain_cost == 0.000226  # 20 in, 3 + 100 out


def test_an_answer_of_many_bytes_counts_at_its_worst_case_and_not_beyond() -> None:
    budget = LocalBudget(price)
    budget.settle(CALL, reserved(budget), Spend(1), text="x" * 5000)
    assert budget.ledger().uncertain_cost == 0.00004


def test_a_call_that_the_stop_of_a_run_cuts_off_counts_at_what_such_calls_took() -> None:
    budget = LocalBudget(price)
    for _ in range(100):
        amount = reserved(budget)
        spend = Spend(1, 6, 2, cost=0.00001)
        budget.costs.add(budget.size_of(CALL), spend)
        budget.settle(CALL, amount, spend)
    budget.settle(CALL, reserved(budget), None, cut_off=True)
    ledger = budget.ledger()
    assert (ledger.uncertain_calls, ledger.cut_off_calls) == (1, 1)
    assert ledger.uncertain_cost == ledger.cut_off_cost
    assert 0.00001 < ledger.cut_off_cost < 0.000012  # its worst case is $0.00004


def test_calls_in_flight_are_on_disk_as_those_that_a_kill_would_cut_off() -> None:
    budget = LocalBudget(price, max_cost=1.0)
    reserved(budget)
    held = budget.snapshot()
    assert (held.uncertain_calls, held.uncertain_cost) == (1, 0.00004)
    assert (held.cut_off_calls, held.cut_off_cost) == (1, 0.00004)
    assert budget.ledger().cut_off_calls == 0


END = st.sampled_from(["answered", "without usage", "lost", "failed", "killed"])


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 10), END), max_size=80),
    st.integers(1, 2000),
)
def test_whatever_happens_to_calls_the_bill_passes_the_cap_by_what_was_cut_off_at_most(
    events, cap_millionths
) -> None:
    """The bill <= the cap + what calls that were cut off cost above their estimate; and a call is
    refused only where its worst case does not fit.
    """
    cap = Decimal(cap_millionths) / 10**6
    budget = LocalBudget(price, max_cost=float(cap))
    bill = above = Decimal(0)
    for tokens_in, tokens_out, end in events:
        amount = budget.reserve(CALL)
        ledger = budget.ledger()
        spent = exact(ledger.confirmed.cost) + exact(ledger.uncertain_cost)
        assert (amount is None) == (spent + Decimal("0.00004") > cap)
        if amount is None:
            break
        cost = exact(price(tokens_in, tokens_out))
        bill += cost if end != "failed" else 0
        spend = None
        if end == "answered":
            spend = Spend(1, tokens_in, tokens_out, cost=float(cost))
            budget.costs.add(budget.size_of(CALL), spend)
        elif end == "without usage":
            spend = Spend(1)
        text = "x" * tokens_out  # a token is a byte here: the longest that it can be billed as
        before = exact(budget.ledger().cut_off_cost)
        budget.settle(
            CALL, amount, spend, text=text, maybe_billed=end == "lost", cut_off=end == "killed"
        )
        if end == "killed":
            estimate = exact(budget.ledger().cut_off_cost) - before
            above += max(Decimal(0), cost - estimate)
            costs = budget.costs
            budget = LocalBudget(price, max_cost=float(cap), base=budget.ledger(), costs=costs)
        ledger = budget.ledger()
        held = exact(ledger.confirmed.cost) + exact(ledger.uncertain_cost)
        assert bill - above <= held <= cap
