"""Calls, words and prompt tokens of a row, and the share that a prefix cache would serve.

    python benchmarks/prompts/run.py [--rows 60] [--in-flight 32] [--bench ../shared/bench]

The requests are real: `ragassay.evaluate` runs the triad (context relevance, groundedness, answer
relevance) against a local server that keeps every request in the order of its arrival. Rows: the
example rows of the package; made rows with 4 contexts of 100 words and 4 claims; made rows with 8
contexts of 400 words and 4 claims; where its folder is there, the rows of the common bench, on
which benchmarks/engine counted the words of the peers (results/engine.json). Ways of asking:
batched (as by default), one call a chunk (a rubric that extends context_relevance with `batch: 1`),
single calls (one a claim and chunk). The call that learns the model before the rows is left out.

Tokens, as no vocabulary of a chat model is at hand: UTF-8 bytes by 4, and beside it the WordPiece
vocabulary (uncased BERT) that comes with the offline judge. The cache of a hosted provider: a
prefix of 1,024 tokens or more, in steps of 128, is served when an earlier request with it was
answered; nothing is forgotten (a run sends its next request within a provider's minutes) and all
requests reach the same cache, so that the shares are upper bounds. The cache of a server of one's
own (vLLM, SGLang): the same in steps of 16, from the first token on. A request is taken as answered
when as many others as may be in flight have arrived after it. Shares are over the second half of
the requests, when the cache is warm. The hosted OpenAI service puts the JSON schema of the reply in
front of the prompt, other servers do not show it to the model: both are printed. Writes
benchmarks/results/prompts.json and prompts.md.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

METRICS = "context_relevance, groundedness, answer_relevance"
LEAST, STEP = 1024, 128
OWN_LEAST, OWN_STEP = 16, 16
GOAL_CALLS, GOAL_SHARE, GOAL_WORDS = 3, 0.5, 2000
COMMON = "rows of the common bench"
BEFORE = 3795  # words a row of the common bench, with the prompts of version 0.1.0
ONE_A_CHUNK = "---\nid: context_relevance\nversion: 1\nextends: context_relevance\nbatch: 1\n---\n"
TEXT = """river bridge council harbour engine winter letter market village teacher signal copper
forest lantern archive garden captain museum station theatre orchard factory island
railway painter chapel district festival reservoir"""
WORDS = TEXT.split()
PASSAGE = re.compile(
    r"<<<(?:passage \d+|context)\|[0-9a-f]+>>>\n(.*?)\n<<<end\|[0-9a-f]+>>>\n*", re.S
)
TEXT_OF_ROW = re.compile(r"<<<[^\n|]+\|([0-9a-f]+)>>>\n(.*?)\n<<<end\|\1>>>", re.S)
QUESTION = re.compile(r"<<<question\|[0-9a-f]+>>>\n(.*?)\n<<<end", re.S)

Body = dict[str, Any]
Tokens = Sequence[object]


# -- rows and requests


def made_rows(count: int, contexts: int, words: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows of so many contexts of so many words, and a response of 4 claims (sentences); no two
    texts alike.
    """
    dice = random.Random(seed)
    rows = []
    for number in range(count):
        texts = []
        for place in range(contexts):
            said = [dice.choice(WORDS) for _ in range(words)]
            said[0] = f"Record {number} part {place}"
            texts.append(" ".join(said) + ".")
        claims = [
            f"The {dice.choice(WORDS)} of {number} met the {dice.choice(WORDS)} in"
            f" {1900 + dice.randrange(99)}."
            for _ in range(4)
        ]
        question = f"What did record {number} say of the {dice.choice(WORDS)}?"
        rows.append(
            {
                "id": f"row-{number}",
                "question": question,
                "contexts": texts,
                "response": " ".join(claims),
            }
        )
    return rows


def requests_of(rows: list[dict[str, Any]], in_flight: int, **options: Any) -> list[Body]:
    """What a run over the rows sends of them, in the order in which it arrives."""
    import ragassay
    from ragassay.testing import LLMServer

    with LLMServer(latency=0.05) as server, tempfile.TemporaryDirectory() as folder:
        run = ragassay.evaluate(
            rows,
            METRICS,
            judge="openai:mock",
            base_url=server.url,
            store=f"{folder}/store.db",
            cache=False,
            concurrency=in_flight,
            **options,
        )
        run.close()
        asked = {str(row["question"]) for row in rows}
        return [body for body in server.bodies if question(body) in asked]


