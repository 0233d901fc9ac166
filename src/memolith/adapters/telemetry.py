"""Export operations and requests as OpenTelemetry spans.

Spans contain names, times and numbers, never text from memories. The standard variables configure
the export: `OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`), `OTEL_SERVICE_NAME`,
`OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER` and the others of the SDK.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_SERVER_FAULT: Final = 500

_log = logging.getLogger("memolith.traces")


class SpanRecorder:
    """Creates spans. Thread-safe."""

    def __init__(self, provider: TracerProvider) -> None:
        """Create a recorder that sends its spans to a tracer provider."""
        from opentelemetry.trace import SpanKind, Status, StatusCode

        self._provider = provider
        self._tracer = provider.get_tracer("memolith")
        self._server = SpanKind.SERVER
        self._failed = Status(StatusCode.ERROR)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """See `tracing.Observer`."""
        with self._start_span(name):
            yield

    def count(self, name: str, number: int) -> None:
        """See `tracing.Observer`; sets an attribute of the current span."""
        from opentelemetry.trace import get_current_span

        get_current_span().set_attribute(f"memolith.{name}", number)

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[Any]:
        """Open the span of a request, as a child of the trace that its headers name."""
        from opentelemetry.propagate import extract

        trace_headers = {
            name: headers[name] for name in ("traceparent", "tracestate") if name in headers
        }
        with self._start_span(method, kind=self._server, context=extract(trace_headers)) as span:
            yield span

    def finish_request(
        self, span: Any, method: str, route: str, status: int, request_id: str
    ) -> None:
        """Record the result of a request.

        The span is named by the route, which contains no memory id and no owner.
        """
        span.update_name(f"{method} {route}".strip())
        span.set_attributes(
            {
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
                "memolith.request_id": request_id,
            }
        )
        if status >= _SERVER_FAULT:
            span.set_status(self._failed)

    def close(self) -> None:
        """Export pending spans and stop recording."""
        self._provider.shutdown()

    @contextmanager
    def _start_span(self, name: str, **options: Any) -> Iterator[Any]:
        """Open a span. An error is recorded by type only, since its message may contain content."""
        with self._tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False, **options
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(self._failed)
                raise


def build_span_recorder(env: Mapping[str, str]) -> SpanRecorder | None:
    """Return a span recorder, or None if the environment does not configure an exporter."""
    is_off = env.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or not any(env.get(each) for each in _ENDPOINTS):
        return None
    if env.get("OTEL_TRACES_EXPORTER", "otlp") != "otlp":
        return None
    if not is_installed():
        _log.warning("tracing is off: install it with pip install 'memolith[otel]'")
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return SpanRecorder(create_tracer_provider(OTLPSpanExporter(), env))


def is_installed() -> bool:
    """Return whether the OpenTelemetry exporter is installed."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def create_tracer_provider(exporter: SpanExporter, env: Mapping[str, str]) -> TracerProvider:
    """Return a tracer provider that exports spans in batches, in a background thread."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = {} if env.get("OTEL_SERVICE_NAME") else {"service.name": "memolith"}
    provider = TracerProvider(resource=Resource.create(name), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
