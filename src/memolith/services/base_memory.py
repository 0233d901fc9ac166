"""The base memory: one living document of an owner, read, replaced, and put back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from memolith.domain.memories import State
from memolith.errors import NotFound
from memolith.policies import arguments
from memolith.policies.documents import remove_from_document
from memolith.policies.folding import remove_sentences
from memolith.services.condensed import build_forgotten_matcher
from memolith.services.paging import iter_memories
from memolith.services.remains import is_summary, stated_sentence_keys
from memolith.services.screening import clean_and_redact

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.domain.base_memory import BaseMemory
    from memolith.ports.store import Snapshot
    from memolith.services.access import Access

MAX_BASE_MEMORY_CHARS = 20_000
"""The longest document: a guess, several times the 400 words that a model is asked for, so that
one kept by hand may hold more."""

_FORGOTTEN_STATES = frozenset({State.FORGOTTEN})


class BaseMemoryService:
    """Keeps the base memory, every version of it."""

    def __init__(self, access: Access) -> None:
        """Use this."""
        self._access = access

    def get(self, owner_id: str, *, as_of: datetime | None = None) -> BaseMemory | None:
        """Return the document, as it stands or stood then; None where there is none."""
        at = None if as_of is None else arguments.check_instant(as_of, "as_of")
        with self._access.store.read(owner_id) as snapshot:
            found = snapshot.base_memory(as_of=at)
            if found is None or at is None:
                return None if found is None else hide_forgotten_sentences(snapshot, found)
            return replace(
                found,
                content=remove_from_document(found.content, build_forgotten_matcher(snapshot)),
            )

    def list_versions(self, owner_id: str) -> tuple[BaseMemory, ...]:
        """Return all its versions, oldest first."""
        with self._access.store.read(owner_id) as snapshot:
            return get_visible_versions(snapshot)

    def replace_content(self, owner_id: str, content: str) -> BaseMemory:
        """Let the document say this from now on; return it.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: The content is empty or too long.
        """
        self._access.check_enabled()
        text, _ = clean_and_redact(content, limit=MAX_BASE_MEMORY_CHARS)
        return self._write(owner_id, text)

    def roll_back(self, owner_id: str, version: int) -> BaseMemory:
        """Let the document say what it said in an earlier version, as a new one; return it.

        Raises:
            Disabled: Memory is switched off.
            NotFound: There is no such version.
        """
        self._access.check_enabled()
        number = arguments.check_count(version, "version", minimum=1)
        with self._access.store.read(owner_id) as snapshot:
            found = [each for each in get_visible_versions(snapshot) if each.version == number]
        if not found:
            raise NotFound("version of the base memory", str(number))
        return self._write(owner_id, found[0].content)

    def _write(self, owner_id: str, content: str) -> BaseMemory:
        now = self._access.clock.now()
        with self._access.store.write(owner_id) as tx:
            tx.adopt_profile(self._access.get_profile(owner_id).name)
            tx.set_base_memory(content, sources=(), at=now)
            (*_, written) = tx.base_memories()
        return written


def hide_forgotten_sentences(snapshot: Snapshot, document: BaseMemory) -> BaseMemory:
    """Return a document as it is now without the sentences of what is forgotten.

    What tells of that in other words was left out when it was forgotten; a version of before is
    shown by `all_shown`.
    """
    forgotten = iter_memories(snapshot, _FORGOTTEN_STATES)
    gone = frozenset[str]().union(
        *(
            stated_sentence_keys(snapshot, memory)
            for memory in forgotten
            if not is_summary(snapshot, memory)
        )
    )
    return replace(document, content=remove_sentences(document.content, gone))


def get_visible_versions(snapshot: Snapshot) -> tuple[BaseMemory, ...]:
    """Return all versions of the document without what tells of anything that is forgotten."""
    told = cache(build_forgotten_matcher(snapshot).__call__)
    return tuple(
        replace(each, content=remove_from_document(each.content, told))
        for each in snapshot.base_memories()
    )
