#include "avro/builtin.h"

/* The included lists of byte values are made from the .avsc files by the build. */
static const unsigned char QUERY_SCHEMA[] = {
#include "schemas/generated_query.avsc.inc"
};
static const unsigned char SCORED_SCHEMA[] = {
#include "schemas/scored_query.avsc.inc"
};
static const unsigned char ADVISORY_SCHEMA[] = {
#include "schemas/advisory.avsc.inc"
};
static const unsigned char FEEDBACK_SCHEMA[] = {
#include "schemas/query_feedback.avsc.inc"
};

static const unsigned char QUERY_SCHEMA_1[] = {
#include "schemas/former/generated_query-1.avsc.inc"
};
static const unsigned char SCORED_SCHEMA_1[] = {
#include "schemas/former/scored_query-1.avsc.inc"
};
static const unsigned char QUERY_SCHEMA_2[] = {
#include "schemas/former/generated_query-2.avsc.inc"
};
static const unsigned char SCORED_SCHEMA_2[] = {
#include "schemas/former/scored_query-2.avsc.inc"
};
static const unsigned char SCORED_SCHEMA_3[] = {
#include "schemas/former/scored_query-3.avsc.inc"
};
static const unsigned char SCORED_SCHEMA_4[] = {
#include "schemas/former/scored_query-4.avsc.inc"
};
static const unsigned char SCORED_SCHEMA_5[] = {
#include "schemas/former/scored_query-5.avsc.inc"
};
static const unsigned char SCORED_SCHEMA_6[] = {
#include "schemas/former/scored_query-6.avsc.inc"
};
static const unsigned char SCORED_SCHEMA_7[] = {
#include "schemas/former/scored_query-7.avsc.inc"
};
static const unsigned char SCORED_SCHEMA_8[] = {
#include "schemas/former/scored_query-8.avsc.inc"
};
static const unsigned char ADVISORY_SCHEMA_1[] = {
#include "schemas/former/advisory-1.avsc.inc"
};
static const unsigned char ADVISORY_SCHEMA_2[] = {
#include "schemas/former/advisory-2.avsc.inc"
};

/* The last byte is the NUL that the build adds. */
#define TEXT_OF(bytes) ((str_t){ (const char *)(bytes), sizeof(bytes) - 1 })

str_t builtin_schema(enum record_id id)
{
	switch (id) {
	case RECORD_QUERY:
		return TEXT_OF(QUERY_SCHEMA);
	case RECORD_SCORED:
		return TEXT_OF(SCORED_SCHEMA);
	case RECORD_FEEDBACK:
		return TEXT_OF(FEEDBACK_SCHEMA);
	default:
		return TEXT_OF(ADVISORY_SCHEMA);
	}
}

str_t builtin_former_schema(size_t index)
{
	const str_t formers[] = { TEXT_OF(QUERY_SCHEMA_1),    TEXT_OF(SCORED_SCHEMA_1),
				  TEXT_OF(QUERY_SCHEMA_2),    TEXT_OF(SCORED_SCHEMA_2),
				  TEXT_OF(SCORED_SCHEMA_3),   TEXT_OF(SCORED_SCHEMA_4),
				  TEXT_OF(SCORED_SCHEMA_5),   TEXT_OF(SCORED_SCHEMA_6),
				  TEXT_OF(SCORED_SCHEMA_7),   TEXT_OF(SCORED_SCHEMA_8),
				  TEXT_OF(ADVISORY_SCHEMA_1), TEXT_OF(ADVISORY_SCHEMA_2) };
	return index < sizeof formers / sizeof formers[0] ? formers[index] : STR_NONE;
}

const struct record_type *builtin_record(enum record_id id)
{
	static const struct record_type *const RECORDS[RECORD_COUNT_] = {
		[RECORD_QUERY] = &GENERATED_QUERY_RECORD,
		[RECORD_SCORED] = &SCORED_QUERY_RECORD,
		[RECORD_ADVISORY] = &ADVISORY_RECORD,
		[RECORD_FEEDBACK] = &QUERY_FEEDBACK_RECORD,
	};
	return RECORDS[id];
}
