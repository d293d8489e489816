"""Labelling: rows handed out one by one, blind and by keyboard.

Nothing of the judge, of other people or of the run's name is on the page on which somebody labels;
what the judge said of a row is shown only after their label of it is in, where they ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from ragassay.core import LabelAnswer, RowToLabel
from ragassay.runs.decisions import is_decision
from ragassay.store.access import now_utc
from ragassay.trust.measure.label_rounds import label_task, most_answers, repeat_due
from ragassay.web.messages import Answer, Ask, NotThere, Page, Redirect, refused
from ragassay.web.site import url
from ragassay.web.views.shell import stored_run

CANNOT_TELL = "cannot tell"
LONGEST_REASON = 4000
_OF_A_LABEL = ("row", "value", "rationale", "again", "reveal")
"""The fields of a label's form beside the metric."""


def item(ask: Ask) -> Answer:
    """The next row for this person; or one that they answered, to be answered again."""
    stored = stored_run(ask)
    metric = _metric(ask, ask.query.get("metric", ""))
    if not ask.person or ask.query.get("who"):
        return _who(stored.run_id, metric)
    store, run_id = ask.site.store, stored.run_id
    mine = store.label_answers(run_id, metric, ask.person)
    chosen, again = _row_for(ask, metric, mine)
    row = store.row(run_id, chosen.row_id) if chosen is not None else None
    first = [answer for answer in mine if not answer.repeat]
    last = first[-1] if first else None
    values = {
        "run_id": run_id,
        "task": label_task(metric),
        "row": row,
        "person": ask.person,
        "answered": len({(answer.row_id, answer.repeat) for answer in mine}),
        "total": most_answers(store.count_to_label(run_id, metric)),
        "last": last if last is not None and not last.revealed else None,
        "given": next((a for a in reversed(first) if a.row_id == again), None) if again else None,
        "cannot_tell": CANNOT_TELL,
        "reveal": ask.reveal,
        "seen": _seen(ask, metric, mine),
    }
    return Page("label.html.j2", values)


def _row_for(ask: Ask, metric: str, mine: Sequence[LabelAnswer]) -> tuple[RowToLabel | None, str]:
    """(the row to show, its id where it is one of theirs that they change)."""
    store, run_id, again = ask.site.store, stored_run(ask).run_id, ask.query.get("row", "")
    if again:
        # Only a row that was theirs: what others have is not to be seen beforehand. And none of
        # which they have seen the judge's verdict since.
        theirs = {answer.row_id for answer in mine}
        revealed = {answer.row_id for answer in mine if answer.revealed}
        if again in theirs - revealed:
            return store.row_to_label(run_id, metric, again), again
        return None, again
    repeat = repeat_due(mine)
    once_more = store.row_to_label(run_id, metric, repeat) if repeat is not None else None
    return once_more or store.reserve_to_label(run_id, metric, ask.person), ""


def _seen(ask: Ask, metric: str, mine: Sequence[LabelAnswer]) -> dict[str, object] | None:
    """What the judge said of the row that this person answered last, where they chose to see it
    and their answer is in; None else.
    """
    after = ask.query.get("after", "")
    answer = next((a for a in reversed(mine) if a.row_id == after), None)
    if answer is None or not answer.revealed:
        return None
    row = ask.site.store.row(stored_run(ask).run_id, after)
    score = row.score(metric) if row is not None else None
    return {"row_id": after, "value": answer.value, "score": score}


def _who(run_id: str, metric: str, label: Mapping[str, str] | None = None) -> Page:
    """The question who labels. label: the form of a label that is kept once that is said."""
    return Page("who.html.j2", {"run_id": run_id, "metric": metric, "label": label or {}})


def keep(ask: Ask) -> Answer:
    """An answer, or who is answering, or both; then the next row."""
    stored = stored_run(ask)
    metric = _metric(ask, ask.form.get("metric", ""))
    next_item = url("/runs/{}/label", stored.run_id, metric=metric)
    named = person_named(ask.form.get("person", ""))
    person = named or ask.person
    row_id, given = ask.form.get("row", ""), ask.form.get("value", "")
    if named and not row_id:
        # Whether to see the judge's verdicts is each person's own choice.
        forget = {} if named == ask.person else {"reveal": ""}
        return Redirect(next_item, {"person": quote(named), **forget})
    chosen = ask.site.store.row_to_label(stored.run_id, metric, row_id)
    if chosen is None:
        raise NotThere("That row is not among those to label.")
    if not person:
        label = {name: ask.form[name] for name in _OF_A_LABEL if name in ask.form}
        return _who(stored.run_id, metric, label)
    mine = ask.site.store.label_answers(stored.run_id, metric, person)
    of_row = [answer for answer in mine if answer.row_id == row_id]
    repeat = repeat_due(mine) == row_id and not ask.form.get("again")
    reveal = ask.form.get("reveal") == "1"
    # A browser forgets a name after a week, and not in the middle of labelling.
    cookies = {"reveal": "1" if reveal else "", "person": quote(person)}
    value = _value(given, chosen)
    reason = reason_given(ask)
    is_final = any(answer.revealed for answer in of_row)
    if of_row and not repeat and not ask.form.get("again"):
        stands = next(answer for answer in reversed(of_row) if not answer.repeat)
        if (value, reason or stands.rationale) == (stands.value, stands.rationale):
            return Redirect(next_item, cookies)  # the same key twice
        if not is_final:
            # A page that the browser kept: it does not show what stands, which this one does.
            return Redirect(url("/runs/{}/label", stored.run_id, metric=metric, row=row_id))
    if is_final:
        raise NotThere("You have seen what the judge says of that row: your label of it stays.")
    answer = LabelAnswer(
        row_id,
        person,
        value,
        reason,
        now_utc(),
        repeat=repeat,
        # Of a repeat nothing is shown: it would say that it is one.
        revealed=reveal and not repeat,
    )
    ask.site.store.put_answer(stored.run_id, metric, answer, chosen)
    if answer.revealed:
        next_item = url("/runs/{}/label", stored.run_id, metric=metric, after=row_id)
    return Redirect(next_item, cookies)


def reason_given(ask: Ask) -> str:
    """Why somebody labels a row as they do, in the form's `rationale`. Raises SetupError E0101 for
    more than LONGEST_REASON characters.
    """
    # A browser counts a break of lines as one character, and sends two.
    reason = ask.form.get("rationale", "").strip().replace("\r\n", "\n")
    if len(reason) > LONGEST_REASON:
        wanted = f"a text of at most {LONGEST_REASON:,} characters"
        raise refused("rationale", reason, wanted, fix="go back and shorten it")
    return reason


def person_named(text: str) -> str:
    """A name as somebody gave it, on one line. Raises SetupError E0101 for that of a decision."""
    name = " ".join(text.split())[:80]
    if is_decision(name):
        raise refused("person", name, "a name of your own")
    return name


def _value(given: str, chosen: RowToLabel) -> float | None:
    """The label, None for "cannot tell". Raises SetupError E0101 for one outside the scale."""
    if given == CANNOT_TELL:
        return None
    for point in chosen.scale:
        if given == f"{point:g}":
            return point
    raise refused("value", given, "on the scale")


def _metric(ask: Ask, name: str) -> str:
    """A metric that rows are to be labelled for."""
    stored = stored_run(ask)
    if name in ask.site.store.names_to_label(stored.run_id):
        return name
    raise NotThere(
        "No rows were chosen to be labelled for that. Choose some on the page of labels."
    )
