"""Configuration files of common MCP clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memolith.errors import InvalidInput

SERVER_NAME: Final = "memolith"
"""The server's name in a client's configuration."""


@dataclass(frozen=True, slots=True)
class ClientEnvironment:
    """Where to find a client's files.

    Attributes:
        home: The user's home directory.
        project: The project directory.
        platform: As in `sys.platform`.
        appdata: On Windows, the directory of application data.
    """

    home: Path
    project: Path
    platform: str
    appdata: Path | None = None


@dataclass(frozen=True, slots=True)
class McpClient:
    """An MCP client.

    Attributes:
        title: Display name.
        section: Key of the server list in the configuration.
        locate_config: Returns the path of the configuration file.
        requires_transport_type: Whether the client requires the transport type.
    """

    title: str
    locate_config: Callable[[ClientEnvironment], Path]
    section: str = "mcpServers"
    requires_transport_type: bool = False

    def build_config(self, command: Sequence[str]) -> dict[str, Any]:
        """Return the configuration for a server started by a command."""
        kind = {"type": "stdio"} if self.requires_transport_type else {}
        server = {**kind, "command": command[0], "args": list(command[1:])}
        return {self.section: {SERVER_NAME: server}}

    def merge_config(self, text: str, command: Sequence[str]) -> str:
        """Return a configuration file's text with the server added.

        Raises:
            InvalidInput: The text is not JSON, or does not have the expected structure.
        """
        config = _parse_object(text)
        servers = config.setdefault(self.section, {})
        if not isinstance(servers, dict):
            raise InvalidInput(
                "client", f"{self.section} in the configuration file must be an object"
            )
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
        raise InvalidInput(
            "client", "the configuration file is not plain JSON: add the lines by hand"
        )
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
