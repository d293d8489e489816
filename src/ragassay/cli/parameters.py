"""Which options do several commands share?"""

from __future__ import annotations

from typing import Annotated

import typer

StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="SQLite file of runs and judgments [default: $RAGASSAY_STORE or .ragassay/store.db]"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]
