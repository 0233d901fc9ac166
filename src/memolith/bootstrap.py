"""Builds the application: reads settings, opens the store, and wires adapters to services."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from memolith import stores
from memolith.adapters.clock import SystemClock
from memolith.adapters.models.callables import (
    CallableChat,
    CallableEmbedder,
    CallableReranker,
    TimedArbitrator,
)
from memolith.adapters.models.factory import (
    build_chat_model,
    build_resilient_chat,
    build_service_embedder,
)
from memolith.adapters.models.local import LocalEmbedder, WordPieceCounter
from memolith.adapters.models.metering import MeteredChatProvider, UsageLimits
from memolith.adapters.models.resilience import ResilientChat
from memolith.adapters.models.sentence_transformers import CrossEncoderReranker
from memolith.config import LoadedSettings, Settings, load
from memolith.config.loading import parse_file_path
from memolith.config.profiles import ProfileRegistry, apply_embedder_thresholds
from memolith.config.settings import Chat
from memolith.domain.recall import DEFAULT_CONTEXT_TOP_K, DEFAULT_TOKEN_BUDGET
from memolith.errors import InvalidConfiguration, InvalidInput
from memolith.policies.merging import Verdict
from memolith.ports.cipher import CipherProvider
from memolith.ports.clock import Clock
from memolith.ports.models import (
    Arbitrator,
    ChatModel,
    Embedder,
    RemoteEmbedder,
    Reranker,
    TokenCounter,
)
from memolith.ports.service import Prices
from memolith.ports.store import Store
from memolith.profiles.model import Profile
from memolith.services.access import Access, AccessCounter
from memolith.services.audit import Auditor
from memolith.services.base_memory import BaseMemoryComposer, BaseMemoryRewriter, BaseMemoryService
from memolith.services.chat import ChatArbitrator, ChatModels, NoChatModel, UsageReporter
from memolith.services.compress import HistoryCompressor
from memolith.services.consolidate import Consolidator, MessageSummariser, SessionSummariser
from memolith.services.context import ContextBuilder
from memolith.services.extract import FactExtractor
from memolith.services.indexing import Indexer
from memolith.services.ingest import ChunkScorer, Ingester
from memolith.services.inspect import MemoryReader
from memolith.services.keys import ApiKeyService, KeyRotation
from memolith.services.learn import ConversationLearner
from memolith.services.lifecycle import MemoryEditor
from memolith.services.maintenance import Maintenance, Retention
from memolith.services.purge import Purger
from memolith.services.recall import Retriever
from memolith.services.remember import MemoryWriter
from memolith.services.review import ReviewQueue
from memolith.services.schedule import JobScheduler
from memolith.services.summarise import Summariser, SummaryWriter
from memolith.services.switch_profile import ProfileSwitcher
from memolith.services.transfer import OwnerTransfer
from memolith.services.verify import HealthProbe, StoreVerifier
from memolith.services.work import WorkResult, WorkRunner
from memolith.services.write import WritePipeline
from memolith.worker.background import BackgroundWorker


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dependencies that all services share.

    Attributes:
        access: The store, the clock, ids and profiles.
        indexer: Builds index entries.
        access_counter: Counts recalled memories.
        chat_models: The language model for each owner.
        compression_models: The model that compresses histories; may be the same model.
        reranker: Rescores search results; None: no reranking.
        find_arbitrator: Returns the arbitrator for an owner's near-duplicates; None: no arbitrator.
        on_pending: Called when learning work is pending; None: there is no language model.
    """

    access: Access
    indexer: Indexer
    access_counter: AccessCounter
    chat_models: ChatModels
    compression_models: ChatModels
    reranker: Reranker | None
    find_arbitrator: Callable[[str], Arbitrator | None]
    on_pending: Callable[[], None] | None


