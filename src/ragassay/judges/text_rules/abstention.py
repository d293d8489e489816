"""The rule that tells whether a text as a whole declines to answer or admits not knowing.

A rule, the same on every run: a text declines when it holds a refusal or an admission and nothing
else is claimed. An apology, an offer of help, a question back or a pointer elsewhere claims
nothing; "In 1937." does, so "In 1937. I do not know the exact day." is an answer with an admission
in it. How well it agrees with readers is in benchmarks/results/declining.md. English first, with
the common forms of German, French and Spanish.
"""

from __future__ import annotations

import re

from ragassay.core.boundaries import boundaries
from ragassay.judges.text_rules.trivial import trivial

# Longer texts than this state something, whatever else they say.
_MOST_CHARS = 900

_DO = (
    r"answer|know|say|tell|determine|find|locate|provide|help(?! (?:but|\w+ing))|assist|comply"
    r"|confirm|respond|be (?:sure|certain)|give|see any|advise|explain|recommend"
    r"|do (?:that|this)|verify|identify|predict"
)
_NO = (
    r"(?:do not|don't|cannot|can not|can't|could not|couldn't|(?:am|are|was|were) (?:not able|"
    r"unable) to|(?:wasn't|weren't|aren't) able to|will not|won't|"
    r"would not|must decline to|have to decline to)"
)
_SOURCES = (
    r"(?:contexts?|passages?|documents?|texts?|sources?|information|articles?|materials?|excerpts?"
    r"|snippets?|"
    r"knowledge base|search"
    r" results|data|chunks?|files?|records?|content|documentation|manual|pages?)"
)
_SAYS = (
    r"(?:say|state|mention|specify|contain|provide|include|give|tell|answer|cover|discuss|address"
    r"|indicate|reveal|"
    r"explain|describe|offer|have|list|name|report|talk about|speak of)"
)
_SAID = (
    r"(?:mentioned|stated|specified|given|provided|included|discussed|covered|found|available"
    r"|contained|described|"
    r"known|indicated|disclosed|addressed|reported|listed|named)"
)
_GAP = "[^.;:!?]"
_QUELLEN = "(?:dokumente?|texte?|kontext|quellen?|unterlagen|passagen?|abschnitte?|informationen)"
_DEUTSCH_DAZU = (
    "(?:das|es|dies|dazu|darauf|hierzu|darüber|leider|ihnen|dir|(?:auf )?(?:diese|die|ihre|deine)"
    " frage|,| )*"
)
_EXTRAITS = "(?:documents?|textes?|contexte|sources?|passages?|extraits?|informations?)"
_FUENTES = "(?:documentos?|textos?|contexto|fuentes?|pasajes?|fragmentos?|información)"

