"""Properties of every audit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corpora.audited import load_audited
from memolith.domain.reports import Audit, AuditEntry
from memolith.policies.audit import classify_junk
from memolith.policies.indexing import cosines, find_nearest_before
from memolith.services.audit import audit_memories

GOOD = [each.text for each in load_audited() if each.label == "good"]
TEXTS = [each.text for each in load_audited()]
INT8 = st.integers(-127, 127)


def build_entries(texts: list[str]) -> list[AuditEntry]:
    return [AuditEntry(str(number), text) for number, text in enumerate(texts)]


def get_counts(audit: Audit) -> list[int]:
    found = (audit.duplicates, audit.fragments, audit.filler, audit.echoes)
    return [each.count for each in found]


@given(st.lists(st.sampled_from(GOOD), unique=True))
def test_distinct_facts_contain_no_junk(texts: list[str]) -> None:
    audit = audit_memories(build_entries(texts), None)
    assert audit.memories == len(texts)
    assert audit.junk == 0
    assert audit.rate == 0.0
    assert get_counts(audit) == [0, 0, 0, 0]


@given(st.lists(st.sampled_from(GOOD), unique=True, min_size=1), st.data())
def test_audit_finds_exactly_the_planted_duplicates(texts: list[str], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(texts), max_size=8))
    planted = [f" {text} " if data.draw(st.booleans()) else text for text in again]
    audit = audit_memories(build_entries([*texts, *planted]), None, examples=100)
    assert get_counts(audit) == [len(planted), 0, 0, 0]
    assert audit.junk == len(planted)
    assert audit.duplicates.ids == tuple(map(str, range(len(texts), len(texts) + len(planted))))
    originals = [texts[int(each.duplicate_of or -1)] for each in audit.duplicates.examples]
    assert originals == again


@given(st.lists(st.sampled_from(TEXTS)), st.integers(0, 4))
def test_audit_counts_are_consistent(texts: list[str], examples: int) -> None:
    audit = audit_memories(build_entries(texts), None, examples=examples)
    assert max(get_counts(audit)) <= audit.junk <= min(sum(get_counts(audit)), audit.memories)
    for each in (audit.duplicates, audit.fragments, audit.filler, audit.echoes):
        assert len(each.ids) == each.count == sum(each.reasons.values())
        assert len(each.examples) == min(each.count, examples)
        assert [example.id for example in each.examples] == list(each.ids[:examples])


@given(st.text() | st.text(alphabet="aI{[(\"'`:- .…\n<>Q:A?", max_size=60))
def test_every_text_can_be_classified(text: str) -> None:
    assert all(reason for reason in classify_junk(text).values())


@settings(max_examples=30)
@given(arrays(np.int8, st.tuples(st.integers(0, 600), st.just(3)), elements=INT8, fill=INT8))
def test_nearest_earlier_row_matches_a_plain_search(stored: np.ndarray) -> None:
    rows, best = find_nearest_before(stored)
    assert rows.shape == best.shape == (len(stored),)
    for row in range(len(stored)):
        before = cosines(stored[:row], stored[row])
        if row == 0:
            assert (rows[0], best[0]) == (-1, -1.0)
        else:
            assert abs(best[row] - before.max()) < 1e-5
            assert abs(before[rows[row]] - before.max()) < 1e-5
