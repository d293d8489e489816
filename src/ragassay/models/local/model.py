"""The model behind the URI "local:FOLDER_OR_NAME": a classifier of the user's own.

What it is follows from its files and its settings, and is checked when the run is planned; its
weights are loaded with the first call.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragassay.core import CallError, MatchCall, MatchReply, shorten
from ragassay.models.local.parts import Parts, find_parts
from ragassay.models.offline.cache import SharedCache
from ragassay.models.threaded import ThreadedModel

if TYPE_CHECKING:
    from ragassay.models.local.engine import LocalEngine

_TASKS = ("support", "relevance", "answer")
# Models that stay loaded, so that a second run in this process does not load them again.
_LOADED = 2


class LocalModel(ThreadedModel["LocalEngine"]):
    """The classifier `name`: a folder or a name of the hub, and settings behind "?".

    Cheap to make: nothing is read, fetched or started before it is asked for something. no_network:
    a name of the hub is looked for in the cache only. threads: as of ThreadedModel.
    """

    def __init__(self, name: str, *, no_network: bool = False, threads: int | None = None) -> None:
        super().__init__(f"the model local:{shorten(name, 80)}", _TASKS, threads)
        self._written, self._no_network = name, no_network

    @property
    def uri(self) -> str:
        """ "local:" and the name as it was given."""
        return f"local:{self._written}"

    @cached_property
    def parts(self) -> Parts:
        """What the model is made of. Raises as `find_parts`."""
        return find_parts(self._written, no_network=self._no_network)

    @property
    def version(self) -> str:
        """Hash of the weights, the tokenizer, config.json and how the model is asked: part of every
        fingerprint. The same files in another place have the same one. Raises as `parts`.
        """
        return self.parts.version

    def _load(self) -> LocalEngine:
        return _ENGINES.of(self.parts)

    def _answer(self, call: MatchCall) -> MatchReply:
        if call.task != self.parts.meaning.task:
            raise CallError(
                "bad_request", f"{self._name} judges {self.parts.meaning.task}, not {call.task}"
            )
        return super()._answer(call)


def _load_engine(parts: Parts) -> LocalEngine:
    from ragassay.models.local.engine import load

    return load(parts)


_ENGINES: SharedCache[Parts, LocalEngine] = SharedCache(_load_engine, _LOADED)
