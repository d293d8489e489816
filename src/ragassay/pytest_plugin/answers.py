"""The tests of a session that are about rows, and what each of them brought.

A worker of pytest-xdist hands them to the main process as plain values, for the rows of a session
are judged together, wherever they were answered.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from ragassay.core import Sample
from ragassay.pytest_plugin.assertions import Assertion


@dataclass(slots=True)
class HeldTest:
    """A test whose reports are held back until its rows are judged.

    index: place in the collection. group: of the rows that are judged together. answered: the row
    with its answer or its error, None where it brought none. options: of the mark, as JSON can hold
    them; {} for a test that only asserts.
    """

    index: int
    nodeid: str
    location: tuple[str, int | None, str]
    group: str = ""
    reports: list[pytest.TestReport] = field(default_factory=list)
    answered: Sample | None = None
    options: dict[str, Any] = field(default_factory=dict)
    assertions: list[Assertion] = field(default_factory=list)

    @property
    def is_row(self) -> bool:
        """Whether it is about a row, and not about the run."""
        return bool(self.group)

    @property
    def skipped(self) -> bool:
        """Whether it is about a row and was skipped, or failed as expected, before it answered."""
        return self.is_row and self.answered is None and any(one.skipped for one in self.reports)

    @property
    def module(self) -> str:
        """The file that it stands in."""
        return self.nodeid.partition("::")[0]

    def to_json(self, config: pytest.Config) -> dict[str, Any]:
        """As plain values. Raises TypeError for options that JSON cannot hold."""
        from ragassay.store.codec import encode

        reports = []
        for report in self.reports:
            reports.append(config.hook.pytest_report_to_serializable(config=config, report=report))
        return {
            "index": self.index,
            "nodeid": self.nodeid,
            "location": list(self.location),
            "group": self.group,
            "reports": reports,
            "answered": None if self.answered is None else encode(self.answered),
            "options": json.dumps(self.options),
            "assertions": [json.dumps(asdict(assertion)) for assertion in self.assertions],
        }

    @staticmethod
    def from_json(plain: dict[str, Any], config: pytest.Config) -> HeldTest:
        """As `to_json` wrote it."""
        from ragassay.store.codec import decode

        path, line, name = plain["location"]
        answered = plain["answered"]
        assertions = [json.loads(text) for text in plain["assertions"]]
        return HeldTest(
            index=plain["index"],
            nodeid=plain["nodeid"],
            location=(path, line, name),
            group=plain["group"],
            reports=[
                config.hook.pytest_report_from_serializable(config=config, data=report)
                for report in plain["reports"]
            ],
            answered=None if answered is None else decode(Sample, answered),
            options=json.loads(plain["options"]),
            assertions=[Assertion(**{**one, "gates": tuple(one["gates"])}) for one in assertions],
        )
