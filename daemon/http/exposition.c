#include "http/exposition.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum type { INFO, GAUGE, COUNTER, HISTOGRAM };

static const struct family {
	enum type type;
	const char *name, *unit, *help;
} families[METRIC_COUNT_] = {
#define METRIC(symbol, type, name, unit, help) [METRIC_##symbol] = { type, name, unit, help },
#include "http/metrics.def"
#undef METRIC
};

static const struct family *family_of(const struct exposition *exposition)
{
	return &families[exposition->metric];
}

static void append_escaped(struct buf *text, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			buf_append_char(text, '\\');
		if (*value == '\n')
			buf_append_text(text, "\\n");
		else
			buf_append_char(text, *value);
	}
}

static void append_label(struct buf *text, const char *name, const char *value, bool first)
{
	buf_append_text(text, first ? "{" : ",");
	buf_append_text(text, name);
	buf_append_text(text, "=\"");
	append_escaped(text, value);
	buf_append_char(text, '"');
}

/* Name and labels of a sample; `bound`: label `le` of a bucket, or NULL. */
static void append_name(struct exposition *exposition, const char *suffix, const struct metric_label *labels,
			const char *bound)
{
	struct buf *text = exposition->text;
	bool first = true;
	buf_append_text(text, family_of(exposition)->name);
	buf_append_text(text, suffix);
	for (; labels->name; labels++, first = false)
		append_label(text, labels->name, labels->value, first);
	if (bound)
		append_label(text, "le", bound, first);
	if (!first || bound)
		buf_append_char(text, '}');
	buf_append_char(text, ' ');
}

/* With as many digits as it takes to tell it from all others. */
static void append_number(struct buf *text, double value)
{
	char digits[32];
	if (isnan(value))
		snprintf(digits, sizeof digits, "NaN");
	else if (isinf(value))
		snprintf(digits, sizeof digits, value > 0 ? "+Inf" : "-Inf");
	else
		snprintf(digits, sizeof digits, "%.15g", value);
	if (isfinite(value) && strtod(digits, NULL) != value)
		snprintf(digits, sizeof digits, "%.17g", value);
	buf_append_text(text, digits);
}

static void end_line(struct exposition *exposition, double value)
{
	append_number(exposition->text, value);
	buf_append_char(exposition->text, '\n');
}

static const char *suffix_of(const struct exposition *exposition)
{
	static const char *const suffixes[] = { "_info", "", "_total", "" };
	return suffixes[family_of(exposition)->type];
}

const char *exposition_content_type(enum exposition_format format)
{
	return format == EXPOSITION_TEXT ? "text/plain; version=0.0.4; charset=utf-8"
					 : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

static void begin_text(struct exposition *exposition, const struct family *family)
{
	static const char *const types[] = { "gauge", "gauge", "counter", "histogram" };
	const char *suffix = suffix_of(exposition);
	buf_printf(exposition->text, "# HELP %s%s %s\n", family->name, suffix, family->help);
	buf_printf(exposition->text, "# TYPE %s%s %s\n", family->name, suffix, types[family->type]);
}

static void begin_openmetrics(struct exposition *exposition, const struct family *family)
{
	static const char *const types[] = { "info", "gauge", "counter", "histogram" };
	buf_printf(exposition->text, "# TYPE %s %s\n", family->name, types[family->type]);
	if (*family->unit)
		buf_printf(exposition->text, "# UNIT %s %s\n", family->name, family->unit);
	buf_printf(exposition->text, "# HELP %s %s\n", family->name, family->help);
}

void exposition_begin(struct exposition *exposition, enum metric metric)
{
	assert(!exposition->done[metric]);
	exposition->metric = metric;
	exposition->done[metric] = true;
	if (exposition->format == EXPOSITION_TEXT)
		begin_text(exposition, &families[metric]);
	else
		begin_openmetrics(exposition, &families[metric]);
}

void exposition_count(struct exposition *exposition, uint64_t value, const struct metric_label *labels)
{
	append_name(exposition, suffix_of(exposition), labels, NULL);
	buf_printf(exposition->text, "%" PRIu64 "\n", value);
}

void exposition_value(struct exposition *exposition, double value, const struct metric_label *labels)
{
	append_name(exposition, suffix_of(exposition), labels, NULL);
	end_line(exposition, value);
}

static void format_bound(int64_t bound_us, char bound[32])
{
	if (bound_us % 1000000 == 0)
		snprintf(bound, 32, "%" PRId64 ".0", bound_us / 1000000);
	else
		snprintf(bound, 32, "%.9g", (double)bound_us / 1e6);
}

void exposition_histogram(struct exposition *exposition, const struct histogram *histogram,
			  const struct metric_label *labels)
{
	struct histogram_figures figures;
	uint64_t below = 0;
	histogram_read(histogram, &figures);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		char bound[32] = "+Inf";
		if (i < HISTOGRAM_BUCKETS - 1)
			format_bound(histogram_bounds_us[i], bound);
		below += figures.buckets[i];
		append_name(exposition, "_bucket", labels, bound);
		buf_printf(exposition->text, "%" PRIu64 "\n", below);
	}
	append_name(exposition, "_count", labels, NULL);
	buf_printf(exposition->text, "%" PRIu64 "\n", below);
	append_name(exposition, "_sum", labels, NULL);
	end_line(exposition, (double)figures.sum_us / 1e6);
}

void exposition_one_count(struct exposition *exposition, enum metric metric, uint64_t value)
{
	exposition_begin(exposition, metric);
	exposition_count(exposition, value, LABELS());
}

void exposition_one_value(struct exposition *exposition, enum metric metric, double value)
{
	exposition_begin(exposition, metric);
	exposition_value(exposition, value, LABELS());
}

void exposition_end(struct exposition *exposition)
{
	if (exposition->format == EXPOSITION_OPENMETRICS)
		buf_append_text(exposition->text, "# EOF\n");
}
