"""Pieces of a response that make no claim about the world: rules on English phrases.

What is dropped raises no score and lowers none, so the rules are narrow: in doubt a piece is a
claim, and so is every text in another script.
"""

from __future__ import annotations

import re

from ragassay.judges.text_rules.filler import filler

_LETTER = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
STOPS = ".!?。！？"
"""Marks that end a sentence."""

_HELPERS = (
    "is|are|was|were|am|has|have|had|will|would|can|could|may|might|must|shall|should|does|do|did|cannot"
    "|isn't|aren't|wasn't|weren't|hasn't|haven't|hadn't|won't|wouldn't|can't|couldn't|mustn't|shouldn't|doesn't|don't"
    "|didn't|ain't"
)
_VERB = re.compile(
    rf"(?<!to )\b(?:{_HELPERS}|(?:it|he|she|that|there|they|we|you|i|who|what)'(?:s|re|ll|ve|d|m)"
    r"|becomes?|became|remains|belongs|lives|works|costs|takes|contains|means|says|causes|makes|gives|needs|kills"
    r"|died|won|lost|made|gave|went|said|took)\b"
)
_QUESTION = re.compile(
    r"(?:(?:so|and|but|now|or|also|ok|okay|sure),? )?"
    r"(?:(?:what|which|who|whom|whose|how)\b|(?:when|where|why)"
    r" (?:is|are|was|were|does|do|did|can|could|will|would|has"
    r"|have|should)\b"
    r"|(?:is|are|was|were|do|does|did|can|could|will|would|shall|should|may|might|has|have|am)\b)"
)
_NOT_ASKED = re.compile(
    r"(?:did|do|have) (?:you|we) (?:know|hear|heard|realise|realize)\b|(?:who|what) if\b|who knew\b"
)
_TAG = re.compile(
    r"[,;–—-]\s*(?:(?:right|correct|true|yes|yeah|no|ok|okay|eh|huh|innit|agreed|remember)"
    rf"|(?:or )?(?:{_HELPERS})(?: \w+){{1,2}})\s*\?$"
)


