"""Every setting, with its default, its range and a description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from memolith.profiles.chunks import ChunksSettings, chunks
from memolith.profiles.companion import CompanionSettings, companion
from memolith.profiles.facts import FactsSettings, facts
from memolith.profiles.model import Profile
from memolith.profiles.settings import DEFAULT_TOP_K, Count, TopK, describe
from memolith.profiles.standard import StandardSettings, standard
from memolith.profiles.tiers import TiersSettings, tiers
from memolith.profiles.timeline import TimelineSettings, timeline

PROFILE_BUILDERS: Mapping[str, Callable[[Any, int], Profile]] = {
    "standard": standard,
    "companion": companion,
    "facts": facts,
    "chunks": chunks,
    "tiers": tiers,
    "timeline": timeline,
}
"""The built-in profiles: each is built from its section of `Settings` and `rag_limit`."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """`[memory.postgres]`: the store in a PostgreSQL database, where `store` names one."""

    schema: Annotated[str, describe("the schema that the tables are in")] = "memolith"
    key_ring: Annotated[
        Literal["database", "file"],
        describe("where the key ring is: in a schema beside, or in the file beside the master key"),
    ] = "database"
    # Threads that recall at once on one machine: a guess.
    connections: Annotated[
        int,
        describe(
            "how many connections there are at most to read, and as many again to write",
            ge=1,
            le=1_000,
        ),
    ] = 8
    # As long as the largest import of a batch takes on a slow disk: a guess.
    statement_timeout_ms: Annotated[
        int,
        describe("after how long the server gives a statement up; 0: never", ge=0, le=86_400_000),
    ] = 60_000
    vectors_in_memory: Annotated[
        int,
        describe(
            "up to how many items of an owner their vectors are searched in memory, and in the"
            " database above",
            ge=0,
            le=1_000_000_000,
        ),
    ] = 131_072
    partitions: Annotated[
        int,
        describe(
            "into how many parts by owner the tables of a new store are parted; 0: none",
            ge=0,
            le=1_024,
        ),
    ] = 0
    half_precision: Annotated[
        bool, describe("whether a new store that is not encrypted keeps vectors in half precision")
    ] = True
    vector_index: Annotated[
        Literal["hnsw", "ivfflat", "none"],
        describe("which index of vectors `memolith db index` builds"),
    ] = "hnsw"
    ivfflat_lists: Annotated[
        int, describe("into how many lists `ivfflat` sorts", ge=1, le=32_768)
    ] = 100


@dataclass(frozen=True, slots=True)
class Vectors:
    """`[memory.vectors]`: what searches the vectors of a store in a file."""

    backend: Annotated[
        Literal["memory", "sqlite-vec", "chroma"],
        describe(
            "what searches the vectors of a store in a file: an index in memory, sqlite-vec in"
            " the file, or Chroma"
        ),
    ] = "memory"
    in_memory: Annotated[
        int,
        describe(
            "up to how many items of an owner they are searched in memory all the same, and not"
            " sent to Chroma",
            ge=0,
            le=1_000_000_000,
        ),
    ] = 0
    chroma_url: Annotated[
        str,
        describe(
            "where a Chroma server is, as http://127.0.0.1:8000",
            default_text="none: Chroma runs in this process",
        ),
    ] = field(default="", repr=False)
    chroma_path: Annotated[
        str,
        describe(
            "the folder of a Chroma in this process; a relative path counts from the folder of"
            " the configuration",
            default_text="beside the store, named like it with `-chroma`",
        ),
    ] = ""
    chroma_tenant: Annotated[str, describe("the server's tenant")] = "default_tenant"
    chroma_database: Annotated[str, describe("the tenant's database")] = "default_database"
    # A query takes milliseconds; 1,000 vectors to store some hundred: a guess.
    chroma_timeout_ms: Annotated[
        int, describe("how long to wait for an answer of the server", ge=1, le=600_000)
    ] = 5_000


@dataclass(frozen=True, slots=True)
class Device:
    """`[memory.device]`: what the service does for devices that listen and speak."""

    session: Annotated[str, describe("the conversation that is held with devices")] = "device"
    transcription_url: Annotated[
        str,
        describe(
            "the service that writes down what was said, with its `/v1`: any that speaks"
            " OpenAI's protocol",
            default_text="none: recordings are refused",
        ),
    ] = ""
    transcription_model: Annotated[str, describe("its model")] = "whisper-1"
    transcription_key_env: Annotated[
        str, describe("the environment variable that holds its key", default_text="it wants none")
    ] = ""
    transcription_timeout_ms: Annotated[
        int, describe("how long to wait for it", ge=1, le=3_600_000)
    ] = 60_000


@dataclass(frozen=True, slots=True)
class Serve:
    """`[memory.serve]`: the service."""

    host: Annotated[
        str, describe("the address to listen at; any but this machine's needs keys")
    ] = "127.0.0.1"
    port: Annotated[
        int, describe("the port to listen at; 0: one that is free", ge=0, le=65_535)
    ] = 8_377
    owner: Annotated[
        str,
        describe(
            "for whom everybody on this machine may call while there are no keys",
            default_text="the login name",
        ),
    ] = ""
    hosts: Annotated[
        str,
        describe(
            "the names under which the server may be called, with commas; `*`: any",
            default_text="this machine's, and `host`",
        ),
    ] = ""
    origins: Annotated[
        str,
        describe("pages that may call it from a browser, with commas: `https://app.example.org`"),
    ] = ""
    max_body_mb: Annotated[int, describe("how long a request may be, in MB", ge=1, le=10_000)] = 10
    requests_at_once: Annotated[
        int, describe("how many requests may be under way; more are refused", ge=1, le=100_000)
    ] = 128
    threads: Annotated[int, describe("how many requests are worked on at once", ge=1, le=1_000)] = (
        16
    )
    requests_per_minute: Annotated[
        int,
        describe("how many requests each key has in a minute; 0: no limit", ge=0, le=10_000_000),
    ] = 0
    processes: Annotated[
        int,
        describe(
            "how many processes serve together; the store must not be in memory", ge=1, le=256
        ),
    ] = 1
    trusted_proxies: Annotated[
        str,
        describe(
            "the addresses of reverse proxies, with commas, whose `X-Forwarded-For` says who"
            " calls; `*`: any",
            default_text="none: who connects is who calls",
        ),
    ] = ""
    read_only: Annotated[
        bool, describe("whether the service counts as ready where the store can't be written")
    ] = False
    drain_timeout_s: Annotated[
        float,
        describe(
            "how long to wait at the end for what is under way, in seconds", ge=0.0, le=3600.0
        ),
    ] = 10.0


@dataclass(frozen=True, slots=True)
class Proxy:
    """`[memory.proxy]`: the service as a chat service that remembers; it asks `[memory.chat]`."""

    memory_timeout_ms: Annotated[
        int, describe("how long the memory may keep a reply waiting", ge=1, le=60_000)
    ] = 300
    context_budget: Annotated[
        int,
        describe(
            "how many tokens of memory the model is told, at most a quarter of its context"
            " window; 0: nothing is told",
            ge=0,
            le=1_000_000,
        ),
    ] = 2_000
    compress: Annotated[
        bool, describe("whether a history that outgrows half of the context window is made shorter")
    ] = True
    durable: Annotated[
        bool,
        describe(
            "whether a reply ends only when it is kept, `memory_timeout_ms` later at the latest:"
            " then a process that is killed loses nothing that was answered"
        ),
    ] = True
    models: Annotated[
        str,
        describe(
            "the only models that may be asked for, with commas",
            default_text="any that the service has",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Embedding:
    """`[memory.embedding]`: what makes vectors of texts."""

    provider: Annotated[
        Literal["local", "ollama", "openai", "sentence-transformers"],
        describe("what computes the vectors"),
    ] = "local"
    model: Annotated[
        str,
        describe(
            "the model's name at the provider; for `local`, another is the folder of a model"
            " (`MEMOLITH_MODEL` sets it too)"
        ),
    ] = "all-MiniLM-L6-v2"
    dimension: Annotated[
        int,
        describe(
            "how many numbers of a vector are kept, where the model allows it; 0: all",
            ge=0,
            le=8_192,
            default_text="0: the model's own, 384 for the local one",
        ),
    ] = 0
    base_url: Annotated[
        str,
        describe(
            "where the service is; for `openai` with its `/v1`",
            default_text="the provider's own: OpenAI's, or `http://127.0.0.1:11434` for Ollama",
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        describe(
            "the environment variable that holds the service's key",
            default_text="`OPENAI_API_KEY` for OpenAI itself, else none",
        ),
    ] = ""
    api_key_file: Annotated[
        str,
        describe(
            "a file that holds the key, in the place of a variable; a relative path counts from"
            " the folder of the configuration"
        ),
    ] = ""
    timeout_ms: Annotated[
        int,
        describe(
            "how long to wait for an answer of a service; what failed sooner is tried again"
            " until then",
            ge=1,
            le=3_600_000,
        ),
    ] = 30_000
    # As many as a server of text-embeddings-inference takes where nobody has told it otherwise.
    batch_size: Annotated[
        int, describe("how many texts a service is sent at once", ge=1, le=2_048)
    ] = 32
    batch_chars: Annotated[
        int, describe("how many characters it is sent at once", ge=1, le=10_000_000)
    ] = 100_000


@dataclass(frozen=True, slots=True)
class Chat:
    """`[memory.chat]`: the language model, where there is one."""

    provider: Annotated[
        Literal["none", "openai", "ollama", "anthropic"],
        describe("what answers; `openai` is any service that speaks its protocol"),
    ] = "none"
    model: Annotated[str, describe("the model's name, as the service has it")] = ""
    base_url: Annotated[
        str,
        describe(
            "where the service is", default_text="OpenAI, Anthropic, or Ollama on this machine"
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        describe(
            "the environment variable that holds the key; as it stands here, Anthropic's is"
            " `ANTHROPIC_API_KEY`, and Ollama wants none"
        ),
    ] = "OPENAI_API_KEY"
    api_key_file: Annotated[
        str,
        describe(
            "a file that holds the key, in the place of a variable; a relative path counts from"
            " the folder of the configuration"
        ),
    ] = ""
    timeout_ms: Annotated[
        int,
        describe("how long to wait for a reply, or for the next piece of it", ge=1, le=3_600_000),
    ] = 60_000
    max_retries: Annotated[
        int, describe("how often a call that failed is made again", ge=0, le=20)
    ] = 2
    temperature: Annotated[
        float,
        describe("how much is left to chance; under 0: as the service has it", ge=-1.0, le=2.0),
    ] = -1.0
    calls_at_once: Annotated[int, describe("how many calls may be under way", ge=1, le=256)] = 4
    calls_per_hour: Annotated[
        int,
        describe(
            "how many calls an owner has in an hour, failed ones too; 0: no limit",
            ge=0,
            le=1_000_000_000,
        ),
    ] = 0
    tokens_per_hour: Annotated[
        int,
        describe(
            "how many tokens an owner has in an hour, asked and replied; 0: no limit",
            ge=0,
            le=1_000_000_000_000,
        ),
    ] = 0
    input_price: Annotated[
        float, describe("what a million tokens asked cost", ge=0.0, le=1_000_000.0)
    ] = 0.0
    output_price: Annotated[
        float, describe("what a million tokens replied cost", ge=0.0, le=1_000_000.0)
    ] = 0.0
    # What small models on one's own machine have room for without being told: a guess.
    context_window: Annotated[
        int,
        describe("how many tokens the model has room for; Ollama is told", ge=512, le=100_000_000),
    ] = 8_192


@dataclass(frozen=True, slots=True)
class Settings:
    """`[memory]`: everything that can be set."""

    profile: Annotated[
        str,
        describe(
            "how memories are made, found and forgotten, for new owners: standard, companion,"
            " facts, chunks, tiers, timeline, or one of your own"
        ),
    ] = "standard"
    enabled: Annotated[bool, describe("whether anything is written")] = True
    enable_rag: Annotated[bool, describe("whether `context` says anything")] = True
    enable_learning: Annotated[
        bool, describe("whether conversations are learned from, not only logged")
    ] = True
    store: Annotated[
        str,
        describe(
            "the file of the store, a relative path counting from the folder of the file it"
            " stands in; or a database, as postgresql://…",
            default_text="`memolith/memory.db` in the user's data folder",
        ),
    ] = field(default="", repr=False)
    rag_limit: Annotated[TopK, describe("how many results `recall` returns (`top_k`)")] = (
        DEFAULT_TOP_K
    )
    token_budget: Annotated[
        int, describe("how many tokens recalled texts and a prompt may take", ge=0, le=1_000_000)
    ] = 2_000
    # As long as an import's largest batch may hold the write lock on a slow disk: a guess.
    busy_timeout_s: Annotated[
        float,
        describe("how long to wait, in seconds, while another process writes", ge=0.0, le=3600.0),
    ] = 10.0
    # With a million memories of a thousand owners a process stays below 400 MB: an owner's index
    # takes about 1 KB a memory, and what is not asked for long is let go.
    index_cache_mb: Annotated[
        Count, describe("how much memory, in MB, the search structures may take")
    ] = 192
    worker: Annotated[
        bool,
        describe(
            "whether a process with a language model learns in the background; if not, `memolith"
            " worker` does"
        ),
    ] = True
    retention_days: Annotated[
        int,
        describe(
            "after how many days what is no longer active, and conversations in which nothing"
            " was said, are removed for good; 0: never",
            ge=0,
            le=100_000,
        ),
    ] = 0
    enable_encryption: Annotated[
        bool, describe("whether new stores are encrypted; what a store is, it stays")
    ] = True
    encryption_key_path: Annotated[
        str,
        describe(
            "the file of the master key, made with the first store; `MEMOLITH_KEY` goes before"
            " it; a relative path counts from the folder of the configuration",
            default_text="`memory_encryption.key` in the user's configuration folder",
        ),
    ] = "memory_encryption.key"
    postgres: Postgres = field(default_factory=Postgres)
    serve: Serve = field(default_factory=Serve)
    proxy: Proxy = field(default_factory=Proxy)
    vectors: Vectors = field(default_factory=Vectors)
    device: Device = field(default_factory=Device)
    embedding: Embedding = field(default_factory=Embedding)
    chat: Chat = field(default_factory=Chat)
    standard: StandardSettings = field(default_factory=StandardSettings)
    companion: CompanionSettings = field(default_factory=CompanionSettings)
    facts: FactsSettings = field(default_factory=FactsSettings)
    chunks: ChunksSettings = field(default_factory=ChunksSettings)
    tiers: TiersSettings = field(default_factory=TiersSettings)
    timeline: TimelineSettings = field(default_factory=TimelineSettings)
