/* What the tests of this room share. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "avro/schema_tree.h"
#include "common/buf.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Bytes with NULs in them, from a literal. */
#define BYTES(literal) ((str_t){ (literal), sizeof(literal) - 1 })

static inline struct schema *parse_schema(const char *json)
{
	struct schema *schema;
	struct err_detail detail = { "" };
	if (schema_parse(str_from(json), &schema, &detail))
		fail_msg("%s: %s", json, detail.message);
	return schema;
}

static inline bool read_whole_file(const char *path, struct buf *out)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	if (!file)
		return false;
	for (size_t got = 1; got > 0;) {
		got = fread(buf_reserve(out, 65536), 1, 65536, file);
		out->len += got;
		out->data[out->len] = '\0';
	}
	return true;
}

/* Path of a file or folder of the corpora, or NULL (and a line that says so) where they are not at hand. */
static inline const char *corpus_path(const char *name)
{
	static char path[1024];
	const char *corpora = getenv("ASSAYD_CORPORA");
	snprintf(path, sizeof path, "%s/%s", corpora ? corpora : ASSAYD_SOURCE_DIR "/../shared/corpora",
		 name);
	if (access(path, R_OK) == 0)
		return path;
	print_message("skipped: there is no %s\n", path);
	return NULL;
}
