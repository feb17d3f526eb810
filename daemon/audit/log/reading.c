#include "audit/log/reading.h"

#include "audit/log/internal.h"
#include "database/values.h"

static err_t ask(struct audit_store *store, const struct audit_store_log *log, const char *sql, int count,
		 const char **parameters, PGresult **ret_result, struct err_detail *detail)
{
	struct database_number_text partition;
	parameters[0] = log->topic;
	parameters[1] = database_number_text(&partition, log->partition);
	err_t err = audit_store_prepare(store, detail);
	return err ? err : database_query(store->database, sql, count, parameters, ret_result, detail);
}

/* ---- checkpoints ---- */

#define CHECKPOINT_COLUMNS                                                                                   \
	"partition, size, next_offset, floor(extract(epoch FROM made_at) * 1000)::bigint, note "

enum { CHECKPOINT_PARTITION, CHECKPOINT_SIZE, CHECKPOINT_NEXT, CHECKPOINT_MADE, CHECKPOINT_NOTE };

static void read_checkpoints(const PGresult *result, struct arena *arena,
			     struct audit_store_checkpoint **ret_checkpoints, size_t *ret_count)
{
	int count = PQntuples(result);
	struct audit_store_checkpoint *checkpoints =
		ARENA_ARRAY(arena, struct audit_store_checkpoint, (size_t)count);
	for (int i = 0; i < count; i++)
		checkpoints[i] = (struct audit_store_checkpoint){
			.partition = (int32_t)database_integer_at(result, i, CHECKPOINT_PARTITION),
			.size = (uint64_t)database_integer_at(result, i, CHECKPOINT_SIZE),
			.next_offset = database_integer_at(result, i, CHECKPOINT_NEXT),
			.made_at_ms = database_integer_at(result, i, CHECKPOINT_MADE),
			.note = database_text_at(result, i, CHECKPOINT_NOTE, arena),
		};
	*ret_checkpoints = checkpoints;
	*ret_count = (size_t)count;
}

err_t audit_store_unpublished(struct audit_store *store, const struct audit_store_log *log,
			      enum audit_store_place place, unsigned limit, struct arena *arena,
			      struct audit_store_checkpoint **ret_checkpoints, size_t *ret_count,
			      struct err_detail *detail)
{
	static const char *const statements[] = {
		[AUDIT_STORE_TOPIC] = "SELECT " CHECKPOINT_COLUMNS "FROM audit_checkpoints "
				      "WHERE topic = $1 AND partition = $2 AND in_topic_at IS NULL "
				      "ORDER BY size LIMIT $3",
		[AUDIT_STORE_FILE] = "SELECT " CHECKPOINT_COLUMNS "FROM audit_checkpoints "
				     "WHERE topic = $1 AND partition = $2 AND in_file_at IS NULL "
				     "ORDER BY size LIMIT $3",
	};
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text most;
	const char *parameters[] = { NULL, NULL, database_number_text(&most, limit) };
	err_t err = ask(store, log, statements[place], 3, parameters, &result, detail);
	if (!err)
		read_checkpoints(result, arena, ret_checkpoints, ret_count);
	return err;
}

err_t audit_store_published(struct audit_store *store, const struct audit_store_log *log,
			    enum audit_store_place place, uint64_t size, struct err_detail *detail)
{
	static const char *const statements[] = {
		[AUDIT_STORE_TOPIC] =
			"UPDATE audit_checkpoints SET in_topic_at = coalesce(in_topic_at, now()) "
			"WHERE topic = $1 AND partition = $2 AND size = $3",
		[AUDIT_STORE_FILE] = "UPDATE audit_checkpoints SET in_file_at = coalesce(in_file_at, now()) "
				     "WHERE topic = $1 AND partition = $2 AND size = $3",
	};
	struct database_number_text text;
	const char *parameters[] = { NULL, NULL, database_number_text(&text, (int64_t)size) };
	err_t err = audit_store_prepare(store, detail);
	return err ? err
		   : audit_store_change(store, log, statements[place], 3, parameters, 1, ERR_AUDIT_DAMAGED,
					"a checkpoint that was published is not there any more", detail);
}

err_t audit_store_newest(struct audit_store *store, const struct audit_store_log *log, struct arena *arena,
			 struct audit_store_checkpoint **ret_checkpoints, size_t *ret_count,
			 struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *parameters[] = { NULL, NULL };
	err_t err = ask(store, log,
			"SELECT " CHECKPOINT_COLUMNS "FROM audit_checkpoints WHERE topic = $1 AND "
			"partition = $2 ORDER BY size DESC LIMIT 1",
			2, parameters, &result, detail);
	if (!err)
		read_checkpoints(result, arena, ret_checkpoints, ret_count);
	return err;
}

/* ---- logs ---- */

