/*
 * Records as JSON, by the same tables as Avro. Names are those of the schemas, absent values are null, times
 * are integer milliseconds, enumerations their symbols, maps objects. Safe in any thread; does not depend on
 * the locale.
 *
 * A number may also be sent as a text that is one, and a time as ISO 8601 (avro/timestamp.h).
 *
 * From programs (a message), unknown fields are skipped and unknown symbols fall back to the default, so that
 * writers may be a version ahead, as in Avro. From people (a command line), what has an obvious default may
 * be left out and symbols may be in lower case, but an unknown symbol, or an unknown field whose name is
 * nearly that of a known one, is refused: it is far more likely a slip than a newer version.
 */
#pragma once

#include "avro/fields.h"
#include "common/arena.h"
#include "common/buf.h"

enum json_author { JSON_BY_PROGRAM, JSON_BY_PERSON };

struct json_limits {
	size_t max_items; /* of one array or map */
	enum json_author author;
};

/* Reads one JSON object into `record`, whose fields are at their defaults (an OBVIOUS field that is left out
 * keeps what the struct holds); what it points at comes from the arena. ERR_JSON_SYNTAX with the column (and
 * the line beyond the first), ERR_JSON_SHAPE with the path and what is expected there, ERR_AVRO_ITEMS; or
 * ERR_TEXT_ENCODING. */
err_t json_read(const struct record_type *type, str_t json, const struct json_limits *limits,
		struct arena *arena, void *record, struct err_detail *detail);

/* Appends the record as one line without a line end. Numbers have the fewest digits that read back as the
 * same number; NaN and infinities are null; invalid UTF-8 becomes U+FFFD. */
void json_write(const struct record_type *type, const void *record, struct buf *out);
