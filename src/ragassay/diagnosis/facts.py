"""The facts about a row that rules of finer causes rest on, each with its proof in words.

A fact is a name, such as "relevant_missed", and a sentence that quotes the row. The figures of
single metrics (a share of claims, a precision) become facts here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ragassay.core import Part, Sample, Score, Shown, Stage, Status, Verdict
from ragassay.diagnosis.chunks import (
    ClaimPlace,
    claim_place,
    denied_claims,
    evidence_chunks,
    sources_of,
)
from ragassay.diagnosis.evidence import listed, part_text, quoted
from ragassay.diagnosis.patterns import HIGH, LOW
from ragassay.diagnosis.row import ABSTENTION, Row

Facts = Iterator[tuple[str, str]]
"""Pairs of a fact and its proof."""


def facts_of(row: Row) -> dict[str, str]:
    """What is known about the row: fact -> its proof in words."""
    facts: dict[str, str] = {}
    for collect in _COLLECTORS:
        for name, proof in collect(row):
            facts.setdefault(name, proof)
    return facts


def _answerable(row: Row) -> Facts:
    """Whether the corpus holds an answer, and whether the response gives one."""
    # What the row says outright comes before what its documents suggest.
    sample = row.sample
    relevant = row.relevant_ids
    if sample.answerable is False:
        yield "no_answer_here", "the row says that the question has no answer here"
    elif relevant:
        yield "answerable", "the corpus holds " + listed(relevant)
    elif sample.answerable:
        yield "answerable", "the row says that the question can be answered"
    elif relevant is not None:
        yield "no_answer_here", "relevant_ids names no relevant document"
    if _declines(row):
        yield "declined", "the response declines"
    elif (sample.response or "").strip():
        yield "answered", f"it answers {quoted(sample.response or '')}"


def _declines(row: Row) -> bool:
    """Whether the response declines: by a metric that looks for it, or by the one that decides
    whether the answer is right.
    """
    if row.declined:
        return True
    return any(ABSTENTION in score.flags for score in row.deciding(Stage.ANSWER))


def _documents(row: Row) -> Facts:
    """Which of the documents known to be relevant were retrieved, and where they stand."""
    relevant = row.relevant_ids
    contexts = row.sample.contexts
    if not relevant or contexts is None or row.sample.answerable is False:
        return
    ids = [chunk.id for chunk in contexts]
    if None in ids:
        return  # a chunk without an id may be of any document
    retrieved: list[str] = []
    missed: list[str] = []
    for document in relevant:
        if document in ids:
            retrieved.append(document)
        else:
            missed.append(document)
    if not retrieved:
        yield "relevant_missed", "not retrieved: " + listed(missed)
        return
    words = "retrieved: " + listed(retrieved)
    yield "relevant_retrieved", words
    yield "evidence_there", words
    if missed:
        yield "relevant_in_part", f"{words}; not retrieved: {listed(missed)}"
        if _best_graded(row.sample).isdisjoint(missed):
            yield "relevant_best", words
        return
    all_words = "every document known to be relevant was retrieved: " + listed(retrieved)
    yield "relevant_all", all_words
    if set(ids[: len(retrieved)]) == set(retrieved):
        yield "relevant_first", "and they stand first"


def _best_graded(sample: Sample) -> set[str]:
    """The documents with the highest grade of relevance that people gave."""
    grades = sample.relevant_ids or {}
    best = max(grades.values(), default=0)
    return {document for document, grade in grades.items() if grade == best}


def _ranks(row: Row) -> Facts:
    """Where the first relevant chunk stands."""
    contexts = row.sample.contexts or ()
    if any(chunk.text.strip() for chunk in contexts):
        yield "chunks_there", ""
    first = min(_relevant_chunks(row), default=0)
    if first == 0:  # it stands first, or none is known to be relevant
        return
    words = f"the first relevant chunk is context {first + 1} of {len(contexts)}"
    yield "irrelevant_first", words
    last = first == len(contexts) - 1
    if last and len(contexts) > 2:  # of two chunks, the second is no distance away
        yield "relevant_last", words


def _evidence(row: Row) -> Facts:
    """Whether the evidence was there, whether it supports the reference, and the response rests on
    it.
    """
    for score in row.scores:
        if score.verdict is not Verdict.PASS:
            continue
        shown = row.shown_by(score)
        if Shown.EVIDENCE_PRESENT in shown:
            yield "evidence_there", _figure(score)
    if supports_reference(row):
        yield "reference_supported", _figure(_of_reference(row)[0])
    for context, words in sorted(evidence_chunks(row).items()):
        yield "evidence_there", f"context {context + 1}: {words}"
    yield from _grounded(row)


def supports_reference(row: Row) -> bool | None:
    """Whether the contexts support the reference, as far as a score has a verdict on it."""
    verdicts = [score.verdict for score in _of_reference(row)]
    if Verdict.FAIL in verdicts:
        return False
    return True if Verdict.PASS in verdicts else None


def _of_reference(row: Row) -> list[Score]:
    """The scores with a verdict on whether the contexts support the reference."""
    scores = []
    for score in row.showing(Shown.REFERENCE_SUPPORTED):
        # Judged against the question alone, nothing is said of the reference.
        if "against=question" not in score.metric and score.verdict in (
            Verdict.PASS,
            Verdict.FAIL,
        ):
            scores.append(score)
    return scores


def _grounded(row: Row) -> Facts:
    """Whether every score with a verdict on the support of the claims passes."""
    support = []
    for score in row.scores:
        if score.verdict is not None and Shown.SUPPORTED_CLAIMS in row.shown_by(score):
            support.append(score)
    if support and all(score.verdict is Verdict.PASS for score in support):
        yield "grounded", _figure(support[0])


def _answer(row: Row) -> Facts:
    """Whether the answer is right, and whether it is one to the question."""
    right = _deciding_right(row)
    if right:
        passed = all(score.verdict is Verdict.PASS for score in right)
        yield "answer_right" if passed else "answer_wrong", _figure(right[0])
        denied = denied_claims(row) if passed else []
        if denied:
            words = f"the chunks say otherwise of {_first_quoted(denied, row.sample)}"
            yield "right_though_denied", words
    relevance = [score for score in row.showing(Shown.ANSWER_RELEVANT) if score.value is not None]
    if relevance and all(score.verdict is Verdict.PASS for score in relevance):
        yield "answer_relevant", _figure(relevance[0])
    if any(misses_the_question(score) for score in relevance):
        question = quoted(row.sample.question or "")
        response = quoted(row.sample.response or "")
        yield "answer_beside", f"asked {question}, answered {response}"


def _deciding_right(row: Row) -> list[Score]:
    """The scores that decide whether the answer is right: those of the first metric with a verdict,
    the judge of the whole answer before what is nearest to it.
    """
    scores = row.showing(Shown.ANSWER_RIGHT)
    decided = [score for score in scores if score.verdict in (Verdict.PASS, Verdict.FAIL)]
    if not decided:
        return []
    first = row.role(decided[0])
    return [score for score in decided if row.role(score) is first]


def misses_the_question(score: Score) -> bool:
    """Whether this score of answer relevance says that nothing of the question is answered."""
    # A flag says that the zero has another reason: an empty response, one that declines.
    return score.value == 0.0 and score.verdict is Verdict.FAIL and not score.flags


def _coverage(row: Row) -> Facts:
    """How much of the truth the answer states, and of the retrieved evidence it uses."""
    claims_are_false = any(_makes_false_claims(row, score) for score in row.scores)
    for score in row.scores:
        shown = row.shown_by(score)
        if Shown.TRUE_CLAIMS in shown:
            yield from _truth_shares(row.sample, score)
        unused = Shown.EVIDENCE_USED in shown and score.value is not None and score.value < LOW
        if unused and not claims_are_false:
            words = f"it uses {score.value:.0%} of the evidence that was retrieved"
            yield "statements_missing", words


def _truth_shares(sample: Sample, score: Score) -> Facts:
    """From the precision and recall of the response's claims against the reference."""
    precision = score.extra.get("precision")
    recall = score.extra.get("recall")
    if precision is None or recall is None:
        return
    words = f"precision {precision:.2f}, recall {recall:.2f} of its claims"
    if precision >= HIGH > recall:
        yield "statements_missing", _missing_statement(sample, score) or words
    if recall >= HIGH:
        yield "statements_covered", words
    if precision < LOW:
        yield "claims_false", words


