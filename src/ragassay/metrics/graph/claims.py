"""Which claims does a response make? Sentences at their exact place in it; trivial ones are kept
apart with a reason.

`split_claims` cuts a response into pieces. Every visible character lies in exactly one piece,
except the marks that open a list item, heading or quotation; `response[piece.start:piece.end] ==
piece.text` for each. A piece whose `dropped` is not "" makes no claim: it is not judged, and the
reports show it with that reason. What is dropped raises no score and lowers none, so the rules that
drop are narrow: in doubt a piece is a claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ragassay.core import boundaries
from ragassay.metrics.graph.row_cache import cached_for_row

MAX_CLAIMS = 1000
"""More claims than this are not judged: each is sent with the whole response, so the cost grows
with the square.
"""
_MAX_PIECES = 5 * MAX_CLAIMS
_WINDOW = 3_000
"""Characters that the sentence splitter gets at a time: its time grows with their square."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the response. start, end: character offsets. dropped: why it is no claim, ""
    when it is one.
    """

    start: int
    end: int
    text: str
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together: a paragraph, a list item, a table row. drop: why the whole block
    is no claim.
    """

    start: int
    end: int
    drop: str = ""
    whole: bool = False  # one piece, not cut into sentences


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_MARKER = re.compile(r"[ \t]*(?:[-*+•‣◦–][ \t]+|\(?\d{1,3}[.)][ \t]+)")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_RULE = re.compile(r"[ \t]*(?:[-*_=~][ \t]*){3,}$")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_STOPS = ".!?。！？"
_LAYOUT = ("code", "heading", "table heading")
_CODE = re.compile(
    r"[={};]|\w\(|^\s*(?:#|//|--|/?\*|@|(?:if|elif|while|for|return|assert|import|from|def|class|with)\b)"
)
_LETTER = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_BOLD_LINE = re.compile(r"[ \t]*(\*\*|__)(?=\S)([^*_]{1,120})\1(:?)[ \t]*$")


@cached_for_row
def split_claims(response: str) -> tuple[Piece, ...]:
    """The pieces of a response in order, claims and dropped ones; () for a blank response.

    Sentences are found by sentencex (which knows abbreviations and decimals); Markdown headings,
    list marks, tables and code are understood first. A citation mark such as [2] after the full
    stop stays with its sentence. Past MAX_CLAIMS claims the rest of the response is one last claim:
    that is more than any metric judges.

    >>> [(p.text, p.dropped) for p in split_claims("Sure! Dr. Lee paid $3.5 million. I hope this
    helps.")] [('Sure!', 'politeness'), ('Dr. Lee paid $3.5 million.', ''), ('I hope this helps.',
    'politeness')]
    """
    pieces: list[Piece] = []
    claims = 0
    for start, end, drop in _stretches(response):
        text = response[start:end]
        lead, tail = len(text) - len(text.lstrip()), len(text.rstrip())
        if tail <= lead:
            continue
        if claims > MAX_CLAIMS or len(pieces) > _MAX_PIECES:
            # Too many already: what is left is one piece, and a claim, as nobody has looked at it.
            rest = response[start + lead :].rstrip()
            pieces.append(
                Piece(
                    start + lead,
                    start + lead + len(rest),
                    rest,
                    "" if _has_words(rest) else "no words",
                )
            )
            claims += not pieces[-1].dropped
            break
        text = text[lead:tail]
        pieces.append(Piece(start + lead, start + tail, text, drop or trivial(text)))
        claims += not pieces[-1].dropped
    if not claims:  # an answer that is nothing but code or headings says what it says in them
        pieces = [
            replace(p, dropped="") if p.dropped in _LAYOUT and _has_words(p.text) else p
            for p in pieces
        ]
    return tuple(pieces)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of the sentences of a text that hold a word; every line begins a new one, as
    headings have no stop.
    """
    lines = (_Block(*line.span()) for line in re.finditer(r"[^\r\n]+", text))
    spans = [span for line in lines for span in _sentences(text, line)]
    return [(start, end) for start, end in spans if _has_words(text[start:end])]


def _stretches(response: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, reason to drop it) of blocks that stay whole and of the sentences of the others."""
    for block in _blocks(response):
        if block.whole or block.drop:
            yield block.start, block.end, block.drop
        else:
            for start, end in _sentences(response, block):
                yield start, end, ""


