"""The switch that keeps a judge's own calls out of the application's traces.

A judge whose calls were traced would be judged in its turn. Both the decorators here and the
instrumentations of OpenTelemetry look at the context: they are switched off in it.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar

UNTRACED: ContextVar[bool] = ContextVar("ragassay_untraced", default=False)
"""Whether what runs in this context is traced by nobody."""


def stop_tracing() -> None:
    """Trace nothing in the current context from here on."""
    UNTRACED.set(True)
    # An application that has not imported it has nothing that would trace.
    context = sys.modules.get("opentelemetry.context")
    if context is None:
        return
    # Instrumentations look for the key of the API, older ones for its plain name.
    keys = ("suppress_instrumentation", getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", None))
    current = context.get_current()
    for key in keys:
        if key is not None:
            current = context.set_value(key, True, current)
    http = getattr(context, "_SUPPRESS_HTTP_INSTRUMENTATION_KEY", None)
    if http is not None:
        current = context.set_value(http, True, current)
    context.attach(current)
