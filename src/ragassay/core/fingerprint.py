"""Which hash stands for a content: the same value gives the same hex on every machine and run."""

from __future__ import annotations

import hashlib
import json

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def digest(*parts: object) -> str:
    """Hex hash (128 bit, BLAKE2b) of JSON-like values; tuples equal lists; key order does not matter.

    Unpaired surrogates are allowed (they are hashed as escapes), NaN and infinities are not (ValueError).
    """
    return hashlib.blake2b(_ENCODER.encode(parts).encode("ascii"), digest_size=16).hexdigest()