_OPENING = re.compile(
    r"(?:(?:therefore|so|thus|overall|in conclusion|in summary|sure|certainly|of"
    r" course|okay|ok)[,!]? )?"
    r"(?:(?:based on|according to) (?:the |these |your )?(?:(?:provided|given|retrieved|above) )?"
    r"(?:passages?|documents?|contexts?|information|texts?|sources?)(?: provided| given|"
    r" above)?, )?"
)
_AHEAD = re.compile(
    r"\b(?:(?:the|these|as) (?:following|follows)|as follows|follows?(?: these)?(?:"
    r" (?:steps|points|rules))?"
    r"|(?:listed |shown |given )?below)$"
    r"|\bthe following (?:\w+ )?\w+$|^(?:here (?:is|are)|here's) (?:[\w-]+ ){0,11}[\w-]+$"
)
# Words that no claim about the world can be made of: what may follow "let me know" and the like.
_TAIL = (
    r"(?:,?"
    r" (?:if|you|have|any|more|further|other|additional|some|need|would|you'd|like|want|to|know"
    r"|ask|asking|help"
    r"|questions?|information|details?|clarifications?|assistance|concerns?|issues?|anything|something|else|and|or|me|us|with"
    r"|on|about|this|that|it|these|those|topic|answer|answers|just|please|feel|free|do|don't|not|hesitate|reach|out|contact"
    r"|let|i|i'd|i'll|i'm|be|am|happy|glad|can|could|for|of|the|a|an|your|again|at|time|explain|elaborate|provide|assist"
    r"|specific|how|what|which|here|always|in|detail|part|point|points|further|regarding|clarify|understand|clarifies|things"
    r"|there|is|are|discuss|explore))*"
)
_TOPIC = r"(?: (?:about|on|regarding|with) ([a-z'-]+(?: [a-z'-]+){0,5}))?"
_POLITE = re.compile(
    r"(?:"
    r"(?:hi|hello|hey|greetings|welcome|dear)(?:"
    r" (?:there|all|everyone|sir|madam|user|customer|again))*"
    r"|good (?:morning|afternoon|evening|day)"
    r"|(?:sure|certainly|absolutely|of course|okay|ok|alright|gladly|no problem)(?: thing)?"
    r"|(?:(?:sure|certainly|of course|absolutely)[,!] )?"
    r"(?:i'd be |i would be |i am |i'm )?(?:happy|glad|pleased) to (?:help|assist)(?: you)?"
    r"(?: with (?:that|this|your question))?"
    r"|(?:that(?:'s| is) an? |what an? )?(?:great|good|excellent|interesting) question"
    r"|thank(?:s| you)(?: (?:so|very) much)?"
    r"(?: for (?:asking|your (?:question|patience|interest|message)|reaching out))?"
    r"|you(?:'re| are) welcome"
    r"|i hope (?:this|that|it) (?:helps?|answers? your question|is helpful|clarifies"
    rf" things){_TAIL}"
    rf"|(?:please )?(?:let me know|feel free to (?:ask|reach out|contact)){_TAIL}{_TOPIC}"
    r"|(?:if you (?:have|need|want|would like|'d like)|if you'd like|should you have) "
    r"(?:any |more |further |other |additional |some )+"
    rf"(?:questions?|help|information|details|assistance|clarification){_TAIL}{_TOPIC}"
    rf"(?:,? (?:please |just |do )?(?:let me know|feel free|ask)\b{_TAIL})?"
    r"|have a (?:nice|great|good|wonderful) (?:day|one|evening|weekend)"
    r"|(?:best|kind|warm)? ?regards|sincerely|cheers|good luck|i(?:'m| am) sorry|my apologies|sorry"
    r")"
)
_LEAD_IN = re.compile(
    r"(?:(?:sure|certainly|of course|absolutely|okay|ok)[,!.]? )?"
    r"(?:here(?:'s| is| are)|below (?:is|are)|the following (?:is|are)) "
    r"(?:an? |the |some |your |my |what"
    r" )?(?:(?:short|brief|quick|detailed|complete|direct|few|step-by-step) )?"
    r"(?:summary|answer|overview|list|information|breakdown|details?|explanation|steps?|response|points?"
    r"|i found|i know)"
    r"(?: (?:to|of|for|about|from) (?:your|the|this|that|it|how|what)"
    r"(?: (?:question|request|answer|topic|context|documents?|sources?))?)?"
    r"(?: you (?:asked for|requested|need))?"
)
_REFERENCE = re.compile(
    r"(?:(?i:sources?|references?|citations?|see also)\s*:?\s*)?"
    r"(?:\[\^?\d{1,4}(?:[ ,;–-]+\d{1,4})*\][\s,;.]*"
    r"|【\d{1,3}(?::\d{1,3})?(?:†[^】\n]{0,80})?】[\s,;.]*|\(?(?:https?://|www\.)[!-~]+\s*"
    r"|[(\[] ?(?i:(?:see |from |according to )?(?:passage|source|document|context|chunk)s?) \d{1,4}"
    r"(?:(?:[ :,;–-]|and){1,8}+\d{1,4})*+ ?[)\]][\s,;.]*+)+"
)
_HEDGE = (
    r"(?:not (?:really|necessarily|exactly|always|quite|entirely|by default|at the moment)"
    r"|by default|usually|generally|normally|mostly|mainly|partly|in part|sometimes|typically"
    r"|within limits|up to a point|with (?:some |certain )?(?:limits|exceptions|restrictions)"
    r"|under (?:some|certain) conditions|it depends|that depends|only partly|at the moment)"
)
_BARE_ANSWER = re.compile(
    r"(?:(?:yes|no|yep|nope|yeah|correct|right|exactly|absolutely|definitely|of course|certainly"
    rf"|that's (?:right|correct)|{_HEDGE})(?:[,;–—-]? | – | — |$))+"
    r"|(?:it(?:'s| is) |you(?:'d| had) )?(?:best|better) (?:not|not to|avoided|to avoid it)"
)
_MAX_CHARS = 400
"""A longer piece is no mere phrase of politeness."""
_MAX_BARE = 60
_MAX_LEAD_IN_WORDS = 15
_MAX_SYMBOLS = 6


def trivial(text: str) -> str:
    """Why a piece makes no claim about the world, or "" when it may make one. Rules only; in doubt
    it is a claim.

    >>> trivial("Here are the main points:"), trivial("I don't know."), trivial("42")
    ('lead-in', '', '')
    """
    if not has_words(text):
        return "no words"
    if len(text) > _MAX_CHARS:
        return ""
    if _REFERENCE.fullmatch(text):
        return "citation"
    bare = _bare(text)
    if bare.endswith("?"):
        return "question" if _asks(bare) or filler(bare.rstrip(" ?")) else ""
    if bare.endswith(":") and _leads_in(bare):
        return "lead-in"
    if not _without_symbols(bare):
        return ""
    phrase = " ".join(_without_symbols(bare).rstrip(" .!,:;").split())
    if _is_polite(phrase):
        return "politeness"
    return "lead-in" if _LEAD_IN.fullmatch(phrase) else filler(phrase)


def bare_answer(text: str) -> bool:
    """Whether a piece is a mere yes or no, hedged perhaps: it says nothing without its question,
    and what it means is said by the sentences beside it.

    >>> bare_answer("Yes, within limits."), bare_answer("No, it closed in 1957.")
    (True, False)
    """
    phrase = _bare(text).rstrip(" .!,:;")
    return len(phrase) <= _MAX_BARE and _BARE_ANSWER.fullmatch(phrase) is not None


def has_words(text: str) -> bool:
    """Whether the text holds a letter or digit."""
    return _LETTER.search(text) is not None


