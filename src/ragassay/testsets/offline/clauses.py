"""The main clause of a sentence, cut into subject, verb and the rest by rules.

No parser is in the package, so only plain sentences are read: a subject with a name, a verb of the
list, and what follows up to the next clause. What does not fit is passed over; a question that
sounds wrong is worse than none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ragassay.core.boundaries import boundaries
from ragassay.models.offline.facts.dates import Date, dates
from ragassay.testsets.offline.verbs import Verb, by_base, by_participle, by_past, by_present
from ragassay.testsets.values import Passage
from ragassay.testsets.words import listed, tidy

Voice = Literal["active", "present", "passive", "copula", "have"]

_MOST_WORDS = 60
_LEAST_WORDS = 5
_MOST_SUBJECT = 9
_TOKEN = re.compile(r"\S+")
_BE = frozenset({"is", "are", "was", "were"})
_HAVE = frozenset({"has", "have", "had"})
_IS_LATER = re.compile(r"^[^,;]*?\b(?:is|are|was|were|has|had)\b")
_IS_ASIDE = re.compile(r"(?:an?|the|who|which|born|now|also|then|formerly|whose|located)\s")
_UNCLEAR = re.compile(
    r"^the [a-z]+['’]s\b|^the year\b|\b(?:next|first|second|third|last|previous|initial|new"
    r"|original|current"
    r"|other|same|final|two"
    r"|three|four|number|plaintiffs|defendants?|character|lyrics|prototype)\b|-style\b"
    r"|\s(?:An|A|The)\s|(?:\b[A-Z]{2,}\s+){2}[A-Z]{2,}\b"
)
_AUXILIARIES = (
    _BE
    | _HAVE
    | listed("can could will would may might must should shall did does do be been being --")
)
_ADVERBS = listed(
    "also first originally officially formally finally then later subsequently initially"
    " currently now mainly primarily typically usually often generally commonly widely once last"
    " previously recently still always again eventually successfully"
)
_PRONOUNS = {
    "it": "thing",
    "he": "person",
    "she": "person",
    "they": "things",
}
_OPENERS = listed(
    "in on at by after before during since while when although though if as because for from"
    " with to under over until despite following according among within there here this that"
    " these those some many most several such both each all one two no not however but and or so"
    " yet its his her their our your my other another who which what where you we i unlike like"
    " besides along through throughout whereas perhaps thus therefore hence additionally"
    " furthermore moreover meanwhile instead also then today originally initially historically"
    " traditionally generally usually often sometimes currently recently once upon across"
    " between above below north south east west check click go see use"
    " approximately about around nearly almost over roughly indeed finally nevertheless"
    " nonetheless members fans players critics officials residents"
    " consequently subsequently overall similarly likewise notably interestingly"
    " unfortunately three four five six seven eight nine ten dozens hundreds thousands"
)
_CLAUSE_END = re.compile(
    r"\s*(?:,(?!\d)|[;:(\[])|\s(?:--|[–—])(?=\s)|\s(?:and|but|or|which|who|whom|whose|that|where|when|while|although|though"
    r"|because|after|before|until|since|as|so|if|including|making|becoming|using|having"
    r"|being|than)\b"
)
_ASIDE = re.compile(r"\s*\([^()]{0,200}\)|\s/[^/]{1,40}/")
_MARKUP = re.compile(r"[|{}<>=*]|https?:")
_EMPHASIS = re.compile(r"`|\*\*|__")
_LABEL = re.compile(
    r"(?:BACKGROUND|CONTEXT|OBJECTIVES?|AIMS?|PURPOSE|INTRODUCTION|IMPORTANCE|RATIONALE|DEFINITION)"
    r"(?:\s(?:AND|&)\s[A-Z]+)?:?\s+(?=[A-Z])"
)
"""A label in front of a sentence of an abstract, which is no part of it."""

_OF_ONE_STUDY = re.compile(
    r"(?:METHODS?|RESULTS?|FINDINGS?|CONCLUSIONS?|INTERPRETATION|SETTING|DESIGN|PATIENTS|SIGNIFICANCE"
    r"|MEASUREMENTS|OUTCOMES?|INTERVENTIONS?|LIMITATIONS?|MAIN|STUDY)\b"
)
"""A label in front of what one study did or found: no question on it says which study."""

_LEADING = re.compile(r"(?:In|On|By|Since|During)\s[^,]{2,40}?,\s+")


@dataclass(frozen=True, slots=True)
class Clause:
    """A main clause. All texts are tidy; start, end: of the sentence in the passage.

    kind: what the subject is: "person", "thing", "things". rest: what follows the verb, up to the
    next clause. adverb: one that stood before the verb ("first"). leading: a date before the
    subject, "" where there is none. tail: the whole rest of the sentence.
    """

    subject: str
    kind: str
    voice: Voice
    aux: str
    verb: Verb | None
    adverb: str
    rest: str
    tail: str
    leading: str
    start: int
    end: int
    sentence: str

    @property
    def dates(self) -> list[Date]:
        """The dates of the rest, in its own offsets."""
        return dates(self.rest)


def clauses(passage: Passage) -> list[Clause]:
    """The clauses of a passage that can be read, in order."""
    found: list[Clause] = []
    if passage.title.endswith("(disambiguation)"):
        return found
    topic = _Topic(passage.title, passage.text)
    text = passage.text
    for start, end in sentences(passage):
        clause = _clause(text[start:end], start, topic)
        topic.saw(clause, text[start:end])
        if clause is not None:
            found.append(clause)
    return found


def _title_end(passage: Passage) -> int:
    """Where the text begins behind a title that it repeats."""
    title = passage.title
    if title and passage.text.startswith(title + "\n"):
        return len(title) + 1
    return 0


def sentences(passage: Passage) -> list[tuple[int, int]]:
    """Start and end of the sentences of a passage, without white space, headings and marks of
    lists.
    """
    text, offset = passage.text, _title_end(passage)
    places = []
    for start, end in boundaries(text[offset:]):
        piece = text[offset + start : offset + end]
        stripped = piece.strip()
        first = offset + start + len(piece) - len(piece.lstrip())
        is_plain = not stripped.startswith(("#", "|", ">", "```"))
        if stripped.startswith(("- ", "* ")):
            first, stripped = first + 2, stripped[2:]
        if is_plain and "\n\n" not in stripped and stripped.endswith((".", "!", '"', "''")):
            places.append((first, first + len(stripped)))
    return places


class _Topic:
    """What a pronoun at the start of the next sentence stands for: the document's title."""

    def __init__(self, title: str, text: str) -> None:
        self.text = text
        self.title = re.sub(r"\s*\([^)]*\)$", "", tidy(title))
        self.note = _note(title)
        self.nouns = {word for word in self.note.split() if word.islower()}
        self._words = {word.lower() for word in self.title.split() if word[:1].isupper()}
        self.kind = ""
        self._said = self.title
        self._is_near = False

    def full(self, name: str, kind: str = "") -> str:
        """A name with what the title says in brackets, where it is the title's: "the song It's Now
        or Never", "London Bridge (Lake Havasu City)".
        """
        if not self.note or _bare(name) != _bare(self.title):
            return name
        if kind == "person" or self.kind == "person":
            return f"{self.title} ({self.note})"
        is_kind = self.note.split()[-1].islower()
        if self.note.startswith("The "):
            return f"{self.note} {self.title}" if is_kind else f"{name} ({self.note})"
        return f"the {self.note} {self.title}" if is_kind else f"{name} ({self.note})"

    def saw(self, clause: Clause | None, sentence: str) -> None:
        """Take note of a sentence."""
        first = sentence.split(" ", 1)[0].lower()
        if clause is None:
            # One that goes on with a pronoun, or begins with the title, does not change the topic.
            goes_on = self._is_near and first in _PRONOUNS
            self._is_near = goes_on or tidy(sentence).startswith(self.title)
            return
        said = clause.subject
        names = (_bare(self.title), _bare(self.full(self.title)))
        self._is_near = bool(self.title) and _bare(said) in names
        if not self._is_near:
            return
        self._said = said
        if clause.voice == "copula" and not self.nouns:
            head = head_noun(clause.tail)
            if head:
                self.nouns.add(head)
        if clause.kind == "person":
            self.kind = "person"

    def stands_for(self, subject: str) -> str:
        """The title, where a subject without a name means it; else ""."""
        if not self.title or not self._words or self.title.startswith("List of"):
            return ""
        lower = subject.lower()
        kind = _PRONOUNS.get(lower)
        if kind is not None:
            is_fit = (kind == "person") == (self.kind == "person") and kind != "things"
            return self._said if self._is_near and is_fit else ""
        words = lower.split()
        if words[0] in ("the", "this") and len(words) == 2 and words[1] in self.nouns:
            return self.full(self.title) if self.note else self._said
        # A surname under the name of a person: "Parton" under "Dolly Parton".
        is_surname = len(words) == 1 and self.title.split()[-1].lower() == lower
        return self.full(self.title) if is_surname and self.kind == "person" else ""


