"""What an application returned: question, response and contexts in the forms of the frameworks.

The one place where such forms are known, for the cells of a file and for what a function under
`app=` returns. Read are objects with known names (the table of `names`), LangChain's chains and
documents, LangGraph's and OpenAI's lists of messages, Haystack's results of pipelines (objects of
components), responses of LlamaIndex and what its agents give, and runs of LangSmith, whatever of it
lies inside `output`, `outputs` or `result`. Values are mappings or objects with attributes: a file
has the first, a program may return both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from ragassay.datasets.names import (
    CONTEXT_NAMES,
    QUESTION_NAMES,
    REFERENCE_NAMES,
    RESPONSE_NAMES,
    TEXT_KEYS,
    WRAPPERS,
)

_DEEPEST = 4
"""How deep real outputs nest: a wrapper, a component, its answers, a document."""
_DOCUMENT_IDS = ("id", "doc_id", "document_id", "node_id", "id_")
_TEXT_OF = ("content", "text", "data", "message", "value")
_TEXT_PARTS = ("text", "input_text", "output_text", None)
_ROLES = {
    **dict.fromkeys(("user", "human", "humanmessagechunk"), "user"),
    **dict.fromkeys(("assistant", "ai", "aimessagechunk", "model", "gpt"), "assistant"),
    **dict.fromkeys(("tool", "function", "toolmessagechunk", "file_search_call"), "tool"),
}


class Message(NamedTuple):
    """A message of a conversation. role: user, assistant or tool, "" for another one. artifact:
    what a tool returned beside its text. passages: what a reply says that it rests on.
    """

    role: str
    text: str | None
    artifact: object
    passages: list[object] | None = None


def part(value: object, names: Sequence[str]) -> Any:
    """The first of these keys or attributes that is there; an object's methods are none."""
    is_mapping = isinstance(value, Mapping)
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        is_method = callable(found) and not is_mapping
        if found is not None and not is_method:
            return found
    return None


def question_in(output: object) -> str | None:
    """The question that an output repeats."""
    for value in _levels(output):
        named = text_of(part(value, QUESTION_NAMES))
        if named is not None:
            return named
        messages = messages_in(value)
        if messages:
            return last_question(messages)
        for answer in _answers(value):
            return text_of(part(answer, ("query",)))
    return text_of(output)


def response_in(output: object) -> str | None:
    """The response of an output, None where it has none."""
    if isinstance(output, str):
        return output
    # Several replies to one question: the first is the one that was given.
    if isinstance(output, list | tuple) and output and isinstance(output[0], str):
        return output[0]
    for value in _levels(output):
        named = text_of(part(value, RESPONSE_NAMES))
        if named is not None:
            return named
        messages = messages_in(value)
        if messages:
            return last_reply(messages)
        for answer in _answers(value):
            return text_of(answer)
        for replies in _component_lists(value, "replies"):
            return text_of(replies[0])
        for name in ("choices", "generations"):
            offered = part(value, (name,))
            if isinstance(offered, list | tuple) and offered:
                return _offered_text(offered[0])
    return text_of(output)


def reference_in(output: object) -> str | None:
    """The right answer that an object says, by a name for it or as an output says its response;
    None where it has none.
    """
    named = text_of(part(output, REFERENCE_NAMES))
    return response_in(output) if named is None else named


def responses_in(output: object) -> list[str]:
    """All texts of an output that may be its response: several replies, choices or names; none
    where it has none.
    """
    if isinstance(output, str):
        return [output]
    if isinstance(output, list | tuple) and output and isinstance(output[0], str):
        return _texts(output)
    for value in _levels(output):
        texts = _texts(_responses_at(value))
        if texts:
            return texts
    return _texts([output])


