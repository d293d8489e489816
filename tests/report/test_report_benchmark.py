"""A benchmark reads the same in a terminal, on a page and as JSON: every figure with its interval
or with why it has none.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from ragassay.core import (
    Certificate,
    CutPoint,
    Disagreement,
    EnvironmentFailure,
    Figure,
    Interval,
    JudgeBenchmark,
    JudgeDifference,
    JudgeFigures,
    MetricTrust,
    Profile,
    ReliabilityBin,
    SetUp,
    SliceFigures,
)
from ragassay.report import (
    benchmark_headline,
    benchmark_json,
    benchmark_text,
    certificates_json,
    render_benchmark,
    render_certificate,
    render_certificates,
    summarise,
    summary_json,
    write_benchmark_html,
    write_html,
)
from support.as_json import as_json
from support.whole_reports import render_all

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "{{ 7*7 }}{% for x in y %}",
    "\x1b[31m\x1b]0;owned\x07",
    "[red]boom[/red]",
    "\u202eevil",
    "</style><style>@import url(http://evil.test/x.css)</style>",
    "\x00\ud800",
    "' onmouseover='alert(1)",
)


def between(low, high):
    return Interval(low, high, 0.95, "cluster bootstrap t, logit")


def figures(kappa=0.512, n=100):
    return (
        Figure("kappa", kappa, between(kappa - 0.1, kappa + 0.1), n),
        Figure("balanced_accuracy", 0.75, between(0.7, 0.8), n),
        Figure("precision", 0.9, None, n, "no interval: too few clusters carry it"),
        Figure("auc", None, None, n, "only one class"),
        Figure("false_positive_rate", 0.25, between(0.1, 0.4), n),
        Figure("false_negative_rate", 0.125, between(0.05, 0.2), n),
        Figure("ece", 0.2, None, n, "no interval: too few clusters carry it"),
    )


def judge(name="offline", *, kappa=0.512, disagreements=None, slices=("wow", "cmu")):
    cut = tuple(
        CutPoint(x / 10, 100 - 10 * x, 0.5 + x / 25, 1 - x / 10, 0.6, 0.6, 0.3 if x != 5 else None)
        for x in range(10)
    )
    bins = (
        ReliabilityBin(0.0, 0.1, 40, 0.05, 0.10, between(0.05, 0.2)),
        ReliabilityBin(0.5, 0.6, 0, 0.0, 0.0, None),
        ReliabilityBin(0.9, 1.0, 60, 0.95, 0.70, between(0.6, 0.8)),
    )
    if disagreements is None:
        disagreements = (
            Disagreement(
                "row-7",
                0,
                1,
                1.0,
                "wow",
                "Who?",
                "Nobody.",
                "not in the text",
                "stands in the text",
            ),
            Disagreement("row-9", 1, 0.25, 0.75, "cmu", "Where?", "There.", "", "not found"),
        )
    return JudgeFigures(
        name,
        100,
        40,
        {"not applicable: no claim": 3},
        figures(kappa),
        figures(kappa - 0.1),
        tuple(
            SliceFigures(s, 50 + i, 20 + i, figures(0.2 + 0.3 * i, 50))
            for i, s in enumerate(slices)
        ),
        ("0", "1"),
        ("fail", "pass"),
        ((30, 10), (5, 55)),
        cut,
        bins,
        disagreements,
        (),
        {"groundedness": "ab" * 16},
        0.5,
        ("only few rows in cmu",),
    )


def benchmark(*judges, **more):
    judges = judges or (judge(),)
    set_up = SetUp(
        "label",
        (0.0, 1.0),
        1.0,
        "groundedness",
        0.5,
        cluster="group",
        slice="slice",
        where=("split = test",),
    )
    differences = (
        JudgeDifference("offline", "other", "kappa", 98, 0.05, between(-0.02, 0.12), 0.21),
        JudgeDifference("offline", "other", "auc", 98, None, None, None, "only one class"),
    )
    base = JudgeBenchmark(
        "/data/begin.jsonl",
        "cd" * 16,
        set_up,
        110,
        103,
        judges,
        differences if len(judges) > 1 else (),
        ("12 rows without a label are left out",),
        "2026-11-21T09:00:00+00:00",
    )
    return replace(base, **more)


def shown(value, width=80, render=render_benchmark, **more):
    out = io.StringIO()
    render(value, Console(file=out, width=width, no_color=True, **more))
    return out.getvalue()


# ── in a terminal
# ────────────────────────────────────────


def test_the_first_line_names_judge_and_labels_and_their_agreement():
    assert (
        benchmark_headline(benchmark())
        == "offline against 103 human labels for groundedness: kappa 0.512 [0.412, 0.612] on 100"
        " rows"
    )
    assert (
        benchmark_headline(benchmark(judge(), judge("b")))
        == "2 judges against 103 human labels for groundedness"
    )


def test_what_the_figures_depend_on_is_stated_in_words():
    text = shown(benchmark())
    for words in (
        "begin.jsonl (cdcdcdcdcdcd), field label: 103 of 110 rows labelled",
        "split = test",
        "a label of at least 1, of 0, 1",
        "a score of at least 0.5 passes",
        "rows of one group count together",
        "cluster bootstrap, 2,000 draws, seed 0",
        "12 rows without a label are left out",
        "only few rows in cmu",
        "3 rows without a verdict: not applicable: no claim (3)",
    ):
        assert re.sub(r"\s+", " ", words) in re.sub(r"\s+", " ", text), words


def test_pooled_and_macro_are_shown_apart_and_what_is_absent_has_a_footnote():
    lines = shown(benchmark()).splitlines()
    (head,) = [line for line in lines if "pooled [95 %]" in line]
    assert "macro of 2 slices [95 %]" in head
    (kappa,) = [line for line in lines if line.startswith("  kappa")]
    assert kappa.split("  ")[1:] != []
    assert "0.512 [0.412, 0.612]" in kappa
    assert "0.412 [0.312, 0.512]" in kappa
    (precision,) = [line for line in lines if line.startswith("  precision")]
    assert precision.count("0.900 (1)") == 2
    (auc,) = [line for line in lines if line.startswith("  AUC")]
    assert auc.count("– (2)") == 2
    assert "  (1) no interval: too few clusters carry it" in lines
    assert "  (2) only one class" in lines


def test_confusion_slices_and_disagreements_with_both_rationales_are_shown():
    text = shown(benchmark())
    assert re.search(r"people \\ judge +fail +pass +all", text)
    assert re.search(r"\n  0 +30 +10 +40", text)
    assert text.index("\n  wow") < text.index("\n  cmu")  # kappa 0.2 before 0.5
    for words in (
        "row-7 (wow): people fail it, the judge passes it",
        "people: not in the text",
        "judge: stands in the text",
        "row-9 (cmu): people pass it, the judge fails it",
    ):
        assert words in text


def test_two_judges_stand_side_by_side_with_their_paired_differences():
    text = shown(benchmark(judge(), judge("recorded:other", kappa=0.6)))
    assert "Figures, pooled over all rows" in text
    assert "Figures, macro: mean over slices" in text
    kappa, *_ = [line for line in text.splitlines() if line.startswith("  kappa")]
    assert kappa.index("0.512") < kappa.index("0.600")
    assert "+0.050 [-0.020, +0.120]" in text
    assert "p = 0.210" in text
    assert "only one class" in text


def test_many_judges_are_ranked_by_kappa_and_lead_to_the_rest():
    many = [judge(f"judge-{i}", kappa=i / 10) for i in range(1, 7)]
    text = shown(benchmark(*many))
    table = text[text.index("Judges, pooled") : text.index("Precision, recall and F1")]
    assert re.findall(r"judge-\d", table) == [f"judge-{i}" for i in range(6, 0, -1)]
    assert "--html FILE or --json" in re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("judges", [1, 2, 5])
def test_no_line_is_wider_than_the_terminal_and_no_figure_is_broken(width, judges):
    text = shown(
        benchmark(*[judge(f"a-judge-with-a-rather-long-name-{i}") for i in range(judges)]), width
    )
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert text.count("0.512 [0.412, 0.612]") >= 1


def test_hostile_texts_do_nothing_in_a_terminal():
    hostile = [Disagreement(text, 0, 1, 1, text, text, text, text, text) for text in HOSTILE]
    text = shown(
        benchmark(judge(HOSTILE[3], disagreements=tuple(hostile), slices=HOSTILE[3:5])), 120
    )
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]boom[/red]" in text


def test_a_terminal_that_knows_only_ascii_gets_ascii():
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    render_benchmark(benchmark(), Console(file=out, width=80))
    out.flush()
    assert b"kappa" in out.buffer.getvalue()


def test_nothing_measured_is_still_a_report():
    empty = JudgeFigures(
        "offline", 0, 0, {"failed: no answer": 103}, (Figure("kappa", None, None, 0, "no rows"),)
    )
    text = benchmark_text(benchmark(empty), 80)
    assert "no figure is defined" in text
    assert "103 rows without a verdict: failed: no answer (103)" in text
    assert "nan" not in text


# ── as JSON
# ────────────────────────────────────────


def test_json_holds_every_figure_by_name():
    plain = json.loads(json.dumps(benchmark_json(benchmark()), allow_nan=False))
    assert (plain["schema"], plain["kind"]) == (1, "benchmark")
    one = plain["judges"][0]
    assert [figure["name"] for figure in one["pooled"]] == [figure.name for figure in figures()]
    assert one["pooled"][0]["interval"]["low"] == pytest.approx(0.412)
    assert one["macro"][0]["value"] == pytest.approx(0.412)
    assert one["pooled"][3] == {
        "name": "auc",
        "value": None,
        "interval": None,
        "n": 100,
        "reason": "only one class",
    }
    assert len(one["cut_curve"]) == 10
    assert len(one["reliability"]) == 3
    assert one["confusion"] == [[30, 10], [5, 55]]
    assert plain["set_up"]["where"] == ["split = test"]


def test_a_number_that_is_not_finite_never_gets_into_json():
    with pytest.raises(ValueError, match="not finite"):
        benchmark_json(benchmark(replace(judge(), pooled=(Figure("kappa", float("nan")),))))


# ── as a page
# ────────────────────────────────────────


@pytest.fixture
def visit(visit, tmp_path):
    """Writes the page of a benchmark and opens it as any report."""

    def visit_benchmark(value, **options):
        path = tmp_path / "benchmark.html"
        write_benchmark_html(value, path)
        return visit(path, **options)

    return visit_benchmark


@pytest.mark.slow
def test_the_page_shows_the_benchmark_without_a_script_and_asks_for_nothing(visit):
    tab = visit(benchmark(), java_script_enabled=True)
    assert tab.locator("h1").inner_text() == benchmark_headline(benchmark())
    assert tab.locator("script").count() == 0
    assert tab.locator("table.figures tbody tr").count() == len(figures())
    body = tab.locator("main").inner_text()
    for words in (
        "only one class",
        "people fail it, the judge passes it",
        "stands in the text",
        "not in the text",
    ):
        assert words in body
    assert tab.seen == []


def test_every_chart_has_words_a_legend_beyond_colour_and_a_table_of_the_same(visit):
    tab = visit(benchmark())
    charts = tab.locator("svg[role=img]").all()
    assert len(charts) >= 2
    for chart in charts:
        assert chart.get_attribute("aria-label")
    # precision and recall are whole, kappa is cut in two where it is not defined
    assert tab.locator("svg.chart polyline").count() == 4
    dashes = [
        tab.locator(f".keys .l{n}").evaluate("e => getComputedStyle(e).strokeDasharray")
        for n in (1, 2, 3)
    ]
    assert len(set(dashes)) == 3
    assert tab.locator("svg.chart circle").count() == 2  # the empty bin is none
    rows = [table.locator("tbody tr").count() for table in tab.locator("details.twin table").all()]
    assert rows == [10, 2]


def test_hostile_texts_do_nothing_on_the_page(visit):
    hostile = tuple(Disagreement(text, 0, 1, 1, text, text, text, text, text) for text in HOSTILE)
    value = benchmark(
        *[judge(text, disagreements=hostile, slices=HOSTILE) for text in HOSTILE[:3]],
        warnings=HOSTILE,
    )
    tab = visit(replace(value, source=HOSTILE[0], set_up=replace(value.set_up, where=HOSTILE)))
    assert tab.seen == []
    assert tab.locator("script, img, iframe, link").count() == 0
    assert "49" not in tab.locator("h1").inner_text()


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_never_scrolls_sideways_as_a_whole(visit, width, scheme):
    long = judge("a-judge-whose-name-" + "is-long-" * 20)
    tab = visit(
        benchmark(long, judge("b"), judge("c")),
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
    )
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_id_is_used_twice_and_every_reference_leads_somewhere(tmp_path):
    path = tmp_path / "b.html"
    write_benchmark_html(benchmark(*[judge(f"j{i}") for i in range(5)]), path)
    text = path.read_text(encoding="utf-8")
    ids = re.findall(r'\sid="?([^">\s]+)', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|aria-labelledby=")([^">\s]+)', text)) <= set(ids)


def test_the_same_benchmark_gives_the_same_bytes(tmp_path):
    for name in ("a.html", "b.html"):
        write_benchmark_html(benchmark(judge(), judge("b")), tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_an_unwritable_path_of_a_benchmark_page_is_an_error(tmp_path):
    with pytest.raises(EnvironmentFailure, match="E0107"):
        write_benchmark_html(benchmark(), tmp_path / "nowhere" / "b.html")


# ── certificates, and what a run shows of them
# ──────────────────────────────────────────────────────────────────


def certificate(**more):
    base = Certificate(
        "ee" * 16,
        "2026-11-21T00:00:00+00:00",
        "0.1.0",
        "offline",
        "groundedness",
        {"groundedness": "groundedness@2"},
        {"groundedness": "ab" * 16},
        "begin",
        "cd" * 16,
        SetUp("label", (0.0, 1.0), 1.0, "groundedness"),
        2504,
        696,
        figures(),
        figures(0.4),
        Profile(9, {"response_words": (0.0, 1.0)}, {"response_words": 1.0}),
        {"no claim": 30},
        "human",
        "made without rows of this set",
    )
    return replace(base, **more)


def test_certificates_are_listed_by_judge_and_metric_and_say_whose_labels_they_rest_on():
    text = shown(
        [certificate(), certificate(dataset="shuffled", kind="constructed")],
        100,
        render_certificates,
    )
    assert "Judge: offline" in text
    assert re.search(r"groundedness +begin +0.512 \[0.412, 0.612\] +0.750 \[0.700, 0.800\]", text)
    assert "macro 0.400 [0.300, 0.500]" in text
    assert "2,504 in 696 clusters *" in text
    assert "* labels that were constructed" in text
    assert "Make one: ragassay benchmark" in shown([], 100, render_certificates)


def test_no_interval_of_a_list_of_certificates_is_broken_at_80_columns():
    text = shown(
        [certificate(dataset="all 9 groundedness sets"), certificate(metric="context_relevance")],
        80,
        render_certificates,
    )
    assert text.count("0.512 [0.412, 0.612]") == 2
    assert text.count("macro 0.400 [0.300, 0.500]") == 2
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_one_certificate_is_shown_with_all_that_it_is_bound_to():
    text = shown(certificate(), 100, render_certificate)
    for words in (
        "groundedness@2 abababababab",
        "begin (cdcdcdcdcdcd), human",
        "made without rows of this set",
        "0.512 [0.412, 0.612]",
        "only one class",
        "30 rows without a verdict: no claim",
    ):
        assert words in text


def test_certificates_as_json_hold_every_figure_and_the_profile():
    plain = json.loads(json.dumps(certificates_json([certificate()]), allow_nan=False))
    assert plain["kind"] == "certificates"
    one = plain["certificates"][0]
    assert one["pooled"][0]["value"] == 0.512
    assert one["profile"]["quantiles"] == {"response_words": [0.0, 1.0]}


TRUST = (
    MetricTrust(
        "groundedness",
        True,
        "kappa 0.52 [0.47, 0.57] on 3,412 labels (begin)",
        "ee" * 16,
        "begin",
        "human",
        (),
        3412,
        700,
        0.52,
        between(0.47, 0.57),
        others=2,
    ),
    MetricTrust(
        "answer_relevance",
        False,
        "unmeasured on data like yours: no certificate of this judge for this metric",
    ),
    MetricTrust("not_in_the_run", False, "must not be seen"),
)


@pytest.mark.slow
def test_a_run_shows_for_each_metric_what_is_known_of_its_judge(store, mixed, tmp_path, browser):
    summary = summarise(store, mixed, trust=TRUST)
    text = re.sub(r"\s+", " ", shown(summary, 100, render_all))
    assert (
        "groundedness: kappa 0.52 [0.47, 0.57] on 3,412 labels (begin) (2 more certificates:"
        " ragassay certificates)" in text
    )
    assert (
        "answer_relevance: unmeasured on data like yours: no certificate of this judge for this"
        " metric" in text
    )
    assert "must not be seen" not in text
    assert (
        "Balanced accuracy 0.78" not in text
    )  # the judge's own sentence would say something else of the same thing
    trust = as_json(summary_json(summary)["trust"])
    assert [(line["metric"], line["measured"], line["labels"]) for line in trust] == [
        ("groundedness", True, 3412),
        ("answer_relevance", False, 0),
    ]
    write_html(store, mixed, tmp_path / "r.html", trust=TRUST)
    tab = browser.new_page()
    tab.goto((tmp_path / "r.html").as_uri())
    lines = tab.locator("ul.trust li").all_inner_texts()
    tab.close()
    assert len(lines) == 2
    assert lines[0].startswith("✓ measured groundedness: kappa 0.52")
    assert lines[1].startswith("? not measured here answer_relevance: ")


@pytest.mark.slow
def test_a_run_without_certificates_shows_its_judges_own_sentence(store, mixed):
    assert "Balanced accuracy 0.78 [0.75, 0.81]" in shown(summarise(store, mixed), 120, render_all)