def _has_words(text: str) -> bool:
    return _LETTER.search(text) is not None


def _lines(text: str) -> list[tuple[int, int]]:
    """Start and end of every line, line breaks excluded."""
    ends = [m.span() for m in re.finditer(r"\r\n|\n|\r", text)]
    starts = [0, *(after for _, after in ends)]
    return list(zip(starts, [*(before for before, _ in ends), len(text)], strict=True))


def _blocks(text: str) -> Iterator[_Block]:
    lines = _lines(text)
    words = [text[start:end] for start, end in lines]
    filled = [bool(line.strip()) for line in words]
    last = max((i for i, full in enumerate(filled) if full), default=-1)
    first = next((i for i, full in enumerate(filled) if full), 0)
    unclosed: dict[str, int] = {}
    open_at: int | None = (
        None  # where the paragraph or list item began that the next line may go on with
    )
    i = 0
    while i < len(lines):
        start, line = lines[i][0], words[i]
        special = _special(words, filled, i, first, last, unclosed) if filled[i] else None
        if special is None and filled[i]:
            marker = _QUOTE.match(line) or _MARKER.match(line)
            quoted_on = open_at is not None and _quoted(line) and _quoted(words[i - 1])
            if open_at is None or (marker is not None and not quoted_on):
                if open_at is not None:
                    yield _Block(open_at, lines[i - 1][1])
                open_at = start + _marks(line)
            i += 1
            continue
        if open_at is not None:
            yield _Block(open_at, lines[i - 1][1])
            open_at = None
        if special is None:
            i += 1
            continue
        until, drop = special
        if drop == "code":
            for begin, end, kind in _fenced(words, i, until):
                yield _Block(lines[begin][0], lines[end - 1][1], kind)
        elif drop in _LAYOUT and asserts(line):
            heading = _HEADING.match(line)
            yield _Block(start + (heading.end() if heading else _marks(line)), lines[i][1])
            if until > i + 1:  # the line that underlines it
                yield _Block(lines[i + 1][0], lines[until - 1][1], "no words")
        else:
            yield _Block(
                start + (_marks(line) if until == i + 1 else 0), lines[until - 1][1], drop, True
            )
        i = until
    if open_at is not None:
        yield _Block(open_at, lines[-1][1])


def _quoted(line: str) -> bool:
    return line.lstrip().startswith(">")


def _marks(line: str) -> int:
    """Length of the list or quotation marks that a line begins with (a list inside a quotation has
    both).
    """
    at = 0
    for pattern in (_QUOTE, _MARKER):
        found = pattern.match(line, at)
        if found and line[found.end() :].strip():
            at = found.end()
    return at


def _special(
    words: list[str], filled: list[bool], i: int, first: int, last: int, unclosed: dict[str, int]
) -> tuple[int, str] | None:
    """(index after the block, reason to drop it) when line i begins something that is not running
    text.

    unclosed: mark of a fence -> shortest such fence that no later line closes, so that each is
    looked for once.
    """
    line = words[i]
    fence = _FENCE.match(line)
    if fence:
        mark, size = fence.group(1)[0], len(fence.group(1))
        if size < unclosed.get(mark, size + 1):
            for j in range(i + 1, len(words)):
                close = words[j].strip()
                if len(close) >= size and close.strip(mark) == "":
                    return j + 1, "code"
            unclosed[mark] = size
        if not _has_words(line):
            return i + 1, "no words"
        return None  # it never ends: ordinary text, or it would hide all that follows
    if _HEADING.match(line):
        return i + 1, "heading"
    if _RULE.match(line) or ("|" in line and _TABLE_RULE.match(line)):
        return i + 1, "no words"
    follows = words[i + 1] if i + 1 < len(words) else ""
    if "|" in line and "|" in follows and _TABLE_RULE.match(follows):
        return i + 1, "table heading"
    if line.lstrip().startswith("|") and line.rstrip().endswith("|") and len(line.strip()) > 1:
        return i + 1, ""
    title = (
        len(line.strip()) <= 80
        and line.rstrip()[-1] not in _STOPS
        and (i == 0 or not filled[i - 1])
    )
    if title and set(follows.strip()) in ({"="}, {"-"}) and len(follows.strip()) > 2:
        return i + 1, "heading"
    bold = _BOLD_LINE.match(line)
    # A bold first line is often the answer itself; later ones, and those that end in a colon, are
    # headings.
    if bold and i < last and (i > first or bold.group(3) or bold.group(2).endswith(":")):
        alone = i == 0 or not filled[i - 1]
        if alone and bold.group(2)[-1] not in _STOPS:
            return i + 1, "heading"
    return None


