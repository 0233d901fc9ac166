"""Integrity checks of one owner's rows, as SQL statements that detect and repair defects.

The only parameter of each statement is the owner's number. Each `find` statement returns the ids of
the affected records.
"""

from __future__ import annotations

from typing import NamedTuple

from memolith.adapters.sql.codecs import DEAD_LETTER, PENDING
from memolith.domain.memories import State
from memolith.domain.messages import Role
from memolith.domain.owners import ProcessingFlag, WorkKind


class Check(NamedTuple):
    """An integrity condition.

    Attributes:
        kind: See `Finding.kind`.
        detail: Description of a violation.
        find: Returns one row per violation, with the record's id or null.
        repair: Repairs all violations; empty if that is impossible.
    """

    kind: str
    detail: str
    find: str
    repair: str = ""


def _orphan_check(table: str, condition: str, detail: str, record: str = "NULL") -> Check:
    where = f"FROM {table} AS x WHERE owner_id = ?1 AND {condition}"
    return Check("orphan", detail, f"SELECT DISTINCT {record} {where}", f"DELETE {where}")


def _not_exists(table: str, condition: str) -> str:
    return f"NOT EXISTS (SELECT 1 FROM {table} AS y WHERE y.owner_id = x.owner_id AND {condition})"


def _record_missing(column: str) -> str:
    return (
        f"{_not_exists('memories', f'y.id = x.{column}')}"
        f" AND {_not_exists('messages', f'y.id = x.{column}')}"
    )


NO_VERSION = " AND ".join(
    _not_exists(table, "y.id = x.record_id AND y.item = x.item")
    for table in ("memories", "versions", "messages", "message_versions")
)
"""Condition: item `x` belongs to no version of a record."""
_NOT_REPLACED = (
    "NOT (x.kind IS NULL AND x.valid_from = x.valid_to AND EXISTS (SELECT 1 FROM messages AS y"
    " WHERE y.owner_id = x.owner_id AND y.id = x.record_id))"
)
"""Excludes items of messages that were indexed again: their former items remain, never valid."""

_ORPHAN_CHECKS = (
    _orphan_check(
        "items", f"{NO_VERSION} AND {_NOT_REPLACED}", "an item without a version", "x.record_id"
    ),
    _orphan_check("passages", _not_exists("items", "y.item = x.item"), "a passage without an item"),
    _orphan_check(
        "terms",
        _not_exists("passages", "y.item = x.item AND y.part = x.part"),
        "a keyword without a passage",
    ),
    _orphan_check("tags", _not_exists("items", "y.item = x.item"), "a tag without an item"),
    _orphan_check(
        "derived",
        _not_exists("memories", "y.id = x.memory_id"),
        "a source without a memory",
        "x.memory_id",
    ),
    Check(
        "link",
        "a link from or to a missing record",
        f"SELECT source_id FROM links AS x WHERE owner_id = ?1"
        f" AND ({_record_missing('source_id')} OR {_record_missing('target_id')})",
        f"DELETE FROM links AS x WHERE owner_id = ?1"
        f" AND ({_record_missing('source_id')} OR {_record_missing('target_id')})",
    ),
    Check(
        "event",
        "an event of a missing record",
        f"SELECT DISTINCT record_id FROM events AS x WHERE owner_id = ?1"
        f" AND action <> 'purged' AND {_record_missing('record_id')}",
        f"DELETE FROM events AS x WHERE owner_id = ?1"
        f" AND action <> 'purged' AND {_record_missing('record_id')}",
    ),
    Check(
        "versions",
        "an earlier version of a missing memory",
        f"SELECT DISTINCT id FROM versions AS x WHERE owner_id = ?1"
        f" AND {_not_exists('memories', 'y.id = x.id')}",
    ),
    Check(
        "versions",
        "an earlier version of a missing message",
        f"SELECT DISTINCT id FROM message_versions AS x WHERE owner_id = ?1"
        f" AND {_not_exists('messages', 'y.id = x.id')}",
    ),
)

_INACTIVE_STATES = ", ".join(f"'{state.value}'" for state in State if state is not State.ACTIVE)
"""Excludes unknown states, from which nothing can be concluded."""

