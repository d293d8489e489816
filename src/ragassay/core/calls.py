"""The calls that a judge makes to a model, and the replies: all that judges see of the world."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import orjson

from ragassay.core.fast_init import fast_init
from ragassay.core.judgment import Evidence, Judgment, JudgmentAddress, Spend


@fast_init
@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. role: "system", "user" or "assistant"."""

    role: str
    content: str


@fast_init
@dataclass(frozen=True, slots=True)
class ChatCall:
    """One chat completion. schema: the JSON Schema the reply must follow, sent where the server can
    use it.

    max_tokens: the cap on the reply. temperature None = leave the server's default. seed None =
    none. model: the URI of the model it is for, where several stand behind one door; "" = the only
    one.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, object] | None = None
    schema_name: str = "verdict"
    max_tokens: int = 2048
    temperature: float | None = 0.0
    seed: int | None = None
    model: str = ""
    _schema_text: str = field(default="", init=False, repr=False, compare=False)

    @property
    def schema_text(self) -> str:
        """The schema as JSON, as it is sent; "" where there is none."""
        # Written once: the call is sized, logged and hashed by it.
        if not self._schema_text and self.schema is not None:
            text = orjson.dumps(self.schema, default=dict).decode()
            object.__setattr__(self, "_schema_text", text)
        return self._schema_text


@fast_init
@dataclass(frozen=True, slots=True)
class ChatReply:
    """The model's answer as text. finish: "stop", "length", "refusal", "content_filter" or as the
    server said.
    """

    text: str
    finish: str = "stop"
    model: str = ""
    spend: Spend = field(default_factory=Spend)


@dataclass(frozen=True, slots=True)
class MatchCall:
    """One question to a model that runs here: how well do the passages serve the text?

    task "support": does any of `passages` support the claim `text`? (`question` for reference only)
    task "relevance": does `passages[0]` help to answer the question `text`?
    task "answer": does the answer `passages[0]` answer the question `text`?
    task "facts": which facts of `text` do the passages deny or not hold? (a reader of facts alone;
    the probability is 0 when one is denied, else 1)
    task "similarity": how close in meaning are `text` and each of `passages`? (the mean; no
    probability of a yes)

    model: the URI of the model it is for; "" = the offline model.
    """

    task: Literal["support", "relevance", "answer", "facts", "similarity"]
    text: str
    passages: tuple[str, ...]
    question: str | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class FactFinding:
    """A fact of a text that its passages deny or do not hold.

    rule: which kind of fact ("number", "date", "name", "negation" ...). said: the words of the
    text. found: what the passages say instead; "" where they hold nothing of it.
    """

    rule: str
    said: str
    found: str = ""


@dataclass(frozen=True, slots=True)
class MatchReply:
    """The answer of a model that runs here.

    probability: in [0, 1], of "supported" / "relevant" / "answers it"; for "similarity" the mean
    cosine of the sentence vectors, negative ones as 0. evidence: the sentence(s) of the passages it
    rests on, best first; context = index of the passage. features: the few figures that explain it
    (coverage of words, numbers missing ...), for the rationale. unsupported: of "support", the
    stretches of `text` (start, end) that the passages do not support. findings: of "support", what
    a reader of facts found, that which decides first.
    """

    probability: float
    evidence: tuple[Evidence, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)
    spend: Spend = field(default_factory=Spend)
    unsupported: tuple[tuple[int, int], ...] = ()
    findings: tuple[FactFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class CallFailed:
    """What a judge's flow is sent when a call failed for good. kind as in CallError, or
    "over_budget".
    """

    kind: str
    message: str
    spend: Spend = field(default_factory=Spend)


Call = ChatCall | MatchCall
Reply = ChatReply | MatchReply | CallFailed


@dataclass(frozen=True, slots=True)
class Ask:
    """A judge's flow asks these calls; it is sent a tuple of Replies in the same order."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Keep:
    """A judge's flow settles these Judgments now (they are made durable); it is sent ().

    Each Request is settled exactly once: by a Keep or by the flow's return value. beside: the
    Judgments are those of other judges that this one asks (their fingerprints say which): made
    durable, they settle nothing.
    """

    judgments: tuple[Judgment, ...]
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Recall:
    """A judge's flow asks for the Judgments at these addresses; it is sent those that are there."""

    addresses: tuple[JudgmentAddress, ...]


JudgeFlow = Generator[Ask | Keep | Recall, tuple[Reply, ...], tuple[Judgment, ...]]
"""Only a flow that yields a Recall has to know that Judgments are sent then."""
