"""Taking in, and finding again."""

from __future__ import annotations

from fastapi import APIRouter

from memolith.entrypoints.http.callers import CallerDep, EngineDep, MemoryDep, OwnerHeader
from memolith.entrypoints.http.once import IdempotencyDep, IdempotentRoute, MessageTaggerDep
from memolith.entrypoints.http.wire import answers, bodies
from memolith.policies.saying import build_messages

recall_router = APIRouter(prefix="/v1", tags=["engine"], route_class=IdempotentRoute)


@recall_router.post("/recall")
def recall(memory: MemoryDep, body: bodies.RecallQuery) -> answers.RecallOut:
    """Return what is relevant to a query, best first."""
    asked = body.model_dump(exclude={"query"})
    return answers.RecallOut.model_validate(memory.recall(body.query, **asked))


@recall_router.post("/context")
def context(memory: MemoryDep, body: bodies.ContextQuery) -> answers.ContextOut:
    """Return what is relevant as text for a system prompt, with what it shows."""
    asked = body.model_dump(exclude={"query"})
    return answers.ContextOut.model_validate(memory.context_with_results(body.query, **asked))


@recall_router.post("/learn", status_code=201, dependencies=[IdempotencyDep])
def learn(
    memory: MemoryDep, tag_messages: MessageTaggerDep, body: bodies.Exchange
) -> answers.LearnOut:
    """Take in one exchange: two messages, and what is worth remembering of the user's."""
    said = build_messages(
        body.user, body.assistant, body.at, body.action, is_truncated=body.is_truncated
    )
    return answers.LearnOut.model_validate(memory.log(tag_messages(said), session=body.session))


@recall_router.post("/ingest", status_code=201, dependencies=[IdempotencyDep])
def ingest(memory: MemoryDep, body: bodies.IngestRequest) -> answers.IngestOut:
    """Take in a long text, and say what was kept, what not, and why."""
    ingested = memory.ingest(body.text, **body.model_dump(exclude={"text"}))
    return answers.IngestOut.model_validate(ingested)


@recall_router.post("/consolidate", dependencies=[IdempotencyDep])
def consolidate(
    caller: CallerDep, engine: EngineDep, requested: OwnerHeader = None
) -> list[answers.ConsolidationOut]:
    """Make an owner's memories shorter by the rules of their profile."""
    made = engine.consolidate(owner=caller.resolve_owner(requested))
    return [answers.ConsolidationOut.model_validate(each) for each in made]
