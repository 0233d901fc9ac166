"""The demo on a terminal, for 100 columns."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.api.owner import OwnerMemory
from memolith.cli.context import CommandCall, command, get_temporary_settings
from memolith.cli.display import format_score_bar, get_record_label, get_record_time
from memolith.cli.output import (
    console,
    format_count,
    format_date,
    plain_text,
    print_json,
    to_one_line,
)
from memolith.demo import (
    DemoConversation,
    DemoQuestion,
    DemoSession,
    load_conversation,
    load_leaflet,
)
from memolith.domain.memories import Memory
from memolith.domain.messages import Message, Role
from memolith.domain.recall import RecalledItem, RecallResult, Score

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from memolith.api.engine import Memolith
    from memolith.evals.runner import QuestionClock

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


# --- `memolith demo`


DEMO_EXAMPLES = """
memolith demo
memolith demo --questions 3 --prompts
memolith demo --profiles
memolith demo --model
memolith demo --store demo.db && memolith recall --store demo.db --owner lena "Who has our key?"
"""

TOP_K = 5
_SHOWN_PROMPTS = 2
"""The prompts of how many questions are shown if not all are asked for."""

_PROMPT_TOKENS = 400
"""A prompt that fits on a screen; the default is five times that."""


@dataclass(frozen=True, slots=True)
class _DemoStage:
    """Where the demo takes place.

    Attributes:
        engine: Who remembers.
        memory: The memory of the one who talks there.
        clock: What time it is there.
        has_model: Whether a language model learns from what was logged.
    """

    engine: Memolith
    memory: OwnerMemory
    clock: QuestionClock
    has_model: bool


@command("demo", example=DEMO_EXAMPLES)
@click.option("--questions", type=click.IntRange(min=0), help="Ask only the first so many.")
@click.option("--prompts", is_flag=True, help="Show the prompt of every question, not of two.")
@click.option("--profiles", is_flag=True, help="Show what each profile makes of it instead.")
@click.option("--model", is_flag=True, help="Learn facts with a language model, by script.")
def demo_command(
    call: CommandCall, questions: int | None, *, prompts: bool, profiles: bool, model: bool
) -> None:
    """Replay a conversation, ask about it, show what is remembered.

    A person talks with an assistant over half a year. Memolith takes it in session by session,
    without any language model, then answers questions: with what it recalls, why, and whether
    that is where the answer stands. All in a store of its own, unless --store names one.

    With --model it learns facts, by the profile `facts`, from a language model that plays by a
    script on this machine, over OpenAI's own client, which is the extra memolith[openai].
    """
    conversation = load_conversation()
    if profiles:
        if questions is not None or prompts or model or "store" in call.options:
            raise click.UsageError("--profiles goes alone: store and questions are its own.")
        _compare_profiles(call, conversation)
        return
    with _open_stage(call, conversation, model=model) as stage:
        screen = DemoScreen(None if call.as_json else console())
        screen.show_title(stage.memory.owner_id)
        replayed = [
            screen.show_session(_replay_session(stage, each)) for each in conversation.sessions
        ]
        screen.show_second_pass([_replay_session(stage, each) for each in conversation.sessions])
        asked = [
            screen.show_question(
                _ask_question(stage, number, each), with_prompt=prompts or number <= _SHOWN_PROMPTS
            )
            for number, each in enumerate(conversation.questions[:questions], 1)
        ]
        screen.show_summary(asked)
        if model and not call.as_json:
            from memolith.cli.commands.demo_modes import show_model_results

            stage.engine.expire(owner=stage.memory.owner_id)
            show_model_results(stage.memory, since=conversation.sessions[0].date)
    if call.as_json:
        print_json({"sessions": replayed, "questions": asked})


def _compare_profiles(call: CommandCall, conversation: DemoConversation) -> None:
    from memolith.cli.commands.demo_modes import compare_profiles

    sides = compare_profiles(call, conversation, load_leaflet())
    if call.as_json:
        print_json(sides)


@contextmanager
def _open_stage(
    call: CommandCall, conversation: DemoConversation, *, model: bool
) -> Iterator[_DemoStage]:
    from memolith.evals.runner import QuestionClock

    clock = QuestionClock(conversation.sessions[0].date)
    owner = str(call.options.get("owner", conversation.owner))
    loaded = call.load_settings()
    with tempfile.TemporaryDirectory(prefix="memolith-demo-") as folder, ExitStack() as open_:
        store = None
        if "store" not in call.options:
            store, loaded = Path(folder, "demo.db"), get_temporary_settings(loaded)
        if model:
            from memolith.cli.commands.demo_modes import run_scripted_model

            loaded = open_.enter_context(run_scripted_model(loaded, conversation))
        engine = open_.enter_context(
            call.engine_factory.engine(loaded, store=store, clock=clock, worker=False)
        )
        yield _DemoStage(engine, engine.owner(owner), clock, model)


def _replay_session(stage: _DemoStage, session: DemoSession) -> SessionReplay:
    messages = [
        Message(each.speaker, each.content, Role(each.role), each.at, each.id)
        for each in session.messages
    ]
    stage.clock.at = session.messages[-1].at
    known = {each.id for each in _list_memories(stage.memory)}
    learned = stage.memory.log(messages, session=session.id)
    memories = learned.memories
    if stage.has_model:
        stage.engine.work()
        memories = tuple(each for each in _list_memories(stage.memory) if each.id not in known)
    return SessionReplay(session.id, session.date, len(learned.messages), memories)


def _list_memories(memory: OwnerMemory) -> tuple[Memory, ...]:
    """Return the memories that are recalled, oldest first."""
    return memory.list(limit=1_000).memories[::-1]


def _ask_question(stage: _DemoStage, number: int, question: DemoQuestion) -> QuestionResult:
    from memolith.evals.runner import get_message_ids

    stage.clock.at = question.asked_at
    began = time.perf_counter()
    result = stage.memory.recall(question.question, top_k=TOP_K, touch=False)
    ms = (time.perf_counter() - began) * 1_000
    prompt = stage.memory.context(question.question, token_budget=_PROMPT_TOKENS, touch=False)
    return QuestionResult(
        number=number,
        question=question.question,
        answer=question.answer,
        evidence=question.evidence,
        found=tuple(get_message_ids(one) for one in result.memories),
        result=result,
        prompt=prompt,
        ms=ms,
    )
