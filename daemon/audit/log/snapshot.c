#include "audit/log/snapshot.h"

#include "audit/log/internal.h"
#include "database/values.h"

err_t audit_snapshot_time(struct audit_store *store, char ret_time[AUDIT_SNAPSHOT_TIME_SIZE],
			  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = audit_store_prepare(store, detail);
	if (!err)
		err = database_query(store->database, "SELECT extract(epoch FROM clock_timestamp())", 0, NULL,
				     &result, detail);
	if (!err)
		snprintf(ret_time, AUDIT_SNAPSHOT_TIME_SIZE, "%s", PQgetvalue(result, 0, 0));
	return err;
}

err_t audit_snapshot_begin(struct audit_store *store, struct err_detail *detail)
{
	err_t err = audit_store_prepare(store, detail);
	return err ? err
		   : database_script(store->database, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
				     detail);
}

err_t audit_snapshot_end(struct audit_store *store, struct err_detail *detail)
{
	return database_script(store->database, "COMMIT", detail);
}

static err_t ask(struct audit_store *store, const char *sql, const struct audit_store_log *log, int count,
		 const char **parameters, PGresult **ret_result, struct err_detail *detail)
{
	struct database_number_text partition;
	parameters[0] = log->topic;
	parameters[1] = database_number_text(&partition, log->partition);
	return database_query(store->database, sql, count, parameters, ret_result, detail);
}

/* The bytes in a row and column, in the arena; absent for NULL. */
static str_t bytes_at(const PGresult *result, int row, int column, struct arena *arena)
{
	_cleanup_(buf_free) struct buf bytes = BUF_INIT;
	if (PQgetisnull(result, row, column))
		return STR_NONE;
	audit_store_append_bytes(result, row, column, &bytes);
	return arena_text(arena, bytes.len ? bytes.data : "", bytes.len);
}

/* ---- logs ---- */

enum { LOG_PARTITION, LOG_ORIGIN, LOG_SIZE, LOG_NEXT, LOG_LAST, LOG_LAST_LEAF, LOG_STATE, LOG_STOPPED };

err_t audit_snapshot_logs(struct audit_store *store, const char *topic, struct arena *arena,
			  struct audit_snapshot_log **ret_logs, size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { topic };
	err_t err = database_query(store->database,
				   "SELECT partition, origin, size, next_offset, coalesce(last_offset, -1), "
				   "last_leaf, state, stopped FROM audit_logs WHERE topic = $1 "
				   "ORDER BY partition",
				   1, parameters, &result, detail);
	if (err)
		return err;
	int count = PQntuples(result);
	struct audit_snapshot_log *logs = ARENA_ARRAY(arena, struct audit_snapshot_log, (size_t)count);
	for (int i = 0; i < count; i++)
		logs[i] = (struct audit_snapshot_log){
			.partition = (int32_t)database_integer_at(result, i, LOG_PARTITION),
			.origin = database_text_at(result, i, LOG_ORIGIN, arena),
			.size = database_integer_at(result, i, LOG_SIZE),
			.next_offset = database_integer_at(result, i, LOG_NEXT),
			.last_offset = database_integer_at(result, i, LOG_LAST),
			.last_leaf = bytes_at(result, i, LOG_LAST_LEAF, arena),
			.state = bytes_at(result, i, LOG_STATE, arena),
			.stopped = database_text_at(result, i, LOG_STOPPED, arena),
		};
	*ret_logs = logs;
	*ret_count = (size_t)count;
	return ERR_OK;
}

/* One step of the index for each partition, however many rows it has. */
#define PARTITIONS_OF(table)                                                                                 \
	"(WITH RECURSIVE p AS (SELECT min(partition) AS partition FROM " table " WHERE topic = $1 "          \
	"UNION ALL SELECT (SELECT min(partition) FROM " table " WHERE topic = $1 AND "                       \
	"partition > p.partition) FROM p WHERE p.partition IS NOT NULL) SELECT partition FROM p "            \
	"WHERE partition IS NOT NULL)"

