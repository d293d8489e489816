"""How is a true claim made false, or said in other words? Typed edits by rules; no language model.

A `Said` is a claim with the parts of it that its passage does not support. Edits that make a claim
false return it with the changed part as a span; edits that keep it true return it with the spans it
had (moved along). None: the edit has nothing to work on. What comes from outside the claim (a
number or a name to put in) is taken from the passage first: a wrong name that stands in the passage
is the harder case.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

Span = tuple[int, int]


class Said(NamedTuple):
    """A claim and which parts of it are not supported."""

    text: str
    spans: tuple[Span, ...] = ()


class Source(NamedTuple):
    """What an edit may take from: the passage that supports the claim, and sentences of other
    passages.
    """

    passage: str
    others: Sequence[str]


def put(said: Said, start: int, end: int, new: str, *, false: bool) -> Said:
    """The claim with [start, end) replaced. false: the new part is not supported."""
    shift = len(new) - (end - start)
    spans = []
    for low, high in said.spans:
        if high <= start:
            spans.append((low, high))
        elif low >= end:
            spans.append((low + shift, high + shift))
        else:  # a part that was changed again stays a part
            spans.append((min(low, start), max(high + shift, start + len(new))))
    if false:
        spans.append((start, start + len(new)))
    return Said(said.text[:start] + new + said.text[end:], tuple(sorted(set(spans))))


def _cased(new: str, old: str) -> str:
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _swap(
    said: Said,
    pairs: dict[str, Sequence[str]],
    pattern: re.Pattern[str],
    chance: random.Random,
    *,
    false: bool,
) -> Said | None:
    """One word or phrase of a table replaced by one of its partners."""
    found = list(pattern.finditer(said.text))
    if not found:
        return None
    at = chance.choice(found)
    new = _cased(chance.choice(list(pairs[at.group().lower()])), at.group())
    return put(said, at.start(), at.end(), new, false=false)


def _table(lines: str, *, both: bool = True) -> tuple[dict[str, Sequence[str]], re.Pattern[str]]:
    """`a=b` pairs by line or comma as a table and the pattern that finds its left sides."""
    table: dict[str, list[str]] = {}
    for entry in re.split(r"[,\n]", lines):
        words = [w.strip() for w in entry.split("=")]
        if len(words) < 2:
            continue
        for i, word in enumerate(words):
            if both or i == 0:
                table.setdefault(word, []).extend(w for w in words if w != word)
    keys = sorted(table, key=len, reverse=True)
    return dict(table), re.compile(
        r"\b(?:" + "|".join(map(re.escape, keys)) + r")\b", re.IGNORECASE
    )


_ANTONYMS, _ANTONYM = _table("""
increase=decrease, increases=decreases, increased=decreased, increasing=decreasing, rise=fall, rises=falls, rose=fell
rising=falling, risen=fallen, higher=lower, high=low, highest=lowest, more=less, most=least, larger=smaller, large=small
largest=smallest, bigger=smaller, big=small, biggest=smallest, greater=lesser, above=below, over=under, before=after
earlier=later, early=late, earliest=latest, first=last, start=end, starts=ends, started=ended, begin=end, begins=ends
began=ended, beginning=end, open=closed, opened=closed, opens=closes, win=lose, wins=loses, won=lost, winning=losing
winner=loser, victory=defeat, success=failure, successful=unsuccessful, succeeded=failed, gain=loss, gains=losses
gained=lost, profit=loss, earnings=losses, positive=negative, positively=negatively, good=bad, better=worse, best=worst
strong=weak, stronger=weaker, strongest=weakest, old=young, older=younger, oldest=youngest, new=old, male=female
man=woman, men=women, father=mother, son=daughter, brother=sister, husband=wife, king=queen, actor=actress, boy=girl
he=she, his=her, buy=sell, buys=sells, bought=sold, buying=selling, accept=reject, accepted=rejected, accepts=rejects
agree=disagree, agreed=disagreed, agrees=disagrees, allow=forbid, allowed=forbidden, allows=forbids, support=oppose
supports=opposes, supported=opposed, supporting=opposing, include=exclude, includes=excludes, included=excluded
including=excluding, same=different, similar=different, north=south, northern=southern, east=west, eastern=western
left=right, up=down, upper=lower, inside=outside, public=private, major=minor, majority=minority, long=short, longer=shorter
longest=shortest, deep=shallow, fast=slow, faster=slower, near=far, easy=difficult, easier=harder, cheap=expensive
rich=poor, safe=dangerous, active=inactive, common=rare, popular=unpopular, likely=unlikely, possible=impossible
known=unknown, able=unable, alive=dead, born=died, war=peace, love=hate, loved=hated, like=dislike, praised=criticized
improve=worsen, improved=worsened, improves=worsens, grow=shrink, grew=shrank, growing=shrinking, growth=decline
expand=shrink, expanded=reduced, raise=cut, raised=cut, join=leave, joined=left, arrive=leave, arrived=left, enter=leave
entered=left, remember=forget, hire=fire, hired=fired, upregulated=downregulated, upregulation=downregulation
activates=inhibits, activate=inhibit, activation=inhibition, promotes=prevents, promote=prevent, induces=suppresses
induce=suppress, induced=suppressed, enhances=impairs, enhance=impair, enhanced=impaired, stimulates=blocks
presence=absence, acute=chronic, internal=external, domestic=foreign, urban=rural, modern=ancient, professional=amateur
guilty=innocent, legal=illegal, hot=cold, warm=cool, summer=winter, spring=autumn, day=night, morning=evening, light=dark
black=white, wet=dry, hard=soft, happy=sad, optimistic=pessimistic, confident=doubtful, satisfied=dissatisfied
satisfactory=unsatisfactory, excited=worried, friend=enemy, minimum=maximum, increase in=decrease in, north of=south of
""")
_QUANTIFIERS, _QUANTIFIER = _table(
    """
