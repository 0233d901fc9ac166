"""Stored text can't do anything to a terminal."""

import json
import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memolith.cli.output import StreamEscaper, escape_controls, escape_json, to_one_line
from support.rows import check_each

ANY_TEXT = st.text(st.characters() | st.sampled_from("\x1b\x9b\x07\r\n\t\u202e\u2066\ufeff\ud800"))


def harmful(text: str) -> list[str]:
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
def test_nothing_harmful_is_left(text: str) -> None:
    assert not harmful(escape_controls(text))
    assert not harmful(escape_json(text))
    escape_controls(text).encode()


@given(ANY_TEXT)
def test_making_visible_twice_changes_nothing(text: str) -> None:
    assert escape_controls(escape_controls(text)) == escape_controls(text)


@given(ANY_TEXT)
def test_one_line_is_one_line(text: str) -> None:
    assert len(to_one_line(text).splitlines()) <= 1


@given(ANY_TEXT)
def test_escaped_json_means_the_same(text: str) -> None:
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
def test_what_would_act_is_written_out(text: str, expected: str) -> None:
    assert escape_controls(text) == expected


@given(text=ANY_TEXT, cuts=st.lists(st.integers(0, 40)))
def test_a_text_in_pieces_is_shown_as_it_would_be_whole(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    pieces = StreamEscaper()
    shown = "".join(pieces.feed(text[start:end]) for start, end in pairwise(places))
    assert shown + pieces.flush() == escape_controls(text)


@check_each(
    ("pieces", "shown"),
    [
        (["a\r", "\nb"], "a\nb"),
        (["a\r", "b"], "a\\x0db"),
        (["\x1b", "[2J"], "\\x1b[2J"),
        (["\ud83d", "\ude00"], "\U0001f600"),
        (["\ud83d", "x"], "\\ud83dx"),
        (["end\ud83d"], "end\\ud83d"),
    ],
)
def test_what_a_pieces_end_may_mean_is_held_back(pieces: list[str], shown: str) -> None:
    told = StreamEscaper()
    assert "".join(map(told.feed, pieces)) + told.flush() == shown
