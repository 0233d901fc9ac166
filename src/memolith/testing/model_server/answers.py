"""What the scripted model replies, and how it fails to."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class Fault(StrEnum):
    """What goes wrong with an answer on its way."""

    NO_REPLY = "no reply"
    """The connection ends before anything came."""

    BROKEN = "broken"
    """The connection ends in the middle of the body."""

    ENDED_EARLY = "ended early"
    """The body ends in the middle, as if that were its end."""

    MALFORMED = "malformed"
    """The body is no JSON, though it says so."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        text: What the model says.
        calls: Which tools it calls: a name each, and what the tool is given, as JSON.
        vectors: What it says where vectors are asked for, one a text.
        places: Of which text each of them is said to be, where the protocol says so; None: in
            their order.
        input_tokens: What was asked took; None: counted.
        output_tokens: Likewise, the reply.
        tells_tokens: Whether it says so.
        is_whole: Whether the model came to its end: if not, it was cut for its length.
        finish: Why it ended, in the words of the protocol, where `is_whole` does not say it.
        status: Of HTTP; any but 200 is a failure.
        message: What a failure says. As some services do, it repeats what was asked, and the key.
        code: What a failure is called.
        retry_after_s: After how many seconds a failure says to come back.
        raw: What comes in the place of all that the protocol would say: one's own body.
        fault: What goes wrong on the way.
        delay_s: How long it takes before anything comes, in seconds.
        piece_delay_s: How long each piece of a stream takes besides.
    """

    text: str = ""
    calls: Sequence[tuple[str, str]] = ()
    vectors: Sequence[Sequence[float]] | None = None
    places: Sequence[int] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tells_tokens: bool = True
    is_whole: bool = True
    finish: str = ""
    status: int = 200
    message: str = "it failed"
    code: str = ""
    retry_after_s: float | None = None
    raw: str | None = None
    fault: Fault | None = None
    delay_s: float = 0.0
    piece_delay_s: float = 0.0

    @classmethod
    def of(cls, given: Any) -> Answer:
        """Return an answer: itself, a text, or else a value that is said as JSON."""
        if isinstance(given, Answer):
            return given
        return cls(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))


def refused(
    status: int,
    *,
    message: str = "it failed",
    code: str = "",
    retry_after_s: float | None = None,
) -> Answer:
    """Return a failure by status: 500; 429, perhaps with a time to come back; 401; 400."""
    return Answer(status=status, message=message, code=code, retry_after_s=retry_after_s)


def dropped() -> Answer:
    """Return a connection that ends before anything came."""
    return Answer(fault=Fault.NO_REPLY)


def cut_off(given: Any) -> Answer:
    """Return an answer whose connection ends in the middle of it."""
    return replace(Answer.of(given), fault=Fault.BROKEN)


def malformed(given: Any = "this can't be read") -> Answer:
    """Return an answer in a body that is no JSON."""
    return replace(Answer.of(given), fault=Fault.MALFORMED)


def late(given: Any, delay_s: float) -> Answer:
    """Return an answer that takes so many seconds to come."""
    return replace(Answer.of(given), delay_s=delay_s)


def fenced(value: Any) -> Answer:
    """Return a value as JSON in a code fence, with words around it, as models like to do."""
    return Answer(f"Sure, here it is:\n\n```json\n{Answer.of(value).text}\n```\n\nAnything else?")
