"""What can go wrong, by what the caller should do about it.

    MemolithError
    ├── InvalidInput            mend the argument that `field` names
    ├── InvalidConfiguration    mend the setting that `name` names
    ├── NotFound                nothing of this owner has that id or key
    ├── Forbidden               the key may not act for that owner
    ├── OwnerErased             the owner was erased for good; readmit them on purpose
    ├── Conflict                the change does not fit what is stored now
    ├── Disabled                memory is switched off in the configuration
    ├── WrongEmbeddingModel     open with the stored model, or re-embed
    ├── KeyUnavailable          supply the right encryption key
    ├── StoreUnavailable        try again: locked, unreachable, full
    ├── StoreReadOnly           make it writable, or write to another
    ├── StoreDamaged            restore a backup, or repair
    ├── StoreTooNew             upgrade Memolith
    ├── LibraryOnly             do it where the store is: a service does not do it for others
    └── ServiceFailed           a model or embedding service; see `retryable`
        └── LimitReached        an owner's calls or tokens of this hour are spent: wait

No message holds the content of a memory, or a key.
"""

from __future__ import annotations


class MemolithError(Exception):
    """The base of every error that Memolith raises on purpose."""


class InvalidInput(MemolithError):
    """An argument that can't be taken; nothing was changed.

    Attributes:
        field: The argument's name.
        problem: What is wrong with it, with the limit where there is one.
    """

    def __init__(self, field: str, problem: str) -> None:
        """Name the argument and what is wrong with it."""
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InvalidConfiguration(MemolithError):
    """A setting that can't be taken.

    Attributes:
        name: The setting, as it was written.
        problem: What is wrong with it, with the nearest right name or the range.
        source: Where it came from: a file and line, a variable, an argument.
    """

    def __init__(self, name: str, problem: str, source: str | None = None) -> None:
        """Name the setting, what is wrong with it, and where it stands."""
        where = f" ({source})" if source else ""
        super().__init__(f"{name}: {problem}{where}")
        self.name = name
        self.problem = problem
        self.source = source


class NotFound(MemolithError):
    """Nothing of this owner has that id or key.

    Attributes:
        what: The kind of thing: "memory", "session", "key".
        id: What was asked for.
    """

    def __init__(self, what: str, id: str) -> None:
        """Say what was looked for, and by which id."""
        super().__init__(f"no {what} {id!r}")
        self.what = what
        self.id = id


class Forbidden(MemolithError):
    """The caller may not act for the owner named."""


class OwnerErased(MemolithError):
    """The owner was erased for good: nothing is stored for them until they are readmitted."""

    def __init__(self, owner_id: str) -> None:
        """Say who, and the way back."""
        super().__init__(
            f"the owner {owner_id!r} was erased: nothing is stored for them again,"
            " unless `memolith erase --readmit` lets them begin anew"
        )
        self.owner_id = owner_id


class Conflict(MemolithError):
    """The change does not fit what is stored now; nothing was changed."""


class Disabled(MemolithError):
    """Memory is switched off (`enabled = false`); nothing was written."""

    def __init__(self) -> None:
        """Say which setting is off."""
        super().__init__("memory is switched off: set enabled = true to write")


class WrongEmbeddingModel(MemolithError):
    """The store's vectors are of another embedding model.

    Attributes:
        stored: Name and dimension of the model that they are of.
        given: Name and dimension of the one it was opened with.
        is_changed: Whether they were of that one when it was opened.
    """

    def __init__(
        self, stored: str, given: str, *, is_changed: bool = False, is_reembedding: bool = False
    ) -> None:
        """Name both models, and the way out.

        Args:
            stored: The store's.
            given: The caller's.
            is_changed: Whether it was the store's when the caller opened it.
            is_under_way: Whether vectors of the caller's are being made.
        """
        super().__init__(
            _describe_model_mismatch(
                stored, given, is_changed=is_changed, is_reembedding=is_reembedding
            )
        )
        self.stored = stored
        self.given = given
        self.is_changed = is_changed


def _describe_model_mismatch(
    stored: str, given: str, *, is_changed: bool, is_reembedding: bool
) -> str:
    if is_changed:
        return (
            f"the store's vectors are no longer of {given}: `memolith reembed` has made them anew"
            f" by {stored}; open it again with that model"
        )
    model, _, kept = given.partition(" (")[0].partition("@")
    command = f"memolith reembed --model {model}" + (f" --dimension {kept}" if kept else "")
    way = "finish the change that is under way" if is_reembedding else "make its vectors anew"
    return (
        f"the store's vectors are of {stored}, not of {given}: open it with {stored}, or {way}"
        f" by `{command}`"
    )


class KeyUnavailable(MemolithError):
    """The store is encrypted, and its key is missing or another."""


class StoreUnavailable(MemolithError):
    """The store can't be reached, or is locked by somebody else, or its disk is full.

    Attributes:
        waited_s: For how long it was tried, in seconds.
    """

    def __init__(self, problem: str, waited_s: float = 0.0) -> None:
        """Say what is wrong and how long it was tried."""
        tried = f" (tried for {waited_s:.3g} s)" if waited_s else ""
        super().__init__(problem + tried)
        self.waited_s = waited_s


class StoreReadOnly(MemolithError):
    """The store, or its key ring, can only be read: nothing was changed.

    Attributes:
        path: The file.
        reason: Why it can't be written.
    """

    def __init__(self, path: str, reason: str) -> None:
        """Say which file, and why it can't be written."""
        super().__init__(f"{path} can only be read: {reason}")
        self.path = path
        self.reason = reason


class StoreDamaged(MemolithError):
    """The file is not a store of Memolith, or is damaged."""


class StoreTooNew(MemolithError):
    """The store was written by a newer Memolith.

    Attributes:
        found: The schema version of the store.
        known: The newest that this Memolith knows.
    """

    def __init__(self, schema_version: int, supported_version: int) -> None:
        """Give both versions."""
        super().__init__(
            f"the store has schema {schema_version}, this Memolith knows {supported_version}: upgrade Memolith"
        )
        self.schema_version = schema_version
        self.supported_version = supported_version


class LibraryOnly(MemolithError):
    """What was asked needs the store itself, and was asked of a service; nothing was changed.

    Attributes:
        what: The method.
        way: How it is done.
    """

    def __init__(self, method: str, alternative: str) -> None:
        """Name the method, and the way to do it."""
        super().__init__(f"{method} is not done over a service: {alternative}")
        self.method = method
        self.alternative = alternative


class ServiceFailed(MemolithError):
    """A model or an embedding service did not do its work.

    Attributes:
        service: Its name.
        status: What it answered, where it answered.
        retryable: Whether the same call may succeed later.
        retry_after_s: In how many seconds, where that is known.
    """

    def __init__(
        self,
        service: str,
        problem: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        """Say which service failed, and how."""
        super().__init__(f"{service}: {problem}")
        self.service = service
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class LimitReached(ServiceFailed):
    """An owner has used up what a setting allows in an hour: the service was not asked.

    Attributes:
        setting: The setting's name.
        limit: What it allows.
    """

    def __init__(self, service: str, setting: str, limit: int, retry_after_s: float) -> None:
        """Name the setting, and say for how long that holds."""
        super().__init__(
            service,
            f"the limit of this hour, {setting} = {limit}, is reached:"
            f" again in {retry_after_s / 60:.0f} min",
            retryable=True,
            retry_after_s=retry_after_s,
        )
        self.setting = setting
        self.limit = limit
