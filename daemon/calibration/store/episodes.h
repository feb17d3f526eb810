/*
 * Drift episodes in the calibration database: reading them, and publishing each one's advisory once. They are
 * opened and closed by drift/update.h. All functions need an open connection with the tables. Not
 * thread-safe.
 */
#pragma once

#include "calibration/statistics/drift_sequence.h"
#include "calibration/store/segments.h"
#include "common/arena.h"
#include "database/database.h"

#define EPISODE_ID_SIZE 37

/* Times are wall clock, texts in the caller's arena. */
struct drift_episode {
	char id[EPISODE_ID_SIZE];
	struct calibration_segment segment;
	int label_source; /* enum label_source */
	int64_t window_s; /* the first that saw drift; 0: none did */
	int64_t opened_at_ms;
	double threshold;      /* of the band score; 0 without a window, likewise below */
	double opening_score;  /* 0 where the window saw it later */
	int64_t opening_cases; /* 0 likewise */
	/* The level at which share right and mean confidence were apart most surely, at that time; absent
	 * where that was not noted, likewise the figures of it and of the whole window. */
	str_t opening_group;
	int64_t opening_group_cases;
	double opening_group_confidence, opening_group_accuracy;
	double opening_confidence, opening_accuracy;
	int64_t judged_at_ms; /* last */
	double score;	      /* at that time, likewise below */
	int64_t cases;
	bool changed; /* outcomes have changed; how is said below */
	enum drift_direction direction;
	double size;	     /* share right less share expected, −1..1 */
	int64_t since_ms;    /* the change */
	bool by_probability; /* what is expected is what the probabilities say, else what the past does */
};

/* Episodes whose advisory is not known to be published and which nobody else is publishing, oldest first, at
 * most `most`; closed ones too. For `claim_ms` nobody else gets them: by then the advisory is either marked
 * as published or taken for lost. */
err_t episodes_claim(struct database *database, size_t most, int64_t claim_ms, struct arena *arena,
		     struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail);

/* The advisory of the episode could not be published: whoever comes next may claim it. */
err_t episodes_release(struct database *database, const char *id, struct err_detail *detail);

/* The advisory of the episode is published. */
err_t episodes_set_published(struct database *database, const char *id, struct err_detail *detail);

/* Open episodes of the application (NULL: of all), by segment and label source. */
err_t episodes_open(struct database *database, const char *application, struct arena *arena,
		    struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail);

/* Open episodes of the segments. */
err_t episodes_open_of(struct database *database, const struct calibration_segment *segments, size_t count,
		       struct arena *arena, struct drift_episode **ret_episodes, size_t *ret_count,
		       struct err_detail *detail);
