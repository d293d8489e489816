"""Advice to turn to somebody that names nobody, or to look at a place that names no page: "Please
contact our service team." Beside an admission of not knowing it states nothing that the passages
could hold.

A person's name, a number, a condition or a reason makes it a claim: the patterns hold none of them,
and have to match the whole sentence.
"""

from __future__ import annotations

import re

_WHO = (
    r"(?:customer|client|technical|tech|local|support|service|services|help|sales|care|success"
    r"|hotline|helpdesk|desk|team|staff|department|office|centre|center|representatives?|agents?"
    r"|advis[eo]rs?|line|provider|shop|store|colleagues|specialists?|experts?|administrator|doctor"
    r"|pharmacist|hr|human resources|personnel|people|payroll|billing|accounts|accounting|finance"
    r"|legal|it(?= (?:help|support|service|department|team|desk|staff))|reception|front|facilities"
    r"|admin|relevant|responsible|appropriate|managers?"
    r"|supervisor|line manager|team lead|company|human)"
)
_WHOM = rf"(?:(?:our|the|your|a|an) )?{_WHO}(?: {_WHO}){{0,3}}"
_WITH_THIS = (
    r"(?: (?:about|on|with|regarding) (?:this|that|it|your (?:question|request|case))"
    r"|,? (?:please|directly|instead|further))?"
)
_FOR_MORE = (
    r"(?: (?:for|with) (?:more |further |additional |any )?"
    r"(?:help|information|details|assistance|support|questions|clarification|advice|guidance))?"
)
_WHERE = (
    r"(?:our|the|your) (?:(?:official|company|user|staff|employee|product) ){0,2}"
    r"(?:web ?sites?|web ?pages?|intranet|portal|documentation|docs|manual|handbook|faqs?"
    r"|help (?:pages?|center|centre))"
)
_ADVICE = re.compile(
    r"(?:for (?:more|further) (?:help|information|details|assistance|guidance),? )?"
    r"(?:in (?:this|that) case,? )?(?:please |kindly |i(?:'d| would)? (?:suggest|recommend|advise)"
    r" (?:that )?(?:you )?|you (?:may|can|could|should|might) (?:want to |also )?"
    r"|you(?:'ll| will)? (?:need|have) to |it(?:'s| is| may be| might be) best to )?"
    r"(?:(?:contact(?:ing)?|reach(?:ing)? out to|get(?:ting)? in touch with|ask(?:ing)?"
    r"|call(?:ing)?|writ(?:e|ing) to|speak(?:ing)? (?:to|with)|talk(?:ing)? to|turn(?:ing)? to"
    r"|check(?:ing)? with|consult(?:ing)?)"
    rf" {_WHOM}(?:,? or {_WHOM})?"
    r"|(?:check(?:ing)?|visit(?:ing)?|see(?:ing)?|consult(?:ing)?|refer(?:ring)? to)"
    rf" {_WHERE}(?:,? or {_WHERE})?)"
    rf"(?: directly)?{_FOR_MORE}{_WITH_THIS}(?: directly)?"
)
_THEY_HELP = re.compile(
    rf"(?:perhaps |maybe )?(?:{_WHOM}|they) (?:can|could|may|might|should|will|would)"
    rf" (?:be able to |be happy to )?(?:help|assist)(?: you)?(?: further)?{_WITH_THIS}"
)


def advises_contact(text: str) -> bool:
    """Whether a sentence only advises to turn to people without a name, or to look at a website or
    manual, or says that these people help.

    >>> advises_contact("Please contact HR."), advises_contact("Call Ann in room 4.")
    (True, False)
    """
    phrase = " ".join(text.lower().replace("’", "'").split()).strip(" .!*_")
    return any(pattern.fullmatch(phrase) for pattern in (_ADVICE, _THEY_HELP))
