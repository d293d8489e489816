"""The gates on a question's text alone: its form, and whether it stands alone."""

from __future__ import annotations

import re

from ragassay.judges.llm.attack_signs import suspicious
from ragassay.models.offline.reading import STOP_WORDS
from ragassay.testsets.values import GateVerdict, Question
from ragassay.testsets.words import content, words

FORM, STANDS_ALONE = "form", "stands alone"

_MOST_WORDS = 60
_MARKUP = re.compile(r"https?://|</?[a-z]+|[{}\[\]|`]|\*\*")
# A name in code, as questions on software have it.
_CODE = re.compile(r"`[^`\n]{1,60}`")
# What honest questions have as well as orders: "Federal Reserve System: who runs it?", "How do I
# override a default?". An order has other signs beside it.
_ORDINARY = re.compile(
    r"(?i)(?<=[^\W\d_] )(?:system|user|human|attention|important|instructions?|score|rating):"
    r"|\b(?:step by step|copy the|full marks|perfect score|best possible|highest possible)\b"
    r"|\boverrid(?:e|es|ing|den)\b(?! (?:\w+ ){0,3}(?:instruction|rule|prompt|guideline|system))"
)
_ASKS = re.compile(
    r"(?i)\b(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|can|could"
    r"|should|would|will|has|have|had|tell|explain|describe|list|name|suppose|compare|give)\b"
)
_SOURCE = re.compile(
    r"(?i)\b(?:the|this|that|these|above|given|following|provided)\s+(?:\w+\s+)?"
    r"(?:passage|text|document|article|context|paragraph|excerpt|section|chunk|author|page|study"
    r"|table|figure|report|source|statement|sentence)s?\b(?!\s+of\b)|\baccording to (?:the|this)\b"
)
_POINTING = re.compile(
    r"(?i)\b(?:he|she|him|they|them|these|those|his|her|hers|their|theirs|it|its|this|that one"
    r"|here|former|latter|aforementioned|above)\b"
)
_EXPLETIVE = re.compile(
    r"(?i)\b(?:is it|does it take|did it (?:take|cost)|how (?:long|much|far) (?:does|did|is|was) it"
    r"|it (?:is|was|takes?|took|costs?)|that it)\b"
)
# Nouns that say which one is meant only by what stood before.
_BOUND = (
    "song|track|film|movie|book|novel|album|show|series|episode|game|team|company|firm|city|town"
    "|country|state|building|bridge|museum|school|university|event|war|battle|law|act|agreement"
    "|treaty|project|system|method|model|program|programme|group|band|party|election|award|prize"
    "|character|king|queen|president|king|ship|vessel|product|service|policy|project|organisation"
    "|organization|region|area|island|river|mountain|road|street|station|letter|work|piece|term"
    "|role|design|structure|wall|version|release|single|tour|season|league|trophy|club|mv|video"
    "|mine|shop|store|species|festival|volume|refuge|venue|opera|airport|villa|house|hotel|lyrics|plaintiffs|theater|theatre|stadium|manual|committee|commission|board|ministry|government|council|court|convention|church|army"
)
_BOUND_NOUN = re.compile(
    rf"\b(?:the|this|that|these|those)\s+(?:(?:same|first|last|new|old|original|final|second|entire"
    rf"|whole|other)\s+)?(?:{_BOUND})s?\b(?!\s+(?:[A-Z\"“'0-9]|of\b|for\b|in\s+[A-Z]|on\s+[A-Z]"
    rf"|at\s+[A-Z]|that\b|who\b|which\b|called\b|named\b|by\s+[A-Z]|from\b|to\b|between\b))"
)
_BOUND_ALONE_IN_QUERY = re.compile(
    rf"^(?:\w+\s+){{0,4}}(?:the|this|that)\s+(?:{_BOUND})s?"
    r"(?:\s+(?:is|are|was|were|did|do|does|has|had|first|recorded|released|founded|built|take|made)"
    r"\b|\s*\??$)"
)
_BOUND_ALONE = re.compile(
    rf"(?i)(?:the|this|that|these|those|an?)\s+(?:{_BOUND})s?(?:['’]s?\s+\w+)?\.?"
)
_NAME = re.compile(r"(?<=\s)[A-Z][\w'’-]+|\b[A-Z]{2,}\b|\d")


def form_gate(question: Question) -> GateVerdict:
    """Whether the text is one plain question, gives no orders and does not hold its answer."""
    text = question.question.strip()
    count = len(text.split())
    why = ""
    if not 3 <= count <= _MOST_WORDS:
        why = f"{count} words"
    elif _MARKUP.search(_CODE.sub(" ", text)) or "\n" in text:
        why = "markup or an address in it"
    elif question.style != "search words" and not _ASKS.search(text):
        why = "it asks nothing"
    elif suspicious(_seen(text)) or suspicious(_seen(question.reference)):
        why = "it gives orders to a model"
    elif _gives_away(question):
        why = "the answer stands in the question"
    elif question.answerable and not question.reference.strip():
        why = "no answer is given"
    elif _BOUND_ALONE.fullmatch(question.reference.strip()):
        why = "the answer says not which one is meant"
    return GateVerdict(FORM, not why, why or f"one question of {count} words")


def _seen(text: str) -> str:
    """The text without signs that nobody sees, which search logs are full of, and without what
    ordinary questions have as well as orders.
    """
    seen = text.replace("\u200b", "").replace("\u00ad", "").replace("\ufeff", "")
    return _ORDINARY.sub(" ", seen)


def _gives_away(question: Question) -> bool:
    """Whether the question, or a turn before it, holds every word of the answer."""
    if question.type in ("multi-hop compare", "false premise"):
        return False
    answer = [word for word in words(question.reference) if word not in STOP_WORDS]
    turns = " ".join(f"{turn.question} {turn.answer}" for turn in question.history)
    asked = set(words(f"{turns} {question.question}"))
    return bool(answer) and set(answer) <= asked


def _pointing(text: str) -> re.Match[str] | None:
    """A word that points to something which is not named before it: "how did Ada get her name" has
    it named.
    """
    for match in _POINTING.finditer(text):
        if not content(text[: match.start()]):
            return match
        if match[0].lower() in ("here", "former", "latter", "aforementioned", "above", "that one"):
            return match
    return None


def _bound(text: str) -> re.Match[str] | None:
    """A noun that says not which one is meant. In a query in small letters what follows it may be
    a name.
    """
    if any(map(str.isupper, text)):
        return _BOUND_NOUN.search(text)
    return _BOUND_ALONE_IN_QUERY.search(text)


def stands_alone_gate(question: Question) -> GateVerdict:
    """Whether a reader who sees no document knows what is asked for."""
    text = question.question
    if question.history:
        text = " ".join(turn.question for turn in question.history)
    why = ""
    source = _SOURCE.search(text)
    pointing = _pointing(_EXPLETIVE.sub(" ", text))
    bound = _bound(text)
    if source:
        why = f"it points to its source ({source[0]!r})"
    elif pointing:
        why = f"nothing says what {pointing[0]!r} is"
    elif bound:
        why = f"nothing says which one {bound[0]!r} is"
    elif len(content(text)) < 2 and not _NAME.search(text):
        why = "it names nothing"
    if not why:
        return GateVerdict(STANDS_ALONE, True, "what is asked for is named")
    if question.history:
        why = "of the first turn: " + why
    return GateVerdict(STANDS_ALONE, False, why)
