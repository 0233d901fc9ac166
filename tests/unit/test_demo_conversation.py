"""The shipped conversation has the shape its readers expect and realistic content."""

from itertools import pairwise

import pytest

from memolith.demo import DemoConversation, DemoMessage, load_conversation


@pytest.fixture(scope="module")
def conversation() -> DemoConversation:
    return load_conversation()


def get_messages(conversation: DemoConversation) -> list[DemoMessage]:
    return [message for session in conversation.sessions for message in session.messages]


def test_conversation_has_forty_exchanges_over_several_months(
    conversation: DemoConversation,
) -> None:
    assert 7 <= len(conversation.sessions) <= 9
    assert 38 <= sum(message.role == "user" for message in get_messages(conversation)) <= 48
    first, last = conversation.sessions[0].date, conversation.sessions[-1].date
    assert 120 < (last - first).days < 365


def test_message_ids_are_unique_and_name_their_session(
    conversation: DemoConversation,
) -> None:
    for session in conversation.sessions:
        expected = [f"{session.id}:{number}" for number in range(1, len(session.messages) + 1)]
        assert [message.id for message in session.messages] == expected
    ids = [session.id for session in conversation.sessions]
    assert len(set(ids)) == len(ids)


def test_user_and_assistant_alternate_and_user_begins(conversation: DemoConversation) -> None:
    for session in conversation.sessions:
        roles = [message.role for message in session.messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2)


def test_role_always_has_same_name(conversation: DemoConversation) -> None:
    assert {(message.role, message.speaker) for message in get_messages(conversation)} == {
        ("user", "Lena"),
        ("assistant", "Assistant"),
    }


def test_times_have_zone_and_increase(conversation: DemoConversation) -> None:
    times = [message.at for message in get_messages(conversation)]
    assert all(time.utcoffset() is not None for time in times)
    assert all(earlier < later for earlier, later in pairwise(times))
    for session in conversation.sessions:
        assert session.date == session.messages[0].at


def test_session_ends_within_one_hour(conversation: DemoConversation) -> None:
    for session in conversation.sessions:
        assert (session.messages[-1].at - session.date).total_seconds() < 3600


def test_contents_are_clean_and_vary_in_length(conversation: DemoConversation) -> None:
    contents = [message.content for message in get_messages(conversation)]
    assert all(content and content == content.strip() for content in contents)
    assert len(set(contents)) == len(contents)
    lengths = sorted(len(content) for content in contents)
    assert lengths[0] < 40
    assert lengths[-1] > 1500


def test_conversation_contains_code_german_and_correction(conversation: DemoConversation) -> None:
    text = "\n".join(message.content for message in get_messages(conversation))
    assert "```python" in text
    assert "Heute mal auf Deutsch" in text
    assert "the dentist is on Thursday, not Tuesday" in text


def test_questions_are_asked_after_last_message(
    conversation: DemoConversation,
) -> None:
    assert 12 <= len(conversation.questions) <= 16
    last = get_messages(conversation)[-1].at
    assert all(question.asked_at > last for question in conversation.questions)


def test_evidence_refers_to_existing_messages(conversation: DemoConversation) -> None:
    ids = {message.id for message in get_messages(conversation)}
    for question in conversation.questions:
        assert set(question.evidence) <= ids
        assert len(set(question.evidence)) == len(question.evidence)


def test_only_unanswerable_question_has_no_evidence(conversation: DemoConversation) -> None:
    for question in conversation.questions:
        assert (question.answer is None) == (not question.evidence)
    assert sum(question.answer is None for question in conversation.questions) == 1


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Where do I work now?", ["Pegelwerk"]),
        ("When was my dentist appointment in February?", ["Thursday", "27 February", "9:30"]),
        ("When did we move to the flat in Plagwitz?", ["24 May"]),
        ("When are we going kayaking with Jonas?", ["26 July", "3 August"]),
        (
            "Welches Medikament nimmt meine Mutter, und wann?",
            ["Ramipril", "5 mg", "nach dem Essen"],
        ),
        ("Who has our spare key?", ["Frau Petrenko"]),
        (
            "List all the sports I told you I do or plan to do.",
            ["bike", "half marathon", "bouldering", "kayaking"],
        ),
    ],
)
def test_evidence_contains_words_of_answer(
    conversation: DemoConversation, question: str, words: list[str]
) -> None:
    asked = next(asked for asked in conversation.questions if asked.question == question)
    contents = {message.id: message.content for message in get_messages(conversation)}
    evidence = " ".join(contents[message_id] for message_id in asked.evidence)
    assert [word for word in words if word not in evidence] == []


def test_changed_fact_is_first_stated_with_old_value(conversation: DemoConversation) -> None:
    contents = [message.content for message in get_messages(conversation)]

    def get_place(words: str) -> int:
        return next(i for i, content in enumerate(contents) if words in content)

    assert get_place("due on 14 March") < get_place("the Mulde report to 4 April")
    assert get_place("moving on Saturday, 17 May") < get_place("only moved on 24 May")
    assert get_place("from 12 to 20 July") < get_place("from 26 July to 3 August")
    assert get_place("flood forecasting office") < get_place("starting at Pegelwerk")
