"""`memolith demo`."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, print_json
from memolith.entrypoints.cli.replay import Asked, Replayed, Screen
from memolith.entrypoints.cli.wiring import passing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.demo import DemoConversation, DemoQuestion, DemoSession
    from memolith.domain.memories import Memory
    from memolith.engine import Memolith
    from memolith.evals.engine import AskingClock
    from memolith.owner import OwnerMemory

EXAMPLE = """
memolith demo
memolith demo --questions 3 --prompts
memolith demo --profiles
memolith demo --model
memolith demo --store demo.db && memolith recall --store demo.db --owner lena "Who has our key?"
"""

TOP_K = 5
_PROMPTS = 2
"""The prompts of how many questions are shown if not all are asked for."""

_PROMPT_TOKENS = 400
"""A prompt that fits on a screen; the default is five times that."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """Where the demo takes place.

    Attributes:
        engine: Who remembers.
        memory: The memory of the one who talks there.
        clock: What time it is there.
        has_model: Whether a language model learns from what was logged.
    """

    engine: Memolith
    memory: OwnerMemory
    clock: AskingClock
    has_model: bool


@command("demo", example=EXAMPLE)
@click.option("--questions", type=click.IntRange(min=0), help="Ask only the first so many.")
@click.option("--prompts", is_flag=True, help="Show the prompt of every question, not of two.")
@click.option("--profiles", is_flag=True, help="Show what each profile makes of it instead.")
@click.option("--model", is_flag=True, help="Learn facts with a language model, by script.")
def run(call: Call, questions: int | None, *, prompts: bool, profiles: bool, model: bool) -> None:
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
        if questions is not None or prompts or model or "store" in call.given:
            raise click.UsageError("--profiles goes alone: store and questions are its own.")
        _compare(call, conversation)
        return
    with _stage(call, conversation, model=model) as stage:
        screen = Screen(None if call.as_json else console())
        screen.begin(stage.memory.owner_id)
        replayed = [screen.replayed(_replay(stage, each)) for each in conversation.sessions]
        screen.replayed_again([_replay(stage, each) for each in conversation.sessions])
        asked = [
            screen.asked(_ask(stage, number, each), with_prompt=prompts or number <= _PROMPTS)
            for number, each in enumerate(conversation.questions[:questions], 1)
        ]
        screen.end(asked)
        if model and not call.as_json:
            from memolith.entrypoints.cli.model_demo import tell

            stage.engine.expire(owner=stage.memory.owner_id)
            tell(stage.memory, since=conversation.sessions[0].date)
    if call.as_json:
        print_json({"sessions": replayed, "questions": asked})


def _compare(call: Call, conversation: DemoConversation) -> None:
    from memolith.demo import load_leaflet
    from memolith.entrypoints.cli.profile_demo import compare

    sides = compare(call, conversation, load_leaflet())
    if call.as_json:
        print_json(sides)


@contextmanager
def _stage(call: Call, conversation: DemoConversation, *, model: bool) -> Iterator[_Stage]:
    from memolith.evals.engine import AskingClock

    clock = AskingClock(conversation.sessions[0].date)
    owner = str(call.given.get("owner", conversation.owner))
    loaded = call.settings()
    with tempfile.TemporaryDirectory(prefix="memolith-demo-") as folder, ExitStack() as open_:
        store = None
        if "store" not in call.given:
            store, loaded = Path(folder, "demo.db"), passing(loaded)
        if model:
            from memolith.entrypoints.cli.model_demo import scripted

            loaded = open_.enter_context(scripted(loaded, conversation))
        engine = open_.enter_context(
            call.wiring.engine(loaded, store=store, clock=clock, worker=False)
        )
        yield _Stage(engine, engine.owner(owner), clock, model)


def _replay(stage: _Stage, session: DemoSession) -> Replayed:
    from memolith.domain.messages import Message, Role

    messages = [
        Message(each.speaker, each.content, Role(each.role), each.at, each.id)
        for each in session.messages
    ]
    stage.clock.at = session.messages[-1].at
    known = {each.id for each in _memories(stage.memory)}
    learned = stage.memory.log(messages, session=session.id)
    memories = learned.memories
    if stage.has_model:
        stage.engine.work()
        memories = tuple(each for each in _memories(stage.memory) if each.id not in known)
    return Replayed(session.id, session.date, len(learned.messages), memories)


def _memories(memory: OwnerMemory) -> tuple[Memory, ...]:
    """Return the memories that are recalled, oldest first."""
    return memory.list(limit=1_000).memories[::-1]


def _ask(stage: _Stage, number: int, question: DemoQuestion) -> Asked:
    from memolith.evals.engine import messages_of

    stage.clock.at = question.asked_at
    began = time.perf_counter()
    result = stage.memory.recall(question.question, top_k=TOP_K, touch=False)
    ms = (time.perf_counter() - began) * 1_000
    prompt = stage.memory.context(question.question, token_budget=_PROMPT_TOKENS, touch=False)
    return Asked(
        number=number,
        question=question.question,
        answer=question.answer,
        evidence=question.evidence,
        found=tuple(messages_of(one) for one in result.memories),
        result=result,
        prompt=prompt,
        ms=ms,
    )
