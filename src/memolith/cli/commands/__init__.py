"""One module a command, each with a `command`; imported when the command is called.

The table stands here so that `memolith --help` needs none of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class CommandEntry(NamedTuple):
    """Where a command is, and what it does in one line."""

    module: str
    help: str


COMMANDS: Final = {
    "demo": CommandEntry("demo", "Replay a conversation, ask about it, show what is remembered."),
    "remember": CommandEntry("memories", "Store one memory."),
    "recall": CommandEntry("memories", "Find what is relevant to a question, with scores."),
    "context": CommandEntry("memories", "Print what is relevant as text for a prompt."),
    "learn": CommandEntry("learning", "Take in an exchange: what the user said, and the reply."),
    "chat": CommandEntry("chat", "Talk with a language model that remembers."),
    "ingest": CommandEntry("learning", "Take in a long text, and keep what matters of it."),
    "list": CommandEntry("memories", "List memories, newest first."),
    "show": CommandEntry("memories", "Show one memory or message in full."),
    "update": CommandEntry("memories", "Change a memory; its earlier versions are kept."),
    "forget": CommandEntry("memories", "Make a memory, and where it came from, unfindable."),
    "purge": CommandEntry("memories", "Remove a memory, and where it came from, for good."),
    "restore": CommandEntry("memories", "Undo a forgetting or a supersession."),
    "review": CommandEntry("memories", "Look through what is withheld, and approve or reject it."),
    "supersede": CommandEntry("memories", "Let a memory take the place of another."),
    "history": CommandEntry("memories", "Show what has happened to a memory."),
    "audit": CommandEntry("evaluation", "Show how many memories are not worth keeping, and which."),
    "stats": CommandEntry("memories", "Show how much is stored, and what the model was asked."),
    "consolidate": CommandEntry("learning", "Summarise what has gathered, or take a summary back."),
    "profile": CommandEntry("settings", "List the profiles, or move an owner to another one."),
    "import": CommandEntry("transfer", "Take in conversations from a file of another program."),
    "export": CommandEntry(
        "transfer", "Write all memories and messages of an owner as JSON lines."
    ),
    "backup": CommandEntry("store", "Copy the store to a file, while it is in use."),
    "restore-backup": CommandEntry("store", "Put a backup in the store's place."),
    "migrate": CommandEntry("store", "Move the store into another database."),
    "erase": CommandEntry("memories", "Remove everything of an owner for good."),
    "key": CommandEntry("settings", "Back up, bring back or change the encryption keys."),
    "reset": CommandEntry("store", "Delete the store and its keys, and start afresh."),
    "verify": CommandEntry("store", "Look for damage in the store, and repair it."),
    "reembed": CommandEntry("store", "Make all vectors anew by another embedding model."),
    "decay": CommandEntry("maintenance", "Store how strong memories are by now."),
    "cleanup": CommandEntry("maintenance", "Let memories fade that are too weak."),
    "expire": CommandEntry("maintenance", "Mark memories whose time is up."),
    "retain": CommandEntry("maintenance", "Remove for good what has long been inactive."),
    "worker": CommandEntry("maintenance", "Learn in the background, and do scheduled jobs."),
    "serve": CommandEntry("server", "Serve it over HTTP, to programs and chat clients."),
    "mcp": CommandEntry("server", "Give it to an agent as tools, by the Model Context Protocol."),
    "api-key": CommandEntry("server", "Make, list and revoke the keys of the service's callers."),
    "eval": CommandEntry(
        "evaluation", "Measure how well the right messages are found in a data set."
    ),
    "db": CommandEntry("store", "Look at the store's database, bring it up to date, index it."),
    "config": CommandEntry("settings", "Show the settings in force, and where they come from."),
}
"""Every command and what it does, in the order of the help."""
