"""A person whom the reference gives with all names, given by last name alone.

"Who wrote Faust?": "Goethe" is right where the reference is "Johann Wolfgang von Goethe".
"""

from __future__ import annotations

import re

_ASKS_FOR_A_PERSON = re.compile(
    r"\bwh(?:o|om|ose)\b|\bwhich (?:person|man|woman|act(?:or|ress)|author|singer|artist|king|queen"
    r"|president|player|scientist|writer|poet|composer|director|painter)\b",
    re.I,
)
_PARTICLES = "von|van|de|der|den|da|di|du|la|le|del|della|bin|al|el|ibn"
_NAME = re.compile(
    rf"[A-Z][\w'’.-]*(?: (?:[A-Z][\w'’.-]*|{_PARTICLES})){{1,5}} (?P<last>[A-Z][\w'’-]{{2,}})"
)
_TITLES = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "lord", "lady", "dame"}
    | {"president", "king", "queen", "pope", "saint", "st", "general", "captain"}
)
_BEFORE_NAMES = frozenset({"the", "by", "it", "was", "is", "and"})


def last_name_alone(statement: str, response: str, question: str) -> str:
    """The last name with which a response answers who it is; "" where the question asks for no
    person, the statement is not the whole name of one, or the response gives another first name.
    """
    name = _NAME.fullmatch(statement.strip().rstrip("."))
    if name is None or _ASKS_FOR_A_PERSON.search(question) is None:
        return ""
    own = {word.strip(".").lower() for word in name[0].split()} | _TITLES | _BEFORE_NAMES
    found = re.finditer(rf"(?:(\w[\w'’-]*)\.? )?\b{re.escape(name['last'])}\b(?! [A-Z])", response)
    for place in found:
        before = place[1]
        if before is None or not before[0].isupper() or before.lower() in own:
            return name["last"]
    return ""
