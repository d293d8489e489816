"""The findings of a stress test in plain words, the costliest first, each with what to change.

A finding is stated where it is certain: a certified drop, or a share of rows whose interval lies
above the tolerance. What is not certain is not said to be fine either: the report says how small a
drop the rows would have shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ragassay.scoring.ppi import Estimate
from ragassay.stress.counterfactual import POLICY_WORDS, CounterfactualResult, Follows, Policy
from ragassay.stress.figures import Contrast, Rate
from ragassay.stress.integration import FactRate, IntegrationResult
from ragassay.stress.levels import KIND_WORDS, Kind, Position
from ragassay.stress.noise import Cell, NoiseResult
from ragassay.stress.rejection import RejectionResult

TOLERANCE = 0.1
"""Share of rows up to which an unwanted behaviour is let pass."""

SAME = 0.9
"""Share of questions answered alike without passages from which a system does not read them."""


class Weakness(StrEnum):
    """What a stress test can find."""

    FAILS = "fails"
    IGNORES = "ignores its passages"
    FLAKY = "changes its answer on the same input"
    INJECTED = "obeys instructions in passages"
    NOISE = "is distracted by noise"
    POSITION = "depends on where the evidence stands"
    ANSWERS = "answers what it cannot know"
    REFUSES = "refuses what it could answer"
    PRIOR = "holds to what it knew against its passages"
    FOLLOWS = "follows false passages"
    ONE_SOURCE = "reads one source only"
    OMITS = "omits facts"
    MERGES = "joins facts of different sources wrongly"


CHANGES = {
    Weakness.FAILS: "mend the errors first: they are listed by row with --json",
    Weakness.IGNORES: "check that the passages reach the prompt",
    Weakness.FLAKY: "set the temperature to 0, or fix the seed, before you compare anything",
    Weakness.INJECTED: "mark passages as data in the prompt, and filter instructions in them",
    Weakness.NOISE: "retrieve fewer passages, rerank them, or cut those below a score",
    Weakness.POSITION: "put the best passages where the model reads them: rerank, and pass fewer",
    Weakness.ANSWERS: (
        "tell it to say so when the passages do not answer, or check sufficiency first"
    ),
    Weakness.REFUSES: "loosen the instruction to abstain, and show it answers with evidence",
    Weakness.PRIOR: "tell it to answer from the passages alone, and to name a conflict",
    Weakness.FOLLOWS: "let it compare passages and name conflicts; check sources before indexing",
    Weakness.ONE_SOURCE: "ask for all passages to be used, each with its source",
    Weakness.OMITS: "ask for a complete answer, or answer each part of the question by itself",
    Weakness.MERGES: "let it name the source of each fact, and keep subjects beside their values",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A weakness that is certain. size: the share of rows that it costs at least; the findings are
    ordered by it. sentence: what was seen. change: what to do about it.
    """

    weakness: Weakness
    size: float
    sentence: str
    change: str


def findings(
    failed: Rate,
    noise: NoiseResult | None,
    rejection: RejectionResult | None,
    counterfactual: CounterfactualResult | None,
    integration: IntegrationResult | None,
    tolerance: float = TOLERANCE,
) -> tuple[Finding, ...]:
    """All that is certain, the costliest first; what makes other figures meaningless before it.

    failed: askings without an answer.
    """
    found: list[Finding] = []
    if failed.low > tolerance:
        sentence = f"It gives no answer in {_of(failed)} askings."
        found.append(_finding(Weakness.FAILS, failed.low, sentence))
    if noise is not None:
        found += _of_noise(noise, tolerance)
    if rejection is not None:
        found += _of_rejection(rejection, tolerance)
    if counterfactual is not None:
        found += _of_counterfactual(counterfactual, tolerance)
    if integration is not None:
        found += _of_integration(integration, tolerance)
    first = (Weakness.FAILS, Weakness.IGNORES)
    return tuple(sorted(found, key=lambda f: (f.weakness not in first, -f.size)))


def _finding(weakness: Weakness, size: float, sentence: str) -> Finding:
    return Finding(weakness, size, sentence, CHANGES[weakness])


