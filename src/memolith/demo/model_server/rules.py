"""What the scripted model replies, and how it fails to."""

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


# --- What decides on answers: functions, scripts, and chance


Rule = Callable[[Asked], Any]
"""Returns an `Answer`, a text, or a value that is said as JSON; of None, the next rule decides."""

UNANSWERED: Final = refused(501, message="nobody has said what to answer")
"""What comes where no rule has an answer: no client tries that again."""


def in_turn(answers: Iterable[Any]) -> Rule:
    """Return a rule that gives these answers one after the other, then none."""
    left = iter(answers)
    lock = threading.Lock()

    def rule(asked: Asked) -> Any:
        del asked
        with lock:
            return next(left, None)

    return rule


def answered(rules: Sequence[Rule], asked: Asked) -> Answer:
    """Return what the first rule says that says anything."""
    given = (rule(asked) for rule in rules)
    said = next((answer for answer in given if answer is not None), UNANSWERED)
    return Answer.of(said)


def refusing_schemas(rule: Rule) -> Rule:
    """Return a rule of a service that knows nothing of schemas, and says so by status 400."""

    def guarded(asked: Asked) -> Any:
        if asked.schema is not None:
            return refused(400, message="response_format is not supported")
        return rule(asked)

    return guarded


def by_words(dimension: int = 384) -> Rule:
    """Return the rule for vectors where nothing else is said: texts that share words are near.

    A vector of fewer dimensions is the beginning of the whole one, at length 1.
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
    """Make it a status 500."""
    return replace(answer, status=500)


def broken(answer: Answer) -> Answer:
    """Let its connection end in the middle."""
    return replace(answer, fault=Fault.BROKEN)


def garbled(answer: Answer) -> Answer:
    """Put something else in its place."""
    return replace(answer, text=GARBAGE, vectors=None if answer.vectors is None else [])


def lateness(delay_s: float) -> Spoiling:
    """Return what lets an answer come so many seconds late."""
    return lambda answer: replace(answer, delay_s=delay_s)


class Unreliable:
    """A rule that lets a share of another's answers go wrong. Thread-safe.

    What goes wrong depends on the seed, on what is asked and how often that was asked before, and
    on nothing else: not on the order in which several threads ask.

    Attributes:
        spoiled: How many answers went wrong so far.
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
        """Let this share go wrong.

        Args:
            rule: What is answered else.
            seed: Of the chance.
            rate: The share that goes wrong, 0 to 1.
            delay_s: How late an answer is that is late: longer than the client waits.
            ways: How they go wrong, each as often; none: status 500, late, garbage, cut off.
        """
        self.spoiled = 0
        self._rule = rule
        self._seed = seed
        self._rate = rate
        self._ways = ways or (failing, lateness(delay_s), garbled, broken)
        self._asked: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Any:
        """Return the answer, or what became of it."""
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
