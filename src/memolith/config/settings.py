"""PostgreSQL's section, that of vectors, and those of `chunks`, `tiers` and `timeline`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memolith.config.fields import setting_field


def _count_field(value: int, description: str, profile: str, *, low: int = 1) -> Any:
    return setting_field(value, description, low=low, high=1_000_000, profile=profile)


def _share_field(value: float, description: str, profile: str) -> Any:
    return setting_field(value, description, low=0.0, high=1.0, profile=profile)


@dataclass(frozen=True, slots=True)
class Postgres:
    """`[memory.postgres]`: the store in a PostgreSQL database, where `store` names one."""

    schema: str = setting_field("memolith", "the schema that the tables are in")
    key_ring: str = setting_field(
        "database",
        "where the key ring is: in a schema beside, or in the file beside the master key",
        choices=("database", "file"),
    )
    # Threads that recall at once on one machine: a guess.
    connections: int = setting_field(
        8, "how many connections there are at most to read, and as many again to write",
        low=1, high=1_000,
    )  # fmt: skip
    # As long as the largest import of a batch takes on a slow disk: a guess.
    statement_timeout_ms: int = setting_field(
        60_000, "after how long the server gives a statement up; 0: never", low=0, high=86_400_000
    )
    vectors_in_memory: int = setting_field(
        131_072,
        "up to how many items of an owner their vectors are searched in memory, and in the"
        " database above",
        low=0, high=1_000_000_000,
    )  # fmt: skip
    partitions: int = setting_field(
        0, "into how many parts by owner the tables of a new store are parted; 0: none",
        low=0, high=1_024,
    )  # fmt: skip
    half_precision: bool = setting_field(
        True, "whether a new store that is not encrypted keeps vectors in half precision"
    )
    vector_index: str = setting_field(
        "hnsw",
        "which index of vectors `memolith db index` builds",
        choices=("hnsw", "ivfflat", "none"),
    )
    ivfflat_lists: int = setting_field(
        100, "into how many lists `ivfflat` sorts", low=1, high=32_768
    )


@dataclass(frozen=True, slots=True)
class Vectors:
    """`[memory.vectors]`: what searches the vectors of a store in a file."""

    backend: str = setting_field(
        "memory",
        "what searches the vectors of a store in a file: an index in memory, sqlite-vec in the"
        " file, or Chroma",
        choices=("memory", "sqlite-vec", "chroma"),
    )
    in_memory: int = setting_field(
        0,
        "up to how many items of an owner they are searched in memory all the same, and not sent to"
        " Chroma",
        low=0, high=1_000_000_000,
    )  # fmt: skip
    chroma_url: str = setting_field(
        "", "where a Chroma server is, as http://127.0.0.1:8000", in_repr=False,
        default="none: Chroma runs in this process",
    )  # fmt: skip
    chroma_path: str = setting_field(
        "",
        "the folder of a Chroma in this process; a relative path counts from the folder of the"
        " configuration",
        default="beside the store, named like it with `-chroma`",
    )
    chroma_tenant: str = setting_field("default_tenant", "the server's tenant")
    chroma_database: str = setting_field("default_database", "the tenant's database")
    # A query takes milliseconds; 1,000 vectors to store some hundred: a guess.
    chroma_timeout_ms: int = setting_field(
        5_000, "how long to wait for an answer of the server", low=1, high=600_000
    )


@dataclass(frozen=True, slots=True)
class Chunks:
    """`[memory.chunks]`: the numbers of profile `chunks`."""

    max_chunk_tokens: int = _count_field(300, "the most tokens of a chunk", "chunks")
    min_chunk_tokens: int = _count_field(
        50, "how many tokens a chunk has that is not merged with its neighbour", "chunks", low=0
    )
    min_stored_importance: float = _share_field(
        0.3, "the importance under which a chunk is not stored", "chunks"
    )
    min_recalled_importance: float = _share_field(
        0.2, "the importance under which nothing is recalled", "chunks"
    )
    reranker_enabled: bool = setting_field(
        False, "whether a cross-encoder scores what was found anew", profile="chunks"
    )
    reranker_model: str = setting_field(
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        "the cross-encoder: a folder, or the name of one that this machine has; nothing is"
        " downloaded",
        profile="chunks",
    )
    similarity_weight: float = _share_field(
        0.6, "how much likeness counts where the reranker can't be had", "chunks"
    )
    text_weight: float = _share_field(
        0.3, "how much the match of words counts where it can't be had", "chunks"
    )
    importance_weight: float = _share_field(
        0.1, "how much importance counts where it can't be had", "chunks"
    )
    compression_threshold: int = _count_field(
        10, "over how many uncompressed sessions the oldest are compressed", "chunks"
    )
    sessions_to_compress: int = _count_field(
        0, "how many sessions are compressed together; 0: half of the threshold", "chunks", low=0
    )


@dataclass(frozen=True, slots=True)
class Tiers:
    """`[memory.tiers]`: the numbers of profile `tiers`."""

    short_term_threshold: int = _count_field(
        30, "from how many messages on the older ones are summarised", "tiers"
    )
    short_term_keep: int = _count_field(
        10, "how many of the newest messages stay unsummarised", "tiers", low=0
    )
    long_term_threshold: int = _count_field(
        20,
        "from how many summaries on the base memory takes up the older ones",
        "tiers",
    )
    long_term_keep: int = _count_field(
        10,
        "how many of the newest summaries stay out of the base memory",
        "tiers",
        low=0,
    )
    retrieval_top_k: int = setting_field(
        5, "how many facts are recalled, or stand in a prompt, where it is not said",
        low=1, high=100, profile="tiers",
    )  # fmt: skip
    retrieval_min_similarity: float = setting_field(
        0.3, "the similarity under which nothing is recalled", low=-1.0, high=1.0, profile="tiers"
    )
    duplicate_distance_threshold: float = setting_field(
        0.15, "the cosine distance under which a new fact retires the nearest", low=0.0, high=2.0,
        profile="tiers",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timeline:
    """`[memory.timeline]`: the numbers of profile `timeline`."""

    recall_limit: int = setting_field(
        5, "how many memories are recalled, or stand in a prompt, where it is not said",
        low=1, high=100, profile="timeline",
    )  # fmt: skip
    timeline_retention_days: int = setting_field(
        90, "how many days entries of the timeline last", low=1, high=36_500, profile="timeline"
    )
    consolidation_turn_threshold: int = _count_field(
        3, "from how many turns on a history is compressed", "timeline"
    )
    idle_consolidation_minutes: int = _count_field(
        10, "after how many minutes of silence it is", "timeline"
    )
    max_failures_before_degrade: int = _count_field(
        3,
        "after how many failures in a row the messages are stored as they are",
        "timeline",
    )
    consolidation_provider: str = setting_field(
        "", "what compresses, where it is not the chat model", profile="timeline"
    )
    consolidation_model: str = setting_field("", "its model", profile="timeline")


@dataclass(frozen=True, slots=True)
class Device:
    """`[memory.device]`: what the service does for devices that listen and speak."""

    session: str = setting_field("device", "the conversation that is held with devices")
    transcription_url: str = setting_field(
        "",
        "the service that writes down what was said, with its `/v1`: any that speaks OpenAI's"
        " protocol",
        default="none: recordings are refused",
    )
    transcription_model: str = setting_field("whisper-1", "its model")
    transcription_key_env: str = setting_field(
        "", "the environment variable that holds its key", default="it wants none"
    )
    transcription_timeout_ms: int = setting_field(
        60_000, "how long to wait for it", low=1, high=3_600_000
    )


@dataclass(frozen=True, slots=True)
class Serve:
    """`[memory.serve]`: the service."""

    host: str = setting_field(
        "127.0.0.1", "the address to listen at; any but this machine's needs keys"
    )
    port: int = setting_field(
        8377, "the port to listen at; 0: one that is free", low=0, high=65_535
    )
    owner: str = setting_field(
        "",
        "for whom everybody on this machine may call while there are no keys",
        default="the login name",
    )
    hosts: str = setting_field(
        "",
        "the names under which the server may be called, with commas; `*`: any",
        default="this machine's, and `host`",
    )
    origins: str = setting_field(
        "", "pages that may call it from a browser, with commas: `https://app.example.org`"
    )
    max_body_mb: int = setting_field(10, "how long a request may be, in MB", low=1, high=10_000)
    requests_at_once: int = setting_field(
        128, "how many requests may be under way; more are refused", low=1, high=100_000
    )
    threads: int = setting_field(16, "how many requests are worked on at once", low=1, high=1_000)
    requests_per_minute: int = setting_field(
        0, "how many requests each key has in a minute; 0: no limit", low=0, high=10_000_000
    )
    processes: int = setting_field(
        1, "how many processes serve together; the store must not be in memory", low=1, high=256
    )
    trusted_proxies: str = setting_field(
        "",
        "the addresses of reverse proxies, with commas, whose `X-Forwarded-For` says who calls;"
        " `*`: any",
        default="none: who connects is who calls",
    )
    read_only: bool = setting_field(
        False, "whether the service counts as ready where the store can't be written"
    )
    drain_timeout_s: float = setting_field(
        10.0, "how long to wait at the end for what is under way, in seconds", low=0.0, high=3600.0
    )


@dataclass(frozen=True, slots=True)
class Proxy:
    """`[memory.proxy]`: the service as a chat service that remembers; it asks `[memory.chat]`."""

    memory_timeout_ms: int = setting_field(
        300, "how long the memory may keep a reply waiting", low=1, high=60_000
    )
    context_budget: int = setting_field(
        2000,
        "how many tokens of memory the model is told, at most a quarter of its context window; 0:"
        " nothing is told",
        low=0, high=1_000_000,
    )  # fmt: skip
    compress: bool = setting_field(
        True, "whether a history that outgrows half of the context window is made shorter"
    )
    durable: bool = setting_field(
        True,
        "whether a reply ends only when it is kept, `memory_timeout_ms` later at the latest: then a"
        " process that is killed loses nothing that was answered",
    )
    models: str = setting_field(
        "", "the only models that may be asked for, with commas", default="any that the service has"
    )


# --- Every setting there is, with its default, its range and what it is for


_COMPANION_ONLY: dict[str, Any] = {"profile": "companion", "note": "companion only"}


def _decay_modifier_field(value: float, kind: str, profile: str = "standard") -> Any:
    what = f"how fast {kind} lose strength: 0 never, 1 by `decay_factor`"
    return setting_field(value, what, low=0.0, high=10.0, profile=profile)


def _importance_floor_field(value: float, kind: str, profile: str = "standard") -> Any:
    what = f"the strength that {kind} never fall under"
    return setting_field(value, what, low=0.0, high=1.0, profile=profile)


def _weight_field(value: float, subject: str, profile: str) -> Any:
    return setting_field(
        value, f"how much {subject} counts in recall", low=0.0, high=1.0, profile=profile
    )


def _ttl_field(value: int, kind: str) -> Any:
    what = f"how many days {kind} last where it is not said"
    return setting_field(value, what, low=1, high=36_500, profile="facts")


class DecaySection:
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

    provider: str = setting_field(
        "local",
        "what computes the vectors",
        choices=("local", "ollama", "openai", "sentence-transformers"),
    )
    model: str = setting_field(
        "all-MiniLM-L6-v2",
        "the model's name at the provider; for `local`, another is the folder of a model"
        " (`MEMOLITH_MODEL` sets it too)",
    )
    dimension: int = setting_field(
        0, "how many numbers of a vector are kept, where the model allows it; 0: all",
        low=0, high=8192, default="0: the model's own, 384 for the local one",
    )  # fmt: skip
    base_url: str = setting_field(
        "",
        "where the service is; for `openai` with its `/v1`",
        default="the provider's own: OpenAI's, or `http://127.0.0.1:11434` for Ollama",
    )
    api_key_env: str = setting_field(
        "",
        "the environment variable that holds the service's key",
        default="`OPENAI_API_KEY` for OpenAI itself, else none",
    )
    api_key_file: str = setting_field(
        "",
        "a file that holds the key, in the place of a variable; a relative path counts from the"
        " folder of the configuration",
    )
    timeout_ms: int = setting_field(
        30_000, "how long to wait for an answer of a service; what failed sooner is tried again"
        " until then", low=1, high=3_600_000,
    )  # fmt: skip
    # As many as a server of text-embeddings-inference takes where nobody has told it otherwise.
    batch_size: int = setting_field(
        32, "how many texts a service is sent at once", low=1, high=2_048
    )
    batch_chars: int = setting_field(
        100_000, "how many characters it is sent at once", low=1, high=10_000_000
    )


@dataclass(frozen=True, slots=True)
class Chat:
    """`[memory.chat]`: the language model, where there is one."""

    provider: str = setting_field(
        "none",
        "what answers; `openai` is any service that speaks its protocol",
        choices=("none", "openai", "ollama", "anthropic"),
    )
    model: str = setting_field("", "the model's name, as the service has it")
    base_url: str = setting_field(
        "",
        "where the service is",
        default="OpenAI, Anthropic, or Ollama on this machine",
    )
    api_key_env: str = setting_field(
        "OPENAI_API_KEY",
        "the environment variable that holds the key; as it stands here, Anthropic's is"
        " `ANTHROPIC_API_KEY`, and Ollama wants none",
    )
    api_key_file: str = setting_field(
        "",
        "a file that holds the key, in the place of a variable; a relative path counts from the"
        " folder of the configuration",
    )
    timeout_ms: int = setting_field(
        60_000, "how long to wait for a reply, or for the next piece of it", low=1, high=3_600_000
    )
    max_retries: int = setting_field(
        2, "how often a call that failed is made again", low=0, high=20
    )
    temperature: float = setting_field(
        -1.0, "how much is left to chance; under 0: as the service has it", low=-1.0, high=2.0
    )
    calls_at_once: int = setting_field(4, "how many calls may be under way", low=1, high=256)
    calls_per_hour: int = setting_field(
        0, "how many calls an owner has in an hour, failed ones too; 0: no limit",
        low=0, high=1_000_000_000,
    )  # fmt: skip
    tokens_per_hour: int = setting_field(
        0, "how many tokens an owner has in an hour, asked and replied; 0: no limit",
        low=0, high=1_000_000_000_000,
    )  # fmt: skip
    input_price: float = setting_field(
        0.0, "what a million tokens asked cost", low=0.0, high=1_000_000.0
    )
    output_price: float = setting_field(
        0.0, "what a million tokens replied cost", low=0.0, high=1_000_000.0
    )
    # What small models on one's own machine have room for without being told: a guess.
    context_window: int = setting_field(
        8192, "how many tokens the model has room for; Ollama is told", low=512, high=100_000_000
    )


@dataclass(frozen=True, slots=True)
class Standard(DecaySection):
    """`[memory.standard]`: the numbers of profile `standard`, its forgetting law above all.

    Strength only ranks in this profile, as a whisper: nothing leaves recall by age.
    """

    decay_factor: float = setting_field(
        0.95, "what is left of a strength after a day without use", low=0.01, high=1.0,
        profile="standard",
    )  # fmt: skip
    correction_decay_modifier: float = _decay_modifier_field(0.50, "corrections")
    correction_importance_floor: float = _importance_floor_field(0.35, "corrections")
    identity_decay_modifier: float = _decay_modifier_field(0.50, "memories of who somebody is")
    identity_importance_floor: float = _importance_floor_field(0.35, "memories of who somebody is")
    preference_decay_modifier: float = _decay_modifier_field(0.80, "preferences")
    preference_importance_floor: float = _importance_floor_field(0.25, "preferences")
    fact_decay_modifier: float = _decay_modifier_field(0.70, "facts")
    fact_importance_floor: float = _importance_floor_field(0.30, "facts")
    project_decay_modifier: float = _decay_modifier_field(0.80, "memories of projects")
    project_importance_floor: float = _importance_floor_field(0.10, "memories of projects")
    event_decay_modifier: float = _decay_modifier_field(0.70, "events")
    event_importance_floor: float = _importance_floor_field(0.10, "events")
    context_decay_modifier: float = _decay_modifier_field(1.00, "memories of circumstances")
    context_importance_floor: float = _importance_floor_field(0.00, "memories of circumstances")
    tool_result_decay_modifier: float = _decay_modifier_field(1.00, "results of tools")
    tool_result_importance_floor: float = _importance_floor_field(0.00, "results of tools")
    summary_decay_modifier: float = _decay_modifier_field(0.70, "summaries")
    summary_importance_floor: float = _importance_floor_field(0.20, "summaries")


@dataclass(frozen=True, slots=True)
class Companion(DecaySection):
    """`[memory.companion]`: what profile `companion` has beside the four numbers above."""

    context_chars: int = setting_field(
        2000, "how many characters a prompt may take", low=0, high=1_000_000, profile="companion"
    )
    similarity_weight: float = _weight_field(
        0.5, "the likeness of a memory to the query", "companion"
    )
    importance_weight: float = _weight_field(0.2, "its strength", "companion")
    freshness_weight: float = _weight_field(0.3, "its freshness", "companion")
    correction_decay_modifier: float = _decay_modifier_field(0.50, "corrections", "companion")
    correction_importance_floor: float = _importance_floor_field(0.35, "corrections", "companion")
    fact_decay_modifier: float = _decay_modifier_field(0.70, "facts", "companion")
    fact_importance_floor: float = _importance_floor_field(0.30, "facts", "companion")
    preference_decay_modifier: float = _decay_modifier_field(0.80, "preferences", "companion")
    preference_importance_floor: float = _importance_floor_field(0.25, "preferences", "companion")
    context_decay_modifier: float = _decay_modifier_field(
        1.00, "memories of circumstances", "companion"
    )
    context_importance_floor: float = _importance_floor_field(
        0.10, "memories of circumstances", "companion"
    )
    tool_result_decay_modifier: float = _decay_modifier_field(1.00, "results of tools", "companion")
    tool_result_importance_floor: float = _importance_floor_field(
        0.10, "results of tools", "companion"
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """`[memory.facts]`: the numbers of profile `facts`."""

    auto_merge_threshold: float = setting_field(
        0.95, "the similarity from which a memory is updated", low=0.0, high=1.0, profile="facts"
    )
    arbitration_threshold: float = setting_field(
        0.85, "the similarity from which the arbitrator is asked", low=0.0, high=1.0,
        profile="facts",
    )  # fmt: skip
    arbitration_timeout_s: float = setting_field(
        30.0, "how long to wait for the arbitrator, in seconds", low=0.01, high=3600.0,
        profile="facts",
    )  # fmt: skip
    max_per_user: int = setting_field(
        1000, "how many active memories an owner has at most", low=1, high=1_000_000,
        profile="facts",
    )  # fmt: skip
    max_content_length: int = setting_field(
        500, "how many bytes a memory has at most", low=1, high=8000, profile="facts"
    )
    decay_interval_h: float = setting_field(
        1.0, "how often strengths are computed anew, in hours", low=0.01, high=8760.0,
        profile="facts",
    )  # fmt: skip
    preference_ttl_days: int = _ttl_field(90, "preferences")
    project_ttl_days: int = _ttl_field(60, "memories of projects")
    contextual_ttl_days: int = _ttl_field(30, "memories of circumstances")
    vector_weight: float = _weight_field(0.6, "the likeness of a memory to the query", "facts")
    text_weight: float = _weight_field(0.2, "the match of their words", "facts")
    decay_weight: float = _weight_field(0.2, "its strength", "facts")

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

    profile: str = setting_field(
        "standard",
        "how memories are made, found and forgotten, for new owners: standard, companion, facts,"
        " chunks, tiers, timeline, or one of your own",
    )
    enabled: bool = setting_field(True, "whether anything is written")
    enable_rag: bool = setting_field(True, "whether `context` says anything")
    enable_learning: bool = setting_field(
        True, "whether conversations are learned from, not only logged"
    )
    store: str = setting_field(
        "",
        "the file of the store, a relative path counting from the folder of the file it stands in;"
        " or a database, as postgresql://…",
        in_repr=False,
        default="`memolith/memory.db` in the user's data folder",
    )
    rag_limit: int = setting_field(
        5, "how many results `recall` returns (`top_k`)", low=1, high=100
    )
    token_budget: int = setting_field(
        2000, "how many tokens recalled texts and a prompt may take", low=0, high=1_000_000
    )
    # As long as an import's largest batch may hold the write lock on a slow disk: a guess.
    busy_timeout_s: float = setting_field(
        10.0, "how long to wait, in seconds, while another process writes", low=0.0, high=3600.0
    )
    # With a million memories of a thousand owners a process stays below 400 MB: an owner's index
    # takes about 1 KB a memory, and what is not asked for long is let go.
    index_cache_mb: int = setting_field(
        192, "how much memory, in MB, the search structures may take", low=1, high=1_000_000
    )
    rag_threshold: float = setting_field(
        0.5, "the similarity under which nothing is recalled", low=0.0, high=1.0, **_COMPANION_ONLY
    )
    merge_threshold: float = setting_field(
        0.85, "the similarity over which memories are merged", low=0.0, high=1.0, **_COMPANION_ONLY
    )
    min_importance: float = setting_field(
        0.1, "the strength under which memories fade", low=0.0, high=1.0, **_COMPANION_ONLY
    )
    decay_factor: float = setting_field(
        0.95, "what is left of a strength after a day", low=0.01, high=1.0, **_COMPANION_ONLY
    )
    worker: bool = setting_field(
        True,
        "whether a process with a language model learns in the background; if not, `memolith"
        " worker` does",
    )
    retention_days: int = setting_field(
        0,
        "after how many days what is no longer active, and conversations in which nothing was"
        " said, are removed for good; 0: never",
        low=0, high=100_000,
    )  # fmt: skip
    enable_encryption: bool = setting_field(
        True, "whether new stores are encrypted; what a store is, it stays"
    )
    encryption_key_path: str = setting_field(
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
