"""Questions that a document asks by its headings: "## How do I reset my password?", "## Resetting
your password". What stands below is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ragassay.testsets.offline.clauses import Clause
from ragassay.testsets.offline.facts import Fact, Said
from ragassay.testsets.offline.verbs import by_base
from ragassay.testsets.values import Passage
from ragassay.testsets.words import content, listed

_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_TITLE = re.compile(r"#\s")
_MARKS = re.compile(r"[`*_]|\[|\]\([^)]*\)|\{#[^}]*\}")
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|Step \d+[:.]?)\s+")
_ASKS = re.compile(r"(?:How|What|When|Where|Why|Who|Which|Can|Do|Does|Is|Are|Should|Will)\b")
_HOW_TO = re.compile(r"How to (.+)")
_OPEN = listed("it this that these those them they he she here there")
_DOES = listed(
    "add remove delete update install configure reset cancel upgrade download upload verify deploy"
    " import export connect invite enable disable change create use set run test build start stop"
    " restart manage migrate back restore contribute request return track write call get"
    " authenticate"
    " log sign send check handle customise customize extend debug monitor rotate revoke renew"
)
_NOUNS = listed(
    "shipping parking billing training meeting opening working processing pricing licensing seating"
    " heating cooling lighting packaging mailing accounting banking housing nursing marketing"
    " manufacturing engineering advertising operating staffing"
)
"""Gerunds that are nouns before a noun: "Shipping costs" says nothing of how to ship."""
_DETERMINED = re.compile(
    r"(?:a|an|the|your|our|my|this|that|all|with|to|from|in|on|up|out)\b", re.I
)
_LEAST_WORDS, _MOST_WORDS = 4, 90


def asked_by_headings(passage: Passage) -> Iterator[Fact]:
    """The facts below the headings of a passage that ask something."""
    found = list(_HEADING.finditer(passage.text))
    for number, match in enumerate(found):
        stop = found[number + 1].start() if number + 1 < len(found) else len(passage.text)
        place = _paragraph(passage.text, match.end(), stop)
        # A title names what the page is about: "Test sets" is no order to test.
        is_title = _TITLE.match(match[0]) is not None and not match[1].endswith("?")
        said = None if is_title else _said(_MARKS.sub("", match[1]))
        if place is not None and said is not None:
            yield _fact(passage, place, said)


def _paragraph(text: str, start: int, stop: int) -> tuple[int, int] | None:
    """The first paragraph of a section, with the list that it announces; None where it has none
    that may be an answer.
    """
    section = text[start:stop]
    first = len(section) - len(section.lstrip())
    blocks = re.split(r"(\n\s*\n)", section[first:])
    block = blocks[0].rstrip()
    if block.endswith(":") and len(blocks) > 2:
        block = (block + blocks[1] + blocks[2]).rstrip()
    words = len(block.split())
    if not _LEAST_WORDS <= words <= _MOST_WORDS or block.startswith(("```", "|", "<", "![")):
        return None
    return start + first, start + first + len(block)


def _said(heading: str) -> Said | None:
    """The question of a heading; None where it asks nothing that stands alone."""
    text = _NUMBERED.sub("", " ".join(heading.split()))
    if len(content(text)) < 2 or set(text.lower().rstrip("?").split()) & _OPEN:
        return None
    if text.endswith("?") and _ASKS.match(text):
        word, _, rest = text.rstrip(" ?").partition(" ")
        return Said(word, rest, "", keywords=_typed(text))
    how_to = _HOW_TO.fullmatch(text)
    verb, _, rest = (how_to[1] if how_to else text).partition(" ")
    base = verb.lower() if how_to or verb.lower() in _DOES else _gerunds().get(verb.lower(), "")
    if not base or not rest or re.search(r"[:,;()?!]", rest):
        return None
    if how_to is None and verb.lower() in _NOUNS and not _DETERMINED.match(rest):
        return None
    mine = re.sub(r"\byour\b", "my", rest)
    done = f"{base} {mine}"
    return Said("How", f"do I {done}", f"to {done}", keywords=f"how to {done}")


def _typed(text: str) -> str:
    return text.rstrip(" ?").lower()


@cache
def _gerunds() -> dict[str, str]:
    """Gerund -> verb: "resetting" -> "reset"."""
    found: dict[str, str] = {}
    for base in (*by_base(), *_DOES):
        found[f"{base}ing"] = base
        if base.endswith("e") and not base.endswith("ee"):
            found[f"{base[:-1]}ing"] = base
        if re.search(r"[^aeiou][aeiou][bdglmnprt]$", base):
            found[f"{base}{base[-1]}ing"] = base
    return found


def _fact(passage: Passage, place: tuple[int, int], said: Said) -> Fact:
    start, end = place
    text = passage.text[start:end]
    clause = Clause(
        subject=passage.title or passage.document,
        kind="thing",
        voice="present",
        aux="does",
        verb=None,
        adverb="",
        rest="",
        tail="",
        leading="",
        start=start,
        end=end,
        sentence=text,
    )
    return Fact(passage, clause, "other", text, said=said)
