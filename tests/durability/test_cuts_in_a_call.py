"""The power is cut at each moment of a call that changes several files or deletes data."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.errors import NotFound
from support.durability.power_loss import Disk, plugged_in
from support.durability.store_checks import Tally
from support.durability.write_log import Stored, everything
from support.stores import opened

STORE, KEY = "memory.db", "key"
PURGED = "The gate's code is 4711"


def erase(memory: Memolith) -> None:
    memory.erase("alice")


def purge(memory: Memolith) -> None:
    with suppress(NotFound):  # it may have happened before the cut
        memory.purge(key="gate", owner="alice")


def rotate(memory: Memolith) -> None:
    memory.rotate_key("alice")


def after_erasing(before: Stored) -> Stored:
    return {"bob": before["bob"]}


def after_purging(before: Stored) -> Stored:
    return {owner: {i: c for i, c in them.items() if c != PURGED} for owner, them in before.items()}


def after_rotating(before: Stored) -> Stored:
    return before


def remember(memory: Memolith) -> None:
    """Store the first memory of a new owner, which creates the owner's key."""
    memory.remember("A first word", owner="carol", key="first")


def after_remembering(before: Stored) -> Stored:
    return {**before, "carol": {"": "A first word"}}


CALLS = {
    "remember": (remember, after_remembering),
    "erase": (erase, after_erasing),
    "purge": (purge, after_purging),
    "rotate": (rotate, after_rotating),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A store before a call, and its contents."""

    place: Path
    stored: Stored


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a call: the resulting store, whether it returned before the cut, disk changes."""

    place: Path
    returned: bool
    changes: int


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    place = tmp_path / "before"
    with opened(place / STORE, str(place / KEY)) as memory:
        for owner in ("alice", "bob"):
            memory.remember(PURGED, owner=owner, key="gate")
            memory.learn("I like tea with milk.", "Noted.", owner=owner)
            memory.remember("The cellar is locked", owner=owner)
        memory.purge(key="gate", owner="bob")
        return Scene(place, everything(memory))


@pytest.fixture
def empty_scene(tmp_path: Path) -> Scene:
    """An empty folder."""
    place = tmp_path / "before"
    place.mkdir()
    return Scene(place, {})


def cut_during_call(
    scene: Scene, call: Callable[[Memolith], None], cut_after: int | None
) -> Outcome:
    """Make a call on a copy of the scene; cut the power after some disk changes, or at the end."""
    place = shutil.copytree(scene.place, scene.place.with_name("during"))
    disk = Disk(cut_after or 0, cut_after=cut_after)
    with plugged_in(disk), opened(place / STORE, str(place / KEY)) as memory:
        call(memory)
        returned, changes = not disk.is_off, disk.changes
    return Outcome(disk.moved(place, scene.place.with_name("after")), returned, changes)


def get_contents(stored: Stored) -> dict[str, list[str]]:
    """Return the stored contents without ids, since ids of new records are unpredictable."""
    return {owner: sorted(them.values()) for owner, them in stored.items()}


def check_cut(scene: Scene, name: str, cut_after: int, tally: Tally) -> None:
    """Check that a call is complete, or absent if it did not return, and can be repeated."""
    call, change = CALLS[name]
    before, wanted = get_contents(scene.stored), get_contents(change(scene.stored))
    outcome = cut_during_call(scene, call, cut_after)
    tally.trials += 1
    tally.acknowledged += outcome.returned
    with opened(outcome.place / STORE, str(outcome.place / KEY)) as memory:
        found = get_contents(everything(memory))
        assert found == wanted or (found == before and not outcome.returned)
        assert memory.verify().findings == ()
        call(memory)
        assert get_contents(everything(memory)) == wanted
        assert memory.verify().findings == ()
    shutil.rmtree(outcome.place)


def count_changes(scene: Scene, name: str) -> int:
    """Count the changes on the disk from the opening of the store to the end of the call."""
    outcome = cut_during_call(scene, CALLS[name][0], None)
    shutil.rmtree(outcome.place)
    assert outcome.returned
    return outcome.changes


@pytest.mark.parametrize("name", CALLS)
def test_interrupted_call_is_atomic_and_can_be_repeated(
    scene: Scene, name: str, tally: Tally
) -> None:
    total = count_changes(scene, name)
    for part in range(1, 7):
        check_cut(scene, name, total * part // 6, tally)


@pytest.mark.parametrize("part", range(1, 7))
def test_store_whose_creation_was_interrupted_can_be_opened(
    empty_scene: Scene, part: int, tally: Tally
) -> None:
    check_cut(empty_scene, "remember", count_changes(empty_scene, "remember") * part // 6, tally)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CALLS)
def test_call_interrupted_at_any_moment_is_atomic(scene: Scene, name: str, tally: Tally) -> None:
    for cut_after in range(count_changes(scene, name) + 1):
        check_cut(scene, name, cut_after, tally)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_store_creation_interrupted_at_any_moment_can_be_repeated(
    empty_scene: Scene, tally: Tally
) -> None:
    for cut_after in range(count_changes(empty_scene, "remember") + 1):
        check_cut(empty_scene, "remember", cut_after, tally)
