"""Where a store is, for people to read: without the password that may stand in it."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"

_SECRETS = r"\w*(?:password|passphrase|secret|client_key|server_key)"
"""The names that libpq has for what must not be seen, and what they might be called elsewhere."""

_IS_SECRET = re.compile(_SECRETS, re.IGNORECASE)
_URL = re.compile(r"\s*[A-Za-z][\w+.-]*://")
# To the last "@": a password whose "@" or "/" was not encoded is none to libpq, but is one.
_USER = re.compile(r"(?<=://).*:.*(?=@)", re.DOTALL)
_PARAMETER = re.compile(r"(?<=[?&])([^=&]*)=([^&]*)")
_PAIR = re.compile(
    rf"\b({_SECRETS})(\s*=\s*)(?:'(?:\\.|[^'\\])*'?|(?:\\.|\S)*)", re.IGNORECASE | re.DOTALL
)
_CONNINFO = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service)\s*=")


def without_password(text: str) -> str:
    """Return a URL, or what libpq takes instead of one, with what is secret in it hidden.

    Rather too much is hidden than too little: also where it was written wrongly.
    """
    if not _URL.match(text):
        return _PAIR.sub(rf"\1\2{HIDDEN}", text)
    return _PARAMETER.sub(_shown, _USER.sub(HIDDEN, text, count=1))


def _shown(parameter: re.Match[str]) -> str:
    is_secret = _IS_SECRET.fullmatch(unquote(parameter[1]))
    return f"{parameter[1]}={HIDDEN}" if is_secret else parameter[0]


def is_conninfo(text: str) -> bool:
    """Tell whether a text is `host=… dbname=…`, which libpq takes instead of a URL."""
    return "=" in text and _CONNINFO.match(text) is not None
