/*
 * Names of the headers of Kafka messages, from one table. Pure.
 */
#pragma once

enum header {
#define HEADER(symbol, name, messages) HEADER_##symbol,
#include "kafka/header.def"
	HEADER_COUNT_
};

/* What it is called in messages; static. */
const char *header_name(enum header header);
