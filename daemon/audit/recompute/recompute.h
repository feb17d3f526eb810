/*
 * Recomputing: every number and conclusion of a scored record, computed again from the record itself by the
 * formulas of assayd-formulas(7), with the functions that score events, and compared with what it says.
 *
 * What others have said and what was measured is an input, of which only the range is checked; so are
 * findings of the analysis. What cannot be checked is named as a gap, and is never counted as right. Pure;
 * any thread, one report each.
 */
#pragma once

#include "avro/scored_query.h"
#include "calibration/model/model.h"
#include "common/arena.h"
#include "sql/findings/analysis.h"

/* Numbers are equal within this, or, above 1, this share of the larger one. */
#define RECOMPUTE_TOLERANCE 1e-9

enum recompute_gap {
#define GAP(symbol, name, why) RECOMPUTE_GAP_##symbol,
#include "audit/recompute/gaps.def"
#undef GAP
	RECOMPUTE_GAP_COUNT_
};

/* The gap's name, and why it is one; static. */
const char *recompute_gap_name(enum recompute_gap gap);
const char *recompute_gap_why(enum recompute_gap gap);

/* The archive of what records name. Any thread. */
struct recompute_archive {
	/* The model of that version, which lives as long as the source; where several have that number, the
	 * one with this index, from 0. NULL: there is none. */
	const struct model *(*find_model)(void *context, int64_t version, size_t index);
	/* The configuration of that digest, which lives as long as the source; NULL: there is none. */
	const struct recompute_settings *(*find_settings)(void *context, str_t digest);
	/* Whether it has a content of that digest, and that is what its digest is of. */
	bool (*has)(void *context, str_t digest);
	/* The catalog of that digest, which lives as long as the source; NULL: there is none. */
	const struct catalog *(*find_catalog)(void *context, str_t digest);
	void *context;
};

/* How a target's SQL is analysed. */
struct recompute_target {
	enum sql_dialect dialect;
	struct sql_policy policy;
};

/* For analysing the SQL again, which takes several times as long as all else: the targets of a configuration,
 * and the digest by which records name it. Any thread. */
struct recompute_targets {
	const char *config_digest;
	/* NULL: there is none of that name. */
	const struct recompute_target *(*find)(void *context, str_t name);
	void *context;
};

/* What a record says, and what follows instead; texts are in the report's arena. */
struct recompute_difference {
	str_t field;
	str_t said;
	str_t follows;
};

struct recompute_report {
	struct arena *arena;
	const char *release; /* of this program, without the commit */
	size_t checked;	     /* values that were compared */
	struct recompute_difference *differences;
	size_t differences_count, differences_capacity;
	bool gaps[RECOMPUTE_GAP_COUNT_];
};

/* Computes the record again. The report begins zeroed but for arena and release. `archive`: NULL, there is
 * none. `targets`: NULL, findings of the analysis are inputs. */
void recompute_record(const struct scored_query *scored, const struct recompute_archive *archive,
		      const struct recompute_targets *targets, struct recompute_report *report);
