"""Private keys: the blocks in which they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memolith.domain.items import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY_EDGE = re.compile(
    r"-----(?P<begin>BEGIN)? ?(?:END )?[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?P<putty>PuTTY-User-Key-File-\d): "
    r"|Private-MAC: [0-9a-f]{20,}+"
)
# What stands in a block whose end is missing: base64, and headers.
_KEY_BODY = re.compile(
    r"(?:(?:\s|\\[nr]|[>|*#+\"'])*+"
    r"(?:[A-Za-z][A-Za-z-]{2,20}: [^\n]{0,120}|[A-Za-z0-9+/=]{16,}+|[A-Za-z0-9+/]{0,15}=))*+"
)


_MAX_KEY_CHARS = 65_536
"""The longest block looked for: a key ring of PGP with many subkeys has some tens of thousands."""


def find_private_keys(text: str) -> Iterator[Span]:
    """Yield blocks of private keys, in order, each to its end, or as far as it seems to go."""
    if "PRIVATE KEY" not in text and "PuTTY-User" not in text:
        return
    edges = list(_KEY_EDGE.finditer(text))
    for place, edge in enumerate(edges):
        if edge["begin"] is None and edge["putty"] is None:
            continue
        closing = edges[place + 1] if place + 1 < len(edges) else None
        if closing is not None and _is_matching_edge(edge, closing):
            yield Span(edge.start(), closing.end())
        else:
            body = _KEY_BODY.match(text, edge.end())
            yield Span(edge.start(), edge.end() if body is None else body.end())


def _is_matching_edge(edge: re.Match[str], other: re.Match[str]) -> bool:
    begins = other["begin"] is not None or other["putty"] is not None
    return not begins and other.start() - edge.end() <= _MAX_KEY_CHARS