_VERSION_CHECKS = (
    Check(
        "versions",
        "the memory is active, but its version has ended",
        "SELECT id FROM memories WHERE owner_id = ?1 AND state = 'active' AND valid_to IS NOT NULL",
        "UPDATE memories SET valid_to = NULL WHERE owner_id = ?1 AND state = 'active'"
        " AND valid_to IS NOT NULL",
    ),
    Check(
        "versions",
        "the memory is inactive, but its version has not ended",
        f"SELECT id FROM memories WHERE owner_id = ?1 AND state IN ({_INACTIVE_STATES})"
        " AND valid_to IS NULL",
        "UPDATE memories SET valid_to = max(updated_at, valid_from)"
        f" WHERE owner_id = ?1 AND state IN ({_INACTIVE_STATES}) AND valid_to IS NULL",
    ),
    Check(
        "versions",
        "a version of the memory is missing",
        "SELECT id FROM memories AS x WHERE owner_id = ?1 AND version - 1 <> (SELECT count(*)"
        " FROM versions AS y WHERE y.owner_id = x.owner_id AND y.id = x.id"
        " AND y.version BETWEEN 1 AND x.version - 1)",
    ),
    Check(
        "versions",
        "versions of the memory overlap in time",
        "SELECT DISTINCT x.id FROM versions AS x WHERE x.owner_id = ?1"
        " AND (x.valid_to < x.valid_from OR EXISTS (SELECT 1 FROM memories AS y"
        " WHERE y.owner_id = x.owner_id AND y.id = x.id AND y.valid_from < x.valid_to))",
    ),
    Check(
        "versions",
        "versions of the message overlap in time",
        "SELECT DISTINCT x.id FROM message_versions AS x WHERE x.owner_id = ?1"
        " AND (x.valid_to < x.valid_from OR EXISTS (SELECT 1 FROM messages AS y"
        " WHERE y.owner_id = x.owner_id AND y.id = x.id AND (y.valid_from < x.valid_to"
        " OR y.version <= x.version)))",
    ),
    Check(
        "reference",
        "superseded by a missing memory",
        f"SELECT id FROM memories AS x WHERE owner_id = ?1 AND superseded_by IS NOT NULL"
        f" AND {_not_exists('memories', 'y.id = x.superseded_by')}",
        f"UPDATE memories AS x SET superseded_by = NULL WHERE owner_id = ?1"
        f" AND superseded_by IS NOT NULL AND {_not_exists('memories', 'y.id = x.superseded_by')}",
    ),
)

_BASE_MEMORY_CHECKS = (
    Check(
        "versions",
        "a version of the base memory is missing, or versions have gaps or overlaps in time",
        "SELECT NULL FROM base_memories AS x WHERE owner_id = ?1 AND ("
        "(SELECT count(*) FROM base_memories AS y WHERE y.owner_id = x.owner_id"
        " AND y.version BETWEEN 1 AND x.version) <> x.version"
        " OR x.valid_to IS DISTINCT FROM (SELECT y.valid_from FROM base_memories AS y"
        " WHERE y.owner_id = x.owner_id AND y.version = x.version + 1))",
    ),
)

_MEMORY_ROLE = "CASE r.origin WHEN 'user' THEN 'user' ELSE 'assistant' END"
ROLE_LIST = ", ".join(f"'{role.value}'" for role in Role)
"""SQL list of the roles."""
_SPEAKER_ROLE = (
    "(SELECT p.role FROM participants AS p WHERE p.owner_id = r.owner_id AND p.number = r.speaker"
    f" AND p.role IN ({ROLE_LIST}))"
)
_ITEM_FACT_COLUMNS = (
    "(record_id, kind, session, sequence, speaker, role, at, valid_from, valid_to, expires_at)"
)
_MEMORY_FACTS = (
    "(r.id, r.kind, r.session, 0, CAST(NULL AS BIGINT), "
    f"{_MEMORY_ROLE}, coalesce(r.happened_at, r.created_at), r.valid_from, r.valid_to,"
    " r.expires_at)"
)
_MESSAGE_FACTS = (
    "(r.id, NULL, m.session, m.sequence, r.speaker, "
    f"coalesce({_SPEAKER_ROLE}, role), r.at, r.valid_from, r.valid_to, CAST(NULL AS BIGINT))"
)
_JOIN_MESSAGES = " JOIN messages AS m ON m.owner_id = r.owner_id AND m.id = r.id"


