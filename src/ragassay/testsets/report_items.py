"""The questions of a test set, one by one, to be looked at beside its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.core import shorten
from ragassay.runs.report_items import ReportItem

if TYPE_CHECKING:
    from ragassay.testsets.results import SetCheck
    from ragassay.testsets.values import Question

_TITLE = 160
_PEOPLE = {None: "No person looked.", True: "People accept it.", False: "People reject it."}


def question_items(
    questions: Sequence[Question], found: SetCheck | None = None
) -> Iterator[ReportItem]:
    """The questions by type: those that fail a gate now or that people reject first, then those
    that people accept. found: of a check of the set.
    """
    failing: dict[str, list[str]] = {}
    for gate, turned_away in (found.failed if found is not None else {}).items():
        for question_id, why in turned_away:
            failing.setdefault(question_id, []).append(f"{gate}: {why}")

    def place(question: Question) -> tuple[bool, int]:
        order = {False: 0, True: 1, None: 2}
        return question.id not in failing, order[question.accepted]

    for question in sorted(questions, key=place):
        yield _item(question, failing)


def _item(question: Question, failing: Mapping[str, Sequence[str]]) -> ReportItem:
    now = failing.get(question.id, ())
    people = _PEOPLE[question.accepted]
    outcome = f"{people} Fails {'; '.join(now)}" if now else people
    texts = [("Question", question.question)]
    for turn in question.history:
        texts += [("Earlier question", turn.question), ("Earlier answer", turn.answer)]
    reference = question.reference or "The documents do not answer it."
    texts.append(("Reference", reference))
    for evidence in question.evidence:
        texts.append((f"Evidence in {evidence.document}", evidence.quote))
    texts.append(("Facts or steps of a right answer", "\n".join(question.steps)))
    words = {None: "does not apply", True: "passes", False: "fails"}
    lines = [f"{one.gate}: {words[one.passed]}. {one.rationale}" for one in question.verdicts]
    texts.append(("Gates, when it was made", "\n".join(line.strip() for line in lines)))
    told = tuple((name, text) for name, text in texts if text)
    title = shorten(f"{question.id}: {question.question}", _TITLE)
    return ReportItem(f"Questions: {question.type}", title, outcome, told)
