"""`memolith demo`."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import console, print_json
from memolith.entrypoints.cli.replay import DemoScreen, QuestionResult, SessionReplay
from memolith.entrypoints.cli.wiring import get_temporary_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.demo import DemoConversation, DemoQuestion, DemoSession
    from memolith.domain.memories import Memory
    from memolith.engine import Memolith
    from memolith.evals.engine import QuestionClock
    from memolith.owner import OwnerMemory

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
    from memolith.demo import load_conversation

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
            from memolith.entrypoints.cli.model_demo import show_model_results

            stage.engine.expire(owner=stage.memory.owner_id)
            show_model_results(stage.memory, since=conversation.sessions[0].date)
    if call.as_json:
        print_json({"sessions": replayed, "questions": asked})


def _compare_profiles(call: CommandCall, conversation: DemoConversation) -> None:
    from memolith.demo import load_leaflet
    from memolith.entrypoints.cli.profile_demo import compare_profiles

    sides = compare_profiles(call, conversation, load_leaflet())
    if call.as_json:
        print_json(sides)


@contextmanager
def _open_stage(
    call: CommandCall, conversation: DemoConversation, *, model: bool
) -> Iterator[_DemoStage]:
    from memolith.evals.engine import QuestionClock

    clock = QuestionClock(conversation.sessions[0].date)
    owner = str(call.options.get("owner", conversation.owner))
    loaded = call.load_settings()
    with tempfile.TemporaryDirectory(prefix="memolith-demo-") as folder, ExitStack() as open_:
        store = None
        if "store" not in call.options:
            store, loaded = Path(folder, "demo.db"), get_temporary_settings(loaded)
        if model:
            from memolith.entrypoints.cli.model_demo import run_scripted_model

            loaded = open_.enter_context(run_scripted_model(loaded, conversation))
        engine = open_.enter_context(
            call.engine_factory.engine(loaded, store=store, clock=clock, worker=False)
        )
        yield _DemoStage(engine, engine.owner(owner), clock, model)


def _replay_session(stage: _DemoStage, session: DemoSession) -> SessionReplay:
    from memolith.domain.messages import Message, Role

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
    from memolith.evals.engine import get_message_ids

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