all=some, all=none of, every=no, each=no, many=few, most=few, several=no, always=never, often=rarely, usually=rarely
sometimes=never, frequently=seldom, everyone=nobody, everything=nothing, both=neither, only=not only, at least=at most
more than=less than, majority of=minority of, entire=partial, fully=partly, completely=partly, half=all, nearly=not nearly
some=all, few=many, never=always, rarely=often
""",
    both=False,
)
_UNITS, _UNIT = _table("""
million=billion, billion=trillion, thousand=million, hundred=thousand, percent=percentage points, meters=kilometers
metres=kilometres, kilometers=miles, kilometres=miles, km=miles, feet=meters, inches=feet, pounds=kilograms, kg=pounds
tons=pounds, seconds=minutes, minutes=hours, hours=days, days=weeks, weeks=months, months=years, years=decades
decades=centuries, year=month, month=week, week=day, day=week, hour=day, quarter=year, dollars=euros, euros=pounds
grams=milligrams, mg=g, ml=l, fahrenheit=celsius, acres=square miles, degrees=percent
""")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_COUNTS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_CALENDAR, _CALENDARIC = _table("\n".join("=".join(group) for group in (_MONTHS, _DAYS)), both=True)
_CALENDAR = {word.lower(): others for word, others in _CALENDAR.items()}
_ORDINALS, _ORDINAL = _table("first=second=third=fourth=fifth=sixth=seventh=eighth=ninth=tenth")
_WORDED, _WORD_NUMBER = _table("=".join(_COUNTS[1:]))
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w]|[.,]\d)")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|should|may|might|must|does|do|did)\b(?!\s+(?:not|no|never)\b)(?!n['’]t)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|should|does|do|did)(?: not|n['’]t|"
    r" never)\b",
    re.I,
)
_NAME = re.compile(
    r"\b[A-Z][\w’'-]*(?:\.[A-Z]\.?)*(?: (?:(?:of the|of|the|de|van|von|for|&) )?[A-Z][\w’'-]*)*"
)
_OPENERS_TEXT = """
The A An This That These Those It He She They We I You In On At By For With From As But And Or If When While After Before
During There Here His Her Its Their Our My Your What Who Which How Why Where One Some Many Most All Each No Not However
Also Then So Such Both Although Because Since It's Mr Mrs Ms Dr Two Three Four Five Yes Well Oh Hi
"""
_OPENERS = frozenset(_OPENERS_TEXT.split())
_PLACE_BEFORE = re.compile(r"\b(in|at|from|near|to|of|into|through|across)\s+$", re.I)


def names(text: str) -> list[tuple[int, int, str]]:
    """(start, end, type) of the names in a text. Types by shape: numbers of words, and whether a
    place preposition stands before. A capitalised word that opens a sentence counts only when more
    name follows.
    """
    found = []
    for match in _NAME.finditer(text):
        start, end = match.span()
        words = match.group().split()
        before = text[:start].rstrip()
        opening = not before or before[-1] in ".!?:\n\"“”'("
        if words[0] in _OPENERS:
            if len(words) == 1:
                continue
            start += len(words[0]) + 1
            words = words[1:]
            opening = False
        if (
            not words
            or not words[0][:1].isupper()
            or (opening and len(words) == 1)
            or len(text[start:end]) < 3
        ):
            continue
        if words[0] in _MONTHS or words[0] in _DAYS:
            continue
        place = "place" if _PLACE_BEFORE.search(text[max(0, start - 12) : start]) else "other"
        found.append((start, end, f"{place}{min(len(words), 3)}"))
    return found


def number(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A number becomes another: one of the passage, a near one, one with other digits."""
    found = list(_NUMBER.finditer(said.text))
    if not found:
        return _swap(said, _WORDED, _WORD_NUMBER, chance, false=True)
    at = chance.choice(found)
    old = at.group()
    year = len(old) == 4 and old.isdigit() and 1000 <= int(old) <= 2100
    choices = {m.group() for m in _NUMBER.finditer(source.passage)}
    choices = {c for c in choices if c not in said.text and (len(c) == 4 and c.isdigit()) == year}
    if choices and chance.random() < 0.5:
        return put(said, at.start(), at.end(), chance.choice(sorted(choices)), false=True)
    if year:
        new = str(int(old) + chance.choice((-20, -10, -3, -2, -1, 1, 2, 3, 10, 20)))
    else:
        digits = [i for i, c in enumerate(old) if c.isdigit()]
        i = chance.choice(digits)
        others = [d for d in "0123456789" if d != old[i] and not (d == "0" and i == 0)]
        new = old[:i] + chance.choice(others) + old[i + 1 :]
    return put(said, at.start(), at.end(), new, false=True)


