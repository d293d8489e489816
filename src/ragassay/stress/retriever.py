"""A retriever of the user's that gives the passages of a level while its system is tested.

The system is run as it is; only the function by which it gets its passages is another one. Which
row a call belongs to is known by the context of the call, so that many rows can be asked at once.
"""

from __future__ import annotations

import copy
import inspect
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
    text. Raises SetupError E1104 where there is no such function.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._owner, self._attribute, self._own = _found(name)
        self._given: ContextVar[Given | None] = ContextVar("ragassay_given", default=None)
        self._form: Any = None
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
                if self._form is None:
                    self._form = _Form(await self._own(*args, **options))
                return self._give(given)

            setattr(self._owner, self._attribute, retrieve_later)
            return

        def retrieve(*args: Any, **options: Any) -> Any:
            given = self._given.get()
            if given is None:
                return self._own(*args, **options)
            with self._lock:
                if self._form is None:
                    self._form = _Form(self._own(*args, **options))
            return self._give(given)

        setattr(self._owner, self._attribute, retrieve)

    def _give(self, given: Given) -> Any:
        given.calls += 1
        form: _Form = self._form
        return form.of(given.contexts)


class _Form:
    """The form of a retriever's result, learnt from one."""

    def __init__(self, result: Any) -> None:
        self._kind: type[list[Any]] | type[tuple[Any, ...]] = list
        if isinstance(result, tuple):
            self._kind = tuple
        items = list(result) if isinstance(result, list | tuple) else []
        self._scored = bool(items) and isinstance(items[0], tuple) and len(items[0]) == 2
        self._example: Any = None
        if items:
            self._example = items[0][0] if self._scored else items[0]

    def of(self, contexts: Sequence[Context]) -> Any:
        """The passages in that form; texts where the retriever found nothing to learn it from."""
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
        item = copy.copy(example)
        setattr(item, field, context.text)
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
