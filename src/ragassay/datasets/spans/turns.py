"""Turns of users out of the spans of a trace: question, response, contexts, error, session, tokens.

A trace is one turn, but where its root only holds several that each have a question and an answer
of their own. A user's message outranks a retrieval's query, which may be a condensed one. Every
field says where it was read; what is missing says why. The same spans give the same turns in
whatever order they arrive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from ragassay.datasets.names import TEXT_KEYS
from ragassay.datasets.outputs import part, question_in, response_in
from ragassay.datasets.spans import names
from ragassay.datasets.spans.answers import as_json, joined, named_number
from ragassay.datasets.spans.calls import asked_in_call, is_call
from ragassay.datasets.spans.documents import Found, Retrieval, contexts_of, unread_outputs
from ragassay.datasets.spans.figures import figures_of
from ragassay.datasets.spans.messages import answered, asked, variables
from ragassay.datasets.spans.span import Span, parsed
from ragassay.datasets.spans.tree import everything, forest, outermost

# What frameworks of Python log of objects that are no JSON: "ChatMessage(_role=...", "<TextNode(".
_PRINTED_OBJECT = re.compile(r"<?[A-Z]\w*\(\w+=")
_APPLICATION = ("AGENT", "CHAIN")
_RETRIEVING = ("RETRIEVER", "RERANKER")
_ENVELOPE = frozenset({"inputs", "outputs", "tags", "metadata", "kwargs"})
_LONG = 20
"""Characters that a question does not share with an answer before it by chance."""
_NANOSECONDS = 1e9
_LONGEST = 10**18
"""Nanoseconds, some thirty years: beyond them the value is damage and no duration."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a user. start: nanoseconds since 1970. latency: seconds. contexts: None where
    they are not known. error: what the turn failed with, where it has no response; failed: also
    where it has one. sources: field -> where it was read. missing: field -> why it
    is not there, as `missing.remedy` takes it. scope: the library that wrote the spans.
    retrievals: each with its own query. unread: name of a span -> what it gave, where that may be
    the contexts and none are known.
    """

    question: str | None
    response: str | None
    contexts: list[Any] | None
    error: str | None
    session: str | None
    figures: Mapping[str, float]
    start: int
    latency: float | None
    scope: str
    ended: bool
    sources: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    retrievals: tuple[Retrieval, ...] = ()
    failed: str | None = None
    unread: Mapping[str, object] = field(default_factory=dict)


def turns_of(spans: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """The turns of a trace, in order of time. None where its spans are no turn of a user: those of
    indexing and of embeddings.
    """
    roots = _from_the_root(_without_checks(forest(spans)))
    if not _is_application(roots):
        return []
    session = _session(roots)
    return [_turn(part, session) for part in _parts(roots)]


def fields_of_spans(spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Those of question, response, contexts, error and cluster that the spans say, as one turn;
    nothing of mere pieces of one.
    """
    roots = _from_the_root(_without_checks(forest(spans)))
    if all(map(_is_piece, roots)):
        return {}
    turn = _turn(roots, None)
    said = {
        "question": turn.question,
        "response": turn.response,
        "contexts": turn.contexts,
        "error": turn.error,
        "cluster": turn.session,
    }
    return {name: value for name, value in said.items() if value is not None}


