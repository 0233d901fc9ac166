"""The tables of a SQLite store, and the forward-only migrations that create them.

Every primary key starts with the owner's number. Each owner's rows are therefore adjacent, and
statements for one owner do not touch the rows of others. Comments mark the encrypted ("sealed")
columns; digests beside them allow lookups by equality.
"""

from __future__ import annotations

from memolith.domain.memories import DORMANT

APPLICATION_ID = 0x4D656D6F
"""SQLite's application id of Memolith files: "Memo"."""

DORMANT_STATES = ", ".join(f"'{state.value}'" for state in sorted(DORMANT))
"""Dormant states, quoted for use in SQL."""

_SCHEMA_1 = """
-- Facts about the whole store: cipher, store_id and key_check (where it has keys), embedder,
-- dimension, analyser; see the fourth migration for others.
CREATE TABLE meta (
  name TEXT NOT NULL PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- counter: transactions that changed the owner. revision: these and touches, so that it names a
-- state of the owner's rows; what changed says at which. generation: grows when rows were removed
-- for good, so that what is derived from them is built anew. AUTOINCREMENT, so that the number
-- of an erased owner, which a cache may still know, is never another's. key_version: of the
-- owner's key that all of the owner's rows are sealed with; 0 without encryption.
CREATE TABLE owners (
  owner_id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  profile TEXT,
  key_version INTEGER NOT NULL DEFAULT 0,
  counter INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,
  generation INTEGER NOT NULL DEFAULT 0,
  next_item INTEGER NOT NULL DEFAULT 1,
  next_session INTEGER NOT NULL DEFAULT 1,
  next_speaker INTEGER NOT NULL DEFAULT 1,
  next_event INTEGER NOT NULL DEFAULT 1
) STRICT;

-- first_item, first_at, last_at are null while only memories name the session. messages: all that
-- there are, forgotten or not.
CREATE TABLE sessions (
  owner_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  first_item INTEGER,
  first_at INTEGER,
  last_at INTEGER,
  last_sequence INTEGER NOT NULL DEFAULT 0,
  messages INTEGER NOT NULL DEFAULT 0,
  ended_at INTEGER,
  consolidated_to INTEGER NOT NULL DEFAULT 0,
  turns_since INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  active_at INTEGER,
  PRIMARY KEY (owner_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX sessions_name ON sessions (owner_id, name);

-- name: sealed, null for a speaker without one. digest: of name and role.
CREATE TABLE participants (
  owner_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  name BLOB,
  role TEXT NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (owner_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX participants_digest ON participants (owner_id, digest);

-- number: the item of the first version, which is the order of storing. external_id, content:
-- sealed. external_digest: of the former. valid_to: set where the message was forgotten. The marks
-- and the lease are the queue of what is still to be done with a message.
CREATE TABLE messages (
  owner_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  number INTEGER NOT NULL,
  version INTEGER NOT NULL,
  item INTEGER NOT NULL,
  session INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  speaker INTEGER NOT NULL,
  external_id BLOB,
  external_digest BLOB,
  at INTEGER NOT NULL,
  content BLOB NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  marks INTEGER NOT NULL DEFAULT 0,
  learned_at INTEGER,
  summarised_at INTEGER,
  lease_token BLOB,
  lease_until INTEGER,
  PRIMARY KEY (owner_id, id)
) STRICT;
CREATE UNIQUE INDEX messages_number ON messages (owner_id, number);
CREATE UNIQUE INDEX messages_sequence ON messages (owner_id, session, sequence);
CREATE UNIQUE INDEX messages_external ON messages (owner_id, session, external_digest)
  WHERE external_digest IS NOT NULL;
CREATE INDEX messages_forgotten ON messages (owner_id, session) WHERE valid_to IS NOT NULL;

CREATE TABLE message_versions (
  owner_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  version INTEGER NOT NULL,
  item INTEGER NOT NULL,
  speaker INTEGER NOT NULL,
  at INTEGER NOT NULL,
  content BLOB NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER NOT NULL,
  PRIMARY KEY (owner_id, id, version)
) STRICT;

-- The record as it is now; its older versions stand in the next table. key, content, summary,
-- tags: sealed. valid_to: set while the memory is not active. sources: packed, the callers' ids
-- in it sealed. changed: the
-- owner's revision after the transaction that last changed the row. kept_kind: the
-- "profile:kind" of before a change of profile.
CREATE TABLE memories (
  owner_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  version INTEGER NOT NULL,
  item INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  origin TEXT NOT NULL,
  key BLOB,
  key_digest BLOB,
  content BLOB NOT NULL,
  summary BLOB,
  tags BLOB,
  importance REAL NOT NULL,
  strength REAL NOT NULL,
  access_count INTEGER NOT NULL,
  accessed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  happened_at INTEGER,
  expires_at INTEGER,
  superseded_by BLOB,
  session INTEGER,
  sources BLOB,
  compressed INTEGER NOT NULL,
  kept_kind TEXT,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  changed INTEGER NOT NULL,
  marks INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner_id, id)
) STRICT;
CREATE INDEX memories_changed ON memories (owner_id, changed);
CREATE UNIQUE INDEX memories_key ON memories (owner_id, key_digest)
  WHERE key_digest IS NOT NULL AND state = 'active';
CREATE INDEX memories_listed ON memories (owner_id, created_at, id, state, kind);
CREATE INDEX memories_expiring ON memories (owner_id, expires_at)
  WHERE expires_at IS NOT NULL AND state = 'active';

CREATE TABLE versions (
  owner_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  version INTEGER NOT NULL,
  item INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  origin TEXT NOT NULL,
  key BLOB,
  content BLOB NOT NULL,
  summary BLOB,
  tags BLOB,
  importance REAL NOT NULL,
  strength REAL NOT NULL,
  access_count INTEGER NOT NULL,
  accessed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  happened_at INTEGER,
  expires_at INTEGER,
  superseded_by BLOB,
  session INTEGER,
  sources BLOB,
  compressed INTEGER NOT NULL,
  kept_kind TEXT,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER NOT NULL,
  PRIMARY KEY (owner_id, id, version)
) STRICT;

-- What search sees of a message's or a memory's version, without its content. kind: null for a
-- message. content: the digest of its normal form. changed: as of memories.
CREATE TABLE items (
  owner_id INTEGER NOT NULL,
  item INTEGER NOT NULL,
  record_id BLOB NOT NULL,
  kind TEXT,
  session INTEGER,
  sequence INTEGER NOT NULL,
  speaker INTEGER,
  role TEXT NOT NULL,
  at INTEGER NOT NULL,
  traits INTEGER NOT NULL,
  words INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  content BLOB NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  expires_at INTEGER,
  compressed INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  PRIMARY KEY (owner_id, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX items_changed ON items (owner_id, changed);
CREATE INDEX items_content ON items (owner_id, content);
CREATE INDEX items_compressed ON items (owner_id, record_id) WHERE compressed = 1;

-- length: in terms. vector: int8, as sqlite-vec's functions read it; with encryption, hidden.
-- digest: of the embedded text, by which its vector is found again: this is the cache of
-- embeddings. With row numbers, because rows of this size would make a deep tree without.
CREATE TABLE passages (
  owner_id INTEGER NOT NULL,
  item INTEGER NOT NULL,
  part INTEGER NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  length INTEGER NOT NULL,
  digest BLOB,
  vector BLOB,
  PRIMARY KEY (owner_id, item, part)
) STRICT;
CREATE INDEX passages_digest ON passages (owner_id, digest) WHERE digest IS NOT NULL;

CREATE TABLE terms (
  owner_id INTEGER NOT NULL,
  term BLOB NOT NULL,
  item INTEGER NOT NULL,
  part INTEGER NOT NULL,
  tf INTEGER NOT NULL,
  PRIMARY KEY (owner_id, term, item, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE tags (
  owner_id INTEGER NOT NULL,
  tag BLOB NOT NULL,
  item INTEGER NOT NULL,
  PRIMARY KEY (owner_id, tag, item)
) STRICT, WITHOUT ROWID;

-- Which memories have a record as a source, in their present version.
CREATE TABLE derived (
  owner_id INTEGER NOT NULL,
  source_id BLOB NOT NULL,
  memory_id BLOB NOT NULL,
  PRIMARY KEY (owner_id, source_id, memory_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE links (
  owner_id INTEGER NOT NULL,
  relation TEXT NOT NULL,
  source_id BLOB NOT NULL,
  target_id BLOB NOT NULL,
  PRIMARY KEY (owner_id, relation, source_id, target_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_target ON links (owner_id, relation, target_id);

-- details: sealed, null where there are none.
CREATE TABLE events (
  owner_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  record_id BLOB NOT NULL,
  action TEXT NOT NULL,
  at INTEGER NOT NULL,
  "by" TEXT NOT NULL,
  version INTEGER NOT NULL,
  details BLOB,
  PRIMARY KEY (owner_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_record ON events (owner_id, record_id);

-- The living document of an owner, every version of it. content: sealed.
CREATE TABLE base_memories (
  owner_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  content BLOB NOT NULL,
  sources BLOB,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  PRIMARY KEY (owner_id, version)
) STRICT;

-- The tables from here on do not begin with an owner's number: they outlive one, or serve all.
CREATE TABLE idempotency (
  scope TEXT NOT NULL,
  key_digest BLOB NOT NULL,
  request_digest BLOB NOT NULL,
  response BLOB,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (scope, key_digest)
) STRICT, WITHOUT ROWID;

-- state: how far a job came that is not done, in the clear. ran_at: when it was last done.
CREATE TABLE jobs (
  name TEXT NOT NULL PRIMARY KEY,
  state TEXT,
  lease_token BLOB,
  lease_until INTEGER,
  ran_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  digest BLOB NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  owner TEXT,
  role TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
  digest BLOB NOT NULL PRIMARY KEY,
  erased_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

_SCHEMA_2 = """
-- What waits for a language model. marks: 0 for what does not wait to be learned from, 1 for what
-- does, 2 for what failed too often and waits for a word. attempts: how often learning failed
-- since it waits; retry_at: until when it waits at least. These stay while a message is forgotten.
-- summarised_at: when a summary came to stand for it.
ALTER TABLE messages RENAME COLUMN lease_until TO retry_at;
ALTER TABLE messages DROP COLUMN lease_token;
ALTER TABLE messages ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
CREATE INDEX messages_waiting ON messages (owner_id, marks, number, retry_at)
  WHERE marks <> 0 AND valid_to IS NULL;
