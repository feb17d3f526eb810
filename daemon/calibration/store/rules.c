#include "calibration/store/rules.h"

#include "avro/overall_rules.h"
#include "common/hash.h"
#include "database/array.h"
#include "database/values.h"

#include <inttypes.h>

int64_t rules_number(str_t text)
{
	unsigned char digest[DIGEST_BYTES];
	uint64_t number = 0;
	if (!str_present(text))
		return 0;
	hash_sha256(text.ptr, text.len, digest);
	for (int i = 0; i < 8; i++)
		number = number << 8 | digest[i];
	return (int64_t)(number & INT64_MAX);
}

const char *rules_numbers(struct rules_numbers *to, str_t text)
{
	snprintf(to->text, sizeof to->text, "{%" PRId64 ",%" PRId64 "}", rules_number(text),
		 rules_number(overall_rules_without_retrieval(text)));
	return to->text;
}

/* What is known already is left alone, so that nobody waits for another one's transaction. */
#define ADD_RULES                                                                                            \
	"INSERT INTO %s AS r (number, rules, since) SELECT c.number, c.rules, c.since FROM (SELECT number, " \
	"rules, timestamptz 'epoch' + since_ms * interval '1 millisecond' AS since "                         \
	"FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS n (number, rules, since_ms)) AS c "          \
	"WHERE NOT EXISTS (SELECT FROM %s k WHERE k.number = c.number AND k.since <= c.since) "              \
	"AND (SELECT count(*) FROM %s) < $4::bigint ORDER BY 1 "                                             \
	"ON CONFLICT (number) DO UPDATE SET since = excluded.since WHERE r.since > excluded.since"

struct rules_columns {
	struct buf number, rules, since;
};

static void free_columns(struct rules_columns *columns)
{
	buf_free(&columns->number);
	buf_free(&columns->rules);
	buf_free(&columns->since);
}

static void append(struct rules_columns *columns, str_t text, int64_t since_ms)
{
	struct database_number_text number;
	array_append(&columns->number, str_from(database_number_text(&number, rules_number(text))));
	array_append(&columns->rules, text);
	array_append(&columns->since, str_from(database_number_text(&number, since_ms)));
}

static err_t add(struct database *database, const char *table, struct rules_columns *columns,
		 struct err_detail *detail)
{
	struct database_number_text most;
	char sql[1024];
	array_end(&columns->number);
	array_end(&columns->rules);
	array_end(&columns->since);
	const char *const parameters[] = { columns->number.data, columns->rules.data, columns->since.data,
					   database_number_text(&most, RULES_MAX) };
	snprintf(sql, sizeof sql, ADD_RULES, table, table, table);
	return database_query(database, sql, 4, parameters, NULL, detail);
}

err_t rules_note(struct database *database, str_t text, int64_t since_ms, struct err_detail *detail)
{
	_cleanup_(free_columns) struct rules_columns columns = { 0 };
	if (!str_present(text))
		return ERR_OK;
	append(&columns, text, since_ms);
	return add(database, "calibration_rules", &columns, detail);
}

enum { BATCH_RULES = 64 };

/* Of one batch; beyond that many, the others are met in another one. */
struct met {
	str_t text;
	int64_t since_ms;
};

static size_t list_met(const struct calibration_case *cases, size_t count, struct met *met)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (at < found && !str_equal(met[at].text, cases[i].rules))
			at++;
		if (!str_present(cases[i].rules) || at == BATCH_RULES)
			continue;
		if (at == found)
			met[found++] = (struct met){ cases[i].rules, cases[i].scored_at_ms };
		else if (cases[i].scored_at_ms < met[at].since_ms)
			met[at].since_ms = cases[i].scored_at_ms;
	}
	return found;
}

err_t rules_add(struct database *database, const char *table, const struct calibration_case *cases,
		size_t count, struct err_detail *detail)
{
	_cleanup_(free_columns) struct rules_columns columns = { 0 };
	struct met met[BATCH_RULES];
	size_t found = list_met(cases, count, met);
	for (size_t i = 0; i < found; i++)
		append(&columns, met[i].text, met[i].since_ms);
	return found ? add(database, table, &columns, detail) : ERR_OK;
}
