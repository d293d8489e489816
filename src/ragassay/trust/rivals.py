"""Judges of the published tables of the RAG-triad benchmark, as rubrics that any model can take.

Each is written in our own words after what its source asks for, and named "like" it: its prompt is
another one, and so is the model. What is compared is the kind of question that a judge is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.core import SetupError, nearest, shorten

_FOLDER = Path(__file__).parent / "rival_rubrics"


@dataclass(frozen=True, slots=True)
class Rival:
    """A rival judge. setup: the set-up that it was published on; metric: what is asked with its
    rubric; file: of the rubric.
    """

    name: str
    setup: str
    metric: str
    file: Path


_ALL = (
    Rival("umbrela", "triad-context", "umbrela_like", _FOLDER / "umbrela.md"),
    Rival(
        "mlflow-relevance",
        "triad-context",
        "mlflow_like_relevance",
        _FOLDER / "mlflow_relevance.md",
    ),
    Rival(
        "mlflow-faithfulness",
        "triad-groundedness",
        "mlflow_like_faithfulness",
        _FOLDER / "mlflow_faithfulness.md",
    ),
    # Of several sentences each has to be supported.
    Rival(
        "minicheck", "triad-groundedness", "groundedness(pass_mark=1.0)", _FOLDER / "minicheck.md"
    ),
    Rival(
        "mlflow-answer-relevance",
        "triad-answer",
        "mlflow_like_answer_relevance",
        _FOLDER / "mlflow_answer_relevance.md",
    ),
)
RIVALS: Mapping[str, Rival] = {rival.name: rival for rival in _ALL}
"""Name -> the rival."""


def rivals_of(names: Sequence[str], setup: str) -> tuple[Rival, ...]:
    """The rivals of these names, each once; "all" stands for all of the set-up.

    Raises SetupError E0205 for a name that is none, one of another set-up, or without a set-up.
    """
    of_setup = {name: rival for name, rival in RIVALS.items() if rival.setup == setup}
    chosen: dict[str, Rival] = {}
    for name in names:
        if name == "all" and of_setup:
            chosen |= of_setup
        elif name in of_setup:
            chosen[name] = of_setup[name]
        else:
            raise _not_of_setup(name, setup, of_setup)
    return tuple(chosen.values())


def _not_of_setup(name: str, setup: str, of_setup: Mapping[str, Rival]) -> SetupError:
    if name in RIVALS:
        why = f"{name} belongs to --setup {RIVALS[name].setup}"
    else:
        why = f"rivals: {', '.join(RIVALS)}"
    fix = "one of " + ", ".join([*of_setup, "all"]) if of_setup else "name a set-up: --setup NAME"
    return SetupError(
        "E0205",
        f"{setup or 'A benchmark without a set-up'} has no rival"
        f" {shorten(name, 40)!r}.{nearest(name, of_setup)}",
        where="--rival",
        why=why,
        fix=fix,
    )
