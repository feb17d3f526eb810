/*
 * Metrics as text: OpenMetrics 1.0, or Prometheus' text format 0.0.4, which knows no infos and no units (the
 * families of metrics.def). Not thread-safe.
 *
 * A family is begun, then its samples follow, one a label set. All names are of tables; values of labels may
 * be any UTF-8.
 */
#pragma once

#include "common/buf.h"
#include "common/histogram.h"

enum exposition_format { EXPOSITION_OPENMETRICS, EXPOSITION_TEXT };

enum metric {
#define METRIC(symbol, type, name, unit, help) METRIC_##symbol,
#include "http/metrics.def"
#undef METRIC
	METRIC_COUNT_
};

struct exposition {
	struct buf *text;
	enum exposition_format format;
	enum metric metric; /* that is begun */
	bool done[METRIC_COUNT_];
};

struct metric_label {
	const char *name;
	const char *value;
};

/* Labels of a sample; LABELS() for none. */
#define LABELS(...) ((const struct metric_label[]){ __VA_ARGS__ __VA_OPT__(, ){ NULL, NULL } })

/* Of the HTTP page; static text. */
const char *exposition_content_type(enum exposition_format format);

/* Each family at most once. */
void exposition_begin(struct exposition *exposition, enum metric metric);

/* Samples of the family that is begun. */
void exposition_count(struct exposition *exposition, uint64_t value, const struct metric_label *labels);
void exposition_value(struct exposition *exposition, double value, const struct metric_label *labels);
void exposition_histogram(struct exposition *exposition, const struct histogram *histogram,
			  const struct metric_label *labels);

/* A family with a single sample. */
void exposition_one_count(struct exposition *exposition, enum metric metric, uint64_t value);
void exposition_one_value(struct exposition *exposition, enum metric metric, double value);

/* The last line. */
void exposition_end(struct exposition *exposition);
