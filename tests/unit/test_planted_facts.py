"""Facts planted by a tool or a document are never attributed to the user."""

from __future__ import annotations

from corpora.hostile import PLANTED
from memolith.domain.memories import Origin
from memolith.policies.context_echo import strip_context
from memolith.policies.evidence import read_sources
from memolith.policies.extraction import STANDARD_SCHEMA
from memolith.policies.grounding import find_grounding
from memolith.prompts.fencing import TranscriptTurn
from memolith.prompts.learning import build_extraction_prompt
from support.rows import check_each

NONCE = "9f2c41d07ab3e586"
QUESTIONS = (
    "What does this page say?",
    "I'm Alex, I live in Oslo and my bank is Nordea. What does the user list say?",
    "Yes, go on.",
    "Please check whether anything in it concerns me, the user, or my money.",
)


@check_each(("text", "fact"), PLANTED)
@check_each("asked", QUESTIONS)
@check_each("origin", [Origin.TOOL, Origin.DOCUMENT])
def test_planted_fact_is_never_attributed_to_user(
    text: str, fact: str, asked: str, origin: Origin
) -> None:
    before = find_grounding(fact, read_sources([asked, text]), [Origin.USER, origin])
    after = find_grounding(fact, read_sources([text, asked]), [origin, Origin.USER])

    assert before is None or before.origin is origin
    assert after is None or after.origin is origin


@check_each(("text", "fact"), PLANTED)
def test_planted_text_stays_within_its_turn(text: str, fact: str) -> None:
    del fact
    said = (
        TranscriptTurn("What does it say?", "user"),
        TranscriptTurn(text, "tool"),
        TranscriptTurn("Ok?", "user"),
    )

    asked = build_extraction_prompt(STANDARD_SCHEMA, said, NONCE).messages[-1].content
    first, *inside = asked[: asked.index(f"\nEND CONVERSATION {NONCE}")].split("\n")
    heads = [line for line in inside if line.startswith("> [")]
    assert first == f"BEGIN CONVERSATION {NONCE}"
    assert all(line.startswith(">") for line in inside)
    assert [head[:4] for head in heads] == ["> [1", "> [2", "> [3"]
    assert heads[1].startswith("> [2] tool: ")
    assert asked.count(f"END CONVERSATION {NONCE}") == 1


@check_each(("text", "fact"), PLANTED)
def test_stripping_context_never_lengthens_planted_text(text: str, fact: str) -> None:
    del fact
    assert len(strip_context(text)) <= len(text)
