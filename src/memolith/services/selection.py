"""Taking the best of what was found, within a budget, each text once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.memories import Memory, Span, State, Trait
from memolith.domain.messages import Message
from memolith.domain.recall import DroppedCandidate, DropReason, RecalledItem, Score
from memolith.errors import StoreDamaged
from memolith.policies.consolidation import SUMMARY_KIND
from memolith.policies.paraphrase import long_words, sentence_keys
from memolith.policies.ranking.model import Scores
from memolith.policies.ranking.scoring import order_by_score
from memolith.policies.rendering.layout import estimate_prompt_tokens
from memolith.ports.store import Snapshot
from memolith.services.search import CandidateSet

if TYPE_CHECKING:
    from memolith.services.recall import RecallRequest

_SUSPICIOUS = int(Trait.SUSPICIOUS)
"""As a number: a flag's `&` with one of numpy's takes many times longer."""


class ResultSelection:
    """The results taken so far, and, where a trace is asked for, those that were not.

    Attributes:
        chosen: Those that were taken, best first.
        dropped: Those that were not.
        left: How many tokens more may be taken.
    """

    def __init__(
        self, candidates: CandidateSet, scores: Scores, request: RecallRequest, *, folds: bool
    ) -> None:
        self.selected: list[RecalledItem] = []
        self.dropped: list[DroppedCandidate] = []
        self.tokens_left = request.token_budget
        self._candidates = candidates
        self._scores = scores
        self._request = request
        self._folds = folds
        self._rows: dict[str, int] = {}
        self._keys: dict[str, frozenset[str]] = {}
        self._sources: set[str] = set()
        self._words: dict[str, frozenset[str] | None] = {}

    @property
    def is_full(self) -> bool:
        """Whether as many were taken as are wanted."""
        return len(self.selected) >= self._request.top_k

    def offer(self, row: int, tokens: int, read: Callable[[], RecalledItem]) -> None:
        """Take the next best result, unless there is a reason not to; it is read if it must be."""
        if self.is_full:
            self.drop(row, "rank")
        elif not self._must_read(row, tokens, self.tokens_left):
            self.drop(row, "budget")
        else:
            self._consider(row, read())

    def _consider(self, row: int, result: RecalledItem) -> None:
        self._rows[result.id] = row
        if self._folds and self._fold(result):
            return
        if result.tokens <= self.tokens_left:
            self.selected.append(result)
            self._record_taken(result, result.tokens)
        else:
            self.drop(row, "budget")

    def find_rows_to_read(self, rows: Sequence[int], costs: Sequence[int]) -> list[int]:
        """Return which of the next rows are likely to be taken or folded, so as to be read."""
        left, room = self.tokens_left, self._request.top_k - len(self.selected)
        wanted: list[int] = []
        for row, tokens in zip(rows, costs, strict=True):
            if room > 0 and self._must_read(row, tokens, left):
                wanted.append(row)
                left, room = (left - tokens, room - 1) if tokens <= left else (left, room)
        return wanted

    def _must_read(self, row: int, tokens: int, left: int) -> bool:
        """Whether a row must be read: if not, it is too long, and nothing is folded with it.

        What a memory says may be said by another. A message is folded only with a memory that
        was made from it.
        """
        items = self._candidates.items
        return tokens <= left or bool(items.is_memory[row]) or items.record_id[row] in self._sources

    def _record_taken(self, result: RecalledItem, tokens: int) -> None:
        """Note what was taken, and how many tokens more that takes."""
        self.tokens_left -= tokens
        if isinstance(result.record, Memory):
            self._sources.update(each.id for each in result.record.sources)

    def _fold(self, result: RecalledItem) -> bool:
        """Fold a result into one taken before, or such into it; return whether it is done.

        What says more takes the place and score of what says less; of a memory and a message
        that say the same it is the memory, which has a kind.
        """
        related = [
            other
            for other in self.selected
            if _are_related(other.record, result.record) and self._may_be_same(other, result)
        ]
        if not related:
            return False
        says = self._sentences(result)
        yielding = [other for other in related if self._makes_room(other, says)]
        over = [other for other in related if says <= self._sentences(other)]
        into = next((other for other in over if not self._makes_room(other, says)), None)
        gain = sum(other.tokens for other in yielding)
        if into is None and yielding and result.tokens - gain <= self.tokens_left:
            self._replace_results(yielding, result)
            return True
        into = into or next(iter(over), None)
        if into is None:
            return False
        folded = (*into.collapsed_ids, result.id, *result.collapsed_ids)
        self.selected[self.selected.index(into)] = replace(into, collapsed_ids=folded)
        self.drop(self._rows[result.id], "folded")
        return True

    def _may_be_same(self, first: RecalledItem, second: RecalledItem) -> bool:
        """Tell whether one of two may say all that the other says, by what costs little to know."""
        one, other = self._long_words(first), self._long_words(second)
        return one is None or other is None or one <= other or other <= one

    def _makes_room(self, other: RecalledItem, sentences: frozenset[str]) -> bool:
        """Return whether a result taken before makes room for one, related, that says this."""
        said = self._sentences(other)
        return said < sentences or (said == sentences and isinstance(other.record, Message))

    def _replace_results(self, replaced: Sequence[RecalledItem], result: RecalledItem) -> None:
        """Put a result in the first one's place, and fold all of these into it."""
        ids = [id_ for other in replaced for id_ in (other.id, *other.collapsed_ids)]
        place = self.selected.index(replaced[0])
        self.selected[place] = replace(
            result, score=replaced[0].score, collapsed_ids=(*result.collapsed_ids, *ids)
        )
        self.selected = [one for one in self.selected if one not in replaced[1:]]
        for other in replaced:
            self.drop(self._rows[other.id], "folded")
        self._record_taken(result, result.tokens - sum(other.tokens for other in replaced))

    def _long_words(self, result: RecalledItem) -> frozenset[str] | None:
        if result.id not in self._words:
            self._words[result.id] = long_words(result.text)
        return self._words[result.id]

    def _sentences(self, result: RecalledItem) -> frozenset[str]:
        keys = self._keys.get(result.id)
        if keys is None:
            keys = self._keys[result.id] = sentence_keys(result.text)
        return keys

    def drop(self, row: int, reason: DropReason) -> None:
        """Note what was not taken."""
        if self._request.trace:
            score = _build_score(self._candidates, self._scores, row)
            self.dropped.append(
                DroppedCandidate(self._candidates.items.record_id[row], reason, score)
            )