def _responses_at(value: object) -> Iterator[object]:
    """What may be a response in an object, apart from what lies in its wrappers."""
    for name in RESPONSE_NAMES:
        named = part(value, (name,))
        is_list_of_texts = isinstance(named, list | tuple) and all(
            isinstance(each, str) for each in named
        )
        yield from named if is_list_of_texts else [named]
    messages = messages_in(value)
    if messages:
        yield from replies_to_last(messages)
        return
    for answers in _component_lists(value, "answers"):
        built = [unwrapped(answer) for answer in answers]
        yield from [answer for answer in built if part(answer, ("data",)) is not None]
    for replies in _component_lists(value, "replies"):
        yield from replies
    for name in ("choices", "generations"):
        offered = part(value, (name,))
        for choice in offered if isinstance(offered, list | tuple) else ():
            for each in choice if isinstance(choice, list | tuple) else [choice]:
                yield _offered_text(each)


def _texts(values: Iterable[object]) -> list[str]:
    """The texts of these, each once."""
    texts = [text_of(value) for value in values]
    return list(dict.fromkeys([text for text in texts if text is not None]))


def _offered_text(choice: object) -> str | None:
    """The text of the first reply that a model offered, as OpenAI's and LangChain's objects have
    it.
    """
    if isinstance(choice, list | tuple):
        choice = choice[0] if choice else None
    return text_of(part(choice, ("message", "text")))


def contexts_in(output: object) -> Any:
    """What an output says was retrieved, as it stands there; None where it says nothing."""
    for value in _levels(output):
        named = part(value, CONTEXT_NAMES)
        if named is not None:
            return named
        messages = messages_in(value)
        if messages:
            return retrieved_in(messages)
        for answer in _answers(value):
            documents = part(answer, ("documents",))
            if documents is not None:
                return documents
        # Of several components that give documents, the last is nearest to the answer: a ranker
        # stands behind its retriever.
        documents = list(_component_lists(value, "documents"))
        if documents:
            return documents[-1]
        results = _agent_results(value)
        if results:
            return results
        offered = part(value, ("choices",))
        if isinstance(offered, list | tuple) and offered:
            return _passages(part(offered[0], ("message",)))
    return None


def _agent_results(value: object) -> list[object]:
    """What the tools of an agent of LlamaIndex gave: the sources of an answer that a tool made,
    else its text.
    """
    calls = part(value, ("tool_calls",))
    results: list[object] = []
    for call in calls if isinstance(calls, list | tuple) else ():
        output = part(call, ("tool_output",))
        sources = contexts_in(part(output, ("raw_output",)))
        if isinstance(sources, list | tuple) and sources:
            results.extend(sources)
            continue
        said = text_of(part(output, ("content", "blocks")))
        if said:
            results.extend(documents_written(said) or [said])
    return results


def text_of(value: object) -> str | None:
    """The text of an answer, reply or message: itself, or what its object or its parts hold."""
    for _ in range(_DEEPEST):
        if value is None or isinstance(value, str):
            return value
        value = unwrapped(value)
        if isinstance(value, list | tuple):
            return _joined(value)
        value = part(value, _TEXT_OF)
    return None


def _joined(parts: Sequence[object]) -> str | None:
    """The text of a message that is given in parts. Images and the like are passed over: no judge
    reads them.
    """
    texts: list[str] = []
    for item in parts:
        kind = part(item, ("type",))
        text = None if isinstance(item, str) else part(item, ("text",))
        if kind in _TEXT_PARTS and isinstance(text, str):
            texts.append(text)
    return "".join(texts) if texts else None


def document_fields(value: object) -> dict[str, object] | None:
    """An object of a program that holds a text, as LangChain's and Haystack's documents and
    LlamaIndex's nodes do, as the fields of a chunk; None for anything else.
    """
    if value is None or isinstance(value, str | int | float | list | tuple | Mapping):
        return None
    node = getattr(value, "node", None)
    body = part(value, TEXT_KEYS) or part(node, TEXT_KEYS)
    if not isinstance(body, str):
        body = _content_of(node if hasattr(node, "get_content") else value)
    if not isinstance(body, str):
        return None
    own_id = part(value, _DOCUMENT_IDS) or part(node, _DOCUMENT_IDS)
    fields = {
        "text": body,
        "id": own_id,
        "score": part(value, ("score",)),
        "metadata": part(value, ("metadata", "meta")),
    }
    return {name: field for name, field in fields.items() if field is not None}


