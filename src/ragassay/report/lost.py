"""Verdicts that were lost: how many, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.core import MetricSummary, Status, Summary
from ragassay.report.wording import STATUS_WORDS, declared_as

UNKNOWN = "see the rows' statuses"
"""Stands for a reason that no figure of the summary names."""


def remedy(reason: str, max_tokens: object) -> str:
    """What to do about verdicts that were lost for this reason; "" where to ask again may help.
    max_tokens: the option of the run, None where it was left out.
    """
    if "cut off at its length limit" in reason and max_tokens is not None:
        return (
            f"raise --max-tokens (it is {max_tokens}), or leave it out, in a new run: the same"
            " replies would be cut off again"
        )
    if "content_filter" in reason:
        return "a filter of the provider refuses these texts: judge them with another model"
    if "the model refused to answer" in reason:
        return "the model refuses these texts: judge them with another one"
    if is_abstention(reason):
        return "judge what is left with a language model: --judge openai:MODEL or local:FOLDER"
    if "shorten or split the contexts" in reason:
        return "shorten or split the contexts, or judge with a model that reads longer prompts"
    return ""


def is_abstention(reason: str) -> bool:
    """Whether most verdicts are missing since the judge abstained, which it would do again."""
    return reason.startswith(STATUS_WORDS[Status.ABSTAINED])


def in_short(reason: str) -> str:
    """The reason without what it says is to be done, which is said once at the end."""
    return reason.partition("; name a ")[0]


def abstention_in_short(note: str) -> str:
    """A note on an abstention for one line: the reason first, which is all that differs."""
    where, _, reason = in_short(note).partition(" where it applies: ")
    return f"{where.replace(' has no value', ': no value')}, {reason}"


def different_notes(notes: Sequence[str]) -> list[str]:
    """The notes without those that repeat an abstention for another metric, in short."""
    by_reason: dict[str, str] = {}
    for note in notes:
        reason = reason_in(note)
        if is_abstention(reason):
            by_reason.setdefault(in_short(reason), in_short(note))
        else:
            by_reason.setdefault(note, note)
    return list(by_reason.values())


def first_loss(summary: Summary) -> str:
    """Why most verdicts of the first metric that lost some are missing."""
    for line in summary.notes:
        reason = reason_in(line)
        if reason:
            return reason
    if summary.manifest.judge.uri == "offline":
        # Parts of scores are missing. Nothing fails between us and a judge on this machine.
        return f"{STATUS_WORDS[Status.ABSTAINED]} of parts of rows: {UNKNOWN}"
    return UNKNOWN


def reason_in(note: str) -> str:
    """Why scores are missing, the most frequent reason first; "" where a note is of something
    else.
    """
    if " has no value in " not in note:
        return ""
    return note.partition("applies: ")[2][:200]


def advice(summary: Summary, resume: str, reason: str) -> str:
    """What to do about verdicts that were lost for this reason, as a sentence."""
    again = f"To ask for them again: {resume} --retry-failed"
    max_tokens = summary.manifest.options.get("max_tokens")
    if reason == UNKNOWN and max_tokens is not None:
        cut = f"Where replies were cut off by --max-tokens {max_tokens}, raise it in a new run."
        return f"{cut} {again}"
    instead = remedy(reason, max_tokens)
    return instead[:1].upper() + instead[1:] if instead else again


def asked_and_judged(summary: Summary) -> tuple[int, int]:
    """The verdicts that were asked for, and those that were given. Verdicts that metrics share are
    counted once, as far as their declarations and counts show it.
    """
    counts = {_key(metric): (metric.asked, metric.judged) for metric in summary.metrics}
    asked = sum(each for each, _ in counts.values())
    judged = sum(each for _, each in counts.values())
    return asked, judged


def _key(metric: MetricSummary) -> tuple[object, ...]:
    """The same for metrics that are made of the same verdicts."""
    declared = declared_as(metric.metric)
    if declared is None or not declared.rubrics:
        return (metric.metric,)
    return declared.rubrics, metric.asked, metric.judged
