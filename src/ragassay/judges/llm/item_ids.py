"""The ids by which a reply names the items it judges."""

from __future__ import annotations

from collections.abc import Collection

from ragassay.core import Request, digest

# An id of eight digits is cheap to copy; it is made longer only where it stands in a text.
_LEAST, _MOST = 8, 32


def item_id(request: Request, fingerprint: str, taken: Collection[str]) -> str:
    """A hash of the Request that stands in no text of its data and is none of those taken.

    Else what a text of the data says of an id could be read as a verdict on the item.
    """
    full = digest("item", fingerprint, request.key)
    texts: list[str] = []
    for name in request.inputs:
        texts += request.texts(name)
    together = "\n".join(texts)
    for length in range(_LEAST, _MOST + 1):
        candidate = full[:length]
        if candidate not in taken and not _stands_in(candidate, together):
            return candidate
    return full


def _stands_in(candidate: str, text: str) -> bool:
    # An id in capitals is read as well.
    return candidate in text or candidate.upper() in text
