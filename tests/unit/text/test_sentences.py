"""Sentences, by example."""

import pytest

from memolith.text.segmentation import sentences
from support.rows import check_each


def split(text: str) -> list[str]:
    return [span.extract(text) for span in sentences(text)]


@check_each(
    "expected",
    [
        ["I like tea.", "Do you?", "No!"],
        ["my name is anna.", "i live in oslo."],
        ["Dr. Smith met Mrs. Jones.", "They talked."],
        ["He lives in the U.S. and works a lot.", "She does not."],
        ["She moved to the U.S.", "He stayed."],
        ["Take fruit, e.g. apples, i.e. what grows here.", "Eat."],
        ["Das ist z. B. im Haus so, d. h. hier.", "Gut."],
        ["Siehe Nr. 5 und S. 12.", "Danke."],
        ["No.", "I won't."],
        ["See no. 5 on p. 12.", "Thanks."],
        ["J. K. Rowling wrote it.", "Good."],
        ["I saw George W. Bush.", "He waved."],
        ["It was I.", "She knew."],
        ["I take vitamin C.", "It helps."],
        ["It costs 3.50 today.", "Version 1.2.3 is out."],
        ["Am 3. Mai kam er.", "Am 12. 5. ging er."],
        ["Er ist der 3. Mann im Haus.", "Gut."],
        ["Er wurde 3. in der Wertung.", "Gut."],
        ["I turned 30.", "She turned 31."],
        ["Acme Inc. is big.", "I work at Acme Inc.", "It is big."],
        ["Wait... what?", "Well...", "Yes."],
        [
            "Ludwig XIV. regierte lange.",
            "Heinrich II. von Celle nicht.",
            "Das war Teil III.",
            "Aus.",
        ],
        ["J.R.R. Tolkien wrote it.", "A.A. Milne did not."],
        ["Siehe S. 12 ff. im Buch, u. Abb. 3 u. Tab. 2.", "Danke."],
        ["Er wohnt in der Hauptstr. 5 in Celle.", "Sie nicht."],
        ["Sie kosten 5 Mio. Euro zzgl. MwSt. im Jahr.", "Viel."],
        ["Am 24.12. kommt er.", "Es gilt bis zum 31.12.", "Danach nicht."],
        ["Das war 44 v. Chr. in Rom.", "Gut."],
        ["Dec. is cold, Est. 1999 is old.", "Nov. 3 is fine."],
        ["It was so.[1]", "Then it was not.[12]", "Good."],
        ["Der 2. Weltkrieg begann im 20. Jahrhundert.", "Am 1. Mai ist frei."],
        ["Open config.yaml.", "Use Node.js or ASP.NET today."],
        ["He has a Ph.D. in physics.", "She got it at 5 p.m. on Monday."],
        ["See https://a.example/b?c=d.e for more.", "Ok."],
        ['"Really?" she said.', '"Yes."', "(He nodded.)", "Then he left."],
        ["What?!", "No!!!"],
        ["Call Max.", "He waits."],
        ["我喜欢茶。", "你呢？", "好！"],
        ["「はい。」", "と言った。"],
        ["यह अच्छा है।", "हाँ।"],
        ["هل أنت بخير؟", "نعم."],
    ],
)
def test_sentences_end_at_their_marks(expected: list[str]) -> None:
    text = "".join(expected) if expected[0][-1] in "。」" else " ".join(expected)
    assert split(text) == expected


def test_headings_and_list_items_are_own_sentences() -> None:
    text = "# A heading\n\n- one item. More.\n  - two\n1. first\n2. second\nlast"
    assert split(text) == [
        "# A heading", "- one item.", "More.", "- two", "1. first", "2. second", "last",
    ]  # fmt: skip


def test_code_is_split_only_at_lines() -> None:
    text = "Look. Here:\n```\na = 1. + 2. ; b\n  c. d\n```\nEnd. Bye."
    assert split(text) == [
        "Look.", "Here:", "```", "a = 1. + 2. ; b", "c. d", "```", "End.", "Bye.",
    ]  # fmt: skip


@check_each("text", ["", " ", "\n\n \t"])
def test_blank_text_has_no_sentences(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "unit", ["a. ", "1. ", ". ", "U.S. ", "a", "\n", "```\n", "\n```x", '."'], ids=repr
)
def test_long_hostile_text_is_split_in_linear_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    assert sum(span.end - span.start for span in sentences(text)) <= len(text)
