"""The demo on a terminal, for 100 columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import Memory
from memolith.entrypoints.cli.output import counted, day, plain_text
from memolith.entrypoints.cli.results import bar, named, said_at
from memolith.entrypoints.cli.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.console import Console, RenderableType
    from rich.text import Text

    from memolith.domain.recall import Recalled, RecallResult, Score

_PARTS = 4
"""How many terms of a score are shown; the rest of them are small."""


@dataclass(frozen=True, slots=True)
class Replayed:
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
class Asked:
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
class Screen:
    """Shows the demo as it goes on.

    Attributes:
        console: Where; None: nowhere.
    """

    console: Console | None

    def begin(self, owner: str) -> None:
        """Say what is about to happen."""
        if self.console:
            self.console.print()
            self.console.rule(f"Replaying what {owner} and an assistant said")

    def replayed(self, session: Replayed) -> Replayed:
        """Show a session that was taken in, with what was learned; return it."""
        if self.console:
            learned = counted(len(session.memories), "memory", "memories")
            counts = f"{counted(session.messages, 'message', 'messages')}, {learned} learned"
            self.console.print(
                plain_text(f"\n{session.session}  {day(session.at)}  {counts}", "bold")
            )
            for memory in session.memories:
                line = plain_text(f"    {memory.kind:<11} ", "green")
                line.append(one_line(memory.content))
                self.console.print(line, overflow="ellipsis", no_wrap=True)
        return session

    def replayed_again(self, sessions: Sequence[Replayed]) -> None:
        """Show what taking in the same once more has brought."""
        if self.console:
            more = sum(each.messages + len(each.memories) for each in sessions)
            self.console.print(plain_text(f"\nThe same once more: {more} added.\n", "bold"))

    def asked(self, asked: Asked, *, with_prompt: bool) -> Asked:
        """Show a question with what was recalled, and the prompt if wanted; return it."""
        if self.console:
            _show_asked(self.console, asked)
            if with_prompt:
                self.console.print(plain_text("\n    The prompt:", "bold"))
                self.console.print(_indented(asked.prompt))
            self.console.print()
        return asked

    def end(self, asked: Sequence[Asked]) -> None:
        """Show how many questions found what they should have found."""
        known = [each for each in asked if each.evidence]
        if self.console and known:
            self.console.rule(style="dim")
            self.console.print(plain_text(_summary(known), "bold"))


def _show_asked(console: Console, asked: Asked) -> None:
    console.rule(style="dim")
    console.print(plain_text(f"{asked.number:>2}. {asked.question}", "bold"))
    console.print(_indented(_expected(asked), "dim"))
    highest = max((one.score.total for one in asked.result.memories), default=1.0)
    for rank, one in enumerate(asked.result.memories):
        line = _result(rank, one, highest, expected=asked.is_expected(rank))
        console.print(line, overflow="ellipsis", no_wrap=True)
        parts = plain_text(f"      {_parts(one.score)}", "dim")
        console.print(parts, overflow="ellipsis", no_wrap=True)


def _summary(asked: Sequence[Asked]) -> str:
    hits = sum(each.is_found for each in asked)
    ms = sorted(each.ms for each in asked)[len(asked) // 2]
    return (
        f"{hits} of {len(asked)} questions found a message that holds the answer among the first "
        f"five; a recall took {ms:.0f} ms."
    )


def _expected(asked: Asked) -> str:
    if asked.answer is None:
        return "The conversation does not tell."
    mark = "✓ found" if asked.is_found else "✗ not found"
    return f"{mark}: {one_line(asked.answer)} ({', '.join(asked.evidence)})"


def _result(rank: int, one: Recalled, highest: float, *, expected: bool) -> Text:
    line = plain_text(f" {'✓' if expected else ' '} {rank + 1}  ", "bold green")
    line.append(f"{bar(one.score.total, highest)} {one.score.total:5.2f}  ", "cyan")
    line.append(f"{one.kind:<10} ", "green" if isinstance(one.record, Memory) else "blue")
    line.append(f"{day(said_at(one.record))} {one_line(named(one.record)):<5} ", "dim")
    line.append(one_line(one.text))
    return line


def _parts(score: Score) -> str:
    terms = sorted(score.parts.items(), key=lambda part: -abs(part[1]))[:_PARTS]
    return "  ".join(f"{name} {value:+.2f}" for name, value in terms if value)


def _indented(text: str, style: str = "") -> RenderableType:
    from rich.padding import Padding

    return Padding(plain_text(text, style), (0, 0, 0, 4), expand=False)
