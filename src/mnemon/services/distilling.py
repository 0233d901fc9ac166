"""Writing the base memory anew: by a model, checked against what the user said, or without one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mnemon.policies.documents import HISTORY, document, heading_of, notes_of, together
from mnemon.policies.evidence import sources
from mnemon.policies.support import supported_by
from mnemon.prompts.base_memory import base_memory, read_base_memory
from mnemon.prompts.summary import CASCADE
from mnemon.prompts.transcripts import Spoken
from mnemon.services.asking import answered, nonce
from mnemon.services.summarising import Summary
from mnemon.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mnemon.ports.chat import ChatModel
    from mnemon.profiles.model import Profile
    from mnemon.services.asking import Models
    from mnemon.services.consolidation.base_memory import Material
    from mnemon.services.summarising import Summarising

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
        told = sources(_told(material), names=[owner_id])
        believed = {
            heading: [note for note in notes if supported_by(note, told)]
            for heading, notes in given.items()
        }
        if _count(believed) < LEAST_KEPT * _count(given) or not _keeps(material, believed):
            return None
        return document(believed)

    def _gathered(self, owner_id: str, profile: Profile, material: Material) -> str:
        facts: dict[str, list[str]] = {}
        for fact in material.facts:
            kind = profile.standard_kinds.get(fact.kind, fact.kind)
            facts.setdefault(heading_of(kind), []).append(fact.content)
        told = [Spoken(text) for text in material.words]
        history = self._summarising.extracted(owner_id, told, CASCADE).text if told else ""
        said = {HISTORY: [span.of(history) for span in sentences(history)]}
        return document(together(notes_of(material.base), facts, said))


def _told(material: Material) -> list[str]:
    facts = [each.content for each in material.facts]
    return [text for text in (material.base, *material.words, *facts) if text]


def _keeps(material: Material, notes: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether enough of what the document said is still told by a new one."""
    before = [note for texts in notes_of(material.base).values() for note in texts]
    now = sources([note for texts in notes.values() for note in texts])
    kept = sum(bool(supported_by(note, now)) for note in before)
    return kept >= LEAST_KEPT * len(before)


def _count(notes: Mapping[str, Sequence[str]]) -> int:
    return sum(len(texts) for texts in notes.values())
