"""Taking in, and finding again."""

from __future__ import annotations

from fastapi import APIRouter

from memolith.entrypoints.http.callers import Engine, Known, Memory, NamedOwner
from memolith.entrypoints.http.once import Once, OnceRoute, ToldOnce
from memolith.entrypoints.http.wire import answers, bodies
from memolith.policies.saying import messages_of

router = APIRouter(prefix="/v1", tags=["engine"], route_class=OnceRoute)


@router.post("/recall")
def recall(memory: Memory, given: bodies.RecallQuery) -> answers.RecallOut:
    """Return what is relevant to a query, best first."""
    asked = given.model_dump(exclude={"query"})
    return answers.RecallOut.model_validate(memory.recall(given.query, **asked))


@router.post("/context")
def context(memory: Memory, given: bodies.ContextQuery) -> answers.ContextOut:
    """Return what is relevant as text for a system prompt, with what it shows."""
    asked = given.model_dump(exclude={"query"})
    return answers.ContextOut.model_validate(memory.context_with_results(given.query, **asked))


@router.post("/learn", status_code=201, dependencies=[Once])
def learn(memory: Memory, once: ToldOnce, given: bodies.Exchange) -> answers.LearnedOut:
    """Take in one exchange: two messages, and what is worth remembering of the user's."""
    said = messages_of(given.user, given.assistant, given.at, given.action, cut=given.cut)
    return answers.LearnedOut.model_validate(memory.log(once(said), session=given.session))


@router.post("/ingest", status_code=201, dependencies=[Once])
def ingest(memory: Memory, given: bodies.NewText) -> answers.IngestedOut:
    """Take in a long text, and say what was kept, what not, and why."""
    ingested = memory.ingest(given.text, **given.model_dump(exclude={"text"}))
    return answers.IngestedOut.model_validate(ingested)


@router.post("/consolidate", dependencies=[Once])
def consolidate(
    caller: Known, engine: Engine, named: NamedOwner = None
) -> list[answers.ConsolidatedOut]:
    """Make an owner's memories shorter by the rules of their profile."""
    made = engine.consolidate(owner=caller.acting_for(named))
    return [answers.ConsolidatedOut.model_validate(each) for each in made]
