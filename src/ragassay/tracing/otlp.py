"""The messages of OTLP, imported when the first one is needed: they belong to an extra."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ragassay.core import SetupError


class Messages(NamedTuple):
    """Classes of OTLP's protobuf messages, and the error of one that cannot be decoded."""

    Span: Any
    LogRecord: Any
    Resource: Any
    Scope: Any
    ResourceSpans: Any
    TraceResponse: Any
    LogsResponse: Any
    DecodeError: type[Exception]


@cache
def messages() -> Messages:
    """The classes. Raises SetupError (E0105) where the extra is not installed."""
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
        from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
        from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
        from opentelemetry.proto.resource.v1.resource_pb2 import Resource
        from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span
    except ImportError as error:
        raise SetupError(
            "E0105",
            "Receiving traces needs the messages of OpenTelemetry.",
            where="ragassay receive",
            why=str(error),
            fix='pip install "ragassay[server]"',
        ) from error
    return Messages(
        Span,
        LogRecord,
        Resource,
        InstrumentationScope,
        ResourceSpans,
        trace_service_pb2.ExportTraceServiceResponse,
        logs_service_pb2.ExportLogsServiceResponse,
        DecodeError,
    )
