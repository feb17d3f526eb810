#include "target/supervisor.h"

#include "common/clock.h"
#include "common/hash.h"
#include "common/kept_file.h"
#include "common/log.h"
#include "sql/query/required.h"

#include <ctype.h>
#include <inttypes.h>

/* A kept catalog is one line of header (format, version, digest of where it was read, time, digest of the
 * content) and the content. */
#define HEADER_FORMAT	 "assayd-catalog 1 %64s %" SCNd64 " %64s"
#define HEADER_MAX_BYTES 256
#define KEPT_MAX_BYTES	 ((size_t)256 << 20)
#define COMPILE_RETRY_US ((int64_t)60 * 1000000)

void target_catalog_settle(struct target *target, int64_t due_us, const char *error)
{
	struct targets *targets = target->targets;
	pthread_mutex_lock(&targets->mutex);
	target->catalog_due_us = due_us;
	target->catalog_settled = true;
	target->catalog_failed = error != NULL;
	err_fail(&target->catalog_error, ERR_CATALOG_UNAVAILABLE, "%s", error ? error : "");
	pthread_cond_broadcast(&targets->changed);
	pthread_mutex_unlock(&targets->mutex);
}

/* A rule of another name never fires. Each is told once, and again when it was right in between. */
static void check_rules(struct target *target, const struct catalog *catalog)
{
	const struct sql_policy *policy = &target->settings.policy;
	struct arena *arena = arena_new();
	for (size_t i = 0; i < policy->required_columns_count; i++) {
		const struct sql_required_column *rule = &policy->required_columns[i];
		str_t wrong = required_misnamed(rule, catalog, arena);
		if (str_present(wrong) && !target->misnamed[i])
			log_error("target %s: required_columns \"" STR_FMT "." STR_FMT
				  "\" can never be required: " STR_FMT,
				  target->settings.name, STR_ARG(rule->table), STR_ARG(rule->column),
				  STR_ARG(wrong));
		target->misnamed[i] = str_present(wrong);
	}
	arena_free(arena);
}

static void put_in_place(struct target *target, struct catalog *catalog)
{
	check_rules(target, catalog);
	pthread_mutex_lock(&target->targets->mutex);
	struct catalog *before = target->catalog;
	target->catalog = catalog;
	pthread_mutex_unlock(&target->targets->mutex);
	if (before)
		catalog_unref(before);
}

err_t target_catalog_compile(enum target_engine engine, str_t source, struct catalog **ret_catalog,
			     struct err_detail *detail)
{
	switch (engine) {
	case TARGET_SQLITE:
		return catalog_compile_sqlite(source, ret_catalog, detail);
	case TARGET_MARIADB:
		return catalog_compile_mysql(source, ret_catalog, detail);
	case TARGET_MONGODB:
		return catalog_compile_mongodb(source, ret_catalog, detail);
	case TARGET_POSTGRESQL:
		break;
	}
	return catalog_compile_postgresql(source, ret_catalog, detail);
}

/* --- keeping --- */

/* Names of targets are free text: what is not plain is written as %XX. */
static void path_of(const struct target *target, struct buf *ret_path)
{
	buf_printf(ret_path, "%s/catalog-", target->targets->state_directory);
	for (const char *at = target->settings.name; *at; at++) {
		if (isalnum((unsigned char)*at) || *at == '_' || *at == '-')
			buf_append_char(ret_path, *at);
		else
			buf_printf(ret_path, "%%%02X", (unsigned)(unsigned char)*at);
	}
	buf_printf(ret_path, ".%s", target_engine_name(target->settings.engine));
}

/* A target whose connection has changed is another database: its kept catalog is of no use. */
static void origin_of(const struct target *target, char ret_hex[DIGEST_HEX_SIZE])
{
	bool is_file = target_engine_is_file(target->settings.engine);
	const char *where = is_file ? target->settings.path : target->settings.dsn;
	hash_sha256_hex(where, strlen(where), ret_hex);
}

