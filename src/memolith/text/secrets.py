"""Find secrets in text: by name (`password: …`, `API_KEY=…`, "my password is …") and by shape."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from memolith.domain.memories import Span
from memolith.text.secret_patterns import (
    AWS_SECRET,
    REDACTED,
    SECRET_SHAPES,
    find_cards,
    find_connection_passwords,
    find_private_keys,
    is_random,
    is_secret_after_sign,
    is_secret_after_weak_name,
    is_secret_in_prose,
    is_word,
)

__all__ = ["REDACTED", "find_secrets"]

_ANCHORS = (
    "pass", "pwd", "pw", "kennwort", "secret", "token", "key", "cred", "auth", "schlüssel",
    "contrase", "phrase", "zugangscode",
)  # fmt: skip
"""Substrings of all names. Searching for these first is many times faster than searching for
names."""

_LOOK_BACK = 40
_LOOK_AHEAD = 60
"""Maximum reach of a name before and after its anchor, in characters, with some margin."""

_KEY = r"(?:key|token|secret|schlüssel)"
_STRONG = (
    r"passw(?:or)?d|passwort|passwörter|kennwort|pass[ _-]?phrase|passcode|pwd|contraseña"
    r"|contrasena"
    r"|mot de passe|zugangscode"
    rf"|(?:api|access|auth|account|service|private|client|app|application|bot|bearer|refresh"
    rf"|session"
    rf"|security|encryption|signing|signature|master|shared|storage|subscription|secret|webhook"
    rf"|deploy"
    rf"|personal[ _-]access|license|zugriffs|lizenz)[ _-]?(?:access[ _-]?)?{_KEY}"
)
_PHRASE = r"pass[ _-]?phrase|(?:seed|recovery|backup|mnemonic)[ _-]?phrase"
_WEAK = r"tokens?|secret|pass|pw|credentials?|creds?|auth|(?<=_)key"
_WEAK_BEGIN = r"(?:(?<![A-Za-z])|(?<=[a-z])(?=(?-i:[A-Z])))"
_SUFFIX = (
    r"(?:[_ -]?(?:\d{1,3}|s|prod|production|dev|test|staging|live|main|old|new|value|key|string"
    r"|text"
    r"|hash|base|primary|secondary|backup|current|default|admin|root|id))?"
)
_NAME = re.compile(
    rf"(?:(?P<phrase>{_PHRASE})|(?P<strong>{_STRONG})|{_WEAK_BEGIN}(?P<weak>{_WEAK}))"
    rf"{_SUFFIX}(?![A-Za-z])",
    re.IGNORECASE,
)

_QUOTED = (
    r"\"(?P<d>[^\"\n]{1,4000})\"|'(?P<s>[^'\n]{1,4000})'|`(?P<b>[^`\n]{1,4000})`"
    r"|[„“](?P<g>[^“”\n]{1,4000})[“”]"
)
_BARE = r"(?P<bare>[^\s\"'`]\S{0,1000})"
_SIGN_ASSIGNMENT = re.compile(
    r"(?P<close>\\?[\"'`*\]]{0,3})(?P<before>[ \t]*)(?P<sign>:=|=>|->|→|={1,3}|!=|:|>(?! ))\**"
    rf"(?P<after>[ \t]*|\s{{0,12}})\\?(?:{_QUOTED}|[\"'`]?{_BARE})"
)
# "password for the wifi at home is …"
_PREPOSITION_PHRASE = (
    r"(?:\s+(?:for|of|to|on|at|in|für|zu|zum|zur|vom|von|bei|im|des|der)"
    r"(?:\s+[\w.'@-]{1,30}){1,5}?)?"
)
_PROSE_ASSIGNMENT = re.compile(
    rf"{_PREPOSITION_PHRASE}(?:\s*:|\s+(?:(?:(?:is|was|has been|have been|wurde|got)\s)?"
    r"(?:(?:changed|set|reset"
    r"|updated|geändert)\s)?(?P<to>to|as|auf|als|in)"
    r"|is|was|ist|war|lautet|heißt|heisst|were|are))"
    r"(?:\s+(?:now|still|just|currently|simply|always|jetzt|nun|noch|immer noch|einfach"
    r"|weiterhin))?"
    rf"\s*:?\s+(?:{_QUOTED}|{_BARE})",
    re.IGNORECASE,
)
_NEXT_VALUE = re.compile(rf"[ \t]+(?:{_QUOTED}|{_BARE})")
_REST = re.compile(
    r"[\"'`*]{0,2}(?:[ \t]*[:=][ \t]*|\s+(?:is|was|ist|lautet"
    r"|war)\s*:?\s+)[\"'`„“]?(?P<bare>[^\s\"'`][^\"'`“”\n.;]{2,400})",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"authori[sz]ation[\"']?[ \t]*[:=][ \t]*[\"']?(?:(?:basic|bearer|token|apikey|digest)[ \t]+)?"
    r"(?P<bare>[\w.~+/=:-]{8,4000}+)|bearer[ \t]+(?P<bearer>[\w.~+/-]{16,4000}+=*)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?<![\w-])(?:-u|--user)[ =][\"']?[\w.@+-]{1,64}:(?P<bare>[^\s\"'`]{3,200}+)")
_OPTION = re.compile(r"(?:^|\s)--[\w-]*$")
_MAX_OPTION_CHARS = 32
_LONG_VALUE_CHARS = 1_000
_CHECKED_CHARS = 100
_REST_OF_LONG = re.compile(r"[^\s\"'`]*+")
_NEXT_WORD = re.compile(r" [a-z]+\b")
_TAIL = ".,;:)]}>…\"'`“”"
_ENDS_SENTENCE = re.compile(r"[\"'`“”]?(?:[.!?;,)]|\s*$|\s*\n)")


def find_assignments(text: str, lower: str) -> Iterator[Span]:
    """Yield the values of secrets that follow a name; spans may overlap.

    Args:
        text: The text to search.
        lower: The text in lower case.
    """
    end = 0
    for window in _find_windows(text, lower):
        for name in _NAME.finditer(text, window.start, window.end):
            span = _find_value(text, name) if name.start() >= end else None
            if span is not None:
                end = _find_value_end(text, span)
                yield Span(span.start, end)
    if "bearer" in lower or "authori" in lower:
        yield from _find_header_values(text)
    if "-u" in lower:
        yield from _find_logins(text)


def _find_windows(text: str, lower: str) -> list[Span]:
    """Return the ranges that may contain names, in order, without overlaps."""
    if len(lower) != len(text):  # a few capitals become two characters in lower case
        return [Span(0, len(text))]
    windows: list[Span] = []
    for place in sorted(_find_anchors(lower)):
        start = max(0, place - _LOOK_BACK)
        if windows and start <= windows[-1].end:
            windows[-1] = Span(windows[-1].start, place + _LOOK_AHEAD)
        else:
            windows.append(Span(start, place + _LOOK_AHEAD))
    return windows


def _find_anchors(lower: str) -> Iterator[int]:
    for anchor in _ANCHORS:
        place = lower.find(anchor)
        while place >= 0:
            yield place
            place = lower.find(anchor, place + 1)


def _find_header_values(text: str) -> Iterator[Span]:
    for match in _HEADER.finditer(text):
        group = "bearer" if match["bare"] is None else "bare"
        if any(c.isdigit() for c in match[group]) or match[group].endswith("="):
            yield Span(*match.span(group))


def _find_logins(text: str) -> Iterator[Span]:
    for match in _LOGIN.finditer(text):
        if is_secret_after_sign(match["bare"], spaced=False):
            yield Span(*match.span("bare"))


def _find_value_end(text: str, span: Span) -> int:
    """Return the end of a value; the value pattern matches only the first thousand characters."""
    rest = (
        _REST_OF_LONG.match(text, span.end) if span.end - span.start >= _LONG_VALUE_CHARS else None
    )
    return span.end if rest is None else rest.end()


def _find_value(text: str, name: re.Match[str]) -> Span | None:
    if name["phrase"]:
        rest = _REST.match(text, name.end())
        if rest is not None and is_secret_after_sign(rest["bare"], spaced=False):
            return Span(rest.start("bare"), rest.start("bare") + len(rest["bare"].rstrip()))
        return None
    return (
        _find_signed_value(text, name)
        or _find_prose_value(text, name)
        or _find_following_value(text, name)
    )


def _find_signed_value(text: str, name: re.Match[str]) -> Span | None:
    match = _SIGN_ASSIGNMENT.match(text, name.end())
    if match is None:
        return None
    span, quoted = _trim_value(match)
    equals = "=" in match["sign"]
    if (equals or match["sign"] == ">") and not quoted:
        span = _cut_at_delimiter(text, span)
    value = _get_prefix(text, span)
    if "\n" in match["after"]:
        return span if is_secret_in_prose(value) and not equals else None
    if name["weak"]:
        is_adjacent = equals and not match["after"]
        is_one = is_secret_after_weak_name(value, is_adjacent=is_adjacent)
        if name["weak"].lower() == "key":
            is_one = is_one and is_random(value)
        return span if is_one else None
    spaced = equals and not quoted and bool(match["before"])
    if match["sign"] == ":" and not quoted and _is_prose_start(text, span):
        return None
    return span if is_secret_after_sign(value, spaced=spaced) else None


def _is_prose_start(text: str, span: Span) -> bool:
    """Return whether a value is the first word of a sentence: "Password: Ensures that …"."""
    word = span.extract(text)
    return word.isalpha() and word.istitle() and _NEXT_WORD.match(text, span.end) is not None


def _find_prose_value(text: str, name: re.Match[str]) -> Span | None:
    match = _PROSE_ASSIGNMENT.match(text, name.end())
    if match is None or (name["weak"] and name["weak"].lower() in ("auth", "key")):
        return None
    span, quoted = _trim_value(match)
    value = _get_prefix(text, span)
    if is_secret_in_prose(value) and not (name["weak"] and value.isdigit()):
        return span
    if name["weak"] or match["to"]:
        return None
    ends = _ENDS_SENTENCE.match(text, span.end) is not None
    plain = is_secret_after_sign(value, spaced=False) if quoted else ends and is_word(value)
    return span if plain else None


def _find_following_value(text: str, name: re.Match[str]) -> Span | None:
    """Return a value directly after a name: of a command option, or similar to a password."""
    match = _NEXT_VALUE.match(text, name.end())
    if match is None:
        return None
    span, _ = _trim_value(match)
    value = _get_prefix(text, span)
    if _is_option(text, name.start()):
        return span if is_secret_after_sign(value, spaced=False) else None
    long_enough = len(value) >= 6 and any(c.isdigit() for c in value)  # noqa: PLR2004 - a guess
    if name["weak"]:
        long_enough = len(value) >= 20 and is_random(value)  # noqa: PLR2004 - a guess
    return span if long_enough and not value.isdigit() and is_secret_in_prose(value) else None


def _is_option(text: str, start: int) -> bool:
    """Return whether a name is a command-line option: `--db-password`."""
    return _OPTION.search(text[max(0, start - _MAX_OPTION_CHARS) : start]) is not None


def _get_prefix(text: str, span: Span) -> str:
    """Return the beginning of a value, which suffices to judge it; the rest may be long."""
    return text[span.start : min(span.end, span.start + _CHECKED_CHARS)]


def _trim_value(match: re.Match[str]) -> tuple[Span, bool]:
    """Return a matched value without quotes and final punctuation, and whether it was quoted."""
    for group in "dsbg":
        if match[group] is not None:
            return Span(*match.span(group)), True
    start, end = match.span("bare")
    trimmed = match["bare"].rstrip(_TAIL)
    return Span(start, start + len(trimmed) if trimmed else end), False


_DELIMITER = re.compile(r"[;&<]")


def _cut_at_delimiter(text: str, span: Span) -> Span:
    """Return a bare value up to the next parameter of a query or a connection string."""
    cut = _DELIMITER.search(text, span.start, span.end)
    if cut is None:
        return span
    trimmed = text[span.start : cut.start()].rstrip(_TAIL)
    return Span(span.start, span.start + len(trimmed))


# --- All kinds of secrets


_REDACTION_MARK = re.compile(re.escape(REDACTED))


def find_secrets(text: str) -> tuple[Span, ...]:
    """Return the spans of secrets in a text, in order; no two overlap or touch.

    Linear in the length of the text.
    """
    lower = text.lower()
    spans = chain(
        _find_shaped(text, lower),
        find_private_keys(text),
        find_connection_passwords(text),
        find_assignments(text, lower),
        find_cards(text),
    )
    return tuple(_join_spans(_exclude_redacted(text, spans)))


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
    """Yield the parts of the spans that are not yet redacted."""
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
