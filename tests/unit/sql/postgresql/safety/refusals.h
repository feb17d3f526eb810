/*
 * Statements that have to be refused as attacks, and harmless ones that must not be: PostgreSQL's dialect, by
 * the text alone.
 */
#pragma once

#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static inline void analyse(const char *sql, bool target_named, struct arena *arena,
			   struct sql_analysis *ret_analysis)
{
	struct sql_request request = { .sql = arena_text(arena, sql, strlen(sql)),
				       .dialect = SQL_POSTGRESQL,
				       .target_named = target_named };
	sql_analyse(&request, arena, ret_analysis);
}

static inline bool has_violation(const struct sql_analysis *analysis, const char *code, int64_t offset)
{
	for (size_t i = 0; i < analysis->violations_count; i++)
		if (strcmp(analysis->violations[i].code, code) == 0 &&
		    (offset < 0 || analysis->violations[i].offset == offset))
			return true;
	return false;
}

static inline void print_violations(const char *sql, const struct sql_analysis *analysis)
{
	print_error("%s\n  verdict %d\n", sql, (int)analysis->verdict);
	for (size_t i = 0; i < analysis->violations_count; i++)
		print_error("  %s at %lld: " STR_FMT "\n", analysis->violations[i].code,
			    (long long)analysis->violations[i].offset,
			    STR_ARG(analysis->violations[i].detail));
}

/* An attack and the violation that it has to be refused for; offset −1: not looked at. */
struct attack {
	const char *sql;
	const char *code;
	int64_t offset;
};

static inline void refuse_all(const struct attack *attacks, size_t count)
{
	unsigned missed = 0;
	for (size_t i = 0; i < count; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = { 0 };
		analyse(attacks[i].sql, false, arena, &analysis);
		if (analysis.verdict == SQL_UNSAFE &&
		    has_violation(&analysis, attacks[i].code, attacks[i].offset))
			continue;
		print_error("expected %s at %lld\n", attacks[i].code, (long long)attacks[i].offset);
		print_violations(attacks[i].sql, &analysis);
		missed++;
	}
	assert_int_equal(missed, 0);
}

static inline void pass_all(const char *const *queries, size_t count)
{
	unsigned refused = 0;
	for (size_t i = 0; i < count; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = { 0 };
		analyse(queries[i], false, arena, &analysis);
		if (analysis.verdict == SQL_SAFE && analysis.violations_count == 0)
			continue;
		print_violations(queries[i], &analysis);
		refused++;
	}
	assert_int_equal(refused, 0);
}
