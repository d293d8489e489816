"""A text in lower case, place by place: to see what it cannot hold before it is searched for it."""

from __future__ import annotations


def folded(text: str) -> str:
    """The text in lower case, of the same length.

    Each character that an expression without regard to case takes for a letter from a to z is that
    letter, so that words can be looked for which such an expression would find.
    """
    if text.isascii():
        return text.lower()
    # One capital has a lower case of two characters; two letters have none of their own in ASCII.
    return text.replace("İ", "i").lower().replace("ı", "i").replace("ſ", "s")
