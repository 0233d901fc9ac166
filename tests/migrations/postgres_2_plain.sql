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
);

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
);
CREATE UNIQUE INDEX sessions_name ON sessions (owner_id, name);

CREATE TABLE participants (
  owner_id bigint NOT NULL,
  number bigint NOT NULL,
  name bytea,
  role text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (owner_id, number)
);
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
);
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
);

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
);
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
);

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
);
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
  vector halfvec,
  PRIMARY KEY (owner_id, item, part)
);
CREATE INDEX passages_digest ON passages (owner_id, digest) WHERE digest IS NOT NULL;

CREATE TABLE terms (
  owner_id bigint NOT NULL,
  term bytea NOT NULL,
  item bigint NOT NULL,
  part integer NOT NULL,
  tf integer NOT NULL,
  PRIMARY KEY (owner_id, term, item, part)
);

CREATE TABLE tags (
  owner_id bigint NOT NULL,
  tag bytea NOT NULL,
  item bigint NOT NULL,
  PRIMARY KEY (owner_id, tag, item)
);

CREATE TABLE derived (
  owner_id bigint NOT NULL,
  source_id bytea NOT NULL,
  memory_id bytea NOT NULL,
  PRIMARY KEY (owner_id, source_id, memory_id)
);

CREATE TABLE links (
  owner_id bigint NOT NULL,
  relation text COLLATE "C" NOT NULL,
  source_id bytea NOT NULL,
  target_id bytea NOT NULL,
  PRIMARY KEY (owner_id, relation, source_id, target_id)
);
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
);
CREATE INDEX events_record ON events (owner_id, record_id);

CREATE TABLE base_memories (
  owner_id bigint NOT NULL,
  version integer NOT NULL,
  content bytea NOT NULL,
  sources bytea,
  valid_from bigint NOT NULL,
  valid_to bigint,
  PRIMARY KEY (owner_id, version)
);

CREATE TABLE claims (
  owner_id bigint NOT NULL,
  work text COLLATE "C" NOT NULL,
  token bytea,
  until bigint,
  attempts integer NOT NULL DEFAULT 0,
  PRIMARY KEY (owner_id, work)
);

CREATE TABLE usage (
  owner_id bigint NOT NULL,
  hour bigint NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  calls bigint NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  PRIMARY KEY (owner_id, hour, purpose)
);

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


DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'memolith_application') THEN
    CREATE ROLE memolith_application NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  NULL;  -- somebody else made it just now
END $$;


DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'memolith_maintenance') THEN
    CREATE ROLE memolith_maintenance NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  NULL;  -- somebody else made it just now
END $$;


DO $$ BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO memolith_application', current_schema());
END $$;


DO $$ BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO memolith_maintenance', current_schema());
END $$;


DO $$ BEGIN
  IF NOT pg_has_role('memolith_maintenance', 'SET') THEN
    GRANT memolith_maintenance TO CURRENT_USER WITH SET TRUE;
  END IF;
END $$;


ALTER TABLE owners ENABLE ROW LEVEL SECURITY;
ALTER TABLE owners FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON owners
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id, name) ON owners TO memolith_maintenance;
CREATE POLICY of_all ON owners FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON owners TO memolith_application;

ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON sessions
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON sessions TO memolith_maintenance;
CREATE POLICY of_all ON sessions FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON sessions TO memolith_application;

ALTER TABLE participants ENABLE ROW LEVEL SECURITY;
ALTER TABLE participants FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON participants
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON participants TO memolith_maintenance;
CREATE POLICY of_all ON participants FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON participants TO memolith_application;

ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE messages FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON messages
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id, number, marks, retry_at, valid_to) ON messages TO memolith_maintenance;
CREATE POLICY of_all ON messages FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON messages TO memolith_application;

ALTER TABLE message_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE message_versions FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON message_versions
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON message_versions TO memolith_maintenance;
CREATE POLICY of_all ON message_versions FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON message_versions TO memolith_application;

ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON memories
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON memories TO memolith_maintenance;
CREATE POLICY of_all ON memories FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON memories TO memolith_application;

