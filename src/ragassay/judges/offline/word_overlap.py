"""A rule on words: a response is right when it has at least half of the words of every statement.

A plain rule, for short answers wrapped in sentences: it sees no negation and no wrong relation
between right words. The words of a statement that stand in the response / the words of the
statement is gold-token recall, `scoring.token_recall`.
"""

from __future__ import annotations

from collections import Counter

from ragassay.core import Judgment, Status, shorten
from ragassay.judges.matching.open_request import OpenRequest
from ragassay.judges.text_rules.abstention import declines
from ragassay.scoring import tokens

MARK = 0.5
# benchmarks/results/answer_overlap.md, the rows on this rule: evouna NQ and TQ, openqa_eval.
AGREEMENT = (
    "a rule, half of the words of every statement: kappa 0.73, 0.51 and 0.56 against people in 3"
    " sets of questions with one short gold answer (7,337 rows); 0.56, 0.27 and 0.46 where the"
    " first of several accepted answers is the reference"
)


def settle(open_request: OpenRequest) -> Judgment:
    """The Judgment for "correctness" (no, yes) or "correctness_3" (incorrect, not_attempted,
    correct).
    """
    has_three_ratings = open_request.rubric.id == "correctness_3"
    response = open_request.request.text("response")
    if declines(response):
        reason = "The response declines to answer or says that it does not know."
        if has_three_ratings:
            return open_request.rated("not_attempted", reason)
        return open_request.rated("no", reason, flags=("declined",))
    shares = shares_of(response, open_request.request.texts("statements"))
    if not shares:
        return open_request.lost(Status.NOT_APPLICABLE, "no statement holds a word to compare")
    share, statement = min(shares, key=lambda pair: pair[0])
    wrong, right = ("incorrect", "correct") if has_three_ratings else ("no", "yes")
    among = "" if len(shares) == 1 else f", the one of {len(shares)} that it shares least with"
    return open_request.rated(
        right if share >= MARK else wrong,
        f'The response has {share:.0%} of the words of "{shorten(statement, 200)}"{among}; right'
        f" from {MARK:.0%} on. This is a rule about words: it reads no meaning.",
    )


def shares_of(response: str, statements: tuple[str, ...]) -> list[tuple[float, str]]:
    """Gold-token recall of each statement that has tokens. The response is cut into tokens once: it
    may be long.
    """
    in_response = Counter(tokens(response))
    shares: list[tuple[float, str]] = []
    for statement in statements:
        counts = Counter(tokens(statement))
        if counts:
            shared = sum(min(count, in_response[token]) for token, count in counts.items())
            shares.append((shared / counts.total(), statement))
    return shares