def _note(title: str) -> str:
    """What a title has in brackets behind the name: "Frida (2002 film)" -> "2002 film"."""
    match = re.search(r"\(([^()]+)\)$", title.strip())
    return match[1].strip() if match else ""


def _bare(name: str) -> str:
    """A name without an article before it."""
    return re.sub(r"^(?:the|a|an)\s+", "", name, flags=re.IGNORECASE)


def without_asides(raw: str) -> str:
    """A sentence without what stands in brackets, also in brackets within brackets."""
    for _ in range(3):
        shorter = _ASIDE.sub(" ", raw)
        if shorter == raw:
            break
        raw = shorter
    return raw


def _clause(raw: str, start: int, topic: _Topic) -> Clause | None:
    sentence = _EMPHASIS.sub("", tidy(without_asides(raw))).replace('"', "")
    if not _LEAST_WORDS <= len(sentence.split()) <= _MOST_WORDS or _MARKUP.search(sentence):
        return None
    label = _LABEL.match(sentence)
    if label:
        sentence = sentence[label.end() :]
    if _OF_ONE_STUDY.match(sentence):
        return None
    body, leading = sentence.rstrip(".!"), ""
    opening = _LEADING.match(body)
    if opening and dates(opening[0]):
        leading, body = opening[0].rstrip(", "), body[opening.end() :]
    parts = _split(body, topic.title)
    if parts is None:
        return None
    subject, voice, aux, verb, adverb, tail = parts
    named, kind = _named(subject, topic)
    if not named:
        return None
    named = topic.full(named)
    if voice == "copula" and (head_noun(tail) in _PROFESSIONS or _LIFE.match(raw)):
        kind = "person"
    if kind == "person" and topic.title and named.split()[-1] == topic.title.split()[-1]:
        # "Robert Bruce "Bob" Adams" is looked for as "Bob Adams".
        named = topic.full(topic.title, kind)
    end = _CLAUSE_END.search(tail)
    rest = tail[: end.start()] if end else tail
    return Clause(
        subject=named,
        kind=kind,
        voice=voice,
        aux=aux,
        verb=verb,
        adverb=adverb,
        rest=rest.strip(),
        tail=tail,
        leading=leading,
        start=start,
        end=start + len(raw),
        sentence=sentence,
    )


