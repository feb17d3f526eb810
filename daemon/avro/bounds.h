/*
 * Bounds check of foreign Avro data: walks the writer's schema over the bytes before anything else reads them
 * and refuses what cannot be true. It allocates nothing, and its time is bounded by the bytes (items that
 * take no bytes are counted, never visited). Pure.
 */
#pragma once

#include "avro/schema_tree.h"
#include "avro/wire.h"

struct bounds_limits {
	size_t max_items; /* of one array or map */
	unsigned max_depth;
};

#define BOUNDS_MAX_ITEMS 100000u
#define BOUNDS_MAX_DEPTH 64u

/* Checks that `data` is one value of the schema and nothing more. ERR_AVRO_TRUNCATED, _LENGTH, _ITEMS,
 * _DEPTH, _VALUE (boolean, enum symbol, union branch, integer too wide), _TRAILING or ERR_TEXT_ENCODING, with
 * the place in `detail`. */
err_t bounds_check(const struct schema_node *root, const void *data, size_t len,
		   const struct bounds_limits *limits, struct err_detail *detail);

/* Steps over one value, with the same checks. */
err_t bounds_skip(const struct schema_node *node, const struct bounds_limits *limits, struct wire *wire);
