"""Verifies stores, and probes the health of store and embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from memolith.domain.owners import WorkKind
from memolith.errors import InvalidInput, KeyUnavailable, StoreDamaged, StoreTooNew
from memolith.ports.admin import CheckedCounts, Finding, StoredText, SupportsVerification
from memolith.ports.store import IndexEntry
from memolith.profiles.model import Profile
from memolith.services.access import Access
from memolith.services.indexing import Indexer, IndexText, apply_window, memory_text

Advance = Callable[[int], None]
Previous = list[tuple[StoredText, IndexEntry]]

_PROBE_JOB: Final = "probe"


class HealthProbe:
    """Probes the store and the embedder; each method raises an error if something is wrong."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        self._access = access
        self._indexer = indexer
        self._schema = access.store.meta.schema

    def check_read(self) -> None:
        """Read from the store, and check that its schema has not changed since it was opened.

        Raises:
            StoreUnavailable: It can't be reached.
            StoreTooNew: A newer Memolith has upgraded it.
            StoreDamaged: It was replaced by another store.
        """
        schema = self._access.store.meta.schema
        if schema > self._schema:
            raise StoreTooNew(schema, self._schema)
        if schema != self._schema:
            raise StoreDamaged(f"the store's schema changed from {self._schema} to {schema}")

    def check_write(self) -> None:
        """Make a durable write without a lasting effect.

        If another process is doing this at the same time, that is sufficient.

        Raises:
            StoreUnavailable: It can't be reached, stays locked, or the disk is full.
            StoreReadOnly: It can't be written.
        """
        now = self._access.clock.now()
        self._access.store.jobs.acquire(_PROBE_JOB, now=now, every_s=0.0, lease_s=0.0)

    def count_pending_owners(self) -> int:
        """Return the number of owners with learning work that is due.

        Raises:
            StoreUnavailable: The store can't be reached.
        """
        now = self._access.clock.now()
        return len(self._access.store.leases.owners(WorkKind.LEARN, now=now))

    def check_embedder(self) -> None:
        """Embed a test word, and check that the store uses the same model.

        Raises:
            ServiceFailed: The model or its service failed.
            WrongEmbeddingModel: The store now has vectors of another model.
        """
        self._indexer.probe()


# --- Verification


