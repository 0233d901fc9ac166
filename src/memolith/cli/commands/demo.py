"""The command `demo`, and its terminal output for 100 columns."""

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
"""Number of score terms shown; the others are small."""


@dataclass(frozen=True, slots=True)
class SessionReplay:
    """A replayed session.

    Attributes:
        session: Its id.
        at: Its start.
        messages: The number of new messages.
        memories: The memories learned from it.
    """

    session: str
    at: datetime
    messages: int
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """A question with its answer from memory.

    Attributes:
        number: Its number, from 1.
        question: The question.
        answer: The expected answer. None if the conversation has none.
        evidence: External ids of the messages that contain the answer.
        found: For each result, the external ids of its source messages.
        result: The recall result.
        prompt: The text for a prompt.
        ms: Duration of the recall, in milliseconds.
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
        """Whether a result contains the answer."""
        return any(self.is_expected(rank) for rank in range(len(self.found)))

    def is_expected(self, rank: int) -> bool:
        """Whether the result at a rank, from 0, contains the answer or a part of it."""
        return not set(self.evidence).isdisjoint(self.found[rank])


@dataclass(frozen=True, slots=True)
class DemoScreen:
    """Shows the progress of the demo.

    Attributes:
        console: The console. None: show nothing.
    """

    console: Console | None

    def show_title(self, owner: str) -> None:
        """Print the title."""
        if self.console:
            self.console.print()
            self.console.rule(f"Replaying a conversation of {owner} and an assistant")

    def show_session(self, session: SessionReplay) -> SessionReplay:
        """Print a replayed session with its new memories, and return it."""
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
        """Print the number of records added by a second replay."""
        if self.console:
            added = sum(each.messages + len(each.memories) for each in sessions)
            self.console.print(plain_text(f"\nReplayed again: {added} records added.\n", "bold"))

    def show_question(self, question: QuestionResult, *, with_prompt: bool) -> QuestionResult:
        """Print a question with its results and optionally the prompt, and return it."""
        if self.console:
            _show_result(self.console, question)
            if with_prompt:
                self.console.print(plain_text("\n    The prompt:", "bold"))
                self.console.print(_indent(question.prompt))
            self.console.print()
        return question

    def show_summary(self, questions: Sequence[QuestionResult]) -> None:
        """Print the number of answered questions."""
        with_evidence = [each for each in questions if each.evidence]
        if self.console and with_evidence:
            self.console.rule(style="dim")
            self.console.print(plain_text(_format_summary(with_evidence), "bold"))


def _show_result(console: Console, question: QuestionResult) -> None:
    console.rule(style="dim")
    console.print(plain_text(f"{question.number:>2}. {question.question}", "bold"))
    console.print(_indent(_format_expected(question), "dim"))
    highest = max((one.score.total for one in question.result.memories), default=1.0)
    for rank, one in enumerate(question.result.memories):
        line = _format_result(rank, one, highest, expected=question.is_expected(rank))
        console.print(line, overflow="ellipsis", no_wrap=True)
        parts = plain_text(f"      {_format_score_parts(one.score)}", "dim")
        console.print(parts, overflow="ellipsis", no_wrap=True)


def _format_summary(questions: Sequence[QuestionResult]) -> str:
    hits = sum(each.is_found for each in questions)
    ms = sorted(each.ms for each in questions)[len(questions) // 2]
    return (
        f"For {hits} of {len(questions)} questions, one of the first five results contains the"
        f" answer. Median time of a recall: {ms:.0f} ms."
    )


def _format_expected(question: QuestionResult) -> str:
    if question.answer is None:
        return "The conversation has no answer."
    mark = "✓ found" if question.is_found else "✗ not found"
    return f"{mark}: {to_one_line(question.answer)} ({', '.join(question.evidence)})"


def _format_result(rank: int, one: RecalledItem, highest: float, *, expected: bool) -> Text:
    line = plain_text(f" {'✓' if expected else ' '} {rank + 1}  ", "bold green")
    line.append(f"{format_score_bar(one.score.total, highest)} {one.score.total:5.2f}  ", "cyan")
    line.append(f"{one.kind:<10} ", "green" if isinstance(one.record, Memory) else "blue")
    line.append(
        f"{format_date(get_record_time(one.record))}"
        f" {to_one_line(get_record_label(one.record)):<5} ",
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
"""Number of questions whose prompts are shown without --prompts."""

_PROMPT_TOKENS = 400
"""Token budget of a prompt: it fits on a screen. The default of `context` is five times larger."""


@dataclass(frozen=True, slots=True)
class _DemoStage:
    """The store of the demo.

    Attributes:
        engine: The engine.
        memory: The memory of the conversation's user.
        clock: The clock of the engine.
        has_model: Whether a language model learns from logged messages.
    """

    engine: Memolith
    memory: OwnerMemory
    clock: QuestionClock
    has_model: bool


@command("demo", example=DEMO_EXAMPLES)
@click.option("--questions", type=click.IntRange(min=0), help="Ask only the first N questions.")
@click.option("--prompts", is_flag=True, help="Show the prompts of all questions.")
@click.option("--profiles", is_flag=True, help="Compare the profiles instead.")
@click.option("--model", is_flag=True, help="Learn facts with a scripted language model.")
def demo_command(
    call: CommandCall, questions: int | None, *, prompts: bool, profiles: bool, model: bool
) -> None:
    """Replay a sample conversation and ask questions about it.

    In the conversation, a person and an assistant talk for half a year. Memolith stores it session
    by session without a language model, then answers questions: with the recalled records, their
    scores, and whether they contain the answer. Uses a temporary store unless --store is given.

    --model uses the profile `facts` with a scripted model server on this machine, called by the
    OpenAI client. It needs the extra memolith[openai].
    """
    conversation = load_conversation()
    if profiles:
        if questions is not None or prompts or model or "store" in call.options:
            raise click.UsageError(
                "--profiles cannot be combined with --store or other options of demo."
            )
        _compare_profiles(call, conversation)
        return
    with _open_stage(call, conversation, model=model) as stage:
        screen = DemoScreen(None if call.as_json else console())
        screen.show_title(stage.memory.owner_id)
        replayed = [
            screen.show_session(_replay_session(stage, each)) for each in conversation.sessions
        ]
        screen.show_second_pass([_replay_session(stage, each) for each in conversation.sessions])
        results = [
            screen.show_question(
                _ask_question(stage, number, each), with_prompt=prompts or number <= _SHOWN_PROMPTS
            )
            for number, each in enumerate(conversation.questions[:questions], 1)
        ]
        screen.show_summary(results)
        if model and not call.as_json:
            from memolith.cli.commands.demo_modes import show_model_results

            stage.engine.expire(owner=stage.memory.owner_id)
            show_model_results(stage.memory, since=conversation.sessions[0].date)
    if call.as_json:
        print_json({"sessions": replayed, "questions": results})


def _compare_profiles(call: CommandCall, conversation: DemoConversation) -> None:
    from memolith.cli.commands.demo_modes import compare_profiles

    results = compare_profiles(call, conversation, load_leaflet())
    if call.as_json:
        print_json(results)


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
    known_ids = {each.id for each in _list_memories(stage.memory)}
    logged = stage.memory.log(messages, session=session.id)
    memories = logged.memories
    if stage.has_model:
        stage.engine.work()
        memories = tuple(each for each in _list_memories(stage.memory) if each.id not in known_ids)
    return SessionReplay(session.id, session.date, len(logged.messages), memories)


def _list_memories(memory: OwnerMemory) -> tuple[Memory, ...]:
    """Return the active memories, oldest first."""
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