def select_results(
    snapshot: Snapshot, candidates: CandidateSet, scores: Scores, request: RecallRequest
) -> ResultSelection:
    """Take the best that fit, folding what another result says already.

    What says exactly the query is taken before all else, so that it is found whatever else is
    there; what needs no search stands before all else, and what was changed later behind it.
    """
    profile = request.profile
    order = order_by_score(candidates.numbers, scores.total, candidates.exact)
    allowed = scores.kept | candidates.exact
    kept = allowed.tolist()
    above = [row for row in order if kept[row]]
    choice = ResultSelection(candidates, scores, request, folds=profile.merges_duplicates)
    read = 0
    while read < len(above) and not choice.is_full:
        rows = above[read : read + request.top_k]
        _RowBatch(snapshot, candidates, scores, rows).offer_to(choice)
        read += len(rows)
    for row in above[read:]:
        choice.drop(row, "rank")
    for row in np.flatnonzero(~allowed).tolist():
        choice.drop(row, "floor")
    choice.dropped.sort(key=lambda one: -one.score.total)
    choice.selected = _mark_changed_later(snapshot, choice.selected, request.scope.at)
    choice.selected.sort(key=lambda one: (one.kind not in profile.pinned_kinds, one.changed_later))
    return choice


def _build_score(candidates: CandidateSet, scores: Scores, row: int) -> Score:
    columns = candidates.candidates
    similarity = columns.best_similarity.item(row)
    return Score(
        total=float(scores.total[row]),
        similarity=0.0 if math.isnan(similarity) else similarity,
        text=columns.text.item(row),
        strength=columns.strength.item(row),
        freshness=columns.freshness.item(row),
        rerank=scores.parts["rerank"].item(row) if _is_reranked(candidates, scores, row) else None,
        parts={name: part.item(row) for name, part in scores.parts.items()},
    )


def _is_reranked(candidates: CandidateSet, scores: Scores, row: int) -> bool:
    return "rerank" in scores.parts and bool(candidates.pinned_position[row] < 0)