_FORMS = (
    # The speaker. A company's "we do not provide refunds" is a statement, hence fewer verbs for
    # "we".
    rf"i (?:really |also |simply |just |honestly |unfortunately )?{_NO} "
    rf"(?:really |currently |actually |be able to |directly |reliably )?(?:{_DO})\b",
    rf"we {_NO} (?:know|answer|determine|say|tell|confirm|be sure|provide (?:an?|the|that|this) "
    rf"(?:answer|information))\b",
    rf"i'm (?:not able|unable) to (?:{_DO})\b",
    r"i'm afraid i (?:can't|cannot|don't)\b",
    r"(?:i|we) have no (?:idea|information|knowledge|data|answer|clue)\b",
    r"(?:i|we) lack (?:the )?(?:information|context|data|knowledge)\b",
    r"(?:i|we) (?:do not|don't) (?:currently )?have (?:(?:any|enough|sufficient|access to|the|"
    r"specific|that|this|such|more|"
    r"relevant) ){0,3}(?:information|knowledge|data|context|details|answer|documents?|evidence)\b",
    r"(?:i am|i'm|we are|we're) not (?:sure|certain|aware|familiar)\b",
    r"i must decline\b",
    r"(?:i|we) (?:still |also )?(?:could not|couldn't|cannot|can't|did not|didn't)"
    r" (?:find|locate) ",
    rf"{_SOURCES}\b{_GAP}{{0,80}}? (?:is|are|remains?) silent (?:on|about)\b",
    rf"{_SOURCES}\b{_GAP}{{0,80}}? (?:contains?|has|have|gives?|includes?|holds?|provides?|offers?)"
    r" no (?:\w+ )?(?:information|details?|mention|answer|data|reference)\b",
    r"(?:information|answer|detail) is not available to me\b",
    r"i (?:do not|don't) have (?:any |a |an |the |that |much ){0,2}(?:specific|exact|detailed"
    r"|information)\b",
    r"i (?:do not|don't) have (?:the names? of|much information)\b",
    r"(?:i|we) found (?:no|nothing)\b",
    r"(?<!.)(?:no idea|don't know|dunno|beats me|unable to|not able to|cannot answer|can't (?:say|"
    r"tell|answer)|not (?:sure|aware of))\b",
    r"(?<!.)(?:(?:the )?(?:question is )?unanswerable|not (?:enough|sufficient) information)\b",
    rf"(?<!.)(?:no|insufficient|too little) (?:relevant |such |specific |further )?(?:{_SOURCES}|"
    rf"evidence|answer|mention)\b",
    r"(?:against|violates) (?:my|our) (?:guidelines|policy|policies|rules)\b",
    rf"as an? (?:ai|language model)\b{_GAP}{{0,60}}?\b(?:cannot|can't|do not|don't|unable)\b",
    # The sources.
    r"(?:it is|it's|is|are|remains?) (?:unknown|unclear|not known|not clear) (?:from|based on|in "
    r"(?:the|these|this|my)) ",
    rf"{_SOURCES}\b{_GAP}{{0,80}}? (?:does not|doesn't|do not|don't|did not|didn't) {_SAYS}\b",
    (
        r"they (?:do not|don't|did not|didn't)"
        r" (?:say|state|mention|specify|contain|cover|tell|indicate)\b"
    ),
    rf"(?:there is|there's|there are|there was|i see|i find) (?:no(?! (?:definitive|single|simple"
    rf"|one|clear|right))|not any|not"
    rf" enough|insufficient|nothing)\b"
    rf"{_GAP}{{0,60}}?\b(?:{_SOURCES}|answer|mention)\b",
    rf"(?:(?:is|are|was|were) not|isn't|aren't|wasn't|weren't) (?:\w{{1,12}}ly )?{_SAID}\b"
    rf"{_GAP}{{0,80}}?{_SOURCES}\b",
    rf"(?:based on|from|given|with|without) (?:the|these|this|my|an?|any|more)"
    rf" {_GAP}{{0,60}}?(?:it is|it's) (?:not "
    rf"possible|impossible) to\b",
    r"question (?:cannot|can't|can not) be answered\b",
    rf"(?:cannot|can't|can not) be (?:answered|determined|inferred|established|confirmed|derived) "
    rf"(?:from|based on|with|using|by|given)\b{_GAP}{{0,40}}?{_SOURCES}\b",
    # German.
    rf"(?:weiss|kann) ich {_DEUTSCH_DAZU}(?:nicht|keine?n?)\b(?!.{{30}})",
    (
        r"(?:ich|wir) (?:weiss|wissen|kann|können|konnte|konnten|habe|haben)"
        rf" {_DEUTSCH_DAZU}(?:nicht|keine?n?)\b"
    ),
    r"(?:steht|stehen|wird|werden|ist|sind) (?:leider )?(?:nicht|nichts)"
    r" (?:in|im|erwähnt|genannt|angegeben|enthalten|"
    r"beschrieben)\b",
    rf"{_QUELLEN}\b{_GAP}{{0,60}}?"
    r" (?:enthält|enthalten|nennt|nennen|geben|gibt|sagen|sagt|erwähnen|erwähnt)\b"
    rf"{_GAP}{{0,40}}?\b(?:nicht|keine?n?|nichts)\b",
    r"(?<!.)(?:keine ahnung|keine angaben?|keine informationen)\b",
    rf"lässt sich\b{_GAP}{{0,40}}?\bnicht (?:beantworten|sagen|bestimmen)\b",
    rf"geht\b{_GAP}{{0,60}}?\bnicht hervor\b",
    (
        rf"(?:kann|darf) ich (?:dir |ihnen |euch )?{_GAP}{{0,30}}?nicht"
        r" (?:helfen|beantworten|sagen|beantwortet)\b"
    ),
    # French.
    r"(?:je|nous) (?:ne |n')(?:l'|le |la |les |vous |te |t'|y )?(?:sais|savons|peux|pouvons|puis|"
    r"connais|connaissons|suis|"
    rf"sommes|trouve|trouvons|dispose|disposons|ai|avons)\b{_GAP}{{0,30}}?\b(?:pas|aucune?|plus"
    rf"|rien)\b",
    r"je suis dans l'incapacité\b",
    rf"{_EXTRAITS}\b{_GAP}{{0,60}}? (?:ne |n'){_GAP}{{0,30}}?\b(?:pas|aucune?|rien)\b",
    r"(?<!.)aucune (?:information|idée|donnée|réponse|mention)\b",
    r"il (?:n'est pas|est im)\s?possible de (?:répondre|dire|savoir|déterminer)\b",
    # Spanish.
    (
        r"(?<!.)no (?:lo )?"
        r"(?:sé|sabemos|puedo|podemos|tengo|tenemos|dispongo|disponemos|conozco|encuentro"
        r"|encontré)\b"
    ),
    r"(?:pero|siento,?) no (?:lo )?(?:sé|puedo|tengo|dispongo|encuentro)\b",
    rf"{_FUENTES}\b{_GAP}{{0,60}}?\bno"
    r" (?:dicen?|mencionan?|contienen?|indican?|especifican?|incluyen?|dan?|"
    r"proporcionan?|aparecen?)\b",
    r"no se (?:menciona|indica|especifica|dice|puede (?:responder|determinar)) ",
    r"no hay (?:información|datos|respuesta)\b",
    r"no es posible (?:responder|determinar|saber)\b",
)
_DECLINES = re.compile(rf"\b(?:{'|'.join(_FORMS)})")
# Each form holds one of these. Most texts hold none, and need not be held against the forms.
_MARKS = re.compile(
    "no|n't|n'|unable|silent|unanswerable|unclear|possible|insufficient|decline|lack|beats|little|against"
    "|violates|nich|kein|ne"
    " |pas|aucun|plus|rien|incapacité"
)
# What opens a sentence that sends the reader elsewhere, asks back or offers help ...
_SENDS_ON = (
    r"please|feel free|bitte|veuillez|n'hésitez|por favor|if you|let me know|you"
    r" (?:may|might|can|could|should|would|will)|you'd|try|kindly|perhaps|maybe|"
    r"is there anything|could you|can you|would you|(?:i|we) (?:would |can |only )?"
    r"(?:suggest|recommend|advise|help|only|try)|(?:i'd|i'll|i would|we'd|we would) be"
    r" (?:happy|glad)|wenn sie|falls sie|wenden sie|si vous|si (?:me|tiene|quiere)|"
    r"for (?:more|further|a|the|any|specific|up-to-date|current|accurate)\b|"
    r"it (?:is|may|might|would|will) (?:be )?(?:best|helpful|better|recommended|advisable"
    r"|possible)|"
    r"it's (?:best|better|possible|recommended|advisable)|"
    r"(?:the|this|that) .{3,90} can be found"
)
# ... and what it then has to say; an instruction such as "Please take it with food" is a claim.
_TO_WHOM = (
    r"check|contact|consult|ask|asking|visit|refer|reach|speak|talk|call|e-?mail|search"
    r"|look(?:ing)? (?:at|for|in|into|up)|"
    r"provide|give me|share|clarify|specify|rephrase|confusion|incorrect|"
    r"know (?:if|what|which|how|more)|tell me|let (?:me|us) know|"
    r"help|assist|assistance|try (?:again|asking|to)|happy|glad|"
    r"(?:more|further|additional|other|another) (?:details?|information|context|questions?|topic"
    r"|specific|help|documents?|sources?)|"
    r"questions?|support|search|websites?|fragen?|frag|wenden|kontakt\w*|hilfe|helfen|angaben|"
    r"contacte\w*|demand\w*|précis\w*|aide\w*|consult\w*|pregunt\w*|ayud\w*|proporcion\w*"
)
# A sentence that only stands around a refusal. A number makes it a claim.
_AROUND = re.compile(
    r"\W*(?:"
    r"(?:i?'m|i am|we are|we're)? ?(?:very |so |really |deeply )?sorry\b(?: (?:for|about|to hear"
    r"|that"
    r" i)\b.{0,60})?|(?:my )?(?:sincere )?apologies\b(?: for\b.{0,80})?|my mistake|i "
    r"apologi[sz]e\b(?: for\b.{0,80})?"
    r"|(?:unfortunately|regrettably|sadly|leider|malheureusement|lamentablemente|désolée?|lo"
    r" siento|entschuldigung|es tut mir leid|tut mir leid|je suis désolée?)"
    rf"|(?:{_SENDS_ON})\b(?:.{{0,200}}?)\b(?:{_TO_WHOM})\b.{{0,200}}"
    r"|let(?:'s| us) (?:try|talk about|discuss) (?:a|an|some|something)\b.{0,40}"
    r"|i(?: am|'m) (?:only )?(?:an? |just an? )?(?:ai|language model|assistant)\b.{0,60}"
    r"|(?:my|this) (?:knowledge|last update|training)\b.{0,100}"
    r"|(?:thank you|thanks|danke|merci|gracias)\b(?: (?:for|für|pour|por)\b.{0,60})?|hello|hi"
    r")\W*",
    re.S,
)
# What may open such a sentence or a refusal, and says nothing.
_CONNECTIVE = re.compile(
    r"\A(?:(?:however|but|and|so|also|therefore|alternatively|instead|otherwise|additionally|still"
    r"|thus|or|that said|in"
    r" this case|aber|mais|pero)\b,? )+"
)
_DIGIT = re.compile(r"\d")
# After a refusal, what begins like this takes it back: an answer follows.
_BUT = re.compile(
    r"\b(?:but|however|although|though|nevertheless|only that|just that|except that|other than"
    r" that|besides"
    r" that|apart from the fact|aber|jedoch|mais|cependant|pero|sin embargo)\b[ ,:]*(.*)",
    re.S,
)
_JOINED = re.compile(
    r"(.*\w)\W{0,3} (?:but|and|although|though|while|however|aber|und|mais|et|pero|y)\b.{0,30}$",
    re.S,
)
# Before a refusal, with a comma, dash or bracket: "The dose is 500 mg (I do not know the maximum)".
_BESIDE = re.compile(r"(.*\w)\W{0,2}(?:,| [–—-]| ?\() ?$", re.S)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|will|would|can|could|should|must|may|takes?|took"
    r"|costs?|opens?|opened|"
    r"built|wrote|written|made|ist|sind|war|waren|hat|wurde|est|sont|était|été|es|son|fue|era)\b"
)
# A clause that opens like this tells on what the refusal stands.
_ON_WHAT = re.compile(
    r"\W*(?:as|based|according|from|in|with|without|regarding|for|given|after|although|though"
    r"|while|since|because|if|when|"
    r"sorry|i'm|i am|i|we|unfortunately|sadly|thank|thanks|hello|hi|well|hmm|my|to|on|concerning"
    r"|despite|among|"
    r"leider|laut|nach|im|in|aus|selon|d'après|dans|según|en)\b"
)
_ABOUT_SOURCES = re.compile(
    rf"(?:(?:the|these|this|my|all|provided|given|retrieved|die|les?|los|el) )*{_SOURCES}\b"
)
_REFUSES = re.compile(
    r"\b(?:i|we)(?:'m| am| are)? (?:cannot|can't|can not|won't|will not|unable to|not able to|must"
    r" decline to) "
    r"(?:help|assist|comply|do that|do"
    r" this|provide|fulfill?|continue|engage|process|evaluate|judge|rate|answer)\b"
    r"|\bi (?:must|have to) (?:decline|refuse)\b|\b(?:against|violates) (?:my|our)"
    r" (?:guidelines|policy|policies)\b"
)
_WORDS = re.compile(r"\w+")
_QUOTED = re.compile(r"\"[^\"]{1,200}\"|“[^”]{1,200}”|„[^“]{1,200}“|«[^»]{1,200}»")
_LINE = re.compile(r"[^\n\r;]+")


