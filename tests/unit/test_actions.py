"""The first line of a reply names a device's action."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.learning import SPEAK_ACTION, split_action
from support.rows import check_each


@check_each(
    ("reply", "action", "text"),
    [
        ("ACTION: SPEAK\nHello.", "SPEAK", "Hello."),
        ("ACTION: IGNORE", "IGNORE", ""),
        ("\n ACTION:TURN_LEFT \r\nThere.\nYes.", "TURN_LEFT", "There.\nYes."),
        ("**ACTION: NOD**\nYes.", "NOD", "Yes."),
        ("Hello.\nACTION: IGNORE", "SPEAK", "Hello.\nACTION: IGNORE"),
        ("ACTION: speak\nHello.", "SPEAK", "ACTION: speak\nHello."),
        ("ACTION: SPEAK Hello.", "SPEAK", "ACTION: SPEAK Hello."),
        ("", "SPEAK", ""),
    ],
)
def test_first_line_names_action(reply: str, action: str, text: str) -> None:
    assert split_action(reply) == (action, text)


@given(st.text())
def test_reply_without_action_line_is_spoken_whole(reply: str) -> None:
    if "ACTION" not in reply:
        assert split_action(reply) == (SPEAK_ACTION, reply.strip())


@given(st.from_regex(r"[A-Z][A-Z_]{0,31}", fullmatch=True), st.text())
def test_text_after_action_line_is_reply(action: str, text: str) -> None:
    assert split_action(f"ACTION: {action}\n{text}") == (action, text.strip())
