"""`memolith mcp install`: configuration for each client, merged into its existing file."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from memolith.errors import InvalidInput
from memolith.server.mcp.clients import CLIENTS, ClientEnvironment
from support.rows import check_each

COMMAND = ["/opt/memolith", "--owner", "alice", "mcp"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    return tmp_path


def test_install_prints_a_start_command_that_works_from_any_folder(
    memolith: Any, project: Path
) -> None:
    found = memolith.json("mcp", "install", "--owner", "alice", "--store", "own.db")
    assert [each["client"] for each in found] == list(CLIENTS)
    for each in found:
        (section,) = each["config"].values()
        started = section["memolith"]
        assert Path(started["command"]).is_absolute()
        assert started["args"][-1] == "mcp"
        assert str(project / "own.db") in started["args"]
        assert "alice" in started["args"]
        assert not each["written"]
    assert not (project / "home").exists()


def test_client_option_prints_only_that_client_and_its_file(memolith: Any) -> None:
    out = memolith.ok("mcp", "install", "--client", "vscode").out
    assert ".vscode/mcp.json" in out
    assert '"servers"' in out
    assert "Cursor" not in out


@pytest.mark.parametrize("client", CLIENTS)
def test_install_keeps_other_entries_of_the_file(memolith: Any, project: Path, client: str) -> None:
    (asked,) = memolith.json("mcp", "install", "--client", client)
    path = Path(asked["file"])
    section = CLIENTS[client].section
    path.parent.mkdir(parents=True, exist_ok=True)
    before: dict[str, Any] = {
        "theme": "dark",
        section: {"other": {"command": "x", "env": {"A": "ü"}}},
    }
    path.write_text(json.dumps(before))
    path.chmod(0o640)
    for _ in range(2):  # the second time changes nothing
        memolith.ok("mcp", "install", "--client", client, "--write")
        after = json.loads(path.read_text())
        server = asked["config"][section]["memolith"]
        assert after == {**before, section: {**before[section], "memolith": server}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.is_relative_to(project)


def test_install_creates_a_missing_file(memolith: Any, project: Path) -> None:
    memolith.ok("mcp", "install", "--client", "claude-code", "--write")
    assert "memolith" in json.loads((project / ".mcp.json").read_text())["mcpServers"]


@pytest.mark.parametrize("text", ["// mine\n{}", "{", "[]", '"x"', '{"mcpServers": []}'])
def test_install_does_not_change_an_invalid_file(memolith: Any, project: Path, text: str) -> None:
    path = project / ".mcp.json"
    path.write_text(text)
    refused = memolith("mcp", "install", "--client", "claude-code", "--write")
    assert refused.code == 2
    assert path.read_text() == text


def test_install_writes_through_a_symbolic_link(memolith: Any, project: Path) -> None:
    (project / "dotfiles").mkdir()
    real = project / "dotfiles" / "mcp.json"
    real.write_text("{}")
    (project / ".mcp.json").symlink_to(real)
    memolith.ok("mcp", "install", "--client", "claude-code", "--write")
    assert (project / ".mcp.json").is_symlink()
    assert "memolith" in real.read_text()


def test_install_names_the_configuration_file_and_hides_passwords(
    memolith: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "memolith.toml").write_text('[memory]\nprofile = "timeline"\n')
    monkeypatch.setenv("MEMOLITH_STORE", "postgresql://me:hunter2@db.example/memory")
    answer = memolith("mcp", "install", "--client", "cursor")
    assert answer.code == 0
    assert str(project / "memolith.toml") in answer.out
    assert "hunter2" not in answer.out + answer.err
    assert "set its URL in the configuration" in answer.err


def test_install_options_are_rejected_without_install(memolith: Any) -> None:
    assert memolith("mcp", "--client", "cursor").code == 2
    assert memolith("mcp", "install", "--write").code == 2


def test_missing_sdk_error_names_the_extra(memolith: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.adapters.models.http.find_spec", lambda _name: None)
    refused = memolith("mcp")
    assert refused.code == 3
    assert "pip install 'memolith[mcp]'" in refused.err


@check_each(
    ("platform", "expected"),
    [
        ("darwin", "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("linux", "/h/.config/Claude/claude_desktop_config.json"),
        ("win32", "/h/Roaming/Claude/claude_desktop_config.json"),
    ],
)
def test_claude_desktop_config_path_depends_on_the_platform(platform: str, expected: str) -> None:
    around = ClientEnvironment(Path("/h"), Path("/p"), platform, Path("/h/Roaming"))
    assert CLIENTS["claude-desktop"].locate_config(around) == Path(expected)


def test_configuration_that_is_not_an_object_is_rejected() -> None:
    with pytest.raises(InvalidInput):
        CLIENTS["cursor"].merge_config("[1]", COMMAND)
