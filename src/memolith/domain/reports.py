"""What an ingestion has made of a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memolith.domain.memories import Memory, Origin

ChunkStatus = Literal["stored", "known", "dropped"]


@dataclass(frozen=True, slots=True)
class IngestedChunk:
    """One chunk of the text, and what became of it.

    Attributes:
        text: The chunk, without secrets.
        tokens: Its word pieces.
        kind: The kind of memory it is, or would have been.
        fate: "stored" as new; "known": a memory says it already; "dropped": not worth it.
        reason: Why it was not stored; empty where it was.
        importance: 0..1.
        novelty: How far it is from what the owner had before, 0..1; None where the profile keeps
            everything, and does not ask.
        salience: How much of what matters it holds, 0..1; None likewise.
        memory: The memory that says it; None where it was dropped.
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
    """What became of a text, chunk by chunk.

    Attributes:
        pieces: All chunks, in order.
        redactions: How many secrets were taken out.
    """

    chunks: tuple[IngestedChunk, ...]
    redactions: int = 0

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories that say what was kept, in order."""
        return tuple(each.memory for each in self.chunks if each.memory is not None)

    @property
    def kept_chunks(self) -> tuple[IngestedChunk, ...]:
        """The chunks that a memory says now."""
        return tuple(each for each in self.chunks if each.status != "dropped")

    @property
    def dropped_chunks(self) -> tuple[IngestedChunk, ...]:
        """The chunks that were not worth keeping."""
        return tuple(each for each in self.chunks if each.status == "dropped")


# --- What an audit of memories finds: which of them are not worth keeping


@dataclass(frozen=True, slots=True)
class AuditExample:
    """One memory that was found.

    Attributes:
        id: Its id; in a file without ids, where it stands ("notes.jsonl:12").
        text: Its beginning.
        reason: What is wrong with it, in a word or two.
        of: The id of the memory that it repeats, where it repeats one.
        similarity: The cosine of the two, −1..1, where that is why.
    """

    id: str
    text: str
    reason: str
    duplicate_of: str | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class AuditCategory:
    """The memories of which one thing is true.

    Attributes:
        count: How many.
        rate: Their share of those that were looked at, 0..1; 0.0 of none.
        ids: All of them, in the order they were found.
        examples: The first of them.
        reasons: How many there are of each reason, most first.
    """

    count: int
    rate: float
    ids: tuple[str, ...]
    examples: tuple[AuditExample, ...]
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Audit:
    """How good memories are, as what was written.

    A memory may be of several shares, and counts once as junk.

    Attributes:
        memories: How many were looked at.
        junk: How many are duplicates, fragments, filler or echoes.
        rate: Their share, 0..1; 0.0 of none.
        duplicates: Those that say word for word what one stored before says.
        fragments: Pieces of sentences, and sentences that mean nothing by themselves.
        filler: What is said in a conversation and tells nothing: greetings, offers of help.
        echoes: What memory, or a prompt, said and was stored as new.
        near: Those of the rest that are near in meaning to one stored before; no junk: "from
            Monday to Tuesday" is near to "from Tuesday to Monday". None: not looked for.
        compared: How many were looked at for that.
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
    """A memory as an audit looks at it, of a store or of a file.

    Attributes:
        id: Its id, or where it stands.
        text: What it says, without secrets.
        key: Its key.
        origin: Where it comes from; None: not known.
    """

    id: str
    text: str
    key: str | None = None
    origin: Origin | None = None
