-- Calibration of confidence against correctness. Each section is applied once, in order, in a transaction of its own;
-- a section that has been released is never changed, a further one is added.

-- migration 1: time buckets, positions, segments

-- What has been counted of the scored topic: everything below next_offset, and nothing else. Changes in the transaction
-- that changes the counts, and only from the value that the writer knows.
CREATE TABLE calibration_positions (
	topic text COLLATE "C" NOT NULL,
	partition integer NOT NULL CHECK (partition >= 0),
	next_offset bigint NOT NULL CHECK (next_offset >= 0),
	updated_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (topic, partition)
);

-- Segments that are counted by themselves; beyond the configured number the rest is counted as application 'other'.
-- An absent model or prompt version is the empty text.
CREATE TABLE calibration_segments (
	application text COLLATE "C" NOT NULL,
	model text COLLATE "C" NOT NULL,
	prompt_version text COLLATE "C" NOT NULL,
	first_seen timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (application, model, prompt_version)
);

-- Sums over the cases that were scored in [bucket_start, bucket_start + width_s). Every case is counted once per width.
-- Exact decimals of whatever length, so that the order of adding does not matter and a recount agrees to the last digit.
CREATE TABLE calibration_buckets (
	width_s integer NOT NULL CHECK (width_s > 0),
	bucket_start timestamptz NOT NULL,
	application text COLLATE "C" NOT NULL,
	model text COLLATE "C" NOT NULL,
	prompt_version text COLLATE "C" NOT NULL,
	label_source text COLLATE "C" NOT NULL CHECK (label_source IN ('FEEDBACK', 'RESULT', 'CORRECTNESS', 'RELEVANCE')),
	level text COLLATE "C" NOT NULL CHECK (level IN ('HIGH_CONFIDENCE', 'MEDIUM_CONFIDENCE', 'LOW_CONFIDENCE', 'VERY_LOW_CONFIDENCE')),
	bin smallint NOT NULL CHECK (bin BETWEEN 0 AND 9),
	cases bigint NOT NULL,
	weight numeric NOT NULL,
	weight_squared numeric NOT NULL,
	weight_correct numeric NOT NULL,
	weight_confidence numeric NOT NULL,
	weight_squared_error numeric NOT NULL,
	PRIMARY KEY (width_s, bucket_start, application, model, prompt_version, label_source, level, bin)
);

COMMENT ON TABLE calibration_positions IS 'how far the scored topic is counted';
COMMENT ON TABLE calibration_segments IS 'segments that are counted by themselves';
COMMENT ON TABLE calibration_buckets IS 'sums of confidence and correctness by time, segment, label source, level and bin';

-- migration 2: drift episodes

-- A time in which the band score of a segment was too low over a window, by label source. Opened, judged and closed in
-- transactions that hold an advisory lock, so that each judgement sees what the one before it decided.
CREATE TABLE calibration_drift_episodes (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	application text COLLATE "C" NOT NULL,
	model text COLLATE "C" NOT NULL,
	prompt_version text COLLATE "C" NOT NULL,
	label_source text COLLATE "C" NOT NULL CHECK (label_source IN ('FEEDBACK', 'RESULT', 'CORRECTNESS', 'RELEVANCE')),
	window_s integer NOT NULL CHECK (window_s > 0),
	opened_at timestamptz NOT NULL,
	threshold double precision NOT NULL,
	opening_score double precision NOT NULL,
	opening_cases bigint NOT NULL,
	judged_at timestamptz NOT NULL,
	score double precision NOT NULL,
	cases bigint NOT NULL,
	closed_at timestamptz,
	published_at timestamptz
);

-- However many instances judge: one open episode.
CREATE UNIQUE INDEX calibration_drift_open ON calibration_drift_episodes
	(application, model, prompt_version, label_source, window_s) WHERE closed_at IS NULL;
CREATE INDEX calibration_drift_unpublished ON calibration_drift_episodes (opened_at) WHERE published_at IS NULL;

COMMENT ON TABLE calibration_drift_episodes IS 'times in which confidence did not predict correctness, one row each';
COMMENT ON COLUMN calibration_drift_episodes.score IS 'band score at judged_at, over so many cases';
COMMENT ON COLUMN calibration_drift_episodes.published_at IS 'when the advisory topic had acknowledged its advisory';

-- migration 3: late truth

-- From which record on the events of a partition of the scored topic are remembered; NULL: they are not.
ALTER TABLE calibration_positions ADD COLUMN remembered_from bigint;

-- Scored events that feedback can still be about, by a digest of their event_id; two events of one event_id are two.
-- The segment is the one that they are counted under. A partition a day, made when needed and dropped when too old.
CREATE TABLE calibration_events (
	event_key uuid NOT NULL,
	scored_at timestamptz NOT NULL,
	partition integer NOT NULL,
	record_offset bigint NOT NULL,
	application text COLLATE "C" NOT NULL,
	model text COLLATE "C" NOT NULL,
	prompt_version text COLLATE "C" NOT NULL,
	level text COLLATE "C" NOT NULL,
	confidence numeric NOT NULL,
	correct boolean,
	PRIMARY KEY (event_key, scored_at, partition, record_offset)
) PARTITION BY RANGE (scored_at);

-- Everything that was said within the horizon, also about events that are not known yet.
CREATE TABLE calibration_feedback (
	event_key uuid NOT NULL,
	said_at timestamptz NOT NULL,
	partition integer NOT NULL,
	record_offset bigint NOT NULL,
	correct boolean NOT NULL,
	PRIMARY KEY (event_key, said_at, partition, record_offset)
) PARTITION BY RANGE (said_at);

-- Segments of which nothing is scored any more make room for others.
ALTER TABLE calibration_segments ADD COLUMN last_seen timestamptz NOT NULL DEFAULT now();

COMMENT ON TABLE calibration_events IS 'scored events that feedback may come for';
COMMENT ON TABLE calibration_feedback IS 'verdicts of people and other systems on scored events';
COMMENT ON COLUMN calibration_events.correct IS 'the verdict that is counted, NULL: none yet';

-- migration 4: views for dashboards

-- Whole hours up to now: the last hour, day and week, and the hour that each of them begins in.
CREATE VIEW calibration_window_cells AS
SELECT w.window_s, b.application, b.model, b.prompt_version, b.label_source, b.level, b.bin, sum(b.cases) AS cases,
	sum(b.weight) AS weight, sum(b.weight_squared) AS weight_squared, sum(b.weight_correct) AS weight_correct,
	sum(b.weight_confidence) AS weight_confidence, sum(b.weight_squared_error) AS weight_squared_error
FROM (VALUES (3600), (86400), (604800)) AS w (window_s)
JOIN calibration_buckets b ON b.width_s = 3600 AND b.bucket_start <= now()
	AND b.bucket_start >= date_trunc('hour', now() - w.window_s * interval '1 second', 'UTC')
GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- Tenths of the confidence: what was claimed and what was right, with the Wilson interval at 95 %.
CREATE VIEW calibration_reliability AS
SELECT window_s, application, model, prompt_version, label_source, bin, cases, weight::float8 AS weight,
	confidence::float8 AS confidence, accuracy::float8 AS accuracy,
	greatest(0, (accuracy + z2 / (2 * n) - half) / (1 + z2 / n))::float8 AS low,
	least(1, (accuracy + z2 / (2 * n) + half) / (1 + z2 / n))::float8 AS high
FROM (
	SELECT *, 1.959963984540054 * sqrt(accuracy * (1 - accuracy) / n + z2 / (4 * n * n)) AS half
	FROM (
		SELECT window_s, application, model, prompt_version, label_source, bin, sum(cases) AS cases,
			sum(weight) AS weight, sum(weight_confidence) / sum(weight) AS confidence,
			sum(weight_correct) / sum(weight) AS accuracy,
			sum(weight) * sum(weight) / sum(weight_squared) AS n, 1.959963984540054 ^ 2 AS z2
		FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5, 6
	) AS bins
) AS intervals;

