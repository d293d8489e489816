"""Overlap of a response's wording with a right answer: words, longest common subsequence, n-grams.

Every measure takes `response` and `reference`, is a share in [0, 1], higher is better. It is None
where it is undefined: when the reference holds nothing to find (it is empty, or only punctuation).
A response that holds nothing scores 0. Time and memory grow with the length of the texts, but for
`rouge_l` (see there).

Two ways to cut a text into words:

- `tokens`, for answers: as the SQuAD evaluation does it (Rajpurkar et al. 2016, arXiv:1606.05250),
  in any script.
- `words`, for running text: letters and digits, everything else separates (as ROUGE does it).

Both fold case and compatibility forms (ﬁ is fi, full-width 1 is 1) and drop invisible format
characters. A character of a script that sets no spaces (Chinese, Japanese kana, Thai, Lao, Burmese,
Khmer) is a token of its own. Accents stay: "résumé" is not "resume". Nothing is stemmed; no
language but English loses its articles.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

MAX_WORDS = 100_000
"""`rouge_l` compares the first so many words of either text: half a megabyte of English, about a
second.
"""

_ARTICLES = frozenset(("a", "an", "the"))
SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_GLUE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~’‘ʼ‐‑")
"""SQuAD deletes ASCII punctuation ("don't" is one token, "dont"); these others are the same marks,
better set.
"""


class _Table(dict[int, str | None]):
    """What `str.translate` makes of each character, found out when first met; None deletes it."""

    def __init__(self, glue: frozenset[str]) -> None:
        super().__init__()
        self.glue = glue

    def __missing__(self, code: int) -> str | None:
        char, category = chr(code), unicodedata.category(chr(code))
        replacement: str | None
        if char in self.glue or category == "Cf":
            replacement = None
        elif SPACELESS.match(char) and category[0] in "LNM":
            replacement = f" {char} "
        else:
            replacement = char if category[0] in "LNM" else " "
        self[code] = replacement
        return replacement


_ANSWER, _RUNNING = _Table(_GLUE), _Table(frozenset())
# Python composes a long run of combining marks in quadratic time, so that no run may be long.
_FOREIGN = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,64}")


def compatible(text: str, form: str = "NFKC") -> str:
    """Unicode's compatibility form in linear time: applied to stretches of at most 64 characters
    outside ASCII.
    """
    if text.isascii():
        return text
    return _FOREIGN.sub(lambda match: unicodedata.normalize(form, match[0]), text)  # type: ignore[arg-type]


def tokens(text: str) -> list[str]:
    """The tokens of an answer: lower case, punctuation deleted, "a", "an" and "the" left out.

    On ASCII these are the tokens of the SQuAD evaluation, but that a text of nothing but articles
    keeps them, so that the answer "A" to a multiple choice remains an answer. Other punctuation and
    symbols than ASCII's separate.

    >>> tokens("The U.S. Army doesn't—sadly—pay €3,000."), tokens("東京 Tower")
    (['us', 'army', 'doesnt', 'sadly', 'pay', '3000'], ['東', '京', 'tower'])
    """
    pieces = compatible(text).casefold().translate(_ANSWER).split()
    return [piece for piece in pieces if piece not in _ARTICLES] or pieces


def words(text: str) -> list[str]:
    """The words of running text: stretches of letters, marks and digits in lower case, articles
    included.
    """
    return compatible(text).casefold().translate(_RUNNING).split()


def token_precision(response: str, reference: str) -> float | None:
    """Shared tokens / tokens of the response; a token that is there n and m times is shared min(n,
    m) times.

    >>> token_precision("It is the tall tower.", "a tall tower")
    0.5
    """
    return _shares(tokens(response), tokens(reference))[0]


def token_recall(response: str, reference: str) -> float | None:
    """Shared tokens / tokens of the reference."""
    return _shares(tokens(response), tokens(reference))[1]


def token_f1(response: str, reference: str) -> float | None:
    """Harmonic mean of `token_precision` and `token_recall`: 2 * shared / (tokens of both).
    Symmetric.

    >>> token_f1("tower of London", "London tower")
    0.8
    """
    ours, theirs = tokens(response), tokens(reference)
    if not theirs:
        return None
    return 2 * _shared(ours, theirs) / (len(ours) + len(theirs))


def exact_match(response: str, reference: str) -> float | None:
    """1 when both have the same `tokens` in the same order, else 0."""
    expected = tokens(reference)
    return float(tokens(response) == expected) if expected else None


def gold_token_recall(response: str, references: Iterable[str]) -> float | None:
    """The best `token_recall` over several right answers; None when none of them holds a token.

    From 0.5 on it is a fair verdict on short answers, which long responses wrap in sentences that
    precision and F1 punish.

    >>> gold_token_recall("It opened in Paris in 1889.", ["March 1889", "1889"])
    1.0
    """
    ours = tokens(response)
    recalls = [_shares(ours, tokens(reference))[1] for reference in references]
    return max((recall for recall in recalls if recall is not None), default=None)


def best_of(
    measure: Callable[[str, str], float | None], response: str, references: Iterable[str]
) -> float | None:
    """The best value of a measure over several right answers, those left out for which it is
    undefined.
    """
    values = [measure(response, reference) for reference in references]
    return max((value for value in values if value is not None), default=None)


def rouge_l(response: str, reference: str) -> float | None:
    """ROUGE-L: harmonic mean of LCS / words of the response and LCS / words of the reference.
    Symmetric.

    LCS: the length of the longest common subsequence of the `words` of the whole texts, unstemmed.
    Only the first MAX_WORDS words of either text are compared; time grows with the product of the
    lengths (bit-parallel, so that 10,000 words against 10,000 take some 20 ms), memory with their
    sum. Lin 2004, "ROUGE: A package for automatic evaluation of summaries", with beta = 1.

    >>> rouge_l("police kill the gunman", "police killed the gunman")
    0.75
    """
    ours, theirs = words(response)[:MAX_WORDS], words(reference)[:MAX_WORDS]
    if not theirs:
        return None
    return 2 * _common_subsequence(ours, theirs) / (len(ours) + len(theirs))


def chrf(response: str, reference: str) -> float | None:
    """chrF2: F-measure of shared character n-grams, n = 1 to 6, recall weighing twice as much (beta
    = 2).

    Precision and recall are means over the orders for which both texts have an n-gram; white space
    is left out, case counts. sacrebleu's sentence_chrf / 100. Popovic 2015, "chrF: character n-gram
    F-score for automatic MT evaluation".
    """
    ours, theirs = "".join(response.split()), "".join(reference.split())
    if not theirs:
        return None
    orders = min(6, len(ours), len(theirs))
    precision = recall = 0.0
    for n, shared in enumerate(_shared_ngrams(ours, theirs, orders), 1):
        precision += shared / (len(ours) - n + 1) / orders
        recall += shared / (len(theirs) - n + 1) / orders
    return (
        min(1.0, 5 * precision * recall / (4 * precision + recall)) if precision and recall else 0.0
    )


def bleu(response: str, reference: str) -> float | None:
    """Sentence BLEU: geometric mean of the n-gram precisions, n = 1 to 4, times the brevity
    penalty. Case counts.

    An order without a match counts as 1 / (2^i * n-grams), i = 1 for the first such order
    (smoothing "exp"); orders longer than the response are left out; without a shared word it is 0.
    The penalty is exp(1 - reference / response length) for a response that is shorter. Words are
    cut as mteval-v13a does, which leaves Chinese and Japanese whole. sacrebleu's sentence_bleu /
    100. Papineni et al. 2002; Chen & Cherry 2014 on smoothing.
    """
    ours, theirs = _mteval_words(response), _mteval_words(reference)
    if not theirs:
        return None
    if not ours:
        return 0.0
    logs, misses = 0.0, 0
    orders = min(4, len(ours))
    for n in range(1, orders + 1):
        total = len(ours) - n + 1
        shared = _shared(_ngrams(ours, n), _ngrams(theirs, n))
        if n == 1 and not shared:
            return 0.0
        misses += not shared
        logs += math.log((shared or 0.5**misses) / total)
    penalty = min(0.0, 1 - len(theirs) / len(ours))
    return math.exp(penalty + logs / orders)


def _shares(ours: Sequence[str], theirs: Sequence[str]) -> tuple[float, float] | tuple[None, None]:
    """Precision and recall of the tokens of a response; nothing without tokens of the reference."""
    if not theirs:
        return None, None
    shared = _shared(ours, theirs)
    return (shared / len(ours) if ours else 0.0), shared / len(theirs)


def _shared(ours: Iterable[object], theirs: Iterable[object]) -> int:
    """How many items two multisets share."""
    # A plain loop: Counter's intersection counts both sides before it compares them.
    remaining: dict[object, int] = {}
    for item in theirs:
        remaining[item] = remaining.get(item, 0) + 1
    shared = 0
    for item in ours:
        if count := remaining.get(item):
            remaining[item] = count - 1
            shared += 1
    return shared


def _shared_ngrams(ours: str, theirs: str, orders: int) -> Iterator[int]:
    """How many n-grams of characters two texts share, for n = 1, 2 ... orders.

    An n-gram is one number, made of that of the n-gram before and the next character. Both texts'
    numbers are sorted in one array, the lowest bit says whose each is: n-grams that are there a and
    b times share a + b - |a - b|, halved.
    """
    # Three times as fast as counting strings. Imported here: who compares no n-grams need not load
    # it.
    import numpy as np

    chars = np.frombuffer((ours + theirs).encode("utf-32-le", "surrogatepass"), np.uint32).astype(
        np.int64
    )
    char_bits = gram_bits = int(chars.max()).bit_length() if orders else 0
    grams = chars
    for n in range(1, orders + 1):
        if n > 1:
            # Where the next character would not fit, the n-grams that occur are numbered afresh.
            if gram_bits + char_bits >= _BITS:
                grams = np.unique(grams, return_inverse=True)[1]
                gram_bits = len(grams).bit_length()
            grams = grams[:-1] << char_bits | chars[n - 1 :]
            gram_bits += char_bits
        # The n-grams that run from one text into the other are left out.
        both = np.concatenate((grams[: len(ours) - n + 1] << 1, grams[len(ours) :] << 1 | 1))
        both.sort()
        gram = both >> 1
        first = np.flatnonzero(np.concatenate(([True], gram[1:] != gram[:-1])))
        yield (len(both) - int(np.abs(np.add.reduceat(1 - 2 * (both & 1), first)).sum())) // 2


_BITS = 62
"""Bits of a 64-bit number that an n-gram may take: the sign and the mark of whose it is take one
each.
"""


def _ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[at:] for at in range(n)), strict=False))


_WINDOW = 8192
"""Bits of a window."""


def _common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence.

    Bit-parallel (Crochemore et al. 2001): a bit a word of `first`, a step a word of `second`; a
    cleared bit is one more common word. Windows of bits, with the carries handed from one to the
    next, keep the masks small.
    """
    # The bits are those of the shorter text, which leaves fewer windows.
    if len(first) > len(second):
        first, second = second, first
    common = 0
    carries = bytearray(len(second))
    for start in range(0, len(first), _WINDOW):
        window = first[start : start + _WINDOW]
        masks: dict[str, int] = {}
        for at, word in enumerate(window):
            masks[word] = masks.get(word, 0) | 1 << at
        width = len(window)
        ones = (1 << width) - 1
        row = ones
        for at, word in enumerate(second):
            mask, carry = masks.get(word, 0), carries[at]
            if not mask and not carry:  # the word changes nothing in this window
                continue
            hit = row & mask
            total = row + hit + carry
            row = total & ones | row & ~mask
            carries[at] = total >> width
        common += width - row.bit_count()
    return common


_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_SEPARATE = str.maketrans({char: f" {char} " for char in ' !"#$%&()*+/:;<=>?@[\\]^_`{|}~'})
_STOP_AFTER = re.compile(r"[^0-9][.,]")
_STOP_BEFORE = re.compile(r"[.,][^0-9]")
_DASH = re.compile(r"(?<=[0-9])-")


def _mteval_words(text: str) -> list[str]:
    """The words of mteval-v13a: ASCII symbols apart; stops and commas apart unless between digits;
    dashes after digits.
    """
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for name, char in _ENTITIES.items():
        text = text.replace(name, char)
    text = f" {text} ".translate(_SEPARATE)
    text = _STOP_AFTER.sub(lambda match: f"{match[0][0]} {match[0][1]} ", text)
    text = _STOP_BEFORE.sub(lambda match: f" {match[0][0]} {match[0][1]}", text)
    if "-" in text:
        text = _DASH.sub(" - ", text)
    return text.split()
