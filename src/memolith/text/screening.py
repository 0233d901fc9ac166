"""Screening: secrets out, and whether a text tries to instruct whoever reads it.

Every text passes here before it leaves the process: for the disk, an embedder, a model, a log.
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
"""How often what was redacted is looked at again; mostly it shows no other secret. A guess."""


@dataclass(frozen=True, slots=True)
class ScreeningResult:
    """A text that may leave the process.

    Attributes:
        text: Without its secrets.
        redactions: How many were taken out.
        suspicious: Whether it tries to instruct a model.
    """

    text: str
    redactions: int = 0
    suspicious: bool = False


def screen(text: str) -> ScreeningResult:
    """Return a text without its secrets, and whether it is suspicious.

    Screening what was screened changes nothing. Linear in the length of the text.
    """
    plain, redactions = redact(text)
    return ScreeningResult(plain, redactions, is_suspicious(plain))


def redact(text: str) -> tuple[str, int]:
    """Return a text with `[REDACTED]` in the place of each secret, and how many they are.

    Secrets are API keys, tokens, private keys, passwords after their name, credentials in
    addresses, and payment card numbers. Only the secret goes; its name and what is around stay.
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
    """Return a text without the lines that hold secrets, and how many secrets they are."""
    plain, redactions = redact(text)
    return (sanitize_lines(text) if redactions else plain), redactions


def contains_secrets(text: str) -> bool:
    """Tell whether a text holds a secret."""
    return bool(find_secrets(text))


def sanitize_lines(text: str) -> str:
    """Return a text in which every line that holds a part of a secret is `[REDACTED]`."""
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
    """Yield how many characters around a secret go with it, each time a text is looked at.

    What was taken out may show another secret. What does so again and again was made to: so that
    it comes to an end soon, twice as much goes each time.
    """
    yield from repeat(0, _MAX_PASSES)
    yield from (32 << more for more in count())
