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

NOT_TOLD = 10
"""How many of the junk may pass for good: those that take a parse to tell."""


def test_there_is_enough_to_judge_by() -> None:
    assert len(GOOD) >= 300
    assert len(JUNK) >= 250
    assert len({each.text for each in LABELLED}) == len(LABELLED)


@check_each("text", GOOD)
def test_a_memory_worth_keeping_is_no_junk(text: str) -> None:
    assert classify_junk(text) == {}


def test_most_junk_is_told() -> None:
    passed = [each.text for each in JUNK if not classify_junk(each.text)]
    assert len(passed) <= NOT_TOLD, passed


@check_each("label", ["fragment", "filler", "echo"])
def test_junk_is_told_as_what_it_is(label: str) -> None:
    told = [(each, classify_junk(each.text)) for each in JUNK if each.label == label]
    wrong: list[Labelled] = [each for each, found in told if found and label not in found]
    assert len(wrong) <= 1, wrong


def test_what_has_a_key_is_no_fragment() -> None:
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
def test_the_users_own_words_are_no_assistants(text: str) -> None:
    assert classify_junk(text) != {}
    assert classify_junk(text, by_user=True) == {}


def test_an_exchange_is_filler_where_both_say_nothing() -> None:
    assert classify_junk("Q: Hi!\nA: Hello! How can I help you today?") == {
        JunkKind.FILLER: "greeting"
    }
    assert classify_junk("Q: I live in Oslo.\nA: Great! Anything else?") == {}
    assert classify_junk("Q: I love it!\nA: So you prefer tea to coffee.") == {}


def test_a_name_behind_a_greeting_is_none_of_its_own() -> None:
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
def test_of_other_languages_nothing_is_said(text: str) -> None:
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
def test_a_fragment_says_why(text: str, why: str) -> None:
    assert find_fragment_reason(text) == why


def test_whole_data_is_none() -> None:
    assert find_fragment_reason('{"indent": 2, "tabs": false}') is None


def test_a_sentence_that_means_nothing_alone_is_not_learned() -> None:
    said = "I love it! I love hiking in the Alps. I love traveling too. "
    said += "They use polars, actually, so you can use it."
    made = SentenceLearning().build_memories([Message(None, said, Role.USER)])
    assert [each.content for each in made] == [
        "I love hiking in the Alps.",
        "I love traveling too.",
    ]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", [" ", " \n", ":)", "x8", "["])
def test_a_hostile_megabyte_is_judged_in_linear_time(unit: str) -> None:
    assert find_fragment_reason(f"a{unit * (1_000_000 // len(unit))}b") in (None, "cut off", "data")
