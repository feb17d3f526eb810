#include "avro/registry/registry_store.h"

#include "common/hash.h"
#include "common/kept_file.h"
#include "common/list.h"
#include "common/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

/* A line with the SHA-256 of all that follows; a line of what it is; the schema. */
#define HEADER	      "assayd-schema 1 "
#define PREFIX	      "registry-"
#define LINES_BYTES   256
#define NAME_BYTES    64
#define REGISTRY_HEX  16 /* digits of the digest of the addresses */
#define SUBJECT_BYTES (DIGEST_HEX_SIZE + 8)

/* A file with a schema. */
struct kept_schema {
	struct list_node node;
	size_t bytes;
	char file[]; /* its name in the folder */
};

struct registry_store {
	char *directory;
	char registry[REGISTRY_HEX + 1];
	struct list kept; /* of all registries, the oldest first */
	size_t bytes, max_bytes;
	bool logged; /* the journal knows that some are removed */
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
	list_init(&store->kept);
	store->max_bytes = SIZE_MAX;
	hash_sha256_hex(all.data, all.len, digest);
	memcpy(store->registry, digest, REGISTRY_HEX);
	return store;
}

void registry_store_free(struct registry_store *store)
{
	struct list_node *node;
	if (!store)
		return;
	while ((node = list_take(&store->kept)))
		free(container_of(node, struct kept_schema, node));
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

/* ---- files, the oldest first ---- */

static void add_kept(struct registry_store *store, const char *file, size_t bytes)
{
	size_t len = strlen(file);
	struct kept_schema *kept = malloc(sizeof *kept + len + 1);
	if (!kept)
		abort();
	kept->bytes = bytes;
	memcpy(kept->file, file, len + 1);
	list_append(&store->kept, &kept->node);
	store->bytes += bytes;
}

static struct kept_schema *kept_of(struct list_node *node)
{
	return container_of(node, struct kept_schema, node);
}

/* What is looked for is mostly new. */
static struct kept_schema *find_kept(struct registry_store *store, const char *file)
{
	for (struct list_node *node = store->kept.head.prev; node != &store->kept.head; node = node->prev)
		if (strcmp(kept_of(node)->file, file) == 0)
			return kept_of(node);
	return NULL;
}

/* No longer counts it, if it does. */
static void drop_kept(struct registry_store *store, struct kept_schema *kept)
{
	if (!kept)
		return;
	store->bytes -= kept->bytes;
	list_remove(&store->kept, &kept->node);
	free(kept);
}

static void remove_file(const struct registry_store *store, const char *file)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT;
	buf_printf(&path, "%s/%s", store->directory, file);
	unlink(path.data);
}

/* So that another `bytes` have room. */
static void make_room(struct registry_store *store, size_t bytes)
{
	while (!list_empty(&store->kept) && store->bytes + bytes > store->max_bytes) {
		struct kept_schema *oldest = kept_of(store->kept.head.next);
		if (!store->logged)
			log_notice("schemas of the registry have more than %zu bytes in %s "
				   "(registry.max_kept_bytes); the oldest are removed there",
				   store->max_bytes, store->directory);
		store->logged = true;
		remove_file(store, oldest->file);
		drop_kept(store, oldest);
	}
}

struct stored_file {
	struct timespec changed;
	size_t bytes;
	char *file;
};

static int older_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct stored_file *)a)->changed;
	const struct timespec *y = &((const struct stored_file *)b)->changed;
	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* "registry-", the registry, "-", a name; but no id of a subject. Of a write that was interrupted there is
 * ".new". */
static bool is_schema(const char *file)
{
	size_t before = strlen(PREFIX) + REGISTRY_HEX;
	if (strncmp(file, PREFIX, strlen(PREFIX)) != 0 || strlen(file) <= before || file[before] != '-')
		return false;
	const char *key = file + before + 1;
	return strncmp(key, "id-", 3) == 0 || strncmp(key, "guid-", 5) == 0;
}