def _content_of(value: object) -> object:
    """What the method get_content() of a node of LlamaIndex gives; None where it has none."""
    get = getattr(value, "get_content", None)
    if not callable(get):
        return None
    try:
        return get()
    except Exception:  # a stranger's object; what it cannot say is refused where it stands
        return None


def messages_in(value: object) -> list[Message]:
    """The messages of a conversation: a list of them, or an object that has one; none otherwise."""
    if not isinstance(value, list | tuple):
        value = part(value, ("messages",))
    if not isinstance(value, list | tuple) or not value:
        return []
    messages = [_message(item) for item in value]
    return [message for message in messages if message is not None and message.role]


_USAGES = ("usage", "usage_metadata", "token_usage")
_TOKENS = {
    "input_tokens": ("prompt_tokens", "input_tokens", "prompt_token_count"),
    "output_tokens": ("completion_tokens", "output_tokens", "candidates_token_count"),
}
"""Figure -> the names that clients of models have for it."""


def usage_of(value: object) -> object:
    """What an object of a model's client says of its tokens, as it stands there; None where it says
    nothing.
    """
    return part(value, _USAGES)


def tokens_in(output: object) -> dict[str, int]:
    """The tokens of an answer, as "input_tokens" and "output_tokens": what a reply says of itself,
    or all replies together that a conversation has after the user's last turn; {} where nothing
    is said.
    """
    inner = part(output, ("messages",))
    said: list[object] = [output]
    items = inner if inner is not None else output
    if isinstance(items, list | tuple):
        said = []
        for item in items:
            message = _message(item)
            if message is not None and message.role == "user":
                said = []
            else:
                said.append(item)
    tokens: dict[str, int] = {}
    for reply in said:
        for name, number in tokens_of(usage_of(reply)).items():
            tokens[name] = tokens.get(name, 0) + number
    return tokens


def tokens_of(usage: object) -> dict[str, int]:
    """The tokens that a usage object says, by our names."""
    tokens = {}
    for name, names in _TOKENS.items():
        number = part(usage, names)
        if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            tokens[name] = number
    return tokens


def last_question(messages: Sequence[Message]) -> str | None:
    """What the user said last."""
    for message in reversed(messages):
        if message.role == "user":
            return message.text
    return None


def last_reply(messages: Sequence[Message]) -> str | None:
    """What the assistant said after the last turn of the user; None where it said nothing."""
    for message in reversed(messages):
        if message.role == "user":
            return None
        # A message that only calls a tool has no text; the answer is before or after it.
        if message.role == "assistant" and message.text:
            return message.text
    return None


def replies_to_last(messages: Sequence[Message]) -> list[str]:
    """All that the assistant said after the last turn of the user."""
    replies: list[str] = []
    for message in messages:
        if message.role == "user":
            replies = []
        elif message.role == "assistant" and message.text:
            replies.append(message.text)
    return replies


def tool_results(messages: Sequence[Message]) -> list[object] | None:
    """What tools gave after the last turn of the user: their documents, else their texts; None
    where no tool was asked.
    """
    results: list[object] = []
    for message in messages:
        if message.role == "user":
            results = []
        elif message.role == "tool":
            if isinstance(message.artifact, list | tuple) and message.artifact:
                results.extend(message.artifact)
            elif message.text:
                results.extend(documents_written(message.text) or [message.text])
    return results or None


def retrieved_in(messages: Sequence[Message]) -> list[object] | None:
    """What was retrieved for the last reply of a conversation: by tools, else beside the reply."""
    results = tool_results(messages)
    for message in reversed(messages):
        if results is not None or message.role == "user":
            break
        if message.role == "assistant":
            results = message.passages
    return results


