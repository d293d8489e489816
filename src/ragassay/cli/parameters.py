"""Which options do several commands share?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="SQLite file of runs and judgments [default: $RAGASSAY_STORE or .ragassay/store.db]"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]


class Controls(StrEnum):
    """When claims with a known answer are planted among those that an LLM judge is asked about."""

    auto = "auto"
    always = "always"
    off = "off"


ControlsOption = Annotated[
    Controls,
    typer.Option(
        help="Plant claims with a known answer; a reply that gets one wrong is void. auto: where texts look like an attack."
    ),
]