CREATE INDEX messages_unsummarised ON messages (owner_id, number)
  WHERE summarised_at IS NULL AND valid_to IS NULL;

-- consolidated_to: the sequence number up to which the history was made shorter; consolidated_at:
-- when that last succeeded; failures: how often in a row it failed since.
ALTER TABLE sessions DROP COLUMN turns_since;
ALTER TABLE sessions ADD COLUMN consolidated_at INTEGER;

-- Who may do a kind of work for an owner now. token: the holder's; null where nobody is. until:
-- when others may take it: the end of the lease or, where it failed, the next attempt; null where
-- it failed too often and waits for a word. No row: nobody has it, and it did not fail.
CREATE TABLE claims (
  owner_id INTEGER NOT NULL,
  work TEXT NOT NULL,
  token BLOB,
  until INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner_id, work)
) STRICT, WITHOUT ROWID;

-- What models were asked for an owner. hour: since 1970, in UTC.
CREATE TABLE usage (
  owner_id INTEGER NOT NULL,
  hour INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  PRIMARY KEY (owner_id, hour, purpose)
) STRICT, WITHOUT ROWID;
"""

_SCHEMA_3 = """
-- What Chroma has of an owner's vectors, where it searches them. next_item: the vectors of all
-- items below are there, but for those in the next table. sending_to: of items below some may be.
-- model: what the vectors are of. stamp: what the collection was last known to be marked with;
-- sending: what it is marked with next, or is already. is_dropping: the collection has to go.
CREATE TABLE vectors_sent (
  owner_id INTEGER PRIMARY KEY,
  next_item INTEGER NOT NULL,
  sending_to INTEGER NOT NULL,
  model TEXT NOT NULL,
  stamp TEXT,
  sending TEXT,
  is_dropping INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What has changed of what may be there: a passage, there or not any more. changes: how often.
CREATE TABLE vectors_due (
  owner_id INTEGER NOT NULL,
  item INTEGER NOT NULL,
  part INTEGER NOT NULL,
  changes INTEGER NOT NULL,
  PRIMARY KEY (owner_id, item, part)
) STRICT, WITHOUT ROWID;

-- By triggers, so that nobody who writes, whether Chroma is used there or not, can leave it out.
CREATE TRIGGER passages_added AFTER INSERT ON passages WHEN EXISTS (
  SELECT 1 FROM vectors_sent WHERE owner_id = NEW.owner_id AND sending_to > NEW.item
) BEGIN
  INSERT INTO vectors_due VALUES (NEW.owner_id, NEW.item, NEW.part, 1)
    ON CONFLICT DO UPDATE SET changes = changes + 1;
END;
CREATE TRIGGER passages_changed AFTER UPDATE OF vector ON passages WHEN EXISTS (
  SELECT 1 FROM vectors_sent WHERE owner_id = NEW.owner_id AND sending_to > NEW.item
) BEGIN
  INSERT INTO vectors_due VALUES (NEW.owner_id, NEW.item, NEW.part, 1)
    ON CONFLICT DO UPDATE SET changes = changes + 1;
END;
CREATE TRIGGER passages_removed AFTER DELETE ON passages WHEN EXISTS (
  SELECT 1 FROM vectors_sent WHERE owner_id = OLD.owner_id AND sending_to > OLD.item
) BEGIN
  INSERT INTO vectors_due VALUES (OLD.owner_id, OLD.item, OLD.part, 1)
    ON CONFLICT DO UPDATE SET changes = changes + 1;
END;
CREATE TRIGGER items_changed_kind AFTER UPDATE OF kind, compressed ON items WHEN EXISTS (
  SELECT 1 FROM vectors_sent WHERE owner_id = NEW.owner_id AND sending_to > NEW.item
) AND (OLD.kind IS NOT NEW.kind OR OLD.compressed <> NEW.compressed) BEGIN
  INSERT INTO vectors_due SELECT p.owner_id, p.item, p.part, 1 FROM passages AS p
    WHERE p.owner_id = NEW.owner_id AND p.item = NEW.item
    ON CONFLICT DO UPDATE SET changes = changes + 1;
END;
CREATE TRIGGER memories_changed_importance AFTER UPDATE OF importance ON memories WHEN EXISTS (
  SELECT 1 FROM vectors_sent WHERE owner_id = NEW.owner_id
) AND OLD.importance <> NEW.importance BEGIN
  INSERT INTO vectors_due SELECT p.owner_id, p.item, p.part, 1
    FROM items AS i CROSS JOIN passages AS p ON p.owner_id = i.owner_id AND p.item = i.item
    WHERE i.owner_id = NEW.owner_id AND i.item IN (
      SELECT item FROM memories WHERE owner_id = NEW.owner_id AND id = NEW.id
      UNION SELECT item FROM versions WHERE owner_id = NEW.owner_id AND id = NEW.id
    )
    ON CONFLICT DO UPDATE SET changes = changes + 1;
END;
CREATE TRIGGER owners_removed AFTER DELETE ON owners BEGIN
  UPDATE vectors_sent SET is_dropping = 1 WHERE owner_id = OLD.owner_id;
  DELETE FROM vectors_due WHERE owner_id = OLD.owner_id;
END;
"""

_SCHEMA_4 = """
-- vector and vector2 take turns: meta's space, 0 where it is not there, tells which is in use (the
-- first, where it is even), embedder and dimension of which model. Vectors of next_embedder are
-- made in the other; reembedded_to: below which item all passages of the owner have theirs.
-- emptying: the other column holds what is not needed. digests: with whose name the digests of
-- texts are made. hold: somebody asks writers to wait.
ALTER TABLE passages ADD COLUMN vector2 BLOB;
ALTER TABLE owners ADD COLUMN reembedded_to INTEGER NOT NULL DEFAULT 1;

-- As before, of the column that is in use.
DROP TRIGGER passages_changed;
CREATE TRIGGER passages_changed AFTER UPDATE OF vector, vector2 ON passages WHEN EXISTS (
  SELECT 1 FROM vectors_sent WHERE owner_id = NEW.owner_id AND sending_to > NEW.item
) AND CASE coalesce((SELECT value FROM meta WHERE name = 'space'), 0) % 2
  WHEN 0 THEN OLD.vector IS NOT NEW.vector ELSE OLD.vector2 IS NOT NEW.vector2 END
BEGIN
  INSERT INTO vectors_due VALUES (NEW.owner_id, NEW.item, NEW.part, 1)
    ON CONFLICT DO UPDATE SET changes = changes + 1;
END;
"""

MIGRATIONS = (_SCHEMA_1, _SCHEMA_2, _SCHEMA_3, _SCHEMA_4)
"""The script at index n migrates from schema n to schema n + 1."""
