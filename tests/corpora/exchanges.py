"""A conversation of sixty exchanges, and a model that knows which facts to extract."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memolith.demo.model_server import Asked

_TURN = re.compile(r"^> \[(\d+)\] (\w+)[^:]*: (.*)$", re.MULTILINE)
_BLOCK = re.compile(r"^BEGIN ([A-Z ]+) ([0-9a-f]+)\n(.*?)^END \1 \2$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"^> - (.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.]+(?:\.(?=\S)[^.]*)*\.")

Dialect = Literal["facts", "tiers", "standard"]


@dataclass(frozen=True, slots=True)
class Noted:
    """A fact of an exchange.

    Attributes:
        content: The fact as a model should write it.
        facts: Its kind in profile `facts`.
        tiers: Its kind in profile `tiers`.
        standard: Its kind in profile `standard`.
    """

    content: str
    facts: str
    tiers: str
    standard: str


@dataclass(frozen=True, slots=True)
class Scripted:
    """An exchange.

    Attributes:
        user: The user's message.
        assistant: The reply.
        facts: Facts to extract.
    """

    user: str
    assistant: str
    facts: tuple[Noted, ...] = ()


def load_script() -> tuple[Scripted, ...]:
    """Read the sixty exchanges, in order.

    Two restate earlier facts, two change them, and half are small talk.
    """
    data = Path(__file__).with_name("exchanges.jsonl").read_bytes()
    return tuple(msgspec.json.decode(line, type=Scripted) for line in data.splitlines())


class KnowingModel:
    """A scripted model that extracts exactly the facts of the script.

    It uses these facts for summaries and base memories, and as arbitrator keeps both memories. To
    other prompts it replies with a sentence.
    """

    def __init__(self, script: Sequence[Scripted] | None = None) -> None:
        """Set the script; None for the sixty exchanges."""
        self._script = load_script() if script is None else script

    def __call__(self, asked: Asked) -> Any:
        """Return the response to a prompt."""
        told = asked.system
        if asked.texts:
            return None
        if '"facts"' in told:
            return {"facts": list(self._facts(asked))}
        if '"summary"' in told:
            return {"summary": self._summary(asked)}
        if '"operation"' in told:
            return {"reasoning": "both are kept", "operation": "ADD", "content": ""}
        if '"user_profile"' in told:
            return _document(asked)
        return "I see."

    def _facts(self, asked: Asked) -> Iterator[dict[str, Any]]:
        for number, fact in self._noted(asked):
            if '"category"' in asked.system:
                yield {
                    "content": fact.content,
                    "category": fact.facts,
                    "importance": 7,
                    "expires_in": "",
                    "from": [number],
                }
            elif '"type"' in asked.system:
                yield {"fact": fact.content, "type": fact.tiers, "from": [number]}
            else:
                yield {
                    "content": fact.content,
                    "kind": fact.standard,
                    "happened": None,
                    "from": [number],
                }

    def _summary(self, asked: Asked) -> str:
        facts = list(dict.fromkeys(fact.content for _, fact in self._noted(asked)))
        return " ".join(facts) or "The user and the assistant talked about this and that."

    def _noted(self, asked: Asked) -> Iterator[tuple[int, Noted]]:
        """Yield the facts of the user's quoted messages, with message numbers."""
        said = {each.user: each for each in self._script}
        for number, who, content in _TURN.findall(asked.user):
            if who == "user" and content in said:
                for fact in said[content].facts:
                    yield int(number), fact


def _document(asked: Asked) -> dict[str, list[str]]:
    """Return the base memory: its previous content with all facts and summaries."""
    blocks = {title: text for title, _, text in _BLOCK.findall(asked.user)}
    old = _NOTE.findall(blocks.get("DOCUMENT", ""))
    facts = _NOTE.findall(blocks.get("FACTS", ""))
    told = [
        sentence.strip()
        for summary in _NOTE.findall(blocks.get("NEW SUMMARIES", ""))
        for sentence in _SENTENCE.findall(summary)
    ]
    return {
        "user_profile": list(dict.fromkeys([*old, *facts])),
        "preferences": [],
        "ongoing_topics": [],
        "key_history": [each for each in dict.fromkeys(told) if each not in {*old, *facts}],
    }
