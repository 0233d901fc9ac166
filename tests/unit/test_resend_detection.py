"""Detection of new turns in a history that is sent again as a whole."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.messages import Role
from memolith.policies.resend_detection import (
    build_reply_id,
    derive_session_id,
    find_last_user_text,
    find_new_turns,
    get_path,
    is_complete_reply,
    read_conversation,
)

History = list[dict[str, Any]]


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


class FakeLog:
    """The log of a service that stores new turns."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.paths: list[str] = []

    def add_request(self, history: History, reply: str) -> None:
        conversation = read_conversation("alice", history)
        for each in find_new_turns(conversation.turns, set(self.paths), is_begun=bool(self.paths)):
            if each.path not in self.paths:
                self._add(each.text, each.path)
        if conversation.reply_path not in self.paths:
            self._add(reply, conversation.reply_path)

    def _add(self, text: str, path: str) -> None:
        self.texts.append(text)
        self.paths.append(path)


words = st.text("ab \u00e9", min_size=1, max_size=3).filter(str.strip)


@given(st.lists(words, min_size=1, max_size=8), st.data())
def test_resent_turn_is_logged_once_even_with_changed_replies(
    turns: list[str], data: st.DataObject
) -> None:
    log, expected, history = FakeLog(), [], [{"role": "system", "content": "Be brief."}]
    for place, text in enumerate(turns):
        history.append(user(text))
        reply = f"reply {place}"
        for _ in range(data.draw(st.integers(1, 3))):
            log.add_request(history, reply)
        history.append(assistant(data.draw(st.sampled_from([reply, "changed", f" {reply} "]))))
        expected += [text.strip(), reply]
    assert log.texts == expected


@given(st.lists(words, min_size=1, max_size=8), st.integers(1, 4))
def test_history_without_its_beginning_adds_one_exchange_per_turn(
    turns: list[str], kept: int
) -> None:
    log, history = FakeLog(), []
    for place, text in enumerate(turns):
        history.append(user(f"{place} {text}"))
        log.add_request(history[-2 * kept + 1 :], f"reply {place}")
        history.append(assistant(f"reply {place}"))
    assert log.texts == [each["content"].strip() for each in history]


@given(st.lists(st.tuples(words, words), min_size=2, max_size=6))
def test_tool_calls_may_be_omitted_later(turns: list[tuple[str, str]]) -> None:
    log, history, short = FakeLog(), [], []
    for text, result in turns:
        call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
        history += [user(text), call, {"role": "tool", "tool_call_id": "1", "content": result}]
        short.append(user(text))
        log.add_request([*short[:-1], *history[-3:]], f"reply to {text}")
        history.append(assistant(f"reply to {text}"))
        short.append(assistant(f"reply to {text}"))
    expected = [
        each
        for text, result in turns
        for each in (text.strip(), result.strip(), f"reply to {text}")
    ]
    assert log.texts == expected


def test_turns_before_unknown_reply_are_not_logged() -> None:
    known = read_conversation("alice", [user("One."), assistant("1"), user("Two.")])
    paths = {each.path for each in known.turns[:2]}
    turns = read_conversation(
        "alice", [user("One."), assistant("1"), user("Spy."), assistant("?"), user("Three.")]
    ).turns
    assert [each.text for each in find_new_turns(turns, paths, is_begun=True)] == ["Three."]
    assert find_new_turns(turns, [], is_begun=False) == list(turns)


def test_chosen_reply_is_logged_with_next_request() -> None:
    turns = read_conversation("alice", [user("One."), assistant("1"), user("Two.")]).turns
    known = {turns[0].path}
    assert [each.text for each in find_new_turns(turns, known, is_begun=True)] == [
        "1",
        "Two.",
    ]


def test_partial_reply_is_not_logged() -> None:
    begun = read_conversation("alice", [user("One."), assistant("It is")])
    assert [each.text for each in begun.turns] == ["One."]
    assert begun.reply_path == read_conversation("alice", [user("One.")]).reply_path


def test_messages_with_different_images_are_different() -> None:
    def make_image_history(url: str) -> History:
        image = {"type": "image_url", "image_url": {"url": url}}
        return [user(""), {"role": "user", "content": [{"type": "text", "text": "What?"}, image]}]

    one, other = (
        read_conversation("alice", make_image_history(url)).reply_path
        for url in ("data:a", "data:b")
    )
    assert one != other


def test_text_in_parts_equals_plain_text() -> None:
    parts = [{"type": "text", "text": "Hi"}]
    assert derive_session_id("alice", [user("Hi")]) == derive_session_id(
        "alice", [{"role": "user", "content": parts}]
    )


def test_conversations_differ_by_owner_and_first_message() -> None:
    system = {"role": "system", "content": "Today is Monday."}
    mine = derive_session_id("alice", [user("Hi"), assistant("Hello")])
    assert mine == derive_session_id("alice", [system, user("Hi")])
    assert mine != derive_session_id("bob", [user("Hi")])
    assert mine != derive_session_id("alice", [user("Hey")])


def test_single_name_is_owner_and_other_names_are_participants() -> None:
    alone = read_conversation("u1", [user("Hi", name="Alice")]).turns
    assert [(each.role, each.speaker) for each in alone] == [(Role.USER, None)]
    several = read_conversation("alice", [user("Hi", name="alice"), user("Hey", name="Bob")]).turns
    assert [each.role for each in several] == [Role.USER, Role.PARTICIPANT]
    assert several[1].speaker == "Bob"


def test_tool_results_have_tool_role_and_instructions_are_skipped() -> None:
    history = [
        {"role": "developer", "content": "Be brief."},
        user("Weather?"),
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "tool_call_id": "1", "content": "Rain"},
    ]
    turns = read_conversation("alice", history).turns
    assert [(each.role, each.text) for each in turns] == [
        (Role.USER, "Weather?"),
        (Role.TOOL, "Rain"),
    ]


def test_message_without_content_is_skipped() -> None:
    for content in ("", "  ", "\u200b", None, [], 7, [{"type": "text"}], {"a": 1}):
        assert read_conversation("alice", [{"role": "user", "content": content}]).turns == ()


@given(text=st.text(), is_whole=st.booleans(), is_first=st.booleans())
def test_reply_id_encodes_path_and_completeness(
    *, text: str, is_whole: bool, is_first: bool
) -> None:
    path = read_conversation("alice", [user("Hi")]).reply_path
    id_ = build_reply_id(path, text, is_whole=is_whole, is_first=is_first)
    assert get_path(id_) == path
    assert is_complete_reply(id_) is is_whole
    assert (id_ == path) is (is_whole and is_first)


def test_last_user_text_is_query() -> None:
    assert (
        find_last_user_text([user("One."), assistant("1"), user("Two."), assistant("2")]) == "Two."
    )
    assert find_last_user_text([assistant("1")]) == ""
