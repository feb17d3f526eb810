/*
 * Records of a topic in a file, so that its log can be verified without a broker: JSON lines of
 *
 *     {"topic": "scored-queries", "partition": 0, "offset": 12, "key": BASE64 or null, "value": BASE64 or
 * null}
 *     {"topic": "scored-queries", "partition": 0, "index": 7, "mark": "gap", "from": 3, "to": 9, "reason":
 * ""}
 *
 * A mark stands before the records of its partition. Nobody has to trust either: they are hashed into the
 * tree. One thread.
 */
#pragma once

#include "audit/growth.h"
#include "common/arena.h"

#include <stdio.h>

/* Appends the line of a record, or of a mark. */
void export_file_write(const char *topic, int32_t partition, int64_t offset, str_t key, str_t value,
		       struct buf *out);
void export_file_write_mark(const char *topic, int32_t partition, const struct growth_mark *mark,
			    struct buf *out);

struct export_file_line {
	str_t topic;
	int32_t partition;
	bool is_mark;
	int64_t offset;
	str_t key, value;	 /* of a record; absent: null */
	struct growth_mark mark; /* its reason is in the arena */
};

/* Reads a line; texts are in the arena. ERR_JSON_SYNTAX or ERR_JSON_SHAPE with a detail. */
err_t export_file_parse(str_t text, struct arena *arena, struct export_file_line *ret_line,
			struct err_detail *detail);
