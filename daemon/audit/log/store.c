#include "audit/log/internal.h"

#include "database/array.h"
#include "database/values.h"

/* ---- parameters and values ---- */

/* Ends the transaction; its beginning is the caller's. What the server did not take is gone with the
 * connection. */
static err_t finish(struct audit_store *store, err_t err, struct err_detail *detail)
{
	if (!err)
		err = database_script(store->database, "COMMIT", detail);
	if (err && database_script(store->database, "ROLLBACK", NULL) != ERR_OK)
		database_disconnect(store->database);
	return err;
}

static const char *state_text(struct buf *to, const struct merkle_range *range)
{
	_cleanup_(buf_free) struct buf state = BUF_INIT;
	merkle_range_encode(range, &state);
	return audit_store_bytes_text(to, state.data, state.len);
}

/* ---- opening ---- */

err_t audit_store_read_tile(void *context, unsigned level, uint64_t index, unsigned width,
			    struct merkle_hash ret_hashes[TILE_WIDTH])
{
	const struct audit_store_tiles *tiles = context;
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	_cleanup_(buf_free) struct buf hashes = BUF_INIT;
	struct database_number_text texts[3];
	const char *const parameters[] = { tiles->log.topic,
					   database_number_text(&texts[0], tiles->log.partition),
					   database_number_text(&texts[1], level),
					   database_number_text(&texts[2], (int64_t)index) };
	err_t err = audit_store_prepare(tiles->store, tiles->detail);
	if (!err)
		err = database_query(tiles->store->database,
				     "SELECT hashes FROM audit_tiles WHERE topic = $1 AND partition = $2 AND "
				     "level = $3 AND "
				     "index = $4",
				     4, parameters, &result, tiles->detail);
	if (err)
		return err;
	if (PQntuples(result))
		audit_store_append_bytes(result, 0, 0, &hashes);
	if (hashes.len < width * sizeof ret_hashes[0])
		return err_fail(tiles->detail, ERR_AUDIT_DAMAGED,
				"partition %d of %s: tile %s of level %u has %zu hashes, not %u",
				(int)tiles->log.partition, tiles->log.topic, texts[2].text, level,
				hashes.len / sizeof ret_hashes[0], width);
	memcpy(ret_hashes, hashes.data, width * sizeof ret_hashes[0]);
	return ERR_OK;
}

/* Whether the tiles at the right edge are those from which the state follows. Another owner may have widened
 * them since; what they begin with stays. */
static err_t check_edge(struct audit_store *store, const struct audit_store_log *log,
			const struct merkle_range *range, struct err_detail *detail)
{
	struct audit_store_tiles context = { store, *log, detail };
	struct tile_source tiles = { .read = audit_store_read_tile,
				     .context = &context,
				     .size = range->size };
	for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
		struct merkle_hash hash;
		if (!(range->size >> level & 1))
			continue;
		err_t err = tile_source_node(&tiles, level, (range->size >> level) - 1, &hash);
		if (err)
			return err;
		if (!merkle_hash_equal(&hash, &range->hashes[level]))
			return err_fail(detail, ERR_AUDIT_DAMAGED,
					"partition %d of %s: the last tile of level %u does not hash to the "
					"state of the log",
					(int)log->partition, log->topic, level / TILE_HEIGHT);
	}
	return ERR_OK;
}

#define BEGIN_LOG                                                                                            \
	"INSERT INTO audit_logs (topic, partition, origin, size, next_offset, state) "                       \
	"VALUES ($1, $2, $3, 0, 0, $4::bytea) ON CONFLICT DO NOTHING"

#define READ_LOG                                                                                             \
	"SELECT l.origin, l.size, l.next_offset, l.last_offset, l.last_leaf, l.state, "                      \
	"left(l.stopped, 256), c.size > l.size OR (c.size = l.size AND c.state <> l.state), c.size, "        \
	"floor(extract(epoch FROM c.made_at) * 1000)::bigint "                                               \
	"FROM audit_logs l LEFT JOIN LATERAL (SELECT size, state, made_at FROM audit_checkpoints "           \
	"WHERE topic = l.topic AND partition = l.partition ORDER BY size DESC LIMIT 1) c ON true "           \
	"WHERE l.topic = $1 AND l.partition = $2"

