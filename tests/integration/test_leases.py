"""Leases: processes that share an owner's work do each part once, even if one is killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.store import SqliteStore
from memolith.domain.owners import WorkKind
from memolith.ports.work import WorkLease
from memolith.testing.builders import at, message, record_id
from memolith.testing.store_records import numbers_of, say

pytestmark = pytest.mark.sqlite

_MESSAGES = range(100, 124)
_ROUNDS = 25

_OPEN_STORE = """
import sys
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.store import SqliteStore
from memolith.domain.memories import Source
from memolith.domain.owners import WorkKind
from memolith.testing.builders import at, memory, record_id, short_entry

store = SqliteStore.open(sys.argv[1], cipher=PlainCipher(), busy_timeout_s=30)
claims = store.leases
"""

_LEARNER = f"""{_OPEN_STORE}
sys.stdin.read()
while True:
    with store.read("alice") as snapshot:
        if not snapshot.pending_work().pending_messages:
            break
    claim = claims.acquire("alice", WorkKind.LEARN, now=at(0), lease_s=3_600)
    if claim is None:
        continue
    with store.read("alice") as snapshot:
        waiting = snapshot.pending_messages(1, now=at(0))
    for said in waiting:
        with store.write("alice") as tx:
            assert tx.holds_lease(claim)
            number = int(said.id[-4:], 16) + 1_000 * int(sys.argv[2])
            tx.insert([(memory(number, sources=(Source(said.id),)), short_entry("x"))])
            tx.mark_learned([said.id], at(1))
        print("learned", flush=True)
    claims.release(claim)
store.close()
"""

_RACER = f"""{_OPEN_STORE}
sys.stdin.read()
for turn in range({_ROUNDS}):
    if claims.acquire("alice", WorkKind.LEARN, now=at(10 * turn), lease_s=10):
        print(turn, flush=True)
store.close()
"""

_HOLDER = f"""{_OPEN_STORE}
claim = claims.acquire("alice", WorkKind.LEARN, now=at(0), lease_s=3_600)
print(claim.token.hex(), flush=True)
with store.write("alice") as tx:
    assert tx.holds_lease(claim)
    tx.mark_learned([record_id(100)], at(1))
    print("learned", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store in which all of Alice's messages are pending."""
    file = tmp_path / "memory.db"
    with open_store(file) as store:
        messages = [message(n, sequence=k) for k, n in enumerate(_MESSAGES, start=1)]
        say(store, *messages)
        with store.write("alice") as tx:
            tx.mark_pending([one.id for one in messages])
    return file


@contextmanager
def open_store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(path, cipher=PlainCipher())
    store.adopt_embedder("builders", 8)
    yield store
    store.close()


def run_processes(program: str, path: Path, processes: int) -> list[list[str]]:
    """Run a program in several concurrent processes; return the words that each printed."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(1, processes + 1)
    ]
    for each in running:
        assert each.stdin is not None
        each.stdin.close()
    lines = []
    for each in running:
        assert each.stdout is not None
        lines.append(each.stdout.read().split())
        assert each.wait(60) == 0
        each.stdout.close()
    return lines


def test_one_process_acquires_each_lease(path: Path) -> None:
    won = sorted(int(turn) for lines in run_processes(_RACER, path, 3) for turn in lines)
    assert won == list(range(_ROUNDS))


def test_concurrent_processes_learn_each_message_once(path: Path) -> None:
    done = run_processes(_LEARNER, path, 3)
    assert sum(len(lines) for lines in done) == len(_MESSAGES)
    with open_store(path) as store, store.read("alice") as snapshot:
        assert snapshot.pending_messages(99, now=at(0)) == []
        derived = snapshot.derived_memories([record_id(n) for n in _MESSAGES])
        assert [len(memories) for memories in derived.values()] == [1] * len(_MESSAGES)
        assert snapshot.counter == 2 + len(_MESSAGES)


def test_lease_of_killed_process_is_free_after_expiry(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        token = bytes.fromhex(holder.stdout.readline())
        assert holder.stdout.readline() == "learned\n"
        holder.kill()
    killed = WorkLease("alice", WorkKind.LEARN, token)
    with open_store(path) as store:
        assert store.leases.owners(WorkKind.LEARN, now=at(3_599)) == []
        assert store.leases.acquire("alice", WorkKind.LEARN, now=at(3_599), lease_s=9) is None
        with store.write("alice") as tx:
            assert tx.holds_lease(killed)
            # The killed process's write was rolled back.
            assert numbers_of(tx.pending_messages(1, now=at(0))) == [100]
        claim = store.leases.acquire("alice", WorkKind.LEARN, now=at(3_600), lease_s=9)
        assert claim is not None
        assert claim.attempts == 0
        with store.write("alice") as tx:
            assert tx.holds_lease(claim)
            assert not tx.holds_lease(killed)
        assert not store.leases.renew(killed, now=at(3_601), lease_s=9)
