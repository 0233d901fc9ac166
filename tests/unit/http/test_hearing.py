"""A reply is heard as it was said, and never half of it as a whole."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memolith.demo.model_server import Answer
from memolith.demo.model_server.messages import ReceivedRequest
from memolith.demo.model_server.openai import build_reply, stream_reply
from memolith.server.proxy.openai import ModelReply, ReplyAccumulator, parse_reply
from support.rows import check_each

ASKED = ReceivedRequest("openai", "/v1/chat/completions", "m")
TEXT = "My name is Alex. Jeg heter Åse, and I work at NASA."


def stream(text: str = TEXT, **more: Any) -> bytes:
    return b"".join(stream_reply(ASKED, Answer(text, **more)))


def hear(*pieces: bytes) -> ModelReply:
    hearing = ReplyAccumulator()
    for piece in pieces:
        hearing.feed(piece)
    return hearing.reply()


@given(st.lists(st.integers(0, len(stream())), max_size=8))
def test_a_stream_is_heard_wherever_its_bytes_are_parted(places: list[int]) -> None:
    cuts = [0, *sorted(places), len(stream())]
    pieces = [stream()[one:two] for one, two in pairwise(cuts)]
    assert hear(*pieces) == ModelReply(TEXT, is_complete=True)


def test_a_stream_that_is_cut_at_any_byte_is_whole_only_with_all_of_its_text() -> None:
    whole = stream()
    ends = [end for end in range(len(whole)) if hear(whole[:end]).is_complete]
    assert ends, "the mark after the end says nothing"
    for end in range(len(whole)):
        reply = hear(whole[:end])
        assert TEXT.startswith(reply.text)
        assert not reply.is_complete or reply.text == TEXT


@check_each(
    ("finish", "is_whole"),
    [("stop", True), ("tool_calls", True), ("length", False), ("content_filter", False)],
)
def test_why_it_ended_says_whether_it_is_whole(finish: str, *, is_whole: bool) -> None:
    answer = Answer(TEXT, finish=finish)
    assert hear(stream(finish=finish)) == ModelReply(TEXT, is_whole)
    assert parse_reply(json.dumps(build_reply(ASKED, answer)).encode()) == ModelReply(
        TEXT, is_whole
    )


def test_lines_may_end_in_two_ways() -> None:
    assert hear(stream().replace(b"\n", b"\r\n")) == ModelReply(TEXT, is_complete=True)


def test_of_several_replies_none_is_heard() -> None:
    event = {"choices": [{"index": 1, "delta": {"content": "Or so."}, "finish_reason": "stop"}]}
    told = b"data: " + json.dumps(event).encode() + b"\n\n"
    assert hear(told, stream()) == ModelReply(is_complete=True)
    both = build_reply(ASKED, Answer(TEXT))
    both["choices"] *= 2
    assert parse_reply(json.dumps(both).encode()) == ModelReply(is_complete=True)


@check_each(
    "body", [b"", b"{", b"[]", b"7", b'{"choices": 1}', b'{"choices": [[]]}', b"[" * 100_000]
)
def test_what_is_no_reply_is_none(body: bytes) -> None:
    assert parse_reply(body).text == ""
    assert not hear(b"data: " + body + b"\n\n" + stream()).is_complete or body in (
        b"[]",
        b"7",
        b'{"choices": 1}',
        b'{"choices": [[]]}',
    )


@given(st.binary())
def test_nothing_that_comes_is_an_error(told: bytes) -> None:
    assert isinstance(hear(told, b"\n"), ModelReply)
    assert isinstance(hear(b"data: " + told, b"\n"), ModelReply)
    assert isinstance(parse_reply(told), ModelReply)


def test_an_event_without_end_is_not_waited_for() -> None:
    hearing = ReplyAccumulator()
    for _ in range(6):
        hearing.feed(b"x" * 1_000_000)
    hearing.feed(b"\n" + stream())
    assert not hearing.reply().is_complete


@check_each("finish", [{"a": 1}, ["stop"], 1, True])
def test_an_end_that_is_no_word_is_none(finish: object) -> None:
    choice = {"index": 0, "message": {"content": "Hi"}, "finish_reason": finish}
    assert parse_reply(json.dumps({"choices": [choice]}).encode()) == ModelReply("Hi")
    event = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": finish}]}
    assert hear(b"data: " + json.dumps(event).encode() + b"\n\n") == ModelReply("Hi")
