"""The scale of a rubric: its ratings, what each means, and the value in [0, 1] it stands for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

Rating = int | str

# A longer scale of consecutive whole numbers is named by its two ends, not number by number.
_MOST_RATINGS_IN_WORDS = 6


@dataclass(frozen=True, slots=True)
class Point:
    """One rating: what it means, and its value in [0, 1]."""

    rating: Rating
    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Scale:
    """The ratings a rubric offers: worst first; categories, which have no order, as the file lists
    them.

    pass_mark: the lowest rating that passes, None for categories. passing: the categories that
    pass, () where there is an order.
    """

    points: tuple[Point, ...]
    pass_mark: Rating | None
    passing: tuple[Rating, ...] = ()
    ratings: tuple[Rating, ...] = field(init=False, repr=False, compare=False)
    """All ratings, in the order of the points."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratings", tuple(point.rating for point in self.points))

    @property
    def lowest(self) -> Rating:
        """The worst rating; of categories the first that has the lowest value."""
        return min(self.points, key=lambda point: point.value).rating

    @property
    def highest(self) -> Rating:
        """The best rating; of categories the last that has the highest value."""
        return max(reversed(self.points), key=lambda point: point.value).rating

    def value(self, rating: Rating) -> float:
        """The rating mapped to [0, 1]. Raises ValueError for a rating the scale does not offer."""
        return self.points[self.ratings.index(rating)].value

    def passes(self, rating: Rating) -> bool:
        """Whether the rating reaches the pass mark, or is one of the categories that pass."""
        if self.pass_mark is None:
            return rating in self.passing
        return self.ratings.index(rating) >= self.ratings.index(self.pass_mark)

    def nearest(self, value: float) -> Rating:
        """The rating whose value is nearest to `value`; the lower one when two are equally near."""
        return min(self.points, key=lambda point: abs(point.value - value)).rating

    @property
    def words(self) -> str:
        """The ratings in words, such as "0, 1, 2 or 3" or "a whole number from 0 to 10"."""
        if self._is_a_long_span:
            return f"a whole number from {self.ratings[0]} to {self.ratings[-1]}"
        return _joined_by_or([json.dumps(rating, ensure_ascii=False) for rating in self.ratings])

    @property
    def _is_a_long_span(self) -> bool:
        """Whether there are many ratings, all the whole numbers from one to another."""
        low, high = self.ratings[0], self.ratings[-1]
        if not (isinstance(low, int) and isinstance(high, int)):
            return False
        return len(self.points) > _MOST_RATINGS_IN_WORDS and high - low < len(self.points)

    @property
    def form(self) -> str:
        """The ratings as the form of a reply shows them: `0|1|2|3`, `"no"|"yes"` or, where the
        scale is long, `0...10`.
        """
        if self._is_a_long_span:
            return f"{self.ratings[0]}...{self.ratings[-1]}"
        return "|".join(json.dumps(rating, ensure_ascii=False) for rating in self.ratings)

    @property
    def listing(self) -> str:
        """One line a point (points in a row that mean the same share a line), worst first."""
        groups: list[list[Point]] = []
        for point in self.points:
            if groups and groups[-1][-1].meaning == point.meaning:
                groups[-1].append(point)
            else:
                groups.append([point])
        return "\n".join(f"{_span(group)}: {group[0].meaning}" for group in groups)

    @property
    def placeholders(self) -> dict[str, str]:
        """What a rubric's text may say of its scale, by placeholder.

        Categories have no lowest and no highest one.
        """
        texts = {"scale": self.listing, "scale.words": self.words}
        if self.pass_mark is None:
            texts["scale.pass"] = _joined_by_or([str(rating) for rating in self.passing])
            return texts
        texts["scale.lowest"] = str(self.lowest)
        texts["scale.highest"] = str(self.highest)
        texts["scale.pass"] = str(self.pass_mark)
        return texts


def _joined_by_or(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _span(group: list[Point]) -> str:
    if len(group) == 1:
        return str(group[0].rating)
    return f"{group[0].rating} to {group[-1].rating}"
