"""The commands `import` and `export`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

import click
import msgspec

from memolith.api.owner import OwnerMemory
from memolith.cli.context import CommandCall, command
from memolith.cli.output import format_count, format_redactions, progress
from memolith.domain.memories import Origin
from memolith.domain.messages import Message
from memolith.errors import InvalidInput, MemolithError
from memolith.evals import datasets
from memolith.evals.datasets import Conversation
from memolith.import_export import chats, jsonl
from memolith.import_export.files import iter_conversation_files, open_binary, open_rereadable
from memolith.import_export.jsonl import IMPORT_BATCH_SIZE, ImportedMemory, write_export
from memolith.import_export.records import MemoryRecord, Record, Transcript
from memolith.policies import arguments
from memolith.text.cleaning import clean

if TYPE_CHECKING:
    from memolith.services.transfer import ImportResult

IMPORT_FORMATS = ("locomo", "beam", "chatgpt", "claude", "jsonl")
FORMATS_WITH_SAMPLES = ("locomo", "beam")
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class ExportBatch:
    """A batch of records from a Memolith export.

    Attributes:
        records: The records.
        is_repeat: Whether the records were imported before, without their successors.
    """

    records: tuple[Record | ImportedMemory, ...]
    is_repeat: bool = False


ImportBatch: TypeAlias = Transcript | ImportedMemory | ExportBatch


@dataclass(slots=True)
class ImportTally:
    """Counts of an import.

    Attributes:
        messages: The number of stored messages.
        memories: The number of learned or stored memories.
        duplicates_skipped: The number of messages and memories that were stored before.
        conversations: The names of the imported conversations.
        keys_dropped: Ids of memories whose key belongs to another memory already.
        messages_skipped: The number of messages that are empty or too long.
        redactions: The number of redacted secrets.
    """

    messages: int = 0
    memories: int = 0
    duplicates_skipped: int = 0
    conversations: set[str] = field(default_factory=set)
    keys_dropped: list[str] = field(default_factory=list)
    messages_skipped: int = 0
    redactions: int = 0

    def __str__(self) -> str:
        duplicates = (
            f"; {self.duplicates_skipped:,} already stored" if self.duplicates_skipped else ""
        )
        keys_dropped = (
            f"; {len(self.keys_dropped):,} without their key, which is in use"
            if self.keys_dropped
            else ""
        )
        skipped = (
            f"; {self.messages_skipped:,} empty or too long, skipped"
            if self.messages_skipped
            else ""
        )
        return (
            f"{format_count(self.messages, 'message', 'messages')} of "
            f"{format_count(len(self.conversations), 'conversation', 'conversations')}, "
            f"{format_count(self.memories, 'memory', 'memories')}"
            f"{duplicates}{skipped}{keys_dropped}{format_redactions(self.redactions)}"
        )


@contextmanager
def open_batches(
    format_: str, file: str, samples: Sequence[str], owner: str, *, trusted: bool = False
) -> Iterator[Iterable[ImportBatch]]:
    """Open a file and yield its content in batches. Each is stored completely or not at all.

    Args:
        format_: One of `IMPORT_FORMATS`.
        file: A path, or "-" for standard input.
        samples: The conversations to read from a data set. Empty: all.
        owner: The owner of the imported records.
        trusted: Whether to keep the origin "user" of memories.

    Raises:
        InvalidInput: The file cannot be read, or has another format.
    """
    if format_ in FORMATS_WITH_SAMPLES:
        yield _iter_transcripts(select_conversations(read_conversations(format_, file), samples))
        return
    if samples:
        raise InvalidInput("sample", f"is only for {' and '.join(FORMATS_WITH_SAMPLES)}")
    with open_source(file) as (stream, name):
        if format_ == "jsonl":
            yield _read_lines(stream, name, owner, trusted=trusted)
        else:
            read = chats.read_chatgpt if format_ == "chatgpt" else chats.read_claude
            yield _read_chat_export(stream, name, read)


@contextmanager
def open_source(file: str) -> Iterator[tuple[BinaryIO, str]]:
    """Open a file, or standard input for "-", for reading twice. Yield it with its display name.

    Raises:
        InvalidInput: The file cannot be read.
    """
    if file == STANDARD_INPUT:
        with open_rereadable(sys.stdin.buffer) as stream:
            yield stream, "standard input"
    else:
        with open_binary(Path(file)) as stream, open_rereadable(stream) as rereadable:
            yield rereadable, file


def _read_chat_export(
    source: BinaryIO, name: str, read: Callable[[BinaryIO, str], Iterator[Transcript]]
) -> Iterator[ImportBatch]:
    for member_name, member in iter_conversation_files(source, name):
        for transcript in read(member, member_name):
            yield from _split_transcript(transcript)


def _read_lines(source: BinaryIO, name: str, owner: str, *, trusted: bool) -> Iterator[ImportBatch]:
    if not jsonl.is_export(source):
        for each in jsonl.read_jsonl(source, name):
            yield each if trusted else _mark_as_import(each)
        return
    split_ids: set[str] = set()
    for batch in _group_records(jsonl.read_export(source, name, owner)):
        yield ExportBatch(batch)
        split_ids |= _find_split_successions(batch)
    if split_ids:
        source.seek(0)
        remaining = (
            each
            for each in jsonl.read_export(source, name, owner)
            if isinstance(each, MemoryRecord) and each.memory.id in split_ids
        )
        for batch in _group_records(remaining):
            yield ExportBatch(batch, is_repeat=True)


def _group_records(
    records: Iterator[Record | ImportedMemory],
) -> Iterator[tuple[Record | ImportedMemory, ...]]:
    while batch := tuple(islice(records, IMPORT_BATCH_SIZE)):
        yield batch


def _find_split_successions(batch: Sequence[Record | ImportedMemory]) -> set[str]:
    """Return the ids of memories whose successor is not in the same batch."""
    memories = [each.memory for each in batch if isinstance(each, MemoryRecord)]
    batch_ids = {None, *(memory.id for memory in memories)}
    return {memory.id for memory in memories if memory.superseded_by not in batch_ids}


def _mark_as_import(line: Transcript | ImportedMemory) -> Transcript | ImportedMemory:
    """Return a line with the origin "import" instead of "user", which anyone can write."""
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
        InvalidInput: The file cannot be read, or has another format.
    """
    readers = {
        "locomo": datasets.read_locomo,
        "beam": datasets.read_beam,
        "jsonl": datasets.read_jsonl,
    }
    return readers[format_](file)


