"""What decides on answers: functions, scripts, and chance."""

from __future__ import annotations

import hashlib
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from memolith.testing.embedders import HashingEmbedder
from memolith.testing.model_server.answers import Answer, Fault, refused
from memolith.testing.model_server.asked import Asked

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
