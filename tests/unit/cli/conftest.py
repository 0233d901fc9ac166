"""Fixtures for the command line: a temporary store and an embedder that needs no model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memolith import Memolith
from memolith.cli.main import cli
from memolith.config import LoadedSettings
from memolith.demo.model_server import ModelServer
from memolith.ports.clock import Clock
from memolith.ports.models import Embedder, TokenCounter
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.scripted_chat import Model, settings


@dataclass(slots=True)
class WithoutModel:
    """Implements `EngineFactory` without a model, on a settable clock."""

    clock: SettableClock
    hashing: HashingEmbedder = field(default_factory=HashingEmbedder)

    def engine(
        self,
        loaded: LoadedSettings,
        *,
        store: Path | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        worker: bool | None = None,
    ) -> Memolith:
        return Memolith.open(
            store,
            embedder=embedder or self.hashing,
            clock=clock or self.clock,
            tokens=WordCounter(),
            config=loaded,
            worker=worker,
        )

    def embedder(self, loaded: LoadedSettings) -> Embedder:
        del loaded
        return self.hashing

    def counter(self, loaded: LoadedSettings) -> TokenCounter:
        del loaded
        return WordCounter()


@dataclass(frozen=True, slots=True)
class Result:
    """Exit code and output of one run of the program."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Program:
    """Runs `memolith` in this process."""

    wiring: WithoutModel

    def __call__(self, *args: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(cli, args, input=stdin, obj=self.wiring, prog_name="memolith")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Result(result.exit_code, result.stdout, result.stderr)

    def ok(self, *args: str, stdin: str | bytes | None = None) -> Result:
        """Run the program and assert that it succeeds."""
        answer = self(*args, stdin=stdin)
        assert answer.code == 0, answer.err
        return answer

    def json(self, *args: str, stdin: str | bytes | None = None) -> Any:
        """Run the program with --json and return the parsed output."""
        return self.ok(*args, "--json", stdin=stdin).json


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))


@pytest.fixture
def memolith(tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program in an empty folder and a clean environment."""
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    monkeypatch.setenv("LOGNAME", "tester")
    monkeypatch.setenv("MEMOLITH_DEBUG", "1")
    return Program(WithoutModel(clock))


@pytest.fixture
def model() -> Model:
    """The scripted model's answers."""
    return Model()


@pytest.fixture
def server(
    model: Model, memolith: Program, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModelServer]:
    """A scripted model that the program is configured to use; the store is not encrypted."""
    del memolith  # must run first: it cleans the environment
    with ModelServer(model) as running:
        for name, value in settings(running).items():
            monkeypatch.setenv(name, value)
        yield running
