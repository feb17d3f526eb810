/*
 * How a message says what it is, told by its first bytes:
 *   C3 01, fingerprint (8 bytes, little-endian), Avro data    single-object encoding
 *   00, schema id (4 bytes, big-endian), Avro data            Confluent; needs a schema registry
 *   white space, {                                            JSON
 * Pure.
 */
#pragma once

#include "common/buf.h"

enum frame_kind { FRAME_SINGLE_OBJECT, FRAME_CONFLUENT, FRAME_JSON };

struct frame {
	enum frame_kind kind;
	uint64_t fingerprint; /* of the writer's schema; single-object only */
	uint32_t schema_id;   /* Confluent only */
	str_t payload;	      /* the Avro data, or the JSON text without a byte order mark */
};

/* Reads the frame of a message; the payload points into `data`. ERR_FRAME_UNKNOWN (with a sentence) when
 * there is none. */
err_t framing_read(const void *data, size_t len, struct frame *ret_frame, struct err_detail *detail);

/* Appends the header of a single-object message. */
void framing_write_single_object(uint64_t fingerprint, struct buf *out);
