"""The rule that tells whether a text as a whole declines to answer or admits not knowing.

A rule, the same on every run. Sentences that decline are told from sentences that state something:
a text declines when it holds a refusal or an admission and little else (an apology, an offer of
help, a reason why). An answer with a reservation in it does not decline. English first, with the
common forms of German, French and Spanish.
"""

from __future__ import annotations

import re

# Longer texts than this state something, whatever else they say.
_MOST_CHARS, _MOST_OTHER_WORDS = 900, 4

_DO = (
    r"answer|know|say|tell|determine|find|provide|help|assist|comply|confirm|respond|be"
    r" (?:sure|certain)|give|see any"
)
_NO = (
    r"(?:do not|don't|cannot|can not|can't|could not|couldn't|(?:am|are|was|were) (?:not able|"
    r"unable) to|will not|won't|"
    r"would not|must decline to|have to decline to)"
)
_SOURCES = (
    r"(?:contexts?|passages?|documents?|texts?|sources?|information|articles?|materials?|excerpts?|snippets?|"
    r"knowledge base|search"
    r" results|data|chunks?|files?|records?|content|documentation|manual|pages?)"
)
_SAYS = (
    r"(?:say|state|mention|specify|contain|provide|include|give|tell|answer|cover|discuss|address|indicate|reveal|"
    r"explain|describe|offer|have|list|name|report|talk about|speak of)"
)
_SAID = (
    r"(?:mentioned|stated|specified|given|provided|included|discussed|covered|found|available|contained|described|"
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
    r"(?:i|we) (?:could not|couldn't|cannot|can't) find ",
    r"(?:i|we) found (?:no|nothing)\b",
    r"(?<!.)(?:no idea|don't know|dunno|beats me|unable to|not able to|cannot answer|can't (?:say|"
    r"tell|answer)|not sure)\b",
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
    rf"(?:there is|there's|there are|there was|i see|i find) (?:no|not any|not"
    rf" enough|insufficient|nothing)\b"
    rf"{_GAP}{{0,60}}?\b(?:{_SOURCES}|answer|mention)\b",
    rf"(?:is|are|was|were) not (?:\w{{1,12}}ly )?{_SAID}\b{_GAP}{{0,80}}?{_SOURCES}\b",
    rf"(?:based on|from|given|with) (?:the|these|this|my) {_GAP}{{0,60}}?(?:it is|it's) (?:not "
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
    rf"sommes|trouve|trouvons|dispose|disposons|ai|avons)\b{_GAP}{{0,30}}?\b(?:pas|aucune?|plus|rien)\b",
    r"je suis dans l'incapacité\b",
    rf"{_EXTRAITS}\b{_GAP}{{0,60}}? (?:ne |n'){_GAP}{{0,30}}?\b(?:pas|aucune?|rien)\b",
    r"(?<!.)aucune (?:information|idée|donnée|réponse|mention)\b",
    r"il (?:n'est pas|est im)\s?possible de (?:répondre|dire|savoir|déterminer)\b",
    # Spanish.
    (
        r"(?<!.)no (?:lo )?"
        r"(?:sé|sabemos|puedo|podemos|tengo|tenemos|dispongo|disponemos|conozco|encuentro|encontré)\b"
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
    "no|n't|n'|unable|unanswerable|unclear|possible|insufficient|decline|lack|beats|little|against|violates|nich|kein|ne"
    " |pas|aucun|plus|rien|incapacité"
)
# A sentence that only stands around a refusal.
_AROUND = re.compile(
    r"^\W*(?:"
    r"(?:i'm|i am|we are|we're)? ?(?:very |so |really )?sorry\b.{0,60}|(?:my"
    r" )?apologies\b.{0,80}|i "
    r"apologi[sz]e\b.{0,80}"
    r"|(?:unfortunately|regrettably|sadly|leider|malheureusement|lamentablemente|désolée?|lo"
    r" siento|entschuldigung|"
    r"es tut mir leid|tut mir leid|je suis désolée?)\b.{0,20}"
    r"|(?:please|feel free|bitte|veuillez|n'hésitez|por favor|if you|let me know|you"
    r" (?:may|might|can|could)|try|"
    r"is there anything|could you|can you|would you|i (?:would )?(?:suggest|recommend)|i can"
    r" (?:help|only)|"
    r"i'(?:d|ll) be (?:happy|glad)|wenn sie|falls sie|wenden sie|si vous|si (?:me|tiene|quiere)|"
    r"for (?:more|further) (?:information|details)|it (?:may|might|would) be"
    r" (?:best|helpful|better))\b.{0,260}"
    r"|(?:thank you|thanks|danke|merci|gracias|hello|hi)\b.{0,60}"
    r")$",
    re.S,
)
# After a refusal, what begins like this takes it back: an answer follows.
_BUT = re.compile(
    r"\b(?:but|however|although|though|still|nevertheless|aber|jedoch|mais|cependant|pero|sin"
    r" embargo)\b[ ,:]*(.*)",
    re.S,
)
_JOINED = re.compile(
    r"(.*\w),? (?:but|and|although|though|while|however|aber|und|mais|et|pero|y)\b.{0,30}$", re.S
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
_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?\n。！？]*")
_WORDS = re.compile(r"\w+")


def declines(text: str) -> bool:
    """Whether the text as a whole declines to answer or admits not knowing. False for an empty
    text.
    """
    if len(text) > _MOST_CHARS:
        return False
    flat = " ".join(_flat_quotes(text).casefold().replace("ß", "ss").split())
    flat = flat.replace("n/a", "unanswerable")
    if not _MARKS.search(flat):
        return False
    has_refusal = False
    other_words = 0
    for sentence in _SENTENCE.findall(flat):
        clean = sentence.strip(" .!?*_#>\"'")
        refusal = _DECLINES.search(clean)
        if refusal is not None:
            has_refusal = True
            other_words += _stated_before(clean[: refusal.start()])
            other_words += _taken_back(clean[refusal.start() :])
        elif not _AROUND.match(clean):
            other_words += len(_WORDS.findall(clean))
    return has_refusal and other_words <= _MOST_OTHER_WORDS


def refuses_the_task(text: str) -> bool:
    """Whether a judge's reply without a verdict is a plain refusal to work on the prompt."""
    return len(text) <= _MOST_CHARS and _REFUSES.search(_flat_quotes(text).casefold()) is not None


def _flat_quotes(text: str) -> str:
    for quote in "’‘ʼ`":
        text = text.replace(quote, "'")
    return text


def _stated_before(start: str) -> int:
    """Words of an answer that precedes a refusal in the same sentence: "It was 1931, but I do not
    know the month".
    """
    joined = _JOINED.match(start)
    if joined is None or _AROUND.match(joined[1]) or _ABOUT_SOURCES.match(joined[1]):
        return 0
    return len(_WORDS.findall(joined[1]))


def _taken_back(sentence: str) -> int:
    """Words of an answer that follows a refusal in the same sentence: "I am not sure, but it was
    1931".
    """
    after = _BUT.search(sentence)
    if after is None or _DECLINES.search(after[1]) or _AROUND.match(after[1]):
        return 0
    count = len(_WORDS.findall(after[1]))
    # Above the limit on its own: words that follow a "but" are an answer, however few.
    return count + _MOST_OTHER_WORDS if count else 0
