"""`Memolith`: a memory store of any number of owners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from types import TracebackType
from typing import Self

from numpy.typing import ArrayLike

from memolith import bootstrap
from memolith.admin import backup, reembed
from memolith.admin.reembed import ReembedResult
from memolith.api._generated import OwnerMethods
from memolith.api.owner import OwnerMemory
from memolith.bootstrap import App
from memolith.client import DEFAULT_TIMEOUT_S, DEFAULT_URL
from memolith.config import LoadedSettings
from memolith.errors import StoreUnavailable
from memolith.policies import arguments
from memolith.policies.merging import Verdict
from memolith.ports.admin import RestoreResult
from memolith.ports.cipher import CipherProvider
from memolith.ports.clock import Clock
from memolith.ports.models import (
    Arbitrator,
    ChatModel,
    Embedder,
    Reranker,
    StreamingChatModel,
    TokenCounter,
)
from memolith.ports.service import ApiKey, IdempotencyStore
from memolith.profiles.model import Profile
from memolith.services.inspect import ProfileInfo
from memolith.services.keys import NewApiKey
from memolith.services.maintenance import RetentionResult
from memolith.services.migrate import MigrationResult
from memolith.services.purge import EraseResult
from memolith.services.schedule import JobResult
from memolith.services.summarise import ConsolidationResult
from memolith.services.verify import HealthProbe, VerificationReport
from memolith.services.work import WorkResult


class Memolith(OwnerMethods):
    """Persistent memory for assistants and agents. Thread-safe.

        with Memolith.open("memory.db") as memory:
            memory.remember("Prefers metric units", owner="alice")
            print(memory.context("Which units should I use?", owner="alice"))

    Every method of `OwnerMemory` is also a method of this class, with the owner id as the keyword
    argument `owner`.
    """

    def __init__(self, app: App) -> None:
        """Use `Memolith.open` or `Memolith.connect` to create an instance."""
        self._app = app

    @classmethod
    def open(
        cls,
        url: str | PathLike[str] | None = None,
        *,
        profile: str | Profile | None = None,
        embedder: Embedder | Callable[[list[str]], ArrayLike] | None = None,
        clock: Clock | None = None,
        tokens: TokenCounter | None = None,
        config: LoadedSettings | str | PathLike[str] | None = None,
        cipher: CipherProvider | None = None,
        reranker: Reranker | Callable[[str, list[str]], Sequence[float]] | None = None,
        arbitrator: Arbitrator | Callable[[str, str], Verdict] | None = None,
        chat: ChatModel | Callable[[list[dict[str, str]]], str] | None = None,
        worker: bool | None = None,
    ) -> Self:
        """Open a store. Create it if it does not exist.

        A store that cannot be written is opened read-only. Its methods that write raise
        `StoreReadOnly`.

            memory = Memolith.open("memory.db", profile="facts")

        Args:
            url: A file path, a PostgreSQL URL, or ":memory:" for a store that ends with the
                process. None: as configured.
            profile: The profile of new owners: a name or your own `Profile`. None: as configured.
            embedder: A port, or a function from texts to vectors. None: as configured.
            clock: The source of the current time. None: the system clock.
            tokens: The token counter. None: the word pieces of the local embedder.
            config: A configuration file, or loaded settings. None: `memolith.toml`, if it is found,
                and the environment.
            cipher: The encryption of a store in a file. None: as configured. The first encrypted
                store creates the keys: back them up with `memolith key backup`.
            reranker: Rescores results in profiles that use a reranker (`chunks`): a port, or a
                function from a query and texts to scores. None: as configured.
            arbitrator: Resolves a new memory that is similar to a known one, in profiles that ask
                for it (`facts`): a port, or a function of the known and the new text. None: both
                are kept.
            chat: The language model: a port, or a function from messages (mappings with `role` and
                `content`) to a text. None: as configured; the default is no model.
            worker: Whether to run learning in background threads if there is a language model.
                None: as configured. Otherwise run `memolith worker` or call `work`.

        Raises:
            InvalidConfiguration: A setting is invalid.
            StoreUnavailable: The store cannot be opened.
            StoreReadOnly: The store cannot be written, and its schema is too old to be read.
            StoreDamaged: The file is not a store.
            StoreTooNew: The store was written by a newer Memolith.
            KeyUnavailable: The store is encrypted, and its key is missing or wrong.
            WrongEmbeddingModel: The vectors of the store are from another embedder.
        """
        return cls(
            bootstrap.build_app(
                url,
                profile=profile,
                embedder=embedder,
                clock=clock,
                tokens=tokens,
                config=config,
                ciphers=cipher,
                reranker=reranker,
                arbitrator=arbitrator,
                chat=chat,
                worker=worker,
            )
        )

    @classmethod
    def connect(
        cls, url: str = DEFAULT_URL, *, key: str | None = None, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> Memolith:
        """Return a client of a Memolith service (`memolith serve`) with the methods of `Memolith`.

        Connects with the first call. Methods that a service does not offer raise `LibraryOnly`.

            memory = Memolith.connect("http://127.0.0.1:8377")

        Args:
            url: The address of the service.
            key: The API key. None: the environment variable `MEMOLITH_API_KEY`, if it is set.
            timeout_s: The timeout of a request, in seconds.

        Raises:
            InvalidConfiguration: An argument is invalid, or the client is not installed.
        """
        from memolith.client.remote import RemoteMemolith, build_transport

        return RemoteMemolith(build_transport(url, key, timeout_s))

    def owner(self, owner_id: str) -> OwnerMemory:
        """Return the memory of one owner. Nothing is stored until the first write.

        Args:
            owner_id: Any name of 1 to 256 characters, such as a user id.

        Raises:
            InvalidInput: The id is invalid.
        """
        return OwnerMemory(owner_id, self._app.services)

    def owners(self) -> list[str]:
        """Return the ids of all owners with stored records, sorted."""
        return self._app.store.owners()

    def profiles(self) -> tuple[ProfileInfo, ...]:
        """Return the available profiles."""
        return self._app.services.memory_reader.profiles()

    def erase(self, owner: str) -> EraseResult:
        """Remove all records and the encryption key of an owner permanently.

        Later writes for the owner raise `OwnerErased` until `readmit`, even after an older backup
        is restored over this store. Erasing an owner twice is not an error.

        Raises:
            NotFound: The owner has no records and was never erased.
        """
        return self._app.services.purger.erase(owner)

    def readmit(self, owner: str) -> None:
        """Allow writes for an erased owner again. The owner starts without records.

        Raises:
            NotFound: The owner was not erased.
        """
        self._app.services.purger.readmit(owner)

    def rotate_key(self, owner: str) -> int:
        """Reencrypt all records of an owner with a new key and destroy the old key.

        If it is interrupted, all records stay readable. Call it again to finish.

        Returns:
            The version of the new key.

        Raises:
            Conflict: The store is not encrypted.
            NotFound: The owner has no records.
        """
        return self._app.services.key_rotation.rotate(owner)

    def create_api_key(
        self, name: str, *, role: str = "owner", owner: str | None = None
    ) -> NewApiKey:
        """Create an API key for the HTTP service. Only this call returns its secret.

            print(memory.create_api_key("phone", owner="alice").secret)

        Args:
            name: A label, unique among active keys.
            role: "owner": full access to one owner. "service": access to any owner, named in each
                request. "admin": like "service", and operations on the whole store.
            owner: The owner id. Required for the role "owner".

        Raises:
            InvalidInput: An argument is invalid.
            Conflict: An active key has the same name, or the owner was erased.
        """
        return self._app.services.api_keys.create(name, role, owner)

    def api_keys(self) -> tuple[ApiKey, ...]:
        """Return all API keys without secrets, including revoked ones, oldest first."""
        return self._app.services.api_keys.list_keys()

    def find_api_key(self, secret: str) -> ApiKey | None:
        """Return the active API key with this secret. None if there is none."""
        return self._app.services.api_keys.find_active(secret)

    def revoke_api_key(self, name: str) -> None:
        """Revoke the active API key of that name, effective immediately.

        Raises:
            NotFound: No active key has this name.
        """
        self._app.services.api_keys.revoke(name)

    @property
    def health_checks(self) -> HealthProbe:
        """Health checks of the store and the embedder, for servers."""
        return self._app.services.health_probe

    @property
    def has_worker_died(self) -> bool:
        """Whether the background worker ended unexpectedly, for servers."""
        return self._app.background.has_died

    @property
    def idempotency(self) -> IdempotencyStore:
        """The stored responses to requests with an idempotency key, for servers."""
        return self._app.store.idempotency

    def backup(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        on_progress: Callable[[int], None] | None = None,
    ) -> int:
        """Copy the store to a file while it is in use, and return the size of the file in bytes.

        The backup is a snapshot. The file is written completely or not at all. It contains no keys:
        back them up with `memolith key backup`.

        Args:
            path: The file to write.
            overwrite: Whether to replace an existing file.
            on_progress: Called with the number of pages or rows that were copied since the last
                call.

        Raises:
            Conflict: The file exists.
            InvalidInput: The store cannot be copied, because it is kept in memory.
            StoreUnavailable: The file cannot be written.
        """
        return backup.back_up(self._app, path, overwrite=overwrite, advance=on_progress)

    @classmethod
    def restore_backup(
        cls,
        path: str | PathLike[str],
        url: str | PathLike[str] | None = None,
        *,
        force: bool = False,
        keys_of: str | PathLike[str] | None = None,
        config: LoadedSettings | str | PathLike[str] | None = None,
        cipher: CipherProvider | None = None,
    ) -> RestoreResult:
        """Replace a store by a backup. No process may have a store's file open.

        Checks the backup before it replaces the store. Owners that were erased since the backup
        stay erased. The previous store is kept as `….before-restore` or, in PostgreSQL, as the
        schema `…_before_restore`. The backup of a file can be restored into PostgreSQL and the
        reverse.

        Args:
            path: The backup.
            url: The store. None: as configured.
            force: Whether to replace an existing store.
            keys_of: The store whose keys encrypt the backup, if it is another one. They are copied.
            config: See `open`.
            cipher: See `open`.

        Raises:
            NotFound: The backup does not exist.
            Conflict: The store exists, and `force` is not set.
            StoreDamaged: The file is damaged or not a backup.
            StoreTooNew: The backup was written by a newer Memolith.
            KeyUnavailable: The key of the backup is missing.
            StoreUnavailable: The store is in use, or a file cannot be written.
        """
        return backup.restore_backup(
            path, url, force=force, keys_of=keys_of, config=config, ciphers=cipher
        )

    @classmethod
    def migrate(
        cls,
        to: str | PathLike[str],
        source: str | PathLike[str] | None = None,
        *,
        verify: bool = False,
        config: LoadedSettings | str | PathLike[str] | None = None,
        cipher: CipherProvider | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> MigrationResult:
        """Copy a store with all owners to another database: SQLite or PostgreSQL.

        Copies content, history, ids, times, versions, vectors and API keys unchanged, and only
        reads the source. Copies encryption keys too, so either store can be reset without the
        other. Owners must then be erased from both stores.

        An interrupted migration continues with the next call. Until it is complete, the target
        cannot be opened. Another call copies later changes of the source, unless the target was
        written to.

            Memolith.migrate("postgresql://memolith@db.example/memory", "memory.db")

        Args:
            to: The target: a file path or URL without a store, with an empty store, or with an
                earlier migration of this source.
            source: The store to copy. None: as configured.
            verify: Compare both stores without copying.
            config: See `open`.
            cipher: See `open`. Used for both stores.
            on_progress: Called with the number of rows copied or compared since the last call.

        Raises:
            NotFound: The source does not exist.
            Conflict: The target contains another store, or was written to since.
            InvalidInput: One of the stores is kept in memory.
            KeyUnavailable: The key of the source is missing.
            StoreUnavailable: One of the stores cannot be opened or written.
        """
        return backup.migrate(
            to, source, verify=verify, config=config, ciphers=cipher, advance=on_progress
        )

    @classmethod
    def reembed(
        cls,
        url: str | PathLike[str] | None = None,
        *,
        embedder: Embedder | Callable[[list[str]], ArrayLike] | None = None,
        config: LoadedSettings | str | PathLike[str] | None = None,
        cipher: CipherProvider | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> ReembedResult:
        """Recompute all vectors of a store with another embedding model, while it is in use.

        The new vectors replace the old ones in one step at the end. From then on, processes that
        opened the store with the old model get `WrongEmbeddingModel` and must reopen it. An
        interrupted run continues with the next call.

        Args:
            url: The store. None: as configured.
            embedder: The new model: a port, or a function from texts to vectors. None: as
                configured.
            config: See `open`.
            cipher: See `open`.
            on_progress: Called with the number of vectors created since the last call and the
                estimated total.

        Returns:
            The model and the dimension of the vectors, and the number of new vectors. The number is
            0 if the store used this model already.

        Raises:
            Conflict: Vectors of another model are being created. Finish that run or call
                `abandon_reembed`.
            InvalidInput: The store is kept in memory, or its vectors cannot be recomputed.
            ServiceFailed: The embedding service failed.
            StoreUnavailable: The store cannot be written, or other processes write without a pause.
            StoreDamaged: A vector has no text. `verify` repairs it.
        """
        return reembed.reembed(
            url, embedder=embedder, config=config, ciphers=cipher, advance=on_progress
        )

    @classmethod
    def abandon_reembed(
        cls,
        url: str | PathLike[str] | None = None,
        *,
        config: LoadedSettings | str | PathLike[str] | None = None,
        cipher: CipherProvider | None = None,
    ) -> bool:
        """Cancel an unfinished `reembed` and remove its vectors.

        Args:
            url: The store. None: as configured.
            config: See `open`.
            cipher: See `open`.

        Returns:
            Whether there was an unfinished run.
        """
        return reembed.abandon(url, config=config, ciphers=cipher)

    def verify(
        self, *, repair: bool = False, on_progress: Callable[[int], None] | None = None
    ) -> VerificationReport:
        """Check the integrity of the store: records, encryption and derived data.

        Args:
            repair: Whether to rebuild derived data, such as indexes and counts, and to remove
                orphans. Other damage is only reported.
            on_progress: Called with the number of texts checked since the last call.

        Raises:
            InvalidInput: The store is kept in memory.
            ServiceFailed: A vector is missing, and the embedding service failed.
        """
        return self._app.services.verifier.verify(repair=repair, advance=on_progress)

    def apply_decay(self, *, owner: str | None = None) -> tuple[str, ...]:
        """Store the current strengths of memories and return the ids of the weakened ones.

        The stored values are only for display: recall computes strengths itself. The call is
        idempotent.

        Args:
            owner: The owner id. None: all owners.
        """
        return self._run_for_owners(owner, self._app.services.maintenance.decay)

    def cleanup(
        self, *, owner: str | None = None, below: float | None = None, dry_run: bool = False
    ) -> int:
        """Fade weak memories and return their number. `restore` brings back a faded memory.

        Args:
            owner: The owner id. None: all owners.
            below: Fade memories with a strength below this value, 0 to 1. None: the profile's
                threshold; profiles without one fade nothing.
            dry_run: Only count the memories.

        Raises:
            InvalidInput: `below` is not between 0 and 1.
        """
        min_strength = None if below is None else arguments.check_share(below, "below")
        fade = partial(self._app.services.maintenance.cleanup, below=min_strength, dry_run=dry_run)
        return len(self._run_for_owners(owner, fade))

    def expire(self, *, owner: str | None = None) -> int:
        """Mark memories past their expiry as expired and return their number.

        Recall excludes expired memories in any case, marked or not.

        Args:
            owner: The owner id. None: all owners.
        """
        return len(self._run_for_owners(owner, self._app.services.maintenance.expire))

    def retain(
        self, days: int, *, owner: str | None = None, dry_run: bool = False
    ) -> tuple[RetentionResult, ...]:
        """Remove records permanently that have been inactive for a number of days.

        Removes inactive memories, and conversations without a message in that time. Active memories
        stay.

        Args:
            days: The retention period, at least 1.
            owner: The owner id. None: all owners.
            dry_run: Only count the records.

        Returns:
            The numbers of removed records, one entry for each owner.

        Raises:
            InvalidInput: `days` is less than 1.
        """
        retain = self._app.services.retention.retain
        return tuple(
            retain(each, days=days, dry_run=dry_run) for each in self._target_owners(owner)
        )

    def consolidate(self, *, owner: str | None = None) -> tuple[ConsolidationResult, ...]:
        """Summarise messages, conversations and old sessions, and update the base memory.

        The profiles of the owners define when a summary is due. A worker does this automatically.
        The sources of a summary are kept: `undo_consolidation` restores them.

        Args:
            owner: The owner id. None: all owners.

        Returns:
            The new summaries and versions of the base memory.

        Raises:
            ServiceFailed: The language model failed. Summaries that were written before stay.
        """
        consolidate = self._app.services.consolidator.consolidate
        return tuple(result for each in self._target_owners(owner) for result in consolidate(each))

    def work(self, should_stop: Callable[[], bool] = lambda: False) -> tuple[WorkResult, ...]:
        """Run pending work that needs a language model: learning and consolidation.

        `memolith worker` calls this repeatedly; so does the background worker of a process with a
        model. Concurrent workers run each unit of work once. Failed work is retried later: see
        `backlog`.

        Args:
            should_stop: Called between units of work. Return True to leave the rest for later.
        """
        return self._app.services.work_runner.run_due(should_stop)

    def drain(self, timeout_s: float | None = None) -> bool:
        """Wait until the background worker has tried all pending work, and return whether it has.

        Call this before a process ends, so that the last messages are learned. Failed work is left
        for later. Without a background worker, the call returns immediately.

        Args:
            timeout_s: The maximum time to wait, in seconds. None: no limit.
        """
        return self._app.background.drain(timeout_s)

    def run_jobs(self, should_stop: Callable[[], bool] = lambda: False) -> tuple[JobResult, ...]:
        """Run the scheduled jobs that are due, and return their results.

        `memolith worker` calls this repeatedly. Of concurrent processes, one runs each job.

        Args:
            should_stop: Called between owners. Return True to leave the rest for later.
        """
        return self._app.services.scheduler.run_due(should_stop)

    def _target_owners(self, owner: str | None) -> list[str]:
        if owner is not None:
            return [arguments.check_name(owner, "owner")]
        return [
            each for each in self.owners() if self._app.services.memory_reader.has_profile(each)
        ]

    def _run_for_owners(
        self, owner: str | None, task: Callable[[str], tuple[str, ...]]
    ) -> tuple[str, ...]:
        return tuple(id_ for each in self._target_owners(owner) for id_ in task(each))

    def chat_model(self, owner: str) -> StreamingChatModel | None:
        """Return the language model, with its usage counted for an owner. None if there is none."""
        return self._app.chat_models.for_owner(arguments.check_name(owner, "owner"))

    def flush(self) -> None:
        """Write buffered access counts to the store."""
        self._app.access_counter.flush()

    def close(self) -> None:
        """Flush buffered writes and close the store. Closing twice is not an error.

        Waits a few seconds for running requests to a language model. Unfinished work stays pending
        in the store.
        """
        self._app.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        try:
            self.close()
        except StoreUnavailable:
            # Ctrl-C during a write can leave the write lock held; the interrupt is the cause.
            if not isinstance(error, KeyboardInterrupt):
                raise
