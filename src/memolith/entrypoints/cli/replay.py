"""The demo on a terminal, for 100 columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import Memory
from memolith.entrypoints.cli.output import format_count, format_date, plain_text
from memolith.entrypoints.cli.results import format_score_bar, get_record_label, get_record_time
from memolith.entrypoints.cli.terminal import to_one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.console import Console, RenderableType
    from rich.text import Text

    from memolith.domain.recall import RecalledItem, RecallResult, Score

_SHOWN_SCORE_PARTS = 4
"""How many terms of a score are shown; the rest of them are small."""


@dataclass(frozen=True, slots=True)
class SessionReplay:
    """A session that was taken in.

    Attributes:
        session: Its id.
        at: When it began.
        messages: How many messages were new.
        memories: What was learned of it.
    """

    session: str
    at: datetime
    messages: int
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """A question that was asked.

    Attributes:
        number: From 1.
        question: The question.
        answer: What the conversation says; None where it does not tell.
        evidence: External ids of the messages that the answer stands in.
        found: For each result the external ids of the messages that it stands for.
        result: What was recalled.
        prompt: The text for a prompt.
        ms: How long the recall took, milliseconds.
    """

    number: int
    question: str
    answer: str | None
    evidence: tuple[str, ...]
    found: tuple[tuple[str, ...], ...]
    result: RecallResult
    prompt: str
    ms: float

    @property
    def is_found(self) -> bool:
        """Whether a message that holds the answer is among the results."""
        return any(self.is_expected(rank) for rank in range(len(self.found)))

    def is_expected(self, rank: int) -> bool:
        """Whether the result of that rank, from 0, holds the answer or part of it."""
        return not set(self.evidence).isdisjoint(self.found[rank])


@dataclass(frozen=True, slots=True)
class DemoScreen:
    """Shows the demo as it goes on.

    Attributes:
        console: Where; None: nowhere.
    """

    console: Console | None

    def show_title(self, owner: str) -> None:
        """Say what is about to happen."""
        if self.console:
            self.console.print()
            self.console.rule(f"Replaying what {owner} and an assistant said")

    def show_session(self, session: SessionReplay) -> SessionReplay:
        """Show a session that was taken in, with what was learned; return it."""
        if self.console:
            learned = format_count(len(session.memories), "memory", "memories")
            counts = f"{format_count(session.messages, 'message', 'messages')}, {learned} learned"
            self.console.print(
                plain_text(f"\n{session.session}  {format_date(session.at)}  {counts}", "bold")
            )
            for memory in session.memories:
                line = plain_text(f"    {memory.kind:<11} ", "green")
                line.append(to_one_line(memory.content))
                self.console.print(line, overflow="ellipsis", no_wrap=True)
        return session

    def show_second_pass(self, sessions: Sequence[SessionReplay]) -> None:
        """Show what taking in the same once more has brought."""
        if self.console:
            more = sum(each.messages + len(each.memories) for each in sessions)
            self.console.print(plain_text(f"\nThe same once more: {more} added.\n", "bold"))

    def show_question(self, asked: QuestionResult, *, with_prompt: bool) -> QuestionResult:
        """Show a question with what was recalled, and the prompt if wanted; return it."""
        if self.console:
            _show_result(self.console, asked)
            if with_prompt:
                self.console.print(plain_text("\n    The prompt:", "bold"))
                self.console.print(_indent(asked.prompt))
            self.console.print()
        return asked

    def show_summary(self, asked: Sequence[QuestionResult]) -> None:
        """Show how many questions found what they should have found."""
        known = [each for each in asked if each.evidence]
        if self.console and known:
            self.console.rule(style="dim")
            self.console.print(plain_text(_format_summary(known), "bold"))


def _show_result(console: Console, asked: QuestionResult) -> None:
    console.rule(style="dim")
    console.print(plain_text(f"{asked.number:>2}. {asked.question}", "bold"))
    console.print(_indent(_format_expected(asked), "dim"))
    highest = max((one.score.total for one in asked.result.memories), default=1.0)
    for rank, one in enumerate(asked.result.memories):
        line = _format_result(rank, one, highest, expected=asked.is_expected(rank))
        console.print(line, overflow="ellipsis", no_wrap=True)
        parts = plain_text(f"      {_format_score_parts(one.score)}", "dim")
        console.print(parts, overflow="ellipsis", no_wrap=True)


def _format_summary(asked: Sequence[QuestionResult]) -> str:
    hits = sum(each.is_found for each in asked)
    ms = sorted(each.ms for each in asked)[len(asked) // 2]
    return (
        f"{hits} of {len(asked)} questions found a message that holds the answer among the first "
        f"five; a recall took {ms:.0f} ms."
    )


def _format_expected(asked: QuestionResult) -> str:
    if asked.answer is None:
        return "The conversation does not tell."
    mark = "✓ found" if asked.is_found else "✗ not found"
    return f"{mark}: {to_one_line(asked.answer)} ({', '.join(asked.evidence)})"


def _format_result(rank: int, one: RecalledItem, highest: float, *, expected: bool) -> Text:
    line = plain_text(f" {'✓' if expected else ' '} {rank + 1}  ", "bold green")
    line.append(f"{format_score_bar(one.score.total, highest)} {one.score.total:5.2f}  ", "cyan")
    line.append(f"{one.kind:<10} ", "green" if isinstance(one.record, Memory) else "blue")
    line.append(
        f"{format_date(get_record_time(one.record))} {to_one_line(get_record_label(one.record)):<5} ",
        "dim",
    )
    line.append(to_one_line(one.text))
    return line


def _format_score_parts(score: Score) -> str:
    terms = sorted(score.parts.items(), key=lambda part: -abs(part[1]))[:_SHOWN_SCORE_PARTS]
    return "  ".join(f"{name} {value:+.2f}" for name, value in terms if value)


def _indent(text: str, style: str = "") -> RenderableType:
    from rich.padding import Padding

    return Padding(plain_text(text, style), (0, 0, 0, 4), expand=False)
