import pytest

from corpora.audited import Labelled, load_audited
from memolith.domain.messages import Message, Role
from memolith.policies.audit import JunkKind, classify_junk
from memolith.policies.fragments import find_fragment_reason
from memolith.policies.learning import SentenceLearning
from memolith.text.filler import classify_filler
from support.rows import check_each

LABELLED = load_audited()
GOOD = [each.text for each in LABELLED if each.label == "good"]
JUNK = [each for each in LABELLED if each.label != "good"]

MAX_UNDETECTED = 10
"""Maximum number of undetected junk texts: those that only a parser could detect."""


def test_labelled_data_is_large_enough() -> None:
    assert len(GOOD) >= 300
    assert len(JUNK) >= 250
    assert len({each.text for each in LABELLED}) == len(LABELLED)


@check_each("text", GOOD)
def test_good_memory_is_not_classified_as_junk(text: str) -> None:
    assert classify_junk(text) == {}


def test_most_junk_is_detected() -> None:
    passed = [each.text for each in JUNK if not classify_junk(each.text)]
    assert len(passed) <= MAX_UNDETECTED, passed


@check_each("label", ["fragment", "filler", "echo"])
def test_junk_has_its_own_label(label: str) -> None:
    detected = [(each, classify_junk(each.text)) for each in JUNK if each.label == label]
    wrong: list[Labelled] = [each for each, found in detected if found and label not in found]
    assert len(wrong) <= 1, wrong


def test_text_with_key_is_not_fragment() -> None:
    assert classify_junk("12") == {JunkKind.FRAGMENT: "no words"}
    assert classify_junk("12", has_key=True) == {}


@check_each(
    "text",
    [
        "Sure, here is a list of my medication.",
        "You mentioned that you would call yourself Max.",
        "You are an assistant who answers in German.",
    ],
)
def test_users_own_words_are_not_assistant_echo(text: str) -> None:
    assert classify_junk(text) != {}
    assert classify_junk(text, by_user=True) == {}


def test_exchange_is_filler_only_when_both_sides_are() -> None:
    assert classify_junk("Q: Hi!\nA: Hello! How can I help you today?") == {
        JunkKind.FILLER: "greeting"
    }
    assert classify_junk("Q: I live in Oslo.\nA: Great! Anything else?") == {}
    assert classify_junk("Q: I love it!\nA: So you prefer tea to coffee.") == {}


def test_greeting_by_name_is_filler_and_introduction_is_not() -> None:
    assert classify_filler("Hi Anna! Good to see you.") == "greeting"
    assert classify_filler("Hi, my name is Anna.") is None


@check_each(
    "text",
    [
        "我喜欢喝茶",
        "Мне нравится чай",
        "أحب الشاي",
        "J'aime le thé",
        "C'est mon but",
        "Me gusta el té",
    ],
)
def test_other_languages_are_not_classified(text: str) -> None:
    assert classify_junk(text) == {}


@check_each(
    ("text", "why"),
    [
        ("", "no words"),
        ("\n- \n", "no words"),
        ("because", "no content"),
        ("My name is", "cut off"),
        ("Ich wohne in", "cut off"),
        ("which is cheaper than the train", "begins in the middle"),
        ("They moved there", "refers to earlier text"),
        ("The blue sofa", "no predicate"),
        ('{"memory": "Likes tea"}', "data"),
        ('{"indent": 2', "data"),
    ],
)
def test_fragment_has_reason(text: str, why: str) -> None:
    assert find_fragment_reason(text) == why


def test_complete_data_is_not_fragment() -> None:
    assert find_fragment_reason('{"indent": 2, "tabs": false}') is None


def test_sentence_without_own_meaning_is_not_learned() -> None:
    text = "I love it! I love hiking in the Alps. I love traveling too. "
    text += "They use polars, actually, so you can use it."
    made = SentenceLearning().build_memories([Message(None, text, Role.USER)])
    assert [each.content for each in made] == [
        "I love hiking in the Alps.",
        "I love traveling too.",
    ]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", [" ", " \n", ":)", "x8", "["])
def test_hostile_megabyte_is_classified_in_linear_time(unit: str) -> None:
    assert find_fragment_reason(f"a{unit * (1_000_000 // len(unit))}b") in (None, "cut off", "data")