_INDEX_FINDING_KINDS = frozenset({"item", "passages", "vector", "terms", "digest"})
"""Kinds of findings that a new index entry repairs."""


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The result of verifying a store.

    Attributes:
        findings: The problems, including repaired ones.
        checked: The number of checked records.
    """

    findings: tuple[Finding, ...]
    checked: CheckedCounts

    @property
    def is_clean(self) -> bool:
        """Whether no problem remains."""
        return all(finding.repaired for finding in self.findings)


@dataclass(frozen=True, slots=True)
class _OwnerFindings:
    """The problems of one owner, and the texts whose index entries are wrong."""

    findings: list[Finding]
    texts: list[tuple[StoredText, StoredText | None]]
    checked: CheckedCounts


class StoreVerifier:
    """Checks derived data against its source records, and repairs it."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        self._access = access
        self._store = access.store
        self._indexer = indexer

    def verify(self, *, repair: bool, advance: Advance | None) -> VerificationReport:
        """Check all data; with `repair`, rebuild derived data.

        Repaired data is checked again: a finding counts as repaired only if it is gone.

        Raises:
            InvalidInput: The store does not support verification.
        """
        store = self._store
        if not isinstance(store, SupportsVerification):
            raise InvalidInput("store", "is in memory only and can't be verified")
        findings = store.check_file()
        if findings and repair:
            with suppress(StoreDamaged):  # the next check reports it again
                store.repair_file()
            findings = _mark_repaired(findings, store.check_file())
        checked = CheckedCounts()
        for owner_id in self._list_owners(findings):
            owner_findings = self._verify_owner(store, owner_id, advance)
            checked = _add_counts(checked, owner_findings.checked)
            if owner_findings.findings and repair:
                findings += self._repair(store, owner_id, owner_findings)
            else:
                findings += owner_findings.findings
        return VerificationReport(tuple(findings), checked)

    def _list_owners(self, findings: list[Finding]) -> list[str]:
        """Return all owners; add a finding if they can't be read."""
        try:
            return self._store.owners()
        except StoreDamaged as error:
            findings.append(Finding("file", None, None, str(error)))
            return []

    def _verify_owner(
        self, store: SupportsVerification, owner_id: str, advance: Advance | None
    ) -> _OwnerFindings:
        findings: list[Finding] = []
        try:
            profile = self._access.find_profile(owner_id)
            with store.verify_owner(owner_id) as examination:
                findings += examination.check_records()
                if profile is None:  # required for the expected index entries
                    missing = (
                        f"its profile {self._access.get_profile_name(owner_id)!r} is not defined"
                    )
                    findings.append(Finding("profile", owner_id, None, missing))
                    return _OwnerFindings(findings, [], examination.count_checked())
                unknown = {each.record_id for each in findings if each.kind == "item"}
                wrong = []
                for text, before in _iter_with_previous(examination.stored_texts()):
                    entry = self._indexer.build_keyword_entry(_index_text(text, profile))
                    differing = examination.compare(
                        text,
                        self._possible_entries(text, entry, before),
                        needs_vectors=text.is_open and profile.should_embed(text.kind),
                    )
                    findings += differing
                    kinds = {each.kind for each in differing}
                    kinds |= {"item"} if text.record_id in unknown else set()
                    if kinds & _INDEX_FINDING_KINDS and "text" not in kinds:
                        wrong.append((text, _find_window(text, before)))
                    if advance is not None:
                        advance(1)
                return _OwnerFindings(findings, wrong, examination.count_checked())
        except (StoreDamaged, KeyUnavailable) as error:
            kind = "sealed" if isinstance(error, KeyUnavailable) else "file"
            findings.append(Finding(kind, owner_id, None, str(error)))
            return _OwnerFindings(findings, [], CheckedCounts(owners=1))

    def _possible_entries(
        self, text: StoredText, entry: IndexEntry, before: Sequence[StoredText]
    ) -> list[IndexEntry]:
        """Return the valid entries of a text, which depend on the message before it.

        Current texts have one. For an earlier version, the message before may have changed since,
        in the index or not.
        """
        if text.kind is not None:
            # Indexed with or without its key, depending on the owner's profile at that time.
            keyed = IndexText(text.content, key=text.key)
            return [
                entry,
                *map(self._indexer.build_keyword_entry, (IndexText(text.content), keyed)),
            ]
        if text.is_open:
            window = _find_window(text, before)
            return [apply_window(entry, self._build_keyword_entry(window))]
        return [entry, *(apply_window(entry, self._build_keyword_entry(each)) for each in before)]

    def _build_keyword_entry(self, text: StoredText | None) -> IndexEntry | None:
        if text is None:
            return None
        return self._indexer.build_keyword_entry(IndexText(text.content, text.speaker))

    def _repair(
        self, store: SupportsVerification, owner_id: str, owner_findings: _OwnerFindings
    ) -> list[Finding]:
        texts = [text for text, _ in owner_findings.texts]
        try:
            profile = self._access.get_profile(owner_id)
            entries = self._indexer.rebuild_entries([_index_text(text, profile) for text in texts])
            windowed = {
                text.item: apply_window(entry, self._build_keyword_entry(window))
                for (text, window), entry in zip(owner_findings.texts, entries, strict=True)
            }
            store.repair_owner(owner_id, windowed, {text.item: text for text in texts})
        except (StoreDamaged, KeyUnavailable):
            return owner_findings.findings
        return _mark_repaired(
            owner_findings.findings, self._verify_owner(store, owner_id, None).findings
        )


def _index_text(text: StoredText, profile: Profile) -> IndexText:
    if text.kind is not None:
        return memory_text(profile, text.content, text.kind, text.key)
    return IndexText(text.content, text.speaker, profile.should_embed(None))


def _iter_with_previous(
    texts: Sequence[StoredText],
) -> Iterator[tuple[StoredText, Sequence[StoredText]]]:
    """Yield each text with all versions of the message before it in its session."""
    place: tuple[int, int] | None = None
    current: list[StoredText] = []
    before: list[StoredText] = []
    for text in texts:
        if text.position != place:
            is_continuation = (
                text.position is not None
                and place is not None
                and text.position == (place[0], place[1] + 1)
            )
            before, current, place = current if is_continuation else [], [], text.position
        yield text, before
        if text.position is not None:
            current.append(text)


def _find_window(text: StoredText, before: Sequence[StoredText]) -> StoredText | None:
    """Return the text before a text, as of the time of the text's version."""
    if text.is_open:
        return next((each for each in before if each.is_open), None)
    earlier = [each for each in before if each.valid_from <= text.valid_from]
    return earlier[-1] if earlier else None


def _mark_repaired(before: Sequence[Finding], after: Sequence[Finding]) -> list[Finding]:
    """Return the findings, with those that are gone marked as repaired, and new ones."""
    remaining = {(each.kind, each.owner_id, each.record_id, each.detail) for each in after}

    def is_remaining(each: Finding) -> bool:
        return (each.kind, each.owner_id, each.record_id, each.detail) in remaining

    repaired = [each if is_remaining(each) else replace(each, repaired=True) for each in before]
    return [*repaired, *(each for each in after if each not in before)]


def _add_counts(one: CheckedCounts, other: CheckedCounts) -> CheckedCounts:
    return CheckedCounts(
        one.owners + other.owners,
        one.memories + other.memories,
        one.messages + other.messages,
        one.passages + other.passages,
    )