def count_words(text: str) -> int:
    """How many words of at least two letters the text holds."""
    return len(_WORD.findall(text))


def asserts(text: str) -> bool:
    """Whether a heading or a line of code says something, as a sentence does: it has a verb, or
    ends as one, or is long.

    >>> asserts("# Paris is in Germany"), asserts("## Overview"), asserts("## What is RAG?")
    (True, False, False)
    """
    if "|" in text:
        return any(asserts(cell) for cell in text.split("|"))
    bare = _bare(text)
    words = count_words(bare)
    if _foreign(bare):
        return _asserts_in_other_script(bare, words)
    stops = words > 0 and bare[-1] in STOPS
    if words < 2 or (words < 3 and not stops):
        return False
    if bare.endswith("?"):
        return not _asks(bare)
    if _UNMARKED_QUESTION.match(bare):
        return False
    if words >= 8 or (words >= 3 and stops) or _VERB.search(bare):
        return True
    # "Opening hours 9 to 17" states something; "Step 2" and "2. Methods" do not.
    after_number = _LEADING_NUMBER.sub("", bare)
    return words >= 4 and any(c.isdigit() for c in after_number)


_UNMARKED_QUESTION = re.compile(
    rf"(?:what|who|which|how|why|when|where|{_HELPERS}) (?:{_HELPERS})\b"
)
_LEADING_NUMBER = re.compile(r"^(?:[a-z]+ )?\d[\d.]*")


def _asserts_in_other_script(bare: str, words: int) -> bool:
    # Some scripts put no space between words: there letters are counted.
    wide = sum(c.isalpha() and c >= "\u2e80" for c in bare)
    return words >= 3 or wide >= 6 or (words > 0 and bare[-1] in STOPS)


def _bare(text: str) -> str:
    """A piece in small letters without the marks around it, for the patterns."""
    return " ".join(text.lower().replace("’", "'").strip(" \t\n*_~`\"“”‘#>|()[]'").split())


def _foreign(text: str) -> bool:
    """Whether it has letters that are not Latin: these rules cannot read it."""
    return not text.isascii() and any(c > "\u024f" and c.isalpha() for c in text)


def _asks(bare: str) -> bool:
    """Whether it is a question back to the user; "The dose is 2 mg, isn't it?" and "Did you know
    that ..." say something.
    """
    if _foreign(bare) or _TAG.search(bare) or re.search(r"[a-z]{3}[.!?]+\s|[:;–—]|\d", bare):
        return False
    first, *clauses = bare.split(",")
    if not _QUESTION.match(bare):
        return count_words(bare) <= 3 and not _VERB.search(bare)  # "Anything else?"
    if _NOT_ASKED.search(first):
        return False
    # "Would you like A, B or C?" goes on asking; "When you ask, the dose is 2 mg?" does not.
    return not any(_VERB.search(c) and not _QUESTION.match(c.strip()) for c in clauses)


def _leads_in(bare: str) -> bool:
    """Whether it announces a list ("The main points are:"); "The city has parks in all of its
    districts:" does not.
    """
    if _foreign(bare) or any(c.isdigit() for c in bare):
        return False
    bare = _OPENING.sub("", bare.rstrip(" :："), count=1)
    words = len(bare.split())
    verbs = len(_VERB.findall(bare))
    if words > _MAX_LEAD_IN_WORDS or verbs > 1:
        return False
    if "," in bare:
        return not verbs and bool(_LEAD_IN_START.match(bare)) and bool(_AHEAD.search(bare))
    if _AHEAD.search(bare):
        return True
    if verbs or _INCLUDING.search(bare):
        return words <= 10 and bool(_ENDS_ON_VERB.search(bare))
    return words <= 5 and not _PAST_TENSE.search(bare)


_LEAD_IN_START = re.compile(r"(?:to|for|sure|certainly|yes|ok|okay)\b")
_INCLUDING = re.compile(r" includ(?:es?|ing)$")
_ENDS_ON_VERB = re.compile(r" (?:is|are|was|were|includ(?:es?|ing))$")
_PAST_TENSE = re.compile(r"(?<!^)(?<!\ba )(?<!\bthe )\b[a-z]{2,}ed\b")


def _without_symbols(bare: str) -> str:
    """The text without emoji and other signs; "" where it holds words of another language."""
    if bare.isascii():
        return bare
    symbols = [c for c in bare if not c.isascii()]
    if len(symbols) > _MAX_SYMBOLS or any(c.isalnum() for c in symbols):
        return ""
    return "".join(c for c in bare if c.isascii())


def _is_polite(phrase: str) -> bool:
    """Whether it is a phrase of politeness; "let me know about ..." may hide a statement."""
    polite = _POLITE.fullmatch(phrase)
    if polite is None:
        return False
    topics = [topic for topic in polite.groups() if topic]
    return not any(_VERB.search(topic) for topic in topics)
