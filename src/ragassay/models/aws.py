"""Requests to Amazon: with a bearer token, else signed by botocore (the extra `bedrock`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from yarl import URL

from ragassay.core import SetupError

_REGION = re.compile(r"[.-]([a-z]{2}(?:-[a-z]+)+-[0-9])\.")


def signed_headers(key: str | None, method: str, url: URL, data: bytes) -> Mapping[str, str]:
    """The headers that say who sends a request. key: a bearer token; None: the credentials that
    AWS's own tools would find (variables, profile, role), by which the request is signed.

    Raises SetupError E0402 where there are none, E0416 where botocore is not installed.
    """
    if key is not None:
        return {"Authorization": f"Bearer {key}"}
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    region = _REGION.search(url.host or "")
    request = AWSRequest(
        method=method, url=str(url), data=data, headers={"Content-Type": "application/json"}
    )
    SigV4Auth(credentials(), "bedrock", region[1] if region else "us-east-1").add_auth(request)
    return dict(request.headers.items())


@cache
def credentials() -> Any:
    """The credentials of the environment, which renew themselves where they expire."""
    try:
        from botocore.session import Session
    except ImportError:
        raise SetupError(
            "E0416",
            "Requests to Bedrock are signed by botocore, which is not installed.",
            where="--judge",
            fix=(
                "pip install 'ragassay[bedrock]'; or export AWS_BEARER_TOKEN_BEDROCK=... with an"
                " API key of Bedrock, which needs no signature"
            ),
        ) from None
    found = Session().get_credentials()
    if found is None:
        raise SetupError(
            "E0402",
            "Bedrock needs credentials of AWS, and none are set.",
            where="AWS_BEARER_TOKEN_BEDROCK",
            fix="export AWS_BEARER_TOKEN_BEDROCK=..., or log in as for the AWS tools",
        )
    return found