def _fenced(words: list[str], i: int, until: int) -> Iterator[tuple[int, int, str]]:
    """(first line, line after, "code" or "") of the parts of a fenced block: prose in it is no
    code.
    """
    begin = i  # of the part that is not given yet
    j = i
    while j < until:
        end = j + 1
        text = _FENCE.sub("", words[j], count=1) if j == i else words[j]
        if j > i and words[j].strip() and not _CODE.search(text):
            while end < until - 1 and words[end].strip() and not _CODE.search(words[end]):
                end += 1
            text = " ".join(words[j:end])
        if (
            asserts(text)
            and len(_WORD.findall(text)) >= 4
            and (not _CODE.search(text) or text.rstrip()[-1] in _STOPS)
        ):
            if begin < j:
                yield begin, j, "code"
            yield j, end, ""
            begin = end
        j = end
    if begin < until:
        yield begin, until, "code"


_ENUMERATOR = re.compile(r"\(?\d{1,3}[.)]$")
_CITATIONS = re.compile(r"(?:\[\^?\d{1,4}(?:[ ,;–-]+\d{1,4})*\][ \t]*)+")


def _sentences(text: str, block: _Block) -> Iterator[tuple[int, int]]:
    """Start and end of the sentences of a block, window by window.

    The last sentence of a window may be cut by its end, so the next window begins with it. One that
    fills half a window is cut, at white space where there is any.
    """
    at = block.start
    while at < block.end:
        end = block.end
        half = at + _WINDOW // 2
        if end > at + _WINDOW:
            end = at + _WINDOW
            end = max(text.rfind(" ", half, end), text.rfind("\n", half, end)) + 1 or end
        found = _window(text[at:end])
        if end < block.end and at + found[-1][0] >= half:
            end = at + found.pop()[0]
        for start, stop in found:
            yield at + start, at + stop
        at = end


def _window(part: str) -> list[tuple[int, int]]:
    """Start and end of the sentences of a text, all of it covered."""
    # Built from the starts alone, so that nothing between two sentences can get lost.
    starts = sorted({0, *(start for start, _ in boundaries(part))} - {len(part)})
    cuts = [*starts, len(part)]
    out: list[tuple[int, int]] = []
    for start, end in pairwise(cuts):
        marks = _CITATIONS.match(part, start) if out and part[start] == "[" else None
        if marks and part[marks.start() : marks.end()].strip():
            cut = min(marks.end(), end)
            out[-1] = (out[-1][0], cut)
            start = cut
        if start == end:
            continue
        if out and _ENUMERATOR.match(part[out[-1][0] : out[-1][1]].strip()):
            out[-1] = (out[-1][0], end)  # "1." is no sentence: it opens the next one
        else:
            out.append((start, end))
    return out


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


def _bare(text: str) -> str:
    """A piece in small letters without the marks around it, for the patterns."""
    return " ".join(text.lower().replace("’", "'").strip(" \t\n*_~`\"“”‘#>|()[]'").split())


def _foreign(text: str) -> bool:
    """True when it has letters that are not Latin: these rules cannot read it."""
    return not text.isascii() and any(c > "\u024f" and c.isalpha() for c in text)


def asserts(text: str) -> bool:
    """Whether a heading or a line of code says something, as a sentence does: it has a verb, or
    ends as one, or is long.

    >>> asserts("# Paris is in Germany"), asserts("## Overview"), asserts("## What is RAG?")
    (True, False, False)
    """
    if "|" in text:
        return any(asserts(cell) for cell in text.split("|"))
    bare = _bare(text)
    words = len(_WORD.findall(bare))
    if _foreign(bare):  # also scripts that put no space between words
        wide = sum(c >= "\u2e80" for c in bare if c.isalpha())
        return words >= 3 or wide >= 6 or (bare[-1] in _STOPS and words > 0)
    if words < 2 or (words < 3 and bare[-1] not in _STOPS):
        return False
    if bare.endswith("?"):
        return not _asks(bare)
    if re.match(rf"(?:what|who|which|how|why|when|where|{_HELPERS}) (?:{_HELPERS})\b", bare):
        return False  # a question without its mark
    return (
        words >= 8
        or (words >= 3 and bare[-1] in _STOPS)
        or _VERB.search(bare) is not None
        or (words >= 4 and any(c.isdigit() for c in re.sub(r"^(?:[a-z]+ )?\d[\d.]*", "", bare)))
    )


