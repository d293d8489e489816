"""The causes of failed rows, root and finer, each with its remedy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ragassay.core import Cause

_ROOT = (
    Cause(
        "application_error",
        "The application failed on the row",
        "Read the error and run the question again by itself. Look for time-outs, rate "
        "limits, a prompt that is too long, an exception in retrieval or parsing; until it is "
        "mended, the other metrics say nothing about such rows.",
    ),
    Cause(
        "nothing_retrieved",
        "Nothing was retrieved",
        "Find out why the retriever returns no chunk for such questions. A filter or score "
        "threshold may be too strict, an index empty or stale, an error swallowed. Then let "
        "the application say that it found nothing.",
    ),
    Cause(
        "retrieval_irrelevant",
        "No retrieved chunk is relevant",
        "Check that the corpus holds the answer; then mend the retriever. Try hybrid (keyword "
        "+ embedding) search, query rewriting, a better embedding model, a reranker over more "
        "candidates, other chunk sizes.",
    ),
    Cause(
        "context_diluted",
        "Relevant chunks are few, or stand behind irrelevant ones",
        "Rerank, or retrieve fewer chunks. Cut below a retrieval score, remove near- "
        "duplicates, and make chunks smaller where only a sentence or two of each matters.",
    ),
    Cause(
        "document_missed",
        "The document known to be relevant was not retrieved",
        "Retrieve more candidates and rerank. The document exists and was not found: look at "
        "its chunks and metadata, try hybrid search or query rewriting, and check that the "
        "index holds its present version.",
    ),
    Cause(
        "insufficient_context",
        "The chunks do not hold what a right answer needs",
        "Retrieve more or larger chunks. Follow links between documents, split questions of "
        "several parts into several searches; if the corpus lacks the fact, add it.",
    ),
    Cause(
        "ungrounded",
        "The response claims what the chunks do not support",
        "Tell the generator to answer only from the context. Let it say when something is "
        "missing, ask for citations, lower the temperature, cut irrelevant chunks, or use a "
        "stronger model.",
    ),
    Cause(
        "over_refusal",
        "The response declines although the answer was retrieved",
        "Soften the instruction to refuse when unsure. Show an example that answers from such a"
        " context, look for safety filters that trigger wrongly, and put the relevant chunk nearer"
        " to the question. The retriever did its part.",
    ),
    Cause(
        "declined",
        "The response declines to answer",
        "Find out first whether the chunks hold the answer. That they are about the question does"
        " not show it; a reference, relevant_ids, or a language model asked for"
        " context_sufficiency(against=question) does. Where they lack it, declining was right:"
        " work on the retrieval. Where they hold it, soften the instruction to refuse.",
    ),
    Cause(
        "failed_abstention",
        "The response answers a question that has no answer here",
        "Allow the generator to say that it does not know. Show an example of it; refuse "
        "below a retrieval score.",
    ),
    Cause(
        "no_answer",
        "The response is empty",
        "Look for generation errors that are swallowed. Timeouts, content filters, a token "
        "limit that is too low, or an output parser that drops the text leave nothing.",
    ),
    Cause(
        "answer_irrelevant",
        "The response does not answer the question",
        "Put the question after the context and repeat what is asked for. Check query "
        "rewriting and conversation history; ask for a direct answer first and for every part "
        "of the question.",
    ),
    Cause(
        "incomplete_answer",
        "The response leaves out what the chunks hold on the question",
        "Ask for every part of the question, with conditions and exceptions. Raise the limit "
        "on the answer's length; put fewer and shorter chunks before the model, so that none "
        "is passed over.",
    ),
    Cause(
        "misled",
        "The response repeats from the chunks what the reference does not state",
        "Keep such chunks from the model. Rerank, retrieve fewer, filter by source or date; "
        "tell it what to do with passages that disagree. Where the claims are right, the "
        "reference is too short.",
    ),
    Cause(
        "incorrect",
        "The response is wrong",
        "Read the row, and measure the retrieval where that was not done. Was the evidence "
        "there? If the context contradicts the reference, mend the corpus or the reference; "
        "else use a stronger model or let it reason before answering.",
    ),
    Cause(
        "unsafe",
        "The response is unsafe",
        "Add a safety instruction and an output filter. Check the retrieved chunks for "
        "injected instructions.",
    ),
    Cause(
        "guideline_broken",
        "The response breaks a guideline",
        "Put the guideline into the system prompt in the same words. Add an example that "
        "keeps it; check that two guidelines do not contradict each other.",
    ),
    # Of runs of a former version: today such a cause has the name of its metric.
    Cause(
        "other",
        "Another metric failed",
        "Open the row and read the rationale of the metric that is named there.",
    ),
)

CAUSES: Mapping[str, Cause] = MappingProxyType({cause.name: cause for cause in _ROOT})
"""Name -> root cause with its remedy; `detail` is empty here and quotes the row in a Diagnosis."""

_FINER = (
    Cause(
        "corpus_gap",
        "The corpus lacks the answer",
        "Add the missing document, or let the application say that it does not know. No change of"
        " the retriever helps.",
    ),
    Cause(
        "retrieval_miss",
        "The corpus holds the answer, and the search did not find it",
        "Compare the words of the question with those of the missed document: hybrid search, query"
        " rewriting, another embedding model, other chunks, and the filters that apply to it.",
    ),
    Cause(
        "ranking_cutoff",
        "The evidence was found in part, or ranked too low",
        "Rerank, or retrieve more before the cut: what was needed stands behind the cut-off or"
        " behind other chunks.",
    ),
    CAUSES["over_refusal"],
    CAUSES["failed_abstention"],
    Cause(
        "hallucination",
        "It claims what neither the chunks nor the reference say",
        "Tell the generator to use only the context, ask for citations, lower the temperature, or"
        " use a stronger model.",
    ),
    Cause(
        "noise_distraction",
        "It takes a wrong claim from a chunk",
        "Cut irrelevant chunks by a reranker or a score threshold, and ask the generator to name"
        " the chunk it relies on; where a relevant chunk is wrong, mend the corpus.",
    ),
    Cause(
        "incomplete",
        "What it says holds, and something needed is missing",
        "Ask for every part of the question, raise the limit on the answer's length, and check that"
        " the chunks with the missing part reach the prompt.",
    ),
    Cause(
        "wrong_focus",
        "It answers another question",
        "Put the question after the context and repeat what is asked for; check query rewriting and"
        " the history.",
    ),
    Cause(
        "right_without_evidence",
        "What it claims agrees with the reference, and does not come from the chunks",
        "The model seems to answer from memory, which no reader can check. Retrieve the source, or"
        " ask for citations.",
    ),
    Cause(
        "doubtful_reference",
        "The reference itself is in doubt",
        "Read the reference beside the chunks: an outdated answer, another reading of the question,"
        " or a fact that the corpus does not hold. Mend the reference before the application.",
    ),
)

FINER: Mapping[str, Cause] = MappingProxyType({cause.name: cause for cause in _FINER})
"""Name -> finer cause with its remedy, in causal order."""


def own_cause(metric: str) -> Cause:
    """The cause that is the failure of a metric without a place in the causal order, such as a
    judge of the user's own: it stands by the metric's name.
    """
    taken = metric in CAUSES or metric in FINER
    return Cause(
        f"{metric}_fails" if taken else metric,
        f"{metric} fails",
        "Read why, row by row. Where the reasons are right, change what the application is told or"
        " given; where they are wrong, the judge's own text.",
    )


def is_own(cause: Cause) -> bool:
    """Whether the cause is one of `own_cause`."""
    return cause.remedy == own_cause(cause.name).remedy


def cause_named(name: str) -> Cause:
    """The root or finer cause of this name.

    A metric of the user's own may declare a cause that is not listed here: its name stands for it.
    """
    cause = CAUSES.get(name) or FINER.get(name)
    if cause is None:
        return Cause(name, name.replace("_", " "), "")
    return cause
