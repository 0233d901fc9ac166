"""The client of a server behaves like the library."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice

import pytest

from memolith import AsyncMemolith, Memolith, Message, OwnerMemory
from memolith.client.endpoints import LOCAL_ONLY
from memolith.errors import (
    Forbidden,
    InvalidConfiguration,
    InvalidInput,
    LibraryOnly,
    NotFound,
    OwnerErased,
    StoreUnavailable,
)
from memolith.import_export.jsonl import ImportedMemory
from memolith.import_export.records import MemoryRecord, Record
from support.rows import check_each

NAMES = ["a/b", "..", ".", "%2e%2e", "a?b=c#d", "Å ñ 日本", "x/messages", "recent", " spaced "]


def test_client_returns_the_same_values_as_the_library(
    remote_alice: OwnerMemory, alice: OwnerMemory
) -> None:
    kept = remote_alice.remember(
        "Prefers metric units",
        kind="preference",
        importance=0.8,
        key="units",
        tags=iter(["style", "b"]),
        expires_in="90d",
        happened_at=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    )
    assert kept == alice.get(kept.id) == remote_alice.get(key="units")
    remote_alice.learn("My name is Alice and I live in Oslo", "Nice to meet you!", session="s1")
    assert remote_alice.messages("s1") == alice.messages("s1")
    assert remote_alice.sessions() == alice.sessions()
    for query in ("Which units should I use?", "Where do I live?"):
        assert remote_alice.recall(query, touch=False) == alice.recall(query, touch=False)
        assert remote_alice.context(query, touch=False) == alice.context(query, touch=False)
    assert remote_alice.history(key="units") == alice.history(key="units")
    assert remote_alice.list(limit=2) == alice.list(limit=2)
    assert remote_alice.stats() == alice.stats()


def test_client_raises_the_same_errors_as_the_library(
    remote_alice: OwnerMemory, remote: Memolith
) -> None:
    unknown = "019f2b6e-58a0-7c3e-9d51-2f6f0c1b7a10"
    with pytest.raises(NotFound) as missing:
        remote_alice.get(unknown)
    assert (missing.value.what, missing.value.id) == ("memory", unknown)
    with pytest.raises(InvalidInput) as wrong:
        remote_alice.remember("x", importance=2)
    assert wrong.value.field == "importance"
    remote_alice.remember("Likes tea")
    assert remote.erase("alice").owner_id == "alice"
    with pytest.raises(OwnerErased) as gone:
        remote_alice.remember("Likes tea")
    assert gone.value.owner_id == "alice"


def test_session_names_with_special_characters_are_preserved(
    remote_alice: OwnerMemory, alice: OwnerMemory
) -> None:
    history = [{"role": "user", "content": "Hello"}]
    for name in NAMES:
        remote_alice.log([Message("Bob", "Hello"), Message(None, "Hi")], session=name)
        remote_alice.end_session(name)
        assert remote_alice.messages(name) == alice.messages(name) != ()
        assert remote_alice.compress(history, session=name).history == tuple(history)
    assert [each.id for each in alice.sessions() if each.ended_at] == NAMES


def test_owner_names_with_special_characters_are_preserved(
    remote: Memolith, memory: Memolith
) -> None:
    names = ["..", "a/b", "aliceville\xa0", "Å ñ 日本"]
    for name in names:
        kept = remote.owner(name).remember("Likes tea", key=name, tags=[name])
        assert memory.owner(name).get(kept.id) == kept == remote.owner(name).get(key=name)
        assert remote.owner(name).list(tags=[name]).memories == (kept,)
    assert remote.owners() == names


def test_invalid_id_is_refused_and_not_used_as_a_path(remote_alice: OwnerMemory) -> None:
    for id_ in ("", "..", "a/b", "stats", "keyed", "x" * 9_000):
        for method in (
            remote_alice.get,
            remote_alice.message,
            remote_alice.restore,
            remote_alice.approve,
        ):
            with pytest.raises(InvalidInput, match="id: must be a UUID"):
                method(id_)


def test_client_returns_all_messages_of_a_long_session(
    remote_alice: OwnerMemory, alice: OwnerMemory
) -> None:
    alice.log([Message("Bob", f"Line {n}") for n in range(1_020)], session="s")
    assert remote_alice.messages("s") == alice.messages("s")
    some = remote_alice.messages("s", limit=1_001, after=7)
    assert some == alice.messages("s", limit=1_001, after=7)
    assert remote_alice.messages("s", limit=0) == ()
    assert remote_alice.recent(5_000) == alice.recent(5_000)


def test_export_can_be_imported_again(remote_alice: OwnerMemory, remote: Memolith) -> None:
    remote_alice.learn("My name is Alice and I live in Oslo", "Nice to meet you!")
    remote_alice.remember("Prefers metric units", key="units")
    remote_alice.set_base_memory("Lives in Oslo.")
    records = list(remote_alice.export())
    assert (
        remote.import_(records, owner="alice").duplicates_skipped == len(_comparable(records)) - 1
    )
    remote_alice.forget(key="units")
    remote.erase("alice")
    remote.readmit("alice")
    remote.import_(records, owner="alice")
    assert _comparable(remote_alice.export()) == _comparable(records)
    assert remote_alice.import_([ImportedMemory(content="Likes tea", tags=("x",))]).memories == 1
    assert remote_alice.list(limit=1).memories[0].tags == ("x",)


def _comparable(records: Iterator[Record] | list[Record]) -> list[object]:
    return [each.memory.content if isinstance(each, MemoryRecord) else each for each in records]


def test_long_text_is_ingested_as_a_stream(remote_alice: OwnerMemory, alice: OwnerMemory) -> None:
    given = 0

    def pieces() -> Iterator[str]:
        nonlocal given
        for number in range(40):
            given += 1
            yield f"Chapter {number} tells of the mill." + " " * 20_000 + "\n\n"

    stream = remote_alice.ingest_stream(pieces(), source="book", kind="fact")
    first = next(iter(stream))
    assert first.memories[0] == alice.get(first.memories[0].id)
    assert given < 40
    rest = list(stream)
    assert len(rest) >= 2
    assert "source:book" in rest[-1].memories[-1].tags


def test_threads_can_share_a_client(remote_alice: OwnerMemory) -> None:
    with ThreadPoolExecutor(8) as threads:
        kept = list(threads.map(lambda n: remote_alice.remember(f"Fact number {n}"), range(40)))
    assert len({each.id for each in kept}) == 40
    assert remote_alice.active_count() == 40


def test_async_client_behaves_like_the_library(url: str, key: str, alice: OwnerMemory) -> None:
    async def run() -> None:
        async with await AsyncMemolith.connect(url, key=key) as remote:
            far = remote.owner("alice")
            assert far.owner_id == "alice"
            kept = await far.store_fact("Prefers metric units")
            assert kept == alice.get(kept.id) == await remote.get(kept.id, owner="alice")
            assert await far.recall("units", touch=False) == alice.recall("units", touch=False)
            assert await far.active_count() == 1
            assert await far.memories(limit=5) == ((kept,), 1)
            records = [each async for each in far.export()]
            assert (await far.import_(records)).duplicates_skipped == len(records)
            assert (await remote.import_(records, owner="bob")).memories == 1
            parts = remote.ingest_stream(["Tea grows on hills. " * 30], owner="alice", tags=["t"])
            assert [each.memories[0].tags async for each in parts] == [("t",)]
            stored = await asyncio.gather(*(far.remember(f"Fact {n}") for n in range(20)))
            assert len({each.id for each in stored}) == 20
            with pytest.raises(InvalidInput):
                await far.remember("")
            with pytest.raises(LibraryOnly, match="memolith verify"):
                await remote.verify()
        with pytest.raises(StoreUnavailable, match="closed"):
            await far.stats()

    asyncio.run(run())


def test_library_only_methods_name_the_alternative() -> None:
    remote = Memolith.connect()
    for name, way in LOCAL_ONLY.items():
        with pytest.raises(LibraryOnly, match=way) as refused:
            getattr(remote, name)("x")
        assert refused.value.method == name
    remote.close()


def test_callback_arguments_are_refused(remote: Memolith, remote_alice: OwnerMemory) -> None:
    with pytest.raises(InvalidInput, match="on_progress"):
        remote_alice.switch_profile("facts", on_progress=print)
    with pytest.raises(InvalidInput, match="should_stop"):
        remote.work(lambda: True)
    with pytest.raises(LibraryOnly):
        _ = remote.idempotency


def test_maintenance_requires_an_admin_key(remote: Memolith, memory: Memolith, url: str) -> None:
    kept = memory.remember("Likes tea", owner="alice", expires_in="1m")
    assert remote.profiles() == memory.profiles()
    assert remote.apply_decay(owner="alice") == ()
    assert remote.cleanup(below=0.99, dry_run=True) == 1
    assert remote.expire() == 0
    assert remote.consolidate() == remote.consolidate(owner="alice") == ()
    assert (remote.work(), remote.drain(0.1), remote.drain()) == ((), True, True)
    remote.flush()
    plain = memory.create_api_key("alice", owner="alice").secret
    with Memolith.connect(url, key=plain) as own:
        assert own.get(kept.id, owner="alice") == kept
        for ask in (own.owners, own.flush, own.work, own.expire, own.apply_decay):
            with pytest.raises(Forbidden, match="admin"):
                ask()
        with pytest.raises(Forbidden, match="another owner"):
            own.remember("Likes tea", owner="bob")


def test_key_can_come_from_the_environment(
    url: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memolith.connect(url) as nobody, pytest.raises(Forbidden, match="missing API key"):
        nobody.owners()
    monkeypatch.setenv("MEMOLITH_API_KEY", key)
    with Memolith.connect(f"{url}/") as somebody, Memolith.open(":memory:"):
        assert somebody.owners() == []


def test_errors_and_repr_contain_no_key(url: str) -> None:
    secret = "mnk_" + "k" * 40
    with Memolith.connect(url, key=secret) as remote:
        outputs = [repr(remote), repr(remote.owner("alice")), repr(vars(remote)["_link"].service)]
        with pytest.raises(Forbidden, match="invalid API key") as refused:
            remote.owners()
        outputs += traceback.format_exception(refused.value)
    with pytest.raises(StoreUnavailable, match="closed") as closed:
        remote.owners()
    outputs += traceback.format_exception(closed.value)
    with pytest.raises(InvalidConfiguration) as wrong:
        Memolith.connect(url, key=f"{secret} and more")
    outputs += traceback.format_exception(wrong.value)
    assert secret not in "".join(outputs)
    assert url in outputs[0]


def test_log_contains_no_request_data(
    remote_alice: OwnerMemory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert remote_alice.messages("wallaby") == ()
    assert remote_alice.list(tags=["wallaby"]).memories == ()
    assert list(remote_alice.export()) == []
    # The server runs in this process; its request log exists only under pytest.
    ours = [each for each in caplog.records if not each.name.startswith("uvicorn")]
    assert ours
    assert "wallaby" not in " ".join(each.getMessage() for each in ours)


def test_error_for_an_unreachable_server_names_its_url() -> None:
    with (
        Memolith.connect("http://127.0.0.1:9", key="mnk_secret") as remote,
        pytest.raises(StoreUnavailable, match=r"http://127\.0\.0\.1:9 cannot be reached") as failed,
    ):
        remote.owners()
    assert "mnk_secret" not in "".join(traceback.format_exception(failed.value))


@check_each(
    "url",
    ["127.0.0.1:8377", "", "ftp://127.0.0.1", "http://", "http://me:pass@host", "http://h?x=1"],
)
def test_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidConfiguration, match="url: must be a URL") as wrong:
        Memolith.connect(url)
    assert "pass@" not in str(wrong.value)


@check_each("timeout_s", [0, -1, float("nan"), float("inf")])
def test_invalid_timeout_is_refused(timeout_s: float) -> None:
    with pytest.raises(InvalidConfiguration, match="timeout_s"):
        Memolith.connect(timeout_s=timeout_s)


def test_export_stream_can_be_abandoned(remote_alice: OwnerMemory) -> None:
    remote_alice.log([Message("Bob", f"Hello for the {n}th time") for n in range(50)])
    records = remote_alice.export()
    assert len(list(islice(records, 2))) == 2
    del records
    assert remote_alice.stats().messages == 50
