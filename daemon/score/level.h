/*
 * Levels: the bands that a score between 0 and 1 falls into. Bands are half-open: a score equal to a bound
 * belongs to the band above it. Pure; any thread.
 */
#pragma once

/* Same numeric order as the records' levels. */
enum score_level { SCORE_VERY_LOW, SCORE_LOW, SCORE_MEDIUM, SCORE_HIGH };

/* Lower bounds of the bands; below `low` everything is very low. */
struct level_thresholds {
	double high;
	double medium;
	double low;
};

/* Bounds for confidences in an answer (advisory, overall). */
#define LEVEL_THRESHOLDS_ANSWER ((struct level_thresholds){ 0.9, 0.7, 0.5 })

/* Bounds for the confidence in what was retrieved. */
#define LEVEL_THRESHOLDS_RETRIEVAL ((struct level_thresholds){ 0.85, 0.70, 0.50 })

/* The band of `score`; what is not a number is very low. */
enum score_level level_of(double score, const struct level_thresholds *thresholds);

/* HIGH of a probability takes an interval whose lower end is at least this, whatever its value is. */
#define LEVEL_HIGH_LOWER_END 0.8

/* The band of a probability that is known as an interval. */
enum score_level level_of_estimate(double value, double lower_end, const struct level_thresholds *thresholds);