def _passages(message: object) -> list[object] | None:
    """The passages that stand beside the text of a reply, as Azure and Open WebUI write them; None
    where there are none. Mere links to sources are no passages.
    """
    given = part(message, ("context", "contexts"))
    may_be_texts = given is not None
    if given is None:
        given = part(message, ("citations", "sources"))
    if isinstance(given, str):
        return (documents_written(given) or [given]) if given.strip() else None
    if isinstance(given, Mapping):
        given = part(given, ("citations", *CONTEXT_NAMES))
    if not isinstance(given, list | tuple):
        return None
    passages: list[object] = []
    for item in given:
        inner = part(item, ("document",)) if isinstance(item, Mapping) else None
        passages += inner if isinstance(inner, list) else [item]
    is_told = all(map(_is_document, passages)) and (
        may_be_texts or not any(isinstance(item, str) for item in given)
    )
    return passages if passages and is_told else None


def documents_written(text: str) -> list[object]:
    """The documents that a tool gave as JSON; none where the text says anything else."""
    if text.lstrip()[:1] not in ("[", "{"):
        return []
    try:
        given = orjson.loads(text)
    except ValueError:
        return []
    if isinstance(given, dict):
        given = part(given, (*CONTEXT_NAMES, "results", "citations"))
    if not isinstance(given, list) or not all(map(_is_document, given)):
        return []
    return given


def _is_document(item: object) -> bool:
    if isinstance(item, dict):
        return isinstance(part(item, TEXT_KEYS), str)
    return isinstance(item, str)


def _levels(output: object) -> Iterator[object]:
    """The output, and what lies in its wrappers, from the outside in."""
    for _ in range(_DEEPEST):
        if output is None or isinstance(output, str):
            return
        yield output
        output = part(output, WRAPPERS)


def _answers(value: object) -> Iterator[object]:
    """The answers that a component of Haystack built: of the object itself or of its parts."""
    for answers in _component_lists(value, "answers"):
        answer = unwrapped(answers[0])
        if part(answer, ("data",)) is not None:
            yield answer


def _component_lists(value: object, name: str) -> Iterator[Sequence[Any]]:
    """The lists of this name that the object or one of its components has, none of them empty."""
    if isinstance(value, list | tuple):
        value = {"answers": value}  # the cell of a column that ends there
    components: list[object] = [value]
    if isinstance(value, Mapping):
        components += list(value.values())[:100]
    for component in components:
        if isinstance(component, Mapping):
            items = component.get(name)
            if isinstance(items, list | tuple) and items:
                yield items


def unwrapped(value: Any) -> Any:
    """The fields of an object that was written by Haystack's to_dict or LangChain's dumpd."""
    if isinstance(value, Mapping):
        for name in ("init_parameters", "kwargs"):
            inner = value.get(name)
            if isinstance(inner, Mapping):
                return inner
    return value


def _message(item: object) -> Message | None:
    """A message in any of the forms in which it is written; None for what is no message."""
    fields = unwrapped(item)
    role = part(item, ("role", "type", "_role", "from"))
    data = part(item, ("data",))
    if isinstance(data, Mapping):  # LangChain's messages_to_dict
        fields = data
    elif fields is not item:  # LangChain's dumpd names the class: ["langchain", ..., "AIMessage"]
        names = part(item, ("id",))
        role = str(names[-1]).removesuffix("Message") if isinstance(names, list) else role
    text = text_of(part(fields, ("content", "_content", "text", "value")))
    if not isinstance(role, str):
        role = getattr(role, "value", None)  # an enumeration
    if not isinstance(role, str):
        return None
    # OpenAI's search in files gives its results as an item of their own.
    artifact = part(fields, ("artifact", "results"))
    return Message(_ROLES.get(role.lower(), ""), text, artifact, _passages(fields))