def declines(text: str) -> bool:
    """Whether the text only declines to answer or admits not knowing: it does so, and no sentence
    or clause of it claims anything else, however short. False for an empty text.

    >>> declines("I do not know the exact day."), declines("In 1937. I do not know the exact day.")
    (True, False)
    """
    if len(text) > _MOST_CHARS:
        return False
    plain = _flat_quotes(text)
    if not _MARKS.search(_folded(plain)):
        return False
    has_refusal = False
    for sentence in _sentences(_without_quotations(plain)):
        clean = _CONNECTIVE.sub("", sentence.strip(" .!?*_#>\"'"), count=1)
        if not _WORDS.search(clean):
            continue
        refusal = _DECLINES.search(clean)
        if refusal is not None:
            if _claims_before(clean[: refusal.start()]) or _taken_back(clean[refusal.start() :]):
                return False
            has_refusal = True
        elif not _claims_nothing(sentence, clean):
            return False
    return has_refusal


def refuses_the_task(text: str) -> bool:
    """Whether a judge's reply without a verdict is a plain refusal to work on the prompt."""
    return len(text) <= _MOST_CHARS and _REFUSES.search(_flat_quotes(text).casefold()) is not None


def _flat_quotes(text: str) -> str:
    for quote in "’‘ʼ`":
        text = text.replace(quote, "'")
    return text


