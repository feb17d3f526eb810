#include "avro/registry/registry_store.h"

#include "common/hash.h"
#include "common/kept_file.h"
#include "common/log.h"

#include <dirent.h>

/* A line with the SHA-256 of all that follows; a line of what it is; the schema. */
#define HEADER	      "assayd-schema 1 "
#define PREFIX	      "registry-"
#define LINES_BYTES   256
#define NAME_BYTES    64
#define REGISTRY_HEX  16 /* digits of the digest of the addresses */
#define SUBJECT_BYTES (DIGEST_HEX_SIZE + 8)

struct registry_store {
	char *directory;
	char registry[REGISTRY_HEX + 1];
};

struct registry_store *registry_store_new(const char *directory, const char *const *urls, size_t urls_count)
{
	_cleanup_(buf_free) struct buf all = BUF_INIT;
	char digest[DIGEST_HEX_SIZE];
	if (!directory)
		return NULL;
	struct registry_store *store = calloc(1, sizeof *store);
	if (!store || !(store->directory = strdup(directory)))
		abort();
	for (size_t i = 0; i < urls_count; i++)
		buf_printf(&all, "%s\n", urls[i]);
	hash_sha256_hex(all.data, all.len, digest);
	memcpy(store->registry, digest, REGISTRY_HEX);
	return store;
}

void registry_store_free(struct registry_store *store)
{
	if (store)
		free(store->directory);
	free(store);
}

/* "7", or a GUID in 32 hexadecimal digits. */
static void name_key(const struct schema_name *name, char key[NAME_BYTES])
{
	if (!name->by_guid) {
		snprintf(key, NAME_BYTES, "id-%u", name->id);
		return;
	}
	size_t at = (size_t)snprintf(key, NAME_BYTES, "guid-");
	for (size_t i = 0; i < sizeof name->guid; i++)
		at += (size_t)snprintf(key + at, NAME_BYTES - at, "%02x", name->guid[i]);
}

static bool read_key(const char *key, struct schema_name *ret_name)
{
	struct schema_name name = { 0 };
	char again[NAME_BYTES];
	if (strncmp(key, "id-", 3) == 0) {
		name.id = (uint32_t)strtoul(key + 3, NULL, 10);
	} else if (strncmp(key, "guid-", 5) == 0 && strlen(key) == 5 + 2 * sizeof name.guid) {
		name.by_guid = true;
		for (size_t i = 0; i < sizeof name.guid; i++)
			sscanf(key + 5 + 2 * i, "%2hhx", &name.guid[i]);
	}
	name_key(&name, again);
	*ret_name = name;
	return strcmp(key, again) == 0;
}

static void append_path(const struct registry_store *store, const char *key, struct buf *out)
{
	buf_printf(out, "%s/" PREFIX "%s-%s", store->directory, store->registry, key);
}

static void append_file(const struct registry_store *store, const char *key, str_t content, struct buf *out)
{
	_cleanup_(buf_free) struct buf rest = BUF_INIT;
	char digest[DIGEST_HEX_SIZE];
	buf_printf(&rest, "%s %s\n", store->registry, key);
	buf_append_str(&rest, content);
	hash_sha256_hex(rest.data, rest.len, digest);
	buf_printf(out, HEADER "%s\n", digest);
	buf_append_str(out, buf_str(&rest));
}

/* Appends the content of a file that is just as it was written. */
static bool read_file(const struct registry_store *store, const char *key, struct buf *content)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT, file = BUF_INIT, expected = BUF_INIT;
	append_path(store, key, &path);
	if (kept_file_read(path.data, REGISTRY_STORED_MAX + LINES_BYTES, &file, NULL))
		return false;
	const char *end = memchr(file.data, '\n', file.len);
	end = end ? memchr(end + 1, '\n', file.len - (size_t)(end + 1 - file.data)) : NULL;
	if (!end)
		return false;
	buf_append(content, end + 1, file.len - (size_t)(end + 1 - file.data));
	append_file(store, key, buf_str(content), &expected);
	return expected.len == file.len && memcmp(expected.data, file.data, file.len) == 0;
}