-- One row for each window, segment and label source. The band score is that of 20 cases and more.
CREATE VIEW calibration_summary AS
SELECT t.window_s, t.application, t.model, t.prompt_version, t.label_source, t.cases, t.weight::float8 AS weight,
	(t.weight_correct / t.weight)::float8 AS accuracy, (t.weight_confidence / t.weight)::float8 AS confidence,
	CASE WHEN t.cases >= 20 THEN greatest(0, 1 - 3 * g.error / t.weight)::float8 END AS band_score,
	(b.error / t.weight)::float8 AS ece, b.maximum::float8 AS mce,
	(t.weight_squared_error / t.weight)::float8 AS brier
FROM (
	SELECT window_s, application, model, prompt_version, label_source, sum(cases) AS cases, sum(weight) AS weight,
		sum(weight_correct) AS weight_correct, sum(weight_confidence) AS weight_confidence,
		sum(weight_squared_error) AS weight_squared_error
	FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5
) AS t
JOIN (
	SELECT window_s, application, model, prompt_version, label_source, sum(error) AS error, max(error / weight) AS maximum
	FROM (
		SELECT window_s, application, model, prompt_version, label_source, bin, sum(weight) AS weight,
			abs(sum(weight_correct) - sum(weight_confidence)) AS error
		FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5, 6
	) AS bins GROUP BY 1, 2, 3, 4, 5
) AS b USING (window_s, application, model, prompt_version, label_source)
JOIN (
	SELECT window_s, application, model, prompt_version, label_source, sum(error) AS error
	FROM (
		SELECT window_s, application, model, prompt_version, label_source, level,
			abs(sum(weight_correct) - sum(weight) * CASE level WHEN 'HIGH_CONFIDENCE' THEN 0.95
				WHEN 'MEDIUM_CONFIDENCE' THEN 0.75 WHEN 'LOW_CONFIDENCE' THEN 0.45 ELSE 0.25 END) AS error
		FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5, 6
	) AS groups GROUP BY 1, 2, 3, 4, 5
) AS g USING (window_s, application, model, prompt_version, label_source)
WHERE t.weight > 0;

-- A time series.
CREATE VIEW calibration_hours AS
SELECT bucket_start AS hour, application, model, prompt_version, label_source, sum(cases) AS cases,
	(sum(weight_correct) / nullif(sum(weight), 0))::float8 AS accuracy,
	(sum(weight_confidence) / nullif(sum(weight), 0))::float8 AS confidence,
	(sum(weight_squared_error) / nullif(sum(weight), 0))::float8 AS brier
FROM calibration_buckets WHERE width_s = 3600 GROUP BY 1, 2, 3, 4, 5;

COMMENT ON VIEW calibration_summary IS 'calibration of the last hour, day and week by segment and label source';
COMMENT ON VIEW calibration_reliability IS 'accuracy by tenths of the confidence, for reliability diagrams';
COMMENT ON VIEW calibration_hours IS 'calibration by the hour';

-- migration 5: hours and days in tables of their own

-- Sums of the hours and of whole days (UTC), each width dense in a table of its own: a report over months reads few
-- pages. Days are the sums of their hours at any moment, since the statements that add to the one add to the other.
CREATE TABLE calibration_rollups (LIKE calibration_buckets INCLUDING ALL) PARTITION BY LIST (width_s);
CREATE TABLE calibration_rollup_hours PARTITION OF calibration_rollups FOR VALUES IN (3600) WITH (fillfactor = 70);
CREATE TABLE calibration_rollup_days PARTITION OF calibration_rollups FOR VALUES IN (86400) WITH (fillfactor = 70);

-- Hours that were counted here before move there bit by bit (daemon/calibration/store/rollup.h). No others come: a program
-- that would count without days fails, and counts nothing.
ALTER TABLE calibration_buckets ADD CONSTRAINT calibration_buckets_fine CHECK (width_s < 3600) NOT VALID;
ALTER TABLE calibration_buckets SET (autovacuum_vacuum_scale_factor = 0.02);

-- All widths. What is counted in a bucket is the sum of its rows here: there are two while hours are being moved.
CREATE VIEW calibration_sums AS
SELECT width_s, bucket_start, application, model, prompt_version, label_source, level, bin, cases, weight, weight_squared,
	weight_correct, weight_confidence, weight_squared_error
FROM calibration_buckets
UNION ALL
SELECT width_s, bucket_start, application, model, prompt_version, label_source, level, bin, cases, weight, weight_squared,
	weight_correct, weight_confidence, weight_squared_error
FROM calibration_rollups
UNION ALL
SELECT 86400, date_trunc('day', bucket_start, 'UTC'), application, model, prompt_version, label_source, level, bin, cases,
	weight, weight_squared, weight_correct, weight_confidence, weight_squared_error
FROM calibration_buckets WHERE width_s = 3600;

-- The former views, of hours from wherever they are; who was granted something keeps it.
CREATE OR REPLACE VIEW calibration_window_cells AS
SELECT w.window_s, b.application, b.model, b.prompt_version, b.label_source, b.level, b.bin, sum(b.cases) AS cases,
	sum(b.weight) AS weight, sum(b.weight_squared) AS weight_squared, sum(b.weight_correct) AS weight_correct,
	sum(b.weight_confidence) AS weight_confidence, sum(b.weight_squared_error) AS weight_squared_error
FROM (VALUES (3600), (86400), (604800)) AS w (window_s)
JOIN calibration_sums b ON b.width_s = 3600 AND b.bucket_start <= now()
	AND b.bucket_start >= date_trunc('hour', now() - w.window_s * interval '1 second', 'UTC')
GROUP BY 1, 2, 3, 4, 5, 6, 7;

CREATE OR REPLACE VIEW calibration_hours AS
SELECT bucket_start AS hour, application, model, prompt_version, label_source, sum(cases) AS cases,
	(sum(weight_correct) / nullif(sum(weight), 0))::float8 AS accuracy,
	(sum(weight_confidence) / nullif(sum(weight), 0))::float8 AS confidence,
	(sum(weight_squared_error) / nullif(sum(weight), 0))::float8 AS brier
FROM calibration_sums WHERE width_s = 3600 GROUP BY 1, 2, 3, 4, 5;

CREATE VIEW calibration_days AS
SELECT bucket_start AS day, application, model, prompt_version, label_source, sum(cases) AS cases,
	(sum(weight_correct) / nullif(sum(weight), 0))::float8 AS accuracy,
	(sum(weight_confidence) / nullif(sum(weight), 0))::float8 AS confidence,
	(sum(weight_squared_error) / nullif(sum(weight), 0))::float8 AS brier
FROM calibration_sums WHERE width_s = 86400 GROUP BY 1, 2, 3, 4, 5;

-- Whoever may use the buckets may use what became of a part of them.
DO $$
DECLARE
	granted record;
BEGIN
	FOR granted IN
		SELECT a.grantee, string_agg(a.privilege_type, ', ') AS privileges
		FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		WHERE c.oid = 'calibration_buckets'::regclass AND a.grantee <> c.relowner GROUP BY 1
	LOOP
		EXECUTE format('GRANT %s ON calibration_rollups, calibration_sums TO %s', granted.privileges,
			CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END);
	END LOOP;
END $$;

COMMENT ON TABLE calibration_rollups IS 'the same sums by hours and by days';
COMMENT ON VIEW calibration_sums IS 'sums of all widths, wherever they are';
COMMENT ON VIEW calibration_days IS 'calibration by the day';

-- migration 6: days of all segments together

-- The days of calibration_rollups summed over the segments: a report on everything reads as many rows however many segments
-- there are. Whatever changes a day changes its total in the same statement, whichever program it comes from.
CREATE TABLE calibration_totals (
	bucket_start timestamptz NOT NULL,
	label_source text COLLATE "C" NOT NULL,
	level text COLLATE "C" NOT NULL,
	bin smallint NOT NULL,
	cases bigint NOT NULL,
	weight numeric NOT NULL,
	weight_squared numeric NOT NULL,
	weight_correct numeric NOT NULL,
	weight_confidence numeric NOT NULL,
	weight_squared_error numeric NOT NULL,
	PRIMARY KEY (bucket_start, label_source, level, bin)
) WITH (fillfactor = 70);