def messages(body: Body) -> str:
    """The messages as the model reads them, one after the other."""
    return "\n".join(str(message["content"]) for message in body["messages"])


def schema(body: Body) -> str:
    """The schema that is sent beside them."""
    return json.dumps(body["response_format"]["json_schema"], separators=(",", ":"))


def question(body: Body) -> str:
    """What stands for the row of a request."""
    found = QUESTION.search(messages(body))
    return found[1] if found else ""


# -- tokens and the cache


def by_four(text: str) -> Tokens:
    """UTF-8 bytes, four to a token."""
    data = text.encode()
    return [data[at : at + 4] for at in range(0, len(data), 4)]


def word_pieces() -> Callable[[str], Tokens]:
    """The WordPiece tokens of a text."""
    from ragassay.models.offline.wordpiece import WordPiece

    folder = ROOT / "src/ragassay/models/offline/weights"
    pieces = WordPiece((folder / "vocab.txt").read_text(encoding="utf-8").split("\n"))
    return lambda text: pieces.encode(text, sys.maxsize)[1:-1]


class PrefixCache:
    """Which beginnings of prompts were seen, in whole steps."""

    def __init__(self, least: int = LEAST, step: int = STEP) -> None:
        self._least, self._step = least, step
        self._seen: set[int] = set()

    def add(self, tokens: Tokens) -> None:
        """A prompt was answered."""
        self._seen.update(self._steps(tokens))

    def served(self, tokens: Tokens) -> int:
        """Tokens of the longest known beginning; 0 below the least."""
        known = 0
        for step in self._steps(tokens):
            if step not in self._seen:
                break
            known += self._step
        return known if known >= self._least else 0

    def _steps(self, tokens: Tokens) -> Iterable[int]:
        chain = 0
        for at in range(0, len(tokens) - self._step + 1, self._step):
            chain = hash((chain, tuple(tokens[at : at + self._step])))
            yield chain


def served_share(
    prompts: Sequence[Tokens], in_flight: int, least: int = LEAST, step: int = STEP
) -> float:
    """Share of the tokens that the cache serves; a request is answered when `in_flight` more have
    arrived.

    Over the second half: a run of a million rows is not like its first hundred requests.
    """
    cache, served, asked = PrefixCache(least, step), 0, 0
    for n, tokens in enumerate(prompts):
        if n >= in_flight:
            cache.add(prompts[n - in_flight])
        if n >= len(prompts) // 2:
            served += cache.served(tokens)
            asked += len(tokens)
    return served / asked


# -- figures


@dataclass(frozen=True, slots=True)
class Recorded:
    """The requests of one way of asking about some rows."""

    rows: int
    bodies: list[Body]


def per_row(recorded: Recorded, count: Callable[[str], Tokens]) -> dict[str, float]:
    """Calls and tokens a row."""
    given = sum(len(count(messages(body))) for body in recorded.bodies)
    beside = sum(len(count(schema(body))) for body in recorded.bodies)
    return {
        "calls": len(recorded.bodies) / recorded.rows,
        "tokens": given / recorded.rows,
        "schema_tokens": beside / recorded.rows,
    }


def words(recorded: Recorded) -> dict[str, float]:
    """Words of all messages a row: in all, by rubric, and those that are the row's own texts."""
    counted: dict[str, float] = {"in all": 0.0}
    own = 0
    for body in recorded.bodies:
        rubric = body["response_format"]["json_schema"]["name"]
        text = messages(body)
        counted[rubric] = counted.get(rubric, 0.0) + len(text.split())
        counted["in all"] += len(text.split())
        own += sum(len(match[2].split()) for match in TEXT_OF_ROW.finditer(text))
    counted["the row's own texts"] = own
    return {name: number / recorded.rows for name, number in counted.items()}


