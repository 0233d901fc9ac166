"""Secrets are redacted: in the store, for the embedder and in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpora.secret_samples import HARMLESS, SECRETS, Sample
from memolith import Memolith, Message, OwnerMemory
from memolith.domain.messages import Role
from memolith.errors import InvalidInput
from memolith.import_export.records import MemoryRecord, Record
from memolith.testing.fakes import SettableClock, WordCounter
from support.databases import bytes_under
from support.plaintext_search import RecordingEmbedder

TOKEN = "gh~p_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHj".replace("~", "")


@pytest.fixture
def embedder() -> RecordingEmbedder:
    return RecordingEmbedder()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMOLITH_ENABLE_ENCRYPTION", "false")
    path = tmp_path / "plain"
    path.mkdir()
    return path


@pytest.fixture
def plain(folder: Path, embedder: RecordingEmbedder, clock: SettableClock) -> Iterator[OwnerMemory]:
    """The memory of one owner in an unencrypted store, whose files can be searched."""
    with Memolith.open(
        folder / "memory.db", embedder=embedder, clock=clock, tokens=WordCounter()
    ) as opened:
        yield opened.owner("alice")


def leaks(secrets: Sequence[str], folder: Path, embedder: RecordingEmbedder) -> list[str]:
    """Return the secrets that occur in stored bytes or in embedded texts."""
    stored = bytes_under(folder)
    embedded = "\n".join(embedder.seen)
    assert b"wallaby" in stored
    assert "wallaby" in embedded
    return [
        line
        for secret in secrets
        for line in secret.replace("\\n", "\n").splitlines()
        if len(line) > 3 and not line.startswith("-----") and _is_exposed(line, stored, embedded)
    ]


def _is_exposed(secret: str, stored: bytes, embedded: str) -> bool:
    return secret.encode() in stored or secret in embedded


@pytest.mark.parametrize("kind", sorted({sample.kind for sample in SECRETS}))
def test_secret_is_redacted_in_store_embedder_and_log(
    kind: str,
    plain: OwnerMemory,
    folder: Path,
    embedder: RecordingEmbedder,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    samples: list[Sample] = [sample for sample in SECRETS if sample.kind == kind]
    secrets = [secret for sample in samples for secret in sample.secrets]
    for number, sample in enumerate(samples):
        plain.learn(f"A wallaby. I like this. {sample.text}", f"So: {sample.text}")
        plain.remember(sample.text)
        kept = plain.remember(f"Something else: {sample.text[::-1][:5]}")
        plain.update(kept.id, f"Told in {number}: {sample.text}")
        plain.recall(sample.text)
        plain.context(f"What was it? {sample.text}")
    plain.log([Message("Bob", sample.text) for sample in samples], session="s")
    assert not leaks(secrets, folder, embedder)
    assert not [secret for secret in secrets if secret in caplog.text]


def test_redacted_memory_is_found_by_the_original_text(alice: OwnerMemory) -> None:
    kept = alice.remember(f"The deploy token is {TOKEN}, said Bob")
    assert kept.content == "The deploy token is [REDACTED], said Bob"
    (found, *_) = alice.recall(f"The deploy token is {TOKEN}, said Bob").memories
    assert found.id == kept.id


def test_log_counts_redactions_of_new_messages(alice: OwnerMemory) -> None:
    first = Message("Bob", f"one {TOKEN}", external_id="1")
    assert alice.log([first], session="s").redactions == 1
    again = [first, Message("Bob", f"two {TOKEN} and {TOKEN}", external_id="2")]
    assert alice.log(again, session="s").redactions == 2
    assert alice.learn("Nothing secret here").redactions == 0


def test_event_of_a_memory_counts_its_redactions(alice: OwnerMemory) -> None:
    kept = alice.remember(f"a token: {TOKEN}")
    alice.update(kept.id, f"two tokens: {TOKEN} {TOKEN}")
    events = alice.history(kept.id).events
    assert [event.details.get("redactions") for event in events] == ["1", "2"]


def test_texts_without_secrets_are_stored_unchanged(alice: OwnerMemory) -> None:
    learned = alice.log([Message("Bob", text) for text in HARMLESS if text.strip() == text])
    assert [message.content for message in learned.messages] == [
        text for text in HARMLESS if text.strip() == text
    ]


@pytest.mark.parametrize("field", ["key", "tags", "session"])
def test_field_with_a_secret_is_refused(alice: OwnerMemory, field: str) -> None:
    given: dict[str, Any] = {field: [TOKEN] if field == "tags" else TOKEN}
    with pytest.raises(InvalidInput, match="contains a secret") as caught:
        alice.remember("Something", **given)
    assert caught.value.field == field
    assert TOKEN not in str(caught.value)


def test_speaker_or_id_with_a_secret_is_refused(alice: OwnerMemory) -> None:
    for message in (Message(TOKEN, "Hi"), Message("Bob", "Hi", external_id=TOKEN)):
        with pytest.raises(InvalidInput, match="contains a secret"):
            alice.log([message])
    with pytest.raises(InvalidInput, match="contains a secret"):
        alice.log([Message("Bob", "Hi")], session=TOKEN)


def test_card_number_alone_is_accepted_as_an_id(alice: OwnerMemory) -> None:
    number = "4111~111111111111".replace("~", "")
    learned = alice.log([Message("Bob", "Hi", external_id=number)], session=number)
    assert learned.messages[0].external_id == number


@pytest.fixture
def records(alice: OwnerMemory) -> list[Record]:
    """An export that was made without redaction."""
    alice.log([Message(None, "the token is TOKEN", Role.USER)], session="s")
    kept = alice.remember("my token is TOKEN")
    alice.update(kept.id, "my new token is TOKEN")
    return [_insert_token(record) for record in alice.export()]


def _insert_token(record: Record) -> Record:
    if isinstance(record, Message):
        return replace(record, content=record.content.replace("TOKEN", TOKEN))
    assert isinstance(record, MemoryRecord)
    memory = replace(record.memory, content=record.memory.content.replace("TOKEN", TOKEN))
    versions = tuple(
        replace(each, memory=replace(each.memory, content=f"{each.memory.content} {TOKEN}"))
        for each in record.history.versions
    )
    return MemoryRecord(memory, replace(record.history, versions=versions))


def test_import_is_redacted_and_a_second_import_adds_nothing(
    records: list[Record], plain: OwnerMemory, folder: Path, embedder: RecordingEmbedder
) -> None:
    plain.remember("A wallaby")
    first = plain.import_(records)
    assert (first.messages, first.memories) == (1, 1)
    again = plain.import_(records)
    assert (again.messages, again.memories, again.duplicates_skipped) == (0, 0, 2)
    assert not leaks([TOKEN], folder, embedder)
