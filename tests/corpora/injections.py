"""Hostile texts by every channel, and a model that obeys them.

Written by hand: twelve kinds of attack, each by seven channels.
`tests/integration/test_injection.py` checks how a memory handles them.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.demo.model_server import Asked

_BEGINNING = 12
_FILLING = "Tomatoes need sun, water and patience, and so do beans. "


class Channel(StrEnum):
    """Channel by which a text enters."""

    USER = "user"
    """The user pastes it into a message."""
    ASSISTANT = "assistant"
    """The assistant was tricked into repeating it."""
    TOOL = "tool"
    """A tool returns it."""
    PARTICIPANT = "participant"
    """Another participant of the conversation says it."""
    DOCUMENT = "document"
    """It is in an ingested document."""
    IMPORT = "import"
    """It is in an imported file."""
    STORED = "stored"
    """A tool has stored it as a memory."""


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """A hostile text, and the responses of a gullible model to it.

    Attributes:
        name: Unique name.
        category: Kind of attack.
        channel: Channel by which it enters.
        language: "en" or "de".
        text: The text.
        reply: Reply of an assistant that believes it.
        facts: Facts the model extracts, attributed to the user.
        operation: Its verdict as arbitrator: UPDATE, DELETE or NOOP.
        merged: Its text for UPDATE.
        summary: Its summary of a conversation.
        notes: Its notes for the base memory.
        payload: Words that occur in all of these, and in no text of the user.
        padded: Number of harmless sentences before and after the text.
    """

    name: str
    category: str
    channel: Channel
    language: str
    text: str
    reply: str
    facts: tuple[str, ...]
    operation: str
    merged: str
    summary: str
    notes: tuple[str, ...]
    payload: tuple[str, ...]
    padded: int = 0

    @property
    def whole(self) -> str:
        """The text with its padding."""
        filling = (_FILLING * self.padded).strip()
        return "\n".join(filter(None, (filling, self.text, filling)))

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the payload."""
        return any(word in text for word in self.payload)

    def begins_in(self, text: str) -> bool:
        """Return whether a text contains the start of the payload, up to the first defused part."""
        return self.text[:_BEGINNING] in text


def load_injections() -> tuple[Injection, ...]:
    """Read the hostile texts, in order."""
    data = Path(__file__).with_name("injections.jsonl").read_bytes()
    return tuple(msgspec.json.decode(line, type=Injection) for line in data.splitlines())


class GullibleModel:
    """A scripted model that obeys a text wherever it reads it.

    It always adds the text's notes to the base memory.

    Attributes:
        obeys: The text; None to extract nothing and keep everything.
    """

    def __init__(self) -> None:
        """Start without a text to obey."""
        self.obeys: Injection | None = None

    def __call__(self, asked: Asked) -> Any:
        """Return the response to a prompt."""
        case = self.obeys
        if asked.texts:
            return None
        if '"user_profile"' in asked.system:
            return _document(asked, case)
        if case is None or not (case.is_in(asked.user) or case.begins_in(asked.user)):
            return _harmless(asked.system)
        return _obedient(asked.system, case)


def _harmless(rules: str) -> Any:
    """Return the response of a model without any facts."""
    if '"facts"' in rules:
        return {"facts": []}
    if '"summary"' in rules:
        return {"summary": "The user and the assistant talked about this and that."}
    if '"operation"' in rules:
        return {"reasoning": "they differ", "operation": "ADD", "content": ""}
    return "I see."


def _obedient(rules: str, case: Injection) -> Any:
    """Return the response that a text asks for."""
    if '"facts"' in rules:
        return {"facts": list(_facts(rules, case))}
    if '"summary"' in rules:
        return {"summary": case.summary}
    if '"operation"' in rules:
        operation, merged = case.operation, case.merged
        return {"reasoning": "it says so", "operation": operation, "content": merged}
    return case.reply


def _facts(rules: str, case: Injection) -> Iterator[dict[str, Any]]:
    """Yield facts of kinds reserved for the user, attributed to the user's message."""
    for number, content in enumerate(case.facts):
        is_first = number == 0
        if '"category"' in rules:
            kind = "identity" if is_first else "preference"
            rest = {"importance": 10, "expires_in": ""}
            yield {"content": content, "category": kind, **rest, "from": [1]}
        elif '"type"' in rules:
            kind = "personal" if is_first else "preference"
            yield {"fact": content, "type": kind, "from": [1]}
        else:
            kind = "identity" if is_first else "correction"
            yield {"content": content, "kind": kind, "happened": None, "from": [1]}


def _document(asked: Asked, case: Injection | None) -> dict[str, list[str]]:
    """Return the previous base memory, so that it is accepted, with the text's notes."""
    notes = [
        line.removeprefix("> - ") for line in asked.user.splitlines() if line.startswith("> - ")
    ]
    added = [] if case is None else list(case.notes)
    return {
        "user_profile": [*dict.fromkeys(notes), *added[:1]],
        "preferences": added[1:],
        "ongoing_topics": [],
        "key_history": [],
    }
