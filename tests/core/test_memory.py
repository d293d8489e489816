"""Where there is no room to encode a text, that is said before native code ends the process."""

import resource
import subprocess
import sys

import pytest

from ragassay.core import claim_memory, memory_failure
from ragassay.core.memory import LARGE, RESERVE, TO_WRITE


def test_what_fits_is_claimed_and_given_back() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        claim_memory(10_000_000)  # 160 MB each: kept, or touched, they would show
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 50_000  # kilobytes


def test_what_cannot_fit_is_a_memory_error_that_says_how_much() -> None:
    with pytest.raises(MemoryError, match="no room for") as raised:
        claim_memory(1 << 58)
    assert "--concurrency" in str(memory_failure(raised.value))


def test_under_a_limit_of_address_space_it_is_the_claim_that_fails_and_not_the_encoder() -> None:
    code = f"""
import orjson, resource
from ragassay.core import claim_memory
text = "x" * {LARGE * 100}
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + {RESERVE}
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
try:
    claim_memory(len(text))
except MemoryError:
    print("refused")
claim_memory({LARGE - 1})
"""
    assert TO_WRITE * LARGE * 100 > RESERVE
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout == "refused\n"


def test_a_thread_that_could_not_be_started_is_memory_that_ran_out() -> None:
    # The second is raised by a pool that ends after the first.
    for words in ("can't start new thread", "cannot join thread before it is started"):
        assert "--concurrency" in str(memory_failure(RuntimeError(words)))
    assert memory_failure(RuntimeError("anything else")) is None
