"""A streamed reply is accumulated exactly; an incomplete one is never taken for complete."""

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


def accumulate(*pieces: bytes) -> ModelReply:
    accumulator = ReplyAccumulator()
    for piece in pieces:
        accumulator.feed(piece)
    return accumulator.reply()


@given(st.lists(st.integers(0, len(stream())), max_size=8))
def test_stream_is_parsed_however_its_bytes_are_split(places: list[int]) -> None:
    cuts = [0, *sorted(places), len(stream())]
    pieces = [stream()[one:two] for one, two in pairwise(cuts)]
    assert accumulate(*pieces) == ModelReply(TEXT, is_complete=True)


def test_truncated_stream_is_complete_only_with_its_whole_text() -> None:
    whole = stream()
    ends = [end for end in range(len(whole)) if accumulate(whole[:end]).is_complete]
    assert ends, "no prefix of the stream is a complete reply"
    for end in range(len(whole)):
        reply = accumulate(whole[:end])
        assert TEXT.startswith(reply.text)
        assert not reply.is_complete or reply.text == TEXT


@check_each(
    ("finish", "is_whole"),
    [("stop", True), ("tool_calls", True), ("length", False), ("content_filter", False)],
)
def test_finish_reason_determines_whether_a_reply_is_complete(
    finish: str, *, is_whole: bool
) -> None:
    answer = Answer(TEXT, finish=finish)
    assert accumulate(stream(finish=finish)) == ModelReply(TEXT, is_whole)
    assert parse_reply(json.dumps(build_reply(ASKED, answer)).encode()) == ModelReply(
        TEXT, is_whole
    )


def test_stream_with_crlf_line_ends_is_parsed() -> None:
    assert accumulate(stream().replace(b"\n", b"\r\n")) == ModelReply(TEXT, is_complete=True)


def test_stream_with_several_choices_yields_no_text() -> None:
    event = {"choices": [{"index": 1, "delta": {"content": "Or so."}, "finish_reason": "stop"}]}
    events = b"data: " + json.dumps(event).encode() + b"\n\n"
    assert accumulate(events, stream()) == ModelReply(is_complete=True)
    both = build_reply(ASKED, Answer(TEXT))
    both["choices"] *= 2
    assert parse_reply(json.dumps(both).encode()) == ModelReply(is_complete=True)


@check_each(
    "body", [b"", b"{", b"[]", b"7", b'{"choices": 1}', b'{"choices": [[]]}', b"[" * 100_000]
)
def test_invalid_body_yields_no_reply(body: bytes) -> None:
    assert parse_reply(body).text == ""
    assert not accumulate(b"data: " + body + b"\n\n" + stream()).is_complete or body in (
        b"[]",
        b"7",
        b'{"choices": 1}',
        b'{"choices": [[]]}',
    )


@given(st.binary())
def test_arbitrary_bytes_never_raise_an_error(events: bytes) -> None:
    assert isinstance(accumulate(events, b"\n"), ModelReply)
    assert isinstance(accumulate(b"data: " + events, b"\n"), ModelReply)
    assert isinstance(parse_reply(events), ModelReply)


def test_oversized_event_makes_the_reply_incomplete() -> None:
    accumulator = ReplyAccumulator()
    for _ in range(6):
        accumulator.feed(b"x" * 1_000_000)
    accumulator.feed(b"\n" + stream())
    assert not accumulator.reply().is_complete


@check_each("finish", [{"a": 1}, ["stop"], 1, True])
def test_finish_reason_that_is_not_a_string_is_ignored(finish: object) -> None:
    choice = {"index": 0, "message": {"content": "Hi"}, "finish_reason": finish}
    assert parse_reply(json.dumps({"choices": [choice]}).encode()) == ModelReply("Hi")
    event = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": finish}]}
    assert accumulate(b"data: " + json.dumps(event).encode() + b"\n\n") == ModelReply("Hi")
