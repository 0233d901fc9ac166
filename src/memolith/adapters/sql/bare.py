"""The texts of passages that have no vector of the new model yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.rows import decrypt_name
from memolith.adapters.sql.values import unpack_id
from memolith.errors import StoreDamaged
from memolith.ports.reembedding import UnembeddedPassage

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memolith.adapters.sql.connection import Connection, Row
    from memolith.adapters.sql.sealing import OwnerEncryption
    from memolith.adapters.sql.spaces import EmbeddingGeneration

    SpokenText = tuple[str, str | None]

_MISSING_VECTORS = (
    "SELECT p.item, p.part, p.start, p.stop, p.digest, i.record_id,"
    " CASE WHEN i.valid_from = i.valid_to THEN 1 ELSE 0 END"
    " FROM passages AS p CROSS JOIN items AS i ON i.owner_id = p.owner_id AND i.item = p.item"
    " WHERE p.owner_id = ?1"
    " AND p.item >= (SELECT reembedded_to FROM owners WHERE owner_id = ?1)"
    " AND p.{used} IS NOT NULL AND p.{new} IS NULL ORDER BY p.item, p.part LIMIT ?2"
)
_ITEM_TEXTS = " UNION ALL ".join(
    f"SELECT r.item, r.id, r.version, r.content, {speaker}"
    f" FROM carray(?1) AS w CROSS JOIN {table} AS r ON r.owner_id = ?2 AND r.id = w.value"
    for table, speaker in (
        ("memories", "-1"),
        ("versions", "-1"),
        ("messages", "r.speaker"),
        ("message_versions", "r.speaker"),
    )
)
_KNOWN_VECTORS = (
    "SELECT p.digest, p.{new} FROM carray(?1) AS w CROSS JOIN passages AS p"
    " ON p.owner_id = ?2 AND p.digest = w.value WHERE p.{new} IS NOT NULL"
)


class MissingVectorReader:
    """One owner's, within a read transaction."""

    def __init__(self, connection: Connection, encryption: OwnerEncryption, owner: int) -> None:
        """Take a connection within a transaction, and the owner's number."""
        self._connection = connection
        self._encryption = encryption
        self._owner = owner

    def read_passages(
        self, generation: EmbeddingGeneration, dimension: int, limit: int
    ) -> tuple[tuple[UnembeddedPassage, ...], int | None]:
        """Return the first passages without a vector, and the item that more may follow from.

        Args:
            space: Which vectors are in use.
            dimension: The length of the new ones.
            limit: How many at most.

        Raises:
            StoreDamaged: A passage belongs to no text, or that does not open.
        """
        bare = _MISSING_VECTORS.format(used=generation.column, new=generation.other_column)
        rows = self._connection.rows(bare, (self._owner, limit))
        said = self._read_texts(rows)
        known = self._find_known_vectors(rows, generation.other_column, dimension)
        passages = tuple(
            UnembeddedPassage((item, part), text[start:stop], speaker, known.get(digest))
            for item, part, start, stop, digest, _, is_replaced in rows
            for text, speaker in self._get_text(said, item, is_replaced=bool(is_replaced))
        )
        if len(rows) < limit:
            return passages, None
        last: int = rows[-1][0]
        return passages, last if last in said else last + 1

    def _get_text(
        self, texts: dict[int, SpokenText], item: int, *, is_replaced: bool
    ) -> list[SpokenText]:
        """Return the text of an item; none of one that was replaced and was valid at no time."""
        if item in texts:
            return [texts[item]]
        if is_replaced:
            return []
        raise StoreDamaged(
            f"a passage of {self._encryption.owner_id!r} belongs to no text: run"
            " `memolith verify --repair` first"
        )

    def _read_texts(self, rows: Sequence[Row]) -> dict[int, SpokenText]:
        """Return texts by item, and who said them."""
        ids = tuple(dict.fromkeys(row[5] for row in rows))
        if not ids:
            return {}
        wanted = {row[0] for row in rows}
        found = self._connection.rows(_ITEM_TEXTS, (self._connection.bind_values(ids), self._owner))
        names = self._read_names()
        return {
            item: (
                self._encryption.decrypt(sealed, unpack_id(id_), "content", version),
                names[speaker],
            )
            for item, id_, version, sealed, speaker in found
            if item in wanted
        }

    def _read_names(self) -> dict[int, str | None]:
        rows = self._connection.rows(
            "SELECT number, name FROM participants WHERE owner_id = ?", (self._owner,)
        )
        names = {number: decrypt_name(self._encryption, number, sealed) for number, sealed in rows}
        return {-1: None, **names}

    def _find_known_vectors(
        self, rows: Sequence[Row], column: str, dimension: int
    ) -> dict[bytes, NDArray[np.int8]]:
        """Return the new vectors of texts that stand elsewhere too, by their digests."""
        digests = tuple(dict.fromkeys(row[4] for row in rows if row[4] is not None))
        if not digests:
            return {}
        values = (self._connection.bind_values(digests), self._owner)
        stored: dict[bytes, bytes] = dict(
            self._connection.rows(_KNOWN_VECTORS.format(new=column), values)
        )
        if not stored:
            return {}
        return dict(
            zip(
                stored,
                self._encryption.decrypt_vectors(list(stored.values()), dimension),
                strict=True,
            )
        )
