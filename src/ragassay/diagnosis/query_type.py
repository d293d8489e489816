"""The type of a query by its words, for slices where the user names none.

Rules over English words, the same on every machine, no judge. What they cannot tell has no type.
"multi-hop" needs two facts that are joined: two things compared, two questions at once, or a thing
that is only described. The rules for it leave out more than they take in wrongly: a multi-hop
question that no rule sees is called simple.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ragassay.core import Sample

QUERY_TYPE = "query type"
"""The name of the slice."""

_GIVEN = frozenset({"query_type", "question_type", "type", "query type", "question type"})
"""Names of slices that say the type already, in lower case."""

_MOST_KEYWORDS = 8
_LEAST_STATEMENT = 4
_LEAST_MULTI_HOP = 8  # words: in a shorter question a description is a name ("the one who won")

_ASKS = (
    r"who|whom|whose|what|when|where|why|how|which|is|are|was|were|am|do|does|did|can|could|should"
    r"|would|will|shall|may|might|must|has|have|had"
)
_REQUESTS = (
    r"explain|describe|list|name|tell|give|show|find|compare|summari[sz]e|define|write|suggest|help"
)
# Also behind a preposition ("In which year"), a filler, or a short clause and a comma.
_QUESTION = re.compile(
    rf"(?:(?:and|so|but|then|also|ok(?:ay)?|please|hi|hello|hey|well)\b[, ]+)*"
    rf"(?:(?:in|on|at|of|for|from|by|to|with|under|after|before|since|until)\s+)?"
    rf"(?:{_ASKS}|what's|who's|where's|when's|how's|{_REQUESTS})\b",
    re.I,
)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_LATIN = re.compile(r"[a-z]", re.I)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|does|did|can|cannot|can't|could|should|would|will|won't"
    r"|must|may|might|isn't|aren't|wasn't|doesn't|didn't|don't|i'm|it's|there's|i've)\b",
    re.I,
)
_SUBJECT_AND_PAST = re.compile(
    r"^(?:the|a|an|my|our|their|his|her|its|this|that|i|we|they|he|she|it)\b(?:\s+[\w'’-]+){0,6}?"
    r"\s+(?:\w{3,}ed|won|lost|became|began|went|made|took|came|held|left|got|led|wrote|built|fell)\b",
    re.I,
)
_FUNCTION_WORD = re.compile(
    r"\b(?:of|the|a|an|for|in|on|at|to|from|with|without|by|and|or|between|about|into|under|over"
    r"|after|before|during|my|your|their)\b",
    re.I,
)

_NAME = r"[\"“'‘]?[A-Z0-9][\w’'.-]*"
_COMPARED = (
    # "Which was founded first, A or B", "Who is older, A or B"
    re.compile(
        r"\b(?:first|earlier|later|older|younger|sooner|more|fewer|less|longer|shorter|larger|bigger"
        r"|smaller|taller|higher|lower|closer|farther|better|oldest|youngest|newer|most)\b"
        r".*\bor\b",
        re.I,
    ),
    re.compile(r"\bin common\b|^(?:please )?compare\b|\bcompared? (?:to|with)\b", re.I),
    re.compile(
        r"^(?:are|were|do|did|is|was|have|has|does)\b.*\band\b.*\b(?:both|same|also)\b", re.I
    ),
    re.compile(r"^(?:are|were|do|did|have)\s+both\b|^both\b.*\band\b", re.I),
    re.compile(rf"\b(?:do|did|are|were|have) (?:both )?{_NAME}.*\band {_NAME}.*\b(?:both|share)\b"),
)
_SECOND_QUESTION = re.compile(
    r"(?:\?|[,;]?\s+(?:and|or)(?: also)?)\s+(?:in |at |by )?"
    r"(?:who|what|when|where|why|how|which)\s+(?!other\b)\w+",
    re.I,
)
# A thing that is described, and is not what the question asks for: "the mother of the man who ...".
_THING = r"\s+(?:the|an?|one of the)\s+(?:[\w’'.-]+\s+){1,5}?,?"
_DESCRIBED = (
    re.compile(
        rf"\b(?:of|by|in|with|for|from|to|at|on|did|does|do){_THING}"
        r"(?:(?:who|whose|whom|in which|on which|of which|at which)\b|(?:that|which|where)\s+"
        r"(?:is|was|are|were|has|had|also|he|she|it|they|[\w-]{2,}(?:ed|s))\b)"
    ),
    re.compile(
        rf"\b(?:of|by|with|for|from|to|at){_THING}"
        r"(?:directed|written|starring|produced|founded|born|located|featuring|known|portrayed"
        r"|based|released|created|headed|led|owned|composed|recorded|published|designed|hosted"
        r"|built|established|formed|situated)\s+(?:by|in|for|as|at|on|from|after|[A-Z\"“])"
    ),
)
# "How old is the actor who ..."; "Who is the actor that ..." asks for no more than the name.
_OF_DESCRIBED = re.compile(
    r"^(?:(?:in|on|at) (?:which|what) \w+|when|where|why|how \w+)\s+(?:is|was|are|were)"
    rf"{_THING}(?:who|whose|that|which)\b",
    re.I,
)
_ASKED_INSIDE = re.compile(r"\b(?:who|what|when|where|why|how|which|whose)\b", re.I)
_RELATIVE = re.compile(r"\b(?:that|which|who)\s+\S+", re.I)
_SPEAKER = re.compile(r"(?:i|we|you|he|she|they|it)\b", re.I)


def query_type(question: str) -> str:
    """ "simple", "multi-hop", "keywords", "phrase" or "statement"; "" where the rules cannot tell.

    >>> query_type("Who runs the Berlin office?"), query_type("berlin office hours")
    ('simple', 'keywords')
    """
    text = " ".join(question.split()).strip("\"'“” ")
    words = _WORD.findall(text)
    if not words or not _is_latin(text):
        return ""
    if text.endswith("?") or "? " in text or _QUESTION.match(text):
        return "multi-hop" if _joins_facts(text, len(words)) else "simple"
    says = _SPEAKER.match(text) or _SUBJECT_AND_PAST.match(text)
    # A verb behind "that" is of a clause which only describes: "a good that can be traded".
    if says or _FINITE.search(_RELATIVE.sub(" ", text)):
        return "statement" if len(words) >= _LEAST_STATEMENT else ""
    if _ASKED_INSIDE.search(text):
        return ""  # a question in the words of a search, or a clause: neither can be told
    if _FUNCTION_WORD.search(text):
        return "phrase"
    return "keywords" if len(words) <= _MOST_KEYWORDS else ""


def with_query_type(sample: Sample) -> Sample:
    """The row with the slice of its query's type, where it has a question and no such slice."""
    if sample.question is None or any(name.lower() in _GIVEN for name in sample.slices):
        return sample
    found = query_type(sample.question)
    if not found:
        return sample
    return replace(sample, slices={**sample.slices, QUERY_TYPE: found})


def _is_latin(text: str) -> bool:
    """Whether most letters are of the alphabet that the rules know."""
    letters = sum(char.isalpha() for char in text)
    return len(_LATIN.findall(text)) > 0.9 * letters if letters else False


def _joins_facts(text: str, words: int) -> bool:
    """Whether the question needs two facts that are joined."""
    if any(rule.search(text) for rule in _COMPARED):
        return True
    # "What and why": the first question must be one, too.
    second = _SECOND_QUESTION.search(text, 8)
    if second is not None and len(text[: second.start()].split()) >= 3:
        return True
    return words >= _LEAST_MULTI_HOP and any(
        rule.search(text) for rule in (*_DESCRIBED, _OF_DESCRIBED)
    )
