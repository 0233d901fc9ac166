"""Switching an owner between profiles maps kinds, and is reversible without loss."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import memolith.services
from memolith import Memolith
from memolith.domain.memories import Memory
from memolith.errors import InvalidInput, ServiceFailed
from memolith.policies.classification import add_previous_kind, parse_previous_kinds
from memolith.ports.models import TextRole
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter


class Failing(HashingEmbedder):
    """An embedder that fails once `broken` is set."""

    broken = False

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        if self.broken:
            raise ServiceFailed("hashing", "is out of order")
        return super().embed(texts, role=role)


PROFILES = ("standard", "companion", "facts", "chunks", "tiers", "timeline")


def open_memory(profile: str = "standard", store: str | Path = ":memory:") -> Memolith:
    clock = SettableClock(datetime(2026, 3, 1, tzinfo=UTC))
    return Memolith.open(
        store, profile=profile, embedder=HashingEmbedder(), tokens=WordCounter(), clock=clock
    )


def open_with_data(profile: str) -> Memolith:
    memory = open_memory(profile)
    owner = memory.owner("a")
    for number, kind in enumerate(memory.profiles()[0].kinds):
        owner.remember(f"Note {number} of kind {kind} about subject{number}", kind=kind, key=kind)
    owner.learn("I live in Oslo and I prefer tea.", "Noted.", session="s")
    lost = owner.remember("Something about elephants", key="lost")
    owner.forget(lost.id)
    owner.set_base_memory("Lives in Oslo.")
    return memory


def dump(memory: Memolith) -> list[Memory]:
    return list(memory.list(owner="a", state="all", limit=1_000).memories)


def stable_fields(memory: Memory) -> tuple[object, ...]:
    """Return the fields that switching the profile back and forth must not change."""
    names = set(Memory.__dataclass_fields__) - {
        "version",
        "previous_kind",
        "strength",
        "updated_at",
    }
    return tuple(getattr(memory, name) for name in sorted(names))


@pytest.mark.parametrize("target", PROFILES)
@pytest.mark.parametrize("source", PROFILES)
def test_switching_there_and_back_loses_nothing(source: str, target: str) -> None:
    with open_with_data(source) as memory:
        before = [stable_fields(each) for each in dump(memory)]
        asked = "Note about subject0"
        recalled = [one.id for one in memory.recall(asked, owner="a", touch=False).memories]
        memory.switch_profile(target, owner="a")
        assert memory.profile(owner="a") == target
        kinds = {each.name: each.kinds for each in memory.profiles()}[target]
        assert {each.kind for each in dump(memory)} <= set(kinds)
        memory.switch_profile(source, owner="a")
        assert [stable_fields(each) for each in dump(memory)] == before
        again = [one.id for one in memory.recall(asked, owner="a", touch=False).memories]
        assert again == recalled


@given(st.lists(st.sampled_from(PROFILES), max_size=6))
@settings(max_examples=20, deadline=None)
def test_any_sequence_of_switches_back_loses_nothing(way: list[str]) -> None:
    with open_with_data("standard") as memory:
        before = [stable_fields(each) for each in dump(memory)]
        for name in (*way, "standard"):
            memory.switch_profile(name, owner="a")
        assert [stable_fields(each) for each in dump(memory)] == before


def test_dry_run_reports_the_switch_and_changes_nothing() -> None:
    with open_with_data("standard") as memory:
        before = dump(memory)
        preview = memory.switch_profile("facts", owner="a", dry_run=True)
        assert dump(memory) == before
        assert memory.profile(owner="a") == "standard"
        done = memory.switch_profile("facts", owner="a")
        assert (preview.kinds, preview.messages) == (done.kinds, done.messages)
        assert sum(count for _, _, count in done.kinds) == len(before)


def test_switch_creates_missing_embeddings() -> None:
    with open_memory("timeline") as memory:
        owner = memory.owner("a")
        kept = owner.remember("The boat lies in Bergen", key="boat")
        said = owner.learn("The ferry leaves at nine.", session="s").messages[0]
        assert owner.stats().with_embeddings == 0
        assert owner.switch_profile("standard").messages == 1
        found = owner.recall("The boat lies in Bergen", mode="vector").memories
        assert found[0].id == kept.id
        assert owner.recall("The ferry leaves at nine.", mode="vector").memories[0].id == said.id


def test_kind_changed_after_a_switch_is_preserved() -> None:
    with open_memory("facts") as memory:
        owner = memory.owner("a")
        kept = owner.remember("Works on the Mulde report", kind="contextual")
        owner.switch_profile("standard")
        owner.update(kept.id, kind="project")
        owner.switch_profile("facts")
        assert owner.get(kept.id).kind == "project"


def test_unknown_profile_is_refused() -> None:
    with open_with_data("standard") as memory, pytest.raises(InvalidInput):
        memory.switch_profile("other", owner="a")


def test_failing_embedder_leaves_the_old_profile() -> None:
    embedder = Failing()
    clock = SettableClock(datetime(2026, 3, 1, tzinfo=UTC))
    with Memolith.open(
        ":memory:", profile="timeline", embedder=embedder, tokens=WordCounter(), clock=clock
    ) as memory:
        owner = memory.owner("a")
        owner.remember("The boat lies in Bergen", key="boat")
        embedder.broken = True
        with pytest.raises(ServiceFailed):
            owner.switch_profile("standard")
        assert owner.profile() == "timeline"
        assert owner.recall("boat").memories[0].kind == "knowledge"
        clock.advance(timedelta(days=1))


@pytest.mark.parametrize("target", PROFILES)
def test_verify_finds_nothing_after_a_switch(tmp_path: Path, target: str) -> None:
    with open_memory("standard", tmp_path / "m.db") as memory:
        memory.learn("I live in Oslo and I prefer tea.", "Noted.", owner="a")
        memory.remember("The boat lies in Bergen", owner="a", key="boat")
        memory.switch_profile(target, owner="a")
        assert memory.verify().findings == ()
        memory.switch_profile("standard", owner="a")
        assert memory.verify().findings == ()


def test_services_contain_no_profile_names() -> None:
    folder = Path(memolith.services.__file__).parent
    for file in folder.glob("*.py"):
        code = "\n".join(
            line for line in file.read_text().splitlines() if '"""' not in line and "#" not in line
        )
        for name in PROFILES:
            assert f'"{name}"' not in code, (file.name, name)


NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)


@given(st.dictionaries(NAMES, NAMES))
def test_previous_kinds_survive_serialization(kinds: dict[str, str]) -> None:
    kept: str | None = None
    for profile, kind in kinds.items():
        kept = add_previous_kind(kept, profile, kind)
    assert parse_previous_kinds(kept) == kinds
