"""Questions that the corpus does not answer, each with a check that no passage does.

Taking the source away is not enough: in one of eight cases the answer stands in another chunk. So
a question is about something that is told of nowhere: a name that the corpus does not have, or a
side of a known name that no passage touches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragassay.testsets.corpus import Corpus
from ragassay.testsets.offline.drafts import Draft
from ragassay.testsets.offline.facts import Fact
from ragassay.testsets.values import UNANSWERABLE
from ragassay.testsets.words import content, plain, stem, stems

# Side of a subject: the question, and the words of which one stands in any text that answers it.
_OF_PERSONS = (
    ("How tall {be} {S}", "tall height metres meters feet inches foot cm centimetres"),
    ("Who taught {S} to read", "taught teacher tutor school educated mother father learned"),
    ("What {do} {S} like to eat", "eat ate food meal diet dish cook favourite favorite"),
)
_OF_PLACES = (
    (
        "How many people visit {S} each year",
        "visit visitor tourist tourism attendance annually traveller visited",
    ),
    ("Who pays for the upkeep of {S}", "pay paid fund funded upkeep maintain budget cost finance"),
    ("What colour is the main door of {S}", "door gate entrance colour color painted"),
)
_OF_OTHERS = (
    (
        "Who was the first to write about {S}",
        "write wrote written writer author describe described first coined mention mentioned book",
    ),
    ("Who paid for {S}", "pay paid fund funded finance sponsor budget cost money investor"),
    (
        "What was {S} called before",
        "name named rename renamed call called formerly known title titled previously replace"
        " replaced replacing predecessor successor earlier originally",
    ),
)
_PLACE = re.compile(
    r"\b(?:Mount|River|Lake|Bridge|Castle|City|Park|Sea|Island|Museum|Arena|Tower|Wall|Library"
    r"|Station|Harbour|Garden|Church|Cathedral|Palace|Hall|Valley|Forest|Street|Town|Mountain)\b"
)


_BUILDING = re.compile(
    r"\b(?:Museum|Library|Church|Castle|Hall|Palace|Cathedral|Arena|Tower|Abbey|School|Theatre)\b"
)


def unanswerable(fact: Fact, corpus: Corpus, others: list[str]) -> Iterator[Draft]:
    """Drafts about the subject of a fact. others: names of the corpus, in an order of chance."""
    subject = fact.clause.subject
    swapped = _unknown_name(subject, corpus, others)
    if swapped and fact.asks in ("when", "where", "how many", "who", "relation"):
        direct, indirect = fact.asked(swapped)
        yield _draft(fact, direct, indirect, f"the corpus does not know {swapped}")
    sides = _OF_OTHERS
    if fact.clause.kind == "person":
        sides = _OF_PERSONS
    elif _PLACE.search(subject) or fact.asks == "where":
        sides = _OF_PLACES
    for question, told_by in sides:
        if "door" in question and not _BUILDING.search(subject):
            continue
        if fact.clause.kind == "things" or is_told(corpus, subject, told_by.split()):
            continue
        direct = question.replace("{S}", subject).replace("{do}", "did").replace("{be}", "was")
        yield _draft(fact, direct, "", f"no passage tells this of {subject}")


def _draft(fact: Fact, direct: str, indirect: str, why: str) -> Draft:
    return Draft(UNANSWERABLE, direct, indirect, "", (fact,), 3, (why,), answerable=False)


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


def _unknown_name(subject: str, corpus: Corpus, others: list[str]) -> str:
    """A name like this one that the corpus does not have: its last word is one of another name; ""
    where none is found.
    """
    match = re.fullmatch(r"(.*\b[A-Z][\w'’-]+) ([A-Z][\w'’-]+)", subject)
    if match is None:
        return ""
    for other in others:
        last = other.split()[-1]
        name = f"{match[1]} {last}"
        if last != match[2] and last not in match[1].split() and not is_known(corpus, name):
            return name
    return ""


def is_known(corpus: Corpus, name: str) -> bool:
    """Whether all words of a name stand in one passage, wherever in it."""
    found: set[int] | None = None
    for word in stems(name):
        places = set(corpus.search.places(word).tolist())
        found = places if found is None else found & places
    return bool(found) or not plain(name)
