"""Names that read back, errors that say what to do, and declarations that say all."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Sample, SetupError
from ragassay.metrics import (
    Metric,
    MetricBase,
    catalogue,
    default_metrics,
    parse,
    parse_list,
)
from support.hand_fed import PARAMETERS, needs_of, rubrics_of, values_of, variants


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    kind = catalogue()[draw(st.sampled_from(sorted(catalogue())))]
    given = {f.name: draw(_value(kind, f.name)) for f in fields(kind) if draw(st.booleans())}  # type: ignore[arg-type]
    metric = kind(**given)
    assert isinstance(metric, Metric)
    return metric


def _value(kind: type[MetricBase], parameter: str) -> st.SearchStrategy[object]:
    anywhere = {
        "pass_mark": st.floats(0, 1),
        "f1_weight": st.floats(0, 1),
        "similarity_weight": st.floats(0, 1),
        "k": st.integers(1, 10**6),
        "n": st.integers(1, 20),
        "beta": st.floats(0.1, 10),
    }
    return anywhere.get(parameter, st.sampled_from(values_of(kind, parameter)))


@given(metrics())
def test_the_printed_name_of_every_metric_reads_back_as_the_metric(metric: Metric) -> None:
    assert parse(str(metric)) == metric


@given(st.lists(metrics(), min_size=1, max_size=5))
def test_a_list_of_printed_names_reads_back_with_repeated_ones_once(chosen: list[Metric]) -> None:
    assert list(parse_list(", ".join(map(str, chosen)))) == list(
        {str(m): m for m in chosen}.values()
    )


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
        ("ndcg@5", "ndcg_at_k(k=5)"),
        ("P@3", "precision_at_k(k=3)"),
        ("recall@5", "recall_at_k(k=5)"),
        ("recall_at_k", "recall_at_k(k=5)"),
        (
            " groundedness( pass_mark = 0.8 , claims=llm ) ",
            "groundedness(pass_mark=0.8, claims=llm)",
        ),
        ("mrr()", "mrr"),
    ],
)
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
        ("correctness(form=tree)", "E0202", "Did you mean 'three'?"),
        ("context_sufficiency(against=response)", "E0202", "one of reference, question"),
        ("answer_relevance_reverse(n=0)", "E0202", "whole number from 1"),
        ("answer_relevance_reverse(n=21)", "E0202", "from 1 to 20"),
        ("answer_correctness_lexical(f1_weight=1.5)", "E0202", "from 0 to 1"),
        ("context_entity_recall(entities=rule)", "E0202", "Did you mean 'rules'?"),
        ("context_relevance_dual(pass_mark=-1)", "E0202", "from 0 to 1"),
        ("sufficiency", "E0201", "Did you mean 'context_sufficiency'?"),
    ],
)
def test_a_wrong_name_or_parameter_says_what_to_write(text: str, code: str, says: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_list(text)
    assert caught.value.code == code
    assert says in str(caught.value)


def test_every_default_metric_exists_and_takes_no_parameter() -> None:
    printed = [str(m) for m in parse_list(",".join(default_metrics()))]
    assert [name.partition("(")[0] for name in printed] == list(default_metrics())
    assert all("(" not in name or "(k=" in name for name in printed), (
        "k is always shown, nothing else is"
    )


def test_a_metric_is_a_value_that_can_be_changed_only_by_copying() -> None:
    metric = parse("groundedness")
    assert str(replace(metric, claims="llm")) == "groundedness(claims=llm)"  # type: ignore[type-var]
    assert hash(metric) == hash(parse("groundedness"))


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_declaration_says_all_that_the_reference_prints(name: str) -> None:
    kind = catalogue()[name]
    d = kind.declaration
    assert d.name == name
    assert d.title.endswith(".")
    assert d.formula.rstrip().endswith(".")
    assert d.source
    assert d.needs
    known = {f.name for f in fields(Sample)}
    assert {part for need in d.needs for part in need.split("|")} <= known
    assert d.low == 0
    assert (d.high is None) == bool(d.unit)
    asked = {
        rubric
        for variant in variants()
        if variant.partition("(")[0] == name
        for rubric in rubrics_of(parse(variant))
    }
    assert set(rubrics_of(parse(name))) <= set(d.rubrics) <= asked
    assert bool(d.rubrics) == d.judged
    for edge in d.edge_cases:
        assert edge
        assert not edge.endswith(".")
    assert len({other.tool + other.name for other in d.elsewhere}) == len(d.elsewhere)
    assert kind.__doc__


def test_what_parameters_change_is_said_by_the_metric_and_not_by_its_name_alone() -> None:
    assert rubrics_of(parse("correctness(form=three)")) == ("correctness_3",)
    assert rubrics_of(parse("context_sufficiency(against=question)")) == (
        "context_sufficiency_open",
    )
    assert needs_of(parse("context_sufficiency(against=question)")) == ("question", "contexts")
    assert rubrics_of(parse("answer_correctness_lexical(f1_weight=1)")) == ()
    assert rubrics_of(parse("context_entity_recall")) == ()
    assert rubrics_of(parse("context_entity_recall(entities=llm)")) == ("entities",)


def test_every_variant_reads_back() -> None:
    names = list(variants())
    assert [str(parse(name)).partition("(")[0] for name in names] == [
        name.partition("(")[0] for name in names
    ]
    assert all(parse(str(parse(name))) == parse(name) for name in names)
    used: set[str] = set()
    for name, kind in catalogue().items():
        assert is_dataclass(kind)
        for field in fields(kind):
            used |= {field.name, f"{name}.{field.name}"}
    assert set(PARAMETERS) <= used, "a value is listed for a parameter that no metric has"


def test_a_metric_that_is_not_there_is_named_with_the_nearest_and_the_command_that_lists_all():
    with pytest.raises(SetupError) as caught:
        parse("grundedness")
    assert caught.value.what == "No metric is called 'grundedness'. Did you mean 'groundedness'?"
    assert caught.value.fix == "all are listed by: ragassay metrics"
