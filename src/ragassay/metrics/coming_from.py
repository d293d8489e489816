"""What does the page docs/coming-from.md say? The names of other tools' metrics, from our
declarations and by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragassay.metrics.base import MetricBase
from ragassay.metrics.declaration import Elsewhere
from ragassay.metrics.page import cell, differs

_INTRO = """# Coming from another tool

<!-- Written by ragassay.metrics.coming_from.coming_from(); a test keeps this file equal to it. -->

What a metric of another tool is called here, and how the number differs. "The same quantity" means: from the same verdicts,
the same number. Everywhere else, and in every metric: a verdict that does not arrive lowers the coverage that stands beside
the score and is never counted as a pass; a row that lacks an input is not applicable, with the field named; and no score is
NaN. The columns of these tools' rows are read as they are: see [Rows](rows.md). The formulas are on [Metrics](metrics.md).
"""


class _Tool(NamedTuple):
    """A section of the page: the tools of the declarations that belong to it, and what only a
    person can say.
    """

    title: str
    tools: tuple[str, ...]
    words: str
    more: tuple[tuple[str, str, str], ...] = ()  # name there, here, how it differs
    absent: tuple[tuple[str, str], ...] = ()  # names there, what to do instead


_TOOLS = (
    _Tool(
        "Ragas",
        ("Ragas", "Ragas 0.1"),
        "Ragas asks one prompt a metric, and several of them split the same answer anew. Here the"
        " claims of a row are one graph that all metrics read. `user_input`, `response`,"
        " `retrieved_contexts` and `reference` are read as they are.",
        (
            (
                "AspectCritic, SimpleCriteria, RubricsScore, InstanceRubrics",
                "a rubric file ([Rubrics](rubrics.md))",
                "any scale, yes or no, categories; the criteria stand in the file",
            ),
            (
                "ContextPrecisionWithReference, LLMContextPrecisionWithReference",
                "context_precision",
                "see ContextPrecision",
            ),
            ("LLMContextRecall", "context_recall", "see ContextRecall"),
            ("AnswerSimilarity", "semantic_similarity", "see SemanticSimilarity"),
            (
                "ContextPrecisionWithoutReference, LLMContextPrecisionWithoutReference",
                "context_precision(against=response)",
                "or `against=question`, where the answer shall not decide what is relevant",
            ),
            (
                "FaithfulnesswithHHEM",
                "faithfulness with `--judge offline`",
                "another small model, in the package",
            ),
        ),
        (
            ("NonLLMStringSimilarity, StringPresence", "write a function with `@ragassay.metric`"),
            (
                "NonLLMContextPrecisionWithReference, NonLLMContextRecall",
                (
                    "compare by document id: `map`, `recall_at_k`, "
                    "`document_precision`; texts of reference contexts are not compared"
                ),
            ),
            ("SummaryScore", "write a rubric: summaries are not measured here"),
            ("ToolCallAccuracy, AgentGoalAccuracy, TopicAdherence", "agents are not measured here"),
            ("MultiModalFaithfulness, MultiModalRelevance", "only text is measured here"),
            ("SQLSemanticEquivalence, DataCompyScore", "queries and tables are not measured here"),
        ),
    ),
    _Tool(
        "NVIDIA metrics",
        ("NVIDIA",),
        "The two-template metrics that Ragas carries. Here both ratings and their disagreement are"
        " kept, and one lost rating leaves the other one's value, flagged partial.",
    ),
    _Tool(
        "TruLens",
        ("TruLens",),
        "The RAG triad is `context_relevance`, `groundedness`, `answer_relevance`. Feedback"
        " functions with and without `_with_cot_reasons` are one metric here: groundedness always"
        " gives reasons, the others as the rubric says.",
        (
            (
                "groundedness_measure_with_cot_reasons",
                "groundedness",
                (
                    "the same 0-3 scale; trivial statements are dropped there "
                    "by a model, here by rules that say why"
                ),
            ),
            (
                "groundedness_measure_with_cot_reasons_consider_answerability",
                "groundedness and abstention",
                (
                    "an admission of not knowing is fully grounded; whether it should have answered"
                    " is abstention's verdict"
                ),
            ),
            (
                "GroundTruthAgreement",
                "correctness, answer_correctness_claims, bleu, rouge_l, semantic_similarity",
                "there one class with a method a measure",
            ),
            (
                "correctness, correctness_with_cot_reasons",
                "correctness",
                "there without a reference, by what the model knows",
            ),
            ("stereotypes, misogyny, insensitivity", "bias", "there one call each"),
            (
                "ndcg_at_k, precision_at_k, recall_at_k, mrr, ir_hit_rate",
                "ndcg_at_k, precision_at_k, recall_at_k, mrr, hit_rate",
                "here by document id, the same numbers as trec_eval",
            ),
        ),
        (
            (
                "conciseness, coherence, sentiment, helpfulness, controversiality",
                "write a rubric: style is not measured here",
            ),
            (
                "comprehensiveness_with_cot_reasons",
                "write a rubric: summaries are not measured here",
            ),
            ("language_match", "write a function with `@ragassay.metric`"),
            (
                (
                    "plan_quality, plan_adherence, tool_selection, tool_calling,"
                    " execution_efficiency, logical_consistency"
                ),
                "agents are not measured here",
            ),
            (
                (
                    "TurnFaithfulnessMetric, TopicAdherenceMetric, GoalAccuracyMetric,"
                    " ToolUseMetric, ConversationalGEval, ConversationalDAGMetric,"
                    " MultiTurnMCPUseMetric, ArenaGEval"
                ),
                (
                    "conversations as a whole are not measured here: give each turn as a row, or"
                    " write a rubric"
                ),
            ),
        ),
    ),
    _Tool(
        "DeepEval",
        ("DeepEval",),
        "DeepEval divides passing verdicts by the verdicts that were returned, and an empty list of"
        " them has a value (1 for faithfulness, answer relevancy and hallucination). Thresholds"
        " there are 0.5 by default; here each metric states its pass mark beside the verdict.",
        (
            (
                "GEval",
                "a rubric file ([Rubrics](rubrics.md))",
                "the steps are written down there by a model, here by you",
            ),
            (
                "RagasMetric",
                "faithfulness, answer_relevance_reverse, context_precision, context_recall",
                "there their plain average; here no average over different quantities",
            ),
            (
                "ExactMatchMetric",
                "exact_match",
                "there letter by letter; here without case, articles and punctuation",
            ),
        ),
        (
            ("DAGMetric", "write a function with `@ragassay.metric` that yields several requests"),
            ("SummarizationMetric", "write a rubric: summaries are not measured here"),
            (
                "JsonCorrectnessMetric, PatternMatchMetric",
                "write a function with `@ragassay.metric`",
            ),
            (
                (
                    "ToolCorrectnessMetric, TaskCompletionMetric, ArgumentCorrectnessMetric,"
                    " PlanQualityMetric, StepEfficiencyMetric"
                ),
                "agents are not measured here",
            ),
            (
                (
                    "KnowledgeRetentionMetric, ConversationCompletenessMetric, TurnRelevancyMetric,"
                    " RoleAdherenceMetric"
                ),
                "conversations are not measured here, only single questions",
            ),
            ("NonAdviceMetric, MisuseMetric, RoleViolationMetric", "write a rubric or a guideline"),
            ("TextToImageMetric, ImageCoherenceMetric", "only text is measured here"),
        ),
    ),
    _Tool(
        "Phoenix",
        ("Phoenix",),
        "Phoenix gives one label for the whole answer or document. Here the same question is asked"
        " claim by claim or chunk by chunk, and the label is the verdict.",
        (
            (
                "Faithfulness",
                "faithfulness(mode=binary)",
                "there one label for the response; here every claim has to hold",
            ),
            ("Correctness", "correctness", "there without a reference, by what the model knows"),
            ("Exact Match", "exact_match", "there letter by letter"),
            (
                "Precision@K, MRR, Hit Rate",
                "precision_at_k, mrr, hit_rate",
                "there over judged relevance of the spans, here over known document ids",
            ),
            ("PII Detection", "pii", "there a label"),
        ),
        (
            ("Conciseness, Completeness, User Frustration, Summarization", "write a rubric"),
            (
                "Tool Selection, Tool Invocation, Tool Response Handling",
                "agents are not measured here",
            ),
            ("Code Generation, SQL Generation", "code is not measured here"),
        ),
    ),
    _Tool(
        "MLflow and Databricks Agent Evaluation",
        ("MLflow", "Databricks Agent Evaluation"),
        "Yes or no a row with a root cause: the verdicts, causes and their order are kept here"
        " ([Diagnosis](diagnosis.md)), and behind each yes or no stands a graded score."
        " `chunk_relevance/precision` is the mean of `chunk_relevance`;"
        " `response/llm_judged/groundedness/rating/percentage` is the pass rate of `groundedness`.",
        (
            (
                "Guidelines",
                "a rubric file with `guidelines`, or guidelines",
                "there one list for all rows; here in a rubric file, or row by row",
            ),
            (
                "global_guideline_adherence",
                "a rubric file with `guidelines`",
                "one rating a guideline",
            ),
            ("groundedness", "groundedness", "there yes or no for the response as a whole"),
            ("correctness", "correctness", "the same question"),
            ("safety", "safety", "here with the category"),
            ("ndcg_at_k", "ndcg_at_k", "there every document counts 1; here grades count"),
            (
                "exact_match, rouge_l, bleu",
                "exact_match, rouge_l, bleu",
                "see there for the normalisation",
            ),
            (
                "make_judge, custom_prompt_judge",
                "a rubric file ([Rubrics](rubrics.md))",
                "placeholders are checked on load",
            ),
        ),
        (
            ("Completeness, Equivalence, Fluency, Summarization", "write a rubric"),
            ("ToolCallCorrectness, ToolCallEfficiency", "agents are not measured here"),
            (
                "ConversationCompleteness, UserFrustration, KnowledgeRetention",
                "conversations are not measured here",
            ),
            (
                "toxicity, flesch_kincaid_grade_level, ari_grade_level (classifier metrics)",
                "toxicity is judged here; grade levels: write a function",
            ),
        ),
    ),
    _Tool(
        "RAGChecker",
        ("RAGChecker",),
        "The same claim graph. RAGChecker checks each claim against each chunk by itself; here a"
        " claim is judged against all chunks and the judge names those that support it, so a claim"
        " that needs two chunks is supported. Where RAGChecker gives 0 because there is no claim or"
        " no chunk, which is the best value of hallucination and of noise sensitivity, the score"
        " here is not applicable or is measured.",
        (
            (
                "precision",
                "answer_correctness_claims(part=precision, similarity_weight=0)",
                "the same quantity",
            ),
            (
                "recall",
                "answer_correctness_claims(part=recall, similarity_weight=0)",
                "the same quantity",
            ),
        ),
    ),
    _Tool(
        "Others",
        (
            "trec_eval",
            "RGB",
            "ALCE",
            "SimpleQA",
            "LlamaIndex",
            "SQuAD evaluation",
            "sacrebleu",
            "rouge_score",
            "instruct-qa",
            "LangSmith",
        ),
        "Measures of papers and of smaller tools.",
    ),
)


def coming_from(metrics: Sequence[type[MetricBase]]) -> str:
    """The page about other tools' names, in Markdown. Every Elsewhere of these metrics is on it."""
    rows = [
        (other, kind.declaration.name) for kind in metrics for other in kind.declaration.elsewhere
    ]
    named = {(other.tool, other.name) for other, _ in rows if not _points_away(other)}
    # A metric may warn of another's name; here the name leads to the metric that is meant.
    rows = [(o, name) for o, name in rows if not (_points_away(o) and (o.tool, o.name) in named)]
    known = {tool for section in _TOOLS for tool in section.tools}
    strangers = sorted({other.tool for other, _ in rows} - known)
    sections = []
    for section in _TOOLS:
        tools = (*section.tools, *(strangers if section is _TOOLS[-1] else ()))
        several = len(tools) > 1
        lines = []
        for other, name in rows:
            if ("NVIDIA" if "NVIDIA" in other.name else other.tool) in tools:
                there = (
                    f"{other.name} ({other.tool})"
                    if several and other.tool != section.title
                    else other.name
                )
                lines.append((there, f"[{name}](metrics.md#{name})", differs(other)))
        sections.append(_section(section, sorted(lines, key=lambda line: line[0].lower())))
    return _INTRO + "".join(sections)


def _points_away(other: Elsewhere) -> bool:
    return "another quantity" in other.differs or ": see " in other.differs


def _section(section: _Tool, rows: list[tuple[str, str, str]]) -> str:
    lines = [
        f"\n## {section.title}\n",
        f"{section.words}\n",
        "| there | here | what differs |",
        "|---|---|---|",
    ]
    lines += [
        f"| {cell(there)} | {here} | {cell(how)} |" for there, here, how in (*rows, *section.more)
    ]
    lines += [
        f"| {cell(there)} | not here | {cell(instead)} |" for there, instead in section.absent
    ]
    return "\n".join(lines) + "\n"
