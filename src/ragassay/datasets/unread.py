"""The unread columns that could be a field which no row has: by their names, or by what they hold.

A file whose answers stand in a column of an unknown name would otherwise be measured without them,
and its result would say that all is well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ragassay.datasets.cells import chunk_text, unpack
from ragassay.datasets.columns import normal, outermost

FIELDS = ("question", "contexts", "response")
"""The fields that are asked for: without them, little of an answer can be judged."""
REFERENCE = "reference"
"""The right answer: offered beside those, and never missed."""
_WORDS = {
    "question": {
        *("question", "questions", "query", "queries", "utterance", "ask", "asked", "prompt"),
        "prompts",
        *("frage", "anfrage", "requête", "requete", "pregunta", "consulta", "domanda", "pergunta"),
        *("vraag", "fråga", "pytanie", "otázka", "soru", "вопрос", "запрос", "سؤال", "السؤال"),
    },
    "contexts": {
        *("context", "contexts", "doc", "docs", "document", "documents", "passage", "passages"),
        *("chunk", "chunks", "snippet", "snippets", "evidence", "retrieved", "retrieval", "hits"),
        *("retrieve", "retriever", "rerank", "reranked", "reranker"),
        *("source", "sources", "nodes", "paragraph", "paragraphs", "knowledge", "article"),
        *("articles", "excerpts", "citation", "citations"),
        *("kontext", "kontexte", "dokumente", "textstellen", "quellen", "contexte", "contextes"),
        *("extraits", "contexto", "contextos", "documentos", "contesto", "contesti", "documenti"),
        *("kontekst", "bağlam", "контекст", "документы", "سياق", "السياق"),
    },
    "response": {
        *("response", "answer", "reply", "output", "completion", "generation", "generated"),
        *("responses", "answers", "replies", "outputs", "completions", "generations"),
        *("prediction", "predicted", "answered", "replied", "assistant"),
        *("antwort", "réponse", "reponse", "respuesta", "risposta", "resposta", "antwoord", "svar"),
        *("odpowiedź", "odpověď", "cevap", "yanıt", "ответ", "إجابة", "الإجابة"),
    },
}
"""Field -> words of which one in a column's name says that it is the field; also those of languages
in which files are often headed, besides English.
"""
_PARTS = {
    "question": ("问题", "提问", "問題", "質問", "질문"),
    "contexts": (
        "上下文",
        "文档",
        "段落",
        "检索",
        "文脈",
        "文書",
        "コンテキスト",
        "문맥",
        "문서",
        "컨텍스트",
    ),
    "response": ("回答", "答案", "回复", "答复", "応答", "답변", "응답"),
}
"""The same in languages that set no blanks between the words of a name."""
_RIGHT = {
    *("expected", "reference", "gold", "golden", "truth", "gt", "ideal", "correct", "target"),
    *("korrekt", "korrekte", "richtige", "erwartete", "referenz", "musterantwort", "attendue"),
    *("correcte", "correcta", "esperada", "corretta", "attesa", "correta", "juiste", "verwacht"),
}
"""Words that say of an answer that it is the right one, and not what the application said."""
_VERDICTS = frozenset(("yes", "no", "true", "false", "y", "n", "1", "0", "ja", "nein", "x"))
_RIGHT_PHRASES = ("should_have_said", "should_have_answered", "should_have_been", "should_say")
_OTHER_PARTS = ("参考答案", "标准答案", "正确答案", "正解", "模範", "期待", "정답")
_PLACE = re.compile(r"\.\d+\.")
_NUMBERED = re.compile(r"(\D+?)(\d{1,6})")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_SPEAKERS = {
    "question": {"user", "customer", "client", "visitor", "human"},
    "response": {"bot", "chatbot", "llm", "ai", "gpt", "model", "agent"},
}
"""Field -> words for who said a text: a column of sentences with such a name is the field, where no
column says more. Without sentences it is the name of a person or of a model.
"""
_OTHER_WORDS = {
    *("id", "ids", "url", "urls", "uri", "link", "path", "file", "filename", "score", "scores"),
    *("count", "num", "number", "time", "date", "latency", "tokens", "cost", "price", "label"),
    *("labels", "category", "tag", "tags", "type", "lang", "language", "version", "name"),
    *("references", "human", "relevant", "supporting", "note", "notes", "comment", "comments"),
    *("explanation", "rationale", "reason", "reasoning", "feedback", "title", "description"),
    *("metadata", "meta", "system", "instruction", "instructions", "template", "history"),
    *("messages", "error", "traceback", "config", "settings", "user", "author", "status"),
}
"""Words in the names of columns that hold something else, whatever other words are there."""
_MOST_ROWS = 50
_MOST_CANDIDATES = 5
_DEEPEST = 5
_FIRST_ITEMS = 5
_MOST_ITEMS = 50
_FEWEST_WORDS = 4
"""Words from which on, on the average, a column holds prose."""


@dataclass(frozen=True, slots=True)
class Unread:
    """What could be a field that no row has. guess: the column that clearly fits, "" for none.
    candidates: the columns that may be meant, the guess among them. example: a value of the first.
    is_clear: whether they are known by their names or their lists, and not for being prose alone.
    """

    field: str
    guess: str
    candidates: tuple[str, ...]
    example: object
    is_clear: bool


Values = Mapping[str, Sequence[object]]


def unread_columns(
    rows: Iterable[Mapping[str, object]], used: Iterable[str], fields: Sequence[str]
) -> tuple[Unread, ...]:
    """For each of these fields what could be it in the first of these rows, without fields for
    which nothing could. used: columns, or paths into objects, that are read already.
    """
    used = set(used)
    values = _values(rows, used)
    by_field: dict[str, Unread] = {}
    taken: set[str] = set()
    # What is clear by its name or its lists first: no column is to be taken for two fields.
    for find in (_clear, _prose):
        for field in fields:
            free = {column: cells for column, cells in values.items() if column not in taken}
            unread = None if field in by_field else find(field, free, used)
            if unread is not None:
                by_field[field] = unread
        for unread in by_field.values():
            taken.update(unread.candidates)
    return tuple(by_field[field] for field in fields if field in by_field)


def _clear(field: str, values: Values, used: Container[str]) -> Unread | None:
    """What is the field by the names of columns, or by their lists of passages."""
    if field == REFERENCE:
        return _right_answer(values)
    fits = _FITS[field]
    fitting = [column for column, cells in values.items() if fits(cells) and not _is_other(column)]
    if field == "contexts":
        fitting = _whole_lists(fitting, values)
    named = [column for column in fitting if is_named(column, field)]
    lists = [column for column in fitting if field == "contexts" and _are_lists(values[column])]
    for columns in (outermost(named), outermost(lists), outermost(_said(field, values))):
        if columns:
            guess = columns[0] if len(columns) == 1 else _numbered(columns, field)
            shown = tuple(columns[:_MOST_CANDIDATES])
            return Unread(field, guess, shown, values[shown[0]][0], True)
    return None


def _right_answer(values: Values) -> Unread | None:
    """The column of texts that is the right answer by its name; True and False are none."""
    columns = [
        column
        for column, cells in values.items()
        if _is_reference(column) and _are_texts(cells) and not _most(cells, _is_verdict)
    ]
    if not columns:
        return None
    guess = columns[0] if len(columns) == 1 else ""
    return Unread(REFERENCE, guess, tuple(columns[:_MOST_CANDIDATES]), values[columns[0]][0], True)


def _is_verdict(cell: object) -> bool:
    """Whether a text says only that something is right or wrong."""
    return str(cell).strip().lower() in _VERDICTS


def _whole_lists(columns: Sequence[str], values: Values) -> list[str]:
    """The columns with a list of chunks in place of what lies in its items, and all items of a list
    in place of single ones: one item is not what was retrieved.
    """
    whole: dict[str, None] = {}
    covered: set[str] = set()
    for column in columns:
        before, is_inside, inner = column.partition(".*.")
        # An output in a list is that of one step, and others may have given something else.
        is_output = any(is_named(part, "response") for part in inner.split(".*."))
        if is_inside and (_is_other(before) or is_output):
            continue
        if is_inside:
            covered.add(column)
        is_list_enough = is_inside and before in columns and _are_lists(values[before])
        whole[before if is_list_enough else column] = None
    return [
        column for column in whole if _of_all(column) == column or _of_all(column) not in covered
    ]


def _of_all(column: str) -> str:
    """A path through single items of lists as one through all of them."""
    return _PLACE.sub(".*.", column)


def _numbered(columns: Sequence[str], field: str) -> str:
    """The columns of contexts that differ by their numbers alone ("Kontext 1", "Kontext 2"), as
    --map takes several; "" for any others.
    """
    if field != "contexts" or any("," in column for column in columns):
        return ""
    matches = [_NUMBERED.fullmatch(column) for column in columns]
    found = [match for match in matches if match is not None]
    if len(found) < len(columns) or len({match[1] for match in found}) > 1:
        return ""
    return ",".join(match[0] for match in sorted(found, key=lambda match: int(match[2])))


def _said(field: str, values: Values) -> list[str]:
    """The columns of sentences that are a field by who said them, or that ask."""
    speakers = _SPEAKERS.get(field, set())
    found: list[str] = []
    for column, cells in values.items():
        words = _words(column)
        if words & (_OTHER_WORDS - speakers) or not (_are_texts(cells) and _is_prose(cells)):
            continue
        if words & speakers or (field == "question" and _ask(cells)):
            found.append(column)
    return found


def _prose(field: str, values: Values, used: Container[str]) -> Unread | None:
    """What may be the field for being prose, and nothing more."""
    if field in ("question", REFERENCE):
        return None
    fits = _FITS[field]
    shown: list[str] = []
    for column, cells in values.items():
        # What lies beside a text that is read, or in a list, has to be named to be meant.
        parts = column.split(".")
        is_inside = any(".".join(parts[:end]) in used for end in range(1, len(parts)))
        if is_inside or any(map(str.isdecimal, parts)) or _is_other(column):
            continue
        if fits(cells) and _is_prose(cells):
            shown.append(column)
    if not shown:
        return None
    return Unread(field, "", tuple(shown[:_MOST_CANDIDATES]), values[shown[0]][0], False)


def _values(rows: Iterable[Mapping[str, object]], used: set[str]) -> dict[str, list[object]]:
    """Column or path -> its cells that hold something, of the first rows."""
    values: dict[str, list[object]] = {}
    for number, row in enumerate(rows):
        if number == _MOST_ROWS:
            break
        for path, cell in _leaves(row, "", _DEEPEST):
            if path not in used and cell not in (None, "", [], {}):
                values.setdefault(path, []).append(cell)
    return values


def _leaves(fields: Mapping[str, object], prefix: str, depth: int) -> Iterator[tuple[str, object]]:
    for key, cell in list(fields.items())[:200]:
        path = f"{prefix}{key}"
        cell = unpack(cell)
        if isinstance(cell, dict) and depth > 1:
            yield from _leaves(cell, f"{path}.", depth - 1)
            continue
        yield path, cell
        if depth > 1 and isinstance(cell, list):
            yield from _leaves_of_list(cell, path, depth)


def _leaves_of_list(items: Sequence[object], path: str, depth: int) -> Iterator[tuple[str, object]]:
    """What the items of a list hold: by the place of the first ones ("hits.0.doc"), and of all of
    them together ("hits.*.doc") where all have it and it is of one kind.
    """
    objects = [item for item in items if isinstance(item, dict)]
    each: dict[str, list[object]] = {}
    for place, item in enumerate(objects[:_MOST_ITEMS]):
        for inner, cell in _leaves(item, "", depth - 1):
            each.setdefault(inner, []).append(cell)
            if place < _FIRST_ITEMS and len(objects) == len(items):
                yield f"{path}.{place}.{inner}", cell
    for inner, cells in each.items():
        is_in_all = len(cells) == len(objects[:_MOST_ITEMS]) == len(items[:_MOST_ITEMS])
        has_place = any(map(str.isdecimal, inner.split(".")))
        if is_in_all and not has_place and len(set(map(type, cells))) == 1:
            yield f"{path}.*.{inner}", _one_after_another(cells)


def _one_after_another(cells: Sequence[object]) -> list[object]:
    joined: list[object] = []
    for cell in cells:
        joined += cell if isinstance(cell, list) else [cell]
    return joined


def _words(column: str) -> set[str]:
    """The words of the last part of the column's name: "attributes.botReply" has "bot", "reply"."""
    last = column.rpartition(".")[2]
    return set(re.split(r"[\W\d_]+", normal(last)))


