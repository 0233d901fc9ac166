"""Taking in files: what to read by the name of a format, and how to store it batch by batch."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import msgspec

from memolith.domain.memories import Origin
from memolith.entrypoints.cli.output import counted, redacted
from memolith.errors import InvalidInput
from memolith.exchange import backup, chatgpt, claude, jsonl
from memolith.exchange.files import conversation_files, opened, rereadable
from memolith.exchange.jsonl import STRETCH, Remembered
from memolith.exchange.records import Chronicle
from memolith.exchange.transcripts import Transcript
from memolith.policies import arguments
from memolith.text.cleaning import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memolith.domain.messages import Message
    from memolith.evals.conversations import Conversation
    from memolith.exchange.records import Record
    from memolith.owner import OwnerMemory
    from memolith.services.transfer import Taken

FORMATS = ("locomo", "beam", "chatgpt", "claude", "jsonl")
SAMPLED = ("locomo", "beam")
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Restored:
    """A batch of an export of Memolith.

    Attributes:
        records: What it holds.
        is_again: Whether they were given before, without what came after them.
    """

    records: tuple[Record | Remembered, ...]
    is_again: bool = False


Batch: TypeAlias = Transcript | Remembered | Restored


@dataclass(slots=True)
class Tally:
    """What an import has brought so far.

    Attributes:
        messages: How many messages were stored.
        memories: How many memories were learned or stored.
        already: How many messages and memories were there before.
        conversations: The names of those that messages were given of.
        unkeyed: Ids of memories whose key another one has here.
        passed_over: How many messages were empty, or too long to be taken.
        redactions: How many secrets were taken out of what was stored.
    """

    messages: int = 0
    memories: int = 0
    already: int = 0
    conversations: set[str] = field(default_factory=set)
    unkeyed: list[str] = field(default_factory=list)
    passed_over: int = 0
    redactions: int = 0

    def __str__(self) -> str:
        there = f"; {self.already:,} were there already" if self.already else ""
        unkeyed = f"; {len(self.unkeyed):,} lost a key that is taken here" if self.unkeyed else ""
        over = f"; {self.passed_over:,} empty or too long, passed over" if self.passed_over else ""
        return (
            f"{counted(self.messages, 'message', 'messages')} of "
            f"{counted(len(self.conversations), 'conversation', 'conversations')}, "
            f"{counted(self.memories, 'memory', 'memories')}{there}{over}{unkeyed}"
            f"{redacted(self.redactions)}"
        )


@contextmanager
def batches(
    format_: str, file: str, samples: Sequence[str], owner: str, *, trusted: bool = False
) -> Iterator[Iterable[Batch]]:
    """Open a file and give what it holds, in batches that are stored whole or not at all.

    Args:
        format_: One of `FORMATS`.
        file: A path, or "-" for standard input.
        samples: Of a data set with several conversations only these; none: all.
        owner: Whose memory it is for.
        trusted: Whether a line that says it is the user's own word is believed.

    Raises:
        InvalidInput: It can't be read, or is not of that format.
    """
    if format_ in SAMPLED:
        yield _transcripts(chosen(conversations(format_, file), samples))
        return
    if samples:
        raise InvalidInput("sample", f"only {' and '.join(SAMPLED)} have samples")
    with source(file) as (stream, name):
        if format_ == "jsonl":
            yield _lines(stream, name, owner, trusted=trusted)
        else:
            read = chatgpt.read if format_ == "chatgpt" else claude.read
            yield _exported(stream, name, read)


@contextmanager
def source(file: str) -> Iterator[tuple[BinaryIO, str]]:
    """Open a file, or standard input for "-", to be read twice; give it and what to call it.

    Raises:
        InvalidInput: It can't be read.
    """
    if file == STANDARD_INPUT:
        with rereadable(sys.stdin.buffer) as stream:
            yield stream, "standard input"
    else:
        with opened(Path(file)) as stream, rereadable(stream) as whole:
            yield whole, file


def _exported(
    source: BinaryIO, name: str, read: Callable[[BinaryIO, str], Iterator[Transcript]]
) -> Iterator[Batch]:
    for inner_name, inner in conversation_files(source, name):
        for transcript in read(inner, inner_name):
            yield from _stretches(transcript)


def _lines(source: BinaryIO, name: str, owner: str, *, trusted: bool) -> Iterator[Batch]:
    if not backup.is_backup(source):
        for each in jsonl.read(source, name):
            yield each if trusted else _as_import(each)
        return
    apart: set[str] = set()
    for batch in _stretched(backup.read(source, name, owner)):
        yield Restored(batch)
        apart |= _apart(batch)
    if apart:
        source.seek(0)
        again = (
            each
            for each in backup.read(source, name, owner)
            if isinstance(each, Chronicle) and each.memory.id in apart
        )
        for batch in _stretched(again):
            yield Restored(batch, is_again=True)


def _stretched(
    records: Iterator[Record | Remembered],
) -> Iterator[tuple[Record | Remembered, ...]]:
    while batch := tuple(islice(records, STRETCH)):
        yield batch


def _apart(batch: Sequence[Record | Remembered]) -> set[str]:
    """Return the ids of memories whose successor is in another batch, or nowhere."""
    memories = [each.memory for each in batch if isinstance(each, Chronicle)]
    here = {None, *(memory.id for memory in memories)}
    return {memory.id for memory in memories if memory.superseded_by not in here}


def _as_import(line: Transcript | Remembered) -> Transcript | Remembered:
    """Return a line, what it says to be the user's own word as imported: anybody can write that."""
    if isinstance(line, Remembered) and line.origin is Origin.USER:
        return msgspec.structs.replace(line, origin=Origin.IMPORT)
    return line