def _item_checks(table: str, facts: str, join: str = "") -> tuple[Check, Check]:
    rows = f"FROM {table} AS r{join}"
    item_facts = ", ".join(f"i.{name}" for name in _ITEM_FACT_COLUMNS.strip("()").split(", "))
    record_facts = facts.replace(", role)", ", i.role)")
    find_sql = (
        f"SELECT r.id {rows} CROSS JOIN items AS i ON i.owner_id = r.owner_id AND i.item = r.item"
        f" WHERE r.owner_id = ?1 AND ({item_facts}) IS DISTINCT FROM {record_facts}"
    )
    repair_sql = (
        f"UPDATE items SET {_ITEM_FACT_COLUMNS} = (SELECT {facts[1:-1]} {rows}"
        " WHERE r.owner_id = items.owner_id AND r.item = items.item)"
        f" WHERE owner_id = ?1 AND item IN (SELECT r.item {rows} WHERE r.owner_id = ?1)"
    )
    missing_sql = (
        f"SELECT r.id FROM {table} AS r WHERE r.owner_id = ?1 AND NOT EXISTS (SELECT 1 FROM items"
        " AS i WHERE i.owner_id = r.owner_id AND i.item = r.item)"
    )
    return (
        Check("item", "the index entry does not match the record", find_sql, repair_sql),
        Check("item", "the index entry is missing", missing_sql),
    )


_COMPRESSED_CHECK = Check(
    "item",
    "the index and the record differ on whether it is compressed",
    "SELECT r.id FROM memories AS r CROSS JOIN items AS i ON i.owner_id = r.owner_id"
    " AND i.item = r.item WHERE r.owner_id = ?1 AND i.compressed <> r.compressed",
    "UPDATE items SET compressed = (SELECT r.compressed FROM memories AS r"
    " WHERE r.owner_id = items.owner_id AND r.id = items.record_id) WHERE owner_id = ?1"
    " AND item IN (SELECT item FROM memories WHERE owner_id = ?1)",
)

_MESSAGE_COUNT = (
    "(SELECT count(*) FROM messages AS m WHERE m.owner_id = s.owner_id AND m.session = s.number)"
)
_HIGHEST_SEQUENCE = (
    "(SELECT coalesce(max(sequence), 0) FROM messages AS m"
    " WHERE m.owner_id = s.owner_id AND m.session = s.number)"
)
_WRONG_COUNT = (
    f"FROM sessions AS s WHERE s.owner_id = ?1 AND (s.messages <> {_MESSAGE_COUNT}"
    f" OR s.last_sequence < {_HIGHEST_SEQUENCE} OR (s.first_item IS NULL) <> (s.messages = 0)"
    " OR (s.first_at IS NULL) <> (s.messages = 0))"
)
_MESSAGE_TIME = (
    "(SELECT at FROM messages AS m WHERE m.owner_id = sessions.owner_id"
    " AND m.session = sessions.number ORDER BY m.number {} LIMIT 1)"
)
_LOST_SESSIONS = " UNION ".join(
    f"SELECT session FROM {table} AS x WHERE owner_id = ?1 AND session IS NOT NULL"
    f" AND {_not_exists('sessions', 'y.number = x.session')}"
    for table in ("messages", "memories", "versions")
)

_SESSION_AND_COUNTER_CHECKS = (
    Check(
        "session",
        "a conversation is missing; its messages can't be shown",
        f"SELECT NULL FROM ({_LOST_SESSIONS})",
        "INSERT INTO sessions (owner_id, number, name)"
        f" SELECT ?1, session, 'recovered-' || session FROM ({_LOST_SESSIONS})",
    ),
    Check(
        "session",
        "the message count of a conversation is wrong",
        f"SELECT NULL {_WRONG_COUNT}",
        "UPDATE sessions SET messages = (SELECT count(*) FROM messages AS m"
        " WHERE m.owner_id = sessions.owner_id AND m.session = sessions.number),"
        " last_sequence = max(last_sequence, (SELECT coalesce(max(sequence), 0)"
        " FROM messages AS m WHERE m.owner_id = sessions.owner_id"
        " AND m.session = sessions.number)),"
        " first_item = (SELECT min(number) FROM messages AS m"
        " WHERE m.owner_id = sessions.owner_id AND m.session = sessions.number),"
        f" first_at = {_MESSAGE_TIME.format('')}, last_at = {_MESSAGE_TIME.format('DESC')}"
        f" WHERE owner_id = ?1 AND number IN (SELECT number {_WRONG_COUNT})",
    ),
    Check(
        "sequence",
        "messages of a conversation are missing",
        # A purge leaves a gap and an event: for a message, with version 0.
        "SELECT NULL WHERE (SELECT sum(last_sequence) FROM sessions WHERE owner_id = ?1)"
        " - (SELECT count(*) FROM messages WHERE owner_id = ?1)"
        " > (SELECT count(*) FROM events"
        "    WHERE owner_id = ?1 AND action = 'purged' AND version = 0)",
    ),
    *(
        Check(
            "speaker",
            "the speaker is missing",
            f"SELECT id FROM {table} AS x WHERE owner_id = ?1"
            f" AND {_not_exists('participants', 'y.number = x.speaker')}",
        )
        for table in ("messages", "message_versions")
    ),
    *(
        Check(
            "counter",
            f"the next {name} number is already in use",
            f"SELECT NULL FROM owners AS o WHERE o.owner_id = ?1 AND o.next_{name}"
            f" <= (SELECT coalesce(max({column}), 0) FROM {table} AS x WHERE x.owner_id = ?1)",
            f"UPDATE owners SET next_{name} = (SELECT max({column}) + 1 FROM {table} AS x"
            f" WHERE x.owner_id = ?1) WHERE owner_id = ?1 AND next_{name}"
            f" <= (SELECT coalesce(max({column}), 0) FROM {table} AS x WHERE x.owner_id = ?1)",
        )
        for name, table, column in (
            ("item", "items", "item"),
            ("session", "sessions", "number"),
            ("speaker", "participants", "number"),
            ("event", "events", "number"),
        )
    ),
    Check(
        "counter",
        "a row has a later revision than its owner",
        "SELECT NULL FROM owners AS o WHERE o.owner_id = ?1 AND o.revision < max("
        "(SELECT coalesce(max(changed), 0) FROM items AS x WHERE x.owner_id = ?1),"
        " (SELECT coalesce(max(changed), 0) FROM memories AS x WHERE x.owner_id = ?1))",
        "UPDATE owners SET revision = max(revision,"
        " (SELECT coalesce(max(changed), 0) FROM items AS x WHERE x.owner_id = ?1),"
        " (SELECT coalesce(max(changed), 0) FROM memories AS x WHERE x.owner_id = ?1))"
        " WHERE owner_id = ?1",
    ),
)


