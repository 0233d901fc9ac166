"""The settings of a profile take effect: each reaches the profile that it configures."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memolith import Memolith
from memolith.config.fields import Setting
from memolith.config.loading import ALL_SETTINGS
from memolith.config.settings import PROFILE_BUILDERS, Settings
from memolith.profiles.companion import CompanionSettings
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.rows import check_each

# Settings that services read, not the profile.
READ_BY_SERVICES = {
    "facts.arbitration_timeout_s",
    "chunks.reranker_enabled",
    "chunks.reranker_model",
    "timeline.max_failures_before_degrade",
    "timeline.consolidation_provider",
    "timeline.consolidation_model",
}
READ_BY_PROFILES = [
    name
    for name, setting in ALL_SETTINGS.items()
    if setting.profile and name not in READ_BY_SERVICES
]


def strength_of_old_fact(config: Path) -> float:
    clock = SettableClock(datetime(2024, 1, 1, tzinfo=UTC))
    with Memolith.open(
        ":memory:",
        profile="companion",
        config=config,
        clock=clock,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
    ) as memory:
        fact = memory.remember("Anna plays chess", owner="a", kind="fact", importance=0.5)
        clock.advance(timedelta(days=9_999))
        return memory.get(fact.id, owner="a").strength


def test_decay_floor_of_companion_takes_effect(tmp_path: Path) -> None:
    file = tmp_path / "memolith.toml"
    file.write_text("[memory.companion]\nfact_importance_floor = 0.45\n")
    assert strength_of_old_fact(file) == pytest.approx(0.45)


def test_default_decay_floor_of_companion_comes_from_its_section(tmp_path: Path) -> None:
    file = tmp_path / "memolith.toml"
    file.write_text("")
    assert strength_of_old_fact(file) == pytest.approx(CompanionSettings().fact_importance_floor)


@check_each("name", READ_BY_PROFILES)
def test_every_setting_of_a_profile_reaches_it(name: str) -> None:
    setting = ALL_SETTINGS[name]
    build = PROFILE_BUILDERS[setting.section]
    section: Any = getattr(Settings(), setting.section)
    assert build(replace(section, **{setting.field: other_value(setting)}), 5) != build(section, 5)


def other_value(setting: Setting) -> object:
    """Return half of the default, or the largest value where the default is 0."""
    return setting.type(float(setting.default) / 2 or setting.high)
