"""What was used last stays, within a room for all of it together."""

from ragassay.models.offline.cache import MOST_RESULTS, SizedCache


def test_what_was_used_last_stays_and_the_oldest_makes_room() -> None:
    cache = SizedCache[str, int](10)
    cache.put("a", 1, 4)
    cache.put("b", 2, 4)
    assert cache.get("a") == 1
    cache.put("c", 3, 4)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_the_newest_stays_however_large_it_is_and_the_first_result_of_a_key_counts() -> None:
    cache = SizedCache[str, int](10)
    cache.put("a", 1, 4)
    cache.put("b", 2, 50)
    assert (cache.get("a"), cache.get("b")) == (None, 2)
    cache.put("b", 3, 50)
    assert cache.get("b") == 2


def test_small_results_are_counted_too() -> None:
    cache = SizedCache[int, int](10)
    for key in range(MOST_RESULTS + 1):
        cache.put(key, key, 0)
    assert cache.get(0) is None
    assert cache.get(1) == 1
