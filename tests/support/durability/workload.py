"""A worker that writes in every possible way and reports each call before and after it.

Every text has unique words, so that it can be identified and searched for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memolith import Memolith, Message
from support.durability.write_log import Begun, Done, Line
from support.random_words import Words

SHARED = "everyone"
_OLDER = 20
_LONG_TEXT_WORDS = 400


class Worker:
    """Writes to its own owner and to one shared with all workers."""

    def __init__(
        self, memory: Memolith, name: str, seed: int, report: Callable[[Line], None]
    ) -> None:
        self._memory = memory
        self._name = name
        self._random = random.Random(seed)  # noqa: S311 - reproducible
        self._words = Words(seed)
        self._report = report
        own = f"owner {name}"
        self._owners = (own, own, SHARED)
        self._told = self._older(own)
        self._learned: list[tuple[str, tuple[str, str]]] = []
        self._forgotten: list[tuple[str, str, str]] = []
        self._steps: dict[Callable[[], None], int] = {
            self._remember: 30,
            self._learn: 20,
            self._log: 10,
            self._log_long: 2,
            self._update: 12,
            self._rewrite_key: 6,
            self._forget_told: 8,
            self._forget_learned: 4,
            self._restore: 4,
            self._purge: 2,
            self._recall: 2,
        }

    def step(self) -> None:
        """Make one call, or none if there is nothing to change yet."""
        step = self._random.choices([*self._steps], [*self._steps.values()])[0]
        step()

    def share(self, fact: str) -> None:
        """Store a fact for the shared owner, in its own session; other workers store it too."""
        with self._announced(SHARED, new=(fact, fact)) as made:
            learned = self._memory.learn(fact, owner=SHARED, session=f"with {self._name}")
            made |= {each.id: each.content for each in learned.messages}
            made |= {each.id: each.content for each in learned.memories}

    def _older(self, owner: str) -> list[tuple[str, str]]:
        """Return some records of an earlier worker, for this one to change."""
        page = self._memory.list(owner=owner, limit=_OLDER)
        return [(owner, each.id) for each in page.memories if not each.sources]

    @contextmanager
    def _announced(
        self,
        owner: str,
        *,
        new: tuple[str, ...] = (),
        rewritten: dict[str, str] | None = None,
        gone: tuple[str, ...] = (),
    ) -> Iterator[dict[str, str]]:
        """Report before and after a call; the caller adds new records to the yielded mapping."""
        made: dict[str, str] = {}
        self._report(Begun(self._name, owner, new, rewritten or {}, gone))
        yield made
        self._report(Done(self._name, made))

    def _sentence(self) -> str:
        word = self._words.word
        return f"The {word()} of {word()} is {word()}"

    def _remember(self) -> None:
        owner = self._random.choice(self._owners)
        content = self._sentence()
        tags = [self._words.word()] if self._random.random() < 0.3 else []
        with self._announced(owner, new=(content,)) as made:
            told = self._memory.remember(content, owner=owner, tags=tags)
            made[told.id] = told.content
        self._told.append((owner, told.id))

    def _learn(self) -> None:
        owner = self._random.choice(self._owners)
        user, reply = f"I like {self._words.text(2)}.", f"That is {self._words.text(2)}."
        session = self._random.choice(("morning", "evening"))
        with self._announced(owner, new=(user, reply, user)) as made:
            learned = self._memory.learn(user, reply, owner=owner, session=session)
            made |= {each.id: each.content for each in learned.messages}
            made |= {each.id: each.content for each in learned.memories}
        self._learned.append((owner, (learned.memories[0].id, learned.messages[0].id)))

    def _log(self) -> None:
        self._say([self._sentence() for _ in range(3)])

    def _log_long(self) -> None:
        self._say([f"{self._words.text(8)}. " * 2 + self._words.text(_LONG_TEXT_WORDS)])

    def _say(self, contents: list[str]) -> None:
        owner = self._random.choice(self._owners)
        said = [
            Message(f"Speaker {n}", content, external_id=content.split()[-1])
            for n, content in enumerate(contents)
        ]
        with self._announced(owner, new=tuple(contents)) as made:
            learned = self._memory.log(said, owner=owner, session="meeting")
            made |= {each.id: each.content for each in learned.messages}

    def _update(self) -> None:
        if not self._told:
            return
        owner, id_ = self._random.choice(self._told)
        content = self._sentence()
        with self._announced(owner, rewritten={id_: content}):
            self._memory.update(id_, content, owner=owner)

    def _rewrite_key(self) -> None:
        """Assign a key to a memory without one, then store other content under the key."""
        if not self._told:
            return
        owner, id_ = self._random.choice(self._told)
        key = f"key {id_}"
        content = self._sentence()
        self._memory.update(id_, key=key, owner=owner)
        with self._announced(owner, rewritten={id_: content}):
            self._memory.remember(content, key=key, owner=owner)

    def _forget_told(self) -> None:
        if not self._told:
            return
        owner, id_ = self._told.pop(self._random.randrange(len(self._told)))
        content = self._memory.get(id_, owner=owner).content
        with self._announced(owner, gone=(id_,)):
            self._memory.forget(id_, owner=owner)
        self._forgotten.append((owner, id_, content))

    def _forget_learned(self) -> None:
        """Forget a memory or its source message; each removes the other."""
        if not self._learned:
            return
        owner, pair = self._learned.pop(self._random.randrange(len(self._learned)))
        with self._announced(owner, gone=pair):
            self._memory.forget(self._random.choice(pair), owner=owner)

    def _restore(self) -> None:
        if not self._forgotten:
            return
        owner, id_, content = self._forgotten.pop()
        with self._announced(owner, rewritten={id_: content}):
            self._memory.restore(id_, owner=owner)
        self._told.append((owner, id_))

    def _purge(self) -> None:
        """Purge, which is also the only call that truncates the write-ahead log."""
        if not self._told:
            return
        owner, id_ = self._told.pop(self._random.randrange(len(self._told)))
        with self._announced(owner, gone=(id_,)):
            self._memory.purge(id_, owner=owner)

    def _recall(self) -> None:
        """Recall, which writes usage counts but acknowledges nothing."""
        self._memory.recall(self._words.word(), owner=self._owners[0])
