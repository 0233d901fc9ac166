"""Secrets passed to any interface are neither stored nor repeated in its answer."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memolith import Memolith, Message
from memolith.cli.main import cli
from memolith.config import load
from memolith.domain.memories import Event, Source
from memolith.errors import InvalidInput, MemolithError
from memolith.import_export.records import MemoryRecord, Record, SessionEnd
from memolith.ports.clock import Clock
from memolith.testing.fakes import SettableClock, WordCounter
from support.databases import bytes_under
from support.plaintext_search import RecordingEmbedder
from support.tenant_isolation import DOORS, Things, furnish

TOKEN = "gh~p_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHj".replace("~", "")
GIVEN = Things(
    memories=(TOKEN,) * 5,
    messages=(TOKEN,),
    keys=(TOKEN, f"key of {TOKEN}"),
    tags=(TOKEN, f"tag {TOKEN}"),
    sessions=(TOKEN, f"session {TOKEN}"),
    external_ids=(TOKEN, f"id {TOKEN}"),
    texts=(f"A wallaby has {TOKEN}", f"I like {TOKEN}.", f"My name is {TOKEN}. {TOKEN}"),
    cursor=TOKEN,
    records=(),
)
"""Arguments with the token in each text and name."""


@dataclass(frozen=True, slots=True)
class ObservedMemory:
    """An unencrypted store, whose files can be searched, with its embedder and log."""

    memory: Memolith
    folder: Path
    embedder: RecordingEmbedder
    log: pytest.LogCaptureFixture

    def leaks(self) -> list[str]:
        """Return the places that contain the token."""
        found = ["the store"] if TOKEN.encode() in bytes_under(self.folder) else []
        found += [f"embedded: {text}" for text in self.embedder.seen if TOKEN in text]
        if TOKEN in self.log.text:
            found.append("the log")
        return found


@pytest.fixture
def observed(
    tmp_path: Path, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> Iterator[ObservedMemory]:
    caplog.set_level(logging.DEBUG)
    embedder = RecordingEmbedder()
    with Memolith.open(
        tmp_path / "memory.db",
        embedder=embedder,
        clock=clock,
        tokens=WordCounter(),
        config=load(env={}, overrides={"enable_encryption": False}),
    ) as memory:
        yield ObservedMemory(memory, tmp_path, embedder, caplog)


def result_text(call: Callable[[], object]) -> str:
    """Return the result of a call; for an error, the text that a log would contain."""
    try:
        result = call()
        return repr(list(result) if isinstance(result, Iterator) else result)
    except MemolithError as error:
        report = traceback.TracebackException.from_exception(error, compact=True)
        # Source lines are left out: the test itself contains the token.
        return "\n".join(_error_lines(report)) + repr(vars(error))


def _error_lines(report: traceback.TracebackException | None) -> Iterator[str]:
    while report is not None:
        yield from report.format_exception_only()
        report = report.__cause__ or (None if report.__suppress_context__ else report.__context__)


EXCLUDED = {"import_", "rotate_key", "erase", "compress"}
"""Methods that return their input (`compress`: a history), or have no input."""


@pytest.mark.parametrize("door", sorted(set(DOORS) - EXCLUDED))
def test_no_method_stores_or_returns_a_secret(observed: ObservedMemory, door: str) -> None:
    own = furnish(observed.memory.owner("alice"), "wallaby")
    for call in DOORS[door](own, GIVEN):
        answer = result_text(partial(call, observed.memory, door, "alice"))
        assert TOKEN not in answer, call
    for record in observed.memory.export(owner="alice"):
        assert TOKEN not in repr(record)
    observed.memory.flush()
    assert observed.leaks() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda alice: alice.remember("x", kind=TOKEN),
        lambda alice: alice.remember("x", origin=TOKEN),
        lambda alice: alice.remember("x", expires_in=TOKEN),
        lambda alice: alice.remember("x", importance=TOKEN),
        lambda alice: alice.recall("x", top_k=TOKEN),
        lambda alice: alice.recall("x", mode=TOKEN),
        lambda alice: alice.list(kind=TOKEN),
        lambda alice: alice.list(state=TOKEN),
        lambda alice: alice.log([Message(TOKEN, "x")]),
        lambda alice: alice.log([Message("Bob", "x", role=TOKEN)]),  # type: ignore[arg-type]
        lambda alice: alice.log([Message("Bob", "x", external_id=TOKEN)]),
    ],
)
def test_error_does_not_repeat_a_secret(
    observed: ObservedMemory, call: Callable[[Any], object]
) -> None:
    with pytest.raises(InvalidInput):
        call(observed.memory.owner("alice"))
    assert TOKEN not in result_text(lambda: call(observed.memory.owner("alice")))
    assert observed.leaks() == []


def test_owner_name_with_a_secret_is_refused(observed: ObservedMemory) -> None:
    for call in (
        lambda: observed.memory.owner(TOKEN),
        lambda: observed.memory.remember("x", owner=TOKEN),
        lambda: observed.memory.erase(TOKEN),
        lambda: observed.memory.readmit(TOKEN),
    ):
        with pytest.raises(InvalidInput, match="contains a secret"):
            call()
        assert TOKEN not in result_text(call)
    assert observed.leaks() == []


def poisoned_memories(chronicle: MemoryRecord) -> Iterator[MemoryRecord]:
    """Yield an exported memory with the token in each of its texts in turn."""
    memory, history = chronicle.memory, chronicle.history
    for change in (
        {"content": f"A wallaby has {TOKEN}"},
        {"summary": f"has {TOKEN}"},
        {"key": TOKEN},
        {"tags": (TOKEN,)},
        {"kind": TOKEN},
        {"session_id": TOKEN},
        {"superseded_by": TOKEN},
        {"sources": (Source(memory.id, "message", TOKEN),)},
    ):
        changed: Any = change
        version = history.versions[-1]
        poisoned = replace(version, memory=replace(version.memory, **changed))
        versions = (*history.versions[:-1], poisoned)
        yield MemoryRecord(replace(memory, **changed), replace(history, versions=versions))
    event = history.events[0]
    for each in (
        replace(event, actor=TOKEN),
        replace(event, details={TOKEN: "x"}),
        replace(event, details={"why": f"because of {TOKEN}"}),
    ):
        yield MemoryRecord(memory, replace(history, events=(each,)))


def poisoned_messages(message: Message) -> Iterator[Record]:
    for change in ("content", "speaker", "external_id", "session_id", "id"):
        changed: Any = {change: TOKEN}
        yield replace(message, **changed)
    assert message.at is not None
    yield SessionEnd(TOKEN, message.at)


def test_import_of_records_stores_no_secret(observed: ObservedMemory) -> None:
    with Memolith.open(":memory:", embedder=RecordingEmbedder(), tokens=WordCounter()) as other:
        furnish(other.owner("alice"), "wallaby")
        records = list(other.export(owner="alice"))
    poisoned: list[Record] = [
        *(each for r in records if isinstance(r, MemoryRecord) for each in poisoned_memories(r)),
        *(each for r in records if isinstance(r, Message) for each in poisoned_messages(r)),
    ]
    refused = 0
    for number, record in enumerate(poisoned):
        answer = result_text(partial(observed.memory.import_, [record], owner=f"{number}"))
        refused += "contains a secret" in answer
        assert TOKEN not in answer
        assert TOKEN not in repr(list(observed.memory.export(owner=f"{number}")))
    assert 0 < refused < len(poisoned)
    assert observed.leaks() == []
    assert isinstance(records[-1], MemoryRecord)
    assert isinstance(records[-1].history.events[0], Event)


JSONL = [
    {"session": "s", "id": "1", "speaker": "Ann", "content": "A wallaby"},
    {"type": "memory", "content": "A wallaby", "kind": "fact", "key": "k", "tags": ["t"]},
    {"role": "user", "content": "Without an id"},
    {"type": "memory", "content": "A wallaby", "origin": "user", "session": "s"},
]
CLAUDE = [
    {
        "uuid": "c1",
        "name": "title",
        "created_at": "2024-05-08T13:56:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "A wallaby",
                "content": [{"type": "text", "text": "A wallaby"}],
                "files": [{"file_name": "wallaby.txt"}],
            }
        ],
    }
]
CHATGPT = [
    {
        "conversation_id": "c1",
        "title": "title",
        "current_node": "a",
        "mapping": {
            "a": {
                "parent": None,
                "message": {
                    "id": "m1",
                    "author": {"role": "user", "name": "Ann"},
                    "content": {"content_type": "text", "parts": ["A wallaby"]},
                    "metadata": {"more": "text"},
                    "recipient": "all",
                },
            }
        },
    }
]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "A wallaby"}],
        },
        "qa": [],
    }
]
BEAM = [
    {
        "id": "1",
        "messages": [
            {"id": 0, "role": "user", "time_anchor": "March-15-2024", "content": "A wallaby"}
        ],
        "questions": [],
    }
]
FILES = {"claude": CLAUDE, "chatgpt": CHATGPT, "locomo": LOCOMO, "beam": BEAM}


def poisoned_documents(value: Any) -> Iterator[Any]:
    """Yield copies of a document, each with the token in one of its values."""
    if isinstance(value, str):
        yield f"{value} {TOKEN}"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from ({**value, name: other} for other in poisoned_documents(inner))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from (
                [*value[:place], other, *value[place + 1 :]] for other in poisoned_documents(inner)
            )


def files() -> Iterator[tuple[str, str]]:
    for name, document in FILES.items():
        for each in poisoned_documents(document):
            yield name, json.dumps(each)
    for line in JSONL:
        for each in poisoned_documents(line):
            yield "jsonl", json.dumps(each)


class Wiring:
    """The command line on the observed store."""

    def __init__(self, observed: ObservedMemory, clock: SettableClock) -> None:
        self._watched, self._clock = observed, clock

    def engine(self, loaded: Any, *, clock: Clock | None = None, **_: Any) -> Memolith:
        return Memolith.open(
            self._watched.folder / "memory.db",
            embedder=self._watched.embedder,
            clock=clock or self._clock,
            tokens=WordCounter(),
            config=loaded,
        )


def test_import_of_foreign_files_stores_no_secret(
    observed: ObservedMemory, clock: SettableClock, tmp_path: Path
) -> None:
    wiring, taken = Wiring(observed, clock), 0
    inputs = tmp_path.with_name(f"{tmp_path.name} inputs")
    inputs.mkdir()
    for number, (format_, text) in enumerate(files()):
        assert TOKEN in text
        file = inputs / f"{number}.json"
        file.write_text(text)
        args = ["import", format_, str(file), "--owner", f"{format_} {number}"]
        done = CliRunner().invoke(cli, args, obj=wiring, prog_name="memolith")
        assert TOKEN not in done.stdout + done.stderr, (format_, text)
        taken += done.exit_code == 0
    assert taken > number / 3
    assert observed.leaks() == []
