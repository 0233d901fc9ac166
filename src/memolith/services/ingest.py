"""Taking in a long text: cut where its meaning is, what matters of it stored as memories."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import TYPE_CHECKING

from memolith.domain.ingestion import Ingested, Piece
from memolith.domain.memories import Memory
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.services.drafts import Draft, checked_kind, checked_origin, judged, trusted_kind
from memolith.services.planning import Order
from memolith.services.screening import screened_name, screened_tags
from memolith.text.screening import redact, redact_lines
from memolith.text.streaming import cleaned_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from memolith.domain.ingestion import Fate
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.settling import Settling
    from memolith.services.weighing import Judged, Weighing

BATCH = 256
"""How many chunks of a stream are stored at once: a guess, a second's work with the local
embedder, so that a kill costs no more and a writer waits no longer."""

_KEY_DIGITS = 12


class Ingesting:
    """Takes in long texts."""

    def __init__(self, access: Access, weighing: Weighing, settling: Settling) -> None:
        """Use these."""
        self._access = access
        self._weighing = weighing
        self._settling = settling

    def ingest(
        self,
        owner_id: str,
        text: str,
        *,
        kind: str | None = None,
        session: str | None = None,
        origin: str = "document",
        source: str | None = None,
        tags: Iterable[str] = (),
        happened_at: datetime | None = None,
    ) -> Ingested:
        """Take in a text, all of it or nothing; return what became of each chunk.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument can't be taken, or the text is longer than 1,000,000
                characters: `stream` takes longer ones.
        """
        self._access.check_enabled()
        if not isinstance(text, str):
            raise InvalidInput("text", f"must be text, not {type(text).__name__}")
        if len(text) > arguments.MAX_MESSAGE_CHARS:
            limit = arguments.MAX_MESSAGE_CHARS
            raise InvalidInput("text", f"has {len(text):,} characters; at most {limit:,}")
        made = self._intake(owner_id, kind, session, origin, source, tags, happened_at)
        parts = list(made.parts([text], batch=None))
        if not parts:
            raise InvalidInput("text", "is empty")
        return parts[0]

    def stream(
        self,
        owner_id: str,
        pieces: Iterable[str],
        *,
        kind: str | None = None,
        session: str | None = None,
        origin: str = "document",
        source: str | None = None,
        tags: Iterable[str] = (),
        happened_at: datetime | None = None,
    ) -> Iterator[Ingested]:
        """Take in a text of any length that comes in pieces, in bounded memory.

        Yields what became of the chunks, a few hundred at a time, each time once they are stored.
        What was stored stays if a later piece fails; the same text again adds nothing twice.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument can't be taken.
        """
        self._access.check_enabled()
        made = self._intake(owner_id, kind, session, origin, source, tags, happened_at)
        return made.parts(pieces, batch=BATCH)

    def _intake(  # what both doors take
        self,
        owner_id: str,
        kind: str | None,
        session: str | None,
        origin: str,
        source: str | None,
        tags: Iterable[str],
        happened_at: datetime | None,
    ) -> _Intake:
        profile = self._access.profile(owner_id)
        name = None if source is None else screened_name(source, "source")
        marked = [*arguments.several(tags, "tags"), *([f"source:{name}"] if name else [])]
        like = Draft(
            content="",
            kind="" if kind is None else trusted_kind(checked_kind(kind, profile), origin),
            judged=0.0,
            tags=screened_tags(marked),
            happened_at=None
            if happened_at is None
            else arguments.instant(happened_at, "happened_at"),
            session_id=None if session is None else screened_name(session, "session"),
            origin=checked_origin(origin),
        )
        return _Intake(self._access, self._weighing, self._settling, owner_id, profile, like, name)


class _Intake:
    """One text on its way in."""

    def __init__(  # what it needs to work by itself
        self,
        access: Access,
        weighing: Weighing,
        settling: Settling,
        owner_id: str,
        profile: Profile,
        like: Draft,
        source: str | None,
    ) -> None:
        self._access = access
        self._weighing = weighing
        self._settling = settling
        self._owner_id = owner_id
        self._profile = profile
        self._like = like
        self._source = source
        self._redactions = 0

    def parts(self, pieces: Iterable[str], *, batch: int | None) -> Iterator[Ingested]:
        """Store chunks a batch at a time, or all at once, and yield what became of them."""
        centre = self._weighing.centre(self._owner_id, self._profile)
        chunks = self._weighing.chunks(self._screened(cleaned_pieces(pieces)), self._profile)
        while some := list(islice(chunks, batch)):
            found = self._weighing.judged(
                self._owner_id,
                some,
                [self._like.origin] * len(some),
                self._profile,
                centre=centre,
                kind=self._like.kind or None,
            )
            redactions, self._redactions = self._redactions, 0
            yield Ingested(self._stored(found), redactions)

    def _screened(self, pieces: Iterable[str]) -> Iterator[str]:
        hide = redact_lines if self._profile.redacts_lines else redact
        for piece in pieces:
            plain, redactions = hide(piece)
            self._redactions += redactions
            yield plain

    def _stored(self, found: Sequence[Judged]) -> tuple[Piece, ...]:
        now = self._access.clock.now()
        drafts = tuple(self._draft(each) for each in found if each.is_kept)
        made = {each.chunk.text: each.entry for each in found if each.entry is not None}
        order = Order(self._owner_id, self._profile, drafts, now, by="ingest", entries=made)
        known = self._known(found)
        if not drafts:
            return tuple(_piece(each, known.get(each.chunk.text), is_new=False) for each in found)
        settled = self._settling.carry_out(order)
        new = set(settled.new)
        memories = iter(settled.memories)
        pieces = []
        for each in found:
            memory = next(memories) if each.is_kept else known.get(each.chunk.text)
            is_new = each.is_kept and memory is not None and memory.id in new
            pieces.append(_piece(each, memory, is_new=is_new))
            new -= set() if memory is None else {memory.id}
        return tuple(pieces)

    def _known(self, found: Sequence[Judged]) -> dict[str, Memory]:
        """Return the memories that say already what is not worth storing, by its text."""
        dropped = [each for each in found if not each.is_kept and each.entry is not None]
        known: dict[str, Memory] = {}
        with self._access.store.read(self._owner_id) as snapshot:
            for each in dropped:
                said = snapshot.by_content(each.entry.content_key) if each.entry else []
                memory = next((one for one in said if isinstance(one, Memory)), None)
                if memory is not None:
                    known[each.chunk.text] = memory
        return known

    def _draft(self, each: Judged) -> Draft:
        draft = Draft(
            content=each.chunk.text,
            kind=each.kind,
            judged=0.0,
            importance=None if each.weighed is None else each.weighed.importance,
            key=self._key(each) if each.kind in self._profile.keyed else None,
            tags=self._like.tags,
            happened_at=self._like.happened_at,
            session_id=self._like.session_id,
            origin=self._like.origin,
        )
        return judged(draft, self._profile)

    def _key(self, each: Judged) -> str:
        """Return a key for a chunk in a profile that stores nothing without: by what it says."""
        digest = hashlib.sha256(each.chunk.text.encode()).hexdigest()[:_KEY_DIGITS]
        return f"{self._source or 'document'}#{digest}"


def _piece(each: Judged, memory: Memory | None, *, is_new: bool) -> Piece:
    fate: Fate = "dropped"
    reason = "too little that is new or matters"
    if memory is not None:
        fate, reason = ("stored", "") if is_new else ("known", "a memory says it already")
    weighed = each.weighed
    return Piece(
        text=each.chunk.text,
        tokens=each.chunk.tokens,
        kind=each.kind if memory is None else memory.kind,
        fate=fate,
        reason=reason,
        importance=weighed.importance if weighed else memory.importance if memory else 0.0,
        novelty=None if weighed is None else weighed.novelty,
        salience=None if weighed is None else weighed.salience,
        memory=memory,
    )