class Services:
    """All services of an open store, configured by the settings."""

    def __init__(self, dependencies: Dependencies, settings: Settings) -> None:
        access, indexer, models = (
            dependencies.access,
            dependencies.indexer,
            dependencies.chat_models,
        )
        write_pipeline = WritePipeline(access, indexer, dependencies.find_arbitrator)
        chunk_scorer = ChunkScorer(access, indexer)
        staging = SummaryWriter(access, indexer)
        summarising = Summariser(access, models, indexer)
        self.api_keys = ApiKeyService(access)
        self.usage_reporter = UsageReporter(access, prices(settings.chat))
        self.auditor = Auditor(access, indexer)
        self.base_memory = BaseMemoryService(access)
        self.memory_editor = MemoryEditor(access, indexer)
        self.ingester = Ingester(access, chunk_scorer, write_pipeline)
        self.memory_reader = MemoryReader(access)
        self.key_rotation = KeyRotation(access.store, indexer)
        self.maintenance = Maintenance(access)
        self.health_probe = HealthProbe(access, indexer)
        self.purger = Purger(access, indexer)
        self.memory_writer = MemoryWriter(access, write_pipeline)
        self.retention = Retention(access, indexer)
        self.review_queue = ReviewQueue(access, indexer, self.memory_editor)
        self.scheduler = JobScheduler(
            access, self.maintenance, self.retention, retention_days=settings.retention_days
        )
        self.profile_switcher = ProfileSwitcher(access, indexer)
        self.transfer = OwnerTransfer(access, indexer, write_pipeline)
        self.verifier = StoreVerifier(access, indexer)
        self.learner = ConversationLearner(
            access,
            indexer,
            write_pipeline,
            chunk_scorer,
            learn_memories=settings.enable_learning,
            on_pending=dependencies.on_pending,
        )
        self.retriever = Retriever(
            access,
            indexer,
            dependencies.access_counter,
            default_top_k=settings.rag_limit,
            reranker=dependencies.reranker,
        )
        self.context_builder = ContextBuilder(
            access,
            indexer,
            self.retriever,
            dependencies.access_counter,
            enabled=settings.enable_rag,
        )
        self.history_compressor = HistoryCompressor(
            access,
            staging,
            Summariser(access, dependencies.compression_models, indexer),
            self._context_for,
            context_window=settings.chat.context_window,
            max_failures=settings.timeline.max_failures_before_degrade,
        )
        self.consolidator = Consolidator(
            access,
            MessageSummariser(staging, summarising),
            SessionSummariser(staging, summarising),
            BaseMemoryRewriter(staging, BaseMemoryComposer(models, summarising)),
            has_model=dependencies.on_pending is not None,
        )
        self.work_runner = WorkRunner(
            access,
            FactExtractor(access, indexer, write_pipeline, models),
            self.consolidator,
            max_concurrency=settings.chat.calls_at_once,
        )

    def _context_for(self, owner_id: str, text: str) -> str:
        request = self.retriever.build_request(
            owner_id,
            text,
            top_k=None,
            default_top_k=DEFAULT_CONTEXT_TOP_K,
            token_budget=DEFAULT_TOKEN_BUDGET,
        )
        return self.context_builder.build(owner_id, request, touch=True).text


def prices(chat: Chat) -> Prices:
    """Return the configured token prices of the chat model."""
    return Prices(chat.input_price, chat.output_price)


# --- Application


@dataclass(frozen=True, slots=True)
class App:
    """An open store with its services, as used by `Memolith`."""

    store: Store
    services: Services
    access_counter: AccessCounter
    chat_models: MeteredChatProvider | NoChatModel
    background: BackgroundWorker
    closeables: tuple[ResilientChat | RemoteEmbedder, ...]

    def close(self) -> None:
        """Close everything; wait up to `DRAIN_S` seconds for model calls in progress."""
        with ExitStack() as ending:  # close the rest even if one is interrupted
            for each in reversed(
                (self.background, self.access_counter, self.store, *self.closeables)
            ):
                ending.callback(each.close)