/* What cannot be kept is fetched again after the next start. */
static void keep(const struct fetched_catalog *fetched)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT;
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	const struct target *target = fetched->target;
	struct targets *targets = target->targets;
	char origin[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
	struct err_detail detail = { "" };
	if (!targets->state_directory)
		return;
	path_of(target, &path);
	origin_of(target, origin);
	hash_sha256_hex(fetched->json.data, fetched->json.len, digest);
	buf_printf(&content, "assayd-catalog 1 %s %" PRId64 " %s\n", origin, fetched->read_at_ms, digest);
	buf_append_str(&content, buf_str(&fetched->json));
	err_t err = kept_file_write(path.data, buf_str(&content), &detail);
	if (err && !targets->unkept)
		log_warning("catalogs cannot be kept for the next start: %s; make the directory, or mend "
			    "pipeline.state_directory",
			    err_message(err, &detail));
	targets->unkept = err != ERR_OK;
}

/* The content behind a header that fits; absent when this is no catalog of the target. */
static str_t check_kept(const struct target *target, const struct buf *file, int64_t *ret_read_at_ms)
{
	char header[HEADER_MAX_BYTES], origin[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
	char expected[DIGEST_HEX_SIZE];
	const char *line_end = memchr(file->data, '\n', file->len);
	if (!line_end || line_end - file->data >= HEADER_MAX_BYTES)
		return STR_NONE;
	size_t header_len = (size_t)(line_end - file->data);
	memcpy(header, file->data, header_len);
	header[header_len] = '\0';
	if (sscanf(header, HEADER_FORMAT, origin, ret_read_at_ms, digest) != 3)
		return STR_NONE;
	origin_of(target, expected);
	if (strcmp(origin, expected) != 0)
		return STR_NONE;
	str_t content = { line_end + 1, file->len - header_len - 1 };
	hash_sha256_hex(content.ptr, content.len, expected);
	return strcmp(digest, expected) == 0 ? content : STR_NONE;
}

static void load_kept(struct target *target)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT;
	_cleanup_(buf_free) struct buf file = BUF_INIT;
	struct err_detail detail = { "" };
	struct catalog *catalog;
	int64_t read_at_ms;
	path_of(target, &path);
	if (kept_file_read(path.data, KEPT_MAX_BYTES, &file, NULL) != ERR_OK)
		return;
	str_t json = check_kept(target, &file, &read_at_ms);
	if (!str_present(json) || target_catalog_compile(target->settings.engine, json, &catalog, &detail)) {
		log_warning("the kept catalog %s is of no use and will be fetched anew", path.data);
		return;
	}
	catalog_set_read_at_ms(catalog, read_at_ms);
	put_in_place(target, catalog);
}

/* --- the thread --- */

static void take_fetched(struct fetched_catalog *fetched)
{
	struct target *target = fetched->target;
	struct err_detail detail = { "" };
	struct catalog *catalog;
	err_t err =
		target_catalog_compile(target->settings.engine, buf_str(&fetched->json), &catalog, &detail);
	if (err) {
		log_error("the catalog of target %s cannot be understood: %s", target->settings.name,
			  err_message(err, &detail));
		target_catalog_settle(target, clock_monotonic_us() + COMPILE_RETRY_US,
				      err_message(err, &detail));
		return;
	}
	catalog_set_read_at_ms(catalog, fetched->read_at_ms);
	put_in_place(target, catalog);
	target_catalog_settle(target, clock_monotonic_us() + target->settings.catalog_ttl_s * 1000000, NULL);
	keep(fetched);
}

void target_catalogs_run(void *context, unsigned index)
{
	struct targets *targets = context;
	(void)index;
	for (size_t i = 0; targets->state_directory && i < targets->count; i++)
		load_kept(&targets->items[i]);
	pthread_mutex_lock(&targets->mutex);
	targets->loaded = true;
	pthread_cond_broadcast(&targets->changed);
	pthread_mutex_unlock(&targets->mutex);
	for (struct list_node *node; (node = queue_take(&targets->fetched, -1));) {
		struct fetched_catalog *fetched = container_of(node, struct fetched_catalog, node);
		take_fetched(fetched);
		buf_free(&fetched->json);
		free(fetched);
	}
}
