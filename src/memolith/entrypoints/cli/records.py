"""Single memories and messages on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.entrypoints.cli.output import build_field_table, format_time, plain_text

if TYPE_CHECKING:
    from rich.console import Console

    from memolith.domain.memories import Memory, Source
    from memolith.domain.messages import Message


def get_display_text(memory: Memory) -> str:
    """Return what a memory says, or that nobody is told any more."""
    return memory.content or "(forgotten; `memolith restore` brings it back)"


def show_memory(console: Console, memory: Memory) -> None:
    """Print a memory with all that is known of it."""
    console.print(plain_text(get_display_text(memory), "bold"))
    console.print()
    console.print(
        build_field_table(
            (
                ("id", memory.id),
                ("kind", memory.kind),
                ("key", memory.key),
                ("tags", ", ".join(memory.tags)),
                ("state", memory.state.value),
                ("superseded by", memory.superseded_by),
                ("importance", f"{memory.importance:.2f}"),
                ("strength", f"{memory.strength:.2f}"),
                ("recalled", f"{memory.access_count} times"),
                ("last recalled", format_time(memory.accessed_at)),
                ("happened", format_time(memory.happened_at)),
                ("expires", format_time(memory.expires_at)),
                ("created", format_time(memory.created_at)),
                ("updated", format_time(memory.updated_at)),
                ("session", memory.session_id),
                ("origin", memory.origin.value),
                ("sources", "\n".join(_format_source(each) for each in memory.sources)),
                ("version", memory.version),
            )
        )
    )


def show_message(console: Console, message: Message) -> None:
    """Print a message with all that is known of it."""
    console.print(plain_text(message.content, "bold"))
    console.print()
    console.print(
        build_field_table(
            (
                ("id", message.id),
                ("said by", message.speaker),
                ("role", message.role),
                ("at", format_time(message.at)),
                ("session", message.session_id),
                ("place in it", message.sequence),
                ("external id", message.external_id),
                ("version", message.version),
            )
        )
    )


def _format_source(source: Source) -> str:
    own = f" ({source.external_id})" if source.external_id else ""
    return f"{source.record_type} {source.id}{own}"
