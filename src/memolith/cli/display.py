"""Terminal output of memories, messages and recall results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memolith.cli.output import build_field_table, format_date, format_time, plain_text, to_one_line
from memolith.domain.memories import Memory, Source
from memolith.domain.messages import Message
from memolith.domain.recall import RecalledItem, RecallResult, RecallTrace, Score

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


def get_display_text(memory: Memory) -> str:
    """Return the content of a memory, or a placeholder for a forgotten one."""
    return memory.content or "(forgotten; undo with `memolith restore`)"


def show_memory(console: Console, memory: Memory) -> None:
    """Print a memory with all its fields."""
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
    """Print a message with all its fields."""
    console.print(plain_text(message.content, "bold"))
    console.print()
    console.print(
        build_field_table(
            (
                ("id", message.id),
                ("speaker", message.speaker),
                ("role", message.role),
                ("at", format_time(message.at)),
                ("session", message.session_id),
                ("number", message.sequence),
                ("external id", message.external_id),
                ("version", message.version),
            )
        )
    )


def _format_source(source: Source) -> str:
    external_id = f" ({source.external_id})" if source.external_id else ""
    return f"{source.record_type} {source.id}{external_id}"


# --- Recall results


BAR_CELLS = 10
_MIN_SHOWN_PART = 0.05
"""Smaller terms of a score are hidden. `--json` has them all."""

_MAX_SHOWN_CHARS = 600
_MAX_SHOWN_DROPPED = 10


def show_recall(console: Console, result: RecallResult) -> None:
    """Print results, best first, with the terms of their scores."""
    from rich.padding import Padding

    if not result.memories:
        console.print("No results.")
    elif result.likely_unanswerable:
        console.print("Possibly no stored record answers this question. Nearest results:")
    highest = max((one.score.total for one in result.memories), default=1.0)
    for rank, one in enumerate(result.memories, 1):
        head, names = format_headline(rank, one, highest), _format_names(one)
        fit = head.cell_len + names.cell_len <= console.width
        console.print(head + names if fit else head)
        for line in _iter_details(one, None if fit else names):
            console.print(Padding(line, (0, 0, 0, 4), expand=False))
    if result.memories:
        share = f"{result.total_tokens} of {result.token_budget} tokens"
        console.print(plain_text(share, "dim"))
    if result.trace:
        _show_trace(console, result.trace)


def format_headline(rank: int, one: RecalledItem, highest: float) -> Text:
    """Return rank, score, kind, date and speaker on one line."""
    from rich.text import Text

    record = one.record
    is_memory = isinstance(record, Memory)
    speaker = "" if isinstance(record, Memory) else (record.speaker or str(record.role or ""))
    line = Text()
    line.append(f"{rank:>2}  ", "bold")
    line.append(f"{format_score_bar(one.score.total, highest)} {one.score.total:6.2f}  ", "cyan")
    line.append(f"{one.kind:<11} ", "green" if is_memory else "blue")
    line.append(format_date(get_record_time(record)))
    if speaker:
        line.append(f"  {to_one_line(speaker)}", "bold")
    return line


def _format_names(one: RecalledItem) -> Text:
    """Return the label and the id of a result, to append to the headline."""
    from rich.text import Text

    line = Text()
    for part, style in ((get_record_label(one.record), "magenta"), (one.id, "dim")):
        if part:
            line.append(f"  {to_one_line(part)}", style)
    return line


def get_record_time(record: Memory | Message) -> datetime | None:
    """Return when a message was sent, or when a memory happened."""
    if isinstance(record, Memory):
        return record.happened_at or record.created_at
    return record.at


def get_record_label(record: Memory | Message) -> str:
    """Return the external id of a message, or the key or external source ids of a memory."""
    if not isinstance(record, Memory):
        return record.external_id or ""
    sources = " ".join(each.external_id for each in record.sources if each.external_id)
    return record.key or sources


def format_score_bar(value: float, highest: float) -> str:
    """Return a bar of ten cells that is full for the highest value."""
    share = value / highest if highest > 0 else 0.0
    cells = round(max(0.0, min(share, 1.0)) * BAR_CELLS)
    return "█" * cells + "░" * (BAR_CELLS - cells)


def _iter_details(one: RecalledItem, names: Text | None) -> Iterator[RenderableType]:
    text = to_one_line(one.text)
    is_truncated = len(text) > _MAX_SHOWN_CHARS
    yield plain_text(text[:_MAX_SHOWN_CHARS] + (" …" if is_truncated else ""))
    if names is not None:
        yield names[2:]
    notes = [format_score_parts(one.score)]
    if one.changed_later:
        notes.append("changed later")
    if one.collapsed_ids:
        notes.append(f"{len(one.collapsed_ids)} similar results collapsed")
    yield plain_text(" · ".join(notes), "dim")


def format_score_parts(score: Score) -> str:
    """Return the measured values of a score, then its largest terms."""
    measured = f"cosine {score.similarity:.2f} · BM25 {score.text:.1f}"
    if score.rerank is not None:
        measured += f" · rerank {score.rerank:.2f}"
    terms = sorted(score.parts.items(), key=lambda part: -abs(part[1]))
    parts = ", ".join(
        f"{name} {value:+.2f}" for name, value in terms if abs(value) >= _MIN_SHOWN_PART
    )
    return f"{measured} · {parts}" if parts else measured


def _show_trace(console: Console, trace: RecallTrace) -> None:
    stages = ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in trace.seconds.items())
    console.print()
    console.print(
        build_field_table(
            (
                ("embedded", trace.dense_text),
                ("keywords", " ".join(trace.terms)),
                ("candidates", trace.candidates),
                ("time", stages),
                ("dropped", _format_dropped(trace)),
            )
        )
    )


def _format_dropped(trace: RecallTrace) -> str:
    lines: Sequence[str] = [
        f"{each.id}  {each.score.total:6.2f}  {each.reason}"
        for each in trace.dropped[:_MAX_SHOWN_DROPPED]
    ]
    remaining = len(trace.dropped) - len(lines)
    return "\n".join([*lines, *([f"and {remaining} more"] if remaining > 0 else [])])
