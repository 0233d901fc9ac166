"""`memolith reembed`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memolith.ports.models import TextRole
from memolith.testing.fakes import HashingEmbedder
from unit.cli.conftest import Program

OTHER = HashingEmbedder(16, "other")


class InterruptedEmbedder(HashingEmbedder):
    """Raises KeyboardInterrupt while embedding, like a user who presses Ctrl-C."""

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        del texts, role
        raise KeyboardInterrupt


@pytest.fixture
def changed_model(memolith: Program) -> Program:
    """The program with a memory each of two owners; the configured model has changed since."""
    memolith.ok("remember", "I live in Oslo")
    memolith.ok("remember", "I live in Porto", "--owner", "bob")
    memolith.wiring.hashing = OTHER
    return memolith


def test_store_of_another_model_is_refused_until_reembedded(
    changed_model: Program,
) -> None:
    refused = changed_model("recall", "Oslo")
    assert refused.code == 8
    assert "hashing (384 dimensions), not other (16 dimensions)" in refused.err
    assert "`memolith reembed --model other`" in refused.err
    assert changed_model.ok("reembed").out == (
        "The store uses other (16 dimensions); 2 vectors created\n"
    )
    assert "Oslo" in changed_model.ok("recall", "Where do I live?").out
    assert changed_model.json("verify")["findings"] == []


def test_reembed_prints_the_required_settings(changed_model: Program) -> None:
    output = changed_model.ok("reembed", "--provider", "ollama", "--model", "bge-m3").out
    assert output.endswith('[memory.embedding]\nprovider = "ollama"\nmodel = "bge-m3"\n')
    shorter = ("--provider", "ollama", "--model", "nomic-embed-text", "--dimension", "256")
    assert changed_model.json("reembed", *shorter) == {
        "model": "other",
        "dimension": 16,
        "vectors_created": 0,
        "settings": {"provider": "ollama", "model": "nomic-embed-text", "dimension": 256},
    }


def test_configured_dimension_applies_only_to_the_configured_model(
    changed_model: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOLITH_EMBEDDING__DIMENSION", "512")
    assert changed_model.json("reembed", "--model", "x")["settings"]["dimension"] == 0
    assert changed_model.json("reembed")["settings"]["dimension"] == 512


def test_interrupted_reembedding_can_be_resumed(changed_model: Program) -> None:
    changed_model.wiring.hashing = InterruptedEmbedder(16, "other")
    assert changed_model("reembed").code == 130
    assert "finish the change in progress" in changed_model("recall", "Oslo").err
    changed_model.wiring.hashing = HashingEmbedder(8, "third")
    assert "re-embedding with other (16 dimensions) is in progress" in changed_model("reembed").err
    changed_model.wiring.hashing = OTHER
    assert changed_model.json("reembed")["vectors_created"] == 2


def test_unfinished_reembedding_can_be_abandoned(changed_model: Program) -> None:
    assert changed_model.json("reembed", "--abandon") == {"abandoned": False}
    changed_model.wiring.hashing = InterruptedEmbedder(16, "other")
    assert changed_model("reembed").code == 130
    assert "removed" in changed_model.ok("reembed", "--abandon").out
    changed_model.wiring.hashing = HashingEmbedder()
    assert "Oslo" in changed_model.ok("recall", "Oslo").out


def test_abandon_rejects_a_model_argument(memolith: Program) -> None:
    assert memolith("reembed", "--abandon", "--model", "x").code == 2
