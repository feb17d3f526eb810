#include "audit/recompute/archive_reader.h"

#include <pthread.h>

enum { SAME_NUMBER_MAX = 16 };

static char there, missing;

enum { CATALOGS_MAX = 64 };

/* All models of a number; none is an answer, too. */
struct archive_reader_version {
	struct archive_reader_version *next;
	int64_t number;
	struct model *models[SAME_NUMBER_MAX];
	size_t count;
};

/* A configuration; none is an answer, too. */
struct archive_reader_config {
	struct archive_reader_config *next;
	char digest[DIGEST_HEX_SIZE];
	struct recompute_settings *settings; /* or NULL */
};

struct archive_reader {
	struct database *database;
	pthread_mutex_t mutex;
	struct archive_reader_version *versions;
	struct archive_reader_config *configs;
	struct arena *arena;	 /* of the map */
	struct hash_map digests; /* that were asked for: to `there` or `missing` */
	struct {
		char digest[DIGEST_HEX_SIZE];
		struct catalog *catalog; /* NULL: there is none */
	} catalogs[CATALOGS_MAX];	 /* those that were asked for first: references are handed out */
	size_t catalogs_count;
	err_t err; /* the first one */
	struct err_detail detail;
};

struct archive_reader *archive_reader_new(struct database *database)
{
	struct archive_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		abort();
	reader->database = database;
	reader->arena = arena_new();
	hash_map_init(&reader->digests, reader->arena, 64);
	pthread_mutex_init(&reader->mutex, NULL);
	return reader;
}

void archive_reader_free(struct archive_reader *reader)
{
	if (!reader)
		return;
	for (struct archive_reader_version *version = reader->versions, *next; version; version = next) {
		next = version->next;
		for (size_t i = 0; i < version->count; i++)
			model_unref(version->models[i]);
		free(version);
	}
	for (struct archive_reader_config *config = reader->configs, *next; config; config = next) {
		next = config->next;
		recompute_settings_free(config->settings);
		free(config);
	}
	for (size_t i = 0; i < reader->catalogs_count; i++)
		catalog_unref(reader->catalogs[i].catalog);
	arena_free(reader->arena);
	pthread_mutex_destroy(&reader->mutex);
	free(reader);
}

static err_t read_model(struct archive_reader *reader, const struct archive_row *row,
			struct archive_reader_version *version, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf document = BUF_INIT;
	struct model *model;
	err_t err = archive_store_read(reader->database, row, &document, detail);
	if (!err)
		err = model_decode(buf_str(&document), &model, detail);
	if (!err)
		version->models[version->count++] = model;
	return err;
}

/* Rows of a digest, or of a model's number; none where there is no archive yet. */
static err_t find_rows(struct archive_reader *reader, str_t digest, int64_t number, struct arena *arena,
		       struct archive_row **ret_rows, size_t *ret_count, struct err_detail *detail)
{
	int version = 0;
	*ret_count = 0;
	if (reader->err == ERR_DATABASE_UNAVAILABLE) /* it is away: who asks again would wait again */
		return reader->err;
	err_t err = database_connect(reader->database, NULL, detail);
	if (!err)
		err = archive_store_read_version(reader->database, &version, detail);
	return err || !version ? err
			       : archive_store_find(reader->database, digest, number, SAME_NUMBER_MAX, arena,
						    ret_rows, ret_count, detail);
}

static err_t read_version(struct archive_reader *reader, struct archive_reader_version *version,
			  struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct archive_row *rows;
	size_t count;
	err_t err = find_rows(reader, STR(""), version->number, arena, &rows, &count, detail);
	for (size_t i = 0; !err && i < count; i++)
		err = read_model(reader, &rows[i], version, detail);
	return err;
}

static void note(struct archive_reader *reader, err_t err, const struct err_detail *detail)
{
	if (!err || reader->err)
		return;
	reader->err = err;
	reader->detail = *detail;
}

/* The mutex is held. */
static struct archive_reader_version *version_of(struct archive_reader *reader, int64_t number)
{
	struct archive_reader_version *version = reader->versions;
	while (version && version->number != number)
		version = version->next;
	if (version)
		return version;
	version = calloc(1, sizeof *version);
	if (!version)
		abort();
	version->number = number;
	version->next = reader->versions;
	reader->versions = version;
	struct err_detail detail = { "" };
	note(reader, read_version(reader, version, &detail), &detail);
	return version;
}

