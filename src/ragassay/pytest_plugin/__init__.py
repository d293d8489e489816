"""The plugin for pytest as pytest loads it with every suite: small, and without imports of ours.

A test with the mark `ragassay` runs once for each row of a file, and what it returns is the answer
to the row. All answers are judged together at the end of the session, and what tests with the
fixture `ragassay_run` assert is decided then. All of that is in `session`, which is imported when a
test with the mark or the fixture is there. docs/pytest.md describes it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ragassay.pytest_plugin.assertions import AssertedRun
    from ragassay.pytest_plugin.session import JudgedSession

_MARK = (
    "ragassay(rows, metrics=None, judge='offline', each=None, **options): run the test for each row"
    " and judge what it returns; options as of ragassay.evaluate"
)
_NAME = "ragassay-session"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two options, under names that no other plugin has: pytest-replay took `--replay`."""
    group = parser.getgroup("ragassay")
    group.addoption(
        "--ragassay-store",
        metavar="FILE",
        help="SQLite file of the store [default: $RAGASSAY_STORE or .ragassay/store.db]",
    )
    group.addoption(
        "--ragassay-replay",
        action="store_true",
        help="use recorded judgments alone: one that the store lacks is an error, nothing is sent",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", _MARK)


def _session(config: pytest.Config) -> JudgedSession:
    """The part that does the work, which from now on takes part in the session."""
    found: Any = config.pluginmanager.get_plugin(_NAME)
    if found is None:
        from ragassay.pytest_plugin.session import JudgedSession

        found = JudgedSession(config)
        config.pluginmanager.register(found, _NAME)
    return found  # type: ignore[no-any-return]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each row."""
    if metafunc.definition.get_closest_marker("ragassay") is not None:
        _session(metafunc.config).make_tests(metafunc)


@pytest.fixture
def ragassay_run(request: pytest.FixtureRequest) -> AssertedRun:
    """The run that judges the answers of this session, to assert what it must have shown."""
    return _session(request.config).asserted(request)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Asserting tests come last, and bring their rows along where these were deselected."""
    every = list(items)
    result = yield
    if any("ragassay_run" in getattr(item, "fixturenames", ()) for item in items):
        _session(config).bring_rows(items, every)
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker of pytest-xdist brought."""
    brought = getattr(node, "workeroutput", {}).get("ragassay")
    if brought is not None:
        _session(node.config).take(brought)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Judge when all tests have run."""
    try:
        result = yield
    except BaseException:
        _conclude(session, stopped=True)
        raise
    _conclude(session, stopped=False)
    return result


def _conclude(session: pytest.Session, *, stopped: bool) -> None:
    found: Any = session.config.pluginmanager.get_plugin(_NAME)
    if found is not None:
        found.conclude(session, stopped=stopped)