static size_t list_files(const struct registry_store *store, DIR *folder, struct stored_file **ret_found)
{
	size_t count = 0, room = 0;
	const struct dirent *entry;
	struct stat status;
	while ((entry = readdir(folder))) {
		if (!is_schema(entry->d_name) ||
		    fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (strchr(entry->d_name, '.')) {
			remove_file(store, entry->d_name);
			continue;
		}
		if (count == room) {
			room = room ? room * 2 : 64;
			*ret_found = reallocarray(*ret_found, room, sizeof **ret_found);
		}
		char *file = strdup(entry->d_name);
		if (!*ret_found || !file)
			abort();
		(*ret_found)[count++] = (struct stored_file){ status.st_mtim, (size_t)status.st_size, file };
	}
	return count;
}

void registry_store_bound(struct registry_store *store, size_t max_bytes)
{
	struct stored_file *found = NULL;
	DIR *folder = store ? opendir(store->directory) : NULL;
	if (store)
		store->max_bytes = max_bytes;
	if (!folder)
		return;
	size_t count = list_files(store, folder, &found);
	closedir(folder);
	if (count)
		qsort(found, count, sizeof *found, older_first);
	for (size_t i = 0; i < count; i++) {
		add_kept(store, found[i].file, found[i].bytes);
		free(found[i].file);
	}
	free(found);
	make_room(store, 0);
}

/* ---- schemas ---- */

static void append_name(const struct registry_store *store, const char *key, struct buf *out)
{
	buf_printf(out, PREFIX "%s-%s", store->registry, key);
}

void registry_store_each(const struct registry_store *store, size_t most, registry_stored_fn *found,
			 void *context)
{
	_cleanup_(buf_free) struct buf prefix = BUF_INIT;
	struct list_node *before;
	if (!store)
		return;
	append_name(store, "", &prefix);
	for (struct list_node *node = store->kept.head.prev; node != &store->kept.head && most > 0;
	     node = before) {
		const char *file = kept_of(node)->file;
		struct schema_name name;
		before = node->prev;
		if (strncmp(file, prefix.data, prefix.len) != 0 || !read_key(file + prefix.len, &name))
			continue;
		most--;
		if (!found(context, &name))
			return;
	}
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

bool registry_store_load(struct registry_store *store, const struct schema_name *name, struct buf *schema)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT, file = BUF_INIT;
	char key[NAME_BYTES];
	if (registry_store_find(store, name, schema))
		return true;
	if (!store)
		return false;
	name_key(name, key);
	append_path(store, key, &path);
	append_name(store, key, &file);
	if (faccessat(AT_FDCWD, path.data, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	log_warning("%s, a schema that was kept, is removed: it is damaged", path.data);
	unlink(path.data);
	drop_kept(store, find_kept(store, file.data));
	return false;
}

void registry_store_touch(struct registry_store *store, const struct schema_name *name)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT, file = BUF_INIT;
	char key[NAME_BYTES];
	name_key(name, key);
	append_path(store, key, &path);
	append_name(store, key, &file);
	struct kept_schema *kept = find_kept(store, file.data);
	if (!kept)
		return;
	utimensat(AT_FDCWD, path.data, NULL, AT_SYMLINK_NOFOLLOW);
	list_remove(&store->kept, &kept->node);
	list_append(&store->kept, &kept->node);
}

err_t registry_store_write(struct registry_store *store, const struct schema_name *name, str_t schema,
			   struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf file = BUF_INIT;
	char key[NAME_BYTES];
	size_t bytes = schema.len + LINES_BYTES; /* no less than it will have */
	if (!store || schema.len > REGISTRY_STORED_MAX || bytes > store->max_bytes)
		return ERR_OK;
	name_key(name, key);
	append_name(store, key, &file);
	drop_kept(store, find_kept(store, file.data));
	make_room(store, bytes);
	err_t err = write_file(store, key, schema, detail);
	if (!err)
		add_kept(store, file.data, bytes);
	return err;
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
