"""What do hostile inputs look like that nobody wrote down? Seeded mutators of bytes and of JSON,
and a check for each target.

Each `check_*(seed)` makes one case from its seed and raises AssertionError with what broke; the
seed reproduces it. The same functions serve the small dose of every commit
(tests/hardening/test_fuzz.py) and the large ones (benchmarks/hardening/fuzz.py).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import re
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragassay.core import BadRow, Context, Judgment, RagAssayError, Request, Sample, Status
from ragassay.datasets import open_rows
from ragassay.judges import Rubric, RubricRegistry, check
from ragassay.judges.llm.entries import Claim, Quote, Verdict
from ragassay.judges.llm.reply import parse
from ragassay.judges.llm.reply_form import render
from ragassay.judges.template import fill, placeholders
from ragassay.metrics import catalogue
from support.hand_fed import near, play, rated, variants, wrote
from support.hostile import CORPUS

REGISTRY = RubricRegistry.default()
RUBRICS = tuple(REGISTRY.get(name) for name in REGISTRY.ids())
TEXTS = tuple(text for text in CORPUS.values() if len(text) < 200)
_TOKENS = (
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    "\\",
    "\\u",
    "\\ud800",
    "null",
    "true",
    "NaN",
    "-Infinity",
    "1e999",
    "0x1",
    "٢",
    "2.0",
    "-1",
    '"id"',
    '"rating"',
    '"verdicts"',
    '{"verdicts": [',
    "]}",
    "```json\n",
    "```",
    "<think>",
    "</think>",
    "\n",
    "\0",
    "\ufeff",
    "\u2028",
    "/*",
    "//",
    "{{question}}",
    "'",
    "9" * 400,
    "[" * 60,
    '{"a":' * 60,
    "\x1b[2J",
    "=1+1",
    ";",
    "\t",
    "\r",
    '""',
    '"""',
    "---",
    "&a",
    "*a",
    "!!python/name:os.system",
)


# -- mutators


def mutated(data: bytes, chance: random.Random, most: int = 6) -> bytes:
    """The bytes with a few changes: flips, cuts, repeats, moves, tokens that mean something to a
    parser.
    """
    for _ in range(chance.randint(1, most)):
        a, b = sorted(chance.randint(0, len(data)) for _ in range(2))
        b = min(b, a + chance.choice((1, 4, 60, 10_000)))
        kind = chance.randrange(7)
        if kind == 0 and a < len(data):
            data = data[:a] + bytes([data[a] ^ (1 << chance.randrange(8))]) + data[a + 1 :]
        elif kind == 1:
            data = data[:a] + data[b:]
        elif kind == 2:
            data = data[:a] + data[a:b] * chance.choice((2, 3, 20)) + data[b:]
        elif kind == 3:
            data = data[:a] + chance.choice(_TOKENS).encode("utf-8", "surrogatepass") + data[a:]
        elif kind == 4:
            data = (
                data[:a]
                + bytes(chance.randrange(256) for _ in range(chance.randint(1, 4)))
                + data[b:]
            )
        elif kind == 5:
            data = data[:a]
        else:
            data = data[b:] + data[a:b] + data[:a]
        data = data[:200_000]
    return data


