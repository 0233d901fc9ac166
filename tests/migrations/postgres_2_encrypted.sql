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
  vector vector,
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
ALTER TABLE passages ADD COLUMN vector2 vector;
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
INSERT INTO owners VALUES ('4027649648368058270', 'anna', 'standard', '1', '10', '11', '1795292181243077', '12', '3', '4', '8', '1');
INSERT INTO owners VALUES ('5634431992888345628', 'bob', 'standard', '1', '1', '1', '1795292181684077', '4', '2', '3', '2', '1');
INSERT INTO sessions VALUES ('4027649648368058270', '1', 's1', '1', '1772323200000000', '1772323200000000', '3', '3', '1772323200000000', '0', '0', '1772323200000000', NULL);
INSERT INTO sessions VALUES ('4027649648368058270', '2', 's2', '6', '1772323200000000', '1772323200000000', '2', '2', NULL, '0', '0', '1772323200000000', NULL);
INSERT INTO sessions VALUES ('5634431992888345628', '1', 's1', '1', '1772323200000000', '1772323200000000', '2', '2', NULL, '0', '0', '1772323200000000', NULL);
INSERT INTO participants VALUES ('4027649648368058270', '1', E'\\x015d664b2be0678a138ec3df6bd1d497bdb70b81506d888dab8089b87ec6eabc78395a0707faf97519fa9cd309', 'user', E'\\x122e50cfab18c90a560af36bbdf8d79f');
INSERT INTO participants VALUES ('4027649648368058270', '2', NULL, 'assistant', E'\\x7f2e93197dc3ca44c69593351251459f');
INSERT INTO participants VALUES ('4027649648368058270', '3', NULL, 'user', E'\\x7e93d9a696ca89381164aef6b4dfc811');
INSERT INTO participants VALUES ('5634431992888345628', '1', NULL, 'user', E'\\x593077c2c8f17dfabdd9ea3eca220a5f');
INSERT INTO participants VALUES ('5634431992888345628', '2', NULL, 'assistant', E'\\x68669a8fd979028248572d39c2bbfbe2');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa3d', '1', '1', '1', '1', '1', '1', E'\\x0197661d2b776bfa122bb8c2da3dae089fcd8950fe1ea3adb62a967d6537578520d6e62199a23e97624db77997', E'\\x17bc6c74f2c309dacb2722d2cadedca5', '1772323200000000', E'\\x016ba70b0ca5d96d0efcd070ba9ef4f37eb31690a88fbe6cbece19f00d52b8727f1dde7a565c653f77d3f59586385933bd9a95a211ae1b191b557574144c05e774e412a6456c353a7bf9218837f90e', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa3e', '2', '1', '2', '1', '2', '2', NULL, NULL, '1772323200000000', E'\\x01c16e234e5019136de2e220873354ee984e6bcfbeea94f802bc90f1a74654e8c5f291b76a6721c9410ea48785406fe3c8b9663b3d', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa3f', '3', '1', '3', '1', '3', '1', NULL, NULL, '1772323200000000', E'\\x019bee6f639f0f96601def801b229f59d52de8d86e3b767e41b1317d501550de355083856091b47fc6bc104aa74ed31bdeb00509fa9c290e6a82df70773dee13be5c48f531da288500e4597b35465045c390838b3829', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa42', '6', '1', '6', '2', '1', '3', NULL, NULL, '1772323200000000', E'\\x01641be22179176d627dde92e411a391d97d0571a0183de41c6579b9049eb2aced102c1c861452a4d5ee39bf98def4875a52f7158c0d50dfa3', '1772323200000000', '1772323200000000', '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa43', '7', '1', '11', '2', '2', '2', NULL, NULL, '1772323200000000', E'\\x011eee08775bed8ac95b4d1fbeeff56a358bdbc8be631a94b727e6c0391817077e9441c5dbf27b3acf363e00f22d0db3643dd87ee1d3', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('5634431992888345628', E'\\x019ca6b1dc0074a9907430eae9f8aa46', '1', '1', '1', '1', '1', '1', NULL, NULL, '1772323200000000', E'\\x01550d81f7a42555a281f5e1b9d781356672eb433117acd60744cdd728d4e058df9b9d2c3d71393b0eadad3ccfe15245937e604f22335f473d3bc23e672aa0', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('5634431992888345628', E'\\x019ca6b1dc0074a9907430eae9f8aa47', '2', '1', '2', '1', '2', '2', NULL, NULL, '1772323200000000', E'\\x017ea573ef142fbb475d4f8477bb5ff180705865262c9535b8e5da3688793daca7e3b616e52fb04cbab580d4432039', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa40', '1', '4', 'identity', 'active', 'user', NULL, NULL, E'\\x016c4d555df2d360379593d6ed4fce797fdd84208b021f1a55003565dea97f017fe62791fe7f920096f17d0ff8d7ec990d0f6945b7548d2e', NULL, NULL, '0.65', '0.65', '0', NULL, '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc0074a9907430eae9f8aa3d00c42d01e8ff8db9c5790d2921703f888f6a728e45fe28ad2b63429594e90945631e8b4ef8218e139fce8ed6ff22708d', '0', NULL, '1772323200000000', NULL, '1', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa41', '1', '5', 'preference', 'active', 'user', NULL, NULL, E'\\x0135d5c6bbb97a47e4a2978dfbf93ea94dcf1feb5c6e58ffa9b951c0d85910fd3ce5c74b7575fa43e0f434fbb75235d34c7cae8a5e898ca5e32e6240ece05db0adb82dd365dd83d270085cddb231bdd83105bdef6a3d', NULL, NULL, '0.55', '0.55', '1', '1772323200000000', '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc0074a9907430eae9f8aa3f00c0', '0', NULL, '1772323200000000', NULL, '11', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa44', '2', '9', 'fact', 'active', 'user', E'\\x017e222578887797f7d2bc805e745880c3f743fc10eb6f636127b9400ebc6147f68da7073a995c3b5a03f6207a', E'\\x32a3f93cf0010af5b1221d81560cf572', E'\\x0112e096515523f2612c64363cc8975fe5eaa7e281f1e8582ca89a54ee10d9d60b61fd45b2859380180da21285e57c5f600cd5bd9ef65c652c3e29db6dc65c42', NULL, E'\\x01f68a62b9d9b9c6be607c718fcd7b21bdc2d94ab8c02814f48b815c48f47dd0680ce958d0a1124fc2e3edfb201cefb6b6eb', '0.3', '0.3', '1', '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', NULL, '11', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa45', '1', '10', 'fact', 'forgotten', 'user', NULL, NULL, E'\\x014ffae634f622ea689e7598107d3870c2942865e8b630c200dc3920dfaede65b120ab4521877505e57f19d59736cd2cd55489b6fdb7de9b', NULL, NULL, '0.3', '0.3', '0', NULL, '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', '1772323200000000', '9', '0');
INSERT INTO memories VALUES ('5634431992888345628', E'\\x019ca6b1dc0074a9907430eae9f8aa48', '1', '3', 'identity', 'active', 'user', NULL, NULL, E'\\x016fb1e1405e418bf2c669b83718a2dfe894f31292a4d4e08d0ea3adda11dca1e0d5d0c7a69777038dd844dd985e42946d2af2939fa3e0ad094e459d518895', NULL, NULL, '0.65', '0.65', '0', NULL, '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc0074a9907430eae9f8aa4600c0', '0', NULL, '1772323200000000', NULL, '1', '0');
INSERT INTO versions VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa44', '1', '8', 'fact', 'active', 'user', E'\\x01aeae3211720992eab65654b84af3e510dcfac2ec922490e645b4ae88aec727edcafa43a7eaca75c148be5c5b', E'\\x01d0990b28b77d1f6dadb635a22d06e29f92f7ccd06a80d5961c2d2d2b6362790091e7dc5d54f20b200dedd9518803c6025a2f7c00e8e20282843d88e3230c3d', NULL, E'\\x01265a5e5369ffdee82c29af42862d00134a7f883af4f6be2f26059b61ff2ba7c009cf12b63bd129b09e2ec8fd16126b5292', '0.3', '0.3', '0', NULL, '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', '1772323200000000');
INSERT INTO items VALUES ('4027649648368058270', '1', E'\\x019ca6b1dc0074a9907430eae9f8aa3d', NULL, '1', '1', '1', 'user', '1772323200000000', '52', '9', '11', E'\\xf84aabe0ebc368d1aa6b5e1016214e7c', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '10', E'\\x019ca6b1dc0074a9907430eae9f8aa45', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '4', '4', E'\\x4e81ce66e116c388f4df50c9bace0f8c', '1772323200000000', '1772323200000000', NULL, '0', '9');
INSERT INTO items VALUES ('4027649648368058270', '11', E'\\x019ca6b1dc0074a9907430eae9f8aa43', NULL, '2', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\xdb4267fb8b684b53285f8b55d09e0a95', '1772323200000000', NULL, NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '2', E'\\x019ca6b1dc0074a9907430eae9f8aa3e', NULL, '1', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\x55cd67194c0a10861af20e407fa3f00a', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '3', E'\\x019ca6b1dc0074a9907430eae9f8aa3f', NULL, '1', '3', '1', 'user', '1772323200000000', '64', '8', '10', E'\\xb1ead7747f7737b7ca7575fce8b39e9b', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '4', E'\\x019ca6b1dc0074a9907430eae9f8aa40', 'identity', '1', '0', NULL, 'user', '1772323200000000', '52', '4', '5', E'\\xefd5427b4e90d3b2bb58aa66e13922ec', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '5', E'\\x019ca6b1dc0074a9907430eae9f8aa41', 'preference', '1', '0', NULL, 'user', '1772323200000000', '64', '8', '10', E'\\xb1ead7747f7737b7ca7575fce8b39e9b', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '6', E'\\x019ca6b1dc0074a9907430eae9f8aa42', NULL, '2', '1', '3', 'user', '1772323200000000', '1', '4', '5', E'\\xf66814c18de6263c88acdd9fa0533ec6', '1772323200000000', '1772323200000000', NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '7', E'\\x019ca6b1dc0074a9907430eae9f8aa43', NULL, '2', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\xdb4267fb8b684b53285f8b55d09e0a95', '1772323200000000', '1772323200000000', NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '8', E'\\x019ca6b1dc0074a9907430eae9f8aa44', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '5', '7', E'\\x2a8d7be296d07c4eda798a0f713c68d3', '1772323200000000', '1772323200000000', NULL, '0', '7');
INSERT INTO items VALUES ('4027649648368058270', '9', E'\\x019ca6b1dc0074a9907430eae9f8aa44', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '5', '7', E'\\xd494666569edba47ef04b73ea34a3a31', '1772323200000000', NULL, NULL, '0', '7');
INSERT INTO items VALUES ('5634431992888345628', '1', E'\\x019ca6b1dc0074a9907430eae9f8aa46', NULL, '1', '1', '1', 'user', '1772323200000000', '4', '5', '6', E'\\x3d88449a97b8da4ba0480ad56514c246', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('5634431992888345628', '2', E'\\x019ca6b1dc0074a9907430eae9f8aa47', NULL, '1', '2', '2', 'assistant', '1772323200000000', '0', '1', '2', E'\\x63fd46d2069d7d4a4037c942edfe03cd', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('5634431992888345628', '3', E'\\x019ca6b1dc0074a9907430eae9f8aa48', 'identity', '1', '0', NULL, 'user', '1772323200000000', '4', '5', '6', E'\\x3d88449a97b8da4ba0480ad56514c246', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO passages VALUES ('4027649648368058270', '1', '0', '0', '38', '11', '6', E'\\x3f8128e13970b1c656c8a57a0936a2d5', '[-228,-524,228,1020,-28,-1380,1212,-1300,692,-436,52,372,-52,676,-44,28]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '10', '0', '0', '15', '4', '2', E'\\x2b6cdbfa6bbda47ec9236c2fa3447b0c', '[556,1412,372,1476,356,-700,-508,68,-44,84,132,-1356,-116,364,364,-380]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '11', '0', '0', '13', '4', '2', E'\\xd08b6bf4bb8fb47f477209e5e85da894', '[-1152,-312,-148,-452,-128,-292,-444,-2000,-216,24,-668,-508,36,800,12,-312]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '2', '0', '0', '12', '4', '8', E'\\x79aa9274b59b6f01950b823026a6f672', '[-520,-768,-128,-968,-440,-248,904,-456,320,512,608,352,416,296,-440,480]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '3', '0', '0', '45', '10', '8', E'\\x99854290d1c459baf238c79c6dee56b9', '[-76,-28,1244,-92,212,628,916,52,300,396,108,476,-732,-924,-52,148]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '4', '0', '0', '15', '5', '2', E'\\x4283fb09ffffa1fd83361720251b39a8', '[452,-452,-672,912,28,-808,176,-308,108,-36,-632,176,-600,468,-440,204]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '5', '0', '0', '45', '10', '5', E'\\x3ceccc211732c0987b136e63aea06fbd', '[352,-376,1060,316,352,396,908,480,216,936,52,20,-1156,-1216,-156,56]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '6', '0', '0', '16', '5', '1', E'\\x6820f20a990055ea313a3b70e299ef32', '[-408,1224,-348,1356,-448,-76,84,552,560,-728,436,-1604,836,-128,-188,288]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '7', '0', '0', '13', '4', '3', E'\\xd08b6bf4bb8fb47f477209e5e85da894', '[-1152,-312,-148,-452,-128,-292,-444,-2000,-216,24,-668,-508,36,800,12,-312]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '8', '0', '0', '23', '7', '3', E'\\x8679bd13a5f8a2787b70e66538c2c7b1', '[1008,1504,-880,96,512,-1024,64,584,-208,-56,-528,-816,64,-120,-1424,-1352]', NULL);
INSERT INTO passages VALUES ('4027649648368058270', '9', '0', '0', '23', '7', '3', E'\\xca6bfe9e0f6af4dd5ee34bc0275f1ece', '[1280,1320,-320,-528,296,-736,352,-256,128,520,-624,48,-16,408,-1280,-928]', NULL);
INSERT INTO passages VALUES ('5634431992888345628', '1', '0', '0', '22', '6', '2', E'\\xb85444b32d56ac3be5e81d51e5f9ec46', '[1640,-496,1328,1092,-512,-24,416,52,932,-596,-36,-156,492,-204,8,-648]', NULL);
INSERT INTO passages VALUES ('5634431992888345628', '2', '0', '0', '6', '2', '3', E'\\x05152b47094829de99ada8e5426bf88c', '[1220,-636,412,132,-196,44,268,764,-252,-1596,1060,-108,-404,-228,-236,116]', NULL);
INSERT INTO passages VALUES ('5634431992888345628', '3', '0', '0', '22', '6', '2', E'\\xb85444b32d56ac3be5e81d51e5f9ec46', '[1640,-496,1328,1092,-512,-24,416,52,932,-596,-36,-156,492,-204,8,-648]', NULL);
INSERT INTO terms VALUES ('4027649648368058270', E'\\x14f265373d3dcb42', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x1fece87e00f57a3d', '10', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x2082668119861a99', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x2082668119861a99', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x2577375acdc6b51e', '10', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x2dd708c703373e25', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x2dd708c703373e25', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x3b6603446a558f84', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x3b6603446a558f84', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x3d9e2d3b2d724927', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x3d9e2d3b2d724927', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x3d9e2d3b2d724927', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x3fe4cb1bb6686a14', '11', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x3fe4cb1bb6686a14', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x472399d1121e0085', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x472399d1121e0085', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x4e5bc238964e7d2e', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x4e5bc238964e7d2e', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x55b23072ae83b429', '6', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x55b23072ae83b429', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x57daf508d936a89c', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x57daf508d936a89c', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x57daf508d936a89c', '4', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x7be54091b24fd673', '11', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x7be54091b24fd673', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x81e0533872781ffa', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x81e0533872781ffa', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x869899e0d147b8a7', '9', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xb4f68cb8f7ff79c4', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xb4f68cb8f7ff79c4', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xc1e4cc8b90de958b', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xc1e4cc8b90de958b', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xcd7d8a87d8a69887', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xcd7d8a87d8a69887', '9', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xe3df104bbabe110c', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xe3df104bbabe110c', '9', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xe956fc3685f5bb75', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xe956fc3685f5bb75', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xf2caffca268f699e', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xf2caffca268f699e', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xf2caffca268f699e', '4', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xfa0f3238fa89bddd', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xfa0f3238fa89bddd', '5', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x1ba78514dc887060', '1', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x1ba78514dc887060', '2', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x1ba78514dc887060', '3', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\xe29f9cd7c6c928b3', '1', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\xe29f9cd7c6c928b3', '2', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\xe29f9cd7c6c928b3', '3', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\xebdb86ecf23cd7bb', '2', '0', '1');
INSERT INTO tags VALUES ('4027649648368058270', E'\\x1eccaa8c938c4f4a0cb325eb1ee22771', '8');
INSERT INTO tags VALUES ('4027649648368058270', E'\\x1eccaa8c938c4f4a0cb325eb1ee22771', '9');
INSERT INTO derived VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa3d', E'\\x019ca6b1dc0074a9907430eae9f8aa40');
INSERT INTO derived VALUES ('4027649648368058270', E'\\x019ca6b1dc0074a9907430eae9f8aa3f', E'\\x019ca6b1dc0074a9907430eae9f8aa41');
INSERT INTO derived VALUES ('5634431992888345628', E'\\x019ca6b1dc0074a9907430eae9f8aa46', E'\\x019ca6b1dc0074a9907430eae9f8aa48');
INSERT INTO events VALUES ('4027649648368058270', '1', E'\\x019ca6b1dc0074a9907430eae9f8aa40', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '2', E'\\x019ca6b1dc0074a9907430eae9f8aa41', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '3', E'\\x019ca6b1dc0074a9907430eae9f8aa44', 'remembered', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '4', E'\\x019ca6b1dc0074a9907430eae9f8aa44', 'updated', '1772323200000000', 'user', '2', E'\\x010faf122b289ea2a537fa18b2bb123b495cdca7cb3a5e74e7f243242122f72d7c24c01d7aaad1e9098b21fc103692534e714822abe1f153fdbea1477a');
INSERT INTO events VALUES ('4027649648368058270', '5', E'\\x019ca6b1dc0074a9907430eae9f8aa45', 'remembered', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '6', E'\\x019ca6b1dc0074a9907430eae9f8aa45', 'forgotten', '1772323200000000', 'user', '1', E'\\x013d381017a1e22361dbf19e756c0ba64214240a18def3cf14a1e042157214872f3132cd1bd6e709eb1a8578e11e7a5d646e8ee3433e6c91f5a321');
INSERT INTO events VALUES ('4027649648368058270', '7', E'\\x019ca6b1dc0074a9907430eae9f8aa42', 'forgotten', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('5634431992888345628', '1', E'\\x019ca6b1dc0074a9907430eae9f8aa48', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO base_memories VALUES ('4027649648368058270', '1', E'\\x019ff0540b8795df266cbec6971ca5a07d6561184167011dec9b1895b5e5418afab36c9d5e61235b998577669ed6e00751acfdb4a97951b31c9ad395', NULL, '1772323200000000', '1772323200000000');
INSERT INTO base_memories VALUES ('4027649648368058270', '2', E'\\x01f0acd219ba2811780d0a112e698685f35ae6cd1409e3f6058b9fe2f4141338d0818c4941f454f6be7c61bc2b382d81c816769dd1042b8e960cfb7e0ba9ce80e2afaa94131fee', NULL, '1772323200000000', NULL);
INSERT INTO meta VALUES ('analyser', '1');
INSERT INTO meta VALUES ('cipher', 'xchacha20-poly1305');
INSERT INTO meta VALUES ('dimension', '16');
INSERT INTO meta VALUES ('embedder', 'hashing');
INSERT INTO meta VALUES ('key_check', '52b2f28d53a8a915b9dd226afb06b21d');
INSERT INTO meta VALUES ('schema', '2');
INSERT INTO meta VALUES ('store_id', '19a15df4945cc9a49a706a260bf84fbe');
INSERT INTO meta VALUES ('vector', 'vector');
INSERT INTO jobs VALUES ('cleanup', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('decay:1h', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('decay:24h', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('expire', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('pass', NULL, NULL, NULL, '1772323200000000');
INSERT INTO tombstones VALUES (E'\\x41c9d08d6555f8994e038a508c2a6cf3', '1772323200000000');
