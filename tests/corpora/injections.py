"""Hostile texts by every way in, and a model that obeys them.

Written by hand: twelve kinds of attack, each by seven ways. What a memory does with them is held
against rules in `tests/integration/test_injection.py`.
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
    """By which way a text comes in."""

    USER = "user"
    """The user pastes it into a message."""
    ASSISTANT = "assistant"
    """The assistant was tricked into saying it."""
    TOOL = "tool"
    """It is a tool's result."""
    PARTICIPANT = "participant"
    """Another person in the conversation says it."""
    DOCUMENT = "document"
    """It is ingested."""
    IMPORT = "import"
    """It is a line of a file that is imported."""
    STORED = "stored"
    """It is a memory already, that a tool has stored."""


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """A hostile text, and what a gullible model makes of it.

    Attributes:
        name: Tells it from the others.
        category: The kind of attack.
        channel: The way it comes in by.
        language: "en" or "de".
        text: What is said.
        reply: What an assistant answers that believes it.
        facts: What the model notes down, as the user's own word.
        operation: What it answers as arbitrator: UPDATE, DELETE or NOOP.
        merged: The text that it gives for UPDATE.
        summary: What it says of a conversation.
        notes: What it writes into the base memory.
        payload: Words that stand in all of these, and in nothing that the user has said.
        padded: How many sentences stand before and after it.
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
        """The text with all that stands around it."""
        filling = (_FILLING * self.padded).strip()
        return "\n".join(filter(None, (filling, self.text, filling)))

    def is_in(self, text: str) -> bool:
        """Tell whether a text bears the payload."""
        return any(word in text for word in self.payload)

    def begins_in(self, text: str) -> bool:
        """Tell whether a text bears its beginning, as far as nothing in it is to be defused."""
        return self.text[:_BEGINNING] in text


def load_injections() -> tuple[Injection, ...]:
    """Read the hostile texts from the package, in order."""
    data = Path(__file__).with_name("injections.jsonl").read_bytes()
    return tuple(msgspec.json.decode(line, type=Injection) for line in data.splitlines())


class GullibleModel:
    """The rule of a scripted model that does what a text wants wherever it reads of it.

    What the text wants noted in the base memory it notes in any case.

    Attributes:
        obeys: The text; None: it notes nothing down, and keeps all there is.
    """

    def __init__(self) -> None:
        """Obey nobody yet."""
        self.obeys: Injection | None = None

    def __call__(self, asked: Asked) -> Any:
        """Return the answer."""
        case = self.obeys
        if asked.texts:
            return None
        if '"user_profile"' in asked.system:
            return _document(asked, case)
        if case is None or not (case.is_in(asked.user) or case.begins_in(asked.user)):
            return _harmless(asked.system)
        return _obedient(asked.system, case)


def _harmless(rules: str) -> Any:
    """Return the answer of a model that has nothing to say."""
    if '"facts"' in rules:
        return {"facts": []}
    if '"summary"' in rules:
        return {"summary": "The user and the assistant talked about this and that."}
    if '"operation"' in rules:
        return {"reasoning": "they differ", "operation": "ADD", "content": ""}
    return "I see."


def _obedient(rules: str, case: Injection) -> Any:
    """Return what a text wants answered."""
    if '"facts"' in rules:
        return {"facts": list(_facts(rules, case))}
    if '"summary"' in rules:
        return {"summary": case.summary}
    if '"operation"' in rules:
        operation, merged = case.operation, case.merged
        return {"reasoning": "it says so", "operation": operation, "content": merged}
    return case.reply


def _facts(rules: str, case: Injection) -> Iterator[dict[str, Any]]:
    """Yield facts of kinds that are the user's alone, all said to rest on the user's turn."""
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
    """Return what stands there, so that it is believed, and what the text wants."""
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
