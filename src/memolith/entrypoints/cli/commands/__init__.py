"""One module a command, each with a `command`; imported when the command is called.

The table stands here so that `memolith --help` needs none of them.
"""

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """Where a command is, and what it does in one line."""

    module: str
    help: str


COMMANDS: Final = {
    "demo": Entry("demo", "Replay a conversation, ask about it, show what is remembered."),
    "remember": Entry("remember", "Store one memory."),
    "recall": Entry("recall", "Find what is relevant to a question, with scores."),
    "context": Entry("context", "Print what is relevant as text for a prompt."),
    "learn": Entry("learn", "Take in an exchange: what the user said, and the reply."),
    "chat": Entry("chat", "Talk with a language model that remembers."),
    "ingest": Entry("ingest", "Take in a long text, and keep what matters of it."),
    "list": Entry("list_", "List memories, newest first."),
    "show": Entry("show", "Show one memory or message in full."),
    "update": Entry("update", "Change a memory; its earlier versions are kept."),
    "forget": Entry("forget", "Make a memory, and where it came from, unfindable."),
    "purge": Entry("purge", "Remove a memory, and where it came from, for good."),
    "restore": Entry("restore", "Undo a forgetting or a supersession."),
    "review": Entry("review", "Look through what is withheld, and approve or reject it."),
    "supersede": Entry("supersede", "Let a memory take the place of another."),
    "history": Entry("history", "Show what has happened to a memory."),
    "audit": Entry("audit", "Show how many memories are not worth keeping, and which."),
    "stats": Entry("stats", "Show how much is stored, and what the model was asked."),
    "consolidate": Entry("consolidate", "Summarise what has gathered, or take a summary back."),
    "profile": Entry("profile", "List the profiles, or move an owner to another one."),
    "import": Entry("import_", "Take in conversations from a file of another program."),
    "export": Entry("export", "Write all memories and messages of an owner as JSON lines."),
    "backup": Entry("backup", "Copy the store to a file, while it is in use."),
    "restore-backup": Entry("restore_backup", "Put a backup in the store's place."),
    "migrate": Entry("migrate", "Move the store into another database."),
    "erase": Entry("erase", "Remove everything of an owner for good."),
    "key": Entry("key", "Back up, bring back or change the encryption keys."),
    "reset": Entry("reset", "Delete the store and its keys, and start afresh."),
    "verify": Entry("verify", "Look for damage in the store, and repair it."),
    "reembed": Entry("reembed", "Make all vectors anew by another embedding model."),
    "decay": Entry("decay", "Store how strong memories are by now."),
    "cleanup": Entry("cleanup", "Let memories fade that are too weak."),
    "expire": Entry("expire", "Mark memories whose time is up."),
    "retain": Entry("retain", "Remove for good what has long been inactive."),
    "worker": Entry("worker", "Learn in the background, and do scheduled jobs."),
    "serve": Entry("serve", "Serve it over HTTP, to programs and chat clients."),
    "mcp": Entry("mcp", "Give it to an agent as tools, by the Model Context Protocol."),
    "api-key": Entry("api_key", "Make, list and revoke the keys of the service's callers."),
    "eval": Entry("eval_", "Measure how well the right messages are found in a data set."),
    "db": Entry("db", "Look at the store's database, bring it up to date, index it."),
    "config": Entry("config", "Show the settings in force, and where they come from."),
}
"""Every command and what it does, in the order of the help."""