err_t audit_snapshot_partitions(struct audit_store *store, const char *topic, struct arena *arena,
				int32_t **ret_partitions, size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { topic };
	err_t err =
		database_query(store->database,
			       PARTITIONS_OF("audit_tiles") " UNION " PARTITIONS_OF(
				       "audit_checkpoints") " UNION " PARTITIONS_OF("audit_marks") " ORDER "
												   "BY 1",
			       1, parameters, &result, detail);
	if (err)
		return err;
	int count = PQntuples(result);
	int32_t *partitions = ARENA_ARRAY(arena, int32_t, (size_t)count);
	for (int i = 0; i < count; i++)
		partitions[i] = (int32_t)database_integer_at(result, i, 0);
	*ret_partitions = partitions;
	*ret_count = (size_t)count;
	return ERR_OK;
}

/* ---- checkpoints ---- */

enum {
	CHECKPOINT_SIZE,
	CHECKPOINT_NEXT,
	CHECKPOINT_STATE,
	CHECKPOINT_NOTE,
	CHECKPOINT_TOPIC,
	CHECKPOINT_FILE
};

err_t audit_snapshot_checkpoints(struct audit_store *store, const struct audit_store_log *log, int64_t above,
				 const char *time, unsigned limit, struct arena *arena,
				 struct audit_snapshot_checkpoint **ret_checkpoints, size_t *ret_count,
				 struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text least, most;
	const char *parameters[] = { NULL, NULL, database_number_text(&least, above),
				     database_number_text(&most, limit), time };
	err_t err = ask(store,
			"SELECT size, next_offset, state, note, "
			"coalesce(extract(epoch FROM in_topic_at) < $5::numeric, false), "
			"coalesce(extract(epoch FROM in_file_at) < $5::numeric, false) "
			"FROM audit_checkpoints WHERE topic = $1 AND partition = $2 AND size > $3 "
			"ORDER BY size LIMIT $4",
			log, 5, parameters, &result, detail);
	if (err)
		return err;
	int count = PQntuples(result);
	struct audit_snapshot_checkpoint *checkpoints =
		ARENA_ARRAY(arena, struct audit_snapshot_checkpoint, (size_t)count);
	for (int i = 0; i < count; i++)
		checkpoints[i] = (struct audit_snapshot_checkpoint){
			.size = database_integer_at(result, i, CHECKPOINT_SIZE),
			.next_offset = database_integer_at(result, i, CHECKPOINT_NEXT),
			.state = bytes_at(result, i, CHECKPOINT_STATE, arena),
			.note = database_text_at(result, i, CHECKPOINT_NOTE, arena),
			.in_topic = PQgetvalue(result, i, CHECKPOINT_TOPIC)[0] == 't',
			.in_file = PQgetvalue(result, i, CHECKPOINT_FILE)[0] == 't',
		};
	*ret_checkpoints = checkpoints;
	*ret_count = (size_t)count;
	return ERR_OK;
}

/* ---- tiles ---- */

enum { WIDE_LEVEL, WIDE_INDEX, WIDE_WIDTH, WIDE_WANTED };

err_t audit_snapshot_wide_tiles(struct audit_store *store, const struct audit_store_log *log, unsigned limit,
				struct arena *arena, struct audit_snapshot_tile **ret_tiles,
				size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text most;
	const char *parameters[] = { NULL, NULL, database_number_text(&most, limit) };
	/* no tree has tiles beyond 2^54, whose first leaf would be no number any more */
	err_t err = ask(store,
			"SELECT * FROM (SELECT t.level, t.index, octet_length(t.hashes) / 32 AS width, "
			"CASE WHEN t.index < 1::bigint << 54 THEN greatest(0, least(256, "
			"(l.size >> 8 * t.level) - 256 * t.index)) ELSE 0 END AS wanted "
			"FROM audit_logs l JOIN audit_tiles t USING (topic, partition) "
			"WHERE topic = $1 AND partition = $2) w "
			"WHERE width > wanted ORDER BY level, index LIMIT $3",
			log, 3, parameters, &result, detail);
	if (err)
		return err;
	int count = PQntuples(result);
	struct audit_snapshot_tile *tiles = ARENA_ARRAY(arena, struct audit_snapshot_tile, (size_t)count);
	for (int i = 0; i < count; i++)
		tiles[i] = (struct audit_snapshot_tile){
			.level = (unsigned)database_integer_at(result, i, WIDE_LEVEL),
			.index = (uint64_t)database_integer_at(result, i, WIDE_INDEX),
			.width = (unsigned)database_integer_at(result, i, WIDE_WIDTH),
			.wanted = (unsigned)database_integer_at(result, i, WIDE_WANTED),
		};
	*ret_tiles = tiles;
	*ret_count = (size_t)count;
	return ERR_OK;
}
