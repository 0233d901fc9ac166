"""What an ingestion has made of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from memolith.domain.memories import Memory

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
