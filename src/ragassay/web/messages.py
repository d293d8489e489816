"""What a view is asked, and what it answers: values without a web framework in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import SetupError

if TYPE_CHECKING:
    from ragassay.web.sessions import Role
    from ragassay.web.site import Site


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, parsed. path: the values in the URL's path; query, form: the first value of each
    name. here: path and query, to come back to. nonce: of this page's style and script. theme:
    "dark", "light" or "" for what the reader's system says. role: None where nobody is signed in.
    client: the address it came from. host: by which name the server was called. person: the name
    under which somebody labels. reveal: whether they chose to see the judge's verdict after each
    label. upload: the file of the form, None where there is none; its name is a field of the form.
    """

    site: Site
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    here: str
    nonce: str
    theme: str = ""
    session: str = ""
    role: Role | None = None
    client: str = ""
    person: str = ""
    host: str = ""
    reveal: bool = False
    upload: Path | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A template with what it shows. retry_s: after how many seconds to ask again, 0 = not said."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    cookies: Mapping[str, str] = field(default_factory=dict)
    retry_s: int = 0


@dataclass(frozen=True, slots=True)
class Redirect:
    """Go to a path of this server. cookies: name -> value, "" deletes it."""

    to: str
    cookies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Data:
    """JSON-like values."""

    value: object
    status: int = 200


@dataclass(frozen=True, slots=True)
class File:
    """Bytes with their type. download: the name under which they are saved, "" = not saved."""

    content: bytes
    kind: str
    download: str = ""
    lasting: bool = False


Answer = Page | Redirect | Data | File


class NotThere(Exception):
    """What the URL names is not there: status 404. Its text says what, and what to do."""


def number(ask: Ask, name: str, default: int, low: int, high: int) -> int:
    """A whole number out of the URL's query. Raises SetupError E0101 for anything else."""
    text = ask.query.get(name, "")
    if not text:
        return default
    if text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high:
        return int(text)
    raise refused(name, text, f"a whole number from {low} to {high}")


def refused(
    name: str, text: str, wanted: str, *, fix: str = "go back and choose from the page"
) -> SetupError:
    """The error for a value of the URL or of a form that cannot be taken."""
    return SetupError("E0101", f"{name} is not {wanted}.", where=name, why=repr(text[:80]), fix=fix)
