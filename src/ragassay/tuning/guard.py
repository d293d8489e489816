"""What no edit may bring into a rubric. A proposer's text is data that somebody else wrote.

It is never executed and never filled as a template. What is refused here is refused with a reason,
which stands among what was tried; what passes is shown to people in the diff before it is used.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ragassay.judges import Rubric
from ragassay.judges.template import placeholders
from ragassay.tuning import parts
from ragassay.tuning.edits import Edit, Refused, apply

LONGEST = 1.5
"""How much longer than the original a rubric may become, as a factor."""

SHINGLE = 5
"""How many words in a row count as copied."""

_MOST_CHARS = 1_000
_WORD = re.compile(r"\w+")
# Scripts that set no blanks between words, of which so many letters stand for five words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_UNSPACED_RUN = 10
_TEMPLATE = re.compile(r"\{\{|\}\}|\{%|%\}|\{#|\$\{|<%|%>|`{3}|<\s*/?\s*script|__\w+__", re.I)
_FENCE = re.compile(r"<{3,}|>{3,}|<\||\|>|\[/?INST\]|</?(?:system|assistant|user)>", re.I)
_LINK = re.compile(r"\b[a-z][a-z0-9+.-]{1,12}://|\bwww\.|\bmailto:|\bjavascript:|\]\s*\(", re.I)
_ALL = r"(?:all|any|every|each|everything|whatever|no matter)"
_TOP = r"(?:highest|top|best|maximum|max|full|perfect|passing|lowest|worst|minimum)"
_THING = r"(?:response|answer|claim|passage|context|row|text|item|case|input|one|statement)s?"
_ORDERS = re.compile(
    rf"\balways\s+(?:pass|fail|accept|reject|approve|rate\s+it|say|answer|return|reply|output"
    rf"|(?:give|rate|score|assign|choose|use)\b[^.;]{{0,30}}\b{_TOP}\b)"
    rf"|\b(?:pass|fail|accept|reject|approve|rate|score|mark|give)\s+{_ALL}\s+(?:of\s+the\s+)?"
    rf"{_THING}\b(?!\s+(?:that|which|whose|with|without|by|as|when|where|if|only|unless|in|against))"
    rf"|\b(?:pass|fail|accept|reject|approve)\s+(?:everything|anything|them\s+all|it\s+anyway)\b"
    rf"|\b(?:give|rate|score|assign)\b[^.;]{{0,40}}\b{_TOP}\b[^.;]{{0,40}}\b"
    rf"(?:to|for)\s+{_ALL}\b"
    rf"|\b{_ALL}\s+{_THING}\s+(?:passes|pass|is\s+(?:right|correct|supported|fine)|gets?\s+(?:the\s+)?"
    rf"{_TOP})\b(?!\s+(?:if|only|when|where|unless))"
    r"|\bnever\s+(?:fail|reject|give\s+(?:less|a\s+low))\b(?!\s+(?:a|an|because|for|on)\b)"
    r"|\b(?:ignore|disregard|forget|override)\b[^.;]{0,40}"
    r"\b(?:instructions?|criteria|rules?|rubric|prompt|above|previous|scale)\b",
    re.I,
)
_CONTRACT = re.compile(
    r"\b(?:do\s+not|don't|never|no\s+need\s+to|without|omit|skip|leave\s+out|drop)\b[^.;]{0,30}"
    r"\b(?:reasons?|reasoning|rationales?|explanations?|explain|justif\w+|json)\b"
    r"|\b(?:reply|answer|respond|output|return)\b[^.;]{0,20}\b(?:only|just|nothing\s+but)\b"
    r"|\"(?:verdicts|rating|reasoning)\"\s*:",
    re.I,
)
_TEXT_CHECKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_TEMPLATE, "it holds code or the placeholder of a template"),
    (_FENCE, "it imitates the fence around the texts under judgement"),
    (_LINK, "it holds a link"),
    (_ORDERS, "it orders the judge to decide one way whatever the texts say"),
    (_CONTRACT, "it speaks against the form of the reply or the reasons in it"),
)


def shingles(text: str) -> Iterator[str]:
    """Every run of five words in a text, spelled one way; of ten letters in a script without blanks
    between words.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = _WORD.findall(plain)
    for at in range(len(words) - SHINGLE + 1):
        yield " ".join(words[at : at + SHINGLE])
    for letters in _UNSPACED.findall(plain):
        for at in range(len(letters) - _UNSPACED_RUN + 1):
            yield letters[at : at + _UNSPACED_RUN]