def select_conversations(
    conversations: Sequence[Conversation], ids: Sequence[str]
) -> Sequence[Conversation]:
    """Return the conversations with these names. No names: all conversations.

    Raises:
        InvalidInput: No conversation has one of the names.
    """
    names = [conversation.id for conversation in conversations]
    for sample in ids:
        if sample not in names:
            raise InvalidInput("sample", f"{sample!r} is not one of {', '.join(names)}")
    return [each for each in conversations if not ids or each.id in ids]


def _iter_transcripts(conversations: Iterable[Conversation]) -> Iterator[ImportBatch]:
    for conversation in conversations:
        for session in conversation.sessions:
            name = f"{conversation.id}:{session.id}"
            yield from _split_transcript(Transcript(name, session.messages))


def store_batch(memory: OwnerMemory, batch: ImportBatch, tally: ImportTally) -> int:
    """Store a batch, count it, and return the number of its messages and memories."""
    if isinstance(batch, Transcript):
        storable = [message for message in batch.messages if _is_storable(message)]
        logged = memory.log(storable, session=batch.session_id)
        tally.messages_skipped += len(batch.messages) - len(storable)
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
    """Return whether a message is neither empty nor too long."""
    try:
        clean(message.content, limit=arguments.MAX_MESSAGE_CHARS)
    except InvalidInput:
        return False
    return True


