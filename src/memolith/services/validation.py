"""Validates new memories: cleans and redacts their text, and classifies them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from memolith.domain.memories import Memory, Origin, Source
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.policies.trust import can_have_kind, get_trusted_kind, is_outranked
from memolith.profiles.model import Profile
from memolith.text.cleaning import clean
from memolith.text.screening import contains_secrets, redact, redact_lines


def clean_and_redact(
    text: str, *, field: str = "content", limit: int | None = None, redact_whole_lines: bool = False
) -> tuple[str, int]:
    """Return a text without control characters and secrets, and the number of redactions.

    Args:
        text: The text.
        field: The argument's name, for errors.
        limit: The maximum number of characters.
        redact_whole_lines: Whether to redact each line that contains a secret.

    Raises:
        InvalidInput: The text is empty, invisible, or longer than the limit.
    """
    cleaned = clean(text, field=field, limit=limit)
    return redact_lines(cleaned) if redact_whole_lines else redact(cleaned)


def validate_name(value: object, field: str) -> str:
    """Return a valid key, speaker, session or external id.

    Names with a secret are refused, because redaction would change the identity. A plain number is
    an id, not a secret.

    Raises:
        InvalidInput: It is empty or too long, or contains control characters or a secret.
    """
    name = arguments.check_name(value, field)
    if not name.isdigit() and contains_secrets(name):
        raise InvalidInput(field, "contains a secret; names can't be redacted")
    return name


def validate_tags(values: Iterable[object]) -> tuple[str, ...]:
    """Return the distinct tags, sorted.

    Raises:
        InvalidInput: There are too many, or one is not valid or contains a secret.
    """
    return tuple(validate_name(tag, "tags") for tag in arguments.check_tags(values))


# --- New memories


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to store, validated and redacted.

    Attributes:
        judged_importance: The importance rated by the profile's classifier.
        importance: The importance passed in; None: use the judged one.
        expires_at: The explicit expiry; the profile's default is applied later.
        sources: The records that it was made from.
        redactions: The number of secrets redacted from the content.
        may_change_existing: Whether it may change or replace existing memories. False if a source
            is a suspected prompt injection: somebody else may have written it.
    """

    content: str
    kind: str
    judged_importance: float
    importance: float | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    happened_at: datetime | None = None
    session_id: str | None = None
    origin: Origin = Origin.USER
    sources: tuple[Source, ...] = ()
    redactions: int = 0
    may_change_existing: bool = True

    @property
    def effective_importance(self) -> float:
        """The importance passed in, else the judged one."""
        return self.judged_importance if self.importance is None else self.importance


def build_new_memory(
    content: str,
    profile: Profile,
    now: datetime,
    *,
    kind: str | None,
    importance: float | None,
    key: str | None,
    tags: Iterable[str],
    expires_at: datetime | None,
    happened_at: datetime | None,
    session_id: str | None,
    origin: str,
    expires_in: str = "",
) -> NewMemory:
    """Return a validated and classified memory.

    Raises:
        InvalidInput: An argument is not valid.
    """
    new_memory = NewMemory(
        content=content,
        kind="" if kind is None else validate_kind_trust(validate_kind(kind, profile), origin),
        judged_importance=0.0,
        importance=None if importance is None else arguments.check_share(importance, "importance"),
        key=None if key is None else validate_name(key, "key"),
        tags=validate_tags(tags),
        expires_at=parse_expiry(expires_in, expires_at, now),
        happened_at=None
        if happened_at is None
        else arguments.check_instant(happened_at, "happened_at"),
        session_id=None if session_id is None else validate_name(session_id, "session"),
        origin=parse_origin(origin),
    )
    return classify_new_memory(new_memory, profile)


def classify_new_memory(new_memory: NewMemory, profile: Profile) -> NewMemory:
    """Return a new memory with its content redacted, and missing kind and importance filled in.

    Raises:
        InvalidInput: The content is empty or too long, or its kind requires a missing key.
    """
    content, redactions = validate_content(new_memory.content, profile)
    kind, importance = _classify(new_memory, content, profile)
    if new_memory.key is None and kind in profile.keyed_kinds:
        raise InvalidInput("key", f"is required for kind {kind!r} in profile {profile.name!r}")
    return replace(
        new_memory,
        content=content,
        redactions=redactions,
        kind=kind,
        judged_importance=importance,
    )


