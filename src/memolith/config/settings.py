"""Every setting there is, with its default, its range and what it is for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memolith.config.fields import scalar
from memolith.config.sections import (
    Chunks,
    Device,
    Postgres,
    Proxy,
    Serve,
    Tiers,
    Timeline,
    Vectors,
)

_COMPANION: dict[str, Any] = {"profile": "companion", "note": "companion only"}


def _modifier(value: float, kind: str, profile: str = "standard") -> Any:
    what = f"how fast {kind} lose strength: 0 never, 1 by `decay_factor`"
    return scalar(value, what, low=0.0, high=10.0, profile=profile)


def _floor(value: float, kind: str, profile: str = "standard") -> Any:
    what = f"the strength that {kind} never fall under"
    return scalar(value, what, low=0.0, high=1.0, profile=profile)


def _weight(value: float, what: str, profile: str) -> Any:
    return scalar(value, f"how much {what} counts in recall", low=0.0, high=1.0, profile=profile)


def _days(value: int, kind: str) -> Any:
    what = f"how many days {kind} last where it is not said"
    return scalar(value, what, low=1, high=36_500, profile="facts")


class Fades:
    """A section that says how each kind of a profile fades."""

    __slots__ = ()

    def decay_modifier(self, kind: str) -> float:
        """Return how fast a kind loses strength.

        Raises:
            AttributeError: The profile has no such kind.
        """
        modifier: float = getattr(self, f"{kind}_decay_modifier")
        return modifier

    def importance_floor(self, kind: str) -> float:
        """Return the strength that a kind never falls under.

        Raises:
            AttributeError: The profile has no such kind.
        """
        floor: float = getattr(self, f"{kind}_importance_floor")
        return floor


@dataclass(frozen=True, slots=True)
class Embedding:
    """`[memory.embedding]`: what makes vectors of texts."""

    provider: str = scalar(
        "local",
        "what computes the vectors",
        choices=("local", "ollama", "openai", "sentence-transformers"),
    )
    model: str = scalar(
        "all-MiniLM-L6-v2",
        "the model's name at the provider; for `local`, another is the folder of a model"
        " (`MEMOLITH_MODEL` sets it too)",
    )
    dimension: int = scalar(
        0, "how many numbers of a vector are kept, where the model allows it; 0: all",
        low=0, high=8192, default="0: the model's own, 384 for the local one",
    )  # fmt: skip
    base_url: str = scalar(
        "",
        "where the service is; for `openai` with its `/v1`",
        default="the provider's own: OpenAI's, or `http://127.0.0.1:11434` for Ollama",
    )
    api_key_env: str = scalar(
        "",
        "the environment variable that holds the service's key",
        default="`OPENAI_API_KEY` for OpenAI itself, else none",
    )
    api_key_file: str = scalar(
        "",
        "a file that holds the key, in the place of a variable; a relative path counts from the"
        " folder of the configuration",
    )
    timeout_ms: int = scalar(
        30_000, "how long to wait for an answer of a service; what failed sooner is tried again"
        " until then", low=1, high=3_600_000,
    )  # fmt: skip
    # As many as a server of text-embeddings-inference takes where nobody has told it otherwise.
    batch_size: int = scalar(32, "how many texts a service is sent at once", low=1, high=2_048)
    batch_chars: int = scalar(
        100_000, "how many characters it is sent at once", low=1, high=10_000_000
    )


@dataclass(frozen=True, slots=True)
class Chat:
    """`[memory.chat]`: the language model, where there is one."""

    provider: str = scalar(
        "none",
        "what answers; `openai` is any service that speaks its protocol",
        choices=("none", "openai", "ollama", "anthropic"),
    )
    model: str = scalar("", "the model's name, as the service has it")
    base_url: str = scalar(
        "",
        "where the service is",
        default="OpenAI, Anthropic, or Ollama on this machine",
    )
    api_key_env: str = scalar(
        "OPENAI_API_KEY",
        "the environment variable that holds the key; as it stands here, Anthropic's is"
        " `ANTHROPIC_API_KEY`, and Ollama wants none",
    )
    api_key_file: str = scalar(
        "",
        "a file that holds the key, in the place of a variable; a relative path counts from the"
        " folder of the configuration",
    )
    timeout_ms: int = scalar(
        60_000, "how long to wait for a reply, or for the next piece of it", low=1, high=3_600_000
    )
    max_retries: int = scalar(2, "how often a call that failed is made again", low=0, high=20)
    temperature: float = scalar(
        -1.0, "how much is left to chance; under 0: as the service has it", low=-1.0, high=2.0
    )
    calls_at_once: int = scalar(4, "how many calls may be under way", low=1, high=256)
    calls_per_hour: int = scalar(
        0, "how many calls an owner has in an hour, failed ones too; 0: no limit",
        low=0, high=1_000_000_000,
    )  # fmt: skip
    tokens_per_hour: int = scalar(
        0, "how many tokens an owner has in an hour, asked and replied; 0: no limit",
        low=0, high=1_000_000_000_000,
    )  # fmt: skip
    input_price: float = scalar(0.0, "what a million tokens asked cost", low=0.0, high=1_000_000.0)
    output_price: float = scalar(
        0.0, "what a million tokens replied cost", low=0.0, high=1_000_000.0
    )
    # What small models on one's own machine have room for without being told: a guess.
    context_window: int = scalar(
        8192, "how many tokens the model has room for; Ollama is told", low=512, high=100_000_000
    )


@dataclass(frozen=True, slots=True)
class Standard(Fades):
    """`[memory.standard]`: the numbers of profile `standard`, its forgetting law above all.

    Strength only ranks in this profile, as a whisper: nothing leaves recall by age.
    """

    decay_factor: float = scalar(
        0.95, "what is left of a strength after a day without use", low=0.01, high=1.0,
        profile="standard",
    )  # fmt: skip
    correction_decay_modifier: float = _modifier(0.50, "corrections")
    correction_importance_floor: float = _floor(0.35, "corrections")
    identity_decay_modifier: float = _modifier(0.50, "memories of who somebody is")
    identity_importance_floor: float = _floor(0.35, "memories of who somebody is")
    preference_decay_modifier: float = _modifier(0.80, "preferences")
    preference_importance_floor: float = _floor(0.25, "preferences")
    fact_decay_modifier: float = _modifier(0.70, "facts")
    fact_importance_floor: float = _floor(0.30, "facts")
    project_decay_modifier: float = _modifier(0.80, "memories of projects")
    project_importance_floor: float = _floor(0.10, "memories of projects")
    event_decay_modifier: float = _modifier(0.70, "events")
    event_importance_floor: float = _floor(0.10, "events")
    context_decay_modifier: float = _modifier(1.00, "memories of circumstances")
    context_importance_floor: float = _floor(0.00, "memories of circumstances")
    tool_result_decay_modifier: float = _modifier(1.00, "results of tools")
    tool_result_importance_floor: float = _floor(0.00, "results of tools")
    summary_decay_modifier: float = _modifier(0.70, "summaries")
    summary_importance_floor: float = _floor(0.20, "summaries")


@dataclass(frozen=True, slots=True)
class Companion(Fades):
    """`[memory.companion]`: what profile `companion` has beside the four numbers above."""

    context_chars: int = scalar(
        2000, "how many characters a prompt may take", low=0, high=1_000_000, profile="companion"
    )
    similarity_weight: float = _weight(0.5, "the likeness of a memory to the query", "companion")
    importance_weight: float = _weight(0.2, "its strength", "companion")
    freshness_weight: float = _weight(0.3, "its freshness", "companion")
    correction_decay_modifier: float = _modifier(0.50, "corrections", "companion")
    correction_importance_floor: float = _floor(0.35, "corrections", "companion")
    fact_decay_modifier: float = _modifier(0.70, "facts", "companion")
    fact_importance_floor: float = _floor(0.30, "facts", "companion")
    preference_decay_modifier: float = _modifier(0.80, "preferences", "companion")
    preference_importance_floor: float = _floor(0.25, "preferences", "companion")
    context_decay_modifier: float = _modifier(1.00, "memories of circumstances", "companion")
    context_importance_floor: float = _floor(0.10, "memories of circumstances", "companion")
    tool_result_decay_modifier: float = _modifier(1.00, "results of tools", "companion")
    tool_result_importance_floor: float = _floor(0.10, "results of tools", "companion")


@dataclass(frozen=True, slots=True)
class Facts:
    """`[memory.facts]`: the numbers of profile `facts`."""

    auto_merge_threshold: float = scalar(
        0.95, "the similarity from which a memory is updated", low=0.0, high=1.0, profile="facts"
    )
    arbitration_threshold: float = scalar(
        0.85, "the similarity from which the arbitrator is asked", low=0.0, high=1.0,
        profile="facts",
    )  # fmt: skip
    arbitration_timeout_s: float = scalar(
        30.0, "how long to wait for the arbitrator, in seconds", low=0.01, high=3600.0,
        profile="facts",
    )  # fmt: skip
    max_per_user: int = scalar(
        1000, "how many active memories an owner has at most", low=1, high=1_000_000,
        profile="facts",
    )  # fmt: skip
    max_content_length: int = scalar(
        500, "how many bytes a memory has at most", low=1, high=8000, profile="facts"
    )
    decay_interval_h: float = scalar(
        1.0, "how often strengths are computed anew, in hours", low=0.01, high=8760.0,
        profile="facts",
    )  # fmt: skip
    preference_ttl_days: int = _days(90, "preferences")
    project_ttl_days: int = _days(60, "memories of projects")
    contextual_ttl_days: int = _days(30, "memories of circumstances")
    vector_weight: float = _weight(0.6, "the likeness of a memory to the query", "facts")
    text_weight: float = _weight(0.2, "the match of their words", "facts")
    decay_weight: float = _weight(0.2, "its strength", "facts")

    def ttl_days(self, kind: str) -> int:
        """Return how long a kind lasts.

        Raises:
            AttributeError: The kind lasts for good, or the profile has no such kind.
        """
        days: int = getattr(self, f"{kind}_ttl_days")
        return days


@dataclass(frozen=True, slots=True)
class Settings:
    """`[memory]`: everything that can be set."""

    profile: str = scalar(
        "standard",
        "how memories are made, found and forgotten, for new owners: standard, companion, facts,"
        " chunks, tiers, timeline, or one of your own",
    )
    enabled: bool = scalar(True, "whether anything is written")
    enable_rag: bool = scalar(True, "whether `context` says anything")
    enable_learning: bool = scalar(True, "whether conversations are learned from, not only logged")
    store: str = scalar(
        "",
        "the file of the store, a relative path counting from the folder of the file it stands in;"
        " or a database, as postgresql://…",
        shown=False,
        default="`memolith/memory.db` in the user's data folder",
    )
    rag_limit: int = scalar(5, "how many results `recall` returns (`top_k`)", low=1, high=100)
    token_budget: int = scalar(
        2000, "how many tokens recalled texts and a prompt may take", low=0, high=1_000_000
    )
    # As long as an import's largest batch may hold the write lock on a slow disk: a guess.
    busy_timeout_s: float = scalar(
        10.0, "how long to wait, in seconds, while another process writes", low=0.0, high=3600.0
    )
    # With a million memories of a thousand owners a process stays below 400 MB: an owner's index
    # takes about 1 KB a memory, and what is not asked for long is let go.
    index_cache_mb: int = scalar(
        192, "how much memory, in MB, the search structures may take", low=1, high=1_000_000
    )
    rag_threshold: float = scalar(
        0.5, "the similarity under which nothing is recalled", low=0.0, high=1.0, **_COMPANION
    )
    merge_threshold: float = scalar(
        0.85, "the similarity over which memories are merged", low=0.0, high=1.0, **_COMPANION
    )
    min_importance: float = scalar(
        0.1, "the strength under which memories fade", low=0.0, high=1.0, **_COMPANION
    )
    decay_factor: float = scalar(
        0.95, "what is left of a strength after a day", low=0.01, high=1.0, **_COMPANION
    )
    worker: bool = scalar(
        True,
        "whether a process with a language model learns in the background; if not, `memolith"
        " worker` does",
    )
    retention_days: int = scalar(
        0,
        "after how many days what is no longer active, and conversations in which nothing was"
        " said, are removed for good; 0: never",
        low=0, high=100_000,
    )  # fmt: skip
    enable_encryption: bool = scalar(
        True, "whether new stores are encrypted; what a store is, it stays"
    )
    encryption_key_path: str = scalar(
        "memory_encryption.key",
        "the file of the master key, made with the first store; `MEMOLITH_KEY` goes before it; a"
        " relative path counts from the folder of the configuration",
        default="`memory_encryption.key` in the user's configuration folder",
    )
    postgres: Postgres = field(default_factory=Postgres)
    serve: Serve = field(default_factory=Serve)
    proxy: Proxy = field(default_factory=Proxy)
    vectors: Vectors = field(default_factory=Vectors)
    device: Device = field(default_factory=Device)
    embedding: Embedding = field(default_factory=Embedding)
    chat: Chat = field(default_factory=Chat)
    standard: Standard = field(default_factory=Standard)
    companion: Companion = field(default_factory=Companion)
    facts: Facts = field(default_factory=Facts)
    chunks: Chunks = field(default_factory=Chunks)
    tiers: Tiers = field(default_factory=Tiers)
    timeline: Timeline = field(default_factory=Timeline)
