-- Verdicts of the judge, shared by all instances. Each section is applied once, in order, in a transaction of its own;
-- a section that has been released is never changed, a further one is added.

-- migration 1: verdicts

-- The key is a digest of everything that a verdict depends on (provider, model, parameters, prompt), so that a row never
-- becomes wrong, only old. No errors are kept.
CREATE TABLE judge_verdicts (
	key bytea PRIMARY KEY CHECK (octet_length(key) = 32),
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('relevance', 'correctness')),
	score double precision NOT NULL,
	reason text,
	stored_at timestamptz NOT NULL DEFAULT now(),
	CHECK (CASE kind WHEN 'relevance' THEN score BETWEEN 0 AND 100 AND score = floor(score) ELSE score IN (0, 0.5, 1) END)
);

CREATE INDEX judge_verdicts_by_age ON judge_verdicts (stored_at);

COMMENT ON TABLE judge_verdicts IS 'what the judge has said, by a digest of what it was asked';
