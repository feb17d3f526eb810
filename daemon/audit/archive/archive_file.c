#include "audit/archive/archive_file.h"

#include "common/cleanup.h"
#include "common/kept_file.h"
#include "common/log.h"

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

/* A line with the SHA-256 of all that follows; a line of what is known of the content; the content. */
#define PREFIX "archive-"
#define HEADER "assayd-archive 1 "

enum { LINES_BYTES = 512 };

static void append_path(const char *directory, const struct archive_item *item, struct buf *out)
{
	buf_printf(out, "%s/" PREFIX "%s-%s", directory, archive_kind_name(item->kind), item->digest);
}

/* The whole file. */
static void append_file(const struct archive_item *item, str_t content, struct buf *out)
{
	_cleanup_(buf_free) struct buf rest = BUF_INIT;
	char digest[DIGEST_HEX_SIZE];
	buf_printf(&rest, "%s %s %" PRId64 " \"%s\"\n", archive_kind_name(item->kind), item->digest,
		   item->version, item->form);
	buf_append_str(&rest, content);
	hash_sha256_hex(rest.data, rest.len, digest);
	buf_printf(out, HEADER "%s\n", digest);
	buf_append_str(out, buf_str(&rest));
}

err_t archive_file_write(const char *directory, const struct archive_item *item, str_t content,
			 struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT, file = BUF_INIT;
	append_path(directory, item, &path);
	append_file(item, content, &file);
	return kept_file_write(path.data, buf_str(&file), detail);
}

void archive_file_remove(const char *directory, const struct archive_item *item)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT;
	append_path(directory, item, &path);
	unlink(path.data);
}

/* What the file says, if it is just the one that such a content has. */
static bool read_file(str_t file, struct archive_item *ret_item, str_t *ret_content)
{
	_cleanup_(buf_free) struct buf expected = BUF_INIT;
	char lines[LINES_BYTES], kind[16], form[16];
	const char *end = memchr(file.ptr, '\n', file.len);
	end = end ? memchr(end + 1, '\n', file.len - (size_t)(end + 1 - file.ptr)) : NULL;
	if (!end || end - file.ptr >= LINES_BYTES)
		return false;
	snprintf(lines, sizeof lines, "%.*s", (int)(end - file.ptr), file.ptr);
	if (sscanf(lines, HEADER "%*64[0-9a-f]\n%15s %64[0-9a-f] %" SCNd64 " \"%15[^\n]", kind,
		   ret_item->digest, &ret_item->version, form) != 4 ||
	    archive_kind_find(kind) < 0)
		return false;
	ret_item->kind = (enum archive_kind)archive_kind_find(kind);
	ret_item->form = archive_form_find((str_t){ form, strlen(form) - 1 }); /* but its quote */
	if (!ret_item->form)
		return false;
	*ret_content = (str_t){ end + 1, file.len - (size_t)(end + 1 - file.ptr) };
	append_file(ret_item, *ret_content, &expected);
	return expected.len == file.len && memcmp(expected.data, file.ptr, file.len) == 0;
}

static void read_one(const char *path, archive_file_fn *found, void *context)
{
	_cleanup_(buf_free) struct buf file = BUF_INIT;
	struct err_detail detail = { "" };
	struct archive_item item;
	str_t content;
	err_t err = kept_file_read(path, ARCHIVE_CONTENT_MAX + LINES_BYTES, &file, &detail);
	if (!err && read_file(buf_str(&file), &item, &content)) {
		found(context, &item, content);
		return;
	}
	log_warning("%s, which waits for the archive, is removed: %s", path,
		    err ? err_message(err, &detail) : "it is damaged, or of another version");
	unlink(path);
}

void archive_file_read_all(const char *directory, archive_file_fn *found, void *context)
{
	DIR *folder = opendir(directory);
	const struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		_cleanup_(buf_free) struct buf path = BUF_INIT;
		if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0)
			continue;
		buf_printf(&path, "%s/%s", directory, entry->d_name);
		if (strchr(entry->d_name, '.')) /* .new: a write that was interrupted */
			unlink(path.data);
		else
			read_one(path.data, found, context);
	}
	if (folder)
		closedir(folder);
}
