"""The tables of a store, their columns, and the order of their rows: the same in all databases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.adapters.sql.spaces import VECTOR_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

OWNERS = "owners"


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: Its name.
        columns: All its columns, quoted where need be, but for the owner's number.
        key: By which of them a row is known, among an owner's where it is an owner's.
        is_owned: Whether its rows are an owner's.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    is_owned: bool = True

    @property
    def vectors(self) -> tuple[int, ...]:
        """Where among the columns vectors stand."""
        return tuple(n for n, name in enumerate(self.columns) if name in VECTOR_COLUMNS)

    @property
    def reals(self) -> tuple[int, ...]:
        """Where among the columns numbers stand that need not be whole."""
        return tuple(n for n, name in enumerate(self.columns) if name in _REAL_COLUMNS)


_REAL_COLUMNS = ("importance", "strength")

OWNER_FACTS = (
    "profile",
    "key_version",
    "counter",
    "revision",
    "generation",
    "next_item",
    "next_session",
    "next_speaker",
    "next_event",
    "reembedded_to",
)
"""The columns of an owner's own row, but for number and name."""

_MEMORY_COLUMNS = (
    "kind state origin key {digest}content summary tags importance strength access_count"
    " accessed_at created_at updated_at happened_at expires_at superseded_by session sources"
    " compressed kept_kind valid_from valid_to"
)


def _build_tables() -> Iterator[Table]:
    for name, key, rest in (
        (
            "sessions",
            "number",
            (
                "name first_item first_at last_at last_sequence messages ended_at consolidated_to"
                " failures active_at consolidated_at"
            ),
        ),
        ("participants", "number", "name role digest"),
        (
            "messages",
            "id",
            (
                "number version item session sequence speaker external_id external_digest at"
                " content valid_from valid_to marks learned_at summarised_at retry_at attempts"
            ),
        ),
        ("message_versions", "id version", "item speaker at content valid_from valid_to"),
        (
            "memories",
            "id",
            f"version item {_MEMORY_COLUMNS.format(digest='key_digest ')} changed marks",
        ),
        ("versions", "id version", f"item {_MEMORY_COLUMNS.format(digest='')}"),
        (
            "items",
            "item",
            (
                "record_id kind session sequence speaker role at traits words tokens content"
                " valid_from valid_to expires_at compressed changed"
            ),
        ),
        ("passages", "item part", "start stop tokens length digest vector vector2"),
        ("terms", "term item part", "tf"),
        ("tags", "tag item", ""),
        ("derived", "source_id memory_id", ""),
        ("links", "relation source_id target_id", ""),
        ("events", "number", 'record_id action at "by" version details'),
        ("base_memories", "version", "content sources valid_from valid_to"),
        ("claims", "work", "token until attempts"),
        ("usage", "hour purpose", "calls input_tokens output_tokens"),
    ):
        yield _build_table(name, key, rest)
    for name, key, rest in (
        ("idempotency", "scope key_digest", "request_digest response created_at"),
        ("jobs", "name", "state lease_token lease_until ran_at"),
        ("api_keys", "digest", "name owner role created_at revoked_at"),
        ("tombstones", "digest", "erased_at"),
    ):
        yield _build_table(name, key, rest, is_owned=False)


def _build_table(name: str, key: str, rest: str, *, is_owned: bool = True) -> Table:
    return Table(name, (*key.split(), *rest.split()), tuple(key.split()), is_owned)


TABLES = {table.name: table for table in _build_tables()}
"""All but `owners` and what a database has for itself, by name."""

OWNED_TABLES = tuple(table.name for table in TABLES.values() if table.is_owned)
"""The tables whose rows are an owner's, by number."""
