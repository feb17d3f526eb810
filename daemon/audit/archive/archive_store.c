#include "audit/archive/archive_store.h"

#include "database/migrations.h"
#include "database/values.h"

#include <zlib.h>

/* The included list of byte values is made from the file by the build and ends with a NUL. */
static const unsigned char script[] = {
#include "schemas/archive.sql.inc"
};

static const struct migrations migrations = { (const char *)script, "audit_archive_versions", 7236837402,
					      "tables of the audit archive" };

err_t archive_store_migrate(struct database *database, struct err_detail *detail)
{
	return migrations_apply(&migrations, database, detail);
}

int archive_store_version(void)
{
	return migrations_newest(&migrations);
}

err_t archive_store_read_version(struct database *database, int *ret_version, struct err_detail *detail)
{
	return migrations_read(&migrations, database, ret_version, detail);
}

/* ---- writing ---- */

#define TOUCH                                                                                                \
	"UPDATE audit_archive SET last_used = greatest(last_used, now()) WHERE digest = $1 AND kind = $2 "   \
	"RETURNING 1"

err_t archive_store_touch(struct database *database, const struct archive_item *item, bool *ret_there,
			  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { item->digest, archive_kind_name(item->kind) };
	err_t err = database_query(database, TOUCH, 2, parameters, &result, detail);
	if (!err)
		*ret_there = PQntuples(result) == 1;
	return err;
}

/* As the text of a bytea. */
static void append_bytes(struct buf *out, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *at = buf_reserve(out, 2 * len + 2);
	*at++ = '\\';
	*at++ = 'x';
	for (size_t i = 0; i < len; i++) {
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
	}
	out->len += 2 * len + 2;
	buf_append(out, "", 1); /* ends with a NUL, as a parameter has to */
}

/* Compressed, as a parameter, and its SHA-256 as another one. */
static void compress_content(str_t content, struct buf *out, struct buf *sum)
{
	_cleanup_(buf_free) struct buf zipped = BUF_INIT;
	unsigned char digest[DIGEST_BYTES];
	uLongf size = compressBound(content.len);
	unsigned char *data = (unsigned char *)buf_reserve(&zipped, size);
	if (compress(data, &size, (const Bytef *)content.ptr, content.len) != Z_OK)
		abort(); /* out of memory: the room is enough */
	append_bytes(out, data, size);
	hash_sha256(data, size, digest);
	append_bytes(sum, digest, sizeof digest);
}

#define ADD                                                                                                  \
	"INSERT INTO audit_archive (digest, kind, form, version, size_bytes, sha256, content, "              \
	"program_version) VALUES ($1, $2, $3, nullif($4::bigint, 0), $5::bigint, $6::bytea, $7::bytea, $8) " \
	"ON CONFLICT (digest, kind) DO UPDATE SET last_used = greatest(audit_archive.last_used, now())"

err_t archive_store_add(struct database *database, const struct archive_item *item, str_t content,
			const char *program, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf zipped = BUF_INIT, sum = BUF_INIT;
	struct database_number_text version, size;
	compress_content(content, &zipped, &sum);
	const char *const parameters[] = { item->digest,
					   archive_kind_name(item->kind),
					   item->form,
					   database_number_text(&version, item->version),
					   database_number_text(&size, (int64_t)content.len),
					   sum.data,
					   zipped.data,
					   program };
	return database_query(database, ADD, 8, parameters, NULL, detail);
}

/* Two days more: that is how far last_used may be behind, and a while. */
#define EXPIRE "DELETE FROM audit_archive WHERE last_used < now() - make_interval(days => $1::integer + 2)"

err_t archive_store_expire(struct database *database, int64_t days, uint64_t *ret_deleted,
			   struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text number;
	const char *const parameters[] = { database_number_text(&number, days) };
	err_t err = database_query(database, EXPIRE, 1, parameters, &result, detail);
	if (!err)
		*ret_deleted = strtoull(PQcmdTuples(result), NULL, 10);
	return err;
}

/* ---- reading ---- */

#define TIME_OF(column) "to_char(" column " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

#define ROWS                                                                                                 \
	"SELECT kind, digest, form, coalesce(version, 0), size_bytes, program_version, " TIME_OF(            \
		"first_used") ", " TIME_OF("last_used") " FROM audit_archive WHERE "

#define FIND                                                                                                 \
	ROWS "CASE WHEN $2::bigint > 0 THEN version = $2::bigint ELSE starts_with(digest, $1) END ORDER BY " \
	     "digest, kind LIMIT $3::bigint"

#define NEXT ROWS "(digest, kind) > ($1, $2) ORDER BY digest, kind LIMIT $3::bigint"

static err_t take_row(const PGresult *result, int row, struct arena *arena, struct archive_row *ret_row,
		      struct err_detail *detail)
{
	int kind = archive_kind_find(PQgetvalue(result, row, 0));
	if (kind < 0)
		return err_fail(detail, ERR_AUDIT_DAMAGED, "the archive has an entry of the kind \"%.40s\"",
				PQgetvalue(result, row, 0));
	*ret_row = (struct archive_row){
		.kind = (enum archive_kind)kind,
		.digest = database_text_at(result, row, 1, arena),
		.form = database_text_at(result, row, 2, arena),
		.version = database_integer_at(result, row, 3),
		.size_bytes = database_integer_at(result, row, 4),
		.program_version = database_text_at(result, row, 5, arena),
		.first_used = database_text_at(result, row, 6, arena),
		.last_used = database_text_at(result, row, 7, arena),
	};
	return ERR_OK;
}

