"""All settings, with their defaults, ranges and descriptions."""

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
"""The built-in profiles by name. A builder takes the profile's section of `Settings` and
`rag_limit`.
"""


@dataclass(frozen=True, slots=True)
class Postgres:
    """`[memory.postgres]`: the store in a PostgreSQL database."""

    schema: Annotated[str, describe("schema that contains the tables")] = "memolith"
    key_ring: Annotated[
        Literal["database", "file"],
        describe(
            "where the key ring is stored: in a separate schema of the database, or in a "
            "file next to the master key"
        ),
    ] = "database"
    # A guess at the number of threads that recall concurrently on one machine.
    connections: Annotated[
        int,
        describe(
            "maximum number of read connections; as many more are used for writing",
            ge=1,
            le=1_000,
        ),
    ] = 8
    # A guess at how long the largest import batch takes on a slow disk.
    statement_timeout_ms: Annotated[
        int,
        describe("time after which the server cancels a statement; 0: never", ge=0, le=86_400_000),
    ] = 60_000
    vectors_in_memory: Annotated[
        int,
        describe(
            "up to this many items per owner, vectors are searched in memory; above it, in "
            "the database",
            ge=0,
            le=1_000_000_000,
        ),
    ] = 131_072
    partitions: Annotated[
        int,
        describe(
            "number of partitions by owner for the tables of a new store; 0: not partitioned",
            ge=0,
            le=1_024,
        ),
    ] = 0
    half_precision: Annotated[
        bool, describe("store vectors in half precision, in new stores that are not encrypted")
    ] = True
    vector_index: Annotated[
        Literal["hnsw", "ivfflat", "none"],
        describe("vector index that `memolith db index` builds"),
    ] = "hnsw"
    ivfflat_lists: Annotated[
        int, describe("number of lists of an `ivfflat` index", ge=1, le=32_768)
    ] = 100


@dataclass(frozen=True, slots=True)
class Vectors:
    """`[memory.vectors]`: vector search for a store in a file."""

    backend: Annotated[
        Literal["memory", "sqlite-vec", "chroma"],
        describe(
            "vector search for a store in a file: an index in memory, sqlite-vec in the "
            "file, or Chroma"
        ),
    ] = "memory"
    in_memory: Annotated[
        int,
        describe(
            "up to this many items per owner, vectors are searched in memory and not sent "
            "to Chroma",
            ge=0,
            le=1_000_000_000,
        ),
    ] = 0
    chroma_url: Annotated[
        str,
        describe(
            "URL of a Chroma server, as http://127.0.0.1:8000",
            default_text="none: Chroma runs in this process",
        ),
    ] = field(default="", repr=False)
    chroma_path: Annotated[
        str,
        describe(
            "folder for Chroma in this process; a relative path is resolved against the "
            "folder of the configuration",
            default_text="next to the store, with the store's name and `-chroma`",
        ),
    ] = ""
    chroma_tenant: Annotated[str, describe("tenant on the Chroma server")] = "default_tenant"
    chroma_database: Annotated[str, describe("database of the tenant")] = "default_database"
    # A guess: a query takes milliseconds, storing 1,000 vectors some hundred.
    chroma_timeout_ms: Annotated[
        int, describe("timeout for a response of the Chroma server", ge=1, le=600_000)
    ] = 5_000


@dataclass(frozen=True, slots=True)
class Device:
    """`[memory.device]`: the API for voice devices."""

    session: Annotated[str, describe("session id of conversations with devices")] = "device"
    transcription_url: Annotated[
        str,
        describe(
            "base URL of a transcription service with an OpenAI-compatible API, including `/v1`",
            default_text="none: recordings are rejected",
        ),
    ] = ""
    transcription_model: Annotated[str, describe("transcription model")] = "whisper-1"
    transcription_key_env: Annotated[
        str,
        describe(
            "environment variable that holds the API key of the transcription service",
            default_text="no key",
        ),
    ] = ""
    transcription_timeout_ms: Annotated[
        int, describe("timeout for a transcription", ge=1, le=3_600_000)
    ] = 60_000


