"""Merging by two thresholds (`facts`), and the effect of an arbitrator's verdicts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.memories import State
from memolith.policies.merging import (
    AskArbitrator,
    Candidate,
    Discard,
    Insert,
    MergePolicy,
    Operation,
    Replace,
    Rewrite,
    SimilarMemory,
    ThresholdMerging,
    Verdict,
)
from memolith.profiles.facts import facts
from memolith.testing.builders import memory
from support.rows import check_each

MERGING = facts().merging
KNOWN = memory(1, "Uses Go", kind="preference", importance=0.9, tags=("go",))
NEW = Candidate("Uses Go and Python", "project", 0.4, ("py",))
UPDATED = Rewrite(KNOWN.id, "Uses Go and Python", "project", 0.4, ("go", "py"))
EVICTED = memory(2, "Uses Go", kind="preference", state=State.EVICTED)


def test_threshold_merging_implements_protocol_and_revives() -> None:
    merging: MergePolicy = MERGING
    assert (merging.uses_similarity, merging.revives) == (True, True)


@check_each(
    ("similarity", "expected"),
    [
        (0.0, Insert()),
        (0.8499999, Insert()),
        (0.85, AskArbitrator(KNOWN.id)),
        (0.9499999, AskArbitrator(KNOWN.id)),
        (0.95, UPDATED),
        (1.0, UPDATED),
    ],
)
def test_thresholds_separate_insert_arbitration_and_update(
    similarity: float, expected: object
) -> None:
    assert MERGING.decide(NEW, [], SimilarMemory(KNOWN, similarity)) == expected


def test_memory_without_neighbour_is_inserted() -> None:
    assert MERGING.decide(NEW, [], None) == Insert()


def test_identical_words_update_whatever_their_similarity() -> None:
    candidate = Candidate("uses go!", "project", 0.4)
    expected = Rewrite(KNOWN.id, "uses go!", "project", 0.4, ("go",))
    assert MERGING.decide(candidate, [KNOWN], None) == expected


def test_active_memory_is_updated_before_dormant_one() -> None:
    candidate = Candidate("Uses Go", "project", 0.4)
    older = memory(0, "Uses Go", state=State.EXPIRED)
    decision = MERGING.decide(candidate, [older, KNOWN], None)
    assert isinstance(decision, Rewrite)
    assert decision.id == KNOWN.id


def test_memory_with_own_key_is_compared_by_words_only() -> None:
    keyed = Candidate("Uses Go and Python", "project", 0.4, key="languages")
    assert MERGING.decide(keyed, [], SimilarMemory(KNOWN, 0.99)) == Insert()
    other = memory(3, "Uses Go and Python", key="tools")
    assert MERGING.decide(keyed, [other], None) == Insert()
    assert isinstance(MERGING.decide(keyed, [KNOWN], None), Rewrite)


@check_each(
    ("verdict", "expected"),
    [
        (Verdict(Operation.ADD), Insert()),
        (Verdict(Operation.DELETE), Replace(KNOWN.id)),
        (Verdict(Operation.NOOP), Discard(KNOWN.id)),
        (
            Verdict(Operation.UPDATE, " Uses Go, then Python "),
            Rewrite(KNOWN.id, "Uses Go, then Python", "project", 0.4, ("go", "py")),
        ),
        (Verdict(Operation.UPDATE), UPDATED),
        (Verdict(Operation.UPDATE, "x" * 501), Insert()),
        (Verdict(Operation.UPDATE, "ü" * 251), Insert()),
        (Verdict(Operation.UPDATE, "\u200b"), Insert()),
        (Verdict(Operation.UPDATE, "the password: hunter2hunter2"), Insert()),
        (Verdict(Operation.UPDATE, "Uses Go, Python and Evil Bank"), Insert()),
        (Verdict(Operation.UPDATE, "Does not use Go"), Insert()),
    ],
)
def test_each_verdict_maps_to_its_decision(verdict: Verdict, expected: object) -> None:
    assert MERGING.apply_verdict(NEW, KNOWN, verdict) == expected


def test_dormant_memory_with_better_text_is_revived() -> None:
    expected = Rewrite(EVICTED.id, "Uses Go", "project", 0.4, ("py",))
    assert MERGING.apply_verdict(NEW, EVICTED, Verdict(Operation.NOOP)) == expected


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_similar_memory_is_never_more_new(similarity: float, one: float, other: float) -> None:
    merging = ThresholdMerging(
        auto_merge=max(one, other), arbitration=min(one, other), max_bytes=500
    )
    decision = merging.decide(NEW, [], SimilarMemory(KNOWN, similarity))
    assert isinstance(decision, Rewrite) is (similarity >= max(one, other))
    assert isinstance(decision, Insert) is (similarity < min(one, other))


@given(st.sampled_from(Operation), st.text(max_size=600))
def test_verdict_never_causes_oversized_memory_or_second_arbitration(
    operation: Operation, content: str
) -> None:
    decision = MERGING.apply_verdict(NEW, KNOWN, Verdict(operation, content))
    assert not isinstance(decision, AskArbitrator)
    if isinstance(decision, Rewrite):
        assert 0 < len(decision.content.encode()) <= 500
