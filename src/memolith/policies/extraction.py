"""Schemas of the facts that a model extracts from a conversation, one per profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ExtractionSchema:
    """The kinds and field names that a profile uses to request facts from a model.

    Attributes:
        name: The profile's name.
        kinds: The allowed kinds, each with its description for the model.
        default_kind: The kind of a fact with none of these.
        content_field: Field of the reply with the text.
        kind_field: Field of the reply with the kind.
        has_importance: Whether the reply rates the importance, 1..10.
        has_expiry: Whether the reply gives a lifetime.
        has_dates: Whether the reply gives the date of an event.
    """

    name: str
    kinds: Mapping[str, str]
    default_kind: str
    content_field: str = "content"
    kind_field: str = "kind"
    has_importance: bool = False
    has_expiry: bool = False
    has_dates: bool = False


FACTS_SCHEMA = ExtractionSchema(
    name="facts",
    kinds=MappingProxyType(
        {
            "identity": "who the user is: name, home, work, family, languages",
            "preference": "what the user likes, dislikes, chooses, wants done in some way",
            "project": "what the user works on now: aims, tools, deadlines",
            "contextual": "how things stand at the moment: plans, recent decisions",
        }
    ),
    default_kind="contextual",
    kind_field="category",
    has_importance=True,
    has_expiry=True,
)

TIERS_SCHEMA = ExtractionSchema(
    name="tiers",
    kinds=MappingProxyType(
        {
            "personal": "who the user is: name, home, work, family",
            "preference": "what the user likes, dislikes, chooses",
            "knowledge": "what the user knows, has, or works on",
            "event": "what happened or will happen, with its date",
        }
    ),
    default_kind="knowledge",
    content_field="fact",
    kind_field="type",
)

STANDARD_SCHEMA = ExtractionSchema(
    name="standard",
    kinds=MappingProxyType(
        {
            "identity": "who the user is: name, home, work, family, languages",
            "preference": "what the user likes, dislikes, chooses, wants done in some way",
            "correction": "what the user says was wrong, and what is right",
            "project": "what the user works on: aims, tools, deadlines",
            "event": "what happened or will happen, with its date",
            "fact": "any other lasting fact, of the user or of people and things they speak of",
            "context": "how things stand at the moment",
        }
    ),
    default_kind="fact",
    has_dates=True,
)