enum {
	LOG_ORIGIN,
	LOG_SIZE,
	LOG_NEXT,
	LOG_LAST,
	LOG_LAST_LEAF,
	LOG_STATE,
	LOG_STOPPED,
	LOG_FORKED,
	LOG_SIGNED_SIZE,
	LOG_SIGNED_AT
};

/* The row as a position, as far as it makes sense in itself. NULL: it does, else what does not. */
static const char *read_row(const PGresult *row, struct growth_position *ret_position)
{
	_cleanup_(buf_free) struct buf state = BUF_INIT, leaf = BUF_INIT;
	struct growth_position position = GROWTH_START;
	audit_store_append_bytes(row, 0, LOG_STATE, &state);
	if (merkle_range_decode(buf_str(&state), &position.range) != ERR_OK)
		return "the state of the log is damaged";
	if (position.range.size != (uint64_t)database_integer_at(row, 0, LOG_SIZE))
		return "the state of the log is not that of its size";
	if (strcmp(PQgetvalue(row, 0, LOG_FORKED), "t") == 0)
		return "the newest checkpoint is not one of the log";
	position.next_offset = database_integer_at(row, 0, LOG_NEXT);
	if (!PQgetisnull(row, 0, LOG_LAST)) {
		position.last_offset = database_integer_at(row, 0, LOG_LAST);
		audit_store_append_bytes(row, 0, LOG_LAST_LEAF, &leaf);
		memcpy(position.last_leaf.bytes, leaf.data, sizeof position.last_leaf.bytes);
	}
	*ret_position = position;
	return NULL;
}

static err_t read_log(struct audit_store *store, const struct audit_store_log *log, const char *origin,
		      struct audit_store_position *ret_position, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text partition;
	const char *const parameters[] = { log->topic, database_number_text(&partition, log->partition) };
	err_t err = database_query(store->database, READ_LOG, 2, parameters, &result, detail);
	if (err)
		return err;
	if (PQntuples(result) == 0)
		return err_fail(detail, ERR_DATABASE_REFUSED,
				"partition %d of %s: its origin %s is that of another log in these tables",
				(int)log->partition, log->topic, origin);
	if (strcmp(PQgetvalue(result, 0, LOG_ORIGIN), origin) != 0)
		return err_fail(detail, ERR_DATABASE_REFUSED,
				"partition %d of %s: the log in these tables is %s, not %s; another name "
				"needs tables of its own",
				(int)log->partition, log->topic, PQgetvalue(result, 0, LOG_ORIGIN), origin);
	snprintf(ret_position->stopped, sizeof ret_position->stopped, "%s",
		 PQgetvalue(result, 0, LOG_STOPPED));
	if (!PQgetisnull(result, 0, LOG_SIGNED_SIZE)) {
		ret_position->signed_size = (uint64_t)database_integer_at(result, 0, LOG_SIGNED_SIZE);
		ret_position->signed_at_ms = database_integer_at(result, 0, LOG_SIGNED_AT);
	}
	bool stopped = !PQgetisnull(result, 0, LOG_STOPPED);
	const char *wrong = read_row(result, &ret_position->growth);
	if (!wrong)
		err = check_edge(store, log, &ret_position->growth.range, detail);
	else
		err = err_fail(detail, ERR_AUDIT_DAMAGED, "partition %d of %s: %s", (int)log->partition,
			       log->topic, wrong);
	ret_position->known = !err;
	return stopped && err == ERR_AUDIT_DAMAGED ? ERR_OK : err;
}

static err_t begin_log(struct audit_store *store, const struct audit_store_log *log, const char *origin,
		       struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf state = BUF_INIT;
	struct merkle_range empty = { 0 };
	struct database_number_text partition;
	const char *const parameters[] = { log->topic, database_number_text(&partition, log->partition),
					   origin, state_text(&state, &empty) };
	return database_query(store->database, BEGIN_LOG, 4, parameters, NULL, detail);
}

err_t audit_store_open(struct audit_store *store, const struct audit_store_log *log, const char *origin,
		       struct audit_store_position *ret_position, struct err_detail *detail)
{
	struct audit_store_position position = { .growth = GROWTH_START };
	err_t err = audit_store_prepare(store, detail);
	if (!err)
		err = begin_log(store, log, origin, detail);
	if (!err)
		err = read_log(store, log, origin, &position, detail);
	if (!err)
		*ret_position = position;
	return err;
}