_HEAD = re.compile(
    r"(?:an?|the|one)\s+((?:[\w'’-]+\s+){0,7}?[\w-]+)"
    r"(?=\s(?:by|of|in|from|that|for|on|with|who|which|located|based|at|to)\b|\s?[,.(;]|$)"
)
_PROFESSIONS = listed(
    "singer actor actress writer author politician player musician scientist painter king queen"
    " president engineer lawyer director composer poet physicist chemist philosopher footballer"
    " wrestler rapper songwriter comedian businessman journalist economist sociologist historian"
    " mathematician biologist programmer inventor explorer soldier general architect artist"
    " coach astronaut astronomer physician surgeon teacher bishop priest judge novelist"
    " character vocalist guitarist"
)


def head_noun(tail: str) -> str:
    """The noun that says what something is, of "a large house in Rome"; "" where it is not seen."""
    match = _HEAD.match(tail)
    return match[1].split()[-1].lower() if match else ""


def _split(body: str, title: str) -> tuple[str, Voice, str, Verb | None, str, str] | None:
    """Subject, voice, auxiliary, verb, adverb and the rest; None where no verb of the list stands
    behind a subject.
    """
    tokens = list(_TOKEN.finditer(body))
    # A title may hold a verb ("Marble Falls").
    begin = 1
    if title and body.startswith(title):
        begin = max(1, sum(token.start() < len(title) for token in tokens))
    for number in range(begin, min(len(tokens), begin + _MOST_SUBJECT)):
        token = tokens[number]
        head = body[: token.start()].strip()
        if head.endswith(","):
            # What stands between two commas is left out: "Ada Lovelace, a writer, was ...".
            close = body.find(",", token.start())
            aside = body[token.start() : close]
            if close < 0 or len(aside.split()) > 12 or not _IS_ASIDE.match(aside):
                return None
            return _split(head.rstrip(",") + " " + body[close + 1 :].strip(), head.rstrip(","))
        found = _verb_at(tokens, number, body)
        # Behind an auxiliary that is not read stands the verb of no plain sentence.
        if found is not None or token[0] in _AUXILIARIES:
            return found
    return None


