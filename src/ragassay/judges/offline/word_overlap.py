"""A rule on facts and words: a response is right when it has at least half of the words of every
statement or says it in other words, and no fact of a statement is another in the response.

For short answers wrapped in sentences. The words of a statement that stand in the response / the
words of the statement is gold-token recall, `scoring.token_recall`. Numbers, dates, units, names
and negations decide first: "0.85 euros" has half of the words of "0.58 euros". A reader of facts
sets them beside each other (`MatchCall` "facts"), in both directions. Of a statement with fewer of
its words the model is asked whether the response supports it (`MatchCall` "support"): "two weeks"
of "within 14 days".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ragassay.core import (
    FactFinding,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    Status,
    shorten,
)
from ragassay.judges.matching.flow import worded
from ragassay.judges.matching.open_request import OpenRequest, spent
from ragassay.judges.offline.last_names import last_name_alone
from ragassay.judges.text_rules.abstention import declines
from ragassay.scoring import tokens

MARK = 0.5
# From which probability on the response says a statement in other words. On 1,198 development rows
# of evouna and openqa_eval marks from 0.4 to 0.8 change kappa by 0.03 at most.
SAID = 0.5
# benchmarks/results/answer_overlap.md, the rows on this rule: evouna NQ and TQ, openqa_eval.
AGREEMENT = (
    "a rule, half of the words of every statement or its sense, and none of its facts another:"
    " kappa 0.78, 0.56 and 0.59 against people in 3 sets of questions with one short gold answer"
    " (7,337 rows); 0.61, 0.32 and 0.48 where the first of several accepted answers is the"
    " reference"
)
# Of longer texts, and of more statements than this, words alone decide.
_LONGEST_RESPONSE, _LONGEST_STATEMENT, _MOST_STATEMENTS = 20_000, 1_000, 12
_FIGURES = frozenset({"number", "date", "bound"})
# A statement of so many words beside a name says something of it; with fewer, the name is all of an
# answer, which is often written in another way.
_LEAST_BESIDE_A_NAME = 3
# "Which city is bigger, Alton or Berwick?"
_CHOICE = re.compile(
    r"[,:] (?P<one>(?:\w[\w'’-]* ){1,4})or (?P<other>(?:\w[\w'’-]* ?){1,4})\?\s*$", re.I
)
_YES_OR_NO = re.compile(r"\W*(yes|no)\b", re.I)


def settle_by_words(open_request: OpenRequest) -> Judgment | None:
    """The Judgment for "correctness" (no, yes) or "correctness_3" (incorrect, not_attempted,
    correct) that needs no model: the response declines, or lacks the words and is too long for the
    model to be asked whether it has other ones. None elsewhere.
    """
    response = open_request.request.text("response")
    if declines(response):
        reason = "The response declines to answer or says that it does not know."
        if open_request.rubric.id == "correctness_3":
            return open_request.rated("not_attempted", reason)
        return open_request.rated("no", reason, flags=("declined",))
    shares = shares_of(response, open_request.request.texts("statements"))
    if not shares:
        return open_request.lost(Status.NOT_APPLICABLE, "no statement holds a word to compare")
    few = with_few_words(shares, response, open_request.request.text("question"))
    longest = max(map(len, few), default=0)
    may_be_asked = len(response) <= _LONGEST_RESPONSE and len(few) <= _MOST_STATEMENTS
    if few and not (may_be_asked and longest <= _LONGEST_STATEMENT):
        return _rated(open_request, False, _shared(shares))
    return None


def calls_of(request: Request) -> tuple[MatchCall, ...]:
    """The facts of each statement beside the response, and those of the response beside all
    statements; then each statement that has few of its words there, whether it is said.
    """
    response, statements = request.text("response"), _statements(request)
    question = request.text("question") or None
    few = with_few_words(shares_of(response, statements), response, question or "")
    return (
        *(MatchCall("facts", statement, (response,), question) for statement in statements),
        MatchCall("facts", response, statements, question),
        *(MatchCall("support", statement, (response,), question) for statement in few),
    )


def settle_by_facts(open_request: OpenRequest, replies: Sequence[Reply]) -> Judgment:
    """The Judgment on a response that has the words, after what the reader of facts found."""
    usable = open_request.replies(replies)
    if isinstance(usable, Judgment):
        return usable
    request = open_request.request
    response, statements = request.text("response"), _statements(request)
    facts, said = usable[: len(statements) + 1], usable[len(statements) + 1 :]
    reason = wrong_fact(response, statements, facts, request.text("question"))
    if reason:
        return _rated(open_request, False, reason, replies)
    shares = shares_of(response, statements)
    least = min((reply.probability for reply in said), default=None)
    if least is not None and least < SAID:
        return _rated(open_request, False, _shared(shares), replies)
    few = [statement for share, statement in shares if share < MARK]
    if few and least is None:
        reason = f'It gives the last name of "{shorten(few[0], 200)}", and a person is asked for.'
    else:
        reason = _shared(shares) if least is None else _said(shares, least)
    return _rated(open_request, True, f"No fact of it is denied. {reason}", replies)


def wrong_fact(
    response: str, statements: Sequence[str], replies: Sequence[MatchReply], question: str = ""
) -> str:
    """Which fact makes the response wrong, in a sentence; "" where none does.

    replies: to the calls of `calls_of` that are on facts.
    """
    other_side = _other_side(response, statements, question)
    if other_side:
        return other_side
    yes_or_no = _YES_OR_NO.match(response)
    *of_statements, of_response = (reply.findings for reply in replies)
    for statement, findings in zip(statements, of_statements, strict=True):
        there = _YES_OR_NO.match(statement)
        if yes_or_no and there and yes_or_no[1].lower() != there[1].lower():
            return f'The reference says "{there[1]}"; the response says "{yes_or_no[1]}".'
        for finding in findings:
            if _decides(finding, statement, of_response):
                return worded(finding, "the response", "the reference")
    for finding in of_response:
        if finding.found and finding.rule != "name":
            return worded(finding, "the reference", "the response")
    return ""


def with_few_words(shares: Sequence[tuple[float, str]], response: str, question: str) -> list[str]:
    """The statements that have less than half of their words in the response, and are not the name
    of a person whom it calls by last name.
    """
    few = [statement for share, statement in shares if share < MARK]
    return [each for each in few if not last_name_alone(each, response, question)]


def _other_side(response: str, statements: Sequence[str], question: str) -> str:
    """Which side the response chooses where the reference chooses the other, in a sentence; ""
    where the question offers none, or they choose alike.
    """
    sides = _CHOICE.search(question)
    other = _chosen(response, sides) if sides else ""
    if sides is None or not other:
        return ""
    chosen = (_chosen(statement, sides) for statement in statements)
    mine = next((side for side in chosen if side and side != other), "")
    return f'The reference chooses "{mine}"; the response chooses "{other}".' if mine else ""


def _chosen(text: str, sides: re.Match[str]) -> str:
    """The one of two sides that a text names; "" where it names both or none."""
    words, one, other = set(tokens(text)), sides["one"].strip(), sides["other"].strip()
    mine, theirs = set(tokens(one)) - set(tokens(other)), set(tokens(other)) - set(tokens(one))
    has_one, has_other = not words.isdisjoint(mine), not words.isdisjoint(theirs)
    if has_one == has_other:
        return ""
    return one if has_one else other


def _decides(finding: FactFinding, statement: str, of_response: Sequence[FactFinding]) -> bool:
    """Whether a fact of a statement makes the response wrong: it is denied; or it is missing, and
    the response has another in its place.
    """
    if finding.rule == "name":
        beside = len(tokens(statement)) - len(tokens(finding.said))
        other = any(each.rule == "name" and not each.found for each in of_response)
        return not finding.found and other and beside >= _LEAST_BESIDE_A_NAME
    return bool(finding.found) or any(each.rule in _FIGURES for each in of_response)


def shares_of(response: str, statements: Sequence[str]) -> list[tuple[float, str]]:
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


def _statements(request: Request) -> tuple[str, ...]:
    """Those that hold a word to compare."""
    return tuple(statement for statement in request.texts("statements") if tokens(statement))


def _shared(shares: Sequence[tuple[float, str]]) -> str:
    share, statement = min(shares, key=lambda pair: pair[0])
    among = "" if len(shares) == 1 else f", the one of {len(shares)} that it shares least with"
    return (
        f'The response has {share:.0%} of the words of "{shorten(statement, 200)}"{among}; right'
        f" from {MARK:.0%} on, or where it says the same in other words."
    )


def _said(shares: Sequence[tuple[float, str]], probability: float) -> str:
    share, statement = min(shares, key=lambda pair: pair[0])
    return (
        f'The response has {share:.0%} of the words of "{shorten(statement, 200)}" and says it in'
        f" other words: probability {probability:.2f}, right from {SAID:.2f} on."
    )


def _rated(
    open_request: OpenRequest, is_right: bool, reason: str, replies: Sequence[Reply] = ()
) -> Judgment:
    names = ("incorrect", "correct")
    if open_request.rubric.id == "correctness":
        names = ("no", "yes")
    return open_request.rated(names[is_right], reason, spend=spent(replies))
