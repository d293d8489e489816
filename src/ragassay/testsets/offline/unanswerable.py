"""Questions that the corpus does not answer, each with a check that no passage does.

Taking the source away is not enough: in one of eight cases the answer stands in another chunk. So
a question is about something that is told of nowhere: a name that the corpus does not have, or a
side of a known name that no passage touches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ragassay.testsets.corpus import Corpus
from ragassay.testsets.offline.drafts import Draft
from ragassay.testsets.offline.facts import Fact
from ragassay.testsets.offline.wording import asked, direct, indirect
from ragassay.testsets.values import UNANSWERABLE
from ragassay.testsets.words import content, listed, plain, stem, stems

_ENTRY = "How much does it cost to get into {S}"
# Side of a subject: the question, and the words of which one stands in any text that answers it.
_OF_PERSONS = (
    ("How tall {be} {S}", "tall height metres meters feet inches foot cm centimetres"),
    (
        "Who {be} {S} married to",
        "married marry marries marriage wife husband spouse wed wedding partner divorced widow",
    ),
    (
        "Where did {S} go to school",
        "school college university educated education student studied attended graduated pupil",
    ),
)
_OF_PLACES = (
    (
        "How many people visit {S} each year",
        "visit visitor tourist tourism attendance annually traveller visited",
    ),
    (_ENTRY, "fee entry admission ticket cost price charge free"),
    ("Who owns {S}", "own owns owned owner ownership property belongs held holding bought trust"),
)
_OF_MADE = (
    (
        "How much did {S} cost",
        "cost price worth budget million billion thousand spent expensive dollar paid pay fund",
    ),
    ("Who paid for {S}", "pay paid fund funded finance sponsor budget cost money investor"),
)
_OF_NAMES = (
    (
        "Who came up with the name {S}",
        "name named names called call term coined title titled known derives derived word meaning",
    ),
)
_MADE = listed("build construct complete design found establish create restore renovate")
_PLACE = (
    "River|Lake|Bridge|Castle|City|Park|Sea|Island|Museum|Arena|Tower|Wall|Library|Station|Harbour"
    "|Garden|Church|Cathedral|Palace|Hall|Valley|Forest|Street|Town|Mountain"
)
# "Mount Logan", "London Bridge (Lake Havasu City)", "Hall of Fame"; not "the Street Choir".
_IS_PLACE = re.compile(
    rf"(?:.*\b(?:{_PLACE})(?:$| (?:of|in|at|on|near|for) .*| \(.*)|(?:Mount|Lake) .*)"
)

# What is called like a place and is none: "Town Bloody Hall is a 1971 documentary film".
_WORK = re.compile(r"\b(?:film|album|song|single|novel|book|series|play|game|magazine)\b")
# The last word of a name whose first word tells one of its kind from others.
_CALLED_AFTER = re.compile(
    rf"{_PLACE}|Administration|Falls|Hills|Beach|Bay|Creek|Canal|Square|House|School"
    r"|College|University|Hospital|Institute|Academy|Company|Foundation|Prize|Cup|Trophy|Theatre"
    r"|Theater|Stadium|Airport|Railway|County|Treaty|Act|Theorem|Effect|Syndrome|Disease|Area"
)
_HOUSE = re.compile(r"\b(?:Castle|Museum|Arena|Tower|Garden|Cathedral|Palace|Hall|Park|Abbey)\b")


def unanswerable(
    fact: Fact, corpus: Corpus, others: list[str], kinds: Mapping[str, str]
) -> Iterator[Draft]:
    """Drafts about the subject of a fact. others: names of the corpus, in an order of chance.
    kinds: what each of them is.
    """
    subject = fact.clause.subject
    if fact.asks in ("other", "why"):
        return
    persons = [name for name in others if kinds.get(name) == "person"]
    swapped = _unknown_name(subject, corpus, persons, is_person=fact.clause.kind == "person")
    if swapped and fact.asks in ("when", "where", "how many", "who", "relation"):
        form = asked(fact, swapped)
        why = f"the corpus does not know {swapped}"
        yield _draft(fact, direct(form), indirect(form), why)
    sides: tuple[tuple[str, str], ...] = _OF_NAMES
    if fact.clause.kind == "person":
        sides = _OF_PERSONS
    elif fact.asks == "where" or (
        _IS_PLACE.fullmatch(subject) and not _WORK.search(fact.clause.tail)
    ):
        sides = _OF_PLACES
    elif fact.clause.verb is not None and fact.clause.verb.base in _MADE:
        sides = _OF_MADE
    for question, told_by in sides:
        if question == _ENTRY and not _HOUSE.search(subject):
            continue
        is_name = any(map(str.isupper, subject))
        if sides is _OF_NAMES and subject.startswith("the "):
            continue
        if not is_name or fact.clause.kind == "things" or is_told(corpus, subject, told_by.split()):
            continue
        is_now = fact.clause.aux in ("is", "are") or fact.clause.voice == "present"
        text = question.replace("{S}", subject).replace("{be}", "is" if is_now else "was")
        yield _draft(fact, text, "", f"no passage tells this of {subject}")


def _draft(fact: Fact, question: str, behind: str, why: str) -> Draft:
    return Draft(UNANSWERABLE, question, behind, "", (fact,), 3, (why,), answerable=False)


def is_told(corpus: Corpus, subject: str, words: list[str]) -> bool:
    """Whether one of the words stands in a passage that holds the subject's name, or its rarest
    word, or in any passage of a document with that title.
    """
    names = stems(subject)
    if not names:
        return True
    places = [set(corpus.search.places(name).tolist()) for name in names]
    about = min(places, key=len)
    wanted = {stem(word) for word in words}
    for place in about:
        passage = corpus.passages[place]
        for other in corpus.of_document(corpus.numbers[passage.document]):
            if wanted & {stem(word) for word in content(other.text)}:
                return True
    return False


def _unknown_name(subject: str, corpus: Corpus, persons: list[str], *, is_person: bool) -> str:
    """A name like this one that the corpus does not have; "" where none is found.

    A person gets the family name of another person, and what is called after something (Carter
    Administration, London Bridge) is called after a person: what it is stays as it is.
    """
    match = re.fullmatch(r"((?:the )?)([A-Z][\w'’-]+) ([A-Z][\w'’-]+)", subject)
    if match is None or not (is_person or _CALLED_AFTER.fullmatch(match[3])):
        return ""
    for person in persons:
        family = person.split()[-1]
        if " " not in person or not family[:1].isupper() or family in match.groups():
            continue
        words = (match[2], family) if is_person else (family, match[3])
        name = match[1] + " ".join(words)
        if not is_known(corpus, name):
            return name
    return ""


def is_known(corpus: Corpus, name: str) -> bool:
    """Whether all words of a name stand in one passage, wherever in it."""
    found: set[int] | None = None
    for word in stems(name):
        places = set(corpus.search.places(word).tolist())
        found = places if found is None else found & places
    return bool(found) or not plain(name)
