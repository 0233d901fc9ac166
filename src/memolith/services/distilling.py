"""Writing the base memory anew: by a model, checked against what the user said, or without one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memolith.policies.documents import HISTORY, document, heading_of, notes_of, together
from memolith.policies.evidence import sources
from memolith.policies.support import supported_by
from memolith.prompts.base_memory import base_memory, read_base_memory
from memolith.prompts.summary import CASCADE
from memolith.prompts.transcripts import Spoken
from memolith.services.asking import answered, nonce
from memolith.services.summarising import Summary
from memolith.text.injection import is_suspicious
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memolith.policies.evidence import Sources
    from memolith.ports.chat import ChatModel
    from memolith.profiles.model import Profile
    from memolith.services.consolidation.base_memory import Material
    from memolith.services.models import Models
    from memolith.services.summarising import Summarising

TRIES = 2
"""How often a model is asked whose document can't be kept."""

LEAST_KEPT = 0.5
"""The share of a model's notes that the user's words must tell of, and of the notes there were
before that must stay in some words; with less it is not believed. A guess."""

_log = logging.getLogger(__name__)


class Distilling:
    """Writes base memories."""

    def __init__(self, models: Models, summarising: Summarising) -> None:
        """Use these."""
        self._models = models
        self._summarising = summarising

    def distilled(self, owner_id: str, profile: Profile, material: Material) -> Summary:
        """Return what the base memory is to say.

        What neither it nor the user has said is left out. Where a model can't be believed, or
        there is none, it is the notes there were, the facts by their kinds, and sentences of the
        user's.

        Raises:
            ServiceFailed: The model failed.
        """
        model = self._models.of(owner_id)
        for _ in range(TRIES if model is not None else 0):
            text = self._asked(owner_id, model, material)
            if text is not None:
                return Summary(text, by_model=True)
            _log.info("a base memory was not believed: it loses or adds too much")
        return Summary(self._gathered(owner_id, profile, material), by_model=False)

    def _asked(self, owner_id: str, model: ChatModel | None, material: Material) -> str | None:
        if model is None:
            return None
        prompt = base_memory(
            material.base,
            [each.content for each in material.summaries],
            [each.content for each in material.facts],
            nonce(),
        )
        given = notes_of(answered(model, prompt, read_base_memory))
        told = _told(material, owner_id)
        believed = {
            heading: [
                note for note in notes if supported_by(note, told) and not is_suspicious(note)
            ]
            for heading, notes in given.items()
        }
        if _count(believed) < LEAST_KEPT * _count(given) or not _keeps(material, believed):
            return None
        return document(believed)

    def _gathered(self, owner_id: str, profile: Profile, material: Material) -> str:
        facts: dict[str, list[str]] = {}
        for fact in material.facts:
            kind = profile.standard_kinds.get(fact.kind, fact.kind)
            if not is_suspicious(fact.content):
                facts.setdefault(heading_of(kind), []).append(" ".join(fact.content.split()))
        history = self._summarising.sentences(owner_id, material.words, CASCADE)
        before = {
            heading: [note for note in notes if content_key(note) not in material.retired]
            for heading, notes in notes_of(material.base).items()
        }
        return document(together(before, facts, {HISTORY: history}))


def _told(material: Material, owner_id: str) -> Sources:
    """Return what a note may rest on."""
    facts = [Spoken(each.content, at=each.happened_at) for each in material.facts]
    told = [each for each in (Spoken(material.base), *facts, *material.words) if each.content]
    days = [None if each.at is None else each.at.date() for each in told]
    own = range(len(told) - len(material.words), len(told))
    return sources([each.content for each in told], days, [owner_id], own)


def _keeps(material: Material, notes: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether enough of what the document said is still told by a new one."""
    before = [note for texts in notes_of(material.base).values() for note in texts]
    now = sources([note for texts in notes.values() for note in texts])
    kept = sum(bool(supported_by(note, now)) for note in before)
    return kept >= LEAST_KEPT * len(before)


def _count(notes: Mapping[str, Sequence[str]]) -> int:
    return sum(len(texts) for texts in notes.values())