def is_named(column: str, field: str) -> bool:
    """Whether the column's name says that it is the field."""
    return bool(_words(column) & _WORDS[field]) or any(part in column for part in _PARTS[field])


def _is_other(column: str) -> bool:
    words = _words(column)
    return bool(words & (_OTHER_WORDS | _RIGHT)) or _is_told_right(column)


def _is_told_right(column: str) -> bool:
    """Whether a phrase in the column's name says that it is the right answer."""
    is_phrase = any(phrase in normal(column) for phrase in _RIGHT_PHRASES)
    return is_phrase or any(part in column for part in _OTHER_PARTS)


def _is_reference(column: str) -> bool:
    """Whether the column's name says that it is the right answer: "Should have said"."""
    words = _words(column)
    if not words.isdisjoint(_OTHER_WORDS):
        return False
    is_answer = bool(words & _WORDS["response"]) or words <= _RIGHT
    return _is_told_right(column) or (bool(words & _RIGHT) and is_answer)


def _texts(cell: object) -> list[str]:
    """The texts that a cell holds as contexts do: in a list, or one alone."""
    parsed = unpack(cell)
    if isinstance(parsed, str):
        return [parsed]
    texts: list[str] = []
    for item in parsed if isinstance(parsed, list) else [parsed]:
        text = chunk_text(item)
        if isinstance(text, str):
            texts.append(text)
    return texts