def _makes_false_claims(row: Row, score: Score) -> bool:
    """Whether it shows claims to be false: then evidence left unused is not the answer's first
    fault.
    """
    shown = row.shown_by(score)
    if Shown.TRUE_CLAIMS in shown:
        return score.extra.get("precision", 1.0) < HIGH
    return bool(score.value) and not shown.isdisjoint((Shown.INVENTED_SHARE, Shown.MISLED_SHARE))


def _claims(row: Row) -> Facts:
    """Claim by claim: does the truth state it, do the chunks support it, and which ones?"""
    # Two metrics judged the same claims, each against one side; they are joined by their place.
    truth = _claim_parts(row.showing(Shown.TRUE_CLAIMS))
    support = _claim_parts(row.showing(Shown.SUPPORTED_CLAIMS))
    stated: list[Part] = []
    invented: list[Part] = []
    for place, part in support.items():
        if part.passed is not False or place not in truth:
            continue
        if truth[place].passed:
            stated.append(part)
        else:
            invented.append(part)
    if stated:
        yield "claims_from_memory", f"the reference states {_first_quoted(stated, row.sample)}"
    if invented:
        yield "claims_invented", f"nothing states {_first_quoted(invented, row.sample)}"
    yield from _shares(row)
    relevant = _relevant_chunks(row)
    for place, part in support.items():
        if not part.passed or ABSTENTION in part.flags or part.sources == ():
            continue
        if place in truth and truth[place].passed:
            continue
        yield "claims_on_chunks", f"the chunks support {quoted(part_text(part, row.sample))}"
        sources = sources_of(part)
        if place in truth and sources:
            yield from _wrong_claim(part, sources, relevant, row.sample)


