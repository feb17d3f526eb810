/*
 * Reports from the calibration database, for the command line and the status page: rolling windows over
 * scored_at, one report for each label source, for all segments together or for each. Not thread-safe.
 */
#pragma once

#include "calibration/report/ranking.h"
#include "calibration/store/episodes.h"
#include "common/arena.h"
#include "database/database.h"

/* Steps into which a window is divided to show how accuracy developed. */
#define CALIBRATION_STEPS 12

/* Windows from here on, whose steps are not shorter than a day, are divided at days. */
#define CALIBRATION_DAYS_SINCE_S (CALIBRATION_STEPS * CALIBRATION_DAY_S)

struct calibration_query {
	int64_t window_s;
	int64_t bucket_s;	 /* width of the fine buckets, as configured */
	int64_t until_ms;	 /* end of the window (wall clock); 0: now */
	int64_t min_cases;	 /* below: no band score */
	double wish;		 /* share that ought to be right, for a threshold; 0: RANKING_WISH */
	const char *application; /* NULL: all, likewise below; "" is an absent one */
	const char *model;
	const char *prompt_version;
	int label_source;   /* enum label_source, or ENUM_ABSENT: all, each in a report of its own */
	bool without_trend; /* the figures alone, from fewer buckets: then the trend means nothing */
	bool by_segment;    /* a report for each segment instead of all together */
	const struct calibration_segment *segments; /* only these, or NULL: all */
	size_t segments_count;
};

/* Accuracy in one step of the window. */
struct calibration_moment {
	int64_t cases;
	double accuracy; /* without cases: means nothing */
};

/* Overall confidence by tenths, overall confidence of single cases, and of those that have a probability,
 * where these are fewer; probability of single cases. */
#define CALIBRATION_RANKINGS 4

struct calibration_entry {
	str_t application; /* absent: all, likewise below; an empty model or prompt version is an absent one
			    */
	str_t model;
	str_t prompt_version;
	int label_source;
	struct calibration_report report;
	struct calibration_moment trend[CALIBRATION_GROUPS][CALIBRATION_STEPS]; /* oldest first */
	struct ranking rankings[CALIBRATION_RANKINGS]; /* those that there are cases for */
	size_t rankings_count;
	str_t fault; /* why single cases could not be read, such as a missing right; absent: they could */
};

struct calibration_reports {
	const char *application; /* the query's */
	bool tables;		 /* without them there is nothing else */
	bool counted;		 /* labelled events of whatever time are there */
	int64_t window_s;
	int64_t since_ms, until_ms;
	struct calibration_entry *entries; /* by segment and label source */
	size_t count;
	struct drift_episode *episodes; /* open ones of the query's application, whatever their window */
	size_t episodes_count;
};

/* Reads the reports into the arena, with rankings; those of single cases only where all segments are
 * together. A database without tables has no entries; tables that the daemon has yet to bring up to date are
 * refused. */
err_t calibration_read(struct database *database, const struct calibration_query *query, struct arena *arena,
		       struct calibration_reports *ret_reports, struct err_detail *detail);

/* The same without rankings and episodes, on a connection that is open and has the tables; may be in a
 * transaction. */
err_t calibration_read_entries(struct database *database, const struct calibration_query *query,
			       struct arena *arena, struct calibration_reports *ret_reports,
			       struct err_detail *detail);

/* The longest window, as a text. */
#define CALIBRATION_LONGEST_WINDOW "366d"

/* Seconds of "90s", "30m", "24h" or "7d". False: it is none of these, or longer than that. */
bool calibration_parse_window(const char *text, int64_t *ret_window_s);
