"""The user's shell: a folder of their own, in which the command runs as a process."""

from pathlib import Path

import pytest

from support.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder."""
    return Shell(tmp_path)
