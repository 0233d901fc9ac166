"""The services of an open store: each use case, built once with what it depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.recall import CONTEXT_TOP_K, TOKEN_BUDGET
from memolith.ports.usage import Prices
from memolith.services.api_keys import ApiKeyKeeping
from memolith.services.audit import Auditing
from memolith.services.base_memory import BaseMemoryKeeping
from memolith.services.change import Changing
from memolith.services.compressing import Compressing
from memolith.services.consolidation.base_memory import BaseMemoryRewriting
from memolith.services.consolidation.messages import MessageSummaries
from memolith.services.consolidation.running import Consolidating
from memolith.services.consolidation.sessions import SessionSummaries
from memolith.services.consolidation.staging import Staging
from memolith.services.context import Contexts
from memolith.services.distilling import Distilling
from memolith.services.extracting import Extracting
from memolith.services.ingest import Ingesting
from memolith.services.inspect import Inspecting
from memolith.services.keys import KeyRotation
from memolith.services.learn import Learning
from memolith.services.maintain import Maintaining
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
from memolith.services.transfer import Transferring
from memolith.services.verify import Verifying
from memolith.services.weighing import Weighing
from memolith.services.working import Working

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.config import Settings
    from memolith.config.settings import Chat
    from memolith.ports.arbitrator import Arbitrator
    from memolith.ports.reranker import Reranker
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.services.models import Models
    from memolith.services.touches import Touches


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


class Services:
    """All use cases of an open store, with the settings they take."""

    def __init__(self, ground: Ground, settings: Settings) -> None:
        """Build every service from its dependencies."""
        access, indexer, models = ground.access, ground.indexer, ground.models
        settling = Settling(access, indexer, ground.arbitrators)
        weighing = Weighing(access, indexer)
        staging = Staging(access, indexer)
        summarising = Summarising(access, models, indexer)
        self.api_keys = ApiKeyKeeping(access)
        self.accounting = Accounting(access, prices(settings.chat))
        self.auditing = Auditing(access, indexer)
        self.base_memory = BaseMemoryKeeping(access)
        self.changing = Changing(access, indexer)
        self.ingesting = Ingesting(access, weighing, settling)
        self.inspecting = Inspecting(access)
        self.keys = KeyRotation(access.store, indexer)
        self.maintaining = Maintaining(access)
        self.probing = Probing(access, indexer)
        self.purging = Purging(access, indexer)
        self.remembering = Remembering(access, settling)
        self.retaining = Retaining(access, indexer)
        self.reviewing = Reviewing(access, indexer, self.changing)
        self.scheduling = Scheduling(
            access, self.maintaining, self.retaining, retention_days=settings.retention_days
        )
        self.switching = Switching(access, indexer)
        self.transferring = Transferring(access, indexer, settling)
        self.verifying = Verifying(access, indexer)
        self.learning = Learning(
            access,
            indexer,
            settling,
            weighing,
            typed=settings.enable_learning,
            awaits=ground.awaits,
        )
        self.recalling = Recalling(
            access, indexer, ground.touches, limit=settings.rag_limit, reranker=ground.reranker
        )
        self.contexts = Contexts(
            access, indexer, self.recalling, ground.touches, enabled=settings.enable_rag
        )
        self.compressing = Compressing(
            access,
            staging,
            Summarising(access, ground.condensers, indexer),
            self._context_for,
            context_window=settings.chat.context_window,
            max_failures=settings.timeline.max_failures_before_degrade,
        )
        self.consolidating = Consolidating(
            access,
            MessageSummaries(staging, summarising),
            SessionSummaries(staging, summarising),
            BaseMemoryRewriting(staging, Distilling(models, summarising)),
            has_model=ground.awaits is not None,
        )
        self.working = Working(
            access,
            Extracting(access, indexer, settling, models),
            self.consolidating,
            at_once=settings.chat.calls_at_once,
        )

    def _context_for(self, owner_id: str, text: str) -> str:
        request = self.recalling.request(
            owner_id, text, top_k=None, otherwise=CONTEXT_TOP_K, token_budget=TOKEN_BUDGET
        )
        return self.contexts.build(owner_id, request, touch=True).text


def prices(chat: Chat) -> Prices:
    """Return what the tokens of a model cost, as the settings have it."""
    return Prices(chat.input_price, chat.output_price)