def _are_texts(cells: Sequence[object]) -> bool:
    """Whether the cells are texts, and no lists written as such."""
    return _most(cells, lambda cell: isinstance(cell, str) and isinstance(unpack(cell), str))


def _are_lists(cells: Sequence[object]) -> bool:
    """Whether the cells are lists of texts, each of some words."""
    return _most(cells, lambda cell: isinstance(unpack(cell), list)) and _are_sentences(cells)


def _hold_contexts(cells: Sequence[object]) -> bool:
    return _most(cells, lambda cell: bool(_texts(cell))) and _are_sentences(cells)


def _is_prose(cells: Sequence[object]) -> bool:
    """Whether the texts are sentences that mostly differ."""
    texts = list(chain.from_iterable(map(_texts, cells)))
    return _are_sentences(cells) and 2 * len(set(texts)) > len(texts)


def _ask(cells: Sequence[object]) -> bool:
    """Whether most of the texts end as questions do, in any script."""
    return _most(cells, lambda cell: str(cell).rstrip().endswith(("?", "\uff1f", "\u061f")))


def _are_sentences(cells: Sequence[object]) -> bool:
    """Whether the texts are sentences rather than names or kinds. Many questions may be asked about
    one passage, so they need not differ.
    """
    texts = list(chain.from_iterable(map(_texts, cells)))
    # Where no blanks are set between words, two letters count as one.
    words = sum(len(text.split()) + len(_UNSPACED.findall(text)) / 2 for text in texts)
    return len(texts) > 0 and words >= _FEWEST_WORDS * len(texts)


def _most(cells: Sequence[object], test: Callable[[object], bool]) -> bool:
    return 2 * sum(map(test, cells)) > len(cells)


_FITS: dict[str, Callable[[Sequence[object]], bool]] = {
    "question": _are_texts,
    "contexts": _hold_contexts,
    "response": _are_texts,
}
