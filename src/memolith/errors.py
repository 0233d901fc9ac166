"""Define the errors that Memolith raises, by the action they require from the caller.

    MemolithError
        InvalidInput: correct the argument named in `field`.
        InvalidConfiguration: correct the setting named in `name`.
        NotFound: check the id or key.
        Forbidden: use an API key that may act for the owner.
        OwnerErased: readmit the owner explicitly.
        Conflict: read the current state and try again.
        Disabled: set `enabled = true`.
        WrongEmbeddingModel: open with the stored model, or re-embed.
        KeyUnavailable: supply the right encryption key.
        StoreUnavailable: try again; the store is locked or unreachable, or its disk is full.
        StoreReadOnly: make the file writable, or use another one.
        StoreDamaged: restore a backup, or repair.
        StoreTooNew: upgrade Memolith.
        LibraryOnly: use the library; the service has no such method.
        ServiceFailed: see `retryable`; a model or embedding service failed.
            LimitReached: wait; the owner's hourly limit is used up.

Messages never contain encryption keys or the content of memories.
"""

from __future__ import annotations


class MemolithError(Exception):
    """Base class of all errors that Memolith raises deliberately."""


class InvalidInput(MemolithError):
    """An argument is invalid; nothing was changed.

    Attributes:
        field: The name of the argument.
        problem: The reason, with the limit if there is one.
    """

    def __init__(self, field: str, problem: str) -> None:
        """Name the argument and the problem."""
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InvalidConfiguration(MemolithError):
    """A setting is invalid.

    Attributes:
        name: The setting, as the user wrote it.
        problem: The reason, with the closest valid name or the valid range.
        source: Origin of the value: a file and line, a variable or an argument.
    """

    def __init__(self, name: str, problem: str, source: str | None = None) -> None:
        """Name the setting, the problem and the origin of the value."""
        location = f" ({source})" if source else ""
        super().__init__(f"{name}: {problem}{location}")
        self.name = name
        self.problem = problem
        self.source = source


class NotFound(MemolithError):
    """The owner has nothing with that id or key.

    Attributes:
        what: The kind of object: "memory", "session", "key".
        id: The requested id or key.
    """

    def __init__(self, what: str, id: str) -> None:
        """Name the kind of object and the requested id."""
        super().__init__(f"no {what} {id!r}")
        self.what = what
        self.id = id


class Forbidden(MemolithError):
    """The caller may not act for the named owner."""


class OwnerErased(MemolithError):
    """The owner was erased permanently; nothing is stored for them until they are readmitted."""

    def __init__(self, owner_id: str) -> None:
        """Name the owner and the command that readmits them."""
        super().__init__(
            f"the owner {owner_id!r} was erased, and nothing more is stored for them:"
            " readmit them with `memolith erase --readmit`"
        )
        self.owner_id = owner_id


class Conflict(MemolithError):
    """The change conflicts with the current state of the store; nothing was changed."""


class Disabled(MemolithError):
    """Memory is disabled (`enabled = false`); nothing was written."""

    def __init__(self) -> None:
        """Name the setting."""
        super().__init__("memory is disabled: set enabled = true to write")


class WrongEmbeddingModel(MemolithError):
    """The store's vectors belong to another embedding model.

    Attributes:
        stored: Name and dimension of the store's model.
        given: Name and dimension of the model that the caller opened the store with.
        is_changed: Whether the store used the given model when the caller opened it.
    """

    def __init__(
        self, stored: str, given: str, *, is_changed: bool = False, is_reembedding: bool = False
    ) -> None:
        """Name both models and the way to resolve the mismatch.

        Args:
            stored: The store's model.
            given: The caller's model.
            is_changed: Whether the store used the given model when the caller opened it.
            is_reembedding: Whether a change to the given model is in progress.
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
            f"the store no longer uses {given}: `memolith reembed` changed its model to {stored};"
            f" open it again with {stored}"
        )
    model, _, dimension = given.partition(" (")[0].partition("@")
    command = f"memolith reembed --model {model}" + (
        f" --dimension {dimension}" if dimension else ""
    )
    action = "finish the change in progress" if is_reembedding else "replace its vectors"
    return (
        f"the store uses {stored}, not {given}: open it with {stored}, or {action} with `{command}`"
    )


class KeyUnavailable(MemolithError):
    """The store is encrypted, and its key is missing or wrong."""


class StoreUnavailable(MemolithError):
    """The store is unreachable or locked by another process, or its disk is full.

    Attributes:
        waited_s: How long the operation was retried, in seconds.
    """

    def __init__(self, problem: str, waited_s: float = 0.0) -> None:
        """State the problem and the time spent retrying."""
        suffix = f" (tried for {waited_s:.3g} s)" if waited_s else ""
        super().__init__(problem + suffix)
        self.waited_s = waited_s


class StoreReadOnly(MemolithError):
    """The store or its key ring is read-only; nothing was changed.

    Attributes:
        path: The file.
        reason: Why the file is not writable.
    """

    def __init__(self, path: str, reason: str) -> None:
        """Name the file and the reason."""
        super().__init__(f"{path} is read-only: {reason}")
        self.path = path
        self.reason = reason


class StoreDamaged(MemolithError):
    """The file is damaged, or is not a Memolith store."""


class StoreTooNew(MemolithError):
    """A newer version of Memolith wrote the store.

    Attributes:
        schema_version: The schema version of the store.
        supported_version: The newest schema version that this Memolith supports.
    """

    def __init__(self, schema_version: int, supported_version: int) -> None:
        """Give both schema versions."""
        super().__init__(
            f"the store has schema {schema_version}, and this version supports schemas up to"
            f" {supported_version}: upgrade Memolith"
        )
        self.schema_version = schema_version
        self.supported_version = supported_version


class LibraryOnly(MemolithError):
    """The method needs direct access to the store, but was called on a service.

    Attributes:
        method: The name of the method.
        alternative: How to achieve the same.
    """

    def __init__(self, method: str, alternative: str) -> None:
        """Name the method and the alternative."""
        super().__init__(f"{method} is not available over a service: {alternative}")
        self.method = method
        self.alternative = alternative


class ServiceFailed(MemolithError):
    """A model or embedding service failed.

    Attributes:
        service: The name of the service.
        status: The HTTP status of its response; None without a response.
        retryable: Whether the same call may succeed later.
        retry_after_s: Seconds to wait before a retry; None if unknown.
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
        """Name the service and the problem."""
        super().__init__(f"{service}: {problem}")
        self.service = service
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class LimitReached(ServiceFailed):
    """An owner has used up an hourly limit; the service was not called.

    Attributes:
        setting: The name of the setting.
        limit: The value of the setting.
    """

    def __init__(self, service: str, setting: str, limit: int, retry_after_s: float) -> None:
        """Name the setting, its limit and the remaining wait."""
        super().__init__(
            service,
            f"the hourly limit {setting} = {limit} is reached:"
            f" try again in {retry_after_s / 60:.0f} min",
            retryable=True,
            retry_after_s=retry_after_s,
        )
        self.setting = setting
        self.limit = limit
