"""Sentences of a response that speak of the conversation alone: openings, announcements, offers of
help, courtesy, closings, remarks on the answer itself.

Such a sentence opens in one of a few ways, and every word behind the opening belongs to a closed
list of words about asking and answering. A fact needs a word more: a name, a number, a thing.
So "Let me walk you through this step by step." is filler, "Let me walk you through it: the fee is
3 euros." and "Let the dough rest." are claims. Measured in benchmarks/results/filler.md.
"""

from __future__ import annotations

import re

MAX_WORDS = 25
"""A longer sentence says something."""

_TALK = (
    # Who speaks with whom about what, and the small words between.
    "i me my you your yours we us our this that these those it its here there the a an and or to"
    " for of in on at by with from about into through over as if so is are was were be been am"
    " have has had i've we've i'm you're i'll we'll i'd we'd you'd it's that's what's can could"
    " will"
    " would may might do does did just only also now then next first second third last again always"
    " some any all each every one ones both few several many more most further other another else"
    " anything something everything things what how which where when why whether who else's out up"
    " down off back away around quite very really rather bit little much well too still already"
    # What is asked, answered and read.
    " answer answers answered answering question questions ask asks asked asking request requested"
    " response explanation explanations explain explains explained explaining summary summaries"
    " summarize summarise summarized summarised overview outline breakdown introduction list listed"
    " lists listing detail details detailed point points part parts piece pieces topic topics"
    " subject matter aspect aspects step steps process section sections example examples background"
    " context basics information info document documents documentation passage passages source"
    " sources text texts material reference references excerpt excerpts snippets guide article"
    " following follow follow-up follows below above starting end"
    " provided provide provides given give gives giving gave found find finding shared share"
    " reviewed review read reading looked look looking checked check searched search gathered used"
    " use using based taken take comes come came covered cover covers covering"
    " walk go going dive start begin began get move moving break describe describes show shown"
    " clarify clarifies clarification elaborate discuss discussed mention mentioned mentioning"
    " help helps helped helpful helping assist assists assistance support"
    " know need needs needed want wants like liked tell see think consider understand understood"
    " try tried trying best mean means please note noting kept keep mind time moment turn order"
    " together carefully briefly quickly shortly simply directly fully closely closer deeper"
    " short shorter brief quick general main key worth useful interested interesting concise"
    " relevant specific additional complete thorough better good great important possible works"
    " refer"
    " full"
)
_WORDS = frozenset(_TALK.split())
# What else may stand behind some openings, where it can state nothing.
_KIND = (
    "happy glad pleased able feel hesitate contact reach stuck unclear clear clears cleared"
    " confusing confused confusion inconvenience delay misunderstanding mistake earlier patience"
    " understanding interest message attention bringing reaching asking visiting contacting today"
    " concern concerns frustrating frustration difficult problem issue issues product products"
    " service feedback ears ready hopefully satisfied luck way let doubt doubts trouble decision"
    " situation must hear idea picture sense"
)
_KIND_WORDS = _WORDS | frozenset(_KIND.split())