enum { ROW_PARTITION, ROW_ORIGIN, ROW_SIZE, ROW_NEXT, ROW_STOPPED };

err_t audit_store_rows(struct audit_store *store, const char *topic, struct arena *arena,
		       struct audit_store_row **ret_rows, size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { topic };
	err_t err = audit_store_prepare(store, detail);
	if (!err)
		err = database_query(store->database,
				     "SELECT partition, origin, size, next_offset, stopped FROM audit_logs "
				     "WHERE topic = $1 ORDER BY partition",
				     1, parameters, &result, detail);
	if (err)
		return err;
	int count = PQntuples(result);
	struct audit_store_row *rows = ARENA_ARRAY(arena, struct audit_store_row, (size_t)count);
	for (int i = 0; i < count; i++)
		rows[i] = (struct audit_store_row){
			.partition = (int32_t)database_integer_at(result, i, ROW_PARTITION),
			.origin = database_text_at(result, i, ROW_ORIGIN, arena),
			.size = (uint64_t)database_integer_at(result, i, ROW_SIZE),
			.next_offset = database_integer_at(result, i, ROW_NEXT),
			.stopped = database_text_at(result, i, ROW_STOPPED, arena),
		};
	*ret_rows = rows;
	*ret_count = (size_t)count;
	return ERR_OK;
}

enum { MARK_INDEX, MARK_KIND, MARK_FROM, MARK_TO, MARK_REASON };

static err_t read_mark(const PGresult *result, int row, const struct audit_store_log *log,
		       struct growth_mark *ret_mark, struct err_detail *detail)
{
	const char *reason = PQgetvalue(result, row, MARK_REASON);
	ret_mark->index = (uint64_t)database_integer_at(result, row, MARK_INDEX);
	snprintf(ret_mark->reason, sizeof ret_mark->reason, "%s", reason);
	ret_mark->mark = (struct leaf_mark){
		.kind = strcmp(PQgetvalue(result, row, MARK_KIND), "gap") == 0 ? LEAF_MARK_GAP
									       : LEAF_MARK_BEGINS_AGAIN,
		.from_offset = database_integer_at(result, row, MARK_FROM),
		.to_offset = database_integer_at(result, row, MARK_TO),
		.reason = str_from(ret_mark->reason),
	};
	if (strlen(reason) < sizeof ret_mark->reason && leaf_mark_valid(&ret_mark->mark))
		return ERR_OK;
	return err_fail(detail, ERR_AUDIT_DAMAGED, "partition %d of %s: the mark of leaf %s is none",
			(int)log->partition, log->topic, PQgetvalue(result, row, MARK_INDEX));
}

err_t audit_store_marks(struct audit_store *store, const struct audit_store_log *log, struct arena *arena,
			struct growth_mark **ret_marks, size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *parameters[] = { NULL, NULL };
	err_t err = ask(store, log,
			"SELECT index, kind, from_offset, to_offset, reason FROM audit_marks WHERE "
			"topic = $1 AND partition = $2 ORDER BY index",
			2, parameters, &result, detail);
	if (err)
		return err;
	int count = PQntuples(result);
	struct growth_mark *marks = ARENA_ARRAY(arena, struct growth_mark, (size_t)count);
	for (int i = 0; !err && i < count; i++)
		err = read_mark(result, i, log, &marks[i], detail);
	if (err)
		return err;
	*ret_marks = marks;
	*ret_count = (size_t)count;
	return ERR_OK;
}

/* ---- leaves ---- */

err_t audit_store_find_leaf(struct audit_store *store, const struct audit_store_log *log,
			    const struct merkle_hash *leaf, bool *ret_found, uint64_t *ret_index,
			    struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	_cleanup_(buf_free) struct buf hash = BUF_INIT, hashes = BUF_INIT;
	const char *parameters[] = { NULL, NULL,
				     audit_store_bytes_text(&hash, leaf->bytes, sizeof leaf->bytes) };
	err_t err = ask(store, log,
			"SELECT index, hashes FROM audit_tiles WHERE topic = $1 AND partition = $2 AND "
			"level = 0 AND position($3::bytea IN hashes) > 0 ORDER BY index DESC LIMIT 1",
			3, parameters, &result, detail);
	if (err)
		return err;
	*ret_found = false;
	if (PQntuples(result) == 0)
		return ERR_OK;
	audit_store_append_bytes(result, 0, 1, &hashes);
	for (size_t at = hashes.len / sizeof leaf->bytes; at > 0 && !*ret_found; at--)
		if (memcmp(hashes.data + (at - 1) * sizeof leaf->bytes, leaf->bytes, sizeof leaf->bytes) ==
		    0) {
			*ret_found = true;
			*ret_index = (uint64_t)database_integer_at(result, 0, 0) * TILE_WIDTH + at - 1;
		}
	return ERR_OK;
}