def date(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A month, a weekday or an ordinal becomes another."""
    edit = (
        _swap(said, _CALENDAR, _CALENDARIC, chance, false=True) if chance.random() < 0.7 else None
    )
    # "may" and "march" are words as well.
    if edit and not re.search(r"\b(?:May|March)\b|\b(?!may|march)\w+", said.text):
        edit = None
    return edit or _swap(said, _ORDINALS, _ORDINAL, chance, false=True)


def unit(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A unit of measure becomes another one."""
    return _swap(said, _UNITS, _UNIT, chance, false=True) if _NUMBER.search(said.text) else None


def name(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A name becomes another of the same type: of the passage, else of another one."""
    mine = names(said.text)
    if not mine:
        return None
    start, end, kind = chance.choice(mine)
    old = said.text[start:end].lower()
    known = said.text.lower()

    def usable(text: str) -> list[str]:
        return sorted(
            {
                text[a:b]
                for a, b, k in names(text)
                if k == kind
                and text[a:b].lower() not in known
                and not set(text[a:b].lower().split()) & set(old.split())
            }
        )

    inside = usable(source.passage)
    pool = inside if inside and chance.random() < 0.7 else usable(" . ".join(source.others[:6]))
    return put(said, start, end, chance.choice(pool), false=True) if pool else None


def negation(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A "not" comes in, or goes."""
    gone = _NEGATED.search(said.text)
    if gone:
        return put(said, gone.start(), gone.end(), gone.group(1), false=True)
    found = list(_AUXILIARY.finditer(said.text))
    if not found:
        return None
    at = chance.choice(found)
    return put(
        said,
        at.start(),
        at.end(),
        at.group() + chance.choice((" not", " not", " never")),
        false=True,
    )


def antonym(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A word becomes its opposite."""
    return _swap(said, _ANTONYMS, _ANTONYM, chance, false=True)


def quantifier(said: Said, source: Source, chance: random.Random) -> Said | None:
    """All becomes some, often becomes rarely."""
    return _swap(said, _QUANTIFIERS, _QUANTIFIER, chance, false=True)


def roles(said: Said, source: Source, chance: random.Random) -> Said | None:
    """Two names of the claim change places."""
    mine = [(a, b) for a, b, _ in names(said.text)]
    pairs = [
        (x, y)
        for i, x in enumerate(mine)
        for y in mine[i + 1 :]
        if said.text[slice(*x)] != said.text[slice(*y)]
    ]
    # "A and B" says the same as "B and A".
    pairs = [
        (x, y)
        for x, y in pairs
        if not re.fullmatch(r"\s*(?:,|and|or|&|,\s*and)\s*", said.text[x[1] : y[0]])
    ]
    if not pairs:
        return None
    (a, b), (c, d) = chance.choice(pairs)
    one, other = said.text[a:b], said.text[c:d]
    return put(put(said, c, d, one, false=True), a, b, other, false=True)


_ADJUNCT = re.compile(
    r"(?<=\w)( (?:in|on|at|during|after|before|for|with|by|according to|because of|from|near)"
    r" [^,.;:!?()]{6,60})(?=[.,;!?]|$)"
)


def insertion(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A detail of another passage comes in: when, where, why."""
    for other in chance.sample(list(source.others), min(4, len(source.others))):
        details = [
            m.group(1)
            for m in _ADJUNCT.finditer(other)
            if m.group(1).lower() not in source.passage.lower()
        ]
        ends = [m.start() for m in re.finditer(r"(?<=\w)(?=[.,;])|$", said.text)]
        if details and ends:
            at = chance.choice(ends)
            detail = chance.choice(details)
            if said.text[:at].strip():
                return put(said, at, at, detail, false=True)
    return None


def half(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A second clause from another passage is joined on."""
    others = [
        o for o in source.others if 30 <= len(o) <= 160 and o.lower() not in source.passage.lower()
    ]
    if not others:
        return None
    other = chance.choice(others).strip()
    body = said.text.rstrip()
    if chance.random() < 0.5 and body and body[-1] in ".!?":
        joint = " "
    else:
        body = body.rstrip(".!?")
        joint = chance.choice((", and ", " and ", ", while ", "; "))
        if other.split()[0] in _OPENERS:
            other = other[:1].lower() + other[1:]
    text = body + joint + other
    return Said(text, (*said.spans, (len(body + joint), len(text))))


# --- edits that keep a claim true
# ------------------------------------------------------------------------------------

_SYNONYMS, _SYNONYM = _table(
    """
approximately=about=around=roughly, began=started, begin=start, begins=starts, large=big, created=made, numerous=many
purchase=buy, purchased=bought, assist=help, assisted=helped, obtain=get, obtained=got, require=need, requires=needs
required=needed, attempt=try, attempted=tried, located=situated, commonly=often, frequently=often, usually=typically
film=movie, films=movies, children=kids, physician=doctor, automobile=car, vehicle=car, demonstrated=showed
demonstrate=show, demonstrates=shows, reveal=show, revealed=showed, indicates=suggests, indicate=suggest
additionally=also, moreover=also, therefore=thus=so, however=but, primarily=mainly=mostly, largely=mostly
currently=now, previously=formerly, initially=at first, rapidly=quickly, rapid=fast, huge=very large, tiny=very small
famous=well known, well-known=famous, renowned=famous, significant=important, crucial=essential, entire=whole
announced=said, stated=said, states=says, stated that=said that, mentioned=said, remarked=said, reported=said
died=passed away, killed=slain, injured=hurt, employed=used, utilized=used, utilize=use, utilizes=uses, using=by means of
because of=due to, due to=owing to, because=since, although=though, while=whereas, within=inside, until=till
received=got, provides=gives, provide=give, provided=gave, constructed=built, construct=build, established=founded
residence=home, resides=lives, resided=lived, reside=live, city=town, nation=country, firm=company, company=business
whole=entire, kind of=type of, kinds of=types of, various=different, difficult=hard, ended=finished, concluded=ended
sufficient=enough, identical=the same, such as=like, for example=for instance, in order to=to, as well as=and
a number of=several, along with=together with, in addition to=besides, prior to=before, subsequent to=after
is able to=can, are able to=can, was able to=could, were able to=could, took place=happened, occurred=happened, occurs=happens
participated in=took part in, consists of=is made up of, consist of=are made up of, is known as=is called
are known as=are called, was known as=was called, also known as=also called, referred to as=called, originated=began
patients=people with the disease, individuals=people, persons=people, male=man, elderly=old, mice=mouse models
elevated=increased, decreased=reduced, reduces=lowers, reduce=lower, reduced=lowered, enhances=increases, enhance=increase
inhibits=blocks, inhibit=block, promotes=encourages, leads to=causes, lead to=cause, led to=caused, results in=leads to
resulted in=led to, tumor=cancer, tumors=cancers, associated with=linked to, regarding=about, concerning=about
%= percent, percent=per cent, kilometers=km, kilometres=km, okay=fine, television=TV, united states=US, united kingdom=UK
""",
    both=False,
)
_PARENTHESIS = re.compile(r"\s*\([^()]{1,120}\)")
_LEAD = re.compile(
    r"^((?:In|On|At|During|After|Before|Since|By|For|With|According to|Despite|As of|Following)"
    r" [^,.;:]{3,70}), (?=\w)"
)
_TAIL = re.compile(
    r",\s(?:which|who|where|including|such"
    r" as|with|as|after|when|while|although|but|because)\b[^.;!?]{5,200}(?=[.!?]?$)"
)
_RELATIVE = re.compile(r", (?:which|who|whose|where|a|an|the|one of) [^,.;]{5,120}, (?=\w)")
_ADVERB = re.compile(
    r"\b(?:very|also|really|quite|just|however|moreover|furthermore|in"
    r" fact|indeed|actually|additionally|therefore|thus),? ",
    re.I,
)
_NUMERAL = re.compile(r"(?<![\w.,$€£:/-])([2-9]|1[0-2]) (?=[a-z])")
_DATE = re.compile(
    r"\b(\d{1,2}) ("
    + "|".join(_MONTHS)
    + r") (\d{4})\b|\b("
    + "|".join(_MONTHS)
    + r") (\d{1,2}), (\d{4})\b"
)
_THOUSANDS = re.compile(r"(?<![\w.,])(\d{1,3}),(\d{3})(?![\w,]|\.\d)")
_DIALOGUE = (
    "I know that ",
    "Did you know that ",
    "I heard that ",
    "Yes, ",
    "Well, ",
    "Yeah, ",
    "That is right, ",
    "Apparently ",
    "I think ",
    "Actually, ",
)


def _cut(said: Said, pattern: re.Pattern[str], chance: random.Random) -> Said | None:
    found = [m for m in pattern.finditer(said.text) if len(said.text) - (m.end() - m.start()) >= 20]
    if not found:
        return None
    at = chance.choice(found)
    new = " " if pattern is _RELATIVE else ""
    kept = put(said, at.start(), at.end(), new, false=False)
    return Said(kept.text[:1].upper() + kept.text[1:], kept.spans)


def shorter(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A bracket, a relative clause, an adjunct at the front or the end, or an adverb goes: what is
    left still holds.
    """
    if said.spans:
        return None
    patterns = [_PARENTHESIS, _LEAD, _TAIL, _RELATIVE, _ADVERB]
    chance.shuffle(patterns)
    for pattern in patterns:
        # Without its "not" or its condition a sentence says something else.
        cut = _cut(said, pattern, chance)
        if cut and not re.search(r"\b(?:if|unless|except|not|never|no)\b", said.text, re.I):
            return cut
    return None


def reordered(said: Said, source: Source, chance: random.Random) -> Said | None:
    """ "In 1990, X" becomes "X in 1990"."""
    lead = _LEAD.match(said.text)
    body = said.text[lead.end() :] if lead else ""
    stop = re.search(r"[.!?]?$", body)
    if not lead or said.spans or stop is None or len(body) > 160 or "," in body:
        return None
    front = lead.group(1)
    moved = f"{body[: stop.start()]} {front[:1].lower()}{front[1:]}{stop.group()}"
    return Said(moved[:1].upper() + moved[1:])


def synonym(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A word becomes one that says the same; up to three of them."""
    result = None
    for _ in range(chance.choice((1, 2, 3))):
        result = _swap(result or said, _SYNONYMS, _SYNONYM, chance, false=False) or result
    return result


def spelling(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A number or a date written in another way."""
    small = _NUMERAL.search(said.text)
    if small:
        return put(
            said, small.start(1), small.end(1), _COUNTS[int(small.group(1)) - 1], false=False
        )
    day = _DATE.search(said.text)
    if day:
        d = day.group
        new = f"{d(2)} {d(1)}, {d(3)}" if d(1) else f"{d(5)} {d(4)} {d(6)}"
        return put(said, day.start(), day.end(), new, false=False)
    large = _THOUSANDS.search(said.text)
    return (
        put(said, large.start(), large.end(), large.group(1) + large.group(2), false=False)
        if large
        else None
    )


def surname(said: Said, source: Source, chance: random.Random) -> Said | None:
    """A full name of two words becomes its last word, or a name at the front a pronoun-free short
    form.
    """
    full = [(a, b) for a, b, k in names(said.text) if k == "other2" and " " in said.text[a:b]]
    if not full:
        return None
    start, end = chance.choice(full)
    return put(said, start, end, said.text[start:end].split()[-1], false=False)


def dialogue(said: Said, source: Source, chance: random.Random) -> Said | None:
    """As somebody would say it in a talk."""
    opener = chance.choice(_DIALOGUE)
    text = said.text
    if text.split() and text.split()[0] in _OPENERS:
        text = text[:1].lower() + text[1:]
    if opener.startswith("Did"):
        text = text.rstrip(".") + "?"
    shift = len(opener)
    return Said(
        opener + text, tuple((a + shift, min(b + shift, len(opener + text))) for a, b in said.spans)
    )


def plain(said: Said, source: Source, chance: random.Random) -> Said | None:
    """Spaces round the marks, as tokenised texts have them."""
    text = re.sub(r"(?<=\w)([.,!?;:])(?=\s|$)", r" \1", said.text)
    return Said(text.lower()) if not said.spans else None


Edit = Callable[[Said, Source, random.Random], Said | None]
# Edits that contradict the passage, edits that add what it does not mention, edits that keep the
# claim true.
CONTRADICTING: dict[str, Edit] = {
    "number": number,
    "date": date,
    "unit": unit,
    "name": name,
    "negation": negation,
    "antonym": antonym,
    "quantifier": quantifier,
    "roles": roles,
}
ADDING: dict[str, Edit] = {"insertion": insertion, "half": half}
KEEPING: dict[str, Edit] = {
    "shorter": shorter,
    "reordered": reordered,
    "synonym": synonym,
    "spelling": spelling,
    "surname": surname,
    "dialogue": dialogue,
    "plain": plain,
}