_SAY = (
    r"(?:walk|explain|break|go|dive|take|start|begin|look|summari[sz]e|give|list|show|outline"
    r"|describe|move|think|see|discuss|cover|provide|try|do|help|assist|clarify|share|answer|check"
    r"|find|get|address|turn|guide|lay|elaborate|review|put|keep|present|offer|first|briefly"
    r"|quickly|try|now|also)"
)
_ANSWER = (
    r"(?:answer|response|explanation|summary|overview|information|list|breakdown|details?|guide)"
)
# Somewhere behind: what is spoken of is the answer or its sources.
_ABOUT_TEXTS = (
    r"(?=.*\b(?:answers?|short|brief|simple|details?|documents?|documentation|passages?|sources?"
    r"|context|texts?|information|parts?|points?|summary|explanation|question|following)\b)"
)
_MANY = r"(?:a few|several|some|many|a number of|a couple of|various|two|three|multiple)"
# Opening -> why it is none: what stands behind it has to be talk.
_TALK_FRAMES: tuple[tuple[str, str], ...] = (
    (
        r"(?:(?:before (?:we|i) (?:begin|start|continue|go on)|to (?:answer|address|begin|start)"
        r"(?: (?:with|your question|this|that))?|in this (?:answer|response|section)),? )?"
        r"(?:let me|let's|let us|allow me to|i'll|i will|i(?:'m| am) going to|i can"
        rf"|i would like to|i'd like to|i want to|i shall) {_SAY}\b",
        "lead-in",
    ),
    (
        r"(?:we'll|we will|we can) (?:now )?(?:look|see|go|walk|cover|discuss|explain|start|begin"
        r"|take a)\b",
        "lead-in",
    ),
    (
        rf"{_ABOUT_TEXTS}"
        r"(?:i|i've|i have) (?:have |now |carefully |just |already |only |also )*"
        r"(?:looked|reviewed|checked|read|found|searched|gathered|went|gone|analy[sz]ed"
        r"|examined)\b",
        "lead-in",
    ),
    (
        r"(?:here(?:'s| is) how (?:it|this|that) works|here(?:'s| is| are)"
        r"|below (?:is|are|you(?:'ll| will| can) find|i(?:'ll| will))"
        r"|the following (?:is|are|sections?|points?|steps?|list|summary|explanation|information)"
        r"|(?:please )?(?:find|consider|see) the following|please (?:find|see)\b"
        r"|first,? some background|first things first|moving on|next up|as for your"
        rf"|(?:this|that|it|your question|the {_ANSWER})"
        r" (?:can|could|may) be (?:answered|explained|summari[sz]ed|described)"
        r"|the (?:answer|details|steps|points) (?:is|are) (?:as follows|below|above)"
        r"|now,? (?:on )?to)(?!\w)",
        "lead-in",
    ),
    (
        rf"there (?:are|were) {_MANY} (?:\w+ )?(?:things|points|aspects|steps|factors"
        r"|considerations|details) (?:to (?:consider|keep|note|know|mention|look|bear|cover"
        r"|understand)|worth|here\b|that (?:i|you|we))",
        "lead-in",
    ),
    (
        rf"(?:this|that|my|the|the above|above) (?:{_ANSWER} )?(?:above |below )?"
        r"(?:is|was|comes|has been) (?:only |just |all |merely |entirely )*"
        r"(?:based|taken|drawn|from|a (?:brief|short|quick|general|concise) (?:summary|overview)"
        r"|an overview|a summary|the summary)\b",
        "about the answer",
    ),
    (
        rf"(?:(?:the|this|that|my) {_ANSWER}(?: (?:above|below))?|the above|all of this|all this"
        r"|everything above|(?:more|further|additional|the) (?:details?|information|key points"
        r"|main points|points|steps|explanations?))(?: above| below)?"
        r" (?:is|are|was|were|comes?|came|can be|has been|have been) "
        r"(?:\w+ )?(?:based|taken|from|found|listed|given|shown|drawn|provided|covered|mentioned"
        r"|explained|simplified|kept|in)\b",
        "about the answer",
    ),
    (
        r"(?:please )?note that (?:this is (?:only|just)|i (?:only|have|used)|my answer|the"
        r" above)\b",
        "about the answer",
    ),
    (
        rf"{_ABOUT_TEXTS}"
        r"(?:as (?:requested|asked|promised),? )?(?:i|i've|i have) (?:have |only |just |also )*"
        r"(?:used|tried|kept|simplified|highlighted|summari[sz]ed|based|included|listed|focused"
        r"|shortened|structured)\b",
        "about the answer",
    ),
    (
        r"(?:you (?:can|will|may) find|for|see|please see|please refer|refer)"
        r"(?: to)?(?: the)? (?:more|further|additional|full|sources?|references?|documents?"
        r"|details?"
        r"|passages?|links?)\b",
        "about the answer",
    ),
    (
        r"as an? (?:ai|ai language model|language model|assistant|ai assistant),? i (?:try|aim|do"
        r" my"
        r" best|strive|am here)\b",
        "about the answer",
    ),
    (
        r"(?:it is|it's) (?:also )?(?:important|worth|helpful|useful|good|necessary|essential)"
        r" (?:to )?(?:understand|understanding|know|knowing|note|noting|look|looking|mention"
        r"|mentioning|consider|considering|keep|see)\b",
        "lead-in",
    ),
    (r"(?:keep|continue) reading\b", "lead-in"),
)
# Opening -> why; behind it the kind words may stand, too.
_KIND_FRAMES: tuple[tuple[str, str], ...] = (
    (
        r"(?:i (?:really |sincerely |do )?|we (?:do )?)?(?:hope|hopefully|trust)\b"
        r"|that should (?:answer|clear|help|cover|explain|clarify|do)\b"
        r"|that covers (?:it\b|(?:everything|all|what|all that|the points?) (?:you|i)\b)"
        r"|(?:this|that|these)(?: \w+)? (?:should|will) (?:help|give|get|answer|provide) you\b"
        r"|(?:and )?(?:that's|that is|this is) (?:it|all|everything|about it|the whole story"
        r"|the full picture|the gist)(?!\w)"
        r"|there you (?:have it|go)\b"
        r"|(?:in (?:summary|short|conclusion),? )?(?:these|those) (?:are|were) (?:just )?(?:the"
        r"|some of"
        r" the) (?:main|key|most important|basic|essential) "
        r"(?:points?|steps?|details?|parts?|things?|ideas?|takeaways?|facts?)(?!\w)"
        r"|to sum (?:it )?up|to summari[sz]e|with (?:this|that|all this) in mind,? you"
        r"|now you (?:know|are|have|can)\b",
        "politeness",
    ),
    (
        r"(?:(?:please |just |do |so )*(?:let me know|tell me|feel free|(?:do not|don't) hesitate"
        r"|(?:reach out|contact me|write to me|ask me)))\b"
        r"|(?:if|should) (?:you|anything|something|there)\b"
        r"|i(?:'m| am|'d| would|'ll| will| can)(?: be)?(?: (?:always|also|more than|only|very))*"
        r" (?:here|(?:happy|glad|pleased|able|available|delighted) to|provide|give|explain"
        r"|help|assist|elaborate)\b"
        r"|(?:always |more than )?(?:happy|glad|pleased) to\b"
        r"|you can (?:always )?(?:ask|contact|reach|write to|tell) (?:me|us)\b"
        r"|please (?:ask|tell me|share|provide|specify|clarify)\b"
        r"|(?:is there |do you need )?anything else\b",
        "politeness",
    ),
    (
        r"(?:many )?(?:thanks|thank you)\b|(?:i|we) (?:really |do |truly )?appreciate\b"
        r"|(?:i|we)(?:'m| am| are)? ?(?:do )?(?:sincerely |deeply )?(?:apologi[sz]e|sorry) (?:for"
        r"|about)"
        r"|(?:my |our )?(?:sincere )?apologies\b|sorry (?:for|about)\b"
        r"|(?:i|we) wish you\b|(?:it's |it is )?(?:good|nice|great) to (?:hear|see|meet)\b"
        r"|i (?:completely |fully |totally |can )?(?:understand|see|get|hear)"
        r" (?:your|you|what you|how|why|that this|that it|that you|where)\b",
        "politeness",
    ),
)
_POSITIVE = (
    r"(?:great|good|excellent|interesting|thoughtful|fantastic|wonderful|common|important|tricky"
    r"|fair"
    r"|valid|complex|broad|difficult|big)"
)
_COURTESY = re.compile(
    r"(?:you(?:'re| are) (?:very |most |always )?welcome|(?:it's |it was )?my pleasure"
    r"|no (?:worries|problem)(?: at all)?|enjoy(?: (?:your|the) (?:day|evening|weekend|trip|stay"
    r"|meal"
    r"|time|rest of your day))?|take care(?: of yourself)?|stay safe|see you(?: (?:soon|later"
    r"|then))?"
    r"|bye|goodbye|have (?:a|an) (?:\w+ )?(?:day|evening|weekend|night|time|one|week|trip)"
    r"|(?:the )?(?:best of|good) luck(?: with (?:your|the|that|this) \w+)?|best wishes|all the best"
    r"|i wish you (?:all the best|good luck|luck|success|a \w+ day)"
    r"|congratulations(?: on (?:your|the)(?: new)? \w+)?|well done|welcome(?: back)?"
    r"|what an? \w+ question"
    rf"|(?:(?:this|that|it)(?:'s| is) )?an? (?:very |really |rather )?{_POSITIVE} (?:one|topic"
    rf"|subject))"
)
_PRAISE = re.compile(
    rf"(?:(?:this|that|it)(?:'s| is) (?:an? )?)?(?:very |really |such an? |a )*{_POSITIVE} question"
    r"(?:,? and (?:one )?(?:that )?(?:many|a lot of|lots of|most) (?:people|users|customers)"
    r" (?:ask|have))?"
    r"|i(?:'m| am) (?:so )?(?:glad|happy) (?:that )?you (?:asked|reached out|brought this up)"
)
# The question said again. What it says of the world it only asks.
_RESTATED = re.compile(
    r"(?:so,? )?(?:you (?:asked|ask|are asking|want to know|wanted to know|would like to know"
    r"|are wondering|wondered)|you're (?:asking|wondering)|your question (?:is|was))"
    r" (?:about|how|whether|if|what|when|where|why|which|who)(?: (?!that\b|which\b"
    r"|because\b)[a-z'-]+){1,9}"
)
_BEFORE = re.compile(
    r"(?:(?:sure(?: thing)?|certainly|absolutely|of course|okay|ok|alright|all right|yes|great"
    r"|perfect"
    r"|well|gladly|no problem|hi(?: there)?|hello(?: there)?|hey(?: there)?|dear (?:customer|user)"
    r"|welcome"
    r"|now|so|and|but|also|anyway|however|finally|lastly|next|first|then|again|oh|ah|hmm)[,!.:]? )"
)
_FEEL_FREE = re.compile(r"(?:do not|don't) hesitate|feel free")
_TOKENS = re.compile(r"[a-z][a-z'’-]*")
_TALK_RULES = tuple((re.compile(pattern), why) for pattern, why in _TALK_FRAMES)
_KIND_RULES = tuple((re.compile(pattern), why) for pattern, why in _KIND_FRAMES)