const struct model *archive_reader_model(void *context, int64_t number, size_t index)
{
	struct archive_reader *reader = context;
	if (number <= 0)
		return NULL;
	pthread_mutex_lock(&reader->mutex);
	const struct archive_reader_version *version = version_of(reader, number);
	const struct model *model = index < version->count ? version->models[index] : NULL;
	pthread_mutex_unlock(&reader->mutex);
	return model;
}

/* ---- contents ---- */

static err_t compile(str_t form, str_t source, struct catalog **ret_catalog, struct err_detail *detail)
{
	if (str_is(form, "postgresql"))
		return catalog_compile_postgresql(source, ret_catalog, detail);
	if (str_is(form, "sqlite"))
		return catalog_compile_sqlite(source, ret_catalog, detail);
	if (str_is(form, "mysql"))
		return catalog_compile_mysql(source, ret_catalog, detail);
	if (str_is(form, "mongodb"))
		return catalog_compile_mongodb(source, ret_catalog, detail);
	return err_fail(detail, ERR_AUDIT_DAMAGED, "this program does not read catalogs of \"" STR_FMT "\"",
			STR_ARG(form));
}

static err_t compile_row(const struct archive_row *row, str_t source, struct catalog **ret_catalog,
			 struct err_detail *detail)
{
	struct catalog *catalog = NULL;
	struct err_detail reason = { "" };
	err_t err = compile(row->form, source, &catalog, &reason);
	if (!err && str_is(row->digest, catalog_digest(catalog))) {
		*ret_catalog = catalog;
		return ERR_OK;
	}
	catalog_unref(catalog);
	return err_fail(detail, ERR_AUDIT_DAMAGED,
			"the archived catalog " STR_FMT " is not what its digest is of%s%s; where this is "
			"another version than the one that wrote it, assayd " STR_FMT
			", ask that one: what is compiled of a catalog may differ",
			STR_ARG(row->digest), err ? ": " : "", err ? err_message(err, &reason) : "",
			STR_ARG(row->program_version));
}

/* Whether a line of "path=value" begins it, as in configurations alone. */
static bool begins_as(enum archive_kind kind, str_t content)
{
	static const char prompts[] = "relevance.txt ";
	if (kind == ARCHIVE_PROMPTS)
		return content.len >= strlen(prompts) && memcmp(content.ptr, prompts, strlen(prompts)) == 0;
	size_t line = content.len ? strcspn(content.ptr, "\n") : 0;
	return kind != ARCHIVE_CONFIG || (line && memchr(content.ptr, '=', line));
}

static err_t verify_model(const struct archive_row *row, str_t content, struct err_detail *detail)
{
	struct model *model;
	err_t err = model_decode(content, &model, detail);
	if (err)
		return err;
	int64_t version = model_info(model)->version;
	model_unref(model);
	return version == row->version
		       ? ERR_OK
		       : err_fail(detail, ERR_AUDIT_DAMAGED,
				  "the archived model " STR_FMT " is of version %lld, and its row says %lld",
				  STR_ARG(row->digest), (long long)version, (long long)row->version);
}

err_t archive_reader_verify(const struct archive_row *row, str_t content, struct err_detail *detail)
{
	struct catalog *catalog;
	if (row->kind == ARCHIVE_MODEL)
		return verify_model(row, content, detail);
	if (row->kind != ARCHIVE_CATALOG)
		return begins_as(row->kind, content)
			       ? ERR_OK
			       : err_fail(detail, ERR_AUDIT_DAMAGED, "the archived %s " STR_FMT " is none",
					  archive_kind_name(row->kind), STR_ARG(row->digest));
	err_t err = compile_row(row, content, &catalog, detail);
	if (!err)
		catalog_unref(catalog);
	return err;
}

/* The mutex is held. What is damaged is not there, and noted. */
static bool look_for(struct archive_reader *reader, str_t digest)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	struct archive_row *rows;
	size_t count;
	bool found = false;
	note(reader, find_rows(reader, digest, 0, arena, &rows, &count, &detail), &detail);
	for (size_t i = 0; i < count; i++) {
		_cleanup_(buf_free) struct buf content = BUF_INIT;
		err_t err = archive_store_read(reader->database, &rows[i], &content, &detail);
		if (!err)
			err = archive_reader_verify(&rows[i], buf_str(&content), &detail);
		note(reader, err, &detail);
		found |= !err;
	}
	return found;
}

