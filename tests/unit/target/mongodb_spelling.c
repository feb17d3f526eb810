#include "mongodb_queries.h"

/* One of several ways. */
static unsigned way(struct dice *dice, unsigned count)
{
	return dice->plain ? 0 : dice_draw(dice, count);
}

static void spell_quoted(struct buf *to, char quote, const char *text)
{
	buf_append_char(to, quote);
	for (const char *at = text; *at; at++)
		buf_printf(to, *at == quote || *at == '\\' ? "\\%c" : "%c", *at);
	buf_append_char(to, quote);
}

static void spell_text(struct buf *to, struct dice *dice, const char *text)
{
	static const char quotes[] = { '"', '\'', '`' };
	spell_quoted(to, quotes[way(dice, sizeof quotes)], text);
}

static void spell_name(struct buf *to, struct dice *dice, const char *name)
{
	bool bare = !strchr(name, '.') && way(dice, 3) != 1;
	if (bare)
		buf_append_text(to, name);
	else
		spell_quoted(to, way(dice, 2) ? '"' : '\'', name);
}

static void spell_whole(struct buf *to, struct dice *dice, const bson_iter_t *iter)
{
	static const char *const ints[] = { "%lld", "NumberInt(%lld)", "NumberInt('%lld')",
					    "{$numberInt: '%lld'}" };
	static const char *const longs[] = { "NumberLong(%lld)", "NumberLong('%lld')",
					     "{\"$numberLong\": \"%lld\"}", "Long('%lld')" };
	char text[64];
	long long number = bson_iter_as_int64(iter);
	const char *form = (BSON_ITER_HOLDS_INT32(iter) ? ints : longs)[way(dice, 4)];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof text, form, number);
#pragma GCC diagnostic pop
	buf_append_text(to, text);
}

static void spell_decimal(struct buf *to, struct dice *dice, const bson_iter_t *iter)
{
	static const char *const before[] = { "NumberDecimal(\"", "Decimal128('", "{$numberDecimal: '" };
	static const char *const behind[] = { "\")", "')", "'}" };
	char text[BSON_DECIMAL128_STRING];
	bson_decimal128_t decimal;
	unsigned form = way(dice, 3);
	bson_iter_decimal128(iter, &decimal);
	bson_decimal128_to_string(&decimal, text);
	buf_printf(to, "%s%s%s", before[form], text, behind[form]);
}