ALTER TABLE versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE versions FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON versions
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON versions TO memolith_maintenance;
CREATE POLICY of_all ON versions FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON versions TO memolith_application;

ALTER TABLE items ENABLE ROW LEVEL SECURITY;
ALTER TABLE items FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON items
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON items TO memolith_maintenance;
CREATE POLICY of_all ON items FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON items TO memolith_application;

ALTER TABLE passages ENABLE ROW LEVEL SECURITY;
ALTER TABLE passages FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON passages
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id, vector) ON passages TO memolith_maintenance;
CREATE POLICY of_all ON passages FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON passages TO memolith_application;

ALTER TABLE terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE terms FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON terms
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON terms TO memolith_maintenance;
CREATE POLICY of_all ON terms FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON terms TO memolith_application;

ALTER TABLE tags ENABLE ROW LEVEL SECURITY;
ALTER TABLE tags FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON tags
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON tags TO memolith_maintenance;
CREATE POLICY of_all ON tags FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON tags TO memolith_application;

ALTER TABLE derived ENABLE ROW LEVEL SECURITY;
ALTER TABLE derived FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON derived
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON derived TO memolith_maintenance;
CREATE POLICY of_all ON derived FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON derived TO memolith_application;

ALTER TABLE links ENABLE ROW LEVEL SECURITY;
ALTER TABLE links FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON links
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON links TO memolith_maintenance;
CREATE POLICY of_all ON links FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON links TO memolith_application;

ALTER TABLE events ENABLE ROW LEVEL SECURITY;
ALTER TABLE events FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON events
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON events TO memolith_maintenance;
CREATE POLICY of_all ON events FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON events TO memolith_application;

ALTER TABLE base_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE base_memories FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON base_memories
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON base_memories TO memolith_maintenance;
CREATE POLICY of_all ON base_memories FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON base_memories TO memolith_application;

ALTER TABLE claims ENABLE ROW LEVEL SECURITY;
ALTER TABLE claims FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON claims
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id, work, until) ON claims TO memolith_maintenance;
CREATE POLICY of_all ON claims FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON claims TO memolith_application;

ALTER TABLE usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON usage
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT (owner_id) ON usage TO memolith_maintenance;
CREATE POLICY of_all ON usage FOR SELECT TO memolith_maintenance USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON usage TO memolith_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON meta, idempotency, jobs, api_keys, tombstones TO memolith_application;

ALTER TABLE probe ENABLE ROW LEVEL SECURITY;
ALTER TABLE probe FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON probe
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);

GRANT SELECT ON probe TO memolith_application;

DO $$ BEGIN
  EXECUTE format('GRANT CREATE ON SCHEMA %I TO memolith_maintenance', current_schema());
END $$;

