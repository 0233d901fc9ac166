"""`Memolith`: the memory of many owners."""

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

    Every method of `OwnerMemory` is here too, with the owner named by `owner`.
    """

    def __init__(self, app: App) -> None:
        """Use `Memolith.open` to make one."""
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
        """Open a store; a new one is made where there is none.

        One that can't be written is opened to read; see `OwnerMemory`.

        Args:
            url: A file's path, or ":memory:" for a store that ends with the process; None:
                by the configuration.
            profile: The profile of new owners, by name or one of your own making; None: by the
                configuration.
            embedder: A port, or a function from texts to vectors; None: by the configuration.
            clock: The time; None: the computer's.
            tokens: Counts tokens; None: the local embedder's word pieces.
            config: A configuration file, or one loaded already; None: `memolith.toml` where it
                is found, and the environment.
            cipher: What a store in a file is encrypted with; None: by the configuration. With
                encryption, the first store makes the keys: back them up (`memolith key backup`).
            reranker: Scores anew what was found, in profiles that take its word (`chunks`): a port,
                or a function from a query and texts to scores; None: by the configuration.
            arbitrator: Tells what becomes of a memory that is near to a known one, where the
                profile asks (`facts`): a port, or a function of both texts, the known one
                first; None: both are kept.
            chat: The language model: a port, or a function from messages, each with `role` and
                `content`, to a text; None: by the configuration, where there may be none.
            worker: Whether to do in the background what waits for the language model, if there is
                one; None: by the configuration. If not, `memolith worker` or `work` does.

        Raises:
            InvalidConfiguration: A setting can't be taken.
            StoreUnavailable: The file can't be opened.
            StoreReadOnly: The file can't be written, and an older Memolith wrote it.
            StoreDamaged: The file is no store.
            StoreTooNew: A newer Memolith wrote it.
            KeyUnavailable: It is encrypted, and its key is missing or another.
            WrongEmbeddingModel: It was built with another embedder.
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
        """Reach the memory of a service (`memolith serve`) as if it were here.

        Nothing is sent yet. What only the library can do raises `LibraryOnly`.

        Args:
            url: Where the service is.
            key: The API key; None: what the environment variable `MEMOLITH_API_KEY` holds, if
                anything.
            timeout_s: How long an answer may take.

        Raises:
            InvalidConfiguration: An argument can't be taken, or the client is not installed.
        """
        from memolith.client.remote import RemoteMemolith, build_transport

        return RemoteMemolith(build_transport(url, key, timeout_s))

    def owner(self, owner_id: str) -> OwnerMemory:
        """Return the memory of one owner, 1 to 256 characters.

        Raises:
            InvalidInput: That can't be an owner's id.
        """
        return OwnerMemory(owner_id, self._app.services)

    def owners(self) -> list[str]:
        """Return the ids of all who have something stored, sorted."""
        return self._app.store.owners()

    def profiles(self) -> tuple[ProfileInfo, ...]:
        """Return the profiles that an owner can have."""
        return self._app.services.memory_reader.profiles()

    def erase(self, owner: str) -> EraseResult:
        """Remove everything of an owner for good, and the owner's key.

        From then on nothing is stored for them (`OwnerErased`), also after a backup made before
        is restored over this store, until they are readmitted. Doing it again is no error.

        Raises:
            NotFound: The owner has nothing, and never was erased.
        """
        return self._app.services.purger.erase(owner)

    def readmit(self, owner: str) -> None:
        """Let an erased owner begin again, with nothing.

        Raises:
            NotFound: The owner was not erased.
        """
        self._app.services.purger.readmit(owner)

    def rotate_key(self, owner: str) -> int:
        """Encrypt everything of an owner with a new key, and destroy the one before.

        Interrupted, everything can still be read; called again, it is finished.

        Returns:
            The version of the key that is in force now.

        Raises:
            Conflict: The store is not encrypted.
            NotFound: The owner has nothing stored.
        """
        return self._app.services.key_rotation.rotate(owner)

    def create_api_key(
        self, name: str, *, role: str = "owner", owner: str | None = None
    ) -> NewApiKey:
        """Make a key for a caller of the service; it is shown this once.

        Args:
            name: What people call it; free once its key is revoked.
            role: "owner", who may do everything of one owner; "service", of any owner named in the
                call; "admin", that, and what concerns the whole store.
            owner: Whose key it is, for the role "owner".

        Raises:
            InvalidInput: An argument can't be taken.
            Conflict: A key in force has that name, or the owner was erased.
        """
        return self._app.services.api_keys.create(name, role, owner)

    def api_keys(self) -> tuple[ApiKey, ...]:
        """Return what is known of all keys, revoked ones too, oldest first."""
        return self._app.services.api_keys.list_keys()

    def find_api_key(self, secret: str) -> ApiKey | None:
        """Return the key in force that a caller shows; None: it is none."""
        return self._app.services.api_keys.find_active(secret)

    def revoke_api_key(self, name: str) -> None:
        """Let the key in force of that name open nothing any more, at once.

        Raises:
            NotFound: There is none.
        """
        self._app.services.api_keys.revoke(name)

    @property
    def health_checks(self) -> HealthProbe:
        """Looks whether the store and the embedder are there: for servers."""
        return self._app.services.health_probe

    @property
    def has_worker_died(self) -> bool:
        """Whether the background was to work, and ended by itself: for servers."""
        return self._app.background.has_died

    @property
    def idempotency(self) -> IdempotencyStore:
        """What was answered to requests that have a key: for servers."""
        return self._app.store.idempotency

    def backup(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        on_progress: Callable[[int], None] | None = None,
    ) -> int:
        """Copy the store to a file as of now, while it is in use; return the file's size.

        The file is there whole or not at all. It holds no key: `memolith key backup` copies those.

        Args:
            path: The file.
            overwrite: Whether it may take the place of another.
            advance: Called with a number of pages, or rows, as they are copied.

        Raises:
            Conflict: There is a file already.
            InvalidInput: The store is none that can be copied.
            StoreUnavailable: The file can't be written.
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
        """Put a backup in a store's place; a file's nobody may have open.

        The backup is checked before anything is replaced. Owners who were erased since stay
        erased. The store that was there is kept beside it, as `….before-restore` or, in a
        database, as the schema `…_before_restore`. The backup may be of another kind of store.

        Args:
            path: The backup.
            url: The store; None: by the configuration.
            force: Whether it may take the place of a store.
            keys_of: The store with whose keys the backup was made, where that is another: they
                are copied.
            config: See `open`.
            cipher: See `open`.

        Raises:
            NotFound: There is no such backup.
            Conflict: There is a store already.
            StoreDamaged: The backup is none, or is damaged.
            StoreTooNew: A newer Memolith wrote it.
            KeyUnavailable: There is no key to it.
            StoreUnavailable: The store is open somewhere, or files can't be written.
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
        """Move a store, all owners, into another database: SQLite or PostgreSQL.

        Content, history, ids, times, versions, vectors and keys of API are copied as they are; the
        source is read only, and stays. An encrypted store's keys are copied too: either store can
        be erased from, or reset, without the other, so who is to be forgotten must be erased from
        both. Interrupted, it goes on when called again; until it is finished, the target is
        refused when opened. What the source's writers did meanwhile comes along when called again,
        as long as nobody has written to the target.

        Args:
            to: Where to: a file's path or URL, where nothing is, or an empty store, or this
                source's migration.
            source: The store to move; None: by the configuration.
            verify: Only compare both, changing nothing.
            config: See `open`.
            cipher: See `open`; of both.
            advance: Called with a number of rows as they are copied and compared.

        Raises:
            NotFound: There is no such store.
            Conflict: The target holds something else, or was written to since.
            InvalidInput: A store is kept in memory.
            KeyUnavailable: There is no key to the source.
            StoreUnavailable: One of them can't be opened or written.
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
        """Make all vectors of a store anew by another model, while it is in use.

        They are made beside those in use, and taken into use in one step. Until then whoever has
        the store open goes on with the model of before; from then on they are refused
        (`WrongEmbeddingModel`) where they search or store a vector, and must open it again with
        the new one. Interrupted, or killed, calling it again goes on.

        Args:
            url: The store; None: by the configuration.
            embedder: The new model: a port, or a function from texts to vectors; None: by the
                configuration.
            config: See `open`.
            cipher: See `open`.
            advance: Called with how many vectors were made since the last call, and how many there
                are to be made, as far as is known.

        Returns:
            What the vectors are of now; nothing is done where they were of that model before.

        Raises:
            Conflict: Vectors of another model are being made: finish that, or `abandon_reembed`.
            InvalidInput: The store is kept in memory, or its vectors can't be made anew.
            ServiceFailed: The embedder failed.
            StoreUnavailable: The store can't be written, or others write without a pause.
            StoreDamaged: A vector belongs to no text: `verify` repairs that.
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
        """Give up making vectors anew, and remove those that were made.

        Args:
            url: The store; None: by the configuration.
            config: See `open`.
            cipher: See `open`.

        Returns:
            Whether any were being made.
        """
        return reembed.abandon(url, config=config, ciphers=cipher)

    def verify(
        self, *, repair: bool = False, on_progress: Callable[[int], None] | None = None
    ) -> VerificationReport:
        """Compare everything stored with what it was derived from, and with itself.

        Args:
            repair: Whether to put right what can be derived: the index, counts, what is left
                over. What can't is named.
            advance: Called with a number of texts as they are compared.

        Raises:
            InvalidInput: The store is kept in memory.
            ServiceFailed: A vector is missing, and the embedder failed.
        """
        return self._app.services.verifier.verify(repair=repair, advance=on_progress)

    def apply_decay(self, *, owner: str | None = None) -> tuple[str, ...]:
        """Store how strong memories are by now; return the ids of those that got weaker.

        What is stored is for those who list it: recall computes strengths as of the instant. Doing
        it again changes nothing.

        Args:
            owner: Whose; None: everybody's.
        """
        return self._run_for_owners(owner, self._app.services.maintenance.decay)

    def cleanup(
        self, *, owner: str | None = None, below: float | None = None, dry_run: bool = False
    ) -> int:
        """Let memories fade that are too weak, restorably; return how many those are.

        Args:
            owner: Whose; None: everybody's.
            below: The strength under which they fade; None: the profile's, which may be none.
            dry_run: Only count them.

        Raises:
            InvalidInput: `below` is not between 0 and 1.
        """
        least = None if below is None else arguments.check_share(below, "below")
        fade = partial(self._app.services.maintenance.cleanup, below=least, dry_run=dry_run)
        return len(self._run_for_owners(owner, fade))

    def expire(self, *, owner: str | None = None) -> int:
        """Mark the memories whose time is up as expired; return how many those are.

        Recall leaves them out from their last instant on, marked or not.
        """
        return len(self._run_for_owners(owner, self._app.services.maintenance.expire))

    def retain(
        self, days: int, *, owner: str | None = None, dry_run: bool = False
    ) -> tuple[RetentionResult, ...]:
        """Remove for good what has not been active for so many days; say what that is.

        Memories that are no longer active, and conversations in which nothing was said since. Of
        active memories none goes.

        Args:
            days: How long things are retained, from 1.
            owner: Whose; None: everybody's.
            dry_run: Only count them.

        Returns:
            What was removed, an entry for each owner.

        Raises:
            InvalidInput: `days` is less than 1.
        """
        retain = self._app.services.retention.retain
        return tuple(
            retain(each, days=days, dry_run=dry_run) for each in self._target_owners(owner)
        )

    def consolidate(self, *, owner: str | None = None) -> tuple[ConsolidationResult, ...]:
        """Make memories shorter by the rules of their owners' profiles; say what was made.

        Summaries of messages, of conversations and of old sessions, and the base memory. A worker
        does it by itself. What a summary stands for is kept, and `undo_consolidation` brings it
        back.

        Args:
            owner: Whose; None: everybody's.

        Raises:
            ServiceFailed: The model failed; what was made before stays.
        """
        consolidate = self._app.services.consolidator.consolidate
        return tuple(made for each in self._target_owners(owner) for made in consolidate(each))

    def work(self, should_stop: Callable[[], bool] = lambda: False) -> tuple[WorkResult, ...]:
        """Do what waits for a model and nobody else does: learning and consolidating.

        `memolith worker` calls this again and again, and a process with a model does in the
        background. However many processes do, nothing is learned twice; what fails is tried again
        later (`backlog`).

        Args:
            stopped: Asked in between: whether to leave the rest for later.
        """
        return self._app.services.work_runner.run_due(should_stop)

    def drain(self, timeout_s: float | None = None) -> bool:
        """Wait until the background has tried all that waits now; return whether it has.

        A process that is about to end calls it so that what was just said is learned by then.
        What fails is left for later; where nothing works in the background, there is nothing to
        wait for.

        Args:
            timeout_s: For how long at most, in seconds; None: as long as it takes.
        """
        return self._app.background.drain(timeout_s)

    def run_jobs(self, should_stop: Callable[[], bool] = lambda: False) -> tuple[JobResult, ...]:
        """Do the scheduled jobs that are due and that nobody else is doing; say what was done.

        `memolith worker` calls this again and again. However many processes do, each job is done at
        its interval, by one of them.

        Args:
            stopped: Asked between owners: whether to leave the rest for later.
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
        """Return the language model, its calls counted for an owner; None where there is none."""
        return self._app.chat_models.for_owner(arguments.check_name(owner, "owner"))

    def flush(self) -> None:
        """Write what waits to be written: access counts."""
        self._app.access_counter.flush()

    def close(self) -> None:
        """Write what waits, and let go of the store. Closing twice is no error.

        What a model was asked in the background is waited for, some seconds long; what it has not
        come to waits in the store.
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
        """Close it."""
        try:
            self.close()
        except StoreUnavailable:
            # Ctrl-C at a bad moment leaves a turn to write taken; it says what has happened.
            if not isinstance(error, KeyboardInterrupt):
                raise
