"""The HTTP API: the runs of a store, evaluations, single judgments and labels, for programs in any
language.

It is a surface like the pages: it parses, calls and answers. The figures are those of `report`, the
options those of `runs`, and a request is answered only where the table in `table` has a line for
it.
"""
