"""Replies and faults of the scripted model, and rules that select them."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np

from memolith.demo.model_server.messages import Asked
from memolith.testing.fakes import HashingEmbedder


class Fault(StrEnum):
    """A network fault of an answer."""

    NO_REPLY = "no reply"
    """The connection closes before the response."""

    BROKEN = "broken"
    """The connection closes in the middle of the body."""

    ENDED_EARLY = "ended early"
    """The body is truncated, but ends regularly."""

    MALFORMED = "malformed"
    """The body is invalid JSON."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        text: The text of the reply.
        calls: The tool calls: name, and arguments as JSON.
        vectors: The vectors of an embedding response, one for each text.
        places: The index reported for each vector, if the API reports it. None: in order.
        input_tokens: Tokens of the request. None: counted.
        output_tokens: Tokens of the reply. None: counted.
        tells_tokens: Whether to report token counts.
        is_whole: Whether the reply is complete. Otherwise it was truncated for its length.
        finish: The finish reason in the terms of the API. Empty: derived from `is_whole`.
        status: The HTTP status. Any other than 200 is an error.
        message: The error message. As in some services, request and key are appended.
        code: The error code.
        retry_after_s: The header Retry-After of an error, in seconds.
        raw: A body that replaces the regular one.
        fault: The network fault.
        delay_s: The delay of the response, in seconds.
        piece_delay_s: The delay of each piece of a stream, in seconds.
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
        """Return an answer for an answer, a text, or a value to send as JSON."""
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
    """Return an error: a status such as 400, 401, 429 (with a time to retry) or 500."""
    return Answer(status=status, message=message, code=code, retry_after_s=retry_after_s)


def dropped() -> Answer:
    """Return an answer whose connection closes before the response."""
    return Answer(fault=Fault.NO_REPLY)


def cut_off(given: Any) -> Answer:
    """Return an answer whose connection closes in the middle of the body."""
    return replace(Answer.of(given), fault=Fault.BROKEN)


def malformed(given: Any = "this can't be read") -> Answer:
    """Return an answer with invalid JSON as its body."""
    return replace(Answer.of(given), fault=Fault.MALFORMED)


def late(given: Any, delay_s: float) -> Answer:
    """Return an answer with a delay in seconds."""
    return replace(Answer.of(given), delay_s=delay_s)


def fenced(value: Any) -> Answer:
    """Return a value as JSON in a code fence with text around it, as models often do."""
    return Answer(f"Sure, here it is:\n\n```json\n{Answer.of(value).text}\n```\n\nAnything else?")


# --- Rules


Rule = Callable[[Asked], Any]
"""Returns an `Answer`, a text, or a value to send as JSON. None: the next rule decides."""

UNANSWERED: Final = refused(501, message="nobody has said what to answer")
"""The answer if no rule matches. Clients do not retry this status."""


def in_turn(answers: Iterable[Any]) -> Rule:
    """Return a rule that returns the given answers in order, then None."""
    left = iter(answers)
    lock = threading.Lock()

    def rule(asked: Asked) -> Any:
        del asked
        with lock:
            return next(left, None)

    return rule


def answered(rules: Sequence[Rule], asked: Asked) -> Answer:
    """Return the answer of the first rule that matches."""
    given = (rule(asked) for rule in rules)
    said = next((answer for answer in given if answer is not None), UNANSWERED)
    return Answer.of(said)


def refusing_schemas(rule: Rule) -> Rule:
    """Return a rule that rejects requests with a schema, with status 400."""

    def guarded(asked: Asked) -> Any:
        if asked.schema is not None:
            return refused(400, message="response_format is not supported")
        return rule(asked)

    return guarded


def by_words(dimension: int = 384) -> Rule:
    """Return the default rule for vectors: texts with common words are similar.

    Vectors of fewer dimensions are the normalised prefix of the full vectors.
    """
    embedder = HashingEmbedder(dimension)
    lock = threading.Lock()

    def rule(asked: Asked) -> Answer:
        with lock:
            found = embedder.embed(asked.texts, role="document")[:, : asked.dimensions]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return Answer(vectors=(found / np.where(lengths > 0, lengths, 1)).tolist())

    return rule


Spoiling = Callable[[Answer], Answer]

GARBAGE: Final = "¿¡ {{ 7 :: lorem ]] \u2028 null, null"
"""Neither an answer nor JSON."""


def failing(answer: Answer) -> Answer:
    """Return an answer with status 500."""
    return replace(answer, status=500)


def broken(answer: Answer) -> Answer:
    """Return the answer with a connection that closes in the middle."""
    return replace(answer, fault=Fault.BROKEN)


def garbled(answer: Answer) -> Answer:
    """Replace the content of an answer by garbage."""
    return replace(answer, text=GARBAGE, vectors=None if answer.vectors is None else [])


def lateness(delay_s: float) -> Spoiling:
    """Return a function that delays an answer, in seconds."""
    return lambda answer: replace(answer, delay_s=delay_s)


class Unreliable:
    """A rule that corrupts a share of the answers of another rule. Thread-safe.

    The corrupted answers depend only on the seed, the request and the number of its repetitions,
    not on the order of concurrent requests.

    Attributes:
        spoiled: The number of corrupted answers.
    """

    def __init__(
        self,
        rule: Rule,
        *,
        seed: int,
        rate: float = 1 / 3,
        delay_s: float = 1.0,
        ways: Sequence[Spoiling] = (),
    ) -> None:
        """Corrupt a share of the answers.

        Args:
            rule: The rule that answers.
            seed: The seed of the random choices.
            rate: The share of corrupted answers, 0 to 1.
            delay_s: The delay of late answers, in seconds: longer than the client's timeout.
            ways: The kinds of corruption, chosen with equal probability. Empty: status 500, late,
                garbage, broken connection.
        """
        self.spoiled = 0
        self._rule = rule
        self._seed = seed
        self._rate = rate
        self._ways = ways or (failing, lateness(delay_s), garbled, broken)
        self._asked: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Any:
        """Return the answer or its corrupted version."""
        said = repr((asked.model, asked.turns, asked.texts)).encode()
        question = hashlib.blake2b(said, digest_size=16).digest()
        with self._lock:
            self._asked[question] += 1
            times = self._asked[question]
        chance = random.Random(f"{self._seed} {times} {question.hex()}")  # noqa: S311 - no secret
        if chance.random() >= self._rate:
            return self._rule(asked)
        with self._lock:
            self.spoiled += 1
        given = self._rule(asked)
        whole = UNANSWERED if given is None else Answer.of(given)
        return chance.choice(self._ways)(whole)
