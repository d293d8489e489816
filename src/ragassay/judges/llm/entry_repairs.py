"""One entry of a reply brought into the form that was asked for, as far as that is no guess.

What is repaired is the form of a value and never the value: "2" is 2, 2.0 is 2 and "Yes" is yes;
2.5 is no rating, "two" is none, and 2 out of prose is none either. Each repair has a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragassay.judges.llm.entries import TooMuch
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Scale

# No honest entry has a longer list.
_MOST_ITEMS = 1_000
# Not \d, which holds the digits of every script.
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.0{1,9})?")
_NUMBER_OF_A_PASSAGE = re.compile(r"(?:passage|context)?\s*+#?\[?([0-9]{1,9})\]?", re.IGNORECASE)
_GAPS = re.compile(r"[\s_-]++")
_NOTHING = frozenset({"", "none"})
_BOOLEANS = {"true": True, "false": False}
_FIELDS = ("id", "reasoning", "quotes", "supported_by", "claims", "texts", "rating")


class EntryRepair:
    """The repair of one entry. repairs: what was repaired so far."""

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self.repairs: set[str] = set()

    def repaired(self, entry: Mapping[str, object]) -> dict[str, object] | None:
        """The entry in the right form, with what could not be repaired as it was; None where two of
        its fields are one by another spelling and differ. Raises TooMuch.
        """
        fields = self._with_plain_keys(entry)
        if fields is None:
            return None
        if any(map(_is_long_list, fields.values())):
            raise TooMuch
        rubric = self._rubric
        for flag in rubric.flags:
            if flag.name in fields:
                fields[flag.name] = self._flag(fields[flag.name])
        if rubric.writes == "claims":
            fields["claims"] = self._claims(fields.get("claims"))
        elif rubric.writes == "texts":
            fields["texts"] = self._texts(fields.get("texts"))
        elif rubric.writes == "quotes":
            fields["quotes"] = self._quotes(fields.get("quotes"))
        else:
            self._repair_rated(fields)
        return fields

    def _with_plain_keys(self, entry: Mapping[str, object]) -> dict[str, object] | None:
        known = {*_FIELDS, *(flag.name for flag in self._rubric.flags)}
        fields = {key: value for key, value in entry.items() if key in known}
        for key, value in entry.items():
            name = key.strip().lower()
            if key == name or name not in known:
                continue
            if name in fields and fields[name] != value:
                return None
            fields[name] = value
            self.repairs.add("key_spelling")
        return fields

    def _repair_rated(self, fields: dict[str, object]) -> None:
        assert self._rubric.scale is not None
        fields["rating"] = self._rating(fields.get("rating"), self._rubric.scale)
        # A rating stands without its reasons; that they are absent is marked on the judgment.
        if not isinstance(fields.get("reasoning"), str):
            fields["reasoning"] = ""
        fields["quotes"] = self._quotes_beside_a_rating(fields.get("quotes"))
        if fields.get("supported_by") is not None:
            fields["supported_by"] = self._sources(fields["supported_by"])

    def _rating(self, value: object, scale: Scale) -> object:
        """The rating of the scale that the value spells; the value itself where there is none."""
        if isinstance(scale.lowest, int):
            return self._number(value)
        if not isinstance(value, str) or value in scale.ratings:
            return value
        spelt = _spelling(value)
        matches = [rating for rating in scale.ratings if _spelling(str(rating)) == spelt]
        if len(matches) != 1:
            return value
        self.repairs.add("rating_spelling")
        return matches[0]

    def _number(self, value: object) -> object:
        if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
            self.repairs.add("rating_as_text")
            return int(value.strip().partition(".")[0])
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**31:
            self.repairs.add("rating_as_decimal")
            return int(value)
        return value

    def _flag(self, value: object) -> object:
        if value is None:
            self.repairs.add("null_flag")
            return False
        if isinstance(value, str) and value.strip().lower() in _BOOLEANS:
            self.repairs.add("flag_as_text")
            return _BOOLEANS[value.strip().lower()]
        return value

    def _quotes(self, value: object) -> object:
        """A list of quotes as objects; the value itself where it is another thing."""
        if not isinstance(value, list):
            return value
        quotes: list[object] = []
        for quote in value:
            if isinstance(quote, str):
                self.repairs.add("quote_as_text")
                quotes.append({"text": quote})
            else:
                quotes.append(quote)
        return quotes

    def _quotes_beside_a_rating(self, value: object) -> list[object]:
        """The quotes that can be used: the rating stands whatever was quoted."""
        if isinstance(value, (str, dict)):
            value = [value]
        quotes: list[object] = []
        for quote in value if isinstance(value, list) else []:
            if isinstance(quote, str):
                self.repairs.add("quote_as_text")
                quotes.append({"text": quote})
            elif isinstance(quote, dict) and isinstance(quote.get("text"), str):
                quotes.append(quote)
            else:
                self.repairs.add("quotes_left_out")
        return quotes

    def _sources(self, value: object) -> object:
        """A list of numbers; the value itself where it holds none."""
        if isinstance(value, list):
            return [self._source(number) for number in value]
        # One number, or several in one text: "1, 3".
        parts: list[object] = [value]
        if isinstance(value, str):
            parts = [part for part in value.split(",") if part.strip().lower() not in _NOTHING]
        numbers = [self._source(part) for part in parts]
        if not all(type(number) is int for number in numbers):
            return value
        self.repairs.add("source_as_text")
        return numbers

    def _source(self, value: object) -> object:
        match = _NUMBER_OF_A_PASSAGE.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is not None:
            self.repairs.add("source_as_text")
            return int(match[1])
        if isinstance(value, float) and value.is_integer() and 0 < value < 2**31:
            self.repairs.add("source_as_decimal")
            return int(value)
        return value

    def _claims(self, value: object) -> object:
        if not isinstance(value, list):
            return value
        claims: list[object] = []
        for claim in value:
            if isinstance(claim, str):
                self.repairs.add("claim_as_text")
                claims.append({"text": claim})
            elif isinstance(claim, dict) and "trivial" in claim:
                claims.append({**claim, "trivial": self._flag(claim["trivial"])})
            else:
                claims.append(claim)
        return claims

    def _texts(self, value: object) -> object:
        if not isinstance(value, list):
            return value
        texts: list[object] = []
        for text in value:
            if isinstance(text, dict) and isinstance(text.get("text"), str):
                self.repairs.add("text_as_object")
                texts.append(text["text"])
            else:
                texts.append(text)
        return texts


def _is_long_list(value: object) -> bool:
    return isinstance(value, list) and len(value) > _MOST_ITEMS


def _spelling(rating: str) -> str:
    """A named rating without what spelling varies in: case, and what joins its words."""
    return _GAPS.sub("_", rating.strip().casefold())
