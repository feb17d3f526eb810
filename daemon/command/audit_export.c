#include "command/audit_export.h"

#include "audit/verify/export_file.h"
#include "command/audit_log.h"
#include "common/output.h"

struct exporting {
	struct config *config;
	struct arena *arena;
	const char *topic;
	struct audit_store *store;   /* or NULL */
	struct topic_reader *reader; /* or NULL */
	struct buf line;
	struct err_detail *detail;
};

static void exporting_end(struct exporting *exporting)
{
	buf_free(&exporting->line);
	topic_reader_free(exporting->reader);
	audit_store_free(exporting->store);
	config_unref(exporting->config);
}

static err_t export_record(size_t span, const rd_kafka_message_t *message, void *context,
			   struct err_detail *detail)
{
	struct exporting *exporting = context;
	(void)span;
	buf_reset(&exporting->line);
	export_file_write(exporting->topic, message->partition, message->offset,
			  (str_t){ message->key, message->key_len },
			  (str_t){ message->payload, message->len }, &exporting->line);
	if (fwrite(exporting->line.data, 1, exporting->line.len, stdout) != exporting->line.len)
		return output_end(detail);
	return ERR_OK;
}

static err_t export_marks(struct exporting *exporting)
{
	struct audit_store_row *rows;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	size_t count;
	err_t err = audit_store_rows(exporting->store, exporting->topic, exporting->arena, &rows, &count,
				     exporting->detail);
	for (size_t i = 0; !err && i < count; i++) {
		const struct audit_store_log log = { exporting->topic, rows[i].partition };
		struct growth_mark *marks;
		size_t marks_count = 0;
		err = audit_store_marks(exporting->store, &log, exporting->arena, &marks, &marks_count,
					exporting->detail);
		for (size_t m = 0; !err && m < marks_count; m++)
			export_file_write_mark(exporting->topic, log.partition, &marks[m], &text);
	}
	if (!err && text.len)
		fwrite(text.data, 1, text.len, stdout);
	return err;
}

static err_t export_records(struct exporting *exporting)
{
	struct topic_span *spans;
	size_t count;
	err_t err = topic_reader_spans(exporting->reader, exporting->topic, 0, exporting->arena, &spans,
				       &count, exporting->detail);
	for (size_t i = 0; !err && i < count; i++) { /* one by one, so that the file is in order */
		int64_t high;
		err = topic_reader_bounds(exporting->reader, exporting->topic, spans[i].partition,
					  &spans[i].from, &high, exporting->detail);
		if (!err)
			err = topic_reader_read(exporting->reader, &spans[i], 1, export_record, exporting,
						exporting->detail);
	}
	return err;
}

err_t audit_export_run(const char *config_file, bool no_database, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(exporting_end) struct exporting exporting = { .arena = arena,
								.line = BUF_INIT,
								.detail = detail };
	struct config_database database;
	err_t err = config_load(config_file, &exporting.config, detail);
	if (err)
		return err;
	exporting.topic = exporting.config->kafka.scored_topic;
	if (!no_database && config_audit_database(exporting.config, &database)) {
		err = audit_log_store(exporting.config, true, &exporting.store, detail);
		if (!err)
			err = export_marks(&exporting);
	}
	if (!err)
		err = audit_log_reader(exporting.config, arena, &exporting.reader, detail);
	return err ? err : export_records(&exporting);
}
