"""What every text and name passes on its way in: cleaned, then without secrets."""

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
    """Return a text as it may be kept and embedded, and how many secrets were taken out.

    Args:
        text: What a caller passed.
        field: The argument's name, for the error.
        limit: The most characters it may have.
        lines: Whether a line that holds a secret goes as a whole.

    Raises:
        InvalidInput: No text, nothing visible in it, or longer than the limit.
    """
    cleaned = clean(text, field=field, limit=limit)
    return redact_lines(cleaned) if redact_whole_lines else redact(cleaned)


def validate_name(value: object, field: str) -> str:
    """Return a memory's or a speaker's name, a session's or a caller's id.

    A name without its secret would be another name, so that it is refused. A number alone is an
    id, whatever its digits.

    Raises:
        InvalidInput: It is empty, too long, holds control characters, or a secret.
    """
    name = arguments.check_name(value, field)
    if not name.isdigit() and contains_secrets(name):
        raise InvalidInput(field, "holds a secret; names are kept and shown as they are")
    return name


def validate_tags(values: Iterable[object]) -> tuple[str, ...]:
    """Return tags sorted, each once.

    Raises:
        InvalidInput: There are too many, one is no name, or holds a secret.
    """
    return tuple(validate_name(tag, "tags") for tag in arguments.check_tags(values))


# --- Memories on their way in: checked, screened, and judged by the owner's profile


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be stored, checked and cleaned.

    Attributes:
        importance: None where it was not given, but judged: `judged`.
        expires_at: When it ends, where that was said; the profile's default comes later.
        sources: What it was made from.
        redactions: How many secrets were taken out of the content.
        alters: Whether it may change or replace what is known. Not so what rests on a text that
            tries to instruct a model: somebody else may have written it.
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
        """Its importance: as given, else as judged."""
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
    """Return what is to be stored, checked and judged.

    Raises:
        InvalidInput: An argument can't be taken.
    """
    draft = NewMemory(
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
    return classify_new_memory(draft, profile)


def classify_new_memory(draft: NewMemory, profile: Profile) -> NewMemory:
    """Return a draft with its content screened, and kind and importance judged where not given.

    Raises:
        InvalidInput: The content is empty or too long, or its kind needs a key and has none.
    """
    content, redactions = validate_content(draft.content, profile)
    kind, importance = _classify(draft, content, profile)
    if draft.key is None and kind in profile.keyed_kinds:
        raise InvalidInput("key", f"a memory of kind {kind!r} needs one in {profile.name!r}")
    return replace(
        draft,
        content=content,
        redactions=redactions,
        kind=kind,
        judged_importance=importance,
    )


def _classify(draft: NewMemory, content: str, profile: Profile) -> tuple[str, float]:
    """Return a draft's kind and importance: as given, else as judged by its content."""
    if draft.kind and draft.importance is not None:
        return draft.kind, draft.importance
    kind, importance = profile.classifier.classify(content, draft.origin)
    return (
        draft.kind or get_trusted_kind(draft.origin, kind, profile.external_kinds),
        importance if draft.importance is None else draft.importance,
    )


def validate_content(content: str, profile: Profile) -> tuple[str, int]:
    """Return a memory's content as the profile keeps it, and how many secrets it lost.

    Raises:
        InvalidInput: It is empty or too long.
    """
    text, redactions = clean_and_redact(
        content, limit=profile.max_memory_chars, redact_whole_lines=profile.redacts_lines
    )
    size = len(text.encode())
    if profile.max_memory_bytes is not None and size > profile.max_memory_bytes:
        raise InvalidInput("content", f"{size} bytes; at most {profile.max_memory_bytes}")
    return text, redactions


def validate_kind(kind: str, profile: Profile) -> str:
    """Return a kind of the profile.

    Raises:
        InvalidInput: The profile has no such kind.
    """
    if kind not in profile.kinds:
        raise InvalidInput(
            "kind", f"{arguments.format_value(kind)} is none of {', '.join(profile.kinds)}"
        )
    return kind


def validate_kind_trust(kind: str, origin: str) -> str:
    """Return a kind that a memory of that origin may have.

    Raises:
        InvalidInput: It says of the user what only the user can, and comes from outside.
    """
    if not can_have_kind(parse_origin(origin), kind):
        raise InvalidInput("kind", f"{kind!r} can't come from {origin}, only from what was said")
    return kind


def parse_origin(origin: str) -> Origin:
    """Return an origin.

    Raises:
        InvalidInput: There is no such origin.
    """
    try:
        return Origin(origin)
    except ValueError:
        problem = f"{arguments.format_value(origin)} is none of {', '.join(Origin)}"
        raise InvalidInput("origin", problem) from None


def parse_expiry(expires_in: str, expires_at: datetime | None, now: datetime) -> datetime | None:
    """Return when a memory ends by itself; None: not said.

    Raises:
        InvalidInput: Both are given, or either can't be taken.
    """
    lasting = arguments.parse_expires_in(expires_in)
    if expires_at is None:
        return None if lasting is None else now + lasting
    if lasting is not None:
        raise InvalidInput("expires_at", "give either expires_in or expires_at")
    end = arguments.check_instant(expires_at, "expires_at")
    if end <= now:
        raise InvalidInput("expires_at", "has passed already")
    return end


def redaction_details(redactions: int) -> dict[str, str]:
    """Return what an event says of the secrets that were taken out."""
    return {"redactions": str(redactions)} if redactions else {}


def merge_restatement(known: Memory, draft: NewMemory) -> Memory:
    """Return a memory with what a draft that says the same adds: a source, if it is outranked."""
    sources = merge_sources(known, draft)
    if is_outranked(draft.origin, by=known.origin):
        return replace(known, sources=sources)
    is_told = is_outranked(known.origin, by=draft.origin)
    return replace(
        known,
        origin=draft.origin if is_told else known.origin,
        kind=draft.kind if is_told else known.kind,
        key=known.key or draft.key,
        tags=tuple(sorted({*known.tags, *draft.tags})),
        importance=known.importance if draft.importance is None else draft.importance,
        happened_at=known.happened_at or draft.happened_at,
        expires_at=draft.expires_at or known.expires_at,
        sources=sources,
    )


def merge_sources(known: Memory, draft: NewMemory) -> tuple[Source, ...]:
    """Return the sources of both."""
    return (*known.sources, *(each for each in draft.sources if each not in known.sources))
