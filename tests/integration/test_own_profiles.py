"""Custom profiles: from the configuration, from a package, from code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.errors import InvalidConfiguration
from memolith.profiles.standard import standard
from memolith.testing.fakes import HashingEmbedder, WordCounter

PACKAGE = """
from dataclasses import replace
from memolith.profiles.companion import companion

def diary():
    return replace(companion(), name="diary", kinds=(*companion().kinds, "dream"))

def wrong():
    return companion()
"""


def open_memory(store: Path | str = ":memory:", **options: object) -> Memolith:
    return Memolith.open(store, embedder=HashingEmbedder(), tokens=WordCounter(), **options)  # type: ignore[arg-type] # passed on


def write_config(folder: Path, text: str) -> Path:
    file = folder / "memolith.toml"
    file.write_text(text)
    return file


@pytest.fixture
def installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that adds profiles."""
    (tmp_path / "dreaming.py").write_text(PACKAGE)
    about = tmp_path / "dreaming-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: dreaming\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[memolith.profiles]\ndiary = dreaming:diary\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("dreaming", None)


def test_configuration_adds_a_profile_with_its_own_parameters(tmp_path: Path) -> None:
    file = write_config(
        tmp_path,
        """
        [memory]
        profile = "notes"
        decay_factor = 0.9
        [memory.profiles.notes]
        base = "companion"
        min_importance = 0.4
        """,
    )
    with open_memory(config=file) as memory:
        assert memory.profile(owner="a") == "notes"
        weak = memory.remember("Weather is fine", owner="a", kind="context", importance=0.3)
        assert memory.cleanup(owner="a") == 1
        assert memory.get(weak.id, owner="a").state == "faded"
        memory.switch_profile("companion", owner="b")
        memory.remember("Weather is fine", owner="b", kind="context", importance=0.3)
        assert memory.cleanup(owner="b") == 0


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[memory.profiles.notes]\nbase = "other"', "base"),
        ('[memory.profiles.notes]\nbase = "companion"\nmerge_treshold = 0.9', "merge_threshold"),
        ('[memory.profiles.notes]\nbase = "companion"\nmerge_threshold = 9', "merge_threshold"),
        ('[memory.profiles.facts]\nbase = "companion"', "facts"),
        ('[memory.profiles."A B"]\nbase = "companion"', "A B"),
        ("[memory.profiles]\nnotes = 1", "profiles"),
        ('[memory]\nprofile = "nots"', "nots"),
    ],
)
def test_configuration_error_names_setting_and_file(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        open_memory(config=write_config(tmp_path, text))
    assert named in str(caught.value)
    assert "memolith.toml:" in str(caught.value)


@pytest.mark.usefixtures("installed_package")
def test_package_adds_a_profile() -> None:
    with open_memory(profile="diary") as memory:
        dream = memory.remember("I flew over Oslo", owner="a", kind="dream")
        assert memory.recall("Oslo", owner="a").memories[0].id == dream.id
        assert "diary" in [each.name for each in memory.profiles()]


def test_memory_opens_with_a_profile_object() -> None:
    own = replace(standard(), name="loud", kinds=(*standard().kinds, "shout"))
    with open_memory(profile=own) as memory:
        memory.remember("HEY", owner="a", kind="shout")
        assert memory.profile(owner="a") == "loud"


@pytest.mark.usefixtures("installed_package")
def test_missing_profile_of_an_owner_is_reported(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db", profile="diary") as memory:
        memory.remember("I flew over Oslo", owner="a")
    (tmp_path / "dreaming-1.0.dist-info" / "entry_points.txt").write_text("")
    with open_memory(tmp_path / "m.db") as memory:
        with pytest.raises(InvalidConfiguration, match="owner 'a' has the profile 'diary'"):
            memory.recall("Oslo", owner="a")
        memory.remember("Lives in Oslo", owner="b")
        assert memory.profile(owner="a") == "diary"
        assert memory.expire() == 0
        assert all(done.finished for done in memory.run_jobs())
        assert [(each.kind, each.owner_id) for each in memory.verify().findings] == [
            ("profile", "a")
        ]
        memory.switch_profile("standard", owner="a")
        assert memory.recall("Oslo", owner="a").memories[0].content == "I flew over Oslo"
        assert memory.verify().findings == ()
