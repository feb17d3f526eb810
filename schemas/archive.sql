-- What scored records name by digest, kept for whoever looks at a record later. Each section is applied once, in order, in a
-- transaction of its own; a section that has been released is never changed, a further one is added.

-- migration 1: contents

-- digest: as records name it; of a model, which records name by its version, the SHA-256 of its document.
-- content: compressed (zlib). Uncompressed its SHA-256 is the digest, but for catalogs, whose digest is of what is compiled from
-- it. sha256: of the content as it lies here. last_used moves once a day at most, while an instance goes by it.
CREATE TABLE audit_archive (
	digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('config', 'prompts', 'catalog', 'model')),
	form text COLLATE "C" NOT NULL DEFAULT '',
	version bigint CHECK (version > 0),
	size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
	sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
	content bytea NOT NULL,
	program_version text NOT NULL,
	first_used timestamptz NOT NULL DEFAULT now(),
	last_used timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (digest, kind),
	CHECK ((kind = 'model') = (version IS NOT NULL))
);
ALTER TABLE audit_archive ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX audit_archive_models ON audit_archive (version) WHERE version IS NOT NULL;
CREATE INDEX audit_archive_last_used ON audit_archive (last_used);

COMMENT ON TABLE audit_archive IS 'what scored records name by digest: configurations, prompts, catalogs, models';
