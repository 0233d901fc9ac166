"""One module a command, each with a `command`; imported when the command is called.

The table stands here so that `memolith --help` needs none of them.
"""

from typing import Final, NamedTuple


class CommandEntry(NamedTuple):
    """Where a command is, and what it does in one line."""

    module: str
    help: str


COMMANDS: Final = {
    "demo": CommandEntry("demo", "Replay a conversation, ask about it, show what is remembered."),
    "remember": CommandEntry("remember", "Store one memory."),
    "recall": CommandEntry("recall", "Find what is relevant to a question, with scores."),
    "context": CommandEntry("context", "Print what is relevant as text for a prompt."),
    "learn": CommandEntry("learn", "Take in an exchange: what the user said, and the reply."),
    "chat": CommandEntry("chat", "Talk with a language model that remembers."),
    "ingest": CommandEntry("ingest", "Take in a long text, and keep what matters of it."),
    "list": CommandEntry("list_", "List memories, newest first."),
    "show": CommandEntry("show", "Show one memory or message in full."),
    "update": CommandEntry("update", "Change a memory; its earlier versions are kept."),
    "forget": CommandEntry("forget", "Make a memory, and where it came from, unfindable."),
    "purge": CommandEntry("purge", "Remove a memory, and where it came from, for good."),
    "restore": CommandEntry("restore", "Undo a forgetting or a supersession."),
    "review": CommandEntry("review", "Look through what is withheld, and approve or reject it."),
    "supersede": CommandEntry("supersede", "Let a memory take the place of another."),
    "history": CommandEntry("history", "Show what has happened to a memory."),
    "audit": CommandEntry("audit", "Show how many memories are not worth keeping, and which."),
    "stats": CommandEntry("stats", "Show how much is stored, and what the model was asked."),
    "consolidate": CommandEntry(
        "consolidate", "Summarise what has gathered, or take a summary back."
    ),
    "profile": CommandEntry("profile", "List the profiles, or move an owner to another one."),
    "import": CommandEntry("import_", "Take in conversations from a file of another program."),
    "export": CommandEntry("export", "Write all memories and messages of an owner as JSON lines."),
    "backup": CommandEntry("backup", "Copy the store to a file, while it is in use."),
    "restore-backup": CommandEntry("restore_backup", "Put a backup in the store's place."),
    "migrate": CommandEntry("migrate", "Move the store into another database."),
    "erase": CommandEntry("erase", "Remove everything of an owner for good."),
    "key": CommandEntry("key", "Back up, bring back or change the encryption keys."),
    "reset": CommandEntry("reset", "Delete the store and its keys, and start afresh."),
    "verify": CommandEntry("verify", "Look for damage in the store, and repair it."),
    "reembed": CommandEntry("reembed", "Make all vectors anew by another embedding model."),
    "decay": CommandEntry("decay", "Store how strong memories are by now."),
    "cleanup": CommandEntry("cleanup", "Let memories fade that are too weak."),
    "expire": CommandEntry("expire", "Mark memories whose time is up."),
    "retain": CommandEntry("retain", "Remove for good what has long been inactive."),
    "worker": CommandEntry("worker", "Learn in the background, and do scheduled jobs."),
    "serve": CommandEntry("serve", "Serve it over HTTP, to programs and chat clients."),
    "mcp": CommandEntry("mcp", "Give it to an agent as tools, by the Model Context Protocol."),
    "api-key": CommandEntry("api_key", "Make, list and revoke the keys of the service's callers."),
    "eval": CommandEntry("eval_", "Measure how well the right messages are found in a data set."),
    "db": CommandEntry("db", "Look at the store's database, bring it up to date, index it."),
    "config": CommandEntry("config", "Show the settings in force, and where they come from."),
}
"""Every command and what it does, in the order of the help."""