def apart(bodies: Sequence[Body]) -> float:
    """How many requests a row's requests that hold its contexts stand apart, in the median row."""
    places: dict[str, list[int]] = {}
    for n, body in enumerate(bodies):
        if PASSAGE.search(messages(body)):
            places.setdefault(question(body), []).append(n)
    gaps = [b - a for at in places.values() for a, b in pairwise(at)]
    return statistics.median(gaps) if gaps else 0.0


def contexts_first(body: Body) -> str:
    """The request as it would be if the contexts of its row stood before everything else, in one
    form for all rubrics.
    """
    text = messages(body)
    passages = PASSAGE.findall(text)
    return "\n\n".join([*passages, PASSAGE.sub("", text)])


def without_ids(body: Body) -> str:
    """The schema as it would be if it took any text as an id: the same for all rows."""
    return re.sub(r'"enum":\["[0-9a-f]{8,}"(?:,"[0-9a-f]{8,}")*\]', '"minLength":1', schema(body))


FORMS: dict[str, Callable[[Body], str]] = {
    "as sent": messages,
    "schema in front": lambda body: schema(body) + messages(body),
    "schema in front, if it named no ids": lambda body: without_ids(body) + messages(body),
    "if the contexts stood first": contexts_first,
}


def shares(
    orders: dict[str, list[Body]], count: Callable[[str], Tokens], lags: Sequence[int]
) -> dict[str, dict[str, dict[str, float]]]:
    """Order -> in flight -> form of the prompt -> share served by the cache."""
    found: dict[str, dict[str, dict[str, float]]] = {
        order: {str(lag): {} for lag in lags} for order in orders
    }
    for form, text in FORMS.items():
        known: dict[int, Tokens] = {}  # the shuffled requests are the same ones
        for order, bodies in orders.items():
            prompts = [
                known[id(b)] if id(b) in known else known.setdefault(id(b), count(text(b)))
                for b in bodies
            ]
            for lag in lags:
                found[order][str(lag)][form] = served_share(prompts, lag)
    return found


def common_rows(bench: Path, count: int) -> list[dict[str, Any]]:
    """Rows as the common bench makes them; [] where it is not there."""
    if not (bench / "rows.py").is_file():
        return []
    sys.path.insert(0, str(bench))
    import rows as made  # type: ignore[import-not-found]

    fields = {"id": "id", "question": "question", "contexts": "contexts", "answer": "response"}
    return [{fields[key]: row[key] for key in fields} for row in made.make(count)]


def peer_words() -> dict[str, float]:
    """Client -> its prompt words a row of the common bench, as benchmarks/engine counted them."""
    path = RESULTS / "engine.json"
    if not path.is_file():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))["conditions"][0]["found"]
    return {
        client: statistics.median(run["words_a_row"] for run in runs)
        for client, runs in found.items()
    }


