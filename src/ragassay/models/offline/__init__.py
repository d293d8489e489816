"""The embedded model that needs no key and no network. Importing it loads nothing heavy."""

from ragassay.models.offline.model import OfflineModel

__all__ = ["OfflineModel"]
