/*
 * Cases: scored events as calibration counts them, read from records of the scored topic and added to a
 * table of buckets. The daemon's tables and those of a rebuild are written by the same statements.
 *
 * What needs a database needs an open connection with the tables, blocks within its deadlines, and is for the
 * thread that uses it; the rest is pure.
 */
#pragma once

#include "avro/codec.h"
#include "calibration/store/segments.h"
#include "database/database.h"

/* Buckets of coarser widths besides the configured one, for windows of days and months: whole hours and whole
 * days, UTC. Statements have them as literals. */
#define CALIBRATION_HOUR_S 3600
#define CALIBRATION_DAY_S  86400

/* Application under which the cases of segments beyond the limit are counted. */
#define CALIBRATION_OTHER "other"

/* Stands for an event_id of whatever length: digits of its digest, as PostgreSQL reads a uuid. */
struct calibration_event_key {
	char text[33];
};

/* The key of an event_id. Pure. */
struct calibration_event_key calibration_event_key(str_t event_id);

/* Beside the features: a number of the question, from its digest, whatever the case of its letters and its
 * white space. Rows of before have none. */
#define CALIBRATION_QUESTION	 "question"
#define CALIBRATION_QUESTION_MAX 4503599627370495.0 /* 2^52 - 1: exact as a double */

/* One scored event with an overall confidence. The texts are the caller's. */
struct calibration_case {
	int64_t scored_at_ms;
	str_t application;
	str_t model;	      /* or absent */
	str_t prompt_version; /* or absent */
	int label_source;     /* enum label_source; ENUM_ABSENT: no label, nothing is counted */
	int level;	      /* enum confidence_level */
	double confidence;    /* 0..1 */
	double weight;	      /* above 0 */
	bool correct;
	struct calibration_event_key event; /* empty: it is not remembered for feedback */
	/* likewise, whether or not it is remembered; empty: it is not sampled */
	struct calibration_event_key key;
	str_t features;	 /* that are not 0, by name, as JSON, with CALIBRATION_QUESTION; absent: it has none,
			    or they were not asked for */
	str_t documents; /* of its retrieval, each once, as a JSON array; absent: the label is no result */
	str_t rules; /* that its confidence is by (avro/overall_rules.h); absent: its record does not say */
	opt_double_t probability; /* 0..1, as its record has it */
	bool untested;		  /* the probability is not kept for the test of drift */
	int32_t partition;	  /* of its record, likewise below; for those that are remembered */
	int64_t offset;
	const struct scored_query *record; /* that it was read from, in the arena; or NULL */
};

/* What a record of the scored topic says, but for its features and rules: `*ret_read` is false when it has no
 * overall confidence. The texts are in the arena. Errors: it cannot be decoded, or its values cannot be
 * counted. */
err_t calibration_case_read(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			    struct calibration_case *ret_case, bool *ret_read, struct err_detail *detail);

/* Adds features and rules of its record, in the arena: for a case that is kept. Most are not, and writing
 * these takes longer than all else. */
void calibration_case_complete(struct calibration_case *item, struct arena *arena);

/* Whether the case can be counted: times, confidence and weight within range, texts storable. */
bool calibration_case_valid(const struct calibration_case *item);

/* Whether labels may weigh as much: from 1e-12 to 1e12. The daemon's weigh 1 / sampling probability, so 1 or
 * more. Pure. */
bool calibration_weight_valid(double weight);

/* A text of a segment as tables have it: what is longer than a key may be is cut. Pure. */
str_t calibration_segment_text(str_t text);

/* "FEEDBACK", "RESULT", …: how tables and reports name a label source; static. */
const char *calibration_source_name(int label_source);

/* The label source of that name. */
int calibration_source_of(const char *name);

/* Tables to add to: calibration_buckets, calibration_rollups and calibration_segments, or others of their
 * shape. */
