"""What a question says of the thing that its answer only names: "Which app do I need for the bell?"
answered by "You need the Portico app".
"""

from __future__ import annotations

import re
from itertools import chain

from ragassay.models.offline.facts.concepts import Item, says_one
from ragassay.models.offline.facts.text_facts import TextFacts

_ASKS = re.compile(
    r"\W*(?:(?:in|at|to|from|on|by|with) )?(?:which|what|who|whom|where)\b", re.IGNORECASE
)
_CHOOSING = frozenset(
    ("need", "want", "use", "choos", "pick", "select", "contact", "ask", "call", "try")
)
_NEGATION = re.compile(r"\b(?:not|no|never|except|instead|without)\b|n't\b", re.IGNORECASE)
_CONTRACTED = frozenset(("you'll", "you'd", "i'd", "we'd", "that'd", "that'll", "it'll"))


def chosen_items(claim: TextFacts, question: TextFacts) -> list[Item]:
    """The items of the question, where the claim says nothing beside a name and what is asked;
    empty otherwise.
    """
    asks = question.reading.text
    if not _ASKS.match(asks) or len(question.reading.sentences) != 1 or _NEGATION.search(asks):
        return []
    if len(claim.reading.sentences) != 1 or _NEGATION.search(claim.reading.text):
        return []
    asked = list(chain.from_iterable(clause.items for clause in question.meanings))
    named = [(name.start, name.end) for name in claim.names]
    for clause in claim.meanings:
        words = claim.reading.words_in(clause.start, clause.end)
        for item in clause.items:
            word = words[item.first]
            is_named = any(start <= word.start < end for start, end in named)
            is_asked = says_one(asked, item)
            if not (is_named or is_asked or item.is_light or _chooses(item, word.lower)):
                return []
    return [item for item in asked if item.stem not in _CHOOSING]


def _chooses(item: Item, lower: str) -> bool:
    return item.stem.split(" ")[0] in _CHOOSING or lower in _CONTRACTED
