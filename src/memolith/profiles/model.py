"""The `Profile` class: memory kinds and policies that define how memories are made and recalled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from memolith.domain.memories import Origin
from memolith.policies.classification import Classifier
from memolith.policies.consolidation import ConsolidationPolicy
from memolith.policies.extraction import ExtractionSchema
from memolith.policies.learning import LearningPolicy
from memolith.policies.merging import MergePolicy, SupersessionPolicy
from memolith.policies.rendering.layout import Rendering
from memolith.policies.salience import ChunkScoring
from memolith.text.chunking.chunks import ChunkSizes

if TYPE_CHECKING:
    from memolith.policies.decay import DecayPolicy
    from memolith.policies.ranking.model import Ranking, Reranking
    from memolith.policies.ranking.relevance import Relevance


@dataclass(frozen=True, slots=True)
class Profile:
    """Memory kinds and policies that define how memories are made, recalled and forgotten.

    Attributes:
        name: The name that owners store.
        kinds: The kinds of memories, in rendering order.
        classifier: Assigns kind and importance where the caller gives none.
        learning: Extracts memories from conversations without a model.
        merging: Compares a new memory with similar ones.
        ranking: Scores search results.
        decay: Computes strength over time.
        rendering: Formats memories for a prompt.
        standard_kinds: Maps own kinds to kinds of `standard`, to change the profile.
        own_kinds: Maps kinds of `standard` to own kinds.
        extraction: The schema of facts that a model extracts; None: no extraction.
        consolidation: Summaries and compressions, and their triggers.
        external_kinds: The kind of external text that makes claims about the user, by origin.
        supersession: Finds memories that a new one supersedes, without a model; None: not done.
        chunk_scoring: Selects the chunks and messages worth storing; None: all are stored.
        chunk_sizes: Sizes of the chunks of a long text, in tokens.
        max_memory_chars: Maximum length of a memory, in characters.
        max_memory_bytes: Maximum size of a memory, in bytes of UTF-8; None: no limit.
        redacts_lines: Whether a line with a secret is redacted as a whole.
        recalls_messages: Whether `recall` also returns messages verbatim.
        uses_vectors: Whether texts are embedded at all.
        keyed_kinds: Kinds that require a key.
        lifetimes: Default lifetime by kind; other kinds do not expire.
        capacity: Maximum number of active memories per owner; None: no limit.
        cleanup_threshold: Strength below which cleanup lets memories fade; None: no cleanup.
        pinned_kinds: Kinds recalled without a search and listed first; at most half of the results,
            rounded up.
        context_kinds: The only kinds in prompt context; None: all.
        kinds_after_session: The kind that a memory changes to when its session ends, by kind.
        default_top_k: Default number of results. None: `recall` uses the configuration; prompt
            context is limited by its token budget only.
        merges_duplicates: Whether duplicate results are returned once, and similar memories are
            linked.
        reranking: Weight of a reranker's score; None: no reranking.
        relevance_by_embedder: Estimates whether any result answers the question, by embedder name;
            other embedders get no estimate.
        searches_keys: Whether keyword search also matches the words of keys.
        searches_substrings: Whether a keyword search without results retries with substrings of
            keys and contents.
        decay_interval_hours: Interval at which stored strengths are recomputed.
        description: When to choose the profile, in one phrase.
    """

    name: str
    kinds: tuple[str, ...]
    classifier: Classifier
    learning: LearningPolicy
    merging: MergePolicy
    ranking: Ranking
    decay: DecayPolicy
    rendering: Rendering
    standard_kinds: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_kinds: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    extraction: ExtractionSchema | None = None
    consolidation: ConsolidationPolicy = field(default_factory=ConsolidationPolicy)
    external_kinds: Mapping[Origin, str] = field(default_factory=lambda: MappingProxyType({}))
    supersession: SupersessionPolicy | None = None
    chunk_scoring: ChunkScoring | None = None
    chunk_sizes: ChunkSizes = field(default_factory=ChunkSizes)
    max_memory_chars: int = 8_000
    max_memory_bytes: int | None = None
    redacts_lines: bool = False
    recalls_messages: bool = False
    uses_vectors: bool = True
    keyed_kinds: frozenset[str] = frozenset()
    lifetimes: Mapping[str, timedelta] = field(default_factory=lambda: MappingProxyType({}))
    capacity: int | None = None
    cleanup_threshold: float | None = None
    pinned_kinds: frozenset[str] = frozenset()
    context_kinds: frozenset[str] | None = None
    kinds_after_session: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    default_top_k: int | None = None
    merges_duplicates: bool = False
    reranking: Reranking | None = None
    relevance_by_embedder: Mapping[str, Relevance] = field(
        default_factory=lambda: MappingProxyType({})
    )
    searches_keys: bool = False
    searches_substrings: bool = False
    decay_interval_hours: float = 24.0
    description: str = ""

    def should_embed(self, kind: str | None) -> bool:
        """Return whether texts of a kind are embedded; None stands for messages."""
        if kind is None:
            return self.uses_vectors and self.recalls_messages
        return self.uses_vectors and kind not in self.pinned_kinds
