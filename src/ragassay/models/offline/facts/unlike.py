"""What a sentence sets against its own: "Unlike the One, the Mini has no screen"."""

from __future__ import annotations

import re

from ragassay.models.offline.facts.text_facts import TextFacts

_UNLIKE = re.compile(
    r"\bunlike (?:the |a |an |its |their )?(?P<thing>[^,;.]{2,40}),", re.IGNORECASE
)


def is_set_against(said: str, passage: TextFacts, place: int) -> bool:
    """Whether the sentence of a place in a passage says the contrary of what it tells for something
    that the words of a claim are on.
    """
    found = _UNLIKE.search(passage.reading.text, *passage.sentence(place))
    if found is None:
        return False
    thing = rf"\b{re.escape(found['thing'])}\b"
    return re.search(thing, said, re.IGNORECASE) is not None