def _wrong_claim(
    part: Part, sources: Sequence[int], relevant: frozenset[int], sample: Sample
) -> Facts:
    """A claim that the reference does not state and chunks support: one of the two is in doubt."""
    places = ", ".join(str(context + 1) for context in sources)
    where = f"{quoted(part_text(part, sample))} stands in context {places}"
    if relevant and relevant.issuperset(sources):
        words = f"{where}, which is relevant, and the reference says otherwise"
        yield "reference_contradicted", words
        return
    yield "claims_from_chunks", where
    if relevant and min(sources) < min(relevant):
        words = f"{where}, before the first relevant one, context {min(relevant) + 1}"
        yield "misled_first", words


def _shares(row: Row) -> Facts:
    """The same from the shares of claims that the metrics of the claim graph give."""
    for score in row.scores:
        if score.status is not Status.JUDGED or score.value is None:
            continue
        for showing in row.role(score).shows:
            yield from _share(showing.shown, score, score.value)
    noise = [score for score in row.showing(Shown.MISLED_SHARE) if score.value is not None]
    if noise and all(score.value == 0 and not score.flags for score in noise):
        yield "no_claims_from_chunks", "no wrong claim comes from a chunk"


def _share(shown: Shown, score: Score, share: float) -> Facts:
    """What one share of claims says. That there is no such claim is a fact only where all of them
    were judged.
    """
    all_judged = "partial" not in score.flags
    # Against the contexts alone, nothing is said of what the reference states.
    if shown is Shown.INVENTED_SHARE and "against=contexts" not in score.metric:
        if share > 0:
            words = f"{share:.0%} of its claims are in neither the chunks nor the reference"
            yield "claims_invented", words
        elif all_judged:
            words = "none of its claims is in neither the chunks nor the reference"
            yield "none_invented", words
    if shown is Shown.KNOWN_SHARE:
        if share > 0:
            yield "claims_from_memory", f"{share:.0%} of its claims are right and in no chunk"
        elif all_judged:
            yield "none_from_memory", "none of its claims is right and in no chunk"
    if shown is Shown.MISLED_SHARE and share > 0:
        yield "claims_from_chunks", f"{share:.0%} of its claims are wrong and come from a chunk"


_COLLECTORS: tuple[Callable[[Row], Facts], ...] = (
    _answerable,
    _documents,
    _ranks,
    _evidence,
    _answer,
    _coverage,
    _claims,
)
"""In this order: of two proofs of one fact, the first is kept."""


def _claim_parts(scores: Iterable[Score]) -> dict[ClaimPlace, Part]:
    """The claims of these scores by their place; the first score's word counts."""
    claims: dict[ClaimPlace, Part] = {}
    for score in scores:
        for part in score.parts:
            if part.kind == "claim" and part.passed is not None:
                claims.setdefault(claim_place(part), part)
    return claims


def _relevant_chunks(row: Row) -> frozenset[int]:
    """The places of the chunks that are relevant: by their known ids, else as judged; what people
    know outranks it, and so does evidence.
    """
    contexts = row.sample.contexts or ()
    relevant = row.relevant_ids
    if relevant and all(chunk.id is not None for chunk in contexts):
        return frozenset(i for i, chunk in enumerate(contexts) if chunk.id in relevant)
    for score in row.showing(Shown.RELEVANT_CHUNKS):
        verdicts = _chunk_verdicts(score)
        # With a chunk unjudged, which is the first relevant one is not known.
        if len(verdicts) == len(contexts) > 0:
            judged = frozenset(context for context, passed in verdicts if passed)
            return judged | frozenset(evidence_chunks(row))
    return frozenset()


def _chunk_verdicts(score: Score) -> list[tuple[int, bool]]:
    """The chunks that the score has a verdict on: their places, and whether they pass."""
    verdicts = []
    for part in score.parts:
        if part.kind == "chunk" and part.context is not None and part.passed is not None:
            verdicts.append((part.context, part.passed))
    return verdicts


def _missing_statement(sample: Sample, score: Score) -> str:
    """The first statement of the reference that the response lacks, "" where none is known."""
    lacking = []
    for part in score.parts:
        if part.kind == "statement" and part.passed is False:
            lacking.append(part)
    return f"it does not state {_first_quoted(lacking, sample)}" if lacking else ""


def _first_quoted(parts: Iterable[Part], sample: Sample) -> str:
    """The first of the parts by place, in quotation marks."""
    return quoted(part_text(min(parts, key=_reading_order), sample))


def _reading_order(part: Part) -> tuple[bool, int, str]:
    return part.start is None, part.start or 0, part.text


def _figure(score: Score) -> str:
    """The metric, and its value where it has one."""
    if score.value is None:
        return score.metric
    return f"{score.metric} is {score.value:.2f}"
