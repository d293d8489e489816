"""The rows to be evaluated: reading them from files, folders and memory, and writing them for
other tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.datasets.beir import beir_samples
    from ragassay.datasets.dataset import Dataset, Scan, open_rows
    from ragassay.datasets.formats import FORMATS
    from ragassay.datasets.record import to_record
    from ragassay.datasets.record_reading import from_record
    from ragassay.datasets.records import Records, open_records, walk_path
    from ragassay.datasets.trec import (
        TopicCounts,
        count_topics,
        read_qrels,
        read_run,
        retrieval_rows,
        write_qrels,
        write_run,
    )
    from ragassay.datasets.unread import Unread
    from ragassay.datasets.writing import WRITTEN_SHAPES, WriteReport, write_rows

__all__ = [
    "FORMATS",
    "WRITTEN_SHAPES",
    "Dataset",
    "Records",
    "Scan",
    "TopicCounts",
    "Unread",
    "WriteReport",
    "beir_samples",
    "count_topics",
    "from_record",
    "open_records",
    "open_rows",
    "read_qrels",
    "read_run",
    "retrieval_rows",
    "to_record",
    "walk_path",
    "write_qrels",
    "write_rows",
    "write_run",
]

__getattr__ = lazy_names(
    __name__,
    {
        "beir": ("beir_samples",),
        "dataset": ("Dataset", "Scan", "open_rows"),
        "formats": ("FORMATS",),
        "record": ("to_record",),
        "record_reading": ("from_record",),
        "records": ("Records", "open_records", "walk_path"),
        "trec": (
            "TopicCounts",
            "count_topics",
            "read_qrels",
            "read_run",
            "retrieval_rows",
            "write_qrels",
            "write_run",
        ),
        "unread": ("Unread",),
        "writing": ("WRITTEN_SHAPES", "WriteReport", "write_rows"),
    },
)
