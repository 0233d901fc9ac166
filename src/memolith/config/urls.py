"""Where a store is, for people to read: without the password that may stand in it."""

from __future__ import annotations

import re
from urllib.parse import unquote

MASK = "***"

_SECRET_NAMES = r"\w*(?:password|passphrase|secret|client_key|server_key)"
"""The names that libpq has for what must not be seen, and what they might be called elsewhere."""

_IS_SECRET = re.compile(_SECRET_NAMES, re.IGNORECASE)
_URL = re.compile(r"\s*[A-Za-z][\w+.-]*://")
# To the last "@": a password whose "@" or "/" was not encoded is none to libpq, but is one.
_USER = re.compile(r"(?<=://).*:.*(?=@)", re.DOTALL)
_PARAMETER = re.compile(r"(?<=[?&])([^=&]*)=([^&]*)")
_PAIR = re.compile(
    rf"\b({_SECRET_NAMES})(\s*=\s*)(?:'(?:\\.|[^'\\])*'?|(?:\\.|\S)*)", re.IGNORECASE | re.DOTALL
)
_CONNINFO = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service)\s*=")


def mask_password(text: str) -> str:
    """Return a URL, or what libpq takes instead of one, with what is secret in it hidden.

    Rather too much is hidden than too little: also where it was written wrongly.
    """
    if not _URL.match(text):
        return _PAIR.sub(rf"\1\2{MASK}", text)
    return _PARAMETER.sub(_mask_parameter, _USER.sub(MASK, text, count=1))


def _mask_parameter(parameter: re.Match[str]) -> str:
    is_secret = _IS_SECRET.fullmatch(unquote(parameter[1]))
    return f"{parameter[1]}={MASK}" if is_secret else parameter[0]


def is_conninfo(text: str) -> bool:
    """Tell whether a text is `host=… dbname=…`, which libpq takes instead of a URL."""
    return "=" in text and _CONNINFO.match(text) is not None
