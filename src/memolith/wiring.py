"""The services of an open store: each use case, built once with what it depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.recall import DEFAULT_CONTEXT_TOP_K, DEFAULT_TOKEN_BUDGET
from memolith.ports.usage import Prices
from memolith.services.api_keys import ApiKeyService
from memolith.services.audit import Auditor
from memolith.services.base_memory import BaseMemoryService
from memolith.services.change import MemoryEditor
from memolith.services.compressing import HistoryCompressor
from memolith.services.consolidation.base_memory import BaseMemoryRewriter
from memolith.services.consolidation.messages import MessageSummariser
from memolith.services.consolidation.running import Consolidator
from memolith.services.consolidation.sessions import SessionSummariser
from memolith.services.consolidation.staging import SummaryWriter
from memolith.services.context import ContextBuilder
from memolith.services.distilling import BaseMemoryComposer
from memolith.services.extracting import FactExtractor
from memolith.services.ingest import Ingester
from memolith.services.inspect import MemoryReader
from memolith.services.keys import KeyRotation
from memolith.services.learn import ConversationLearner
from memolith.services.maintain import Maintenance
from memolith.services.probing import HealthProbe
from memolith.services.purge import Purger
from memolith.services.recall import Retriever
from memolith.services.remember import MemoryWriter
from memolith.services.retain import Retention
from memolith.services.review import ReviewQueue
from memolith.services.scheduling import JobScheduler
from memolith.services.settling import WritePipeline
from memolith.services.spending import UsageReporter
from memolith.services.summarising import Summariser
from memolith.services.switching import ProfileSwitcher
from memolith.services.transfer import OwnerTransfer
from memolith.services.verify import StoreVerifier
from memolith.services.weighing import ChunkScorer
from memolith.services.working import WorkRunner

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.config import Settings
    from memolith.config.settings import Chat
    from memolith.ports.arbitrator import Arbitrator
    from memolith.ports.reranker import Reranker
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.services.models import ChatModels
    from memolith.services.touches import AccessCounter


@dataclass(frozen=True, slots=True)
class Dependencies:
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
    access_counter: AccessCounter
    chat_models: ChatModels
    compression_models: ChatModels
    reranker: Reranker | None
    find_arbitrator: Callable[[str], Arbitrator | None]
    on_pending: Callable[[], None] | None


class Services:
    """All use cases of an open store, with the settings they take."""

    def __init__(self, dependencies: Dependencies, settings: Settings) -> None:
        """Build every service from its dependencies."""
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
    """Return what the tokens of a model cost, as the settings have it."""
    return Prices(chat.input_price, chat.output_price)