def _asks(bare: str) -> bool:
    """True for a question back to the user; "The dose is 2 mg, isn't it?" and "Did you know that
    ..." say something.
    """
    if _foreign(bare) or _TAG.search(bare) or re.search(r"[a-z]{3}[.!?]+\s|[:;–—]|\d", bare):
        return False
    first, *clauses = bare.split(",")
    if not _QUESTION.match(bare):
        return len(_WORD.findall(bare)) <= 3 and not _VERB.search(bare)  # "Anything else?"
    if _NOT_ASKED.search(first):
        return False
    # "Would you like A, B or C?" goes on asking; "When you ask, the dose is 2 mg?" does not.
    return not any(_VERB.search(c) and not _QUESTION.match(c.strip()) for c in clauses)


def _leads_in(bare: str) -> bool:
    """True for what announces a list ("The main points are:"), not for "The city has parks in all
    of its districts:".
    """
    if _foreign(bare) or any(c.isdigit() for c in bare):
        return False
    bare = _OPENING.sub("", bare.rstrip(" :："), count=1)
    words, verbs = bare.split(), _VERB.findall(bare)
    if len(words) > _LEAD_WORDS or len(verbs) > 1:
        return False
    if "," in bare:
        return (
            not verbs
            and bool(re.match(r"(?:to|for|sure|certainly|yes|ok|okay)\b", bare))
            and bool(_AHEAD.search(bare))
        )
    if _AHEAD.search(bare):
        return True
    if verbs or re.search(r" includ(?:es?|ing)$", bare):
        return len(words) <= 10 and bool(
            re.search(r" (?:is|are|was|were|includ(?:es?|ing))$", bare)
        )
    return len(words) <= 5 and not re.search(r"(?<!^)(?<!\ba )(?<!\bthe )\b[a-z]{2,}ed\b", bare)


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
    r" (?:if|you|have|any|more|further|other|additional|some|need|would|you'd|like|want|to|know|ask|asking|help"
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
    r"(?:\[\^?\d{1,4}(?:[ ,;–-]+\d{1,4})*\][\s,;.]*|\(?(?:https?://|www\.)[!-~]+\s*"
    r"|[(\[] ?(?i:(?:see |from |according to )?(?:passage|source|document|context|chunk)s?) \d{1,4}"
    r"(?:(?:[ :,;–-]|and){1,8}+\d{1,4})*+ ?[)\]][\s,;.]*+)+"
)
_LEAD_WORDS = 15
_MOST_SYMBOLS = 6


def trivial(text: str) -> str:
    """Why a piece makes no claim about the world, or "" when it may make one. Rules only; in doubt
    it is a claim.

    >>> trivial("Here are the main points:"), trivial("I don't know."), trivial("42")
    ('lead-in', '', '')
    """
    if not _has_words(text):
        return "no words"
    if len(text) > 400:
        return ""
    if _REFERENCE.fullmatch(text):
        return "citation"
    bare = _bare(text)
    if bare.endswith("?"):
        return "question" if _asks(bare) else ""
    if bare.endswith(":") and _leads_in(bare):
        return "lead-in"
    if not bare.isascii():
        symbols = [c for c in bare if not c.isascii()]
        if len(symbols) > _MOST_SYMBOLS or any(c.isalnum() for c in symbols):
            return ""  # words of another language
        bare = "".join(c for c in bare if c.isascii())
    said = " ".join(bare.rstrip(" .!,:;").split())
    polite = _POLITE.fullmatch(said)
    if polite and not any(_VERB.search(topic) for topic in polite.groups() if topic):
        return "politeness"
    if _LEAD_IN.fullmatch(said):
        return "lead-in"
    return ""
