"""A retriever of the user's that gives the passages of a level while its system is tested.

The system is run as it is; only the function by which it gets its passages is another one. Which
row a call belongs to is known by the context of the call, so that many rows can be asked at once.
"""

from __future__ import annotations

import copy
import inspect
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import is_dataclass, replace
from typing import Any

from ragassay.core import Context, Sample, SetupError, shorten

_TEXT_FIELDS = ("text", "page_content", "content", "passage", "body")


class Given:
    """The passages that one call of the system is given. calls: how often it asked for them."""

    def __init__(self, contexts: Sequence[Context]) -> None:
        self.contexts = tuple(contexts)
        self.calls = 0

    def check(self) -> None:
        """Raise RuntimeError where the system never asked for its passages."""
        if not self.calls:
            raise RuntimeError("the application did not call its retriever")


class WrappedRetriever:
    """Replaces "module:function" (or "module:object.method") by one that gives planned passages.

    They have the form of what the user's own retriever returns: texts, mappings, or objects with a
    text, in a list, or one text of them all. Raises SetupError E1104 where there is no such
    function.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._owner, self._attribute, self._own = _found(name)
        self._given: ContextVar[Given | None] = ContextVar("ragassay_given", default=None)
        self._form: _Form | None = None
        self._lock = threading.Lock()
        self._replace()

    @contextmanager
    def giving(self, row: Sample) -> Iterator[Given]:
        """A context in which calls of the retriever give the passages of this row."""
        given = Given(row.contexts or ())
        token = self._given.set(given)
        try:
            yield given
        finally:
            self._given.reset(token)

    def restore(self) -> None:
        """Put the user's own retriever back."""
        setattr(self._owner, self._attribute, self._own)

    def _replace(self) -> None:
        if inspect.iscoroutinefunction(self._own):

            async def retrieve_later(*args: Any, **options: Any) -> Any:
                given = self._given.get()
                if given is None:
                    return await self._own(*args, **options)
                if self._form is None or not self._form.is_learnt:
                    self._form = _Form(await self._own(*args, **options))
                return self._give(given)

            setattr(self._owner, self._attribute, retrieve_later)
            return

        def retrieve(*args: Any, **options: Any) -> Any:
            given = self._given.get()
            if given is None:
                return self._own(*args, **options)
            with self._lock:
                if self._form is None or not self._form.is_learnt:
                    self._form = _Form(self._own(*args, **options))
            return self._give(given)

        setattr(self._owner, self._attribute, retrieve)

    def _give(self, given: Given) -> Any:
        given.calls += 1
        assert self._form is not None
        return self._form.of(given.contexts)


class _Form:
    """The form of a retriever's result, learnt from one. Raises TypeError for a result that holds
    no passages that are known.
    """

    def __init__(self, result: Any) -> None:
        self._is_text = isinstance(result, str)
        is_sequence = isinstance(result, Iterable) and not isinstance(result, Mapping | str | bytes)
        if not (is_sequence or self._is_text or result is None):
            raise TypeError(
                f"the retriever returns a {type(result).__name__}; expected a list of passages, or"
                " one text: name a function that returns those"
            )
        self._kind: type[list[Any]] | type[tuple[Any, ...]] = list
        if isinstance(result, tuple):
            self._kind = tuple
        items = list(result) if is_sequence else []
        first = items[0] if items else None
        self._scored = isinstance(first, tuple) and len(first) == 2 and not _is_named(first)
        self._example: Any = first[0] if self._scored and first is not None else first

    @property
    def is_learnt(self) -> bool:
        """Whether there was a passage to learn it from."""
        return self._is_text or self._example is not None

    def of(self, contexts: Sequence[Context]) -> Any:
        """The passages in that form; texts where the retriever found nothing to learn it from."""
        if self._is_text:
            return "\n\n".join(context.text for context in contexts)
        made = []
        for place, context in enumerate(contexts):
            item = self._item(context)
            # Ranked as they are given.
            made.append((item, 1.0 / (1 + place)) if self._scored else item)
        return self._kind(made)

    def _item(self, context: Context) -> Any:
        example = self._example
        if example is None or isinstance(example, str):
            return context.text
        if isinstance(example, Mapping):
            field = _text_field(example.keys())
            return {**example, field: context.text, **_id_of(example, context)}
        field = _text_field([name for name in _TEXT_FIELDS if hasattr(example, name)])
        return _with_text(example, field, context.text)


def _is_named(item: Any) -> bool:
    return hasattr(item, "_replace")


def _with_text(example: Any, field: str, text: str) -> Any:
    """A copy of a passage with another text, also of one that cannot be changed (a named tuple, a
    frozen data class) and of one that shows the text of a node in it. Raises TypeError for others.
    """
    if _is_named(example):
        return example._replace(**{field: text})
    if is_dataclass(example) and not isinstance(example, type):
        try:
            return replace(example, **{field: text})
        except (TypeError, ValueError):
            pass  # the text is no field of its own, or is computed
    item = copy.copy(example)
    try:
        setattr(item, field, text)
    except (AttributeError, TypeError, ValueError):
        node = getattr(item, "node", None)
        if node is None:
            raise TypeError(
                f"the retriever's passages ({type(example).__name__}) take no other {field}"
            ) from None
        own = _text_field([name for name in _TEXT_FIELDS if hasattr(node, name)])
        item.node = _with_text(node, own, text)
    return item


def _id_of(example: Mapping[str, Any], context: Context) -> dict[str, Any]:
    return {"id": context.id} if "id" in example and context.id else {}


def _text_field(names: Any) -> str:
    present = set(names)
    for name in _TEXT_FIELDS:
        if name in present:
            return name
    raise TypeError(
        "the retriever returns passages without a known text field; expected one of"
        f" {', '.join(_TEXT_FIELDS)}"
    )


def _found(name: str) -> tuple[Any, str, Any]:
    """The object that holds a function, the function's name there, and the function."""
    module_name, colon, path = name.partition(":")
    *outer, attribute = path.split(".")
    why = ""
    if colon and attribute:
        try:
            from ragassay.metrics import load

            load(module_name, outer[0] if outer else attribute)
            owner: Any = sys.modules[module_name]
            for part in outer:
                owner = getattr(owner, part)
            function = getattr(owner, attribute)
            if callable(function):
                return owner, attribute, function
            why = f"{attribute} is a {type(function).__name__}"
        except (ImportError, AttributeError) as error:
            why = str(error)
    raise SetupError(
        "E1104",
        "The retriever cannot be found.",
        where=f"--retriever {shorten(name, 60)}",
        why=shorten(why, 200),
        fix="name it as module:function, or module:object.method, as the application calls it",
    )
