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
        settling = WritePipeline(access, indexer, dependencies.find_arbitrator)
        weighing = ChunkScorer(access, indexer)
        staging = SummaryWriter(access, indexer)
        summarising = Summariser(access, models, indexer)
        self.api_keys = ApiKeyService(access)
        self.usage_reporter = UsageReporter(access, prices(settings.chat))
        self.auditor = Auditor(access, indexer)
        self.base_memory = BaseMemoryService(access)
        self.memory_editor = MemoryEditor(access, indexer)
        self.ingester = Ingester(access, weighing, settling)
        self.memory_reader = MemoryReader(access)
        self.key_rotation = KeyRotation(access.store, indexer)
        self.maintenance = Maintenance(access)
        self.health_probe = HealthProbe(access, indexer)
        self.purger = Purger(access, indexer)
        self.memory_writer = MemoryWriter(access, settling)
        self.retention = Retention(access, indexer)
        self.review_queue = ReviewQueue(access, indexer, self.memory_editor)
        self.scheduler = JobScheduler(
            access, self.maintenance, self.retention, retention_days=settings.retention_days
        )
        self.profile_switcher = ProfileSwitcher(access, indexer)
        self.transfer = OwnerTransfer(access, indexer, settling)
        self.verifier = StoreVerifier(access, indexer)
        self.learner = ConversationLearner(
            access,
            indexer,
            settling,
            weighing,
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
            FactExtractor(access, indexer, settling, models),
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
    own = () if profile is None or isinstance(profile, str) else (_require_profile(profile),)
    loaded = load_settings(config, profile if isinstance(profile, str) else None)
    clock = clock or SystemClock()
    chosen = resolve_embedder(embedder, loaded.settings)
    settings = apply_embedder_thresholds(loaded, chosen.name).settings
    model = _resolve_chat(chat, settings)
    book = ProfileRegistry.from_settings(loaded, chosen.name, *own)
    named = profile if isinstance(profile, str) else settings.profile
    default = own[0].name if own else named
    if default not in book:
        raise InvalidConfiguration(
            "profile", f"{default!r} is not one of {', '.join(book)}", loaded.origins["profile"]
        )
    store = stores.open_store(
        settings.store if url is None else stores.store_url(url), settings, ciphers
    )
    try:
        _check_embedder(store, chosen)
        touches = AccessCounter(store, clock)
        access = Access(store, clock, book, default, settings.enabled)
        indexer = Indexer(chosen, tokens or open_counter(settings), store)
        models = _meter_model(model, store, clock, indexer.token_counter, settings)
        condenser = _open_compression_model(settings) or model

        def work(stopped: Callable[[], bool]) -> Sequence[WorkResult]:
            return made.work_runner.run_due(stopped)

        background = BackgroundWorker(work)
        works = settings.worker if worker is None else worker
        ground = Dependencies(
            access=access,
            indexer=indexer,
            access_counter=touches,
            chat_models=models,
            compression_models=_meter_model(
                condenser, store, clock, indexer.token_counter, settings
            ),
            reranker=_resolve_reranker(reranker, settings),
            find_arbitrator=_build_arbitrator_lookup(
                _resolve_arbitrator(arbitrator, settings), models, settings
            ),
            on_pending=_build_pending_callback(model, background, works=works),
        )
        made = Services(ground, settings)
    except BaseException:
        store.close()
        raise
    if model is not None and works:
        background.start()
    asked = chosen if embedder is None and isinstance(chosen, RemoteEmbedder) else None
    closing = {id(each): each for each in (model, condenser, asked) if each is not None}
    return App(store, made, touches, models, background, tuple(closing.values()))


def _require_profile(given: object) -> Profile:
    """Return the argument if it is a `Profile`.

    Raises:
        InvalidInput: It is neither a name nor a `Profile`.
    """
    if not isinstance(given, Profile):
        raise InvalidInput("profile", f"must be a name or a Profile, not {type(given).__name__}")
    return given


def load_settings(
    config: LoadedSettings | str | os.PathLike[str] | None, profile: str | None
) -> LoadedSettings:
    """Return already loaded settings unchanged, or load them from a file and the environment."""
    if isinstance(config, LoadedSettings):
        return config
    path = None if config is None else Path(config)
    return load(path, os.environ, {"profile": profile})


def resolve_embedder(
    given: Embedder | Callable[[list[str]], ArrayLike] | None, settings: Settings
) -> Embedder:
    """Return the embedder passed in, or else the configured one.

    Raises:
        InvalidInput: The argument is neither an `Embedder` nor a function.
        InvalidConfiguration: See `open_embedder`.
    """
    if given is None:
        return open_embedder(settings)
    if hasattr(given, "embed"):
        return given  # type: ignore[return-value] # any object with `embed` implements the port
    _require_callable("embedder", given)
    return CallableEmbedder(given)


def _require_callable(field: str, given: object) -> None:
    """Raise `InvalidInput` unless the argument is callable."""
    if not callable(given):
        raise InvalidInput(field, f"must be a port or a function, not {type(given).__name__}")


def _resolve_reranker(
    given: Reranker | Callable[[str, list[str]], Sequence[float]] | None, settings: Settings
) -> Reranker | None:
    """Return the reranker, or None if reranking is disabled; its model loads at first use."""
    if given is None:
        own = settings.chunks
        if not own.reranker_enabled:
            return None
        return CrossEncoderReranker(own.reranker_model)
    if hasattr(given, "score"):
        return given
    _require_callable("reranker", given)
    return CallableReranker(given)


def _resolve_arbitrator(
    given: Arbitrator | Callable[[str, str], Verdict] | None, settings: Settings
) -> Arbitrator | None:
    if given is None:
        return None
    if not hasattr(given, "arbitrate"):
        _require_callable("arbitrator", given)
    return _with_timeout(given, settings)


def _with_timeout(
    arbitrator: Arbitrator | Callable[[str, str], Verdict], settings: Settings
) -> Arbitrator:
    return TimedArbitrator(arbitrator, settings.facts.arbitration_timeout_s)


def _resolve_chat(
    given: ChatModel | Callable[[list[dict[str, str]]], str] | None, settings: Settings
) -> ResilientChat | None:
    if given is None:
        return open_chat(settings)
    if isinstance(given, ResilientChat):  # has its own retries and timeouts
        return given
    if hasattr(given, "complete"):
        return build_resilient_chat(given, settings.chat)  # type: ignore[arg-type] # has the method
    _require_callable("chat", given)
    timeout_s = settings.chat.timeout_ms / 1000
    return build_resilient_chat(CallableChat(given, timeout_s), settings.chat)


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
    own, chat = settings.timeline, settings.chat
    if not (own.consolidation_provider or own.consolidation_model):
        return None
    provider: Any = own.consolidation_provider or chat.provider
    chosen = replace(chat, provider=provider, model=own.consolidation_model or chat.model)
    return open_chat(replace(settings, chat=chosen))


def _build_arbitrator_lookup(
    given: Arbitrator | None, models: MeteredChatProvider | NoChatModel, settings: Settings
) -> Callable[[str], Arbitrator | None]:
    """Return a lookup by owner: the arbitrator passed in, else the language model, else None."""

    def arbitrator(owner_id: str) -> Arbitrator | None:
        model = models.for_owner(owner_id)
        if given is not None or model is None:
            return given
        return _with_timeout(ChatArbitrator(model), settings)

    return arbitrator


def _build_pending_callback(
    model: ResilientChat | None, background: BackgroundWorker, *, works: bool
) -> Callable[[], None] | None:
    """Return the callback for pending learning work; None: there is no model."""
    if model is None:
        return None
    return background.wake if works else lambda: None


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
    own = settings.chat
    return MeteredChatProvider(
        model,
        store.usage,
        clock,
        tokens,
        UsageLimits(own.calls_per_hour, own.tokens_per_hour),
        prices(own),
    )


def open_embedder(settings: Settings) -> Embedder:
    """Return the configured embedder; its model is loaded or contacted at first use.

    Raises:
        InvalidConfiguration: The model does not exist or does not support the dimension; or a
            service's client package or API key is missing.
    """
    own = settings.embedding
    if own.provider != "local":
        return build_service_embedder(own, os.environ)
    local = LocalEmbedder(model_dir=_model_dir(settings))
    if own.dimension and own.dimension != local.dimension:
        raise InvalidConfiguration(
            "embedding.dimension",
            f"{local.name} has dimension {local.dimension}, not {own.dimension}",
        )
    return local


def open_counter(settings: Settings) -> TokenCounter:
    """Return the token counter of the local embedder."""
    return WordPieceCounter(model_dir=_model_dir(settings))


def _model_dir(settings: Settings) -> Path | None:
    own = settings.embedding
    if own.provider != "local" or own.model == "all-MiniLM-L6-v2":
        return None
    return parse_file_path(own.model, "embedding.model")


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