CREATE OR REPLACE FUNCTION owner_names() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER BEGIN ATOMIC SELECT name FROM owners; END;REVOKE ALL ON FUNCTION owner_names() FROM PUBLIC;GRANT EXECUTE ON FUNCTION owner_names() TO memolith_application;ALTER FUNCTION owner_names() OWNER TO memolith_maintenance;
CREATE OR REPLACE FUNCTION unclaimed_owners(text, bigint) RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER BEGIN ATOMIC SELECT o.name FROM owners AS o WHERE NOT EXISTS (SELECT 1 FROM claims AS c WHERE c.owner_id = o.owner_id AND c.work = $1 AND (c.until IS NULL OR c.until > $2)); END;REVOKE ALL ON FUNCTION unclaimed_owners(text, bigint) FROM PUBLIC;GRANT EXECUTE ON FUNCTION unclaimed_owners(text, bigint) TO memolith_application;ALTER FUNCTION unclaimed_owners(text, bigint) OWNER TO memolith_maintenance;
CREATE OR REPLACE FUNCTION learning_owners(text, bigint) RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER BEGIN ATOMIC WITH RECURSIVE waiting (owner) AS (SELECT min(m.owner_id) FROM messages AS m WHERE m.marks <> 0 AND m.valid_to IS NULL UNION ALL SELECT (SELECT min(m.owner_id) FROM messages AS m WHERE m.marks <> 0 AND m.valid_to IS NULL AND m.owner_id > waiting.owner) FROM waiting WHERE waiting.owner IS NOT NULL) SELECT o.name FROM waiting JOIN owners AS o ON o.owner_id = waiting.owner WHERE EXISTS (SELECT 1 FROM messages AS m WHERE m.owner_id = o.owner_id AND m.marks <> 0 AND m.valid_to IS NULL AND m.marks = 1 AND (m.retry_at IS NULL OR m.retry_at <= $2)) AND NOT EXISTS (SELECT 1 FROM claims AS c WHERE c.owner_id = o.owner_id AND c.work = $1 AND (c.until IS NULL OR c.until > $2)); END;REVOKE ALL ON FUNCTION learning_owners(text, bigint) FROM PUBLIC;GRANT EXECUTE ON FUNCTION learning_owners(text, bigint) TO memolith_application;ALTER FUNCTION learning_owners(text, bigint) OWNER TO memolith_maintenance;
CREATE OR REPLACE FUNCTION has_vectors() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER BEGIN ATOMIC SELECT EXISTS (SELECT 1 FROM passages WHERE vector IS NOT NULL); END;REVOKE ALL ON FUNCTION has_vectors() FROM PUBLIC;GRANT EXECUTE ON FUNCTION has_vectors() TO memolith_application;ALTER FUNCTION has_vectors() OWNER TO memolith_maintenance;
CREATE OR REPLACE FUNCTION nobodys_rows() RETURNS TABLE (table_name text, number bigint, row_count bigint) LANGUAGE sql STABLE SECURITY DEFINER BEGIN ATOMIC SELECT 'sessions', x.owner_id, count(*) FROM sessions AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'participants', x.owner_id, count(*) FROM participants AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'messages', x.owner_id, count(*) FROM messages AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'message_versions', x.owner_id, count(*) FROM message_versions AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'memories', x.owner_id, count(*) FROM memories AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'versions', x.owner_id, count(*) FROM versions AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'items', x.owner_id, count(*) FROM items AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'passages', x.owner_id, count(*) FROM passages AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'terms', x.owner_id, count(*) FROM terms AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'tags', x.owner_id, count(*) FROM tags AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'derived', x.owner_id, count(*) FROM derived AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'links', x.owner_id, count(*) FROM links AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'events', x.owner_id, count(*) FROM events AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'base_memories', x.owner_id, count(*) FROM base_memories AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'claims', x.owner_id, count(*) FROM claims AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id UNION ALL SELECT 'usage', x.owner_id, count(*) FROM usage AS x WHERE NOT EXISTS (SELECT 1 FROM owners AS o WHERE o.owner_id = x.owner_id) GROUP BY x.owner_id; END;REVOKE ALL ON FUNCTION nobodys_rows() FROM PUBLIC;GRANT EXECUTE ON FUNCTION nobodys_rows() TO memolith_application;ALTER FUNCTION nobodys_rows() OWNER TO memolith_maintenance;

DO $$ BEGIN
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM memolith_maintenance', current_schema());
END $$;
ALTER TABLE passages ADD COLUMN vector2 halfvec;
ALTER TABLE owners ADD COLUMN reembedded_to bigint NOT NULL DEFAULT 1;
GRANT SELECT (vector2) ON passages TO memolith_maintenance;
GRANT SELECT (next_item, reembedded_to) ON owners TO memolith_maintenance;

DO $$ BEGIN
  EXECUTE format('GRANT CREATE ON SCHEMA %I TO memolith_maintenance', current_schema());
END $$;

CREATE OR REPLACE FUNCTION has_vectors() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER BEGIN ATOMIC SELECT EXISTS (SELECT 1 FROM passages WHERE vector IS NOT NULL OR vector2 IS NOT NULL); END;REVOKE ALL ON FUNCTION has_vectors() FROM PUBLIC;GRANT EXECUTE ON FUNCTION has_vectors() TO memolith_application;ALTER FUNCTION has_vectors() OWNER TO memolith_maintenance;
CREATE OR REPLACE FUNCTION bare_owners() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER BEGIN ATOMIC SELECT name FROM owners WHERE next_item > reembedded_to; END;REVOKE ALL ON FUNCTION bare_owners() FROM PUBLIC;GRANT EXECUTE ON FUNCTION bare_owners() TO memolith_application;ALTER FUNCTION bare_owners() OWNER TO memolith_maintenance;

