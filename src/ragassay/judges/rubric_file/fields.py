"""The fields of a rubric and what reads each: one table, in the order in which they are read.

A reader sees the draft and the fields before it. It returns a value in any case, and notes what is
wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ragassay.judges.rubric_file import defaults
from ragassay.judges.rubric_file.draft import NAME, REQUIRED, Draft, Fields, quoted_choice
from ragassay.judges.rubric_file.input_fields import (
    read_guidelines,
    read_inputs,
    read_item,
    read_level,
    read_row,
)
from ragassay.judges.rubric_file.rule_field import read_input_rules, read_rules_are_own
from ragassay.judges.rubric_file.scale_field import read_scale
from ragassay.judges.rubric_file.text_fields import read_criteria, read_system, read_user
from ragassay.judges.rubric_file.verdict_fields import (
    read_examples,
    read_flags,
    read_wording_by,
    read_wordings,
)

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,39}")
_WRITES = ("ratings", "claims", "quotes", "texts")
_MOST_BATCH = 100

Reader = Callable[[Draft, Fields], object]


def read_fields(draft: Draft) -> Fields:
    """All fields of the rubric; what is wrong in them stands in the draft's mistakes."""
    fields: Fields = {"own": draft.context.own}
    for name, reader in _READERS:
        fields[name] = reader(draft, fields)
    return fields


def _read_id(draft: Draft, fields: Fields) -> str | None:
    name: str | None = draft.value("id", str, "a name in small letters, digits and _", REQUIRED)
    if name is not None and not NAME.fullmatch(name):
        draft.mistake("id must be a name in small letters, digits and _", "id")
    return name


def _read_version(draft: Draft, fields: Fields) -> str:
    default = "1" if draft.custom else REQUIRED
    version = draft.value("version", (str, int, float), "a number or a name", default)
    if version is not None and not _VERSION.fullmatch(str(version)):
        draft.mistake("version must be made of letters, digits, '.', '-' and '_'", "version")
    return str(version)


def _read_batch(draft: Draft, fields: Fields) -> int:
    default = 1
    if draft.custom:
        default = defaults.default_batch(fields["level"], fields["guidelines"])
    words = f"a whole number from 1 to {_MOST_BATCH}"
    batch: int = draft.value("batch", int, words, default)
    if not 1 <= batch <= _MOST_BATCH:
        draft.mistake(f"batch must be {words}", "batch")
    return batch


def _read_writes(draft: Draft, fields: Fields) -> str:
    writes: str = draft.value("writes", str, quoted_choice(_WRITES), "ratings")
    if writes not in _WRITES:
        draft.mistake(f"writes must be {quoted_choice(_WRITES)}", "writes")
    elif draft.custom and writes != "ratings":
        draft.mistake('a judge of your own gives a score, so it writes "ratings"', "writes")
    return writes


def _true_or_false(key: str, default: bool) -> Reader:
    def read(draft: Draft, fields: Fields) -> object:
        return draft.value(key, bool, "true or false", default)

    return read


def _read_purpose(draft: Draft, fields: Fields) -> object:
    return draft.value("purpose", str, "a sentence", REQUIRED)


def _read_source(draft: Draft, fields: Fields) -> object:
    return draft.value("source", str, "a text", "")


_READERS: tuple[tuple[str, Reader], ...] = (
    ("id", _read_id),
    ("version", _read_version),
    ("level", read_level),
    ("row", read_row),
    ("guidelines", read_guidelines),
    ("inputs", read_inputs),
    ("item", read_item),
    ("batch", _read_batch),
    ("writes", _read_writes),
    ("scale", read_scale),
    ("asks_sources", _true_or_false("asks_sources", False)),
    ("wordings", read_wordings),
    ("wording_by", read_wording_by),
    ("flags", read_flags),
    ("examples", read_examples),
    ("asks_reasons", _true_or_false("asks_reasons", True)),
    ("asks_quotes", _true_or_false("asks_quotes", False)),
    ("purpose", _read_purpose),
    ("source", _read_source),
    ("input_rules", read_input_rules),
    ("rules_are_own", read_rules_are_own),
    ("criteria", read_criteria),
    ("system", read_system),
    ("user", read_user),
)