CREATE FUNCTION calibration_add_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO calibration_totals AS t
	SELECT bucket_start, label_source, level, bin, sum(cases), sum(weight), sum(weight_squared), sum(weight_correct),
		sum(weight_confidence), sum(weight_squared_error)
	FROM added WHERE width_s = 86400 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
	ON CONFLICT (bucket_start, label_source, level, bin) DO UPDATE SET cases = t.cases + excluded.cases,
		weight = t.weight + excluded.weight, weight_squared = t.weight_squared + excluded.weight_squared,
		weight_correct = t.weight_correct + excluded.weight_correct,
		weight_confidence = t.weight_confidence + excluded.weight_confidence,
		weight_squared_error = t.weight_squared_error + excluded.weight_squared_error;
	RETURN NULL;
END $$;

-- A change takes the former row from its total and adds the new one.
CREATE FUNCTION calibration_change_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO calibration_totals AS t
	SELECT bucket_start, label_source, level, bin, sum(s * cases), sum(s * weight), sum(s * weight_squared),
		sum(s * weight_correct), sum(s * weight_confidence), sum(s * weight_squared_error)
	FROM (SELECT 1 AS s, * FROM added UNION ALL SELECT -1, * FROM removed) AS changed
	WHERE width_s = 86400 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
	ON CONFLICT (bucket_start, label_source, level, bin) DO UPDATE SET cases = t.cases + excluded.cases,
		weight = t.weight + excluded.weight, weight_squared = t.weight_squared + excluded.weight_squared,
		weight_correct = t.weight_correct + excluded.weight_correct,
		weight_confidence = t.weight_confidence + excluded.weight_confidence,
		weight_squared_error = t.weight_squared_error + excluded.weight_squared_error;
	RETURN NULL;
END $$;

-- Days go when they are too old: totals that nothing is left of go with them.
CREATE FUNCTION calibration_remove_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO calibration_totals AS t
	SELECT bucket_start, label_source, level, bin, -sum(cases), -sum(weight), -sum(weight_squared), -sum(weight_correct),
		-sum(weight_confidence), -sum(weight_squared_error)
	FROM removed WHERE width_s = 86400 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
	ON CONFLICT (bucket_start, label_source, level, bin) DO UPDATE SET cases = t.cases + excluded.cases,
		weight = t.weight + excluded.weight, weight_squared = t.weight_squared + excluded.weight_squared,
		weight_correct = t.weight_correct + excluded.weight_correct,
		weight_confidence = t.weight_confidence + excluded.weight_confidence,
		weight_squared_error = t.weight_squared_error + excluded.weight_squared_error;
	DELETE FROM calibration_totals WHERE cases = 0 AND weight = 0
		AND (bucket_start, label_source, level, bin) IN
			(SELECT bucket_start, label_source, level, bin FROM removed WHERE width_s = 86400);
	RETURN NULL;
END $$;

-- From here on nobody counts until this is committed: what is summed below is what the triggers go on from.
CREATE TRIGGER calibration_totals_added AFTER INSERT ON calibration_rollups
	REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION calibration_add_totals();
CREATE TRIGGER calibration_totals_changed AFTER UPDATE ON calibration_rollups
	REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION calibration_change_totals();
CREATE TRIGGER calibration_totals_removed AFTER DELETE ON calibration_rollups
	REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION calibration_remove_totals();

INSERT INTO calibration_totals
SELECT bucket_start, label_source, level, bin, sum(cases), sum(weight), sum(weight_squared), sum(weight_correct),
	sum(weight_confidence), sum(weight_squared_error)
FROM calibration_rollups WHERE width_s = 86400 GROUP BY 1, 2, 3, 4;

DO $$
DECLARE
	granted record;
BEGIN
	FOR granted IN
		SELECT a.grantee, string_agg(a.privilege_type, ', ') AS privileges
		FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		WHERE c.oid = 'calibration_rollups'::regclass AND a.grantee <> c.relowner GROUP BY 1
	LOOP
		EXECUTE format('GRANT %s ON calibration_totals TO %s', granted.privileges,
			CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END);
	END LOOP;
END $$;

-- An instance that is about to publish an episode's advisory keeps the others from doing so for a while.
ALTER TABLE calibration_drift_episodes ADD COLUMN claimed_until timestamptz;

-- The former view, without a largest error from bins of a few cases.
CREATE OR REPLACE VIEW calibration_summary AS
SELECT t.window_s, t.application, t.model, t.prompt_version, t.label_source, t.cases, t.weight::float8 AS weight,
	(t.weight_correct / t.weight)::float8 AS accuracy, (t.weight_confidence / t.weight)::float8 AS confidence,
	CASE WHEN t.cases >= 20 THEN greatest(0, 1 - 3 * g.error / t.weight)::float8 END AS band_score,
	(b.error / t.weight)::float8 AS ece, b.maximum::float8 AS mce,
	(t.weight_squared_error / t.weight)::float8 AS brier
FROM (
	SELECT window_s, application, model, prompt_version, label_source, sum(cases) AS cases, sum(weight) AS weight,
		sum(weight_correct) AS weight_correct, sum(weight_confidence) AS weight_confidence,
		sum(weight_squared_error) AS weight_squared_error
	FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5
) AS t
JOIN (
	SELECT window_s, application, model, prompt_version, label_source, sum(error) AS error,
		max(error / weight) FILTER (WHERE cases >= 20) AS maximum
	FROM (
		SELECT window_s, application, model, prompt_version, label_source, bin, sum(cases) AS cases, sum(weight) AS weight,
			abs(sum(weight_correct) - sum(weight_confidence)) AS error
		FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5, 6
	) AS bins GROUP BY 1, 2, 3, 4, 5
) AS b USING (window_s, application, model, prompt_version, label_source)
JOIN (
	SELECT window_s, application, model, prompt_version, label_source, sum(error) AS error
	FROM (
		SELECT window_s, application, model, prompt_version, label_source, level,
			abs(sum(weight_correct) - sum(weight) * CASE level WHEN 'HIGH_CONFIDENCE' THEN 0.95
				WHEN 'MEDIUM_CONFIDENCE' THEN 0.75 WHEN 'LOW_CONFIDENCE' THEN 0.45 ELSE 0.25 END) AS error
		FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5, 6
	) AS groups GROUP BY 1, 2, 3, 4, 5
) AS g USING (window_s, application, model, prompt_version, label_source)
WHERE t.weight > 0;

COMMENT ON TABLE calibration_totals IS 'the sums of days over all segments';
COMMENT ON COLUMN calibration_drift_episodes.claimed_until IS 'until when one instance publishes its advisory';

-- migration 7: one episode of drift at a time

-- A segment and label source had an open episode for each window; the one of the shortest stays. Programs before this one
-- count on, and judge no drift any more.
UPDATE calibration_drift_episodes e SET closed_at = e.judged_at WHERE e.closed_at IS NULL AND EXISTS (
	SELECT FROM calibration_drift_episodes o WHERE o.closed_at IS NULL
		AND (o.application, o.model, o.prompt_version, o.label_source) =
			(e.application, e.model, e.prompt_version, e.label_source)
		AND o.window_s < e.window_s);
DROP INDEX calibration_drift_open;
CREATE UNIQUE INDEX calibration_drift_open ON calibration_drift_episodes
	(application, model, prompt_version, label_source) WHERE closed_at IS NULL;

COMMENT ON COLUMN calibration_drift_episodes.window_s IS 'the shortest window that saw it when it was opened';

-- migration 8: drift as a sequence

