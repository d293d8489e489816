"""The way from a verdict in a reply to a Judgment: rating, quotes, sources, unusable answers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragassay.core import NO_RATIONALE, REPAIRED, Evidence, Judgment, Request, Spend, Status
from ragassay.judges.llm.entries import Verdict
from ragassay.judges.llm.quotes import Finder
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Rating

# Words; of the scripts that put no spaces between them each character is one.
_WORD = re.compile(
    r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]"
)
_WORDS_WITH_A_CLAIM = 3
# So many quotes are looked up; more would make the time grow with quotes times text.
_MOST_QUOTES, _MOST_QUOTES_BESIDE_A_RATING = 500, 20


@dataclass(frozen=True, slots=True)
class VerdictReader:
    """Makes Judgments of the verdicts on items of one rubric."""

    rubric: Rubric
    fingerprint: str

    def judgment(self, request: Request, verdict: Verdict, spend: Spend) -> Judgment:
        """The Judgment that a verdict gives."""
        evidence, is_quote_missing = self._evidence(request, verdict)
        missing = ("quote_not_found",) if is_quote_missing else ()
        if self.rubric.scale is None:
            trivial = _trivial_flags(verdict)
            return Judgment(
                request.key,
                self.fingerprint,
                self.rubric.ref,
                Status.JUDGED,
                texts=verdict.texts or tuple(claim.text for claim in verdict.claims),
                evidence=evidence,
                flags=(*verdict.flags, *trivial, *missing, *self._reading_flags(verdict)),
                spend=spend,
            )
        rating = self.rating(verdict)
        passes = self.rubric.scale.passes(rating)
        return Judgment(
            request.key,
            self.fingerprint,
            self.rubric.ref,
            Status.JUDGED,
            rating=rating,
            value=self.rubric.scale.value(rating),
            rationale=verdict.reasoning.strip(),
            evidence=evidence,
            flags=(*verdict.flags, *missing, *self._reading_flags(verdict)),
            spend=spend,
            passes=passes,
            sources=self._sources(request, verdict, passes=passes),
        )

    def needs_reasons(self, verdict: Verdict) -> bool:
        """Whether the verdict lacks its reasons and must show them: where it is to rest on quotes,
        a rating alone says too little to be checked.
        """
        return self.rubric.asks_quotes and self._lacks_reasons(verdict)

    def _lacks_reasons(self, verdict: Verdict) -> bool:
        is_due = self.rubric.scale is not None and self.rubric.asks_reasons
        return is_due and not verdict.reasoning.strip()

    def _reading_flags(self, verdict: Verdict) -> tuple[str, ...]:
        """The flags that say how the verdict was read, and nothing of what it says."""
        flags = [REPAIRED + repair for repair in verdict.repairs]
        if self._lacks_reasons(verdict):
            flags.append(NO_RATIONALE)
        return tuple(flags)

    def without_verdict(
        self, request: Request, status: Status, reason: str, spend: Spend
    ) -> Judgment:
        """The Judgment of an item that has no verdict, and why."""
        return Judgment(
            request.key, self.fingerprint, self.rubric.ref, status, reason=reason, spend=spend
        )

    def rating(self, verdict: Verdict) -> Rating:
        """The rating; a flag that fixes it is stronger than the one beside it."""
        scale = self.rubric.scale
        assert scale is not None
        assert verdict.rating is not None
        end = self._fixed_end(verdict)
        if end == "highest":
            return scale.highest
        if end == "lowest":
            return scale.lowest
        return verdict.rating

    def is_control_right(self, verdict: Verdict | None, *, passes: bool) -> bool:
        """Whether the verdict on a planted item is the right one."""
        scale = self.rubric.scale
        if verdict is None or scale is None or verdict.rating is None:
            return False
        return scale.passes(self.rating(verdict)) is passes

    def fault(self, request: Request, verdict: Verdict, judgment: Judgment) -> str:
        """Why a verdict in the right form says nothing that can be used, or ""."""
        writes = self.rubric.writes
        # What states nothing is listed as trivial; an empty list takes the row out of the score,
        # which is what a response that says "there are no claims here" is after. The same holds
        # for questions.
        if writes == "claims" and not verdict.claims:
            words = _WORD.findall(request.text(self.rubric.item))
            if len(words) >= _WORDS_WITH_A_CLAIM:
                return "the reply lists no claims for a response that has text"
            return ""
        is_without_texts = not verdict.texts and "noncommittal" not in verdict.flags
        if self.rubric.id == "questions" and is_without_texts:
            return "the reply gives no question and does not call the response noncommittal"
        if writes == "texts" and verdict.texts and not any(map(str.strip, verdict.texts)):
            return "the texts in the reply are empty"
        if writes == "quotes" and verdict.quotes and not judgment.evidence:
            return "none of the quotes in the reply stands in the text"
        return ""

    def _fixed_end(self, verdict: Verdict) -> str:
        """ "highest" or "lowest" where a flag fixes the rating; the rubric's first one counts."""
        for flag in self.rubric.flags:
            if flag.end and flag.name in verdict.flags:
                return flag.end
        return ""

    def _sources(
        self, request: Request, verdict: Verdict, *, passes: bool
    ) -> tuple[int, ...] | None:
        """The contexts that support the item; None where that was not asked, or a supported item is
        given none.
        """
        if not self.rubric.asks_sources:
            return None
        # What is not supported has no sources; an abstention needs none.
        if not passes or self._fixed_end(verdict) == "highest":
            return ()
        count = len(request.texts("contexts"))
        sources = tuple(number - 1 for number in verdict.sources or () if number <= count)
        return sources or None

    def _evidence(self, request: Request, verdict: Verdict) -> tuple[tuple[Evidence, ...], bool]:
        """The quotes that stand in the contexts, and whether one does not."""
        name = self._quoted_input()
        if not verdict.quotes or not name:
            return (), False
        finder = Finder(request.texts(name))
        evidence: list[Evidence] = []
        is_one_missing = False
        most = _MOST_QUOTES_BESIDE_A_RATING
        if self.rubric.writes == "quotes":
            most = _MOST_QUOTES
            is_one_missing = len(verdict.quotes) > most
        for quote in verdict.quotes[:most]:
            if not quote.text.strip():
                continue
            passage = None if quote.passage is None else quote.passage - 1
            matches = finder.find(quote.text, passage)
            evidence += matches
            is_one_missing = is_one_missing or not matches
        return tuple(dict.fromkeys(evidence)), is_one_missing

    def _quoted_input(self) -> str:
        for name in ("contexts", "context"):
            if name in self.rubric.inputs:
                return name
        return ""


def _trivial_flags(verdict: Verdict) -> list[str]:
    """A flag for each claim that states nothing to check: "trivial:" and its number from 0."""
    return [f"trivial:{n}" for n, claim in enumerate(verdict.claims) if claim.trivial]
