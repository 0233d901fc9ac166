"""The rules of profile `timeline`, with the numbers of its source."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memolith import Memolith, Message, OwnerMemory
from memolith.demo.model_server import error_answer
from memolith.domain.memories import Origin
from memolith.domain.recall import RecallResult
from memolith.errors import InvalidInput
from memolith.policies.consolidation import HistoryCompressionPolicy
from memolith.policies.merging import Candidate, Insert
from memolith.policies.ranking.weighted import split_query_words
from memolith.policies.rendering.layout import RenderInput
from memolith.ports.models import TextRole
from memolith.profiles.timeline import timeline
from memolith.testing.builders import memory
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.profile_cases import Golden, candidates, recalled, shown, words
from support.rows import check_each
from support.summarising import condensing, sentence, turns

TIMELINE = timeline()
NOW = datetime(2026, 5, 7, tzinfo=UTC)
QUERY = TIMELINE.ranking.prepare("rust projects", (), NOW)

TRIGGERS = [
    # window, tokens, turns, idle minutes, new messages, triggers that fire
    (8000, 4000, 2, 9.9, 1, []),
    (8000, 4001, 0, 0.0, 1, ["tokens"]),
    (8000, 0, 3, 0.0, 1, ["turns"]),
    (8000, 0, 0, 10.0, 1, ["idle"]),
    (8000, 4001, 3, 10.0, 1, ["tokens", "turns", "idle"]),
    (8000, 4001, 3, 10.0, 0, []),
]


@check_each(("window", "tokens", "turns", "idle", "new", "expected"), TRIGGERS)
def test_compression_fires_by_window_share_turns_or_idle_time(
    window: int, tokens: int, turns: int, idle: float, new: int, expected: list[str]
) -> None:
    fired = HistoryCompressionPolicy().find_triggers(
        tokens=tokens, context_window=window, turns=turns, idle_minutes=idle, new=new
    )
    assert list(fired) == expected


def test_triggers_match_the_golden_values(golden: Golden) -> None:
    for case in golden("timeline_triggers.json")["cases"]:
        fired = HistoryCompressionPolicy().find_triggers(
            tokens=case["tokens"],
            context_window=case["context_window"],
            turns=case["turns_since_consolidation"],
            idle_minutes=case["idle_minutes"],
            new=int(case["has_messages"]),
        )
        assert list(fired) == case["expect"], case


def test_kinds_are_keyed_knowledge_and_timeline_entries() -> None:
    assert set(TIMELINE.kinds) == {"knowledge", "timeline"}
    assert TIMELINE.keyed_kinds == {"knowledge"}


def test_default_importance_is_one_half() -> None:
    assert TIMELINE.classifier.classify("I always prefer Rust!", Origin.USER)[1] == 0.5


def test_same_text_under_another_key_is_another_memory() -> None:
    known = memory(1, "User prefers Rust", key="language")
    again = Candidate("User prefers Rust", "knowledge", 0.5, key="project_language")
    assert TIMELINE.merging.decide(again, [known], None) == Insert()


def test_timeline_entries_expire_after_90_days_and_knowledge_never() -> None:
    assert TIMELINE.lifetimes == {"timeline": timedelta(days=90)}


def test_profile_uses_no_vectors() -> None:
    assert not TIMELINE.uses_vectors
    assert QUERY.dense_text == ""


def test_bm25_alone_ranks_the_results() -> None:
    found = candidates(
        3, text=[2.0, 0.0, 3.0], best_similarity=[1.0, 1.0, 0.0], importance=[1.0, 1.0, 0.0]
    )
    scores = TIMELINE.ranking.score(QUERY, found)
    assert scores.total.tolist() == [2.0, 0.0, 3.0]
    assert scores.kept.tolist() == [True, False, True]


def test_substring_matches_rank_by_matched_words_then_newest() -> None:
    assert TIMELINE.searches_substrings
    found = candidates(4, substring_words=[1, 2, 1, 0], at=[10, 20, 30, 40])
    scores = TIMELINE.ranking.score(QUERY, found)
    assert np.argsort(-scores.total)[:3].tolist() == [1, 2, 0]
    assert scores.kept.tolist() == [True, True, True, False]


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(-(10**15), 3 * 10**15)), min_size=1, max_size=20
    )
)
def test_recency_only_breaks_ties(rows: list[tuple[int, int]]) -> None:
    found = candidates(
        len(rows), substring_words=[held for held, _ in rows], at=[at for _, at in rows]
    )
    total = TIMELINE.ranking.score(QUERY, found).total.tolist()
    by_score = [row for _, row in sorted(zip(total, rows, strict=True))]
    assert by_score == sorted(rows)


@check_each(
    ("query", "expected"),
    [
        ("What is the user_language_pref?", ("user_language_pref",)),
        ("50% of (Rust)", ("50%", "rust")),
        ("%", ("%",)),
        ("_", ("_",)),
        ("who is it", ("who", "is", "it")),
        ("?!", ("?!",)),
        ("Rust rust RUST", ("rust",)),
        ("", ()),
    ],
)
def test_query_words_are_taken_literally(query: str, expected: tuple[str, ...]) -> None:
    assert split_query_words(query) == expected


RENDERINGS = [
    {
        "memories": [
            {"kind": "knowledge", "key": "user_workflow", "content": "User prefers TDD"},
            {"kind": "timeline", "content": "[2026-05-07 14:30] Discussed tokio"},
        ],
        "expect": "## Memory Context\n\n- user_workflow: User prefers TDD\n"
        "- [2026-05-07 14:30] Discussed tokio",
    },
    {"memories": [], "expect": ""},
]


@check_each("case", RENDERINGS)
def test_line_shows_the_key_and_the_content(case: dict[str, object]) -> None:
    assert shown(TIMELINE.rendering, case) == case["expect"]


def test_prompt_equals_the_golden_prompt_byte_for_byte(golden: Golden) -> None:
    for case in golden("renderings.json")["cases"]:
        if case["profile"] == "timeline":
            assert shown(TIMELINE.rendering, case) == case["expect"]


def test_prompt_defaults_to_five_knowledge_memories() -> None:
    assert TIMELINE.context_kinds == frozenset({"knowledge"})
    assert TIMELINE.default_top_k == 5


@given(st.text(max_size=60), st.text(min_size=1, max_size=20), st.integers(0, 30))
def test_no_memory_starts_another_line_or_exceeds_the_budget(
    content: str, key: str, budget: int
) -> None:
    material = RenderInput([recalled(content, "knowledge", key=key), recalled("b", "knowledge")])
    text, found = TIMELINE.rendering.render(material, budget, words)
    assert words([text])[0] <= budget
    assert bool(text) == bool(found)
    begun = [line for line in text.splitlines()[2:] if not line.startswith("  ")]
    assert len(begun) == len(found)


def test_kinds_map_to_standard_kinds_and_back() -> None:
    assert TIMELINE.standard_kinds == {"knowledge": "fact", "timeline": "summary"}
    assert set(TIMELINE.own_kinds.values()) == set(TIMELINE.kinds)
    for own, standard in TIMELINE.standard_kinds.items():
        assert TIMELINE.own_kinds[standard] == own


# --- end to end -----------------------------------------------------------------------------------


class NoEmbedder:
    """An embedder that fails any test that uses it."""

    name = "none"

    @property
    def dimension(self) -> int:
        """Fail the test."""
        message = "asked for its dimension"
        raise AssertionError(message)

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Fail the test."""
        message = f"asked to embed {texts} as {role}"
        raise AssertionError(message)


