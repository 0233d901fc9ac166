"""The power is cut at each moment of a call that changes more than one file, or removes."""

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


def tell(memory: Memolith) -> None:
    """Tell a new owner's first memory, for whom a key is made."""
    memory.remember("A first word", owner="carol", key="first")


def after_telling(before: Stored) -> Stored:
    return {**before, "carol": {"": "A first word"}}


CALLS = {
    "tell": (tell, after_telling),
    "erase": (erase, after_erasing),
    "purge": (purge, after_purging),
    "rotate": (rotate, after_rotating),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A store as it is before a call, and what is in it."""

    place: Path
    stored: Stored


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: where to go on, whether it returned before the cut, its changes."""

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
def nothing(tmp_path: Path) -> Scene:
    """An empty folder."""
    place = tmp_path / "before"
    place.mkdir()
    return Scene(place, {})


def cut_in(scene: Scene, call: Callable[[Memolith], None], cut_after: int | None) -> Outcome:
    """Do a call on a copy of the scene, with the power cut after so many changes, or at the end."""
    place = shutil.copytree(scene.place, scene.place.with_name("during"))
    disk = Disk(cut_after or 0, cut_after=cut_after)
    with plugged_in(disk), opened(place / STORE, str(place / KEY)) as memory:
        call(memory)
        returned, changes = not disk.is_off, disk.changes
    return Outcome(disk.moved(place, scene.place.with_name("after")), returned, changes)


def contents(stored: Stored) -> dict[str, list[str]]:
    """Return what is stored without ids: those of new records nobody knows before."""
    return {owner: sorted(them.values()) for owner, them in stored.items()}


def check_cut(scene: Scene, name: str, cut_after: int, tally: Tally) -> None:
    """Check that the call has happened, or not if it had not returned, and can be repeated."""
    call, change = CALLS[name]
    before, wanted = contents(scene.stored), contents(change(scene.stored))
    outcome = cut_in(scene, call, cut_after)
    tally.trials += 1
    tally.acknowledged += outcome.returned
    with opened(outcome.place / STORE, str(outcome.place / KEY)) as memory:
        found = contents(everything(memory))
        assert found == wanted or (found == before and not outcome.returned)
        assert memory.verify().findings == ()
        call(memory)
        assert contents(everything(memory)) == wanted
        assert memory.verify().findings == ()
    shutil.rmtree(outcome.place)


def changes_of(scene: Scene, name: str) -> int:
    """Count the changes on the disk from the opening of the store to the end of the call."""
    outcome = cut_in(scene, CALLS[name][0], None)
    shutil.rmtree(outcome.place)
    assert outcome.returned
    return outcome.changes


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_is_cut_short_has_happened_or_not_and_can_be_repeated(
    scene: Scene, name: str, tally: Tally
) -> None:
    total = changes_of(scene, name)
    for part in range(1, 7):
        check_cut(scene, name, total * part // 6, tally)


@pytest.mark.parametrize("part", range(1, 7))
def test_a_store_that_is_made_when_the_power_is_cut_can_be_opened(
    nothing: Scene, part: int, tally: Tally
) -> None:
    check_cut(nothing, "tell", changes_of(nothing, "tell") * part // 6, tally)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_may_be_cut_short_at_any_moment(scene: Scene, name: str, tally: Tally) -> None:
    for cut_after in range(changes_of(scene, name) + 1):
        check_cut(scene, name, cut_after, tally)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_store_may_be_cut_short_at_any_moment_of_its_making(nothing: Scene, tally: Tally) -> None:
    for cut_after in range(changes_of(nothing, "tell") + 1):
        check_cut(nothing, "tell", cut_after, tally)