-- Whether the outcomes of a segment and label source still are what its own past lets expect: the state of a sequential test
-- (daemon/calibration/statistics/source_sequence.h), which each labelled case changes in the transaction that counts it
-- (daemon/calibration/store/sequences.h). Arrays have one item a tenth of confidence; a sum is {value, cases, Σ (outcome −
-- forecast), time of its first case in ms since 1970}. All of it depends on the order of cases but `cases` and `oldest`.
CREATE TABLE calibration_sequences (
	application text COLLATE "C" NOT NULL,
	model text COLLATE "C" NOT NULL,
	prompt_version text COLLATE "C" NOT NULL,
	label_source text COLLATE "C" NOT NULL CHECK (label_source IN ('FEEDBACK', 'RESULT', 'CORRECTNESS', 'RELEVANCE')),
	began_at timestamptz NOT NULL DEFAULT now(),
	fed_at timestamptz NOT NULL DEFAULT now(),
	whole boolean NOT NULL DEFAULT false,
	cases bigint NOT NULL DEFAULT 0,
	oldest timestamptz NOT NULL DEFAULT 'infinity',
	past_cases bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0,0}',
	past_correct bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0,0}',
	lower_sum double precision[] NOT NULL DEFAULT '{0,0,0,0}',
	higher_sum double precision[] NOT NULL DEFAULT '{0,0,0,0}',
	changes bigint NOT NULL DEFAULT 0,
	reported bigint NOT NULL DEFAULT 0,
	open boolean NOT NULL DEFAULT false,
	direction text CHECK (direction IN ('LOWER', 'HIGHER')),
	since timestamptz,
	stretch_cases bigint NOT NULL DEFAULT 0,
	stretch_residual double precision NOT NULL DEFAULT 0,
	return_sum double precision NOT NULL DEFAULT 0,
	since_cases bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0,0}',
	since_correct bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0,0}',
	PRIMARY KEY (application, model, prompt_version, label_source)
) WITH (fillfactor = 40);

-- Up to where cases were fed to the sequences, and since when without a gap: a program before this one counts and feeds
-- nothing, and leaves fed_until behind.
ALTER TABLE calibration_positions ADD COLUMN fed_until bigint, ADD COLUMN fed_since timestamptz;

-- An episode is opened by a band score, by a sequence, or by both. NULL: no window sees it; it has not changed.
ALTER TABLE calibration_drift_episodes
	ALTER COLUMN window_s DROP NOT NULL,
	ALTER COLUMN threshold DROP NOT NULL,
	ALTER COLUMN opening_score DROP NOT NULL,
	ALTER COLUMN opening_cases DROP NOT NULL,
	ALTER COLUMN score DROP NOT NULL,
	ALTER COLUMN cases DROP NOT NULL,
	ADD COLUMN direction text CHECK (direction IN ('LOWER', 'HIGHER')),
	ADD COLUMN size double precision,
	ADD COLUMN since timestamptz;

DO $$
DECLARE
	granted record;
BEGIN
	FOR granted IN
		SELECT a.grantee, string_agg(a.privilege_type, ', ') AS privileges
		FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		WHERE c.oid = 'calibration_rollups'::regclass AND a.grantee <> c.relowner GROUP BY 1
	LOOP
		EXECUTE format('GRANT %s ON calibration_sequences TO %s', granted.privileges,
			CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END);
	END LOOP;
END $$;

COMMENT ON TABLE calibration_sequences IS 'sequential tests of whether outcomes have changed, one for each segment and label source';
COMMENT ON COLUMN calibration_sequences.cases IS 'cases that were fed; the oldest of them was scored at "oldest"';
COMMENT ON COLUMN calibration_sequences.whole IS 'all cases that were counted were fed, when the row was made';
COMMENT ON COLUMN calibration_sequences.changes IS 'changes that were found; "reported" of them have had an episode';
COMMENT ON COLUMN calibration_sequences.since IS 'when the open change began, or the last one';
COMMENT ON COLUMN calibration_positions.fed_since IS 'since when all that is counted is fed to the sequences';
COMMENT ON COLUMN calibration_drift_episodes.direction IS 'outcomes are right less (LOWER) or more often than the past lets expect; NULL: no change is known';
COMMENT ON COLUMN calibration_drift_episodes.size IS 'by how much: share right minus share expected, since the change';

-- migration 9: what a learnt probability is fitted from, and what was fitted

-- Features of remembered events by name, those that are not 0; NULL: the record had none.
ALTER TABLE calibration_events ADD COLUMN features jsonb;
CREATE INDEX calibration_events_judged ON calibration_events (event_key) WHERE correct IS NOT NULL;

-- Cases with a label from the event itself, with what was known of them before: of each day (UTC), application and label
-- source those with the lowest digests of their event_id. So it does not matter in which order they come, and a recount
-- finds the same. Labels by feedback are in calibration_events.
CREATE TABLE calibration_examples (
	day date NOT NULL,
	application text COLLATE "C" NOT NULL,
	label_source text COLLATE "C" NOT NULL CHECK (label_source IN ('RESULT')),
	event_key uuid NOT NULL,
	partition integer NOT NULL,
	record_offset bigint NOT NULL,
	scored_at timestamptz NOT NULL,
	model text COLLATE "C" NOT NULL,
	prompt_version text COLLATE "C" NOT NULL,
	overall double precision NOT NULL,
	weight double precision NOT NULL,
	correct boolean NOT NULL,
	features jsonb,
	PRIMARY KEY (day, application, label_source, event_key, partition, record_offset)
);

-- Numbered and never changed, but for which one replaced them. Whoever fits holds an advisory lock.
CREATE TABLE calibration_models (
	version bigint PRIMARY KEY,
	kind text COLLATE "C" NOT NULL,
	document text COLLATE "C" NOT NULL,
	trained_from timestamptz NOT NULL,
	trained_to timestamptz NOT NULL,
	labels bigint NOT NULL,
	later_cases bigint NOT NULL,
	log_loss double precision NOT NULL,
	auroc double precision NOT NULL,
	ece double precision NOT NULL,
	proven boolean NOT NULL,
	used_from timestamptz NOT NULL DEFAULT now(),
	replaced_by bigint REFERENCES calibration_models
);
CREATE UNIQUE INDEX calibration_models_used ON calibration_models (kind) WHERE replaced_by IS NULL;

DO $$
DECLARE
	granted record;
BEGIN
	FOR granted IN
		SELECT a.grantee, string_agg(a.privilege_type, ', ') AS privileges
		FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		WHERE c.oid = 'calibration_rollups'::regclass AND a.grantee <> c.relowner GROUP BY 1
	LOOP
		EXECUTE format('GRANT %s ON calibration_examples, calibration_models TO %s', granted.privileges,
			CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END);
	END LOOP;
END $$;

COMMENT ON COLUMN calibration_events.features IS 'what was known of it besides its confidence, by name; 0 is left out';
COMMENT ON TABLE calibration_examples IS 'a sample of labelled cases with their features, to learn from';
COMMENT ON TABLE calibration_models IS 'learnt probabilities, one row each; replaced_by is NULL where one is in use';
COMMENT ON COLUMN calibration_models.log_loss IS 'as auroc and ece: of later_cases cases that were scored after trained_to';

-- migration 10: a model that is taken out of the table gives its place back

-- Deleting the row in use puts the one that it replaced in use again: the remedy where its document cannot be read.
ALTER TABLE calibration_models DROP CONSTRAINT calibration_models_replaced_by_fkey;
ALTER TABLE calibration_models ADD FOREIGN KEY (replaced_by) REFERENCES calibration_models ON DELETE SET NULL;

-- migration 11: numbers of models are never used again

-- Records name them. A column of identity takes no further right of who may add a row.
ALTER TABLE calibration_models ALTER COLUMN version ADD GENERATED BY DEFAULT AS IDENTITY;
SELECT setval(pg_get_serial_sequence('calibration_models', 'version'), coalesce(max(version), 0) + 1, false)
FROM calibration_models;

-- migration 12: probabilities as they were published, and what figures are worth

-- Of the case's record; NULL: it had none.
ALTER TABLE calibration_events ADD COLUMN probability double precision;
ALTER TABLE calibration_examples ADD COLUMN probability double precision;

-- How well confidence tells right from wrong, by its tenths: cases of one tenth count as equal. auroc: how often a correct
-- case has the higher confidence of one correct and one wrong case, half of it where they are equal. aurc: the mean share of
-- wrong cases among the most confident ones, over all shares of the cases that these may be.
CREATE VIEW calibration_discrimination AS
SELECT window_s, application, model, prompt_version, label_source, sum(cases) AS cases,
	(sum(correct * (wrong_below + wrong / 2)) / nullif(sum(correct) * sum(wrong), 0))::float8 AS auroc,
	greatest(0, sum(area) / sum(weight)::float8) AS aurc
