"""The options of a run: each is declared once, as a field of `Options`.

The command line, the checks of `evaluate` and `resume`, what the manifest stores and the table in
docs/options.md derive from the declarations; the signature of `ragassay.evaluate` is written out
for editors, and a test compares it with them. A new option is one field here, and one parameter
there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from ragassay.core import SetupError, shorten

if TYPE_CHECKING:
    from ragassay.core import Manifest
    from ragassay.models.settings import ModelSettings


class OnResume(StrEnum):
    """What a resume may do with an option."""

    FIXED = "no"  # it decides what is asked: another value would be another run
    ONCE = "yes"  # it says how hard to drive, for as long as this resume takes
    LASTING = "yes, for later resumes too"  # a cap is one of the run, and so is what a call costs
    AFRESH = "yes, it starts from its default again"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What an option is, beside its name, type and default.

    help: one line, for the command line and the documentation.
    flags: how the command line calls it, where that is not "--" and its name; NOT_A_FLAG: only
    programs have it.
    at_least: the lowest number it takes. at_most: the highest.
    choice_fix: what to do about a value that is none of the choices.
    convert: from the argument of `evaluate` to the value that is stored.
    none_counts: an argument of None is a value of its own, and does not stand for the default.
    stored: from the value to the one that the manifest keeps, where a part of it is secret.
    """

    help: str
    flags: tuple[str, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    choice_fix: str = ""
    on_resume: OnResume = OnResume.FIXED
    convert: Callable[[Any], Any] | None = None
    none_counts: bool = False
    stored: Callable[[Any], Any] | None = None


NOT_A_FLAG = ("",)
"""The flags of an option that the command line does not have. Not (), which stands for "--" and the
option's name.
"""


def option(default: Any, help: str, **details: Any) -> Any:
    """A field of `Options`; details: the other fields of its Declaration."""
    metadata = {"declaration": Declaration(help, **details)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def _absolute_paths(paths: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """A resume may be started in another folder."""
    return tuple(os.path.abspath(path) for path in paths)


def _columns_by_field(mapping: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """Field -> column; several columns of contexts as `--map contexts=a,b` writes them."""
    return {
        field: columns if isinstance(columns, str) else ",".join(columns)
        for field, columns in mapping.items()
    }


def _json_text(value: str | Mapping[str, object]) -> str:
    return value if isinstance(value, str) else json.dumps(dict(value))


def _storable_body(text: str) -> str:
    from ragassay.models.extra_body import storable_body

    return storable_body(text)


def _header_lines(headers: Iterable[str] | Mapping[str, str]) -> tuple[str, ...]:
    if isinstance(headers, Mapping):
        return tuple(f"{name}: {value}" for name, value in headers.items())
    return tuple(headers)


def _storable_headers(headers: Iterable[str]) -> tuple[str, ...]:
    from ragassay.models.headers import storable

    return tuple(map(storable, headers))


def _storable_proxy(proxy: str) -> str:
    from ragassay.models.proxy import without_password

    return without_password(proxy)


def _judge_uri(uri: str) -> str:
    """The folder of a local model may be given from the folder that the command runs in."""
    if "local:" not in uri.lower():
        return uri
    from ragassay.judges.composed.uri import with_absolute_folders

    return with_absolute_folders(uri)


def _name_of_application(app: str | Callable[..., Any]) -> str:
    if isinstance(app, str):
        return app
    from ragassay.runs.application import name_of

    return name_of(app)


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that shapes a run, as the manifest stores it. Fields are `evaluate`'s arguments.

    The order of the fields is that of the stored manifest and of `ragassay evaluate --help`.
    """

    metrics: tuple[str, ...] = option(
        (),
        "Comma-separated: 'groundedness,ndcg_at_k(k=5)', or your own: 'my_metrics:polite'.",
        flags=("--metrics", "-m"),
    )
    preset: str | None = option(
        None,
        "Metrics for an occasion: quick, retrieval, hallucination, production, ab, chunking.",
    )
    judge: str = option(
        "offline",
        "'offline' (no key, no network), 'local:FOLDER', or 'PROVIDER:MODEL' such as openai:MODEL.",
        convert=_judge_uri,
    )
    base_url: str | None = option(
        None, "Address of the judge's server, such as http://localhost:8000/v1."
    )
    api_key_env: str | None = option(
        None,
        "Variable that holds the key [default: the provider's, such as OPENAI_API_KEY].",
        on_resume=OnResume.ONCE,
    )
    generator: str | None = option(
        None, "Model that wrote the responses, such as gpt-4o: judges favour their own family."
    )
    mapping: Mapping[str, str] = option(
        {},
        "field=column, where a column's name is not known; contexts=a,b joins columns. Repeatable.",
        flags=("--map",),
        convert=_columns_by_field,
    )
    slices: tuple[str, ...] = option(
        (), "Column to slice results by. Repeatable.", flags=("--slice",), convert=tuple
    )
    format: str | None = option(None, "Format of the file, where its ending does not say.")
    yes: bool = option(
        False,
        "Read an unknown column as the question, contexts or response where it clearly fits.",
        flags=("--yes", "-y"),
    )
    make_ids: bool = option(False, "Number the rows by line or position instead of reading ids.")
    limit: int | None = option(None, "Only the first N rows.", at_least=1)
    rubrics: tuple[str, ...] = option(
        (), "Your own rubric file. Repeatable.", flags=("--rubric",), convert=_absolute_paths
    )
    claims: Literal["sentences", "filtered", "llm"] = option(
        "sentences",
        "Cut responses into claims by sentence; filtered: the LLM leaves out what states nothing;"
        " llm: it lists the claims.",
        choice_fix=(
            "use --claims sentences (no extra call), --claims filtered or --claims llm (one extra"
            " call a row)"
        ),
    )
    single_calls: bool = option(False, "One call per claim and chunk instead of batches.")
    temperature: float | None = option(
        0.0,
        "Of the judge's model; none (None in Python): nothing is sent, the server's own default.",
        at_least=0,
        none_counts=True,
    )
    max_tokens: int | None = option(
        None,
        "Tokens of a reply, what the model thinks included [default: learnt].",
        at_least=1,
        at_most=10_000_000,
    )
    reasoning_effort: str | None = option(
        None, "How much the judge's model thinks: none, minimal, low, medium, high, xhigh or max."
    )
    extra_body: str | None = option(
        None,
        "JSON object of further fields of each request.",
        convert=_json_text,
        on_resume=OnResume.ONCE,
        stored=_storable_body,
    )
    headers: tuple[str, ...] = option(
        (),
        "'Name: value' of each request; '$NAME' in it is that variable. Repeatable.",
        flags=("--header",),
        convert=_header_lines,
        on_resume=OnResume.ONCE,
        stored=_storable_headers,
    )
    proxy: str | None = option(
        None,
        "http://HOST:PORT of a proxy [default: HTTPS_PROXY, HTTP_PROXY].",
        on_resume=OnResume.ONCE,
        stored=_storable_proxy,
    )
    ca: str | None = option(
        None,
        "PEM file of a certificate authority to trust.",
        convert=os.path.abspath,
        on_resume=OnResume.ONCE,
    )
    force: bool = option(
        False,
        "Go on with a judge that got the known example wrong.",
        on_resume=OnResume.ONCE,
    )
    redact: bool = option(
        False,
        "Replace secrets and personal data before a judge behind a server sees them (extra"
        " 'redact').",
    )
    concurrency: int = option(32, "Calls in flight at once.", at_least=1, on_resume=OnResume.ONCE)
    call_timeout: float = option(
        120.0, "Seconds one call may take.", at_least=0.001, on_resume=OnResume.ONCE
    )
    attempts: int = option(
        5,
        "How often a call is tried before it counts as failed.",
        flags=NOT_A_FLAG,
        at_least=1,
        on_resume=OnResume.ONCE,
    )
    max_calls: int | None = option(
        None,
        "Hard cap on calls, retries and resumes included.",
        at_least=0,
        on_resume=OnResume.LASTING,
    )
    max_cost: float | None = option(
        None,
        "Hard cap in US dollars, resumes included.",
        at_least=0,
        on_resume=OnResume.LASTING,
    )
    price: str | None = option(
        None, "IN,OUT in US dollars per million tokens.", on_resume=OnResume.LASTING
    )
    cache: bool = option(True, "Do not reuse judgments of earlier runs.", flags=("--no-cache",))
    keep_replies: bool = option(
        True,
        "Do not keep what the judge's model was sent and replied.",
        flags=("--no-keep-replies",),
        on_resume=OnResume.ONCE,
    )
    no_network: bool = option(False, "Make any network call an error.", on_resume=OnResume.ONCE)
    replay: bool = option(
        False,
        "Use recorded judgments alone: one that the store lacks is an error, and nothing is sent.",
        on_resume=OnResume.AFRESH,
    )
    app: str | None = option(
        None,
        "Run your application on each row: module:function of the question.",
        convert=_name_of_application,
    )
    app_timeout: float = option(
        120.0,
        "Seconds the application may take for a row.",
        at_least=0.001,
        on_resume=OnResume.ONCE,
    )
    app_concurrency: int = option(
        8, "Rows the application is run on at once.", at_least=1, on_resume=OnResume.ONCE
    )
    metric_timeout: float = option(
        120.0,
        "Seconds a metric of your own may take for a row.",
        at_least=0.001,
        on_resume=OnResume.ONCE,
    )
    controls: Literal["auto", "always", "off"] = option(
        "auto",
        (
            "Plant claims with a known answer; a reply that gets one wrong is void. auto: where"
            " texts look like an attack."
        ),
        choice_fix=(
            "leave it out: control claims are then planted where the texts look like an attack"
        ),
    )
    order: Literal["shuffled", "given", "both"] = option(
        "shuffled",
        (
            "Of the claims or chunks that one call asks about. both: two opposite orders, averaged;"
            " up to twice the calls."
        ),
        choice_fix=(
            "leave it out (shuffled, the same way in every run), or use --order given (as in the"
            " row) or --order both (twice, averaged)"
        ),
    )
    sample: int = option(
        0,
        (
            "Judgments of another number are asked anew and not taken from the cache, to see how"
            " far they repeat."
        ),
        flags=NOT_A_FLAG,
        at_least=0,
    )
    batch: bool = option(
        False, "Through the provider's batch API: half of the price, within a day."
    )
    wait: bool = option(
        True,
        "With --batch: stay, or leave when all is handed over; a resume collects what is ready.",
        flags=("--wait/--no-wait",),
        on_resume=OnResume.AFRESH,
    )
    engine: Literal["local", "ray"] = option(
        "local",
        (
            "ray: several processes, or the machines of the Ray cluster in RAY_ADDRESS (extra"
            " 'ray')."
        ),
        choice_fix=(
            "leave it out to run in this process, or --engine ray for several processes or machines"
        ),
        on_resume=OnResume.ONCE,
    )
    workers: int | None = option(
        None,
        "Processes of --engine ray [default: the CPUs there are].",
        at_least=1,
        on_resume=OnResume.ONCE,
    )

    calibration: str | None = option(
        None,
        "The map of a calibrated judge, as JSON [default: the one stored under the judge's name].",
        flags=NOT_A_FLAG,
    )

    def check(self) -> None:
        """Raise SetupError for a value or a combination that no run can have."""
        for declared in declared_options().values():
            declared.check(getattr(self, declared.name))
        self.model_settings()
        if not (self.wait or self.batch):
            raise SetupError(
                "E0104",
                "--no-wait is for runs whose calls go through batches.",
                where="--no-wait",
                fix="add --batch, or leave --no-wait out",
            )
        if self.replay and self.batch:
            raise SetupError(
                "E0104",
                "Recorded judgments need no batches: nothing is sent.",
                where="--replay",
                why="--batch",
                fix="leave one of them out",
            )
        if self.batch and self.engine == "ray":
            raise SetupError(
                "E0104",
                "A run whose calls go through batches waits for the provider, and not for"
                " processes.",
                where="--engine ray",
                why="--batch",
                fix="leave one of them out",
            )

    def model_settings(self) -> ModelSettings:
        """What is sent with each call of the judge, and by which way. Raises SetupError E0101."""
        from ragassay.models.settings import checked_settings

        return checked_settings(
            max_tokens=self.max_tokens,
            reasoning_effort=self.reasoning_effort,
            extra_body=self.extra_body,
            headers=self.headers,
            proxy=self.proxy,
            ca=self.ca,
        )

    def lasting(self) -> dict[str, object]:
        """What a resume changes for all later resumes too, by name."""
        return {
            name: getattr(self, name)
            for name, declared in declared_options().items()
            if declared.on_resume is OnResume.LASTING
        }

    def to_json(self, *, with_secrets: bool = False) -> dict[str, object]:
        """The options as a manifest stores them. with_secrets: for a process that goes on with the
        run, and is told without a file.
        """
        stored: dict[str, object] = {}
        for name, declared in declared_options().items():
            value = getattr(self, name)
            hide = None if with_secrets else declared.declaration.stored
            stored[name] = _plain(value if hide is None or value is None else hide(value))
        return stored

    @staticmethod
    def from_json(stored: Mapping[str, object]) -> Options:
        """The options that `to_json` wrote."""
        values: dict[str, Any] = dict(stored)
        # JSON has lists where the fields are tuples.
        for declared in declared_options().values():
            if isinstance(declared.default, tuple):
                values[declared.name] = tuple(values.get(declared.name) or ())
        return Options(**values)


@dataclass(frozen=True, slots=True)
class Option:
    """A declared option, read back from its field."""

    name: str
    type: Any
    default: Any
    declaration: Declaration

    @property
    def help(self) -> str:
        return self.declaration.help

    @property
    def on_resume(self) -> OnResume:
        return self.declaration.on_resume

    @property
    def flags(self) -> tuple[str, ...]:
        """How the command line calls it; none, where only programs have it."""
        if self.declaration.flags == NOT_A_FLAG:
            return ()
        return self.declaration.flags or ("--" + self.name.replace("_", "-"),)

    @property
    def is_switched_off(self) -> bool:
        """Whether its flag says that it is not wanted, as "--no-cache" does."""
        return self.flags == (f"--no-{self.name.replace('_', '-')}",)

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it takes, where these are few."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    def check(self, value: Any) -> None:
        """Raise SetupError E0101 for a value that it cannot have."""
        where = f"--{self.name.replace('_', '-')}"
        low = self.declaration.at_least
        # Written this way round, the comparison refuses NaN as well.
        if low is not None and value is not None and not low <= value < float("inf"):
            raise SetupError(
                "E0101",
                f"{self.name} must be a number from {low:g} up.",
                where=where,
                why=str(value),
                fix=f"give {self.name} a value of {low:g} or more, or leave it out",
            )
        high = self.declaration.at_most
        if high is not None and value is not None and value > high:
            raise SetupError(
                "E0101",
                f"{self.name} must be a number up to {high:,.0f}.",
                where=where,
                why=shorten(str(value), 40),
                fix=f"give {self.name} a lower value, or leave it out",
            )
        if self.choices and value not in self.choices:
            raise SetupError(
                "E0101",
                f"{self.name} is {_one_of(self.choices)}.",
                where=where,
                why=str(value),
                fix=self.declaration.choice_fix,
            )

    def is_given(self, argument: Any) -> bool:
        """Whether an argument of `evaluate` says something, and does not stand for the default."""
        return argument is not None or self.declaration.none_counts

    def stored(self, argument: Any) -> Any:
        """The value that is stored of an argument of `evaluate`."""
        convert = self.declaration.convert
        return argument if convert is None or argument is None else convert(argument)


@cache
def declared_options() -> Mapping[str, Option]:
    """The options by name, in the order of their declaration."""
    types = get_type_hints(Options)
    return {
        each.name: Option(each.name, types[each.name], _default(each), each.metadata["declaration"])
        for each in fields(Options)
    }


def _default(declared: Field[Any]) -> Any:
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return declared.default


def _one_of(choices: tuple[str, ...]) -> str:
    """ "either 'a' or 'b'", "'a', 'b' or 'c'"."""
    quoted = [repr(choice) for choice in choices]
    words = f"{', '.join(quoted[:-1])} or {quoted[-1]}"
    return f"either {words}" if len(choices) == 2 else words


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


NOT_OPTIONS = frozenset({"rows", "metrics", "store", "name", "keep", "watch", "tell"})
"""Arguments of `evaluate` that are no options: what is measured, where it is stored, and who is
called. The metrics may be objects; their names become an option once they are parsed.
"""


def make_options(arguments: Mapping[str, Any]) -> Options:
    """The Options among `evaluate`'s arguments. Raises TypeError for an argument that is none,
    SetupError as `Options.check`.
    """
    declared = declared_options()
    values: dict[str, Any] = {}
    # The metrics are both: an argument that may hold objects, and an option that holds names.
    for name in declared.keys() - NOT_OPTIONS:
        argument = arguments.get(name, declared[name].default)
        if declared[name].is_given(argument):
            values[name] = declared[name].stored(argument)
    if values.get("workers") is not None and values.get("engine", "local") == "local":
        raise SetupError(
            "E0104",
            "Workers are processes of a distributed run, and this one runs in one process.",
            where="--workers",
            why=f"{values['workers']} workers and no --engine ray",
            fix="add --engine ray, or leave --workers out",
        )
    unknown = set(arguments) - set(declared) - NOT_OPTIONS
    if unknown:
        raise TypeError(f"evaluate() got unexpected arguments {sorted(unknown)}")
    options = Options(**values)
    options.check()
    return options


def restore(manifest: Manifest, changes: Mapping[str, Any]) -> Options:
    """The Options of a run with changes that only say how hard to drive. Raises SetupError E0101
    for any other change.
    """
    free = [
        name
        for name, declared in declared_options().items()
        if declared.on_resume is not OnResume.FIXED
    ]
    for name in changes:
        if name not in free:
            raise SetupError(
                "E0101",
                f"{name} cannot be changed when resuming.",
                where=name,
                fix=f"resume without it, or start a new run; free to change: {', '.join(free)}",
            )
    # A run that was begun with --no-wait is resumed to collect its answers.
    afresh = {
        name: declared.default
        for name, declared in declared_options().items()
        if declared.on_resume is OnResume.AFRESH
    }
    stored = Options.from_json({**manifest.options, **afresh})
    given = {
        name: declared_options()[name].stored(value)
        for name, value in changes.items()
        if value is not None
    }
    options = replace(stored, **given)
    options.check()
    return options


def check_keep(keep: Mapping[str, object] | None) -> None:
    """Refuse, before anything is judged, what a manifest cannot store. Raises SetupError E0101."""
    from ragassay.store.codec import finite

    try:
        if keep is not None and not isinstance(keep, Mapping):
            raise TypeError(f"it is a {type(keep).__name__}, and no mapping")
        _check_integers(finite(keep))
    except (TypeError, ValueError) as error:
        raise SetupError(
            "E0101",
            "What is to be kept with the run is not JSON.",
            where="keep",
            why=str(error),
            fix="give a dict of texts, finite numbers, True, False, None, lists and dicts of them",
        ) from None


def _check_integers(value: object) -> None:
    """Readers of JSON do not agree on integers of more than 64 bit. Raises ValueError."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError("an integer has more than 64 bit")
    inner: Iterable[object] = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list):
        inner = value
    for item in inner:
        _check_integers(item)
