"""A field of the domain is not published by accident."""

from __future__ import annotations

from memolith.server.rest import responses
from memolith.server.rest.responses import ResponseModel

PUBLISHED = {
    "AuditCategoryOut": "count rate ids examples reasons",
    "AuditExampleOut": "id text reason duplicate_of similarity",
    "AuditOut": "memories junk rate duplicates fragments filler echoes near compared",
    "BaseMemoryOut": "content version valid_from valid_to sources",
    "CompressionOut": "history context triggers memories failed",
    "ConsolidationOut": "output id sources by_model",
    "ContextOut": "text results tokens",
    "DroppedCandidateOut": "id reason score",
    "EraseOut": "owner_id compacted",
    "EventOut": "record_id action at actor version details",
    "ForgetOut": "memories messages",
    "HistoryOut": "versions events",
    "ImportOut": "messages memories duplicates_skipped keys_dropped redactions",
    "IngestOut": "chunks redactions",
    "IngestedChunkOut": "text tokens kind status reason importance novelty salience memory",
    "LearnOut": "messages memories duplicates_skipped redactions",
    "MemoryOut": (
        "id owner_id kind content created_at updated_at key summary tags importance strength "
        "access_count accessed_at happened_at expires_at state superseded_by session_id "
        "sources compressed origin version previous_kind"
    ),
    "MessageOut": "speaker content role at external_id id session_id sequence version",
    "ModelUsageOut": "calls input_tokens output_tokens",
    "PageOut": "memories total cursor",
    "PendingWorkOut": "pending_messages dead_letters oldest_at failed_kinds",
    "ProfileInfoOut": "name description kinds",
    "ProfileSwitchOut": "before after kinds messages dry_run",
    "PurgeOut": "memories messages compacted",
    "RecallOut": (
        "memories total_tokens token_budget trace relevance likely_unanswerable budget_used"
    ),
    "RecallTraceOut": "dense_text terms candidates dropped seconds",
    "RecalledItemOut": (
        "record score passage tokens collapsed_ids changed_later suspicious id kind text"
    ),
    "ScoreOut": "total similarity text strength freshness rerank parts",
    "SessionOut": "id number started_at last_at messages ended_at",
    "SourceOut": "id record_type external_id",
    "SpanOut": "start end",
    "StatisticsOut": (
        "total_count with_embeddings avg_importance by_kind by_state messages sessions "
        "vectors vectors_pending"
    ),
    "UsageReportOut": "since by_purpose total cost",
    "VersionOut": "memory valid_from valid_to",
    "WorkOut": "owner_id work done failed",
}
"""The fields of each generated response model. Add a new field here to publish it; otherwise list
it in `_OMITTED`."""

WITHOUT_DATACLASS = {
    "BaseMemoriesOut",
    "CountOut",
    "DecayOut",
    "DrainOut",
    "KeyVersionOut",
    "KindOut",
    "MessagesOut",
    "OwnersOut",
    "ProfilesOut",
    "QuarantineOut",
}
"""Response models that are written by hand."""


def test_only_listed_fields_are_published() -> None:
    published = {
        model.__name__: " ".join(model.model_fields)
        for model in ResponseModel.__subclasses__()
        if model.__module__ == responses.__name__
    }
    assert {name: published[name] for name in PUBLISHED} == PUBLISHED
    assert published.keys() - PUBLISHED.keys() == WITHOUT_DATACLASS
