"""The cache of a row's results: the same result for an equal call, within a bounded amount."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ragassay.metrics.graph import row_cache as module
from ragassay.metrics.graph.row_cache import cached_for_row


def test_an_equal_call_gets_the_very_result_of_the_first() -> None:
    asked: list[str] = []

    @cached_for_row
    def cut(text: str, marks: tuple[str, ...]) -> list[str]:
        asked.append(text)
        return [text, *marks]

    first = cut("a b", ("x",))
    assert cut("a b", ("x",)) is first
    assert cut("a b", ("y",)) == ["a b", "y"]
    assert asked == ["a b", "a b"]


def test_the_oldest_results_go_when_there_are_too_many() -> None:
    asked: list[str] = []

    def compute(text: str) -> str:
        asked.append(text)
        return text

    keep = cached_for_row(compute)
    texts = [str(n) for n in range(module._MAX_ENTRIES + 1)]
    for text in [*texts, texts[-1], texts[1], texts[0]]:
        assert keep(text) == text
    assert asked == [*texts, texts[0]]


def test_long_texts_push_out_others_and_one_beyond_the_limit_is_not_kept() -> None:
    asked: list[str] = []

    def compute(text: str) -> str:
        asked.append(text[:1])
        return text

    keep = cached_for_row(compute)
    half = module._MAX_CHARS // 2
    for text in ("a" * half, "b" * half, "a" * half, "c" * half, "b" * half, "a" * half):
        keep(text)
    assert asked == ["a", "b", "c", "a"]
    asked.clear()
    for _ in range(2):
        keep("d" * (module._MAX_CHARS + 1))
    keep("a" * half)
    assert asked == ["d", "d"]


def test_threads_that_ask_at_once_all_get_the_right_result() -> None:
    keep = cached_for_row(lambda text: text * 2)
    texts = [str(n % 200) for n in range(4000)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(keep, texts)) == [text * 2 for text in texts]
