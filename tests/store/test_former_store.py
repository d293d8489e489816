"""A store of the version before: shown and exported by the code of today."""

from __future__ import annotations

import difflib
import itertools
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ragassay
from ragassay.core import SetupError
from ragassay.diagnosis import CAUSES
from ragassay.testing import LLMServer
from support import former_store

DATA = Path(__file__).parent / "data"

OVER_REFUSAL = f"iner cause in 1 row: {CAUSES['over_refusal'].title}"
FORMER_FINER_REMEDY = (
    "Soften the instruction to refuse, show an example that answers from such a context, and look"
    " for a safety filter that triggers wrongly."
)
FORMER_REMEDY = (
    "If the answer was retrieved, this is over-refusal (measure the retrieval where that is not"
    " known): soften the instruction to refuse when unsure, show an example that answers from the"
    " context, look for safety filters that trigger wrongly, and put the relevant chunk nearer to"
    " the question."
)
LATER_REMEDY = (
    "Measure first whether the answer was retrieved. A reference or relevant_ids tell: if it was,"
    " soften the instruction to refuse; if not, work on the retrieval, for declining was right."
)
REMEDY = CAUSES["declined"].remedy


def wrapped(remedy: str) -> str:
    """The remedy as the terminal shows it, in lines of one width."""
    lines = textwrap.wrap(f"try: {remedy}", 94)
    return "\n".join(f"      {line:<94}" for line in lines)


RENAMED = (
    ("*.json", '"knob": ', '"remedy": '),
    ("compare*.txt", "A → B                 verdict", "A → B                 metric's verdict"),
    ("*", "behind it in ", "finer cause in "),
    ("*", "Behind it in ", "Finer cause in "),
    ("*", "behind it: ", "finer cause: "),
    ("*", "Behind it: ", "Finer cause: "),
    ("*", "behind it, one or more of these", "finer cause, one or more of these"),
    ("*", "Behind it, one or more of these", "Finer cause, one or more of these"),
    ("*.txt", "beyond chance; the likeliest", "beyond chance; these come closest"),
    ("*.html", "beyond chance. The likeliest; p is", "beyond chance. These come closest; p is"),
    (
        "capped.txt",  # of whose slices none could be tested
        "Slices: none differs from the rest beyond chance; these come closest",
        "Slices: too few rows to test any against the rest; these differ most",
    ),
    (
        "*.txt",
        "Each difference that could have been found:",
        "Smallest detectable differences:" + 11 * " ",
    ),
    (
        "*.html",
        "the mean that it gave these, where it gives any",
        "the mean that it gave to them, where it gives one",
    ),
    ("*.html", "(put in other words by the judge)", "(in the judge's words)"),
    ("*.html", "No row fits. Clear", "No row matches. Clear"),
    ("*.html", "Nearest passage: ", "Nearest context: "),
    ("*.html", "? unmeasured here", "? not measured here"),
    (
        "judged.txt",  # of which a refusal is the first loss
        "  ragassay resume 20261122-172000-9aa210 --retry-failed",
        "  the model refuses these texts: judge them with another one",
    ),
    # Summaries name causes in the words of today; a stored row keeps those that it was given.
    ("*", "iner cause in 1 row: It refuses although the evidence was there", OVER_REFUSAL),
    ("*.json", '"It refuses although the evidence was there"', f'"{CAUSES["over_refusal"].title}"'),
    ("*.json", FORMER_FINER_REMEDY, CAUSES["over_refusal"].remedy),
    ("*.json", FORMER_REMEDY, REMEDY),
    ("*.html", f"<small>Try: {FORMER_REMEDY}", f"<small>Try: {REMEDY}"),
    ("*.txt", wrapped(FORMER_REMEDY), wrapped(REMEDY)),
    ("*", LATER_REMEDY, REMEDY),
    ("*.txt", LATER_REMEDY.partition(".")[0], REMEDY.partition(".")[0]),
    ("judged-row.txt", "row row-5, line 5\n", "row row-5\n"),
    ("offline-row.txt", "row row-2, line 2\n", "row row-2\n"),
    ("runs.txt", "  name        ", "  name or file"),
    ("*.csv", "\r\n", ",\r\n"),  # with a last column, "uncertain", that is empty for all
    ("*.csv", "finer,better,", "finer,better,uncertain"),
    ("*.jsonl", "}\n", ', "uncertain": ""}\n'),
)
"""What is called otherwise since: a pattern of file names, the former text, the text of today."""