def _stretches(transcript: Transcript) -> Iterator[Transcript]:
    messages = transcript.messages
    for start in range(0, len(messages), STRETCH):
        yield Transcript(transcript.session_id, messages[start : start + STRETCH])


def conversations(format_: str, file: str) -> tuple[Conversation, ...]:
    """Read a data set.

    Raises:
        InvalidInput: It can't be read, or is not of that format.
    """
    from memolith.evals import datasets

    readers = {
        "locomo": datasets.read_locomo,
        "beam": datasets.read_beam,
        "jsonl": datasets.read_jsonl,
    }
    return readers[format_](file)


def chosen(found: Sequence[Conversation], samples: Sequence[str]) -> Sequence[Conversation]:
    """Return the conversations of these names; all for none.

    Raises:
        InvalidInput: There is none of a name.
    """
    names = [conversation.id for conversation in found]
    for sample in samples:
        if sample not in names:
            raise InvalidInput("sample", f"{sample!r} is none of {', '.join(names)}")
    return [each for each in found if not samples or each.id in samples]


def _transcripts(found: Iterable[Conversation]) -> Iterator[Batch]:
    for conversation in found:
        for session in conversation.sessions:
            name = f"{conversation.id}:{session.id}"
            yield from _stretches(Transcript(name, session.messages))


def store(memory: OwnerMemory, batch: Batch, tally: Tally) -> int:
    """Store a batch and count it; return how many messages and memories it gave."""
    if isinstance(batch, Transcript):
        taken = [message for message in batch.messages if _can_be_taken(message)]
        logged = memory.log(taken, session=batch.session_id)
        tally.passed_over += len(batch.messages) - len(taken)
        tally.conversations.add(batch.session_id)
        tally.messages += len(logged.messages)
        tally.memories += len(logged.memories)
        tally.already += logged.already
        tally.redactions += logged.redactions
        return len(batch.messages)
    if isinstance(batch, Remembered):
        _count(memory.import_([batch]), (), tally)
        return 1
    restored = memory.import_(batch.records)
    if batch.is_again:
        return 0
    _count(restored, batch.records, tally)
    return len(batch.records)


def _can_be_taken(message: Message) -> bool:
    """Return whether a message says anything, and no more than a message may."""
    try:
        clean(message.content, limit=arguments.MAX_MESSAGE_CHARS)
    except InvalidInput:
        return False
    return True


def _count(taken: Taken, records: Sequence[Record | Remembered], tally: Tally) -> None:
    from memolith.domain.messages import Message

    tally.conversations |= {each.session_id for each in records if isinstance(each, Message)}
    tally.messages += taken.messages
    tally.memories += taken.memories
    tally.already += taken.already
    tally.unkeyed += taken.unkeyed
    tally.redactions += taken.redactions
