"""The rules of profile `companion`, one test each."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from memolith import Memolith, OwnerMemory, State
from memolith.domain.memories import Span
from memolith.domain.recall import RecalledItem, Score
from memolith.policies.decay import DecayInputs, freshness
from memolith.policies.ranking.model import Query
from memolith.policies.rendering.formats import COMPANION_PREAMBLE
from memolith.policies.rendering.layout import RenderInput
from memolith.profiles.companion import CompanionSettings, companion
from memolith.testing.builders import candidates, memory
from memolith.testing.fakes import SettableClock
from support.rows import check_each

Golden = Callable[[str], dict[str, Any]]
Engines = Callable[..., Memolith]
PROFILE = companion()


@pytest.fixture
def alice(open_owner: Callable[[str], OwnerMemory]) -> OwnerMemory:
    return open_owner("companion")


# --- memory types -------------------------------------------------------------------------------


def test_kinds_are_in_the_sources_priority_order() -> None:
    assert PROFILE.kinds == ("correction", "fact", "preference", "context", "tool_result")


def test_facts_preferences_and_corrections_have_their_own_methods(alice: OwnerMemory) -> None:
    made = [
        alice.store_fact("User's birthday is March 15", 0.9),
        alice.store_preference("Prefers metric units", 0.8),
        alice.store_correction("Actually prefers tea, not coffee", 1.0),
    ]
    assert [(one.kind, one.importance) for one in made] == [
        ("fact", 0.9),
        ("preference", 0.8),
        ("correction", 1.0),
    ]
    stats = alice.stats()
    assert (stats.total_count, stats.with_embeddings) == (3, 3)
    assert stats.avg_importance == pytest.approx(0.9)


# --- automatic learning -------------------------------------------------------------------------


@check_each(
    ("text", "kind", "importance"),
    [
        ("Okay, your name is Max", "fact", 0.70),
        ("Nenn dich doch bitte Max", "fact", 0.70),
        ("Also du heißt Max", "fact", 0.70),
        ("My name is Alice and I live in Oslo", "fact", 0.65),
        ("Ich heiße Alice und wohne in Oslo", "fact", 0.65),
        ("That's wrong, the meeting is on Tuesday", "correction", 0.60),
        ("Please remember the milk for tomorrow", "correction", 0.60),
        ("Eigentlich ist das Treffen am Dienstag", "correction", 0.60),
        ("I prefer trains for long trips", "preference", 0.55),
        ("I like green tea best", "preference", 0.55),
        ("Ich mag grünen Tee sehr", "preference", 0.55),
        ("What is the weather like today?", "context", 0.30),
        ("Thanks a lot", "context", 0.20),
        ("That's wrong, I prefer trains over planes", "correction", 0.85),
        ("Your name is Max, and that's wrong elsewhere", "fact", 0.90),
        ("Tell me " + "more " * 20, "context", 0.35),
        ("Tell me " + "more " * 50, "context", 0.40),
    ],
)
def test_cues_determine_kind_and_importance_without_a_model(
    engines: Callable[..., Memolith], text: str, kind: str, importance: float
) -> None:
    (learned,) = engines("companion").owner("alice").learn(text, "I see.").memories
    assert (learned.kind, learned.importance) == (kind, importance)


def test_exchange_becomes_one_memory_of_question_and_answer(alice: OwnerMemory) -> None:
    learned = alice.learn("What time is it?", "3:00 PM")
    (one,) = learned.memories
    assert one.content == "Q: What time is it?\nA: 3:00 PM"
    assert [source.id for source in one.sources] == [message.id for message in learned.messages]


def test_memories_are_recalled_instead_of_their_source_messages(alice: OwnerMemory) -> None:
    (one,) = alice.learn("What time is it in Oslo?", "3:00 PM").memories
    assert [each.id for each in alice.recall("What time is it in Oslo?").memories] == [one.id]


def test_long_reply_is_shortened_only_in_the_memory(alice: OwnerMemory) -> None:
    reply = "It goes on and on. " * 500
    learned = alice.learn("Tell me all.", reply)
    (one,) = learned.memories
    assert len(one.content) <= 8_000
    assert one.content.endswith("It goes on and on. …")
    assert learned.messages[1].content == reply.strip()


def test_cue_in_code_is_ignored(alice: OwnerMemory) -> None:
    (one,) = alice.learn("What does this do?\n```\nprint('my name is Max')\n```").memories
    assert one.kind == "context"


# --- merging ------------------------------------------------------------------------------------

TEN = "walks along the old harbour every single morning before breakfast"


def test_more_than_85_percent_similar_memories_are_merged(alice: OwnerMemory) -> None:
    first = alice.remember(f"Alice {TEN}", kind="context", importance=0.7, tags=["a"])
    second = alice.remember(f"Alice gladly {TEN}", kind="preference", importance=0.4, tags=["b"])
    assert second.id == first.id
    assert second.content == f"Alice {TEN}\nAlice gladly {TEN}"
    assert (second.kind, second.importance, second.tags) == ("preference", 0.7, ("a", "b"))
    assert second.version == 2
    assert alice.stats().total_count == 1


def test_less_similar_memories_stay_apart(alice: OwnerMemory) -> None:
    first = alice.remember("Alice walks along the harbour")
    assert alice.remember("Alice walks along the river bank").id != first.id


def test_memories_too_long_to_merge_stay_apart(alice: OwnerMemory) -> None:
    long = f"{TEN} " * 70
    first = alice.remember(f"Alice {long}")
    assert alice.remember(f"Alice gladly {long}").id != first.id


def test_merged_memory_is_found_by_either_text(alice: OwnerMemory) -> None:
    first = alice.remember(f"Alice {TEN}")
    alice.remember(f"Alice gladly {TEN}")
    for text in (f"Alice {TEN}", f"Alice gladly {TEN}"):
        assert [one.id for one in alice.recall(text).memories] == [first.id]


# --- relevance ----------------------------------------------------------------------------------


def relevance(similarity: float, strength: float, hours: float) -> float:
    found = candidates(
        1,
        best_similarity=np.array([similarity]),
        strength=np.array([strength]),
        freshness=freshness(np.array([hours])),
    )
    return float(PROFILE.ranking.score(Query("q", "q", ("q",)), found).total[0])


@check_each(
    ("similarity", "importance", "hours", "expected"),
    [
        (1.0, 1.0, 0.0, 1.0),
        (0.0, 1.0, 0.0, 0.5),
        (0.5, 0.0, 0.0, 0.55),
        (0.0, 0.0, 24.0, 0.3 * math.exp(-0.24)),
        (0.8, 0.6, 168.0, 0.4 + 0.12 + 0.3 * math.exp(-1.68)),
    ],
)
def test_relevance_weights_similarity_importance_and_freshness(
    similarity: float, importance: float, hours: float, expected: float
) -> None:
    assert relevance(similarity, importance, hours) == pytest.approx(expected, abs=1e-9)


def test_relevance_matches_the_golden_values(golden: Golden) -> None:
    values = golden("companion_relevance.json")
    for case in values["cases"]:
        hours = case["hours_since_access"]
        fresh = freshness(np.array([float(hours)]))
        assert fresh[0] == pytest.approx(case["freshness"], abs=values["tolerance"])
        found = relevance(case["similarity"], case["importance"], hours)
        assert found == pytest.approx(case["expect"], abs=values["tolerance"])


def test_results_with_similarity_under_one_half_are_dropped(alice: OwnerMemory) -> None:
    one = alice.remember("Alice walks along the harbour", importance=1.0)
    found = alice.recall("Who walks Bob's dog at night?", trace=True)
    assert found.memories == ()
    assert found.trace is not None
    assert [(each.id, each.reason) for each in found.trace.dropped] == [(one.id, "floor")]
    assert len(alice.recall("Alice walks along the river").memories) == 1


# --- decay --------------------------------------------------------------------------------------


def strength(kind: str, importance: float, accesses: int, days: float, factor: float) -> float:
    law = companion(CompanionSettings(decay_factor=factor)).decay
    since = np.array([float(days)])
    wear = DecayInputs([kind], np.array([importance]), np.array([accesses]), since, since)
    return float(law.strength(wear)[0])


@check_each(
    ("kind", "importance", "accesses", "days", "expected"),
    [
        ("context", 1.0, 0, 1, 0.95),
        ("correction", 1.0, 0, 1, math.sqrt(0.95)),
        ("correction", 0.5, 0, 9_999, 0.35),
        ("fact", 0.5, 0, 9_999, 0.30),
        ("preference", 0.5, 0, 9_999, 0.25),
        ("tool_result", 0.5, 0, 9_999, 0.10),
        ("context", 0.5, 0, 9_999, 0.10),
        ("context", 0.5, 4, 0, 0.52),
        ("context", 0.5, 999, 0, 0.58),
        ("context", 1.0, 999, 0, 1.0),
    ],
)
def test_strength_follows_modifier_stability_reinforcement_and_floor(
    kind: str, importance: float, accesses: int, days: float, expected: float
) -> None:
    assert strength(kind, importance, accesses, days, 0.95) == pytest.approx(expected, abs=1e-9)


def test_decay_matches_the_golden_values(golden: Golden) -> None:
    values = golden("companion_forgetting.json")
    for case in values["cases"]:
        found = strength(
            case["kind"],
            case["importance"],
            case["access_count"],
            case["days_since_access"],
            case["decay_factor"],
        )
        assert found == pytest.approx(case["expect"], abs=values["tolerance"]), case


def test_recalled_memory_shows_its_decayed_strength(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    alice.remember("The weather in Oslo is mild", kind="context", importance=0.8)
    clock.advance(timedelta(days=1))
    (one,) = alice.recall("The weather in Oslo is mild").memories
    assert one.score.strength == pytest.approx(0.76)


def test_apply_decay_returns_weakened_memories_and_is_idempotent(
    engines: Engines, clock: SettableClock
) -> None:
    engine = engines("companion")
    alice = engine.owner("alice")
    faded = alice.remember("The weather in Oslo is mild", kind="context", importance=0.8)
    clock.advance(timedelta(days=1))
    assert engine.apply_decay() == (faded.id,)
    assert engine.apply_decay() == ()
    stored = alice.get(faded.id)
    assert stored.strength == pytest.approx(0.76)
    assert stored.importance == 0.8
    assert stored.updated_at == faded.updated_at


def test_default_floors_prevent_any_cleanup(engines: Engines, clock: SettableClock) -> None:
    assert PROFILE.cleanup_threshold == 0.1
    engine = engines("companion")
    engine.remember("The weather in Oslo is mild", kind="context", owner="alice")
    clock.advance(timedelta(days=9_999))
    assert engine.cleanup() == 0


def test_memory_under_a_raised_minimum_is_cleaned_up_and_restorable(
    engines: Engines, clock: SettableClock
) -> None:
    engine = engines("companion", {"min_importance": 0.32})
    alice = engine.owner("alice")
    gone = alice.remember("The weather in Oslo is mild", kind="context")
    kept = alice.remember("Actually the meeting takes place on Tuesday", kind="correction")
    clock.advance(timedelta(days=365))
    assert engine.cleanup(dry_run=True) == 1
    assert engine.cleanup() == 1
    assert [one.id for one in alice.list().memories] == [kept.id]
    assert alice.get(gone.id).state is State.FADED
    assert alice.restore(gone.id).id == gone.id


# --- the prompt ---------------------------------------------------------------------------------


def render_prompt(*memories: tuple[str, str], max_chars: int = 2_000) -> str:
    results = [
        RecalledItem(memory(n, content, kind=kind), Score(1.0), Span(0, len(content)), 1)
        for n, (kind, content) in enumerate(memories)
    ]
    rendering = companion(CompanionSettings(context_chars=max_chars)).rendering
    return rendering.render(RenderInput(results), 10_000, lambda texts: [len(t) for t in texts])[0]


def test_prompt_lists_contents_by_priority_after_the_preamble() -> None:
    text = render_prompt(
        ("tool_result", "Weather API returned: 22°C, sunny"),
        ("context", "Q: What time is it?\nA: 3:00 PM"),
        ("preference", "User prefers dark mode"),
        ("fact", "Paris is the capital of France"),
        ("correction", "Actually, the meeting is Tuesday not Monday"),
    )
    assert text == (
        "These are known facts from earlier conversations with the user. Treat them as true, and"
        " use them in your answer where they matter:\n"
        "- Actually, the meeting is Tuesday not Monday\n"
        "- Paris is the capital of France\n"
        "- User prefers dark mode\n"
        "- Q: What time is it?\n  A: 3:00 PM\n"
        "- Weather API returned: 22°C, sunny"
    )


def test_prompt_omits_contents_that_exceed_2000_characters() -> None:
    text = render_prompt(("correction", "a" * 1_900), ("fact", "b" * 1_700), ("fact", "c" * 50))
    assert text == f"{COMPANION_PREAMBLE}\n- {'b' * 1_700}\n- {'c' * 50}"
    exact = 2_000 - len(f"{COMPANION_PREAMBLE}\n- ")
    assert len(render_prompt(("fact", "d" * exact))) == 2_000
    assert render_prompt(("fact", "d" * (exact + 1))) == ""


def test_prompt_defaults_to_the_five_best_memories(alice: OwnerMemory) -> None:
    for when in ("daily", "yearly", "alone", "gladly", "often", "slowly", "barefoot"):
        alice.remember(f"Alice walks along harbour {when}", kind="fact")
    assert alice.stats().total_count == 7
    assert alice.context("Alice walks along harbour").count("\n- ") == 5
    assert alice.retrieve_context("Alice walks along harbour", 6).count("\n- ") == 6


def test_prompt_is_empty_without_memories(alice: OwnerMemory) -> None:
    assert alice.context("What do you know?") == ""


def test_prompt_includes_a_memory_learned_just_before(alice: OwnerMemory) -> None:
    alice.learn("I live in Oslo near the harbour", "Lovely!")
    assert alice.context("Do I live in Oslo near the harbour?") == (
        f"{COMPANION_PREAMBLE}\n- Q: I live in Oslo near the harbour\n  A: Lovely!"
    )


def test_forgetting_a_memory_deletes_its_messages_from_the_log(alice: OwnerMemory) -> None:
    (one,) = alice.learn("I live in Oslo near the harbour", "Lovely!").memories
    alice.forget(one.id)
    assert alice.messages() == ()
    assert alice.context("Do I live in Oslo near the harbour?") == ""
