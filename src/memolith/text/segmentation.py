"""Segment text into code and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memolith.domain.memories import Span
from memolith.text.lexicon.language import word_set

# CommonMark, "Fenced code blocks": at most three spaces, three or more of one mark, and no
# backtick after a fence of backticks.
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]+`")
_VISIBLE = re.compile(r"[^\n]")


def code_blocks(text: str) -> list[Span]:
    """Return the fenced blocks in order, fences included; an unclosed block extends to the end.

    The line end after a block is not part of it.
    """
    blocks: list[Span] = []
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence if _is_opening_fence(fence) else None
        elif _is_matching_fence(fence, opening[1]):
            blocks.append(Span(opening.start(), fence.end()))
            opening = None
    if opening is not None:
        blocks.append(Span(opening.start(), len(text)))
    return blocks


def get_opening_fence(line: str) -> str | None:
    """Return the marks of a line that opens a fenced block; None for other lines."""
    fence = _FENCE.match(line)
    return fence[1] if fence is not None and _is_opening_fence(fence) else None


def is_closing_fence(line: str, opening: str) -> bool:
    """Return whether a line closes a block opened with these marks."""
    fence = _FENCE.match(line)
    return fence is not None and _is_matching_fence(fence, opening)


def _is_opening_fence(fence: re.Match[str]) -> bool:
    return fence[1][0] == "~" or "`" not in fence[2]


def _is_matching_fence(fence: re.Match[str], opening: str) -> bool:
    return fence[1].startswith(opening) and not fence[2].strip(" \t")


def mask_code(text: str) -> str:
    """Return the text with code replaced by spaces; all other positions stay the same."""
    if "`" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    end = 0
    for block in code_blocks(text):
        pieces += [
            _INLINE.sub(_blank_out, text[end : block.start]),
            _VISIBLE.sub(" ", block.extract(text)),
        ]
        end = block.end
    pieces.append(_INLINE.sub(_blank_out, text[end:]))
    return "".join(pieces)


def _blank_out(match: re.Match[str]) -> str:
    return " " * len(match[0])


# --- Sentences


_LINE = re.compile(r"[^\n\u2028\u2029]+")

# A mark ends a sentence before white space or a line end; in scripts without spaces, anywhere.
# Closing quotes, brackets and footnote numbers after the mark belong to the sentence.
_CLOSING = r"(?:[\"'”’“‘»›)\]}*_」』）】〉》]|\[\d{1,3}\])*"
_SENTENCE_END = re.compile(rf"(?:[.!?…؟۔।։။።]+(?P<closed>{_CLOSING})(?=\s|$)|[。！？｡]+{_CLOSING})")

# Abbreviations that end no sentence: always; before a number; before a lower-case letter. From
# general knowledge of both languages: a guess at frequent ones.
_ABBREVIATION_LISTS = (
    """
    dr mr mrs ms mx prof rev hon st gen col capt lt sgt gov sen rep vs cf viz al eds approx ca
    e.g i.e eg ie mt cmdr dipl ing hr hl
    z.b d.h u.a o.ä u.ä i.d.r v.a s.o s.u bzw evtl ggf inkl exkl zzgl sog vgl zb bspw allg geb
    mwst mio mrd tsd u chr
    """,
    """
    no nos nr vol fig figs p pp art sec ch eq tel ext abs bd str s kap abb tab bj est
    jan feb mar apr jun jul aug sept sep oct nov dec okt dez
    """,
    """
    inc ltd corp co jr sr etc usw est dept univ min max std u.s u.k a.m p.m ave blvd rd jun sen ff
    jan feb apr jul aug sept okt oct nov dez dec
    """,
)
_ABBREVIATIONS, _ABBREVIATIONS_BEFORE_NUMBER, _ABBREVIATIONS_BEFORE_LOWERCASE = map(
    word_set, _ABBREVIATION_LISTS
)
_GERMAN_MONTHS = (
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
)
_ORDINAL_FOLLOWER = re.compile(rf"\s+(?:[a-zäöüß]|(?:{_GERMAN_MONTHS}|\d{{1,2}}\.)(?!\w))")
_CHRIST_FOLLOWER = re.compile(r"\s+Chr\b")
_STREET = re.compile(r"\w{2,}str$", re.IGNORECASE)
_DAY_AND_MONTH = re.compile(r"\d{1,2}\.\d{1,2}$")
_ROMAN = re.compile(r"[IVX]{2,}$")
_INITIALS = re.compile(r"(?:[^\W\d_a-z]\.)+[^\W\d_a-z]$")
_ORDINAL_LEADER = re.compile(
    r"(?:^|\s)(?:am|vom|zum|beim|im|ab|bis|der|die|das|den|dem|des|ein|eine)\s+\d{1,3}$",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"[^\s(\[{\"'„“‚‘«»]*$")
_LIST_NUMBER = re.compile(r"\s*(?:\d{1,3}|[A-Za-z])$")
_INITIAL = re.compile(r"(?:^|\s)[^\W\d_]\.$")
_NEXT_CHARS = re.compile(r"\s+(\S)(\S?)")

# Longer words are no abbreviations. The limit keeps looking back cheap.
_LOOK_BACK = 40


def sentences(text: str) -> list[Span]:
    """Return the sentences in order, as non-overlapping spans without surrounding white space.

    They cover all text except white space. A line end also ends a sentence, so that list items and
    headings are separate. In fenced code blocks, only line ends count.
    """
    spans: list[Span] = []
    code = code_blocks(text)
    at = 0
    for line in _LINE.finditer(text):
        while at < len(code) and code[at].end < line.end():
            at += 1
        if at < len(code) and code[at].start <= line.start():
            ends: list[int] = [line.end()]
        else:
            ends = [*sentence_ends(text, line.start(), line.end()), line.end()]
        start = line.start()
        for end in ends:
            spans.extend(strip_span(text, start, end))
            start = end
    return spans


def strip_span(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the range without surrounding white space, or nothing if nothing is left."""
    piece = text[start:end]
    if stripped := piece.lstrip():
        begin = end - len(stripped)
        yield Span(begin, begin + len(stripped.rstrip()))


def sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the ends of sentences within a range, in order, except for the end of the range.

    Line ends count as white space here, since paragraphs may be hard-wrapped.
    """
    for mark in _SENTENCE_END.finditer(text, start, end):
        if mark.end() < end and _is_sentence_end(text, start, end, mark):
            yield mark.end()


def _is_sentence_end(text: str, start: int, end: int, mark: re.Match[str]) -> bool:
    after = text[mark.end() : min(end, mark.end() + _LOOK_BACK)]
    if mark["closed"] and _is_lowercase_start(after):
        return False  # "Really?" she said.
    if mark[0][:1] != "." or mark[0].startswith(".."):
        return not (mark[0].startswith(("..", "…")) and _is_lowercase_start(after))
    return not _is_abbreviation_point(
        text[max(start, mark.start() - _LOOK_BACK) : mark.start()], after
    )


def _is_lowercase_start(after: str) -> bool:
    following = _NEXT_CHARS.match(after)
    return following is not None and following[1].islower()


def _is_abbreviation_point(before: str, after: str) -> bool:
    """Return whether a point after `before` belongs to an abbreviation, initial or ordinal."""
    last = _LAST_WORD.search(before)
    word = last[0] if last else ""
    if _is_abbreviation(word.lower(), _NEXT_CHARS.match(after)):
        return True
    if _DAY_AND_MONTH.match(word) or _ROMAN.match(word):
        return _is_lowercase_start(after)  # "am 24.12. abends", "Ludwig XIV. regierte"
    if word.isdigit():
        return (
            _LIST_NUMBER.fullmatch(before) is not None
            or _ORDINAL_FOLLOWER.match(after) is not None
            or _ORDINAL_LEADER.search(before) is not None
        )
    return len(word.rsplit(".", 1)[-1]) == 1 and _is_initial(before, word, after)


def _is_abbreviation(lower: str, following: re.Match[str] | None) -> bool:
    if lower in _ABBREVIATIONS:
        return True
    if following is None:
        return False
    if following[1].isdigit():
        return lower in _ABBREVIATIONS_BEFORE_NUMBER or _STREET.match(lower) is not None
    return lower in _ABBREVIATIONS_BEFORE_LOWERCASE and following[1].islower()


def _is_initial(before: str, word: str, after: str) -> bool:
    """Return whether a single letter before a point is an initial: "J. K. Rowling", "z. B."."""
    following = _NEXT_CHARS.match(after)
    if not word[-1].isalpha() or following is None:
        return False
    previous = before[: -len(word)].rstrip()
    if following[2] == "." or _INITIAL.search(previous):
        return True
    if _INITIALS.match(word) and (not previous or previous.endswith((".", "!", "?"))):
        return True  # "J.R.R. Tolkien": initials alone are no sentence
    if word in {"v", "n"} and _CHRIST_FOLLOWER.match(after):
        return True
    if word[-1].islower() or "." in word:
        return following[1].islower()
    return word != "I" and (not previous or _has_trailing_name(previous))


def _has_trailing_name(previous: str) -> bool:
    last = _LAST_WORD.search(previous)
    return last is not None and last[0][:1].isupper()