FROM (
	SELECT *, CASE WHEN weight_above > 0 THEN (wrong / weight * weight)::float8
			+ (wrong_above - wrong / weight * weight_above)::float8 * ln(1 + (weight / weight_above)::float8)
		ELSE wrong::float8 END AS area
	FROM (
		SELECT *, coalesce(sum(wrong) OVER below, 0) AS wrong_below, coalesce(sum(wrong) OVER above, 0) AS wrong_above,
			coalesce(sum(weight) OVER above, 0) AS weight_above
		FROM (
			SELECT window_s, application, model, prompt_version, label_source, bin, sum(cases) AS cases, sum(weight) AS weight,
				sum(weight_correct) AS correct, sum(weight) - sum(weight_correct) AS wrong
			FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5, 6
		) AS bins
		WINDOW segment AS (PARTITION BY window_s, application, model, prompt_version, label_source ORDER BY bin),
			below AS (segment ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
			above AS (segment ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
	) AS summed
) AS areas WHERE weight > 0 GROUP BY 1, 2, 3, 4, 5;

-- Of the cases whose confidence is at or above a tenth: which share of all they are, and which share of them is right, with
-- the Wilson interval at 95 %.
CREATE VIEW calibration_coverage AS
SELECT window_s, application, model, prompt_version, label_source, bin / 10.0::float8 AS threshold, cases,
	coverage::float8 AS coverage, accuracy::float8 AS accuracy,
	greatest(0, (accuracy + z2 / (2 * n) - half) / (1 + z2 / n))::float8 AS low,
	least(1, (accuracy + z2 / (2 * n) + half) / (1 + z2 / n))::float8 AS high
FROM (
	SELECT *, 1.959963984540054 * sqrt(accuracy * (1 - accuracy) / n + z2 / (4 * n * n)) AS half
	FROM (
		SELECT window_s, application, model, prompt_version, label_source, bin, sum(cases) OVER above AS cases,
			sum(weight) OVER above / sum(weight) OVER everything AS coverage,
			sum(weight_correct) OVER above / sum(weight) OVER above AS accuracy,
			(sum(weight) OVER above) * (sum(weight) OVER above) / sum(weight_squared) OVER above AS n,
			1.959963984540054 ^ 2 AS z2
		FROM (
			SELECT window_s, application, model, prompt_version, label_source, bin, sum(cases) AS cases, sum(weight) AS weight,
				sum(weight_squared) AS weight_squared, sum(weight_correct) AS weight_correct
			FROM calibration_window_cells GROUP BY 1, 2, 3, 4, 5, 6
		) AS bins
		WINDOW everything AS (PARTITION BY window_s, application, model, prompt_version, label_source),
			above AS (everything ORDER BY bin DESC ROWS UNBOUNDED PRECEDING)
	) AS summed
) AS intervals;

-- Tenths of the probability as it was published: what was claimed and what was right, with the Wilson interval at 95 %. Of
-- the labelled cases that are kept singly: all feedback within its horizon, and a sample of results.
CREATE VIEW calibration_probability AS
SELECT window_s, application, model, prompt_version, label_source, bin, cases, weight, probability, accuracy,
	greatest(0, (accuracy + z2 / (2 * n) - half) / (1 + z2 / n)) AS low,
	least(1, (accuracy + z2 / (2 * n) + half) / (1 + z2 / n)) AS high
FROM (
	SELECT *, 1.959963984540054 * sqrt(accuracy * (1 - accuracy) / n + z2 / (4 * n * n)) AS half
	FROM (
		SELECT w.window_s, c.application, c.model, c.prompt_version, c.label_source,
			least(floor(c.probability * 10), 9)::smallint AS bin, count(*) AS cases, sum(c.weight) AS weight,
			sum(c.weight * c.probability) / sum(c.weight) AS probability,
			sum(c.weight * c.correct::integer) / sum(c.weight) AS accuracy,
			sum(c.weight) * sum(c.weight) / sum(c.weight * c.weight) AS n, 1.959963984540054::float8 ^ 2 AS z2
		FROM (VALUES (3600), (86400), (604800)) AS w (window_s)
		JOIN (
			SELECT application, model, prompt_version, label_source, scored_at, probability, weight, correct
			FROM calibration_examples
			WHERE day >= (now() AT TIME ZONE 'UTC')::date - 7
			UNION ALL
			SELECT application, model, prompt_version, 'FEEDBACK', scored_at, probability, 1, correct
			FROM calibration_events WHERE correct IS NOT NULL
		) AS c ON c.probability IS NOT NULL AND c.scored_at <= now() AND c.scored_at >= now() - w.window_s * interval '1 second'
		GROUP BY 1, 2, 3, 4, 5, 6
	) AS bins
) AS intervals;

-- Versions of the learnt probability, and when each was in use.
CREATE VIEW calibration_model_history AS
SELECT m.version, m.kind, m.replaced_by IS NULL AS in_use, m.used_from, r.used_from AS used_until, m.trained_from,
	m.trained_to, m.labels, m.later_cases, m.log_loss, m.auroc, m.ece, m.proven
FROM calibration_models m LEFT JOIN calibration_models r ON r.version = m.replaced_by;

-- Whoever reads the former views for dashboards reads these.
DO $$
DECLARE
	granted record;
BEGIN
	FOR granted IN
		SELECT a.grantee FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		WHERE c.oid = 'calibration_summary'::regclass AND a.grantee <> c.relowner AND a.privilege_type = 'SELECT' GROUP BY 1
	LOOP
		EXECUTE format('GRANT SELECT ON calibration_discrimination, calibration_coverage, calibration_probability, '
			'calibration_model_history TO %s', CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END);
	END LOOP;
END $$;

COMMENT ON COLUMN calibration_events.probability IS 'confidence.probability.value of its record';
COMMENT ON COLUMN calibration_examples.probability IS 'confidence.probability.value of its record';
COMMENT ON VIEW calibration_discrimination IS 'how well confidence tells right from wrong, by its tenths';
COMMENT ON VIEW calibration_coverage IS 'what is right at or above each tenth of the confidence, and how much of all that is';
COMMENT ON VIEW calibration_probability IS 'accuracy by tenths of the published probability';
COMMENT ON VIEW calibration_model_history IS 'versions of the learnt probability';

-- migration 13: from where on labelled cases are sampled

-- A recount draws the sample again from what was counted with it. A program that samples nothing leaves both NULL, one
-- before this migration leaves learnt_until behind.
ALTER TABLE calibration_positions ADD COLUMN learnt_from bigint, ADD COLUMN learnt_until bigint;

COMMENT ON COLUMN calibration_positions.learnt_from IS 'labelled cases from here to learnt_until are in calibration_examples, as far as there is room';

-- migration 14: looks at candidates for the place of a model

-- How often candidates of a kind were compared with what is in use, so that all comparisons together err as seldom as one
-- may (daemon/calibration/model/looks.h). "version" is the model that they were compared with, 0 a constant.
CREATE TABLE calibration_model_looks (
	kind text COLLATE "C" PRIMARY KEY,
	version bigint NOT NULL,
	looks bigint NOT NULL,
	labels bigint NOT NULL,
	until timestamptz NOT NULL,
	looked_at timestamptz NOT NULL DEFAULT now()
);

DO $$
DECLARE
	granted record;
BEGIN
	FOR granted IN
		SELECT a.grantee, string_agg(a.privilege_type, ', ') AS privileges
		FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		WHERE c.oid = 'calibration_rollups'::regclass AND a.grantee <> c.relowner GROUP BY 1
	LOOP
		EXECUTE format('GRANT %s ON calibration_model_looks TO %s', granted.privileges,
			CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END);
	END LOOP;
END $$;

COMMENT ON TABLE calibration_model_looks IS 'the last look at candidates for the place of a model, one row for each kind';
COMMENT ON COLUMN calibration_model_looks.until IS 'up to where labels were there: scored_at of 19 of 20 of those that it judged by';

-- migration 15: probabilities are weighed as reports weigh them, and models that cannot be read are told

-- Whoever has rights to a table has them to other ones that come with later migrations.
CREATE FUNCTION calibration_share_rights(of_table regclass, with_tables regclass[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	granted record;
	shared regclass;
BEGIN
	FOR granted IN
		SELECT a.grantee, string_agg(a.privilege_type, ', ') AS privileges
		FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		WHERE c.oid = of_table AND a.grantee <> c.relowner GROUP BY 1
	LOOP
		FOREACH shared IN ARRAY with_tables LOOP
			EXECUTE format('GRANT %s ON %s TO %s', granted.privileges, shared,
				CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END);
		END LOOP;
	END LOOP;
END $$;

-- The former view, where a result stands for those that were counted on its day of its application and are not in the
-- sample. "cases" are those of the sample, "weight" is what they stand for.
CREATE OR REPLACE VIEW calibration_probability AS
SELECT window_s, application, model, prompt_version, label_source, bin, cases, weight, probability, accuracy,
	greatest(0, (accuracy + z2 / (2 * n) - half) / (1 + z2 / n)) AS low,
	least(1, (accuracy + z2 / (2 * n) + half) / (1 + z2 / n)) AS high
FROM (
	SELECT *, 1.959963984540054 * sqrt(accuracy * (1 - accuracy) / n + z2 / (4 * n * n)) AS half
	FROM (
		SELECT w.window_s, c.application, c.model, c.prompt_version, c.label_source,
			least(floor(c.probability * 10), 9)::smallint AS bin, count(*) AS cases, sum(c.weight) AS weight,
			sum(c.weight * c.probability) / sum(c.weight) AS probability,
			sum(c.weight * c.correct::integer) / sum(c.weight) AS accuracy,
			sum(c.weight) * sum(c.weight) / sum(c.weight * c.weight) AS n, 1.959963984540054::float8 ^ 2 AS z2
		FROM (VALUES (3600), (86400), (604800)) AS w (window_s)
		JOIN (
			SELECT e.application, e.model, e.prompt_version, e.label_source, e.scored_at, e.probability,
				e.weight * greatest(1, coalesce(counted.cases::float8 / kept.cases, 1)) AS weight, e.correct
			FROM calibration_examples e
			JOIN (
				SELECT day, application, label_source, count(*) AS cases FROM calibration_examples
				WHERE day >= (now() AT TIME ZONE 'UTC')::date - 7 GROUP BY 1, 2, 3
			) AS kept USING (day, application, label_source)
			LEFT JOIN (
				SELECT (bucket_start AT TIME ZONE 'UTC')::date AS day, application, label_source, sum(cases) AS cases
				FROM calibration_rollups WHERE width_s = 86400
					AND bucket_start >= date_trunc('day', now() - interval '7 days', 'UTC') GROUP BY 1, 2, 3
			) AS counted USING (day, application, label_source)
			WHERE day >= (now() AT TIME ZONE 'UTC')::date - 7
			UNION ALL
			SELECT application, model, prompt_version, 'FEEDBACK', scored_at, probability, 1, correct
			FROM calibration_events WHERE correct IS NOT NULL
		) AS c ON c.probability IS NOT NULL AND c.scored_at <= now() AND c.scored_at >= now() - w.window_s * interval '1 second'
		GROUP BY 1, 2, 3, 4, 5, 6
	) AS bins
) AS intervals;

-- Noted by whoever looked at it last: its document is damaged, or of a newer program. The newest before it that can be read
-- is used then.
ALTER TABLE calibration_models ADD COLUMN unreadable boolean NOT NULL DEFAULT false;

CREATE OR REPLACE VIEW calibration_model_history AS
SELECT version, kind, in_use, used_from, CASE WHEN NOT in_use THEN replaced_from END AS used_until, trained_from, trained_to,
	labels, later_cases, log_loss, auroc, ece, proven, unreadable
FROM (
	SELECT m.*, r.used_from AS replaced_from, NOT m.unreadable AND m.version = first_value(m.version) OVER (
		PARTITION BY m.kind ORDER BY m.unreadable, m.replaced_by IS NOT NULL, m.version DESC) AS in_use
	FROM calibration_models m LEFT JOIN calibration_models r ON r.version = m.replaced_by
) AS models;

COMMENT ON COLUMN calibration_models.unreadable IS 'its document cannot be read, and an older model is used';

-- migration 16: drift of what is claimed

-- Probabilities that records published, with the outcomes that their labels (RESULT) told: of each segment the latest, by
-- time, partition and offset (daemon/calibration/store/claims.h). So it does not matter in which order they come, and a
-- recount finds the same. Those of feedback are in calibration_events.
CREATE TABLE calibration_claims (
	application text COLLATE "C" NOT NULL,
	model text COLLATE "C" NOT NULL,
	prompt_version text COLLATE "C" NOT NULL,
	label_source text COLLATE "C" NOT NULL CHECK (label_source IN ('RESULT')),
	scored_at timestamptz NOT NULL,
	partition integer NOT NULL,
	record_offset bigint NOT NULL,
	probability double precision NOT NULL,
	correct boolean NOT NULL,
	PRIMARY KEY (application, model, prompt_version, label_source, scored_at, partition, record_offset)
);

-- Days that are there already may be large, and have no such index: their events are no claims.
CREATE INDEX calibration_events_claims ON ONLY calibration_events
	(application, model, prompt_version, scored_at, partition, record_offset)
	WHERE correct IS NOT NULL AND probability IS NOT NULL;
DO $$
BEGIN
	EXECUTE format('CREATE FUNCTION calibration_claims_since() RETURNS timestamptz LANGUAGE sql IMMUTABLE AS %L', (
		SELECT format('SELECT timestamptz %L',
			coalesce(max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']+)''\)')::timestamptz), '-infinity'))
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'calibration_events'::regclass));
END $$;

-- Where the test of claims stands: what was decided last, and behind which case {ms since 1970, partition, offset} it goes on.
-- All else follows from the claims.
ALTER TABLE calibration_sequences
	ADD COLUMN claims_open boolean NOT NULL DEFAULT false,
	ADD COLUMN claims_direction text CHECK (claims_direction IN ('LOWER', 'HIGHER')),
	ADD COLUMN claims_since timestamptz,
	ADD COLUMN claims_after bigint[] NOT NULL DEFAULT '{-1,0,0}';

-- Claims of records from here to claims_until are in calibration_claims, as far as there is room. A program that is older than
-- this table leaves claims_until behind.
ALTER TABLE calibration_positions ADD COLUMN claims_from bigint, ADD COLUMN claims_until bigint;

ALTER TABLE calibration_drift_episodes ADD COLUMN expected_by text CHECK (expected_by IN ('PAST', 'PROBABILITY'));
UPDATE calibration_drift_episodes SET expected_by = 'PAST' WHERE direction IS NOT NULL;

SELECT calibration_share_rights('calibration_rollups', '{calibration_claims}');

COMMENT ON FUNCTION calibration_claims_since IS 'events from here on are claims when they have feedback';
COMMENT ON TABLE calibration_claims IS 'the latest published probabilities with their outcomes, for each segment';
COMMENT ON COLUMN calibration_sequences.claims_since IS 'when the open change of outcomes against probabilities began, or the last one';
COMMENT ON COLUMN calibration_drift_episodes.expected_by IS 'what the outcomes differ from: the past of the source, or the probabilities that records had';

-- migration 17: judgements of models by labels that come later

-- A model is judged when it comes into use, and again as labels come; rows are only added. A record names the judgement
-- that said whether its level may follow the probability. looks: judgements so far that could have proven it.
CREATE TABLE calibration_model_judgements (
	judgement bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	version bigint NOT NULL REFERENCES calibration_models ON DELETE CASCADE,
	judged_at timestamptz NOT NULL DEFAULT now(),
	looks bigint NOT NULL,
	cases bigint NOT NULL,
	until timestamptz NOT NULL,
	proven boolean NOT NULL,
	log_loss double precision NOT NULL,
	log_loss_constant double precision NOT NULL,
	auroc double precision NOT NULL,
	auroc_low double precision NOT NULL,
	auroc_high double precision NOT NULL,
	auroc_overall double precision NOT NULL,
	ece double precision NOT NULL,
	ece_low double precision NOT NULL,
	ece_deviation double precision NOT NULL
);
CREATE INDEX calibration_model_judgements_version ON calibration_model_judgements (version, judgement);

-- Figures are of the last judgement.
CREATE OR REPLACE VIEW calibration_model_history AS
SELECT version, kind, in_use, used_from, CASE WHEN NOT in_use THEN replaced_from END AS used_until, trained_from, trained_to,
	labels, later_cases, log_loss, auroc, ece, proven, unreadable, judgement, judged_at
FROM (
	SELECT m.version, m.kind, m.used_from, m.trained_from, m.trained_to, m.labels, m.unreadable, r.used_from AS replaced_from,
		coalesce(j.cases, m.later_cases) AS later_cases, coalesce(j.log_loss, m.log_loss) AS log_loss,
		coalesce(j.auroc, m.auroc) AS auroc, coalesce(j.ece, m.ece) AS ece, coalesce(j.proven, m.proven) AS proven,
		j.judgement, j.judged_at, NOT m.unreadable AND m.version = first_value(m.version) OVER (
			PARTITION BY m.kind ORDER BY m.unreadable, m.replaced_by IS NOT NULL, m.version DESC) AS in_use
	FROM calibration_models m LEFT JOIN calibration_models r ON r.version = m.replaced_by
	LEFT JOIN LATERAL (
		SELECT * FROM calibration_model_judgements WHERE version = m.version ORDER BY judgement DESC LIMIT 1
	) AS j ON true
) AS models;

SELECT calibration_share_rights('calibration_rollups', ARRAY['calibration_model_judgements']::regclass[]);

COMMENT ON TABLE calibration_model_judgements IS 'what labels of later events say of a model; the last one counts';
COMMENT ON COLUMN calibration_model_judgements.until IS 'up to where labels were there: scored_at of 19 of 20 of those that it judged by';
COMMENT ON COLUMN calibration_model_judgements.ece_deviation IS 'standard error of ece';
COMMENT ON COLUMN calibration_models.proven IS 'when it came into use; calibration_model_judgements has what was found later';

-- migration 18: how far confidence and outcomes were apart when an episode was opened

-- Over the window, and in the group (by level) that differs most surely. Null where no window saw the drift then, and in
-- episodes of programs before this migration.
ALTER TABLE calibration_drift_episodes
	ADD COLUMN opening_confidence double precision,
	ADD COLUMN opening_accuracy double precision,
	ADD COLUMN opening_group text CHECK (opening_group IN ('VERY_LOW_CONFIDENCE', 'LOW_CONFIDENCE', 'MEDIUM_CONFIDENCE', 'HIGH_CONFIDENCE')),
	ADD COLUMN opening_group_cases bigint,
	ADD COLUMN opening_group_confidence double precision,
	ADD COLUMN opening_group_accuracy double precision;

COMMENT ON COLUMN calibration_drift_episodes.opening_confidence IS 'mean confidence over the window at opened_at';
COMMENT ON COLUMN calibration_drift_episodes.opening_accuracy IS 'share that was right over the window at opened_at';
COMMENT ON COLUMN calibration_drift_episodes.opening_group IS 'the level whose share differs from its confidence most surely';

-- migration 19: hours of all segments together

-- The hours of calibration_rollups summed over the segments, as calibration_totals has the days: a report on everything over
-- a week reads as many rows however many segments there are. Hours from calibration_hour_totals_since() on are here, so that
-- of a large table only the last ones have to be summed now.
CREATE TABLE calibration_hour_totals (LIKE calibration_totals INCLUDING ALL) WITH (fillfactor = 70);

DO $$
BEGIN
	EXECUTE format('CREATE FUNCTION calibration_hour_totals_since() RETURNS timestamptz LANGUAGE sql IMMUTABLE AS %L',
		format('SELECT timestamptz %L', (
			SELECT CASE WHEN first < least(last, now()) - interval '30 days'
				THEN date_trunc('day', least(last, now()), 'UTC') - interval '14 days' ELSE '-infinity' END
			FROM (SELECT min(bucket_start) AS first, max(bucket_start) AS last FROM calibration_rollups
				WHERE width_s = 3600) AS hours)));
END $$;

CREATE FUNCTION calibration_add_hour_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO calibration_hour_totals AS t
	SELECT bucket_start, label_source, level, bin, sum(cases), sum(weight), sum(weight_squared), sum(weight_correct),
		sum(weight_confidence), sum(weight_squared_error)
	FROM added WHERE width_s = 3600 AND bucket_start >= calibration_hour_totals_since() GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
	ON CONFLICT (bucket_start, label_source, level, bin) DO UPDATE SET cases = t.cases + excluded.cases,
		weight = t.weight + excluded.weight, weight_squared = t.weight_squared + excluded.weight_squared,
		weight_correct = t.weight_correct + excluded.weight_correct,
		weight_confidence = t.weight_confidence + excluded.weight_confidence,
		weight_squared_error = t.weight_squared_error + excluded.weight_squared_error;
	RETURN NULL;
END $$;

CREATE FUNCTION calibration_change_hour_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO calibration_hour_totals AS t
	SELECT bucket_start, label_source, level, bin, sum(s * cases), sum(s * weight), sum(s * weight_squared),
		sum(s * weight_correct), sum(s * weight_confidence), sum(s * weight_squared_error)
	FROM (SELECT 1 AS s, * FROM added UNION ALL SELECT -1, * FROM removed) AS changed
	WHERE width_s = 3600 AND bucket_start >= calibration_hour_totals_since() GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
	ON CONFLICT (bucket_start, label_source, level, bin) DO UPDATE SET cases = t.cases + excluded.cases,
		weight = t.weight + excluded.weight, weight_squared = t.weight_squared + excluded.weight_squared,
		weight_correct = t.weight_correct + excluded.weight_correct,
		weight_confidence = t.weight_confidence + excluded.weight_confidence,
		weight_squared_error = t.weight_squared_error + excluded.weight_squared_error;
	RETURN NULL;
END $$;

CREATE FUNCTION calibration_remove_hour_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO calibration_hour_totals AS t
	SELECT bucket_start, label_source, level, bin, -sum(cases), -sum(weight), -sum(weight_squared), -sum(weight_correct),
		-sum(weight_confidence), -sum(weight_squared_error)
	FROM removed WHERE width_s = 3600 AND bucket_start >= calibration_hour_totals_since() GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
	ON CONFLICT (bucket_start, label_source, level, bin) DO UPDATE SET cases = t.cases + excluded.cases,
		weight = t.weight + excluded.weight, weight_squared = t.weight_squared + excluded.weight_squared,
		weight_correct = t.weight_correct + excluded.weight_correct,
		weight_confidence = t.weight_confidence + excluded.weight_confidence,
		weight_squared_error = t.weight_squared_error + excluded.weight_squared_error;
	DELETE FROM calibration_hour_totals WHERE cases = 0 AND weight = 0
		AND (bucket_start, label_source, level, bin) IN
			(SELECT bucket_start, label_source, level, bin FROM removed WHERE width_s = 3600);
	RETURN NULL;
END $$;

-- From here on nobody counts until this is committed.
CREATE TRIGGER calibration_hour_totals_added AFTER INSERT ON calibration_rollups
	REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION calibration_add_hour_totals();
CREATE TRIGGER calibration_hour_totals_changed AFTER UPDATE ON calibration_rollups
	REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION calibration_change_hour_totals();
CREATE TRIGGER calibration_hour_totals_removed AFTER DELETE ON calibration_rollups
	REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION calibration_remove_hour_totals();

INSERT INTO calibration_hour_totals
SELECT bucket_start, label_source, level, bin, sum(cases), sum(weight), sum(weight_squared), sum(weight_correct),
	sum(weight_confidence), sum(weight_squared_error)
FROM calibration_rollups WHERE width_s = 3600 AND bucket_start >= calibration_hour_totals_since() GROUP BY 1, 2, 3, 4;

-- Of one application, days over a year are read without those of the others.
CREATE INDEX calibration_rollup_days_application ON calibration_rollup_days (application, bucket_start);

SELECT calibration_share_rights('calibration_rollups', '{calibration_hour_totals}');

COMMENT ON TABLE calibration_hour_totals IS 'the sums of hours over all segments, from calibration_hour_totals_since() on';
COMMENT ON FUNCTION calibration_hour_totals_since IS 'hours from here on are in calibration_hour_totals';

-- migration 20: which documents come with wrong answers

-- What the retrieval of an example brought: the names of its documents, each once, as a JSON array. NULL: a program before
-- this migration sampled it.
ALTER TABLE calibration_examples ADD COLUMN documents jsonb;

-- Documents by how many of the answers whose retrieval brought them are right, and how many of the application's others are.
-- Of the sample of results: a case stands for those that were counted on its day and are not in the sample. "cases" and
-- "correct" are those of the sample; accuracies are weighted, with the Wilson interval at 95 %.
CREATE VIEW calibration_documents AS
WITH sampled AS (
	SELECT w.window_s, e.application, e.correct::integer AS correct, e.documents,
		e.weight * greatest(1, coalesce(counted.cases::float8 / kept.cases, 1)) AS weight
	FROM (VALUES (86400), (604800)) AS w (window_s)
	JOIN calibration_examples e ON e.documents IS NOT NULL AND e.day >= (now() AT TIME ZONE 'UTC')::date - 7
		AND e.scored_at <= now() AND e.scored_at >= now() - w.window_s * interval '1 second'
	JOIN (
		SELECT day, application, count(*) AS cases FROM calibration_examples
		WHERE day >= (now() AT TIME ZONE 'UTC')::date - 7 GROUP BY 1, 2
	) AS kept ON kept.day = e.day AND kept.application = e.application
	LEFT JOIN (
		SELECT (bucket_start AT TIME ZONE 'UTC')::date AS day, application, sum(cases) AS cases
		FROM calibration_rollups WHERE width_s = 86400 AND label_source = 'RESULT'
			AND bucket_start >= date_trunc('day', now() - interval '7 days', 'UTC') GROUP BY 1, 2
	) AS counted ON counted.day = e.day AND counted.application = e.application
), whole AS (
	SELECT window_s, application, count(*) AS cases, sum(weight) AS weight, sum(weight * correct) AS weight_correct
	FROM sampled GROUP BY 1, 2
), named AS (
	SELECT window_s, application, d.document_id, count(*) AS cases, sum(correct) AS correct, sum(weight) AS weight,
		sum(weight * weight) AS weight_squared, sum(weight * correct) AS weight_correct
	FROM sampled CROSS JOIN LATERAL jsonb_array_elements_text(documents) AS d (document_id) GROUP BY 1, 2, 3
), figures AS (
	SELECT n.window_s, n.application, n.document_id, n.cases, n.correct, n.weight_correct / n.weight AS accuracy,
		n.weight * n.weight / n.weight_squared AS n, 1.959963984540054::float8 ^ 2 AS z2, w.cases - n.cases AS rest_cases,
		CASE WHEN w.cases > n.cases THEN
			greatest(0, least(1, (w.weight_correct - n.weight_correct) / nullif(w.weight - n.weight, 0))) END AS rest_accuracy
	FROM named n JOIN whole w ON w.window_s = n.window_s AND w.application = n.application
), halves AS (
	SELECT *, 1.959963984540054 * sqrt(accuracy * (1 - accuracy) / n + z2 / (4 * n * n)) AS half FROM figures
)
SELECT window_s, application, document_id, cases, correct, accuracy,
	greatest(0, (accuracy + z2 / (2 * n) - half) / (1 + z2 / n)) AS low,
	least(1, (accuracy + z2 / (2 * n) + half) / (1 + z2 / n)) AS high, rest_cases, rest_accuracy
FROM halves;

-- Whoever reads the other views for dashboards reads this one.
DO $$
DECLARE
	granted record;
BEGIN
	FOR granted IN
		SELECT a.grantee FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		WHERE c.oid = 'calibration_summary'::regclass AND a.grantee <> c.relowner AND a.privilege_type = 'SELECT' GROUP BY 1
	LOOP
		EXECUTE format('GRANT SELECT ON calibration_documents TO %s',
			CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END);
	END LOOP;
END $$;

COMMENT ON COLUMN calibration_examples.documents IS 'documents that its retrieval brought';
COMMENT ON VIEW calibration_documents IS 'how many answers are right with each document, over a day and a week';

-- migration 21: looks at candidates are counted for each place

-- The model in use waits for new labels since the last look at candidates; the places of others are looked at as soon as they
-- are vacant again, which "labels" of 0 says.
ALTER TABLE calibration_model_looks DROP CONSTRAINT calibration_model_looks_pkey, ADD PRIMARY KEY (kind, version);

INSERT INTO calibration_model_looks (kind, version, looks, labels, until)
SELECT l.kind, m.version, 0, l.labels, l.until FROM calibration_model_looks l JOIN calibration_models m USING (kind)
WHERE m.replaced_by IS NULL AND m.version <> l.version;

UPDATE calibration_model_looks l SET labels = 0
WHERE EXISTS (SELECT FROM calibration_models m WHERE m.kind = l.kind AND m.replaced_by IS NULL AND m.version <> l.version);

COMMENT ON TABLE calibration_model_looks IS 'looks at candidates for the place of each model, and when the last one was';

-- migration 22: what is learnt belongs to the rules of overall confidence

-- What overall confidence follows from (confidence.factors, diagnostic.source, the retrieval's numbers), as records had it:
-- each text with its number and the first time that it was met in something scored. Rows of others without a number are of a
-- program before this migration, or of records that do not say; they count as those of the rules that were met first.
CREATE TABLE calibration_rules (
	number bigint PRIMARY KEY,
	rules text COLLATE "C" NOT NULL,
	since timestamptz NOT NULL
);

ALTER TABLE calibration_events ADD COLUMN rules bigint;
ALTER TABLE calibration_examples ADD COLUMN rules bigint;
ALTER TABLE calibration_models ADD COLUMN rules bigint;

-- Under each rules one model of a kind is in use, and the place of none is each one's own.
DROP INDEX calibration_models_used;
CREATE UNIQUE INDEX calibration_models_used ON calibration_models (kind, coalesce(rules, 0)) WHERE replaced_by IS NULL;
ALTER TABLE calibration_model_looks ADD COLUMN rules bigint NOT NULL DEFAULT 0,
	DROP CONSTRAINT calibration_model_looks_pkey, ADD PRIMARY KEY (kind, version, rules);

-- Figures are of the last judgement.
CREATE OR REPLACE VIEW calibration_model_history AS
SELECT version, kind, in_use, used_from, CASE WHEN NOT in_use THEN replaced_from END AS used_until, trained_from, trained_to,
	labels, later_cases, log_loss, auroc, ece, proven, unreadable, judgement, judged_at, n.rules
FROM (
	SELECT m.version, m.kind, m.used_from, m.trained_from, m.trained_to, m.labels, m.unreadable, m.number,
		r.used_from AS replaced_from,
		coalesce(j.cases, m.later_cases) AS later_cases, coalesce(j.log_loss, m.log_loss) AS log_loss,
		coalesce(j.auroc, m.auroc) AS auroc, coalesce(j.ece, m.ece) AS ece, coalesce(j.proven, m.proven) AS proven,
		j.judgement, j.judged_at, NOT m.unreadable AND m.version = first_value(m.version) OVER (
			PARTITION BY m.kind, m.number ORDER BY m.unreadable, m.replaced_by IS NOT NULL, m.version DESC) AS in_use
	FROM (
		SELECT *, coalesce(rules, (SELECT number FROM calibration_rules ORDER BY since, number LIMIT 1)) AS number
		FROM calibration_models
	) AS m LEFT JOIN calibration_models r ON r.version = m.replaced_by
	LEFT JOIN LATERAL (
		SELECT * FROM calibration_model_judgements WHERE version = m.version ORDER BY judgement DESC LIMIT 1
	) AS j ON true
) AS models LEFT JOIN calibration_rules n USING (number);

SELECT calibration_share_rights('calibration_rollups', '{calibration_rules}');

COMMENT ON TABLE calibration_rules IS 'what overall confidence followed from, by number; others name it';
COMMENT ON COLUMN calibration_rules.since IS 'scored_at of the first record or label that was met with them';
COMMENT ON COLUMN calibration_models.rules IS 'that it was learnt under; under each, one of a kind is in use';
