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
INSERT INTO owners VALUES ('4027649648368058270', 'anna', 'standard', '1', '10', '11', '1795290581544051', '12', '3', '4', '8');
INSERT INTO owners VALUES ('5634431992888345628', 'bob', 'standard', '1', '1', '1', '1795290582348577', '4', '2', '3', '2');
INSERT INTO sessions VALUES ('4027649648368058270', '1', 's1', '1', '1772323200000000', '1772323200000000', '3', '3', '1772323200000000', '0', '0', '1772323200000000', NULL);
INSERT INTO sessions VALUES ('4027649648368058270', '2', 's2', '6', '1772323200000000', '1772323200000000', '2', '2', NULL, '0', '0', '1772323200000000', NULL);
INSERT INTO sessions VALUES ('5634431992888345628', '1', 's1', '1', '1772323200000000', '1772323200000000', '2', '2', NULL, '0', '0', '1772323200000000', NULL);
INSERT INTO participants VALUES ('4027649648368058270', '1', E'\\x01fc7abca122efaf81492ba207003a51845967b8238adaa6c5a9294f0ca87f17d4098148b12357c37ab2cb702c', 'user', E'\\x26be1b0cfafcb90a3bf7b9e46e576677');
INSERT INTO participants VALUES ('4027649648368058270', '2', NULL, 'assistant', E'\\x7ba521e6321a58b1ad062aa4539b9e5d');
INSERT INTO participants VALUES ('4027649648368058270', '3', NULL, 'user', E'\\x7fa34c3cc1c29346f940efa2a3a16999');
INSERT INTO participants VALUES ('5634431992888345628', '1', NULL, 'user', E'\\x6a16ec16b9aac807e83668102279506a');
INSERT INTO participants VALUES ('5634431992888345628', '2', NULL, 'assistant', E'\\xcb617f889f2ae036b00b49355ab4f6de');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa023', '1', '1', '1', '1', '1', '1', E'\\x019fd33cd1be8fe19641a97b1632d0a291a7081e493e272556a3d1a8195a6abd3753156ecc38d9cb4ff43e41f2', E'\\x533df77a4b55cef819ac7795fb60f374', '1772323200000000', E'\\x01ee92cd49956466dde463df7530fc41181a85c643cd8ec6303ae21e3759407f1859da74286eb8e150f07c9ae0a6d70f8bb4f28f12ee32db7ff4223ae7df2abde990f0ce9ef096400d483c026e0085', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa024', '2', '1', '2', '1', '2', '2', NULL, NULL, '1772323200000000', E'\\x014f35e3c2ce2764f02cf53b7ba7c1da1d3c7b14f7ba3fc1a0c8b4ecb874e7f8fd87f350fc7b09ee009baf6738573a734543ce6433', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa025', '3', '1', '3', '1', '3', '1', NULL, NULL, '1772323200000000', E'\\x01a9e7a321ab3a5e17417667430a97467d03cc7f10590d116eb670d212d0e0571847c87c5d09ef5f4779c1cc3741d2db6b28cfdbe8d645497060d81c73d41aefc58692adb7381c11870ffd91311759e7a7626f423d04', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa028', '6', '1', '6', '2', '1', '3', NULL, NULL, '1772323200000000', E'\\x019d8aad99159eb832b1608d35d1ac0f6cc443f370f07bb126d76263ffec544a701f77adb8a876b10446c46f3bbe0736a9d04f4cb3c4027b6f', '1772323200000000', '1772323200000000', '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa029', '7', '1', '11', '2', '2', '2', NULL, NULL, '1772323200000000', E'\\x010750be669a4ebc0eb5fd41198cd113276578af2d062d419a6c03978c6f2f384d03ad4c05221852e99a7baaba661a6b28d77be71099', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('5634431992888345628', E'\\x019ca6b1dc0073359ceeef339b5aa02c', '1', '1', '1', '1', '1', '1', NULL, NULL, '1772323200000000', E'\\x017770fe4642f44f6c826c88daf4c6ec71ada42f0ad6bcd1ef1d3006286b5180ed094e2fbd4c7ed4bb6e9eb85bfc4edc401a4bf441f42b9fe88673466c03b7', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO messages VALUES ('5634431992888345628', E'\\x019ca6b1dc0073359ceeef339b5aa02d', '2', '1', '2', '1', '2', '2', NULL, NULL, '1772323200000000', E'\\x018650f2aa79baef15edd32ecbc76b6e61f387d2544cc61a1d3f51c82dc5c8bdf9108a29e19c8c148295bc8259fb39', '1772323200000000', NULL, '0', NULL, NULL, NULL, '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa026', '1', '4', 'identity', 'active', 'user', NULL, NULL, E'\\x01be89e8639f4b10b896bcdbcffbeb7629e74fe4a3dbe9ea8620b7caac1ce37413382723f47e26673366dd31c13db6639b875ddb1fe99f42', NULL, NULL, '0.65', '0.65', '0', NULL, '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc0073359ceeef339b5aa02300c42d0184b111dd8e02fde8e011577c48881f230a0335efc58d2ab54a4d36cb300ff2c8e67bc4327c451c44b1d6a3b4', '0', NULL, '1772323200000000', NULL, '1', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa027', '1', '5', 'preference', 'active', 'user', NULL, NULL, E'\\x01a457d7eb90f6e0c0f3f32e35bf196fce47756751a60c81432b62e9347419295a1f19501b1b6064d314aab7e2dc12a03810c310588c28baf993cdaf56d3d1780f7a6e867c1adf2fbb5117af4405dfa672c1faba25c3', NULL, NULL, '0.55', '0.55', '1', '1772323200000000', '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc0073359ceeef339b5aa02500c0', '0', NULL, '1772323200000000', NULL, '11', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa02a', '2', '9', 'fact', 'active', 'user', E'\\x015cfc5337f8ba678a8a28a7be29fd366e0545463753c91c1de0db8f8ed15b5af05b168e6a10304befa2cadc38', E'\\xaf620bc3e3acafc1a5736f39dda34421', E'\\x01af18583eb50781ff0957d06d338ffd6569da7a0c7399710b6ee36c941d1c222c229baa9776418b0b94888f7af74210220ed2a6145f12923338b6cc9ecae763', NULL, E'\\x0114c727f1516da09102b6a17e3e37ab747b4228b8c414913a5650ffb0987ad0c496b93d38c6c21955b83160d4f4e9b043cd', '0.3', '0.3', '1', '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', NULL, '11', '0');
INSERT INTO memories VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa02b', '1', '10', 'fact', 'forgotten', 'user', NULL, NULL, E'\\x0132169f1583f09b50d5770505c1bd5a7958aa66d70b3e4f39b4ef43ff495ec1c87319b185f0e7b6213d74d91bb4f4e99fe2c62b986b49bd', NULL, NULL, '0.3', '0.3', '0', NULL, '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', '1772323200000000', '9', '0');
INSERT INTO memories VALUES ('5634431992888345628', E'\\x019ca6b1dc0073359ceeef339b5aa02e', '1', '3', 'identity', 'active', 'user', NULL, NULL, E'\\x014ab2ad39b3e113df8ae3f2d25736fbe748a0a162059092b542d1eeb769341f7262ab198b271d6f9b767e32df5dff1b0539d698a06f43f547962f60760a9b', NULL, NULL, '0.65', '0.65', '0', NULL, '1772323200000000', '1772323200000000', '1772323200000000', NULL, NULL, '1', E'\\x9193c410019ca6b1dc0073359ceeef339b5aa02c00c0', '0', NULL, '1772323200000000', NULL, '1', '0');
INSERT INTO versions VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa02a', '1', '8', 'fact', 'active', 'user', E'\\x015f656fd707313f0e547263f94e5cc442f696000331c3e0ab44ec5a2e44b2616836a8decb16dde5d36d648084', E'\\x01da5aa0c9d4886ce616171641fe47a509e209e516f659b135422bb8b93df110806b07384b0154765263c984be86f6d2ccf03255f063a25125cfd5e7db8d0dd2', NULL, E'\\x01ad92508b6d311d09b04f202da2d3972b8ade0f8b958cc9933f3752aa06d14e02750c524f382dff796b5eafb4260f7cb6d4', '0.3', '0.3', '0', NULL, '1772323200000000', '1772323200000000', NULL, NULL, NULL, NULL, NULL, '0', NULL, '1772323200000000', '1772323200000000');
INSERT INTO items VALUES ('4027649648368058270', '1', E'\\x019ca6b1dc0073359ceeef339b5aa023', NULL, '1', '1', '1', 'user', '1772323200000000', '52', '9', '11', E'\\x10a057aa7cf41c363f6a48bc04b1d038', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '10', E'\\x019ca6b1dc0073359ceeef339b5aa02b', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '4', '4', E'\\x6f78492f0f996228bb33e811d1934b22', '1772323200000000', '1772323200000000', NULL, '0', '9');
INSERT INTO items VALUES ('4027649648368058270', '11', E'\\x019ca6b1dc0073359ceeef339b5aa029', NULL, '2', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\x48996db68e55623b6f07b56f9e19dc8f', '1772323200000000', NULL, NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '2', E'\\x019ca6b1dc0073359ceeef339b5aa024', NULL, '1', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\xe1c3765e0f45feb3fcb1cd9459f237e0', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '3', E'\\x019ca6b1dc0073359ceeef339b5aa025', NULL, '1', '3', '1', 'user', '1772323200000000', '64', '8', '10', E'\\x1e22b1e90c21ff2eba5cdd642c053e52', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '4', E'\\x019ca6b1dc0073359ceeef339b5aa026', 'identity', '1', '0', NULL, 'user', '1772323200000000', '52', '4', '5', E'\\x7e8c882dbf7153b97dc4c4e43777a5ae', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '5', E'\\x019ca6b1dc0073359ceeef339b5aa027', 'preference', '1', '0', NULL, 'user', '1772323200000000', '64', '8', '10', E'\\x1e22b1e90c21ff2eba5cdd642c053e52', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('4027649648368058270', '6', E'\\x019ca6b1dc0073359ceeef339b5aa028', NULL, '2', '1', '3', 'user', '1772323200000000', '1', '4', '5', E'\\xf946f9af0c6ec9e8eead84befd30fe2e', '1772323200000000', '1772323200000000', NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '7', E'\\x019ca6b1dc0073359ceeef339b5aa029', NULL, '2', '2', '2', 'assistant', '1772323200000000', '0', '3', '4', E'\\x48996db68e55623b6f07b56f9e19dc8f', '1772323200000000', '1772323200000000', NULL, '0', '10');
INSERT INTO items VALUES ('4027649648368058270', '8', E'\\x019ca6b1dc0073359ceeef339b5aa02a', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '5', '7', E'\\xe688725735705e6c66c318259f567246', '1772323200000000', '1772323200000000', NULL, '0', '7');
INSERT INTO items VALUES ('4027649648368058270', '9', E'\\x019ca6b1dc0073359ceeef339b5aa02a', 'fact', NULL, '0', NULL, 'user', '1772323200000000', '8', '5', '7', E'\\x70a5cdb72c87ebc0d6b2796cec2f7f0f', '1772323200000000', NULL, NULL, '0', '7');
INSERT INTO items VALUES ('5634431992888345628', '1', E'\\x019ca6b1dc0073359ceeef339b5aa02c', NULL, '1', '1', '1', 'user', '1772323200000000', '4', '5', '6', E'\\x60d77cf23394fa81f573f20fc3b180dd', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('5634431992888345628', '2', E'\\x019ca6b1dc0073359ceeef339b5aa02d', NULL, '1', '2', '2', 'assistant', '1772323200000000', '0', '1', '2', E'\\x4d109a8394e9a35a5f30a5416991c333', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO items VALUES ('5634431992888345628', '3', E'\\x019ca6b1dc0073359ceeef339b5aa02e', 'identity', '1', '0', NULL, 'user', '1772323200000000', '4', '5', '6', E'\\x60d77cf23394fa81f573f20fc3b180dd', '1772323200000000', NULL, NULL, '0', '1');
INSERT INTO passages VALUES ('4027649648368058270', '1', '0', '0', '38', '11', '6', E'\\x7dab3f88f40c7eb75615897f1da27bdd', '[708,292,-892,300,980,364,972,92,-1300,-212,-508,916,932,-316,-644,-148]');
INSERT INTO passages VALUES ('4027649648368058270', '10', '0', '0', '15', '4', '2', E'\\xd482090b8d5190086f0247aa745b8523', '[1000,456,608,-440,376,-1200,-376,816,-568,-904,-320,768,-336,-456,1152,384]');
INSERT INTO passages VALUES ('4027649648368058270', '11', '0', '0', '13', '4', '2', E'\\x14f76b663802088345a8ec9aeb0bfbf0', '[888,-812,-240,680,-796,1496,652,108,-384,-1200,-8,372,-48,-476,-276,364]');
INSERT INTO passages VALUES ('4027649648368058270', '2', '0', '0', '12', '4', '8', E'\\x218297cab113b91a1cede9f5df51d089', '[-388,-252,-716,-116,-180,876,204,316,-20,372,764,116,812,-212,-1148,-444]');
INSERT INTO passages VALUES ('4027649648368058270', '3', '0', '0', '45', '10', '8', E'\\x309b2ad8a34f114e9e3bfd74f97c9da8', '[308,1004,-124,124,-228,-348,-348,-628,612,772,-212,516,-252,252,-1172,-372]');
INSERT INTO passages VALUES ('4027649648368058270', '4', '0', '0', '15', '5', '2', E'\\x2d4bfc7fb57681d5d57f77b1ce184b79', '[-264,-140,-344,456,1028,-112,868,-92,-208,-384,-128,772,392,236,324,604]');
INSERT INTO passages VALUES ('4027649648368058270', '5', '0', '0', '45', '10', '5', E'\\x533336af012357796978b9221f32c4dc', '[-44,1296,36,132,-168,-1036,32,-656,1116,580,-44,976,-52,184,-824,-328]');
INSERT INTO passages VALUES ('4027649648368058270', '6', '0', '0', '16', '5', '1', E'\\x5e06a9f881d9e1260b4ffa00b2b7d5d5', '[448,4,368,-464,596,-1256,52,1020,-1416,-456,856,-148,-1200,-324,444,-588]');
INSERT INTO passages VALUES ('4027649648368058270', '7', '0', '0', '13', '4', '3', E'\\x14f76b663802088345a8ec9aeb0bfbf0', '[888,-812,-240,680,-796,1496,652,108,-384,-1200,-8,372,-48,-476,-276,364]');
INSERT INTO passages VALUES ('4027649648368058270', '8', '0', '0', '23', '7', '3', E'\\x8eaee936241e23609ca37e7be03411f6', '[-1016,472,-104,-1192,-576,-688,40,296,-1152,-400,160,1032,-520,480,1440,1360]');
INSERT INTO passages VALUES ('4027649648368058270', '9', '0', '0', '23', '7', '3', E'\\x9093421a471d2e398d4e52d321c9740b', '[-920,136,-512,-872,-464,-48,-584,224,-744,-136,-240,1280,0,224,312,1736]');
INSERT INTO passages VALUES ('5634431992888345628', '1', '0', '0', '22', '6', '2', E'\\x730cfe626bbbf2741c8c82465da5070f', '[248,964,-284,624,-500,1280,-1060,-192,-720,924,644,-792,328,1076,156,-264]');
INSERT INTO passages VALUES ('5634431992888345628', '2', '0', '0', '6', '2', '3', E'\\xdd73f8b2e61f6ec666f9a71aa084f352', '[40,1016,-488,80,-352,-552,-712,856,-1152,384,400,472,752,1144,160,320]');
INSERT INTO passages VALUES ('5634431992888345628', '3', '0', '0', '22', '6', '2', E'\\x730cfe626bbbf2741c8c82465da5070f', '[248,964,-284,624,-500,1280,-1060,-192,-720,924,644,-792,328,1076,156,-264]');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x01f5ac20a7394284', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x01f5ac20a7394284', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x0875d64a6cccf9da', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x0875d64a6cccf9da', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x0875d64a6cccf9da', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x129e3ad22924e127', '11', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x129e3ad22924e127', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x290f59cce875cccb', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x290f59cce875cccb', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x2c6e93b9dc3b2c49', '11', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x2c6e93b9dc3b2c49', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x52363767d5ff3acf', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x52363767d5ff3acf', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x54d1217a06304123', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x54d1217a06304123', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x5c1b3d081dcd28ac', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x5c1b3d081dcd28ac', '9', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x74b4cc6c9171fba3', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x74b4cc6c9171fba3', '9', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x763e63dd99ebfbff', '8', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x7e9ed19535bb9c9e', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x7e9ed19535bb9c9e', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x7f78c9f1673fcd71', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x7f78c9f1673fcd71', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x91307a8b086712ee', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x91307a8b086712ee', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x91307a8b086712ee', '4', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x91be216db986f5b6', '6', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x91be216db986f5b6', '7', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x9a12833003dd588a', '10', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x9bcf14c9eb1ed135', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x9bcf14c9eb1ed135', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x9f6491cea0b1faf0', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\x9f6491cea0b1faf0', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xb96f8d8eb22b188b', '10', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xc343ccb871af5b28', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xc343ccb871af5b28', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xc343ccb871af5b28', '4', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xc6413eae122f7765', '3', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xc6413eae122f7765', '5', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xd08b5b3cc2a5e3c4', '1', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xd08b5b3cc2a5e3c4', '2', '0', '1');
INSERT INTO terms VALUES ('4027649648368058270', E'\\xe2f2af08b6503cdf', '9', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x8e60628d993f3bfc', '1', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x8e60628d993f3bfc', '2', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\x8e60628d993f3bfc', '3', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\xbafe4e5c561a3479', '1', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\xbafe4e5c561a3479', '2', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\xbafe4e5c561a3479', '3', '0', '1');
INSERT INTO terms VALUES ('5634431992888345628', E'\\xf6b1791a56445bea', '2', '0', '1');
INSERT INTO tags VALUES ('4027649648368058270', E'\\xe35c3bfd3c815ce278f04c3de8472e49', '8');
INSERT INTO tags VALUES ('4027649648368058270', E'\\xe35c3bfd3c815ce278f04c3de8472e49', '9');
INSERT INTO derived VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa023', E'\\x019ca6b1dc0073359ceeef339b5aa026');
INSERT INTO derived VALUES ('4027649648368058270', E'\\x019ca6b1dc0073359ceeef339b5aa025', E'\\x019ca6b1dc0073359ceeef339b5aa027');
INSERT INTO derived VALUES ('5634431992888345628', E'\\x019ca6b1dc0073359ceeef339b5aa02c', E'\\x019ca6b1dc0073359ceeef339b5aa02e');
INSERT INTO events VALUES ('4027649648368058270', '1', E'\\x019ca6b1dc0073359ceeef339b5aa026', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '2', E'\\x019ca6b1dc0073359ceeef339b5aa027', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '3', E'\\x019ca6b1dc0073359ceeef339b5aa02a', 'remembered', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '4', E'\\x019ca6b1dc0073359ceeef339b5aa02a', 'updated', '1772323200000000', 'user', '2', E'\\x01d31968cfd57e29e1825fdf47e1c595a2e644c5430d42f3638c2dc5655ee2e496027f51880eddfac56085c8c9dd9ea29bf7db77cb7132fe262aa8ac82');
INSERT INTO events VALUES ('4027649648368058270', '5', E'\\x019ca6b1dc0073359ceeef339b5aa02b', 'remembered', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('4027649648368058270', '6', E'\\x019ca6b1dc0073359ceeef339b5aa02b', 'forgotten', '1772323200000000', 'user', '1', E'\\x01f30e5876f48e679434b4e69a2888135ff07a0ef6ec219a7580be7c19d20dd14de5b8a35d9b4b4da3c3648653792f6f4779cda494e619877d010b');
INSERT INTO events VALUES ('4027649648368058270', '7', E'\\x019ca6b1dc0073359ceeef339b5aa028', 'forgotten', '1772323200000000', 'user', '1', NULL);
INSERT INTO events VALUES ('5634431992888345628', '1', E'\\x019ca6b1dc0073359ceeef339b5aa02e', 'remembered', '1772323200000000', 'learn', '1', NULL);
INSERT INTO base_memories VALUES ('4027649648368058270', '1', E'\\x014a7f1bb29b5c6058969cc6490a3de8fe77f5d2668859d70f8b9a6da7ce701a5c925c7bf623fc1d037288e9f1b75682940c68f7c528242a32ed3ee4', NULL, '1772323200000000', '1772323200000000');
INSERT INTO base_memories VALUES ('4027649648368058270', '2', E'\\x01f510a2f37a62be042f938e2bef8b717c94ff92eb984f43b106ba5bcc319e762d19eb785550e3e6fc2006eb089e7afe57c124bc459f807759dc296fd22c198b4c54fc7d5ff0a5', NULL, '1772323200000000', NULL);
INSERT INTO meta VALUES ('analyser', '1');
INSERT INTO meta VALUES ('cipher', 'xchacha20-poly1305');
INSERT INTO meta VALUES ('dimension', '16');
INSERT INTO meta VALUES ('embedder', 'hashing');
INSERT INTO meta VALUES ('key_check', '242d2a9aa17fbfaccf32782cc002aead');
INSERT INTO meta VALUES ('schema', '1');
INSERT INTO meta VALUES ('store_id', 'cfbc53ce61375c05d6466bbb5fbc5373');
INSERT INTO meta VALUES ('vector', 'vector');
INSERT INTO jobs VALUES ('cleanup', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('decay:1h', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('decay:24h', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('expire', NULL, NULL, NULL, '1772323200000000');
INSERT INTO jobs VALUES ('pass', NULL, NULL, NULL, '1772323200000000');
INSERT INTO tombstones VALUES (E'\\x01869b388d5995a040213212f1f686ff', '1772323200000000');