def _add_to_tally(
    result: ImportResult, records: Sequence[Record | ImportedMemory], tally: ImportTally
) -> None:
    tally.conversations |= {each.session_id for each in records if isinstance(each, Message)}
    tally.messages += result.messages
    tally.memories += result.memories
    tally.duplicates_skipped += result.duplicates_skipped
    tally.keys_dropped += result.keys_dropped
    tally.redactions += result.redactions


# --- `memolith import`


IMPORT_EXAMPLES = """
memolith import chatgpt conversations.json
memolith import claude data-2026-05-08.zip
memolith import locomo locomo10.json --sample conv-26
memolith import jsonl backup.jsonl --owner alice
"""


@command("import", example=IMPORT_EXAMPLES)
@click.argument("format", type=click.Choice(IMPORT_FORMATS), metavar="FORMAT")
@click.argument("file")
@click.option(
    "--sample",
    "samples",
    multiple=True,
    help="Import only this conversation of locomo or beam. Repeatable.",
)
@click.option("--trusted", is_flag=True, help="Keep the origin `user` of memories in jsonl.")
def import_command(
    call: CommandCall, format: str, file: str, samples: tuple[str, ...], *, trusted: bool
) -> None:
    """Import FILE; use - for standard input.

    FORMAT is chatgpt or claude (conversations.json or the whole zip archive), jsonl (one message or
    memory a line, or an export of Memolith), or one of the data sets locomo and beam. Records that
    were imported before are skipped. Standard input is buffered in memory: pass large exports as
    files.

    Speakers and roles in a file are trusted, and so are exports of Memolith. Import only files that
    you trust.
    """
    tally = ImportTally()
    source = open_batches(format, file, samples, call.owner, trusted=trusted)
    with source as batches, call.open_memory(create=True) as memory:
        try:
            with progress(f"Importing {file}") as advance:
                for batch in batches:
                    advance(store_batch(memory, batch, tally))
        except (KeyboardInterrupt, MemolithError):
            if tally.messages or tally.memories:
                click.echo(f"memolith: stopped after {tally}; imported records are kept", err=True)
            raise
    call.respond(
        f"Imported {tally}.",
        {
            "messages": tally.messages,
            "memories": tally.memories,
            "duplicates_skipped": tally.duplicates_skipped,
            "messages_skipped": tally.messages_skipped,
            "conversations": len(tally.conversations),
            "keys_dropped": tally.keys_dropped,
            "redactions": tally.redactions,
        },
    )


# --- `memolith export`


EXPORT_EXAMPLES = """
memolith export > memories.jsonl
memolith export --owner alice --output alice.jsonl
"""


@command("export", example=EXPORT_EXAMPLES)
@click.option(
    "--output", "-o", default="-", metavar="FILE", help="File to write.  [default: standard output]"
)
def export_command(call: CommandCall, output: str) -> None:
    """Export all data of an owner as JSON Lines, for `memolith import jsonl`.

    Contains every message, and every memory in any state with its versions and events. Omits
    forgotten records, review decisions and derived data: vectors, keywords and links. The export is
    not encrypted. A file is written completely or not at all.
    """
    now = datetime.now(UTC)  # noqa: TID251 - only informative, in the header
    with (
        call.open_memory() as memory,
        progress("Exporting") as advance,
        _open_output(output) as sink,
    ):
        for line in write_export(memory.export(), call.owner, now):
            sink.write(line)
            advance(1)


@contextmanager
def _open_output(output: str) -> Iterator[BinaryIO]:
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(output).resolve()  # replace a link's target, not the link
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise InvalidInput("output", f"{output} is a directory")
        with target.open("wb") as pipe:  # or a device, which must not be replaced
            yield pipe
        return
    # In the target's folder, so that the rename is atomic; readable by its owner only.
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".memolith-", delete=False) as file:
        unfinished = Path(file.name)
        try:
            yield cast("BinaryIO", file)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            file.close()
            unfinished.unlink()
            raise
    unfinished.replace(target)
