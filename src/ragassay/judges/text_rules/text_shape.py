"""The form of what was asked for: a question, a search phrase or a statement, decided by rule."""

from __future__ import annotations

import re

_ASKS = re.compile(
    r"(?:what|who|whom|whose|which|when|where|why|how|is|are|was|were|am|do|does|did|can|could|will|would|shall|should|"
    r"may|might|has|have|had|isn't|aren't|wasn't|don't|doesn't|didn't|can't|couldn't|won't|"
    r"was|wer|wen|wem|wessen|welche[rsmn]?|wann|wo|woher|wohin|warum|wieso|weshalb|wie|ist|sind|hat|haben|kann|können|"
    r"que|qui|quoi|quel(?:le)?s?|quand|où|pourquoi|comment|combien|est-ce|"
    r"qué|quién(?:es)?|cuál(?:es)?|cuándo|dónde|cómo|cuánto|cuántos)\b[^.!]*$",
    re.I,
)
_COMMANDS = re.compile(
    r"(?:tell|explain|describe|list|name|give|show|summari[sz]e|compare|define|find)\b", re.I
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|does|did|can|could|will|would|should|must|may|might|cannot|isn't|aren't|"
    r"wasn't|doesn't|didn't|won't|ist|sind|war|waren|hat|haben|wurde|wird|est|sont|était|été|es|son|fue|fueron|era)\b",
    re.I,
)


def shape_of(text: str) -> str:
    """ "question", "phrase" or "statement". A request ("Explain ...") counts as a question; "" is a
    phrase.
    """
    text = " ".join(text[:2000].split())
    if text.endswith(("?", "？", "؟", ";?")) or "? " in text or text.startswith("¿"):
        return "question"
    words = text.split()
    if len(words) >= 3 and (_ASKS.match(text) or _COMMANDS.match(text)):
        return "question"
    if len(words) >= 4 and (text.endswith((".", "!", "。")) or _VERB.search(text)):
        return "statement"
    return "phrase"