def _verb_at(
    tokens: list[re.Match[str]], number: int, body: str
) -> tuple[str, Voice, str, Verb | None, str, str] | None:
    """The parts where the verb stands at this word; None where none does."""
    word = tokens[number][0]
    head = body[: tokens[number].start()].strip()
    if word in _BE or word in _HAVE:
        return _behind_auxiliary(head, word, tokens[number + 1 :], body)
    verb, voice = by_past().get(word), "active"
    if verb is None and word in by_present():
        verb, voice = by_present()[word], "present"
    if verb is None and _is_bare_plural(head.split()) and word in by_base():
        verb, voice = by_base()[word], "present"
    if verb is None:
        return None
    last = head.split()[-1]
    adverb = last if last in _ADVERBS else ""
    is_adverb = bool(adverb) or (last.endswith("ly") and last.islower())
    subject = head[: len(head) - len(last)].strip() if is_adverb else head
    if subject.lower().endswith((" to", " of", " and", " a", " the")) or not subject:
        return None
    tail = body[tokens[number].end() :].strip()
    # "a law passed by the senate": a participle, and no verb of the sentence.
    is_place = verb.base in ("locate", "situate", "base", "name")
    is_participle = tail.startswith("by ") or is_place or _IS_LATER.search(tail) is not None
    if verb.past == verb.participle and is_participle:
        return None
    kind: Voice = "active" if voice == "active" else "present"
    return subject, kind, "", verb, adverb, tail


