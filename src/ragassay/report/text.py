"""The characters of judged texts that may reach a terminal, an XML file or a spreadsheet."""

from __future__ import annotations

import os
import re
from json import dumps

# Bidirectional overrides and marks, zero-width spaces, byte-order marks, tag characters: invisible,
# and able to make a text read as something it is not. Joiners (U+200C, U+200D) stay: scripts and
# emoji need them.
_INVISIBLE = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
_UNSEEN = re.compile(f"[\x7f-\x9f\u2028\u2029{_INVISIBLE.pattern[1:]}")
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

POSTED_FOLDER = "posted-rows"
"""The folder beside the store in which rows lie that were posted to the HTTP API."""


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # U+241B is the picture of escape: seen, and without effect
    if code == 0x7F:
        return "\u2421"  # the picture of delete stands apart from the others
    return "\ufffd"


def plain(text: str) -> str:
    """`text` with nothing in it that commands a terminal or hides from the reader; line breaks
    become "\\n".
    """
    text = _BREAKS.sub("\n", text).replace("\t", "    ")
    return _CONTROLS.sub(_picture, _INVISIBLE.sub("", text))


def on_github() -> bool:
    """Whether this process runs in a job of GitHub Actions, whose runner takes printed lines for
    commands.
    """
    return os.environ.get("GITHUB_ACTIONS") == "true"


def inert(text: str) -> str:
    """`text` without what GitHub's runner takes for a command wherever it stands in a line:
    `##[error]` and the like.
    """
    return text.replace("##[", "## [")


def seen(json: str) -> str:
    """JSON in which every character that commands a terminal or hides from the reader is written as
    an escape; the same values for whoever parses it.
    """
    # Only inside of strings can such characters stand in JSON, so an escape is always allowed.
    return _UNSEEN.sub(_escaped, json)


def _escaped(match: re.Match[str]) -> str:
    quoted = dumps(match.group())
    return quoted[1:-1]


def one_line(text: str, limit: int = 160) -> str:
    """`plain` on one line, white space as one blank, cut with "…" after `limit` characters."""
    # Only the beginning of a long text is cleaned; four times the limit leaves room for blanks.
    text = " ".join(plain(text[: 4 * limit + 64]).split())
    if len(text) <= limit:
        return text
    return text[: limit - 1].rstrip() + "…"


def xml(text: str) -> str:
    """`text` without the characters that XML 1.0 cannot hold (they become U+FFFD)."""
    return _NOT_XML.sub("\ufffd", text)


def unicode(text: str) -> str:
    """`text` as any encoder takes it: lone surrogates become U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def page(text: str) -> str:
    """`text` as a UTF-8 web page can hold it: lone surrogates and NUL become U+FFFD. Escaping is
    the template's.
    """
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", text)


def cell(text: str) -> str:
    """`text` as a spreadsheet cell that is never taken for a formula: a leading = + - @ tab or
    return gets a '.
    """
    if text.startswith(_FORMULA_STARTS):
        return "'" + text
    return text


def file_name(source: str) -> str:
    """The name of a run's file without its folders, of Windows too; rows that were posted to the
    HTTP API lie in a file whose name says nothing.
    """
    folders = source.replace("\\", "/").rpartition("/")[0]
    return "posted rows" if folders.endswith(POSTED_FOLDER) else without_folders(source)


def without_folders(path: str) -> str:
    """The last name of a path, of Windows too."""
    return path.replace("\\", "/").rpartition("/")[2]
