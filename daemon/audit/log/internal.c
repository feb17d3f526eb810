#include "audit/log/internal.h"

#include "audit/log/schema.h"
#include "database/values.h"

struct audit_store *audit_store_new(const struct audit_store_options *options)
{
	struct audit_store *store = calloc(1, sizeof *store);
	if (!store)
		abort();
	store->reads_only = options->reads_only;
	store->database = database_new(options->dsn, options->password_file);
	database_set_settings(store->database, options->settings);
	database_set_application(store->database, "assayd audit log");
	database_set_waits(store->database, options->waits, options->waits_context);
	return store;
}

void audit_store_free(struct audit_store *store)
{
	if (!store)
		return;
	database_free(store->database);
	free(store);
}

void audit_store_limit_waits(struct audit_store *store, int64_t until_us)
{
	database_limit_waits(store->database, until_us);
}

err_t audit_store_prepare(struct audit_store *store, struct err_detail *detail)
{
	bool fresh = false;
	err_t err = database_connect(store->database, &fresh, detail);
	if (!err && fresh && !store->reads_only)
		err = audit_schema_migrate(store->database, detail);
	if (err)
		database_disconnect(store->database);
	return err;
}

const char *audit_store_bytes_text(struct buf *to, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	buf_append_text(to, "\\x");
	for (size_t i = 0; i < len; i++)
		buf_printf(to, "%02x", at[i]);
	return to->data;
}

void audit_store_append_bytes(const PGresult *result, int row, int column, struct buf *out)
{
	size_t len = 0;
	unsigned char *bytes = PQunescapeBytea((const unsigned char *)PQgetvalue(result, row, column), &len);
	if (!bytes)
		abort();
	buf_append(out, bytes, len);
	PQfreemem(bytes);
}

err_t audit_store_change(struct audit_store *store, const struct audit_store_log *log, const char *sql,
			 int count, const char **parameters, size_t rows, err_t otherwise, const char *what,
			 struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text partition;
	parameters[0] = log->topic;
	parameters[1] = database_number_text(&partition, log->partition);
	err_t err = database_query(store->database, sql, count, parameters, &result, detail);
	if (!err && strtoull(PQcmdTuples(result), NULL, 10) != rows)
		err = err_fail(detail, otherwise, "partition %d of %s: %s", (int)log->partition, log->topic,
			       what);
	return err;
}