def _behind_auxiliary(
    head: str, aux: str, following: list[re.Match[str]], body: str
) -> tuple[str, Voice, str, Verb | None, str, str] | None:
    """The same, behind a form of be or have."""
    if not following or following[0][0] in ("not", "to", "being", "been"):
        return None
    adverb = ""
    if following[0][0] in _ADVERBS and len(following) > 1:
        adverb = following[0][0]
        following = following[1:]
    word = following[0][0]
    tail = body[following[0].end() :].strip()
    if aux in _BE:
        verb = by_participle().get(word)
        if verb is not None:
            return head, "passive", aux, verb, adverb, tail
        if word in ("a", "an", "the", "one"):
            return head, "copula", aux, None, adverb, body[following[0].start() :].strip()
        return None
    if re.fullmatch(r"[\d,.]+|(?:about|around|over|nearly|approximately|some|more)", word):
        return head, "have", aux, None, adverb, body[following[0].start() :].strip()
    return None


_NAME_WORD = re.compile(r"[A-Z][\w'’.-]*|\d{4}")
_FIRST_NAMES = listed(
    "john james robert michael william david richard joseph thomas charles christopher daniel"
    " matthew anthony mark donald steven paul andrew george kenneth edward brian ronald timothy"
    " jason jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin scott brandon"
    " benjamin samuel frank gregory raymond alexander patrick jack dennis jerry tyler aaron"
    " henry mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy"
    " betty sandra margaret ashley emily donna michelle carol amanda melissa deborah stephanie"
    " rebecca laura helen anna marie maria jane alice ann anne lucy emma grace rose martin peter"
    " simon philip arthur albert louis lewis walter harry fred tom jim joe bill bob sam ben dan"
    " adam dolly elvis lena mick keith ringo bruce clint harrison hans karl ernst otto max leo"
    " felix ada isaac marco luis carlos juan pedro jose ivan igor olga nina eva ella eve kate"
    " amy julia diana victoria catherine charlotte sophie oliver hugo oscar ralph roger"
)


_GENERIC = listed(
    "University Cottage Village Duchy Museum Company Board Council Court Committee Institute"
    " College"
    " School Government Act Commission Party Church Army State States City Executive National Town"
    " County District Department Ministry Parliament Senate Congress House Assembly President Prime"
    " Minister King Queen Emperor Pope Mayor Governor Chairman Director Constructors Championship"
    " Cup League Series Season Tour Album Band Song Film Study Group Team Club Center Centre North"
    " South East West Northern Southern Eastern Western Old New First Second World War Day Year"
    " Single Version Chapter Part Section Figure Table Report Program Project Internet Web"
)
"""Words with a capital that do not say which one is meant."""

_NAMED_KINDS = listed(
    "map round treaty effect theory law method test syndrome disease equation theorem process cycle"
    " scale index algorithm gene protein virus dynasty empire degree award prize movement"
    " revolution"
    " crater comet telescope engine rifle aircraft language model curve paradox principle constant"
    " number function transform distribution protocol format library framework server plugin"
)
"""Kinds of things that one name before them is enough for."""

_GLUED = re.compile(r"%|[a-z](?:The|In|It|This|For|An)\b")
"""A share, or two lines that a reader of pages joined."""

_MOST_NAME = 7
# A name and behind it in brackets when that person was born, or lived, to the day.
_LIFE = re.compile(
    r"[^()]{3,60}\((?:[^()]*;)?\s*"
    r"(?:born\b|(?:\d{1,2} [A-Z][a-z]+|[A-Z][a-z]+ \d{1,2},) \d{4}\s*[–—-])"
)

_LINKS = listed("of de la von van der the and du da di del")


def _named(subject: str, topic: _Topic) -> tuple[str, str]:
    """The subject with a name in it and its kind; ("", "") where it names nothing: a reader of the
    question alone has to know which one is meant.
    """
    known = topic.stands_for(subject)
    if known:
        return known, topic.kind or "thing"
    words = subject.split()
    first = words[0].lower().strip(",")
    if first in _OPENERS or first in _PRONOUNS or re.search(r"[,;:()]", subject):
        return "", ""
    is_title = bool(topic.title) and _bare(subject).lower() == _bare(topic.title).lower()
    if is_title:
        return _of_title(subject, topic)
    begins_plain = first in ("the", "a", "an")
    if begins_plain and first != "the":
        return "", ""
    inner = words[1:] if begins_plain else words
    if not _is_clear_name(inner, subject):
        return "", ""
    is_person = inner[0].lower() in _FIRST_NAMES and 2 <= len(inner) <= 4
    if is_person and all(_NAME_WORD.fullmatch(word) for word in inner):
        return subject, "person"
    text = subject[0].lower() + subject[1:] if begins_plain else subject
    return text, "things" if words[-1].endswith("s") and begins_plain else "thing"


