"""The commands of `memolith`. Their modules are imported when a command runs.

The table is here, so that `memolith --help` imports none of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class CommandEntry(NamedTuple):
    """The module of a command, and its help in one line."""

    module: str
    help: str


COMMANDS: Final = {
    "demo": CommandEntry("demo", "Replay a sample conversation and ask questions about it."),
    "remember": CommandEntry("memories", "Store one memory."),
    "recall": CommandEntry("memories", "Search memories and messages, with explained scores."),
    "context": CommandEntry("memories", "Print relevant memories as text for a prompt."),
    "learn": CommandEntry("learning", "Log an exchange and learn memories from it."),
    "chat": CommandEntry("chat", "Chat with a language model that remembers."),
    "ingest": CommandEntry("learning", "Split a long text into chunks and store them."),
    "list": CommandEntry("memories", "List memories, newest first."),
    "show": CommandEntry("memories", "Show one memory or message in full."),
    "update": CommandEntry("memories", "Change a memory. Earlier versions are kept."),
    "forget": CommandEntry("memories", "Hide a memory and its source sentences; can be undone."),
    "purge": CommandEntry("memories", "Remove a memory and its source sentences permanently."),
    "restore": CommandEntry("memories", "Undo `forget` or `supersede`."),
    "review": CommandEntry("memories", "List, approve or reject quarantined records."),
    "supersede": CommandEntry("memories", "Replace a memory by another one."),
    "history": CommandEntry("memories", "Show the versions and events of a memory."),
    "audit": CommandEntry("evaluation", "Report duplicate, fragmentary and filler memories."),
    "stats": CommandEntry("memories", "Show counts of stored records and model usage."),
    "consolidate": CommandEntry("learning", "Summarise messages, or undo a summary."),
    "profile": CommandEntry("settings", "List profiles, or switch an owner to another one."),
    "import": CommandEntry("transfer", "Import conversations and memories from a file."),
    "export": CommandEntry(
        "transfer", "Export all memories and messages of an owner as JSON Lines."
    ),
    "backup": CommandEntry("store", "Back up the store to a file while it is in use."),
    "restore-backup": CommandEntry("store", "Replace the store by a backup."),
    "migrate": CommandEntry("store", "Copy the store to another database."),
    "erase": CommandEntry("memories", "Remove all data of an owner permanently."),
    "key": CommandEntry("settings", "Back up, restore or rotate encryption keys."),
    "reset": CommandEntry("store", "Delete the store and its keys."),
    "verify": CommandEntry("store", "Check the integrity of the store and repair it."),
    "reembed": CommandEntry("store", "Recompute all vectors with another embedding model."),
    "decay": CommandEntry("maintenance", "Update the stored strengths of memories."),
    "cleanup": CommandEntry("maintenance", "Fade weak memories."),
    "expire": CommandEntry("maintenance", "Mark memories past their expiry as expired."),
    "retain": CommandEntry("maintenance", "Remove long inactive records permanently."),
    "worker": CommandEntry("maintenance", "Run background learning and scheduled jobs."),
    "serve": CommandEntry("server", "Serve the store over HTTP."),
    "mcp": CommandEntry("server", "Serve the store to an agent as MCP tools."),
    "api-key": CommandEntry("server", "Create, list and revoke API keys of the service."),
    "eval": CommandEntry("evaluation", "Measure retrieval quality on a data set."),
    "db": CommandEntry("store", "Show, upgrade or index the store's database."),
    "config": CommandEntry("settings", "Show all settings and where they come from."),
}
"""All commands, in the order of the help."""
