"""Who drives a judge's flows over real HTTP, without runner, store or retries? One loop, for tests
of the judge alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing

from ragassay.core import Ask, ChatCall, Judgment, Keep, Reply, Request
from ragassay.judges import LLMJudge
from ragassay.models import connect


async def _drive(
    asked: Sequence[tuple[LLMJudge, tuple[Request, ...]]], url: str
) -> list[tuple[list[Judgment], list[ChatCall]]]:
    model = connect("openai:mock", base_url=url, concurrency=16)

    async def one(
        by: LLMJudge, group: tuple[Request, ...]
    ) -> tuple[list[Judgment], list[ChatCall]]:
        kept, calls = list[Judgment](), list[ChatCall]()
        flow = by.answer(group)
        with closing(flow):
            try:
                step = next(flow)
                while True:
                    replies: tuple[Reply, ...] = ()
                    if isinstance(step, Keep):
                        kept += step.judgments
                    else:
                        assert isinstance(step, Ask)
                        calls += [call for call in step.calls if isinstance(call, ChatCall)]
                        replies = tuple([await model.call(call) for call in step.calls])
                    step = flow.send(replies)
            except StopIteration as end:
                kept += end.value
        return kept, calls

    try:
        return list(await asyncio.gather(*(one(by, group) for by, group in asked)))
    finally:
        await model.close()


def drive(
    asked: Sequence[tuple[LLMJudge, tuple[Request, ...]]], url: str
) -> list[tuple[list[Judgment], list[ChatCall]]]:
    """Each group answered over real HTTP: its Judgments, each Request's exactly once, and the
    calls.
    """
    done = asyncio.run(_drive(asked, url))
    for (_, group), (kept, _) in zip(asked, done, strict=True):
        assert sorted(j.key for j in kept) == sorted({r.key for r in group})
    return done
