"""The tables of a PostgreSQL store, and the forward-only migrations that create them.

The columns have the same meaning as in SQLite; see `adapters.sqlite.schema`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from memolith.adapters.postgres.row_level_security import (
    APPLICATION,
    MAINTENANCE,
    maintenance_functions_sql,
    owner_policy_sql,
    owner_table_sql,
    roles_sql,
    shared_tables_sql,
)
from memolith.adapters.sql.tables import OWNED_TABLES

if TYPE_CHECKING:
    from memolith.adapters.postgres.dialect import VectorFormat

__all__ = ["APPLICATION", "MAINTENANCE", "MIGRATIONS", "OWNER_TABLES", "PROBE_OWNERS", "SCHEMA"]

SCHEMA_1_OWNER_TABLES = (
    "owners",
    "sessions",
    "participants",
    "messages",
    "message_versions",
    "memories",
    "versions",
    "items",
    "passages",
    "terms",
    "tags",
    "derived",
    "links",
    "events",
    "base_memories",
    "claims",
    "usage",
)
"""Tables under row-level security in schema 1. Migrations are never changed after a release."""

_SCHEMA_1_SHARED_TABLES = ("meta", "idempotency", "jobs", "api_keys", "tombstones")

_SCHEMA_1_TABLES = """
CREATE TABLE meta (
  name text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE owners (
  owner_id bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  profile text COLLATE "C",
  key_version integer NOT NULL DEFAULT 0,
  counter bigint NOT NULL DEFAULT 0,
  revision bigint NOT NULL DEFAULT 0,
  generation bigint NOT NULL,
  next_item bigint NOT NULL DEFAULT 1,
  next_session bigint NOT NULL DEFAULT 1,
  next_speaker bigint NOT NULL DEFAULT 1,
  next_event bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (owner_id)
){partitioned};

CREATE TABLE sessions (
  owner_id bigint NOT NULL,
  number bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  first_item bigint,
  first_at bigint,
  last_at bigint,
  last_sequence bigint NOT NULL DEFAULT 0,
  messages bigint NOT NULL DEFAULT 0,
  ended_at bigint,
  consolidated_to bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  active_at bigint,
  consolidated_at bigint,
  PRIMARY KEY (owner_id, number)
){partitioned};
CREATE UNIQUE INDEX sessions_name ON sessions (owner_id, name);

CREATE TABLE participants (
  owner_id bigint NOT NULL,
  number bigint NOT NULL,
  name bytea,
  role text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (owner_id, number)
){partitioned};
CREATE UNIQUE INDEX participants_digest ON participants (owner_id, digest);

CREATE TABLE messages (
  owner_id bigint NOT NULL,
  id bytea NOT NULL,
  number bigint NOT NULL,
  version integer NOT NULL,
  item bigint NOT NULL,
  session bigint NOT NULL,
  sequence bigint NOT NULL,
  speaker bigint NOT NULL,
  external_id bytea,
  external_digest bytea,
  at bigint NOT NULL,
  content bytea NOT NULL,
  valid_from bigint NOT NULL,
  valid_to bigint,
  marks integer NOT NULL DEFAULT 0,
  learned_at bigint,
  summarised_at bigint,
  retry_at bigint,
  attempts integer NOT NULL DEFAULT 0,
  PRIMARY KEY (owner_id, id)
){partitioned};
CREATE UNIQUE INDEX messages_number ON messages (owner_id, number);
CREATE UNIQUE INDEX messages_sequence ON messages (owner_id, session, sequence);
CREATE UNIQUE INDEX messages_external ON messages (owner_id, session, external_digest)
  WHERE external_digest IS NOT NULL;
CREATE INDEX messages_forgotten ON messages (owner_id, session) WHERE valid_to IS NOT NULL;
CREATE INDEX messages_waiting ON messages (owner_id, marks, number, retry_at)
  WHERE marks <> 0 AND valid_to IS NULL;
CREATE INDEX messages_unsummarised ON messages (owner_id, number)
  WHERE summarised_at IS NULL AND valid_to IS NULL;

CREATE TABLE message_versions (
  owner_id bigint NOT NULL,
  id bytea NOT NULL,
  version integer NOT NULL,
  item bigint NOT NULL,
  speaker bigint NOT NULL,
  at bigint NOT NULL,
  content bytea NOT NULL,
  valid_from bigint NOT NULL,
  valid_to bigint NOT NULL,
  PRIMARY KEY (owner_id, id, version)
){partitioned};

CREATE TABLE memories (
  owner_id bigint NOT NULL,
  id bytea NOT NULL,
  version integer NOT NULL,
  item bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  key bytea,
  key_digest bytea,
  content bytea NOT NULL,
  summary bytea,
  tags bytea,
  importance double precision NOT NULL,
  strength double precision NOT NULL,
  access_count bigint NOT NULL,
  accessed_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  happened_at bigint,
  expires_at bigint,
  superseded_by bytea,
  session bigint,
  sources bytea,
  compressed integer NOT NULL,
  kept_kind text COLLATE "C",
  valid_from bigint NOT NULL,
  valid_to bigint,
  changed bigint NOT NULL,
  marks integer NOT NULL DEFAULT 0,
  PRIMARY KEY (owner_id, id)
){partitioned};
CREATE INDEX memories_changed ON memories (owner_id, changed);
CREATE UNIQUE INDEX memories_key ON memories (owner_id, key_digest)
  WHERE key_digest IS NOT NULL AND state = 'active';
CREATE INDEX memories_listed ON memories (owner_id, created_at, id, state, kind);
CREATE INDEX memories_expiring ON memories (owner_id, expires_at)
  WHERE expires_at IS NOT NULL AND state = 'active';

CREATE TABLE versions (
  owner_id bigint NOT NULL,
  id bytea NOT NULL,
  version integer NOT NULL,
  item bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  key bytea,
  content bytea NOT NULL,
  summary bytea,
  tags bytea,
  importance double precision NOT NULL,
  strength double precision NOT NULL,
  access_count bigint NOT NULL,
  accessed_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  happened_at bigint,
  expires_at bigint,
  superseded_by bytea,
  session bigint,
  sources bytea,
  compressed integer NOT NULL,
  kept_kind text COLLATE "C",
  valid_from bigint NOT NULL,
  valid_to bigint NOT NULL,
  PRIMARY KEY (owner_id, id, version)
){partitioned};

CREATE TABLE items (
  owner_id bigint NOT NULL,
  item bigint NOT NULL,
  record_id bytea NOT NULL,
  kind text COLLATE "C",
  session bigint,
  sequence bigint NOT NULL,
  speaker bigint,
  role text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  traits integer NOT NULL,
  words integer NOT NULL,
  tokens integer NOT NULL,
  content bytea NOT NULL,
  valid_from bigint NOT NULL,
  valid_to bigint,
  expires_at bigint,
  compressed integer NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (owner_id, item)
){partitioned};
CREATE INDEX items_changed ON items (owner_id, changed);
CREATE INDEX items_content ON items (owner_id, content);
CREATE INDEX items_compressed ON items (owner_id, record_id) WHERE compressed = 1;
CREATE INDEX items_record ON items (owner_id, record_id);

CREATE TABLE passages (
  owner_id bigint NOT NULL,
  item bigint NOT NULL,
  part integer NOT NULL,
  start integer NOT NULL,
  stop integer NOT NULL,
  tokens integer NOT NULL,
  length integer NOT NULL,
  digest bytea,
  vector {vector},
  PRIMARY KEY (owner_id, item, part)
){partitioned};
CREATE INDEX passages_digest ON passages (owner_id, digest) WHERE digest IS NOT NULL;

CREATE TABLE terms (
  owner_id bigint NOT NULL,
  term bytea NOT NULL,
  item bigint NOT NULL,
  part integer NOT NULL,
  tf integer NOT NULL,
  PRIMARY KEY (owner_id, term, item, part)
){partitioned};

CREATE TABLE tags (
  owner_id bigint NOT NULL,
  tag bytea NOT NULL,
  item bigint NOT NULL,
  PRIMARY KEY (owner_id, tag, item)
){partitioned};

CREATE TABLE derived (
  owner_id bigint NOT NULL,
  source_id bytea NOT NULL,
  memory_id bytea NOT NULL,
  PRIMARY KEY (owner_id, source_id, memory_id)
){partitioned};

CREATE TABLE links (
  owner_id bigint NOT NULL,
  relation text COLLATE "C" NOT NULL,
  source_id bytea NOT NULL,
  target_id bytea NOT NULL,
  PRIMARY KEY (owner_id, relation, source_id, target_id)
){partitioned};
CREATE INDEX links_target ON links (owner_id, relation, target_id);

CREATE TABLE events (
  owner_id bigint NOT NULL,
  number bigint NOT NULL,
  record_id bytea NOT NULL,
  action text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  "by" text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  details bytea,
  PRIMARY KEY (owner_id, number)
){partitioned};
CREATE INDEX events_record ON events (owner_id, record_id);

CREATE TABLE base_memories (
  owner_id bigint NOT NULL,
  version integer NOT NULL,
  content bytea NOT NULL,
  sources bytea,
  valid_from bigint NOT NULL,
  valid_to bigint,
  PRIMARY KEY (owner_id, version)
){partitioned};

CREATE TABLE claims (
  owner_id bigint NOT NULL,
  work text COLLATE "C" NOT NULL,
  token bytea,
  until bigint,
  attempts integer NOT NULL DEFAULT 0,
  PRIMARY KEY (owner_id, work)
){partitioned};

CREATE TABLE usage (
  owner_id bigint NOT NULL,
  hour bigint NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  calls bigint NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  PRIMARY KEY (owner_id, hour, purpose)
){partitioned};

CREATE TABLE idempotency (
  scope text COLLATE "C" NOT NULL,
  key_digest bytea NOT NULL,
  request_digest bytea NOT NULL,
  response bytea,
  created_at bigint NOT NULL,
  PRIMARY KEY (scope, key_digest)
);

CREATE TABLE jobs (
  name text COLLATE "C" PRIMARY KEY,
  state text COLLATE "C",
  lease_token bytea,
  lease_until bigint,
  ran_at bigint
);

CREATE TABLE api_keys (
  digest bytea PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  owner text COLLATE "C",
  role text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint
);

CREATE TABLE tombstones (
  digest bytea PRIMARY KEY,
  erased_at bigint NOT NULL
);

CREATE TABLE probe (owner_id bigint PRIMARY KEY);
INSERT INTO probe VALUES (-1), (-2);
"""

_MAINTENANCE_COLUMNS = {
    "owners": "owner_id, name",
    "claims": "owner_id, work, until",
    "messages": "owner_id, number, marks, retry_at, valid_to",
    "passages": "owner_id, vector",
}
"""Columns that maintenance can read for all owners; of other tables only the owner's number."""

_HAS_LEASE = (
    "SELECT 1 FROM claims AS c WHERE c.owner_id = o.owner_id AND c.work = $1"
    " AND (c.until IS NULL OR c.until > $2)"
)
_NEXT_OWNER = "SELECT min(m.owner_id) FROM messages AS m WHERE m.marks <> 0 AND m.valid_to IS NULL"
_SCHEMA_1_FUNCTIONS = {
    "owner_names() RETURNS SETOF text": "SELECT name FROM owners",
    "unclaimed_owners(text, bigint) RETURNS SETOF text": (
        f"SELECT o.name FROM owners AS o WHERE NOT EXISTS ({_HAS_LEASE})"
    ),
    "learning_owners(text, bigint) RETURNS SETOF text": (
        f"WITH RECURSIVE waiting (owner) AS ({_NEXT_OWNER}"
        f" UNION ALL SELECT ({_NEXT_OWNER} AND m.owner_id > waiting.owner) FROM waiting"
        " WHERE waiting.owner IS NOT NULL)"
        " SELECT o.name FROM waiting JOIN owners AS o ON o.owner_id = waiting.owner"
        " WHERE EXISTS (SELECT 1 FROM messages AS m WHERE m.owner_id = o.owner_id"
        " AND m.marks <> 0 AND m.valid_to IS NULL AND m.marks = 1"
        f" AND (m.retry_at IS NULL OR m.retry_at <= $2)) AND NOT EXISTS ({_HAS_LEASE})"
    ),
    "has_vectors() RETURNS boolean": (
        "SELECT EXISTS (SELECT 1 FROM passages WHERE vector IS NOT NULL)"
    ),
    "nobodys_rows() RETURNS TABLE (table_name text, number bigint, row_count bigint)": (
        " UNION ALL ".join(
            f"SELECT '{table}', x.owner_id, count(*) FROM {table} AS x WHERE NOT EXISTS"
            " (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id"
            for table in SCHEMA_1_OWNER_TABLES[1:]
        )
    ),
}


def schema_1_sql(layout: StoreLayout) -> str:
    """Return the script that creates schema 1."""
    partitioned = " PARTITION BY HASH (owner_id)" if layout.partitions else ""
    return "\n".join(
        (
            _SCHEMA_1_TABLES.format(vector=layout.vector_format.type_name, partitioned=partitioned),
            roles_sql(),
            *(
                owner_table_sql(name, layout.partitions, _MAINTENANCE_COLUMNS.get(name, "owner_id"))
                for name in SCHEMA_1_OWNER_TABLES
            ),
            shared_tables_sql(_SCHEMA_1_SHARED_TABLES),
            owner_policy_sql("probe"),
            f"GRANT SELECT ON probe TO {APPLICATION};",
            maintenance_functions_sql(_SCHEMA_1_FUNCTIONS),
        )
    )


# --- Schema 2: a second vector column, used in alternation with the first


_SCHEMA_2_FUNCTIONS = {
    "has_vectors() RETURNS boolean": (
        "SELECT EXISTS (SELECT 1 FROM passages WHERE vector IS NOT NULL OR vector2 IS NOT NULL)"
    ),
    "bare_owners() RETURNS SETOF text": "SELECT name FROM owners WHERE next_item > reembedded_to",
}


def schema_2_sql(layout: StoreLayout) -> str:
    """Return the script from schema 1 to 2. It adds both columns without rewriting the tables."""
    return "\n".join(
        (
            f"ALTER TABLE passages ADD COLUMN vector2 {layout.vector_format.type_name};",
            "ALTER TABLE owners ADD COLUMN reembedded_to bigint NOT NULL DEFAULT 1;",
            f"GRANT SELECT (vector2) ON passages TO {MAINTENANCE};",
            f"GRANT SELECT (next_item, reembedded_to) ON owners TO {MAINTENANCE};",
            maintenance_functions_sql(_SCHEMA_2_FUNCTIONS),
        )
    )


# --- Current schema


OWNER_TABLES = ("owners", *OWNED_TABLES)
"""Tables under row-level security."""

SHARED_TABLES = ("meta", "idempotency", "jobs", "api_keys", "tombstones", "probe")
"""Tables without row-level security, except `probe`."""

PROBE_OWNERS = (-1, -2)
"""Owners of two rows that test row-level security. `owner_number` is never negative."""


@dataclass(frozen=True, slots=True)
class NewStoreOptions:
    """Options of a new store.

    Attributes:
        partitions: The number of partitions of its tables, by owner; 0: none.
        half_precision: Whether to store unencrypted vectors in half precision.
    """

    partitions: int = 0
    half_precision: bool = True


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The layout of a store's tables.

    Attributes:
        vector_format: The format of vectors.
        partitions: The number of partitions of its tables, by owner; 0: none.
    """

    vector_format: VectorFormat
    partitions: int


def owner_number(owner_id: str) -> int:
    """Return the number of an owner: a 63-bit hash of the id.

    The probability of a collision is 1 in 18 million for a million owners, and 1 in 18 for a
    billion. The second of two colliding owners is refused.
    """
    digest = blake2b(owner_id.encode(), digest_size=8, person=b"memolith owner").digest()
    return int.from_bytes(digest, "big") >> 1


MIGRATIONS: tuple[Callable[[StoreLayout], str], ...] = (schema_1_sql, schema_2_sql)
"""The function at index n returns the script from schema n to schema n + 1."""

SCHEMA = len(MIGRATIONS)
"""The current schema."""
