"""The errors that end a whole run: no call can succeed, or none may be waited for any longer."""

from __future__ import annotations

from ragassay.core import CallError, CallFailed, ProviderError
from ragassay.models.proxy import PROXY

NEW_RUN = "begin a new run"
"""What a fix says first where no resume can heed it: a run keeps its model and its address."""

_REJECTIONS = {
    "auth": (
        "E0403",
        "The server rejects the API key.",
        "set the right key in the environment variable that holds it: {key}, unless you named"
        " another",
    ),
    "no_model": (
        "E0404",
        "The server does not know the model.",
        f"{NEW_RUN} with a model that the server has and a --base-url whose path is right"
        " (most end in /v1)",
    ),
    "no_address": (
        "E0404",
        "The server has no model at this address.",
        f"{NEW_RUN} with the --base-url at which it answers chat completions (most end in /v1)"
        " and a model that it has",
    ),
    "refused": (
        "E0408",
        "The server refuses the calls.",
        "see what it says above: where a gateway or a firewall wants a header, send it with"
        " --header; else ask whoever runs the server",
    ),
    "web_page": (
        "E0408",
        "This address answers with a web page, not with an API.",
        f"{NEW_RUN} with the right --base-url: the address of the API (most end in /v1), not of a"
        " page for people; a sign-in page in front of it lets no program through",
    ),
    "extra_body": (
        "E0408",
        "The server refuses a field of --extra-body.",
        "take it out of --extra-body, or name it as this server does",
    ),
    "certificate": (
        "E0417",
        "The server's certificate does not verify.",
        "give the certificate of the authority that issued it: --ca FILE",
    ),
    "proxy": (
        "E0418",
        "The proxy lets nothing through.",
        "give the password in its address: --proxy http://USER:PASSWORD@HOST:PORT",
    ),
    "quota": (
        "E0408",
        "The server rejects every call.",
        "see what the server says above; a limit of the account has to be raised there",
    ),
}
"""(code, message, fix) of a rejection that concerns the set-up, by the kind of the CallError."""

_OTHER_REJECTION = (
    "E0408",
    "The server rejects every call.",
    "see what the server says above, and check --base-url: it must serve chat completions",
)


def rejected_for_good(uri: str, error: CallError) -> ProviderError:
    """The server rejects every call, for a reason that concerns the set-up."""
    code, message, fix = _REJECTIONS.get(error.kind, _OTHER_REJECTION)
    return _from_call(code, message, uri, error, fix.replace("{key}", key_variable(uri)))


def first_calls_rejected(uri: str, count: int, error: CallError) -> ProviderError:
    """The first calls were rejected as malformed, and none was answered."""
    return _from_call(
        "E0408",
        f"The server rejected the first {count} calls and answered none.",
        uri,
        error,
        "check --base-url and the model: it must serve chat completions",
    )


def unreachable(uri: str, error: CallError) -> ProviderError:
    """No call has ever reached the server, or the proxy on the way to it."""
    fix = "check that it runs and that --base-url is right (another address needs a new run)"
    if error.message.startswith(PROXY):
        fix = (
            "check that the proxy runs; --proxy or HTTPS_PROXY / HTTP_PROXY names another, also of"
            " a resume, and NO_PROXY the hosts that need none"
        )
    return _from_call("E0405", "The server cannot be reached.", uri, error, fix)


def asked_to_wait_too_long(uri: str, pause: float, patience: float) -> ProviderError:
    """The server asks for a pause (seconds) that is longer than a run waits."""
    return ProviderError(
        "E0409",
        "The server asks to wait longer than a run waits.",
        where=uri,
        why=f"calls may go out again in {pause:.0f} s; a run waits {patience:.0f} s at most",
        fix="come back when its limit allows it",
    )


def all_refused(uri: str, patience: float, error: CallError) -> ProviderError:
    """A limit of the server has refused all calls for as long as a run waits (seconds)."""
    return _from_call(
        "E0409",
        f"The server has refused all calls for {_duration(patience)}.",
        uri,
        error,
        "come back when its limit allows it",
    )


def down_at_first(uri: str, answer: str, attempts: int) -> ProviderError:
    """The provider has failed at the first call, each time that it was tried."""
    return ProviderError(
        "E0411",
        f"The provider is down: it has failed at the first call {attempts} times.",
        where=uri,
        why=f"the last answer: {answer}",
        fix="wait until it is back; where it was never there, check --base-url",
    )


def no_answer_at_first(uri: str, failure: CallFailed, has_extra_body: bool) -> ProviderError:
    """The known example was not answered, which is no sign of how the model judges."""
    if failure.kind in ("server", "timeout", "network"):
        return ProviderError(
            "E0411",
            "The provider is down: it has not answered the first call.",
            where=uri,
            why=failure.message,
            fix="wait until it is back; where it was never there, check --base-url",
        )
    if failure.kind == "rate_limit":
        what, fix = "The server has refused all calls.", "come back when its limit allows it"
        return ProviderError("E0409", what, where=uri, why=failure.message, fix=fix)
    fix = "see what the server says above, and check --base-url and the model"
    if has_extra_body:
        fix += "; it may be about a field of --extra-body"
    what = "The server has rejected the first call."
    return ProviderError("E0408", what, where=uri, why=failure.message, fix=fix)


def down_for_good(uri: str, seconds: float, last: CallError | None) -> ProviderError:
    """The provider has been down for longer than a run waits, or sent nothing that can be read."""
    if last is not None and last.kind == "bad_reply":
        return _from_call(
            "E0411",
            f"No reply of the server could be read for {_duration(seconds)}.",
            uri,
            last,
            "see what it sends above, and check --base-url and any proxy or gateway on the way;"
            " what was judged is kept",
        )
    return ProviderError(
        "E0411",
        f"The provider has been down for {_duration(seconds)}.",
        where=uri,
        why="" if last is None else f"the last answer: {last.message}",
        fix="wait until it is back: what was judged is kept",
    )


def batch_refused(uri: str, error: CallError) -> ProviderError:
    """The provider does not take a batch."""
    return _from_call(
        "E0412",
        "The provider refuses a batch.",
        uri,
        error,
        "see what it says above; without --batch it has to be a new run",
    )


def key_variable(uri: str) -> str:
    """The variable that usually holds the key of a judge's provider."""
    from ragassay.models.connect import provider_of, schemes

    scheme = uri.partition(":")[0].lower()
    keys = provider_of(scheme).keys if scheme in schemes() else ()
    return keys[0] if keys else "OPENAI_API_KEY"


def _from_call(code: str, message: str, uri: str, error: CallError, fix: str) -> ProviderError:
    """An error whose reason is what came back for a call."""
    return ProviderError(code, message, where=uri, why=error.message, fix=fix)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"
