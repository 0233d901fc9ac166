"""Payment cards: by length, network and check digit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memolith.domain.items import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MIN_CARD_DIGITS = 13
MAX_CARD_DIGITS = 19

# Groups of digits, each one separator from the next. What a plus, a letter or a decimal point
# stands before or a letter behind is a phone number, an id or a fraction. Each is looked at once:
# that a letter follows is seen afterwards, or every group of a long run would be a new beginning.
_SEPARATOR = "[ \u00a0\u2007\u2009\u202f\\-\u2010-\u2013]"
_GROUPS = rf"(?:\d{{4}}(?:\.\d{{4}}(?!\d)){{3,}}+|\d++(?:{_SEPARATOR}\d++)*+)"
_RUN = re.compile(rf"(?<![\w+])(?<!\d\.){_GROUPS}")
_BEHIND_POINT = re.compile(rf"\.({_GROUPS})")
_WORD = re.compile(r"\w")
_GROUP = re.compile(r"\d+")
_GROUP_SIZE = 4
_MAX_GROUPS = 5
_OTHER_GROUPS = ([6, 5], [6, 4])

# First digits and lengths of the networks (ISO/IEC 7812, as the networks publish them): Visa;
# Mastercard; American Express; Diners Club; JCB; Mir; RuPay; Troy; then Maestro, Discover,
# UnionPay and RuPay, whose ranges lie among each other.
_NETWORKS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}"
    r"|(?:30[0-5]|3095|3[689])\d{10,16}"
    r"|35(?:2[89]|[3-8]\d)\d{12,15}"
    r"|(?:220[0-4]|8[12]\d\d|9792)\d{12,15}"
    r"|(?:5[0678]|6\d)\d{11,17}"
)


def find_cards(text: str) -> Iterator[Span]:
    """Yield the stretches that are payment card numbers, in order; they do not overlap.

    13 to 19 digits in one piece, or as printed: groups of four (the last of any length), or
    4-6-5 and 4-6-4; of a known network; and the check digit (Luhn) fits. Of other numbers of that
    length one in ten passes the check, and of those few begin as a card does.
    """
    run = _RUN.search(text)
    while run is not None:
        start, end = run.span(run.lastindex or 0)
        last: Span | None = None
        if end - start >= MIN_CARD_DIGITS and _WORD.match(text, end) is None:
            for last in _find_in_run(text, start, end):
                yield last
        # A point behind a card ends a sentence, and begins no fraction.
        behind = _BEHIND_POINT.match(text, end) if last and last.end == end else None
        run = behind or _RUN.search(text, end)


def _find_in_run(text: str, start: int, end: int) -> Iterator[Span]:
    groups = [Span(each.start(), each.end()) for each in _GROUP.finditer(text, start, end)]
    first = 0
    while first < len(groups):
        last = _find_card_end(text, groups, first)
        if last is not None:
            yield Span(groups[first].start, groups[last].end)
        first = first + 1 if last is None else last + 1


def _find_card_end(text: str, groups: Sequence[Span], first: int) -> int | None:
    """Return the last group of the longest card that begins with a group."""
    sizes = [group.end - group.start for group in groups[first : first + _MAX_GROUPS]]
    for count in range(_count_printed_groups(sizes), 0, -1):
        if MIN_CARD_DIGITS <= sum(sizes[:count]) <= MAX_CARD_DIGITS:
            digits = "".join(group.extract(text) for group in groups[first : first + count])
            if is_card(digits):
                return first + count - 1
    return None


def _count_printed_groups(sizes: Sequence[int]) -> int:
    """Return of how many groups a card may be that begins with groups of these sizes."""
    if sizes[0] != _GROUP_SIZE:
        return 1
    if sizes[1:3] in _OTHER_GROUPS:
        return 3
    same = next((place for place, size in enumerate(sizes) if size != _GROUP_SIZE), len(sizes))
    return min(same + 1, len(sizes))


def is_card(digits: str) -> bool:
    """Tell whether digits of a card's length begin and end as a card's number does."""
    plain = "".join(str(int(each)) for each in digits)
    return _NETWORKS.fullmatch(plain) is not None and _is_luhn_valid(plain) and len(set(plain)) > 1


def _is_luhn_valid(digits: str) -> bool:
    """Tell whether the check digit fits (ISO/IEC 7812-1, annex B)."""
    doubled = [sum(divmod(2 * int(each), 10)) for each in digits[-2::-2]]
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0
