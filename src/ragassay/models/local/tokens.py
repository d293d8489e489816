"""How texts become the token ids of a local model: its own tokenizer, and templates of inputs."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ragassay.core import SetupError, shorten
from ragassay.models.local.folder import TOKENIZER, TOKENIZER_CONFIG, read_json, unusable
from ragassay.models.local.hub import INSTALL
from ragassay.models.local.settings import MARKS, unreadable

_SURROGATE = re.compile("[\ud800-\udfff]")
# Absolute positions begin behind that of the padding in these.
_SHIFTED = frozenset(
    {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet", "longformer"}
)
# Files that a tokenizer can be made of where there is no tokenizer.json.
_VOCABULARIES = ("vocab.txt", "vocab.json", "*.model")
_DEFAULT_TOKENS, _MOST_TOKENS = 512, 4096


class Written(NamedTuple):
    """A text of an input, filled in. places: field -> its start and end in the text."""

    text: str
    places: Mapping[str, tuple[int, int]]


class Encoded(NamedTuple):
    """An input as token ids. types: the tokenizer's segment of each. text: for each token 0 or 1,
    the text it is of, None for marks around them. offsets: its start and end in that text.
    """

    ids: Sequence[int]
    types: Sequence[int]
    text: Sequence[int | None]
    offsets: Sequence[tuple[int, int]]


class TextEncoder:
    """The tokenizer of a model. Safe across threads.

    folder: where tokenizer.json lies. vocabulary: how many ids the model knows, None = not known.
    Raises SetupError E0105 without the tokenizers library, EnvironmentFailure E0413 for a tokenizer
    that is missing, damaged, or of another model.
    """

    def __init__(self, folder: Path, vocabulary: int | None) -> None:
        self._tokenizer = _load(folder)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        size = self._tokenizer.get_vocab_size(with_added_tokens=True)
        # A model may know a few more than there are; a tokenizer without its vocabulary has only
        # marks, and would read every word as unknown.
        if vocabulary is not None and not vocabulary / 2 <= size <= vocabulary:
            why = f"the tokenizer has {size:,} tokens, and the model knows {vocabulary:,}"
            raise unusable(str(folder), why, "use the tokenizer that the model was trained with")
        self.marks = _marks(folder)
        specials = [
            token.content
            for token in self._tokenizer.get_added_tokens_decoder().values()
            if token.special and len(token.content) > 1
        ]
        longest_first = sorted(map(re.escape, specials), key=len, reverse=True)
        self._specials = re.compile("|".join(longest_first)) if specials else None

    @property
    def content(self) -> str:
        """All of the tokenizer as a text."""
        text: str = self._tokenizer.to_str()
        return text

    def plain(self, text: str) -> str:
        """The text as it may be read: marks of the tokenizer that stand in it lose their first
        character, so that no text can end the part of the input that it is in. Its length stays.
        """
        if not text.isascii():
            text = _SURROGATE.sub("\ufffd", text)  # the tokenizer takes UTF-8 only
        if self._specials is None:
            return text
        return self._specials.sub(lambda found: " " + found[0][1:], text)

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has by itself, without marks around it."""
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(each.ids) for each in encoded]

    def write(self, template: str, values: Mapping[str, str]) -> Written:
        """The template with its fields filled in; the values are taken as they are."""
        text = ""
        places: dict[str, tuple[int, int]] = {}
        for literal, name, _, _ in string.Formatter().parse(template):
            text += literal
            if name is not None:
                value = self.marks[name] if name in MARKS else values[name]
                places[name] = (len(text), len(text) + len(value))
                text += value
        return Written(text, places)

    def encode(self, texts: Sequence[str]) -> Encoded:
        """The ids of one text or of a pair, with the marks that the tokenizer puts around them."""
        encoded = self._tokenizer.encode(*texts)
        return Encoded(encoded.ids, encoded.type_ids, encoded.sequence_ids, encoded.offsets)

    def check_templates(self, templates: Sequence[str], where: str) -> None:
        """Raise SetupError E0414 or EnvironmentFailure E0413 where these texts of an input cannot
        be written: a mark that the tokenizer does not have, or two texts with nothing between them.
        """
        for template in templates:
            for _, name, _, _ in string.Formatter().parse(template):
                if name in MARKS and name not in self.marks:
                    raise unreadable(where, f"input: the tokenizer has no {name} token")
        if len(templates) == 2 and None not in self.encode(("a", "a")).text:
            why = "its tokenizer puts no mark between two texts"
            fix = "give the input as one text: input: '{context}{eos}{claim}'"
            raise unusable(where, why, fix)


def _load(folder: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SetupError(
            "E0105",
            "A local model needs the library tokenizers, which is not installed.",
            where="--judge",
            why=shorten(str(error)),
            fix=INSTALL,
        ) from error
    path = folder / TOKENIZER
    if not path.is_file():
        return _converted(folder)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # it raises Exception itself for whatever it cannot read
        why = f"{TOKENIZER} cannot be read: {shorten(str(error))}"
        raise unusable(str(folder), why, "download or save the tokenizer again") from None


def _converted(folder: Path) -> Any:
    """The tokenizer of a model that was saved with a vocabulary and no tokenizer.json, where
    transformers is there to convert it.
    """
    why = f"it has no {TOKENIZER}"
    fix = (
        "pip install 'ragassay[local]', which converts what is there; or write it: python -c"
        ' "from transformers import AutoTokenizer as T;'
        " T.from_pretrained('FOLDER').save_pretrained('FOLDER')\""
    )
    has_vocabulary = any(any(folder.glob(pattern)) for pattern in _VOCABULARIES)
    if find_spec("transformers") is None or not has_vocabulary:
        raise unusable(str(folder), why, fix)
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
        return tokenizer.backend_tokenizer
    except Exception as error:  # of many kinds, with what its converters lack
        why += f", and the rest is not converted: {type(error).__name__}: {shorten(str(error))}"
        raise unusable(str(folder), why, fix) from error


def _marks(folder: Path) -> dict[str, str]:
    """The tokenizer's own marks by name, those that it has."""
    marks: dict[str, str] = {}
    for name in ("special_tokens_map.json", TOKENIZER_CONFIG):
        content = read_json(folder / name) if (folder / name).is_file() else {}
        for mark in MARKS:
            value = content.get(f"{mark}_token")
            if isinstance(value, dict):
                value = value.get("content")
            if isinstance(value, str) and value:
                marks[mark] = value
    return marks


def most_tokens(config: Mapping[str, Any], folder: Path) -> int:
    """How many tokens the model can read: the least that its files name, 512 where they name none,
    and at most 4,096.
    """
    limits: list[int] = []
    if (folder / TOKENIZER_CONFIG).is_file():
        limits.append(_number(read_json(folder / TOKENIZER_CONFIG).get("model_max_length")))
    positions = _number(config.get("max_position_embeddings"))
    if positions and config.get("model_type") in _SHIFTED:
        positions -= _number(config.get("pad_token_id")) + 1
    limits += [positions, _number(config.get("n_positions"))]
    named = [limit for limit in limits if limit > 0]
    return min([*named, _MOST_TOKENS]) if named else _DEFAULT_TOKENS


def _number(value: object) -> int:
    """The value as a number; 0 for none, and for the huge ones that stand for "no limit"."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < 10**6 else 0
