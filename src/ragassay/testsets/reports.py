"""The reports on test sets: the plan, what was made, and the check, in lines and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from shlex import quote

from ragassay.core import shorten
from ragassay.core.counting import count
from ragassay.report.tables import Block, Table, figure_table
from ragassay.report.wording import money
from ragassay.testsets.difference import DocumentChanges
from ragassay.testsets.results import Prepared, Refreshed, SetCheck, TestSet, good_for
from ragassay.testsets.values import FOLLOW_UP, REAL, TYPES, Question, Skipped

_MOST_TOPICS = 5
_MOST_QUESTIONS = 1_000
_MOST_NAMED = 3
_MOST_SHOWN = 16
_LINE = 78


def plan_report(prepared: Prepared) -> list[Block]:
    """The plan before anything is asked: documents, the table of quotas, and the forecast."""
    plan = prepared.plan
    least, median, most = prepared.sizes
    blocks: list[Block] = [
        f"{count(prepared.documents, 'document')}, {count(prepared.passages, 'passage')} of"
        f" {least} to {most} words (median {median})"
    ]
    blocks += _skipped(prepared.skipped)
    table = plan.table()
    topics = plan.topics[:_MOST_TOPICS]
    head = ("type", "questions", *topics)
    if len(plan.topics) > _MOST_TOPICS:
        head = (*head, "others")
    types = Counter(slot.type for slot in plan.slots)
    rows = []
    for name in TYPES:
        if not types[name]:
            continue
        cells = [str(table.get((name, topic), 0)) for topic in topics]
        if len(plan.topics) > _MOST_TOPICS:
            cells.append(str(types[name] - sum(map(int, cells))))
        rows.append((name, str(types[name]), *cells))
    blocks += [Table(head, tuple(rows)), f"writer {prepared.writer}, checker {prepared.judge}"]
    forecast = prepared.forecast
    if forecast.most_calls:
        blocks.append(
            f"about {forecast.calls:,} calls, at most {forecast.most_calls:,};"
            + (f" about {money(forecast.cost)}" if forecast.cost is not None else " price unknown")
            + " (--max-calls and --max-cost are caps)"
        )
    else:
        blocks.append("no model is asked: nothing is sent and nothing costs")
    blocks += [f"warning: {warning}" for warning in prepared.warnings]
    return blocks


def set_report(made: TestSet) -> list[Block]:
    """What was made: the delivered beside the asked, the figures, and what to do next."""
    info = made.info
    blocks: list[Block] = [
        f"{len(made.questions)} of {made.asked} questions delivered",
        info.note(),
    ]
    delivered = Counter(question.type for question in made.questions)
    asked = Counter(slot.type for slot in made.prepared.plan.slots)
    reasons = {gap.type: gap.reason for gap in made.gaps}
    rows = [
        (name, str(asked[name]), str(delivered[name]), shorten(reasons.get(name, ""), 46))
        for name in TYPES
        if asked[name]
    ]
    if delivered[REAL]:
        rows.append((REAL, str(delivered[REAL]), str(delivered[REAL]), ""))
    blocks += [Table(("type", "asked", "delivered", "what is missing"), tuple(rows)), ""]
    blocks += [figure_table(made.figures)]
    if made.rejected:
        counted = ", ".join(f"{gate} {n}" for gate, n in Counter(made.rejected).most_common(5))
        blocks.append(f"proposals turned away: {counted}")
    blocks += _skipped(made.prepared.skipped)
    blocks += [f"note: {note}" for note in made.notes]
    if delivered[FOLLOW_UP]:
        blocks.append(
            "note: multi-turn questions are rows with their earlier turns; `--app` hands an"
            " application the last turn alone"
        )
    if made.ledger.confirmed.calls:
        spent = made.ledger.confirmed
        blocks.append(f"bought: {count(spent.calls, 'call')}, {money(spent.cost)}")
    blocks += [good_for(info.writer)]
    if made.path:
        blocks += [
            "",
            f"wrote {made.path}; next:",
            f"  ragassay testset check {quote(made.path)} --sheet sheet.csv",
            f"  ragassay evaluate {quote(made.path)} --app MODULE:FUNCTION",
            f"  ragassay stress --rows {quote(made.path)} --app MODULE:FUNCTION",
        ]
    return blocks


def question_table(questions: Sequence[Question]) -> list[Block]:
    """The questions with reference and evidence, for a page."""
    rows = []
    for question in questions[:_MOST_QUESTIONS]:
        turns = [f"{turn.question} {turn.answer}" for turn in question.history]
        asked = " / ".join([*turns, question.question])
        evidence = [f"{place.document}: {place.quote}" for place in question.evidence]
        reference = question.reference or "(the documents do not answer it)"
        rows.append((question.id, question.type, asked, reference, " / ".join(evidence)))
    head = ("id", "type", "question", "reference", "evidence")
    blocks: list[Block] = ["", "Questions", Table(head, tuple(rows))]
    if len(questions) > len(rows):
        blocks.append(f"and {len(questions) - len(rows):,} more, in the file of the set")
    return blocks


def check_report(check: SetCheck, *, path: str = "") -> list[Block]:
    """The check: the verdict first, then the figures."""
    total = check.questions
    headline = f"{total - check.failing} of {total} questions pass the gates"
    blocks: list[Block] = [headline, check.info.note()]
    for gate, found in check.failed.items():
        shown = "; ".join(f"{name}: {why}" for name, why in found[:_MOST_NAMED])
        more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        blocks.append(f"  {gate}: {len(found)} fail ({shown}{more})")
    blocks.append(figure_table(check.figures))
    if check.likeness is not None:
        blocks += _likeness(check)
    blocks += [f"note: {note}" for note in check.notes]
    blocks.append(good_for(check.info.writer))
    if check.info.spot_check is None and path:
        blocks.append(f"have people look: ragassay testset check {quote(path)} --sheet sheet.csv")
    return blocks


def refresh_report(found: Refreshed, *, path: str = "") -> list[Block]:
    """The difference first: what is stale and why, what came. path: of the set before."""
    diff = found.difference
    blocks: list[Block] = [_refresh_headline(found), found.info.note(), *_changes(found.changes)]
    rows = []
    for stale in diff.stale:
        rows.append(("-", _one_line(stale.question.question), f"{stale.gate}: {stale.why}"))
    for question in found.added:
        place = question.documents[0] if question.documents else question.cluster
        rows.append(("+", _one_line(question.question), f"{question.type}, {place}"))
    shown = [(sign, text, shorten(why, 40)) for sign, text, why in rows[:_MOST_SHOWN]]
    if shown:
        blocks.append(Table(("", "question", "why, or where from"), tuple(shown)))
    if len(rows) > _MOST_SHOWN:
        blocks.append(f"and {len(rows) - _MOST_SHOWN} more; --json has all of them")
    for gap in found.gaps:
        missing = gap.asked - gap.delivered
        blocks.append(f"missing: {missing} of type {gap.type} ({gap.reason})")
    if found.figures:
        blocks += ["", figure_table(found.figures)]
    blocks += [f"note: {note}" for note in found.notes]
    if found.ledger.confirmed.calls:
        spent = found.ledger.confirmed
        blocks.append(f"bought: {count(spent.calls, 'call')}, {money(spent.cost)}")
    if found.path:
        blocks += ["", f"wrote {found.path}; next:"]
        blocks.append(f"  ragassay testset check {quote(found.path)} --sheet sheet.csv")
    elif path:
        blocks += ["", f"next: ragassay testset refresh {quote(path)} --out {quote(path)}"]
    return blocks


def _refresh_headline(found: Refreshed) -> str:
    diff = found.difference
    counts = f"{len(diff.kept)} of {len(diff.kept) + len(diff.stale)} questions are kept"
    if diff.moved:
        counts += f" ({len(diff.moved)} with quotes that moved)"
    counts += f", {len(diff.stale)} are stale"
    if not found.path:
        return counts
    if found.info.version == found.before.version:
        return f"version {found.info.version} stays: {counts}"
    return (
        f"version {found.before.version} to {found.info.version}: {counts}, {len(found.added)} came"
    )


def _changes(changes: DocumentChanges) -> Iterator[str]:
    if not changes.is_known:
        yield "documents: the set does not list those that it was made of"
        return
    yield (
        f"documents: {changes.same:,} as before, {len(changes.changed):,} changed,"
        f" {len(changes.new):,} new, {len(changes.gone):,} gone"
    )


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), 60)


def _likeness(check: SetCheck) -> Iterator[str]:
    like = check.likeness
    assert like is not None
    ours, theirs = like.words
    yield (
        f"beside {count(like.real, 'real query', 'real queries')}: {ours:.1f} and {theirs:.1f}"
        f" words a question; {like.beginnings:.0%} begin otherwise"
    )
    if like.auc is None:
        yield "told apart by a classifier: not measured (20 questions of each are needed)"
    else:
        yield (
            f"told apart by a classifier: AUC {like.auc:.2f} (0.5: not at all; a meter, no gate:"
            " real sets differ from each other by .58 to .98)"
        )


def _skipped(skipped: tuple[Skipped, ...]) -> Iterator[str]:
    if not skipped:
        return
    named = "; ".join(f"{skip.where}: {skip.why}" for skip in skipped[:_MOST_NAMED])
    more = len(skipped) - _MOST_NAMED
    yield f"left out: {count(len(skipped), 'file or record', 'files or records')} ({named}" + (
        f"; and {more:,} more)" if more > 0 else ")"
    )
