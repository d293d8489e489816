"""The page docs/errors.md, written from the catalogue of error codes."""

from __future__ import annotations

from docs_pages.markdown import fragment
from ragassay.core.error_catalogue import error_catalogue

_GROUPS = {
    "E01": (
        "Command and options",
        "Exit code 2, or 5 when a file cannot be written. Correct the command and run it again.",
    ),
    "E02": ("Rubrics and metrics", "Exit code 2, before anything is asked."),
    "E03": (
        "Rows",
        (
            "A row that cannot be read is named with its line and left out; the other rows are"
            " evaluated. Exit code 2 when the file as a whole cannot be read, 6 when it holds no"
            " row, or none with a label."
        ),
    ),
    "E04": (
        "Judge and provider",
        (
            "Exit code 2 for a wrong set-up, 5 when the server fails or refuses. What was judged is"
            " kept."
        ),
    ),
    "E05": (
        "Store and machine",
        "Exit code 5 (E0508: 2). What was judged is kept, as far as the disk still allows it.",
    ),
    "E06": (
        "Gates, budgets and stops",
        (
            "Exit code 2 for a gate or labels that cannot be used, 1 for a gate that is not met, 3"
            " for too little coverage, 4 for a cap that was reached."
        ),
    ),
    "E07": ("Optimising a judge", "Exit code 2, before anything is asked (E0704: before the end)."),
    "E08": (
        "Test sets",
        "Exit code 2; 6 where there is no document with text or the plan was declined (E0802,"
        " E0806), 3 where nothing could be delivered (E0807).",
    ),
    "E09": ("The web application", "Exit code 2 (E0901: 5), before anything is served."),
    "E11": (
        "Stress tests",
        "Exit code 2, before the system is asked (E1101: 6; E1106: after it, with all answers"
        " kept).",
    ),
    "E12": (
        "Labels of people",
        "Exit code 2, before anything is asked.",
    ),
    "E13": ("Watching traffic", "Exit code 2, before anything is judged."),
    "E14": (
        "The HTTP API",
        "Answers of the server, with a status of HTTP; see [The HTTP API](http-api.md).",
    ),
}


def group_of(code: str) -> tuple[str, str]:
    """The title of a code's range, and what holds for all of it."""
    return _GROUPS[code[:3]]


def errors_page() -> str:
    """The page as Markdown: one table for each range of codes, in the order of the codes."""
    parts = [fragment("errors_intro.md")]
    for prefix, (title, note) in _GROUPS.items():
        parts.append(
            f"\n## {title}\n\n{note}\n\n| code | meaning | how it comes about | what to do |\n| ---"
            " | --- | --- | --- |\n"
        )
        for code, entry in sorted(error_catalogue().items()):
            if code.startswith(prefix):
                parts.append(f"| {code} | {entry.meaning} | {entry.cause} | {entry.remedy} |\n")
    return "".join(parts)
