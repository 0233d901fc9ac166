"""Writing the base memory anew: by a model, checked against what the user said, or without one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memolith.policies.documents import (
    HISTORY,
    get_heading,
    merge_notes,
    parse_notes,
    render_document,
)
from memolith.policies.evidence import read_sources
from memolith.policies.support import find_support
from memolith.prompts.base_memory import build_base_memory_prompt, parse_base_memory
from memolith.prompts.summary import CASCADE_STYLE
from memolith.prompts.transcripts import TranscriptTurn
from memolith.services.asking import ask_model, new_nonce
from memolith.services.summarising import Summary
from memolith.text.injection import is_suspicious
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memolith.policies.evidence import Sources
    from memolith.ports.chat import ChatModel
    from memolith.profiles.model import Profile
    from memolith.services.consolidation.base_memory import BaseMemoryMaterial
    from memolith.services.models import ChatModels
    from memolith.services.summarising import Summariser

MAX_REWRITE_ATTEMPTS = 2
"""How often a model is asked whose document can't be kept."""

MIN_KEPT_SHARE = 0.5
"""The share of a model's notes that the user's words must tell of, and of the notes there were
before that must stay in some words; with less it is not believed. A guess."""

_log = logging.getLogger(__name__)


class BaseMemoryComposer:
    """Writes base memories."""

    def __init__(self, models: ChatModels, summariser: Summariser) -> None:
        """Use these."""
        self._models = models
        self._summariser = summariser

    def compose(self, owner_id: str, profile: Profile, material: BaseMemoryMaterial) -> Summary:
        """Return what the base memory is to say.

        What neither it nor the user has said is left out. Where a model can't be believed, or
        there is none, it is the notes there were, the facts by their kinds, and sentences of the
        user's.

        Raises:
            ServiceFailed: The model failed.
        """
        model = self._models.for_owner(owner_id)
        for _ in range(MAX_REWRITE_ATTEMPTS if model is not None else 0):
            text = self._ask_model(owner_id, model, material)
            if text is not None:
                return Summary(text, by_model=True)
            _log.info("a base memory was not believed: it loses or adds too much")
        return Summary(self._compose_without_model(owner_id, profile, material), by_model=False)

    def _ask_model(
        self, owner_id: str, model: ChatModel | None, material: BaseMemoryMaterial
    ) -> str | None:
        if model is None:
            return None
        prompt = build_base_memory_prompt(
            material.current_text,
            [each.content for each in material.summaries],
            [each.content for each in material.facts],
            new_nonce(),
        )
        given = parse_notes(ask_model(model, prompt, parse_base_memory))
        told = _build_evidence(material, owner_id)
        believed = {
            heading: [
                note for note in notes if find_support(note, told) and not is_suspicious(note)
            ]
            for heading, notes in given.items()
        }
        if _count_notes(believed) < MIN_KEPT_SHARE * _count_notes(given) or not _keeps_enough(
            material, believed
        ):
            return None
        return render_document(believed)

    def _compose_without_model(
        self, owner_id: str, profile: Profile, material: BaseMemoryMaterial
    ) -> str:
        facts: dict[str, list[str]] = {}
        for fact in material.facts:
            kind = profile.standard_kinds.get(fact.kind, fact.kind)
            if not is_suspicious(fact.content):
                facts.setdefault(get_heading(kind), []).append(" ".join(fact.content.split()))
        history = self._summariser.extract_sentences(owner_id, material.user_words, CASCADE_STYLE)
        before = {
            heading: [note for note in notes if content_key(note) not in material.superseded_keys]
            for heading, notes in parse_notes(material.current_text).items()
        }
        return render_document(merge_notes(before, facts, {HISTORY: history}))


def _build_evidence(material: BaseMemoryMaterial, owner_id: str) -> Sources:
    """Return what a note may rest on."""
    facts = [TranscriptTurn(each.content, at=each.happened_at) for each in material.facts]
    told = [
        each
        for each in (TranscriptTurn(material.current_text), *facts, *material.user_words)
        if each.content
    ]
    days = [None if each.at is None else each.at.date() for each in told]
    own = range(len(told) - len(material.user_words), len(told))
    return read_sources([each.content for each in told], days, [owner_id], own)


def _keeps_enough(material: BaseMemoryMaterial, notes: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether enough of what the document said is still told by a new one."""
    before = [note for texts in parse_notes(material.current_text).values() for note in texts]
    now = read_sources([note for texts in notes.values() for note in texts])
    kept = sum(bool(find_support(note, now)) for note in before)
    return kept >= MIN_KEPT_SHARE * len(before)


def _count_notes(notes: Mapping[str, Sequence[str]]) -> int:
    return sum(len(texts) for texts in notes.values())
