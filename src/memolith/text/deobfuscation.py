"""Undo obfuscation: fold look-alike letters, decode escapes and remove markup."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Letters of other scripts that look like Latin ones in common typefaces, from the "confusables"
# table of Unicode Technical Standard 39.
_LOOK_ALIKES: Final = dict(
    zip(
        map(ord, "аеіоурсхѕјһԁɡԛԝӏвкмнтѵɩαοινκρτυχωεηԍԏցոսհӧı"),
        "aeioypcxsjhdgqwlbkmhtviaoivkptuxwenglgnuhoi",
        strict=True,
    )
)
# Hangul fillers and the empty Braille pattern, which Unicode categorises as letters and a symbol.
_BLANKS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_MAX_CACHED_CODE: Final = 0x3000
_UNSPACED: Final = range(0x3000, 0xD800)


class _FoldingTable(dict[int, str]):
    """Maps characters to their folded form, computed at first use."""

    def __missing__(self, code: int) -> str:
        folded = _fold_char(code)
        if code < _MAX_CACHED_CODE:
            self[code] = folded
        return folded


def _fold_char(code: int) -> str:
    """Return a character in lower case, without marks, as the Latin letter it looks like."""
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

    Blank characters become spaces. Cyrillic and Greek letters become the Latin letters they look
    like, so that the result is for comparison, not for reading. Linear in the length.
    """
    return text.lower() if text.isascii() else text.translate(_FOLDING_TABLE)


# --- Escapes and markup


# Limited in length, since `html.unescape` fails on numbers with thousands of digits.
_ENTITY = re.compile(r"&#?\w{1,32};?")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")

_MARK = re.compile(r"[-_+*~<\u2010-\u2015]")
_INLINE_TAG = re.compile(r"</?(?:b|i|u|s|em|strong|mark|small|span|font|code)(?:\s[^<>]{0,80})?>")
# A field name of two words, as in code, is no heading.
_FIELD_NAME = re.compile(r"^(\W{0,6}[^\W_]++)_([^\W_]++\s?:)", re.MULTILINE)
_EMPHASIS = re.compile(r"\*+|~~+")
# Begins with a character set, which is fastest to search. Text after a slash inside a word is a URL
# or a path, where hyphens belong to names, so that it is kept.
_JOINT = re.compile(
    r"[-_+/\u2010-\u2015](?:(?<=[\w:]/)(?P<path>\S+)"
    r"|(?<=[^\W_][-_+\u2010-\u2015])[-_+\u2010-\u2015]*+(?=[^\W_]))"
)


_MAX_WORD_CHARS = 31
_JOINT_BEHIND = re.compile(r"[^\W_]{1,30}[-_+\u2010-\u2015]")
_JOINT_BEFORE = re.compile(r"[-_+\u2010-\u2015][^\W_]{1,30}$")


def decode_escapes(text: str) -> str:
    """Return a text with HTML entities and percent-encoding decoded. Linear."""
    if "&" in text:
        text = _ENTITY.sub(lambda found: _unescape_entity(found[0]), text)
    if "%" in text:
        text = _PERCENT.sub(lambda found: _decode_percent(found[0]), text)
    return text


def _decode_percent(escaped: str) -> str:
    return bytes.fromhex(escaped.replace("%", "")).decode(errors="replace")


def _unescape_entity(entity: str) -> str:
    from html import unescape  # deferred: it imports a table of 2,231 names

    return unescape(entity)


def remove_markup(text: str) -> str:
    """Return a folded text without emphasis, and with spaces between three or more joined words.

    Removes emphasis of Markdown and HTML. Words may be joined by hyphens, underscores and plus
    signs, but not in URLs and paths. Linear.
    """
    if not _MARK.search(text):
        return text
    text = _FIELD_NAME.sub(r"\1\2", _EMPHASIS.sub("", _INLINE_TAG.sub("", text)))
    return _JOINT.sub(_split_joint, text).replace("_", "")


def _split_joint(joint: re.Match[str]) -> str:
    """Return a space for a joint in three or more words; two form a compound, as "prompt-based"."""
    text, start = joint.string, joint.start()
    is_one_of_many = (
        _JOINT_BEHIND.match(text, joint.end()) is not None
        or _JOINT_BEFORE.search(text[max(0, start - _MAX_WORD_CHARS) : start]) is not None
    )
    return " " if is_one_of_many and not joint["path"] else joint[0]