class _RowBatch:
    """Some rows, of which no more are read than may be taken: most of what is found never is."""

    def __init__(
        self, snapshot: Snapshot, candidates: CandidateSet, scores: Scores, rows: Sequence[int]
    ) -> None:
        """Take the rows, best first."""
        self._snapshot = snapshot
        self._candidates = candidates
        self._scores = scores
        self._rows = rows
        shown = zip(rows, snapshot.passages(candidates.numbers[rows]), strict=True)
        self._shown = [_find_shown_passage(candidates, row, parts) for row, parts in shown]
        self._costs = [estimate_prompt_tokens(pieces) for _, pieces in self._shown]
        self._records: dict[str, Memory | Message] = {}

    def offer_to(self, choice: ResultSelection) -> None:
        """Offer each row, in order."""
        for place, (row, cost) in enumerate(zip(self._rows, self._costs, strict=True)):
            choice.offer(row, cost, partial(self._build_result, choice, place))

    def _build_result(self, choice: ResultSelection, place: int) -> RecalledItem:
        row, (span, _) = self._rows[place], self._shown[place]
        id_ = self._candidates.items.record_id[row]
        if id_ not in self._records:
            ahead = choice.find_rows_to_read(self._rows[place + 1 :], self._costs[place + 1 :])
            self._load_records([row, *ahead])
        record = self._records.get(id_)
        if record is None:
            raise StoreDamaged(
                "the store is damaged: its index names a record that is not there; run"
                " `memolith verify`"
            )
        score = _build_score(self._candidates, self._scores, row)
        if isinstance(record, Memory):
            record = replace(record, strength=score.strength)
        shown = span or Span(0, len(record.content))
        suspicious = self._candidates.items.traits.item(row) & _SUSPICIOUS != 0
        return RecalledItem(record, score, shown, self._costs[place], suspicious=suspicious)

    def _load_records(self, rows: Sequence[int]) -> None:
        """Read the records of some rows, all at once."""
        items, as_of = self._candidates.items, self._candidates.as_of
        memories = [items.record_id[row] for row in rows if items.is_memory[row]]
        messages = [items.record_id[row] for row in rows if not items.is_memory[row]]
        self._records |= {
            memory.id: memory for memory in self._snapshot.memories(memories, as_of=as_of)
        }
        self._records |= {
            message.id: message for message in self._snapshot.messages(ids=messages, as_of=as_of)
        }


def _find_shown_passage(
    candidates: CandidateSet, row: int, parts: Sequence[tuple[Span, int]]
) -> tuple[Span | None, int]:
    """Return which passage of a record to show, None for all of it, and its word pieces."""
    if candidates.items.is_memory[row] or len(parts) <= 1:
        return None, sum(tokens for _, tokens in parts)
    return parts[candidates.best_part(row)]


def _are_related(first: Memory | Message, second: Memory | Message) -> bool:
    """Return whether two records may stand for each other.

    Two messages may not: the same words said twice are two episodes. A memory and a message
    may where the memory was made from it; two memories always. But a summary stands beside all
    that it was made of, whose words it may have, and which is found as it was before.
    """
    if isinstance(first, Message) and isinstance(second, Message):  # by far the most
        return False
    if isinstance(first, Memory) and isinstance(second, Memory):
        return SUMMARY_KIND not in (first.kind, second.kind)
    memory, message = (first, second) if isinstance(first, Memory) else (second, first)
    if not isinstance(memory, Memory) or memory.kind == SUMMARY_KIND:
        return False
    return any(each.id == message.id for each in memory.sources)


def _mark_changed_later(
    snapshot: Snapshot, chosen: list[RecalledItem], at: datetime
) -> list[RecalledItem]:
    """Mark the episodes of which a memory was made that has been superseded, by that time."""
    derived = snapshot.derived_memories(
        [one.id for one in chosen if isinstance(one.record, Message)]
    )
    changed = {
        message_id
        for message_id, memories in derived.items()
        if any(_is_superseded(memory, at, others=memories) for memory in memories)
    }
    return [replace(one, changed_later=True) if one.id in changed else one for one in chosen]


def _is_superseded(memory: Memory, at: datetime, *, others: Sequence[Memory]) -> bool:
    """Tell whether a memory was superseded by that time, and by none of these.

    A summary that was undone changes nothing of what it was made of.
    """
    is_gone = memory.state is State.SUPERSEDED and memory.updated_at <= at
    if memory.kind == SUMMARY_KIND:
        return False
    return is_gone and memory.superseded_by not in {each.id for each in others}
