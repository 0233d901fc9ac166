"""Credentials in addresses: `scheme://user:password@host`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memolith.domain.items import Span
from memolith.text.secrets.values import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_ADDRESS_CHARS = 1_024
"""The longest password looked for: a signed token in a database's address has some 900."""

# On the web a slash ends the host, so that what follows is a path (and `host:80/@scope` none of
# our business); the passwords of databases are often written as they are.
_WEB_PASSWORD = re.compile(
    rf"(?<=://)[^\s:/?#@\"'`<>\[\]]{{0,256}}+:([^\s/?#@\"'<>]{{1,{_MAX_ADDRESS_CHARS}}}+)@(?=[\w\[])"
)
_OTHER_PASSWORD = re.compile(
    rf"(?<=://)[^\s:/?#@\"'`<>\[\]]{{0,256}}+:"
    rf"([^\s@\"'<>]{{1,{_MAX_ADDRESS_CHARS}}}+(?:@[^\s@/\"'<>]{{1,{_MAX_ADDRESS_CHARS}}}+)*?)@(?=[\w\[.-]+"
    rf"(?:[:/?,;\s]|$))"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}$")
_MAX_SCHEME_CHARS = 31


def find_connection_passwords(text: str) -> Iterator[Span]:
    """Yield the passwords in addresses, in order."""
    if "://" not in text or "@" not in text:
        return
    place = text.find("://")
    while place >= 0:
        after = place + len("://")
        head = text[max(0, place - _MAX_SCHEME_CHARS) : place]
        scheme = _SCHEME.search(head)
        if scheme is not None:
            pattern = (
                _WEB_PASSWORD
                if scheme[0].lower() in ("http", "https", "ws", "wss")
                else _OTHER_PASSWORD
            )
            found = pattern.match(text, after)
            if found is not None and not is_placeholder(found[1]):
                yield Span(found.start(1), found.end(1))
        place = text.find("://", after)
