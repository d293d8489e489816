"""Which rows are to be evaluated: reading them from files and memory, and writing a Sample down."""

from ragassay.datasets.dataset import FORMATS, Dataset, Scan, open_rows
from ragassay.datasets.record import from_record, to_record

__all__ = ["FORMATS", "Dataset", "Scan", "from_record", "open_rows", "to_record"]
