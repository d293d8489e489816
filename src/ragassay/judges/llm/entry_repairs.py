"""One entry of a reply brought into the form that was asked for, as far as that is no guess.

What is repaired is the form of a value and never the value: "2", 2.0, "2/3" and "two" are 2 and
"Yes" is yes; 2.5 is no rating, and 2 out of prose is none either. What an entry says twice and in
two ways it does not say. Each repair has a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragassay.judges.llm.entries import TooMuch, known_fields
from ragassay.judges.llm.rating_forms import is_rating_like, whole_number
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Scale

# No honest entry has a longer list.
_MOST_ITEMS = 1_000
_NUMBER_OF_A_PASSAGE = re.compile(r"(?:passage|context)?\s*+#?\[?([0-9]{1,9})\]?", re.IGNORECASE)
_GAPS = re.compile(r"[\s_-]++")
_NOTHING = frozenset({"", "none"})
_BOOLEANS = {"true": True, "false": False}
_YES_AND_NO = {"yes": True, "no": False, "1": True, "0": False}


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
        if self._rubric.writes == "ratings":
            fields = self._with_one_rating(fields, entry)
            if fields is None:
                return None
        if any(map(_is_long_list, fields.values())):
            raise TooMuch
        rubric = self._rubric
        for flag in rubric.flags:
            if flag.name in fields:
                fields[flag.name] = self._yes_or_no(fields[flag.name])
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
        known = known_fields(self._rubric)
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

    def _with_one_rating(
        self, fields: dict[str, object], entry: Mapping[str, object]
    ) -> dict[str, object] | None:
        """The fields with what stands for the rating under another name or one level deeper; None
        where that is another rating than the one in its place.
        """
        scale = self._rubric.scale
        assert scale is not None
        others = {
            key: value
            for key, value in entry.items()
            if key.strip().lower() not in known_fields(self._rubric)
            and is_rating_like(key.strip().lower())
        }
        if not others:
            return fields
        nested = [value for value in others.values() if isinstance(value, dict)]
        if "rating" not in fields and len(others) == 1 and nested and "rating" in nested[0]:
            self.repairs.add("nested_entry")
            inner = {key: nested[0][key] for key in nested[0] if key in known_fields(self._rubric)}
            differ = [key for key in inner if key in fields and fields[key] != inner[key]]
            return None if differ else {**fields, **inner}
        before = set(self.repairs)
        stated = [self._on_the_scale(value, scale) for value in others.values()]
        ratings = {rating for rating in stated if rating is not None}
        if "rating" in fields:
            self.repairs = before
            own = self._on_the_scale(fields["rating"], scale)
            return fields if own is None or ratings <= {own} else None
        if len(ratings) != 1:
            return fields
        self.repairs.add("rating_under_another_name")
        return {**fields, "rating": ratings.pop()}

    def _on_the_scale(self, value: object, scale: Scale) -> object:
        """The rating that a value spells; None where it spells none of the scale."""
        if isinstance(value, (dict, list)) and len(value) > _MOST_ITEMS:
            raise TooMuch
        found = self._rating(value, scale)
        return found if type(found) in (int, str) and found in scale.ratings else None

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
            return self._number(self._unwrapped(value, scale), scale)
        if not isinstance(value, str) or value in scale.ratings:
            return value
        spelt = _spelling(value)
        matches = [rating for rating in scale.ratings if _spelling(str(rating)) == spelt]
        if len(matches) != 1:
            return value
        self.repairs.add("rating_spelling")
        return matches[0]

    def _unwrapped(self, value: object, scale: Scale) -> object:
        """The number in a list of one, or the one number of the scale in an object."""
        if isinstance(value, list) and len(value) == 1:
            self.repairs.add("rating_in_a_list")
            return value[0]
        if isinstance(value, dict):
            numbers = [each for each in value.values() if type(each) in (int, float)]
            if len(numbers) == 1 and numbers[0] in scale.ratings:
                self.repairs.add("rating_in_an_object")
                return numbers[0]
        return value

    def _number(self, value: object, scale: Scale) -> object:
        number = whole_number(value, scale.highest) if isinstance(value, str) else None
        if number is not None:
            self.repairs.add("rating_as_text")
            return number
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**31:
            self.repairs.add("rating_as_decimal")
            return int(value)
        return value

    def _yes_or_no(self, value: object) -> object:
        said = str(value).strip().lower() if type(value) in (int, str) else ""
        if said in _YES_AND_NO:
            self.repairs.add("flag_as_number" if type(value) is int else "flag_as_text")
            return _YES_AND_NO[said]
        return self._flag(value)

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
