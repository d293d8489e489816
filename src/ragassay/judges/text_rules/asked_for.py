"""What kind of thing a question asks for, and whether a response names any: a price, a time, a
number, a weight, a colour.

The rules are narrow: a kind is read from a few forms of English questions, and a response counts as
naming none only where it has no word that could stand for one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = (
    r"\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty"
    r"|forty|fifty|sixty|hundred|thousand|million|half|third|quarter|double|twice|once|single|couple"
    r"|both|none|no|nobody|nothing|many|several|few|all|any|each|every|unlimited|only|pair|as)\b"
)
_TIME = (
    r"\b(?:when|whenever|after|before|as soon|once|always|never|immediately|instantly|straight away"
    r"|right away|daily|weekly|monthly|yearly|annual\w*|every|until|till|since|during|while"
    r"|beginning|end|start|years?|months?|weeks?|weekend\w*|days?|hours?|minutes?|seconds?|night\w*"
    r"|morning\w*|afternoon\w*|evening\w*|noon|midday|midnight|today|tomorrow|yesterday|now|soon"
    r"|later|earlier|spring|summer|autumn|fall|winter|easter|christmas|century|decade"
    r"|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?"
    r"|january|february|march|april|may|june|july|august|september|october|november|december)\b"
)
_MONEY = (
    r"[€$£¥₹%]|\b(?:euros?|cents?|dollars?|bucks?|pounds?|pence|pennies|quid|francs?|yen|rupees?"
    r"|kron\w*|crowns?|pesos?|yuan|rand|eur|usd|gbp|chf|jpy|per ?cent|free|gratis"
    r"|complimentary"
    r"|cost\w*|pric\w*|fees?|fares?|charg\w*|pay\w*|paid|includ\w*|nothing|discount\w*|cheap\w*"
    r"|expensive|budget|worth|amount\w*|sum|rate\w*|tariff\w*|credits?|points|refund\w*)\b"
)
_COLOURS = (
    r"\b(?:colou?r\w*|shades?|tones?|hues?|black|white|gr[ae]y|silver|gold\w*|red\w*|blue|bluish|navy"
    r"|green\w*|olive|yellow\w*|orange|purple|violet|lilac|lavender|pink|rose|brown|beige|cream|ivory"
    r"|tan|khaki|rust|charcoal|anthracite|graphite|slate|sand|mint|teal|turquoise|aqua|cyan|magenta"
    r"|maroon|burgundy|crimson|scarlet|coral|salmon|peach|amber|copper|bronze|indigo|denim|mustard"
    r"|lime|emerald|forest|sky|midnight|pearl|champagne|natural|transparent|clear|multicolou?red)\b"
)
_LEAST_WORDS = 6
"""Words of a response; in a shorter one a name may be what is asked for."""


class _Kind(NamedTuple):
    """A kind of thing. asks: the questions for it; named: what a response may name it with; beside:
    what the response has to have instead; None where it needs nothing.
    """

    name: str
    asks: re.Pattern[str]
    named: re.Pattern[str]
    beside: re.Pattern[str] | None = None


def _kind(name: str, asks: str, named: str, beside: str | None = None) -> _Kind:
    other = None if beside is None else re.compile(beside, re.IGNORECASE)
    return _Kind(name, re.compile(asks, re.IGNORECASE), re.compile(named, re.IGNORECASE), other)


_START = r"^\W*(?:and |so |but |please,? |hi,? |hello,? )?"
_KINDS = (
    _kind(
        "a price",
        _START + r"(?:how much (?:do|does|did|will|would) .*\b(?:cost|costs|charge)\b"
        r"|what (?:do|does|did|will|would) .*\bcost\b"
        r"|what(?:'s| is| are| was) the (?:price|cost|fee|fare|entrance fee)s?\b)",
        _MONEY,
    ),
    _kind(
        "a colour",
        _START + r"(?:in )?(?:which|what) colou?rs?\b",
        _COLOURS,
        r"\d",
    ),
    _kind(
        "a time",
        _START + r"(?:when (?:is|are|was|were|do|does|did|will|can|must|should)\b"
        r"|(?:at )?what time\b|(?:on )?(?:what|which) (?:day|date)s?\b)",
        rf"\d|{_TIME}",
    ),
    _kind(
        "a duration",
        _START + r"(?:for )?how long (?:is|are|was|do|does|did|will|can|must|may|should)\b",
        rf"{_NUMBER}|{_TIME}|\b(?:long|short|forever|indefinite\w*|permanent\w*|lifetime|life)\b",
    ),
    _kind("a number", _START + r"how many\b", _NUMBER),
    _kind(
        "a measure",
        _START
        + r"(?:how (?:heavy|tall|wide|deep|far|fast)\b|how much (?:do|does|did) .*\bweigh\b)",
        rf"{_NUMBER}|\b(?:light|heavy|tall|short|wide|narrow|deep|shallow|far|near|close|fast|slow)\w*",
    ),
)


def missing_kind(question: str, response: str) -> str:
    """The kind of thing that a question asks for and its response names none of; "" where it may.

    >>> missing_kind("How much does the tram cost?", "The tram to Lund leaves at noon each day.")
    'a price'
    """
    is_one = question.count("?") <= 1 and " and " not in question
    if not is_one or len(response.split()) < _LEAST_WORDS or not _is_latin(response):
        return ""
    for kind in _KINDS:
        if kind.asks.match(question):
            if kind.named.search(response):
                return ""
            is_beside = kind.beside is None or kind.beside.search(response) is not None
            return kind.name if is_beside else ""
    return ""


def _is_latin(text: str) -> bool:
    return not any(char > "\u024f" and char.isalpha() for char in text)
