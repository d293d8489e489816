"""An exchange: what a judge's model was sent about a row, and what it replied, as it is kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A chat message without the texts that are stored elsewhere.

    pieces: in turn a text that stands here, and the place of one that stands elsewhere:
    "contexts.0", "response" ... of the row, or "rubric DIGEST" for the part that is the rubric's.
    cut: characters that were left out at the end.
    """

    role: str
    pieces: tuple[str, ...]
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call to a judge's model with its reply.

    row: index of the row that asked. judge: fingerprint of the judge for this rubric, keys: of the
    Requests that the call is about, as in their Judgments. reply: the raw reply, of which `cut`
    characters were left out at the end. failure: why there is none. model: where one judge asks
    several.
    """

    row: int
    judge: str
    rubric: str
    keys: tuple[str, ...]
    messages: tuple[KeptMessage, ...]
    reply: str = ""
    cut: int = 0
    finish: str = ""
    model: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ShownExchange:
    """An exchange with its messages whole again, as far as that is possible.

    messages: (role, text). missing: why a part of them cannot be shown, "" where all is there.
    run_id: the run that asked, where that is another one.
    """

    rubric: str
    messages: tuple[tuple[str, str], ...]
    reply: str
    finish: str = ""
    model: str = ""
    failure: str = ""
    missing: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class AskedOfRow:
    """What was asked about a row. why: where nothing can be shown, the reason."""

    exchanges: tuple[ShownExchange, ...] = ()
    why: str = ""
