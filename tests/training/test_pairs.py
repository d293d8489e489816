"""What is learned from is what is judged: the same tokens of text and window, and parts that are
not supported.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tokenizers import BertWordPieceTokenizer

sys.path.append(str(Path(__file__).resolve().parents[2]))

from training.offline_data import Example
from training.pairs import Maker

from ragassay.core import MatchCall
from ragassay.models import offline
from ragassay.models.offline.engine import VOCABULARY, Engine
from ragassay.models.offline.windows import LONGEST_TEXT, network_input, parts

WEIGHTS = Path(offline.__file__).parent / "weights"
LONG = " ".join(
    f"Record {n} of the mill says that {n * 3} sacks went to Bern in the year {1800 + n}."
    for n in range(90)
)
CLAIMS = (
    "In 1830 ninety sacks of the mill went to Bern.",
    "Record 12 speaks of 36 sacks. They went to Bern in 1812. Nobody in Zürich counted them.",
    "ein naïves Café — 東京, £5m and 3,000.50 sacks",
)


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    BertWordPieceTokenizer(str(WEIGHTS / VOCABULARY), lowercase=True).save(str(path))
    return Maker(WEIGHTS, path)


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    "passages", [(LONG,), ("It is short.", LONG, "東京 is a city."), ("Only this.",)]
)
def test_an_example_is_read_as_the_package_reads_the_call(
    maker: Maker, claim: str, passages: tuple[str, ...]
) -> None:
    engine = Engine.load(WEIGHTS)
    call = MatchCall("support", claim, passages)
    (made,) = maker.pairs([Example("set", "set:1", call, 1)], apart=True)
    read = network_input(claim, engine.passage_index(call), engine.rarity, engine.tokenizer)
    assert read is not None
    assert (tuple(made.ids.tolist()), made.text) == (read.ids, read.text)
    places = parts(claim, lambda text: len(engine.tokenizer.ids(text, LONGEST_TEXT + 1)))
    assert len(made.sentences) == (len(places) if len(places) > 1 else 0)
    for one, (start, end) in zip(made.sentences, places, strict=False):
        part = network_input(
            claim[start:end], engine.passage_index(call), engine.rarity, engine.tokenizer
        )
        assert part is not None
        assert tuple(one.ids.tolist()) == part.ids


def test_the_tokens_of_an_edited_part_are_marked(maker: Maker) -> None:
    claim = "The mill was built in 1911 by Anna."
    call = MatchCall("support", claim, (LONG,))
    at = claim.index("1911")
    (made,) = maker.pairs([Example("made:x", "set:1", call, 0, spans=((at, at + 4),))])
    assert made.faults is not None
    assert made.faults.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0]
    (untold,) = maker.pairs([Example("made:x", "set:1", call, 0)])
    assert untold.faults is None
