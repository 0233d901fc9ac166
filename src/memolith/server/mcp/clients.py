"""Where the usual clients of the protocol have their configuration, and what it says there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memolith.errors import InvalidInput

SERVER_NAME: Final = "memolith"
"""What the server is called in a client's configuration."""


@dataclass(frozen=True, slots=True)
class ClientEnvironment:
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
class McpClient:
    """One client.

    Attributes:
        title: As people know it.
        section: Where its servers stand.
        place: Returns its file.
        names_transport: Whether it wants to be told that a server is a program.
    """

    title: str
    locate_config: Callable[[ClientEnvironment], Path]
    section: str = "mcpServers"
    requires_transport_type: bool = False

    def build_config(self, command: Sequence[str]) -> dict[str, Any]:
        """Return what its file is to hold for a server that is started so."""
        kind = {"type": "stdio"} if self.requires_transport_type else {}
        server = {**kind, "command": command[0], "args": list(command[1:])}
        return {self.section: {SERVER_NAME: server}}

    def merge_config(self, text: str, command: Sequence[str]) -> str:
        """Return its file's text with the server in it; all else stays as it is.

        Raises:
            InvalidInput: The text is no JSON, or not of the form that it should have.
        """
        config = _parse_object(text)
        servers = config.setdefault(self.section, {})
        if not isinstance(servers, dict):
            raise InvalidInput("client", f"{self.section} in its file is no object")
        servers |= self.build_config(command)[self.section]
        return json.dumps(config, indent=2, ensure_ascii=False) + "\n"


def _parse_object(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("client", "its file is not plain JSON: put the lines in by hand")
    return found


def _locate_claude_desktop(environment: ClientEnvironment) -> Path:
    if environment.platform == "darwin":
        folder = environment.home / "Library" / "Application Support"
    elif environment.platform == "win32":
        folder = environment.appdata or environment.home / "AppData" / "Roaming"
    else:
        folder = environment.home / ".config"
    return folder / "Claude" / "claude_desktop_config.json"


CLIENTS: Final[Mapping[str, McpClient]] = {
    "claude-desktop": McpClient("Claude Desktop", _locate_claude_desktop),
    "claude-code": McpClient(
        "Claude Code, in this project",
        lambda at: at.project / ".mcp.json",
        requires_transport_type=True,
    ),
    "cursor": McpClient("Cursor", lambda at: at.home / ".cursor" / "mcp.json"),
    "vscode": McpClient(
        "VS Code, in this project",
        lambda at: at.project / ".vscode" / "mcp.json",
        section="servers",
        requires_transport_type=True,
    ),
    "windsurf": McpClient(
        "Windsurf", lambda at: at.home / ".codeium" / "windsurf" / "mcp_config.json"
    ),
    "gemini-cli": McpClient("Gemini CLI", lambda at: at.home / ".gemini" / "settings.json"),
}
