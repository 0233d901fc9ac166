"""The use cases, put together: which of them needs what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemon.owner import CONTEXT_TOP_K, TOKEN_BUDGET, Services
from mnemon.ports.usage import Prices
from mnemon.services.api_keys import ApiKeyKeeping
from mnemon.services.base_memory import BaseMemoryKeeping
from mnemon.services.change import Changing
from mnemon.services.compressing import Compressing
from mnemon.services.consolidation.base_memory import BaseMemoryRewriting
from mnemon.services.consolidation.messages import MessageSummaries
from mnemon.services.consolidation.running import Consolidating
from mnemon.services.consolidation.sessions import SessionSummaries
from mnemon.services.consolidation.staging import Staging
from mnemon.services.context import Contexts
from mnemon.services.distilling import Distilling
from mnemon.services.extracting import Extracting
from mnemon.services.ingest import Ingesting
from mnemon.services.inspect import Inspecting
from mnemon.services.keys import KeyRotation
from mnemon.services.learn import Learning
from mnemon.services.maintain import Maintaining
from mnemon.services.probing import Probing
from mnemon.services.purge import Purging
from mnemon.services.recall import Recalling
from mnemon.services.remember import Remembering
from mnemon.services.retain import Retaining
from mnemon.services.review import Reviewing
from mnemon.services.scheduling import Scheduling
from mnemon.services.settling import Settling
from mnemon.services.spending import Accounting
from mnemon.services.summarising import Summarising
from mnemon.services.switching import Switching
from mnemon.services.transfer import Transferring
from mnemon.services.verify import Verifying
from mnemon.services.weighing import Weighing
from mnemon.services.working import Working

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnemon.config import Settings
    from mnemon.config.settings import Chat
    from mnemon.ports.arbitrator import Arbitrator
    from mnemon.ports.reranker import Reranker
    from mnemon.services.access import Access
    from mnemon.services.asking import Models
    from mnemon.services.indexing import Indexer
    from mnemon.services.touches import Touches


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


def services(ground: Ground, settings: Settings) -> Services:
    """Return the use cases, as the settings have them."""
    access, indexer, touches = ground.access, ground.indexer, ground.touches
    settling = Settling(access, indexer, ground.arbitrators)
    recalling = Recalling(
        access, indexer, touches, limit=settings.rag_limit, reranker=ground.reranker
    )
    changing, weighing = Changing(access, indexer), Weighing(access, indexer)
    maintaining, retaining = Maintaining(access), Retaining(access, indexer)
    consolidating = _consolidating(ground)
    contexts = Contexts(access, indexer, recalling, touches, enabled=settings.enable_rag)

    def recalled(owner_id: str, text: str) -> str:
        request = recalling.request(
            owner_id, text, top_k=None, otherwise=CONTEXT_TOP_K, token_budget=TOKEN_BUDGET
        )
        return contexts.build(owner_id, request, touch=True).text

    return Services(
        api_keys=ApiKeyKeeping(access),
        base_memory=BaseMemoryKeeping(access),
        maintaining=maintaining,
        retaining=retaining,
        scheduling=Scheduling(
            access, maintaining, retaining, retention_days=settings.retention_days
        ),
        switching=Switching(access, indexer),
        remembering=Remembering(access, settling),
        learning=Learning(
            access,
            indexer,
            settling,
            weighing,
            typed=settings.enable_learning,
            awaits=ground.awaits,
        ),
        changing=changing,
        compressing=Compressing(
            access,
            Staging(access, indexer),
            Summarising(access, ground.condensers, indexer),
            recalled,
            context_window=settings.chat.context_window,
            max_failures=settings.timeline.max_failures_before_degrade,
        ),
        consolidating=consolidating,
        working=Working(
            access,
            Extracting(access, indexer, settling, ground.models),
            consolidating,
            at_once=settings.chat.calls_at_once,
        ),
        recalling=recalling,
        contexts=contexts,
        ingesting=Ingesting(access, weighing, settling),
        inspecting=Inspecting(access),
        transferring=Transferring(access, indexer, settling),
        keys=KeyRotation(access.store, indexer),
        probing=Probing(access, indexer),
        purging=Purging(access, indexer),
        verifying=Verifying(access, indexer),
        reviewing=Reviewing(access, indexer, changing),
        accounting=Accounting(access, prices(settings.chat)),
    )


def prices(chat: Chat) -> Prices:
    """Return what the tokens of a model cost, as the settings have it."""
    return Prices(chat.input_price, chat.output_price)


def _consolidating(ground: Ground) -> Consolidating:
    summarising = Summarising(ground.access, ground.models, ground.indexer)
    staging = Staging(ground.access, ground.indexer)
    return Consolidating(
        ground.access,
        MessageSummaries(staging, summarising),
        SessionSummaries(staging, summarising),
        BaseMemoryRewriting(staging, Distilling(ground.models, summarising)),
        has_model=ground.awaits is not None,
    )
