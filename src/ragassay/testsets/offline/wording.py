"""The wording of questions: how people ask for a fact, in a sentence and in a search box."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ragassay.testsets.offline.facts import Fact, Said
from ragassay.testsets.offline.synonyms import in_other_words, other_verb
from ragassay.testsets.offline.verbs import Verb, third_person

_FILE = Path(__file__).with_name("nouns.txt")
_BOUND = re.compile(r"(?:into|on|for|from|with|to|of|as|up|out|off|over|at)\b")
_ISSUED = frozenset({"release", "publish", "issue"})


@cache
def _nouns() -> dict[str, tuple[str, str]]:
    """Verb -> (noun of the event, noun of who does it); "" where there is none."""
    found = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            verb, event, agent = line.split()
            found[verb] = (event.strip("-"), agent.strip("-"))
    return found


def asked(fact: Fact, subject: str = "", *, reword: bool = True) -> Said:
    """How a fact is asked for. subject: what is said for the clause's own. reword: whether other
    words are taken where they are known; without it, in those of the source.
    """
    said = fact.said or _said(fact, reword)
    name = subject or fact.clause.subject
    texts = (said.word, said.inverted, said.plain, said.perfect, said.keywords)
    return Said(*(text.replace("{S}", name) for text in texts))


def direct(said: Said) -> str:
    """The question without a mark at its end."""
    return joined(said.word, said.inverted)


def indirect(said: Said) -> str:
    """The question as it stands behind "Do you know"."""
    word = said.word[:1].lower() + said.word[1:]
    return joined(word, said.plain)


def _said(fact: Fact, reword: bool) -> Said:
    if fact.asks == "what is":
        return _definition(fact)
    if fact.asks == "where":
        return _where(fact)
    verb, rest = fact.clause.verb, fact.rest
    if reword and fact.asks != "relation":
        rest = in_other_words(rest)
        # "known for" is said of no other verb.
        if verb is not None and not _BOUND.match(rest):
            verb = other_verb(verb)
    if fact.asks in ("who", "subject"):
        assert verb is not None
        return _agent(fact, verb, rest, reword)
    if fact.asks == "when" and reword and _is_issued(fact):
        return _came_out(fact)
    return _inverted(fact, verb, rest)


def _definition(fact: Fact) -> Said:
    aux = fact.clause.aux
    word = "Who" if fact.clause.kind == "person" else "What"
    # The meaning is looked for of a term, and not of what has a name.
    is_term = fact.clause.subject.islower()
    keywords = "{S} meaning" if is_term else joined(word.lower(), aux, "{S}")
    return Said(word, joined(aux, "{S}"), joined("{S}", aux), keywords=keywords)


def _where(fact: Fact) -> Said:
    clause = fact.clause
    assert clause.verb is not None
    if clause.verb.base in ("locate", "situate"):
        return Said("Where", f"{clause.aux} {{S}}", f"{{S}} {clause.aux}", keywords="{S} location")
    said = joined(clause.adverb, clause.verb.participle)
    keywords = (
        "{S} birthplace" if clause.verb.base == "bear" else f"where {clause.aux} {{S}} {said}"
    )
    return Said(
        "Where", f"{clause.aux} {{S}} {said}", f"{{S}} {clause.aux} {said}", keywords=keywords
    )


def _agent(fact: Fact, verb: Verb, rest: str, reword: bool) -> Said:
    """A question for who did something: in words of its own "Who is the author of ...", where such
    a noun is known.
    """
    clause = fact.clause
    what = "{S}" if fact.asks == "who" else rest
    word = "Who"
    if fact.asks == "subject" and clause.kind != "person" and clause.subject.startswith("the "):
        word = "What"
    agent = _nouns().get(verb.base, ("", ""))[1] if word == "Who" else ""
    if agent in ("owner", "operator") and clause.aux in ("was", "were"):
        # A noun would ask for the one of today.
        agent = ""
    # "bought Lundy in 1834": a noun takes no time behind its object.
    has_more = re.search(r"\s(?:in|on|at|for|from|as|to|with)\s", what) is not None
    if agent and reword and not clause.adverb and not has_more:
        is_now = agent in ("author", "composer", "owner", "operator", "publisher", "director")
        aux = "is" if is_now else "was"
        said = joined(aux, "the", agent, "of", what)
        plain = joined("the", agent, "of", what, aux)
        return Said("Who", said, plain, keywords=joined(what, agent))
    finite = third_person(verb.base) if clause.aux in ("is", "are") else verb.past
    said = joined(clause.adverb, finite, what)
    return Said(word, said, said, keywords=joined("who", finite, what))


def _is_issued(fact: Fact) -> bool:
    clause = fact.clause
    verb = clause.verb
    is_plain = clause.voice == "passive" and not fact.rest and not clause.adverb
    return verb is not None and verb.base in _ISSUED and is_plain


def _came_out(fact: Fact) -> Said:
    noun = "release" if fact.clause.verb and fact.clause.verb.base == "release" else "publication"
    return Said(
        "When", "did {S} come out", "{S} came out", "{S} had come out", f"{{S}} {noun} date"
    )


def _inverted(fact: Fact, verb: Verb | None, rest: str) -> Said:
    """A question whose auxiliary stands before the subject."""
    clause = fact.clause
    words = {"how many": f"How many {fact.noun}", "relation": "What"}
    word = words.get(fact.asks, fact.asks[0].upper() + fact.asks[1:])
    search = _keywords(fact, verb, rest)
    if clause.voice == "passive":
        assert verb is not None
        said = joined(clause.adverb, verb.participle, rest)
        return Said(
            word,
            joined(clause.aux, "{S}", said),
            joined("{S}", clause.aux, said),
            joined("{S} had been", said),
            search,
        )
    if clause.voice == "have":
        does = {"has": "does", "have": "do", "had": "did"}[clause.aux]
        have = joined(does, "{S} have", rest)
        return Said(word, have, joined("{S}", clause.aux, rest), keywords=search)
    assert verb is not None
    is_past = clause.voice == "active"
    finite = verb.past if is_past else third_person(verb.base)
    does = "did" if is_past else "does"
    if not is_past and clause.kind == "things":
        does, finite = "do", verb.base
    return Said(
        word,
        joined(does, "{S}", clause.adverb, verb.base, rest),
        joined("{S}", clause.adverb, finite, rest),
        joined("{S} had", clause.adverb, verb.participle, rest) if is_past else "",
        search,
    )


def _keywords(fact: Fact, verb: Verb | None, rest: str) -> str:
    """What is typed into a search box."""
    if fact.asks == "how many":
        return joined("number of", fact.noun, "{S}", rest)
    if fact.asks == "relation":
        assert verb is not None
        return joined("{S}", verb.participle, rest)
    assert verb is not None
    event = _nouns().get(verb.base, ("", ""))[0]
    if event and not rest and not fact.clause.adverb:
        return joined("{S}", event, "date")
    return joined(fact.asks, asked_again(fact, verb, rest))


def asked_again(fact: Fact, verb: Verb, rest: str) -> str:
    """The fact as a question's rest, for a search box."""
    clause = fact.clause
    if clause.voice == "passive":
        return joined(clause.aux, "{S}", clause.adverb, verb.participle, rest)
    return joined("did {S}", clause.adverb, verb.base, rest)


def joined(*parts: str) -> str:
    """The parts that there are, with blanks between."""
    return " ".join(part for part in parts if part)