ADDED = (
    r'"orders": [^\n,]*',
    r'"score_map": null',
    r'"models": [^\n,]*',
    r'"reading": [^\n,]*',
    r'"sent": [^\n,]*',
    r'"self_preference": [^\n,]*',
    r'"reasoning_tokens": \d+',
    r'"cut_off_calls": \d+',
    r'"cut_off_cost": [\d.]+',
    r'"preflight": \{[^{}]*\}',
    r'"refused_calls": \d+',
    '"lost": (?:true|false)',
    r'"uncertain": (?:""|0|false)',
    r'"also": 0',
    r'"valued": \d+',
    r'"declined": \d+',
    r'"missing": \d+',
    r'"why": ""',
    r'"mark_words": \{\}',
    r'"by_default": \[\]',
    r'"users": \[\]',
    r'"feedback": null',
    r'"worth": null',
    r'"waiting": (?:0|\{[^{}]*\})',
    r'"unseen": 0\.0',
    r'"correlation": [\d.]+',
    r"\"counted_by\": \"line\"",
)
"""Fields that the JSON of today has besides, at the end of their objects."""

CALLS_BEFORE = 8
"""What the capped run had sent when it stopped."""


def in_words_of_today(name: str, text: str) -> str:
    for pattern, former, today in RENAMED:
        if Path(name).match(pattern):
            text = text.replace(former, today)
    return text


def differences(name: str, written: Path) -> list[str]:
    """Where the text of today is not the former one: the first lines of a diff."""
    former = in_words_of_today(name, (DATA / "former" / name).read_bytes().decode())
    today = written.read_bytes().decode()
    if name.endswith(".json"):
        former, today = without_last_digits(former), without_last_digits(without_added(today))
    if name.endswith(".txt"):
        # Lines of former pages were padded where they wrapped.
        former = without_blanks_at_ends(former)
        today = without_blanks_at_ends(today)
    if former == today:
        return []
    diff = difflib.unified_diff(former.split("\n"), today.split("\n"), "former", "today", n=0)
    return list(itertools.islice(diff, 12))


def without_blanks_at_ends(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


def without_added(text: str) -> str:
    """JSON without the fields that were added since."""
    return re.sub(rf",\n *(?:{'|'.join(ADDED)})(?=[,\n])", "", text)


def without_last_digits(text: str) -> str:
    """JSON with 12 digits of each number: processors differ in the last ones of a sum."""
    return re.sub(r"\d+\.\d{13,}(e-?\d+)?", lambda found: f"{float(found[0]):.12g}", text)


@pytest.mark.slow
def test_a_former_store_is_shown_and_exported_as_before(tmp_path: Path) -> None:
    store = tmp_path / "folder" / former_store.STORE
    store.parent.mkdir(parents=True)
    shutil.copy(DATA / "former.db", store)
    output = tmp_path / "written"
    program = str(Path(former_store.__file__).resolve())
    subprocess.run(
        [sys.executable, program, "write", str(tmp_path / "folder"), str(output)], check=True
    )
    names = {path.name for path in (DATA / "former").iterdir()}
    assert {path.name for path in output.iterdir()} == names == set(former_store.WRITTEN)
    compared = {name: differences(name, output / name) for name in sorted(names)}
    assert {name: lines for name, lines in compared.items() if lines} == {}


def test_a_former_run_says_that_it_kept_no_replies(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    shutil.copy(DATA / "former.db", store)
    with ragassay.open_run("judged", store=store) as run:
        row = next(iter(run.rows()))
        asked = run.asked(row)
    assert asked.exchanges == ()
    assert asked.why == "the run was made by a version that did not keep replies"


def test_a_former_run_that_a_cap_stopped_keeps_its_results_and_is_not_mixed_with_new_wording(
    tmp_path: Path,
) -> None:
    store = tmp_path / "store.db"
    shutil.copy(DATA / "former.db", store)
    rows = list(former_store.rows(8, better=True))
    with LLMServer(port=former_store.PORT) as server:
        # Its prompts were worded otherwise: verdicts of two wordings would stand in one figure.
        with pytest.raises(SetupError) as caught:
            ragassay.resume("capped", store=store, rows=rows, max_calls=1000)
        assert caught.value.code == "E0106"
        assert "RagAssay's version has changed" in str(caught.value)
        assert server.calls == 0
    with ragassay.open_run("capped", store=store) as kept:
        assert kept.summary.ledger.confirmed.calls == CALLS_BEFORE
