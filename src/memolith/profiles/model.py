"""What a profile is: the kinds and policies of one way to remember, as one frozen value."""

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
    """One way to remember.

    Attributes:
        name: As an owner keeps it.
        kinds: Its kinds of memories, in the order in which they are rendered.
        standard_kinds: The kind of `standard` that each of them is, for a change of profile.
        own_kinds: The kind of this profile that each kind of `standard` becomes.
        judging: What a text makes where it is not said.
        learning: What a conversation makes with no model.
        extraction: In which words a model is asked for facts of it; None: it never is.
        condensing: What is made shorter, and when.
        merging: What becomes of a memory that is like another.
        arbiter: What a memory that is new says of those that are known; None: nothing.
        ranking: How results are ordered.
        forgetting: How memories fade.
        rendering: How they are shown to a model.
        outside_kinds: What a text from outside is taken for, by its origin, where it speaks of
            the user as only the user can.
        keeping: What of a long text, and of a message, is worth keeping; None: all of it.
        chunk_sizes: How large the chunks of a long text are.
        max_memory_chars: The longest memory, in characters.
        max_memory_bytes: Likewise, in bytes of UTF-8; None: no such limit.
        redacts_lines: Whether a line that holds a secret goes as a whole.
        episodes: Whether messages are recalled as they were said.
        vectors: Whether texts are embedded at all.
        keyed: The kinds that are stored under a key only.
        lasting: How long memories of a kind last where it is not said; others for good.
        capacity: The most active memories of an owner; None: any number.
        cleanup_below: The strength under which a cleanup lets memories fade; None: under none.
        first_kinds: Kinds that need no search: always recalled, first, at most half of the
            results (rounded up).
        context_kinds: The only kinds that are put in a prompt; None: all.
        passing: The kind that memories of a kind become when their session ends.
        limit: How many results where that is not said; None: of recall as many as the configuration
            says, in a prompt as many as fit.
        folds: Whether of results that say the same only one is returned, and memories near to
            each other are linked.
        reranking: What a reranker's word counts for, where there is one; None: it is not asked.
        relevance: How likely it is that what was found answers the question, by the embedder's
            name; with another one that is not told.
        finds_keys: Whether keyword search finds memories by the words of their keys too.
        compares_text: Whether a keyword search that finds nothing looks for the words as parts
            of keys and contents.
        decay_every_hours: How often stored strengths are computed anew.
        told: When to choose it, in a phrase.
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
        """Tell whether texts of a kind get vectors; None: messages."""
        if kind is None:
            return self.uses_vectors and self.recalls_messages
        return self.uses_vectors and kind not in self.pinned_kinds