struct case_tables {
	const char *buckets; /* of less than an hour */
	const char *rollups; /* of hours and days; may be the same table */
	const char *segments;
};

/* Cases as arrays of PostgreSQL, one a column. */
struct case_columns {
	struct buf scored_at, application, model, prompt_version, source, level, confidence, weight, correct;
	struct buf event, partition, offset, key, features, probability, documents, rules;
};

/*
 * Parts of a WITH query that add the rows of its part `cells` (start_s, application, model, prompt_version,
 * label_source, level, bin, cases, weight, weight_squared, weight_correct, weight_confidence,
 * weight_squared_error), which are of fine buckets, to the tables of buckets and of rollups, the two %s.
 * `bucket_s` names the parameter with the fine width. The part `rolled_up` has the segments of its rows.
 *
 * Rows are added in the order of the key, so that two writers wait for each other instead of locking each
 * other out.
 */
#define CASES_ADD_CELLS(bucket_s)                                                                            \
	"fine AS (INSERT INTO %s AS b SELECT " bucket_s "::bigint, to_timestamp(start_s), application, "     \
	"model, prompt_version, label_source, level, bin, cases, weight, weight_squared, weight_correct, "   \
	"weight_confidence, weight_squared_error FROM cells WHERE " bucket_s "::bigint < 3600 "              \
	"ORDER BY 2, 3, 4, 5, 6, 7, 8 " CASES_ADD_UP "), "                                                   \
	"rolled_up AS (" CASES_ROLL_UP "RETURNING b.application, b.model, b.prompt_version) "

/* Adds `cells`, of whatever width, to the hours and days of the table %s. */
#define CASES_ROLL_UP                                                                                        \
	"INSERT INTO %s AS b SELECT w.width_s, to_timestamp(start_s / w.width_s * w.width_s), "              \
	"application, model, prompt_version, label_source, level, bin, " CASES_SUM                           \
	"FROM cells CROSS JOIN (VALUES (3600), (86400)) AS w (width_s) "                                     \
	"GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8 " CASES_ADD_UP

/* Sums of buckets that are made of others, in the order of their columns. */
#define CASES_SUM                                                                                            \
	"sum(cases) AS cases, sum(weight) AS weight, sum(weight_squared) AS weight_squared, "                \
	"sum(weight_correct) AS weight_correct, sum(weight_confidence) AS weight_confidence, "               \
	"sum(weight_squared_error) AS weight_squared_error "

/* What an INSERT into buckets does where one is there already; the table's alias is b. */
#define CASES_ADD_UP                                                                                         \
	"ON CONFLICT (width_s, bucket_start, application, model, prompt_version, label_source, level, bin) " \
	"DO UPDATE SET cases = b.cases + excluded.cases, weight = b.weight + excluded.weight, "              \
	"weight_squared = b.weight_squared + excluded.weight_squared, "                                      \
	"weight_correct = b.weight_correct + excluded.weight_correct, "                                      \
	"weight_confidence = b.weight_confidence + excluded.weight_confidence, "                             \
	"weight_squared_error = b.weight_squared_error + excluded.weight_squared_error "

/* The columns own their texts, until case_columns_free. */
void case_columns_make(struct case_columns *columns, const struct calibration_case *cases, size_t count);
void case_columns_free(struct case_columns *columns);

/* Gives segments that are not known yet a place of their own, as long as there are fewer than `most`, and
 * notes about once a day that they were seen. Within a transaction: only one at a time adds. */
err_t cases_add_segments(struct database *database, const struct case_tables *tables,
			 const struct case_columns *columns, int64_t most, struct err_detail *detail);

/* Counts the cases, in buckets of `bucket_s`, of hours and of days. Segments that were counted are added to
 * `touched` (may be NULL), as they are named in the tables. */
err_t cases_add(struct database *database, const struct case_tables *tables,
		const struct case_columns *columns, int64_t bucket_s, struct segments *touched,
		struct err_detail *detail);
