"""The rows of a marked test: read once a session, one test each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragassay.core import BadRow, EnvironmentFailure, RagAssayError, Sample, nearest
from ragassay.datasets import open_rows
from ragassay.pytest_plugin.recording import check_recording

_READING = ("mapping", "slices", "format", "make_ids")
_OURS = ("rows", "each", "limit")
_NOT_HERE = {
    "app": "what the test returns is the answer of the application",
    "watch": "a suite shows no progress",
    "tell": "a suite prints what its tests found",
    "replay": "say pytest --ragassay-replay",
}
"""Option of `ragassay.evaluate` -> why the mark does not take it."""
_OF_THE_MACHINE = ("E0103", "E0105", "E0402", "E0416")
"""No recording, no key, a package that is not installed: no slip in the mark, and no reason to keep
the other tests of the session from running.
"""


@dataclass(frozen=True, slots=True)
class Marked:
    """A marked test function: its rows, and the options with which they are judged. each: whether a
    row that fails fails its test; None where that depends on whether another test asserts. unable:
    why nothing can be judged here, "" where it can.
    """

    rows: tuple[Sample | BadRow, ...]
    options: Mapping[str, Any]
    each: bool | None
    unable: str


def marked(metafunc: pytest.Metafunc, mark: pytest.Mark) -> Marked:
    """The rows and options of a mark. A mistake in it is an error of the collection."""
    given = dict(mark.kwargs)
    if mark.args:
        given.setdefault("rows", mark.args[0])
    if len(mark.args) > 1 or given.get("rows") is None:
        _refuse(metafunc, 'the mark takes rows: @pytest.mark.ragassay(rows="rows.jsonl")')
    if "row" not in metafunc.fixturenames:
        _refuse(metafunc, "a test with the mark takes an argument called row")
    options = {name: value for name, value in given.items() if name not in (*_READING, *_OURS)}
    _check_names(metafunc, given)
    unable = _check(metafunc, options)
    if hasattr(metafunc.config, "workerinput"):
        _check_plain(metafunc, options)
    reading = {name: given[name] for name in _READING if name in given}
    try:
        dataset = open_rows(_found(given["rows"], metafunc), **reading)
        rows = tuple(itertools.islice(dataset, given.get("limit")))
    except RagAssayError as error:
        _refuse(metafunc, str(error))
    return Marked(rows, options, given.get("each"), unable)


def _found(rows: object, metafunc: pytest.Metafunc) -> object:
    """A path is looked for beside the test first, then from where pytest was started."""
    if not isinstance(rows, str | Path):
        return rows
    folders = (metafunc.definition.path.parent, metafunc.config.invocation_params.dir)
    candidates = [folder / rows for folder in folders]
    return next((path for path in candidates if path.exists()), candidates[0])


def _check_names(metafunc: pytest.Metafunc, given: Mapping[str, Any]) -> None:
    from ragassay.runs.options import NOT_OPTIONS, declared_options

    known = {*declared_options(), *NOT_OPTIONS, *_OURS} - _NOT_HERE.keys()
    for name in given:
        if name in _NOT_HERE:
            _refuse(metafunc, f"the mark has no option {name!r}: {_NOT_HERE[name]}")
        if name not in known:
            _refuse(metafunc, f"the mark has no option {name!r}.{nearest(name, known)}")


def _check(metafunc: pytest.Metafunc, given: Mapping[str, Any]) -> str:
    """Refuse what `ragassay.evaluate` would not take, before the application is asked anything; why
    this machine cannot judge is returned, "" where it can.
    """
    from ragassay.runs.calibration import with_stored_map
    from ragassay.runs.options import make_options
    from ragassay.runs.plan import make_setup

    config = metafunc.config
    store = config.getoption("--ragassay-store") or given.get("store")
    replay = bool(config.getoption("--ragassay-replay"))
    try:
        if replay:
            check_recording(store)
        options = with_stored_map(make_options({**given, "replay": replay}), store)
        make_setup(options, given.get("metrics"))
    except (RagAssayError, TypeError, ValueError) as error:
        code = getattr(error, "code", "")
        if not isinstance(error, EnvironmentFailure) and code not in _OF_THE_MACHINE:
            _refuse(metafunc, str(error))
        return str(error)
    return ""


def _check_plain(metafunc: pytest.Metafunc, options: Mapping[str, Any]) -> None:
    """A worker of pytest-xdist hands the options on as JSON."""
    try:
        json.dumps(dict(options))
    except (TypeError, ValueError) as error:
        _refuse(
            metafunc,
            f"with pytest-xdist, options of the mark are plain values ({error}); name a metric of"
            " your own as 'module:function'",
        )


def _refuse(metafunc: pytest.Metafunc, message: str) -> None:
    pytest.fail(f"{metafunc.definition.nodeid}: {message}", pytrace=False)


def row_id(row: Sample | BadRow) -> str:
    """The id of the row's test, as the row has it."""
    return row.id
