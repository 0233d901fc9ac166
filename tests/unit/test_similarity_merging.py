"""Merging by similarity (`companion`): a similar memory is joined with the known one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.memories import State
from memolith.policies.merging import (
    Candidate,
    Insert,
    MergePolicy,
    Operation,
    Restate,
    Rewrite,
    SimilarityMerging,
    SimilarMemory,
    Verdict,
)
from memolith.policies.paraphrase import join_texts, sentence_keys
from memolith.profiles.companion import KINDS
from memolith.testing.builders import memory

JOINING = SimilarityMerging(KINDS, threshold=0.85, max_chars=100)
KNOWN = memory(1, "I like tea.", kind="preference", importance=0.6, tags=("drinks",))
NEW = Candidate("I like green tea.", "context", 0.3, ("food",))


def test_similarity_merging_implements_protocol() -> None:
    merging: MergePolicy = JOINING
    assert (merging.uses_similarity, merging.revives) == (True, False)


def test_memory_without_neighbour_is_inserted() -> None:
    assert JOINING.decide(NEW, [], None) == Insert()


def test_memory_joins_only_above_threshold() -> None:
    assert JOINING.decide(NEW, [], SimilarMemory(KNOWN, 0.85)) == Insert()
    assert isinstance(JOINING.decide(NEW, [], SimilarMemory(KNOWN, 0.850001)), Rewrite)


def test_joined_memory_has_both_texts_and_best_attributes() -> None:
    decision = JOINING.decide(NEW, [], SimilarMemory(KNOWN, 0.9))
    expected = Rewrite(
        KNOWN.id, "I like tea.\nI like green tea.", "preference", 0.6, ("drinks", "food")
    )
    assert decision == expected


def test_higher_kind_and_importance_of_new_memory_win() -> None:
    candidate = Candidate("Actually I like coffee.", "correction", 0.85)
    decision = JOINING.decide(candidate, [], SimilarMemory(KNOWN, 0.9))
    assert isinstance(decision, Rewrite)
    assert (decision.kind, decision.importance) == ("correction", 0.85)


def test_repeated_sentence_is_joined_once() -> None:
    candidate = Candidate("I like tea! And milk with it. And milk with it.", "preference", 0.5)
    decision = JOINING.decide(candidate, [], SimilarMemory(KNOWN, 0.9))
    assert isinstance(decision, Rewrite)
    assert decision.content == "I like tea.\nAnd milk with it."


def test_memories_too_long_together_are_not_joined() -> None:
    candidate = Candidate("I like tea " + "very " * 20 + "much.", "preference", 0.5)
    assert JOINING.decide(candidate, [], SimilarMemory(KNOWN, 0.99)) == Insert()


def test_memory_with_key_is_not_joined_with_keyless_one() -> None:
    candidate = Candidate("I like green tea.", "preference", 0.5, key="drink")
    assert JOINING.decide(candidate, [], SimilarMemory(KNOWN, 0.99)) == Insert()


def test_identical_memory_is_restated() -> None:
    candidate = Candidate("I like tea!", "preference", 0.6, ("drinks",))
    assert JOINING.decide(candidate, [KNOWN], None) == Restate(KNOWN.id)


def test_same_words_preserve_higher_importance_and_kind() -> None:
    weaker = Candidate("I like tea!", "context", 0.2)
    assert JOINING.decide(weaker, [KNOWN], None) == Rewrite(
        KNOWN.id, "I like tea.", "preference", 0.6, ("drinks",)
    )
    stronger = Candidate("I like tea!", "fact", 0.9)
    assert JOINING.decide(stronger, [KNOWN], None) == Rewrite(
        KNOWN.id, "I like tea.", "fact", 0.9, ("drinks",)
    )


def test_kind_of_another_profile_is_replaced() -> None:
    foreign = memory(1, "I like tea.", kind="event")
    decision = JOINING.decide(
        Candidate("I like milk.", "context", 0.3), [], SimilarMemory(foreign, 1)
    )
    assert isinstance(decision, Rewrite)
    assert decision.kind == "context"


def test_faded_memory_is_not_restated() -> None:
    faded = memory(1, "I like tea.", state=State.FADED)
    assert JOINING.decide(Candidate("I like tea.", "fact", 0.5), [faded], None) == Insert()


def test_arbitrator_verdict_is_ignored() -> None:
    assert JOINING.apply_verdict(NEW, KNOWN, Verdict(Operation.DELETE)) == Insert()


SENTENCES = st.lists(st.sampled_from(["I like tea.", "I live in Oslo.", "Bob's here."]), max_size=4)


@given(SENTENCES, SENTENCES)
def test_joined_text_has_every_sentence_and_join_is_idempotent(
    first: list[str], second: list[str]
) -> None:
    one, other = " ".join(first), " ".join(second)
    together = join_texts(one, other)
    assert sentence_keys(together) == sentence_keys(one) | sentence_keys(other)
    assert join_texts(together, other) == together


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_merge_never_lowers_importance(similarity: float, known: float, importance: float) -> None:
    near = SimilarMemory(memory(1, "I like tea.", importance=known), similarity)
    decision = JOINING.decide(Candidate("I like milk.", "fact", importance), [], near)
    assert isinstance(decision, Rewrite if similarity > 0.85 else Insert)
    if isinstance(decision, Rewrite):
        assert decision.importance == max(known, importance)
