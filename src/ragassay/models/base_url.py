"""The address of a server's API, checked before anything is sent to it."""

from __future__ import annotations

from yarl import URL

from ragassay.core import SetupError
from ragassay.models.secret_values import shown_address


def checked_url(text: str) -> str:
    """`text` without a slash at its end. Raises SetupError E0101 unless it is a plain http or https
    address; of a query it may have the version of the API only, since what else stands there is
    mostly a key.
    """
    fault = "it is not an address of a server"
    try:
        url = URL(text.strip())
        if url.scheme not in ("http", "https"):
            fault = "it must begin with http:// or https://"
        elif url.user is not None or url.password is not None:
            fault = "it holds a user name or password; keys belong into an environment variable"
        elif url.fragment or set(url.query) - {"api-version"}:
            fault = "it must end with the path, without ? or # (an api-version may follow)"
        elif url.host and url.query_string:
            return str(url)
        elif url.host:
            return str(url).rstrip("/")
    except ValueError:
        pass
    raise SetupError(
        "E0101",
        f"The base URL cannot be used: {fault}.",
        where="--base-url",
        why=shown_address(text),
        fix="give the address of the server's API, such as http://127.0.0.1:8000/v1",
    )


def host_of(url: URL) -> str:
    """ "host" or, where the address names one, "host:port"."""
    return url.host_subcomponent + (f":{url.explicit_port}" if url.explicit_port else "")  # type: ignore[operator]