static err_t read_rows(struct database *database, const char *query, const char *const parameters[3],
		       struct arena *arena, struct archive_row **ret_rows, size_t *ret_count,
		       struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, query, 3, parameters, &result, detail);
	if (err)
		return err;
	size_t count = (size_t)PQntuples(result);
	struct archive_row *rows = ARENA_ARRAY(arena, struct archive_row, count);
	for (size_t i = 0; !err && i < count; i++)
		err = take_row(result, (int)i, arena, &rows[i], detail);
	if (!err) {
		*ret_rows = rows;
		*ret_count = count;
	}
	return err;
}

err_t archive_store_find(struct database *database, str_t prefix, int64_t version, size_t most,
			 struct arena *arena, struct archive_row **ret_rows, size_t *ret_count,
			 struct err_detail *detail)
{
	struct database_number_text number, limit;
	const char *const parameters[] = { prefix.ptr, database_number_text(&number, version),
					   database_number_text(&limit, (int64_t)most) };
	return read_rows(database, FIND, parameters, arena, ret_rows, ret_count, detail);
}

err_t archive_store_next(struct database *database, const struct archive_row *after, size_t most,
			 struct arena *arena, struct archive_row **ret_rows, size_t *ret_count,
			 struct err_detail *detail)
{
	struct database_number_text limit;
	const char *const parameters[] = { after ? after->digest.ptr : "",
					   after ? archive_kind_name(after->kind) : "",
					   database_number_text(&limit, (int64_t)most) };
	return read_rows(database, NEXT, parameters, arena, ret_rows, ret_count, detail);
}

/* What is larger than any that was written is not fetched. */
#define READ                                                                                                 \
	"SELECT sha256, CASE WHEN octet_length(content) <= $3::bigint THEN content ELSE '' END FROM "        \
	"audit_archive WHERE digest = $1 AND kind = $2"

static err_t fail_damaged(const struct archive_row *row, const char *how, struct err_detail *detail)
{
	return err_fail(detail, ERR_AUDIT_DAMAGED, "the archived %s " STR_FMT " is damaged: %s",
			archive_kind_name(row->kind), STR_ARG(row->digest), how);
}

/* Bytes of a column; the caller frees them. */
static unsigned char *bytes_at(const PGresult *result, int column, size_t *ret_len)
{
	unsigned char *bytes = PQunescapeBytea((const unsigned char *)PQgetvalue(result, 0, column), ret_len);
	if (!bytes)
		abort();
	return bytes;
}

/* As it lies there, before anything is made of it. */
static err_t check_stored(const struct archive_row *row, const PGresult *result, const unsigned char *data,
			  size_t len, struct err_detail *detail)
{
	unsigned char digest[DIGEST_BYTES];
	size_t sum_len;
	unsigned char *sum = bytes_at(result, 0, &sum_len);
	hash_sha256(data, len, digest);
	bool same = sum_len == sizeof digest && memcmp(sum, digest, sizeof digest) == 0;
	PQfreemem(sum);
	return same ? ERR_OK : fail_damaged(row, "its bytes are not those that were written", detail);
}

static err_t inflate_content(const struct archive_row *row, const unsigned char *data, size_t len,
			     struct buf *content, struct err_detail *detail)
{
	char hex[DIGEST_HEX_SIZE];
	if (row->size_bytes < 0 || (uint64_t)row->size_bytes > ARCHIVE_CONTENT_MAX)
		return fail_damaged(row, "it has an impossible size", detail);
	uLongf size = (uLongf)row->size_bytes;
	char *to = buf_reserve(content, size + 1);
	int status = uncompress((Bytef *)to, &size, data, len);
	if (status != Z_OK || size != (uLongf)row->size_bytes)
		return fail_damaged(row, "it cannot be decompressed", detail);
	hash_sha256_hex(to, size, hex);
	if (row->kind != ARCHIVE_CATALOG && !str_is(row->digest, hex))
		return fail_damaged(row, "its SHA-256 is not its digest", detail);
	content->len += size;
	content->data[content->len] = '\0';
	return ERR_OK;
}

err_t archive_store_read(struct database *database, const struct archive_row *row, struct buf *content,
			 struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text most;
	const char *const parameters[] = { row->digest.ptr, archive_kind_name(row->kind),
					   database_number_text(
						   &most, (int64_t)compressBound(ARCHIVE_CONTENT_MAX)) };
	err_t err = database_query(database, READ, 3, parameters, &result, detail);
	if (err)
		return err;
	if (PQntuples(result) == 0)
		return fail_damaged(row, "it was deleted meanwhile", detail);
	size_t len;
	unsigned char *data = bytes_at(result, 1, &len);
	err = check_stored(row, result, data, len, detail);
	if (!err)
		err = inflate_content(row, data, len, content, detail);
	PQfreemem(data);
	return err;
}
