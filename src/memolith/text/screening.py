"""Screen text: redact secrets, and flag suspected prompt injections.

Every text is screened before it leaves the process: for the disk, an embedder, a model or a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, repeat

from memolith.text.injection import is_suspicious
from memolith.text.secrets import REDACTED, find_secrets

__all__ = [
    "REDACTED",
    "ScreeningResult",
    "contains_secrets",
    "redact",
    "redact_lines",
    "sanitize_lines",
    "screen",
]

_MAX_PASSES = 8
"""Maximum number of passes over redacted text; usually the first finds everything. A guess."""


@dataclass(frozen=True, slots=True)
class ScreeningResult:
    """A text that may leave the process.

    Attributes:
        text: The text, with secrets redacted.
        redactions: Number of redacted secrets.
        suspicious: Whether it is a suspected prompt injection.
    """

    text: str
    redactions: int = 0
    suspicious: bool = False


def screen(text: str) -> ScreeningResult:
    """Return a text with secrets redacted, and whether it is a suspected prompt injection.

    Idempotent. Linear in the length of the text.
    """
    plain, redactions = redact(text)
    return ScreeningResult(plain, redactions, is_suspicious(plain))


def redact(text: str) -> tuple[str, int]:
    """Return a text with each secret replaced by `[REDACTED]`, and the number of secrets.

    Secrets are API keys, tokens, private keys, named passwords, credentials in URLs, and payment
    card numbers. Only the secret is replaced; its name and the surrounding text stay.
    """
    total = 0
    for margin in _get_margins():
        spans = find_secrets(text)
        if not spans:
            break
        pieces = []
        end = 0
        for span in spans:
            pieces += [text[end : max(end, span.start - margin)], REDACTED]
            end = max(end, span.end + margin)
        text = "".join([*pieces, text[end:]])
        total += len(spans)
    return text, total


def redact_lines(text: str) -> tuple[str, int]:
    """Return a text with each line that holds a secret redacted, and the number of secrets."""
    plain, redactions = redact(text)
    return (sanitize_lines(text) if redactions else plain), redactions


def contains_secrets(text: str) -> bool:
    """Return whether a text contains a secret."""
    return bool(find_secrets(text))


def sanitize_lines(text: str) -> str:
    """Return a text with each line that contains part of a secret replaced by `[REDACTED]`."""
    for margin in _get_margins():
        spans = find_secrets(text)
        if not spans:
            break
        pieces = []
        end = 0
        for span in spans:
            start = text.rfind("\n", 0, max(0, span.start - margin)) + 1
            if start >= end:
                pieces += [text[end:start], REDACTED]
            stop = text.find("\n", max(span.start, span.end - 1) + margin)
            end = len(text) if stop < 0 else stop
        text = "".join([*pieces, text[end:]])
    return text


def _get_margins() -> Iterator[int]:
    """Yield the number of characters to redact around each secret, for each pass.

    A redaction may reveal another secret. Only crafted text does so repeatedly: to end soon, the
    margin then doubles with each pass.
    """
    yield from repeat(0, _MAX_PASSES)
    yield from (32 << more for more in count())
