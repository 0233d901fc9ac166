"""Builds text for a prompt from relevant memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memolith.domain.memories import EPISODE
from memolith.domain.recall import RecalledItem
from memolith.policies.rendering.layout import RenderInput, estimate_prompt_tokens
from memolith.services.access import Access, AccessCounter
from memolith.services.base_memory import hide_forgotten_sentences
from memolith.services.indexing import Indexer
from memolith.services.recall import RecallRequest, Retriever
from memolith.text.cleaning import clean
from memolith.tracing import trace_calls

_OVERSAMPLING = 3
"""How much more is recalled if some records are excluded. A guess."""


@dataclass(frozen=True, slots=True)
class Context:
    """Text for a prompt, with the memories in it.

    Attributes:
        text: The text; may be empty.
        results: The records in the text, best first.
        tokens: The number of tokens of the text.
    """

    text: str
    results: tuple[RecalledItem, ...]
    tokens: int


class ContextBuilder:
    """Builds contexts for prompts."""

    def __init__(
        self,
        access: Access,
        indexer: Indexer,
        retriever: Retriever,
        access_counter: AccessCounter,
        *,
        enabled: bool = True,
    ) -> None:
        """Configure the builder; if not `enabled`, all contexts are empty."""
        self._access = access
        self._indexer = indexer
        self._retriever = retriever
        self._access_counter = access_counter
        self._enabled = enabled

    @trace_calls("context")
    def build(
        self,
        owner_id: str,
        request: RecallRequest,
        *,
        touch: bool,
        state: str = "",
        exclude_ids: frozenset[str] = frozenset(),
    ) -> Context:
        """Return the relevant memories as text of at most `request.token_budget` tokens.

        Args:
            owner_id: The owner.
            request: The search.
            touch: Whether to count the shown memories as recalled.
            state: The current situation, for profiles whose layout has a place for it.
            exclude_ids: Records to leave out.
        """
        if not self._enabled:
            return Context("", (), 0)
        profile = request.profile
        recall_request = _limit_to_context_kinds(request)
        if exclude_ids:  # excluded records must not take the place of others
            recall_request = replace(
                recall_request, token_budget=_OVERSAMPLING * recall_request.token_budget
            )
        recalled = self._retriever.recall(owner_id, recall_request, touch=False).memories
        results = tuple(one for one in recalled if one.id not in exclude_ids)
        clean_state = clean(state, field="state") if state else ""
        base = self._get_base_memory(owner_id, request)
        count = _cache_counts(self._count_tokens)
        text, shown = profile.rendering.render(
            RenderInput(results, base, clean_state), request.token_budget, count
        )
        if touch and request.scope.as_of is None:
            self._access_counter.add(owner_id, [one.id for one in shown if one.kind != EPISODE])
        return Context(text, shown, count([text])[0])

    def _get_base_memory(self, owner_id: str, request: RecallRequest) -> str:
        with self._access.store.read(owner_id) as snapshot:
            document = snapshot.base_memory(as_of=request.scope.as_of)
            return "" if document is None else hide_forgotten_sentences(snapshot, document).content

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [estimate_prompt_tokens(pieces) for pieces in self._indexer.count_word_pieces(texts)]


def _cache_counts(
    count: Callable[[Sequence[str]], list[int]],
) -> Callable[[Sequence[str]], list[int]]:
    """Return a counting function that counts each text once."""
    cached: dict[str, int] = {}

    def count_uncached(texts: Sequence[str]) -> list[int]:
        new = [text for text in dict.fromkeys(texts) if text not in cached]
        cached.update(zip(new, count(new), strict=True))
        return [cached[text] for text in texts]

    return count_uncached


def _limit_to_context_kinds(request: RecallRequest) -> RecallRequest:
    """Restrict the request to the kinds that may be put in a prompt."""
    profile = request.profile
    if profile.context_kinds is None:
        return request
    requested = request.scope.kinds
    kinds = profile.context_kinds if requested is None else requested & profile.context_kinds
    return replace(request, scope=replace(request.scope, kinds=kinds))
