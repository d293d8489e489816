"""A certificate holds what was measured of a judge, and is bound to what determines the judge."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragassay.core import SetupError
from ragassay.trust.certificate_issue import issue
from support.certificates import benchmark, certificate, interval, judge, profile


def test_a_certificate_holds_what_was_measured_and_what_it_is_bound_to() -> None:
    c = certificate()
    assert (c.judge, c.metric, c.dataset, c.data_hash, c.n, c.clusters) == (
        "offline",
        "groundedness",
        "begin",
        "ab" * 16,
        3412,
        200,
    )
    assert c.fingerprints == {"groundedness": "f1"}
    assert c.rubrics == {"groundedness": "groundedness@2"}
    assert c.set_up.where == ("split=test",)
    assert c.missing == {"no claim": 3}
    kappa = c.figure("kappa")
    assert kappa is not None
    assert (kappa.value, kappa.interval) == (0.52, interval(0.52 - 0.05, 0.52 + 0.05))


def test_without_a_name_the_data_are_called_by_their_file() -> None:
    one = judge()
    c = issue(benchmark(one), one, rubrics={}, profile=profile(n=5), version="0.1.0")
    assert c.dataset == "begin.jsonl"


def test_the_same_measurement_made_at_another_time_has_the_same_id() -> None:
    one = judge()
    first = benchmark(one)
    later = replace(first, created="2027-01-01T00:00:00+00:00")
    ids = {
        issue(b, one, rubrics={}, profile=profile(n=9), version="0.1.0").id for b in (first, later)
    }
    assert len(ids) == 1


def test_recorded_answers_get_no_certificate_for_rubric_and_model_are_not_known() -> None:
    one = judge(name="recorded:gpt-4", prints={})
    with pytest.raises(SetupError, match="E0205") as error:
        issue(benchmark(one), one, rubrics={}, profile=profile(n=5), version="0.1.0")
    assert "rubric, model and parameters are not known" in str(error.value)


def test_the_profile_holds_only_what_the_metric_reads() -> None:
    """Groundedness reads response and contexts, answer relevance question and response."""
    grounded = set(certificate().profile.quantiles)
    assert {"response_words", "context_words", "contexts", "response_in_contexts"} <= grounded
    assert not any(
        name.startswith(("question", "reference")) or name.endswith("in_question")
        for name in grounded
    )
    relevant = set(certificate(metric="answer_relevance").profile.quantiles)
    assert {"question_words", "response_in_question"} <= relevant
    assert not any("context" in name or name.startswith("reference") for name in relevant)
    own = set(certificate(metric="my_own_judge").profile.quantiles)
    assert {"question_words", "reference_words", "contexts"} <= own