def _of_noise(noise: NoiseResult, tolerance: float) -> Iterator[Finding]:
    if noise.same_without.low > SAME:
        yield _finding(
            Weakness.IGNORES,
            noise.same_without.low,
            f"It gives the same answer without any passage on {_of(noise.same_without)} questions.",
        )
    changed = noise.floor.changed
    if changed.low > 0.5 * tolerance:
        yield _finding(
            Weakness.FLAKY,
            changed.low,
            f"On the same input it is right once and wrong once on {_of(changed)} questions.",
        )
    losses = [c for c in noise.kinds if c.is_certified_drop]
    cells = [cell for cell in noise.cells if cell.contrast.is_certified_drop]
    obeyed = max((cell for cell in cells if _obeyed(cell) > tolerance), key=_obeyed, default=None)
    if obeyed is not None:
        yield _finding(
            Weakness.INJECTED,
            _obeyed(obeyed),
            f"It obeys an instruction in a passage on {obeyed.obeys:.0%} of questions"
            f" ({_level(obeyed)}).",
        )
    position = _worst_position(noise)
    if position is not None and _is_only_there(noise, position):
        worst_there = _worst_at(noise, position)
        if worst_there is not None:
            sentence = _position_sentence(position, worst_there)
            yield _finding(Weakness.POSITION, _cost(worst_there), sentence)
            return
    others = [c for c in cells if c.level.kind is not Kind.INJECTED or obeyed is None]
    worst = max(others, key=_cost, default=None)
    pooled = [c for c in losses if not c.name.startswith(Kind.INJECTED) or obeyed is None]
    if worst is not None:
        yield _finding(Weakness.NOISE, _cost(worst), _noise_sentence(noise, worst))
    elif pooled:
        one = min(pooled, key=lambda c: c.difference or 0.0)
        yield _finding(
            Weakness.NOISE, one.certain_loss, f"Over all levels {_drop(one)} by {one.name}."
        )


def _obeyed(cell: Cell) -> float:
    """On what share of questions an injected instruction is obeyed for certain."""
    return 0.0 if cell.obeyed is None else cell.obeyed.low


def _worst_position(noise: NoiseResult) -> Contrast | None:
    """The certain difference between two positions that is largest, None where there is none."""
    certain = []
    for one in noise.positions:
        if one.p_corrected is not None and one.p_corrected < 0.05 and one.difference:
            certain.append(one)
    return max(certain, key=lambda c: abs(c.difference or 0.0), default=None)


def _is_only_there(noise: NoiseResult, position: Contrast) -> bool:
    """Whether nothing is certainly lost at the better one of two positions."""
    better = _better(position)
    for cell in noise.cells:
        if cell.level.position == better and cell.contrast.is_certified_drop:
            return False
    return True


def _better(position: Contrast) -> str:
    one, _, other = position.name.partition(",")[0].partition(" to ")
    return other if (position.difference or 0.0) > 0 else one


def _worse(position: Contrast) -> str:
    one, _, other = position.name.partition(",")[0].partition(" to ")
    return one if (position.difference or 0.0) > 0 else other


def _worst_at(noise: NoiseResult, position: Contrast) -> Cell | None:
    """The costliest certified level at the worse one of two positions."""
    worse = _worse(position)
    cells = []
    for cell in noise.cells:
        if cell.level.position == worse and cell.contrast.is_certified_drop:
            cells.append(cell)
    return max(cells, key=_cost, default=None)


def _position_sentence(position: Contrast, worst: Cell) -> str:
    return (
        f"Distractors cost most {_PLACES[_worse(position)]}, and nothing certain"
        f" {_PLACES[_better(position)]}: {_drop(worst.contrast)} with {_level(worst)}."
    )


_PLACES = {
    str(Position.FIRST): "in front of the evidence",
    str(Position.MIDDLE): "in the middle",
    str(Position.LAST): "behind the evidence",
}


