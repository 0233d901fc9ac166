"""Modes of the demo: `--model` (a scripted language model) and `--profiles` (a comparison)."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.api.owner import OwnerMemory
from memolith.cli.context import CommandCall, get_temporary_settings
from memolith.cli.output import build_table, console, format_count, plain_text, to_one_line
from memolith.config import LoadedSettings
from memolith.config.settings import Chat
from memolith.demo import DemoConversation, load_facts
from memolith.demo.model_server import ModelServer, ReceivedRequest
from memolith.domain.memories import Memory
from memolith.domain.messages import Message, Role
from memolith.domain.reports import IngestResult
from memolith.evals.runner import QuestionClock

if TYPE_CHECKING:
    from rich.console import Console


MODEL_DEMO_PROFILE = "facts"

_USER_LINE = re.compile(r"^> \[(\d+)\] user[^:]*: (.*)$", re.MULTILINE)
_QUOTED_MEMORY = re.compile(r"^> (.+)$", re.MULTILINE)


@contextmanager
def run_scripted_model(
    loaded: LoadedSettings, conversation: DemoConversation
) -> Iterator[LoadedSettings]:
    """Run the model server and yield settings that use it."""
    with ModelServer(_ScriptedRule(conversation)) as server:
        chat = Chat(provider="openai", model="scripted", base_url=server.openai_url, api_key_env="")
        yield replace(
            loaded, settings=replace(loaded.settings, profile=MODEL_DEMO_PROFILE, chat=chat)
        )


def show_model_results(memory: OwnerMemory, since: datetime) -> None:
    """Print the outcome of the learned facts, and the usage of the model since a time."""
    screen = console()
    screen.rule("Outcome of the learned facts")
    for title, memories in _group_by_outcome(memory).items():
        screen.print(plain_text(f"\n{title}", "bold"))
        for each in memories:
            line = plain_text(f"    {to_one_line(each.content)}", "")
            screen.print(line, overflow="ellipsis", no_wrap=True)
    usage = memory.usage(since=since).by_purpose
    calls = ", ".join(f"{one.calls} for {purpose}" for purpose, one in usage.items())
    total = sum(one.calls for one in usage.values())
    screen.print(
        f"\nThe scripted model was called {format_count(total, 'time', 'times')}: {calls}.\n"
    )


def _group_by_outcome(memory: OwnerMemory) -> dict[str, list[Memory]]:
    """Return the facts that are not recalled, by reason."""
    titles = {
        "superseded": "Superseded by a newer fact:",
        "expired": "Expired:",
        "unsupported": "Quarantined without support in the conversation (see memolith review):",
    }
    memories = memory.list(state="all", limit=1_000).memories
    groups = {
        title: [each for each in reversed(memories) if each.state == state]
        for state, title in titles.items()
    }
    return {title: each for title, each in groups.items() if each}


class _ScriptedRule:
    """The replies of the scripted model."""

    def __init__(self, conversation: DemoConversation) -> None:
        demo_facts = load_facts()
        messages = {one.id: one.content for each in conversation.sessions for one in each.messages}
        self._facts = [(messages[fact.message].splitlines()[0], fact) for fact in demo_facts.facts]
        self._changes = set(demo_facts.changes)

    def __call__(self, request: ReceivedRequest) -> object:
        if request.schema is not None and request.schema.name == "verdict":
            existing, new = _QUOTED_MEMORY.findall(request.user)
            operation = "DELETE" if (existing, new) in self._changes else "ADD"
            return {"reasoning": "by script", "operation": operation, "content": ""}
        return {"facts": list(self._iter_matching_facts(request.user))}

    def _iter_matching_facts(self, prompt: str) -> Iterator[dict[str, object]]:
        for number, line in _USER_LINE.findall(prompt):
            for first_line, fact in self._facts:
                if first_line == line:
                    yield {
                        "content": fact.content,
                        "category": fact.category,
                        "importance": fact.importance,
                        "expires_in": fact.expires_in,
                        "from": [int(number)],
                    }


# --- Comparison of profiles


STORED_FACTS = (
    ("home", "Lena lives in Leipzig with her husband Tomasz and her daughter Mila", "identity"),
    ("units", "Lena prefers metric units for everything", "preference"),
    ("work", "Lena works at Pegelwerk as a data scientist", "project"),
    ("coffee", "Lena drinks green tea only and no coffee", "fact"),
)
"""Memories stored besides the conversation: key, text, and kind in `standard`."""

QUESTIONS = (
    "Which units should you use when you answer me?",
    "Where do I work now?",
    "What do we have to bring for kayaking?",
)
_PROMPT_TOKENS = 300
_TOP_K = 3
_MAX_ANSWER_CHARS = 60


@dataclass(frozen=True, slots=True)
class ProfileAnswer:
    """The answer of one profile to a question.

    Attributes:
        question: The question.
        recalled: Kind and text of the results, best first.
        prompt: The text for a prompt.
    """

    question: str
    recalled: tuple[tuple[str, str], ...]
    prompt: str


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """The results of one profile.

    Attributes:
        profile: Its name.
        description: Its use case.
        messages: The number of logged messages.
        learned: The number of memories learned from the conversation, by kind.
        kept: The number of stored chunks of the document, by kind.
        dropped: The number of dropped chunks.
        answers: The answers to the questions.
    """

    profile: str
    description: str
    messages: int
    learned: dict[str, int]
    kept: dict[str, int]
    dropped: int
    answers: tuple[ProfileAnswer, ...]


def compare_profiles(
    call: CommandCall, conversation: DemoConversation, document: str
) -> list[ProfileResult]:
    """Run the demo under each profile, print the results, and return them."""
    screen = None if call.as_json else console()
    clock = QuestionClock(conversation.sessions[0].date)
    results: list[ProfileResult] = []
    with tempfile.TemporaryDirectory(prefix="memolith-demo-") as folder:
        loaded = get_temporary_settings(call.load_settings())
        with call.engine_factory.engine(
            loaded, store=Path(folder, "demo.db"), clock=clock
        ) as engine:
            for profile in engine.profiles():
                owner = engine.owner(f"{conversation.owner} ({profile.name})")
                owner.switch_profile(profile.name)
                result = _run_profile(owner, profile.description, conversation, document, clock)
                results.append(result)
                if screen:
                    _show_profile(screen, result)
    if screen:
        _show_comparison(screen, results)
    return results


def _run_profile(
    owner: OwnerMemory,
    description: str,
    conversation: DemoConversation,
    document: str,
    clock: QuestionClock,
) -> ProfileResult:
    messages, kinds = 0, Counter[str]()
    for session in conversation.sessions:
        clock.at = session.messages[-1].at
        logged = owner.log(
            [
                Message(each.speaker, each.content, Role(each.role), each.at, each.id)
                for each in session.messages
            ],
            session=session.id,
        )
        owner.end_session(session.id)
        messages += len(logged.messages)
        kinds.update(memory.kind for memory in logged.memories)
    clock.at = conversation.questions[0].asked_at
    for key, text, kind in STORED_FACTS:
        owner.remember(text, key=key, kind=owner.equivalent_kind(kind))
    ingested = owner.ingest(document, source="leaflet")
    return ProfileResult(
        owner.profile(),
        description,
        messages,
        dict(kinds),
        _count_kept_kinds(ingested),
        len(ingested.dropped_chunks),
        tuple(_ask_profile(owner, question) for question in QUESTIONS),
    )


def _count_kept_kinds(ingested: IngestResult) -> dict[str, int]:
    return dict(Counter(each.kind for each in ingested.kept_chunks))


def _ask_profile(owner: OwnerMemory, question: str) -> ProfileAnswer:
    result = owner.recall(question, top_k=_TOP_K, touch=False)
    prompt = owner.context(question, token_budget=_PROMPT_TOKENS, touch=False)
    return ProfileAnswer(question, tuple((one.kind, one.text) for one in result.memories), prompt)


def _show_profile(screen: Console, result: ProfileResult) -> None:
    screen.print()
    screen.rule(f"{result.profile}: {result.description}")
    screen.print(plain_text(_format_counts(result), "dim"))
    for index, answer in enumerate(result.answers):
        screen.print(plain_text(f"\n{answer.question}", "bold"))
        if not answer.recalled:
            screen.print(plain_text("    no results", "dim"))
        for kind, text in answer.recalled:
            line = plain_text(f"    {kind:<11} ", "green")
            line.append(to_one_line(text))
            screen.print(line, overflow="ellipsis", no_wrap=True)
        if index == 0 and answer.prompt:
            from rich.padding import Padding

            screen.print(plain_text("    The prompt:", "bold"))
            screen.print(Padding(plain_text(answer.prompt, ""), (0, 0, 0, 4), expand=False))


def _format_counts(result: ProfileResult) -> str:
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(result.learned.items()))
    kept = ", ".join(f"{name} {count}" for name, count in sorted(result.kept.items()))
    learned = format_count(sum(result.learned.values()), "memory", "memories")
    return (
        f"{format_count(result.messages, 'message', 'messages')} logged, {learned} learned"
        f"{f' ({kinds})' if kinds else ''}; leaflet chunks stored: {kept or 'none'},"
        f" dropped: {result.dropped}"
    )


def _get_first_answer(answer: ProfileAnswer) -> str:
    if not answer.recalled:
        return "–"
    text = to_one_line(answer.recalled[0][1])
    return text if len(text) <= _MAX_ANSWER_CHARS else f"{text[: _MAX_ANSWER_CHARS - 1]}…"


def _show_comparison(screen: Console, results: list[ProfileResult]) -> None:
    screen.print()
    screen.rule("Comparison")
    rows = [
        (
            result.profile,
            str(sum(result.learned.values())),
            f"{sum(result.kept.values())} of {sum(result.kept.values()) + result.dropped}",
            *(_get_first_answer(answer) for answer in result.answers),
        )
        for result in results
    ]
    titles = ("profile", "learned", "leaflet", *(f"…{question}" for question in QUESTIONS))
    screen.print(build_table(titles, rows))