def filler(phrase: str) -> str:
    """Why a sentence speaks of the conversation alone, or "" when it may claim something.

    phrase: in small letters, without the marks around it and at its end.

    >>> filler("let me walk you through this step by step"), filler("let me add that it is free")
    ('lead-in', '')
    """
    if len(phrase.split()) > MAX_WORDS or any(c.isdigit() for c in phrase):
        return ""
    at = 0
    for _ in range(3):
        why = _reason(phrase[at:])
        if why:
            return why
        before = _BEFORE.match(phrase, at)
        if before is None:
            return ""
        at = before.end()
    return ""


def _reason(phrase: str) -> str:
    if _COURTESY.fullmatch(phrase) or _PRAISE.fullmatch(phrase):
        return "politeness"
    if _RESTATED.fullmatch(phrase):
        return "the question again"
    for pattern, why in _TALK_RULES:
        opening = pattern.match(phrase)
        if opening is not None and _all_in(phrase[opening.end() :], _WORDS):
            return why
    for pattern, why in _KIND_RULES:
        opening = pattern.match(phrase)
        if opening is not None and _all_in(phrase[opening.end() :], _KIND_WORDS):
            return why
    return ""


def _all_in(rest: str, words: frozenset[str]) -> bool:
    """Whether all words of the rest are among these, and nothing announces a statement."""
    if ":" in rest or ";" in rest:
        return False
    return all(word in words for word in _TOKENS.findall(_FEEL_FREE.sub("", rest)))
