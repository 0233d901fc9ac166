"""Properties of the engine for any text: its owner, and no other, finds it again."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.meaning_edits import swaps
from corpora.pairs import Pair, load_pairs
from memolith import Memolith, Message
from memolith.errors import InvalidInput
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.rows import check_each

EMBEDDER = HashingEmbedder(64)
TEXTS = st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=6)


def open_memory(clock: SettableClock) -> Memolith:
    return Memolith.open(":memory:", embedder=EMBEDDER, tokens=WordCounter(), clock=clock)


def clock() -> SettableClock:
    return SettableClock(datetime(2026, 1, 1, tzinfo=UTC))


@settings(max_examples=60)
@given(TEXTS)
def test_stored_text_is_found_by_itself_a_month_later(texts: list[str]) -> None:
    time = clock()
    with open_memory(time) as memory:
        alice = memory.owner("alice")
        stored: dict[str, str] = {}
        for text in texts:
            with suppress(InvalidInput):
                stored[text] = alice.remember(text).id
        for days in (0, 30):
            time.advance(timedelta(days=days))
            for text, id_ in stored.items():
                found = alice.recall(text, touch=False).memories
                assert found[0].id == id_


@settings(max_examples=60)
@given(TEXTS)
def test_logged_message_is_found_by_its_own_text(texts: list[str]) -> None:
    with open_memory(clock()) as memory:
        alice = memory.owner("alice")
        message_ids: dict[str, str] = {}
        for text in texts:
            with suppress(InvalidInput):
                message = alice.log([Message("Bob", text)], session="s").messages[0]
                message_ids.setdefault(message.content, message.id)
        for content in message_ids:
            found = alice.recall(content, top_k=10, touch=False, token_budget=10_000).memories
            assert content in [one.content for one in found]


@settings(max_examples=40)
@given(TEXTS, TEXTS, st.text(min_size=1, max_size=30).filter(str.strip))
def test_two_owners_with_the_same_texts_get_the_same_ranking(
    texts: list[str], others: list[str], query: str
) -> None:
    with open_memory(clock()) as memory:
        for text in texts:
            for owner in ("alice", "bob"):
                with suppress(InvalidInput):
                    memory.remember(text, owner=owner)
        for text in others:
            with suppress(InvalidInput):
                memory.remember(text, owner="carol")
        with suppress(InvalidInput):
            alice, bob = (
                [
                    (one.content, one.score)
                    for one in memory.recall(query, owner=owner, touch=False).memories
                ]
                for owner in ("alice", "bob")
            )
            assert alice == bob


@check_each("pair", load_pairs())
def test_different_facts_are_not_merged(pair: Pair) -> None:
    with open_memory(clock()) as memory:
        first = memory.remember(pair.a, owner="alice")
        second = memory.remember(pair.b, owner="alice")
        assert (first.id == second.id) == pair.same
        swapped = {memory.remember(swap.changed, owner="bob").id for swap in swaps(pair.a)}
        assert memory.remember(pair.a, owner="bob").id not in swapped
