"""`memolith config show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memolith.config.loading import ALL_SETTINGS


def test_every_setting_is_shown_with_its_origin(
    memolith: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("memolith.toml").write_text("[memory]\ntoken_budget = 500\n")
    monkeypatch.setenv("MEMOLITH_RAG_LIMIT", "9")
    rows = {row["name"]: row for row in memolith.json("config", "show", "--store", "x.db")}
    origins = {name: rows[name]["origin"] for name in ("token_budget", "rag_limit", "store")}
    assert origins == {
        "token_budget": "memolith.toml:2",
        "rag_limit": "environment MEMOLITH_RAG_LIMIT",
        "store": "argument",
    }
    assert {name: row["note"] for name, row in rows.items()} == {
        name: setting.note for name, setting in ALL_SETTINGS.items()
    }


def test_table_shows_settings_and_notes(memolith: Any) -> None:
    out = memolith.ok("config").out
    assert "rag_limit" in out
    assert "companion only" in out


def test_config_show_hides_secrets(memolith: Any) -> None:
    out = memolith.ok("config", "show", "--store", "postgresql://me:hunter2@host/db").out
    assert "hunter2" not in out
    assert "***@host" in out


def test_unknown_setting_is_reported_with_its_line(memolith: Any) -> None:
    Path("memolith.toml").write_text("[memory]\nrag_limt = 5\n")
    answer = memolith("config", "show")
    assert answer.code == 3
    assert answer.err == (
        "memolith: rag_limt: unknown setting; did you mean rag_limit? (memolith.toml:2)\n"
    )


def test_config_option_selects_the_file(memolith: Any) -> None:
    Path("other.toml").write_text("[memory]\nrag_limit = 7\n")
    rows = {row["name"]: row["value"] for row in memolith.json("--config", "other.toml", "config")}
    assert rows["rag_limit"] == 7


def test_config_show_lists_settings_of_custom_profiles(memolith: Any, tmp_path: Path) -> None:
    (tmp_path / "memolith.toml").write_text(
        '[memory.profiles.notes]\nbase = "companion"\nmerge_threshold = 0.9\n'
    )
    shown = {row["name"]: row for row in memolith.json("config", "show")}
    assert shown["profiles.notes.base"]["value"] == "companion"
    assert shown["profiles.notes.merge_threshold"]["value"] == 0.9
    assert shown["profiles.notes.merge_threshold"]["origin"].endswith("memolith.toml:3")
    assert shown["merge_threshold"]["value"] != 0.9
