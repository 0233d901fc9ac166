"""Where secrets stand in a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import chain, islice
from typing import TYPE_CHECKING

from memolith.domain.items import Span
from memolith.text.secrets.assignments import find_assignments
from memolith.text.secrets.cards import find_cards
from memolith.text.secrets.connections import find_connection_passwords
from memolith.text.secrets.keys import find_private_keys
from memolith.text.secrets.shapes import AWS_SECRET, SECRET_SHAPES, is_random
from memolith.text.secrets.values import REDACTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["REDACTED", "find_secrets"]

_REDACTION_MARK = re.compile(re.escape(REDACTED))


def find_secrets(text: str) -> tuple[Span, ...]:
    """Return where secrets stand in a text, in order, none overlapping or touching another.

    Linear in the length of the text.
    """
    lower = text.lower()
    found = chain(
        _find_shaped(text, lower),
        find_private_keys(text),
        find_connection_passwords(text),
        find_assignments(text, lower),
        find_cards(text),
    )
    return tuple(_join_spans(_exclude_redacted(text, found)))


def _find_shaped(text: str, lower: str) -> Iterator[Span]:
    for shape in SECRET_SHAPES:
        if shape.trigger in lower:
            group = "secret" if "secret" in shape.regex.groupindex else 0
            for match in shape.regex.finditer(text):
                if shape.accept is None or shape.accept(match[group]):
                    yield Span(*match.span(group))
    if "akia" in lower or "asia" in lower:
        yield from _find_aws_secrets(text)


def _find_aws_secrets(text: str) -> Iterator[Span]:
    if SECRET_SHAPES[0].regex.search(text) or SECRET_SHAPES[1].regex.search(text):
        for match in AWS_SECRET.finditer(text):
            if is_random(match[0]):
                yield Span(*match.span())


def _exclude_redacted(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield what of the spans is not redacted already."""
    marks = [match.span() for match in _REDACTION_MARK.finditer(text)]
    if not marks:
        yield from spans
        return
    starts = [start for start, _ in marks]
    for span in spans:
        begin = span.start
        first = max(0, bisect_right(starts, span.start) - 1)
        for start, end in islice(marks, first, None):
            if start >= span.end:
                break
            if _has_text(text, begin, start):
                yield Span(begin, start)
            begin = max(begin, end)
        if _has_text(text, begin, span.end):
            yield Span(begin, span.end)


def _has_text(text: str, start: int, end: int) -> bool:
    return start < end and any(c.isalnum() for c in text[start:end])


def _join_spans(spans: Iterable[Span]) -> Iterator[Span]:
    last: Span | None = None
    for span in sorted(spans, key=lambda each: each.start):
        if last is None:
            last = span
        elif span.start <= last.end:
            last = Span(last.start, max(last.end, span.end))
        else:
            yield last
            last = span
    if last is not None:
        yield last