/* ---- a batch ---- */

#define MOVE_LOG                                                                                             \
	"UPDATE audit_logs SET size = $3::bigint, next_offset = $4::bigint, last_offset = $5::bigint, "      \
	"last_leaf = $6::bytea, state = $7::bytea, stopped = NULL, updated_at = now() "                      \
	"WHERE topic = $1 AND partition = $2 AND size = $8::bigint AND next_offset = $9::bigint AND "        \
	"state = $10::bytea AND (stopped IS NULL) = $11::boolean"

static err_t move_log(struct audit_store *store, const struct audit_store_step *step,
		      struct err_detail *detail)
{
	const struct growth_position *from = &step->growth->from, *to = &step->growth->to;
	_cleanup_(buf_free) struct buf leaf = BUF_INIT, state = BUF_INIT, from_state = BUF_INIT;
	struct database_number_text size, next, last, from_size, from_next;
	bool has_last = to->last_offset != GROWTH_OFFSET_NONE;
	const char *parameters[] = {
		NULL,
		NULL,
		database_number_text(&size, (int64_t)to->range.size),
		database_number_text(&next, to->next_offset),
		has_last ? database_number_text(&last, to->last_offset) : NULL,
		has_last ? audit_store_bytes_text(&leaf, to->last_leaf.bytes, sizeof to->last_leaf.bytes)
			 : NULL,
		state_text(&state, &to->range),
		database_number_text(&from_size, (int64_t)from->range.size),
		database_number_text(&from_next, from->next_offset),
		state_text(&from_state, &from->range),
		step->lifts_stop ? "false" : "true",
	};
	return audit_store_change(store, &step->log, MOVE_LOG, 11, parameters, 1, ERR_CONFLICT,
				  "the log is not where the batch begins, or was stopped", detail);
}

/* Columns of tiles as arrays. */
struct tile_columns {
	struct buf levels, indexes, positions, hashes;
	size_t count;
};

static void free_columns(struct tile_columns *columns)
{
	buf_free(&columns->levels);
	buf_free(&columns->indexes);
	buf_free(&columns->positions);
	buf_free(&columns->hashes);
}

static void append_number(struct buf *array, uint64_t number)
{
	struct database_number_text text;
	array_append(array, str_from(database_number_text(&text, (int64_t)number)));
}

/* The tiles that are new, or those that there are already. */
static void fill_columns(struct tile_columns *columns, const struct growth *growth, bool new)
{
	for (size_t i = 0; i < growth->tiles_count; i++) {
		const struct growth_tile *tile = &growth->tiles[i];
		if ((tile->place.position == 0) != new)
			continue;
		append_number(&columns->levels, tile->place.level);
		append_number(&columns->indexes, tile->place.index);
		append_number(&columns->positions, tile->place.position);
		array_append_bytes(&columns->hashes, tile->hashes[0].bytes,
				   tile->count * sizeof tile->hashes[0]);
		columns->count++;
	}
	array_end(&columns->levels);
	array_end(&columns->indexes);
	array_end(&columns->positions);
	array_end(&columns->hashes);
}

#define TILES                                                                                                \
	"unnest($3::smallint[], $4::bigint[], $5::integer[], $6::bytea[]) AS a (level, index, position, "    \
	"hashes) "

#define ADD_TILES                                                                                            \
	"INSERT INTO audit_tiles (topic, partition, level, index, hashes) "                                  \
	"SELECT $1::text, $2::integer, a.level, a.index, a.hashes FROM " TILES "WHERE a.position = 0 "       \
	"ON CONFLICT DO NOTHING"

#define WIDEN_TILES                                                                                          \
	"UPDATE audit_tiles t SET hashes = t.hashes || a.hashes FROM " TILES                                 \
	"WHERE t.topic = $1 AND t.partition = $2 AND t.level = a.level AND t.index = a.index AND "           \
	"octet_length(t.hashes) = 32 * a.position"

static err_t write_tiles(struct audit_store *store, const struct audit_store_step *step, bool new,
			 struct err_detail *detail)
{
	_cleanup_(free_columns) struct tile_columns columns = { .count = 0 };
	fill_columns(&columns, step->growth, new);
	const char *parameters[] = { NULL,
				     NULL,
				     columns.levels.data,
				     columns.indexes.data,
				     columns.positions.data,
				     columns.hashes.data };
	if (columns.count == 0)
		return ERR_OK;
	return audit_store_change(store, &step->log, new ? ADD_TILES : WIDEN_TILES, 6, parameters,
				  columns.count, ERR_AUDIT_DAMAGED,
				  "the tiles are not as wide as the size says", detail);
}

