"""The one place that wires adapters to services; `stores` opens what they stand on."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memolith import stores
from memolith.adapters.clock import SystemClock
from memolith.config import LoadedSettings, Settings, load
from memolith.config.book import ProfileRegistry
from memolith.config.paths import parse_file_path
from memolith.config.thresholds import apply_embedder_thresholds
from memolith.errors import InvalidConfiguration, InvalidInput
from memolith.ports.embedder import RemoteEmbedder
from memolith.profiles.model import Profile
from memolith.services.access import Access
from memolith.services.indexing import Indexer
from memolith.services.models import NoChatModel
from memolith.services.touches import AccessCounter
from memolith.wiring import Dependencies, Services, prices
from memolith.workers.background import BackgroundWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from memolith.adapters.chat.metered import MeteredChatProvider
    from memolith.adapters.chat.steady import ResilientChat
    from memolith.policies.merging import Verdict
    from memolith.ports.arbitrator import Arbitrator
    from memolith.ports.chat import ChatModel
    from memolith.ports.cipher import CipherProvider
    from memolith.ports.clock import Clock
    from memolith.ports.embedder import Embedder
    from memolith.ports.reranker import Reranker
    from memolith.ports.store import Store
    from memolith.ports.tokens import TokenCounter
    from memolith.services.working import WorkResult


@dataclass(frozen=True, slots=True)
class App:
    """What an open `Memolith` consists of."""

    store: Store
    services: Services
    access_counter: AccessCounter
    chat_models: MeteredChatProvider | NoChatModel
    background: BackgroundWorker
    closeables: tuple[ResilientChat | RemoteEmbedder, ...]

    def close(self) -> None:
        """Let go of all that is held open; what a model was asked is waited for, some seconds."""
        with ExitStack() as ending:  # an interrupt of the waiting leaves nothing open
            for each in reversed(
                (self.background, self.access_counter, self.store, *self.closeables)
            ):
                ending.callback(each.close)


def build_app(  # noqa: PLR0913 - what `Memolith.open` takes
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
    """Open a store and put the services around it; see `Memolith.open`."""
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
            "profile", f"{default!r} is none of {', '.join(book)}", loaded.origins["profile"]
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
    """Return a profile of somebody's own making.

    Raises:
        InvalidInput: It is none.
    """
    if not isinstance(given, Profile):
        raise InvalidInput("profile", f"must be a name or a Profile, not {type(given).__name__}")
    return given


def load_settings(
    config: LoadedSettings | str | os.PathLike[str] | None, profile: str | None
) -> LoadedSettings:
    """Return the settings as they were loaded, or from a file and the environment."""
    if isinstance(config, LoadedSettings):
        return config
    path = None if config is None else Path(config)
    return load(path, os.environ, {"profile": profile})


def resolve_embedder(
    given: Embedder | Callable[[list[str]], ArrayLike] | None, settings: Settings
) -> Embedder:
    """Return the embedder that was given, or else the one that is configured.

    Raises:
        InvalidInput: What was given is neither a port nor a function.
        InvalidConfiguration: See `open_embedder`.
    """
    if given is None:
        return open_embedder(settings)
    if hasattr(given, "embed"):
        return given  # type: ignore[return-value] # an object with `embed` is the port
    _require_callable("embedder", given)
    from memolith.adapters.embedders.callable import CallableEmbedder

    return CallableEmbedder(given)


def _require_callable(field: str, given: object) -> None:
    """Refuse what is neither a port nor a function.

    Raises:
        InvalidInput: It is not.
    """
    if not callable(given):
        raise InvalidInput(field, f"must be a port or a function, not {type(given).__name__}")


def _resolve_reranker(
    given: Reranker | Callable[[str, list[str]], Sequence[float]] | None, settings: Settings
) -> Reranker | None:
    """Return what scores anew what was found, where something is to; its model loads later."""
    if given is None:
        own = settings.chunks
        if not own.reranker_enabled:
            return None
        from memolith.adapters.rerankers.cross_encoder import CrossEncoderReranker

        return CrossEncoderReranker(own.reranker_model)
    if hasattr(given, "score"):
        return given
    _require_callable("reranker", given)
    from memolith.adapters.rerankers.callable import CallableReranker

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
    from memolith.adapters.arbitrators.timed import TimedArbitrator

    return TimedArbitrator(arbitrator, settings.facts.arbitration_timeout_s)


def _resolve_chat(
    given: ChatModel | Callable[[list[dict[str, str]]], str] | None, settings: Settings
) -> ResilientChat | None:
    if given is None:
        return open_chat(settings)
    from memolith.adapters.chat.configured import build_resilient_chat
    from memolith.adapters.chat.steady import ResilientChat

    if isinstance(given, ResilientChat):  # with a care of its own
        return given
    if hasattr(given, "complete"):
        return build_resilient_chat(given, settings.chat)  # type: ignore[arg-type] # what has it is the port
    _require_callable("chat", given)
    from memolith.adapters.chat.callable import CallableChat

    timeout_s = settings.chat.timeout_ms / 1000
    return build_resilient_chat(CallableChat(given, timeout_s), settings.chat)


def open_chat(settings: Settings) -> ResilientChat | None:
    """Return the language model that is configured, None where none is; nothing is asked yet.

    Raises:
        InvalidConfiguration: The model's name, the key, or the service's client is missing.
    """
    if settings.chat.provider == "none":
        return None  # before anything of models is imported
    from memolith.adapters.chat.configured import build_chat_model, build_resilient_chat

    model = build_chat_model(settings.chat, os.environ)
    return None if model is None else build_resilient_chat(model, settings.chat)


def _open_compression_model(settings: Settings) -> ResilientChat | None:
    """Return the model that makes histories shorter, where that is another."""
    own, chat = settings.timeline, settings.chat
    if not (own.consolidation_provider or own.consolidation_model):
        return None
    provider = own.consolidation_provider or chat.provider
    chosen = replace(chat, provider=provider, model=own.consolidation_model or chat.model)
    return open_chat(replace(settings, chat=chosen))


def _build_arbitrator_lookup(
    given: Arbitrator | None, models: MeteredChatProvider | NoChatModel, settings: Settings
) -> Callable[[str], Arbitrator | None]:
    """Return who arbitrates for an owner: who was given, else the language model, else nobody."""

    def arbitrator(owner_id: str) -> Arbitrator | None:
        model = models.for_owner(owner_id)
        if given is not None or model is None:
            return given
        from memolith.services.asking import ChatArbitrator

        return _with_timeout(ChatArbitrator(model), settings)

    return arbitrator


def _build_pending_callback(
    model: ResilientChat | None, background: BackgroundWorker, *, works: bool
) -> Callable[[], None] | None:
    """Return what is called when something waits for a model; None: there is no model."""
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
    """Return a model whose calls are counted in the store, owner by owner."""
    if model is None:
        return NoChatModel()
    from memolith.adapters.chat.metered import MeteredChatProvider, UsageLimits

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
    """Return the embedder that is configured; its model loads, or is asked, at first use.

    Raises:
        InvalidConfiguration: There is no such model, or it has no vectors of that length; or a
            service's client or key is not there.
    """
    own = settings.embedding
    if own.provider != "local":
        from memolith.adapters.embedders.configured import build_service_embedder

        return build_service_embedder(own, os.environ)
    from memolith.adapters.embedders.local import LocalEmbedder

    local = LocalEmbedder(model_dir=_model_dir(settings))
    if own.dimension and own.dimension != local.dimension:
        raise InvalidConfiguration(
            "embedding.dimension",
            f"{local.name} has vectors of {local.dimension} numbers, not {own.dimension}",
        )
    return local


def open_counter(settings: Settings) -> TokenCounter:
    """Return the counter of the local embedder's word pieces."""
    from memolith.adapters.embedders.wordpiece import WordPieceCounter

    return WordPieceCounter(model_dir=_model_dir(settings))


def _model_dir(settings: Settings) -> Path | None:
    own = settings.embedding
    if own.provider != "local" or own.model == "all-MiniLM-L6-v2":
        return None
    return parse_file_path(own.model, "embedding.model")


def _check_embedder(store: Store, embedder: Embedder) -> None:
    """Refuse a store whose vectors are of another model, from now on too."""
    if store.meta.embedder is None:  # nothing is asked for which there is nothing to compare
        dimension = None
    else:
        # Opening asks no service: what only a service knows is compared when it has told it.
        dimension = (
            embedder.known_dimension if isinstance(embedder, RemoteEmbedder) else embedder.dimension
        )
    store.expect_embedder(embedder.name, dimension)
