"""What is new in a history that comes again as a whole."""

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


class Log:
    """What a service that remembers would have logged."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.paths: list[str] = []

    def take(self, history: History, reply: str) -> None:
        said = read_conversation("alice", history)
        for each in find_new_turns(said.turns, set(self.paths), is_begun=bool(self.paths)):
            if each.path not in self.paths:
                self._add(each.text, each.path)
        if said.reply_path not in self.paths:
            self._add(reply, said.reply_path)

    def _add(self, text: str, path: str) -> None:
        self.texts.append(text)
        self.paths.append(path)


words = st.text("ab \u00e9", min_size=1, max_size=3).filter(str.strip)


@given(st.lists(words, min_size=1, max_size=8), st.data())
def test_each_turn_is_logged_once_however_often_it_is_sent_and_its_replies_changed(
    turns: list[str], data: st.DataObject
) -> None:
    log, expected, history = Log(), [], [{"role": "system", "content": "Be brief."}]
    for place, text in enumerate(turns):
        history.append(user(text))
        reply = f"reply {place}"
        for _ in range(data.draw(st.integers(1, 3))):
            log.take(history, reply)
        history.append(assistant(data.draw(st.sampled_from([reply, "changed", f" {reply} "]))))
        expected += [text.strip(), reply]
    assert log.texts == expected


@given(st.lists(words, min_size=1, max_size=8), st.integers(1, 4))
def test_a_history_whose_beginning_is_left_out_adds_one_exchange_a_turn(
    turns: list[str], kept: int
) -> None:
    log, history = Log(), []
    for place, text in enumerate(turns):
        history.append(user(f"{place} {text}"))
        log.take(history[-2 * kept + 1 :], f"reply {place}")
        history.append(assistant(f"reply {place}"))
    assert log.texts == [each["content"].strip() for each in history]


@given(st.lists(st.tuples(words, words), min_size=2, max_size=6))
def test_calls_of_tools_may_be_left_out_later(turns: list[tuple[str, str]]) -> None:
    log, history, short = Log(), [], []
    for text, result in turns:
        call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
        history += [user(text), call, {"role": "tool", "tool_call_id": "1", "content": result}]
        short.append(user(text))
        log.take([*short[:-1], *history[-3:]], f"reply to {text}")
        history.append(assistant(f"reply to {text}"))
        short.append(assistant(f"reply to {text}"))
    told = [
        each
        for text, result in turns
        for each in (text.strip(), result.strip(), f"reply to {text}")
    ]
    assert log.texts == told


def test_nothing_is_logged_up_to_a_reply_that_is_not_known() -> None:
    known = read_conversation("alice", [user("One."), assistant("1"), user("Two.")])
    paths = {each.path for each in known.turns[:2]}
    said = read_conversation(
        "alice", [user("One."), assistant("1"), user("Spy."), assistant("?"), user("Three.")]
    ).turns
    assert [each.text for each in find_new_turns(said, paths, is_begun=True)] == ["Three."]
    assert find_new_turns(said, [], is_begun=False) == list(said)


def test_of_several_replies_the_one_that_was_taken_comes_with_the_next_request() -> None:
    said = read_conversation("alice", [user("One."), assistant("1"), user("Two.")]).turns
    known = {said[0].path}
    assert [each.text for each in find_new_turns(said, known, is_begun=True)] == ["1", "Two."]


def test_the_beginning_of_a_reply_is_no_reply() -> None:
    begun = read_conversation("alice", [user("One."), assistant("It is")])
    assert [each.text for each in begun.turns] == ["One."]
    assert begun.reply_path == read_conversation("alice", [user("One.")]).reply_path


def test_other_images_are_other_messages() -> None:
    def shown(url: str) -> History:
        image = {"type": "image_url", "image_url": {"url": url}}
        return [user(""), {"role": "user", "content": [{"type": "text", "text": "What?"}, image]}]

    one, other = (read_conversation("alice", shown(url)).reply_path for url in ("data:a", "data:b"))
    assert one != other


def test_a_text_in_parts_is_the_same_text() -> None:
    parts = [{"type": "text", "text": "Hi"}]
    assert derive_session_id("alice", [user("Hi")]) == derive_session_id(
        "alice", [{"role": "user", "content": parts}]
    )


def test_conversations_are_told_apart_by_owner_and_first_message() -> None:
    system = {"role": "system", "content": "Today is Monday."}
    mine = derive_session_id("alice", [user("Hi"), assistant("Hello")])
    assert mine == derive_session_id("alice", [system, user("Hi")])
    assert mine != derive_session_id("bob", [user("Hi")])
    assert mine != derive_session_id("alice", [user("Hey")])


def test_one_name_is_the_owners_and_of_several_the_others_are_other_people() -> None:
    alone = read_conversation("u1", [user("Hi", name="Alice")]).turns
    assert [(each.role, each.speaker) for each in alone] == [(Role.USER, None)]
    several = read_conversation("alice", [user("Hi", name="alice"), user("Hey", name="Bob")]).turns
    assert [each.role for each in several] == [Role.USER, Role.PARTICIPANT]
    assert several[1].speaker == "Bob"


def test_results_of_tools_are_the_tools_and_instructions_nobodys() -> None:
    history = [
        {"role": "developer", "content": "Be brief."},
        user("Weather?"),
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "tool_call_id": "1", "content": "Rain"},
    ]
    said = read_conversation("alice", history).turns
    assert [(each.role, each.text) for each in said] == [
        (Role.USER, "Weather?"),
        (Role.TOOL, "Rain"),
    ]


def test_what_says_nothing_is_nothing() -> None:
    for content in ("", "  ", "\u200b", None, [], 7, [{"type": "text"}], {"a": 1}):
        assert read_conversation("alice", [{"role": "user", "content": content}]).turns == ()


@given(text=st.text(), is_whole=st.booleans(), is_first=st.booleans())
def test_an_id_tells_its_path_and_whether_the_reply_is_whole(
    *, text: str, is_whole: bool, is_first: bool
) -> None:
    path = read_conversation("alice", [user("Hi")]).reply_path
    id_ = build_reply_id(path, text, is_whole=is_whole, is_first=is_first)
    assert get_path(id_) == path
    assert is_complete_reply(id_) is is_whole
    assert (id_ == path) is (is_whole and is_first)


def test_what_is_asked_is_what_the_user_said_last() -> None:
    assert (
        find_last_user_text([user("One."), assistant("1"), user("Two."), assistant("2")]) == "Two."
    )
    assert find_last_user_text([assistant("1")]) == ""
