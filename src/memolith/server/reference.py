"""Renders the reference of the REST routes from the OpenAPI document."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

TITLES = {
    "memories": "Memories",
    "engine": "Recall, learning and ingestion",
    "review": "Quarantine, forget and purge",
    "sessions": "Sessions",
    "owners": "Owners",
    "transfer": "Export and import",
    "chat": "Chat proxy",
    "device": "Devices",
    "upkeep": "Maintenance",
    "operations": "Operations",
}
"""Headings of the route groups by tag, in the order of the reference."""


def render_routes(document: Mapping[str, Any]) -> str:
    """Return one table of routes per tag of an OpenAPI document."""
    found = list(_iterate_rows(document))
    groups = [tag for tag in TITLES if any(each[0] == tag for each in found)]
    groups += sorted({tag for tag, _ in found} - {*groups})
    return "\n".join(
        _render_table(tag, [row for its, row in found if its == tag]) for tag in groups
    )


def _iterate_rows(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            tag = (told.get("tags") or ["other"])[0]
            summary, statuses = _get_summary(told), _list_success_statuses(told)
            yield tag, f"| `{method.upper()} {path}` | {summary} | {statuses} |"


def _get_summary(operation: Mapping[str, Any]) -> str:
    """Return the first sentence of an operation's description."""
    text = " ".join(str(operation.get("description") or operation.get("summary", "")).split())
    sentence, _, _ = text.partition(". ")
    return sentence.rstrip(".").replace("|", "\\|") + "."


def _list_success_statuses(operation: Mapping[str, Any]) -> str:
    """Return the success statuses of an operation."""
    return ", ".join(sorted(each for each in operation["responses"] if each.startswith("2")))


def _render_table(tag: str, rows: list[str]) -> str:
    lines = "\n".join(rows)
    return f"### {TITLES.get(tag, tag)}\n\n| route | action | status |\n|---|---|---|\n{lines}\n"


def _build_openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document of this version."""
    from memolith.api.engine import Memolith
    from memolith.server.app import ServerOptions, create_app

    with Memolith.open(":memory:", worker=False) as engine:
        return create_app(engine, ServerOptions()).openapi()


if __name__ == "__main__":
    sys.stdout.write(render_routes(_build_openapi_document()))