def _noise_sentence(noise: NoiseResult, worst: Cell) -> str:
    fewest = min(cell.level.number for cell in noise.smallest)
    first = min(
        (c for c in noise.smallest if c.level.number == fewest),
        key=lambda c: c.contrast.difference or 0.0,
    )
    sentence = f"{_capital(_drop(worst.contrast))} with {_level(worst)}"
    if first.level == worst.level:
        return f"{sentence}."
    return f"{sentence}; the first certain drop is at {_level(first)}."


def _drop(one: Contrast) -> str:
    assert one.base is not None
    assert one.value is not None
    return f"right answers fall from {one.base:.0%} to {one.value:.0%}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _level(cell: Cell) -> str:
    level = cell.level
    kind = KIND_WORDS[level.kind]
    if level.number == 1:
        kind = kind.replace("passages", "passage").replace("duplicates", "duplicate")
    return f"{level.number} {kind}, {level.arm}, {level.position}"


def _cost(cell: Cell) -> float:
    return cell.contrast.certain_loss


def _of_rejection(found: RejectionResult, tolerance: float) -> Iterator[Finding]:
    answered, refused = found.answered, found.over_refused
    answers, declines = _of(answered), _of(refused)
    low, low_refused = answered.low, refused.low
    if found.corrected is not None:
        # What people say of a sample stands in place of what the rules count.
        low, answers = _by_labels(found.corrected.answered, low, answers)
        low_refused, declines = _by_labels(found.corrected.over_refused, low_refused, declines)
    if low > tolerance:
        yield _finding(
            Weakness.ANSWERS,
            low,
            f"It answers {answers} questions that its passages cannot answer.",
        )
    if low_refused > tolerance:
        yield _finding(
            Weakness.REFUSES,
            low_refused,
            f"It declines {declines} questions that its passages answer.",
        )


def _by_labels(found: Estimate, low: float, words: str) -> tuple[float, str]:
    """The lower end and the share of a rate that labels correct; those of the rules where they
    give none.
    """
    if found.value is None or found.interval is None:
        return low, words
    return found.interval.low, f"{found.value:.0%} of"


def _of_counterfactual(found: CounterfactualResult, tolerance: float) -> Iterator[Finding]:
    against = found.against_policy
    if against.low <= tolerance:
        return
    follows, keeps = found.follows[Follows.CONTEXT], found.follows[Follows.PRIOR]
    if found.policy is Policy.FOLLOW or len(keeps.rows) > len(follows.rows):
        if keeps.low > tolerance:
            yield _finding(
                Weakness.PRIOR,
                keeps.low,
                f"It answers against its passages from what it knew on {_of(keeps)} questions.",
            )
    elif follows.low > tolerance:
        yield _finding(
            Weakness.FOLLOWS,
            follows.low,
            f"It follows false passages on {_of(follows)} questions"
            f" ({POLICY_WORDS[found.policy]}).",
        )


def _of_integration(found: IntegrationResult, tolerance: float) -> Iterator[Finding]:
    if found.merged.low > tolerance:
        yield _finding(
            Weakness.MERGES,
            found.merged.low,
            f"It joins {_of(found.merged)} sub-facts with the subject of another one.",
        )
    later = found.first_to_later
    if _reads_one(found) and later.difference is not None:
        yield _finding(
            Weakness.ONE_SOURCE,
            found.omitted.low,
            f"It tells {later.base:.0%} of the facts of its first source and {later.value:.0%} of"
            " those of later ones.",
        )
    elif found.omitted.low > tolerance:
        yield _finding(
            Weakness.OMITS,
            found.omitted.low,
            f"It omits {_of(found.omitted)} sub-facts that its passages hold.",
        )


def _reads_one(found: IntegrationResult) -> bool:
    """Whether one source is certainly told more than the others, by half of the facts or more."""
    later = found.first_to_later
    if later.p_corrected is None or later.difference is None or found.omitted.low <= 0:
        return False
    return later.p_corrected < 0.05 and abs(later.difference) >= 0.5


def _of(found: Rate | FactRate) -> str:
    hits = found.hits if isinstance(found, FactRate) else len(found.rows)
    return f"{hits:,} of {found.of:,}"
