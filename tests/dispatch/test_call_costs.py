"""What a call that was cut off has cost is estimated from those that were answered."""

import random

import pytest

from ragassay.core import ChatCall, Message, Spend
from ragassay.dispatch import CallCosts, CallSize, Rate, size_of
from support.examples import examples

RATE = Rate(1e-6, 2e-6)  # $1 and $2 a million tokens
SIZE = CallSize("groundedness", 4200, 1000, 0)  # 4,200 bytes, and at most 1,000 tokens out


def costs(*answers, rate=RATE) -> CallCosts:
    """The costs of a run with these answers: (size, tokens in, tokens out)."""
    found = CallCosts()
    found.rate = rate
    for size, tokens_in, tokens_out in answers:
        cost = tokens_in * 1e-6 + tokens_out * 2e-6
        found.add(size, Spend(1, tokens_in, tokens_out, cost=cost))
    return found


def estimated(known: CallCosts, *sizes: CallSize) -> float:
    """The estimate for these calls together, in US dollars; there has to be one."""
    amount = known.estimate(sizes)
    assert amount is not None
    return float(amount)


def test_before_any_answer_the_usual_figures_of_prose_and_verdicts_are_taken() -> None:
    # Likely: 4,200 / 4.2 = 1,000 tokens in and 15 % of 1,000 = 150 out, $0.0013 together. Off by
    # 12 % of 0.001 and by 25 % of 0.0003, independently: sqrt(0.00012^2 + 0.000075^2) = 0.00014151;
    # 2.5 times that on top.
    assert estimated(costs(), SIZE) == pytest.approx(0.00165377, abs=1e-8)


def test_a_model_that_was_never_heard_thinks_as_long_as_it_may() -> None:
    thinking = SIZE._replace(thinking=4000)
    more = estimated(costs(), thinking) - estimated(costs(), SIZE)
    assert more == pytest.approx(0.008)  # 4,000 at $2 a million


def test_after_many_equal_answers_the_estimate_is_what_they_took_and_little_more() -> None:
    known = costs(*[(SIZE, 1500, 80)] * 100)  # $0.00166 each
    for calls in (1, 8, 32):
        share = estimated(known, *[SIZE] * calls) / (calls * 0.00166)
        assert 1 < share < 1.1


def test_larger_prompts_and_longer_answers_follow_the_line_through_those_before() -> None:
    answers = []
    for step in range(20):
        size = SIZE._replace(input_bound=4000 + 400 * step, answer_budget=832 + 320 * step)
        answers.append((size, 1000 + 100 * step, 85 + 70 * step))
    beyond = SIZE._replace(input_bound=4000 + 400 * 25, answer_budget=832 + 320 * 25)
    real = 3500e-6 + 2 * (85 + 70 * 25) * 1e-6
    assert 1 < estimated(costs(*answers), beyond) / real < 1.3


def test_what_a_provider_takes_off_for_its_cache_is_taken_off() -> None:
    known = CallCosts()
    known.rate = RATE
    for _ in range(50):
        known.add(SIZE, Spend(1, 1500, 80, 1400, cost=0.00083))  # half of the list price
    assert 0.00083 < estimated(known, SIZE) < 0.00083 * 1.1


def test_a_kind_without_an_answer_is_estimated_by_the_others() -> None:
    # They think 4,000 tokens, so this one will.
    others = costs(*[(SIZE, 1000, 4100)] * 30)
    assert estimated(others, SIZE._replace(kind="claims")) > 0.0092


def test_nothing_is_estimated_without_a_price_and_nothing_learnt_without_usage() -> None:
    assert costs(rate=None).estimate([SIZE]) is None
    known = costs()
    known.add(SIZE, Spend(1))
    known.add(SIZE, Spend(3, 900_000, 5, cost=0.9))  # three requests, of which it shows one
    assert estimated(known, SIZE) == estimated(costs(), SIZE)


def test_no_calls_have_cost_nothing() -> None:
    assert costs().estimate([]) == 0


def test_calls_of_one_rubric_to_one_model_are_of_one_kind() -> None:
    one = ChatCall((Message("user", "ab"),), schema_name="claims", max_tokens=7)
    assert size_of(one) == CallSize("claims", 18, 7, 0)  # 2 bytes and 16 for the template
    other = ChatCall((Message("user", "ab"),), schema_name="claims", model="openai:b", max_tokens=7)
    assert size_of(other).kind == "openai:b claims"
    assert size_of(one, lambda call: 100).thinking == 93
    assert size_of(one, lambda call: 3).thinking == 0  # a server that takes less


def kill(seed: int, before: int) -> float:
    """The estimate as a share of what the calls cost that a kill cut off after so many answers:
    prompts of 3 to 9 kB of two rubrics, verdicts of some 85 tokens an item, as runs have.
    """
    chance = random.Random(1000 * seed + before)
    tokens_a_byte = chance.uniform(0.21, 0.29)
    spread = chance.uniform(0, 0.3)

    def call():
        items = chance.randint(1, 3)
        size = CallSize(chance.choice("ab"), chance.randint(3000, 9000), 512 + 320 * items, 0)
        tokens_out = round(85 * items * chance.lognormvariate(0, spread))
        return size, round(size.input_bound * tokens_a_byte), tokens_out

    known = costs(*[call() for _ in range(before)])
    cut_off = [call() for _ in range(chance.randint(4, 64))]
    real = sum(tokens_in * 1e-6 + tokens_out * 2e-6 for _, tokens_in, tokens_out in cut_off)
    return estimated(known, *[size for size, _, _ in cut_off]) / real


@pytest.mark.parametrize("before", [0, 5, 20, 200])
def test_the_estimate_holds_and_is_seldom_half_again_what_the_calls_cost(before) -> None:
    shares = [kill(seed, before) for seed in range(examples(300))]
    assert sum(share >= 1 for share in shares) >= 0.985 * len(shares)
    assert sum(share <= 1.5 for share in shares) >= 0.97 * len(shares)
    if before >= 20:
        assert max(shares) <= 1.3