static err_t write_marks(struct audit_store *store, const struct audit_store_step *step,
			 struct err_detail *detail)
{
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < step->growth->marks_count; i++) {
		const struct growth_mark *mark = step->growth->marks[i];
		struct database_number_text index, from, to;
		const char *parameters[] = {
			NULL,
			NULL,
			database_number_text(&index, (int64_t)mark->index),
			mark->mark.kind == LEAF_MARK_GAP ? "gap" : "begins_again",
			database_number_text(&from, mark->mark.from_offset),
			database_number_text(&to, mark->mark.to_offset),
			mark->reason,
		};
		err = audit_store_change(
			store, &step->log,
			"INSERT INTO audit_marks (topic, partition, index, kind, from_offset, to_offset, "
			"reason) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
			7, parameters, 1, ERR_AUDIT_DAMAGED, "there is a mark of that leaf already", detail);
	}
	return err;
}

/* One of that size is there already: of the same tree, since a commit was not confirmed, or of another. */
static err_t refuse_checkpoint(struct audit_store *store, const struct audit_store_step *step,
			       const char *const *parameters, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(store->database,
				   "SELECT 1 FROM audit_checkpoints WHERE topic = $1 AND partition = $2 AND "
				   "size = $3 AND state = $4::bytea",
				   4, parameters, &result, detail);
	if (err)
		return err;
	return err_fail(detail, PQntuples(result) ? ERR_CONFLICT : ERR_AUDIT_DAMAGED,
			"partition %d of %s: there is a checkpoint of that size already",
			(int)step->log.partition, step->log.topic);
}

static err_t write_checkpoint(struct audit_store *store, const struct audit_store_step *step,
			      struct err_detail *detail)
{
	const struct growth_position *to = &step->growth->to;
	_cleanup_(buf_free) struct buf state = BUF_INIT;
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text partition, size, next;
	const char *const parameters[] = { step->log.topic,
					   database_number_text(&partition, step->log.partition),
					   database_number_text(&size, (int64_t)to->range.size),
					   state_text(&state, &to->range),
					   database_number_text(&next, to->next_offset),
					   step->note };
	if (!step->note)
		return ERR_OK;
	err_t err =
		database_query(store->database,
			       "INSERT INTO audit_checkpoints (topic, partition, size, state, next_offset, "
			       "note) VALUES ($1, $2, $3, $4::bytea, $5, $6) ON CONFLICT DO NOTHING",
			       6, parameters, &result, detail);
	if (!err && strcmp(PQcmdTuples(result), "1") != 0)
		err = refuse_checkpoint(store, step, parameters, detail);
	return err;
}

static err_t write_step(struct audit_store *store, const struct audit_store_step *step,
			struct err_detail *detail)
{
	err_t err = move_log(store, step, detail);
	if (!err)
		err = write_tiles(store, step, false, detail);
	if (!err)
		err = write_tiles(store, step, true, detail);
	if (!err)
		err = write_marks(store, step, detail);
	return err ? err : write_checkpoint(store, step, detail);
}

err_t audit_store_apply(struct audit_store *store, const struct audit_store_step *steps, size_t count,
			size_t *ret_failed, struct err_detail *detail)
{
	err_t err = audit_store_prepare(store, detail);
	if (!err)
		err = database_script(store->database, "BEGIN", detail);
	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++) {
		*ret_failed = i;
		err = write_step(store, &steps[i], detail);
	}
	return finish(store, err, detail);
}

/* ---- stopping ---- */

err_t audit_store_stop(struct audit_store *store, const struct audit_store_log *log, const char *reason,
		       struct err_detail *detail)
{
	const char *parameters[] = { NULL, NULL, reason };
	err_t err = audit_store_prepare(store, detail);
	return err ? err
		   : audit_store_change(
			     store, log,
			     "UPDATE audit_logs SET stopped = coalesce(stopped, $3) WHERE topic = $1 AND "
			     "partition = $2",
			     3, parameters, 1, ERR_CONFLICT, "there is no log to stop", detail);
}
