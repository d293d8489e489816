"""The boundaries of a text's sentences, for judges, metrics and the offline model alike.

The only module that calls the splitter, which is native code and can fail.
"""

from __future__ import annotations

import re

from ragassay.core.errors import is_fault

_SURROGATE = re.compile("[\ud800-\udfff]")
# Behind a lone capital, white space of several bytes makes the splitter fail. Each such character
# is replaced by one character, so that offsets stay.
_LINE_BREAKS = "\x85\u2028\u2029"
_BLANKS = (
    "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_ASCII_SPACE = str.maketrans(dict.fromkeys(_LINE_BREAKS, "\n") | dict.fromkeys(_BLANKS, " "))
_SIMPLE = re.compile(r"[^.!?\n]+[.!?]*\s*|[.!?\n]\s*")


def boundaries(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence (English rules, which know abbreviations and decimals), in
    order.

    Any text is taken, unpaired surrogates too. Where the splitter itself fails, sentences end at .
    ! ? and new lines.
    """
    import sentencex  # compiled; 10 ms to load that a run without sentences need not pay

    # It takes UTF-8 only; one character for one keeps the offsets.
    clean = text if text.isascii() else _SURROGATE.sub("\ufffd", text).translate(_ASCII_SPACE)
    try:
        sentences = sentencex.get_sentence_boundaries("en", clean)
        return [(int(span["start_index"]), int(span["end_index"])) for span in sentences]
    except BaseException as error:
        if not is_fault(error):
            raise
    return [match.span() for match in _SIMPLE.finditer(clean)]