static err_t write_file(const struct registry_store *store, const char *key, str_t content,
			struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT, file = BUF_INIT;
	append_path(store, key, &path);
	append_file(store, key, content, &file);
	return kept_file_write(path.data, buf_str(&file), detail);
}

/* ---- schemas ---- */

static void read_schema(const struct registry_store *store, const char *key, const char *path,
			registry_stored_fn *found, void *context)
{
	_cleanup_(buf_free) struct buf schema = BUF_INIT;
	struct schema_name name;
	if (read_key(key, &name) && read_file(store, key, &schema)) {
		found(context, &name, buf_str(&schema));
		return;
	}
	log_warning("%s, a schema that was kept, is removed: it is damaged", path);
	unlink(path);
}

void registry_store_read(const struct registry_store *store, size_t most, registry_stored_fn *found,
			 void *context)
{
	char prefix[sizeof PREFIX + REGISTRY_HEX + 1];
	const struct dirent *entry;
	DIR *folder = store ? opendir(store->directory) : NULL;
	if (!folder)
		return;
	int prefix_len = snprintf(prefix, sizeof prefix, PREFIX "%s-", store->registry);
	while ((entry = readdir(folder)) && most > 0) {
		_cleanup_(buf_free) struct buf path = BUF_INIT;
		const char *key = entry->d_name + prefix_len;
		if (strncmp(entry->d_name, prefix, (size_t)prefix_len) != 0 ||
		    strncmp(key, "subject-", 8) == 0)
			continue;
		buf_printf(&path, "%s/%s", store->directory, entry->d_name);
		most--;
		if (strchr(key, '.')) /* .new: a write that was interrupted */
			unlink(path.data);
		else
			read_schema(store, key, path.data, found, context);
	}
	closedir(folder);
}

bool registry_store_find(const struct registry_store *store, const struct schema_name *name,
			 struct buf *schema)
{
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	char key[NAME_BYTES];
	if (!store)
		return false;
	name_key(name, key);
	bool found = read_file(store, key, &content);
	if (found)
		buf_append_str(schema, buf_str(&content));
	return found;
}

err_t registry_store_write(const struct registry_store *store, const struct schema_name *name, str_t schema,
			   struct err_detail *detail)
{
	char key[NAME_BYTES];
	if (!store || schema.len > REGISTRY_STORED_MAX)
		return ERR_OK;
	name_key(name, key);
	return write_file(store, key, schema, detail);
}

/* ---- ids of subjects ---- */

static void subject_key(const char *subject, str_t schema, char key[SUBJECT_BYTES])
{
	const str_t parts[] = { str_from(subject), STR("\n"), schema };
	unsigned char digest[DIGEST_BYTES];
	hash_sha256_parts(parts, 3, digest);
	size_t at = (size_t)snprintf(key, SUBJECT_BYTES, "subject-");
	for (size_t i = 0; i < sizeof digest; i++)
		at += (size_t)snprintf(key + at, SUBJECT_BYTES - at, "%02x", digest[i]);
}

uint32_t registry_store_id(const struct registry_store *store, const char *subject, str_t schema)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	char key[SUBJECT_BYTES];
	if (!store)
		return 0;
	subject_key(subject, schema, key);
	return read_file(store, key, &text) && text.data ? (uint32_t)strtoul(text.data, NULL, 10) : 0;
}

err_t registry_store_write_id(const struct registry_store *store, const char *subject, str_t schema,
			      uint32_t id, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	char key[SUBJECT_BYTES];
	if (!store)
		return ERR_OK;
	subject_key(subject, schema, key);
	buf_printf(&text, "%u", id);
	return write_file(store, key, buf_str(&text), detail);
}
