"""Learning from what was said with a model: the facts of exchanges, as memories."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from memolith.domain.memories import EPISODE, Action, Event, Memory, Origin, Source, State
from memolith.domain.messages import Role
from memolith.domain.recall import Scope
from memolith.errors import InvalidInput
from memolith.policies.echoes import is_echo, without_context
from memolith.policies.evidence import sources
from memolith.policies.exchanges import grouped
from memolith.policies.support import needed, supported_by
from memolith.policies.trust import kind_for, least_trusted, may_hold, origin_of, origins_in
from memolith.prompts.extraction import Fact, extraction, read_facts
from memolith.prompts.transcripts import spoken
from memolith.services.asking import answered, nonce
from memolith.services.drafts import Draft, end_of, judged
from memolith.services.heard import heard_before
from memolith.services.indexing import memory_text
from memolith.services.planning import Order
from memolith.services.vitality import aged
from memolith.steps import stepped
from memolith.text.injection import is_suspicious

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.messages import Message
    from memolith.ports.store import IndexEntry, Snapshot, Transaction
    from memolith.ports.work import Claim
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.services.models import Models
    from memolith.services.settling import Settling

BY = "learn"

OPEN_FOR = timedelta(minutes=1)
"""How long an exchange without a reply waits for one before it is learned from: a guess."""

_NEAR = 8
"""How many known memories a fact of an assistant's is compared with: a guess."""

_log = logging.getLogger(__name__)

Exchange = tuple["Message", ...]


class Lost(Exception):
    """No error: somebody else does the work now."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a model has taken from an exchange.

    Attributes:
        exchange: The messages, in order.
        read: Those of them that the model was shown.
        facts: What it gave.
    """

    exchange: Exchange
    read: tuple[Message, ...]
    facts: tuple[Fact, ...]


