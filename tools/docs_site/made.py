"""Pages that are made from the code: one for each metric, each judge and each error code."""

from __future__ import annotations

from docs_pages.errors import group_of
from docs_pages.metrics import metric_section
from docs_pages.providers import provider_facts
from ragassay.core.error_catalogue import ErrorEntry, error_catalogue
from ragassay.judges import Rubric, RubricRegistry
from ragassay.metrics import catalogue
from ragassay.models.connect import all_providers
from ragassay.models.provider import Provider

_LOCAL = (
    ("offline", "Offline judge", "../judges.md", "needs no key and no network"),
    ("local", "Local models", "../local-models.md", "a classifier in a folder of yours"),
)


def metric_pages() -> dict[str, str]:
    """Path in the site -> Markdown, of every metric."""
    pages = {}
    for name, kind in catalogue().items():
        text = metric_section(kind).replace(f"## {name}", f"# {name}", 1)
        example = (
            f'Measure it: `ragassay evaluate rows.jsonl --metrics "{name}"`, or'
            f" `ragassay.judge.{name}(...)` for one row.\n\n"
        )
        pages[f"metrics/{name}.md"] = f"{text}{example}[All metrics](../metrics.md)\n"
    return pages


def judge_pages() -> dict[str, str]:
    """Path in the site -> Markdown, of every kind of judge and every rubric."""
    pages = {}
    for name, title, page, words in _LOCAL:
        pages[f"judges/{name}.md"] = (
            f"# {title}\n\n`--judge {name}`: {words}.\n\nWhat it is good and bad at, with figures:"
            f" [{title}]({page}).\n"
        )
    for provider in all_providers():
        pages[f"judges/{provider.scheme}.md"] = _provider_page(provider)
    registry = RubricRegistry.default()
    for rubric_id in registry.ids():
        pages[f"rubrics/{rubric_id}.md"] = _rubric_page(registry.get(rubric_id))
    return pages


def _provider_page(provider: Provider) -> str:
    lines = [f"# {provider.title}", "", f"`--judge {provider.scheme}:MODEL`", ""]
    lines += [f"- {name}: {value}" for name, value in provider_facts(provider)[1:]]
    return "\n".join([*lines, "", "All providers: [Models and servers](../providers.md).", ""])


def _rubric_page(rubric: Rubric) -> str:
    ratings = "none: it lists texts"
    if rubric.scale is not None:
        ratings = ", ".join(str(rating) for rating in rubric.scale.ratings)
        if rubric.scale.pass_mark is not None:
            ratings += f"; passes from {rubric.scale.pass_mark}"
    return (
        f"# {rubric.id}\n\n{rubric.purpose}\n\n- version: {rubric.version}\n- ratings:"
        f" {ratings}\n- reads: {', '.join(rubric.inputs)}\n- used by: {_users(rubric.id)}\n"
        f"- source: {rubric.source}\n\nHow to look at it and replace it:"
        " [Rubrics](../rubrics.md).\n\n"
        f"## Criteria\n\n````text\n{rubric.criteria.strip()}\n````\n"
    )


def _users(rubric_id: str) -> str:
    users = []
    for name, kind in catalogue().items():
        if rubric_id in kind.declaration.rubrics:
            users.append(f"[{name}](../metrics/{name}.md)")
    return ", ".join(users) or "no metric by itself"


def error_pages() -> dict[str, str]:
    """Path in the site -> Markdown, of every error code."""
    return {f"errors/{code}.md": _error_page(entry) for code, entry in error_catalogue().items()}


def _error_page(entry: ErrorEntry) -> str:
    title, note = group_of(entry.code)
    return (
        f"# {entry.code}\n\n{entry.meaning.strip()}\n\n## How it comes about\n\n"
        f"{entry.cause.strip()}\n\n## What to do\n\n{entry.remedy.strip()}\n\n"
        f"{title}. {note.replace('](', '](../')}\n\n`ragassay explain {entry.code}` prints this."
        " [All errors](../errors.md)\n"
    )
