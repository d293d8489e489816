"""What does the page docs/metrics.md say? Written from the declarations, so that it cannot fall
behind them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import fields

from ragassay.metrics.base import MetricBase
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.scoring import BASE_WEIGHT, WEIGHT_RULES

_INTRO = """# Metrics

<!-- Written by ragassay.metrics.reference(); a test keeps this file equal to it. -->

A score is a number, or it is absent with a status and a reason; it is never NaN and never a made-up 0 or 1. Every score
says how many parts (claims, chunks, ratings) were asked about and how many were judged. A metric that lacks an input is
not applicable and names the field. When some judgments are lost, the value rests on the others and is flagged
`partial`; the verdict is pass or fail only where the lost ones could not change it, else undecided.

Write parameters in brackets: `groundedness(pass_mark=0.8)`, `ndcg_at_k(k=5)` (also `ndcg@5`). Several metrics are
separated by commas. Metrics that share a judgment share its cost: each claim is checked against the chunks once, whatever
number of metrics wants to know. Calls are those of a language model as judge, for one row; the offline judge makes none.
Names of other tools, tool by tool, are on [Coming from another tool](coming-from.md).

## At a glance
"""

_GROUPS: tuple[tuple[str, str, Area, bool | None], ...] = (
    ("Retrieval", "Was the right text found?", Area.RETRIEVAL, None),
    ("Generation", "What was made of it?", Area.RESPONSE, True),
    ("Exact", "Is the text the same? Without a judge.", Area.RESPONSE, False),
    ("Operation", "What did it cost, and did it run?", Area.OPERATION, None),
)

_NAMES = """## Names that mean several things

The same word stands for different quantities in different tools. Here each quantity has a name of its own.

- **Context precision** is three things. Average precision over the ranks of relevant chunks (Ragas, DeepEval): here
  `context_precision`. The share of chunks that support a claim of the reference, whatever their rank (RAGChecker): here
  the mean of `chunk_relevance` is nearest, with relevance to the question instead. The share of retrieved document ids
  that are relevant (Ragas, by id): here `document_precision`.
- **Answer correctness** is two things. F1 of claims blended with an embedding cosine (Ragas): here
  `answer_correctness_claims`. F1 of words blended with a cosine: here `answer_correctness_lexical`. A yes or no of a
  judge (MLflow) is neither; it is `correctness`.
- **Groundedness and faithfulness** ask the same of the same claims: do the contexts support them? `groundedness` is the
  mean of graded support (TruLens), `faithfulness` the share of supported claims (Ragas). MLflow's groundedness is one
  yes or no for the response as a whole: see the verdict of `groundedness` with `pass_mark=1`.
- **Context relevance** is three things: the mean grade of the chunks (TruLens), `context_relevance`; the share of relevant
  sentences (an early Ragas, and DeepEval by statements), `context_relevance_ratio`; one rating of all chunks by two
  templates (NVIDIA), `context_relevance_dual`.
- **Context utilization** is, in RAGChecker, the share of the retrieved evidence that the answer uses, and so it is here.
  In Ragas it is context precision against the response: `context_precision(against=response)`.
- **Hallucination** counts claims in neither contexts nor reference here and in RAGChecker; contexts that the answer
  agrees with in DeepEval; and is a label of the whole answer in Phoenix.
- **Answer relevance** is a rating of how much of the question is answered (TruLens), `answer_relevance`, or how close
  the question is to those the answer would answer (Ragas), `answer_relevance_reverse`.

"""

_CLAIMS = """## Claims

The response is cut into sentences, list items and table rows at their exact place. What makes no claim is dropped, with
its reason, and stays visible in the reports: politeness, lead-ins to a list, headings, questions, code, bare citations.
With `claims=llm` the judge's model lists the claims instead (one more call a row).

"""


def page(metrics: Sequence[type[MetricBase]]) -> str:
    """The reference of these metrics in Markdown."""
    groups = (_group(*group, [kind.declaration for kind in metrics]) for group in _GROUPS)
    return "".join(
        [_INTRO, *groups, "\n", _NAMES, *(_section(kind) for kind in metrics), _CLAIMS, _weights()]
    )


def _group(
    title: str, asks: str, area: Area, judged: bool | None, metrics: Sequence[Declaration]
) -> str:
    # An exact metric compares texts; document ids are compared exactly, too, but say how good the
    # retrieval is.
    found = [d for d in metrics if d.area is area and judged in (None, d.judged)]
    head = (
        f"\n### {title}\n\n{asks}\n\n| metric | measures | better | needs | calls a row"
        " |\n|---|---|---|---|---|\n"
    )
    better = {True: "higher", False: "lower", None: "neither"}
    return head + "".join(
        f"| [{d.name}](#{d.name}) | {d.title} | {better[d.higher_is_better]} | {_needs(d)} |"
        f" {cell(_calls(d))} |\n"
        for d in found
    )


def _section(kind: type[MetricBase]) -> str:
    d = kind.declaration
    direction = {
        True: "higher is better",
        False: "lower is better",
        None: "neither end is better by itself",
    }
    lines = [f"## {d.name}\n", f"{d.title}\n", f"- value: {d.formula}"]
    lines.append(f"- range: {_range(d)}, {direction[d.higher_is_better]}")
    lines.append(f"- needs: {_needs(d)}")
    parameters = [f"`{f.name}={_short(f.default)}`" for f in fields(kind)]  # type: ignore[arg-type]
    if parameters:
        lines.append(f"- parameters and defaults: {', '.join(parameters)}. {_about(kind)}")
    if d.edges:
        lines += ["- edge cases:", *(f"    - {edge}" for edge in d.edges)]
    lines.append(
        f"- calls a row: {_calls(d)}" + (f" (rubrics: {', '.join(d.rubrics)})" if d.rubrics else "")
    )
    lines.append(f"- source: {d.source}")
    if d.elsewhere:
        lines += ["", "| elsewhere | name there | how it differs |", "|---|---|---|"]
        lines += [
            f"| {other.tool} | {cell(other.name)} | {cell(differs(other))} |"
            for other in d.elsewhere
        ]
    return "\n".join(lines) + "\n\n"


def differs(other: Elsewhere) -> str:
    """How the quantity of another tool differs from ours, in words."""
    return other.differs or "the same quantity"


def cell(text: str) -> str:
    """The text as a cell of a Markdown table."""
    return text.replace("|", "\\|")


def _about(kind: type[MetricBase]) -> str:
    """The class's docstring on one line: it says what the parameters mean."""
    return " ".join(inspect.cleandoc(kind.__doc__ or "").split())


def _calls(d: Declaration) -> str:
    return d.calls or "none"


def _needs(d: Declaration) -> str:
    return ", ".join(" or ".join(f"`{name}`" for name in need.split("|")) for need in d.needs)


def _range(d: Declaration) -> str:
    if d.high is None:
        return f"{d.low:g} or more {d.unit}".rstrip()
    return f"{d.low:g} to {d.high:g}"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _weights() -> str:
    table = "".join(f"| {rule.what} | +{rule.adds:g} |\n" for rule in WEIGHT_RULES)
    return (
        f"## Weights of faithfulness(mode=weighted)\n\nA claim weighs {BASE_WEIGHT:g}, plus what it"
        f" holds:\n\n| holds | weight |\n|---|---|\n{table}\nNumbers inside a date count as the"
        " date only; a name is a capitalised word that does not begin the claim, or\nan acronym."
        " The weight of each claim stands beside it in the reports.\n"
    )
