"""What the judge's model was asked about a row and what it replied: kept with little space, and
shown again.

The texts of a row and of a rubric are stored elsewhere or part of the package: in a kept message
their places stand instead of them. A rubric that has changed since cannot be shown, and that is
said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ragassay.core import (
    AskedOfRow,
    Call,
    CallFailed,
    ChatCall,
    ChatReply,
    Exchange,
    KeptMessage,
    Manifest,
    Reply,
    RowResult,
    Sample,
    SetupError,
    ShownExchange,
    digest,
)

if TYPE_CHECKING:
    from ragassay.runs.run import Run

MOST_REPLY = 16_000
"""Characters of a reply that are kept."""

MOST_PROMPT = 64_000
"""Characters of a message that are kept beside the row's texts and the rubric."""

_LEAST_TEXT = 60
"""Characters of a text from which its place is kept instead: a shorter one may stand anywhere."""

_RUBRIC = "rubric "
_SHAPES = ("", "question", "phrase", "statement")

# The system part is the same for thousands of calls.
_digests: dict[str, str] = {}
_MOST_DIGESTS = 256


# -- kept


def exchange_of(
    call: Call, reply: Reply, row: int, sample: Sample, rubric: str, judge: str, keys: list[str]
) -> Exchange | None:
    """The exchange as it is kept; None where nothing was sent, or the model is none that chats."""
    if not isinstance(call, ChatCall):
        return None
    if isinstance(reply, CallFailed):
        if reply.kind == "over_budget":
            return None
        text, finish, failure = "", "", reply.message or reply.kind
    elif isinstance(reply, ChatReply):
        text, finish, failure = reply.text, reply.finish, ""
    else:
        return None
    texts = _texts_of(sample)
    return Exchange(
        row,
        judge,
        rubric,
        tuple(keys),
        tuple(_kept(message.role, message.content, texts) for message in call.messages),
        text[:MOST_REPLY],
        max(0, len(text) - MOST_REPLY),
        finish,
        call.model,
        failure,
    )


def _texts_of(sample: Sample) -> dict[str, str]:
    """The longer texts of a row by their place."""
    texts: dict[str, str] = {}
    for number, context in enumerate(sample.contexts or ()):
        texts[f"contexts.{number}"] = context.text
    for name in ("response", "reference", "question"):
        texts[name] = getattr(sample, name) or ""
    return {place: text for place, text in texts.items() if len(text) >= _LEAST_TEXT}


def _kept(role: str, content: str, texts: Mapping[str, str]) -> KeptMessage:
    if role == "system":
        return KeptMessage(role, ("", _RUBRIC + _digest_of(content), ""))
    pieces = [content]
    for place, text in texts.items():
        split: list[str] = []
        # Texts stand at even numbers, places between them.
        for number, piece in enumerate(pieces):
            split += [piece] if number % 2 else _around(piece, text, place)
        pieces = split
    left, cut = MOST_PROMPT, 0
    for number in range(0, len(pieces), 2):
        cut += max(0, len(pieces[number]) - left)
        pieces[number] = pieces[number][:left]
        left -= len(pieces[number])
    return KeptMessage(role, tuple(pieces), cut)


def _around(piece: str, text: str, place: str) -> list[str]:
    parts = piece.split(text)
    split = parts[:1]
    for part in parts[1:]:
        split += [place, part]
    return split


def _digest_of(content: str) -> str:
    known = _digests.get(content)
    if known is None:
        if len(_digests) >= _MOST_DIGESTS:
            _digests.clear()
        known = _digests[content] = digest(content)
    return known


# -- shown


def asked_of(run: Run, row: RowResult) -> AskedOfRow:
    """What was asked about a row of a run, and what was replied; or why that cannot be shown."""
    manifest = run.manifest
    own = run.store.exchanges(run.id, row.index)
    rubrics = _rubric_texts(manifest)
    shown = [_shown(each, row.sample, rubrics) for each in own]
    keys: set[str] = set()
    for score in row.scores:
        keys.update(part.key for part in score.parts if part.key)
    for exchange in own:
        keys.difference_update(exchange.keys)
    for exchange, sample, run_id in _asked_elsewhere(run, row, keys):
        elsewhere = "" if run_id == run.id else run_id
        shown.append(_shown(exchange, sample, rubrics, run_id=elsewhere))
    return AskedOfRow(tuple(shown), "" if shown else _why_nothing(manifest))


def _asked_elsewhere(
    run: Run, row: RowResult, keys: set[str]
) -> Iterator[tuple[Exchange, Sample | None, str]]:
    """Exchanges of other rows and runs that this row's judgments come from, each with its row and
    run.
    """
    fingerprints = frozenset(run.manifest.judge.fingerprints.values())
    store = run.store
    for run_id, index in store.rows_that_asked(sorted(keys)):
        if (run_id, index) == (run.id, row.index):
            continue
        stored = store.exchanges(run_id, index)
        of_judge = [each for each in stored if each.judge in fingerprints]
        found = [each for each in of_judge if not keys.isdisjoint(each.keys)]
        if found:
            asked = store.row_at(run_id, index)
            sample = None if asked is None else asked.sample
            for each in found:
                keys = keys.difference(each.keys)
                yield each, sample, run_id


def _why_nothing(manifest: Manifest) -> str:
    judge = manifest.judge
    if judge.sends_nothing:
        return f"the judge {judge.uri} works on this machine by rules and figures, without a prompt"
    if manifest.options.get("keep_replies") is False:
        return "the run was made with --no-keep-replies, so nothing of it was kept"
    if "keep_replies" not in manifest.options:
        return "the run was made by a version that did not keep replies"
    return "no model was asked about this row: rules decided, or the judgments are older"


def _shown(
    exchange: Exchange, sample: Sample | None, rubrics: Mapping[str, str], run_id: str = ""
) -> ShownExchange:
    texts = dict(rubrics) if sample is None else {**rubrics, **_texts_of(sample)}
    missing: dict[str, None] = {}
    messages: list[tuple[str, str]] = []
    for message in exchange.messages:
        parts: list[str] = []
        for number, piece in enumerate(message.pieces):
            if number % 2 and piece not in texts:
                is_rubric = piece.startswith(_RUBRIC)
                what = f"the rubric {exchange.rubric}" if is_rubric else piece
                missing[f"{what} has changed since, or is not there"] = None
                parts.append(f"[{what}]")
            else:
                parts.append(texts[piece] if number % 2 else piece)
        if message.cut:
            parts.append(f"… [{message.cut:,} more characters were not kept]")
        messages.append((message.role, "".join(parts)))
    reply = exchange.reply
    if exchange.cut:
        reply += f"… [{exchange.cut:,} more characters were not kept]"
    return ShownExchange(
        exchange.rubric,
        tuple(messages),
        reply,
        exchange.finish,
        exchange.model,
        exchange.failure,
        "; ".join(missing),
        run_id,
    )


def _rubric_texts(manifest: Manifest) -> dict[str, str]:
    """The system prompts of today's rubrics by their place."""
    from ragassay.judges import RubricRegistry
    from ragassay.runs.plan import rubric_registry

    files = manifest.options.get("rubrics")
    try:
        registry = rubric_registry([str(file) for file in files] if isinstance(files, list) else [])
    except SetupError:  # a file of the user's is not there any more
        registry = RubricRegistry.default()
    texts: dict[str, str] = {}
    for name in manifest.judge.rubrics:
        try:
            rubric = registry.get(name)
        except SetupError:
            continue
        for shape in _SHAPES:
            text = rubric.system_prompt(shape)
            texts[_RUBRIC + digest(text)] = text
    return texts
