"""Taking in files: what to read by the name of a format, and how to store it batch by batch."""

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
            read = chats.read_chatgpt if format_ == "chatgpt" else chats.read_claude
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
    if not jsonl.is_export(source):
        for each in jsonl.read_jsonl(source, name):
            yield each if trusted else _mark_as_import(each)
        return
    apart: set[str] = set()
    for batch in _group_records(jsonl.read_export(source, name, owner)):
        yield ExportBatch(batch)
        apart |= _find_split_successions(batch)
    if apart:
        source.seek(0)
        again = (
            each
            for each in jsonl.read_export(source, name, owner)
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
    tally.conversations |= {each.session_id for each in records if isinstance(each, Message)}
    tally.messages += taken.messages
    tally.memories += taken.memories
    tally.duplicates_skipped += taken.duplicates_skipped
    tally.keys_dropped += taken.keys_dropped
    tally.redactions += taken.redactions


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
    "--sample", "samples", multiple=True, help="Of locomo and beam only this. Repeatable."
)
@click.option(
    "--trusted", is_flag=True, help="Believe memories of jsonl that say they are the user's own."
)
def import_command(
    call: CommandCall, format: str, file: str, samples: tuple[str, ...], *, trusted: bool
) -> None:
    """Take in a FILE of another program, or - for standard input.

    FORMAT is chatgpt or claude (the exports of these, as conversations.json or the whole zip),
    jsonl (a message or memory a line, or what `memolith export` wrote), or one of the data sets
    locomo and beam. What was imported before is not imported again. Standard input is held in
    memory: give a large export as a file.

    A file is believed about who said what in a conversation, and so is an export of Memolith: take
    in none that you would not.
    """
    tally = ImportTally()
    reading = open_batches(format, file, samples, call.owner, trusted=trusted)
    with reading as found, call.open_memory(create=True) as memory:
        try:
            with progress(f"Importing {file}") as advance:
                for batch in found:
                    advance(store_batch(memory, batch, tally))
        except (KeyboardInterrupt, MemolithError):
            if tally.messages or tally.memories:
                click.echo(f"memolith: stopped after {tally}; these are kept", err=True)
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
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to; default: here.")
def export_command(call: CommandCall, output: str) -> None:
    """Write everything of an owner as JSON lines, which `memolith import jsonl` takes back.

    That is: every message as it was stored, and every memory in any state, with its versions and
    its history. Left out is what is forgotten, approvals of what was reviewed, and what is
    derived: vectors, keywords, and links between memories that are near. It is not encrypted. A
    file is written whole or not at all.
    """
    now = datetime.now(UTC)  # noqa: TID251 - only a note in the file's first line
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
    target = Path(output).resolve()  # a link's target is replaced, not the link
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise InvalidInput("output", f"{output} is a folder")
        with target.open("wb") as pipe:  # or a device, which is not to be replaced
            yield pipe
        return
    # Beside the target, so that moving it there is one step; readable by its owner only.
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
