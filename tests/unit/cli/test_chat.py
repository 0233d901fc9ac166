"""`memolith chat` in this process, against a scripted model."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from memolith.demo.model_server import (
    Answer,
    ModelServer,
    ReceivedRequest,
    error_answer,
    truncated_answer,
)
from support.scripted_chat import FACT, Model

pytestmark = pytest.mark.usefixtures("server")

BROKEN = "This goes well until it breaks off somewhere in the middle of it all"


@pytest.fixture
def chat(memolith: Any) -> Callable[..., str]:
    """Return a function that sends lines to the chat and returns its output."""

    def say(*lines: str, args: tuple[str, ...] = ()) -> str:
        out: str = memolith.ok("chat", *args, stdin="\n".join(lines)).out
        return out

    return say


def get_logged_messages(memolith: Any) -> list[tuple[str, str]]:
    lines = map(json.loads, memolith.ok("export").out.splitlines()[1:])
    return [(one["role"], one["content"]) for one in lines if "role" in one]


def test_chat_without_a_model_explains_how_to_configure_one(
    memolith: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOLITH_CHAT__PROVIDER", "none")
    answer = memolith("chat", stdin="Hello")
    assert answer.code == 3
    assert "MEMOLITH_CHAT__PROVIDER=ollama" in answer.err


def test_failed_reply_is_reported_and_keeps_the_users_message(memolith: Any, model: Model) -> None:
    model.answers = {
        "Please refuse": error_answer(400),
        "Please break": truncated_answer(BROKEN),
        "Please cut": Answer("This is cut", is_complete=False),
        "Say nothing": "",
    }
    answer = memolith("chat", stdin="\n".join(model.answers))
    assert answer.code == 13
    assert answer.err.splitlines()[:4] == [
        "memolith: openai:scripted: rejected the request (status 400)",
        "memolith: openai:scripted: is unreachable or closed the connection",
        "memolith: the service truncated the reply; it is stored, but not learned from",
        "memolith: the reply is empty",
    ]
    broken, cut = (text for role, text in get_logged_messages(memolith) if role == "assistant")
    assert broken
    assert BROKEN.startswith(broken)
    assert cut == "This is cut"
    assert [text for role, text in get_logged_messages(memolith) if role == "user"] == list(
        model.answers
    )


def test_unanswered_message_is_sent_with_the_next_one(
    chat: Callable[..., str], memolith: Any, model: Model
) -> None:
    model.answers = {"Please refuse": error_answer(400)}
    assert memolith("chat", stdin="Please refuse").code == 13
    chat("And now?")
    assert model.told == [("user", "Please refuse\n\nAnd now?")]


def test_learned_facts_are_shown_and_used(chat: Callable[..., str], model: Model) -> None:
    facts = ("--profile", "facts")
    chat("I live in Oslo", args=facts)
    shown = chat("Where do I live?", "/memories", "/context", args=(*facts, "--session", "new"))
    assert f"used   identity   {FACT}" in shown
    assert FACT in shown.split("used", 1)[1].split(FACT, 1)[1]  # again, in the output of /context
    assert FACT in model.asked[-1].system


def test_recalled_context_omits_messages_of_the_current_conversation(
    chat: Callable[..., str], model: Model
) -> None:
    chat("The kayak is red", "Which colour has the kayak?")
    assert "kayak" not in model.asked[-1].system
    assert ("user", "The kayak is red") in model.told
    chat("Which colour has the kayak?", args=("--session", "another"))
    assert "The kayak is red" in model.asked[-1].system


def test_oldest_messages_are_dropped_when_the_window_is_full(
    chat: Callable[..., str], model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOLITH_CHAT__CONTEXT_WINDOW", "1000")
    chat(*(f"Line {number} {'and more ' * 20}" for number in range(12)))
    kept = [content.split()[1] for role, content in model.told if role == "user"]
    assert kept == [str(number) for number in range(12)][-len(kept) :]
    assert 1 < len(kept) < 12
    assert model.told[0][0] == "user"
    assert model.asked[-1].max_tokens == 250


def test_secrets_are_redacted_in_requests_and_stored_replies(
    memolith: Any, model: Model, server: ModelServer
) -> None:
    key = "sk-" + "a1B2c3D4" * 5
    model.answers = {"My key is [REDACTED]": f"So it is {key}"}
    answer = memolith.ok("chat", stdin=f"My key is {key}\nAnd?")
    assert "1 secret redacted" in answer.err
    assert not any(key in str(one.body) for one in server.requests)
    assert ("assistant", "So it is [REDACTED]") in get_logged_messages(memolith)


def test_control_characters_in_replies_are_escaped(chat: Callable[..., str], model: Model) -> None:
    model.answers = {"Please": "red \x1b[31m and\x07 back\r\nand on"}
    assert chat("Please") == "red \\x1b[31m and\\x07 back\nand on\n"


def test_json_option_prints_one_object_per_answer(memolith: Any, model: Model) -> None:
    model.answers = {"Please refuse": error_answer(400)}
    lines = "I live in Oslo\n/context\nPlease refuse\n/memories"
    answer = memolith("chat", "--profile", "facts", "--json", stdin=lines)
    first, context, failed, found = map(json.loads, answer.out.splitlines())
    assert first["reply"] == "You said I live in Oslo"
    assert (first["is_complete"], first["problem"], first["used"]) == (True, None, [])
    assert context == {"context": ""}
    assert (failed["reply"], failed["is_complete"]) == ("", False)
    assert "status 400" in failed["problem"]
    assert found.keys() == {"used", "learned", "pending_messages", "dead_letters"}
    assert answer.code == 13


def test_no_learn_option_logs_messages_without_learning(memolith: Any, server: ModelServer) -> None:
    memolith.ok("chat", "--no-learn", "--profile", "facts", stdin="I live in Oslo")
    assert get_logged_messages(memolith) == [
        ("user", "I live in Oslo"),
        ("assistant", "You said I live in Oslo"),
    ]
    assert memolith.json("list")["memories"] == []
    assert all(one.is_stream for one in server.requests)


def test_input_with_a_slash_is_a_command_or_a_message(memolith: Any, model: Model) -> None:
    answer = memolith.ok("chat", stdin="/nonsense\n/help\n\n/etc/hosts is what?\n/quit\nNever said")
    assert "memolith: unknown command /nonsense" in answer.err
    assert answer.err.count("/memories") == 2
    assert model.told == [("user", "/etc/hosts is what?")]


def test_interrupt_ends_a_chat_without_a_terminal(memolith: Any, model: Model) -> None:
    def interrupt_process(_asked: ReceivedRequest) -> Answer:
        os.kill(os.getpid(), signal.SIGINT)
        return Answer("never read", delay_s=30)

    model.answers = {"Wait": interrupt_process}
    answer = memolith("chat", stdin="Hello\nWait\nNever said")
    assert answer.code == 130
    assert "memolith: stopped" in answer.err
    assert [text for role, text in get_logged_messages(memolith) if role == "user"] == [
        "Hello",
        "Wait",
    ]


def test_disabled_memory_keeps_the_conversation_only_in_the_process(
    memolith: Any, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOLITH_ENABLED", "false")
    answer = memolith("chat", stdin="My kayak is red\nWhat colour is it?")
    assert answer.out == "You said My kayak is red\nYou said What colour is it?\n"
    assert "not stored: memory is disabled" in answer.err
    assert ("user", "My kayak is red") in model.told
    assert answer.code == 7
