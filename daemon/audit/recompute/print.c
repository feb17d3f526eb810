#include "audit/recompute/print.h"

#include "common/terminal.h"

#include <inttypes.h>
#include <jansson.h>

static void append_json(json_t *object, struct buf *out)
{
	char *text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (!text)
		abort();
	buf_append_text(out, text);
	buf_append_char(out, '\n');
	free(text);
}

static json_t *text_of(str_t text)
{
	json_t *value = str_present(text) ? json_stringn(text.ptr, text.len) : NULL;
	return value ? value : json_null();
}

static void set_place(json_t *object, const struct recompute_place *place)
{
	if (place->line) {
		json_object_set_new(object, "line", json_integer(place->line));
		return;
	}
	json_object_set_new(object, "partition", json_integer(place->partition));
	json_object_set_new(object, "offset", json_integer(place->offset));
}

/* "line 7", or "partition 3 offset 12". */
static void append_place(const struct recompute_place *place, struct buf *out)
{
	if (place->line)
		buf_printf(out, "line %" PRId64, place->line);
	else
		buf_printf(out, "partition %" PRId32 " offset %" PRId64, place->partition, place->offset);
}

static void append_differences_json(const struct recompute_place *place, const struct scored_query *scored,
				    const struct recompute_report *report, struct buf *out)
{
	json_t *object = json_object(), *array = json_array();
	json_object_set_new(object, "event_id", text_of(scored->event_id));
	set_place(object, place);
	json_object_set_new(object, "topic", text_of(scored->provenance.topic));
	json_object_set_new(object, "topic_partition", json_integer(scored->provenance.partition));
	json_object_set_new(object, "topic_offset", json_integer(scored->provenance.offset));
	for (size_t i = 0; i < report->differences_count; i++) {
		const struct recompute_difference *difference = &report->differences[i];
		json_t *item = json_object();
		json_object_set_new(item, "field", text_of(difference->field));
		json_object_set_new(item, "said", text_of(difference->said));
		json_object_set_new(item, "follows", text_of(difference->follows));
		json_array_append_new(array, item);
	}
	json_object_set_new(object, "differences", array);
	append_json(object, out);
}

void recompute_print_differences(bool json, const struct recompute_place *place,
				 const struct scored_query *scored, const struct recompute_report *report,
				 struct buf *out)
{
	if (json) {
		append_differences_json(place, scored, report, out);
		return;
	}
	for (size_t i = 0; i < report->differences_count; i++) {
		const struct recompute_difference *difference = &report->differences[i];
		_cleanup_(buf_free) struct buf where = BUF_INIT;
		append_place(place, &where);
		if (scored->provenance.topic.len)
			buf_printf(&where, ", of " STR_FMT "/%" PRId64 "@%" PRId64,
				   STR_ARG(scored->provenance.topic), scored->provenance.partition,
				   scored->provenance.offset);
		terminal_append_line(out,
				     STR_FMT " (%s): " STR_FMT " is " STR_FMT ", and " STR_FMT " follows",
				     STR_ARG(scored->event_id), where.data, STR_ARG(difference->field),
				     STR_ARG(difference->said), STR_ARG(difference->follows));
	}
}

void recompute_print_fault(bool json, const struct recompute_place *place, const char *why, struct buf *out)
{
	if (json) {
		json_t *object = json_object();
		set_place(object, place);
		json_object_set_new(object, "unreadable", text_of(str_from(why)));
		append_json(object, out);
		return;
	}
	_cleanup_(buf_free) struct buf where = BUF_INIT;
	append_place(place, &where);
	terminal_append_line(out, "%s is no scored record: %s", where.data, why);
}

/* ---- totals ---- */

static void print_totals_json(const struct recompute_totals *totals, FILE *out)
{
	_cleanup_(buf_free) struct buf line = BUF_INIT;
	json_t *object = json_object(), *gaps = json_object();
	json_object_set_new(object, "records", json_integer(totals->records));
	json_object_set_new(object, "checked", json_integer(totals->checked));
	json_object_set_new(object, "differing", json_integer(totals->differing));
	json_object_set_new(object, "unreadable", json_integer(totals->unreadable));
	json_object_set_new(object, "unavailable", json_integer(totals->unavailable));
	json_object_set_new(object, "refused", json_integer(totals->refused));
	for (int gap = 0; gap < RECOMPUTE_GAP_COUNT_; gap++)
		if (totals->gaps[gap])
			json_object_set_new(gaps, recompute_gap_name((enum recompute_gap)gap),
					    json_integer(totals->gaps[gap]));
	json_object_set_new(object, "unchecked", gaps);
	append_json(object, &line);
	fwrite(line.data, 1, line.len, out);
}

void recompute_print_totals(bool json, const struct recompute_totals *totals, FILE *out)
{
	if (json) {
		print_totals_json(totals, out);
		return;
	}
	fprintf(out, "%" PRId64 " records, %" PRId64 " values computed again; %" PRId64 " records differ",
		totals->records, totals->checked, totals->differing);
	if (totals->differences > 0)
		fprintf(out, ", in %" PRId64 " values", totals->differences);
	if (totals->unreadable)
		fprintf(out, "; %" PRId64 " could not be read", totals->unreadable);
	if (totals->unavailable)
		fprintf(out, "; %" PRId64 " cannot be read now", totals->unavailable);
	if (totals->refused)
		fprintf(out, "; %" PRId64 " events had no record", totals->refused);
	fputc('\n', out);
	for (int gap = 0; gap < RECOMPUTE_GAP_COUNT_; gap++)
		if (totals->gaps[gap])
			fprintf(out, "not checked in %" PRId64 " records: %s (%s)\n", totals->gaps[gap],
				recompute_gap_name((enum recompute_gap)gap),
				recompute_gap_why((enum recompute_gap)gap));
}
