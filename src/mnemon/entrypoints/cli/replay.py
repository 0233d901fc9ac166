"""The demo on a terminal, for 100 columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemon.domain.memories import Memory
from mnemon.entrypoints.cli.output import counted, day, plain_text
from mnemon.entrypoints.cli.results import bar, named, said_at
from mnemon.entrypoints.cli.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.console import Console, RenderableType
    from rich.text import Text

    from mnemon.domain.recall import Recalled, RecallResult, Score

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


def show_replayed(
    console: Console, owner: str, replayed: Sequence[Replayed], again: Sequence[Replayed]
) -> None:
    """Print what was taken in, session by session, and what a second time brought."""
    messages = sum(each.messages for each in replayed)
    console.print()
    console.rule(f"Replaying {messages} messages of {owner}, in {len(replayed)} sessions")
    for each in replayed:
        learned = counted(len(each.memories), "memory", "memories")
        counts = f"{counted(each.messages, 'message', 'messages')}, {learned} learned"
        console.print(plain_text(f"\n{each.session}  {day(each.at)}  {counts}", "bold"))
        for memory in each.memories:
            line = plain_text(f"    {memory.kind:<11} ", "green")
            line.append(one_line(memory.content))
            console.print(line, overflow="ellipsis", no_wrap=True)
    more = sum(each.messages + len(each.memories) for each in again)
    console.print(plain_text(f"\nThe same once more: {more} added.\n", "bold"))


def show_asked(console: Console, asked: Asked, *, with_prompt: bool) -> None:
    """Print a question with what was recalled, and the prompt if wanted."""
    console.rule(style="dim")
    console.print(plain_text(f"{asked.number:>2}. {asked.question}", "bold"))
    console.print(_indented(_expected(asked), "dim"))
    highest = max((one.score.total for one in asked.result.memories), default=1.0)
    for rank, one in enumerate(asked.result.memories):
        line = _result(rank, one, highest, expected=asked.is_expected(rank))
        console.print(line, overflow="ellipsis", no_wrap=True)
        console.print(
            plain_text(f"      {_parts(one.score)}", "dim"), overflow="ellipsis", no_wrap=True
        )
    if with_prompt:
        console.print(plain_text("\n    The prompt:", "bold"))
        console.print(_indented(asked.prompt))
    console.print()


def show_summary(console: Console, asked: Sequence[Asked]) -> None:
    """Print how many questions found what they should have found."""
    known = [each for each in asked if each.evidence]
    if not known:
        return
    hits = sum(each.is_found for each in known)
    # The first recall loads the model.
    later = sorted(each.ms for each in asked)[: max(1, len(asked) - 1)]
    console.rule(style="dim")
    console.print(
        plain_text(
            f"{hits} of {len(known)} questions found a message that holds the answer among the "
            f"first five; a recall took {later[len(later) // 2]:.0f} ms.",
            "bold",
        )
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