def shingles_of(texts: Iterable[str]) -> frozenset[str]:
    """The runs of five words in these texts: what an edit may not copy."""
    runs: set[str] = set()
    for text in texts:
        runs.update(shingles(text))
    return frozenset(runs)


@dataclass(frozen=True, slots=True)
class EditGuard:
    """Checks edits against the original rubric.

    forbidden: runs of five words of the rows on which a rubric is chosen and certified. most_chars:
    the longest system prompt that an edited rubric may have; 0 for one and a half times the
    original's.
    """

    original: Rubric
    forbidden: frozenset[str] = frozenset()
    most_chars: int = 0
    _known: frozenset[str] = field(init=False, repr=False, default=frozenset())

    def __post_init__(self) -> None:
        prompt = self.original.system_prompt()
        object.__setattr__(self, "_known", frozenset(shingles(prompt)))
        if not self.most_chars:
            object.__setattr__(self, "most_chars", int(LONGEST * len(prompt)))

    def applied(self, edits: Sequence[Edit]) -> Rubric:
        """The original with these edits made. Raises Refused with the reason why not."""
        for edit in edits:
            self.check(edit)
        changed = apply(self.original, edits)
        lost = lost_contract(self.original, changed)
        if lost:
            raise Refused(f"the rubric would lose {lost}")
        length = len(changed.system_prompt())
        if edits and length > self.most_chars:
            raise Refused(
                f"the prompt would have {length:,} characters, more than {self.most_chars:,}"
            )
        return changed

    def check(self, edit: Edit) -> None:
        """Raise Refused where the text of an edit is none that a rubric may hold."""
        if edit.example is None:
            if edit.action in ("add", "replace") and not edit.new.strip():
                raise Refused("it holds no text")
            self.check_text(edit.new)
        else:
            for text in _texts_in(edit.example):
                self._check_characters(text)
                self._check_copied(text)

    def check_text(self, text: str) -> None:
        """Raise Refused where a text may not stand in the instructions of a judge."""
        self._check_characters(text)
        if len(text) > _MOST_CHARS:
            raise Refused(f"it is longer than {_MOST_CHARS:,} characters")
        if text != parts.one_line(text):
            raise Refused("it is more than one line of plain text")
        # What is written with look-alike letters is looked at as what it looks like.
        plain = unicodedata.normalize("NFKC", text)
        for pattern, reason in _TEXT_CHECKS:
            if pattern.search(plain) is not None:
                raise Refused(reason)
        self._check_copied(text)

    def _check_characters(self, text: str) -> None:
        for character in text:
            if character not in "\n\r\t" and unicodedata.category(character)[0] == "C":
                raise Refused("it holds control characters or characters that nobody sees")

    def _check_copied(self, text: str) -> None:
        if not self.forbidden:
            return
        for run in shingles(text):
            if run in self.forbidden and run not in self._known:
                raise Refused("it copies five words in a row from rows that must stay unseen")


def lost_contract(original: Rubric, changed: Rubric) -> str:
    """What every version of a rubric must keep and this one lacks; "" where nothing is lost."""
    if original.asks_reasons and not changed.asks_reasons:
        return "the reasons"
    if original.user != changed.user:
        return "the texts under judgement"
    had = _placeholders(original)
    has = _placeholders(changed)
    if "criteria" in had and not changed.criteria.strip():
        return "all of its criteria"
    for name in ("reply", "scale", *original.inputs):
        if name in had and name not in has:
            return f"the place of {{{{{name}}}}}"
    if changed.examples and "examples" not in has:
        return "the place of the examples"
    same = ("inputs", "item", "batch", "writes", "flags", "asks_quotes", "asks_sources", "id")
    for name in same:
        if getattr(original, name) != getattr(changed, name):
            return f"what it has for {name}"
    return ""


def _placeholders(rubric: Rubric) -> set[str]:
    everything = f"{rubric.system}\n{rubric.user}\n{rubric.criteria}"
    return {name for name, _ in placeholders(everything)}


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts_in(inner)