class Extracting:
    """Learns from messages that wait. Reading and asking hold no lock."""

    def __init__(
        self, access: Access, indexer: Indexer, settling: Settling, models: Models
    ) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer
        self._settling = settling
        self._models = models

    def waiting(self, owner_id: str, limit: int) -> list[Exchange]:
        """Return the oldest exchanges that wait to be learned from and are complete."""
        now = self._access.clock.now()
        with self._access.store.read(owner_id) as snapshot:
            messages = snapshot.awaiting(limit * 8, now=now)
        return list(grouped(messages, open_since=now - OPEN_FOR))[:limit]

    @stepped("extract")
    def extract(self, owner_id: str, exchange: Exchange) -> Extracted:
        """Ask the model for the facts of an exchange. Several may be asked for at once.

        Raises:
            ServiceFailed: There is no reply, or none in the form asked for.
        """
        dialect = self._access.profile(owner_id).extraction
        model = self._models.of(owner_id)
        read = self._shown(owner_id, exchange)
        if dialect is None or model is None or not any(each.role is Role.USER for each in read):
            return Extracted(exchange, read, ())
        prompt = extraction(dialect, [spoken(each) for each in read], nonce())
        facts = answered(model, prompt, lambda text: read_facts(text, dialect, len(read)))
        return Extracted(exchange, read, facts)

    def keep(self, owner_id: str, claim: Claim, extracted: Extracted) -> tuple[Memory, ...]:
        """Store what an exchange gave, and mark it as learned from; return the memories.

        Where a word of it was forgotten meanwhile, nothing is stored, and it waits on.

        Raises:
            Lost: Somebody else has the work now; nothing was stored.
        """
        now = self._access.clock.now()
        profile = self._access.profile(owner_id)
        made = self._drafts(owner_id, profile, extracted, now)
        kept = tuple(draft for draft, is_supported in made if is_supported)
        doubted = [draft for draft, is_supported in made if not is_supported]
        withheld = self._withheld(owner_id, profile, doubted, now)
        ids = [message.id for message in extracted.exchange]

        def along(tx: Transaction) -> Sequence[Draft]:
            if not tx.holds(claim):
                raise Lost
            if tx.messages(ids=ids) != list(extracted.exchange):
                return ()
            tx.learned(ids, now)
            for memory, entry in withheld:
                tx.insert([(memory, entry)])
                tx.record([Event(memory.id, Action.DOUBTED, now, BY, memory.version)])
            return kept

        return self._settling.settle(Order(owner_id, profile, kept, now, by=BY), along)

    def _shown(self, owner_id: str, exchange: Exchange) -> tuple[Message, ...]:
        """Return what a model may read of an exchange.

        Not what waits for a review, nor the system's words, nor what a prompt of ours brought in.
        """
        scope = Scope(
            now=self._access.clock.now(), kinds=frozenset({EPISODE}), include_withheld=False
        )
        with self._access.store.read(owner_id) as snapshot:
            numbers = snapshot.numbers([message.id for message in exchange], scope)
        let_through = (
            replace(message, content=without_context(message.content))
            for message, number in zip(exchange, numbers.tolist(), strict=True)
            if number >= 0 and message.role is not Role.SYSTEM
        )
        return tuple(message for message in let_through if message.content.strip())

    def _drafts(
        self, owner_id: str, profile: Profile, extracted: Extracted, now: datetime
    ) -> list[tuple[Draft, bool]]:
        """Return the memories that facts make, each with whether its sources support it."""
        read = extracted.read
        origin_by_id = dict(
            zip(
                (each.id for each in extracted.exchange),
                origins_in(each.role for each in extracted.exchange),
                strict=True,
            )
        )
        origins = [origin_by_id[each.id] for each in read]
        days = [None if message.at is None else message.at.date() for message in read]
        own = [place for place, message in enumerate(read) if message.role is Role.USER]
        told = sources([message.content for message in read], days, [owner_id], own)
        with self._access.store.read(owner_id) as snapshot:
            before = heard_before(snapshot, extracted.exchange[0])
        made = []
        for fact in extracted.facts:
            found = needed(fact.content, told, origins)
            resting = read if found is None else [read[place] for place in found.places]
            # What nobody said was made up by the model: no better than the worst it has read.
            origin = least_trusted(Origin.ASSISTANT, *origins) if found is None else found.origin
            if origin is Origin.ASSISTANT:
                origin = least_trusted(origin, *_repeated(fact.content, before))
            try:
                draft = _draft(fact, resting, origin, profile, now)
            except InvalidInput as error:
                _log.info("a fact is left out: %s", error)
                continue
            if draft.origin is Origin.USER or not self._is_echo(owner_id, draft, read):
                made.append((draft, found is not None))
        return made

    def _is_echo(self, owner_id: str, draft: Draft, read: Sequence[Message]) -> bool:
        """Tell whether a fact only repeats what was told to the assistant from memory."""
        profile = self._access.profile(owner_id)
        text = memory_text(profile, draft.content, draft.kind, None)
        (entry,) = self._indexer.entries([text], owner_id)
        said = sources(
            [message.content for message in read if message.role is Role.USER], names=[owner_id]
        )
        with self._access.store.read(owner_id) as snapshot:
            known = [memory.content for memory in self._near(snapshot, entry, profile)]
        return is_echo(draft.content, said, known)

    def _near(self, snapshot: Snapshot, entry: IndexEntry, profile: Profile) -> list[Memory]:
        vectors = [each.vector for each in entry.passages if each.vector is not None]
        if not vectors:
            return []
        scope = Scope(now=self._access.clock.now(), kinds=frozenset(profile.kinds))
        numbers = snapshot.nearest(vectors[0], _NEAR, scope)
        return snapshot.memories(list(snapshot.items(numbers).record_id))

    def _withheld(
        self, owner_id: str, profile: Profile, drafts: Sequence[Draft], now: datetime
    ) -> list[tuple[Memory, IndexEntry]]:
        """Return memories of what no source supports: kept for a review, never recalled."""
        texts = [memory_text(profile, draft.content, draft.kind, None) for draft in drafts]
        entries = self._indexer.entries(texts, owner_id)
        made = [
            Memory(
                id=self._access.new_id(now),
                owner_id=owner_id,
                kind=draft.kind,
                content=draft.content,
                created_at=now,
                updated_at=now,
                importance=draft.weight,
                happened_at=draft.happened_at,
                state=State.UNSUPPORTED,
                session_id=draft.session_id,
                sources=draft.sources,
                origin=draft.origin,
            )
            for draft in drafts
        ]
        return list(zip(aged(profile, made, now), entries, strict=True))


def _repeated(fact: str, said: Sequence[Message]) -> list[Origin]:
    """Return the origins of those of several messages that say a fact."""
    told = sources([message.content for message in said])
    return [origin_of(said[place].role) for place in supported_by(fact, told)]


def _draft(
    fact: Fact, sources: Sequence[Message], origin: Origin, profile: Profile, now: datetime
) -> Draft:
    """Return the memory that a fact makes.

    Raises:
        InvalidInput: It is too long for the profile.
    """
    kind = kind_for(origin, fact.kind, profile.outside_kinds)
    if not may_hold(origin, kind):
        kind = profile.own_kinds.get("context", "context")
    draft = Draft(
        content=fact.content,
        kind=kind,
        judged=0.0,
        importance=fact.importance,
        expires_at=end_of(fact.expires_in, None, now),
        happened_at=_day(fact) or sources[0].at,
        session_id=sources[0].session_id,
        origin=origin,
        sources=tuple(Source(each.id, "message", each.external_id) for each in sources),
        alters=not any(is_suspicious(each.content) for each in sources),
    )
    return judged(draft, profile)


def _day(fact: Fact) -> datetime | None:
    return None if fact.happened is None else datetime.combine(fact.happened, time(), UTC)
