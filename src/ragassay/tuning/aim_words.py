"""The reader of an aim: a figure, costs in words or numbers, and a figure that must be reached.

The reader is a small list of forms, tried in order; what a form has read is taken out of the text.
Words that are left over and say nothing are let pass, any other word is an error: an aim that was
half understood would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ragassay.core import SetupError, shorten
from ragassay.tuning.aim import MARGIN, Aim, Kept, Mark

CAUTION = 2.0
"""What the error that is to be avoided costs, beside 1, where no number is said."""
FORMS = (
    "f1",
    "kappa",
    "f1 where precision >= 0.85",
    "precision at least 0.85, then recall",
    "f1 without losing recall",
    "a false pass is three times as bad",
    "cost: false pass 3, false fail 1",
    "be cautious of false passes",
)
"""Aims that are understood, one of each kind."""

_OF_PAIRS = frozenset(("accuracy", "kappa", "balanced_accuracy", "mcc", "ac1", "cost"))
"""Figures that are the same where the responses of every pair change places."""
_NAMES = {
    "f1": r"f[- ]?1(?:[- ]?score)?|f[- ]score",
    "kappa": r"(?:cohen'?s )?kappa",
    "balanced_accuracy": r"balanced[_ -]accuracy",
    "accuracy": r"accuracy",
    "precision": r"precision",
    "recall": r"recall|sensitivity",
    "specificity": r"specificity",
    "mcc": r"mcc|matthews(?: correlation(?: coefficient)?)?",
    "ac1": r"(?:gwet'?s )?ac1",
    "cost": r"costs?",
}
_FIGURE = "|".join(f"(?:{pattern})" for pattern in _NAMES.values())
_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)\s*(%|per ?cent|percent|points?)?"
_PASS = r"(?:false[_ -]pass(?:es)?|wrong[_ -]pass(?:es)?|false[_ -]positives?|fp)"
_FAIL = r"(?:false[_ -]fails?|wrong[_ -]fails?|false[_ -]failures?|false[_ -]negatives?|fn)"
_ERROR = rf"({_PASS}|{_FAIL})"
_TIMES = {
    "twice": 2.0,
    "double": 2.0,
    "two": 2.0,
    "three": 3.0,
    "thrice": 3.0,
    "four": 4.0,
    "five": 5.0,
    "six": 6.0,
    "seven": 7.0,
    "eight": 8.0,
    "nine": 9.0,
    "ten": 10.0,
    "twenty": 20.0,
}
_FACTOR_WORD = "|".join(_TIMES)
_FACTOR = rf"({_FACTOR_WORD}|\d+(?:\.\d+)?|\.\d+)"
_AT_LEAST = (
    r"(?:must (?:be|stay|reach)|should (?:be|stay)|stays?|is|of|to)?\s*"
    r"(?:>=|>|at least|no less than|not less than|not below|above|over|from)"
)
_FILLERS = (
    "a an and as at be best better but by can figure for from get give given good higher highest"
    " i improve improving increase is it its judge judges keep keeping like make maximise maximize"
    " maximum more most must my of optimise optimize our over please possible raise set should so"
    " stay subject such that the then there this to try under want we when where whereas while"
    " with would you"
)
"""Words that may be left over."""


@dataclass(slots=True)
class _Reading:
    """What has been read so far, and the text that is left."""

    left: str
    figures: list[str] = field(default_factory=list)
    costs: dict[str, float] = field(default_factory=dict)
    mark: Mark | None = None
    kept: list[Kept] = field(default_factory=list)


def read_aim(text: str) -> Aim:
    """The aim that these words say.

    Raises SetupError E0701 for what is not understood, with forms that are.
    """
    reading = _Reading(_normal(text))
    for pattern, take in _RULES:
        _apply(reading, re.compile(pattern), take, text)
    fillers = frozenset(_FILLERS.split())
    unread = [word for word in re.findall(r"[^\s,;:.()]+", reading.left) if word not in fillers]
    if unread:
        raise _not_understood(text, f"{' '.join(unread)!r} was not understood")
    return _aim(reading, text)


def _normal(text: str) -> str:
    """Lower case, plain signs, one space between words."""
    signs = {"≥": ">=", "≤": "<=", "’": "'", "–": "-", "—": "-", "=>": ">=", "**": ""}
    for sign, plain in signs.items():
        text = text.replace(sign, plain)
    return " ".join(text.lower().split())


def _apply(
    reading: _Reading,
    pattern: re.Pattern[str],
    take: Callable[[_Reading, re.Match[str]], str],
    text: str,
) -> None:
    """Read every occurrence of one form, and take it out of the text."""
    while match := pattern.search(reading.left):
        problem = take(reading, match)
        if problem:
            raise _not_understood(text, problem)
        reading.left = f"{reading.left[: match.start()]} , {reading.left[match.end() :]}"


def _aim(reading: _Reading, text: str) -> Aim:
    figures = list(dict.fromkeys(reading.figures))
    if len(figures) > 1 and "cost" in figures:
        figures.remove("cost")
    if len(figures) > 1:
        raise _not_understood(text, f"it names {len(figures)} figures: {', '.join(figures)}")
    costs = {"pass": 1.0, "fail": 1.0, **reading.costs}
    said = bool(figures or reading.costs or reading.mark)
    if not said:
        raise _not_understood(text, "it names no figure and no cost")
    unequal = costs["pass"] != costs["fail"]
    without_figure = "cost" if reading.costs else "f1"
    figure = figures[0] if figures else without_figure
    if figure == "accuracy" and unequal:
        figure = "cost"
    if unequal and figure not in ("cost", "f1"):
        raise _not_understood(text, f"costs of errors go with f1, accuracy or cost, not {figure}")
    if reading.mark is not None and reading.mark.figure == figure:
        raise _not_understood(text, f"{figure} cannot be both the mark and what is improved")
    return Aim(
        figure=figure,
        false_pass=costs["pass"],
        false_fail=costs["fail"],
        mark=reading.mark,
        kept=tuple(reading.kept),
        words=text.strip(),
    )


def check_aim_of_pairs(aim: Aim) -> None:
    """Raise SetupError E0701 for an aim that sets one response of a pair above the other: which of
    them stands first means nothing.
    """
    figures = [aim.figure, *(kept.figure for kept in aim.kept)]
    if aim.mark is not None:
        figures.append(aim.mark.figure)
    if aim.false_pass == aim.false_fail and _OF_PAIRS.issuperset(figures):
        return
    raise SetupError(
        "E0701",
        "The aim does not fit pairs of responses.",
        where=f"--aim {shorten(aim.words)!r}",
        why="it treats the response that stands first in a pair unlike the second one",
        fix="name one of accuracy, kappa, balanced accuracy, mcc, ac1",
    )


def _not_understood(text: str, why: str) -> SetupError:
    return SetupError(
        "E0701",
        "The aim is not understood.",
        where=f"--aim {shorten(text)!r}",
        why=why,
        fix="for example: " + "; ".join(repr(form) for form in FORMS),
    )


# ---- the forms ----


def _figure_of(name: str) -> str:
    for figure, pattern in _NAMES.items():
        if re.fullmatch(pattern, name):
            return figure
    raise AssertionError(name)  # every alternative of _FIGURE is one of _NAMES


def _share(number: str, unit: str | None) -> float:
    """A share of 1: 0.85, .85, 85 %, 85 points, 85."""
    value = float(number)
    return value / 100 if unit or value > 1 else value


def _error(name: str) -> str:
    """Which kind of error: "pass" or "fail"."""
    return "pass" if re.fullmatch(_PASS, name) else "fail"


def _factor(word: str) -> float:
    return _TIMES[word] if word in _TIMES else float(word)


def _set_cost(reading: _Reading, error: str, cost: float) -> str:
    if not 0 < cost <= 1000:
        return f"a cost of {cost:g} cannot be: take a number above 0, up to 1000"
    if reading.costs.get(error, cost) != cost:
        return f"two costs are given for a false {error}"
    reading.costs[error] = cost
    return ""


def _set_mark(reading: _Reading, figure: str, share: float) -> str:
    if reading.mark is not None:
        return "only one figure can have a mark to reach"
    if figure == "cost" or not 0 < share < 1:
        return f"a mark is a figure from 0 to 1, not {figure} of {share:g}"
    reading.mark = Mark(figure, share)
    return ""


def _take_mark(reading: _Reading, match: re.Match[str]) -> str:
    name, number, unit = match.groups()
    return _set_mark(reading, _figure_of(name), _share(number, unit))


def _take_mark_before(reading: _Reading, match: re.Match[str]) -> str:
    number, unit, name = match.groups()
    return _set_mark(reading, _figure_of(name), _share(number, unit))


def _take_ceiling(reading: _Reading, match: re.Match[str]) -> str:
    """A false positive rate at most x is a specificity of at least 1 - x."""
    figure = "specificity" if "positive" in match[1] or "pass" in match[1] else "recall"
    return _set_mark(reading, figure, round(1 - _share(match[2], match[3]), 10))


def _take_kept(reading: _Reading, match: re.Match[str]) -> str:
    figure = _figure_of(match["figure"])
    margin = MARGIN
    if match["number"]:
        unit = match["unit"]
        margin = float(match["number"])
        if unit or margin >= 1:
            margin /= 100
    if figure == "cost" or not 0 < margin < 0.5:
        return f"a margin is a share between 0 and .5, not {margin:g} of {figure}"
    reading.kept.append(Kept(figure, margin))
    return ""


def _take_pair(reading: _Reading, match: re.Match[str]) -> str:
    """cost 3:1, of a false pass and a false fail."""
    return _set_cost(reading, "pass", float(match[1])) or _set_cost(
        reading, "fail", float(match[2])
    )


def _take_cost(reading: _Reading, match: re.Match[str]) -> str:
    return _set_cost(reading, _error(match[1]), float(match[2]))


def _take_times(reading: _Reading, match: re.Match[str]) -> str:
    """ "a false pass is three times as bad (as a false fail)"."""
    error, other = _error(match[1]), match[3]
    if other and _error(other) == error:
        return "it compares an error with itself"
    rest = "fail" if error == "pass" else "pass"
    return _set_cost(reading, error, _factor(match[2])) or _set_cost(reading, rest, 1.0)


def _take_weigh(reading: _Reading, match: re.Match[str]) -> str:
    """ "weigh false fails double"."""
    return _set_cost(reading, _error(match[1]), _factor(match[2]))


def _take_caution(reading: _Reading, match: re.Match[str]) -> str:
    return _set_cost(reading, _error(match[1]), CAUTION)


def _take_strict(reading: _Reading, match: re.Match[str]) -> str:
    return _set_cost(reading, "pass", CAUTION)


def _take_lenient(reading: _Reading, match: re.Match[str]) -> str:
    return _set_cost(reading, "fail", CAUTION)


def _take_figure(reading: _Reading, match: re.Match[str]) -> str:
    reading.figures.append(_figure_of(match[0]))
    return ""


_KEPT_FIGURE = rf"(?P<figure>{_FIGURE})"
_MARGIN = r"(?P<number>\d+(?:\.\d+)?|\.\d+)\s*(?P<unit>%|per ?cent|points?)?"
_VERB = r"(?: (?:is|are|costs?|weighs?|counts?|should cost|should count))?(?: as)?"
_TIMES_WORD = r"(?: ?x| times|[- ]?fold)?"
_AS_BAD = r"(?: as (?:bad|much|costly|severe|expensive)| worse| more)"
_THAN = rf"(?: (?:as|than) (?:a |an )?{_ERROR})?"
_RULES: tuple[tuple[str, Callable[[_Reading, re.Match[str]], str]], ...] = (
    # Kept figures: before marks, whose words they share.
    (
        rf"\b(?:without losing|without loss of|not losing|do not lose|don't lose)"
        rf"(?: more than {_MARGIN}(?: of)?)? {_KEPT_FIGURE}\b",
        _take_kept,
    ),
    (
        rf"\b{_KEPT_FIGURE} (?:must|should|may|shall|does|do) not (?:fall|drop|get worse|suffer)"
        rf"(?: by)?(?: more than {_MARGIN})?",
        _take_kept,
    ),
    # Marks.
    (
        r"\b((?:false[ -](?:positive|negative|pass|fail) rate)) "
        rf"(?:<=|<|at most|no more than|below|under) ?{_NUMBER}",
        _take_ceiling,
    ),
    (rf"\b({_FIGURE}) ?{_AT_LEAST} ?{_NUMBER}", _take_mark),
    (rf"\bat least {_NUMBER} (?:of )?({_FIGURE})\b", _take_mark_before),
    (rf"\b({_FIGURE}) (?:of )?{_NUMBER} or (?:more|better|higher)", _take_mark),
    # Costs as numbers, then as words.
    (r"\bcosts? ?(?:of|=)? ?(\d+(?:\.\d+)?) ?: ?(\d+(?:\.\d+)?)", _take_pair),
    (rf"\b(?:weigh|weight|count) (?:a )?{_ERROR} {_FACTOR}(?: times)?", _take_weigh),
    (rf"\b{_ERROR}{_VERB} {_FACTOR}{_TIMES_WORD}{_AS_BAD}{_THAN}", _take_times),
    (rf"\b{_ERROR} ?(?:costs?|weighs?|=|:|is|are)? ?(\d+(?:\.\d+)?)\b", _take_cost),
    (rf"\b{_ERROR}{_VERB} ({_FACTOR_WORD}){_TIMES_WORD}{_THAN}", _take_times),
    (
        r"\b(?:be )?(?:more )?(?:cautious|careful|wary|beware|afraid)(?: of| about| with)? "
        rf"(?:a |any )?{_ERROR}",
        _take_caution,
    ),
    (rf"\b(?:avoid|fewer|reduce|no|minimise|minimize|less) (?:a |any )?{_ERROR}", _take_caution),
    (r"\b(?:be )?(?:less lenient|(?:more )?strict(?:er)?)\b", _take_strict),
    (r"\bonly clear evidence\b", _take_strict),
    (r"\b(?:be )?(?:less strict|(?:more )?lenient|(?:more )?generous)\b", _take_lenient),
    (rf"\b(?:{_FIGURE})\b", _take_figure),
)