@pytest.fixture
def alice(tmp_path: Path, clock: SettableClock) -> Iterator[OwnerMemory]:
    with Memolith.open(
        tmp_path / "memory.db",
        profile="timeline",
        embedder=NoEmbedder(),
        clock=clock,
        tokens=WordCounter(),
    ) as engine:
        yield engine.owner("alice")


def contents(result: RecallResult) -> list[str]:
    return [one.content for one in result.memories]


def test_no_operation_embeds_text(alice: OwnerMemory, clock: SettableClock) -> None:
    kept = alice.remember("User prefers Rust", key="language")
    alice.remember("User prefers Go", key="language")
    alice.update(kept.id, content="User prefers Zig")
    alice.learn("I like tea", "Good")
    alice.log([Message("Bob", "I like coffee")])
    alice.ingest("The build runs on Linux.\n\nIt takes an hour.", kind="knowledge")
    clock.advance(timedelta(days=1))
    assert alice.recall("Zig", mode="keyword").memories
    assert alice.context("Zig")
    alice.forget(kept.id)
    alice.restore(kept.id)
    alice.purge(kept.id)


def test_store_without_vectors_passes_verification(
    tmp_path: Path, alice: OwnerMemory, clock: SettableClock
) -> None:
    alice.remember("User prefers Rust", key="language")
    alice.learn("I like tea", "Good")
    with Memolith.open(
        tmp_path / "memory.db", embedder=NoEmbedder(), clock=clock, tokens=WordCounter()
    ) as again:
        assert again.verify().findings == ()
        again.rotate_key(owner="alice")
        assert again.verify().findings == ()
        assert contents(again.recall("language", owner="alice")) == ["User prefers Rust"]