def _folded(text: str) -> str:
    flat = " ".join(text.casefold().replace("ß", "ss").split())
    return flat.replace("n/a", "unanswerable")


def _without_quotations(text: str) -> str:
    """The text without what it quotes: "I can't help falling in love" is a title. A text that is
    nothing but a quotation is read.
    """
    without = _QUOTED.sub('"…"', text)
    return without if _WORDS.search(without) else text


def _sentences(text: str) -> list[str]:
    """Its sentences, and their parts between semicolons, folded."""
    found = []
    for line in _LINE.findall(text):
        found += [_folded(line[start:end]) for start, end in boundaries(line)]
    return found


def _claims_nothing(sentence: str, clean: str) -> bool:
    """Whether a sentence beside a refusal states nothing."""
    if _DIGIT.search(clean):
        return False
    return _AROUND.fullmatch(clean) is not None or bool(trivial(sentence) or trivial(clean))


def _claims_before(start: str) -> bool:
    """Whether an answer precedes a refusal in the same sentence: "It was 1931, but I do not know
    the month".
    """
    joined = _JOINED.match(start)
    if joined is not None:
        return not (_AROUND.fullmatch(joined[1]) or _ABOUT_SOURCES.match(joined[1]))
    beside = _BESIDE.match(start)
    if beside is None or _ON_WHAT.match(beside[1]) or _ABOUT_SOURCES.match(beside[1]):
        return False
    return bool(_DIGIT.search(beside[1]) or _VERB.search(beside[1]))


def _taken_back(sentence: str) -> bool:
    """Whether an answer follows a refusal in the same sentence: "I am not sure, but it was"
    " 1931"."""
    after = _BUT.search(sentence)
    if after is None or _DECLINES.search(after[1]) or not _WORDS.search(after[1]):
        return False
    return not _claims_nothing(after[1], after[1])