static err_t read_settings(struct archive_reader *reader, str_t digest,
			   struct recompute_settings **ret_settings, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	struct archive_row *rows;
	size_t count;
	err_t err = find_rows(reader, digest, 0, arena, &rows, &count, detail);
	if (err || count == 0 || rows[0].kind != ARCHIVE_CONFIG)
		return err;
	err = archive_store_read(reader->database, &rows[0], &content, detail);
	if (!err)
		*ret_settings = recompute_settings_read(buf_str(&content));
	return err;
}

const struct recompute_settings *archive_reader_settings(void *context, str_t digest)
{
	struct archive_reader *reader = context;
	struct archive_reader_config *config;
	struct err_detail detail = { "" };
	if (digest.len != DIGEST_HEX_SIZE - 1)
		return NULL;
	pthread_mutex_lock(&reader->mutex);
	for (config = reader->configs; config && !str_is(digest, config->digest);)
		config = config->next;
	if (!config) {
		config = calloc(1, sizeof *config);
		if (!config)
			abort();
		snprintf(config->digest, sizeof config->digest, STR_FMT, STR_ARG(digest));
		note(reader, read_settings(reader, str_from(config->digest), &config->settings, &detail),
		     &detail);
		config->next = reader->configs;
		reader->configs = config;
	}
	pthread_mutex_unlock(&reader->mutex);
	return config->settings;
}

bool archive_reader_has(void *context, str_t digest)
{
	struct archive_reader *reader = context;
	if (digest.len != DIGEST_HEX_SIZE - 1)
		return false;
	pthread_mutex_lock(&reader->mutex);
	char *found = hash_map_get(&reader->digests, digest);
	if (!found) {
		const str_t copy = arena_str(reader->arena, digest);
		found = look_for(reader, copy) ? &there : &missing;
		hash_map_set(&reader->digests, copy, found);
	}
	pthread_mutex_unlock(&reader->mutex);
	return found == &there;
}

/* ---- catalogs ---- */

static err_t read_catalog(struct archive_reader *reader, str_t digest, struct catalog **ret_catalog,
			  struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf source = BUF_INIT;
	struct archive_row *rows;
	size_t count;
	err_t err = find_rows(reader, digest, 0, arena, &rows, &count, detail);
	if (err || count == 0 || rows[0].kind != ARCHIVE_CATALOG)
		return err;
	err = archive_store_read(reader->database, &rows[0], &source, detail);
	return err ? err : compile_row(&rows[0], buf_str(&source), ret_catalog, detail);
}

/* The mutex is held. More than there is room for are not found: their records are counted as such. */
static const struct catalog *catalog_of(struct archive_reader *reader, str_t digest)
{
	struct err_detail detail = { "" };
	struct catalog *catalog = NULL;
	for (size_t i = 0; i < reader->catalogs_count; i++)
		if (str_is(digest, reader->catalogs[i].digest))
			return reader->catalogs[i].catalog;
	if (reader->catalogs_count == CATALOGS_MAX)
		return NULL;
	note(reader, read_catalog(reader, digest, &catalog, &detail), &detail);
	snprintf(reader->catalogs[reader->catalogs_count].digest, DIGEST_HEX_SIZE, STR_FMT, STR_ARG(digest));
	reader->catalogs[reader->catalogs_count++].catalog = catalog;
	return catalog;
}

const struct catalog *archive_reader_catalog(void *context, str_t digest)
{
	struct archive_reader *reader = context;
	if (digest.len != DIGEST_HEX_SIZE - 1)
		return NULL;
	pthread_mutex_lock(&reader->mutex);
	const struct catalog *catalog = catalog_of(reader, digest);
	pthread_mutex_unlock(&reader->mutex);
	return catalog;
}

err_t archive_reader_error(struct archive_reader *reader, struct err_detail *detail)
{
	pthread_mutex_lock(&reader->mutex);
	err_t err = reader->err;
	if (err)
		err_fail(detail, err, "%s", err_message(err, &reader->detail));
	pthread_mutex_unlock(&reader->mutex);
	return err;
}
