"""The hash that stands for a content: equal values have the same one on every machine and run."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted

_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False
)
_MOST_KEPT = 20_000  # characters of texts whose JSON is kept for the next hash
_PLAIN = frozenset({str, int, type(None)})


def digest(*parts: object) -> str:
    """Hex hash (128 bit, BLAKE2b) of JSON-like values; tuples equal lists; key order does not
    matter.

    Unpaired surrogates are allowed (they are hashed as escapes), NaN and infinities are not
    (ValueError).
    """
    text = f"[{','.join([_json(part) for part in parts])}]"
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def _json(part: object) -> str:
    """The JSON of one part. What is hashed a dozen times a row, texts and a Request's inputs, is
    written by hand: making an encoder for each takes longer than all the rest.
    """
    if type(part) is str:
        return _quoted(part)
    if type(part) is dict and set(map(type, part)) == {str}:
        members = [f"{_quoted(name)}:{_leaf_json(part[name])}" for name in sorted(part)]
        return "{" + ",".join(members) + "}"
    return _leaf_json(part)


def _leaf_json(value: object) -> str:
    """The JSON of a value that is no mapping of texts."""
    if type(value) is str:
        return _quoted(value)
    if type(value) is int:
        return int.__repr__(value)
    if value is None:
        return "null"
    if type(value) is tuple or type(value) is list:
        kinds = set(map(type, value))
        if kinds == {str}:
            return _texts_json(tuple(value))
        if kinds <= _PLAIN:
            return f"[{','.join(map(_leaf_json, value))}]"
    return _ENCODER.encode(value)


def _texts_json(texts: tuple[str, ...]) -> str:
    # The claims of a row share its contexts, and each is hashed with all of them.
    if sum(map(len, texts)) <= _MOST_KEPT:
        return _kept_texts_json(texts)
    return _quoted_list(texts)


def _quoted_list(texts: tuple[str, ...]) -> str:
    return f"[{','.join(map(_quoted, texts))}]"


_kept_texts_json = lru_cache(maxsize=64)(_quoted_list)
