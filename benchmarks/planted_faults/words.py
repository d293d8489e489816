"""Tables of words from which faults are made by rules."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    """The entries of a table with commas between."""
    return tuple(" ".join(entry.split()) for entry in text.split(","))


def _one_way(text: str) -> dict[str, str]:
    """`a=b` entries as a table from a to b; the first b of an a counts."""
    table: dict[str, str] = {}
    for entry in _words(text):
        left, right = entry.split("=")
        table.setdefault(left, right)
    return table


def _both_ways(text: str) -> dict[str, str]:
    """`a=b` entries as a table that leads from each side to the other."""
    there = _one_way(text)
    back = _one_way(",".join("=".join(reversed(entry.split("="))) for entry in _words(text)))
    return back | there


MONTHS = _words(
    """
    January, February, March, April, May, June, July, August, September, October, November,
    December
    """
)
DAYS = _words(
    """
    Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday
    """
)
SMALL = _words(
    """
    one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve
    """
)

# Units with one that measures the same and is another size.
UNITS = {
    "second": "minute",
    "minute": "hour",
    "hour": "day",
    "day": "week",
    "week": "month",
    "month": "year",
    "year": "month",
    "decade": "century",
    "century": "decade",
    "metre": "kilometre",
    "meter": "kilometer",
    "kilometre": "mile",
    "kilometer": "mile",
    "mile": "metre",
    "foot": "metre",
    "inch": "foot",
    "yard": "mile",
    "gram": "kilogram",
    "kilogram": "gram",
    "pound": "ton",
    "ton": "pound",
    "tonne": "gram",
    "litre": "millilitre",
    "liter": "milliliter",
    "gallon": "pint",
    "acre": "square mile",
    "dollar": "euro",
    "euro": "dollar",
    "million": "billion",
    "billion": "million",
    "trillion": "million",
    "thousand": "million",
}
SHORT_UNITS = {
    "km": "m",
    "m": "km",
    "cm": "m",
    "mm": "cm",
    "kg": "g",
    "g": "kg",
    "mg": "g",
    "ml": "l",
    "lb": "kg",
    "lbs": "kg",
    "ft": "m",
    "mph": "m/s",
    "MB": "GB",
    "GB": "MB",
    "MW": "kW",
    "bn": "m",
    "°C": "°F",
    "°F": "°C",
}
PLURALS = {
    "foot": "feet",
    "inch": "inches",
    "century": "centuries",
}
MONEY = {
    "$": "€",
    "£": "$",
    "€": "£",
}

ANTONYMS = _both_ways(
    """
    increase=decrease, increases=decreases, increased=decreased, increasing=decreasing,
    rose=fell, rises=falls, rise=fall, rising=falling, grew=shrank, grown=shrunk,
    growing=shrinking, higher=lower, highest=lowest, larger=smaller, largest=smallest,
    bigger=smaller, biggest=smallest, greater=smaller, greatest=smallest, longer=shorter,
    longest=shortest, older=younger, oldest=youngest, faster=slower, fastest=slowest,
    stronger=weaker, strongest=weakest, richest=poorest, better=worse, best=worst,
    cheaper=dearer, earliest=latest, earlier=later, before=after, above=below, won=lost,
    winning=losing, wins=loses, winner=loser, victory=defeat, bought=sold, buys=sells,
    accepted=rejected, accepts=rejects, approved=rejected, allowed=forbidden,
    allows=forbids, permitted=prohibited, supported=opposed,
    supports=opposes, included=excluded, includes=excludes, opened=closed, opens=closes,
    began=ended, begins=ends, begin=end, started=ended, starts=ends, starting=ending,
    northern=southern, north=south, eastern=western, east=west, male=female,
    successful=unsuccessful, succeeded=failed, success=failure, gained=lost,
    positive=negative, major=minor, majority=minority, internal=external, domestic=foreign,
    urban=rural, guilty=innocent, alive=dead, possible=impossible, able=unable,
    likely=unlikely, known=unknown, safe=dangerous, easy=difficult, easier=harder,
    active=inactive, agreed=refused, agrees=refuses, improved=worsened, improves=worsens,
    raised=lowered, raises=lowers, expanded=shrunk, hired=fired,
    loved=hated, loves=hates, remembered=forgot, first=last, upper=lower, inside=outside,
    strong=weak, rich=poor, popular=unpopular, presence=absence, often=rarely,
    promotes=prevents, activates=inhibits, enhances=impairs, induces=suppresses,
    promote=prevent, enhanced=impaired, upregulated=downregulated, uptick=drop, boost=drop,
    growth=decline, profit=loss, top=bottom, maximum=minimum, causes=prevents,
    helped=hindered, helps=hinders, admitted=denied, admits=denies, confirmed=denied,
    freed=jailed, acquitted=convicted, survived=died, defeated=lost to, beat=lost to,
    beats=loses to, more=less, most=least, strengthen=weaken, strengthened=weakened,
    raise=lower, reduce=raise, reduces=raises, reduced=raised,
    appeared=vanished, junior=senior
    """
)

# Each with one that rules it out.
QUANTIFIERS = {
    "all of": "none of",
    "all": "only a few",
    "every": "no",
    "each of": "none of",
    "everyone": "nobody",
    "everything": "nothing",
    "most of": "none of",
    "most": "very few",
    "many of": "none of",
    "many": "no",
    "several": "no",
    "some of": "none of",
    "some": "no",
    "various": "no",
    "both of": "neither of",
    "always": "never",
    "usually": "never",
    "often": "never",
    "sometimes": "never",
    "frequently": "never",
    "commonly": "never",
    "generally": "never",
    "typically": "never",
    "never": "always",
    "at least": "fewer than",
    "at most": "more than",
    "more than": "at most",
    "less than": "at least",
    "fewer than": "at least",
    "up to": "more than",
    "must": "need not",
    "is the only": "is far from the only",
    "was the only": "was far from the only",
    "nearly all": "hardly any",
    "almost all": "hardly any",
    "the majority of": "hardly any of",
    "majority of": "minority of",
    "none of": "all of",
    "completely": "hardly",
    "fully": "hardly",
    "mainly": "hardly",
    "mostly": "hardly",
    "primarily": "hardly",
    "largely": "hardly",
    "numerous": "no",
    "a variety of": "hardly any",
    "a number of": "hardly any",
    "dozens of": "hardly any",
    "hundreds of": "hardly any",
    "thousands of": "hardly any",
    "at all times": "at no time",
    "almost": "much more than",
    "nearly": "much more than",
    "over": "at most",
}

# Past forms that stand directly behind a subject, with the form that "did not" takes.
PAST = _one_way(
    """
    won=win, made=make, took=take, became=become, began=begin, went=go, got=get, gave=give,
    came=come, found=find, held=hold, wrote=write, sold=sell, bought=buy, built=build,
    grew=grow, rose=rise, fell=fall, beat=beat, met=meet, spent=spend, kept=keep, lost=lose,
    sent=send, brought=bring, caught=catch, fought=fight, chose=choose, drew=draw, ran=run,
    sang=sing, spoke=speak, taught=teach, struck=strike, broke=break, drove=drive, flew=fly,
    saw=see, stood=stand, sought=seek, received=receive, served=serve, moved=move,
    released=release, married=marry, studied=study, died=die, played=play, worked=work,
    joined=join, started=start, opened=open, scored=score, signed=sign, appeared=appear,
    reported=report, announced=announce, published=publish, designed=design,
    directed=direct, produced=produce, finished=finish, earned=earn, lived=live,
    returned=return, refused=refuse, agreed=agree, attended=attend, accepted=accept,
    helped=help, increased=increase, decided=decide, used=use, developed=develop,
    created=create, founded=found
    """
)

PLACES = {
    "country": _words(
        """
        France, Germany, Spain, Italy, Portugal, Greece, Turkey, Poland, Austria,
        Hungary, Sweden, Norway, Denmark, Finland, Ireland, England, Scotland, Wales,
        Belgium, Switzerland, Russia, Ukraine, China, Japan, India, Pakistan, Iran,
        Iraq, Israel, Egypt, Kenya, Nigeria, Ghana, Canada, Mexico, Brazil, Argentina,
        Chile, Peru, Colombia, Australia, Indonesia, Thailand, Vietnam, Malaysia
        """
    ),
    "city": _words(
        """
        London, Paris, Berlin, Madrid, Barcelona, Rome, Milan, Vienna, Prague, Warsaw,
        Athens, Istanbul, Moscow, Dublin, Edinburgh, Glasgow, Manchester, Liverpool,
        Birmingham, Leeds, Bristol, Amsterdam, Brussels, Chicago, Boston, Seattle,
        Houston, Dallas, Atlanta, Denver, Detroit, Miami, Philadelphia, San Francisco,
        Los Angeles, Toronto, Montreal, Sydney, Melbourne, Tokyo, Beijing, Shanghai,
        Mumbai, Cairo, Nairobi, Lima, Cleveland, Minneapolis, Portland, Phoenix,
        Baltimore, Nashville, Hollywood, New Orleans, Austin
        """
    ),
    "state": _words(
        """
        California, Texas, Florida, Ohio, Michigan, Illinois, Georgia, Virginia,
        Arizona, Colorado, Oregon, Nevada, Utah, Kansas, Iowa, Missouri, Minnesota,
        Wisconsin, Indiana, Kentucky, Tennessee, Alabama, Mississippi, Louisiana,
        Arkansas, Oklahoma, Nebraska, Montana, Idaho, Maine, Vermont, Hawaii, Alaska,
        Maryland, Pennsylvania, Massachusetts, Connecticut, New Jersey, North Carolina,
        South Carolina, West Virginia
        """
    ),
    "people": _words(
        """
        American, British, English, Scottish, Irish, French, German, Spanish, Italian,
        Portuguese, Greek, Turkish, Polish, Swedish, Norwegian, Danish, Dutch, Russian,
        Chinese, Japanese, Korean, Indian, Australian, Canadian, Mexican, Brazilian,
        Egyptian, Nigerian
        """
    ),
}
PERSONS = _words(
    """
    Robert Hartwell, Margaret Sloane, Peter Lindholm, Helen Carmody, George Whitfield, Anna
    Petrova, Samuel Osgood, Julia Marchetti, Edward Kimball, Clara Bremner, Victor Alderson,
    Ruth Haverford, Thomas Eastlake, Laura Denholm, Frank Ostrander, Irene Valdez, Martin
    Claybourne, Susan Thackeray, Walter Langdon, Diana Prescott
    """
)
FIRST_NAMES = frozenset(
    _words(
        """
        aaron, adam, adrian, alan, albert, alex, alexander, alfred, alice, amanda, amy,
        andrea, andrew, angela, ann, anna, anne, anthony, antonio, arthur, ashley,
        barack, barbara, ben, benjamin, bernard, betty, bill, billy, bob, bobby, brad,
        brandon, brian, bruce, bryan, carl, carlos, carol, caroline, catherine, charles,
        charlie, charlotte, chris, christian, christina, christine, christopher, claire,
        clint, colin, craig, cristiano, daniel, danny, dave, david, dean, deborah,
        dennis, diana, diane, don, donald, donna, dorothy, douglas, duncan, dustin,
        dylan, ed, eddie, edward, elena, eli, elizabeth, emily, emma, eric, erik,
        ernest, eva, evan, floyd, francis, frank, fred, frederick, gareth, gary, geoff,
        george, gerald, gerard, gordon, grace, graham, greg, gregory, hannah, harold,
        harry, heather, helen, henry, hillary, howard, hugh, ian, isaac, jack, jackson,
        jacob, jake, james, jamie, jane, janet, jason, jay, jean, jeff, jeffrey,
        jennifer, jeremy, jerry, jessica, jim, jimmy, joan, joe, joel, john, johnny,
        jon, jonathan, jordan, jose, joseph, josh, joshua, juan, judy, julia, julian,
        julie, justin, karen, karl, kate, katherine, kathy, katie, keith, kelly, ken,
        kenneth, kevin, kim, kyle, larry, laura, lauren, lee, leo, leon, leonard, lewis,
        liam, linda, lionel, lisa, louis, louise, lucas, lucy, luis, luke, marc, marcus,
        margaret, maria, marie, mario, marion, mark, martha, martin, mary, matt,
        matthew, max, megan, melissa, michael, michelle, miguel, mike, mohammed, nancy,
        nathan, neil, nicholas, nick, nicola, nicole, nigel, noah, norman, oliver,
        olivia, oscar, owen, pamela, patricia, patrick, paul, pedro, peter, phil,
        philip, philippe, rachel, ralph, ray, raymond, rebecca, richard, rick, robert,
        robin, rodney, roger, ron, ronald, ronnie, rose, ross, roy, russell, ruth, ryan,
        sam, samantha, samuel, sandra, sara, sarah, scott, sean, sergio, shane, sharon,
        simon, sophie, stan, stanley, stephen, steve, steven, stuart, susan, ted,
        teresa, terry, theresa, thomas, tim, timothy, todd, tom, tommy, tony, tracy,
        travis, tyler, vanessa, victor, victoria, vincent, walter, warren, wayne, wendy,
        will, william, zach
        """
    )
)
