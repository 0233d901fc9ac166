"""Reports of ingestion and of memory audits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memolith.domain.memories import Memory, Origin

ChunkStatus = Literal["stored", "known", "dropped"]


@dataclass(frozen=True, slots=True)
class IngestedChunk:
    """One chunk of an ingested text and its outcome.

    Attributes:
        text: The chunk, with secrets redacted.
        tokens: Number of word pieces.
        kind: The kind of the memory that was, or would have been, stored.
        status: "stored" as a new memory; "known": an existing memory already states it; "dropped":
            not worth storing.
        reason: Why it was not stored; empty if it was.
        importance: 0..1.
        novelty: Distance from the owner's existing memories, 0..1; None if the profile stores
            everything.
        salience: Density of relevant information, 0..1; None if the profile stores everything.
        memory: The new or existing memory; None for a dropped chunk.
    """

    text: str
    tokens: int
    kind: str
    status: ChunkStatus
    reason: str
    importance: float
    novelty: float | None
    salience: float | None
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The outcome of an ingestion, by chunk.

    Attributes:
        chunks: All chunks, in order.
        redactions: Number of redacted secrets.
    """

    chunks: tuple[IngestedChunk, ...]
    redactions: int = 0

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories of the chunks that were not dropped, in order."""
        return tuple(each.memory for each in self.chunks if each.memory is not None)

    @property
    def kept_chunks(self) -> tuple[IngestedChunk, ...]:
        """The chunks that are now in memory."""
        return tuple(each for each in self.chunks if each.status != "dropped")

    @property
    def dropped_chunks(self) -> tuple[IngestedChunk, ...]:
        """The chunks that were not worth storing."""
        return tuple(each for each in self.chunks if each.status == "dropped")


# --- Audits


@dataclass(frozen=True, slots=True)
class AuditExample:
    """One flagged memory.

    Attributes:
        id: Its id; for a file without ids, its location ("notes.jsonl:12").
        text: The beginning of its text.
        reason: The problem, in a word or two.
        duplicate_of: The id of the memory that it repeats, if any.
        similarity: Cosine similarity of the two, −1..1, if the match is by similarity.
    """

    id: str
    text: str
    reason: str
    duplicate_of: str | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class AuditCategory:
    """The memories flagged with one kind of problem.

    Attributes:
        count: Number of flagged memories.
        rate: Their share of all audited memories, 0..1; 0.0 without memories.
        ids: All their ids, in the order of the audit.
        examples: The first flagged memories.
        reasons: Number of memories by reason, most frequent first.
    """

    count: int
    rate: float
    ids: tuple[str, ...]
    examples: tuple[AuditExample, ...]
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Audit:
    """The quality of a set of memories.

    A memory may belong to several categories, but counts once as junk.

    Attributes:
        memories: Number of audited memories.
        junk: Number of duplicates, fragments, filler and echoes.
        rate: Their share, 0..1; 0.0 without memories.
        duplicates: Memories with the same wording as an earlier one.
        fragments: Parts of sentences, and sentences that mean nothing on their own.
        filler: Phrases of conversation without information: greetings, offers of help.
        echoes: Text of a memory or a prompt that was stored again as new.
        near: Other memories that are close in meaning to an earlier one. Not junk: "from Monday to
            Tuesday" is close to "from Tuesday to Monday". None if not computed.
        compared: Number of memories compared for `near`.
    """

    memories: int
    junk: int
    rate: float
    duplicates: AuditCategory
    fragments: AuditCategory
    filler: AuditCategory
    echoes: AuditCategory
    near: AuditCategory | None = None
    compared: int = 0


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A memory to audit, from a store or a file.

    Attributes:
        id: Its id, or its location in the file.
        text: Its text, with secrets redacted.
        key: Its key.
        origin: Its source; None if unknown.
    """

    id: str
    text: str
    key: str | None = None
    origin: Origin | None = None