def build_app(  # noqa: PLR0913 - the options of `Memolith.open`
    url: str | os.PathLike[str] | None,
    *,
    profile: str | Profile | None,
    embedder: Embedder | Callable[[list[str]], ArrayLike] | None,
    clock: Clock | None,
    tokens: TokenCounter | None,
    config: LoadedSettings | str | os.PathLike[str] | None,
    ciphers: CipherProvider | None = None,
    reranker: Reranker | Callable[[str, list[str]], Sequence[float]] | None = None,
    arbitrator: Arbitrator | Callable[[str, str], Verdict] | None = None,
    chat: ChatModel | Callable[[list[dict[str, str]]], str] | None = None,
    worker: bool | None = None,
) -> App:
    """Open a store and build its services; see `Memolith.open`."""
    custom_profiles = (
        () if profile is None or isinstance(profile, str) else (_require_profile(profile),)
    )
    loaded = load_settings(config, profile if isinstance(profile, str) else None)
    clock = clock or SystemClock()
    chosen = resolve_embedder(embedder, loaded.settings)
    settings = apply_embedder_thresholds(loaded, chosen.name).settings
    model = _resolve_chat(chat, settings)
    profiles = ProfileRegistry.from_settings(loaded, chosen.name, *custom_profiles)
    named = profile if isinstance(profile, str) else settings.profile
    default = custom_profiles[0].name if custom_profiles else named
    if default not in profiles:
        raise InvalidConfiguration(
            "profile", f"{default!r} is not one of {', '.join(profiles)}", loaded.origins["profile"]
        )
    store = stores.open_store(
        settings.store if url is None else stores.store_url(url), settings, ciphers
    )
    try:
        _check_embedder(store, chosen)
        access_counter = AccessCounter(store, clock)
        access = Access(store, clock, profiles, default, settings.enabled)
        indexer = Indexer(chosen, tokens or open_counter(settings), store)
        chat_models = _meter_model(model, store, clock, indexer.token_counter, settings)
        compression_model = _open_compression_model(settings) or model

        def work(stopped: Callable[[], bool]) -> Sequence[WorkResult]:
            return services.work_runner.run_due(stopped)

        background = BackgroundWorker(work)
        enable_worker = settings.worker if worker is None else worker
        dependencies = Dependencies(
            access=access,
            indexer=indexer,
            access_counter=access_counter,
            chat_models=chat_models,
            compression_models=_meter_model(
                compression_model, store, clock, indexer.token_counter, settings
            ),
            reranker=_resolve_reranker(reranker, settings),
            find_arbitrator=_build_arbitrator_lookup(
                _resolve_arbitrator(arbitrator, settings), chat_models, settings
            ),
            on_pending=_build_pending_callback(model, background, enable_worker=enable_worker),
        )
        services = Services(dependencies, settings)
    except BaseException:
        store.close()
        raise
    if model is not None and enable_worker:
        background.start()
    remote_embedder = chosen if embedder is None and isinstance(chosen, RemoteEmbedder) else None
    closeables = {
        id(each): each for each in (model, compression_model, remote_embedder) if each is not None
    }
    return App(store, services, access_counter, chat_models, background, tuple(closeables.values()))


def _require_profile(value: object) -> Profile:
    """Return the argument if it is a `Profile`.

    Raises:
        InvalidInput: It is neither a name nor a `Profile`.
    """
    if not isinstance(value, Profile):
        raise InvalidInput("profile", f"must be a name or a Profile, not {type(value).__name__}")
    return value


def load_settings(
    config: LoadedSettings | str | os.PathLike[str] | None, profile: str | None
) -> LoadedSettings:
    """Return already loaded settings unchanged, or load them from a file and the environment."""
    if isinstance(config, LoadedSettings):
        return config
    path = None if config is None else Path(config)
    return load(path, os.environ, {"profile": profile})


def resolve_embedder(
    embedder: Embedder | Callable[[list[str]], ArrayLike] | None, settings: Settings
) -> Embedder:
    """Return the embedder passed in, or else the configured one.

    Raises:
        InvalidInput: The argument is neither an `Embedder` nor a function.
        InvalidConfiguration: See `open_embedder`.
    """
    if embedder is None:
        return open_embedder(settings)
    if hasattr(embedder, "embed"):
        return embedder  # type: ignore[return-value] # any object with `embed` implements the port
    _require_callable("embedder", embedder)
    return CallableEmbedder(embedder)


def _require_callable(field: str, value: object) -> None:
    """Raise `InvalidInput` unless the argument is callable."""
    if not callable(value):
        raise InvalidInput(field, f"must be a port or a function, not {type(value).__name__}")


def _resolve_reranker(
    reranker: Reranker | Callable[[str, list[str]], Sequence[float]] | None, settings: Settings
) -> Reranker | None:
    """Return the reranker, or None if reranking is disabled; its model loads at first use."""
    if reranker is None:
        options = settings.chunks
        if not options.reranker_enabled:
            return None
        return CrossEncoderReranker(options.reranker_model)
    if hasattr(reranker, "score"):
        return reranker
    _require_callable("reranker", reranker)
    return CallableReranker(reranker)


def _resolve_arbitrator(
    arbitrator: Arbitrator | Callable[[str, str], Verdict] | None, settings: Settings
) -> Arbitrator | None:
    if arbitrator is None:
        return None
    if not hasattr(arbitrator, "arbitrate"):
        _require_callable("arbitrator", arbitrator)
    return _with_timeout(arbitrator, settings)


