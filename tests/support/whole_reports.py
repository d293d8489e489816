"""The reports of the terminal with all that they can show."""

from functools import partial

from ragassay.core import Summary
from ragassay.report import Detail, render_comparison, render_summary, summary_text

render_all = partial(render_summary, detail=Detail(verbose=True))
render_all_of_comparison = partial(render_comparison, detail=Detail(verbose=True))


def whole_text(summary: Summary, width: int = 100) -> str:
    """All that a summary can show, as plain text."""
    return summary_text(summary, width, Detail(verbose=True))
