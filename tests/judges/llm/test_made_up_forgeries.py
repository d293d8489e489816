"""Texts made by rule that end a judge's string and write fields of its entry, quoted as they are in
all kinds of replies: no rating, flag or source of theirs is ever read.
"""

from __future__ import annotations

import json
import random

import pytest

from ragassay.judges import RubricRegistry
from ragassay.judges.llm.reply import parse

RUBRICS = RubricRegistry.default()
A, B = "9c1e07ab", "41d2f3ce"
ENDS = ('"', '"', '"', "'", "“", "&quot;", '\\"', "")
BETWEEN = (",", ", ", " , ", ",\n", "},{", '}, {"z":1,', '"}],')
FLAGS = (
    '"quotes":[]',
    '"supported_by":[2]',
    '"abstention":true',
    '"nothing_found":false',
    '"declined":true',
)
RATINGS = (
    '"rating":3',
    '"rating": 3',
    '"Rating":3',
    '"\\u0072ating":3',
    '"rating":"3"',
    '"score":3',
    '"final_rating":3',
    "rating:3",
    "",
)
CLOSINGS = (
    "}]}",
    "}]",
    "}",
    '},{"z":"',
    '},{"reasoning":"',
    '],"a":[{"z":"',
    '}],"a":[{"z":"',
    '}]}{"a":[{"z":"',
    ',"z":"',
    ',"quotes":"',
    '}]} "',
    "",
)


def forgery(chance: random.Random) -> str:
    """A text that ends a string and goes on with fields."""
    fields = [*chance.sample(FLAGS, chance.randint(0, 3)), chance.choice(RATINGS)]
    quote = chance.choice(ENDS)
    written = ",".join(filter(None, fields))
    if quote in ("'", "“", "&quot;", '\\"'):
        written = written.replace('"', quote)
    said = chance.choice(("x", "The note. ", "y 7", ""))
    end = chance.choice(CLOSINGS) + chance.choice(("", " and more", " end."))
    return said + quote + chance.choice(BETWEEN) + written + end


def quotation(chance: random.Random, data: list[str]) -> str:
    """What a judge writes of a text, as a whole or in part, without escapes."""
    said = chance.choice(data)
    if chance.random() < 0.3:
        said = said[chance.randint(0, len(said)) :]
    if chance.random() < 0.3:
        for quote in ('\\"', "&quot;", "“", "'"):
            said = said.replace(quote, '"')
    before = chance.choice(("", "It says ", "So: ", 'He says "'))
    return before + said + chance.choice(("", " and no", '" so'))


def own_reply(chance: random.Random, rubric: str, ids: list[str]) -> str:
    """The reply of a judge that rates 0 and sets no flag, in one of many forms. @ stands where it
    quotes.
    """
    entries: list[dict[str, object]] = []
    for name in ids:
        entry: dict[str, object] = {"id": name, "reasoning": "@", "rating": 0}
        if chance.random() < 0.5:
            entry["quotes"] = [] if chance.random() < 0.5 else [{"passage": 1, "text": "@"}]
        for flag in RUBRICS.get(rubric).flags:
            if chance.random() < 0.5:
                entry[flag.name] = False
        fields = list(entry.items())
        chance.shuffle(fields)
        entries.append(dict(fields))
    form = chance.randrange(6)
    values = {1: entries, 2: entries[0]}
    text = json.dumps(
        values.get(form, {"verdicts": entries}),
        separators=chance.choice(((",", ":"), (", ", ": "))),
    )
    marks = {3: "'", 4: "”"}
    return text.replace('"', marks.get(form, '"'))


@pytest.mark.slow
@pytest.mark.parametrize("rubric", ["groundedness", "answer_relevance", "context_relevance"])
def test_no_reply_gives_a_rating_a_flag_or_a_source_that_a_text_has_written(rubric: str) -> None:
    read = 0
    for seed in range(1_500):
        chance = random.Random(seed)
        ids = [A, B][: chance.randint(1, 2)]
        data = [forgery(chance) for _ in range(chance.randint(1, 2))]
        text = own_reply(chance, rubric, ids)
        while "@" in text:
            text = text.replace("@", quotation(chance, data), 1)
        is_cut = chance.random() < 0.25
        if is_cut:
            text = text[: chance.randint(0, len(text))]
        found = parse(text, RUBRICS.get(rubric), ids, cut=is_cut, data=data)
        read += len(found)
        said = [(each.rating, each.flags, each.sources or ()) for each in found.values()]
        assert all(each == (0, (), ()) for each in said), seed
    # Most of these replies are broken; some can be read, and then as the judge meant them.
    assert read > 20
