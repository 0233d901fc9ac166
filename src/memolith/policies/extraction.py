"""What facts are made of that a model takes from a conversation: one dialect a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ExtractionSchema:
    """The words in which a profile asks a model for facts.

    Attributes:
        name: The profile's.
        kinds: The kinds that a model may give, and what each is for, as the model is told.
        ordinary: The kind of a fact to which none of these was given.
        content_field: What the reply calls the text.
        kind_field: What it calls the kind.
        weighs: Whether it says how much a fact matters, from 1 to 10.
        expires: Whether it says how long a fact holds.
        dates: Whether it says when something happened.
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