/* In UTC, in another zone, or by its milliseconds. */
static void spell_date(struct buf *to, struct dice *dice, int64_t ms)
{
	static const char *const before[] = { "ISODate('", "new Date(\"", "ISODate(\"", "{$date: '" };
	static const char *const behind[] = { "')", "\")", "\")", "'}" };
	static const int zones[] = { 0, 0, 90, -300 };
	unsigned form = way(dice, 5), zone = way(dice, 4);
	if (form == 4) {
		buf_printf(to, "new Date(%lld)", (long long)ms);
		return;
	}
	char text[40], end[8] = "Z";
	int minutes = zones[zone];
	time_t seconds = (time_t)(ms / 1000 + minutes * 60);
	struct tm parts;
	gmtime_r(&seconds, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
	if (minutes)
		snprintf(end, sizeof end, "%c%02d:%02d", minutes < 0 ? '-' : '+', abs(minutes) / 60,
			 abs(minutes) % 60);
	buf_printf(to, "%s%s.%03d%s%s", before[form], text, (int)(ms % 1000), end, behind[form]);
}

static void spell_id(struct buf *to, struct dice *dice, const bson_iter_t *iter)
{
	static const char *const before[] = { "ObjectId('", "new ObjectId(\"", "{\"$oid\": \"" };
	static const char *const behind[] = { "')", "\")", "\"}" };
	char text[25];
	unsigned form = way(dice, 3);
	bson_oid_to_string(bson_iter_oid(iter), text);
	buf_printf(to, "%s%s%s", before[form], text, behind[form]);
}

static void spell_members(struct buf *to, struct dice *dice, bson_iter_t *members, bool array);

static void spell_value(struct buf *to, struct dice *dice, const bson_iter_t *iter)
{
	const char *options, *pattern;
	bson_iter_t members;
	switch (bson_iter_type(iter)) {
	case BSON_TYPE_INT32:
	case BSON_TYPE_INT64:
		spell_whole(to, dice, iter);
		return;
	case BSON_TYPE_DOUBLE:
		buf_printf(to, way(dice, 2) ? "{$numberDouble: '%.2f'}" : "%.2f", bson_iter_double(iter));
		return;
	case BSON_TYPE_DECIMAL128:
		spell_decimal(to, dice, iter);
		return;
	case BSON_TYPE_BOOL:
		buf_append_text(to, bson_iter_bool(iter) ? "true" : "false");
		return;
	case BSON_TYPE_UTF8:
		spell_text(to, dice, bson_iter_utf8(iter, NULL));
		return;
	case BSON_TYPE_DATE_TIME:
		spell_date(to, dice, bson_iter_date_time(iter));
		return;
	case BSON_TYPE_OID:
		spell_id(to, dice, iter);
		return;
	case BSON_TYPE_REGEX:
		pattern = bson_iter_regex(iter, &options);
		buf_printf(to, "/%s/%s", pattern, options);
		return;
	case BSON_TYPE_DOCUMENT:
	case BSON_TYPE_ARRAY:
		bson_iter_recurse(iter, &members);
		spell_members(to, dice, &members, BSON_ITER_HOLDS_ARRAY(iter));
		return;
	default:
		buf_append_text(to, "null");
		return;
	}
}

static void spell_members(struct buf *to, struct dice *dice, bson_iter_t *members, bool array)
{
	bool any = false;
	buf_append_char(to, array ? '[' : '{');
	while (bson_iter_next(members)) {
		buf_append_text(to, any ? (way(dice, 2) ? "," : ", ") : way(dice, 4) == 1 ? "\n  " : "");
		any = true;
		if (!array) {
			spell_name(to, dice, bson_iter_key(members));
			buf_append_text(to, way(dice, 3) == 1 ? " :" : ": ");
		}
		spell_value(to, dice, members);
	}
	if (any && way(dice, 8) == 1)
		buf_append_char(to, ',');
	buf_append_char(to, array ? ']' : '}');
}

/* A part of the command, or {} where there is none. */
static void spell_part(struct buf *to, struct dice *dice, const bson_t *command, const char *name)
{
	bson_iter_t iter;
	if (bson_iter_init_find(&iter, command, name))
		spell_value(to, dice, &iter);
	else
		buf_append_text(to, "{}");
}

static void spell_chain(const struct query_text *text, const bson_t *command, struct dice *dice,
			struct buf *to)
{
	unsigned first = way(dice, 3);
	for (unsigned i = 0; i < 3; i++) {
		unsigned part = (i + first) % 3;
		if (part == 0 && text->sort.len > 0) {
			buf_append_text(to, ".sort(");
			spell_part(to, dice, command, "sort");
			buf_append_char(to, ')');
		}
		if (part == 1 && text->skip > 0)
			buf_printf(to, ".skip(%d)", text->skip);
		if (part == 2 && text->limit > 0)
			buf_printf(to, ".limit(%d)", text->limit);
	}
	if (way(dice, 5) == 1)
		buf_append_text(to, ".toArray()");
}

/* The stages as a list, or each an argument. */
static void spell_stages(const bson_t *command, struct dice *dice, struct buf *to)
{
	bson_iter_t pipeline, stage;
	bool any = false;
	bson_iter_init_find(&pipeline, command, "pipeline");
	bson_iter_recurse(&pipeline, &stage);
	if (way(dice, 4) != 1 || !bson_iter_next(&stage)) {
		spell_value(to, dice, &pipeline);
		return;
	}
	do {
		buf_append_text(to, any ? ", " : "");
		spell_value(to, dice, &stage);
		any = true;
	} while (bson_iter_next(&stage));
}

/* findOne has its order among its options. */
static void spell_one(const struct query_text *text, const bson_t *command, struct dice *dice, struct buf *to)
{
	buf_append_text(to, ".findOne(");
	spell_part(to, dice, command, "filter");
	buf_append_text(to, ", ");
	spell_part(to, dice, command, "projection");
	if (text->sort.len > 0) {
		buf_append_text(to, ", {sort: ");
		spell_part(to, dice, command, "sort");
		buf_printf(to, text->skip > 0 ? ", skip: %d}" : "}", text->skip);
	}
	buf_append_char(to, ')');
}

static void spell_find(const struct query_text *text, const bson_t *command, struct dice *dice,
		       struct buf *to)
{
	buf_append_text(to, ".find(");
	spell_part(to, dice, command, "filter");
	if (text->projection.len > 0) {
		buf_append_text(to, ", ");
		spell_part(to, dice, command, "projection");
	}
	buf_append_char(to, ')');
	spell_chain(text, command, dice, to);
}

static void spell_method(const struct query_text *text, const bson_t *command, struct dice *dice,
			 struct buf *to)
{
	if (text->aggregates) {
		buf_append_text(to, ".aggregate(");
		spell_stages(command, dice, to);
		buf_append_char(to, ')');
	} else if (text->counts) {
		bool found = way(dice, 2);
		buf_append_text(to, found ? ".find(" : ".countDocuments(");
		spell_part(to, dice, command, "query");
		buf_append_text(to, found ? ").count()" : ")");
	} else if (text->key) {
		buf_printf(to, ".distinct('%s', ", text->key);
		spell_part(to, dice, command, "query");
		buf_append_char(to, ')');
	} else if (text->finds_one) {
		spell_one(text, command, dice, to);
	} else {
		spell_find(text, command, dice, to);
	}
}

void query_spell(const struct query_text *text, struct dice *dice, struct buf *ret_text)
{
	static const char *const collections[] = { "db.%s", "db['%s']", "db.getCollection(\"%s\")" };
	bson_t *command = query_command(text);
	unsigned form = way(dice, 8);
	if (form == 6 || form == 7) {
		char *json = form == 6 ? bson_as_canonical_extended_json(command, NULL)
				       : bson_as_relaxed_extended_json(command, NULL);
		buf_append_text(ret_text, json);
		bson_free(json);
	} else {
		char name[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(name, sizeof name, collections[way(dice, 3)], text->collection);
#pragma GCC diagnostic pop
		buf_append_text(ret_text, name);
		spell_method(text, command, dice, ret_text);
	}
	bson_destroy(command);
}
