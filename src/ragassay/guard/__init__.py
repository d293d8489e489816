"""Guards for a running application: contexts, questions and answers judged before they are used.

    import ragassay

    @ragassay.guard.context_filter("context_relevance", at_least=0.5, on_error="pass",
                                   deadline_ms=200)
    def retrieve(question): ...

    @ragassay.guard.block_output("groundedness", at_least=0.5, on_error="block", deadline_ms=500)
    def answer(question): ...

    ragassay.guard.warm()   # once, when the application starts

What a guard does where the judge gives no verdict in time has no default: `on_error` and
`deadline_ms` are always named. A guard judges like `ragassay.judge` and writes nothing to a store.
The door is light: each name is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.guard.declared import block_input, block_output, context_filter, stream, warm
    from ragassay.guard.fields import GuardedCall
    from ragassay.guard.guards import Guard
    from ragassay.guard.result import Blocked, ChunkResult, GuardResult

__all__ = [
    "Blocked",
    "ChunkResult",
    "Guard",
    "GuardResult",
    "GuardedCall",
    "block_input",
    "block_output",
    "context_filter",
    "stream",
    "warm",
]

__getattr__ = lazy_names(
    __name__,
    {
        "declared": ("block_input", "block_output", "context_filter", "stream", "warm"),
        "fields": ("GuardedCall",),
        "guards": ("Guard",),
        "result": ("Blocked", "ChunkResult", "GuardResult"),
    },
)