@dataclass(frozen=True, slots=True)
class Serve:
    """`[memory.serve]`: the HTTP service."""

    host: Annotated[
        str, describe("address to listen on; any other than the loopback address requires API keys")
    ] = "127.0.0.1"
    port: Annotated[int, describe("port to listen on; 0: any free port", ge=0, le=65_535)] = 8_377
    owner: Annotated[
        str,
        describe(
            "owner for requests from this machine while there are no API keys",
            default_text="the login name",
        ),
    ] = ""
    hosts: Annotated[
        str,
        describe(
            "accepted `Host` names, separated by commas; `*`: any",
            default_text="this machine's names, and `host`",
        ),
    ] = ""
    origins: Annotated[
        str,
        describe(
            "origins allowed to call the API from a browser, separated by commas: "
            "`https://app.example.org`"
        ),
    ] = ""
    max_body_mb: Annotated[
        int, describe("maximum size of a request body, in MB", ge=1, le=10_000)
    ] = 10
    requests_at_once: Annotated[
        int,
        describe(
            "maximum number of concurrent requests; further requests are rejected", ge=1, le=100_000
        ),
    ] = 128
    threads: Annotated[int, describe("number of worker threads", ge=1, le=1_000)] = 16
    requests_per_minute: Annotated[
        int,
        describe("requests per minute for each API key; 0: no limit", ge=0, le=10_000_000),
    ] = 0
    processes: Annotated[
        int,
        describe(
            "number of server processes; more than one require a store that is not in memory",
            ge=1,
            le=256,
        ),
    ] = 1
    trusted_proxies: Annotated[
        str,
        describe(
            "addresses of reverse proxies, separated by commas, whose `X-Forwarded-For` is "
            "trusted; `*`: any",
            default_text="none: the client address is that of the connection",
        ),
    ] = ""
    read_only: Annotated[
        bool, describe("report the service as ready even if the store is not writable")
    ] = False
    drain_timeout_s: Annotated[
        float,
        describe("at shutdown, time to wait for running requests, in seconds", ge=0.0, le=3600.0),
    ] = 10.0


