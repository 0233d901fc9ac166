"""Terms, by example."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from memolith.text.analysis import MAX_TERM_CHARS, terms
from support.rows import check_each


@check_each(
    ("text", "expected"),
    [
        ("The cats were running in the gardens", "cat run garden"),
        ("Caroline's dog, James’ cat", "carolin dog jame cat"),
        ("I don't think they'll see what's left", "think see left"),
        ("7 days in 2023, 3.5 km or 3,5 km", "7 day 2023 3.5 km 3.5 km"),
        ("1,250,000.50 people at 10:30 on 2023-05-07", "1250000.50 peopl 10:30 2023 05 07"),
        ("the US and U.S., IT, who and WHO", "us us it who"),
        ("C++ and C# or C", "c++ c c# c c"),
        ("user_id in v1.2 of node.js", "user_id user id v1.2 v1 2 node.js node js"),
        ("e-mail anna@example.com", "e mail anna example.com exampl com"),
        ("O'Brien", "obrien o brien"),
        ("__init__ and _", "__init__ init"),
        ("café naïve CAFÉ", "cafe naiv cafe"),
        ("Männer, Häuser, Straße, STRASSE", "mann haus strass strass"),
        ("Wohnungen freundliche Wohnung", "wohnung freundlich wohnung"),
        ("ёлка ёлки", "елк елк"),
        ("ｆｕｌｌ１２ x²", "full12 x2"),
        ("我喜欢茶", "我喜 喜欢 欢茶 我 喜 欢 茶"),
        ("茶", "茶"),
        ("東京tower2へ行く", "東京 東 京 tower2 へ行 行く 行"),
        ("ภาษา", "ภา าษ ษา"),
        ("고양이를 물", "고양 양이 이를 물"),
        ("हिन्दी", "हिन्दी"),
        ("می\u200cخواهم", "میخواهم"),
        ("tea 👍", "tea"),
        ("50 % of $5", "50 5"),
    ],
)
def test_text_is_analysed_into_terms(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@check_each(
    ("text", "expected"),
    [
        ("to be or not to be", "to be or not to be"),
        ("The Who", "the who"),
        ("👍🏽 ¶ →", "👍 🏽 ¶ →"),
        ("?!", "? !"),
        ("", ""),
        ("\u200b", ""),
        ("__", "__"),
    ],
)
def test_text_without_terms_is_indexed_by_its_tokens(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@check_each(
    ("query", "text"),
    [
        ("茶", "我每天喝茶"),
        ("東京", "先週、東京タワーに行った"),
        ("猫", "猫が好きです"),
        ("ไทย", "ฉันพูดภาษาไทยได้"),
        ("고양이", "우리 고양이를 봤어요"),
        ("Paris", "We’re in Paris’s old town"),
        ("getUserName", "call getUserName() twice"),
        ("c++", "(C++)"),
        ("zürich", "ZÜRICH"),
        ("bücher", "Das Buch"),
    ],
)
def test_query_terms_match_text_with_word(query: str, text: str) -> None:
    assert set(terms(query)) <= set(terms(text))


def test_overlong_term_is_truncated() -> None:
    assert terms("A" * 1_000_000) == ["a" * MAX_TERM_CHARS]
    assert all(len(term) <= MAX_TERM_CHARS for term in terms("9" * 100 + " " + "ä1" * 100))


def test_concurrent_threads_get_same_terms() -> None:
    words = [f"{stem}{i}ings connections running Wohnungen" for i in range(300) for stem in "abc"]
    expected = list(map(terms, words))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, words)) == expected


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["a_", "a.", "a'", "1,", "+", "茶", "é", "_", "don't ", "a#"])
def test_hostile_megabyte_is_analysed_in_linear_time(unit: str) -> None:
    assert terms(unit * (1_000_000 // len(unit)))
