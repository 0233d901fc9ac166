"""Stored text cannot control the terminal."""

import json
import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memolith.cli.output import StreamEscaper, escape_controls, escape_json, to_one_line
from support.rows import check_each

ANY_TEXT = st.text(st.characters() | st.sampled_from("\x1b\x9b\x07\r\n\t\u202e\u2066\ufeff\ud800"))


def find_harmful_characters(text: str) -> list[str]:
    kinds = {character: unicodedata.category(character) for character in text}
    turning = {"\u061c", "\u200e", "\u200f"}
    return [
        character
        for character, kind in kinds.items()
        if character not in "\n\t"
        and (
            kind in ("Cc", "Cs", "Zl", "Zp")
            or "\u202a" <= character <= "\u202e"
            or character in turning
        )
    ]


@given(ANY_TEXT)
def test_escaping_removes_every_harmful_character(text: str) -> None:
    assert not find_harmful_characters(escape_controls(text))
    assert not find_harmful_characters(escape_json(text))
    escape_controls(text).encode()


@given(ANY_TEXT)
def test_escaping_twice_equals_escaping_once(text: str) -> None:
    assert escape_controls(escape_controls(text)) == escape_controls(text)


@given(ANY_TEXT)
def test_to_one_line_returns_at_most_one_line(text: str) -> None:
    assert len(to_one_line(text).splitlines()) <= 1


@given(ANY_TEXT)
def test_escaped_json_parses_to_the_same_value(text: str) -> None:
    assert json.loads(escape_json(json.dumps([text], ensure_ascii=False))) == [text]


@check_each(
    ("text", "expected"),
    [
        ("plain ä 漢字 🎉", "plain ä 漢字 🎉"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\x9b31m", "a\\x9b31m"),
        ("safe\u202egpj.exe", "safe\\u202egpj.exe"),
        ("one\r\ntwo\rthree", "one\ntwo\\x0dthree"),
        ("half \ud83d", "half \\ud83d"),
        ("a\U000e0041b", "a\\ue0041b"),
    ],
)
def test_control_characters_are_escaped(text: str, expected: str) -> None:
    assert escape_controls(text) == expected


@given(text=ANY_TEXT, cuts=st.lists(st.integers(0, 40)))
def test_streamed_text_is_escaped_like_the_whole_text(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    chunks = StreamEscaper()
    shown = "".join(chunks.feed(text[start:end]) for start, end in pairwise(places))
    assert shown + chunks.flush() == escape_controls(text)


@check_each(
    ("chunks", "shown"),
    [
        (["a\r", "\nb"], "a\nb"),
        (["a\r", "b"], "a\\x0db"),
        (["\x1b", "[2J"], "\\x1b[2J"),
        (["\ud83d", "\ude00"], "\U0001f600"),
        (["\ud83d", "x"], "\\ud83dx"),
        (["end\ud83d"], "end\\ud83d"),
    ],
)
def test_stream_escaper_buffers_ambiguous_characters_at_piece_ends(
    chunks: list[str], shown: str
) -> None:
    escaper = StreamEscaper()
    assert "".join(map(escaper.feed, chunks)) + escaper.flush() == shown
