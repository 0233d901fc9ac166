"""The use cases, put together: which of them needs what.

Each is imported and made when it is first asked for: a program that recalls something need not wait
for what learns, imports or consolidates.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from memolith.domain.recall import CONTEXT_TOP_K, TOKEN_BUDGET
from memolith.ports.usage import Prices
from memolith.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.config import Settings
    from memolith.config.settings import Chat
    from memolith.ports.arbitrator import Arbitrator
    from memolith.ports.reranker import Reranker
    from memolith.services.access import Access
    from memolith.services.api_keys import ApiKeyKeeping
    from memolith.services.audit import Auditing
    from memolith.services.base_memory import BaseMemoryKeeping
    from memolith.services.change import Changing
    from memolith.services.compressing import Compressing
    from memolith.services.consolidation.running import Consolidating
    from memolith.services.consolidation.staging import Staging
    from memolith.services.context import Contexts
    from memolith.services.indexing import Indexer
    from memolith.services.ingest import Ingesting
    from memolith.services.inspect import Inspecting
    from memolith.services.keys import KeyRotation
    from memolith.services.learn import Learning
    from memolith.services.maintain import Maintaining
    from memolith.services.models import Models
    from memolith.services.probing import Probing
    from memolith.services.purge import Purging
    from memolith.services.recall import Recalling
    from memolith.services.remember import Remembering
    from memolith.services.retain import Retaining
    from memolith.services.review import Reviewing
    from memolith.services.scheduling import Scheduling
    from memolith.services.settling import Settling
    from memolith.services.spending import Accounting
    from memolith.services.summarising import Summarising
    from memolith.services.switching import Switching
    from memolith.services.touches import Touches
    from memolith.services.transfer import Transferring
    from memolith.services.verify import Verifying
    from memolith.services.weighing import Weighing
    from memolith.services.working import Working

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ground:
    """What all use cases stand on.

    Attributes:
        access: The way to the memories.
        indexer: Makes index entries.
        touches: Counts what was recalled.
        models: The language model, by owner.
        condensers: The one that makes histories shorter, which may be another.
        reranker: Scores anew what was found, where something does.
        arbitrators: Who tells what becomes of a memory near to a known one, by owner.
        awaits: Called when something waits for a model; None: there is none.
    """

    access: Access
    indexer: Indexer
    touches: Touches
    models: Models
    condensers: Models
    reranker: Reranker | None
    arbitrators: Callable[[str], Arbitrator | None]
    awaits: Callable[[], None] | None


class _once(Generic[T]):  # noqa: N801 - a decorator, as `property` is
    """A property that is made at first need, once, whoever asks at the same time."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, services: None, owner: type) -> _once[T]: ...
    @overload
    def __get__(self, services: Services, owner: type) -> T: ...
    def __get__(self, services: Services | None, owner: type) -> _once[T] | T:
        if services is None:
            return self
        with services.lock:
            if self._name not in services.__dict__:
                services.__dict__[self._name] = self._make(services)
        made: T = services.__dict__[self._name]
        return made