def unread_of_spans(spans: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Name of a span -> what it gave, as `Turn.unread` of the spans as one turn."""
    roots = _from_the_root(_without_checks(forest(spans)))
    return dict(_turn(roots, None).unread) if roots else {}


_CHECKS = ("EVALUATOR", "GUARDRAIL")


def _without_checks(roots: Sequence[Span]) -> list[Span]:
    """The forest without what checks the turn: what an evaluator asks a model, and what that says,
    are neither its question nor its answer. Those of a guardrail neither, where a model is asked
    outside of it: a guardrail may also hold the application's own call.
    """
    found = outermost(roots, lambda span: span.kind in (*_CHECKS, "LLM"))
    is_asked_outside = any(span.kind == "LLM" for span in found)
    left_out = _CHECKS if is_asked_outside else _CHECKS[:1]
    for span in everything(roots):
        span.children[:] = [child for child in span.children if child.kind not in left_out]
    return [span for span in roots if span.kind not in left_out]


def _from_the_root(roots: Sequence[Span]) -> list[Span]:
    """The forest with what has no parent before what waits for one that did not arrive."""
    return sorted(roots, key=lambda span: bool(span.parent))


def _is_application(roots: Sequence[Span]) -> bool:
    """Whether anything was asked here: a model, an agent, a retriever; or a chain was run that was
    given a text and gave one, or failed before it asked anything of them. A retrieval whose parent
    did not come is a piece of a turn, which nobody can tell from it.
    """
    chains: list[Span] = []
    for span in everything([root for root in roots if not _is_piece(root)]):
        if span.kind in ("LLM", "AGENT", "RETRIEVER", "RERANKER"):
            return True
        if span.kind == "CHAIN":
            chains.append(span)
    for span in chains[:1]:
        has_ended = span.error is not None or _response_of(span) is not None
        # Who puts @ragassay.trace on a function says that it is asked.
        is_told = span.scope.startswith(names.OWN_SCOPE)
        return (has_ended or is_told) and bool(_question_of(span))
    return False


def _is_piece(root: Span) -> bool:
    return bool(root.parent) and root.kind in (*_RETRIEVING, "TOOL")


def _parts(roots: Sequence[Span]) -> list[list[Span]]:
    """The spans of each turn, as a forest."""
    turns = [root for root in roots if _is_turn(root)]
    if len(turns) < 2:
        return _parts_of_one(roots)
    if not _are_requests(turns):
        return [list(roots)]
    parts = [[root] for root in turns]
    for root in roots:
        if root not in turns:
            # A piece whose parent did not come belongs to what began before it.
            before = sum(turn.start <= root.start for turn in turns)
            parts[max(0, before - 1)].append(root)
    return list(chain.from_iterable(map(_parts_of_one, parts)))


def _is_turn(root: Span) -> bool:
    """Whether a root was asked and answered, or failed, and asked a model or a retriever itself."""
    if root.kind in (*_RETRIEVING, "TOOL") or not _holds([root], ("AGENT", "LLM", *_RETRIEVING)):
        return False
    exchange = _exchange([root])
    return exchange.question is not None and exchange.has_ended


def _are_requests(turns: Sequence[Span]) -> bool:
    """Whether roots are turns, and not the steps of one whose own root did not come: they are of
    different sessions, or what came from outside and says nothing itself, as a web server's span.
    """
    sessions = [_session([turn]) for turn in turns]
    if None not in sessions and len(set(sessions)) == len(turns):
        return True
    if any(turn.parent and (_says(turn) or turn.kind) for turn in turns):
        return False
    return _is_each_asked_anew([_exchange([turn]) for turn in turns])


def _parts_of_one(roots: Sequence[Span]) -> list[list[Span]]:
    """The spans of each turn below one root. Several turns lie in one root that says nothing
    itself, and each of them was asked something else, that no turn before it had answered. Each
    asks a model; where nothing in the root does, they are calls of one function that retrieves.
    """
    whole = [list(roots)]
    if len(roots) != 1 or _says(roots[0]) or roots[0].kind == "LLM":
        return whole
    parts = [[span] for span in outermost(roots, lambda span: span.kind in _APPLICATION)]
    if parts and parts[0][0] is roots[0]:
        parts = [[span] for span in outermost(roots[0].children, _is_said_application)]
    spans = [span for (span,) in parts]
    exchanges = [_exchange_of(span) for span in spans]
    is_apart = len(parts) > 1 and _is_each_asked_anew(exchanges) and _are_turns(spans, roots)
    return parts if is_apart else whole


class _Exchange(NamedTuple):
    """What was asked and answered. has_ended: it was answered, or failed."""

    question: str | None
    response: str | None
    has_ended: bool
    session: str | None


def _exchange(spans: Sequence[Span]) -> _Exchange:
    """What a forest was asked and answered, in its root or in the application inside it."""
    question = response = None
    has_failed = False
    for span in _entries(spans):
        question = question or _question_of(span)
        response = _response_of(span) if response is None else response
        has_failed = has_failed or span.error is not None
    return _Exchange(question, response, response is not None or has_failed, _session(spans))


def _exchange_of(span: Span) -> _Exchange:
    """What a span itself was asked and answered."""
    response = _response_of(span)
    has_ended = response is not None or span.error is not None
    return _Exchange(_question_of(span), response, has_ended, _session([span]))


def _is_each_asked_anew(exchanges: Sequence[_Exchange]) -> bool:
    """Whether each was asked and answered, and asked something that none of its session before it
    was asked or had answered. A step is asked what the one before it answered, perhaps among other
    words ("Carry out this plan: ...").
    """
    known: dict[str | None, set[str]] = {}
    for exchange in exchanges:
        question, texts = exchange.question, known.setdefault(exchange.session, set())
        if question is None or not exchange.has_ended or question in texts:
            return False
        if any(len(text) >= _LONG and text in question for text in texts):
            return False
        texts |= {question, exchange.response or ""}
    return True


def _are_turns(spans: Sequence[Span], roots: Sequence[Span]) -> bool:
    """Whether spans that were asked and answered may be turns of a user, and are not the steps of
    one.
    """
    models = ("LLM", "AGENT")
    if all(_holds([span], models) for span in spans):
        return True
    is_one_function = len({span.name for span in spans}) == 1
    return (
        is_one_function
        and not _holds(roots, models)
        and all(_holds([span], _RETRIEVING) for span in spans)
    )


def _holds(spans: Sequence[Span], kinds: Sequence[str]) -> bool:
    return any(span.kind in kinds for span in everything(spans))


def _is_said_application(span: Span) -> bool:
    return span.kind in _APPLICATION and _says(span)


def _says(span: Span) -> bool:
    """Whether a span has an input or an output of its own."""
    return span.value(names.INPUTS) is not None or span.value(names.OUTPUTS) is not None


def _turn(spans: Sequence[Span], session: str | None) -> Turn:
    if len(spans) > 1 and sum(map(_is_turn, spans)) > 1:
        return _mixed(spans)
    found = contexts_of(spans)
    question, asked_at = _question(spans, found)
    response, answered_at = _response(spans)
    sources = {"question": asked_at, "response": answered_at, "contexts": found.source}
    error = _error(spans)
    missing: dict[str, str] = {}
    if question is None:
        missing["question"] = _why_missing(spans, names.INPUTS)
    if response is None and error is None:
        missing["response"] = _why_missing(spans, names.OUTPUTS)
    # A turn that failed may have done so before anything was retrieved: nothing has to be set.
    if found.documents is None and (response is not None or error is None):
        missing["contexts"] = found.missing
    first = spans[0]
    return Turn(
        question,
        response,
        found.documents,
        error if response is None else None,
        _session(spans) or session,
        figures_of(spans),
        first.start,
        _seconds(first),
        _scope(spans),
        bool(first.end) and not first.parent,
        {name: source for name, source in sources.items() if source},
        missing,
        found.retrievals,
        error,
        {} if found.documents is not None else unread_outputs(spans),
    )


def _mixed(spans: Sequence[Span]) -> Turn:
    """What roots say that may be steps of one turn or turns of their own: of neither is it known
    what was asked and answered.
    """
    first = spans[0]
    return Turn(
        question=None,
        response=None,
        contexts=None,
        error=None,
        session=_session(spans),
        figures=figures_of(spans),
        start=first.start,
        latency=None,
        scope=_scope(spans),
        ended=False,
        missing=dict.fromkeys(("question", "response", "contexts"), "no root"),
    )


def _why_missing(spans: Sequence[Span], keys: Sequence[str]) -> str:
    """Why a field is not there, as `missing.remedy` takes it: what is recorded in a form that is
    not read must not be taken for hidden.
    """
    is_recorded = any(span.value(keys) is not None for span in _entries(spans))
    return "no known form" if is_recorded else "no content"


def _seconds(span: Span) -> float | None:
    """How long a span took."""
    took = span.end - span.start
    return took / _NANOSECONDS if span.end and 0 <= took < _LONGEST else None


def _scope(spans: Sequence[Span]) -> str:
    """The library that wrote the first span of an application."""
    fallback = ""
    for span in everything(spans):
        if span.scope and span.kind:
            return span.scope
        fallback = fallback or span.scope
    return fallback


def _session(spans: Sequence[Span]) -> str | None:
    for span in everything(spans):
        value = span.value(names.SESSIONS)
        if isinstance(value, str | int) and str(value):
            return str(value)
    return None


def _error(spans: Sequence[Span]) -> str | None:
    """What the turn failed with: its first span, or that which stands for it."""
    for span in _entries(spans):
        if span.error is not None:
            return span.error
    return None


def _entries(spans: Sequence[Span]) -> Iterator[Span]:
    """The first root, then the spans of an application in it, from the outside in, until one says
    something: a root may be the span of a web server, or an agent that records nothing itself.

    None where the root has not arrived and several spans wait for their parents: what a step in
    the middle was given is not what the user said.
    """
    holder = spans[0]
    if holder.parent and len(spans) > 1:
        return
    yield holder
    while not _says(holder):
        inner = [span for span in holder.children if span.kind in _APPLICATION]
        if len(inner) != 1:
            return
        holder = inner[0]
        yield holder


def _question(spans: Sequence[Span], found: Found) -> tuple[str | None, str]:
    """(what the user asked, where it was read)."""
    for span in _entries(spans):
        text = _question_of(span)
        if text:
            return text, f"{_source_of_question(span)} of {_place(span, spans)}"
    text = _asked_of_all_steps(spans)
    if text:
        return text, "what each step was asked"
    text, source = _question_in_first_prompt(spans, found)
    if text:
        return text, source
    for span in everything(spans):
        for name, text in variables(span).items():
            if name in names.QUESTION_VARIABLES:
                return text, f"the prompt's variable {name}"
    for span in outermost(spans[0].children, _is_said_application):
        text = _question_of(span)
        if text:
            return text, f"{_source_of_question(span)} of the first step"
        break
    queries = dict.fromkeys(one.query for one in found.retrievals if one.query)
    if len(queries) == 1:
        return next(iter(queries)), "the query of the retrieval"
    # Of an agent that searches for several things none is what the user asked.
    return None, ""


def _asked_of_all_steps(spans: Sequence[Span]) -> str | None:
    """What several steps in a root that says nothing were all asked: the same question."""
    if spans[0].parent or _says(spans[0]):
        return None
    steps = list(outermost(spans[0].children, _is_said_application))
    return _only({_question_of(step) or "" for step in steps}) if len(steps) > 1 else None


def _question_in_first_prompt(spans: Sequence[Span], found: Found) -> tuple[str | None, str]:
    first = next(filter(_is_asked, _models(spans)), None)
    text = None if first is None else _first_asked(first)
    if first is None or not text:
        return None, ""
    filled_with = _filled_with(text, spans, first)
    if filled_with:
        return filled_with, "what the first prompt was filled with"
    if _is_filled_prompt(text, found):
        return None, ""
    return text, "the first message of a user to a model"


def _models(spans: Sequence[Span]) -> Iterator[Span]:
    return outermost(spans, lambda span: span.kind == "LLM")


def _is_asked(model: Span) -> bool:
    """Whether the call of a model says what it was asked. A framework's own step before the call
    (LlamaIndex's _prepare_chat_with_tools), which is a span of the same kind, does not.
    """
    return any(_question_of(span) for span in everything([model]))


def _place(span: Span, spans: Sequence[Span]) -> str:
    if span is not spans[0]:
        return "the agent"
    is_waiting = bool(span.parent) and span.holder is None
    return "the outermost span, whose parent did not come" if is_waiting else "the root"


def _first_asked(span: Span) -> str | None:
    """The user's message to the first call of a model: the wrapper around the call may have lost
    it.
    """
    for each in everything([span]):
        text = _plain(asked(each))
        if text:
            return text
    return None


def _filled_with(prompt: str, spans: Sequence[Span], model: Span) -> str | None:
    """The only text, of what the root was given and of the variables of the first call of a model,
    that stands in its prompt; None where none or several do. Of {"q": "And for dogs?", "history":
    []} it is "And for dogs?" in the prompt "Rewrite: And for dogs?".
    """
    given: dict[str, Any] = {}
    for span in everything([model]):
        given |= variables(span)
    for span in _entries(spans):
        value = _out_of(span.value(names.INPUTS), "inputs")
        given |= value if isinstance(value, dict) else {}
    held: set[str] = set()
    for name, text in given.items():
        is_context = name in names.CONTEXT_VARIABLES
        # One word, as a language or a mode, may stand in a question that it has nothing to do with.
        if isinstance(text, str) and not is_context and " " in text.strip() and text in prompt:
            held.add(text)
    return _only(held)


def _is_filled_prompt(text: str, found: Found) -> bool:
    """Whether a message is a template that was filled with what was retrieved; where nothing was,
    with the retrieval's query.
    """
    for document in found.documents or ():
        chunk = part(document, TEXT_KEYS) if isinstance(document, Mapping) else document
        if isinstance(chunk, str) and chunk and chunk in text:
            return True
    queries = [retrieval.query for retrieval in found.retrievals if retrieval.query]
    if found.documents or len(queries) != 1:
        return False
    return queries[0] in text and queries[0] != text


def _question_of(span: Span) -> str | None:
    """What a span was asked, in its input or its messages."""
    value = span.value(names.INPUTS)
    text = _text_asked(value)
    if text is None and isinstance(value, dict) and len(value) == 1:
        # The only argument of a function, by whatever name.
        (only,) = value.values()
        text = _text_asked(only)
    if text is None or not _plain(text):
        text = asked(span)
    return _plain(text)


def _text_asked(value: Any) -> str | None:
    value = _out_of(value, "inputs")
    if isinstance(value, str):
        return value
    if is_call(value):
        return asked_in_call(value)
    text = question_in(value)
    return _asked_of_components(value) if text is None else text


def _asked_of_components(value: Any) -> str | None:
    """What a pipeline of Haystack was asked, by the names of its components' inputs, or as the only
    text that they were given: {"data": {"embedder": {"text": "Q?"}, "prompt": {"q": "Q?"}}}.
    """
    data = value.get("data") if isinstance(value, dict) else None
    named: dict[str, set[str]] = {}
    for name, text in _inputs_of_components(data):
        # One word is a language or a mode, and no question.
        if isinstance(text, str) and (name in names.QUESTION_VARIABLES or " " in text.strip()):
            named.setdefault(name, set()).add(text)
    for name in names.QUESTION_VARIABLES:
        if name in named:
            return _only(named[name])
    return _only(set().union(*named.values()))


def _inputs_of_components(data: Any) -> Iterator[tuple[str, Any]]:
    """The inputs of all components, which may also stand without the components' names."""
    for name, given in data.items() if isinstance(data, dict) else ():
        if isinstance(given, dict):
            yield from given.items()
        else:
            yield name, given


def _only(texts: set[str]) -> str | None:
    return next(iter(texts)) if len(texts) == 1 else None


def _out_of(value: Any, name: str) -> Any:
    """What OpenLLMetry wraps together with tags and metadata: {"inputs": ..., "tags": [] ...}."""
    if isinstance(value, dict) and name in value and value.keys() <= _ENVELOPE:
        return value[name]
    return value


def _source_of_question(span: Span) -> str:
    return span.source(names.INPUTS) or span.source(names.INPUT_MESSAGES) or "messages"


def _plain(text: object) -> str | None:
    """A text that somebody wrote: not an empty one, nor an object as Python prints it, nor an empty
    envelope of JSON.
    """
    if not isinstance(text, str) or not text.strip() or _PRINTED_OBJECT.match(text):
        return None
    if text == names.HIDDEN:
        return None
    inner = parsed(text)
    if isinstance(inner, dict):
        return question_in(inner) or None
    return text


def _response(spans: Sequence[Span]) -> tuple[str | None, str]:
    """(what the user was answered, where it was read)."""
    for span in _entries(spans):
        text = _response_of(span)
        if text is None:
            text = named_number(_output_of(span))
        if text is not None:
            name = span.source(names.OUTPUTS) or span.source(names.OUTPUT_MESSAGES) or "messages"
            return text, f"{name} of {_place(span, spans)}"
    # What a model said before the turn failed, such as a query in other words, was shown to nobody.
    if _error(spans) is not None:
        return None, ""
    for span in reversed(list(_models(spans))):
        for each in everything([span]):
            text = _response_of(each)
            if text is not None:
                return text, "the last answer of a model"
        if span.error is not None:
            return None, ""  # what an earlier call gave was input to this one, and no answer
    return _response_as_json(spans)


def _response_as_json(spans: Sequence[Span]) -> tuple[str | None, str]:
    """As `_response`, of an application that gave JSON under names that are not known: the user, or
    a program, was given it as it is.
    """
    # What indexing gave is no answer.
    for span in _entries(spans) if _is_application(spans) else ():
        text = as_json(_output_of(span)) if span.kind in ("", *_APPLICATION) else None
        if text is not None:
            return text, f"{span.source(names.OUTPUTS)} of {_place(span, spans)}, as JSON"
    return None, ""


def _output_of(span: Span) -> Any:
    return _out_of(span.value(names.OUTPUTS), "outputs")


def _response_of(span: Span) -> str | None:
    """What a span gave as an answer."""
    if span.kind == "LLM":
        text = answered(span)
        if text is not None:
            return text
    value = _output_of(span)
    if isinstance(value, list) and span.kind in _RETRIEVING:
        return None  # documents
    text = value if isinstance(value, str) else joined(value)
    if text is None:
        text = response_in(value)
    if isinstance(text, str) and not _PRINTED_OBJECT.match(text) and text != names.HIDDEN:
        return text
    return answered(span)
