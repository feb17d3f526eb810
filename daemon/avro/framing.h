/*
 * How a message says what it is, told by its first bytes:
 *   C3 01, fingerprint (8 bytes, little-endian), Avro data    single-object encoding
 *   00, schema id (4 bytes, big-endian), Avro data            Confluent; needs a schema registry
 *   white space, {                                            JSON
 * or by a header of the Kafka message, which counts before the bytes: those are the Avro data alone then.
 *   01, GUID of the schema (16 bytes), or 00, its id (4 bytes, big-endian)
 * Pure.
 */
#pragma once

#include "common/buf.h"

/* Name of the header. */
#define FRAMING_HEADER "__value_schema_id"

/* By what a message names its writer's schema in a schema registry. */
struct schema_name {
	bool by_guid;
	uint32_t id;		/* unless by GUID */
	unsigned char guid[16]; /* else zero */
};

enum frame_kind { FRAME_SINGLE_OBJECT, FRAME_CONFLUENT, FRAME_JSON };

struct frame {
	enum frame_kind kind;
	uint64_t fingerprint;	 /* of the writer's schema; single-object only */
	struct schema_name name; /* Confluent only */
	str_t payload;		 /* the Avro data, or the JSON text without a byte order mark */
};

/* Reads the frame of a message with that value of the header, or an absent one; the payload points into
 * `data`. ERR_FRAME_UNKNOWN (with a sentence) when there is none. */
err_t framing_read(str_t header, const void *data, size_t len, struct frame *ret_frame,
		   struct err_detail *detail);

/* Appends the header of a single-object message. */
void framing_write_single_object(uint64_t fingerprint, struct buf *out);

/* Appends the prefix of a Confluent message. */
void framing_write_confluent(uint32_t schema_id, struct buf *out);

/* "schema 7", or "schema 01234567-89ab-cdef-0123-456789abcdef". */
#define SCHEMA_NAME_SIZE 44
void framing_name_text(const struct schema_name *name, char ret_text[SCHEMA_NAME_SIZE]);

static inline bool framing_same_name(const struct schema_name *a, const struct schema_name *b)
{
	return a->by_guid == b->by_guid && a->id == b->id && memcmp(a->guid, b->guid, sizeof a->guid) == 0;
}