def _with_timeout(
    arbitrator: Arbitrator | Callable[[str, str], Verdict], settings: Settings
) -> Arbitrator:
    return TimedArbitrator(arbitrator, settings.facts.arbitration_timeout_s)


def _resolve_chat(
    chat: ChatModel | Callable[[list[dict[str, str]]], str] | None, settings: Settings
) -> ResilientChat | None:
    if chat is None:
        return open_chat(settings)
    if isinstance(chat, ResilientChat):  # has its own retries and timeouts
        return chat
    if hasattr(chat, "complete"):
        return build_resilient_chat(chat, settings.chat)  # type: ignore[arg-type] # has the method
    _require_callable("chat", chat)
    timeout_s = settings.chat.timeout_ms / 1000
    return build_resilient_chat(CallableChat(chat, timeout_s), settings.chat)


def open_chat(settings: Settings) -> ResilientChat | None:
    """Return the configured language model, or None; no request is made yet.

    Raises:
            InvalidConfiguration: The model's name, the API key or the client package is missing.
    """
    if settings.chat.provider == "none":
        return None  # avoids importing the model clients
    model = build_chat_model(settings.chat, os.environ)
    return None if model is None else build_resilient_chat(model, settings.chat)


def _open_compression_model(settings: Settings) -> ResilientChat | None:
    """Return the separate model for compressing histories, or None if none is configured."""
    timeline, chat = settings.timeline, settings.chat
    if not (timeline.consolidation_provider or timeline.consolidation_model):
        return None
    provider: Any = timeline.consolidation_provider or chat.provider
    compression_settings = replace(
        chat, provider=provider, model=timeline.consolidation_model or chat.model
    )
    return open_chat(replace(settings, chat=compression_settings))


def _build_arbitrator_lookup(
    custom: Arbitrator | None, models: MeteredChatProvider | NoChatModel, settings: Settings
) -> Callable[[str], Arbitrator | None]:
    """Return a lookup by owner: the arbitrator passed in, else the language model, else None."""

    def arbitrator(owner_id: str) -> Arbitrator | None:
        model = models.for_owner(owner_id)
        if custom is not None or model is None:
            return custom
        return _with_timeout(ChatArbitrator(model), settings)

    return arbitrator


def _build_pending_callback(
    model: ResilientChat | None, background: BackgroundWorker, *, enable_worker: bool
) -> Callable[[], None] | None:
    """Return the callback for pending learning work; None: there is no model."""
    if model is None:
        return None
    return background.wake if enable_worker else lambda: None


def _meter_model(
    model: ResilientChat | None,
    store: Store,
    clock: Clock,
    tokens: TokenCounter,
    settings: Settings,
) -> MeteredChatProvider | NoChatModel:
    """Return a provider that counts each owner's model calls in the store."""
    if model is None:
        return NoChatModel()
    chat = settings.chat
    return MeteredChatProvider(
        model,
        store.usage,
        clock,
        tokens,
        UsageLimits(chat.calls_per_hour, chat.tokens_per_hour),
        prices(chat),
    )


def open_embedder(settings: Settings) -> Embedder:
    """Return the configured embedder; its model is loaded or contacted at first use.

    Raises:
        InvalidConfiguration: The model does not exist or does not support the dimension; or a
            service's client package or API key is missing.
    """
    options = settings.embedding
    if options.provider != "local":
        return build_service_embedder(options, os.environ)
    local = LocalEmbedder(model_dir=_model_dir(settings))
    if options.dimension and options.dimension != local.dimension:
        raise InvalidConfiguration(
            "embedding.dimension",
            f"{local.name} has dimension {local.dimension}, not {options.dimension}",
        )
    return local


def open_counter(settings: Settings) -> TokenCounter:
    """Return the token counter of the local embedder."""
    return WordPieceCounter(model_dir=_model_dir(settings))


def _model_dir(settings: Settings) -> Path | None:
    options = settings.embedding
    if options.provider != "local" or options.model == "all-MiniLM-L6-v2":
        return None
    return parse_file_path(options.model, "embedding.model")


def _check_embedder(store: Store, embedder: Embedder) -> None:
    """Refuse a store with vectors of another model; later writes are checked too."""
    if store.meta.embedder is None:  # nothing to compare with
        dimension = None
    else:
        # Opening makes no requests: a remote embedder's dimension is checked once it is known.
        dimension = (
            embedder.known_dimension if isinstance(embedder, RemoteEmbedder) else embedder.dimension
        )
    store.expect_embedder(embedder.name, dimension)
