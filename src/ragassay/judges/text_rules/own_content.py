"""The rule that tells an answer from what only stands around an answer, before any call.

Empty texts, lone punctuation, role tokens and bare openings such as "Thought process:" make many
language models rate an answer highly (Zhao et al. 2025, arXiv:2507.08794, "One Token to Fool
LLM-as-a-Judge"). To call a real answer empty is the worse mistake: "Yes.", "42", ":)" and
everything that has one more word is content, and so is "Solution" or "." where the question may ask
for just that.
"""

from __future__ import annotations

import re

# A longer text is not read: whoever repeats an opening a thousand times is judged like everybody
# else.
_MOST = 400
# Not seen by a reader: spaces, controls, zero-width and direction marks, fillers, variation
# selectors, tag characters.
_UNSEEN = (
    "\\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffd\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
_SEEN = re.compile(f"[^{_UNSEEN}]")
_HIDDEN = re.compile(
    "[^\\S \n]|[\u00ad\u034f\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)

# What stands before or around an answer; none of it answers anything.
_OPENINGS = (
    "thought process",
    "thinking process",
    "reasoning process",
    "my reasoning",
    "reasoning",
    "step by step",
    "explanation",
    "let's solve this problem step by step",
    "let's solve this step by step",
    "let us solve this problem step by step",
    "let's solve the problem step by step",
    "let's think step by step",
    "let's think about this step by step",
    "let us think step by step",
    "let's break this down",
    "let's break it down",
    "let's work through this step by step",
    "let me think",
    "let me think step by step",
    "let me solve this step by step",
    "to solve this problem",
    "solution",
    "the solution",
    "solution is",
    "the solution is",
    "answer",
    "the answer",
    "the answer is",
    "my answer",
    "my answer is",
    "final answer",
    "the final answer",
    "the final answer is",
    "the correct answer is",
    "correct answer",
    "here is the answer",
    "here's the answer",
    "here is my answer",
    "here's my answer",
    "here is the solution",
    "here is the response",
    "response",
    "output",
    "result",
    "conclusion",
    "in conclusion",
    "sure, here is the answer",
    "assistant",
    "user",
    "system",
    "human",
    "ai",
    "model",
    "antwort",
    "die antwort lautet",
    "die antwort ist",
    "lösung",
    "die lösung lautet",
    "denkprozess",
    "gedankengang",
    "réponse",
    "la réponse est",
    "solution finale",
    "raisonnement",
    "processus de réflexion",
    "respuesta",
    "la respuesta es",
    "solución",
    "la solución es",
    "proceso de pensamiento",
    "risposta",
    "soluzione",
    "resposta",
    "solução",
    "ответ",
    "решение",
    "cevap",
    "çözüm",
    "odpowiedź",
    "rozwiązanie",
    "antwoord",
    "oplossing",
    "解",
    "解答",
    "答案",
    "答",
    "回答",
    "解决方案",
    "思考过程",
    "让我们一步一步地解决这个问题",
    "让我们一步一步思考",
    "かいせつ",
    "解説",
    "答え",
    "こたえ",
    "思考過程",
    "답",
    "답변",
    "정답",
    "풀이",
    "해설",
    "الجواب",
    "الإجابة",
    "الحل",
    "उत्तर",
    "हल",
)
_TOKENS = (
    r"<\|[a-z_]{1,24}\|>",
    r"<\|/?(?:start|end)_header_id\|>",
    r"</?s>",
    r"\[/?inst\]",
    r"<</?sys>>",
    r"<(?:start|end)_of_turn>",
    r"</?(?:think|thinking|answer|solution|response|output|reasoning)>",
    "<(?:bos|eos|pad)>",
    r"\\boxed\{[ \n]{0,9}\}",
    r"\[(?:sep|cls|pad|mask|unk)\]",
)
# Of single words only these count without a colon behind them; "Human" and "System" answer many a
# question.
_ALONE = frozenset(
    {
        "solution",
        "answer",
        "antwort",
        "lösung",
        "réponse",
        "respuesta",
        "solución",
        "risposta",
        "soluzione",
        "resposta",
        "solução",
        "ответ",
        "решение",
        "解",
        "解答",
        "答案",
        "かいせつ",
        "解説",
        "답",
        "정답",
    }
)
_KEYS = "|".join(
    re.escape(key) for key in sorted(_OPENINGS, key=len, reverse=True)
)  # the longest is tried first
_NOTHING = re.compile(rf"(?:[.,:;…。、，：；*_#`>\- \n]|{'|'.join(_TOKENS)}|(?:{_KEYS})(?!\w))*+")
_POINTS = re.compile(r"[.,:;…。、，：；\s]*+")
_COLON = re.compile(r"[:：…]|\.\.")
_WORD = re.compile(r"\w")
_WORDS = re.compile(r"\w+")
# Beginnings of words in a question that may ask for a word or a sign.
_ASKS_FOR_A_WORD = (
    "term",
    "word",
    "call",
    "name",
    "synonym",
    "antonym",
    "phrase",
    "title",
    "symbol",
    "character",
    "letter",
    "mark",
    "punctuation",
    "sign",
    "operator",
    "separat",
    "delimiter",
    "mixture",
    "dissolv",
    "chemi",
    "role",
    "token",
    "tag",
    "song",
    "album",
    "band",
    "film",
    "movie",
    "novel",
    "book",
    "game",
    "translat",
    "spell",
    "mean",
    "stand",
    "begriff",
    "wort",
    "zeichen",
    "heiß",
    "mot",
    "signe",
    "palabra",
    "término",
    "signo",
)


def nothing_seen(text: str) -> bool:
    """Whether a text has no character that a reader sees."""
    return _SEEN.search(text) is None


def no_content(text: str, question: str = "", right: tuple[str, ...] = ()) -> bool:
    """Whether an answer says nothing of its own. An empty text says nothing.

    question: where it may ask for a word or a sign, a lone word or sign is content.
    right: statements a right answer holds; what stands in one of them word for word is content.
    Time is linear.
    """
    if nothing_seen(text):
        return True
    if len(text) > _MOST:
        return False
    shown = _HIDDEN.sub("", text).strip()
    bare = shown.casefold().replace("’", "'").replace("!", ".")
    if _NOTHING.fullmatch(bare) is None:
        return False
    words = _WORD.search(bare) is not None
    if words and _COLON.search(bare) is not None:
        return True
    core = bare.strip(" \n.:*_#`>-")
    if not words and _POINTS.fullmatch(shown) is None:
        return False
    if " " not in core and core.isalpha() and core not in _ALONE:
        return False
    for statement in right:
        if core and core in statement.casefold():
            return False
        if shown == statement.strip():
            return False
    question_words = _WORDS.findall(question[:2000].casefold())
    return not any(word.startswith(_ASKS_FOR_A_WORD) for word in question_words)
