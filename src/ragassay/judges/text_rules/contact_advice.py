"""Advice to turn to somebody that names nobody: "Please contact our service team." Beside an
admission of not knowing it states nothing that the passages could hold.
"""

from __future__ import annotations

import re

_WHO = (
    r"(?:customer|client|technical|tech|local|support|service|services|help|sales|care|success"
    r"|hotline|helpdesk|desk|team|staff|department|office|centre|center|representatives?|agents?"
    r"|advis[eo]rs?|line|provider|shop|store|colleagues|specialists?|experts?|administrator|doctor"
    r"|pharmacist)"
)
_ADVICE = re.compile(
    r"(?:for (?:more|further) (?:help|information|details|assistance),? )?"
    r"(?:in (?:this|that) case,? )?(?:please |kindly |i(?:'d| would)? (?:suggest|recommend|advise)"
    r" (?:that )?(?:you )?|you (?:may|can|could|should) (?:want to |also )?|it(?:'s| is) best to )?"
    r"(?:contact(?:ing)?|reach(?:ing)? out to|get(?:ting)? in touch with|ask(?:ing)?|call(?:ing)?"
    r"|writ(?:e|ing) to|speak(?:ing)? (?:to|with)|turn(?:ing)? to|check(?:ing)? with"
    r"|consult(?:ing)?)"
    rf" (?:our|the|your|a|an) {_WHO}(?: {_WHO}){{0,3}}"
    r"(?: directly)?(?: (?:for|with) (?:more |further |additional |any )?"
    r"(?:help|information|details|assistance|support|questions|clarification|advice))?"
    r"(?: (?:about|on|with|regarding) (?:this|that|it))?(?: directly)?"
)


def advises_contact(text: str) -> bool:
    """Whether a sentence only advises to turn to people without a name.

    >>> advises_contact("Please contact our service team."), advises_contact("Call Ann in room 4.")
    (True, False)
    """
    phrase = " ".join(text.lower().replace("’", "'").split()).strip(" .!*_")
    return _ADVICE.fullmatch(phrase) is not None