def warped(value: Any, chance: random.Random) -> Any:
    """The JSON value with one node of it changed for another kind of thing, renamed, repeated or
    wrapped.
    """
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            return {
                **{k: v for k, v in value.items() if k != key},
                chance.choice(("id", "rating", "x", "verdicts", "")): value[key],
            }
        return {**value, key: warped(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        if chance.random() < 0.2:
            return [*value, warped(value[at], chance)]
        return [*value[:at], warped(value[at], chance), *value[at + 1 :]]
    return chance.choice(
        (
            None,
            True,
            False,
            0,
            1,
            2,
            3,
            -1,
            2.0,
            2.5,
            10**30,
            1e308,
            "",
            "2",
            "yes",
            "no",
            [],
            {},
            [value],
            {"rating": value},
            str(value)[:50],
            chance.choice(TEXTS),
        )
    )


# -- F1: the parser of judges' replies


def _some_verdicts(rubric: Rubric, ids: list[str], chance: random.Random) -> list[Verdict]:
    made = []
    for name in ids:
        flags = tuple(flag.name for flag in rubric.flags if chance.random() < 0.2)
        quotes = tuple(
            Quote(
                chance.randint(1, 9) if rubric.quotes_name_passages else None,
                chance.choice(TEXTS) + "x",
            )
            for _ in range(chance.randrange(3))
        )
        words = tuple(f"{chance.choice(TEXTS).strip()}x" for _ in range(chance.randrange(3)))
        if rubric.writes == "claims":
            made.append(
                Verdict(
                    name,
                    claims=tuple(Claim(w.strip(), chance.random() < 0.5) for w in words),
                    flags=flags,
                )
            )
        elif rubric.writes == "texts":
            made.append(Verdict(name, texts=tuple(w.strip() for w in words), flags=flags))
        elif rubric.writes == "quotes":
            made.append(Verdict(name, quotes=quotes, flags=flags))
        else:
            assert rubric.scale is not None
            sources = tuple(sorted({chance.randint(1, 40) for _ in range(chance.randrange(4))}))
            made.append(
                Verdict(
                    name,
                    chance.choice(rubric.scale.ratings),
                    chance.choice(TEXTS) + "because" if rubric.asks_reasons else "",
                    quotes if rubric.asks_quotes else (),
                    flags,
                    sources=sources if rubric.asks_sources else None,
                )
            )
    return made


def _entries(text: str) -> Iterator[dict[str, Any]]:
    """Every object that stands anywhere in the text, read by another and slower way than the
    parser's.
    """
    decoder = json.JSONDecoder(strict=False)
    for at, character in enumerate(text):
        if character == "{":
            try:
                value, _ = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                continue
            yield value


def _is_stated(name: str, verdict: Verdict, entries: list[dict[str, Any]], text: str) -> bool:
    """Whether the text states the rating: in an entry on the item; of a repaired verdict the rating
    stands beside its field, in some spelling, and so does the id somewhere.
    """
    held = [e for e in entries if e.get("id") == name and "rating" in e]
    if any(
        type(e["rating"]) is type(verdict.rating) and e["rating"] == verdict.rating for e in held
    ):
        return True
    spelt = re.escape(str(verdict.rating)).replace("_", "[_ -]")
    # Bare or quoted, in a list of one or as the one number of an object.
    around = r"[\"']?|\[\s*[\"']?|\{[^{}\[\]]{0,80}?:\s*[\"']?"
    # Signs behind the field's name are part of no other name.
    field = r"(?i)rating[-_. ]{0,3}[\"']?"
    stated = re.search(rf"{field}\s*:\s*(?:{around})\s*{spelt}(?:\.0+)?[\"',\s\]}}]", text)
    names_it = name in text.lower() or "ids_by_order" in verdict.repairs
    is_marked = bool(verdict.repairs) or not verdict.reasoning.strip()
    return stated is not None and names_it and is_marked


def check_reply(seed: int) -> None:
    """F1: no error, no verdict that the reply does not hold, and what was rendered is read."""
    chance = random.Random(seed)
    rubric = chance.choice(RUBRICS)
    ids = [f"{chance.getrandbits(32):08x}" for _ in range(chance.randint(1, 4))]
    said = _some_verdicts(rubric, ids, chance)
    text = render(said, rubric)
    assert parse(text, rubric, ids) == {v.id: v for v in said}, "what was rendered is not read back"
    kind = chance.randrange(4)
    if kind == 0:
        text = mutated(text.encode(), chance).decode(
            "utf-8", "surrogateescape" if chance.random() < 0.5 else "replace"
        )
    elif kind == 1:
        value = json.loads(text)
        for _ in range(chance.randint(1, 3)):
            value = warped(value, chance)
        text = json.dumps(value, ensure_ascii=chance.random() < 0.5)
    elif kind == 2:
        other = render(_some_verdicts(rubric, ids, chance), rubric)
        cut = chance.randint(0, len(other))
        text = chance.choice(
            (
                text + other,
                other[:cut] + text,
                text + other[:cut],
                f"```json\n{other}\n```\n{text}",
                text[: chance.randint(0, len(text))],
            )
        )
    else:
        text = chance.choice(TEXTS) + text + chance.choice(TEXTS)
    cut_off = chance.random() < 0.5
    found = parse(text, rubric, ids, cut=cut_off)
    assert set(found) <= set(ids), "a verdict on what was not asked"
    if not found:
        return
    entries = list(_entries(text))
    for name, verdict in found.items():
        if rubric.scale is not None:
            assert type(verdict.rating) in (int, str)
            assert verdict.rating in rubric.scale.ratings, "a rating off the scale"
            assert _is_stated(name, verdict, entries, text), "an invented verdict"
        else:
            if verdict.repairs:
                continue  # what the reader above cannot tell or decode
            held = [
                e for e in entries if e.get("id") == name and isinstance(e.get(rubric.writes), list)
            ]
            words = (
                [c.text for c in verdict.claims]
                + list(verdict.texts)
                + [q.text for q in verdict.quotes]
            )
            dumped = [json.dumps(e, ensure_ascii=False) for e in held]
            assert held, "an invented verdict"
            assert all(
                any(json.dumps(w, ensure_ascii=False)[1:-1] in d for d in dumped) for w in words
            ), "invented words"


def reply_time(seed: int, size: int = 100_000) -> float:
    """F1: milliseconds of CPU for a reply of 100 KB of what is worst to read, of a kind the seed
    chooses; the best of three.
    """
    chance = random.Random(seed)
    unit = chance.choice(
        (
            '{"',
            '{"a": ',
            '{"verdicts": [',
            '{"a": "',
            "[{",
            '{"id": "00000000", "rating": 2}, ',
            '{"verdicts": [{"id": "00000000", "rating": 2}]} ',
            "{ \n\t",
            '\\"{"',
            '{"a": 1, "a": 2} ',
            '{"a": NaN} ',
            '{"x": ' + "9" * 4000 + "} ",
            '{"verdicts": [' + "[" * 500,
        )
    )
    text, rubric = (unit * (size // len(unit) + 1))[:size], chance.choice(RUBRICS)
    best = 1e9
    for _ in range(3):
        begun = time.process_time()
        parse(text, rubric, ["00000000"], cut=chance.random() < 0.5)
        best = min(best, 1000 * (time.process_time() - begun))
    return best


# -- F2: the readers of rows


def _rows(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{n}",
            "question": chance.choice(TEXTS),
            "contexts": [chance.choice(TEXTS) for _ in range(chance.randrange(3))],
            "response": chance.choice(TEXTS),
            "cost": chance.random(),
            "labels": {"tone": chance.choice(TEXTS)},
        }
        for n in range(chance.randint(1, 8))
    ]


def _as_jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


def _as_csv(rows: list[dict[str, Any]], mark: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=mark)
    writer.writerow(rows[0])
    writer.writerows(
        [json.dumps(v) if isinstance(v, list | dict) else v for v in row.values()] for row in rows
    )
    return out.getvalue().encode()


def _as_arrow(rows: list[dict[str, Any]], parquet: bool) -> bytes:
    import pyarrow
    from pyarrow import ipc
    from pyarrow import parquet as pq

    table = pyarrow.Table.from_pylist(rows)
    out = io.BytesIO()
    if parquet:
        pq.write_table(table, out)
    else:
        with ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


def _as_zip(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("../../slipped.jsonl", _as_jsonl(rows))
    return out.getvalue()


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "rows.jsonl": _as_jsonl,
    "rows.json": lambda rows: json.dumps(rows).encode(),
    "rows.csv": _as_csv,
    "rows.tsv": lambda rows: _as_csv(rows, "\t"),
    "columns.json": (
        lambda rows: json.dumps({name: [row[name] for row in rows] for name in rows[0]}).encode()
    ),
    "rows.jsonl.gz": lambda rows: gzip.compress(_as_jsonl(rows)),
    "rows.csv.gz": lambda rows: gzip.compress(_as_csv(rows)),
    "rows.parquet": lambda rows: _as_arrow(rows, True),
    "rows.arrow": lambda rows: _as_arrow(rows, False),
    "rows.zip": _as_zip,
}


def check_reader(seed: int, folder: Path) -> None:
    """F2: bytes that are nearly a file of rows give rows, row errors with their place, or one typed
    error.
    """
    chance = random.Random(seed)
    name = chance.choice(list(FORMATS))
    data = FORMATS[name](_rows(chance))
    if chance.random() < 0.9:
        data = mutated(data, chance)
    if chance.random() < 0.1:
        name = chance.choice(list(FORMATS))  # what it holds is not what it says
    path = folder / name
    path.write_bytes(data)
    bad, refused = list[BadRow](), None
    try:
        dataset = open_rows(path)
        dataset.scan()
        bad = [row for row in dataset if isinstance(row, BadRow)]
    except RagAssayError as error:
        refused = error
    finally:
        path.unlink()
    assert all(row.code.startswith("E03") and name in row.what for row in bad), bad
    assert refused is None or refused.where or "column" in str(refused) or name in str(refused), (
        refused
    )
    left = [found.name for found in folder.parent.glob("slipped*")]
    assert not left, left


# -- F7: templates, rubric files


def check_template(seed: int) -> None:
    """F7: a placeholder is filled once, with what it names, and nothing filled in is read."""
    chance = random.Random(seed)
    names = ["question", "response", "a.b", "_x", "__class__", "items"]
    values = {
        name: chance.choice((*TEXTS, "{{question}}", "{{a.b}}", "{{", "}}", "{{ response }}{{"))
        for name in names
    }
    pieces = [
        chance.choice(
            (*TEXTS, *(f"{{{{{n}}}}}" for n in names), *(f"{{{{ {n} }}}}" for n in names), "{", "}")
        )
        for _ in range(chance.randint(0, 12))
    ]
    template = "".join(pieces)
    found = list(placeholders(template))
    if any(name not in values for name, _ in found):
        return
    # The other way: from the right to the left, so that what was filled in is never looked at.
    expected = template
    for name, at in reversed(found):
        expected = expected[:at] + values[name] + expected[template.index("}}", at) + 2 :]
    assert fill(template, values) == expected


def check_rubric_file(seed: int, folder: Path) -> None:
    """F7: a file that is nearly a rubric is a rubric, or a list of mistakes with their lines."""
    chance = random.Random(seed)
    import ragassay.judges

    known = sorted((Path(ragassay.judges.__file__).parent / "rubrics").glob("*.md"))
    path = folder / "mine.md"
    path.write_bytes(mutated(chance.choice(known).read_bytes(), chance, 3))
    problems = check(path, frozenset(catalogue()))
    assert all(problem.startswith(f"{path}") for problem in problems), problems
    if not problems:
        registry = RubricRegistry.default().with_files([path], frozenset(catalogue()))
        for rubric in registry.custom:
            assert rubric.id
    path.unlink()


_WORDS = (
    "evaluate",
    "resume",
    "demo",
    "runs",
    "show",
    "export",
    "compare",
    "metrics",
    "explain",
    "rubric",
    "list",
    "check",
    "retrieval",
    "convert",
    "label",
    "next",
    "import",
    "agreement",
    "plan-labels",
    "estimate",
    "calibrate",
    "audit-table",
    "certificates",
    "rows.jsonl",
    "bad.jsonl",
    "nowhere",
    "last",
    "--json",
    "--store",
    "s.db",
    "--metrics",
    "-m",
    "app_error",
    "exact_match",
    "groundedness(pass_mark=2)",
    "ndcg@5",
    "a:b",
    "--map",
    "question=q",
    "=",
    "--slice",
    "--limit",
    "--gate",
    "exact_match>=0.5",
    ">=",
    "--min-coverage",
    "--html",
    "--junit",
    "--row",
    "a",
    "--format",
    "csv",
    "jsonl",
    "html",
    "--output",
    "out.txt",
    "--to",
    "ragas",
    "--name",
    "--preset",
    "quick",
    "--price",
    "1,2",
    "--max-cost",
    "--max-calls",
    "--forecast",
    "--no-cache",
    "--no-network",
    "--concurrency",
    "--call-timeout",
    "--metric-timeout",
    "--claims",
    "llm",
    "--controls",
    "--help",
    "--version",
    "--margin",
    "--app",
    "nowhere:app",
    "--rubric",
    "mine.md",
    "--",
    "-",
    "",
    "0",
    "-1",
    "1",
    "1e400",
    "nan",
    "inf",
    "9" * 30,
    ".",
    "/",
    "E0301",
    "[red]",
)
_CODES = (0, 1, 2, 3, 4, 5, 6, 130)


def check_command(seed: int, folder: Path) -> None:
    """F7: any words after `ragassay` end in a documented exit code and words of ours, never in a
    traceback. Run in `folder`.
    """
    from ragassay.cli.app import run

    chance = random.Random(seed)
    words = [chance.choice(_WORDS[:24])] if chance.random() < 0.9 else []
    words += [
        chance.choice(_WORDS) if chance.random() < 0.9 else chance.choice(TEXTS).replace("\0", "")
        for _ in range(chance.randrange(7))
    ]
    if "demo" not in words:
        words += ["--no-network"] * (words[:1] == ["evaluate"])
    (folder / "rows.jsonl").write_text(
        '{"id": "a", "question": "q", "response": "x", "reference": "x"}\n' * 1
    )
    (folder / "bad.jsonl").write_text('{"id": "a", "question": 1}\n[]\n')
    out, err, code, before = io.StringIO(), io.StringIO(), None, (sys.argv, Path.cwd())
    sys.argv = ["ragassay", *words]
    os.chdir(folder)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            run()
    except SystemExit as left:
        code = left.code
    finally:
        sys.argv = before[0]
        os.chdir(before[1])
    said = out.getvalue() + err.getvalue()
    assert "Traceback" not in said, (words, said[-600:])
    assert code in _CODES, (words, code, said[-600:])


# -- F8: relations that metrics must keep

ORDERED = (
    "precision_at_k",
    "recall_at_k",
    "hit_rate",
    "mrr",
    "map",
    "ndcg_at_k",
    "context_precision",
)
"""Metrics that say something of the order of the chunks; to all others it must not show."""
VARIANTS = tuple(variants())


def fair(seed: int) -> Callable[[Request], Judgment]:
    """A judge for every rubric whose answer depends on the texts, and not on the order of the
    contexts.
    """

    def pick(*about: object) -> random.Random:
        return random.Random(f"{seed} {about}")

    def answer(request: Request) -> Judgment:
        given = {
            name: sorted(request.texts(name)) if name == "contexts" else request.inputs[name]
            for name in sorted(request.inputs)
        }
        chance = pick(request.rubric, given)
        if request.rubric == "similarity":
            return near(request, chance.choice([0.0, 0.25, 1.0]))
        rubric = REGISTRY.get(request.rubric)
        flags = tuple(flag.name for flag in rubric.flags if not flag.end and chance.random() < 0.15)
        if rubric.writes == "ratings":
            assert rubric.scale is not None
            rating = chance.choice(rubric.scale.ratings)
            sources: tuple[int, ...] | None = None
            if rubric.asks_sources:
                some = tuple(
                    i
                    for i, text in enumerate(request.texts("contexts"))
                    if pick(text, given.get("statement")).random() < 0.5
                )
                sources = (some or None) if rubric.scale.passes(rating) else ()
            return rated(request, rating, *flags, sources=sources)
        if rubric.writes == "quotes":
            return Judgment(request.key, "judge", request.rubric, Status.JUDGED, evidence=())
        if rubric.id == "questions":
            return wrote(request, *("What?", "Which?", "Why?")[: chance.randint(1, 3)], flags=flags)
        source = request.text("response" if rubric.writes == "claims" else "text")
        return wrote(request, *(line for line in source.split("\n") if line.strip()))

    return answer


def some_sample(chance: random.Random) -> Sample:
    """A row with a few sentences, chunks and everything a metric may need."""
    words = (
        "It is red.",
        "It opened in 1999 [1].",
        "Paris is big [2].",
        "It did not rain.",
        "Sure!",
        "I don't know.",
        "Trams run.",
    )
    ids = chance.sample("abcdef", chance.randint(1, 5))
    return Sample(
        "r",
        question=chance.choice(("What is it?", "When did it open?")),
        response="\n".join(chance.sample(words, chance.randint(1, 4))),
        contexts=tuple(Context(f"{chance.choice(words)} {id_}", id_) for id_ in ids),
        reference=chance.choice(words),
        expected_facts=tuple(chance.sample(words, 2)),
        relevant_ids={id_: float(chance.randint(0, 3)) for id_ in "abcg"},
        guidelines=("Be brief.",),
        answerable=chance.choice((None, True, False)),
    )


def check_relations(seed: int) -> None:
    """F8: renaming a row, and the order of its chunks where it may not matter, change no value and
    no verdict.
    """
    chance = random.Random(seed)
    name = chance.choice(VARIANTS)
    sample, judge = some_sample(chance), fair(seed)
    first, asked = play(name, sample, judge)
    again, asked_again = play(
        name, replace(sample, id="another", line=7, slices={"x": "y"}, cluster="c"), judge
    )
    assert again == first, f"{name}: the id shows"
    assert [r.key for r in asked] == [r.key for r in asked_again], f"{name}: the id is asked about"
    if name.partition("(")[0] in ORDERED or "[" in (sample.response or ""):
        return  # marks such as [1] name chunks by their place
    order = list(sample.contexts or ())
    chance.shuffle(order)
    moved, _ = play(name, replace(sample, contexts=tuple(order)), judge)
    assert moved.value is None if first.value is None else moved.value is not None, (
        f"{name}: the order of the chunks shows"
    )
    assert abs((moved.value or 0.0) - (first.value or 0.0)) < 1e-12, (
        f"{name}: the order of the chunks shows"
    )
    assert moved.verdict == first.verdict, f"{name}: the order of the chunks shows in the verdict"
