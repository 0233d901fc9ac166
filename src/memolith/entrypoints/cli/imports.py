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
from memolith.entrypoints.cli.output import format_count, format_redactions
from memolith.errors import InvalidInput
from memolith.exchange import backup, chatgpt, claude, jsonl
from memolith.exchange.files import iter_conversation_files, open_binary, open_rereadable
from memolith.exchange.jsonl import IMPORT_BATCH_SIZE, ImportedMemory
from memolith.exchange.records import MemoryRecord
from memolith.exchange.transcripts import Transcript
from memolith.policies import arguments
from memolith.text.cleaning import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memolith.domain.messages import Message
    from memolith.evals.conversations import Conversation
    from memolith.exchange.records import Record
    from memolith.owner import OwnerMemory
    from memolith.services.transfer import ImportResult

IMPORT_FORMATS = ("locomo", "beam", "chatgpt", "claude", "jsonl")
FORMATS_WITH_SAMPLES = ("locomo", "beam")
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class ExportBatch:
    """A batch of an export of Memolith.

    Attributes:
        records: What it holds.
        is_again: Whether they were given before, without what came after them.
    """

    records: tuple[Record | ImportedMemory, ...]
    is_repeat: bool = False


ImportBatch: TypeAlias = Transcript | ImportedMemory | ExportBatch


@dataclass(slots=True)
class ImportTally:
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
    duplicates_skipped: int = 0
    conversations: set[str] = field(default_factory=set)
    keys_dropped: list[str] = field(default_factory=list)
    messages_skipped: int = 0
    redactions: int = 0

    def __str__(self) -> str:
        there = (
            f"; {self.duplicates_skipped:,} were there already" if self.duplicates_skipped else ""
        )
        unkeyed = (
            f"; {len(self.keys_dropped):,} lost a key that is taken here"
            if self.keys_dropped
            else ""
        )
        over = (
            f"; {self.messages_skipped:,} empty or too long, passed over"
            if self.messages_skipped
            else ""
        )
        return (
            f"{format_count(self.messages, 'message', 'messages')} of "
            f"{format_count(len(self.conversations), 'conversation', 'conversations')}, "
            f"{format_count(self.memories, 'memory', 'memories')}{there}{over}{unkeyed}"
            f"{format_redactions(self.redactions)}"
        )


@contextmanager
def open_batches(
    format_: str, file: str, samples: Sequence[str], owner: str, *, trusted: bool = False
) -> Iterator[Iterable[ImportBatch]]:
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
    if format_ in FORMATS_WITH_SAMPLES:
        yield _iter_transcripts(select_conversations(read_conversations(format_, file), samples))
        return
    if samples:
        raise InvalidInput("sample", f"only {' and '.join(FORMATS_WITH_SAMPLES)} have samples")
    with open_source(file) as (stream, name):
        if format_ == "jsonl":
            yield _read_lines(stream, name, owner, trusted=trusted)
        else:
            read = chatgpt.read_chatgpt if format_ == "chatgpt" else claude.read_claude
            yield _read_chat_export(stream, name, read)


@contextmanager
def open_source(file: str) -> Iterator[tuple[BinaryIO, str]]:
    """Open a file, or standard input for "-", to be read twice; give it and what to call it.

    Raises:
        InvalidInput: It can't be read.
    """
    if file == STANDARD_INPUT:
        with open_rereadable(sys.stdin.buffer) as stream:
            yield stream, "standard input"
    else:
        with open_binary(Path(file)) as stream, open_rereadable(stream) as whole:
            yield whole, file


def _read_chat_export(
    source: BinaryIO, name: str, read: Callable[[BinaryIO, str], Iterator[Transcript]]
) -> Iterator[ImportBatch]:
    for inner_name, inner in iter_conversation_files(source, name):
        for transcript in read(inner, inner_name):
            yield from _split_transcript(transcript)


