#include "avro/fields.h"

const char *advisory_kind_name(enum advisory_kind kind)
{
	return (size_t)kind < ADVISORY_KINDS.count ? ADVISORY_KINDS.symbols[kind] : "UNKNOWN";
}

const char *advisory_level_name(enum confidence_level level)
{
	return (size_t)level < CONFIDENCE_LEVELS.count ? CONFIDENCE_LEVELS.symbols[level] : "UNKNOWN";
}
