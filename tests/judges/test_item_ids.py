"""The ids of items: hashes that stand in no text of the data, in no case that a reply may use."""

import pytest

from ragassay.core import Request
from ragassay.judges.llm.item_ids import item_id


def request(response: str) -> Request:
    return Request("answer_relevance", {"question": "When?", "response": response})


@pytest.mark.parametrize("spelt", [str.lower, str.upper])
def test_an_id_that_stands_in_a_text_is_made_longer(
    spelt: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A text that holds its own id cannot be found, so the hash is made to stand in it.
    full = "9c1e07ab" + "5d" * 12
    monkeypatch.setattr("ragassay.judges.llm.item_ids.digest", lambda *parts: full)
    assert item_id(request("In 1932."), "f", ()) == "9c1e07ab"
    said = spelt("9c1e07ab")  # type: ignore[operator]
    assert item_id(request(f"In 1932 ({said})."), "f", ()) == "9c1e07ab5"
    assert item_id(request("In 1932."), "f", ("9c1e07ab",)) == "9c1e07ab5"