def _of_title(subject: str, topic: _Topic) -> tuple[str, str]:
    """The same, of a subject that is the document's title."""
    words = subject.split()
    # "Bone marrow is": a common noun with the capital of its sentence.
    small = subject[0].lower() + subject[1:]
    if _is_bare_plural(words):
        return small if f" {small}" in topic.text else subject, "things"
    if not topic.note and subject[1:].islower() and f" {small}" in topic.text:
        return small, "thing"
    is_name = any(map(str.isupper, subject[1:])) or len(words) > 1 or topic.kind == "person"
    has_article = words[0] in ("The", "the", "A", "An")
    if has_article and not topic.title.startswith(words[0]):
        subject = subject[0].lower() + subject[1:]
    is_person = topic.kind == "person" or (words[0].lower() in _FIRST_NAMES and len(words) > 1)
    return subject, "person" if is_person and is_name else "thing"


def _is_clear_name(inner: list[str], subject: str) -> bool:
    """Whether words that are no title say which one is meant: two words of a name or more, or one
    of letters and digits as no common word has.
    """
    if len({word.lower() for word in inner}) < len(inner) or _GLUED.search(subject):
        return False
    if not 1 <= len(inner) <= _MOST_NAME or _UNCLEAR.search(subject) or "--" in subject:
        return False
    if inner[0].lower().endswith("ing") or inner[0][0].isdigit() or re.search(r"['’]s?\s", subject):
        return False
    if re.search(r"\s\d{1,2}$|\b(?:of|in|on|at|for|to|by) (?:the|this|a|an) [a-z-]+$", subject):
        return False
    if any(word in by_past() for word in inner):
        return False
    if (
        inner[-1].lower() in ("who", "which", "that", "of", "and", "or")
        or " that " in f" {subject} "
    ):
        return False
    if " and " in subject:
        return False
    names = [word for word in inner if _NAME_WORD.fullmatch(word) and word not in _GENERIC]
    # The capital of the first word may be that of the sentence: "Scenes set in Iceland".
    if inner[0] in names and subject.startswith(inner[0]) and not inner[-1][:1].isupper():
        names.remove(inner[0])
    if len(inner) > 1 and inner[0] in names and inner[1].islower() and inner[1] not in _LINKS:
        names.remove(inner[0])
    codes = [word for word in names if re.fullmatch(r"[A-Z]{3,}\w*|[A-Z]+\w*\d\w*", word)]
    if len(names) == 1 and len(inner) == 2 and inner[1] in _NAMED_KINDS:
        # "the Ruysch map", "the Doppler effect".
        return names[0] == inner[0] and subject.startswith("The ")
    # "Ferry Hall": of two capitals one says which hall.
    if names and len(inner) > 1 and all(_NAME_WORD.fullmatch(word) for word in inner):
        return True
    return len(names) >= 2 or (len(inner) <= 2 and bool(codes))


def _is_bare_plural(words: list[str]) -> bool:
    """Whether it is a noun that stands for all of its kind: "Mesons", "Skin cells"."""
    last = words[-1]
    is_plural = last.endswith("s") and not last.endswith(("ss", "us", "is", "'s"))
    return (
        is_plural
        and len(words) <= 3
        and "'" not in words[0]
        and "’" not in words[0]
        and words[0][1:].islower()
        and len(last) > 3
        and all(map(str.islower, words[1:]))
    )
