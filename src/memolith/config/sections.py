"""PostgreSQL's section, that of vectors, and those of `chunks`, `tiers` and `timeline`."""

from __future__ import annotations

from dataclasses import dataclass
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