DO $$ BEGIN
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM memolith_maintenance', current_schema());
END $$;
INSERT INTO owners VALUES ('4027649648368058270', 'anna', 'standard', '0', '10', '11', '1795292180333931', '12', '3', '4', '8', '1');
INSERT INTO owners VALUES ('5634431992888345628', 'bob', 'standard', '0', '1', '1', '1795292180558453', '4', '2', '3', '2', '1');
INSERT INTO sessions VALUES ('4027649648368058270', '1', 's1', '1', '1772323200000000', '1772323200000000', '3', '3', '1772323200000000', '0', '0', '1772323200000000', NULL);
INSERT INTO sessions VALUES ('4027649648368058270', '2', 's2', '6', '1772323200000000', '1772323200000000', '2', '2', NULL, '0', '0', '1772323200000000', NULL);
INSERT INTO sessions VALUES ('5634431992888345628', '1', 's1', '1', '1772323200000000', '1772323200000000', '2', '2', NULL, '0', '0', '1772323200000000', NULL);
INSERT INTO participants VALUES ('4027649648368058270', '1', E'\\x416e6e61', 'user', E'\\xf5685a365fc0356c29a7b9a833bc43f4');
INSERT INTO participants VALUES ('4027649648368058270', '2', NULL, 'assistant', E'\\x70633fb98cc3ce57e2941217ece987c1');
INSERT INTO participants VALUES ('4027649648368058270', '3', NULL, 'user', E'\\x2412465edc71021500c28465a8143550');
INSERT INTO participants VALUES ('5634431992888345628', '1', NULL, 'user', E'\\xb97d9395ba503710a4e4c1d34b7da206');
INSERT INTO participants VALUES ('5634431992888345628', '2', NULL, 'assistant', E'\\xf3848d94ffe2cf2771eb0c29f314e439');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063ac', '1', '1', '1', '1', '1', '1', E'\\x44313a31', E'\\x2baa1ccb1d57d377150bcbd548343497', '1772323200000000', E'\\x49206c69766520696e204f736c6f2e204d79206361742069732063616c6c6564204d69736f2e', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063ad', '2', '1', '2', '1', '2', '2', NULL, NULL, '1772323200000000', E'\\x412066696e65206e616d652e', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063ae', '3', '1', '3', '1', '3', '1', NULL, NULL, '1772323200000000', E'\\x46726f6d206e6f77206f6e20706c6561736520616e7377657220696e2073686f72742073656e74656e6365732e', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063b1', '6', '1', '6', '2', '1', '3', NULL, NULL, '1772323200000000', E'\\x57686174206973206120666a6f72643f', '1772323200000000', '1772323200000000', '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063b2', '7', '1', '11', '2', '2', '2', NULL, NULL, '1772323200000000', E'\\x41206c6f6e6720696e6c65742e', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('5634431992888345628', E'\\x019ca6b1dc00773d93ec54ab998063b5', '1', '1', '1', '1', '1', '1', NULL, NULL, '1772323200000000', E'\\x4920776f726b2061742074686520686172626f75722e', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('5634431992888345628', E'\\x019ca6b1dc00773d93ec54ab998063b6', '2', '1', '2', '1', '2', '2', NULL, NULL, '1772323200000000', E'\\x4e6f7465642e', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063af', '1', '4', 'identity', 'active', 'user', NULL, NULL, E'\\x49206c69766520696e204f736c6f2e', NULL, NULL, '0.65', '0.65', '0', NULL, '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc00773d93ec54ab998063ac00c40444313a31', '0', NULL, '1772323200000000', NULL, '1', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063b0', '1', '5', 'preference', 'active', 'user', NULL, NULL, E'\\x46726f6d206e6f77206f6e20706c6561736520616e7377657220696e2073686f72742073656e74656e6365732e', NULL, NULL, '0.55', '0.55', '1', '1772323200000000', '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc00773d93ec54ab998063ae00c0', '0', NULL, '1772323200000000', NULL, '11', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063b3', '2', '9', 'fact', 'active', 'user', E'\\x67617465', E'\\xd6ccf332111234f4afea2a3f6b373db9', E'\\x5468652067617465277320636f64652069732034373132', NULL, E'\\x5b22686f757365225d', '0.3', '0.3', '1', '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', NULL, '11', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063b4', '1', '10', 'fact', 'forgotten', 'user', NULL, NULL, E'\\x5468652072656e7420697320383030', NULL, NULL, '0.3', '0.3', '0', NULL, '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', '1772323200000000', '9', '0');
INSERT INTO memories VALUES ('5634431992888345628', E'\\x019ca6b1dc00773d93ec54ab998063b7', '1', '3', 'identity', 'active', 'user', NULL, NULL, E'\\x4920776f726b2061742074686520686172626f75722e', NULL, NULL, '0.65', '0.65', '0', NULL, '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc00773d93ec54ab998063b500c0', '0', NULL, '1772323200000000', NULL, '1', '0');
INSERT INTO versions VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063b3', '1', '8', 'fact', 'active', 'user', E'\\x67617465', E'\\x5468652067617465277320636f64652069732034373131', NULL, E'\\x5b22686f757365225d', '0.3', '0.3', '0', NULL, '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', '1772323200000000');
INSERT INTO items VALUES ('4027649648368058270', '1', E'\\x019ca6b1dc00773d93ec54ab998063ac', NULL, '1', '1', '1', 'user', '1772323200000000', '52', '9', '11', E'\\x5060b8d7322e2301627c2d9e090fdc0a', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '10', E'\\x019ca6b1dc00773d93ec54ab998063b4', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '4', '4', E'\\x3b41967f7a040ea316ca4530c96fa9ed', '1772323200000000', '1772323200000000', NULL, '0', '9');
INSERT INTO items VALUES ('4027649648368058270', '11', E'\\x019ca6b1dc00773d93ec54ab998063b2', NULL, '2', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\x929d409beb04c006e3d79fcf616a431f', '1772323200000000', NULL, NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '2', E'\\x019ca6b1dc00773d93ec54ab998063ad', NULL, '1', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\xe6c65254942d70f3073ef15195edd2b3', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '3', E'\\x019ca6b1dc00773d93ec54ab998063ae', NULL, '1', '3', '1', 'user', '1772323200000000', '64', '8', '10', E'\\xbba30c65955776f0352b9f261a1ebc48', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '4', E'\\x019ca6b1dc00773d93ec54ab998063af', 'identity', '1', '0', NULL, 'user', '1772323200000000', '52', '4', '5', E'\\xe253bafe73daffd749f54b44c3d42bc6', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '5', E'\\x019ca6b1dc00773d93ec54ab998063b0', 'preference', '1', '0', NULL, 'user', '1772323200000000', '64', '8', '10', E'\\xbba30c65955776f0352b9f261a1ebc48', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '6', E'\\x019ca6b1dc00773d93ec54ab998063b1', NULL, '2', '1', '3', 'user', '1772323200000000', '1', '4', '5', E'\\x00704842f64f4264615e0d76310476e1', '1772323200000000', '1772323200000000', NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '7', E'\\x019ca6b1dc00773d93ec54ab998063b2', NULL, '2', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\x929d409beb04c006e3d79fcf616a431f', '1772323200000000', '1772323200000000', NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '8', E'\\x019ca6b1dc00773d93ec54ab998063b3', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '5', '7', E'\\x5809f961162360d8c0e4206afd0977d2', '1772323200000000', '1772323200000000', NULL, '0', '7');
INSERT INTO items VALUES ('4027649648368058270', '9', E'\\x019ca6b1dc00773d93ec54ab998063b3', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '5', '7', E'\\x425306f0970c0ea57b642d1814ab5ea3', '1772323200000000', NULL, NULL, '0', '7');
INSERT INTO items VALUES ('5634431992888345628', '1', E'\\x019ca6b1dc00773d93ec54ab998063b5', NULL, '1', '1', '1', 'user', '1772323200000000', '4', '5', '6', E'\\x080d550dca42358dc654033765991d72', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('5634431992888345628', '2', E'\\x019ca6b1dc00773d93ec54ab998063b6', NULL, '1', '2', '2', 'assistant', '1772323200000000', '0', '1', '2', E'\\x6e0d86d310538f55857fbd4e99269abd', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('5634431992888345628', '3', E'\\x019ca6b1dc00773d93ec54ab998063b7', 'identity', '1', '0', NULL, 'user', '1772323200000000', '4', '5', '6', E'\\x080d550dca42358dc654033765991d72', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO passages VALUES ('4027649648368058270', '1', '0', '0', '38', '11', '6', E'\\xbbc722dbae60c74327729f13b939d61e', '[-43,-41,-55,34,51,-96,-64,-63,50,-4,48,50,46,127,6,86]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '10', '0', '0', '15', '4', '2', E'\\xf86c8ed32246ed28f9aa2ab60c46b00f', '[-18,75,105,127,-73,-102,45,18,-26,11,49,-49,2,25,20,55]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '11', '0', '0', '13', '4', '2', E'\\xa40aad64d46b0a80bf10df99f69d7ed6', '[-17,5,22,0,91,20,10,-81,-80,-64,30,127,40,-17,5,112]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '2', '0', '0', '12', '4', '8', E'\\x985399cbddeb62a5fc4a970d2a8be4bb', '[54,-58,-127,-20,70,9,-8,-4,17,0,38,71,33,-7,-9,-19]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '3', '0', '0', '45', '10', '8', E'\\x26a62df9ae39feaf31c69848461d8b51', '[54,29,30,-45,41,23,-34,65,127,-5,-14,-13,57,32,-33,-30]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '4', '0', '0', '15', '5', '2', E'\\x4539d2fe825f7b20ec7f229e7ae99f36', '[-127,-15,-4,-3,-10,-60,-35,-43,6,30,32,27,28,31,39,-5]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '5', '0', '0', '45', '10', '5', E'\\x344de4334dbc559528ba487f6353bcec', '[24,54,56,-28,47,-25,-36,79,127,45,-27,-17,78,17,-16,-89]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '6', '0', '0', '16', '5', '1', E'\\x98656bb95991cabbcb58c57ce46a33b1', '[31,-51,31,127,-39,-90,29,62,-25,-66,22,-92,-32,-7,122,47]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '7', '0', '0', '13', '4', '3', E'\\xa40aad64d46b0a80bf10df99f69d7ed6', '[-17,5,22,0,91,20,10,-81,-80,-64,30,127,40,-17,5,112]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '8', '0', '0', '23', '7', '3', E'\\x400d74c7b9110f31d4f704d10d4a915e', '[-94,127,-63,61,-75,-27,61,3,-54,49,-10,-122,88,-42,89,47]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '9', '0', '0', '23', '7', '3', E'\\x8cc14860c62b1116d085d89b032fbaf1', '[-67,127,-82,4,-46,33,38,-19,-16,62,84,-68,99,-12,39,48]', NULL);
INSERT INTO passages VALUES ('5634431992888345628', '1', '0', '0', '22', '6', '2', E'\\x5400a67b1d54b7016a680ee2a552bd0a', '[-30,58,6,-109,28,-68,19,-127,-58,-17,-22,-30,-86,-90,74,-25]', NULL);
INSERT INTO passages VALUES ('5634431992888345628', '2', '0', '0', '6', '2', '3', E'\\x547c0e73a78d9357274d30b0a39bac57', '[28,-127,-56,-101,-28,-7,28,-48,-39,-33,-2,20,-68,-81,50,-48]', NULL);
INSERT INTO passages VALUES ('5634431992888345628', '3', '0', '0', '22', '6', '2', E'\\x5400a67b1d54b7016a680ee2a552bd0a', '[-30,58,6,-109,28,-68,19,-127,-58,-17,-22,-30,-86,-90,74,-25]', NULL);
INSERT INTO terms VALUES ('4027649648368058270', E'\\x34373131', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x34373132', '9', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x383030', '10', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x616e6e61', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x616e6e61', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x616e6e61', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x616e73776572', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x616e73776572', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x63616c6c', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x63616c6c', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x636174', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x636174', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x636f6465', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x636f6465', '9', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x66696e65', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x66696e65', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x666a6f7264', '6', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x666a6f7264', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x67617465', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x67617465', '9', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x696e6c6574', '11', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x696e6c6574', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6c697665', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6c697665', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6c697665', '4', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6c6f6e67', '11', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6c6f6e67', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6d69736f', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6d69736f', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6e616d65', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6e616d65', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6e6f77', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6e6f77', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6f736c6f', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6f736c6f', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x6f736c6f', '4', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x706c656173', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x706c656173', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x72656e74', '10', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x73656e74656e63', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x73656e74656e63', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x73686f7274', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x73686f7274', '5', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x686172626f7572', '1', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x686172626f7572', '2', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x686172626f7572', '3', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x6e6f7465', '2', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x776f726b', '1', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x776f726b', '2', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x776f726b', '3', '0', '1');
INSERT INTO tags VALUES ('4027649648368058270', E'\\x6e576118ad98926951c3f0f25a6c8e39', '8');
INSERT INTO tags VALUES ('4027649648368058270', E'\\x6e576118ad98926951c3f0f25a6c8e39', '9');
INSERT INTO derived VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063ac', E'\\x019ca6b1dc00773d93ec54ab998063af');
INSERT INTO derived VALUES ('4027649648368058270', E'\\x019ca6b1dc00773d93ec54ab998063ae', E'\\x019ca6b1dc00773d93ec54ab998063b0');
INSERT INTO derived VALUES ('5634431992888345628', E'\\x019ca6b1dc00773d93ec54ab998063b5', E'\\x019ca6b1dc00773d93ec54ab998063b7');
INSERT INTO events VALUES ('4027649648368058270', '1', E'\\x019ca6b1dc00773d93ec54ab998063af', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '2', E'\\x019ca6b1dc00773d93ec54ab998063b0', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '3', E'\\x019ca6b1dc00773d93ec54ab998063b3', 'remembered', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '4', E'\\x019ca6b1dc00773d93ec54ab998063b3', 'updated', '1772323200000000', 'user', '2', E'\\x7b226669656c6473223a22636f6e74656e74227d');
INSERT INTO events VALUES ('4027649648368058270', '5', E'\\x019ca6b1dc00773d93ec54ab998063b4', 'remembered', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '6', E'\\x019ca6b1dc00773d93ec54ab998063b4', 'forgotten', '1772323200000000', 'user', '1', E'\\x7b227374617465223a22616374697665227d');
INSERT INTO events VALUES ('4027649648368058270', '7', E'\\x019ca6b1dc00773d93ec54ab998063b1', 'forgotten', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('5634431992888345628', '1', E'\\x019ca6b1dc00773d93ec54ab998063b7', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO base_memories VALUES ('4027649648368058270', '1', E'\\x416e6e61206c6976657320696e204f736c6f2e', NULL, '1772323200000000', '1772323200000000');
INSERT INTO base_memories VALUES ('4027649648368058270', '2', E'\\x416e6e61206c6976657320696e204f736c6f20776974682061206361742e', NULL, '1772323200000000', NULL);
INSERT INTO meta VALUES ('analyser', '1');
INSERT INTO meta VALUES ('cipher', 'plain');
INSERT INTO meta VALUES ('dimension', '16');
INSERT INTO meta VALUES ('embedder', 'hashing');
INSERT INTO meta VALUES ('key_check', '');
INSERT INTO meta VALUES ('schema', '2');
INSERT INTO meta VALUES ('store_id', '');
INSERT INTO meta VALUES ('vector', 'halfvec');
INSERT INTO jobs VALUES ('cleanup', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('decay:1h', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('decay:24h', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('expire', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('pass', NULL, NULL, NULL, '1772323200000000');
INSERT INTO tombstones VALUES (E'\\x124c91ac39baf294f2ffa31045ff795c', '1772323200000000');