class Services:
    """The use cases that the doors call, as the settings have them."""

    def __init__(self, ground: Ground, settings: Settings) -> None:
        """Take what they stand on; nothing is made yet."""
        self._ground = ground
        self._settings = settings
        self._access, self._indexer = ground.access, ground.indexer
        self.lock = threading.RLock()

    @_once
    def api_keys(self) -> ApiKeyKeeping:
        """Who may call."""
        from memolith.services.api_keys import ApiKeyKeeping

        return ApiKeyKeeping(self._access)

    @_once
    def base_memory(self) -> BaseMemoryKeeping:
        """The description of an owner."""
        from memolith.services.base_memory import BaseMemoryKeeping

        return BaseMemoryKeeping(self._access)

    @_once
    def maintaining(self) -> Maintaining:
        """Decay, cleanup, expiry."""
        from memolith.services.maintain import Maintaining

        return Maintaining(self._access)

    @_once
    def retaining(self) -> Retaining:
        """Keeping for so many days."""
        from memolith.services.retain import Retaining

        return Retaining(self._access, self._indexer)

    @_once
    def switching(self) -> Switching:
        """Changing an owner's profile."""
        from memolith.services.switching import Switching

        return Switching(self._access, self._indexer)

    @_once
    def remembering(self) -> Remembering:
        """Storing what one is told to."""
        from memolith.services.remember import Remembering

        return Remembering(self._access, self._settling)

    @_once
    def changing(self) -> Changing:
        """A memory's life."""
        from memolith.services.change import Changing

        return Changing(self._access, self._indexer)

    @_once
    def inspecting(self) -> Inspecting:
        """Reading what is there."""
        from memolith.services.inspect import Inspecting

        return Inspecting(self._access)

    @_once
    def ingesting(self) -> Ingesting:
        """Storing texts."""
        from memolith.services.ingest import Ingesting

        return Ingesting(self._access, self._weighing, self._settling)

    @_once
    def transferring(self) -> Transferring:
        """Export and import."""
        from memolith.services.transfer import Transferring

        return Transferring(self._access, self._indexer, self._settling)

    @_once
    def keys(self) -> KeyRotation:
        """New keys for old."""
        from memolith.services.keys import KeyRotation

        return KeyRotation(self._access.store, self._indexer)

    @_once
    def probing(self) -> Probing:
        """Seeing whether all that is needed is there."""
        from memolith.services.probing import Probing

        return Probing(self._access, self._indexer)

    @_once
    def purging(self) -> Purging:
        """Removing for good."""
        from memolith.services.purge import Purging

        return Purging(self._access, self._indexer)

    @_once
    def verifying(self) -> Verifying:
        """Reading everything."""
        from memolith.services.verify import Verifying

        return Verifying(self._access, self._indexer)

    @_once
    def reviewing(self) -> Reviewing:
        """What is withheld."""
        from memolith.services.review import Reviewing

        return Reviewing(self._access, self._indexer, self.changing)

    @_once
    def recalling(self) -> Recalling:
        """Finding."""
        from memolith.services.recall import Recalling

        return Recalling(
            self._access,
            self._indexer,
            self._ground.touches,
            limit=self._settings.rag_limit,
            reranker=self._ground.reranker,
        )

    @_once
    def contexts(self) -> Contexts:
        """Making prompts."""
        from memolith.services.context import Contexts

        return Contexts(
            self._access,
            self._indexer,
            self.recalling,
            self._ground.touches,
            enabled=self._settings.enable_rag,
        )

    @_once
    def scheduling(self) -> Scheduling:
        """What is due from time to time."""
        from memolith.services.scheduling import Scheduling

        days = self._settings.retention_days
        return Scheduling(self._access, self.maintaining, self.retaining, retention_days=days)

    @_once
    def learning(self) -> Learning:
        """Logging what is said, and learning from it."""
        from memolith.services.learn import Learning

        return Learning(
            self._access,
            self._indexer,
            self._settling,
            self._weighing,
            typed=self._settings.enable_learning,
            awaits=self._ground.awaits,
        )

    @_once
    def compressing(self) -> Compressing:
        """Making histories shorter."""
        from memolith.services.compressing import Compressing

        return Compressing(
            self._access,
            self._staging,
            self._summarising(self._ground.condensers),
            self._recalled,
            context_window=self._settings.chat.context_window,
            max_failures=self._settings.timeline.max_failures_before_degrade,
        )

    @_once
    def consolidating(self) -> Consolidating:
        """Making summaries."""
        from memolith.services.consolidation.base_memory import BaseMemoryRewriting
        from memolith.services.consolidation.messages import MessageSummaries
        from memolith.services.consolidation.running import Consolidating
        from memolith.services.consolidation.sessions import SessionSummaries
        from memolith.services.distilling import Distilling

        models, staging = self._ground.models, self._staging
        summarising = self._summarising(models)
        return Consolidating(
            self._access,
            MessageSummaries(staging, summarising),
            SessionSummaries(staging, summarising),
            BaseMemoryRewriting(staging, Distilling(models, summarising)),
            has_model=self._ground.awaits is not None,
        )

    @_once
    def working(self) -> Working:
        """What waits for a model."""
        from memolith.services.extracting import Extracting
        from memolith.services.working import Working

        return Working(
            self._access,
            Extracting(self._access, self._indexer, self._settling, self._ground.models),
            self.consolidating,
            at_once=self._settings.chat.calls_at_once,
        )

    @_once
    def accounting(self) -> Accounting:
        """What models were asked, and what that costs."""
        from memolith.services.spending import Accounting

        return Accounting(self._access, prices(self._settings.chat))

    @_once
    def auditing(self) -> Auditing:
        """How good memories are."""
        from memolith.services.audit import Auditing

        return Auditing(self._access, self._indexer)

    @_once
    def _settling(self) -> Settling:
        """Deciding what becomes of what is to be stored."""
        from memolith.services.settling import Settling

        return Settling(self._access, self._indexer, self._ground.arbitrators)

    @_once
    def _weighing(self) -> Weighing:
        """Judging what is said."""
        from memolith.services.weighing import Weighing

        return Weighing(self._access, self._indexer)

    @_once
    def _staging(self) -> Staging:
        """Storing summaries."""
        from memolith.services.consolidation.staging import Staging

        return Staging(self._access, self._indexer)

    def _summarising(self, models: Models) -> Summarising:
        from memolith.services.summarising import Summarising

        return Summarising(self._access, models, self._indexer)

    def _recalled(self, owner_id: str, text: str) -> str:
        request = self.recalling.request(
            owner_id, text, top_k=None, otherwise=CONTEXT_TOP_K, token_budget=TOKEN_BUDGET
        )
        return self.contexts.build(owner_id, request, touch=True).text


def prices(chat: Chat) -> Prices:
    """Return what the tokens of a model cost, as the settings have it."""
    return Prices(chat.input_price, chat.output_price)
