"""What an operation of the API is asked, and what it answers: values without HTTP in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragassay.core import SetupError
from ragassay.web.sessions import Role

if TYPE_CHECKING:
    from ragassay.store import StoredRun
    from ragassay.web.api.evaluations import Evaluations
    from ragassay.web.site import Site


@dataclass(frozen=True, slots=True)
class Call:
    """One request, parsed. path: the values in the URL's path. query, body: of the operation's own
    models, None where it has none; the body of a file is its bytes. kind: the body's media type.
    key: the Idempotency-Key, "" for none. role: of whoever asks.
    """

    site: Site
    evaluations: Evaluations
    path: Mapping[str, str]
    query: Any = None
    body: Any = None
    kind: str = ""
    key: str = ""
    role: Role = Role.READER

    def run(self, name: str | None = None) -> StoredRun:
        """The run that the path names (or `name`): an id, the start of one, a name, or "last".
        Raises SetupError E0103.
        """
        run_id = self.site.store.resolve(self.path["run"] if name is None else name)
        return self.site.figures.stored(run_id)


@dataclass(frozen=True, slots=True)
class Json:
    """JSON-like values. location: the address of what was made, "" for nothing. retry_s: seconds
    after which asking again is worth while, 0 = no matter.
    """

    value: object
    status: int = 200
    location: str = ""
    retry_s: int = 0


@dataclass(frozen=True, slots=True)
class Download:
    """A file that is sent and then removed. name: under which it is saved. etag: names its content,
    quoted.
    """

    path: Path
    kind: str
    name: str
    etag: str


class Event(NamedTuple):
    """One server-sent event. last: whether nothing follows."""

    name: str
    value: object
    last: bool = False


@dataclass(frozen=True, slots=True)
class Events:
    """A stream: `look` is called now and then, and what it returns is sent where it has changed."""

    look: Callable[[], Event]


Reply = Json | Download | Events


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a request. where: a JSON pointer into the body, or the parameter
    of the query.
    """

    where: str
    what: str


class Refused(SetupError):
    """A request that cannot be answered as it is. problems: everything that is wrong with it;
    status: of HTTP, where the code does not say it.
    """

    def __init__(
        self,
        code: str,
        what: str,
        *,
        where: str = "",
        why: str = "",
        fix: str = "",
        problems: tuple[Problem, ...] = (),
        status: int = 0,
        retry_s: int = 0,
    ) -> None:
        super().__init__(code, what, where=where, why=why, fix=fix)
        self.problems = problems
        self.status = status
        self.retry_s = retry_s
        self.allowed: list[str] = []
        """The methods that the address takes, where the method was wrong."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A line of the table: what is answered under a method and a path.

    role: the least one that may ask.
    query, body: models of the parameters and of the JSON that is taken; takes: the media types of a
    body that is a file. gives: the type of the JSON that is answered, as a schema is made of it.
    status: of success; also: further statuses that it may answer by itself. most_bytes: of the
    body; if_too_large: what to do where it has more. costly: it takes one of the few places for
    what uses the processor or a judge. keyed: it takes an Idempotency-Key. example: of the body;
    links: name -> (operation, parameter -> expression), what may be asked next.
    """

    method: str
    path: str
    name: str
    answer: Callable[[Call], Reply]
    title: str
    tag: str
    role: Role = Role.READER
    gives: Any = None
    query: Any = None
    body: Any = None
    takes: tuple[str, ...] = ()
    media: tuple[str, ...] = ("application/json",)
    status: int = 200
    also: tuple[int, ...] = ()
    most_bytes: int = 1 << 20
    if_too_large: str = "send less at a time"
    costly: bool = False
    keyed: bool = False
    example: object = None
    links: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)

    @property
    def needs_body(self) -> bool:
        """Whether a request without a body cannot be answered: a file or a field is required."""
        fields = {} if self.body is None else self.body.model_fields
        return bool(self.takes) or any(each.is_required() for each in fields.values())

    @property
    def lasts(self) -> type[Events] | type[Download] | None:
        """What is sent for as long as the client takes: events, or a file; None for JSON."""
        if "text/event-stream" in self.media:
            return Events
        return None if self.media == ("application/json",) else Download
