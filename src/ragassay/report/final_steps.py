"""What a command does at the end of a run: the gates that it checks and the files that it writes.

These steps are stored with the run, so that a resume takes them too.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.core import RagAssayError, SetupError, Summary
from ragassay.report.gate import GateResult, check_gates, parse_gate
from ragassay.report.output_files import check_output_file

_STORED_AS = "command"
"""The key of the steps among what a manifest keeps."""


@dataclass(frozen=True, slots=True)
class FinalSteps:
    """gates: as the user wrote them; min_coverage: 0 to 1; html, junit: files to write."""

    gates: tuple[str, ...] = ()
    min_coverage: float | None = None
    html: Path | None = None
    junit: Path | None = None

    @staticmethod
    def from_options(
        gates: Sequence[str] | None,
        min_coverage: float | None,
        html: Path | None,
        junit: Path | None,
    ) -> FinalSteps:
        """As the options of the command say."""
        return FinalSteps(tuple(gates or ()), min_coverage, html, junit).with_ci_floor()

    def with_ci_floor(self) -> FinalSteps:
        """Where CI is set, gates ask for all rows unless a floor is given."""
        if self.min_coverage is None and self.gates and os.environ.get("CI"):
            return replace(self, min_coverage=1.0)
        return self

    @staticmethod
    def from_manifest(extras: Mapping[str, object]) -> FinalSteps:
        """The steps stored with a run; none, where no command began it. extras: `kept`
        of its manifest."""
        stored = extras.get(_STORED_AS)
        if not isinstance(stored, dict):
            return FinalSteps()
        try:
            return FinalSteps(
                _stored_gates(stored),
                _stored_floor(stored),
                _stored_path(stored, "html"),
                _stored_path(stored, "junit"),
            )
        except (TypeError, ValueError):
            # A program may have stored a value of its own under that name.
            return FinalSteps()

    def to_manifest(self) -> dict[str, object]:
        """As the manifest keeps the steps: {} where there is nothing to check or write. Paths are
        absolute, since a resume may be started in another folder.
        """
        stored: dict[str, object] = {}
        if self.gates:
            stored["gates"] = list(self.gates)
        if self.min_coverage is not None:
            stored["min_coverage"] = self.min_coverage
        for kind, path in self.files():
            stored[kind] = str(path.absolute())
        # An empty entry would change the manifest of every run without steps.
        if not stored:
            return {}
        return {_STORED_AS: stored}

    def files(self) -> Iterator[tuple[str, Path]]:
        """(format, path) of the files to write."""
        if self.html is not None:
            yield "html", self.html
        if self.junit is not None:
            yield "junit", self.junit

    def without(self, newer: FinalSteps) -> FinalSteps:
        """Those of these steps that the newer ones do not replace."""
        steps = self
        if newer.gates:
            steps = replace(steps, gates=())
        if newer.min_coverage is not None:
            steps = replace(steps, min_coverage=None)
        if newer.html:
            steps = replace(steps, html=None)
        if newer.junit:
            steps = replace(steps, junit=None)
        return steps

    def and_also(self, others: FinalSteps) -> FinalSteps:
        """These steps, and of the others what these leave open."""
        floor = others.min_coverage if self.min_coverage is None else self.min_coverage
        merged = FinalSteps(
            self.gates or others.gates, floor, self.html or others.html, self.junit or others.junit
        )
        return merged.with_ci_floor()

    def as_options(self) -> str:
        """As options of the command."""
        options = [f"--gate {shlex.quote(gate)}" for gate in self.gates]
        if self.min_coverage is not None:
            options.append(f"--min-coverage {self.min_coverage:.15g}")
        options += [f"--{kind} {shlex.quote(str(path))}" for kind, path in self.files()]
        return " ".join(options)

    def writable(self, *others: str | Path | None) -> tuple[FinalSteps, list[str]]:
        """The steps without the files that cannot be written any more, and a message for each."""
        steps = self
        messages = []
        for kind, path in self.files():
            try:
                check_output_file(path, *others)
            except SetupError as error:
                messages.append(
                    f"--{kind} {error.where} is stored with the run, but cannot be written now and"
                    f" is left out: {error.why}"
                )
                steps = replace(steps, html=None) if kind == "html" else replace(steps, junit=None)
        return steps, messages

    def check(self, metrics: Sequence[str], *others: str | Path | None) -> None:
        """Refuse, before anything is judged, what could not be checked or written at the end.

        metrics: those that gates may name, where they are known; others: files that must not be
        written over. Raises SetupError.
        """
        if self.min_coverage is not None and not 0 <= self.min_coverage <= 1:
            raise SetupError(
                "E0101",
                "The floor of coverage is a share from 0 to 1.",
                where="--min-coverage",
                why=str(self.min_coverage),
                fix="for example --min-coverage 0.95",
            )
        for gate in self.gates:
            parse_gate(gate, metrics)
        check_output_file(self.html, self.junit, *others)
        check_output_file(self.junit, *others)

    def check_gates(self, summary: Summary) -> GateResult:
        """The result of the gates and of the floor of coverage."""
        return check_gates(summary, self.gates, self.min_coverage)

    def write_files(
        self, export: Callable[[Path, str], object], run_id: str, store: str
    ) -> Iterator[str | RagAssayError]:
        """Write the files, and yield a message or the error for each: one that fails loses neither
        the other nor the result of the gates.

        export: writes the run to a path in a format; store: " --store LOCATION" for commands.
        """
        for kind, path in self.files():
            try:
                export(path, kind)
            except RagAssayError as error:
                if error.code == "E0107":
                    error.fix = (
                        f"ragassay export {run_id}{store} --format {kind} --output FILE writes it"
                        " to another place"
                    )
                yield error
            else:
                yield f"wrote {path}"


def _stored_gates(stored: Mapping[str, object]) -> tuple[str, ...]:
    gates = stored.get("gates")
    if not isinstance(gates, list):
        return ()
    return tuple(map(str, gates))


def _stored_floor(stored: Mapping[str, object]) -> float | None:
    floor = stored.get("min_coverage")
    if floor is None:
        return None
    return float(floor)  # type: ignore[arg-type]


def _stored_path(stored: Mapping[str, object], name: str) -> Path | None:
    if name not in stored:
        return None
    return Path(stored[name])  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ResumedSteps:
    """The final steps of a resume. now: for this resume; lasting: to be stored with the run, also
    where a file cannot be written at the moment; messages: for the user.
    """

    now: FinalSteps
    lasting: FinalSteps
    messages: tuple[str, ...]


def resumed_steps(
    options: FinalSteps, extras: Mapping[str, object], *files: str | Path | None
) -> ResumedSteps:
    """What a resume checks and writes: what its options say, and of the stored steps the others.

    extras: `kept` of the run's manifest; files: that must not be written over.
    """
    stored = FinalSteps.from_manifest(extras).without(options)
    messages = []
    if stored != FinalSteps():
        messages.append(f"Stored with the run: {stored.as_options()}")
    writable, warnings = stored.writable(*files)
    return ResumedSteps(
        options.and_also(writable), options.and_also(stored), (*messages, *warnings)
    )
