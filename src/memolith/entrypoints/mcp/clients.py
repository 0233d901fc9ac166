"""Where the usual clients of the protocol have their configuration, and what it says there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memolith.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

NAME: Final = "memolith"
"""What the server is called in a client's configuration."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a client's files are looked for.

    Attributes:
        home: The user's folder.
        project: The folder that the client is used in.
        platform: As `sys.platform` has it.
        appdata: On Windows, where programs keep what is the user's.
    """

    home: Path
    project: Path
    platform: str
    appdata: Path | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """One client.

    Attributes:
        title: As people know it.
        section: Where its servers stand.
        place: Returns its file.
        names_transport: Whether it wants to be told that a server is a program.
    """

    title: str
    place: Callable[[Surroundings], Path]
    section: str = "mcpServers"
    names_transport: bool = False

    def config(self, command: Sequence[str]) -> dict[str, Any]:
        """Return what its file is to hold for a server that is started so."""
        kind = {"type": "stdio"} if self.names_transport else {}
        server = {**kind, "command": command[0], "args": list(command[1:])}
        return {self.section: {NAME: server}}

    def merged(self, text: str, command: Sequence[str]) -> str:
        """Return its file's text with the server in it; all else stays as it is.

        Raises:
            InvalidInput: The text is no JSON, or not of the form that it should have.
        """
        config = _object(text)
        servers = config.setdefault(self.section, {})
        if not isinstance(servers, dict):
            raise InvalidInput("client", f"{self.section} in its file is no object")
        servers |= self.config(command)[self.section]
        return json.dumps(config, indent=2, ensure_ascii=False) + "\n"


def _object(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("client", "its file is not plain JSON: put the lines in by hand")
    return found


def _claude_desktop(around: Surroundings) -> Path:
    if around.platform == "darwin":
        folder = around.home / "Library" / "Application Support"
    elif around.platform == "win32":
        folder = around.appdata or around.home / "AppData" / "Roaming"
    else:
        folder = around.home / ".config"
    return folder / "Claude" / "claude_desktop_config.json"


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-desktop": Client("Claude Desktop", _claude_desktop),
    "claude-code": Client(
        "Claude Code, in this project", lambda at: at.project / ".mcp.json", names_transport=True
    ),
    "cursor": Client("Cursor", lambda at: at.home / ".cursor" / "mcp.json"),
    "vscode": Client(
        "VS Code, in this project",
        lambda at: at.project / ".vscode" / "mcp.json",
        section="servers",
        names_transport=True,
    ),
    "windsurf": Client(
        "Windsurf", lambda at: at.home / ".codeium" / "windsurf" / "mcp_config.json"
    ),
    "gemini-cli": Client("Gemini CLI", lambda at: at.home / ".gemini" / "settings.json"),
}
