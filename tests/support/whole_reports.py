"""The reports of the terminal with all that they can show."""

from functools import partial

from ragassay.report import Detail, render_comparison, render_summary

render_all = partial(render_summary, detail=Detail(verbose=True))
render_all_of_comparison = partial(render_comparison, detail=Detail(verbose=True))
