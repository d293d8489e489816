"""Joined indexes of single passages, which equal the index of all of them read together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.offline.reading import join, read

passages = st.lists(st.text(alphabet="ab not. \nÉ9", max_size=60), min_size=1, max_size=5)


@given(passages)
def test_joining_the_shelves_of_passages_is_reading_them_together(texts) -> None:
    together, joined = read(texts), join([read([text]) for text in texts])
    assert joined.passages == together.passages
    assert joined.size == together.size
    for name in ("keys", "unit_of", "places", "negated"):
        a, b = getattr(joined, name), getattr(together, name)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b), name