def _read_lines(source: BinaryIO, name: str, owner: str, *, trusted: bool) -> Iterator[ImportBatch]:
    if not backup.is_export(source):
        for each in jsonl.read_jsonl(source, name):
            yield each if trusted else _mark_as_import(each)
        return
    apart: set[str] = set()
    for batch in _group_records(backup.read_export(source, name, owner)):
        yield ExportBatch(batch)
        apart |= _find_split_successions(batch)
    if apart:
        source.seek(0)
        again = (
            each
            for each in backup.read_export(source, name, owner)
            if isinstance(each, MemoryRecord) and each.memory.id in apart
        )
        for batch in _group_records(again):
            yield ExportBatch(batch, is_repeat=True)


def _group_records(
    records: Iterator[Record | ImportedMemory],
) -> Iterator[tuple[Record | ImportedMemory, ...]]:
    while batch := tuple(islice(records, IMPORT_BATCH_SIZE)):
        yield batch


def _find_split_successions(batch: Sequence[Record | ImportedMemory]) -> set[str]:
    """Return the ids of memories whose successor is in another batch, or nowhere."""
    memories = [each.memory for each in batch if isinstance(each, MemoryRecord)]
    here = {None, *(memory.id for memory in memories)}
    return {memory.id for memory in memories if memory.superseded_by not in here}


def _mark_as_import(line: Transcript | ImportedMemory) -> Transcript | ImportedMemory:
    """Return a line, what it says to be the user's own word as imported: anybody can write that."""
    if isinstance(line, ImportedMemory) and line.origin is Origin.USER:
        return msgspec.structs.replace(line, origin=Origin.IMPORT)
    return line


def _split_transcript(transcript: Transcript) -> Iterator[Transcript]:
    messages = transcript.messages
    for start in range(0, len(messages), IMPORT_BATCH_SIZE):
        yield Transcript(transcript.session_id, messages[start : start + IMPORT_BATCH_SIZE])


def read_conversations(format_: str, file: str) -> tuple[Conversation, ...]:
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


def select_conversations(
    found: Sequence[Conversation], samples: Sequence[str]
) -> Sequence[Conversation]:
    """Return the conversations of these names; all for none.

    Raises:
        InvalidInput: There is none of a name.
    """
    names = [conversation.id for conversation in found]
    for sample in samples:
        if sample not in names:
            raise InvalidInput("sample", f"{sample!r} is none of {', '.join(names)}")
    return [each for each in found if not samples or each.id in samples]


def _iter_transcripts(found: Iterable[Conversation]) -> Iterator[ImportBatch]:
    for conversation in found:
        for session in conversation.sessions:
            name = f"{conversation.id}:{session.id}"
            yield from _split_transcript(Transcript(name, session.messages))


def store_batch(memory: OwnerMemory, batch: ImportBatch, tally: ImportTally) -> int:
    """Store a batch and count it; return how many messages and memories it gave."""
    if isinstance(batch, Transcript):
        taken = [message for message in batch.messages if _is_storable(message)]
        logged = memory.log(taken, session=batch.session_id)
        tally.messages_skipped += len(batch.messages) - len(taken)
        tally.conversations.add(batch.session_id)
        tally.messages += len(logged.messages)
        tally.memories += len(logged.memories)
        tally.duplicates_skipped += logged.duplicates_skipped
        tally.redactions += logged.redactions
        return len(batch.messages)
    if isinstance(batch, ImportedMemory):
        _add_to_tally(memory.import_([batch]), (), tally)
        return 1
    restored = memory.import_(batch.records)
    if batch.is_repeat:
        return 0
    _add_to_tally(restored, batch.records, tally)
    return len(batch.records)


def _is_storable(message: Message) -> bool:
    """Return whether a message says anything, and no more than a message may."""
    try:
        clean(message.content, limit=arguments.MAX_MESSAGE_CHARS)
    except InvalidInput:
        return False
    return True


def _add_to_tally(
    taken: ImportResult, records: Sequence[Record | ImportedMemory], tally: ImportTally
) -> None:
    from memolith.domain.messages import Message

    tally.conversations |= {each.session_id for each in records if isinstance(each, Message)}
    tally.messages += taken.messages
    tally.memories += taken.memories
    tally.duplicates_skipped += taken.duplicates_skipped
    tally.keys_dropped += taken.keys_dropped
    tally.redactions += taken.redactions
