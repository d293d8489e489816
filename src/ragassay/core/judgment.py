"""A judgment: what a judge answered, a fact that is written down once and never changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ragassay.core.fast_init import fast_init

REPAIRED = "repaired:"
"""How the flags of a Judgment begin that name a repair of the reply's form, such as
"repaired:trailing_comma".
"""

NO_RATIONALE = "no_rationale"
"""The flag of a Judgment whose reply gave a rating without the reasons that were asked for."""

SAYS_OTHERWISE = "says_otherwise"
"""The flag of a judgment for which the passages were seen to say another thing of the same."""

PARTS_OPEN = "parts_open"
"""The flag of a judgment by which a response answers a part of its question and leaves another one
open.
"""

REDACTED = "redacted:"
"""How the flags of a Judgment begin that name a kind of value which was replaced in the texts that
the judge saw, such as "redacted:email".
"""

BOTH_ORDERS = "both_orders"
"""The flag of a verdict that a judge gave in two opposite orders of the texts, with one rating."""

ORDERS_DIFFER = "orders_differ"
"""The flag of a verdict for which the two orders gave different ratings that both pass or fail."""

ORDERS_DISAGREE = "orders_disagree"
"""The flag of a verdict that one order passes and the other one fails."""

ONE_ORDER = "one_order"
"""The flag of a verdict that one order gave, while the other one gave none."""

ORDER_FLAGS = (BOTH_ORDERS, ORDERS_DIFFER, ORDERS_DISAGREE, ONE_ORDER)


class Status(StrEnum):
    """What became of a Request, a part of a Score, or a Score. Only JUDGED and ABSTAINED carry a
    value.
    """

    JUDGED = "judged"
    ABSTAINED = "abstained"  # the judge itself declined to rate ("cannot tell")
    UNPARSED = "unparsed"  # the reply held no verdict for it, twice
    REFUSED = "refused"  # the model refused to answer
    FAILED = "failed"  # the call failed: network, timeout, server, too long
    OVER_BUDGET = "over_budget"  # a cap was reached before the call
    NOT_APPLICABLE = "not_applicable"  # the metric lacks an input, or nothing is there to judge


@fast_init
@dataclass(frozen=True, slots=True)
class Evidence:
    """A place in a context that a verdict rests on.

    context: index into the Request's contexts, from 0. start, end: character offsets into that
    context's text (end exclusive). quote: the text there, verbatim. Only evidence that was found
    in the source is kept as Evidence; a quote that was not found is a flag of the Judgment.
    """

    context: int
    start: int
    end: int
    quote: str


@fast_init
@dataclass(frozen=True, slots=True)
class Spend:
    """What answering cost the judge's side: calls sent, tokens, US dollars (None = price unknown),
    seconds. cached_tokens: of the input, those that the provider had in its cache;
    reasoning_tokens: of the output, those in which the model thought, as far as the server says.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    reasoning_tokens: int = 0

    def __add__(self, other: Spend) -> Spend:
        cost = (
            None
            if self.cost is None and other.cost is None
            else (self.cost or 0.0) + (other.cost or 0.0)
        )
        return Spend(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            cost,
            self.seconds + other.seconds,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@fast_init
@dataclass(frozen=True, slots=True)
class Judgment:
    """The answer to one Request by one judge.

    key: `Request.key`. judge: the judge's fingerprint for this rubric (rubric text, model,
    parameters). rating: the rubric scale's own value (0..3, "yes"), None unless judged. value: the
    rating mapped to [0, 1]. probability: the judge's own probability of a yes (supported, relevant,
    answers it), where it has one (offline judge, logprobs), else None. passes: whether the rating
    passes the rubric's own pass mark (the offline judge's cut), None without a rating. texts: the
    reply of a rubric that writes texts (claims), in order. flags: words such as "nothing_found",
    "abstention", "trivial", "quote_not_found", "declined", and how the reply was read:
    "no_rationale" and those that begin with "repaired:", which say nothing of the verdict. reason:
    why there is no rating (status other than JUDGED). spend: this Judgment's share of its call; the
    shares of one call add up to the call. sources: the contexts that support the claim, as indices
    from 0 in rising order, each by itself or as a needed part; () when none does, None when the
    judge was not asked for them or named none that exists.
    """

    key: str
    judge: str
    rubric: str
    status: Status
    rating: float | str | None = None
    value: float | None = None
    probability: float | None = None
    rationale: str = ""
    evidence: tuple[Evidence, ...] = ()
    texts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    reason: str = ""
    spend: Spend = field(default_factory=Spend)
    passes: bool | None = None
    sources: tuple[int, ...] | None = None

    @property
    def judged(self) -> bool:
        """Whether there is a rating (or texts) to compute with."""
        return self.status is Status.JUDGED

    @property
    def reading(self) -> tuple[str, ...]:
        """The flags that say what was replaced in the texts and how the reply was read, and nothing
        of what it says.
        """
        return tuple(
            flag
            for flag in self.flags
            if flag == NO_RATIONALE or flag.startswith((REPAIRED, REDACTED))
        )


JudgmentAddress = tuple[str, str]
"""(fingerprint of the judge, key of the Request): what a Judgment is stored and found under."""