def _classify(new_memory: NewMemory, content: str, profile: Profile) -> tuple[str, float]:
    """Return the kind and importance of a new memory, classified by its content if missing."""
    if new_memory.kind and new_memory.importance is not None:
        return new_memory.kind, new_memory.importance
    kind, importance = profile.classifier.classify(content, new_memory.origin)
    return (
        new_memory.kind or get_trusted_kind(new_memory.origin, kind, profile.external_kinds),
        importance if new_memory.importance is None else new_memory.importance,
    )


def validate_content(content: str, profile: Profile) -> tuple[str, int]:
    """Return a memory's redacted content, and the number of redactions.

    Raises:
        InvalidInput: It is empty or too long.
    """
    text, redactions = clean_and_redact(
        content, limit=profile.max_memory_chars, redact_whole_lines=profile.redacts_lines
    )
    size = len(text.encode())
    if profile.max_memory_bytes is not None and size > profile.max_memory_bytes:
        raise InvalidInput("content", f"has {size} bytes; at most {profile.max_memory_bytes}")
    return text, redactions


def validate_kind(kind: str, profile: Profile) -> str:
    """Return a kind if the profile has it.

    Raises:
        InvalidInput: The profile has no such kind.
    """
    if kind not in profile.kinds:
        raise InvalidInput(
            "kind", f"{arguments.format_value(kind)} is not one of {', '.join(profile.kinds)}"
        )
    return kind


def validate_kind_trust(kind: str, origin: str) -> str:
    """Return a kind if memories of the origin may have it.

    Raises:
        InvalidInput: The kind describes the user, and the origin is external.
    """
    if not can_have_kind(parse_origin(origin), kind):
        raise InvalidInput(
            "kind", f"{kind!r} is not allowed for origin {origin}, only for conversations"
        )
    return kind


def parse_origin(origin: str) -> Origin:
    """Return the origin with this name.

    Raises:
        InvalidInput: There is no such origin.
    """
    try:
        return Origin(origin)
    except ValueError:
        problem = f"{arguments.format_value(origin)} is not one of {', '.join(Origin)}"
        raise InvalidInput("origin", problem) from None


def parse_expiry(expires_in: str, expires_at: datetime | None, now: datetime) -> datetime | None:
    """Return the time when a memory expires; None: not set.

    Raises:
        InvalidInput: Both arguments are given, or one is not valid.
    """
    lifetime = arguments.parse_expires_in(expires_in)
    if expires_at is None:
        return None if lifetime is None else now + lifetime
    if lifetime is not None:
        raise InvalidInput("expires_at", "give only one of expires_in and expires_at")
    end = arguments.check_instant(expires_at, "expires_at")
    if end <= now:
        raise InvalidInput("expires_at", "must be in the future")
    return end


def redaction_details(redactions: int) -> dict[str, str]:
    """Return the details for an event about redactions."""
    return {"redactions": str(redactions)} if redactions else {}


def merge_restatement(existing: Memory, new_memory: NewMemory) -> Memory:
    """Return a memory updated by a restatement; a less trusted one only adds its sources."""
    sources = merge_sources(existing, new_memory)
    if is_outranked(new_memory.origin, by=existing.origin):
        return replace(existing, sources=sources)
    is_upgrade = is_outranked(existing.origin, by=new_memory.origin)
    return replace(
        existing,
        origin=new_memory.origin if is_upgrade else existing.origin,
        kind=new_memory.kind if is_upgrade else existing.kind,
        key=existing.key or new_memory.key,
        tags=tuple(sorted({*existing.tags, *new_memory.tags})),
        importance=existing.importance if new_memory.importance is None else new_memory.importance,
        happened_at=existing.happened_at or new_memory.happened_at,
        expires_at=new_memory.expires_at or existing.expires_at,
        sources=sources,
    )


def merge_sources(existing: Memory, new_memory: NewMemory) -> tuple[Source, ...]:
    """Return the combined sources."""
    return (
        *existing.sources,
        *(each for each in new_memory.sources if each not in existing.sources),
    )
