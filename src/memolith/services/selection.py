"""Selects the best candidates within a token budget, and folds duplicates."""

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
"""As an integer: combining a flag with a numpy integer is many times slower."""


class ResultSelection:
    """The selected results and, if a trace is requested, the dropped candidates.

    Attributes:
        selected: The selected results, best first.
        dropped: The dropped candidates.
        tokens_left: The remaining token budget.
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
        """Whether `top_k` results are selected."""
        return len(self.selected) >= self._request.top_k

    def offer(self, row: int, tokens: int, read: Callable[[], RecalledItem]) -> None:
        """Select or drop the next best candidate; `read` is called only if necessary."""
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
        """Return those of the next rows that will probably be selected or folded."""
        tokens_left, room = self.tokens_left, self._request.top_k - len(self.selected)
        needed: list[int] = []
        for row, tokens in zip(rows, costs, strict=True):
            if room > 0 and self._must_read(row, tokens, tokens_left):
                needed.append(row)
                tokens_left, room = (
                    (tokens_left - tokens, room - 1)
                    if tokens <= tokens_left
                    else (tokens_left, room)
                )
        return needed

    def _must_read(self, row: int, tokens: int, tokens_left: int) -> bool:
        """Return whether a row must be read; if not, it is too long and can't be folded.

        A memory may duplicate any other memory. A message can be folded only with a memory that was
        made from it.
        """
        items = self._candidates.items
        return (
            tokens <= tokens_left
            or bool(items.is_memory[row])
            or items.record_id[row] in self._sources
        )

    def _record_taken(self, result: RecalledItem, tokens: int) -> None:
        """Update the budget and the sources of selected memories."""
        self.tokens_left -= tokens
        if isinstance(result.record, Memory):
            self._sources.update(each.id for each in result.record.sources)

    def _fold(self, result: RecalledItem) -> bool:
        """Fold a result into a selected one, or the reverse; return whether it was done.

        The result that says more takes the position and score of the other. Of a memory and a
        message with the same sentences, the memory remains, because it has a kind.
        """
        related = [
            other
            for other in self.selected
            if _are_related(other.record, result.record) and self._may_be_same(other, result)
        ]
        if not related:
            return False
        sentences = self._sentences(result)
        contained = [other for other in related if self._makes_room(other, sentences)]
        containing = [other for other in related if sentences <= self._sentences(other)]
        container = next(
            (other for other in containing if not self._makes_room(other, sentences)), None
        )
        freed_tokens = sum(other.tokens for other in contained)
        if container is None and contained and result.tokens - freed_tokens <= self.tokens_left:
            self._replace_results(contained, result)
            return True
        container = container or next(iter(containing), None)
        if container is None:
            return False
        folded = (*container.collapsed_ids, result.id, *result.collapsed_ids)
        self.selected[self.selected.index(container)] = replace(container, collapsed_ids=folded)
        self.drop(self._rows[result.id], "folded")
        return True

    def _may_be_same(self, first: RecalledItem, second: RecalledItem) -> bool:
        """Return whether one result might contain the other, by a cheap test."""
        one, other = self._long_words(first), self._long_words(second)
        return one is None or other is None or one <= other or other <= one

    def _makes_room(self, other: RecalledItem, sentences: frozenset[str]) -> bool:
        """Return whether a selected result yields to a related one with these sentences."""
        other_sentences = self._sentences(other)
        return other_sentences < sentences or (
            other_sentences == sentences and isinstance(other.record, Message)
        )

    def _replace_results(self, replaced: Sequence[RecalledItem], result: RecalledItem) -> None:
        """Put a result in the position of the first replaced one, and fold all of those into it."""
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
        """Record a dropped candidate."""
        if self._request.trace:
            score = _build_score(self._candidates, self._scores, row)
            self.dropped.append(
                DroppedCandidate(self._candidates.items.record_id[row], reason, score)
            )


def select_results(
    snapshot: Snapshot, candidates: CandidateSet, scores: Scores, request: RecallRequest
) -> ResultSelection:
    """Select the best candidates that fit, folding duplicates.

    Records that equal the query are selected first, so that a text is always found by its own
    content. In the result, pinned kinds come first, and episodes with superseded content last.
    """
    profile = request.profile
    ranked = order_by_score(candidates.numbers, scores.total, candidates.exact)
    allowed = scores.kept | candidates.exact
    is_eligible = allowed.tolist()
    above = [row for row in ranked if is_eligible[row]]
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
    choice.selected = _mark_changed_later(snapshot, choice.selected, request.scope.reference_time)
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
    """A batch of rows whose records are loaded only when they are likely to be selected."""

    def __init__(
        self, snapshot: Snapshot, candidates: CandidateSet, scores: Scores, rows: Sequence[int]
    ) -> None:
        """Load the passages of the rows, given best first."""
        self._snapshot = snapshot
        self._candidates = candidates
        self._scores = scores
        self._rows = rows
        shown = zip(rows, snapshot.passages(candidates.numbers[rows]), strict=True)
        self._shown = [_find_shown_passage(candidates, row, parts) for row, parts in shown]
        self._costs = [estimate_prompt_tokens(pieces) for _, pieces in self._shown]
        self._records: dict[str, Memory | Message] = {}

    def offer_to(self, choice: ResultSelection) -> None:
        """Offer each row in order."""
        for place, (row, cost) in enumerate(zip(self._rows, self._costs, strict=True)):
            choice.offer(row, cost, partial(self._build_result, choice, place))

    def _build_result(self, choice: ResultSelection, place: int) -> RecalledItem:
        row, (span, _) = self._rows[place], self._shown[place]
        id_ = self._candidates.items.record_id[row]
        if id_ not in self._records:
            next_rows = choice.find_rows_to_read(self._rows[place + 1 :], self._costs[place + 1 :])
            self._load_records([row, *next_rows])
        record = self._records.get(id_)
        if record is None:
            raise StoreDamaged(
                "the store is damaged: its index refers to a missing record; run `memolith verify`"
            )
        score = _build_score(self._candidates, self._scores, row)
        if isinstance(record, Memory):
            record = replace(record, strength=score.strength)
        shown = span or Span(0, len(record.content))
        suspicious = self._candidates.items.traits.item(row) & _SUSPICIOUS != 0
        return RecalledItem(record, score, shown, self._costs[place], suspicious=suspicious)

    def _load_records(self, rows: Sequence[int]) -> None:
        """Load the records of some rows in one query."""
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
    """Return the passage of a record to show (None: all of it), and its number of word pieces."""
    if candidates.items.is_memory[row] or len(parts) <= 1:
        return None, sum(tokens for _, tokens in parts)
    return parts[candidates.best_part(row)]


def _are_related(first: Memory | Message, second: Memory | Message) -> bool:
    """Return whether one of two records may be folded into the other.

    Two memories may. Two messages may not: repeated words are separate episodes. A memory and a
    message may if the memory was made from it. Summaries are never folded, because they may use
    the words of their sources.
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
    snapshot: Snapshot, results: list[RecalledItem], at: datetime
) -> list[RecalledItem]:
    """Mark episodes with a memory that was superseded by the given time."""
    derived = snapshot.derived_memories(
        [one.id for one in results if isinstance(one.record, Message)]
    )
    changed = {
        message_id
        for message_id, memories in derived.items()
        if any(_is_superseded(memory, at, others=memories) for memory in memories)
    }
    return [replace(one, changed_later=True) if one.id in changed else one for one in results]


def _is_superseded(memory: Memory, at: datetime, *, others: Sequence[Memory]) -> bool:
    """Return whether a memory was superseded by the given time, other than by one of `others`.

    Summaries don't count: undoing one changes nothing in its sources.
    """
    was_superseded = memory.state is State.SUPERSEDED and memory.updated_at <= at
    if memory.kind == SUMMARY_KIND:
        return False
    return was_superseded and memory.superseded_by not in {each.id for each in others}
