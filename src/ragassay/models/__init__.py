"""Chat models behind a URI: one attempt a call, typed errors, usage and prices.

Light to import: the HTTP client and the offline model are loaded when a model is connected.
"""

from ragassay.models.base import ABOUT_TO_SEND, MAY_SEND_MORE, NOT_SENT, Model
from ragassay.models.connect import connect
from ragassay.models.joined import JoinedModel
from ragassay.models.prices import Rate, price

__all__ = [
    "ABOUT_TO_SEND",
    "MAY_SEND_MORE",
    "NOT_SENT",
    "JoinedModel",
    "Model",
    "Rate",
    "connect",
    "price",
]
