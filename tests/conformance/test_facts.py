"""The rules of profile `facts`, one test each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import Any

import numpy as np
import pytest

from memolith import Memolith, Memory, Operation, OwnerMemory, State, Verdict
from memolith.domain.memories import Span
from memolith.domain.recall import RecalledItem, Score
from memolith.errors import InvalidInput
from memolith.policies.arguments import parse_expires_in
from memolith.policies.classification import scale_importance
from memolith.policies.decay import DecayInputs, decay_lambda
from memolith.policies.merging import AskArbitrator, Candidate, Rewrite, SimilarMemory
from memolith.policies.ranking.model import Query
from memolith.policies.ranking.scoring import SATURATION_MIDPOINT
from memolith.policies.rendering.formats import format_memories
from memolith.policies.rendering.layout import RenderInput, estimate_tokens
from memolith.profiles.facts import FactsSettings, facts
from memolith.testing.builders import candidates, memory
from memolith.testing.fakes import ScriptedArbitrator, SettableClock
from support.rows import check_each

Golden = Callable[[str], dict[str, Any]]
Engines = Callable[..., Memolith]
PROFILE = facts()


@pytest.fixture
def alice(open_owner: Callable[[str], OwnerMemory]) -> OwnerMemory:
    return open_owner("facts")


# --- categories ---------------------------------------------------------------------------------


def test_categories_are_in_priority_order() -> None:
    assert PROFILE.kinds == ("identity", "preference", "project", "contextual")


@pytest.mark.parametrize(
    ("category", "days"),
    [("identity", None), ("preference", 90), ("project", 60), ("contextual", 30)],
)
def test_every_category_has_its_time_to_live(
    alice: OwnerMemory, clock: SettableClock, category: str, days: int | None
) -> None:
    one = alice.remember("Builds a boat", kind=category)
    assert one.expires_at == (None if days is None else clock.now() + timedelta(days=days))


def test_default_is_contextual_with_importance_of_one_half(alice: OwnerMemory) -> None:
    one = alice.remember("My name is Ann")
    assert (one.kind, one.importance) == ("contextual", 0.5)


@check_each(
    ("value", "expected"), [(1, 0.1), (5, 0.5), (10, 1.0), (None, 0.5), (0, 0.5), (11, 0.5)]
)
def test_importance_scales_from_1_to_10_and_defaults_to_5(
    value: int | None, expected: float
) -> None:
    assert scale_importance(value) == expected


# --- expiry -------------------------------------------------------------------------------------


def test_expires_in_matches_the_golden_values(golden: Golden) -> None:
    for case in golden("facts_expires_in.json")["cases"]:
        if case.get("error"):
            with pytest.raises(InvalidInput):
                parse_expires_in(case["expires_in"])
        else:
            lasting = parse_expires_in(case["expires_in"])
            seconds = None if lasting is None else lasting.total_seconds()
            assert seconds == case["expect_seconds"]


def test_update_restarts_the_time_to_live_of_the_kind(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    alice.remember("Builds a boat", kind="project")
    clock.advance(timedelta(days=10))
    again = alice.remember("builds a boat!", kind="project")
    assert again.expires_at == clock.now() + timedelta(days=60)


def test_update_keeps_an_explicit_expiry(alice: OwnerMemory, clock: SettableClock) -> None:
    first = alice.remember("Builds a boat", kind="project", expires_in="200d")
    clock.advance(timedelta(days=10))
    assert alice.remember("builds a boat!", kind="project").expires_at == first.expires_at


# --- two-threshold deduplication ----------------------------------------------------------------


def get_outcome(similarity: float, *, arbitrator: bool) -> str:
    """Return the outcome for a candidate, as the service applies the decision."""
    near = SimilarMemory(memory(1, "Uses Go"), similarity)
    decision = PROFILE.merging.decide(Candidate("Uses Go now", "project", 0.5), [], near)
    if isinstance(decision, AskArbitrator):
        return "arbitrate" if arbitrator else "insert"
    return "merge" if isinstance(decision, Rewrite) else "insert"


@check_each(
    ("similarity", "expected"),
    [(0.8499, "insert"), (0.85, "arbitrate"), (0.9499, "arbitrate"), (0.95, "merge")],
)
def test_similarity_thresholds_select_merge_arbitration_or_insert(
    similarity: float, expected: str
) -> None:
    assert get_outcome(similarity, arbitrator=True) == expected


def test_deduplication_matches_the_golden_values(golden: Golden) -> None:
    for case in golden("facts_dedup.json")["cases"]:
        found = get_outcome(float(case["similarity"]), arbitrator=case["arbitrator"])
        assert found == case["expect"], case


TWENTY = (
    "walks along the old harbour every single morning before breakfast with two dogs a camera"
    " some coffee and his oldest friend"
)


def test_near_duplicate_updates_in_place(alice: OwnerMemory) -> None:
    first = alice.remember(f"Bob {TWENTY}", kind="contextual", importance=0.9)
    second = alice.remember(f"Bob {TWENTY} too", kind="identity", importance=0.3)
    assert (second.id, second.version) == (first.id, 2)
    assert second.content == f"Bob {TWENTY} too"
    assert (second.kind, second.importance, second.expires_at) == ("identity", 0.3, None)


def test_middle_band_inserts_without_an_arbitrator(alice: OwnerMemory) -> None:
    first = alice.remember("Bob walks along the old harbour every morning")
    second = alice.remember("Bob walks along the old harbour every evening")
    assert first.id != second.id
    assert alice.stats().total_count == 2


MORNING = "Bob walks along the old harbour every morning"
EVENING = "Bob walks along the old harbour every evening"


def remember_with_arbitrator(
    engines: Engines, *answers: Verdict
) -> tuple[OwnerMemory, Memory, Memory]:
    """Store two similar texts; return the owner and the memory that each became."""
    arbitrator = ScriptedArbitrator(answers)
    alice = engines("facts", arbitrator=arbitrator).owner("alice")
    known, new = alice.remember(MORNING), alice.remember(EVENING, kind="identity")
    assert arbitrator.calls == [(MORNING, EVENING)]
    return alice, known, new


def test_add_verdict_inserts_the_new_memory(engines: Engines) -> None:
    alice, known, new = remember_with_arbitrator(engines, Verdict(Operation.ADD))
    assert known.id != new.id
    assert alice.active_count() == 2


def test_update_verdict_rewrites_the_known_memory_with_merged_text(engines: Engines) -> None:
    merged = "Bob walks along the old harbour every morning and evening"
    alice, known, new = remember_with_arbitrator(engines, Verdict(Operation.UPDATE, merged))
    assert (new.id, new.content, new.kind, new.version) == (known.id, merged, "identity", 2)
    assert alice.active_count() == 1
    assert [one.id for one in alice.recall(merged).memories] == [known.id]


def test_delete_verdict_retires_the_known_memory_and_inserts_the_new(engines: Engines) -> None:
    alice, known, new = remember_with_arbitrator(engines, Verdict(Operation.DELETE))
    assert [one.id for one in alice.list().memories] == [new.id]
    retired = alice.get(known.id)
    assert (retired.state, retired.superseded_by) == (State.SUPERSEDED, new.id)


def test_noop_verdict_drops_the_new_memory(engines: Engines) -> None:
    alice, known, new = remember_with_arbitrator(engines, Verdict(Operation.NOOP))
    assert (new.id, new.content, new.version) == (known.id, MORNING, 1)
    assert alice.active_count() == 1


def test_failing_arbitrator_keeps_both_memories(engines: Engines) -> None:
    alice, _, _ = remember_with_arbitrator(engines)
    assert alice.active_count() == 2


def test_arbitrator_timeout_keeps_both_memories(engines: Engines) -> None:
    never = Event()

    def wait_then_delete(existing: str, candidate: str) -> Verdict:
        never.wait(60)
        return Verdict(Operation.DELETE, existing + candidate)

    numbers = {"facts.arbitration_timeout_s": 0.01}
    alice = engines("facts", numbers, arbitrator=wait_then_delete).owner("alice")
    alice.remember(MORNING)
    alice.remember(EVENING)
    never.set()
    assert alice.active_count() == 2


def test_expired_memory_is_reactivated_by_a_near_duplicate(
    engines: Engines, clock: SettableClock
) -> None:
    engine = engines("facts")
    alice = engine.owner("alice")
    first = alice.remember(f"Bob {TWENTY}", kind="contextual")
    clock.advance(timedelta(days=31))
    assert alice.recall(f"Bob {TWENTY}").memories == ()
    assert engine.expire() == 1
    again = alice.remember(f"Bob {TWENTY} too", kind="contextual")
    assert (again.id, again.state, again.version) == (first.id, State.ACTIVE, 2)
    assert again.expires_at == clock.now() + timedelta(days=30)
    assert [one.id for one in alice.recall(f"Bob {TWENTY}").memories] == [first.id]


def test_forgotten_memory_is_not_reactivated(alice: OwnerMemory) -> None:
    first = alice.remember("Bob uses Go")
    alice.forget(first.id)
    assert alice.remember("Bob uses Go").id != first.id


def test_equal_words_are_one_memory_in_the_newest_wording(alice: OwnerMemory) -> None:
    first = alice.remember("Bob uses Go")
    second = alice.remember("bob uses go!")
    assert (second.id, second.content) == (first.id, "bob uses go!")


# --- limits and secrets -------------------------------------------------------------------------


def test_fact_has_at_most_500_bytes(alice: OwnerMemory) -> None:
    alice.remember("é" * 250)
    with pytest.raises(InvalidInput, match="501 bytes; at most 500"):
        alice.remember("é" * 250 + "x")


def test_over_1000_active_memories_the_weakest_are_evicted(
    engines: Engines, clock: SettableClock
) -> None:
    assert PROFILE.capacity == 1_000
    alice = engines("facts", {"facts.max_per_user": 3}).owner("alice")
    weak = alice.remember("Reads a book on whales", kind="contextual")
    clock.advance(timedelta(days=5))
    kept = [
        alice.remember("Bakes rye bread", kind="identity", importance=0.9),
        alice.remember("Plays cello", kind="identity", importance=0.2),
        alice.remember("Owns four goats", kind="identity", importance=0.3),
    ]
    assert alice.get(weak.id).state is State.EVICTED
    alice.remember("Climbs in winter", kind="identity", importance=0.8)
    assert alice.get(kept[1].id).state is State.EVICTED
    assert alice.active_count() == 3


def test_line_with_a_secret_is_redacted_as_a_whole(alice: OwnerMemory) -> None:
    one = alice.remember("Uses Go.\nThe api_key = sk-abcdefghij1234567890abcd of work\nLikes tea.")
    assert one.content == "Uses Go.\n[REDACTED]\nLikes tea."


def test_nothing_is_learned_from_a_conversation_without_a_model(alice: OwnerMemory) -> None:
    learned = alice.learn("My name is Ann and I like tea", "Nice to meet you!")
    assert (len(learned.messages), learned.memories) == (2, ())


# --- hybrid search ------------------------------------------------------------------------------


def compute_hybrid_score(vector: float, text: float, decay: float) -> float:
    bm25 = SATURATION_MIDPOINT * text / (1 - text)
    found = candidates(
        1,
        best_similarity=np.array([vector]),
        text=np.array([bm25]),
        strength=np.array([decay]),
    )
    return float(PROFILE.ranking.score(Query("q", "q", ("q",)), found).total[0])


@check_each(
    ("vector", "text", "decay", "expected"),
    [(1.0, 0.0, 0.0, 0.6), (0.0, 0.5, 0.0, 0.1), (0.0, 0.0, 1.0, 0.2), (0.5, 0.5, 0.5, 0.5)],
)
def test_hybrid_score_weights_vector_text_and_decay(
    vector: float, text: float, decay: float, expected: float
) -> None:
    assert compute_hybrid_score(vector, text, decay) == pytest.approx(expected, abs=1e-9)


def test_hybrid_scores_match_the_golden_values(golden: Golden) -> None:
    values = golden("facts_hybrid.json")
    for case in values["cases"]:
        found = compute_hybrid_score(case["vector"], case["text"], case["decay"])
        assert found == pytest.approx(case["expect"], abs=values["tolerance"])


def test_vector_search_does_not_count_as_access(alice: OwnerMemory) -> None:
    one = alice.remember("Bob uses Go at work")
    assert [each.id for each in alice.search("Bob uses Go").memories] == [one.id]
    assert alice.get(one.id).access_count == 0


def test_hybrid_search_counts_accesses_of_its_results(engines: Engines) -> None:
    engine = engines("facts")
    alice = engine.owner("alice")
    one = alice.remember("Bob uses Go at work")
    assert [each.id for each in alice.hybrid_search("Bob uses Go").memories] == [one.id]
    engine.flush()
    assert alice.get(one.id).access_count == 1


def test_page_past_the_end_is_empty_with_total_zero(alice: OwnerMemory) -> None:
    alice.remember("Bob uses Go")
    alice.remember("Bakes rye bread")
    page, total = alice.memories(limit=1, offset=1)
    assert ([one.content for one in page], total) == (["Bob uses Go"], 2)
    assert alice.memories(limit=1, offset=2) == ((), 0)


# --- decay --------------------------------------------------------------------------------------


def strength(category: str, hours: float) -> float:
    days = np.array([hours / 24])
    wear = DecayInputs([category], np.array([0.5]), np.array([3]), np.array([0.0]), days)
    return float(PROFILE.decay.strength(wear)[0])


@check_each(
    ("category", "days", "expected"),
    [
        ("identity", 9_999, 1.0),
        ("preference", 45, 0.5),
        ("project", 30, 0.5),
        ("contextual", 15, 0.5),
        ("contextual", 30, 0.25),
        ("contextual", 0, 1.0),
        ("contextual", -5, 1.0),
    ],
)
def test_strength_halves_every_half_time_to_live_after_update(
    category: str, days: float, expected: float
) -> None:
    assert strength(category, days * 24) == pytest.approx(expected, abs=1e-9)


def test_decay_matches_the_golden_values(golden: Golden) -> None:
    values = golden("facts_decay.json")
    for case in values["cases"]:
        category, hours = case["category"], case["hours_since_update"]
        rate = decay_lambda(PROFILE.lifetimes.get(category))
        assert rate == pytest.approx(case["lambda_per_hour"], abs=values["tolerance"])
        found = strength(category, hours)
        assert found == pytest.approx(case["expect"], abs=values["tolerance"])


def test_decay_is_stored_for_all_owners_without_changing_update_times(
    engines: Engines, clock: SettableClock
) -> None:
    engine = engines("facts")
    stored_by_owner = {
        owner: engine.remember("Builds a boat", kind="project", owner=owner)
        for owner in ("alice", "bob")
    }
    clock.advance(timedelta(days=30))
    assert set(engine.apply_decay()) == {one.id for one in stored_by_owner.values()}
    for owner, one in stored_by_owner.items():
        stored = engine.get(one.id, owner=owner)
        assert stored.strength == pytest.approx(0.5)
        assert stored.updated_at == one.updated_at


def test_decay_is_recomputed_every_hour() -> None:
    assert PROFILE.decay_interval_hours == 1.0
    assert facts(FactsSettings(decay_interval_h=2.0)).decay_interval_hours == 2.0


# --- the prompt ---------------------------------------------------------------------------------

EVERYTHING = (
    "About the user:\n- Is called Ann\n- Lives in Oslo\nPreferences:\n- Likes tea\n"
    "Current work:\n- Builds a boat\nContext:\n- Has a cold"
)


def test_prompt_has_a_section_for_each_category_byte_for_byte() -> None:
    memories = [
        ("contextual", "Has a cold"),
        ("identity", "Is called Ann"),
        ("project", "Builds a boat"),
        ("identity", "Lives in Oslo"),
        ("preference", "Likes tea"),
    ]
    results = [
        RecalledItem(memory(n, content, kind=kind), Score(1.0), Span(0, len(content)), 1)
        for n, (kind, content) in enumerate(memories)
    ]
    text, shown = PROFILE.rendering.render(RenderInput(results), 1_000, estimate_tokens)
    assert text == EVERYTHING
    assert shown == tuple(results)


def test_format_memories_returns_the_same_prompt_byte_for_byte() -> None:
    groups = [["Is called Ann", "Lives in Oslo"], ["Likes tea"], ["Builds a boat"], ["Has a cold"]]
    made = [[memory(n, content) for n, content in enumerate(group)] for group in groups]
    assert format_memories(made[0], made[1], made[2], made[3], 1_000) == EVERYTHING


def test_empty_sections_are_omitted() -> None:
    assert format_memories([], [memory(1, "Likes tea")], [], [], 99) == "Preferences:\n- Likes tea"
    assert format_memories([], [], [], [], 99) == ""


def test_unused_budget_passes_to_the_next_section() -> None:
    identity = [memory(1, "a" * 400), memory(2, "b" * 8)]
    contextual = [memory(3, "c" * 8)]
    text = format_memories(identity, [], [], contextual, 20)
    assert text == f"About the user:\n- {'b' * 8}\nContext:\n- {'c' * 8}"
