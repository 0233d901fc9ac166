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


class Interrupted(HashingEmbedder):
    """A user presses Ctrl-C while it embeds."""

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        del texts, role
        raise KeyboardInterrupt


@pytest.fixture
def filled(memolith: Program) -> Program:
    """The program, with two memories of two owners, and another model from now on."""
    memolith.ok("remember", "I live in Oslo")
    memolith.ok("remember", "I live in Porto", "--owner", "bob")
    memolith.wiring.hashing = OTHER
    return memolith


def test_a_store_of_another_model_is_refused_until_its_vectors_are_made_anew(
    filled: Program,
) -> None:
    refused = filled("recall", "Oslo")
    assert refused.code == 8
    assert "hashing (384 dimensions), not other (16 dimensions)" in refused.err
    assert "`memolith reembed --model other`" in refused.err
    assert filled.ok("reembed").out == ("The store uses other (16 dimensions); 2 vectors created\n")
    assert "Oslo" in filled.ok("recall", "Where do I live?").out
    assert filled.json("verify")["findings"] == []


def test_what_the_configuration_must_say_is_told(filled: Program) -> None:
    said = filled.ok("reembed", "--provider", "ollama", "--model", "bge-m3").out
    assert said.endswith('[memory.embedding]\nprovider = "ollama"\nmodel = "bge-m3"\n')
    shorter = ("--provider", "ollama", "--model", "nomic-embed-text", "--dimension", "256")
    assert filled.json("reembed", *shorter) == {
        "model": "other",
        "dimension": 16,
        "vectors_created": 0,
        "settings": {"provider": "ollama", "model": "nomic-embed-text", "dimension": 256},
    }


def test_a_length_that_is_configured_belongs_to_the_model_there(
    filled: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOLITH_EMBEDDING__DIMENSION", "512")
    assert filled.json("reembed", "--model", "x")["settings"]["dimension"] == 0
    assert filled.json("reembed")["settings"]["dimension"] == 512


def test_ctrl_c_leaves_it_to_be_gone_on_with(filled: Program) -> None:
    filled.wiring.hashing = Interrupted(16, "other")
    assert filled("reembed").code == 130
    assert "finish the change in progress" in filled("recall", "Oslo").err
    filled.wiring.hashing = HashingEmbedder(8, "third")
    assert "re-embedding with other (16 dimensions) is in progress" in filled("reembed").err
    filled.wiring.hashing = OTHER
    assert filled.json("reembed")["vectors_created"] == 2


def test_what_is_under_way_can_be_given_up(filled: Program) -> None:
    assert filled.json("reembed", "--abandon") == {"abandoned": False}
    filled.wiring.hashing = Interrupted(16, "other")
    assert filled("reembed").code == 130
    assert "removed" in filled.ok("reembed", "--abandon").out
    filled.wiring.hashing = HashingEmbedder()
    assert "Oslo" in filled.ok("recall", "Oslo").out


def test_giving_up_takes_no_model(memolith: Program) -> None:
    assert memolith("reembed", "--abandon", "--model", "x").code == 2
