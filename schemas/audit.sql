-- The tamper-evident log of the scored topic. Each section is applied once, in order, in a transaction of its own; a section
-- that has been released is never changed, a further one is added. Nobody has to trust these tables: what is handed out of
-- them is verified against a signed checkpoint first.

-- migration 1: logs, tiles, checkpoints, marks

-- One row a partition: where its log stands. It only moves from the state that the writer knows.
CREATE TABLE audit_logs (
	topic text COLLATE "C" NOT NULL,
	partition integer NOT NULL CHECK (partition >= 0),
	origin text COLLATE "C" NOT NULL UNIQUE,
	size bigint NOT NULL CHECK (size >= 0),
	next_offset bigint NOT NULL CHECK (next_offset >= 0),
	last_offset bigint CHECK (last_offset >= 0 AND last_offset < next_offset),
	last_leaf bytea CHECK (octet_length(last_leaf) = 32),
	state bytea NOT NULL,
	stopped text CHECK (stopped <> ''),
	updated_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (topic, partition),
	CHECK ((last_offset IS NULL) = (last_leaf IS NULL))
);

-- Hashes side by side, 32 bytes each; a tile only ever grows. Hashes do not compress.
CREATE TABLE audit_tiles (
	topic text COLLATE "C" NOT NULL,
	partition integer NOT NULL,
	level smallint NOT NULL CHECK (level BETWEEN 0 AND 7),
	index bigint NOT NULL CHECK (index >= 0),
	hashes bytea NOT NULL CHECK (octet_length(hashes) BETWEEN 32 AND 8192 AND octet_length(hashes) % 32 = 0),
	PRIMARY KEY (topic, partition, level, index)
);
ALTER TABLE audit_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;

-- Signed notes, stored before anybody sees them; the times say that they are where others can read them.
CREATE TABLE audit_checkpoints (
	topic text COLLATE "C" NOT NULL,
	partition integer NOT NULL,
	size bigint NOT NULL CHECK (size >= 0),
	next_offset bigint NOT NULL CHECK (next_offset >= 0),
	state bytea NOT NULL,
	note text NOT NULL,
	made_at timestamptz NOT NULL DEFAULT now(),
	in_topic_at timestamptz,
	in_file_at timestamptz,
	PRIMARY KEY (topic, partition, size)
);

-- What the leaves that are marks say, for people; the leaf is the truth.
CREATE TABLE audit_marks (
	topic text COLLATE "C" NOT NULL,
	partition integer NOT NULL,
	index bigint NOT NULL CHECK (index >= 0),
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('gap', 'begins_again')),
	from_offset bigint NOT NULL,
	to_offset bigint NOT NULL,
	reason text NOT NULL,
	made_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (topic, partition, index)
);

COMMENT ON TABLE audit_logs IS 'the tamper-evident log: where the tree of each partition stands';
COMMENT ON TABLE audit_tiles IS 'the tamper-evident log: hashes from which anything can be proven';
COMMENT ON TABLE audit_checkpoints IS 'the tamper-evident log: signed checkpoints and where they have been published';
COMMENT ON TABLE audit_marks IS 'the tamper-evident log: what it did not see';

-- migration 2: checkpoints that are still to be published

CREATE INDEX audit_checkpoints_not_in_topic ON audit_checkpoints (topic, partition, size) WHERE in_topic_at IS NULL;
CREATE INDEX audit_checkpoints_not_in_file ON audit_checkpoints (topic, partition, size) WHERE in_file_at IS NULL;
