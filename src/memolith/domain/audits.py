"""What an audit of memories finds: which of them are not worth keeping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memolith.domain.memories import Origin


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
