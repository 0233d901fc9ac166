"""Example sentences of the source systems are recalled with the local embedder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memolith import Memolith, OwnerMemory
from support.rows import check_each

COMPANION: dict[str, tuple[str, ...]] = {
    "User's birthday is March 15": ("When is my birthday?", "What day was I born on?"),
    "Prefers metric units": (
        "Which units do I prefer?",
        "Should I give distances in metric units?",
    ),
    "Actually prefers tea, not coffee": (
        "Do I drink tea or coffee?",
        "What should you offer me, tea?",
    ),
    "Paris is the capital of France": ("What is the capital of France?",),
    "User prefers dark mode": ("Do I like dark mode?", "Which mode should the editor be in?"),
    "Actually, the meeting is Tuesday not Monday": (
        "When is the meeting?",
        "Is the meeting on Monday?",
    ),
    "Weather API returned: 22°C, sunny": ("What did the weather API say?", "Is it sunny?"),
    "Q: What time is it? A: 3:00 PM": ("What time is it?",),
}
CHUNKS: dict[str, tuple[str, ...]] = {
    "User is a backend engineer specializing in Python and PostgreSQL.": (
        "What kind of engineer am I?",
        "What do I specialize in?",
    ),
    "User is building a SaaS product with FastAPI and Stripe integration.": (
        "What am I building?",
        "Which product uses Stripe?",
    ),
    "Communication style: direct, technical, no preamble.": (
        "Which communication style do I want?",
        "How should you talk to me, with a preamble?",
    ),
    "2024-01-20: Discussed database migration from MySQL to PostgreSQL.": (
        "What did we discuss about the database migration?",
        "What was moved from MySQL?",
    ),
    "2024-01-18: User reported issue with Alembic autogenerate on enums.": (
        "What issue did I report with Alembic?",
        "What was wrong with the enums?",
    ),
}
TIERS: dict[str, tuple[str, ...]] = {
    "My name is Alex and I work at NASA": (
        "Do you remember my name?",
        "What is my name?",
        "Where do I work?",
    ),
    "The user has a meeting with propulsion team Friday": (
        "When is my meeting with the propulsion team?",
        "What is on Friday?",
    ),
    "The user prefers Python for hardware projects": (
        "Which language do I prefer for hardware projects?",
    ),
    "Prefers concise answers": ("How long should your answers be, concise?",),
    'Building M5Stack voice assistant "Lo-Bug"': (
        "What is Lo-Bug?",
        "Which voice assistant am I building?",
    ),
}
TIMELINE: dict[str, tuple[str, ...]] = {
    "User prefers Rust for all backend projects": (
        "Which language do I prefer for backend projects?",
    ),
    "PicoBot uses Rust, axum, sqlx, ratatui, tokio": ("What does PicoBot use?",),
    "User prefers TDD workflow with cargo test --lib": ("Which workflow do I prefer?",),
    "User asked about Rust async patterns. Discussed tokio::select!, semaphore-based rate "
    "limiting, and backpressure strategies. No code was written.": (
        "What did we say about Rust async patterns?",
        "Did we talk about backpressure?",
    ),
}
OURS: dict[str, tuple[str, ...]] = {
    "My name is Alice and I live in Oslo": ("What is my name?", "Where do I live?"),
    "The dentist moved from Monday to Tuesday": ("When is the dentist?",),
    "Anna owes Bob ten euros": ("Who owes Bob money?",),
}
SYSTEMS: dict[str, dict[str, tuple[str, ...]]] = {
    "companion": COMPANION,
    "chunks": CHUNKS,
    "tiers": TIERS,
    "timeline": TIMELINE,
    "ours": OURS,
}
CASES = [
    (system, content, question)
    for system, examples in SYSTEMS.items()
    for content, questions in examples.items()
    for question in questions
]


@pytest.fixture(scope="module")
def memory(database: str) -> Iterator[Memolith]:
    assert database  # recreate the fixture for each database
    with Memolith.open(":memory:") as engine:
        for way in ("remember", "learn"):
            for system, content, _ in CASES:
                owner = engine.owner(f"{system} {way}")
                if way == "remember":
                    owner.remember(content)
                elif not any(message.content == content for message in owner.messages()):
                    owner.learn(content, "Noted.")
        yield engine


@pytest.mark.parametrize("way", ["remember", "learn"])
@check_each(("system", "content", "question"), CASES)
def test_example_is_first_result(
    memory: Memolith, system: str, way: str, content: str, question: str
) -> None:
    found = memory.recall(question, owner=f"{system} {way}", touch=False).memories
    assert found[0].content == content


KINDS = {"Communication style: direct, technical, no preamble.": "procedural"}
SECOND = {"What am I building?"}
"""By the cosine alone, which orders `chunks`, another sentence about the user is nearer."""


@pytest.fixture(scope="module")
def owners(database: str) -> Iterator[dict[str, OwnerMemory]]:
    """The examples of each system, stored in its own profile, with the kinds and keys it has."""
    assert database
    with Memolith.open(":memory:") as engine:
        owners = {system: engine.owner(system) for system in SYSTEMS if system != "ours"}
        for system, owner in owners.items():
            owner.switch_profile(system)
            for number, content in enumerate(SYSTEMS[system]):
                kind = KINDS.get(content)
                owner.remember(content, kind=kind, key=f"note_{number}", importance=0.5)
        yield owners


@check_each(("system", "content", "question"), [case for case in CASES if case[0] != "ours"])
def test_example_is_recalled_in_its_own_profile(
    owners: dict[str, OwnerMemory], system: str, content: str, question: str
) -> None:
    found = owners[system].recall(question, touch=False).memories
    first = [one.content for one in found if one.kind == "procedural"]
    searched = [one.content for one in found if one.kind != "procedural"]
    assert content in [*first, *searched[: 2 if question in SECOND else 1]]
