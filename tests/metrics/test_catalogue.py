"""Names that read back, errors that say what to do, and the page written from the declarations."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import SetupError
from ragassay.metrics import DEFAULT_METRICS, Metric, catalogue, parse, parse_list, reference

CHOICES = {
    "rubric": st.sampled_from(["context_relevance", "chunk_relevance"]),
    "claims": st.sampled_from(["sentences", "llm"]),
    "mode": st.sampled_from(["ratio", "binary", "weighted"]), "scale": st.sampled_from([3, 5]),
    "k": st.integers(1, 10**6),
    "pass_mark": st.floats(0, 1),
}  # fmt: skip


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    kind = catalogue()[draw(st.sampled_from(sorted(catalogue())))]
    metric = kind(**{f.name: draw(CHOICES[f.name]) for f in fields(kind) if draw(st.booleans())})  # type: ignore[arg-type]
    assert isinstance(metric, Metric)
    return metric


@given(metrics())
def test_the_printed_name_of_every_metric_reads_back_as_the_metric(metric: Metric) -> None:
    assert parse(str(metric)) == metric


@given(st.lists(metrics(), min_size=1, max_size=5))
def test_a_list_of_printed_names_reads_back_with_repeated_ones_once(chosen: list[Metric]) -> None:
    assert list(parse_list(", ".join(map(str, chosen)))) == list({str(m): m for m in chosen}.values())


@given(st.text(st.sampled_from("abgroundedness(),=@k5. "), max_size=30))
def test_any_other_text_is_a_setup_error_and_never_something_else(text: str) -> None:
    code = ""
    try:
        parse_list(text)
    except SetupError as error:
        code = error.code
    assert code in {"", "E0201", "E0202"}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ndcg@5", "ndcg_at_k(k=5)"), ("P@3", "precision_at_k(k=3)"), ("recall@5", "recall_at_k(k=5)"), ("recall_at_k", "recall_at_k(k=5)"),
        (" groundedness( pass_mark = 0.8 , claims=llm ) ", "groundedness(pass_mark=0.8, claims=llm)"), ("mrr()", "mrr"),
    ],
)  # fmt: skip
def test_other_spellings_mean_the_same_metric(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("groundness", "E0201", "Did you mean 'groundedness'?"),
        ("", "E0201", "name at least one"),
        ("groundedness(pass_mark=2)", "E0202", "from 0 to 1"),
        ("groundedness(pass_mark=nan)", "E0202", "from 0 to 1"),
        ("groundedness(pass_marc=1)", "E0202", "Did you mean 'pass_mark'?"),
        ("precision_at_k(k=0)", "E0202", "whole number from 1"),
        ("precision_at_k(k=1.5)", "E0202", "whole number"),
        ("precision_at_k(k=1, k=2)", "E0202", "twice"),
        ("faithfulness(mode=weighed)", "E0202", "Did you mean 'weighted'?"),
        ("answer_relevance(scale=4)", "E0202", "one of 3, 5"),
        ("mrr@5", "E0202", "has no parameter"),
    ],
)
def test_a_wrong_name_or_parameter_says_what_to_write(text: str, code: str, says: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_list(text)
    assert caught.value.code == code
    assert says in str(caught.value)


def test_every_default_metric_exists_and_takes_no_parameter() -> None:
    printed = [str(m) for m in parse_list(",".join(DEFAULT_METRICS))]
    assert [name.partition("(")[0] for name in printed] == list(DEFAULT_METRICS)
    assert all("(" not in name or "(k=" in name for name in printed), "k is always shown, nothing else is"


def test_a_metric_is_a_value_that_can_be_changed_only_by_copying() -> None:
    metric = parse("groundedness")
    assert str(replace(metric, claims="llm")) == "groundedness(claims=llm)"  # type: ignore[type-var]
    assert hash(metric) == hash(parse("groundedness"))


def test_the_reference_page_is_the_one_written_from_the_declarations() -> None:
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert page.read_text(encoding="utf-8") == reference(), "write it anew from ragassay.metrics.reference()"
