"""The base memory as a document: headings with notes, limited to a number of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from memolith.policies.paraphrase import remove_matching_sentences
from memolith.text.canonical_form import content_key

PROFILE, PREFERENCES = "User Profile", "Preferences"
TOPICS, HISTORY = "Ongoing Topics", "Key History"

HEADINGS = (PROFILE, PREFERENCES, TOPICS, HISTORY)
"""Headings in document order (`tiers`, section 4.2)."""

MAX_WORDS = 400
"""Approximate maximum length of the document (`tiers`, section 4.2)."""

_HEADING_OF = {
    "identity": PROFILE,
    "preference": PREFERENCES,
    "correction": PREFERENCES,
    "event": HISTORY,
}


_BULLET = re.compile(r"\s*[-*•]\s+")
_BLANKS = re.compile(r"\n{3,}")


def get_heading(standard_kind: str) -> str:
    """Return the heading for memories of a kind of `standard`."""
    return _HEADING_OF.get(standard_kind, TOPICS)


def parse_notes(document: str) -> dict[str, list[str]]:
    """Return a document's notes by heading; notes without a known heading go under the first."""
    notes: dict[str, list[str]] = {heading: [] for heading in HEADINGS}
    current = PROFILE
    for line in document.splitlines():
        text = line.strip().removeprefix("- ").strip()
        heading = _parse_heading(line)
        if heading:
            current = heading
        elif text:
            notes[current].append(text)
    return notes


def merge_notes(*documents: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the notes of several documents in order, without duplicates."""
    seen_keys: set[str] = set()
    notes: dict[str, list[str]] = {heading: [] for heading in HEADINGS}
    for document in documents:
        for heading, texts in document.items():
            for text in texts:
                key = content_key(text)
                if key not in seen_keys:
                    seen_keys.add(key)
                    notes[heading].append(text)
    return notes


def render_document(notes: Mapping[str, Sequence[str]], max_words: int = MAX_WORDS) -> str:
    """Render notes as a document of at most `max_words` words; empty if there are none.

    Excess notes are dropped from the last heading to the first, oldest note first.
    """
    remaining = {heading: list(notes.get(heading, ())) for heading in HEADINGS}
    words = sum(_count_words(note) for texts in remaining.values() for note in texts)
    for heading in reversed(HEADINGS):
        while words > max_words and remaining[heading]:
            words -= _count_words(remaining[heading].pop(0))
    blocks = (
        "\n".join([f"{heading}:", *(f"- {note}" for note in texts)])
        for heading, texts in remaining.items()
        if texts
    )
    return "\n\n".join(blocks)


def remove_from_document(document: str, is_removed: Callable[[str], bool]) -> str:
    """Return a document without the sentences that `is_removed` selects.

    Headings that become empty are removed. Without any match the document is unchanged.
    """
    remaining: list[str] = []
    for line in document.splitlines():
        remaining_line = line if _parse_heading(line) else _remove_from_line(line, is_removed)
        if remaining_line is not None:
            remaining.append(remaining_line)
    if remaining == document.splitlines():
        return document
    while True:
        emptied = [
            place
            for place, line in enumerate(remaining)
            if _parse_heading(line) and _is_section_empty(remaining[place + 1 :])
        ]
        if not emptied:
            return _BLANKS.sub("\n\n", "\n".join(remaining)).strip()
        remaining = [line for place, line in enumerate(remaining) if place not in emptied]


def _remove_from_line(line: str, is_removed: Callable[[str], bool]) -> str | None:
    """Return a note line without the selected sentences; None if nothing is left."""
    mark, note = _BULLET.match(line), line
    if mark is not None:
        note = line[mark.end() :]
    remaining = remove_matching_sentences(note, is_removed)
    if remaining == note.strip():
        return line
    return f"{mark[0] if mark else ''}{remaining}" if remaining else None


def _is_section_empty(after: Sequence[str]) -> bool:
    """Return whether the next non-blank line is a heading, or missing."""
    following = next((line for line in after if line.strip()), "")
    return not following or bool(_parse_heading(following))


def _parse_heading(line: str) -> str:
    """Return the known heading of a line, or ""."""
    text = line.strip().removeprefix("- ").strip().lstrip("# ").rstrip(":")
    return text if text in HEADINGS else ""


def _count_words(text: str) -> int:
    return len(text.split())
