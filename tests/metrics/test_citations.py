"""Which chunks the marks of a response name, and how many of them hold."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from ragassay.core import Context, Judgment, Request, Sample, Score, Status, Verdict
from ragassay.metrics import parse
from ragassay.metrics.citations import cited_chunks, without_marks

ROW = Sample(
    "r", question="q?", response="", contexts=(Context("one"), Context("two"), Context("three"))
)


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("It is red [2].", (2,)),
        ("It is red.[2]", (2,)),
        ("It is red [1, 3].", (1, 3)),
        ("It is red [1;3].", (1, 3)),
        ("It is red [1-3].", (1, 2, 3)),
        ("It is red [1–2, 5].", (1, 2, 5)),
        ("It is red [2][1] and [2].", (2, 1)),
        ("It is red 【1】【3†source】.", (1, 3)),
        ("It is red [^2].", (2,)),
        ("It is red [0].", (0,)),
        ("It is red.", ()),
        ("In [1999] it was red.", ()),  # a year
        ("In [1990-1999] it was red.", ()),
        ("Pages [1-200] are red.", ()),  # wider than any list of sources
        ("It is [red] and [a1] and [].", ()),
        ("It is 2.", ()),
    ],
)
def test_the_marks_of_a_sentence_name_chunks(sentence: str, numbers: tuple[int, ...]) -> None:
    assert cited_chunks(sentence) == numbers


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("It opened in 1999 [2].", "It opened in 1999."),
        ("It opened in 1999.[2]", "It opened in 1999."),
        ("It opened in 1999 [1][3].", "It opened in 1999."),
        ("It opened in 1999. [1, 3] 【2】", "It opened in 1999."),
        ("Red doors [1] and blue ones [2] last.", "Red doors and blue ones last."),
        ("It opened in 1999.", "It opened in 1999."),
        ("It opened in 1999.【4:0†guide.pdf】", "It opened in 1999."),
        ("【4:1†guide.pdf】 It opened in 1999.", " It opened in 1999."),
        ("It opened in 1999 [4].", "It opened in 1999 [4]."),  # there are three chunks
        ("It opened in 1999 [0].", "It opened in 1999 [0]."),
        ("The dose is [2] mg.", "The dose is [2] mg."),
        ("The total was [3].", "The total was [3]."),
        ("[2] opened first.", "[2] opened first."),
        ("It opened in [199].", "It opened in [199]."),
        ("It says [sic] so.", "It says [sic] so."),
    ],
)
def test_a_claim_is_judged_without_the_marks_that_cite_a_chunk(sentence: str, said: str) -> None:
    assert without_marks(sentence, 3) == said


def test_the_judge_sees_the_claim_without_its_mark_and_the_part_keeps_its_place() -> None:
    row = replace(ROW, response="It opened in 1999 [2]. It is red.")
    (asked,) = [next(parse("groundedness").flow(row))]
    assert [request.text("claim") for request in asked] == ["It opened in 1999.", "It is red."]
    assert {request.text("response") for request in asked} == {row.response}
    assert play(row.response or "", {"It opened": (1,), "It is": ()}).parts[0].end == 22


def play(
    response: str, sources: Mapping[str, tuple[int, ...] | Status], row: Sample = ROW
) -> Score:
    """sources: beginning of a sentence -> the chunks (from 0) that support it."""

    def answer(request: Request) -> Judgment:
        if request.rubric == "answer_relevance":
            return Judgment(request.key, "j", request.rubric, Status.JUDGED, 3, 1.0, passes=True)
        found = next(v for k, v in sources.items() if request.text("claim").startswith(k))
        if isinstance(found, Status):
            return Judgment(request.key, "j", request.rubric, found, reason="lost")
        yes = found != ()
        return Judgment(
            request.key,
            "j",
            request.rubric,
            Status.JUDGED,
            3 * yes,
            float(yes),
            passes=yes,
            sources=found,
        )

    flow = parse("citation_support").flow(replace(row, response=response))
    try:
        asked = next(flow)
        while True:
            asked = flow.send(tuple(answer(request) for request in asked))
    except StopIteration as done:
        score: Score = done.value
        return score


def test_marks_and_sentences_are_counted_apart() -> None:
    # Marks: red [1] holds, [2] does not; blue [3] holds; green has none; 3 marks, 2 hold.
    # Sentences: red and blue are supported by what they cite; green, which needs a mark, is not: 2
    # of 3.
    score = play(
        "It is red [1][2]. Its roof is blue [3]. All doors are green.",
        {"It is": (0,), "Its roof": (2, 0), "All": (1,)},
    )
    assert score.value == pytest.approx(2 / 3)
    assert score.extra == {"recall": pytest.approx(2 / 3)}
    assert (score.verdict, score.pass_mark) == (Verdict.FAIL, 0.9)
    assert [(part.kind, part.context, part.passed) for part in score.parts] == [
        ("citation", 0, True),
        ("citation", 1, False),
        ("citation", 2, True),
    ]
    assert [part.start for part in score.parts] == [0, 0, 18]
    assert score.parts[1].rationale == "Chunk 2 does not support the sentence."


def test_a_mark_to_a_chunk_that_does_not_exist_is_not_supported() -> None:
    score = play("It is red [1, 4, 0].", {"It": (0,)})
    assert score.value == pytest.approx(1 / 3)
    assert [(part.context, part.rationale) for part in score.parts[1:]] == [
        (None, "Chunk 4 does not exist."),
        (None, "Chunk 0 does not exist."),
    ]
    assert play("It is red [1].", {}, replace(ROW, contexts=())).value == 0.0


def test_a_mark_to_a_chunk_without_text_is_not_supported() -> None:
    row = replace(ROW, contexts=(Context(""), Context("two")))
    assert play("It is red [1][2].", {"It": (1,)}, row).value == 0.5


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "the response is empty"),
        ("It is red.", "the response carries no citation mark"),
        (
            "It is red.\n\nSources: [1], [2]",
            "no sentence that makes a claim carries a citation mark",
        ),
        ("I don't know [1].", "the response only admits that it does not know"),
    ],
)
def test_without_a_mark_that_could_hold_it_does_not_apply(response: str, reason: str) -> None:
    score = play(response, {"It": (0,)})
    assert (score.status, score.value, score.verdict, score.reason) == (
        Status.NOT_APPLICABLE,
        None,
        None,
        reason,
    )


def test_the_marks_of_a_lost_sentence_are_lost() -> None:
    score = play("It is red [1][2]. Its roof is blue [3].", {"It is": Status.FAILED, "Its": (2,)})
    assert (score.value, score.verdict, score.flags) == (1.0, Verdict.UNDECIDED, ("partial",))
    assert (score.counts.asked, score.counts.judged, score.counts.failed) == (3, 1, 2)
    assert score.extra == {"recall": 1.0}  # of the one sentence that was judged
    gone = play("It is red [1].", {"It": Status.REFUSED})
    assert (gone.status, gone.value, gone.verdict) == (Status.REFUSED, None, Verdict.UNDECIDED)


def test_an_admission_needs_no_citation() -> None:
    score = play("It is red [1]. I don't know the rest.", {"It": (0,)})
    assert (score.value, score.extra, score.verdict) == (1.0, {"recall": 1.0}, Verdict.PASS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["[1", "[1-", "[1,1", "【1†", "[1-30]", "[^1]", "[1 , 2 ", "[999]", "is [1] ", "[2]", "it [2]"],
)
def test_a_response_of_nothing_but_marks_takes_time_in_proportion(unit: str) -> None:
    began = time.process_time()
    text = unit * (200_000 // len(unit))
    cited_chunks(text)
    without_marks(text, 30)
    assert time.process_time() - began < 2