@dataclass(frozen=True, slots=True)
class Proxy:
    """`[memory.proxy]`: the chat proxy, which calls the model of `[memory.chat]`."""

    memory_timeout_ms: Annotated[
        int, describe("maximum delay that memory may add to a reply", ge=1, le=60_000)
    ] = 300
    context_budget: Annotated[
        int,
        describe(
            "token budget for recalled memories in a prompt, at most a quarter of the "
            "model's context window; 0: none are inserted",
            ge=0,
            le=1_000_000,
        ),
    ] = 2_000
    compress: Annotated[
        bool, describe("compress a history that exceeds half of the context window")
    ] = True
    durable: Annotated[
        bool,
        describe(
            "end a reply only after the exchange is stored, or after `memory_timeout_ms`: a "
            "killed process then loses no answered exchange"
        ),
    ] = True
    models: Annotated[
        str,
        describe(
            "models that clients may request, separated by commas",
            default_text="any model of the service",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Embedding:
    """`[memory.embedding]`: the embedding model."""

    provider: Annotated[
        Literal["local", "ollama", "openai", "sentence-transformers"],
        describe("embedding provider"),
    ] = "local"
    model: Annotated[
        str,
        describe(
            "name of the model at the provider; for `local`, any other model is given as a "
            "folder (`MEMOLITH_MODEL` sets it too)"
        ),
    ] = "all-MiniLM-L6-v2"
    dimension: Annotated[
        int,
        describe(
            "number of leading dimensions to keep, for models that support truncation; 0: all",
            ge=0,
            le=8_192,
            default_text="0: the model's own, 384 for the local one",
        ),
    ] = 0
    base_url: Annotated[
        str,
        describe(
            "base URL of the service; for `openai`, including `/v1`",
            default_text="the provider's own: OpenAI's, or `http://127.0.0.1:11434` for Ollama",
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        describe(
            "environment variable that holds the API key",
            default_text="`OPENAI_API_KEY` for OpenAI itself, otherwise none",
        ),
    ] = ""
    api_key_file: Annotated[
        str,
        describe(
            "file that holds the API key, instead of a variable; a relative path is "
            "resolved against the folder of the configuration"
        ),
    ] = ""
    timeout_ms: Annotated[
        int,
        describe(
            "timeout for a response of the service, including retries",
            ge=1,
            le=3_600_000,
        ),
    ] = 30_000
    # The default limit of text-embeddings-inference.
    batch_size: Annotated[int, describe("maximum number of texts per request", ge=1, le=2_048)] = 32
    batch_chars: Annotated[
        int, describe("maximum number of characters per request", ge=1, le=10_000_000)
    ] = 100_000


@dataclass(frozen=True, slots=True)
class Chat:
    """`[memory.chat]`: the language model."""

    provider: Annotated[
        Literal["none", "openai", "ollama", "anthropic"],
        describe("chat provider; `openai` is any service with an OpenAI-compatible API"),
    ] = "none"
    model: Annotated[str, describe("name of the model at the provider")] = ""
    base_url: Annotated[
        str,
        describe(
            "base URL of the service", default_text="OpenAI, Anthropic, or Ollama on this machine"
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        describe(
            "environment variable that holds the API key; with the default, Anthropic uses "
            "`ANTHROPIC_API_KEY` and Ollama no key"
        ),
    ] = "OPENAI_API_KEY"
    api_key_file: Annotated[
        str,
        describe(
            "file that holds the API key, instead of a variable; a relative path is "
            "resolved against the folder of the configuration"
        ),
    ] = ""
    timeout_ms: Annotated[
        int,
        describe(
            "timeout for a reply, or for the next part of a streamed reply", ge=1, le=3_600_000
        ),
    ] = 60_000
    max_retries: Annotated[int, describe("number of retries after a failed call", ge=0, le=20)] = 2
    temperature: Annotated[
        float,
        describe("sampling temperature; below 0: the default of the service", ge=-1.0, le=2.0),
    ] = -1.0
    calls_at_once: Annotated[int, describe("maximum number of concurrent calls", ge=1, le=256)] = 4
    calls_per_hour: Annotated[
        int,
        describe(
            "calls per owner and hour, including failed calls; 0: no limit",
            ge=0,
            le=1_000_000_000,
        ),
    ] = 0
    tokens_per_hour: Annotated[
        int,
        describe(
            "input and output tokens per owner and hour; 0: no limit",
            ge=0,
            le=1_000_000_000_000,
        ),
    ] = 0
    input_price: Annotated[
        float, describe("price of a million input tokens", ge=0.0, le=1_000_000.0)
    ] = 0.0
    output_price: Annotated[
        float, describe("price of a million output tokens", ge=0.0, le=1_000_000.0)
    ] = 0.0
    # A guess at the default context window of small local models.
    context_window: Annotated[
        int,
        describe(
            "context window of the model, in tokens; passed on to Ollama", ge=512, le=100_000_000
        ),
    ] = 8_192


@dataclass(frozen=True, slots=True)
class Settings:
    """`[memory]`: all settings."""

    profile: Annotated[
        str,
        describe(
            "profile of new owners: standard, companion, facts, chunks, tiers, timeline, or "
            "a custom one"
        ),
    ] = "standard"
    enabled: Annotated[bool, describe("write to the store")] = True
    enable_rag: Annotated[bool, describe("return memories from `context`")] = True
    enable_learning: Annotated[
        bool, describe("learn from conversations, in addition to logging them")
    ] = True
    store: Annotated[
        str,
        describe(
            "file of the store, or a database URL such as postgresql://…; a relative path "
            "is resolved against the folder of the file that sets it",
            default_text="`memolith/memory.db` in the user's data folder",
        ),
    ] = field(default="", repr=False)
    rag_limit: Annotated[TopK, describe("default number of results of `recall` (`top_k`)")] = (
        DEFAULT_TOP_K
    )
    token_budget: Annotated[
        int, describe("token budget for recalled texts and for prompt context", ge=0, le=1_000_000)
    ] = 2_000
    # A guess at how long the largest import batch holds the write lock on a slow disk.
    busy_timeout_s: Annotated[
        float,
        describe("time to wait for another process that writes, in seconds", ge=0.0, le=3600.0),
    ] = 10.0
    # Keeps a process below 400 MB with a million memories of a thousand owners: an index takes
    # about 1 KB per memory, and indexes of idle owners are evicted.
    index_cache_mb: Annotated[Count, describe("memory limit for the search indexes, in MB")] = 192
    worker: Annotated[
        bool,
        describe(
            "learn in the background in any process with a language model; if false, only "
            "`memolith worker` does"
        ),
    ] = True
    retention_days: Annotated[
        int,
        describe(
            "days after which inactive memories and idle conversations are deleted "
            "permanently; 0: never",
            ge=0,
            le=100_000,
        ),
    ] = 0
    enable_encryption: Annotated[
        bool, describe("encrypt new stores; existing stores do not change")
    ] = True
    encryption_key_path: Annotated[
        str,
        describe(
            "file of the master key, created with the first store; `MEMOLITH_KEY` takes "
            "precedence; a relative path is resolved against the folder of the "
            "configuration",
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
