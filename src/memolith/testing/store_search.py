"""Store contract: searches; see `store_contract`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memolith.domain.memories import EPISODE, Memory, Origin, Span, State, Trait
from memolith.domain.messages import Message, Role
from memolith.domain.recall import SearchFilter
from memolith.errors import InvalidInput
from memolith.policies.indexing import cosines
from memolith.ports.store import PART_BITS, IndexEntry, Snapshot, Store
from memolith.testing.builders import (
    DIMENSION,
    at,
    entry,
    memory,
    message,
    passage,
    record_id,
    short_entry,
    vector,
)
from memolith.testing.store_records import remember, say

NOW = SearchFilter(now=at(1_000))
EVERYTHING = 1_000


def found(
    snapshot: Snapshot,
    scope: SearchFilter = NOW,
    near: tuple[float, ...] = (1,),
    limit: int = EVERYTHING,
) -> list[int]:
    """Return the numbers of the nearest records, in order."""
    numbers = snapshot.nearest(vector(*near), limit, scope)
    return [int(id_.replace("-", ""), 16) for id_ in snapshot.items(numbers).record_id]


def worded(snapshot: Snapshot, *terms: str, scope: SearchFilter = NOW) -> list[list[int]]:
    """Return the records that contain each term."""
    postings = snapshot.postings(terms, scope)
    numbers = postings.passages[postings.slot] >> PART_BITS
    records = [int(id_.replace("-", ""), 16) for id_ in snapshot.items(numbers).record_id]
    places = range(len(terms))
    return [
        [r for r, term in zip(records, postings.term, strict=True) if term == p] for p in places
    ]


def added(store: Store, *pairs: tuple[Memory, IndexEntry]) -> None:
    """Store memories with the given entries."""
    with store.write("alice") as tx:
        tx.insert(pairs)


def logged(store: Store, *pairs: tuple[Message, IndexEntry]) -> None:
    """Log messages with the given entries, in the session of the first."""
    with store.write("alice") as tx:
        tx.log(pairs[0][0].session_id, pairs)


class NearnessContract:
    """Vector search."""

    def test_nearest_are_ordered_and_limited(self, store: Store) -> None:
        added(
            store,
            (memory(1), short_entry("a", 1, 3)),
            (memory(2), short_entry("b", 1, 1)),
            (memory(3), short_entry("c", 1, 2)),
            (memory(4), short_entry("d", -1)),
        )
        with store.read("alice") as snapshot:
            assert found(snapshot) == [2, 3, 1, 4]
            assert found(snapshot, limit=2) == [2, 3]
            assert found(snapshot, limit=0) == []

    def test_min_cosine_excludes_distant_items(self, store: Store) -> None:
        near = {1: (1, 0), 2: (1, 1), 3: (0, 1), 4: (-1, 0), 5: (1, 0.1)}
        added(store, *((memory(n), short_entry("x", *at)) for n, at in near.items()))
        with store.read("alice") as snapshot:

            def enough(cosine: float, limit: int = 9, query: tuple[float, ...] = (1,)) -> list[int]:
                got = snapshot.nearest(vector(*query), limit, NOW, min_cosine=cosine)
                return [int(id_.replace("-", ""), 16) for id_ in snapshot.items(got).record_id]

            assert enough(0.99) == [1, 5]
            assert enough(0.99, limit=1) == [1]
            assert enough(0.5) == [1, 5, 2]
            assert enough(0.0) == [1, 5, 2, 3]
            assert enough(-1.0) == [1, 5, 2, 3, 4]
            assert enough(1.5) == []
            assert enough(0.0, query=(0,)) == [1, 2, 3, 4, 5]
            assert enough(0.1, query=(0,)) == []

    def test_ties_are_broken_by_the_lower_number(self, store: Store) -> None:
        added(store, *((memory(n), short_entry("x", 1, 1)) for n in (5, 3, 9, 1, 7)))
        added(store, (memory(2), short_entry("x", 1)), (memory(8), short_entry("x", 1)))
        with store.read("alice") as snapshot:
            assert found(snapshot) == [2, 8, 5, 3, 9, 1, 7]
            assert found(snapshot, limit=4) == [2, 8, 5, 3]

    def test_item_is_ranked_once_by_its_nearest_passage(self, store: Store) -> None:
        added(
            store,
            (memory(1), entry(passage(near=(0, 1)), passage(near=(1, 0.1)), passage(near=(1, 2)))),
            (memory(2), entry(passage(near=(1, 1)), passage(near=(1, 1)))),
        )
        with store.read("alice") as snapshot:
            assert found(snapshot) == [1, 2]
            assert found(snapshot, limit=2) == [1, 2]

    def test_items_without_a_vector_are_never_found(self, store: Store) -> None:
        added(store, (memory(1), entry(passage({"a": 1}))), (memory(2), entry()))
        added(store, (memory(3), entry(passage(), passage(near=(1,)))))
        with store.read("alice") as snapshot:
            assert found(snapshot) == [3]

    def test_zero_vector_is_orthogonal_to_all(self, store: Store) -> None:
        added(
            store,
            (memory(1), short_entry("a", 0)),
            (memory(2), short_entry("b", 1)),
            (memory(3), short_entry("c", -1)),
        )
        with store.read("alice") as snapshot:
            assert found(snapshot) == [2, 1, 3]
            assert found(snapshot, near=(0,)) == [1, 2, 3]

    def test_query_of_another_length_is_rejected(self, store: Store) -> None:
        added(store, (memory(1), short_entry("a", 1)))
        query = np.ones(DIMENSION - 1, dtype=np.int8)
        with store.read("alice") as snapshot, pytest.raises(InvalidInput):
            snapshot.nearest(query, 1, NOW)

    def test_similarities_are_the_cosines_of_all_passages_in_order(self, store: Store) -> None:
        rng = np.random.default_rng(7)
        rows = [tuple(row) for row in rng.normal(size=(6, DIMENSION))]
        added(
            store,
            (memory(1), entry(passage(near=rows[0]), passage(near=rows[1]))),
            (memory(2), entry(passage())),
            (memory(3), entry(passage(near=rows[2]), passage(), passage(near=rows[3]))),
        )
        query = vector(*rows[5])
        with store.read("alice") as snapshot:
            first, second, third = snapshot.item_numbers([record_id(n) for n in (1, 2, 3)], NOW)
            got = snapshot.similarities(query, np.array([third, second, first, third]))
        assert got.row.tolist() == [0, 0, 2, 2, 3, 3]
        assert got.part.tolist() == [0, 2, 0, 1, 0, 2]
        order = (2, 3, 0, 1, 2, 3)
        expected = cosines(np.stack([vector(*rows[place]) for place in order]), query)
        assert got.cosine.tolist() == expected.tolist()

    def test_queries_of_a_snapshot_are_independent(self, store: Store) -> None:
        added(store, (memory(1), short_entry("a", 1)), (memory(2), short_entry("b", -1)))
        with store.read("alice") as snapshot:
            numbers = snapshot.item_numbers([record_id(1), record_id(2)], NOW)
            one, other = vector(1), vector(-1)
            assert snapshot.nearest(one, 1, NOW).tolist() == numbers[:1].tolist()
            assert snapshot.similarities(other, numbers).cosine.tolist() == [-1.0, 1.0]
            assert snapshot.nearest(other, 1, NOW).tolist() == numbers[1:].tolist()
            assert snapshot.similarities(one, numbers).cosine.tolist() == [1.0, -1.0]

    def test_centroid_is_the_mean_direction_of_matching_memories(self, store: Store) -> None:
        rng = np.random.default_rng(3)
        rows = [tuple(row) for row in rng.normal(size=(4, DIMENSION))]
        added(
            store,
            (memory(1), entry(passage(near=rows[0]), passage(), passage(near=rows[1]))),
            (memory(2, kind="event"), entry(passage(near=rows[2]), passage(near=(0,)))),
            (memory(3, state=State.FADED), entry(passage(near=rows[3]))),
        )
        say(store, message(4, sequence=1))
        unit = np.array([vector(*row) for row in rows], dtype=np.float64)
        unit /= np.linalg.norm(unit, axis=1)[:, None]
        with store.read("alice") as snapshot:
            everything = snapshot.centroid(NOW)
            events = snapshot.centroid(replace(NOW, kinds=frozenset({"event"})))
        assert everything is not None
        assert (everything.dtype.name, everything.shape) == ("float64", (DIMENSION,))
        assert everything.tolist() == pytest.approx(unit[:3].mean(axis=0).tolist())
        assert events is not None
        assert events.tolist() == pytest.approx(unit[2].tolist())

    def test_no_centroid_without_nonzero_vectors(self, store: Store) -> None:
        with store.read("alice") as snapshot:
            assert snapshot.centroid(NOW) is None
        added(store, (memory(1), entry(passage(near=(0,)))), (memory(2), entry(passage({"a": 1}))))
        say(store, message(4, sequence=1))
        with store.read("alice") as snapshot:
            assert snapshot.centroid(NOW) is None
            assert snapshot.centroid(replace(NOW, kinds=frozenset({EPISODE}))) is None

    def test_empty_query_returns_empty_results(self, store: Store) -> None:
        added(store, (memory(1), short_entry("a", 1)))
        nothing = np.array([], dtype=np.int64)
        with store.read("alice") as snapshot:
            assert len(snapshot.similarities(vector(1), nothing).cosine) == 0
            assert len(snapshot.items(nothing).number) == 0
            assert len(snapshot.usage_stats(nothing).used_at) == 0
            assert len(snapshot.neighbours(nothing, 1, NOW)) == 0
            assert snapshot.passages(nothing) == []
            assert len(snapshot.item_numbers([], NOW)) == 0
            postings = snapshot.postings([], NOW)
        assert (len(postings.passages), postings.total, postings.mean_length) == (0, 1, 1.0)


class PostingsContract:
    """Keyword search."""

    def test_postings_contain_passages_and_frequencies(self, store: Store) -> None:
        added(
            store,
            (memory(1), entry(passage({"tea": 2, "cup": 1}), passage({"cup": 3}))),
            (memory(2), entry(passage({"pot": 1}))),
            (memory(3), entry(passage({"tea": 1}))),
        )
        with store.read("alice") as snapshot:
            one, three = snapshot.item_numbers([record_id(1), record_id(3)], NOW)
            got = snapshot.postings(["cup", "none", "tea"], NOW)
        assert got.passages.tolist() == [one << PART_BITS, one << PART_BITS | 1, three << PART_BITS]
        assert got.lengths.tolist() == [3, 3, 1]
        assert got.term.tolist() == [0, 0, 2, 2]
        assert got.slot.tolist() == [0, 1, 0, 2]
        assert got.frequency.tolist() == [1, 3, 2, 1]
        assert got.document_frequency.tolist() == [2, 0, 2]
        assert (got.total, got.mean_length) == (4, 8 / 4)

    def test_frequencies_count_all_valid_passages_despite_the_filter(self, store: Store) -> None:
        added(
            store,
            (memory(1), entry(passage({"tea": 1}))),
            (memory(2, kind="event"), entry(passage({"tea": 1, "x": 3}))),
            (memory(3, expires_at=at(5)), entry(passage({"tea": 1}))),
        )
        with store.read("alice") as snapshot:
            got = snapshot.postings(["tea"], replace(NOW, kinds=frozenset({"event"})))
        assert len(got.passages) == 1
        assert (got.document_frequency.tolist(), got.total, got.mean_length) == ([3], 3, 2.0)

    def test_frequencies_follow_closed_and_new_versions(self, store: Store) -> None:
        remember(store, memory(1, "tea pot"), memory(2, "tea"), memory(3, "tea cup big"))
        with store.read("alice") as snapshot:
            assert snapshot.postings(["tea"], NOW).document_frequency.tolist() == [3]
        with store.write("alice") as tx:
            tx.amend(memory(2, state=State.FADED, updated_at=at(60)))
            tx.revise(memory(1, "cup", version=2, updated_at=at(60)), short_entry("cup", 1))
        with store.read("alice") as snapshot:
            got = snapshot.postings(["tea", "cup"], NOW)
            assert got.document_frequency.tolist() == [1, 2]
            assert (got.total, got.mean_length) == (2, 2.0)
            then = snapshot.postings(["tea", "cup"], replace(NOW, as_of=at(59)))
            assert then.document_frequency.tolist() == [3, 1]
            assert (then.total, then.mean_length) == (3, 2.0)

    def test_terms_belong_to_one_owner(self, store: Store) -> None:
        remember(store, memory(1, "tea"))
        remember(store, memory(2, "tea"), memory(3, "tea tea"), owner_id="bob")
        with store.read("alice") as snapshot:
            got = snapshot.postings(["tea"], NOW)
        assert (got.document_frequency.tolist(), got.total) == ([1], 1)

    @pytest.mark.parametrize("term", ["a\0b", "%", "_", "'", "é", "🙂", "x" * 300])
    def test_any_term_is_found_exactly(self, store: Store, term: str) -> None:
        added(
            store,
            (memory(1), entry(passage({term: 1}))),
            (memory(2), entry(passage({"other": 1}))),
        )
        with store.read("alice") as snapshot:
            assert worded(snapshot, term, "x") == [[1], []]


class SubstringsContract:
    """Substring search."""

    @staticmethod
    def contained(store: Store, *words: str, scope: SearchFilter = NOW) -> dict[int, int]:
        """Return how many of the texts each memory contains."""
        with store.read("alice") as snapshot:
            numbers, counts = snapshot.find_containing(words, scope)
            assert numbers.tolist() == sorted(numbers.tolist())
            records = snapshot.items(numbers).record_id
        return {
            int(id_.replace("-", ""), 16): int(count)
            for id_, count in zip(records, counts, strict=True)
        }

    def test_substrings_are_found_in_keys_and_contents_of_memories(self, store: Store) -> None:
        remember(
            store,
            memory(1, "Likes green teapots", key="drink"),
            memory(2, "a cup", key="Tea"),
            memory(3, "coffee"),
        )
        remember(store, memory(4, "tea", owner_id="bob"), owner_id="bob")
        say(store, message(5, "tea", sequence=1))
        assert self.contained(store, "tea") == {1: 1, 2: 1}
        assert self.contained(store, "tea", "green", "rin", "water") == {1: 3, 2: 1}
        assert self.contained(store, "water") == {}
        assert self.contained(store) == {}

    def test_substring_search_ignores_case(self, store: Store) -> None:
        remember(store, memory(1, "Die STRASSE", key="ÉTÉ"), memory(2, "straße"))
        assert self.contained(store, "Straße") == {1: 1, 2: 1}
        assert self.contained(store, "strasse", "été") == {1: 2, 2: 1}

    @pytest.mark.parametrize("text", ["%", "_", "\\", "*", "?", "[a-z]", ".", "'", "a\0b", "🙂"])
    def test_substring_search_has_no_wildcards(self, store: Store, text: str) -> None:
        remember(store, memory(1, f"so{text}so"), memory(2, "so so"), memory(3, "x", key=text))
        assert self.contained(store, text) == {1: 1, 3: 1}
        assert self.contained(store, f"o{text}s") == {1: 1}

    def test_substring_search_respects_the_filter(self, store: Store) -> None:
        remember(
            store,
            memory(1, "tea", tags=("a",)),
            memory(2, "tea", kind="event"),
            memory(3, "tea", state=State.FORGOTTEN),
            memory(4, "tea", expires_at=at(500)),
            memory(6, "tea", state=State.FADED),
        )
        with store.write("alice") as tx:
            tx.revise(memory(1, "pot", version=2, updated_at=at(60)), short_entry("pot", 1))
        assert self.contained(store, "tea") == {2: 1}
        assert self.contained(store, "tea", scope=replace(NOW, as_of=at(59))) == {1: 1, 2: 1, 4: 1}
        assert self.contained(store, "tea", scope=replace(NOW, dormant=True)) == {2: 1, 4: 1, 6: 1}
        assert self.contained(store, "tea", scope=replace(NOW, kinds=frozenset({"fact"}))) == {}

    def test_substring_search_covers_many_memories(self, store: Store) -> None:
        with store.write("alice") as tx:
            pairs = [(memory(n, f"tea {n}"), entry()) for n in range(1, 1_203)]
            tx.insert(pairs)
        assert len(self.contained(store, "tea")) == 1_202
        assert self.contained(store, "tea 1202") == {1_202: 1}


class ItemsContract:
    """Columns of items."""

    def test_items_have_the_fields_of_their_records(self, store: Store) -> None:
        features = entry(passage({"a": 4}), traits=Trait.QUESTION | Trait.PLACE, words=17)
        said = message(9, sequence=4, speaker="Bob", role=Role.PARTICIPANT)
        logged(store, (said, features))
        added(
            store,
            (memory(1, happened_at=at(-7), session_id="s1"), entry()),
            (memory(2, kind="event", origin=Origin.ASSISTANT), entry()),
        )
        with store.read("alice") as snapshot:
            numbers = snapshot.item_numbers([record_id(n) for n in (2, 9, 1)], NOW)
            got = snapshot.items(numbers)
            (session,) = snapshot.sessions()
            (speaker,) = snapshot.participants()
        assert got.number.tolist() == numbers.tolist()
        assert got.is_memory.tolist() == [True, False, True]
        assert list(got.record_id) == [record_id(n) for n in (2, 9, 1)]
        assert list(got.kind) == ["event", EPISODE, "fact"]
        assert got.session.tolist() == [-1, session.number, session.number]
        assert got.sequence.tolist() == [0, 4, 0]
        assert got.speaker.tolist() == [-1, speaker.number, -1]
        assert list(got.role) == [Role.ASSISTANT, Role.PARTICIPANT, Role.USER]
        epoch = at(0).timestamp()
        assert (got.at / 1e6 - epoch).tolist() == [2, 9, -7]
        assert got.traits.tolist() == [0, int(Trait.QUESTION | Trait.PLACE), 0]
        assert got.words.tolist() == [1, 17, 1]
        assert got.tokens.tolist() == [0, 6, 0]

    def test_usage_stats_are_current(self, store: Store) -> None:
        remember(store, memory(1, importance=0.3), memory(2, importance=0.9))
        say(store, message(3, sequence=1, said_at=at(33)))
        ids = [record_id(n) for n in (3, 1, 2)]
        with store.read("alice") as snapshot:
            got = snapshot.usage_stats(snapshot.item_numbers(ids, NOW))
        assert got.importance.tolist() == [1.0, 0.3, 0.9]
        assert got.access_count.tolist() == [0, 0, 0]
        assert (got.used_at / 1e6 - at(0).timestamp()).tolist() == [33, 1, 2]
        assert (got.updated_at / 1e6 - at(0).timestamp()).tolist() == [33, 1, 2]
        store.record_access("alice", {record_id(1): (2, at(80))})
        with store.read("alice") as snapshot:
            got = snapshot.usage_stats(snapshot.item_numbers(ids, NOW))
        assert got.access_count.tolist() == [0, 2, 0]
        assert (got.used_at / 1e6 - at(0).timestamp()).tolist() == [33, 80, 2]
        assert (got.updated_at / 1e6 - at(0).timestamp()).tolist() == [33, 1, 2]
        with store.write("alice") as tx:
            tx.amend(memory(2, importance=0.9, updated_at=at(90)))
        with store.read("alice") as snapshot:
            got = snapshot.usage_stats(snapshot.item_numbers(ids, NOW))
        assert (got.updated_at / 1e6 - at(0).timestamp()).tolist() == [33, 1, 90]

    def test_old_version_shares_the_usage_of_its_memory(self, store: Store) -> None:
        remember(store, memory(1))
        with store.write("alice") as tx:
            new = memory(1, "new", version=2, importance=0.9, access_count=4, updated_at=at(60))
            tx.revise(new, short_entry("new", 1))
        with store.read("alice") as snapshot:
            then = replace(NOW, as_of=at(50))
            got = snapshot.usage_stats(snapshot.item_numbers([record_id(1)], then))
        assert (got.importance.tolist(), got.access_count.tolist()) == ([0.9], [4])
        assert (got.updated_at / 1e6 - at(0).timestamp()).tolist() == [60]

    def test_item_numbers_respect_the_filter(self, store: Store) -> None:
        remember(store, memory(1, "one"), memory(2, kind="event"))
        with store.write("alice") as tx:
            tx.revise(memory(1, "two", version=2, updated_at=at(60)), short_entry("two", 1))
        ids = [record_id(2), record_id(1), record_id(9), "?", record_id(1)]
        with store.read("alice") as snapshot:
            now = snapshot.item_numbers(ids, NOW).tolist()
            then = snapshot.item_numbers(ids, replace(NOW, as_of=at(59))).tolist()
            facts = snapshot.item_numbers(ids, replace(NOW, kinds=frozenset({"fact"}))).tolist()
        assert now[2] == now[3] == -1
        assert now[1] == now[4]
        assert then[0] == now[0]
        assert then[1] not in (now[1], -1)
        assert facts == [-1, now[1], -1, -1, now[1]]

    def test_neighbours_are_adjacent_messages_of_the_session(self, store: Store) -> None:
        say(store, message(1, sequence=1), message(2, sequence=2))
        say(store, message(3, sequence=1, session_id="s2"), session_id="s2")
        say(store, message(4, sequence=5))
        say(store, message(5, sequence=2, session_id="s2"), session_id="s2")
        remember(store, memory(6, session_id="s1"))
        ids = [record_id(n) for n in (1, 2, 3, 4, 5, 6)]
        with store.read("alice") as snapshot:
            one, two, three, four, five, six = snapshot.item_numbers(ids, NOW).tolist()
            numbers = np.array([four, one, six, five, two, three])
            before = snapshot.neighbours(numbers, -1, NOW).tolist()
            after = snapshot.neighbours(numbers, 1, NOW).tolist()
        assert before == [two, -1, -1, three, one, -1]
        assert after == [-1, two, -1, -1, four, five]

    def test_neighbours_are_filtered_only_by_validity(self, store: Store) -> None:
        say(store, *(message(n, sequence=n) for n in (1, 2, 3, 4)))
        with store.write("alice") as tx:
            tx.close_messages([record_id(2), record_id(3)], at(50))
            tx.revise_message(message(4, "new", sequence=4, version=2), short_entry("new"), at(60))
        narrow = replace(NOW, kinds=frozenset({"fact"}), session_id="elsewhere", since=at(999))
        then = replace(NOW, as_of=at(49))
        with store.read("alice") as snapshot:
            now = snapshot.item_numbers([record_id(1), record_id(4)], NOW)
            old = snapshot.item_numbers([record_id(n) for n in (1, 2, 3, 4)], then)
            assert snapshot.neighbours(now, 1, narrow).tolist() == [now[1], -1]
            assert snapshot.neighbours(now, -1, narrow).tolist() == [-1, now[0]]
            assert snapshot.neighbours(old, 1, then).tolist() == [*old[1:].tolist(), -1]
            assert snapshot.neighbours(old[1:3], 1, NOW).tolist() == [now[1], now[1]]

    def test_reindexed_message_keeps_its_sequence_and_time(self, store: Store) -> None:
        say(store, *(message(n, f"word{n}", sequence=n) for n in (1, 2, 3)))
        with store.write("alice") as tx:
            tx.reindex(record_id(2), short_entry("other word2", 0, 1))
        for scope in (NOW, replace(NOW, as_of=at(50))):
            with store.read("alice") as snapshot:
                ids = [record_id(n) for n in (1, 2, 3)]
                one, two, three = snapshot.item_numbers(ids, scope).tolist()
                assert snapshot.neighbours(np.array([two]), -1, scope).tolist() == [one]
                assert snapshot.neighbours(np.array([one]), 1, scope).tolist() == [two]
                assert snapshot.neighbours(np.array([three]), -1, scope).tolist() == [two]
                assert worded(snapshot, "other", "word2", scope=scope) == [[2], [2]]
                assert found(snapshot, scope, near=(0, 1))[0] == 2
                postings = snapshot.postings(["word2"], scope)
                assert postings.document_frequency.tolist() == [1]
                assert postings.total == 3

    def test_passages_have_span_and_tokens(self, store: Store) -> None:
        first, second = passage({"a": 1}, span=Span(0, 9)), passage({"b": 5}, span=Span(9, 12))
        added(store, (memory(1), entry(first, second)), (memory(2), entry()))
        with store.read("alice") as snapshot:
            one, two = snapshot.item_numbers([record_id(1), record_id(2)], NOW)
            got = snapshot.passages(np.array([two, one]))
        assert got == [[], [(Span(0, 9), 3), (Span(9, 12), 7)]]
