"""Merging by joining (`companion`): what is like a memory is told by it too."""

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


def test_it_is_a_merging() -> None:
    merging: MergePolicy = JOINING
    assert (merging.uses_similarity, merging.revives) == (True, False)


def test_with_nothing_near_it_is_inserted() -> None:
    assert JOINING.decide(NEW, [], None) == Insert()


def test_at_the_threshold_it_is_inserted_and_above_it_joins() -> None:
    assert JOINING.decide(NEW, [], SimilarMemory(KNOWN, 0.85)) == Insert()
    assert isinstance(JOINING.decide(NEW, [], SimilarMemory(KNOWN, 0.850001)), Rewrite)


def test_together_they_have_both_texts_and_the_best_of_both() -> None:
    decision = JOINING.decide(NEW, [], SimilarMemory(KNOWN, 0.9))
    expected = Rewrite(
        KNOWN.id, "I like tea.\nI like green tea.", "preference", 0.6, ("drinks", "food")
    )
    assert decision == expected


def test_the_new_ones_kind_and_importance_win_where_they_are_higher() -> None:
    candidate = Candidate("Actually I like coffee.", "correction", 0.85)
    decision = JOINING.decide(candidate, [], SimilarMemory(KNOWN, 0.9))
    assert isinstance(decision, Rewrite)
    assert (decision.kind, decision.importance) == ("correction", 0.85)


def test_no_sentence_is_told_twice() -> None:
    candidate = Candidate("I like tea! And milk with it. And milk with it.", "preference", 0.5)
    decision = JOINING.decide(candidate, [], SimilarMemory(KNOWN, 0.9))
    assert isinstance(decision, Rewrite)
    assert decision.content == "I like tea.\nAnd milk with it."


def test_what_would_be_too_long_together_stays_apart() -> None:
    candidate = Candidate("I like tea " + "very " * 20 + "much.", "preference", 0.5)
    assert JOINING.decide(candidate, [], SimilarMemory(KNOWN, 0.99)) == Insert()


def test_what_has_a_key_is_not_joined_with_what_has_none() -> None:
    candidate = Candidate("I like green tea.", "preference", 0.5, key="drink")
    assert JOINING.decide(candidate, [], SimilarMemory(KNOWN, 0.99)) == Insert()


def test_the_same_words_are_restated_where_nothing_is_new() -> None:
    candidate = Candidate("I like tea!", "preference", 0.6, ("drinks",))
    assert JOINING.decide(candidate, [KNOWN], None) == Restate(KNOWN.id)


def test_the_same_words_keep_the_higher_importance_and_kind() -> None:
    weaker = Candidate("I like tea!", "context", 0.2)
    assert JOINING.decide(weaker, [KNOWN], None) == Rewrite(
        KNOWN.id, "I like tea.", "preference", 0.6, ("drinks",)
    )
    stronger = Candidate("I like tea!", "fact", 0.9)
    assert JOINING.decide(stronger, [KNOWN], None) == Rewrite(
        KNOWN.id, "I like tea.", "fact", 0.9, ("drinks",)
    )


def test_a_kind_of_another_profile_yields_to_its_own() -> None:
    foreign = memory(1, "I like tea.", kind="event")
    decision = JOINING.decide(
        Candidate("I like milk.", "context", 0.3), [], SimilarMemory(foreign, 1)
    )
    assert isinstance(decision, Rewrite)
    assert decision.kind == "context"


def test_what_faded_is_not_restated() -> None:
    faded = memory(1, "I like tea.", state=State.FADED)
    assert JOINING.decide(Candidate("I like tea.", "fact", 0.5), [faded], None) == Insert()


def test_nobody_is_asked() -> None:
    assert JOINING.apply_verdict(NEW, KNOWN, Verdict(Operation.DELETE)) == Insert()


SENTENCES = st.lists(st.sampled_from(["I like tea.", "I live in Oslo.", "Bob's here."]), max_size=4)


@given(SENTENCES, SENTENCES)
def test_joined_texts_hold_every_sentence_of_both_and_joining_again_changes_nothing(
    first: list[str], second: list[str]
) -> None:
    one, other = " ".join(first), " ".join(second)
    together = join_texts(one, other)
    assert sentence_keys(together) == sentence_keys(one) | sentence_keys(other)
    assert join_texts(together, other) == together


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_merging_never_lowers_an_importance(
    similarity: float, known: float, importance: float
) -> None:
    near = SimilarMemory(memory(1, "I like tea.", importance=known), similarity)
    decision = JOINING.decide(Candidate("I like milk.", "fact", importance), [], near)
    assert isinstance(decision, Rewrite if similarity > 0.85 else Insert)
    if isinstance(decision, Rewrite):
        assert decision.importance == max(known, importance)