def measure(count: int, in_flight: int, bench: Path) -> dict[str, Any]:
    """All figures."""
    from ragassay.datasets.examples import rows_path

    examples = [
        json.loads(line)
        for line in rows_path().read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    sources = {
        f"{len(examples)} example rows of the package": examples,
        f"{count} rows, 4 contexts of 100 words, 4 claims": made_rows(count, 4, 100),
        f"{count} rows, 8 contexts of 400 words, 4 claims": made_rows(count, 8, 400),
    }
    common = common_rows(bench, count)
    if common:
        sources[f"{count} {COMMON}"] = common
    rules = {"bytes by 4": by_four, "WordPiece": word_pieces()}
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        rubric = Path(folder, "one_a_chunk.md")
        rubric.write_text(ONE_A_CHUNK, encoding="utf-8")
        for name, rows in sources.items():
            ways = {
                "batched": requests_of(rows, in_flight),
                "one call a chunk": requests_of(rows, in_flight, rubrics=[rubric]),
                "single calls": requests_of(rows, in_flight, single_calls=True),
            }
            shuffled = list(ways["batched"])
            random.Random(1).shuffle(shuffled)
            orders = {
                "batched": ways["batched"],
                "batched, shuffled": shuffled,
                "single calls": ways["single calls"],
            }
            found[name] = {
                "per_row": {
                    way: {
                        rule: per_row(Recorded(len(rows), bodies), tokens)
                        for rule, tokens in rules.items()
                    }
                    for way, bodies in ways.items()
                },
                "words": words(Recorded(len(rows), ways["batched"])),
                "own_server": {
                    order: {
                        rule: served_share(
                            [tokens(messages(b)) for b in bodies], in_flight, OWN_LEAST, OWN_STEP
                        )
                        for rule, tokens in rules.items()
                    }
                    for order, bodies in orders.items()
                },
                "fixed": {
                    rule: fixed_part(ways["batched"], tokens) for rule, tokens in rules.items()
                },
                "apart": {order: apart(bodies) for order, bodies in orders.items()},
                "served": {
                    rule: shares(orders, tokens, (in_flight, 1)) for rule, tokens in rules.items()
                },
            }
    return {
        "command": " ".join(["python benchmarks/prompts/run.py", *sys.argv[1:]]),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "in_flight": in_flight,
        "peers": peer_words(),
        "found": found,
    }


def fixed_part(bodies: Sequence[Body], count: Callable[[str], Tokens]) -> dict[str, int]:
    """Tokens of the system part, by rubric."""
    return {
        body["response_format"]["json_schema"]["name"]: len(count(body["messages"][0]["content"]))
        for body in bodies
    }


# -- the page


def page(result: dict[str, Any]) -> str:
    """The tables as Markdown."""
    in_flight = result["in_flight"]
    lines = [
        "# Prompts: calls, words, tokens, and what a prefix cache serves",
        "",
        (
            f"{result['date']}; `{result['command']}`; the triad, {in_flight} in flight. Tokens by"
            " two rules: UTF-8 bytes by 4 / WordPiece (uncased BERT); chat models' own counts lie"
            " near these."
        ),
        "",
        *words_a_row(result),
        "",
        "## Calls and prompt tokens a row",
        "",
        "| rows | way | calls | prompt tokens | of single calls | schema sent beside them |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, found in result["found"].items():
        single = found["per_row"]["single calls"]
        for way, rules in found["per_row"].items():
            both = list(rules)
            parts = [f"{rules[r]['tokens'] / single[r]['tokens']:.0%}" for r in both]
            lines.append(
                f"| {name} | {way} | {rules[both[0]]['calls']:.2f} |"
                f" {_both(rules[r]['tokens'] for r in both)} | {' / '.join(parts)} |"
                f" {_both(rules[r]['schema_tokens'] for r in both)} |"
            )
    lines += ["", *goals(result), "", *agreement(), "", *cache(result), ""]
    return "\n".join(lines)


def words_a_row(result: dict[str, Any]) -> list[str]:
    """The words of the prompts beside those of the peers."""
    names = list(next(iter(result["found"].values()))["words"])
    lines = [
        "## Words a row",
        "",
        "Of all messages of a row's calls, its own texts included, split at white space.",
        "",
        f"| rows | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    for name, found in result["found"].items():
        counts = [f"{found['words'][column]:,.0f}" for column in names]
        lines.append(f"| {name} | {' | '.join(counts)} |")
    common = next((found for name, found in result["found"].items() if COMMON in name), None)
    if common is None:
        return lines
    now = common["words"]["in all"]
    reached = "reached" if now <= GOAL_WORDS else "NOT reached"
    peers = []
    for peer, count in sorted(result["peers"].items(), key=lambda entry: entry[1]):
        if peer != "ragassay" and not peer.startswith("bare"):
            peers.append(f"{peer} {count:,.0f}")
    return [
        *lines,
        "",
        f"On the rows of the common bench: {BEFORE:,} before, {now:,.0f} now"
        f" ({now / BEFORE:.0%}); goal: at most {GOAL_WORDS:,}, {reached}. The peers on the same"
        f" rows (`benchmarks/results/engine.md`): {', '.join(peers)}.",
    ]


def goals(result: dict[str, Any]) -> list[str]:
    """Each goal beside its figure, for the rows that the goals speak of."""
    found = next(found for name, found in result["found"].items() if "4 contexts of 100" in name)[
        "per_row"
    ]
    calls = found["batched"]["bytes by 4"]["calls"]
    share = max(
        found["batched"][r]["tokens"] / found["single calls"][r]["tokens"] for r in found["batched"]
    )
    return [
        "| goal (4 contexts, 4 claims) | measured | |",
        "|---|---:|---|",
        (
            f"| at most {GOAL_CALLS} calls a row | {calls:.2f} |"
            f" {'reached' if calls <= GOAL_CALLS else 'NOT reached'} |"
        ),
        (
            f"| prompt tokens at most {GOAL_SHARE:.0%} of single calls | {share:.0%} |"
            f" {'reached' if share <= GOAL_SHARE else 'NOT reached'} |"
        ),
    ]


def agreement() -> list[str]:
    """What the choice of one call for all chunks or one a chunk costs, and why no figure stands
    here.
    """
    return [
        "## One call for all chunks, or one a chunk?",
        "",
        (
            "The rubric chooses: `context_relevance` asks about up to 8 chunks in one call; a file"
            " that extends it with `batch: 1` asks about one. What the choice costs in agreement"
            " with people depends on the model, and no language model was at hand here, so no"
            " figure is given. With labels of your own it is two commands:"
        ),
        "",
        "```text",
        (
            "printf -- '---\\nid: context_relevance\\nversion: 1\\nextends:"
            " context_relevance\\nbatch: 1\\n---\\n' > one_a_chunk.md"
        ),
        "ragassay benchmark labels.jsonl --metric context_relevance --judge openai:MODEL",
        (
            "ragassay benchmark labels.jsonl --metric context_relevance --judge openai:MODEL"
            " --rubric one_a_chunk.md"
        ),
        "```",
    ]


def cache(result: dict[str, Any]) -> list[str]:
    """The shares served."""
    in_flight = result["in_flight"]
    lines = [
        "## Share of prompt tokens that a prefix cache serves",
        "",
        f"Prefixes of at least {LEAST:,} tokens, in steps of {STEP}, over the second half of the"
        " requests. Upper bounds: one"
        f' cache for all requests, nothing forgotten. "{in_flight} in flight": a request finds what'
        ' was answered before it was sent; "one by one": each'
        ' waits for the one before. "Apart": how many requests the ones that hold the same contexts'
        " stand apart (median)."
        " The two columns before the last are no product of today: what a schema without the ids of"
        " the items, and what contexts in front of the rubric would give. The last one is a server"
        f" of one's own, whose cache has steps of {OWN_STEP} tokens and no least length.",
        "",
        (
            "| rows | order | in flight | apart | as sent | schema in front | schema in front, if"
            " it named no ids | if the contexts stood first | own server |"
        ),
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in result["found"].items():
        for order in found["apart"]:
            for lag in (str(in_flight), "1"):
                rules = found["served"].values()
                shown = [
                    " / ".join(f"{served[order][lag][form]:.0%}" for served in rules)
                    for form in FORMS
                ]
                own = found["own_server"][order].values() if lag != "1" else ()
                shown.append(" / ".join(f"{share:.0%}" for share in own))
                many = lag if lag != "1" else "one by one"
                lines.append(
                    f"| {name} | {order} | {many} | {found['apart'][order]:g} |"
                    f" {' | '.join(shown)} |"
                )
    fixed = next(iter(result["found"].values()))["fixed"]
    lines += ["", "The part that never varies, the rubric's system part, in tokens:", ""]
    for rubric in next(iter(fixed.values())):
        short = min(fixed[rule][rubric] for rule in fixed) < LEAST
        said = f"; below {LEAST:,}, so not served by itself" if short else ""
        lines.append(f"- {rubric}: {_both(fixed[rule][rubric] for rule in fixed)}{said}")
    in_front = [
        lag["schema in front"]
        for found in result["found"].values()
        for orders in found["served"].values()
        for lags in orders.values()
        for lag in lags.values()
    ]
    if not any(in_front):
        lines += [
            "",
            (
                "With the schema in front nothing is served: it names the ids of the call's items,"
                " so that no two calls begin alike for 1,024 tokens."
            ),
        ]
    return lines


def _both(numbers: Iterable[float]) -> str:
    return " / ".join(f"{number:,.0f}" for number in numbers)


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    a = parser.parse_args()
    result = measure(a.rows, a.in_flight, a.bench)
    text = page(result)
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "prompts.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "prompts.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
