"""Random operations on each database, compared with the reference implementation.

See `memolith.testing.store_machine`.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from memolith.adapters.chroma.client import EmbeddedChroma
from memolith.adapters.chroma.store import ChromaStore
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.store import PostgresStore
from memolith.adapters.sqlite.store import SqliteStore
from memolith.ports.store import Store
from memolith.testing.store_machine import StoreMachine
from support.postgres import emptied, on_server, own


class SqliteMachine(StoreMachine):
    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        super().__init__()

    def open_store(self) -> Store:
        return SqliteStore.open(self._folder / "memory.db", cipher=PlainCipher())

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self._folder)


TestSqliteMachine = SqliteMachine.TestCase
TestSqliteMachine.settings = settings(max_examples=10, stateful_step_count=25)


class LongSqliteMachine(SqliteMachine):
    pass


TestLongSqliteMachine = pytest.mark.soak(pytest.mark.timeout(0)(LongSqliteMachine.TestCase))
TestLongSqliteMachine.settings = settings(max_examples=1_500, stateful_step_count=50)


class ChromaMachine(SqliteMachine):
    def open_store(self) -> Store:
        chroma = EmbeddedChroma(self._folder / "chroma")
        return ChromaStore.open(self._folder / "memory.db", cipher=PlainCipher(), chroma=chroma)


TestChromaMachine = ChromaMachine.TestCase
TestChromaMachine.settings = settings(max_examples=2, stateful_step_count=12)


class LongChromaMachine(ChromaMachine):
    pass


TestLongChromaMachine = pytest.mark.soak(pytest.mark.timeout(0)(LongChromaMachine.TestCase))
TestLongChromaMachine.settings = settings(max_examples=100, stateful_step_count=50)


class PostgresMachine(StoreMachine):
    def __init__(self) -> None:
        emptied(on_server(), own("machine"))
        super().__init__()

    def open_store(self) -> Store:
        return PostgresStore.open(on_server(), cipher=PlainCipher(), schema=own("machine"))


TestPostgresMachine = PostgresMachine.TestCase
TestPostgresMachine.settings = settings(max_examples=5, stateful_step_count=15)


class LongPostgresMachine(PostgresMachine):
    pass


TestLongPostgresMachine = pytest.mark.soak(pytest.mark.timeout(0)(LongPostgresMachine.TestCase))
TestLongPostgresMachine.settings = settings(max_examples=200, stateful_step_count=50)


class PostgresVectorMachine(PostgresMachine):
    """PostgreSQL with all vectors in the database."""

    def open_store(self) -> Store:
        return PostgresStore.open(
            on_server(), cipher=PlainCipher(), schema=own("machine"), vectors_in_memory=0
        )


TestPostgresVectorMachine = PostgresVectorMachine.TestCase
TestPostgresVectorMachine.settings = settings(max_examples=3, stateful_step_count=12)