def test_keys_survive_profile_switch_and_import(
    tmp_path: Path, alice: OwnerMemory, clock: SettableClock
) -> None:
    kept = alice.remember("User prefers Rust", key="language")
    with Memolith.open(
        tmp_path / "other.db", embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as other:
        other.remember("Speaks German", key="language", owner="alice")
        other.switch_profile("timeline", owner="alice")
        assert contents(other.recall("language", owner="alice")) == ["Speaks German"]
        assert other.import_(list(alice.export()), owner="alice").keys_dropped == (kept.id,)
        assert contents(other.recall("language", owner="alice")) == ["Speaks German"]
        assert other.verify().findings == ()
        other.switch_profile("standard", owner="alice")
        assert other.verify().findings == ()


def test_key_has_one_memory_and_the_last_write_wins(alice: OwnerMemory) -> None:
    first = alice.remember("User prefers Rust", key="language")
    again = alice.remember("User prefers Go", key="language")
    assert (again.id, again.version) == (first.id, 2)
    assert contents(alice.recall("prefers")) == ["User prefers Go"]


def test_knowledge_needs_a_key_but_timeline_entries_do_not(alice: OwnerMemory) -> None:
    with pytest.raises(InvalidInput, match="key"):
        alice.remember("User prefers Rust")
    entry = alice.remember("[2026-05-07 14:30] Discussed tokio", kind="timeline")
    assert entry.key is None
    assert entry.importance == 0.5


def test_memories_with_equal_text_and_different_keys_are_both_recalled(alice: OwnerMemory) -> None:
    alice.remember("User prefers Rust", key="language")
    alice.remember("User prefers Rust", key="project_language")
    assert len(alice.recall("User prefers Rust").memories) == 2


def test_timeline_entry_expires_after_90_days(alice: OwnerMemory, clock: SettableClock) -> None:
    alice.remember("Discussed tokio", kind="timeline")
    alice.remember("User knows tokio", key="skills")
    clock.advance(timedelta(days=89, hours=23))
    assert len(alice.recall("tokio").memories) == 2
    clock.advance(timedelta(hours=1))
    assert contents(alice.recall("tokio")) == ["User knows tokio"]


def test_prompt_holds_five_knowledge_memories_and_no_timeline_entries(alice: OwnerMemory) -> None:
    alice.remember("Discussed tokio", kind="timeline")
    for number in range(7):
        alice.remember(f"tokio fact {number}", key=f"key_{number}")
    text = alice.context("tokio")
    assert text.startswith("## Memory Context\n\n- key_")
    assert text.count("\n- key_") == 5
    assert "Discussed" not in text
    assert alice.context("tokio", kinds=["timeline"]) == ""


def test_search_falls_back_to_substrings_of_words_and_keys(alice: OwnerMemory) -> None:
    alice.remember("Deutsch", key="user_language_pref")
    alice.remember("Uses tabs", key="user_workflow")
    assert contents(alice.recall("language_pre")) == ["Deutsch"]
    assert contents(alice.recall("eutsc")) == ["Deutsch"]


def test_search_covers_words_of_the_key_and_the_content(alice: OwnerMemory) -> None:
    german = alice.remember("Deutsch", key="user_language_pref")
    alice.remember("Languages are fun", key="hobby")
    alice.remember("Uses tabs", key="workflow")
    assert {*contents(alice.recall("which language?"))} == {"Deutsch", "Languages are fun"}
    renamed = alice.update(german.id, key="tongue")
    assert contents(alice.recall("which language?")) == ["Languages are fun"]
    assert [one.id for one in alice.recall("tongue").memories] == [renamed.id]
    assert alice.forget(key="tongue").memories == (german.id,)
    alice.restore(german.id)
    assert [one.id for one in alice.recall("tongue").memories] == [german.id]


def test_search_takes_percent_and_underscore_literally(alice: OwnerMemory) -> None:
    alice.remember("It is at 100%", key="coverage")
    alice.remember("It is at 1000", key="tests")
    assert contents(alice.recall("00%")) == ["It is at 100%"]
    assert contents(alice.recall("1_0")) == []
    assert contents(alice.recall("%")) == ["It is at 100%"]


def test_substring_results_rank_by_matched_words_then_newest(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    for key, content in (("a", "abcdef"), ("b", "abcdefghi"), ("c", "xabcdefx")):
        alice.remember(content, key=key)
        clock.advance(timedelta(hours=1))
    assert contents(alice.recall("bcd fgh")) == ["abcdefghi", "xabcdefx", "abcdef"]


def test_since_and_until_filter_by_time(alice: OwnerMemory, clock: SettableClock) -> None:
    start = clock.now()
    alice.remember("tokio one", kind="timeline")
    clock.advance(timedelta(hours=1))
    alice.remember("tokio two", kind="timeline")
    assert contents(alice.recall("tokio", until=clock.now())) == ["tokio one"]
    assert contents(alice.recall("tokio", since=start + timedelta(minutes=1))) == ["tokio two"]


def test_vector_search_is_rejected(alice: OwnerMemory) -> None:
    with pytest.raises(InvalidInput, match="does not use vectors"):
        alice.recall("tokio", mode="vector")


def test_messages_are_logged_but_never_recalled(alice: OwnerMemory) -> None:
    alice.learn("I like oolong", "Good")
    assert contents(alice.recall("oolong")) == []


def test_new_process_loads_no_model() -> None:
    program = """
import sys
from memolith import Memolith
with Memolith.open(":memory:", profile="timeline") as memory:
    memory.remember("User prefers Rust", key="language", owner="alice")
    memory.learn("I like tea", "Good", owner="alice")
    assert memory.recall("rust", owner="alice").memories
    assert memory.context("rust", owner="alice")
assert "onnxruntime" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


# --- compression, with a scripted model -----------------------------------------------------------


def build_history(count: int) -> list[dict[str, str]]:
    """Return the given number of turns; the last one has no reply yet."""
    messages = [
        {"role": role, "content": content}
        for n in range(count)
        for role, content in (("user", sentence(n)), ("assistant", f"Noted as item {n}."))
    ]
    return messages[:-1]


def test_compressed_messages_become_a_timeline_entry_and_a_history_summary(
    clock: SettableClock,
) -> None:
    with condensing("timeline", clock) as (memory, _):
        agent = memory.owner("alice")
        made = agent.compress(build_history(6), session="s1")
        (entry,) = agent.list(kind="timeline").memories
        assert (entry.key or "").startswith("ctx_s1_")
        assert entry.content.startswith("[2026-03-01 12:00] ")
        assert made.history[0] == {
            "role": "system",
            "content": f"[Context Summary] {entry.content}",
        }
        assert made.history[1:] == tuple(build_history(6)[-4:])


def test_only_messages_since_the_last_compression_are_compressed(clock: SettableClock) -> None:
    with condensing("timeline", clock) as (memory, server):
        for count in (6, 9, 9):
            memory.compress(build_history(count), session="s1", owner="alice")
        first, second = (turns(asked) for asked in server.requests)
        assert [*first, *second] == [each["content"] for each in build_history(9)[:-4]]


def test_compression_returns_knowledge_relevant_to_the_input(clock: SettableClock) -> None:
    with condensing("timeline", clock) as (memory, _):
        memory.remember("User prefers Rust", key="language", owner="alice")
        history = [{"role": "user", "content": "Which language does the user prefer?"}]
        made = memory.compress(history, session="s1", owner="alice")
        assert made.context == "## Memory Context\n\n- language: User prefers Rust"


def test_third_failure_in_a_row_stores_the_raw_messages(
    clock: SettableClock,
) -> None:
    with condensing("timeline", clock, lambda _: error_answer(500)) as (memory, _):
        agent = memory.owner("alice")
        made = [agent.compress(build_history(6), session="s1") for _ in range(4)]
        assert [each.failed for each in made] == [True, True, True, False]
        assert [len(each.memories) for each in made] == [0, 0, 1, 0]
        assert made[0].history == tuple(build_history(6))
        assert made[2].memories[0].content.startswith(f"[RAW] user: {sentence(0)}\n")


def test_disabled_memory_compresses_without_writing(clock: SettableClock) -> None:
    with condensing("timeline", clock, numbers={"enabled": False}) as (memory, _):
        made = memory.compress(build_history(6), session="s1", owner="alice")
        assert len(made.history) == 5
        assert memory.list(owner="alice").total == 0