def _work_check(table: str, condition: str, record: str, repair: str, detail: str) -> Check:
    where = f"WHERE owner_id = ?1 AND ({condition})"
    return Check("work", detail, f"SELECT {record} FROM {table} {where}", f"{repair} {where}")


_KINDS_OF_WORK = ", ".join(f"'{work.value}'" for work in WorkKind)
_WORK_CHECKS = (
    _work_check(
        "messages",
        f"marks NOT IN (0, {PENDING}, {DEAD_LETTER}) OR attempts < 0"
        " OR (marks = 0 AND attempts > 0)"
        " OR (marks <> 0 AND learned_at IS NOT NULL)"
        f" OR (marks <> {PENDING} AND retry_at IS NOT NULL)"
        f" OR (marks = {DEAD_LETTER} AND attempts = 0)",
        "id",
        # In doubt, mark it as pending: otherwise it might never be learned from.
        f"UPDATE messages SET marks = CASE marks WHEN 0 THEN 0 ELSE {PENDING} END, attempts = 0,"
        " retry_at = NULL, learned_at = CASE marks WHEN 0 THEN learned_at END",
        "the learning state of the message is inconsistent",
    ),
    _work_check(
        "memories",
        f"marks NOT BETWEEN 0 AND {sum(ProcessingFlag)}",
        "id",
        f"UPDATE memories SET marks = marks & {sum(ProcessingFlag)}",
        "an unknown processing mark",
    ),
    _work_check(
        "sessions",
        "consolidated_to < 0 OR failures < 0",
        "NULL",
        "UPDATE sessions SET consolidated_to = max(consolidated_to, 0), failures = 0",
        "the consolidation progress of a conversation is invalid",
    ),
    _work_check(
        "claims",
        f"work NOT IN ({_KINDS_OF_WORK}) OR attempts < 0"
        " OR (until IS NULL AND (token IS NOT NULL OR attempts = 0))",
        "NULL",
        "DELETE FROM claims",
        "an invalid lease",
    ),
    _work_check(
        "usage",
        "min(calls, input_tokens, output_tokens) < 0",
        "NULL",
        "DELETE FROM usage",
        "a negative usage count",
    ),
)

CHECKS = (
    *_VERSION_CHECKS,
    *_BASE_MEMORY_CHECKS,
    *_SESSION_AND_COUNTER_CHECKS,
    *(
        check
        for table, facts, join in (
            ("memories", _MEMORY_FACTS, ""),
            ("versions", _MEMORY_FACTS, ""),
            ("messages", _MESSAGE_FACTS, _JOIN_MESSAGES),
            ("message_versions", _MESSAGE_FACTS, _JOIN_MESSAGES),
        )
        for check in _item_checks(table, facts, join)
    ),
    _COMPRESSED_CHECK,
    *_WORK_CHECKS,
    *_ORPHAN_CHECKS,
)
"""In order of repair: records first, then the index, then orphans."""
