"""Folding: one plain form of what is written to look the same."""

from __future__ import annotations

import unicodedata
from typing import Final

# Letters of other scripts that look like Latin ones: those of the "confusables" table of Unicode
# Technical Standard 39 whose likeness holds in common typefaces.
_LOOK_ALIKES: Final = dict(
    zip(
        map(ord, "аеіоурсхѕјһԁɡԛԝӏвкмнтѵɩαοινκρτυχωεηԍԏցոսհӧı"),
        "aeioypcxsjhdgqwlbkmhtviaoivkptuxwenglgnuhoi",
        strict=True,
    )
)
# Hangul fillers and the empty Braille pattern: by their categories a letter and a sign.
_BLANKS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_MAX_CACHED_CODE: Final = 0x3000
_UNSPACED: Final = range(0x3000, 0xD800)


class _FoldingTable(dict[int, str]):
    """What each character becomes, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = _fold_char(code)
        if code < _MAX_CACHED_CODE:
            self[code] = folded
        return folded


def _fold_char(code: int) -> str:
    """Return a character without marks, in lower case, as the Latin letter it looks like."""
    if chr(code) in _BLANKS:
        return " "
    if code in _UNSPACED:
        return chr(code)
    plain = unicodedata.normalize("NFKD", chr(code)).casefold()
    return "".join(
        _LOOK_ALIKES.get(ord(c), c)
        for c in plain
        if not unicodedata.category(c).startswith(("M", "Cf"))
    )


_FOLDING_TABLE: Final = _FoldingTable()


def fold(text: str) -> str:
    """Return a text in lower case, without accents and invisible letters, in Latin letters.

    What is as empty as a space becomes one. Cyrillic and Greek letters that look like Latin ones
    become those, so that the result is for comparing, not for reading. Linear in the length.
    """
    return text.lower() if text.isascii() else text.translate(_FOLDING_TABLE)
